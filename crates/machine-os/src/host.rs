//! The port, implemented.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::fs;
use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Utc};
use host::{
    AdoptError, Adopted, Bundle, Clock, Host, InstallError, ProcessSpec, RouteError, StartError,
};
use names::{BuildId, ModuleName};
use rustix::rand::{GetRandomFlags, getrandom};
use rustix::time::{ClockId, Timespec, clock_gettime};
use tokio::task::spawn_blocking;
use wire::route::Table;
use wire::{BootId, Trouble};

use crate::aside;
use crate::bounds::Bounds;
use crate::data;
use crate::engine::{self, Found, OsProcess, ShimError};
use crate::entry::{self, Keepsake};
use crate::install::{self, Builds};
use crate::obstacles::{self, check_port, free_address};
use crate::proc;
use crate::routes::{RouterConfig, Routes};
use crate::shim::{Errand, Tie};
use crate::troubles::Watch;
use crate::user::User;

/// Where programs are looked for, by workloads too, when the agent's own environment does not say.
const PATH: &str = "/usr/local/bin:/usr/bin:/bin";

/// What a host needs to know.
#[derive(Debug, Clone)]
pub struct OsConfig {
    /// The host's own folder: builds, output, shims. It is made if it is not there.
    pub root: PathBuf,
    /// Where artifacts come from: a folder of files named by their digest.
    pub artifacts: PathBuf,
    /// Program and arguments that come to [`shim::main`](crate::shim::main).
    pub shim: Vec<OsString>,
    /// The `PATH` of workloads; `None`: a plain one.
    pub path: Option<String>,
    /// What the machine's owner allows.
    pub bounds: Bounds,
    /// The machine's router; `None`: this host has none, and leads no address anywhere.
    pub router: Option<RouterConfig>,
    /// How long a workload goes on without any engine; `None`, as in production: for ever. Given a time, it also ends at
    /// once when nobody could find it any more, because the host's folder was removed.
    pub orphan_after: Option<Duration>,
}

/// This machine. Cheap to clone.
#[derive(Debug, Clone)]
pub struct OsHost {
    inner: Arc<Inner>,
}

#[derive(Debug)]
struct Inner {
    config: OsConfig,
    boot: BootId,
    builds: Builds,
    watch: Watch,
    routes: Routes,
}

/// Why this machine cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The host's folder cannot be made ready.
    #[error("the folder {} cannot be made ready", .folder.display())]
    Folder {
        /// Which folder.
        folder: PathBuf,
        /// Why.
        #[source]
        source: io::Error,
    },
    /// The kernel does not say which boot this is.
    #[error("the boot cannot be told from others")]
    Boot(#[source] io::Error),
}

impl OsHost {
    /// Makes the host's folder ready. What an install that was interrupted left is removed.
    ///
    /// # Errors
    /// Whatever [`OpenError`] says.
    pub fn open(config: OsConfig) -> Result<Self, OpenError> {
        let root = fs::create_dir_all(&config.root).and_then(|()| config.root.canonicalize());
        let root =
            root.map_err(|source| OpenError::Folder { folder: config.root.clone(), source })?;
        let config = OsConfig { root, ..config };
        let ready = |folder: PathBuf| {
            let made = aside::make_way(&config.root, &folder);
            let made = made.and_then(|()| fs::create_dir_all(&folder));
            made.map_err(|source| OpenError::Folder { folder, source })
        };
        ready(config.root.join("builds"))?;
        ready(config.root.join("output"))?;
        ready(entry::all(&config.root))?;
        let boot = BootId(proc::boot().map_err(OpenError::Boot)?);
        let builds = Builds::open(config.root.clone(), config.artifacts.clone());
        let watch = Watch::new(config.root.clone());
        let routes = Routes::new(config.router.clone());
        Ok(Self { inner: Arc::new(Inner { config, boot, builds, watch, routes }) })
    }

    fn build_folder(&self, module: &ModuleName, build: &BuildId) -> PathBuf {
        install::folder(&self.inner.config.root, module, build)
    }

