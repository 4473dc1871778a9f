//! What is wrong with the machine itself: stated at once, nothing new is begun, and what runs goes on.

use std::time::Duration;

use agent_core::{Action, Decision, Event, Now};
use wire::ResourceState::{Failed, Healthy, Unhealthy};
use wire::TroubleKind::{self, DiskFails, DiskFull, DiskReadOnly, FileDamaged};
use wire::{Trouble, UnableBecause};

use crate::bench::{A, B, Bench, WEB, declaration, in_turn, module, opened, start};

fn stated(bench: &Bench) -> Vec<TroubleKind> {
    bench.newest_statement().troubles.iter().map(|trouble| trouble.kind).collect()
}

#[test]
fn what_is_wrong_with_the_machine_is_in_every_statement_and_stated_at_once() {
    let mut bench = Bench::running(A, WEB);
    bench.machine_has(&[DiskFull, FileDamaged]);
    assert_eq!(bench.statements().len(), 1);
    assert_eq!(stated(&bench), [DiskFull, FileDamaged]);
    bench.pass(5_000);
    assert!(bench.statements().len() > 1);
    assert_eq!(stated(&bench), [DiskFull, FileDamaged]);

    // Other words for the same are no news.
    let before = bench.statements().len();
    bench.troubles[0].why = "1 MB is left".to_owned();
    bench.event(Event::Examined { troubles: bench.troubles.clone() });
    assert_eq!(bench.statements().len(), before);

    bench.machine_has(&[]);
    assert_eq!(bench.statements().len(), before + 1);
    assert_eq!(stated(&bench), []);
}

#[test]
fn the_machine_is_looked_at_from_the_start_and_every_while() {
    let mut bench = Bench::new();
    bench.troubles = vec![Trouble { kind: FileDamaged, why: "set aside".to_owned() }];
    bench.restart();
    assert_eq!(stated(&bench), [FileDamaged]);
    bench.troubles.clear();
    bench.pass(5_000);
    assert_eq!(stated(&bench), []);
}

#[test]
fn the_first_statement_knows_how_the_machine_is_or_has_waited_for_that() {
    let now = Bench::new().now;
    let statements = |decision: &agent_core::Decision| {
        let states = |action: &&Action| matches!(action, Action::State(_));
        decision.actions.iter().filter(states).count()
    };
    // What the open of the book owes lands first.
    let begun = || {
        let (mut agent, decision) = start(1, None, opened(None, now), Vec::new(), now);
        let Decision { actions, land: Some(landing) } = decision else { unreachable!() };
        assert_eq!(actions, []);
        let decision = agent.landed(landing, Ok(()), now);
        (agent, decision)
    };
    let (mut agent, decision) = begun();
    assert_eq!(statements(&decision), 0);
    assert!(agent.wake() > now.monotonic, "it does not run in circles until then");
    let troubles = vec![Trouble { kind: DiskFull, why: "no room".to_owned() }];
    let decision = agent.handle(Event::Examined { troubles }, now);
    let [Action::State(first)] = &decision.actions[..] else { unreachable!("{decision:?}") };
    assert_eq!(first.troubles.len(), 1);
    // A look that does not come back keeps nobody from speaking.
    let (mut agent, _) = begun();
    let later = Now { monotonic: now.monotonic + Duration::from_secs(5), ..now };
    assert_eq!(statements(&agent.handle(Event::Tick, later)), 1);
}

#[test]
fn while_the_disk_gives_trouble_nothing_is_begun_and_it_goes_on_at_once_when_that_is_over() {
    for kind in [DiskFull, DiskReadOnly, DiskFails] {
        let mut bench = Bench::running(A, WEB);
        bench.machine_has(&[kind]);
        bench.told();
        bench.declare(2, B, WEB);
        let words =
            format!("it is {}; nothing new is begun here until that is over", kind.as_str());
        let reported = bench.reports().last().cloned();
        assert!(format!("{reported:?}").contains(&words), "{reported:?}");
        assert_eq!(bench.told(), ["answer: taken", "report 2: blog unable, Disk"]);
        bench.acknowledge();
        let row = bench.row();
        assert_eq!((row.build.as_str(), row.state), (A, Healthy));
        for _ in 0..120 {
            bench.checked(bench.run.unwrap(), Ok(()));
            bench.pass(1_000);
        }
        assert_eq!(
            bench.told(),
            [""; 0],
            "it is looked at again, and nothing is done or said anew"
        );
        bench.machine_has(&[]);
        assert_eq!(bench.told(), ["install blog B"]);
    }
}

#[test]
fn what_is_damaged_besides_the_disk_keeps_nothing_from_being_begun() {
    let mut bench = Bench::running(A, WEB);
    bench.machine_has(&[FileDamaged, TroubleKind::Other]);
    bench.declare(2, B, WEB);
    assert_eq!(bench.told(), ["install blog B", "answer: taken"]);
}

#[test]
fn a_disk_that_fills_on_the_way_stops_the_move_before_the_old_one_is_touched() {
    // While the build is installed.
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.told();
    bench.machine_has(&[DiskFull]);
    bench.installed(B, Ok(()));
    assert_eq!(bench.told(), ["report 2: blog unable, Disk"]);
    // While what its start needs is looked at.
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Ok(()));
    bench.told();
    bench.machine_has(&[DiskFull]);
    bench.verified(Ok(()));
    assert_eq!(bench.told(), ["report 2: blog unable, Disk"]);
    // Once the old one is being stopped there is no way but forward.
    let mut bench = Bench::running(A, &in_turn());
    let old = bench.run.unwrap();
    bench.readied(2, B, &in_turn());
    bench.told();
    bench.machine_has(&[DiskFull]);
    bench.exited(old, "exit status 0");
    assert_eq!(bench.told(), ["start blog-1 of blog B"]);
}

