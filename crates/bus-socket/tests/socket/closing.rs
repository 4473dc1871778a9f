//! Ends of a bus: closed, dropped, or closed where it is served.

use std::future::poll_fn;
use std::pin::pin;
use std::task::Poll;
use std::time::Duration;

use bus::{Bus, Bytes, PublishError, QUEUE_LENGTH_MAX, RequestError, SubscribeError};
use bus_socket::{Connection, ConnectionError, SocketBus, TooManyRegistrations};
use tempfile::TempDir;
use tokio::time::{Instant, timeout};

use crate::raw::{HELLO, Raw, goodbye, serve};
use crate::served::{PATIENCE, Served, ask, echo, hear, lost, pattern, say, subject};

#[tokio::test]
async fn closing_lets_what_was_said_leave_and_ends_every_wait() {
    let served = Served::start().await;
    let mut heard = served.hub.subscribe(&pattern("last.words")).await.unwrap();
    let _silent = served.hub.serve(&pattern("silent")).await.unwrap();
    let client = served.client().await;
    let mut subscription = client.subscribe(&pattern("news")).await.unwrap();
    let mut requests = client.serve(&pattern("client")).await.unwrap();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.request(&subject("silent"), Bytes::new(), PATIENCE).await }
    });
    let asked = tokio::spawn({
        let hub = served.hub.clone();
        async move { hub.request(&subject("client"), Bytes::new(), PATIENCE).await }
    });
    let request = timeout(PATIENCE, requests.next()).await.unwrap().unwrap();

    let text = "x".repeat(1000);
    for number in 0..1000 {
        say(&client, "last.words", format!("{number} {text}")).await;
    }
    request.responder.respond("the last answer".into()).unwrap();
    client.close().await;
    for number in 0..1000 {
        assert_eq!(hear(&mut heard).await, format!("{number} {text}"));
    }
    assert_eq!(asked.await.unwrap().unwrap(), "the last answer");
    assert!(matches!(asking.await.unwrap(), Err(RequestError::Closed)));
    assert!(subscription.next().await.is_none());
    assert!(requests.next().await.is_none());

    assert!(matches!(*client.connection().borrow(), Connection::Closed));
    let (on, all) = (subject("a"), pattern("a"));
    assert!(matches!(client.publish(&on, Bytes::new()).await, Err(PublishError::Closed)));
    assert!(matches!(client.subscribe(&all).await, Err(SubscribeError::Closed)));
    assert!(matches!(client.serve(&all).await, Err(SubscribeError::Closed)));
    let refused = client.request(&on, Bytes::new(), PATIENCE).await;
    assert!(matches!(refused, Err(RequestError::Closed)), "{refused:?}");
    client.close().await;
}

/// The server writes to somebody who is gone, and still reads what that one said.
#[tokio::test]
async fn the_last_word_is_heard_although_the_server_is_speaking() {
    let served = Served::start().await;
    let mut heard = served.hub.subscribe(&pattern("last.word")).await.unwrap();
    let text = "x".repeat(100_000);
    for round in 0..20 {
        let client = served.client().await;
        let mut flood = client.subscribe(&pattern("flood")).await.unwrap();
        for _ in 0..20 {
            say(&served.hub, "flood", &text).await;
        }
        assert_eq!(hear(&mut flood).await.len(), text.len());
        // More than the socket holds: the server has to read it.
        for number in 0..10 {
            say(&client, "last.word", format!("{round} {number} {text}")).await;
        }
        client.close().await;
        for number in 0..10 {
            assert!(hear(&mut heard).await.starts_with(&format!("{round} {number} ")));
        }
    }
}

#[tokio::test]
async fn closing_waits_for_no_server() {
    let folder = TempDir::new().unwrap();
    let client = SocketBus::connect(folder.path().join("bus"));
    let mut subscription = client.subscribe(&pattern("news")).await.unwrap();
    let asking = tokio::spawn({
        let client = client.clone();
        async move { client.request(&subject("a"), Bytes::new(), PATIENCE).await }
    });
    lost(&client, |_| true).await;
    let began = Instant::now();
    client.close().await;
    assert!(matches!(asking.await.unwrap(), Err(RequestError::Closed)));
    assert!(subscription.next().await.is_none());
    assert!(began.elapsed() < PATIENCE / 2, "it waited for a time-out");
}

#[tokio::test]
async fn when_all_handles_are_gone_the_last_word_is_said_and_nothing_more_comes() {
    let served = Served::start().await;
    let mut heard = served.hub.subscribe(&pattern("word")).await.unwrap();
    let client = served.client().await;
    let other = client.clone();
    let mut subscription = client.subscribe(&pattern("news")).await.unwrap();
    drop(client);
    say(&served.hub, "news", "one handle is left").await;
    assert_eq!(hear(&mut subscription).await, "one handle is left");
    say(&other, "word", "last").await;
    drop(other);
    assert_eq!(hear(&mut heard).await, "last");
    assert!(timeout(PATIENCE, subscription.next()).await.unwrap().is_none());
}

