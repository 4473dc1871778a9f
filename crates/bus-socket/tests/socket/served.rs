//! A bus that is served on a socket in a folder of its own, and what tests ask of it.

use std::path::PathBuf;
use std::time::Duration;

use bus::{Bus, Bytes, InProcessBus, Pattern, Requests, Subject, Subscription};
use bus_socket::{Connection, ConnectionError, SocketBus, SocketServer};
use tempfile::TempDir;
use tokio::task::JoinHandle;
use tokio::time::timeout;

/// How long a test waits for what must come; only a fault makes it wait that long.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Served {
    pub(crate) hub: InProcessBus,
    pub(crate) folder: TempDir,
    serving: Option<JoinHandle<()>>,
}

impl Served {
    pub(crate) async fn start() -> Self {
        let mut served =
            Self { hub: InProcessBus::new(), folder: TempDir::new().unwrap(), serving: None };
        served.resume().await;
        served
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.folder.path().join("bus")
    }

    /// The server is gone, with all its connections.
    pub(crate) async fn stop(&mut self) {
        let serving = self.serving.take().unwrap();
        serving.abort();
        assert!(serving.await.unwrap_err().is_cancelled());
    }

    /// Another server is in its place.
    pub(crate) async fn resume(&mut self) {
        let server = SocketServer::bind(self.path(), self.hub.clone()).await.unwrap();
        self.serving = Some(tokio::spawn(server.serve()));
    }

    pub(crate) async fn client(&self) -> SocketBus {
        let client = SocketBus::connect(self.path());
        connected(&client).await;
        client
    }
}

pub(crate) fn subject(text: &str) -> Subject {
    text.parse().unwrap()
}

pub(crate) fn pattern(text: &str) -> Pattern {
    text.parse().unwrap()
}

pub(crate) async fn connected(client: &SocketBus) {
    let mut connection = client.connection();
    timeout(PATIENCE, connection.wait_for(Connection::is_connected)).await.unwrap().unwrap();
}

/// Waits until the connection is lost for such a reason, and says it.
pub(crate) async fn lost(client: &SocketBus, why: impl Fn(&ConnectionError) -> bool) -> String {
    let mut connection = client.connection();
    let is_it = |now: &Connection| match now {
        Connection::Lost(error) => why(error),
        Connection::Connecting | Connection::Connected | Connection::Closed => false,
    };
    match &*timeout(PATIENCE, connection.wait_for(is_it)).await.unwrap().unwrap() {
        Connection::Lost(error) => error.to_string(),
        Connection::Connecting | Connection::Connected | Connection::Closed => unreachable!(),
    }
}

pub(crate) async fn say(bus: &impl Bus, on: &str, text: impl ToString) {
    bus.publish(&subject(on), text.to_string().into()).await.unwrap();
}

pub(crate) async fn hear(subscription: &mut Subscription) -> String {
    let message = timeout(PATIENCE, subscription.next()).await.unwrap().unwrap();
    String::from_utf8(message.payload.to_vec()).unwrap()
}

/// Answers every request with what was asked, and `by`.
pub(crate) fn echo(mut requests: Requests, by: &'static str) -> JoinHandle<()> {
    tokio::spawn(async move {
        while let Some(request) = requests.next().await {
            let answer = format!("{} by {by}", String::from_utf8_lossy(&request.payload));
            request.responder.respond(answer.into()).unwrap();
        }
    })
}

pub(crate) async fn ask(bus: &impl Bus, on: &str, text: &str) -> String {
    let payload = Bytes::copy_from_slice(text.as_bytes());
    let answer = bus.request(&subject(on), payload, PATIENCE).await.unwrap();
    String::from_utf8(answer.to_vec()).unwrap()
}
