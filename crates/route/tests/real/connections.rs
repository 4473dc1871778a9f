//! What becomes of single connections.

use std::collections::BTreeMap;
use std::fs;
use std::io::ErrorKind;
use std::net::SocketAddr;
use std::time::Duration;

use route::{Drained, Fault, Refusal, Table, To};
use rustix::net::sockopt::set_socket_linger;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use crate::world::{Bed, Server, ask, forward, free, hear_line, soon, until};

fn hold(limit: u32, time: Duration, then: Refusal) -> To {
    To::Hold { limit, time, then }
}

fn http() -> Refusal {
    Refusal::Http { why: "blog is being moved; try again soon".to_owned() }
}

/// A backend that is this test.
async fn backend() -> (TcpListener, SocketAddr) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    (listener, address)
}

async fn hear_all(stream: &mut TcpStream) -> std::io::Result<String> {
    let mut all = Vec::new();
    soon("the end", stream.read_to_end(&mut all)).await?;
    Ok(String::from_utf8_lossy(&all).into_owned())
}

async fn requesting(at: SocketAddr) -> TcpStream {
    let mut stream = TcpStream::connect(at).await.unwrap();
    stream.write_all(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n").await.unwrap();
    stream
}

#[tokio::test]
async fn what_waits_is_forwarded_in_the_order_in_which_it_came() {
    let bed = Bed::new().await;
    let (listener, address) = backend().await;
    bed.set(hold(20, Duration::from_secs(60), Refusal::Close)).await;
    let mut clients = Vec::new();
    for number in 0..20_u8 {
        let mut client = TcpStream::connect(bed.at).await.unwrap();
        client.write_all(&[number]).await.unwrap();
        bed.until_queued(u64::from(number) + 1).await;
        clients.push(client);
    }
    bed.set(forward(&[address])).await;
    for number in 0..20 {
        let (mut stream, _) = soon("a connection", listener.accept()).await.unwrap();
        assert_eq!(stream.read_u8().await.unwrap(), number);
    }
}

#[tokio::test]
async fn what_is_over_the_limit_or_the_time_is_refused() {
    let bed = Bed::new().await;
    bed.set(hold(2, Duration::from_secs(60), http())).await;
    let (mut first, mut second) = (requesting(bed.at).await, requesting(bed.at).await);
    bed.until_queued(2).await;
    let mut third = requesting(bed.at).await;
    let expected = "HTTP/1.1 503 Service Unavailable\r\nRetry-After: 2\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 37\r\nConnection: close\r\n\r\nblog is being moved; try again soon\n";
    let expected = expected.replace("37", "36");
    assert_eq!(hear_all(&mut third).await.unwrap(), expected);
    assert_eq!(bed.queued().await, 2);
    // A shorter time holds for those that wait already.
    bed.set(hold(2, Duration::from_millis(50), http())).await;
    assert_eq!(hear_all(&mut first).await.unwrap(), expected);
    bed.set(hold(2, Duration::from_millis(50), Refusal::Close)).await;
    hear_all(&mut second).await.unwrap();
    let counts = bed.engine.counts().await.unwrap().0.remove(&bed.at).unwrap();
    assert_eq!((counts.queued, counts.total, counts.refused), (0, 3, 3));
}

#[tokio::test]
async fn a_refusal_is_an_answer_or_an_end_and_never_a_reset() {
    let bed = Bed::new().await;
    bed.set(To::Refuse(http())).await;
    // Also of a request with a body that nobody wants, and that goes on when the answer is there.
    let mut client = TcpStream::connect(bed.at).await.unwrap();
    client.write_all(b"POST / HTTP/1.1\r\nContent-Length: 50000\r\n\r\n").await.unwrap();
    let mut first = [0; 13];
    soon("an answer", client.read_exact(&mut first)).await.unwrap();
    assert_eq!(&first, b"HTTP/1.1 503 ");
    for _ in 0..5 {
        client.write_all(&[b'x'; 10_000]).await.unwrap();
    }
    client.shutdown().await.unwrap();
    assert!(hear_all(&mut client).await.unwrap().ends_with("try again soon\n"));
    bed.set(To::Refuse(Refusal::Close)).await;
    let mut client = requesting(bed.at).await;
    assert_eq!(hear_all(&mut client).await.unwrap(), "");
}

#[tokio::test]
async fn each_side_may_end_while_the_other_goes_on() {
    let bed = Bed::new().await;
    let (listener, address) = backend().await;
    bed.set(forward(&[address])).await;
    // The client has said all, and hears.
    let mut client = TcpStream::connect(bed.at).await.unwrap();
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    let (mut server, _) = soon("a connection", listener.accept()).await.unwrap();
    assert_eq!(hear_all(&mut server).await.unwrap(), "question");
    server.write_all(b"answer").await.unwrap();
    drop(server);
    assert_eq!(hear_all(&mut client).await.unwrap(), "answer");
    // The backend has said all, and hears.
    let mut client = TcpStream::connect(bed.at).await.unwrap();
    let (mut server, _) = soon("a connection", listener.accept()).await.unwrap();
    server.write_all(b"greeting").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(hear_all(&mut client).await.unwrap(), "greeting");
    client.write_all(b"reply").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(hear_all(&mut server).await.unwrap(), "reply");
    until("it is over", async || bed.open(address).await == 0).await;
}

#[tokio::test]
async fn a_reset_is_passed_on_as_one() {
    let bed = Bed::new().await;
    let (listener, address) = backend().await;
    bed.set(forward(&[address])).await;
    let mut client = TcpStream::connect(bed.at).await.unwrap();
    client.write_all(b"x").await.unwrap();
    let (mut server, _) = soon("a connection", listener.accept()).await.unwrap();
    server.read_u8().await.unwrap();
    set_socket_linger(&server, Some(Duration::ZERO)).unwrap();
    drop(server);
    let error = hear_all(&mut client).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    // And the other way round.
    let client = TcpStream::connect(bed.at).await.unwrap();
    let (mut server, _) = soon("a connection", listener.accept()).await.unwrap();
    set_socket_linger(&client, Some(Duration::ZERO)).unwrap();
    drop(client);
    let error = hear_all(&mut server).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::ConnectionReset);
}