#[tokio::test]
async fn a_hub_that_closes_is_a_lost_connection_with_a_reason() {
    let served = Served::start().await;
    let client = served.client().await;
    let mut subscription = client.subscribe(&pattern("news")).await.unwrap();
    served.hub.close();
    let why = lost(
        &client,
        |why| matches!(why, ConnectionError::Dismissed(why) if why == "the bus is closed"),
    )
    .await;
    assert_eq!(why, "the server ended the connection: the bus is closed");
    // Another may be served there at any time.
    assert!(timeout(Duration::from_millis(50), subscription.next()).await.is_err());
}

/// Whoever drops what it subscribed to leaves nothing behind, here or at the server; whoever does not meets a bound.
#[tokio::test]
async fn subscriptions_are_bounded_and_dropped_ones_do_not_count() {
    let served = Served::start().await;
    let client = served.client().await;
    for number in 0..3000 {
        drop(client.subscribe(&pattern(&format!("silent.{number}"))).await.unwrap());
    }
    let mut kept = Vec::new();
    let refused = loop {
        match client.subscribe(&pattern("news")).await {
            Ok(subscription) => kept.push(subscription),
            Err(error) => break error,
        }
    };
    let SubscribeError::Failed(why) = refused else { panic!("{refused:?}") };
    assert!(why.is::<TooManyRegistrations>(), "{why}");
    assert_eq!(kept.len(), 1024);
    say(&served.hub, "news", "all").await;
    for subscription in &mut kept {
        assert_eq!(hear(subscription).await, "all");
    }
}

/// An asker that is gone, or was gone before the answer, keeps no place for others.
#[tokio::test]
async fn requests_that_wait_are_bounded_and_given_up_ones_do_not_count() {
    let served = Served::start().await;
    let client = served.client().await;
    let mut silent = served.hub.serve(&pattern("silent")).await.unwrap();
    echo(served.hub.serve(&pattern("echo")).await.unwrap(), "hub");
    let hour = Duration::from_secs(3600);
    let on = subject("silent");
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..1024 {
        let (client, on) = (client.clone(), on.clone());
        waiting.spawn(async move { client.request(&on, Bytes::new(), hour).await });
    }
    let mut held = Vec::new();
    while held.len() < 1024 {
        held.push(timeout(PATIENCE, silent.next()).await.unwrap().unwrap());
    }
    let refused = client.request(&subject("echo"), Bytes::new(), PATIENCE).await;
    let Err(RequestError::Failed(why)) = refused else { panic!("{refused:?}") };
    assert!(why.to_string().contains("1024 requests of this process wait"), "{why}");

    waiting.shutdown().await;
    let mut tries = 0;
    while client.request(&subject("echo"), Bytes::new(), PATIENCE).await.is_err() {
        tries += 1;
        assert!(tries < 600, "those who gave up still count");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    assert_eq!(ask(&client, "echo", "there is room").await, "there is room by hub");
}

/// A place for an answer is kept until there is one, or the word that there will be none.
#[tokio::test]
async fn requests_that_are_never_answered_are_bounded_and_given_up_ones_do_not_count() {
    const UNANSWERED_MAX: usize = 4 * QUEUE_LENGTH_MAX;
    const AT_ONCE: usize = 1024;
    let served = Served::start().await;
    // Asks on the hub, and does not wait.
    let ask_once = async |on: &bus::Subject| {
        let mut asking = pin!(served.hub.request(on, Bytes::new(), PATIENCE));
        let is_asked = poll_fn(|context| Poll::Ready(asking.as_mut().poll(context).is_pending()));
        assert!(is_asked.await);
    };
    let client = served.client().await;
    let mut requests = client.serve(&pattern("given.up")).await.unwrap();
    let on = subject("given.up");
    for _ in 0..UNANSWERED_MAX / AT_ONCE + 2 {
        for _ in 0..AT_ONCE {
            ask_once(&on).await;
        }
        for _ in 0..AT_ONCE {
            drop(timeout(PATIENCE, requests.next()).await.unwrap().unwrap());
        }
    }
    assert!(client.connection().borrow().is_connected());

    let mut peer = Raw::connect(&served.path()).await;
    peer.say(&[HELLO, &serve(1, "never.answered")].concat()).await;
    peer.hear_welcome().await;
    assert_eq!(peer.next().await.0, 0x81);
    let on = subject("never.answered");
    for _ in 0..UNANSWERED_MAX / AT_ONCE {
        for _ in 0..AT_ONCE {
            ask_once(&on).await;
        }
        for _ in 0..AT_ONCE {
            assert_eq!(peer.next().await.0, 0x83);
        }
    }
    ask_once(&on).await;
    let why = "16384 requests were handed over and never answered";
    assert_eq!(peer.hear_out().await, goodbye(why));
}
