//! The folder of one shim: what an engine needs to find it again, whoever started it.
//!
//! | file | by | what |
//! |---|---|---|
//! | `keepsake` | engine | what the port's `adopt` tells, as JSON |
//! | `errand` | engine | the errand, for commands that check the workload in its place |
//! | `identity` | shim | which process it is, in which boot, and which one the workload is |
//! | `socket` | shim | where engines connect |
//! | `exit` | shim | how the workload ended |
//!
//! Each file is whole or not there, and is sealed, so that damage done to it later is seen. The first three are there twice
//! (`keepsake.copy`), and the socket has a second name: a file that was damaged stops nothing. Only `exit` is synced: the
//! others mean nothing after a power cut.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use host::Exit;
use names::{ExecutionId, InstanceName, ModuleName, ResourceName};
use serde::{Deserialize, Serialize};

use crate::proc::{self, Stat};
use crate::sealed;
use crate::shim::{Errand, Fact};

/// The socket's name in the folder. Both ends reach it by a path relative to the folder, since a path to a socket has at
/// most 107 bytes.
pub(crate) const SOCKET: &str = "socket";

const KEEPSAKE: &str = "keepsake";
const ERRAND: &str = "errand";
const IDENTITY: &str = "identity";
const EXIT: &str = "exit";

/// Follows the name of a copy.
const COPY: &str = "copy";

/// One process among all those of a boot.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Who {
    pub(crate) pid: u32,
    /// In clock ticks since boot.
    pub(crate) started: u64,
}

impl Who {
    /// Whether it is there, as itself and not as another with its number.
    pub(crate) fn is_alive(self) -> bool {
        let is_it = |one: &Stat| !one.is_zombie && one.started == self.started;
        proc::stat(self.pid).as_ref().is_some_and(is_it)
    }
}

/// Which process a shim is, and which one its workload is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Identity {
    pub(crate) shim: Who,
    pub(crate) boot: String,
    /// The workload's control group, if it has one.
    pub(crate) group: Option<PathBuf>,
    /// `None` until it was started.
    pub(crate) workload: Option<Who>,
}

impl Identity {
    pub(crate) fn write(&self, folder: &Path) -> io::Result<()> {
        let Self { shim, boot, group, workload } = self;
        let mut text = format!("shim {} {}\nboot {boot}\n", shim.pid, shim.started);
        if let Some(group) = group {
            text += &format!("group {}\n", group.display());
        }
        if let Some(Who { pid, started }) = workload {
            text += &format!("workload {pid} {started}\n");
        }
        place_twice(folder, IDENTITY, text.as_bytes())
    }

    /// `None` when there is none, or it is not what a shim writes.
    pub(crate) fn read(folder: &Path) -> Option<Self> {
        Self::parse(&String::from_utf8(whole(folder, IDENTITY)?).ok()?)
    }

    /// Whether there is something in its place that nobody can read.
    pub(crate) fn is_damaged(folder: &Path) -> bool {
        let is_there = |path: PathBuf| path.symlink_metadata().is_ok();
        both(folder, IDENTITY).into_iter().any(is_there) && Self::read(folder).is_none()
    }

    fn parse(text: &str) -> Option<Self> {
        let (mut shim, mut boot, mut group, mut workload) = (None, None, None, None);
        for line in text.lines() {
            let (key, value) = line.split_once(' ')?;
            let who = || {
                let (pid, started) = value.split_once(' ')?;
                Some(Who { pid: pid.parse().ok()?, started: started.parse().ok()? })
            };
            match key {
                "shim" => shim = Some(who()?),
                "workload" => workload = Some(who()?),
                "boot" => boot = Some(value.to_owned()),
                "group" => group = Some(value.into()),
                _ => {}
            }
        }
        Some(Self { shim: shim?, boot: boot?, group, workload })
    }
}

/// What an engine keeps of a workload for the next one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Keepsake {
    pub(crate) module: ModuleName,
    pub(crate) instance: InstanceName,
    pub(crate) resource: ResourceName,
    pub(crate) execution: ExecutionId,
    /// Where it was told to listen.
    pub(crate) address: std::net::SocketAddr,
    /// Whatever whoever started it wants to be told.
    pub(crate) words: String,
}

