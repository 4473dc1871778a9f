//! Putting a build that was made aside where it belongs, or what is good of it where something was damaged.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use rustix::fs::syncfs;

use crate::aside;
use crate::install::record::{self, Record};
use crate::install::sweep;

/// Up to so many files and folders are synced one by one, which leaves alone what others have to write; for more than that,
/// syncing the whole file system at once is quicker.
const SYNCED_ONE_BY_ONE_MAX: usize = 100;

/// Renames only what is on the disk: after a power cut, a build that is there is whole.
pub(super) fn put_in_place(
    root: &Path,
    content: &Path,
    record: &Record,
    target: &Path,
) -> io::Result<()> {
    sync(&everything(content)?)?;
    let parent = target.parent().ok_or_else(|| io::Error::other("a build lies in no folder"))?;
    // Should there be files in the place of these folders, nobody here put them there.
    aside::make_way(root, parent)?;
    aside::make_way(root, target)?;
    fs::create_dir_all(parent)?;
    // The record is there before the build is: alone it means nothing.
    write_record(root, record, target)?;
    fs::rename(content, target)?;
    sync(&[parent.to_owned()])?;
    // The module's folder may be new as well.
    parent.parent().map_or(Ok(()), |modules| sync(&[modules.to_owned()]))
}

/// Replaces the files of a build that were damaged, one by one, and sets those aside: a process that runs from the build keeps
/// what it has open, and what else lies in its folder is left alone.
pub(super) fn mend(
    root: &Path,
    content: &Path,
    old: Record,
    new: &Record,
    target: &Path,
) -> io::Result<()> {
    sync(&everything(content)?)?;
    let mut mended = Vec::new();
    for damage in old.damage(target) {
        let place = target.join(&damage.path);
        if let Some(parent) = place.parent() {
            fs::create_dir_all(parent)?;
        }
        // What cannot be set aside goes.
        if place.symlink_metadata().is_ok() && aside::set_aside(root, &place).is_err() {
            sweep::throw_away(root, &place)?;
        }
        fs::rename(content.join(&damage.path), &place)?;
        mended.push(damage.path);
    }
    let folders: Vec<PathBuf> =
        everything(target)?.into_iter().filter(|one| one.is_dir()).collect();
    sync(&folders)?;
    let mut record = old;
    record.renew(new, &mended);
    write_record(root, &record, target)?;
    target.parent().map_or(Ok(()), |parent| sync(&[parent.to_owned()]))
}

fn write_record(root: &Path, record: &Record, target: &Path) -> io::Result<()> {
    let new = root.join(super::INCOMING).join("record");
    sweep::remove(&new)?;
    record.write(&new)?;
    let place = record::beside(target);
    if place.is_dir() {
        sweep::throw_away(root, &place)?;
    }
    fs::rename(new, place)
}

fn sync(paths: &[PathBuf]) -> io::Result<()> {
    match paths {
        [first, ..] if paths.len() > SYNCED_ONE_BY_ONE_MAX => Ok(syncfs(File::open(first)?)?),
        _ => paths.iter().try_for_each(|path| File::open(path)?.sync_all()),
    }
}

/// A folder and all folders and files in it; what links lead to is in it as itself.
fn everything(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = vec![folder.to_owned()];
    let mut next = 0;
    while let Some(folder) = found.get(next).cloned() {
        next += 1;
        if !folder.is_dir() {
            continue;
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            if !entry.file_type()?.is_symlink() {
                found.push(entry.path());
            }
        }
    }
    Ok(found)
}
