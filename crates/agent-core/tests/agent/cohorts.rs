//! The instances of a module on one machine: one tries a new build first, the others follow it or keep away from it.

use agent_core::Event;

use crate::bench::{A, B, Bench, WEB, declaration, fragile, module};

fn both(build: &str, manifest: &str) -> inventory::DeclaredModule {
    module(build, manifest, &["blog-1", "blog-2"])
}

/// Two instances of A that are to run B, which is installed.
fn moving(manifest: &str) -> Bench {
    let (mut bench, _) = Bench::pair(A, manifest);
    bench.offer(declaration(2, [("blog", both(B, manifest))], &[]));
    bench.installed(B, Ok(()));
    bench
}

#[test]
fn the_first_by_name_tries_a_build_and_the_others_follow_one_by_one_when_it_passed() {
    let mut bench = moving(WEB);
    let verifications = bench.verifications();
    bench.told();
    // The second is ready first, and waits all the same.
    bench.event(Event::Verified { verification: verifications[1], outcome: Ok(()) });
    assert_eq!(bench.told(), [""; 0]);
    bench.event(Event::Verified { verification: verifications[0], outcome: Ok(()) });
    assert_eq!(bench.told(), ["start blog-1 of blog B"]);
    assert_eq!(bench.book(), ["intent B on blog-1, overlap"]);
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.told(), ["stop", "start blog-2 of blog B"]);
    assert_eq!(bench.book(), ["intent B on blog-2, overlap"]);
    bench.prove(bench.run.unwrap());
    assert_eq!(bench.told(), ["stop", "report 2: blog applied"]);
}

#[test]
fn when_it_fails_on_one_the_others_do_not_try_it_and_the_report_names_the_one() {
    let mut bench = moving(&fragile(WEB));
    bench.verified_all();
    bench.told();
    bench.fall();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    assert_eq!(bench.book(), ["record B on blog-1"]);
    bench.pass(3_600_000);
    let told = bench.told();
    assert!(!told.iter().any(|told| told.ends_with("of blog B")), "{told:?}");
    let builds = bench.newest_statement().resources.iter().map(|row| row.build.as_str());
    assert_eq!(builds.collect::<Vec<_>>(), [A, A]);
}

#[test]
fn a_sibling_that_is_still_on_its_way_is_halted_as_well() {
    let mut bench = moving(&fragile(WEB));
    let verifications = bench.verifications();
    bench.event(Event::Verified { verification: verifications[0], outcome: Ok(()) });
    bench.told();
    bench.fall();
    assert_eq!(bench.told(), ["report 2: blog failed on blog-1"]);
    bench.event(Event::Verified { verification: verifications[1], outcome: Ok(()) });
    assert_eq!(bench.told(), [""; 0]);
}

#[test]
fn a_first_one_that_cannot_try_lets_the_next_one_try() {
    let mut bench = moving(WEB);
    let verifications = bench.verifications();
    bench.told();
    let in_the_way = crate::bench::obstacle(wire::UnableBecause::Port);
    bench.event(Event::Verified { verification: verifications[1], outcome: Ok(()) });
    bench.event(Event::Verified { verification: verifications[0], outcome: Err(in_the_way) });
    assert_eq!(bench.told(), ["start blog-2 of blog B"]);
}

#[test]
fn an_instance_that_a_retry_freed_is_the_canary_and_its_pass_frees_no_sibling() {
    let mut bench = moving(&fragile(WEB));
    bench.verified_all();
    bench.fall();
    bench.acknowledge();
    bench.free("blog-2", B);
    bench.restart();
    // Both are down: they are up again with their good build first.
    assert_eq!(bench.told(), ["install blog A"]);
    bench.installed(A, Ok(()));
    bench.verified_all();
    let runs = bench.runs();
    runs.iter().for_each(|run| bench.started(*run));
    bench.told();
    bench.installed(B, Ok(()));
    bench.verified_all();
    assert_eq!(bench.told().pop().unwrap(), "start blog-2 of blog B");
    bench.prove(bench.run.unwrap());
    let told = bench.told();
    assert_eq!(bench.good("blog-2").unwrap(), B);
    assert!(!told.iter().any(|told| told.starts_with("start blog-1")), "{told:?}");
    assert!(told.iter().any(|told| told.starts_with("report 2: blog")), "{told:?}");
    assert_eq!(bench.book(), ["record B on blog-1, retried blog-2"]);
}

#[test]
fn two_modules_cannot_have_an_instance_of_the_same_name() {
    let shop = WEB.replace("\"blog\"", "\"shop\"");
    let mut bench = Bench::running(A, WEB);
    let refused = "answer: refused, instance `blog-1` would be one of `blog` and one of `shop` on this machine; give one of them another name";
    // Beside it in one declaration, and beside what an earlier one left.
    let two = [("blog", module(A, WEB, &["blog-1"])), ("shop", module(B, &shop, &["blog-1"]))];
    bench.offer(declaration(2, two, &[]));
    assert_eq!(bench.told(), [refused]);
    bench.offer(declaration(2, [("shop", module(B, &shop, &["blog-1"]))], &[]));
    assert_eq!(bench.told(), [refused]);
    // Where the other one is withdrawn there is no second owner.
    bench.offer(declaration(2, [("shop", module(B, &shop, &["blog-1"]))], &["blog"]));
    assert_eq!(bench.told(), ["stop", "install shop B", "answer: taken"]);
}
