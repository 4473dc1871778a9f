//! An heir and routers that fail on the way, each by hand.

use std::future::pending;
use std::os::fd::AsFd;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tokio::io::AsyncReadExt;
use tokio::task::JoinHandle;

use super::*;
use crate::router::Config;
use crate::table::{Refusal, To};
use crate::words::{self, Goodbye, Hello, Role};

/// After what the one before is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum GoneAfter {
    Hello,
    Begin,
    Listener,
    All,
    Have,
    Begun,
}

struct Old {
    folder: TempDir,
    control: UnixListener,
    listeners: Vec<TcpListener>,
    board: Board,
}

impl Old {
    async fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let control = UnixListener::bind(folder.path().join("route.sock")).unwrap();
        let mut board = Board::default();
        let mut listeners = Vec::new();
        for _ in 0..2 {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let at = listener.local_addr().unwrap();
            board.turn(at, Some(To::Refuse(Refusal::Close)), Duration::ZERO);
            listeners.push(listener);
        }
        Self { folder, control, listeners, board }
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("route.sock")
    }

    async fn heir(&self) -> Passage {
        let (mut stream, _) = self.control.accept().await.unwrap();
        let hello: Hello = words::next(&mut stream).await.unwrap().unwrap();
        assert_eq!(hello, Hello { protocol: PROTOCOL, role: Role::Heir });
        Passage::over(stream)
    }

    async fn send(&self, passage: &Passage, message: FromOld) {
        let descriptors = match &message {
            FromOld::Begin { .. } => vec![self.control.as_fd()],
            FromOld::Listener { at } => {
                let is_meant = |one: &&TcpListener| one.local_addr().unwrap() == *at;
                vec![self.listeners.iter().find(is_meant).unwrap().as_fd()]
            }
            FromOld::Held { .. }
            | FromOld::Pair(_)
            | FromOld::All
            | FromOld::Yours
            | FromOld::No { .. } => Vec::new(),
        };
        passage.send(&message, &[], &descriptors).await.unwrap();
    }

    /// Hands over, and is gone, with all that it has.
    async fn hand_over(self, gone_after: GoneAfter) -> TempDir {
        let mut passage = self.heir().await;
        let board = self.board.clone();
        if gone_after >= GoneAfter::Begin {
            self.send(&passage, FromOld::Begin { board, next_connection: 7 }).await;
        }
        if gone_after >= GoneAfter::Listener {
            // One of two: of a router that is gone the others are free.
            let at = self.listeners[0].local_addr().unwrap();
            self.send(&passage, FromOld::Listener { at }).await;
        }
        if gone_after >= GoneAfter::All {
            self.send(&passage, FromOld::All).await;
        }
        if gone_after >= GoneAfter::Have {
            hear(&mut passage, FromHeir::Have).await;
        }
        if gone_after >= GoneAfter::Begun {
            self.send(&passage, FromOld::Yours).await;
            hear(&mut passage, FromHeir::Begun).await;
        }
        self.folder
    }
}

async fn hear(passage: &mut Passage, expected: FromHeir) {
    let heard: Passed<FromHeir> = passage.next().await.unwrap().unwrap();
    assert_eq!(heard.message, expected);
}

fn begin(socket: &Path) -> JoinHandle<Result<Router, BeginError>> {
    tokio::spawn(Router::begin(Config {
        socket: socket.to_owned(),
        version: "2".to_owned(),
        orphan_after: None,
        say: Box::new(|_| {}),
    }))
}

#[tokio::test]
async fn an_heir_goes_on_with_what_it_has_when_the_one_before_is_gone() {
    for gone_after in [
        GoneAfter::Hello,
        GoneAfter::Begin,
        GoneAfter::Listener,
        GoneAfter::All,
        GoneAfter::Have,
        GoneAfter::Begun,
    ] {
        let old = Old::new().await;
        let socket = old.socket();
        let addresses: Vec<SocketAddr> =
            old.listeners.iter().map(|one| one.local_addr().unwrap()).collect();
        let heir = begin(&socket);
        let folder = old.hand_over(gone_after).await;
        let router = heir.await.unwrap().unwrap();
        let running = tokio::spawn(router.run(pending()));
        for at in addresses {
            let connected = TcpStream::connect(at).await;
            if gone_after == GoneAfter::Hello {
                assert!(connected.is_err(), "nothing was handed over");
                continue;
            }
            let mut stream = connected.unwrap();
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0, "{gone_after:?}");
        }
        // It is found where the one before was.
        let engine = client::RouterClient::connect(&socket).await.unwrap();
        assert_eq!(engine.about().version, "2", "{gone_after:?}");
        running.abort();
        drop(folder);
    }
}

#[tokio::test]
async fn an_heir_that_is_too_late_ends_and_says_why() {
    let old = Old::new().await;
    let heir = begin(&old.socket());
    let passage = old.heir().await;
    let board = old.board.clone();
    old.send(&passage, FromOld::Begin { board, next_connection: 0 }).await;
    old.send(&passage, FromOld::All).await;
    old.send(&passage, FromOld::No { why: "it takes too long".to_owned() }).await;
    drop(passage);
    let error = heir.await.unwrap().unwrap_err().to_string();
    assert_eq!(
        error,
        "the router that runs there goes on: it waited in vain for this one: it takes too long"
    );
}

#[tokio::test]
async fn a_router_of_another_version_goes_on() {
    let old = Old::new().await;
    let heir = begin(&old.socket());
    let (mut stream, _) = old.control.accept().await.unwrap();
    words::next::<Hello>(&mut stream).await.unwrap();
    let goodbye = Goodbye::OtherProtocol { own: 9, other: PROTOCOL };
    let bytes = words::bytes(&words::FromRouter::Goodbye(goodbye)).unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, &bytes).await.unwrap();
    drop(stream);
    let error = heir.await.unwrap().unwrap_err().to_string();
    assert!(error.starts_with("the router that runs there goes on"), "{error}");
}

/// It is not taken for one that is gone, and its socket stays its own.
#[tokio::test(start_paused = true)]
async fn a_router_that_hangs_up_goes_on() {
    let old = Old::new().await;
    let socket = old.socket();
    let hanging_up = tokio::spawn(async move {
        loop {
            drop(old.control.accept().await.unwrap());
        }
    });
    let error = begin(&socket).await.unwrap().unwrap_err().to_string();
    assert_eq!(error, "the router that runs there goes on: it hangs up without a word");
    hanging_up.abort();
}
