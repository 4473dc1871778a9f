//! Under load: what an engine does to move a program to another build, and what becomes of the engine, loses no request.

use std::time::Duration;

use route::{Drained, Gone, Goodbye, Refusal, To};

use crate::load::Load;
use crate::world::{Bed, Process, Server, forward, soon};

const HOLD: To = To::Hold { limit: 1000, time: Duration::from_secs(60), then: Refusal::Close };

#[tokio::test]
async fn an_overlap_swap_loses_no_request() {
    let bed = Bed::new().await;
    let mut old = Server::start("a").await;
    bed.set(forward(&[old.address])).await;
    let load = Load::start(bed.at, 4, 4);
    for round in 0..4 {
        load.answered(20).await;
        let new = Server::start(if round % 2 == 0 { "b" } else { "a" }).await;
        bed.set(forward(&[new.address])).await;
        let drained = bed.engine.drained(old.address, Duration::from_secs(1)).await.unwrap();
        assert_eq!(drained, Drained::Empty);
        assert_eq!(bed.open(old.address).await, 0);
        old.kill().await;
        old = new;
    }
    load.answered(20).await;
    let tally = load.end().await;
    assert_eq!(tally.lost, Vec::<String>::new());
    assert_eq!(tally.answered.keys().collect::<Vec<_>>(), ["a", "b"]);
    assert!(tally.reconnected > 0, "kept connections were moved");
}

#[tokio::test]
async fn a_hold_swap_loses_no_request() {
    let bed = Bed::new().await;
    let mut old = Server::start("a").await;
    bed.set(forward(&[old.address])).await;
    let load = Load::start(bed.at, 4, 4);
    for _ in 0..3 {
        load.answered(20).await;
        bed.set(HOLD).await;
        bed.engine.drained(old.address, Duration::from_secs(1)).await.unwrap();
        old.kill().await;
        bed.until_queued(8).await;
        old = Server::start("b").await;
        bed.set(forward(&[old.address])).await;
    }
    load.answered(20).await;
    let tally = load.end().await;
    assert_eq!(tally.lost, Vec::<String>::new());
    assert_eq!(tally.answered.keys().collect::<Vec<_>>(), ["a", "b"]);
}

#[tokio::test]
async fn nothing_is_noticed_of_engines_that_come_and_go() {
    let bed = Bed::new().await;
    let (socket, at) = (bed.socket(), bed.at.to_string());
    let server = Server::start("a").await;
    let backend = server.address.to_string();
    let engine = async || {
        let mut engine = Process::of(&["engine", socket.to_str().unwrap(), &at, &backend]);
        assert_eq!(engine.line().await, "0 faults");
        engine
    };
    let mut first = engine().await;
    assert_eq!(bed.engine.gone().await, Gone::Goodbye(Goodbye::Replaced));
    let load = Load::start(bed.at, 4, 4);
    for _ in 0..5 {
        load.answered(10).await;
        first.kill().await;
        load.answered(10).await;
        first = engine().await;
    }
    // The newest wins, also over one that lives, and that is told.
    let second = engine().await;
    assert_eq!(
        first.line().await,
        "another engine has connected to the router, and the newest is heeded"
    );
    load.answered(10).await;
    drop(second);
    let tally = load.end().await;
    assert_eq!((tally.lost, tally.reconnected), (Vec::new(), 0));
}

#[tokio::test]
async fn a_program_that_is_started_again_at_once_loses_no_new_connection() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    let address = server.address;
    bed.set(forward(&[address])).await;
    server.kill().await;
    let asked = tokio::spawn(crate::world::ask(bed.at, "hello"));
    bed.until_queued(1).await;
    let _server = Server::at("b", &address.to_string()).await;
    assert_eq!(soon("an answer", asked).await.unwrap().unwrap(), "b hello");
}

#[tokio::test]
async fn a_backend_that_is_away_is_passed_over() {
    let bed = Bed::new().await;
    let (one, two) = (Server::start("one").await, Server::start("two").await);
    bed.set(forward(&[one.address, two.address])).await;
    let load = Load::start(bed.at, 4, 0);
    load.answered(20).await;
    let before = bed.engine.counts().await.unwrap();
    let counts = &before.0[&bed.at].backends;
    assert!(counts[&one.address].total >= 40 && counts[&two.address].total >= 40, "{before:?}");
    // Nobody is connected to it while it is killed.
    let tally = load.end().await;
    assert_eq!(tally.lost, Vec::<String>::new());
    let drained = bed.engine.drained(one.address, Duration::from_secs(60)).await.unwrap();
    assert_eq!(drained, Drained::Empty);
    one.kill().await;
    let load = Load::start(bed.at, 4, 4);
    load.answered(20).await;
    let tally = load.end().await;
    assert_eq!(tally.lost, Vec::<String>::new());
    assert_eq!(tally.answered.keys().collect::<Vec<_>>(), ["two"]);
}
