//! Where a fleet lives: a folder that is kept, or one that goes with it.

use std::{
    fs::{self, File},
    io::{self, Write},
    os::unix::fs::symlink,
    path::{Path, PathBuf},
};

use names::MachineName;

use super::{ending::remove, keys::FleetKeys};
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
    /// What was damaged in the folder and was put right.
    pub(crate) notes: Vec<String>,
    /// Whom its machines trust.
    pub(super) keys: FleetKeys,
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
        folder.has_its_store()?;
        let mut notes = Vec::new();
        let machines = machines_of(&folder, machines, &mut notes)?;
        let keys = FleetKeys::make(&folder, &mut notes)?;
        let home = Self {
            folder,
            machines,
            notes,
            keys,
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
fn machines_of(
    folder: &Folder,
    asked: Option<u16>,
    notes: &mut Vec<String>,
) -> Result<Vec<MachineName>, Failure> {
    let path = folder.path().join("fleet");
    let failure = |error: &io::Error| {
        Failure::because(format!("{} does not say how large the fleet is", path.display()), error)
    };
    let kept = match fs::read(&path) {
        Ok(text) => std::str::from_utf8(&text).ok().and_then(|text| text.trim().parse().ok()),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) if error.kind() == io::ErrorKind::IsADirectory => None,
        Err(error) => return Err(failure(&error)),
    };
    if kept.is_none() && path.exists() {
        let damaged = path.with_extension("damaged");
        remove(&damaged).and_then(|()| fs::rename(&path, &damaged)).map_err(|e| failure(&e))?;
        let (path, damaged) = (path.display(), damaged.display());
        notes.push(format!("{path} was damaged; it was set aside as {damaged} and written anew"));
    }
    // Where the number is lost, the machines' folders tell it.
    let kept = match kept {
        Some(kept) => Some(kept),
        None => numbers_of_machines(folder).map_err(|error| failure(&error))?.into_iter().max(),
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
    keep(&path, number).map_err(|error| failure(&error))?;
    let names = (1..=number).map(|number| MachineName::new(format!("box-{number}")));
    names
        .collect::<Result<_, _>>()
        .map_err(|error| Failure::because("a machine has no name", &error))
}

/// Writes the number whole, also when the power is cut.
fn keep(path: &Path, number: u16) -> io::Result<()> {
    let new = path.with_extension("new");
    let mut file = File::create(&new)?;
    writeln!(file, "{number}")?;
    file.sync_all()?;
    fs::rename(&new, path)
}

/// The numbers of the machines that have folders.
fn numbers_of_machines(folder: &Folder) -> io::Result<Vec<u16>> {
    let mut numbers = Vec::new();
    for entry in fs::read_dir(folder.machines())? {
        let name = entry?.file_name();
        let number = name.to_str().and_then(|name| name.strip_prefix("box-"));
        numbers.extend(number.and_then(|number| number.parse::<u16>().ok()));
    }
    Ok(numbers)
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
    }

    #[test]
    fn a_fleet_whose_size_was_lost_has_as_many_machines_as_folders() {
        let dir = tempfile::tempdir().unwrap();
        let made = || {
            let home = Home::make(Some(dir.path()), None, &nowhere()).unwrap();
            (home.machines.len(), home.notes.clone())
        };
        assert_eq!(made(), (3, Vec::new()));
        fs::create_dir_all(dir.path().join("store")).unwrap();
        fs::write(dir.path().join("store/schema"), "").unwrap();
        for name in ["box-1", "box-5", "box-x", "other"] {
            fs::create_dir_all(dir.path().join("machines").join(name)).unwrap();
        }
        let file = dir.path().join("fleet");
        let damages: [fn(&Path) -> io::Result<()>; 4] = [
            |file| fs::write(file, "many"),
            |file| fs::write(file, b"\xff\0\n"),
            |file| fs::write(file, ""),
            |file| fs::remove_file(file).and_then(|()| fs::create_dir(file)),
        ];
        for damage in damages {
            damage(&file).unwrap();
            let (machines, notes) = made();
            assert!(machines == 5 && notes[0].contains("fleet was damaged"), "{notes:?}");
            assert_eq!(fs::read_to_string(&file).unwrap(), "5\n");
        }
        fs::remove_file(&file).unwrap();
        assert_eq!(made(), (5, Vec::new()));
    }
}
