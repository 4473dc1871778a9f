//! A server that goes and comes back: clients are there again by themselves.

use std::time::Duration;

use bus::{Bus, Bytes, InProcessBus, PublishError, RequestError};
use bus_socket::{ConnectionError, SocketBus};
use tempfile::TempDir;
use tokio::time::Instant;

use crate::served::{PATIENCE, Served, ask, connected, echo, hear, lost, pattern, say, subject};

/// The server that comes back knows nothing of the one before it.
#[tokio::test]
async fn a_client_comes_back_by_itself_with_all_that_it_had() {
    let mut served = Served::start().await;
    let client = served.client().await;
    let mut news = client.subscribe(&pattern("news.*")).await.unwrap();
    echo(client.serve(&pattern("client.echo")).await.unwrap(), "client");
    for round in 0..3 {
        served.stop().await;
        let why = lost(&client, |_| true).await;
        assert!(why.contains("hung up") || why.contains("nobody listens"), "{why}");
        let refused = client.publish(&subject("said.meanwhile"), Bytes::new()).await;
        assert!(matches!(refused, Err(PublishError::Failed(_))), "{refused:?}");
        let asking = tokio::spawn({
            let client = client.clone();
            async move { ask(&client, "hub.echo", "meanwhile").await }
        });

        served.hub = InProcessBus::new();
        echo(served.hub.serve(&pattern("hub.echo")).await.unwrap(), "hub");
        let mut said = served.hub.subscribe(&pattern("said.>")).await.unwrap();
        served.resume().await;
        assert_eq!(asking.await.unwrap(), "meanwhile by hub");
        connected(&client).await;
        say(&served.hub, "news.today", round).await;
        assert_eq!(hear(&mut news).await, round.to_string());
        assert_eq!(ask(&served.hub, "client.echo", "again").await, "again by client");
        say(&client, "said.again", "here I am").await;
        assert_eq!(hear(&mut said).await, "here I am");
    }
    assert_eq!(news.dropped(), 0);
}

#[tokio::test]
async fn clients_find_a_server_that_starts_after_them() {
    let mut served = Served::start().await;
    served.stop().await;
    let client = SocketBus::connect(served.path());
    lost(&client, |why| matches!(why, ConnectionError::NobodyListens(_))).await;
    // What is asked for without a server is there with it.
    let mut news = client.subscribe(&pattern("news")).await.unwrap();
    echo(client.serve(&pattern("echo")).await.unwrap(), "client");
    served.resume().await;
    connected(&client).await;
    say(&served.hub, "news", "first").await;
    assert_eq!(hear(&mut news).await, "first");
    assert_eq!(ask(&served.hub, "echo", "1").await, "1 by client");
}

/// On a clock that stands still while anything can be done.
#[tokio::test(start_paused = true)]
async fn without_a_server_nobody_who_subscribes_is_kept_waiting() {
    let folder = TempDir::new().unwrap();
    let client = SocketBus::connect(folder.path().join("bus"));
    lost(&client, |_| true).await;
    let began = Instant::now();
    let _news = client.subscribe(&pattern("news")).await.unwrap();
    let _requests = client.serve(&pattern("echo")).await.unwrap();
    assert_eq!(began.elapsed(), Duration::ZERO);
}

/// However long there was none before.
#[tokio::test(start_paused = true)]
async fn a_connection_that_is_lost_is_tried_again_at_once() {
    let mut served = Served::start().await;
    served.stop().await;
    let client = SocketBus::connect(served.path());
    tokio::time::sleep(Duration::from_secs(600)).await;
    served.resume().await;
    connected(&client).await;
    served.stop().await;
    lost(&client, |_| true).await;
    served.resume().await;
    let began = Instant::now();
    connected(&client).await;
    assert!(began.elapsed() < Duration::from_millis(100), "{:?}", began.elapsed());
}

