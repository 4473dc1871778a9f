//! What an agent is told when it starts.

use std::time::Duration;

use agent_core::Incarnation;
use names::MachineName;
use tokio::sync::watch;
use wire::Statement;
use wire::signed::TrustedKeys;

use crate::log::Log;

/// What an agent is told when it starts. [`Config::new`] gives the periods that the bus's rules name.
#[derive(Debug, Clone)]
pub struct Config {
    /// The machine that it speaks for.
    pub machine: MachineName,
    /// The version of its program, as a hello says it.
    pub agent: String,
    /// Drawn at random for each start: it tells this agent process from all others of its machine, and the spread of its
    /// pauses follows from it.
    pub incarnation: Incarnation,
    /// Whose signed words count on the machine.
    pub trusted: TrustedKeys,
    /// How often it states how everything stands when nothing changes.
    pub statement_every: Duration,
    /// How often it says hello.
    pub hello_every: Duration,
    /// How long it waits for an answer before it counts as not given.
    pub request_timeout: Duration,
    /// Where it tells people what happens.
    pub log: Log,
    /// Where its newest statement is, for whoever asks this process how the machine stands.
    pub stated: watch::Sender<Option<Statement>>,
}

impl Config {
    /// Statements every 5 s, a hello every 30 s, 2 s for an answer, no log, and nobody whose signed words count.
    #[must_use]
    pub fn new(machine: MachineName, agent: String, incarnation: Incarnation) -> Self {
        Self {
            machine,
            agent,
            incarnation,
            trusted: TrustedKeys::default(),
            statement_every: Duration::from_secs(5),
            hello_every: Duration::from_secs(30),
            request_timeout: Duration::from_secs(2),
            log: Log::silent(),
            stated: watch::Sender::new(None),
        }
    }

    pub(crate) fn core(&self) -> agent_core::Config {
        agent_core::Config {
            machine: self.machine.clone(),
            agent: self.agent.clone(),
            trusted: self.trusted.clone(),
            statement_every: self.statement_every,
            hello_every: self.hello_every,
        }
    }
}
