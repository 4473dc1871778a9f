//! What is wrong with the machine itself: its disk, and files of ours that were found damaged.

use std::fs::{self, File, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::task::spawn_blocking;
use wire::{Trouble, TroubleKind};

use crate::aside;
use crate::disk::{Disk, Fault, Room};
use crate::host::monotonic;

/// How often a disk that seems well is written to. A probe ends in an fsync, which makes the disk write its journal: some 20
/// KiB and up to 50 ms of a slow disk, so twice a minute and not with each statement. What `statvfs` knows is free.
const PROBED_EVERY: Duration = Duration::from_secs(30);

/// The file of the probe.
const PROBE: &str = ".probe";

/// How long a look may take. A disk that hangs must not keep whoever asks from saying so.
const ANSWER_MAX: Duration = Duration::from_secs(3);

/// How many damaged files are named; of the others only how many there are.
const NAMED_MAX: usize = 10;

/// Looks at the disk of one folder, again and again.
#[derive(Debug)]
pub(crate) struct Watch {
    root: PathBuf,
    patience: Duration,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// Since when a look is under way.
    looking: Option<Duration>,
    last: Last,
}

/// What the last look found.
#[derive(Debug, Clone, Default)]
struct Last {
    troubles: Vec<Trouble>,
    /// When a probe last went well.
    probed: Option<Duration>,
}

impl Watch {
    pub(crate) fn new(root: PathBuf) -> Self {
        Self { root, patience: ANSWER_MAX, state: Arc::default() }
    }

    pub(crate) async fn troubles(&self) -> Vec<Trouble> {
        let root = self.root.clone();
        self.ask(monotonic(), move |last, now| look(&root, last, now)).await
    }

    /// Has a look taken, one at a time: a disk that hangs holds one thread and not more with every question.
    async fn ask(
        &self,
        now: Duration,
        look: impl FnOnce(&Last, Duration) -> Last + Send + 'static,
    ) -> Vec<Trouble> {
        let last = {
            let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
            match state.looking {
                Some(since) if now.saturating_sub(since) < self.patience => {
                    return state.last.troubles.clone();
                }
                Some(since) => return vec![self.silent(now.saturating_sub(since))],
                None => state.looking = Some(now),
            }
            state.last.clone()
        };
        let state = Arc::clone(&self.state);
        let looked = spawn_blocking(move || {
            let found = look(&last, now);
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            *state = State { looking: None, last: found.clone() };
            found.troubles
        });
        match tokio::time::timeout(self.patience, looked).await {
            Ok(Ok(troubles)) => troubles,
            Ok(Err(_)) | Err(_) => vec![self.silent(self.patience)],
        }
    }

    fn silent(&self, span: Duration) -> Trouble {
        let why = format!(
            "the disk of {} has not answered for {} s: look at the kernel's messages for it",
            self.root.display(),
            span.as_secs()
        );
        Trouble { kind: TroubleKind::DiskFails, why }
    }
}

fn look(root: &Path, last: &Last, now: Duration) -> Last {
    let (mut troubles, probed) = match look_at_disk(root) {
        Some(trouble) => (vec![trouble], None),
        None => match last.probed {
            Some(at) if now.saturating_sub(at) < PROBED_EVERY => (Vec::new(), Some(at)),
            Some(_) | None => match probe(root) {
                Ok(()) => (Vec::new(), Some(now)),
                Err(error) => (vec![failed(root, &error)], None),
            },
        },
    };
    troubles.extend(damaged(&aside::all(root)));
    Last { troubles, probed }
}

/// What can be known without writing.
fn look_at_disk(root: &Path) -> Option<Trouble> {
    let disk = match Disk::of(root) {
        Ok(disk) => disk,
        Err(error) => return Some(failed(root, &error)),
    };
    let at = root.display();
    let (kind, why) = match disk.takes(Room::default()) {
        Ok(()) => return None,
        Err(Fault::ReadOnly | Fault::Other) => {
            let why = format!("the disk of {at} is mounted read-only: mount it for writing");
            (TroubleKind::DiskReadOnly, why)
        }
        Err(Fault::Full) => {
            let Disk { free, reserve, .. } = disk;
            let what = if free.bytes < reserve.bytes {
                let mib = |bytes: u64| bytes / (1024 * 1024);
                format!("{} MiB free, and {} MiB", mib(free.bytes), mib(reserve.bytes))
            } else {
                format!("{} files free, and {}", free.inodes, reserve.inodes)
            };
            let why = format!("the disk of {at} has {what} are kept in reserve: make room there");
            (TroubleKind::DiskFull, why)
        }
    };
    Some(Trouble { kind, why })
}

/// Writes a little, brings it onto the disk, and takes it away.
fn probe(root: &Path) -> io::Result<()> {
    let path = root.join(PROBE);
    let create = || OpenOptions::new().write(true).create_new(true).open(&path);
    let mut file: File = match create() {
        // One that was interrupted, or whatever somebody put there.
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            fs::remove_file(&path).or_else(|_| fs::remove_dir_all(&path))?;
            create()?
        }
        file => file?,
    };
    file.write_all(b"bellwether looks whether this disk can be written\n")?;
    file.sync_all()?;
    fs::remove_file(&path)
}