#[test]
fn what_was_refused_for_want_of_space_is_tried_as_soon_as_there_is_some() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Err(UnableBecause::Disk));
    bench.machine_has(&[DiskFull]);
    bench.acknowledge();
    bench.told();
    bench.machine_has(&[]);
    assert_eq!(bench.told(), ["install blog B"]);
}

#[test]
fn what_runs_goes_on_on_a_full_disk_is_restarted_and_can_be_withdrawn() {
    let mut bench = Bench::running(A, WEB);
    bench.machine_has(&[DiskFull]);
    bench.told();
    bench.exited(bench.run.unwrap(), "exit status 1");
    bench.pass(8_000);
    assert_eq!(bench.told(), ["start blog-1 of blog A"]);
    bench.started(bench.run.unwrap());
    bench.offer(declaration(2, [], &["blog"]));
    assert_eq!(bench.told(), ["stop", "answer: taken"]);
}

#[test]
fn what_falls_on_a_full_disk_is_not_given_up_and_no_failure() {
    let mut bench = Bench::started_again(A, WEB);
    bench.acknowledge();
    // It falls before anybody has seen that the disk is full: that is looked at before it comes to its limit.
    bench.troubles = vec![Trouble { kind: DiskFull, why: "no space".to_owned() }];
    for _ in 0..10 {
        bench.exited(bench.run.unwrap(), "exit status 1");
        assert_eq!(bench.row().state, Unhealthy);
        bench.pass(8_000);
        bench.started(bench.run.unwrap());
    }
    assert_eq!(stated(&bench), [DiskFull]);
    assert!(bench.told().iter().all(|told| !told.contains("failed")));

    // With room it is tried at once, and what it does then is its own.
    bench.exited(bench.run.unwrap(), "exit status 1");
    bench.told();
    bench.machine_has(&[]);
    assert_eq!(bench.told(), ["start blog-1 of blog A"]);
    for state in [Unhealthy, Failed] {
        bench.started(bench.run.unwrap());
        bench.exited(bench.run.unwrap(), "exit status 1");
        assert_eq!(bench.row().state, state);
        bench.pass(8_000);
    }
}

#[test]
fn what_had_come_to_its_limit_when_the_disk_filled_is_not_given_up_either() {
    let mut bench = Bench::running(A, WEB);
    for _ in 0..2 {
        bench.exited(bench.run.unwrap(), "exit status 1");
        bench.pass(8_000);
        bench.started(bench.run.unwrap());
    }
    bench.machine_has(&[DiskFull]);
    bench.exited(bench.run.unwrap(), "exit status 1");
    assert_eq!(bench.row().state, Unhealthy);
}

#[test]
fn what_was_stopped_on_the_way_to_a_build_that_is_wanted_no_longer_is_brought_up_on_a_full_disk() {
    let mut bench = Bench::running(A, &in_turn());
    let old = bench.run.unwrap();
    bench.readied(2, B, &in_turn());
    bench.machine_has(&[DiskFull]);
    bench.declare(3, A, &in_turn());
    bench.told();
    bench.exited(old, "exit status 0");
    assert_eq!(bench.told(), ["install blog A"]);
}

#[test]
fn what_was_given_up_before_the_disk_filled_can_be_put_back() {
    let mut bench = Bench::running(A, WEB);
    for _ in 0..2 {
        bench.exited(bench.run.unwrap(), "exit status 1");
        bench.pass(8_000);
        bench.started(bench.run.unwrap());
    }
    bench.exited(bench.run.unwrap(), "exit status 1");
    assert_eq!(bench.row().state, Failed);
    bench.machine_has(&[DiskFull]);
    bench.told();
    bench.declare(2, B, WEB);
    assert_eq!(bench.told(), ["install blog B", "answer: taken"]);
}

#[test]
fn an_instance_that_is_down_is_brought_up_on_a_full_disk() {
    let mut bench = Bench::running(A, WEB);
    bench.machine_has(&[DiskFull]);
    // The machine lost its power: what was declared before is not kept down for the sake of the disk.
    bench.restart();
    assert_eq!(bench.told(), ["install blog A"]);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 0 of ours will be gone", "start blog-1 of blog A"]);
    // What is new waits, wherever nothing ran.
    bench.offer(declaration(
        2,
        [("blog", module(A, WEB, &["blog-1"])), ("shop", module(B, WEB, &["shop-1"]))],
        &[],
    ));
    bench.started(bench.run.unwrap());
    let told = bench.told();
    assert!(told.iter().all(|told| !told.starts_with("install")), "{told:?}");
    bench.machine_has(&[]);
    assert_eq!(bench.told(), ["install shop B"]);
}

#[test]
fn what_could_not_be_tried_is_tried_at_once_when_somebody_asks_again() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.installed(B, Err(UnableBecause::Artifact));
    bench.acknowledge();
    bench.told();
    bench.declare(2, B, WEB);
    assert_eq!(
        bench.told(),
        ["install blog B", "answer: taken", "report 2: blog unable, Artifact"]
    );
    // What runs as it should does not notice.
    let mut bench = Bench::running(A, WEB);
    bench.declare(1, A, WEB);
    assert_eq!(bench.told(), ["answer: taken", "report 1: blog applied"]);
}
