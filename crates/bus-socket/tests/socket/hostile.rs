//! Peers that say what they should not, or nothing: each is told so, and nobody else notices.

use std::collections::BTreeSet;
use std::time::Duration;

use bus::{Bus, Bytes, PAYLOAD_BYTES_MAX, SUBJECT_BYTES_MAX};
use bus_socket::{Connection, ConnectionError, SocketBus};
use tempfile::TempDir;
use tokio::io::AsyncWriteExt;
use tokio::sync::watch;

use crate::raw::{
    HELLO, Raw, frame, goodbye, number, publish, request, serve, server_that_says, subscribe, text,
    welcome,
};
use crate::served::{Served, ask, echo, hear, lost, pattern, say, subject};

/// A server, and a client of it that must not notice anything.
struct Watched {
    served: Served,
    client: SocketBus,
    connection: watch::Receiver<Connection>,
    news: bus::Subscription,
    said: u32,
}

impl Watched {
    async fn start() -> Self {
        let served = Served::start().await;
        let client = served.client().await;
        let news = client.subscribe(&pattern("news")).await.unwrap();
        echo(served.hub.serve(&pattern("echo")).await.unwrap(), "hub");
        let connection = client.connection();
        Self { served, client, connection, news, said: 0 }
    }

    async fn peer(&self) -> Raw {
        Raw::connect(&self.served.path()).await
    }

    /// What the server says to somebody who says this, until it hangs up.
    async fn answer_to(&self, bytes: &[u8]) -> Vec<u8> {
        let mut peer = self.peer().await;
        peer.say(bytes).await;
        peer.hear_out().await
    }

    async fn goes_on(&mut self) {
        self.said += 1;
        say(&self.served.hub, "news", self.said).await;
        assert_eq!(hear(&mut self.news).await, self.said.to_string());
        assert_eq!(ask(&self.client, "echo", "1").await, "1 by hub");
        assert!(self.connection.borrow().is_connected());
        assert!(!self.connection.has_changed().unwrap(), "it was lost for a while");
    }
}

#[tokio::test]
async fn who_does_not_speak_the_bus_is_told_so() {
    let mut watched = Watched::start().await;
    let told = [HELLO, &goodbye("what was said first is no hello")].concat();
    for bytes in [&b"GET / HTTP/1.1\r\n\r\n"[..], b"\0", b"bwbux\x01", &[0xff; 100_000]] {
        assert_eq!(watched.answer_to(bytes).await, told);
    }
    watched.goes_on().await;
}

/// Its hello is all that is said to another version, and all that is read of it.
#[tokio::test]
async fn another_version_is_refused_by_its_hello() {
    let mut watched = Watched::start().await;
    let mut heard = watched.served.hub.subscribe(&pattern(">")).await.unwrap();
    for version in [0, 2, 255] {
        let said = [b"bwbus", &[version][..], &publish("news", b"in another version")].concat();
        assert_eq!(watched.answer_to(&said).await, HELLO);
    }
    assert!(heard.try_next().is_none());
    drop(heard);
    watched.goes_on().await;

    let folder = TempDir::new().unwrap();
    let client = server_that_says(&folder.path().join("bus"), b"bwbus\x09\0\0\0\x05hello".into());
    let why = lost(&client, |why| matches!(why, ConnectionError::Version { theirs: 9 })).await;
    assert_eq!(why, "the server speaks version 9, and only 1 is known here");
}

