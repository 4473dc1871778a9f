//! A control group for one workload, where this process may make one: its limits, and a kill that nothing escapes.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use inventory::Limits;

/// How often a group that is being emptied is tried to be removed.
const REMOVE_TRIES: u32 = 50;

/// A control group (v2) of the workload alone.
#[derive(Debug)]
pub(super) struct Group {
    path: PathBuf,
    /// Where this process was, and goes back to.
    home: PathBuf,
}

/// What the engine's own group is called where it was delegated one with room beside it: a group with controllers for its
/// children has no processes itself, so the engine and its shims sit in this leaf, and workloads in others.
const LEAF: &str = "engine";

impl Group {
    /// Makes a group beside this process's own if that is the leaf of a delegated one, and otherwise below it. `None` where
    /// there is no control group of version 2, or none may be made.
    pub(super) fn make(name: &str) -> Option<Self> {
        let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
        let own = fs::read_to_string("/proc/self/cgroup").ok()?;
        let home = home(&mounts, &own)?;
        if let Some(delegated) = delegated(&home) {
            for controller in ["+memory", "+pids"] {
                // Without one its limits are not kept, which is said where they are set.
                let _ = fs::write(delegated.join("cgroup.subtree_control"), controller);
            }
            let path = delegated.join(name);
            if fs::create_dir(&path).is_ok() {
                return Some(Self { path, home });
            }
        }
        let path = home.join(name);
        fs::create_dir(&path).ok()?;
        Some(Self { path, home })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// Starts something inside. This process is in the group only meanwhile, so that killing the group spares it.
    pub(super) fn within<T>(&self, start: impl FnOnce() -> T) -> T {
        let me = std::process::id().to_string();
        let entered = fs::write(self.path.join("cgroup.procs"), &me);
        let done = start();
        if entered.is_ok() {
            // It came from there a moment ago. Should it not get back, a kill of the group would take it along: the
            // engine copes with a shim that is killed.
            let _ = fs::write(self.home.join("cgroup.procs"), &me);
        }
        done
    }

    /// Kills everything in it, at once and for good.
    pub(super) fn kill(&self) {
        kill(&self.path);
    }

    fn limit(&self, file: &str, limit: u64) -> io::Result<()> {
        // Without its controller the file is not there, and is not made either.
        fs::OpenOptions::new().write(true).open(self.path.join(file))?;
        fs::write(self.path.join(file), limit.to_string())
    }
}

/// Sets the limits on memory and tasks, and says in words which of them could not be.
pub(super) fn limit(group: Option<&Group>, limits: Limits) -> Vec<String> {
    let wanted = [("memory", "memory.max", limits.memory), ("tasks", "pids.max", limits.tasks)];
    let failed = |(what, file, limit): (&str, &str, Option<u64>)| {
        let limit = limit?;
        match group.map(|group| group.limit(file, limit)) {
            Some(Ok(())) => None,
            Some(Err(error)) => {
                Some(format!("its limit on {what} ({limit}) is not kept here: no {file}, {error}"))
            }
            None => Some(format!(
                "its limit on {what} ({limit}) is not kept here: there is no control group of its own"
            )),
        }
    };
    wanted.into_iter().filter_map(failed).collect()
}

/// Kills everything in the group at this path.
pub(crate) fn kill(path: &Path) {
    // Where there is none any more, nothing is in it.
    let _ = fs::write(path.join("cgroup.kill"), "1");
}

/// Removes the group at this path, if everything in it is gone.
pub(crate) fn remove(path: &Path) {
    for _ in 0..REMOVE_TRIES {
        match fs::remove_dir(path) {
            // The last of it is gone for `wait` a moment before it is for the group.
            Err(error) if error.kind() == io::ErrorKind::ResourceBusy => {
                std::thread::sleep(std::time::Duration::from_millis(2));
            }
            Ok(()) | Err(_) => return,
        }
    }
}

/// The group that was delegated, of the leaf in it.
fn delegated(home: &Path) -> Option<&Path> {
    home.parent().filter(|_| home.file_name().is_some_and(|name| name == LEAF))
}

/// Where this process's own group of version 2 is.
fn home(mounts: &str, own: &str) -> Option<PathBuf> {
    let mount = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields.get(2) == Some(&"cgroup2")).then(|| fields.get(1).copied())?
    })?;
    let own = own.lines().find_map(|line| line.strip_prefix("0::/"))?;
    Some(Path::new(mount).join(own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_group_is_found() {
        let hybrid = "proc /proc proc rw 0 0\ncgroup2 /sys/fs/cgroup/unified cgroup2 rw 0 0\n";
        let unified = "cgroup2 /sys/fs/cgroup cgroup2 rw 0 0\n";
        for (mounts, own, expected) in [
            (hybrid, "9:pids:/x\n0::/\n", Some("/sys/fs/cgroup/unified")),
            (
                unified,
                "0::/system.slice/agent.service\n",
                Some("/sys/fs/cgroup/system.slice/agent.service"),
            ),
            ("proc /proc proc rw 0 0\n", "0::/\n", None),
            (unified, "9:pids:/x\n", None),
        ] {
            assert_eq!(home(mounts, own), expected.map(PathBuf::from), "{mounts}");
        }
    }

    #[test]
    fn workloads_stand_beside_a_leaf_and_below_any_other_group() {
        for (home, expected) in [
            ("/sys/fs/cgroup/system.slice/node-agent.service/engine", true),
            ("/sys/fs/cgroup/system.slice/node-agent.service", false),
            ("/sys/fs/cgroup/engine/x", false),
        ] {
            assert_eq!(delegated(Path::new(home)).is_some(), expected, "{home}");
        }
    }

    #[test]
    fn a_limit_that_cannot_be_kept_is_said() {
        let limits = Limits { memory: Some(1), tasks: None, files: Some(7) };
        let said = limit(None, limits);
        assert!(said.len() == 1 && said[0].starts_with("its limit on memory (1)"), "{said:?}");
        assert!(limit(None, Limits::default()).is_empty());
    }
}