/// Where all shims of a host have their folders.
pub(crate) fn all(root: &Path) -> PathBuf {
    root.join("shims")
}

/// Makes the folder of a new shim. Its name is for people; `draw` makes it one that no other has.
pub(crate) fn make(
    root: &Path,
    keepsake: &Keepsake,
    errand: &[u8],
    draw: u64,
) -> io::Result<PathBuf> {
    // An execution's id may hold what no file's name may.
    let plain = |letter: char| letter.is_ascii_alphanumeric() || letter == '-';
    let execution: String =
        keepsake.execution.as_str().chars().filter(|one| plain(*one)).take(64).collect();
    let folder = all(root).join(format!("{execution}.{}.{draw:016x}", keepsake.resource));
    // The folder of all shims may have been removed under this engine's hands.
    fs::create_dir_all(all(root))?;
    DirBuilder::new().mode(0o700).create(&folder)?;
    let written = || {
        place_twice(&folder, KEEPSAKE, &serde_json::to_vec(keepsake)?)?;
        place_twice(&folder, ERRAND, errand)
    };
    written().inspect_err(|_| remove(&folder))?;
    Ok(folder)
}

/// What was kept there; `None` when it cannot be read.
pub(crate) fn kept(folder: &Path) -> Option<(Keepsake, Errand)> {
    let keepsake = serde_json::from_slice(&whole(folder, KEEPSAKE)?).ok()?;
    Some((keepsake, Errand::decode(&whole(folder, ERRAND)?)?))
}

/// Makes good from its copy each file that was damaged, and hands over what is damaged of it.
pub(crate) fn heal(folder: &Path, set_aside: impl Fn(&Path)) {
    for name in [KEEPSAKE, ERRAND, IDENTITY] {
        let Some(content) = whole(folder, name) else { continue };
        for path in both(folder, name) {
            // One that is not there was never written.
            if path.symlink_metadata().is_ok() && read(&path).is_none() {
                set_aside(&path);
                // What cannot be made good now is by the next engine, as long as its copy is whole.
                let _ = write(&path, &content, Sync::No);
            }
        }
    }
    let is_socket =
        |path: &Path| path.symlink_metadata().is_ok_and(|found| found.file_type().is_socket());
    let sockets = sockets(folder);
    let Some(good) = sockets.iter().find(|path| is_socket(path)) else { return };
    for path in sockets.iter().filter(|path| !is_socket(path)) {
        if path.symlink_metadata().is_ok() {
            set_aside(path);
        }
        let _ = fs::hard_link(good, path);
    }
}

/// The names under which a shim's socket can be reached.
pub(crate) fn sockets(folder: &Path) -> [PathBuf; 2] {
    both(folder, SOCKET)
}

/// Writes how the workload ended. It returns once that is on the disk.
pub(crate) fn write_exit(folder: &Path, exited: &Fact) -> io::Result<()> {
    write(&folder.join(EXIT), exited.to_string().as_bytes(), Sync::Yes)?;
    File::open(folder)?.sync_all()
}

/// How the workload ended and its last lines, if its shim wrote that.
pub(crate) fn exit(folder: &Path) -> Option<(Exit, Vec<String>)> {
    match String::from_utf8(read(&folder.join(EXIT))?).ok()?.parse() {
        Ok(Fact::Exited { exit, lines }) => Some((exit, lines)),
        Ok(_) | Err(_) => None,
    }
}