#[tokio::test]
async fn what_is_no_frame_ends_the_connection_with_the_reason() {
    let mut watched = Watched::start().await;
    let over = u32::try_from(1 + 2 * 8 + 2 + SUBJECT_BYTES_MAX + PAYLOAD_BYTES_MAX + 1).unwrap();
    let registrations: Vec<u8> = (0..1025).flat_map(|id| subscribe(id, "many")).collect();
    let cases: [(Vec<u8>, &str); 9] = [
        // The length is enough: what it announces is not waited for.
        (over.to_be_bytes().to_vec(), "is too long"),
        (u32::MAX.to_be_bytes().to_vec(), "a frame of 4294967295 bytes is too long"),
        (
            publish("news", &vec![7; PAYLOAD_BYTES_MAX + 1]),
            "a payload of 524289 bytes is too large",
        ),
        (frame(0x7f, &[]), "there is no frame of kind 127"),
        // A server does not speak to a server.
        (goodbye("you"), "there is no frame of kind 135"),
        (frame(0x04, &[b"\x01"]), "a frame ends within a field"),
        (publish("news.*", b""), "of a subject holds '*'"),
        ([subscribe(7, "a"), serve(7, "b")].concat(), "the number 7 is given twice"),
        (registrations, "1024 subscriptions and servings stand"),
    ];
    for (bytes, reason) in cases {
        let said = watched.answer_to(&[HELLO, &bytes].concat()).await;
        let said = String::from_utf8_lossy(&said);
        assert!(said.contains(reason), "{reason}: {said}");
        watched.goes_on().await;
    }
}

#[tokio::test]
async fn who_leaves_in_the_middle_hurts_nobody() {
    let mut watched = Watched::start().await;
    let whole = [HELLO, &subscribe(1, ">"), &publish("news", b"whole")].concat();
    for end in 0..whole.len() {
        let mut peer = watched.peer().await;
        peer.say(&whole[..end]).await;
        drop(peer);
    }
    watched.goes_on().await;
}

/// Whatever follows a right hello: a server that panics over it would have ended that connection without a word.
#[tokio::test]
async fn any_bytes_are_taken_or_refused_with_a_reason() {
    let mut watched = Watched::start().await;
    // Numbers that look like any, and are the same each time.
    let mut state = 1_u64;
    let mut draw = |below: u64| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for _ in 0..300 {
        let mut said = HELLO.to_vec();
        for _ in 0..draw(8) {
            let kind = u8::try_from(draw(10)).unwrap();
            let body: Vec<u8> =
                (0..draw(40)).map(|_| u8::try_from(draw(5) * draw(60)).unwrap()).collect();
            said.extend(frame(kind, &[&body]));
        }
        // Something that is certainly refused, if all before it was taken.
        said.extend(frame(0xff, &[]));
        let heard = watched.answer_to(&said).await;
        let heard = String::from_utf8_lossy(&heard);
        assert!(
            heard.contains("cannot be understood") || heard.contains("twice"),
            "{said:?}: {heard}"
        );
    }
    watched.goes_on().await;
}

/// On a clock that does not wait.
#[tokio::test(start_paused = true)]
async fn who_says_nothing_is_let_go() {
    let served = Served::start().await;
    for said in [&b""[..], b"bwb"] {
        let mut peer = Raw::connect(&served.path()).await;
        peer.say(said).await;
        assert_eq!(peer.hear_out().await, [HELLO, &goodbye("no hello in 10 s")].concat());
    }
    let folder = TempDir::new().unwrap();
    let (silent, half) = (folder.path().join("silent"), folder.path().join("half"));
    let client = server_that_says(&silent, Vec::new());
    // It is taken, and whoever subscribes is not kept waiting for ever.
    assert!(client.subscribe(&pattern("news")).await.is_ok());
    lost(&client, |why| matches!(why, ConnectionError::Silent)).await;

    // One that says hello, and then does not confirm what is subscribed to.
    let client = SocketBus::connect(&half);
    let _news = client.subscribe(&pattern("news")).await.unwrap();
    let _other = server_that_says(&half, [HELLO, &welcome()].concat());
    lost(&client, |why| matches!(why, ConnectionError::Silent)).await;
}

