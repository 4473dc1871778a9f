//! What happens while everything stands still.

use std::future::pending;

use tempfile::TempDir;
use tokio::sync::oneshot;

use super::*;
use crate::router::Config;
use crate::router::talking::EngineId;
use crate::words::{self, Answer, Ask, Asked, FromRouter};

#[tokio::test]
async fn what_an_engine_asks_meanwhile_is_answered_when_the_router_goes_on() {
    let folder = TempDir::new().unwrap();
    let config = Config {
        socket: folder.path().join("route.sock"),
        version: "1".to_owned(),
        orphan_after: None,
        say: Box::new(|_| {}),
    };
    let router = Router::begin(config).await.unwrap();
    let (mut engine, engines) = UnixStream::pair().unwrap();
    let (heir, heirs) = UnixStream::pair().unwrap();
    let (taken, is_taken) = oneshot::channel();
    let asked = Asked { id: 5, ask: Ask::Counts };
    // All of it is there before the router looks, so what is asked comes while it stands still.
    for event in [
        Event::Engine(engines),
        Event::Heir(heirs),
        Event::Asked { engine: EngineId(0), asked, taken },
    ] {
        router.gate.events.send(event).unwrap();
    }
    drop(heir);
    let running = tokio::spawn(router.run(pending()));
    let mut said = async || {
        let next = timeout(Duration::from_secs(60), words::next::<FromRouter>(&mut engine));
        next.await.unwrap().unwrap().unwrap()
    };
    assert!(matches!(said().await, FromRouter::Welcome(_)));
    assert!(matches!(said().await, FromRouter::Answer { id: 5, answer: Answer::Counts(_) }));
    is_taken.await.unwrap();
    running.abort();
}
