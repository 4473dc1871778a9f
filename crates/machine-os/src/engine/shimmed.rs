//! One workload in its shim, as the engine holds it.

use std::collections::VecDeque;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use host::Exit;
use rustix::process::Signal;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::UnixStream;
use tokio::sync::{mpsc, oneshot, watch};
use tokio::task::spawn_blocking;

use crate::engine::remains;
use crate::entry::{self, Identity, Who};
use crate::output;
use crate::proc;
use crate::shim::{Fact, Order};

/// How long a shim may take beyond the grace before it counts as lost: it hangs, or the kernel holds it.
const STOP_SLACK: Duration = Duration::from_secs(10);

/// How long a shim may take to answer a question. It answers in a millisecond, and later where the machine is overloaded.
const ANSWER_MAX: Duration = Duration::from_secs(5);

/// How often, and after what pauses, a living shim is connected to again.
const CONNECTS_MAX: u32 = 50;
const CONNECT_PAUSE: Duration = Duration::from_millis(100);

/// A connection to a shim.
pub(super) type Facts = BufReader<UnixStream>;

/// A workload that runs. Cheap to hold: one descriptor and one task.
#[derive(Debug)]
pub(crate) struct Shimmed {
    identity: Identity,
    workload: Who,
    asks: mpsc::UnboundedSender<Ask>,
    ended: watch::Receiver<Option<End>>,
}

/// What is known of a workload when it is taken hold of.
#[derive(Debug)]
pub(super) struct Start {
    pub(super) identity: Identity,
    pub(super) workload: Who,
    /// The shim's folder; a tethered one has none.
    pub(super) folder: Option<PathBuf>,
    pub(super) output: Option<PathBuf>,
}

/// How it ended, and its last lines.
#[derive(Debug, Clone)]
pub(super) struct End {
    pub(super) exit: Exit,
    pub(super) lines: Vec<String>,
}

#[derive(Debug)]
enum Ask {
    Order(Order),
    Question(Order, oneshot::Sender<Fact>),
}

impl Shimmed {
    /// Takes hold of a workload that runs.
    pub(super) fn new(start: Start, facts: Facts) -> Self {
        let (asks, asked) = mpsc::unbounded_channel();
        let (say, ended) = watch::channel(None);
        let (identity, workload) = (start.identity.clone(), start.workload);
        tokio::spawn(async move {
            if let Some(end) = hear_out(&start, facts, asked).await {
                let end = clean(&start, end).await;
                say.send_replace(Some(end));
            }
        });
        Self { identity, workload, asks, ended }
    }

    /// One of which only its end is known.
    pub(super) fn over(identity: Identity, workload: Who, end: End) -> Self {
        let (asks, _) = mpsc::unbounded_channel();
        let (_, ended) = watch::channel(Some(end));
        Self { identity, workload, asks, ended }
    }

    pub(crate) fn workload(&self) -> Who {
        self.workload
    }

    /// Waits until the whole tree is gone.
    pub(crate) async fn ended(&self) -> Exit {
        let mut ended = self.ended.clone();
        // Only a runtime that ends takes the one away who would say it.
        match ended.wait_for(Option::is_some).await {
            Ok(end) => end.as_ref().map_or(Exit::Unknown, |end| end.exit),
            Err(_) => Exit::Unknown,
        }
    }

    /// Sends the signal, kills what is left after the grace, and waits until the whole tree is gone. The shim minds the
    /// grace, so it is kept even if this engine ends meanwhile.
    pub(crate) async fn stop(&self, signal: Signal, grace: Duration) -> Exit {
        let order = match signal {
            Signal::KILL => Order::Kill,
            signal => Order::Stop { signal: signal.as_raw(), grace },
        };
        // A shim that is gone cannot be told, and then its end is known.
        let _ = self.asks.send(Ask::Order(order));
        if let Ok(exit) = tokio::time::timeout(grace + STOP_SLACK, self.ended()).await {
            return exit;
        }
        // With the shim gone, whoever hears it out kills the rest.
        self.lose();
        self.ended().await
    }

    /// The last lines that it wrote.
    pub(crate) async fn last_lines(&self) -> Vec<String> {
        let over = self.ended.borrow().as_ref().map(|end| end.lines.clone());
        match over {
            Some(lines) => lines,
            None => match self.ask(Order::Lines).await {
                Some(Fact::Lines(lines)) => lines,
                // It ended while it was asked.
                _ => self.ended.borrow().as_ref().map(|end| end.lines.clone()).unwrap_or_default(),
            },
        }
    }

    /// Its answer to a question; none when it gives none.
    pub(crate) async fn ask(&self, order: Order) -> Option<Fact> {
        let (say, answer) = oneshot::channel();
        self.asks.send(Ask::Question(order, say)).ok()?;
        tokio::time::timeout(ANSWER_MAX, answer).await.ok()?.ok()
    }

    /// Whether the workload itself is alive.
    pub(crate) fn is_alive(&self) -> bool {
        self.ended.borrow().is_none() && self.workload.is_alive()
    }

    /// The numbers of the workload and all that descends from it.
    pub(crate) fn tree(&self) -> Vec<u32> {
        if !self.identity.shim.is_alive() {
            return Vec::new();
        }
        let tree = proc::descendants(self.identity.shim.pid).unwrap_or_default();
        tree.iter().map(|one| one.pid).collect()
    }

    fn lose(&self) {
        if let Some(one) = proc::stat(self.identity.shim.pid)
            && one.started == self.identity.shim.started
        {
            proc::signal(&one, Signal::KILL);
        }
    }
}