#[tokio::test]
async fn so_many_connections_and_no_more() {
    let mut watched = Watched::start().await;
    let mut peers = Vec::new();
    for _ in 0..255 {
        let mut peer = watched.peer().await;
        peer.hear_hello().await;
        peers.push(peer);
    }
    let refused = SocketBus::connect(watched.served.path());
    let why = lost(&refused, |why| matches!(why, ConnectionError::Dismissed(_))).await;
    assert!(why.ends_with("256 connections are open, and there are no more"), "{why}");
    // However often it tries, it is neither taken for connected, nor told anew.
    let connection = refused.connection();
    for _ in 0..200 {
        watched.goes_on().await;
    }
    assert!(!connection.has_changed().unwrap());
    // It tries again, and comes in when there is room.
    peers.clear();
    crate::served::connected(&refused).await;
}

/// What a server says is bounded and checked as well.
#[tokio::test]
async fn a_server_that_is_none_is_left_and_tried_again() {
    let folder = TempDir::new().unwrap();
    type Is = fn(&ConnectionError) -> bool;
    let cases: [(&str, Vec<u8>, Is); 6] = [
        ("web", b"HTTP/1.1 400 Bad Request".to_vec(), |why| matches!(why, ConnectionError::NoBus)),
        ("long", [HELLO, &[0xff; 4]].concat(), |why| matches!(why, ConnectionError::Frame(_))),
        ("client", [HELLO, &publish("news", b"")].concat(), |why| {
            matches!(why, ConnectionError::Frame(_))
        }),
        ("rude", [HELLO, &frame(0x81, &[&number(1)])].concat(), |why| {
            matches!(why, ConnectionError::NoBus)
        }),
        (
            "bye",
            [HELLO, &goodbye("come back later")].concat(),
            |why| matches!(why, ConnectionError::Dismissed(why) if why == "come back later"),
        ),
        // Things that nobody here asked for, and then an end.
        (
            "unasked",
            [
                HELLO,
                &welcome(),
                &welcome(),
                &frame(0x81, &[&number(9)]),
                &frame(0x82, &[&number(9), &text("news"), b"?"]),
                &frame(0x83, &[&number(9), &number(9), &text("news"), b"?"]),
                &frame(0x84, &[&number(9), b"?"]),
                &frame(0x85, &[&number(9)]),
                &goodbye("all said"),
            ]
            .concat(),
            |why| matches!(why, ConnectionError::Dismissed(why) if why == "all said"),
        ),
    ];
    for (name, says, is_it) in cases {
        let path = folder.path().join(name);
        let client = server_that_says(&path, says);
        lost(&client, is_it).await;
        let asked = client.request(&subject("a"), Bytes::new(), Duration::from_millis(50)).await;
        assert!(asked.is_err());
        client.close().await;
    }
}

/// Requests are taken from a peer only as fast as it reads their answers, and then it gets each of them.
#[tokio::test]
async fn who_does_not_read_its_answers_gets_them_all_later() {
    const REQUESTS: usize = 100;
    let mut watched = Watched::start().await;
    let mut peer = watched.peer().await;
    peer.say(HELLO).await;
    peer.hear_welcome().await;
    let mut requests = watched.served.hub.serve(&pattern("mirror")).await.unwrap();
    tokio::spawn(async move {
        while let Some(bus::Request { payload, responder, .. }) = requests.next().await {
            responder.respond(payload).unwrap();
        }
    });
    let payload = vec![7; 100_000];
    let (from, mut to) = peer.0.into_split();
    let asking = tokio::spawn(async move {
        for id in 0..REQUESTS {
            to.write_all(&request(id as u64, "mirror", &payload)).await.unwrap();
        }
        to
    });
    // A server that would take them has all in so many turns.
    for _ in 0..200 {
        watched.goes_on().await;
    }
    assert!(!asking.is_finished(), "10 MB were taken from somebody who reads nothing");
    let mut peer = Raw(from);
    let mut answered = BTreeSet::new();
    while answered.len() < REQUESTS {
        let (kind, fields) = peer.next().await;
        assert_eq!((kind, fields.len()), (0x84, 8 + 100_000));
        assert!(answered.insert(fields[..8].to_vec()), "answered twice");
    }
    watched.goes_on().await;
    drop(asking.await.unwrap());
}
