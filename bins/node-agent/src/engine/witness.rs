//! What is seen of the engine from outside: the status that it is asked for, what systemd is told, and the lines about its
//! bus.

use std::time::Duration;

use agent_shell::Severity;
use bus_socket::Connection;
use chrono::{DateTime, Utc};
use host::Host as _;
use terminal::failure::chain;
use tokio::{sync::watch, time::sleep};
use wire::{ResourceState, Statement};

use super::{Engine, VERSION, ending::Ending};
use crate::{
    clock,
    status::{BusState, BusStatus, Server, Status},
    systemd::Notify,
};

/// How soon a socket that could not be made is tried again: its disk may take it then.
const SOCKET_AGAIN_AFTER: Duration = Duration::from_secs(10);

/// Looks on while the engine lives.
#[derive(Debug)]
pub(super) struct Witness<'a> {
    engine: &'a Engine,
    notify: Notify,
    began: DateTime<Utc>,
    bus: watch::Sender<BusStatus>,
    stated_at: watch::Sender<Option<DateTime<Utc>>>,
}

impl<'a> Witness<'a> {
    pub(super) fn of(engine: &'a Engine) -> Self {
        let began = clock::now();
        let bus = BusStatus { state: BusState::Connecting, since: began, why: None };
        Self {
            engine,
            notify: Notify::new(),
            began,
            bus: watch::Sender::new(bus),
            stated_at: watch::Sender::new(None),
        }
    }

    /// Looks on, for ever.
    pub(super) async fn watch(&self, mut ending: Ending) {
        let watch_end = async {
            let _ = ending.asked().await;
            self.notify.stopping();
        };
        tokio::join!(self.watch_bus(), self.watch_statements(), self.answer(), watch_end);
    }

    async fn watch_bus(&self) {
        let mut connection = self.engine.bus.connection();
        loop {
            let (state, why) = match &*connection.borrow_and_update() {
                Connection::Connecting => (BusState::Connecting, None),
                Connection::Connected => (BusState::Connected, None),
                Connection::Lost(error) => (BusState::Lost, Some(chain(&**error))),
                Connection::Closed => (BusState::Closed, None),
            };
            let before = self.bus.borrow().clone();
            let since = if before.state == state { before.since } else { clock::now() };
            let now = BusStatus { state, since, why };
            if before.state != state {
                self.tell(&now);
            }
            self.bus.send_replace(now);
            if connection.changed().await.is_err() {
                // Only a bus that is closed has nothing more to say.
                return;
            }
        }
    }

    fn tell(&self, bus: &BusStatus) {
        let (severity, line) = match bus.state {
            BusState::Connecting | BusState::Closed => return,
            BusState::Connected => (Severity::Info, "the bus is reached".to_owned()),
            BusState::Lost => {
                let why = bus.why.as_deref().unwrap_or("nobody knows why");
                let line = format!(
                    "the bus is not reached; what runs goes on, and it is tried again: {why}"
                );
                (Severity::Warning, line)
            }
        };
        self.engine.log.say(severity, &line);
    }

    async fn watch_statements(&self) {
        let mut stated = self.engine.stated.subscribe();
        let mut told = String::new();
        while stated.changed().await.is_ok() {
            let words = match &*stated.borrow_and_update() {
                Some(statement) => in_words(statement),
                None => continue,
            };
            let at = self.stated_at.send_replace(Some(clock::now()));
            // What runs was found, and is looked after.
            if at.is_none() {
                self.notify.ready();
            }
            if told != words {
                self.notify.status(&words);
                told = words;
            }
        }
    }

    /// Answers whoever asks for the status. A socket that cannot be made ends nothing.
    async fn answer(&self) {
        let mut told = None;
        loop {
            match Server::bind(&self.engine.folder) {
                Ok(server) => server.serve(|| self.status()).await,
                Err(error) => {
                    let why = error.to_string();
                    if told.as_ref() != Some(&why) {
                        let line =
                            format!("the engine cannot be asked for its status for now: {why}");
                        self.engine.log.say(Severity::Warning, &line);
                    }
                    told = Some(why);
                    sleep(SOCKET_AGAIN_AFTER).await;
                }
            }
        }
    }

    fn status(&self) -> Status {
        let engine = self.engine;
        Status {
            version: Status::VERSION,
            machine: engine.machine.clone(),
            agent: VERSION.to_owned(),
            process: std::process::id(),
            boot: engine.host.boot(),
            since: self.began,
            folder: engine.folder.path().to_owned(),
            bus: self.bus.borrow().clone(),
            storeless: engine.storeless.borrow().clone(),
            stated_at: *self.stated_at.borrow(),
            statement: engine.stated.borrow().clone(),
        }
    }
}

/// `declaration 7, 3 of 4 healthy`
fn in_words(statement: &Statement) -> String {
    let held = statement
        .declaration
        .map_or_else(|| "no declaration".to_owned(), |number| format!("declaration {number}"));
    let healthy = |row: &&wire::ResourceStatement| row.state == ResourceState::Healthy;
    let healthy = statement.resources.iter().filter(healthy).count();
    let troubles = match statement.troubles.len() {
        0 => String::new(),
        1 => ", 1 trouble".to_owned(),
        many => format!(", {many} troubles"),
    };
    format!("{held}, {healthy} of {} healthy{troubles}", statement.resources.len())
}
