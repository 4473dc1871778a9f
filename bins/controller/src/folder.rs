//! A controller's folder: what lies where in it, and how a command finds the one that is meant.

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, ErrorKind, Read, Seek, Write},
    os::unix::fs::{DirBuilderExt, OpenOptionsExt},
    path::{Path, PathBuf},
};

use names::MachineName;

use crate::{
    failure::{Failure, FailureKind},
    surroundings::Surroundings,
};

/// A controller's folder, by its absolute path.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Folder(PathBuf);

/// The name of the socket in a controller's folder.
pub(crate) const SOCKET: &str = "controller.sock";

impl Folder {
    /// The folder at this path, made if it is not there, for its owner alone.
    pub(crate) fn create(path: &Path) -> Result<Self, Failure> {
        let failure = |error| Failure::because(format!("no folder at {}", path.display()), &error);
        DirBuilder::new().recursive(true).mode(0o700).create(path).map_err(failure)?;
        let folder = Self(fs::canonicalize(path).map_err(failure)?);
        for part in [folder.artifacts(), folder.machines()] {
            DirBuilder::new().recursive(true).mode(0o700).create(&part).map_err(failure)?;
        }
        Ok(folder)
    }

    /// The folder that a command means: the one it names, or that of the controller started last.
    pub(crate) fn find(named: Option<&Path>, surroundings: &Surroundings) -> Result<Self, Failure> {
        if let Some(path) = named.filter(|path| !path.as_os_str().is_empty()) {
            return fs::canonicalize(path).map(Self).map_err(|error| {
                let what = format!("no controller's folder at {}", path.display());
                Failure { kind: FailureKind::Unreachable, ..Failure::because(what, &error) }
                    .hint("start a controller there: controller dev --dir PATH")
            });
        }
        let unknown = || {
            Failure::new(FailureKind::Unreachable, "no controller is running that could be asked")
                .hint("start one: controller dev")
                .hint("or name the folder of one: --dir PATH, or the variable BELLWETHER_DIR")
        };
        let pointer = LastStarted::at(surroundings).ok_or_else(unknown)?;
        pointer.read().map(Self).ok_or_else(unknown)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }

    /// Where the controller's documents are.
    pub(crate) fn store(&self) -> PathBuf {
        self.0.join("store")
    }

    /// Whether the store is where it must be. Machines that were declared something are no matter for an empty one.
    pub(crate) fn has_its_store(&self) -> Result<(), Failure> {
        let machines =
            fs::read_dir(self.machines()).is_ok_and(|mut machines| machines.next().is_some());
        if !machines || self.store().join("schema").exists() {
            return Ok(());
        }
        let (schema, machines) = (self.store().join("schema"), self.machines());
        let what = format!(
            "{} is missing, and there are machines in {} that a store knows",
            schema.display(),
            machines.display()
        );
        Err(Failure::failed(what)
            .hint("restore a backup of the store")
            .hint("or begin anew in another folder: controller dev --dir PATH"))
    }

    /// The socket over which a fleet on this box talks.
    pub(crate) fn bus(&self) -> PathBuf {
        self.0.join("bus.sock")
    }

    /// Where artifacts are, each in a file that has its digest for a name.
    pub(crate) fn artifacts(&self) -> PathBuf {
        self.0.join("artifacts")
    }

    /// Where the secret keys of the controller, and of a fleet that is tried out, are.
    pub(crate) fn keys(&self) -> PathBuf {
        keys_in(&self.0)
    }

    /// Where the machines of a fleet on this box have their folders.
    pub(crate) fn machines(&self) -> PathBuf {
        self.0.join("machines")
    }

    /// The folder of one machine of a fleet on this box.
    pub(crate) fn machine(&self, machine: &MachineName) -> PathBuf {
        self.machines().join(machine.as_str())
    }

    /// What the agent of one machine of a fleet on this box is configured with.
    pub(crate) fn agent_config(&self, machine: &MachineName) -> PathBuf {
        self.machine(machine).join("agent.toml")
    }

    /// What the agent of one machine of a fleet on this box tells.
    pub(crate) fn agent_log(&self, machine: &MachineName) -> PathBuf {
        self.machine(machine).join("agent.log")
    }

    /// A link to the program that runs the fleet, so that a kept fleet finds it wherever the next start has it.
    pub(crate) fn image(&self) -> PathBuf {
        self.0.join("image")
    }

    /// Takes the folder for this process alone, until the lock is dropped or the process ends, however it ends.
    pub(crate) fn lock(&self) -> Result<FolderLock, Failure> {
        let path = self.0.join("lock");
        let failure = |error: io::Error| {
            Failure::because(format!("the lock {} cannot be taken", path.display()), &error)
        };
        let mut options = OpenOptions::new();
        options.read(true).write(true).create(true).truncate(false).mode(0o600);
        let mut file = options.open(&path).map_err(failure)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::Error(error)) => return Err(failure(error)),
            Err(TryLockError::WouldBlock) => return Err(self.taken(file)),
        }
        // Only for people: who holds the lock is said by the lock itself.
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(failure)?;
        Ok(FolderLock { _file: file })
    }

    fn taken(&self, mut file: File) -> Failure {
        let mut holder = String::new();
        // A holder that has not written its number yet is a holder all the same.
        let process = match file.read_to_string(&mut holder) {
            Ok(_) if !holder.trim().is_empty() => format!(" (process {})", holder.trim()),
            Ok(_) | Err(_) => String::new(),
        };
        let folder = self.0.display();
        let what = format!("another controller{process} runs on {folder}, and one store has one");
        Failure::new(FailureKind::Refused, what)
            .hint(format!("talk to it: controller machines --dir {folder}"))
            .hint("or start a fleet of its own in another folder: controller dev --dir PATH")
    }
}