#[tokio::test]
async fn a_reader_that_is_slow_holds_up_its_writer_and_takes_no_memory() {
    const MUCH: usize = 192 * 1024 * 1024;
    let bed = Bed::new().await;
    let (listener, address) = backend().await;
    bed.set(forward(&[address])).await;
    let resident = || {
        let status =
            fs::read_to_string(format!("/proc/{}/status", bed.engine.about().pid)).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
        line.trim_end_matches("kB").trim().parse::<u64>().unwrap()
    };
    let mut client = TcpStream::connect(bed.at).await.unwrap();
    let (server, _) = soon("a connection", listener.accept()).await.unwrap();
    let before = resident();
    // As much as goes, until for a while nothing goes.
    let (mut written, chunk) = (0, vec![7; 1024 * 1024]);
    while let Ok(writable) = tokio::time::timeout(Duration::from_secs(1), server.writable()).await {
        writable.unwrap();
        written += server.try_write(&chunk).unwrap_or(0);
        assert!(written < MUCH, "the writer was not held up");
    }
    assert!(resident() < before + 2048, "{} KiB, and {before} before", resident());
    drop(server);
    let mut heard = 0;
    let mut bytes = vec![0; 1024 * 1024];
    loop {
        let length = soon("more", client.read(&mut bytes)).await.unwrap();
        if length == 0 {
            break;
        }
        assert!(bytes[..length].iter().all(|byte| *byte == 7));
        heard += length;
    }
    assert_eq!(heard, written);
}

#[tokio::test]
async fn what_is_left_at_the_limit_is_cut_and_counted() {
    let bed = Bed::new().await;
    let (listener, address) = backend().await;
    bed.set(forward(&[address])).await;
    // One is in the middle of a request, one has its answer.
    let mut busy = TcpStream::connect(bed.at).await.unwrap();
    busy.write_all(b"x").await.unwrap();
    let (mut busy_server, _) = soon("a connection", listener.accept()).await.unwrap();
    busy_server.read_u8().await.unwrap();
    let mut quiet = TcpStream::connect(bed.at).await.unwrap();
    let (mut quiet_server, _) = soon("a connection", listener.accept()).await.unwrap();
    quiet_server.write_all(b"y").await.unwrap();
    quiet.read_u8().await.unwrap();
    let drained = bed.engine.drained(address, Duration::from_millis(500));
    assert_eq!(soon("the end", drained).await.unwrap(), Drained::Cut(1));
    assert_eq!(hear_all(&mut quiet).await.unwrap(), "");
    assert_eq!(hear_all(&mut busy).await.unwrap_err().kind(), ErrorKind::ConnectionReset);
    assert_eq!(bed.open(address).await, 0);
    // Nobody is left now.
    let again = bed.engine.drained(address, Duration::ZERO).await.unwrap();
    assert_eq!(again, Drained::Empty);
}

