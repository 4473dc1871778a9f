//! Which declarations are taken, and that nothing of one is begun before it is on the disk.

use agent_core::Event;
use inventory::{DeclarationNumber, Epoch};
use wire::HelloReply;

use crate::bench::{A, B, Bench, C, WEB, declaration, in_turn, module};

#[test]
fn a_declaration_lands_before_it_is_answered_or_begun() {
    let mut bench = Bench::new();
    bench.told();
    bench.disk = Err("no space left".to_owned());
    bench.declare(1, A, WEB);
    assert_eq!(bench.told(), ["answer: refused, it could not be kept: no space left"]);
    assert_eq!(bench.kept, None);
    bench.disk = Ok(());
    bench.declare(1, A, WEB);
    assert_eq!(bench.told(), ["install blog A", "answer: taken"]);
    assert_eq!(bench.kept.clone().unwrap().declaration.number, DeclarationNumber(1));
}

#[test]
fn one_that_is_sent_again_is_taken_and_its_report_repeated() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(1, A, WEB);
    assert_eq!(bench.told(), ["answer: taken", "report 1: blog applied"]);
}

#[test]
fn one_of_the_same_number_with_other_content_is_refused_loudly() {
    let mut bench = Bench::running(A, WEB);
    bench.declare(1, B, WEB);
    assert_eq!(bench.told(), ["answer: refused, number 1 is held here with other content"]);
}

#[test]
fn an_older_number_or_epoch_or_another_machine_is_refused() {
    let mut bench = Bench::running(A, WEB);
    let newer = |number, epoch| {
        let mut one = declaration(number, [("blog", module(B, WEB, &["blog-1"]))], &[]);
        one.epoch = Epoch(epoch);
        one
    };
    bench.offer(newer(0, 1));
    bench.offer(newer(2, 0));
    bench.offer(inventory::Declaration { machine: "box-2".parse().unwrap(), ..newer(2, 1) });
    let expected = [
        "answer: refused, number 1 is held here, newer than 0",
        "answer: refused, epoch 0 is over; 1 has been seen here",
        "answer: refused, it is for machine `box-2`",
    ];
    assert_eq!(bench.told(), expected);
}

#[test]
fn a_hello_can_be_answered_with_a_declaration() {
    let mut bench = Bench::running(A, WEB);
    let newer = declaration(2, [("blog", module(B, WEB, &["blog-1"]))], &[]);
    let reply = HelloReply { declaration: Some(newer), keep: None };
    bench.event(Event::HelloAnswered(Box::new(reply)));
    assert_eq!(bench.told(), ["install blog B"]);
    assert_eq!(bench.kept.clone().unwrap().declaration.number, DeclarationNumber(2));
}

#[test]
fn an_empty_declaration_stops_nothing_and_starts_again_what_it_does_not_speak_of() {
    let mut bench = Bench::running(A, WEB);
    bench.offer(declaration(2, [], &[]));
    assert_eq!(bench.told(), ["answer: taken", "report 2: "]);
    assert_eq!(bench.statements().len(), 0);
    bench.restart();
    assert_eq!(bench.told(), ["install blog A", "report 2: "]);
}

#[test]
fn only_a_withdrawal_stops_a_module() {
    let mut bench = Bench::running(A, WEB);
    bench.offer(declaration(2, [], &["blog"]));
    assert_eq!(bench.told(), ["stop", "answer: taken"]);
    let run = bench.run.unwrap();
    bench.exited(run, "signal 15 (TERM)");
    assert_eq!(bench.told(), ["report 2: blog applied"]);
    bench.restart();
    assert_eq!(bench.told(), ["report 2: blog applied"]);
}

#[test]
fn a_declared_module_with_instances_is_its_whole_wish_and_one_without_says_nothing() {
    let (mut bench, runs) = Bench::pair(A, WEB);
    // No instance is listed: nothing happens to those that are there.
    bench.offer(declaration(2, [("blog", module(B, WEB, &[]))], &[]));
    assert_eq!(bench.told(), ["answer: taken", "report 2: blog applied"]);
    bench.acknowledge();
    bench.offer(declaration(3, [("blog", module(A, WEB, &["blog-1"]))], &[]));
    assert_eq!(bench.told(), ["stop", "answer: taken"]);
    bench.exited(runs[1], "exit status 0");
    assert_eq!(bench.told(), ["report 3: blog applied"]);
    assert_eq!(bench.row().instance.as_str(), "blog-1");
}

#[test]
fn a_newer_declaration_overtakes_a_move_at_every_step() {
    // While B is being installed, C comes: B is never started.
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, B, WEB);
    bench.declare(3, C, WEB);
    bench.told();
    bench.installed(B, Ok(()));
    assert_eq!(bench.told(), Vec::<String>::new());
    bench.installed(C, Ok(()));
    assert_eq!(bench.told(), ["verify 1 starts, 1 of ours will be gone"]);

    // While C is being verified, A comes back: it never stopped.
    let mut bench = Bench::running(A, WEB);
    bench.declare(2, C, WEB);
    bench.installed(C, Ok(()));
    let verification = bench.verification.unwrap();
    bench.declare(3, A, WEB);
    bench.told();
    bench.event(Event::Verified { verification, outcome: Ok(()) });
    assert_eq!(bench.told(), Vec::<String>::new());
    assert_eq!(bench.row().build.as_str(), A);

    // While A is being stopped for B, A comes back: it is started again once it is gone.
    let in_turn = in_turn();
    let mut bench = Bench::running(A, &in_turn);
    bench.readied(2, B, &in_turn);
    bench.declare(3, A, &in_turn);
    bench.told();
    let run = bench.run.unwrap();
    bench.exited(run, "exit status 0");
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    let expected =
        ["install blog A", "verify 1 starts, 0 of ours will be gone", "start blog-1 of blog A"];
    assert_eq!(bench.told(), expected);
}