    fn path(&self) -> &str {
        self.inner.config.path.as_deref().unwrap_or(PATH)
    }

    /// Looks at everything but the port, and says whom the workload runs as.
    fn look(&self, spec: &ProcessSpec) -> Result<Option<User>, StartError> {
        let folder = self.build_folder(&spec.module, &spec.build);
        obstacles::look(spec, &folder, self.path(), &self.inner.config.bounds)
    }

    /// Where an instance's own data lie.
    fn data(&self, spec: &ProcessSpec) -> PathBuf {
        data::folder(&self.inner.config.root, &spec.module, &spec.instance)
    }

    /// Makes the errand of a workload that listens on `port`.
    async fn errand(&self, spec: &ProcessSpec, user: Option<User>, port: u16) -> Errand {
        let output = self.inner.config.root.join("output");
        let output = output.join(spec.module.as_str()).join(spec.instance.as_str());
        let made = output.clone();
        // A log that has no place is lost, and keeps nobody from running.
        let _ = spawn_blocking(move || fs::create_dir_all(made)).await;
        let mut environment = BTreeMap::from([("PATH".to_owned(), self.path().to_owned())]);
        environment.extend(spec.environment.clone());
        environment.insert("PORT".to_owned(), port.to_string());
        let data = self.data(spec).display().to_string();
        let command = with_port(&spec.command, port);
        let command = command.iter().map(|word| word.replace("${DATA_DIR}", &data)).collect();
        environment.insert("DATA_DIR".to_owned(), data);
        Errand {
            command,
            environment,
            folder: self.build_folder(&spec.module, &spec.build),
            user,
            limits: spec.limits,
            output: Some(output.join(format!("{}.log", spec.resource))),
            execution: spec.execution.to_string(),
            title: format!("execution {} of build {}", spec.execution, spec.build),
            notify: spec.notify,
            tie: Tie::Standing { orphan_after: self.inner.config.orphan_after },
        }
    }
}

impl Host for OsHost {
    type Process = OsProcess;

    fn boot(&self) -> BootId {
        self.inner.boot.clone()
    }

    fn clock(&self) -> Clock {
        let now = clock_gettime(ClockId::Realtime);
        let nanoseconds = u32::try_from(now.tv_nsec).unwrap_or(0);
        let wall = DateTime::<Utc>::from_timestamp(now.tv_sec, nanoseconds).unwrap_or_default();
        Clock { monotonic: monotonic(), wall }
    }

    async fn sleep_until(&self, until: Duration) {
        tokio::time::sleep(until.saturating_sub(monotonic())).await;
    }

    async fn install(&self, bundle: &Bundle) -> Result<(), InstallError> {
        let (inner, bundle) = (Arc::clone(&self.inner), bundle.clone());
        let installed = spawn_blocking(move || inner.builds.install(&bundle));
        installed.await.unwrap_or_else(|error| {
            let what = "the installing task".to_owned();
            Err(InstallError::Failed { what, source: error.into() })
        })
    }

    async fn collect(
        &self,
        keep: &BTreeSet<(ModuleName, BuildId)>,
    ) -> BTreeSet<(ModuleName, BuildId)> {
        let (inner, keep) = (Arc::clone(&self.inner), keep.clone());
        spawn_blocking(move || inner.builds.collect(&keep)).await.unwrap_or_default()
    }

    async fn troubles(&self) -> Vec<Trouble> {
        self.inner.watch.troubles().await
    }

    async fn route(&self, table: &Table) -> Result<BTreeMap<SocketAddr, String>, RouteError> {
        self.inner.routes.set(table).await
    }

    async fn unrouted(&self) {
        self.inner.routes.lost().await;
    }

    async fn drained(&self, address: SocketAddr, limit: Duration) {
        self.inner.routes.drained(address, limit).await;
    }

