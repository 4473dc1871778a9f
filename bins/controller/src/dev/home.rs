//! Where a fleet lives: a folder that is kept, or one that goes with it.

use std::{
    fs, io,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use names::MachineName;

use super::ending::remove;
use crate::{
    failure::{Failure, FailureKind},
    folder::{Folder, FolderLock, LastStarted, SOCKET},
    surroundings::Surroundings,
};

/// How many machines a fleet has when nobody says: one to go first, and some to be spared.
const MACHINES: u16 = 3;

/// A fleet's folder, held for this process. Dropped, a temporary one is removed.
#[derive(Debug)]
pub(crate) struct Home {
    pub(crate) folder: Folder,
    /// By the numbers in their names.
    pub(crate) machines: Vec<MachineName>,
    stay: Stay,
    last_started: Option<LastStarted>,
    _lock: FolderLock,
}

/// What becomes of the folder at the end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stay {
    Kept,
    Temporary,
}

impl Home {
    /// Makes the folder ready for so many machines, or for as many as it had.
    pub(crate) fn make(
        named: Option<&Path>,
        machines: Option<u16>,
        surroundings: &Surroundings,
    ) -> Result<Self, Failure> {
        let named = named.filter(|path| !path.as_os_str().is_empty());
        let (path, stay) = match named {
            Some(path) => (path.to_owned(), Stay::Kept),
            None => (temporary()?, Stay::Temporary),
        };
        let folder = Folder::create(&path)?;
        let lock = folder.lock()?;
        let machines = machines_of(&folder, machines)?;
        let home = Self {
            folder,
            machines,
            stay,
            last_started: LastStarted::at(surroundings),
            _lock: lock,
        };
        home.furnish()?;
        Ok(home)
    }

    /// What must be there before anything starts.
    fn furnish(&self) -> Result<(), Failure> {
        let folder = &self.folder;
        let furnish = || -> io::Result<()> {
            let image = std::env::current_exe()?;
            let new = folder.image().with_extension("new");
            remove(&new)?;
            symlink(image, &new)?;
            fs::rename(new, folder.image())
        };
        furnish().map_err(|error| {
            let what = format!("the folder {} cannot be made ready", folder.path().display());
            Failure::because(what, &error)
        })
    }

    /// From now on commands that name no folder mean this one. That fails where there is no home to write it to; then
    /// they must name it.
    pub(crate) fn is_last_started(&self) -> io::Result<()> {
        self.last_started.as_ref().map_or(Ok(()), |last| last.write(&self.folder))
    }

    /// What must not stay when the program ends at once.
    pub(crate) fn remains(&self) -> Vec<PathBuf> {
        match self.stay {
            Stay::Kept => vec![self.folder.path().join(SOCKET)],
            Stay::Temporary => vec![self.folder.path().to_owned()],
        }
    }

    pub(crate) fn is_kept(&self) -> bool {
        self.stay == Stay::Kept
    }
}

impl Drop for Home {
    fn drop(&mut self) {
        if self.stay == Stay::Temporary {
            // Nobody is left who could do more about it than the system's own sweeping of temporary files does.
            let _ = remove(self.folder.path());
            let _ = self.last_started.as_ref().map(|last| last.clear(&self.folder));
        }
    }
}

fn temporary() -> Result<PathBuf, Failure> {
    let made = tempfile::Builder::new().prefix("bellwether-dev-").tempdir();
    made.map(tempfile::TempDir::keep)
        .map_err(|error| Failure::because("no temporary folder can be made", &error))
}

/// The machines of the fleet. How many they are is kept before the first is made, so that no crash leaves fewer.
fn machines_of(folder: &Folder, asked: Option<u16>) -> Result<Vec<MachineName>, Failure> {
    let path = folder.path().join("fleet");
    let failure = |error: &io::Error| {
        Failure::because(format!("{} does not say how large the fleet is", path.display()), error)
    };
    let kept = match fs::read_to_string(&path) {
        Ok(text) => {
            let number = text.trim().parse::<u16>();
            Some(number.map_err(|error| failure(&io::Error::other(error)))?)
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(failure(&error)),
    };
    let number = match (asked, kept) {
        (Some(asked), Some(kept)) if asked < kept => {
            let what = format!("the fleet in {} has {kept} machines", folder.path().display());
            return Err(Failure::new(FailureKind::Usage, what).hint(
                "a fleet can grow, not shrink; leave --machines out, or take another folder",
            ));
        }
        (Some(asked), _) => asked,
        (None, Some(kept)) => kept,
        (None, None) => MACHINES,
    };
    if kept != Some(number) {
        let new = path.with_extension("new");
        fs::write(&new, format!("{number}\n"))
            .and_then(|()| fs::rename(&new, &path))
            .map_err(|error| failure(&error))?;
    }
    let names = (1..=number).map(|number| MachineName::new(format!("box-{number}")));
    names
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::because("a machine has no name", &error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::surroundings::Terminal;

    fn nowhere() -> Surroundings {
        let terminal = Terminal { stdin: false, stdout: false, stderr: false };
        Surroundings { state_folder: None, no_colour: true, terminal }
    }

    #[test]
    fn a_temporary_home_goes_and_a_kept_one_stays() {
        let home = Home::make(None, None, &nowhere()).unwrap();
        let path = home.folder.path().to_owned();
        assert!(path.is_dir() && home.folder.image().exists());
        assert_eq!(home.machines.len(), 3);
        drop(home);
        assert!(!path.exists());

        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("fleet");
        drop(Home::make(Some(&path), Some(2), &nowhere()).unwrap());
        assert!(path.is_dir());
    }

    #[test]
    fn a_fleet_remembers_its_size_and_only_grows() {
        let dir = tempfile::tempdir().unwrap();
        let size =
            |asked| Home::make(Some(dir.path()), asked, &nowhere()).map(|home| home.machines.len());
        assert_eq!(size(Some(2)), Ok(2));
        assert_eq!(size(None), Ok(2));
        assert_eq!(size(Some(4)), Ok(4));
        assert_eq!(size(None), Ok(4));
        assert_eq!(size(Some(3)).unwrap_err().kind, FailureKind::Usage);
        fs::write(dir.path().join("fleet"), "many").unwrap();
        assert!(size(None).unwrap_err().message.contains("how large the fleet is"));
    }
}