#[tokio::test]
async fn a_request_waits_for_a_server_only_within_its_time() {
    let folder = TempDir::new().unwrap();
    let client = SocketBus::connect(folder.path().join("bus"));
    let within = Duration::from_millis(200);
    let began = Instant::now();
    let answer = client.request(&subject("a"), Bytes::new(), within).await;
    assert!(matches!(answer, Err(RequestError::TimedOut(_))), "{answer:?}");
    assert!(began.elapsed() >= within);

    // However many gave up, the next one is not kept waiting for them.
    let given_up: Vec<_> = (0..100)
        .map(|_| {
            let client = client.clone();
            let within = Duration::from_millis(50);
            tokio::spawn(async move { client.request(&subject("a"), Bytes::new(), within).await })
        })
        .collect();
    for one in given_up {
        assert!(matches!(one.await.unwrap(), Err(RequestError::TimedOut(_))));
    }
    let hub = InProcessBus::new();
    let mut requests = hub.serve(&pattern("a")).await.unwrap();
    let server = bus_socket::SocketServer::bind(folder.path().join("bus"), hub).await.unwrap();
    let serving = tokio::spawn(server.serve());
    let (answer, ()) = tokio::join!(ask(&client, "a", "waits"), async {
        let request = requests.next().await.unwrap();
        assert_eq!(request.payload, "waits", "one that nobody waits for was asked");
        request.responder.respond("answer".into()).unwrap();
    });
    assert_eq!(answer, "answer");
    serving.abort();
}

#[tokio::test]
async fn what_was_sent_when_the_server_went_ends_with_its_own_time() {
    let mut served = Served::start().await;
    let client = served.client().await;
    let mut requests = served.hub.serve(&pattern("slow")).await.unwrap();
    let within = Duration::from_secs(1);
    let began = Instant::now();
    let asking =
        tokio::spawn(async move { client.request(&subject("slow"), Bytes::new(), within).await });
    let request = requests.next().await.unwrap();
    served.stop().await;
    served.resume().await;
    request.responder.respond("handled".into()).unwrap();
    let answer = asking.await.unwrap();
    assert!(matches!(answer, Err(RequestError::TimedOut(_))), "{answer:?}");
    assert!(began.elapsed() >= within);
}

/// Requests are numbered anew on each connection, and an answer must not meet another's number.
#[tokio::test]
async fn an_answer_from_before_goes_to_nobody() {
    let mut served = Served::start().await;
    let client = served.client().await;
    let mut requests = client.serve(&pattern("served")).await.unwrap();
    let on = subject("served");
    let first = tokio::spawn({
        let (hub, on) = (served.hub.clone(), on.clone());
        async move { hub.request(&on, "first".into(), Duration::from_secs(1)).await }
    });
    let before = requests.next().await.unwrap();
    served.stop().await;
    lost(&client, |_| true).await;
    served.resume().await;
    connected(&client).await;
    let second = tokio::spawn({
        let hub = served.hub.clone();
        async move { hub.request(&on, "second".into(), PATIENCE).await }
    });
    let after = requests.next().await.unwrap();
    assert_eq!((&before.payload[..], &after.payload[..]), (&b"first"[..], &b"second"[..]));
    before.responder.respond("answer to the first".into()).unwrap();
    after.responder.respond("answer to the second".into()).unwrap();
    assert_eq!(second.await.unwrap().unwrap(), "answer to the second");
    assert!(matches!(first.await.unwrap(), Err(RequestError::TimedOut(_))));
}

/// A fleet of processes whose server is gone for a moment.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_clients_come_back() {
    let mut served = Served::start().await;
    let mut clients = Vec::new();
    for number in 0..100 {
        let client = served.client().await;
        let on = pattern(&format!("box.{number}"));
        echo(client.serve(&on).await.unwrap(), "box");
        clients.push(client);
    }
    served.stop().await;
    served.resume().await;
    for number in 0..clients.len() {
        let on = subject(&format!("box.{number}"));
        let mut answer = served.hub.request(&on, "up".into(), Duration::from_secs(1)).await;
        // Until it is back nobody serves it, or the connection before does, whose end is about to be noticed.
        while let Err(RequestError::NoResponder | RequestError::TimedOut(_)) = answer {
            tokio::time::sleep(Duration::from_millis(5)).await;
            answer = served.hub.request(&on, "up".into(), Duration::from_secs(1)).await;
        }
        assert_eq!(answer.unwrap(), "up by box");
    }
}