#[tokio::test]
async fn it_is_told_where_connections_wait_also_to_the_next_engine() {
    let mut bed = Bed::new().await;
    bed.set(hold(10, Duration::from_secs(60), Refusal::Close)).await;
    let mut waiting = bed.engine.waiting();
    let _one = TcpStream::connect(bed.at).await.unwrap();
    assert_eq!(soon("the address", waiting.next()).await, Some(bed.at));
    // While it waits it comes again.
    assert_eq!(soon("the address", waiting.next()).await, Some(bed.at));
    bed.engine = route::find(&bed.socket()).await.unwrap().unwrap();
    loop {
        // What was told before is still told, and then there is an end.
        if soon("the end", waiting.next()).await.is_none() {
            break;
        }
    }
    assert_eq!(soon("the address", bed.engine.waiting().next()).await, Some(bed.at));
}

#[tokio::test]
async fn an_address_that_is_taken_is_told_with_who_has_it_and_the_others_are_open() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    let taken = Server::start("b").await.address;
    let other_server = Server::start("c").await;
    let own = other_server.address;
    let absent: SocketAddr = "192.0.2.1:9".parse().unwrap();
    let to = forward(&[server.address]);
    let entries = [bed.at, own, absent].map(|at| (at, to.clone()));
    let looped = (taken, forward(&[bed.at]));
    let table = Table(entries.into_iter().chain([looped]).collect());
    let mut faults = bed.engine.set(&table).await.unwrap();
    let Some(Fault::InUse { by: Some(holder) }) = faults.remove(&own) else { panic!("{faults:?}") };
    assert_eq!(holder.program, "process");
    assert_eq!(faults.remove(&absent), Some(Fault::NoSuchAddress));
    assert_eq!(faults.remove(&taken), Some(Fault::Loop { backend: bed.at }));
    assert_eq!(faults, BTreeMap::new());
    assert_eq!(ask(bed.at, "hello").await.unwrap(), "a hello");
    // Once it is free it can be had.
    other_server.kill().await;
    bed.set_all([(bed.at, to.clone()), (own, to)]).await;
    assert_eq!(ask(own, "hello").await.unwrap(), "a hello");
}

#[tokio::test]
async fn what_is_not_in_the_table_is_closed_and_what_is_open_goes_on() {
    let bed = Bed::new().await;
    let server = Server::start("a").await;
    bed.set(forward(&[server.address])).await;
    let mut client = TcpStream::connect(bed.at).await.unwrap();
    client.write_all(b"one\n").await.unwrap();
    assert_eq!(hear_line(&mut client).await.unwrap(), "a one");
    bed.set_all([]).await;
    let refused = TcpStream::connect(bed.at).await.unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::ConnectionRefused);
    client.write_all(b"two\n").await.unwrap();
    assert_eq!(hear_line(&mut client).await.unwrap(), "a two");
    assert_eq!(bed.open(server.address).await, 1);
    drop(client);
    until("nothing is left", async || bed.engine.counts().await.unwrap().0.is_empty()).await;
}

#[tokio::test]
async fn version_six_is_forwarded_and_stands_beside_version_four() {
    let bed = Bed::new().await;
    let (four, six) = (Server::at("four", "127.0.0.1:0").await, Server::at("six", "[::1]:0").await);
    let port = free("127.0.0.1").port();
    let [any_four, any_six] =
        ["0.0.0.0", "::"].map(|ip| SocketAddr::new(ip.parse().unwrap(), port));
    bed.set_all([(any_four, forward(&[six.address])), (any_six, forward(&[four.address]))]).await;
    let local = |ip: &str| SocketAddr::new(ip.parse().unwrap(), port);
    assert_eq!(ask(local("127.0.0.1"), "x").await.unwrap(), "six x");
    assert_eq!(ask(local("::1"), "x").await.unwrap(), "four x");
}
