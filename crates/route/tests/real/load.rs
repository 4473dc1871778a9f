//! Clients that ask without a pause, on new connections and on kept ones, and remember every request that was lost.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::world::{PATIENCE, hear_line, soon, until};

/// Whether a client asks again on the same connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Short,
    Kept,
}

/// What became of the requests.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    /// By the name of who answered.
    pub(crate) answered: BTreeMap<String, u64>,
    pub(crate) lost: Vec<String>,
    /// A kept connection was closed while nothing was on it, as every client of such must expect. It asks on a new one.
    pub(crate) reconnected: u64,
}

/// Clients at work.
pub(crate) struct Load {
    tally: Arc<Mutex<Tally>>,
    ends: Arc<AtomicBool>,
    clients: Vec<(JoinHandle<()>, Arc<AtomicU64>)>,
}

impl Load {
    pub(crate) fn start(at: SocketAddr, short: usize, kept: usize) -> Self {
        let (tally, ends) =
            (Arc::new(Mutex::new(Tally::default())), Arc::new(AtomicBool::new(false)));
        let kinds =
            std::iter::repeat_n(Kind::Short, short).chain(std::iter::repeat_n(Kind::Kept, kept));
        let clients = kinds.map(|kind| {
            let done = Arc::new(AtomicU64::new(0));
            let client = client(at, kind, Arc::clone(&tally), Arc::clone(&ends), Arc::clone(&done));
            (tokio::spawn(client), done)
        });
        let clients = clients.collect();
        Self { tally, ends, clients }
    }

    /// Waits until each client has been answered so many times more.
    pub(crate) async fn answered(&self, times: u64) {
        for (_, done) in &self.clients {
            let wanted = done.load(Ordering::Relaxed) + times;
            until("each client is answered", async || done.load(Ordering::Relaxed) >= wanted).await;
        }
    }

    pub(crate) async fn end(self) -> Tally {
        self.ends.store(true, Ordering::Relaxed);
        for (client, _) in self.clients {
            soon("the end of a client", client).await.unwrap();
        }
        std::mem::take(&mut *self.tally.lock().unwrap())
    }
}

async fn client(
    at: SocketAddr,
    kind: Kind,
    tally: Arc<Mutex<Tally>>,
    ends: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
) {
    let mut kept: Option<TcpStream> = None;
    let mut number = 0_u64;
    while !ends.load(Ordering::Relaxed) {
        number += 1;
        let was_kept = kept.is_some();
        let asked = async {
            let mut stream = match kept.take() {
                Some(stream) => stream,
                None => TcpStream::connect(at).await.map_err(|error| (error, "connecting"))?,
            };
            let line = format!("{number}\n");
            stream.write_all(line.as_bytes()).await.map_err(|error| (error, "asking"))?;
            let answer = hear_line(&mut stream).await.map_err(|error| (error, "hearing"))?;
            Ok::<_, (io::Error, &str)>((stream, answer))
        };
        match tokio::time::timeout(PATIENCE, asked).await {
            Ok(Ok((stream, answer))) => {
                kept = (kind == Kind::Kept).then_some(stream);
                let (name, echo) = answer.split_once(' ').unwrap_or_default();
                let mut tally = tally.lock().unwrap();
                if echo == number.to_string() {
                    *tally.answered.entry(name.to_owned()).or_default() += 1;
                } else {
                    tally.lost.push(format!("{number} was answered with {answer:?}"));
                }
                done.fetch_add(1, Ordering::Relaxed);
            }
            // Closed in between, without a byte of an answer: it is asked again.
            Ok(Err((error, _))) if was_kept && is_end(&error) => {
                tally.lock().unwrap().reconnected += 1;
            }
            Ok(Err((error, doing))) => {
                tally.lock().unwrap().lost.push(format!("{kind:?} {number}, {doing}: {error}"));
            }
            Err(_) => tally.lock().unwrap().lost.push(format!("{kind:?} {number}: no answer")),
        }
        // Others on this thread want to ask too.
        tokio::task::yield_now().await;
    }
}

fn is_end(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe | io::ErrorKind::ConnectionReset
    )
}