/// Where keys are in a controller's folder, which may not be there yet.
pub(crate) fn keys_in(dir: &Path) -> PathBuf {
    dir.join("keys")
}

/// The proof that no other controller runs on a folder.
#[derive(Debug)]
pub(crate) struct FolderLock {
    /// The lock is held while the file is open.
    _file: File,
}

/// The file that says where the controller runs that this user started last.
#[derive(Debug, Clone)]
pub(crate) struct LastStarted(PathBuf);

impl LastStarted {
    /// Its place; none for a user without a home.
    pub(crate) fn at(surroundings: &Surroundings) -> Option<Self> {
        let folder = surroundings.state_folder.as_ref()?;
        Some(Self(folder.join("bellwether/last-dev")))
    }

    /// Says that it is this one.
    pub(crate) fn write(&self, folder: &Folder) -> io::Result<()> {
        if let Some(parent) = self.0.parent() {
            DirBuilder::new().recursive(true).mode(0o700).create(parent)?;
        }
        let new = self.0.with_extension(std::process::id().to_string());
        fs::write(&new, folder.0.as_os_str().as_encoded_bytes())?;
        fs::rename(&new, &self.0)
    }

    /// Says that it is none, if it was this one.
    pub(crate) fn clear(&self, folder: &Folder) -> io::Result<()> {
        match self.read() {
            Some(path) if path == folder.0 => match fs::remove_file(&self.0) {
                Err(error) if error.kind() != ErrorKind::NotFound => Err(error),
                Err(_) | Ok(()) => Ok(()),
            },
            Some(_) | None => Ok(()),
        }
    }

    fn read(&self) -> Option<PathBuf> {
        use std::os::unix::ffi::OsStringExt;
        let bytes = fs::read(&self.0).ok()?;
        let path = PathBuf::from(std::ffi::OsString::from_vec(bytes));
        path.is_absolute().then_some(path)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Terminal;

    fn surroundings(state_folder: Option<&Path>) -> Surroundings {
        let terminal = Terminal { stdin: false, stdout: false, stderr: false };
        Surroundings { state_folder: state_folder.map(Path::to_owned), no_colour: true, terminal }
    }

    #[test]
    fn a_folder_has_one_controller() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(&dir.path().join("a/b")).unwrap();
        let lock = folder.lock().unwrap();
        let refused = folder.lock().unwrap_err();
        assert_eq!(refused.kind, FailureKind::Refused);
        assert!(
            refused.message.contains(&format!("(process {})", std::process::id())),
            "{refused:?}"
        );
        drop(lock);
        assert!(folder.lock().is_ok());
    }

    #[test]
    fn the_one_started_last_is_found_until_it_says_it_is_gone() {
        let state = tempfile::tempdir().unwrap();
        let surroundings = surroundings(Some(state.path()));
        let none = Folder::find(None, &surroundings).unwrap_err();
        assert_eq!(none.kind, FailureKind::Unreachable);

        let dir = tempfile::tempdir().unwrap();
        let (first, second) = (dir.path().join("first"), dir.path().join("second"));
        let (first, second) = (Folder::create(&first).unwrap(), Folder::create(&second).unwrap());
        let pointer = LastStarted::at(&surroundings).unwrap();
        pointer.write(&first).unwrap();
        pointer.write(&second).unwrap();
        pointer.clear(&first).unwrap();
        assert_eq!(Folder::find(None, &surroundings), Ok(second.clone()));
        assert_eq!(Folder::find(Some(first.path()), &surroundings), Ok(first));
        pointer.clear(&second).unwrap();
        assert!(Folder::find(None, &surroundings).is_err());
    }

    #[test]
    fn a_store_that_is_gone_is_not_taken_for_one_that_is_new() {
        let dir = tempfile::tempdir().unwrap();
        let folder = Folder::create(dir.path()).unwrap();
        assert_eq!(folder.has_its_store(), Ok(()), "no machine was ever there");
        fs::create_dir(folder.machine(&"box-1".parse().unwrap())).unwrap();
        let refused = folder.has_its_store().unwrap_err();
        assert!(refused.message.contains("store/schema is missing"), "{refused:?}");
        assert!(refused.hints[0].contains("restore a backup"), "{refused:?}");
        fs::create_dir(folder.store()).unwrap();
        fs::write(folder.store().join("schema"), "whatever it says").unwrap();
        assert_eq!(folder.has_its_store(), Ok(()));
    }

    #[test]
    fn a_folder_that_is_not_there_is_no_controller() {
        let dir = tempfile::tempdir().unwrap();
        let missing = dir.path().join("missing");
        let failure = Folder::find(Some(&missing), &surroundings(None)).unwrap_err();
        assert_eq!(failure.kind, FailureKind::Unreachable);
        assert!(failure.message.contains("missing"), "{failure:?}");
    }
}
