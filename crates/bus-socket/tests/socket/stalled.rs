//! Processes that stand still: nobody waits for them, they cost a bounded amount of memory, and when they go on they
//! hear the newest.

use std::fs;
use std::time::Duration;

use bus::{Bus, Bytes, QUEUE_LENGTH_MAX, RequestError};
use bus_socket::SocketBus;
use rustix::process::Signal;
use tempfile::TempDir;

use crate::peer::Peer;
use crate::served::{ask, connected, hear, lost, pattern, say, subject};

/// Three times what a queue holds.
const MESSAGES: usize = 3 * QUEUE_LENGTH_MAX;

const MESSAGE_BYTES: usize = 16 * 1024;

/// What a server may take of memory with one full queue: two thirds of all that is said.
const SERVER_BYTES_MAX: usize = MESSAGES * MESSAGE_BYTES * 2 / 3;

/// The most memory that a process has had.
fn peak_bytes(id: u32) -> usize {
    let status = fs::read_to_string(format!("/proc/{id}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim().strip_suffix(" kB").unwrap().parse::<usize>().unwrap() * 1024
}

#[tokio::test]
async fn nobody_waits_for_a_process_that_does_not_read() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let server = Peer::ready(&["server", path.to_str().unwrap()]).await;
    let mut stalled = Peer::ready(&["count", path.to_str().unwrap(), "news"]).await;
    stalled.signal(Signal::STOP);

    let (speaker, listener) = (SocketBus::connect(&path), SocketBus::connect(&path));
    let mut news = listener.subscribe(&pattern("news")).await.unwrap();
    let text = "x".repeat(MESSAGE_BYTES);
    // As fast as the listener hears it, who hears each of them.
    for first in (0..MESSAGES).step_by(64) {
        for number in first..first + 64 {
            say(&speaker, "news", format!("{number} {text}")).await;
        }
        for number in first..first + 64 {
            assert_eq!(hear(&mut news).await, format!("{number} {text}"));
        }
    }
    assert_eq!(ask(&listener, "echo", "1").await, format!("1 by {}", server.id()));
    let peak = peak_bytes(server.id());
    assert!(peak < SERVER_BYTES_MAX, "{peak} bytes for somebody who does not read");

    say(&speaker, "news", "that was all").await;
    assert_eq!(hear(&mut news).await, "that was all");
    stalled.signal(Signal::CONT);
    let mut heard = Vec::new();
    while let Some(number) = stalled.line().await {
        heard.push(number.parse::<usize>().unwrap());
    }
    assert!(heard.is_sorted());
    assert!(heard.len() < MESSAGES / 2, "{} were kept", heard.len());
    // The end took the place of one more.
    let newest = MESSAGES - QUEUE_LENGTH_MAX + 1..MESSAGES;
    assert!(heard.ends_with(&newest.collect::<Vec<_>>()), "the newest are missing: {heard:?}");
}

#[tokio::test]
async fn nobody_waits_for_a_server_that_stands_still() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let server = Peer::ready(&["server", path.to_str().unwrap()]).await;
    let client = SocketBus::connect(&path);
    connected(&client).await;
    let connection = client.connection();
    let mut news = client.subscribe(&pattern("news")).await.unwrap();
    server.signal(Signal::STOP);
    let text = "x".repeat(1000);
    for number in 0..MESSAGES {
        say(&client, "news", format!("{number} {text}")).await;
        if number % 1000 == 0 {
            tokio::task::yield_now().await;
        }
    }
    let within = Duration::from_millis(100);
    for _ in 0..3 {
        let answer = client.request(&subject("echo"), Bytes::new(), within).await;
        assert!(matches!(answer, Err(RequestError::TimedOut(_))), "{answer:?}");
    }
    server.signal(Signal::CONT);
    assert_eq!(ask(&client, "echo", "1").await, format!("1 by {}", server.id()));
    let mut before = None;
    loop {
        let heard = hear(&mut news).await;
        let number = heard.split(' ').next().unwrap().parse::<usize>().unwrap();
        assert!(before < Some(number), "{number} came after {before:?}");
        before = Some(number);
        if number == MESSAGES - 1 {
            break;
        }
    }
    assert!(!connection.has_changed().unwrap(), "it was taken for gone");
}

/// What was said to the one that stood still is not news to the next.
#[tokio::test]
async fn what_a_dead_server_did_not_take_is_not_said_to_the_next() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("bus");
    let server = Peer::ready(&["server", path.to_str().unwrap()]).await;
    let client = SocketBus::connect(&path);
    let mut news = client.subscribe(&pattern("news")).await.unwrap();
    server.signal(Signal::STOP);
    let text = "x".repeat(1000);
    for number in 0..2000 {
        say(&client, "news", format!("{number} {text}")).await;
    }
    // Far less than that fits in the socket.
    let _ = client.request(&subject("echo"), Bytes::new(), Duration::from_millis(100)).await;
    server.kill().await;
    lost(&client, |_| true).await;
    let _server = Peer::ready(&["server", path.to_str().unwrap()]).await;
    connected(&client).await;
    say(&client, "news", "new").await;
    assert_eq!(hear(&mut news).await, "new");
}
