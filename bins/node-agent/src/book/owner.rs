//! Whose folder it is: who may change it, and that what root makes in it belongs to its owner.

use std::{
    fs, io,
    os::unix::fs::{MetadataExt, lchown},
    path::Path,
};

use rustix::process::geteuid;
use terminal::failure::Failure;

use crate::folder::Folder;

/// A failure with the user who could do it, when this one could not.
pub(super) fn hint(failure: Failure, folder: &Folder) -> Failure {
    let owner = fs::metadata(folder.path()).map(|found| found.uid());
    match owner {
        Ok(owner) if !geteuid().is_root() && geteuid().as_raw() != owner => {
            failure.hint(format!("do this as root, or as the engine's own user (number {owner})"))
        }
        Ok(_) | Err(_) => failure,
    }
}

/// Gives what root made below a place to the folder's owner: an engine of another user could not open it otherwise.
///
/// Only what is root's is given away, never what a link leads to, and no file that has a second name elsewhere.
pub(super) fn hand_over(folder: &Folder, place: &Path) -> io::Result<()> {
    let owner = fs::metadata(folder.path())?;
    if !geteuid().is_root() || owner.uid() == 0 {
        return Ok(());
    }
    give(place, owner.uid(), owner.gid())
}

fn give(place: &Path, user: u32, group: u32) -> io::Result<()> {
    let found = match place.symlink_metadata() {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        found => found?,
    };
    if found.is_dir() {
        for entry in fs::read_dir(place)? {
            give(&entry?.path(), user, group)?;
        }
    }
    let is_ours = found.is_dir() || (found.is_file() && found.nlink() == 1);
    if found.uid() == 0 && is_ours { lchown(place, Some(user), Some(group)) } else { Ok(()) }
}