fn failed(root: &Path, error: &io::Error) -> Trouble {
    let at = root.display();
    let (kind, why) = match Fault::of(error) {
        Fault::Full => (
            TroubleKind::DiskFull,
            format!("the disk of {at} takes no more: make room there, or raise the quota"),
        ),
        Fault::ReadOnly => (
            TroubleKind::DiskReadOnly,
            format!("the disk of {at} takes no writes: mount it for writing"),
        ),
        Fault::Other => (
            TroubleKind::DiskFails,
            format!("the disk of {at} fails: {error}; look at the kernel's messages for it"),
        ),
    };
    Trouble { kind, why }
}

fn damaged(files: &[PathBuf]) -> Vec<Trouble> {
    let trouble = |why| Trouble { kind: TroubleKind::FileDamaged, why };
    let named = files.iter().take(NAMED_MAX).map(|file| {
        let file = file.display();
        trouble(format!("{file} was damaged and is set aside: look at it, then remove it"))
    });
    let others = files.len().saturating_sub(NAMED_MAX);
    let others = (others > 0)
        .then(|| trouble(format!("{others} more damaged files are set aside with these")));
    named.chain(others).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc;

    fn kinds(troubles: &[Trouble]) -> Vec<TroubleKind> {
        troubles.iter().map(|trouble| trouble.kind).collect()
    }

    fn seconds(seconds: u64) -> Duration {
        Duration::from_secs(seconds)
    }

    #[test]
    fn a_disk_that_is_well_is_probed_twice_a_minute() {
        let root = tempfile::tempdir().unwrap();
        // A probe replaces whatever has its name, so whether one was made can be seen.
        let marked = root.path().join(PROBE);
        let mut last = Last::default();
        for (now, is_probed) in [(100, true), (105, false), (129, false), (130, true), (135, false)]
        {
            fs::create_dir_all(marked.join("within")).unwrap();
            last = look(root.path(), &last, seconds(now));
            assert_eq!(last.troubles, []);
            assert_eq!(!marked.exists(), is_probed, "at {now}");
        }
    }

    #[test]
    fn a_disk_that_failed_is_probed_at_once() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("root");
        let last =
            look(&root, &Last { probed: Some(seconds(100)), ..Last::default() }, seconds(101));
        assert_eq!(kinds(&last.troubles), [TroubleKind::DiskFails]);
        assert!(last.troubles[0].why.contains("No such file"), "{}", last.troubles[0].why);
        fs::create_dir(&root).unwrap();
        let last = look(&root, &last, seconds(102));
        assert_eq!((last.troubles, last.probed), (Vec::new(), Some(seconds(102))));
    }

    #[test]
    fn damaged_files_are_named_and_bounded() {
        let files: Vec<PathBuf> =
            (10..33).map(|nth| format!("/x/set-aside/{nth}").into()).collect();
        let found = damaged(&files);
        assert_eq!(found.len(), NAMED_MAX + 1);
        assert!(found.iter().all(|one| one.kind == TroubleKind::FileDamaged));
        assert!(found[0].why.starts_with("/x/set-aside/10 was damaged"), "{}", found[0].why);
        assert!(found[NAMED_MAX].why.starts_with("13 more"), "{}", found[NAMED_MAX].why);
        assert_eq!(damaged(&files[..NAMED_MAX]).len(), NAMED_MAX);
    }

    #[tokio::test]
    async fn a_disk_that_hangs_is_said_to_and_holds_one_thread() {
        let watch = Watch { patience: Duration::from_millis(50), ..Watch::new("/disk".into()) };
        let (free, hangs) = mpsc::channel::<()>();
        let hang = move |_: &Last, _: Duration| {
            let _ = hangs.recv();
            Last::default()
        };
        let never = |_: &Last, _: Duration| unreachable!("one look is under way");
        let found = watch.ask(seconds(100), hang).await;
        assert_eq!(kinds(&found), [TroubleKind::DiskFails]);
        let found = watch.ask(seconds(109), never).await;
        assert!(found[0].why.contains("has not answered for 9 s"), "{}", found[0].why);
        free.send(()).unwrap();
        while watch.state.lock().unwrap().looking.is_some() {
            tokio::task::yield_now().await;
        }
        // Where time is short, an answer may be late as well.
        let watch = Watch { patience: seconds(30), ..watch };
        let well = |_: &Last, _: Duration| Last::default();
        assert_eq!(watch.ask(seconds(110), well).await, []);
    }
}