    async fn verify(&self, spec: &ProcessSpec, ours: &[OsProcess]) -> Result<(), StartError> {
        let (host, spec, ours) = (self.clone(), spec.clone(), ours.to_vec());
        let looked = spawn_blocking(move || {
            host.look(&spec)?;
            let trees = ours.iter().flat_map(OsProcess::tree);
            let direct = spec.listen.direct();
            direct.map_or(Ok(()), |address| check_port(address, &trees.collect::<Vec<_>>()))
        });
        looked.await.map_err(failed("a task"))?
    }

    async fn start(&self, spec: &ProcessSpec) -> Result<OsProcess, StartError> {
        let (host, asked) = (self.clone(), spec.clone());
        let looked = spawn_blocking(move || {
            let user = host.look(&asked)?;
            data::make(&host.data(&asked), user).map_err(failed("making its data folder"))?;
            let address = match asked.listen.direct() {
                Some(address) => check_port(address, &[]).map(|()| address),
                None => free_address().map_err(failed("finding a free port")),
            };
            Ok((user, address?))
        });
        let (user, address) = looked.await.map_err(failed("a task"))??;
        let errand = self.errand(spec, user, address.port()).await;
        let keepsake = Keepsake {
            module: spec.module.clone(),
            instance: spec.instance.clone(),
            resource: spec.resource.clone(),
            execution: spec.execution.clone(),
            address,
            words: spec.keepsake.clone(),
        };
        let OsConfig { shim, root, .. } = &self.inner.config;
        let shimmed = engine::stand(shim, root, keepsake, &errand).await.map_err(|error| {
            let program = || spec.command.first().cloned().unwrap_or_default();
            match error {
                ShimError::Refused(why) => StartError::Program { program: program(), why },
                ShimError::ZeroByte => {
                    StartError::Program { program: program(), why: error.to_string() }
                }
                ShimError::NoShim
                | ShimError::Folder(_)
                | ShimError::Spawn(_)
                | ShimError::Speak(_)
                | ShimError::Silent
                | ShimError::Late => failed("starting its shim")(error),
            }
        })?;
        Ok(OsProcess::new(shim.clone(), errand, shimmed, self.boot(), address))
    }

    async fn adopt(&self) -> Result<Vec<Adopted<OsProcess>>, AdoptError> {
        let found = engine::adopt(&self.inner.config.root, &self.inner.boot.0).await;
        let found = found.map_err(|source| AdoptError {
            what: "reading the folder of shims".to_owned(),
            source: source.into(),
        })?;
        let adopted = |found: Found| {
            let Keepsake { module, instance, resource, execution, address, words } = found.keepsake;
            let shim = self.inner.config.shim.clone();
            let process = OsProcess::new(shim, found.errand, found.shimmed, self.boot(), address);
            Adopted { module, instance, resource, execution, keepsake: words, process }
        };
        Ok(found.into_iter().map(adopted).collect())
    }
}

/// Since boot.
pub(crate) fn monotonic() -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Monotonic);
    Duration::new(u64::try_from(tv_sec).unwrap_or(0), u32::try_from(tv_nsec).unwrap_or(0))
}

/// A number that nobody can guess and that no other start of a program gets: for an agent's incarnation.
///
/// # Errors
/// When the kernel gives none.
pub fn draw() -> io::Result<u64> {
    let mut bytes = [0; 8];
    let length = getrandom(&mut bytes, GetRandomFlags::empty())?;
    if length < bytes.len() {
        return Err(io::Error::other("the kernel gave too little randomness"));
    }
    Ok(u64::from_ne_bytes(bytes))
}

/// `${PORT}` in arguments becomes the port.
pub(crate) fn with_port(command: &[String], port: u16) -> Vec<String> {
    command.iter().map(|word| word.replace("${PORT}", &port.to_string())).collect()
}

fn failed<E: Into<Box<dyn std::error::Error + Send + Sync>>>(
    what: &str,
) -> impl FnOnce(E) -> StartError {
    let what = what.to_owned();
    move |source| StartError::Failed { what, source: source.into() }
}
