//! Placing verified artifacts: how much room their content takes, and then their content.

use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt, symlink};
use std::path::Path;

use inventory::Artifact;
use names::Digest;
use sha2::{Digest as _, Sha256};

use crate::disk::Room;
use crate::install::archive::{self, Kind, Mode, Refused, What};
use crate::install::record::Record;

/// Looks at the whole of an archive without writing anything: whether it can be unpacked, and how much room that takes.
pub(super) fn survey(kind: Kind, fetched: &Path) -> Result<Room, Refused> {
    let mut room = Room::default();
    archive::walk(kind, File::open(fetched)?, &mut |_, what| {
        room = room.and(match what {
            What::File { size, .. } => Room::of_file(size),
            // A folder takes a block, and so does a long link.
            What::Folder | What::Link(_) => Room::of_file(1),
        });
        Ok(())
    })?;
    Ok(room)
}

/// Places an artifact in a build's folder: unpacked, or as an executable file. What was fetched may be used up by that.
pub(super) fn place(
    artifact: &Artifact,
    fetched: &Path,
    folder: &Path,
    record: &mut Record,
) -> Result<(), Refused> {
    if let Some(kind) = archive::kind(artifact) {
        return unpack(kind, fetched, folder, record);
    }
    let name = Path::new(artifact.name.as_str());
    let target = folder.join(name);
    if target.symlink_metadata().is_ok() {
        return Err(archive::twice(name));
    }
    fs::set_permissions(fetched, Permissions::from_mode(0o755))?;
    fs::rename(fetched, &target)?;
    record.note(name, &target.metadata()?, Some(artifact.digest.clone()));
    Ok(())
}

fn unpack(kind: Kind, fetched: &Path, folder: &Path, record: &mut Record) -> Result<(), Refused> {
    archive::walk(kind, File::open(fetched)?, &mut |path, what| {
        let whole = folder.join(path);
        match what {
            What::Folder => make_folder(path, &whole),
            What::File { mode, size, content } => {
                let (file, digest) = write_file(path, &whole, mode, size, content)?;
                record.note(path, &file.metadata()?, digest);
                Ok(())
            }
            What::Link(target) => symlink(target, &whole).map_err(|error| not_made(path, error)),
        }
    })
}

fn make_folder(path: &Path, whole: &Path) -> Result<(), Refused> {
    match fs::create_dir(whole) {
        Ok(()) => Ok(fs::set_permissions(whole, Permissions::from_mode(0o755))?),
        // Another artifact of the build may have made it, but only as a folder.
        Err(error)
            if error.kind() == io::ErrorKind::AlreadyExists
                && whole.symlink_metadata()?.is_dir() =>
        {
            Ok(())
        }
        Err(error) => Err(not_made(path, error)),
    }
}

/// Writes a new file, and gives the digest of a program.
fn write_file(
    path: &Path,
    whole: &Path,
    mode: Mode,
    size: u64,
    content: &mut dyn Read,
) -> Result<(File, Option<Digest>), Refused> {
    let (bits, mut hasher) = match mode {
        Mode::Data => (0o644, None),
        Mode::Program => (0o755, Some(Sha256::new())),
    };
    let file = OpenOptions::new().write(true).create_new(true).mode(bits).open(whole);
    let mut file = file.map_err(|error| not_made(path, error))?;
    // Reading and writing fail differently, and `io::copy` would not tell which it was.
    let mut buffer = vec![0; 64 * 1024];
    let mut written = 0;
    loop {
        let length = content.read(&mut buffer).map_err(archive::unreadable)?;
        let piece = buffer.get(..length).unwrap_or_default();
        if piece.is_empty() {
            break;
        }
        file.write_all(piece)?;
        written += piece.len() as u64;
        if let Some(hasher) = &mut hasher {
            hasher.update(piece);
        }
    }
    if written < size {
        return Err(archive::unreadable(io::ErrorKind::UnexpectedEof.into()));
    }
    file.set_permissions(Permissions::from_mode(bits))?;
    Ok((file, hasher.map(|hasher| Digest::from_bytes(hasher.finalize().into()))))
}

fn not_made(path: &Path, error: io::Error) -> Refused {
    if error.kind() == io::ErrorKind::AlreadyExists {
        return archive::twice(path);
    }
    Refused::Io(error)
}
