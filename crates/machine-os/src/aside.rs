//! Files of ours that were found damaged: moved aside, for a person to look at, and told until they are removed.

use std::fs::{self, DirBuilder};
use std::io;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

/// The folder, below the host's own.
const FOLDER: &str = "set-aside";

/// More are not kept: a disk that damages so many files needs a person, who has enough to look at.
const KEPT_MAX: usize = 100;

/// Moves a damaged file or folder of the host's aside, and says where it is now. It is never removed, and is a trouble of the
/// machine for as long as it lies there.
///
/// # Errors
/// When it cannot be moved, or too much lies there already.
pub fn set_aside(root: &Path, path: &Path) -> io::Result<PathBuf> {
    let folder = root.join(FOLDER);
    // What is in them can be a secret.
    match DirBuilder::new().mode(0o700).create(&folder) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
        made => made?,
    }
    if fs::read_dir(&folder)?.count() >= KEPT_MAX {
        return Err(io::Error::other("too much lies there already"));
    }
    // Its place, as a name.
    let place = path.strip_prefix(root).unwrap_or(path).display().to_string().replace('/', ".");
    let names = (0..=KEPT_MAX).map(|nth| match nth {
        0 => place.clone(),
        nth => format!("{place}.{nth}"),
    });
    let mut free = names.map(|name| folder.join(name));
    let target = free.find(|target| target.symlink_metadata().is_err());
    let target = target.ok_or(io::ErrorKind::AlreadyExists)?;
    fs::rename(path, &target)?;
    Ok(target)
}

/// Moves aside what lies where a folder of the host's should be and is a file. What a link leads to is left alone: a disk
/// that is not mounted comes back.
pub(crate) fn make_way(root: &Path, folder: &Path) -> io::Result<()> {
    match folder.symlink_metadata() {
        Ok(found) if found.is_file() => set_aside(root, folder).map(drop),
        Ok(_) | Err(_) => Ok(()),
    }
}

/// All that lies aside, in the order of the names. When the folder is none, it is itself a damaged file.
pub(crate) fn all(root: &Path) -> Vec<PathBuf> {
    let folder = root.join(FOLDER);
    if folder.symlink_metadata().is_ok_and(|found| found.is_file()) {
        return vec![folder];
    }
    let entries = fs::read_dir(folder).into_iter().flatten();
    let mut found: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    found.sort();
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn what_is_set_aside_is_kept_under_the_name_of_its_place() {
        let root = tempfile::tempdir().unwrap();
        let root = root.path();
        assert_eq!(all(root), Vec::<PathBuf>::new());
        for (nth, expected) in ["builds.blog", "builds.blog.1", "builds.blog.2"].iter().enumerate()
        {
            fs::create_dir_all(root.join("builds")).unwrap();
            fs::write(root.join("builds/blog"), nth.to_string()).unwrap();
            let target = set_aside(root, &root.join("builds/blog")).unwrap();
            assert_eq!(target, root.join("set-aside").join(expected));
            assert_eq!(fs::read_to_string(target).unwrap(), nth.to_string());
        }
        assert_eq!(all(root).len(), 3);
        assert_eq!(root.join("set-aside").metadata().unwrap().mode() & 0o777, 0o700);
    }

    #[test]
    fn no_more_is_kept_than_anybody_looks_at() {
        let root = tempfile::tempdir().unwrap();
        let file = root.path().join("file");
        for _ in 0..KEPT_MAX {
            fs::write(&file, "").unwrap();
            set_aside(root.path(), &file).unwrap();
        }
        fs::write(&file, "").unwrap();
        assert!(set_aside(root.path(), &file).is_err() && file.exists());
    }

    #[test]
    fn without_a_folder_nothing_is_moved_and_that_is_told() {
        let root = tempfile::tempdir().unwrap();
        let (file, folder) = (root.path().join("file"), root.path().join(FOLDER));
        fs::write(&file, "").unwrap();
        fs::write(&folder, "no folder").unwrap();
        assert!(set_aside(root.path(), &file).is_err() && file.exists());
        assert_eq!(all(root.path()), [folder]);
    }

    #[test]
    fn only_a_file_makes_way_for_a_folder() {
        let root = tempfile::tempdir().unwrap();
        let folder = root.path().join("builds");
        make_way(root.path(), &folder).unwrap();
        fs::create_dir(&folder).unwrap();
        make_way(root.path(), &folder).unwrap();
        assert!(folder.is_dir());
        fs::remove_dir(&folder).unwrap();
        symlink("/no/such/disk", &folder).unwrap();
        make_way(root.path(), &folder).unwrap();
        assert!(folder.is_symlink());
        fs::remove_file(&folder).unwrap();
        fs::write(&folder, "no folder").unwrap();
        make_way(root.path(), &folder).unwrap();
        assert!(!folder.exists() && all(root.path()).len() == 1);
    }
}
