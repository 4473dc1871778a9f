//! The controller's end of the socket.

use std::{future::Future, io, sync::Arc, time::Duration};

use tokio::{
    io::{AsyncWriteExt, BufReader},
    net::{UnixListener, UnixStream},
    sync::Semaphore,
    task::JoinSet,
    time::{interval, sleep, timeout},
};
use wire::api::{Answer, Ask, Refusal, RefusalKind};

use super::{
    line::{self, LineError, REQUEST_BYTES_MAX, Reply, Request},
    peer::Sender,
    place::{self, BindError, Identity},
};
use crate::{
    failure::{Failure, FailureKind, chain},
    folder::Folder,
};

/// The connections that are open at once. People and pipelines are few; whoever holds one open and says nothing is
/// let go after [`Patience::idle`].
const CONNECTIONS_MAX: usize = 64;

/// How long the other end may take.
#[derive(Debug, Clone, Copy)]
struct Patience {
    /// To say a whole request.
    idle: Duration,
    /// To take a whole answer.
    write: Duration,
}

const PATIENCE: Patience =
    Patience { idle: Duration::from_secs(30), write: Duration::from_secs(30) };

/// How often to look whether the socket is still there: whoever deletes it would otherwise have to restart the controller.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// Listens for requests. Dropped, it is gone, and the socket with it.
#[derive(Debug)]
pub(crate) struct Server {
    listening: Listening,
    folder: Folder,
    patience: Patience,
}

impl Server {
    /// Listens on the folder's socket, from the answer on; what is asked waits until [`Server::serve`].
    pub(crate) fn bind(folder: &Folder) -> Result<Self, Failure> {
        let failure = |error: &dyn std::error::Error, kind| Failure {
            kind,
            ..Failure::because(format!("no socket in {}", folder.path().display()), error)
        };
        let listener = place::bind(folder).map_err(|error| match &error {
            BindError::Taken => failure(&error, FailureKind::Refused),
            BindError::Io(_) => failure(&error, FailureKind::Failed),
        })?;
        match Listening::on(listener, folder) {
            Ok(listening) => Ok(Self { listening, folder: folder.clone(), patience: PATIENCE }),
            Err(error) => {
                // The failure that is told is the one that came first.
                let _ = place::remove(folder);
                Err(failure(&error, FailureKind::Failed))
            }
        }
    }

    /// Answers everyone, each in a task of its own, until it is dropped.
    pub(crate) async fn serve<F, Answered>(&self, answer: F)
    where
        F: Fn(Ask, String) -> Answered + Clone + Send + Sync + 'static,
        Answered: Future<Output = Answer> + Send,
    {
        let places = Arc::new(Semaphore::new(CONNECTIONS_MAX));
        let mut connections = JoinSet::new();
        let mut looks = interval(LOOK_EVERY);
        let mut anew = None;
        loop {
            while connections.try_join_next().is_some() {}
            let listening = anew.as_ref().unwrap_or(&self.listening);
            let accepted = tokio::select! {
                accepted = listening.listener.accept() => accepted,
                _ = looks.tick() => {
                    // Where it cannot be made again now, it is tried again.
                    anew = listening.again(&self.folder).or(anew);
                    continue;
                }
            };
            let Ok((stream, _)) = accepted else {
                // Out of descriptors, say: those who have one finish and give theirs back.
                sleep(Duration::from_millis(100)).await;
                continue;
            };
            let Ok(place) = Arc::clone(&places).try_acquire_owned() else {
                let busy = "too many ask at once; ask again in a moment".to_owned();
                connections.spawn(async move {
                    let mut stream = stream;
                    // Whoever does not take even this is let go.
                    let _ = say(&mut stream, refused(busy), Duration::from_secs(1)).await;
                });
                continue;
            };
            let (answer, patience) = (answer.clone(), self.patience);
            connections.spawn(async move {
                // A connection that broke has nobody left to be told so.
                let _ = converse(stream, answer, patience).await;
                drop(place);
            });
        }
    }
}

/// A socket that is listened on.
#[derive(Debug)]
struct Listening {
    listener: UnixListener,
    identity: Option<Identity>,
}

impl Listening {
    fn on(listener: std::os::unix::net::UnixListener, folder: &Folder) -> io::Result<Self> {
        listener.set_nonblocking(true)?;
        let listener = UnixListener::from_std(listener)?;
        Ok(Self { listener, identity: Identity::now(folder) })
    }

    /// Listens anew, if the socket is gone or is another's rest.
    fn again(&self, folder: &Folder) -> Option<Self> {
        let now = Identity::now(folder);
        if now.is_some() && now == self.identity {
            return None;
        }
        Self::on(place::bind(folder).ok()?, folder).ok()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // Nothing waits for it: the next start replaces what is left.
        let _ = place::remove(&self.folder);
    }
}

async fn converse<F, Answered>(
    stream: UnixStream,
    answer: F,
    patience: Patience,
) -> Result<(), LineError>
where
    F: Fn(Ask, String) -> Answered,
    Answered: Future<Output = Answer>,
{
    let sender = Sender::of(&stream);
    let mut stream = BufReader::new(stream);
    let sender = match sender {
        Ok(sender) => sender.to_string(),
        Err(error) => return say(&mut stream, refused(chain(&error)), patience.write).await,
    };
    loop {
        let read = line::read(&mut stream, REQUEST_BYTES_MAX);
        let Ok(line) = timeout(patience.idle, read).await else { return Ok(()) };
        let asked = match line {
            Ok(None) | Err(LineError::Io(_)) => return Ok(()),
            Ok(Some(line)) => line::decode::<Request>(&line),
            Err(error) => Err(error),
        };
        match asked {
            Ok(Request { request }) => {
                let answer = answer(request, sender.clone()).await;
                say(&mut stream, answer, patience.write).await?;
            }
            // What follows an unreadable line is not known to be a line at all.
            Err(error) => return say(&mut stream, refused(chain(&error)), patience.write).await,
        }
    }
}

