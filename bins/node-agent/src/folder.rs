//! The engine's folder: what lies where in it, and that it has one engine.
//!
//! ```text
//! store/        what the machine was declared
//! book/         what failed here, and what that restricts
//! builds/       installed builds
//! data/         what instances keep, MODULE/INSTANCE
//! output/       what programs wrote, MODULE/INSTANCE/RESOURCE.log
//! shims/        what runs: a folder for each process
//! set-aside/    what was found damaged
//! freed.jsonl   what was freed here by hand
//! agent.sock    where the engine is asked how everything stands
//! route.sock    where the router is told what becomes of connections
//! ```

use std::{
    fs::{self, DirBuilder, File, TryLockError},
    io,
    os::unix::fs::{DirBuilderExt, MetadataExt},
    path::{Path, PathBuf},
    time::Duration,
};

use terminal::failure::{Failure, FailureKind};

use crate::{command_line::Everywhere, config::Config};

/// How often a folder that another engine holds is tried again. One that was asked to end is gone by then.
const LOCK_TRIES: u32 = 50;
const LOCK_PAUSE: Duration = Duration::from_millis(100);

/// The name of the socket in the folder.
pub(crate) const SOCKET: &str = "agent.sock";

/// An engine's folder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

impl Folder {
    /// The folder that a command means: the one it names, or that of the config.
    pub(crate) fn find(everywhere: &Everywhere) -> Result<Self, Failure> {
        match &everywhere.dir {
            Some(dir) => Ok(Self(dir.clone())),
            None => match Config::load(everywhere.config.as_deref()) {
                Ok((config, _)) => Ok(Self(config.dir)),
                Err(failure) => Err(failure.hint("or name the engine's folder: --dir PATH")),
            },
        }
    }

    /// The folder at this path, made if it is not there. Programs of other users find their builds in it, and cannot see
    /// what else there is.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let failure = |error| {
            let what = format!("the folder {} cannot be made ready", path.display());
            Failure::because(what, &error)
        };
        if !path.is_dir() {
            DirBuilder::new().recursive(true).mode(0o711).create(path).map_err(failure)?;
        }
        Ok(Self(fs::canonicalize(path).map_err(failure)?))
    }

    /// The folder at this path, whatever is there.
    pub(crate) fn at(path: &Path) -> Self {
        Self(path.to_owned())
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    pub(crate) fn book(&self) -> PathBuf {
        self.0.join("book")
    }

    pub(crate) fn freed(&self) -> PathBuf {
        self.0.join("freed.jsonl")
    }

    pub(crate) fn output(&self) -> PathBuf {
        self.0.join("output")
    }

    pub(crate) fn set_aside(&self) -> PathBuf {
        self.0.join("set-aside")
    }

    /// The socket of the router, which keeps this machine's listeners.
    pub(crate) fn router(&self) -> PathBuf {
        self.0.join("route.sock")
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.0.join(SOCKET)
    }

    /// Takes the folder for this process alone, until the lock is dropped or the process ends, however it ends.
    ///
    /// The folder itself is locked and not a file in it: no file that is removed or damaged lets a second engine in, and it
    /// works where nothing can be written.
    pub(crate) async fn lock(&self) -> Result<FolderLock, Failure> {
        let failure = |error: io::Error| {
            Failure::because(format!("the folder {} cannot be locked", self.0.display()), &error)
        };
        let folder = File::open(&self.0).map_err(failure)?;
        for _ in 0..LOCK_TRIES {
            match folder.try_lock() {
                Ok(()) => return Ok(FolderLock { _folder: folder }),
                Err(TryLockError::Error(error)) => return Err(failure(error)),
                Err(TryLockError::WouldBlock) => tokio::time::sleep(LOCK_PAUSE).await,
            }
        }
        let holder = self.holder().map_or_else(String::new, |pid| format!(" (process {pid})"));
        let what = format!("another engine{holder} runs on {}", self.0.display());
        Err(Failure::new(FailureKind::Refused, what)
            .hint(format!("ask it: node-agent status --dir {}", self.0.display())))
    }

    /// The process that holds the folder, as the kernel says it; none when nobody does, or it is not told.
    pub(crate) fn holder(&self) -> Option<u32> {
        let folder = fs::metadata(&self.0).ok()?;
        holder(&fs::read_to_string("/proc/locks").ok()?, folder.dev(), folder.ino())
    }

    /// Whether an engine holds the folder now. It is looked at without taking it, except for a moment.
    pub(crate) fn is_held(&self) -> io::Result<Held> {
        match File::open(&self.0)?.try_lock_shared() {
            Ok(()) => Ok(Held::ByNobody),
            Err(TryLockError::WouldBlock) => Ok(Held::By(self.holder())),
            Err(TryLockError::Error(error)) => Err(error),
        }
    }
}

/// Whether an engine holds a folder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Held {
    ByNobody,
    /// Which process it is, where the kernel tells.
    By(Option<u32>),
}

/// The proof that no other engine runs on a folder.
#[derive(Debug)]
pub(crate) struct FolderLock {
    /// The lock is held while it is open.
    _folder: File,
}

/// Who holds a whole file or folder, in the text of `/proc/locks`.
fn holder(locks: &str, device: u64, inode: u64) -> Option<u32> {
    let (major, minor) = (rustix::fs::major(device), rustix::fs::minor(device));
    let place = format!("{major:02x}:{minor:02x}:{inode}");
    locks.lines().find_map(|line| {
        let fields: Vec<&str> = line.split_ascii_whitespace().collect();
        let [_, "FLOCK", _, "WRITE", pid, at, ..] = fields[..] else { return None };
        (at == place).then(|| pid.parse().ok())?
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_folder_has_one_engine() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(&dir.path().join("a/b")).unwrap();
        assert_eq!(folder.is_held().unwrap(), Held::ByNobody);
        let lock = folder.lock().await.unwrap();
        assert_eq!(folder.is_held().unwrap(), Held::By(Some(std::process::id())));
        tokio::time::pause();
        let refused = folder.lock().await.unwrap_err();
        assert_eq!(refused.kind, FailureKind::Refused);
        let process = format!("another engine (process {})", std::process::id());
        assert!(refused.message.starts_with(&process), "{refused:?}");
        drop(lock);
        assert!(folder.lock().await.is_ok());
    }

    #[test]
    fn the_holder_is_found_by_the_place_of_the_folder() {
        let locks = "\
1: POSIX  ADVISORY  WRITE 10 fd:01:77 0 EOF
2: FLOCK  ADVISORY  READ  11 fd:01:77 0 EOF
2: -> FLOCK  ADVISORY  WRITE 12 fd:01:77 0 EOF
3: FLOCK  ADVISORY  WRITE 13 fd:01:78 0 EOF
4: FLOCK  ADVISORY  WRITE 14 fd:01:77 0 EOF
broken
";
        let device = rustix::fs::makedev(0xfd, 1);
        assert_eq!(holder(locks, device, 77), Some(14));
        assert_eq!(holder(locks, device, 78), Some(13));
        assert_eq!(holder(locks, device, 79), None);
    }
}
