//! Which builds may go from the disk: on the controller's word, and never what this machine has a use for.

use agent_core::{Ending, Event};
use inventory::DeclarationNumber;
use wire::{BuildsKept, HelloReply, UnableBecause};

use crate::bench::{A, B, Bench, C, WEB, declaration, module};

/// The answer to a hello that names these builds of `blog`.
fn word(bench: &mut Bench, under: u64, builds: &[&str]) {
    let builds = builds.iter().map(|build| build.parse().unwrap()).collect();
    let builds = [("blog".parse().unwrap(), builds)].into();
    let keep = Some(BuildsKept { under: DeclarationNumber(under), builds });
    bench.event(Event::HelloAnswered(Box::new(HelloReply { declaration: None, keep })));
}

/// Moves the only instance from the build that runs to this one, and sees it healthy.
fn moved(bench: &mut Bench, number: u64, build: &str) {
    let old = bench.run.unwrap();
    bench.readied(number, build, WEB);
    bench.prove(bench.run.unwrap());
    bench.exited(old, "exit status 0");
    bench.acknowledge();
    bench.told();
}

#[test]
fn what_is_named_wanted_or_running_stays_and_so_does_what_served_before() {
    let mut bench = Bench::running(A, WEB);
    word(&mut bench, 1, &[C]);
    assert_eq!(bench.told(), ["collect all but blog A, blog C"]);
    bench.event(Event::Collected);
    moved(&mut bench, 2, B);
    // The word is as old as can be, and names nothing: the last good build stays all the same, also after a restart.
    word(&mut bench, 2, &[]);
    assert_eq!(bench.told(), ["collect all but blog A, blog B"]);
    bench.event(Event::Collected);
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.restart_with(vec![found]);
    bench.told();
    word(&mut bench, 2, &[]);
    assert_eq!(bench.told(), ["collect all but blog A, blog B"]);
}

#[test]
fn what_never_passed_takes_the_place_of_nothing_that_did() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.run.unwrap();
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    let bad = bench.run.unwrap();
    bench.started(bad);
    bench.readied(3, C, WEB);
    bench.exited(bad, "exit status 0");
    bench.prove(bench.run.unwrap());
    bench.exited(old, "exit status 0");
    bench.told();
    word(&mut bench, 3, &[]);
    assert_eq!(bench.told(), ["collect all but blog A, blog C"]);
}

#[test]
fn a_word_about_another_declaration_says_nothing_and_none_at_all_even_less() {
    let mut bench = Bench::running(A, WEB);
    word(&mut bench, 2, &[A]);
    word(&mut bench, 0, &[A]);
    bench.event(Event::HelloAnswered(Box::new(HelloReply { declaration: None, keep: None })));
    assert_eq!(bench.told(), [""; 0]);
    // A declaration comes along: what it wants is not on its way yet.
    let newer = declaration(2, [("blog", module(B, WEB, &["blog-1"]))], &[]);
    let keep = Some(BuildsKept { under: DeclarationNumber(1), builds: Default::default() });
    bench.event(Event::HelloAnswered(Box::new(HelloReply { declaration: Some(newer), keep })));
    assert_eq!(bench.told(), ["install blog B"]);
}

#[test]
fn nothing_is_collected_while_anything_moves() {
    let mut bench = Bench::running(A, WEB);
    let old = bench.run.unwrap();
    bench.declare(2, B, WEB);
    let steps: [fn(&mut Bench); 4] = [
        |_| {},
        |bench| bench.installed(B, Ok(())),
        |bench| bench.verified(Ok(())),
        |bench| bench.declare(3, C, WEB),
    ];
    for step in steps {
        step(&mut bench);
        bench.told();
        word(&mut bench, 2, &[]);
        word(&mut bench, 3, &[]);
        assert_eq!(bench.told(), [""; 0]);
    }
    let bad = bench.run.unwrap();
    bench.started(bad);
    bench.exited(bad, "exit status 0");
    bench.installed(C, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    bench.told();
    word(&mut bench, 3, &[]);
    assert_eq!(bench.told(), [""; 0], "what served before is not gone yet");
    bench.exited(old, "exit status 0");
    word(&mut bench, 3, &[]);
    assert_eq!(bench.told(), ["collect all but blog A, blog C"]);
}

#[test]
fn an_install_that_nobody_waits_for_any_longer_keeps_everything_in_its_place() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.declare(3, A, WEB);
    bench.told();
    word(&mut bench, 3, &[]);
    assert_eq!(bench.told(), [""; 0]);
    bench.installed(B, Ok(()));
    word(&mut bench, 3, &[]);
    assert_eq!(bench.told(), ["collect all but blog A"]);
}

#[test]
fn what_cannot_be_tried_does_not_keep_room_from_being_made() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Err(UnableBecause::Disk));
    bench.told();
    word(&mut bench, 2, &[]);
    assert_eq!(bench.told(), ["collect all but blog A, blog B"]);
}

#[test]
fn an_install_waits_until_the_removal_is_over() {
    let mut bench = Bench::running(A, WEB);
    word(&mut bench, 1, &[]);
    bench.told();
    bench.declare(2, B, WEB);
    word(&mut bench, 2, &[]);
    assert_eq!(bench.told(), ["answer: taken"]);
    bench.event(Event::Collected);
    assert_eq!(bench.told(), ["install blog B"]);
    bench.event(Event::Collected);
    assert_eq!(bench.told(), [""; 0]);
    bench.installed(B, Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 1 of ours will be gone"]);
}

#[test]
fn an_agent_that_ends_collects_nothing() {
    let mut bench = Bench::running(A, WEB);
    bench.event(Event::ShutDown(Ending::Stop));
    bench.exited(bench.run.unwrap(), "exit status 0");
    bench.told();
    word(&mut bench, 1, &[]);
    assert_eq!(bench.told(), [""; 0]);
}