/// Removes a folder. What stays on a disk that takes no writes is removed by the next engine that can.
pub(crate) fn remove(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Sync {
    Yes,
    No,
}

fn both(folder: &Path, name: &str) -> [PathBuf; 2] {
    let path = folder.join(name);
    let copy = path.with_added_extension(COPY);
    [path, copy]
}

/// Puts a file and its copy in their places.
fn place_twice(folder: &Path, name: &str, content: &[u8]) -> io::Result<()> {
    let [path, copy] = both(folder, name);
    write(&path, content, Sync::No)?;
    // Without a copy nothing is lost yet.
    let _ = write(&copy, content, Sync::No);
    Ok(())
}

/// The content of a file that is there twice, as long as one of the two is whole.
fn whole(folder: &Path, name: &str) -> Option<Vec<u8>> {
    both(folder, name).iter().find_map(|path| read(path))
}

fn read(path: &Path) -> Option<Vec<u8>> {
    sealed::open(&fs::read(path).ok()?).map(<[u8]>::to_vec)
}

/// Puts a file in its place whole, and sealed.
fn write(path: &Path, content: &[u8], sync: Sync) -> io::Result<()> {
    let new = path.with_added_extension("new");
    // Environments and output can hold secrets.
    let mut options = OpenOptions::new();
    let mut file = options.write(true).create(true).truncate(true).mode(0o600).open(&new)?;
    file.write_all(&sealed::seal(content))?;
    if sync == Sync::Yes {
        file.sync_all()?;
    }
    fs::rename(&new, path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let young = Identity {
            shim: Who { pid: 7, started: 70 },
            boot: "a boot".to_owned(),
            group: None,
            workload: None,
        };
        let workload = Some(Who { pid: 8, started: 80 });
        let grown =
            Identity { group: Some("/sys/fs/cgroup/a b".into()), workload, ..young.clone() };
        for identity in [young, grown] {
            identity.write(folder.path()).unwrap();
            assert_eq!(Identity::read(folder.path()), Some(identity));
        }
        for text in ["", "shim 7 70", "boot x", "shim 7\nboot x", "shim x 1\nboot x", "nonsense"] {
            assert_eq!(Identity::parse(text), None, "{text}");
        }
    }

    #[test]
    fn an_exit_is_told_whole_or_not_at_all() {
        let folder = tempfile::tempdir().unwrap();
        assert_eq!(exit(folder.path()), None);
        let lines = vec!["one".to_owned(), "two".to_owned()];
        let exited = Fact::Exited { exit: Exit::Signal(9), lines: lines.clone() };
        write_exit(folder.path(), &exited).unwrap();
        assert_eq!(exit(folder.path()), Some((Exit::Signal(9), lines)));
        fs::write(folder.path().join(EXIT), "exited co").unwrap();
        assert_eq!(exit(folder.path()), None);
    }

    #[test]
    fn of_two_copies_one_may_be_damaged_and_is_made_good() {
        let folder = tempfile::tempdir().unwrap();
        let folder = folder.path();
        let [path, copy] = both(folder, KEEPSAKE);
        type Harm = fn(&Path);
        let harms: [Harm; 4] = [
            |path| fs::write(path, "").unwrap(),
            |path| {
                let whole = fs::read(path).unwrap();
                fs::write(path, &whole[..whole.len() / 2]).unwrap();
            },
            |path| fs::write(path, [0xa5; 300]).unwrap(),
            |path| {
                fs::remove_file(path).unwrap();
                fs::create_dir(path).unwrap();
            },
        ];
        for harm in harms {
            for harmed in [&path, &copy] {
                place_twice(folder, KEEPSAKE, b"content").unwrap();
                harm(harmed);
                assert_eq!(whole(folder, KEEPSAKE).as_deref(), Some(&b"content"[..]));
                heal(folder, |damaged| {
                    assert_eq!(damaged, harmed);
                    fs::rename(damaged, folder.join("aside")).unwrap();
                });
                assert_eq!(read(harmed).as_deref(), Some(&b"content"[..]));
                let aside = folder.join("aside");
                fs::remove_dir(&aside).or_else(|_| fs::remove_file(&aside)).unwrap();
            }
        }
        fs::remove_file(&copy).unwrap();
        heal(folder, |_| unreachable!("a copy that is not there is not damaged"));
        fs::write(&path, "").unwrap();
        assert_eq!(whole(folder, KEEPSAKE), None);
        heal(folder, |_| unreachable!("nothing is whole that it could be made good from"));
    }

    #[test]
    fn a_process_is_itself_and_no_other_with_its_number() {
        let me = proc::stat(std::process::id()).unwrap();
        assert!(Who { pid: me.pid, started: me.started }.is_alive());
        assert!(!Who { pid: me.pid, started: me.started + 1 }.is_alive());
    }
}