fn refused(why: String) -> Answer {
    Answer::Refused(Refusal { kind: RefusalKind::Usage, why, hint: None })
}

async fn say(
    stream: &mut (impl AsyncWriteExt + Unpin),
    answer: Answer,
    patience: Duration,
) -> Result<(), LineError> {
    let line = line::encode(&Reply { answer })?;
    match timeout(patience, stream.write_all(&line)).await {
        Ok(written) => Ok(written?),
        Err(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use tokio::io::AsyncReadExt;

    use super::super::{client::Client, place::ShortPath};
    use super::*;
    use crate::folder::SOCKET;

    async fn answer(ask: Ask, sender: String) -> Answer {
        if let Ask::Push { machine } = ask {
            Answer::Done(format!("{sender} pushed {machine}"))
        } else {
            Answer::Machines(Vec::new())
        }
    }

    struct Running {
        folder: Folder,
        serving: tokio::task::JoinHandle<()>,
        _dir: tempfile::TempDir,
    }

    fn start(patience: Patience) -> Running {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        let mut server = Server::bind(&folder).unwrap();
        server.patience = patience;
        let serving = tokio::spawn(async move { server.serve(answer).await });
        Running { folder, serving, _dir: dir }
    }

    async fn raw(folder: &Folder) -> UnixStream {
        let short = ShortPath::to(folder).unwrap();
        UnixStream::connect(short.join(SOCKET)).await.unwrap()
    }

    /// What the server says to these bytes until it hangs up or is told that no more comes.
    async fn say_raw(folder: &Folder, bytes: &[u8]) -> String {
        let mut stream = raw(folder).await;
        // A server that has hung up already has refused the rest.
        let _ = stream.write_all(bytes).await;
        let _ = stream.shutdown().await;
        let mut said = String::new();
        let _ = stream.read_to_string(&mut said).await;
        said
    }

    #[tokio::test]
    async fn one_connection_asks_many_things_and_the_sender_is_known() {
        let running = start(PATIENCE);
        let mut client = Client::connect(&running.folder).await.unwrap();
        assert_eq!(client.machines().await, Ok(Vec::new()));
        let machine = "box-1".parse().unwrap();
        let Answer::Done(done) = client.ask(Ask::Push { machine }).await.unwrap() else {
            panic!("a push is done")
        };
        assert!(done.ends_with(" pushed box-1"), "{done}");
        running.serving.abort();
    }

    #[tokio::test]
    async fn what_is_no_request_is_refused_with_the_reason() {
        let running = start(PATIENCE);
        let long = vec![b'x'; usize::try_from(REQUEST_BYTES_MAX).unwrap() + 1];
        for (bytes, reason) in [
            (&b"machines\n"[..], "cannot be understood"),
            (br#"{"version":9,"request":{"ask":"machines"}}"#, "has no end"),
            (b"{\"version\":9,\"request\":{\"ask\":\"machines\"}}\n", "version 9"),
            (b"\xff\xfe\n", "cannot be understood"),
            (&long, "at most 1048576 bytes"),
        ] {
            let said = say_raw(&running.folder, bytes).await;
            assert!(said.contains(reason), "{reason}: {said}");
            assert!(said.starts_with(r#"{"version":1,"answer":{"answer":"refused""#), "{said}");
        }
        assert_eq!(
            Client::connect(&running.folder).await.unwrap().machines().await,
            Ok(Vec::new())
        );
    }

    #[tokio::test]
    async fn a_socket_that_was_deleted_or_replaced_is_made_again() {
        let running = start(PATIENCE);
        let mut before = Client::connect(&running.folder).await.unwrap();
        let socket = running.folder.path().join(SOCKET);
        let damages: [fn(&std::path::Path) -> io::Result<()>; 2] =
            [|_| Ok(()), |socket| std::fs::write(socket, "no socket")];
        for damage in damages {
            std::fs::remove_file(&socket).unwrap();
            damage(&socket).unwrap();
            let answered = async {
                loop {
                    match Client::connect(&running.folder).await {
                        Ok(mut client) => return client.machines().await,
                        Err(_) => sleep(Duration::from_millis(20)).await,
                    }
                }
            };
            let answered = timeout(Duration::from_secs(30), answered).await;
            assert_eq!(answered.unwrap(), Ok(Vec::new()));
        }
        assert_eq!(before.machines().await, Ok(Vec::new()), "who was connected still is");
    }

    #[tokio::test]
    async fn those_who_say_nothing_block_nobody() {
        let patience = Patience { idle: Duration::from_millis(200), ..PATIENCE };
        let running = start(patience);
        let mut silent = Vec::new();
        for _ in 0..CONNECTIONS_MAX {
            silent.push(raw(&running.folder).await);
        }
        let said = say_raw(&running.folder, b"").await;
        assert!(said.contains("too many ask at once"), "{said}");
        // Each of them is let go, and then there is room again.
        for stream in &mut silent {
            assert_eq!(stream.read(&mut [0]).await.unwrap(), 0);
        }
        let mut client = Client::connect(&running.folder).await.unwrap();
        assert_eq!(client.machines().await, Ok(Vec::new()));
    }
}
