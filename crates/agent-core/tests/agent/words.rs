//! Signed words: what each frees, and what frees nothing.

use chrono::TimeDelta;
use wire::{HeldBy, HeldInstance, Word};

use crate::bench::{A, B, Bench, fragile, hold};
use crate::operator::{Key, grant, operator, pointer};

/// A machine on which B failed as a hold: `blog-1` is held down.
fn held_down() -> Bench {
    let hold = fragile(&hold());
    let mut bench = Bench::running(A, &hold);
    let old = bench.run.unwrap();
    bench.readied(2, B, &hold);
    bench.exited(old, "exit status 0");
    bench.fall();
    bench.acknowledge();
    bench.told();
    bench
}

fn the_one(held: &[HeldInstance]) -> &HeldInstance {
    let [one] = held else { unreachable!("one thing holds one instance: {held:?}") };
    one
}

/// A grant for what holds the machine's instance now.
fn granted(bench: &mut Bench) -> Word {
    let held = bench.held();
    grant("box-1", the_one(&held), bench.now.wall, &operator())
}

#[test]
fn what_is_held_is_told_with_what_a_grant_must_name() {
    let mut bench = held_down();
    let held = bench.held();
    let one = the_one(&held);
    assert_eq!(
        (one.instance.as_str(), one.build.as_str(), one.rule),
        ("blog-1", B, HeldBy::HeldDown)
    );
    assert!(one.generation.is_some());
    assert!(one.reason.as_ref().unwrap().contains("exit status 3"), "{one:?}");
    // And in the report that it went with.
    let reports = {
        bench.declare(3, A, &hold());
        bench.reports()
    };
    let module = reports.last().unwrap().modules.values().next().unwrap();
    assert_eq!(module.held.as_deref(), Some(&held[..]));
}

#[test]
fn a_signed_retry_lets_the_build_that_failed_be_tried_once_more_and_no_more() {
    let mut bench = held_down();
    let word = granted(&mut bench);
    assert_eq!(bench.hand(word.clone()), "taken: blog-1 Record");
    assert_eq!(bench.told(), ["install blog B"]);
    assert_eq!(bench.book(), ["record B on blog-1, retried blog-1"]);
    // The canary that it let through fails as well.
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    bench.fall();
    assert_eq!(bench.book(), ["record B on blog-1, holds down blog-1"]);
    bench.told();
    assert_eq!(bench.hand(word), "refused: Used");
    bench.pass(600_000);
    let told = bench.told();
    assert!(!told.iter().any(|one| one.starts_with("install")), "{told:?}");
}

#[test]
fn a_retry_that_passes_leaves_nothing_held() {
    let mut bench = held_down();
    let word = granted(&mut bench);
    bench.hand(word);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.good("blog-1").as_deref(), Some(B));
    assert_eq!(bench.held(), []);
}

#[test]
fn a_grant_counts_for_exactly_what_it_was_signed_for() {
    let mut bench = held_down();
    let now = bench.now.wall;
    let held = bench.held();
    let one = the_one(&held).clone();
    let before = bench.book();
    let elsewhere = HeldInstance { book: "ff".repeat(16).parse().unwrap(), ..one.clone() };
    let another = {
        let number = one.generation.unwrap().0.get() + 1;
        let generation = Some(wire::signed::Generation(number.try_into().unwrap()));
        HeldInstance { generation, ..one.clone() }
    };
    let nobody = HeldInstance { build: A.parse().unwrap(), ..one.clone() };
    let day = TimeDelta::days(1);
    for (word, answer) in [
        (grant("box-2", &one, now, &operator()), "refused: OtherMachine"),
        (grant("box-1", &one, now, &Key::new(9)), "refused: NotTrusted"),
        (grant("box-1", &elsewhere, now, &operator()), "refused: OtherBook"),
        (grant("box-1", &another, now, &operator()), "refused: OtherGeneration"),
        (grant("box-1", &nobody, now, &operator()), "refused: NotHeld"),
        (grant("box-1", &one, now - day - day, &operator()), "refused: Expired"),
        (grant("box-1", &one, now + day, &operator()), "refused: NotYet"),
    ] {
        assert_eq!(bench.hand(word), answer);
        assert_eq!(bench.book(), before);
        assert_eq!(bench.told(), [""; 0]);
    }
}

