//! The port: what one machine can be told to do.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error as StdError;
use std::future::Future;
use std::net::SocketAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use inventory::{Artifact, ArtifactName};
use names::{BuildId, Digest, ModuleName};
use thiserror::Error;
use wire::route::Table;
use wire::{BootId, Trouble};

use crate::process::{Adopted, Process, ProcessSpec, StartError};

/// A handle on one machine. Cheap to clone; all clones are the same machine.
pub trait Host: Clone + Send + Sync + 'static {
    /// A process that this host started.
    type Process: Process;

    /// The boot that the machine runs in.
    fn boot(&self) -> BootId;

    /// What its clocks say.
    fn clock(&self) -> Clock;

    /// Finds every process that an earlier holder of this host started, in this boot, and whose end nobody has heard. Each
    /// is told once: to be asked before anything is started, since an error here means that something may run unseen.
    fn adopt(&self)
    -> impl Future<Output = Result<Vec<Adopted<Self::Process>>, AdoptError>> + Send;

    /// Waits until [`Clock::monotonic`] has reached `monotonic`.
    fn sleep_until(&self, monotonic: Duration) -> impl Future<Output = ()> + Send;

    /// Brings a build onto the disk, whole and verified, or leaves nothing that looks like it. A build that is there
    /// already is left as it is, so asking again costs nothing.
    fn install(&self, bundle: &Bundle) -> impl Future<Output = Result<(), InstallError>> + Send;

    /// Removes from the disk every installed build that is not in `keep`, and what only such builds needed. What cannot be
    /// removed now is removed another time; what is being installed is left alone. It says which builds went.
    fn collect(
        &self,
        keep: &BTreeSet<(ModuleName, BuildId)>,
    ) -> impl Future<Output = BTreeSet<(ModuleName, BuildId)>> + Send;

    /// Looks for what is wrong with the machine itself, now: its disk, files of the agent's that were found damaged.
    fn troubles(&self) -> impl Future<Output = Vec<Trouble>> + Send;

    /// Looks at everything that can be known to keep `spec` from starting, and changes nothing. `ours` are processes that
    /// will be gone by then: an address that only they hold counts as free.
    fn verify(
        &self,
        spec: &ProcessSpec,
        ours: &[Self::Process],
    ) -> impl Future<Output = Result<(), StartError>> + Send;

    /// Makes the machine's public addresses lead where the table says, and nowhere else: in effect for every new connection
    /// when this returns. It says of each address that is not as the table says why, in words.
    fn route(
        &self,
        table: &Table,
    ) -> impl Future<Output = Result<BTreeMap<SocketAddr, String>, RouteError>> + Send;

    /// Waits until whatever leads the public addresses is gone, and [`Host::route`] has to be asked again.
    fn unrouted(&self) -> impl Future<Output = ()> + Send;

    /// Waits until nothing that was forwarded to a process's address goes on any more, for at most `limit`: then what is
    /// left is cut. Where nothing was forwarded it returns at once.
    fn drained(&self, address: SocketAddr, limit: Duration) -> impl Future<Output = ()> + Send;

    /// Starts a process of a build that is installed.
    fn start(
        &self,
        spec: &ProcessSpec,
    ) -> impl Future<Output = Result<Self::Process, StartError>> + Send;
}

/// One look at a machine's clocks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Clock {
    /// Since the machine booted: it only grows, whatever is done to the time of day. Everything is timed by it.
    pub monotonic: Duration,
    /// The time of day: for people.
    pub wall: DateTime<Utc>,
}

/// One build, to be installed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle {
    /// Whose build it is.
    pub module: ModuleName,
    /// Which one.
    pub build: BuildId,
    /// What it consists of. A name that ends in `.tar` or `.tar.gz` is unpacked into the build's folder, any other is
    /// placed there as an executable file.
    pub artifacts: Vec<Artifact>,
}

/// Why no public address can be led anywhere. What was in effect goes on.
#[derive(Debug, Error)]
#[error("the public addresses cannot be led anywhere: {what}")]
pub struct RouteError {
    /// What was being done.
    pub what: String,
    /// How it failed.
    #[source]
    pub source: Box<dyn StdError + Send + Sync>,
}

/// Why it is not known what runs here.
#[derive(Debug, Error)]
#[error("it cannot be seen what runs here already: {what}")]
pub struct AdoptError {
    /// What was being done.
    pub what: String,
    /// How it failed.
    #[source]
    pub source: Box<dyn StdError + Send + Sync>,
}

/// Why a build is not installed. Nothing of it is left behind.
#[derive(Debug, Error)]
pub enum InstallError {
    /// Its source does not have it.
    #[error("the artifact `{name}` ({}…) is not at its source", .digest.short())]
    Missing {
        /// Which artifact.
        name: ArtifactName,
        /// What was looked for.
        digest: Digest,
    },
    /// What the source has is something else.
    #[error("the artifact `{name}` does not match what was declared: {found}")]
    Mismatch {
        /// Which artifact.
        name: ArtifactName,
        /// What was found, in words.
        found: String,
    },
    /// It is what was declared and cannot be placed safely.
    #[error("the artifact `{name}` cannot be unpacked: {why}")]
    Unsafe {
        /// Which artifact.
        name: ArtifactName,
        /// Which entry and which rule, in words.
        why: String,
    },
    /// No space.
    #[error("no space is left on the disk for build {build}")]
    Full {
        /// Which build.
        build: BuildId,
    },
    /// The disk cannot be written.
    #[error("the disk for builds is read-only")]
    ReadOnly,
    /// The disk, or the source, failed otherwise.
    #[error("{what} failed")]
    Failed {
        /// What was being done.
        what: String,
        /// How it failed.
        #[source]
        source: Box<dyn StdError + Send + Sync>,
    },
}
