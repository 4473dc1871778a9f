//! The engine's folder, its disk, and where artifacts come from.

use std::{
    fs,
    io::{self, ErrorKind},
    path::Path,
};

use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
use terminal::words::list;

use super::Check;
use crate::folder::{Folder, Held};

/// Below this the engine begins nothing new on the disk: it needs some to say what went wrong.
const ROOM_BYTES_MIN: u64 = 64 * 1024 * 1024;

/// The folder, who holds it, its disk, and what was found damaged in it.
pub(super) fn folder(folder: &Folder) -> Vec<Check> {
    let path = folder.path().display();
    match fs::metadata(folder.path()) {
        Ok(found) if found.is_dir() => vec![holder(folder), room(folder.path()), aside(folder)],
        Ok(_) => {
            let hint = "move it away: the engine makes its folder there";
            vec![Check::bad("folder", format!("{path} is no folder"), hint)]
        }
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let hint = "the engine makes it when it begins";
            vec![Check::warning("folder", format!("there is no {path} yet"), hint)]
        }
        Err(error) => {
            let hint = "run this as root, or as the engine's own user";
            vec![Check::bad("folder", format!("{path} cannot be read: {error}"), hint)]
        }
    }
}

fn holder(folder: &Folder) -> Check {
    let path = folder.path().display();
    let is_writable = access(folder.path(), Access::WRITE_OK);
    let held = match folder.is_held() {
        Ok(Held::By(Some(pid))) => format!("held by the engine, process {pid}"),
        Ok(Held::By(None)) => "held by an engine".to_owned(),
        Ok(Held::ByNobody) => "held by no engine".to_owned(),
        Err(error) => format!("it cannot be told who holds it: {error}"),
    };
    match is_writable {
        Ok(()) => Check::ok("folder", format!("{path} can be written, and is {held}")),
        Err(error) => {
            let error = io::Error::from(error);
            let why = format!("{path} cannot be written by this user ({error}), and is {held}");
            Check::bad(
                "folder",
                why,
                "run this as root, or as the engine's own user; if its disk is read-only, mount it for writing",
            )
        }
    }
}

fn room(path: &Path) -> Check {
    const NAME: &str = "disk";
    let disk = match statvfs(path) {
        Ok(disk) => disk,
        Err(error) => {
            let why = format!("the disk of {} does not answer: {error}", path.display());
            return Check::bad(NAME, why, "look at the kernel's messages for it");
        }
    };
    if disk.f_flag.contains(StatVfsMountFlags::RDONLY) {
        let why = format!(
            "the disk of {} is mounted read-only: what runs goes on, and nothing new is begun",
            path.display()
        );
        return Check::bad(NAME, why, "mount it for writing; the engine goes on by itself then");
    }
    let free = disk.f_bavail.saturating_mul(disk.f_frsize);
    let mib = free / (1024 * 1024);
    if free < ROOM_BYTES_MIN {
        let why = format!(
            "{mib} MiB are free on the disk of {}: what runs goes on, and nothing new is begun",
            path.display()
        );
        return Check::bad(NAME, why, "make room there; the engine goes on by itself then");
    }
    if disk.f_files > 0 && disk.f_favail < 1_000 {
        let why =
            format!("only {} more files fit on the disk of {}", disk.f_favail, path.display());
        return Check::bad(NAME, why, "remove files there; the engine goes on by itself then");
    }
    Check::ok(NAME, format!("{mib} MiB are free"))
}

fn aside(folder: &Folder) -> Check {
    const NAME: &str = "damage";
    let entries = match fs::read_dir(folder.set_aside()) {
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Check::ok(NAME, "no file was found damaged");
        }
        Err(error) => {
            let why = format!("{} cannot be read: {error}", folder.set_aside().display());
            return Check::warning(NAME, why, "run this as root, or as the engine's own user");
        }
        Ok(entries) => entries,
    };
    let names: Vec<_> = entries.flatten().map(|entry| entry.path().display().to_string()).collect();
    if names.is_empty() {
        return Check::ok(NAME, "no file was found damaged");
    }
    let why = format!("found damaged and set aside: {}", list(names));
    Check::warning(NAME, why, "look at the disk, and remove what nobody needs any more")
}

/// Where artifacts come from.
pub(super) fn artifacts(folder: &Path) -> Check {
    const NAME: &str = "artifacts";
    let path = folder.display();
    match fs::read_dir(folder) {
        Ok(entries) => {
            Check::ok(NAME, format!("{path} can be read and has {} entries", entries.count()))
        }
        Err(error) => {
            let why = format!("{path} cannot be read ({error}): no new build can be installed");
            Check::bad(
                NAME,
                why,
                "make it, and place artifacts there; or name another in the config: artifacts = \"…\"",
            )
        }
    }
}
