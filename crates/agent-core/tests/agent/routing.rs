//! Where public addresses lead while builds move.

use crate::bench::{A, B, Bench, WEB, fragile, hold};

/// The same manifest, reached at a public address.
fn routed(manifest: &str) -> String {
    manifest.replace("command", "listen = \"0.0.0.0:8080\"\ncommand")
}

fn routes(told: &[String]) -> Vec<&str> {
    told.iter().filter_map(|one| one.strip_prefix("route 0.0.0.0:8080 ")).collect()
}

#[test]
fn an_address_waits_for_the_first_build_and_leads_to_it_once_it_has_passed() {
    let mut bench = Bench::new();
    bench.declare(1, A, &routed(WEB));
    assert_eq!(routes(&bench.told()), ["holds"]);
    bench.installed(A, Ok(()));
    bench.verified(Ok(()));
    bench.prove(bench.run.unwrap());
    assert_eq!(routes(&bench.told()), ["goes to 20001"]);
}

#[test]
fn an_overlap_leads_to_the_new_one_before_the_old_one_is_stopped() {
    let mut bench = Bench::running(A, &routed(WEB));
    bench.readied(2, B, &routed(WEB));
    let told = bench.told();
    assert_eq!(routes(&told), [""; 0], "{told:?}");
    bench.prove(bench.run.unwrap());
    let told = bench.told();
    let at = |what: &str| told.iter().position(|one| one.starts_with(what)).unwrap();
    assert!(at("route") < at("stop"), "{told:?}");
}

#[test]
fn a_hold_lets_connections_wait_before_the_old_one_is_stopped_and_refuses_them_when_it_fails() {
    let hold = routed(&fragile(&hold()));
    let mut bench = Bench::running(A, &hold);
    let old = bench.run.unwrap();
    bench.readied(2, B, &hold);
    let told = bench.told();
    assert_eq!(&told[told.len() - 2..], ["route 0.0.0.0:8080 holds", "stop"]);
    bench.exited(old, "exit status 0");
    bench.fall();
    let told = bench.told();
    let [refused] = routes(&told)[..] else { unreachable!("{told:?}") };
    assert!(refused.starts_with("answers 503, blog: "), "{refused}");
}

#[test]
fn what_falls_lets_connections_wait_until_it_is_up_again_or_given_up() {
    let mut bench = Bench::running(A, &routed(WEB));
    bench.exited(bench.run.unwrap(), "exit status 1");
    assert_eq!(routes(&bench.told()), ["holds"]);
    bench.pass(5_000);
    bench.started(bench.run.unwrap());
    assert_eq!(routes(&bench.told()), ["goes to 20002"]);
}

#[test]
fn an_address_that_cannot_be_had_is_unable_and_the_old_build_serves_on() {
    let mut bench = Bench::running(A, WEB);
    let taken = "process 77 (nginx) listens there already";
    bench.unroutable.insert("0.0.0.0:8080".parse().unwrap(), taken.to_owned());
    bench.readied(2, B, &routed(WEB));
    let told = bench.told();
    assert!(told.contains(&"report 2: blog unable, Port".to_owned()), "{told:?}");
    assert_eq!(bench.row().build.as_str(), A);
    // It goes on by itself when the address is free.
    bench.unroutable.clear();
    bench.pass(60_000);
    bench.installed(B, Ok(()));
    bench.verified(Ok(()));
    assert!(bench.told().iter().any(|one| one == "start blog-1 of blog B"));
}

#[test]
fn an_agent_that_begins_closes_no_address_before_it_knows_all_instances() {
    let mut bench = Bench::running(A, &routed(WEB));
    let found = bench.found(0, &bench.start.clone().unwrap());
    bench.restart_with(vec![found]);
    assert_eq!(routes(&bench.told()), ["goes to 20001"]);
}
