//! One router takes another's place, or tries to; and a router that is killed.

use std::io::ErrorKind;
use std::time::Duration;

use route::{Gone, Goodbye, Refusal, RouterClient, StartError, To};
use rustix::process::Signal;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};

use crate::load::Load;
use crate::raw::{self, HEIR};
use crate::world::{Bed, Server, ask, forward, free, hear_line, signal_process, soon, until};

const HOLD: To = To::Hold { limit: 100, time: Duration::from_secs(60), then: Refusal::Close };

/// More than sockets and pipes hold.
const MUCH: usize = 48 * 1024 * 1024;

/// Byte `at` of a stream in which no part is like another.
fn byte(at: usize) -> u8 {
    (at.wrapping_mul(2_654_435_761) >> 13) as u8
}

#[tokio::test]
async fn an_upgrade_is_noticed_by_no_connection() {
    let mut bed = Bed::new().await;
    let held_at = free("127.0.0.1");
    let server = Server::start("a").await;
    // One that takes all that it is sent, slowly at first, and says at the end whether it was right.
    let sink = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let bulk_at = free("127.0.0.1");
    let table = || {
        [
            (bed.at, forward(&[server.address])),
            (held_at, HOLD),
            (bulk_at, forward(&[sink.local_addr().unwrap()])),
        ]
    };
    bed.set_all(table()).await;
    let (go, gone) = tokio::sync::oneshot::channel();
    let sinking = tokio::spawn(async move {
        let (mut stream, _) = sink.accept().await.unwrap();
        // Until then it takes nothing, so that much is on its way in the router when that is replaced.
        gone.await.unwrap();
        let mut all = Vec::new();
        stream.read_to_end(&mut all).await.unwrap();
        let wrong = all.iter().enumerate().find(|(at, is)| **is != byte(*at));
        let verdict = format!("{} {:?}", all.len(), wrong.map(|(at, _)| at));
        stream.write_all(verdict.as_bytes()).await.unwrap();
    });
    let load = Load::start(bed.at, 4, 4);
    let mut held = Vec::new();
    for number in 0..5 {
        let mut stream = TcpStream::connect(held_at).await.unwrap();
        stream.write_all(format!("{number}\n").as_bytes()).await.unwrap();
        held.push(stream);
    }
    let (mut bulk, mut to) = TcpStream::connect(bulk_at).await.unwrap().into_split();
    let sent = tokio::spawn(async move {
        let all: Vec<u8> = (0..MUCH).map(byte).collect();
        to.write_all(&all).await.unwrap();
        to.shutdown().await.unwrap();
    });
    let queued = async |engine: &RouterClient| engine.counts().await.unwrap().0[&held_at].queued;
    until("all are held", async || queued(&bed.engine).await == 5).await;

    for version in ["2", "3", "4"] {
        load.answered(10).await;
        let before = bed.engine.clone();
        bed.upgrade(version).await;
        assert_eq!(before.gone().await, Gone::Goodbye(Goodbye::Moved));
        let counts = bed.engine.counts().await.unwrap();
        assert_eq!(counts.0[&held_at].queued, 5);
        assert_eq!(counts.0[&bulk_at].backends.values().map(|counts| counts.open).sum::<u64>(), 1);
        assert!(counts.0[&bed.at].total > 0);
    }
    go.send(()).unwrap();
    let mut verdict = String::new();
    soon("the verdict", bulk.read_to_string(&mut verdict)).await.unwrap();
    assert_eq!(verdict, format!("{MUCH} None"));
    sent.await.unwrap();
    sinking.await.unwrap();
    bed.set_all([(bed.at, forward(&[server.address])), (held_at, forward(&[server.address]))])
        .await;
    for (number, stream) in held.iter_mut().enumerate() {
        assert_eq!(soon("an answer", hear_line(stream)).await.unwrap(), format!("a {number}"));
    }
    load.answered(10).await;
    let tally = load.end().await;
    assert_eq!((tally.lost, tally.reconnected), (Vec::new(), 0));
}

#[tokio::test]
async fn what_reaches_no_backend_is_handed_over_and_tried_by_the_next() {
    let mut bed = Bed::new().await;
    let away = free("127.0.0.1");
    bed.set(forward(&[away])).await;
    let asked = tokio::spawn(ask(bed.at, "hello"));
    bed.until_queued(1).await;
    bed.upgrade("2").await;
    let _server = Server::at("a", &away.to_string()).await;
    assert_eq!(soon("an answer", asked).await.unwrap().unwrap(), "a hello");
}

/// What an heir has done when it is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GoneAfter {
    Hello,
    Begin,
    All,
    Have,
    Yours,
}