#[test]
fn a_clock_that_is_ten_minutes_off_makes_no_grant_useless() {
    for minutes in [-10, 10] {
        let mut bench = held_down();
        let held = bench.held();
        let at = bench.now.wall + TimeDelta::minutes(minutes);
        let word = grant("box-1", the_one(&held), at, &operator());
        assert_eq!(bench.hand(word), "taken: blog-1 Record", "{minutes}");
    }
}

#[test]
fn a_grant_is_used_once_also_across_restarts_and_a_lost_book_makes_it_void() {
    let mut bench = held_down();
    let word = granted(&mut bench);
    bench.hand(word.clone());
    bench.restart();
    assert_eq!(bench.hand(word), "refused: Used");

    let mut bench = held_down();
    bench.pass(1_000);
    let word = granted(&mut bench);
    let lost = bench.book.take();
    assert!(lost.is_some());
    bench.restart();
    assert_eq!(bench.hand(word), "refused: OtherBook", "an empty book is another");
}

#[test]
fn a_rollback_signed_after_the_failure_lets_the_good_build_come_back_and_one_from_before_does_not()
{
    let mut bench = held_down();
    bench.declare(3, A, &fragile(&hold()));
    bench.told();
    let early = pointer(A, bench.at(-60));
    assert_eq!(bench.hand(early), "taken: ");
    assert_eq!(bench.told(), [""; 0], "it was signed when nobody knew");
    let late = pointer(A, bench.at(1));
    assert_eq!(bench.hand(late.clone()), "taken: blog-1 HoldDown");
    assert_eq!(bench.told(), ["install blog A"]);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.row().build.as_str(), A);
    // It still may not try B.
    bench.acknowledge();
    bench.acknowledge();
    bench.declare(4, B, &hold());
    let told = bench.told();
    assert!(told.iter().any(|one| one.contains("blog refused")), "{told:?}");

    // And what a word let go back stays there after a restart.
    bench.declare(5, A, &fragile(&hold()));
    bench.restart();
    assert!(bench.told().contains(&"install blog A".to_owned()));
}

#[test]
fn no_older_pointer_is_taken_after_a_newer_one() {
    let mut bench = held_down();
    let newer = pointer(A, bench.at(20));
    assert_eq!(bench.hand(newer.clone()), "taken: blog-1 HoldDown");
    assert_eq!(bench.hand(pointer(B, bench.at(10))), "refused: Older");
    bench.restart();
    assert_eq!(bench.hand(pointer(B, bench.at(10))), "refused: Older");
    assert!(bench.hand(newer).starts_with("taken"), "the same again is taken again");
    assert_eq!(bench.hand(pointer(B, bench.at(20))), "refused: OtherContent");
}

#[test]
fn a_pointer_to_the_build_that_failed_lets_every_instance_try_it_again() {
    let mut bench = held_down();
    assert_eq!(bench.hand(pointer(B, bench.at(1))), "taken: all Record");
    assert_eq!(bench.book(), [""; 0]);
    assert_eq!(bench.told(), ["install blog B"]);
}

#[test]
fn what_does_not_land_is_not_answered_as_taken() {
    let mut bench = held_down();
    bench.disk = Err("no space left".to_owned());
    assert_eq!(bench.hand(pointer(A, bench.at(1))), "refused: NotKept");
    bench.disk = Ok(());
    assert_eq!(bench.hand(pointer(A, bench.at(1))), "taken: blog-1 HoldDown");

    // What a grant frees is owed then, and nothing runs before that has landed.
    let mut bench = held_down();
    let word = granted(&mut bench);
    bench.disk = Err("no space left".to_owned());
    assert_eq!(bench.hand(word), "refused: NotKept");
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    let told = bench.told();
    assert!(!told.iter().any(|one| one.starts_with("start")), "{told:?}");
    bench.disk = Ok(());
    bench.pass(60_000);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    assert!(bench.told().contains(&"start blog-1 of blog B".to_owned()));
}