/// Connects to the shim of a folder, and hears first what it says to everyone: which workload it holds.
pub(super) async fn connect(folder: &Path, shim: Who) -> io::Result<(Facts, Fact)> {
    let connected = async {
        // The path through the open folder is short, wherever that lies.
        let opened = std::fs::File::open(folder)?;
        let path = format!("/proc/self/fd/{}", rustix::fd::AsRawFd::as_raw_fd(&opened));
        let [socket, second] = entry::sockets(Path::new(&path));
        let stream = match UnixStream::connect(socket).await {
            Ok(stream) => stream,
            Err(_) => UnixStream::connect(second).await?,
        };
        // Who listened there first. It may be gone by now: one that could write no exit waits for an engine to tell it to,
        // and ends.
        let peer = stream.peer_cred()?.pid().and_then(|pid| u32::try_from(pid).ok());
        if peer != Some(shim.pid) {
            return Err(io::Error::other("it is not the shim that listens there"));
        }
        let mut facts = BufReader::new(stream);
        let first = next(&mut facts).await;
        Ok((facts, first.ok_or(io::ErrorKind::UnexpectedEof)?))
    };
    tokio::time::timeout(ANSWER_MAX, connected).await?
}

/// The next fact; lines that say none are passed over.
pub(super) async fn next(facts: &mut Facts) -> Option<Fact> {
    let mut line = Vec::new();
    loop {
        line.clear();
        if facts.read_until(b'\n', &mut line).await.ok()? == 0 {
            return None;
        }
        if let Some(fact) = fact(&line) {
            return Some(fact);
        }
    }
}

/// Says something to a shim.
pub(super) async fn say(facts: &mut Facts, order: Order) -> io::Result<()> {
    facts.get_mut().write_all(format!("{order}\n").as_bytes()).await
}

fn fact(line: &[u8]) -> Option<Fact> {
    std::str::from_utf8(line.strip_suffix(b"\n")?).ok()?.parse().ok()
}

/// Hears a shim until the tree is gone. `None`: nobody holds the workload any more, and it runs on.
async fn hear_out(
    start: &Start,
    mut facts: Facts,
    mut asked: mpsc::UnboundedReceiver<Ask>,
) -> Option<End> {
    // Shims answer in the order of the questions.
    let mut questions: VecDeque<oneshot::Sender<Fact>> = VecDeque::new();
    let mut line = Vec::new();
    loop {
        let is_gone = tokio::select! {
            // This reading can be given up and gone on with: what was read is in the line.
            read = facts.read_until(b'\n', &mut line) => match read {
                Ok(length) if length > 0 => {
                    match fact(&line) {
                        Some(Fact::Exited { exit, lines }) => {
                            // One that wrote it to the disk does not wait for this, and is gone.
                            let _ = say(&mut facts, Order::Heard).await;
                            return Some(End { exit, lines });
                        }
                        Some(answer @ (Fact::Status { .. } | Fact::Lines(_))) => {
                            // Whoever asked may have given up.
                            let _ = questions.pop_front().map(|question| question.send(answer));
                        }
                        Some(Fact::Ready | Fact::Started { .. } | Fact::Refused(_)) => {}
                        // Most likely the answer of a newer shim. Whoever asked is better off with none than with that
                        // to the next question.
                        None => drop(questions.pop_front()),
                    }
                    line.clear();
                    false
                }
                Ok(_) | Err(_) => true,
            },
            ask = asked.recv() => {
                let order = match ask? {
                    Ask::Order(order) => order,
                    Ask::Question(order, question) => {
                        questions.push_back(question);
                        order
                    }
                };
                say(&mut facts, order).await.is_err()
            }
        };
        if is_gone {
            questions.clear();
            line.clear();
            match again(start).await {
                Again::Connected(new) => facts = new,
                Again::Over(end) => return Some(end),
            }
        }
    }
}

enum Again {
    Connected(Facts),
    Over(End),
}

/// A connection broke off: most likely because the shim is gone. Then it wrote how the workload ended, or it was killed and
/// took nothing along, and this engine does its work.
async fn again(start: &Start) -> Again {
    let Start { identity, folder, .. } = start;
    if let Some(folder) = folder {
        for _ in 0..CONNECTS_MAX {
            if !identity.shim.is_alive() {
                break;
            }
            if let Ok((facts, Fact::Started { .. })) = connect(folder, identity.shim).await {
                return Again::Connected(facts);
            }
            tokio::time::sleep(CONNECT_PAUSE).await;
        }
    }
    Again::Over(found_over(start).await)
}

/// What is left of a workload whose shim is gone or cannot be spoken to: its end, and nothing else.
pub(super) async fn found_over(start: &Start) -> End {
    let Start { identity, folder, output, .. } = start;
    let written = |folder: Option<PathBuf>| folder.and_then(|folder| entry::exit(&folder));
    if let Some((exit, lines)) = written(folder.clone()) {
        return End { exit, lines };
    }
    remains::end(identity).await;
    // The shim may have written it just before it was killed.
    if let Some((exit, lines)) = written(folder.clone()) {
        return End { exit, lines };
    }
    let lines = output.as_deref().map(output::last_lines).unwrap_or_default();
    End { exit: Exit::Unknown, lines }
}

/// Its end is heard, so nobody needs to find the shim any more.
async fn clean(start: &Start, end: End) -> End {
    if let Some(folder) = start.folder.clone() {
        let _ = spawn_blocking(move || entry::remove(&folder)).await;
    }
    end
}