#[tokio::test]
async fn an_heir_that_fails_on_the_way_changes_nothing() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    let held_at = free("127.0.0.1");
    bed.set_all([(bed.at, forward(&[server.address])), (held_at, HOLD)]).await;
    let mut held = TcpStream::connect(held_at).await.unwrap();
    held.write_all(b"kept\n").await.unwrap();
    let load = Load::start(bed.at, 2, 4);
    for gone_after in
        [GoneAfter::Hello, GoneAfter::Begin, GoneAfter::All, GoneAfter::Have, GoneAfter::Yours]
    {
        load.answered(5).await;
        let mut heir = UnixStream::connect(bed.socket()).await.unwrap();
        heir.write_all(&raw::message(HEIR)).await.unwrap();
        let reads_to = match gone_after {
            GoneAfter::Hello => None,
            GoneAfter::Begin => Some("begin"),
            GoneAfter::All | GoneAfter::Have | GoneAfter::Yours => Some("all"),
        };
        if let Some(last) = reads_to {
            while !raw::passed(&mut heir).await.contains(last) {}
        }
        if matches!(gone_after, GoneAfter::Have | GoneAfter::Yours) {
            heir.write_all(&raw::passing("\"have\"")).await.unwrap();
        }
        if gone_after == GoneAfter::Yours {
            assert_eq!(raw::passed(&mut heir).await, "\"yours\"");
        }
        // What is asked meanwhile is answered when it is clear who goes on.
        let engine = bed.engine.clone();
        let asked = tokio::spawn(async move { engine.counts().await });
        tokio::task::yield_now().await;
        drop(heir);
        soon("an answer", asked).await.unwrap().unwrap();
        load.answered(5).await;
        // It is the same router, and its engine is still connected.
        assert_eq!(bed.engine.counts().await.unwrap().0[&held_at].queued, 1, "{gone_after:?}");
    }
    bed.set_all([(bed.at, forward(&[server.address])), (held_at, forward(&[server.address]))])
        .await;
    assert_eq!(soon("an answer", hear_line(&mut held)).await.unwrap(), "a kept");
    let tally = load.end().await;
    assert_eq!((tally.lost, tally.reconnected), (Vec::new(), 0));
}

#[tokio::test]
async fn a_router_that_is_killed_is_replaced_and_its_addresses_are_back_at_once() {
    let mut bed = Bed::new().await;
    let server = Server::start("a").await;
    for version in ["2", "3"] {
        bed.set(forward(&[server.address])).await;
        // Connections that are cut off linger in the kernel, and are in nobody's way.
        let mut open = TcpStream::connect(bed.at).await.unwrap();
        open.write_all(b"one\n").await.unwrap();
        assert_eq!(hear_line(&mut open).await.unwrap(), "a one");
        bed.signal(Signal::KILL);
        assert_eq!(soon("the end", bed.engine.gone()).await, Gone::Lost);
        let refused = async || {
            let connected = TcpStream::connect(bed.at).await;
            connected.is_err_and(|error| error.kind() == ErrorKind::ConnectionRefused)
        };
        until("it is gone", refused).await;
        assert!(route::find(&bed.socket()).await.unwrap().is_none());
        bed.upgrade(version).await;
        bed.set(forward(&[server.address])).await;
        assert_eq!(ask(bed.at, "two").await.unwrap(), "a two");
    }
}

#[tokio::test]
async fn of_many_that_begin_at_once_one_is_there_with_everything() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    bed.set(forward(&[server.address])).await;
    let load = Load::start(bed.at, 2, 2);
    let starts =
        ["2", "3", "4", "5"].map(|version| tokio::spawn(route::start(bed.starts(version))));
    for start in starts {
        // One whose router was replaced before anybody connected to it finds that of another.
        drop(soon("a start", start).await.unwrap().unwrap());
    }
    load.answered(10).await;
    let engine = RouterClient::connect(&bed.socket()).await.unwrap();
    assert!(engine.counts().await.unwrap().open_to(server.address) >= 2);
    let tally = load.end().await;
    assert_eq!((tally.lost, tally.reconnected), (Vec::new(), 0));
    signal_process(engine.about().pid, Signal::KILL);
}

#[tokio::test]
async fn a_program_that_is_no_router_is_told_as_such() {
    let bed = Bed::new().await;
    let mut start = bed.starts("2");
    start.command = vec!["/bin/sh".into(), "-c".into(), "echo no such flag; exit 2".into()];
    match route::start(start).await {
        Err(StartError::Refused { why }) => assert_eq!(why, "no such flag"),
        other => panic!("{other:?}"),
    }
    let mut start = bed.starts("2");
    start.command = vec!["/no/such/program".into()];
    assert!(matches!(route::start(start).await, Err(StartError::Spawn(_))));
    // The one that was there goes on.
    assert!(bed.engine.counts().await.is_ok());
}
