//! Small disks, to be filled and to be made read-only.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write, stderr},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::Outcome;

/// A small file system of its own; unmounted when dropped.
#[derive(Debug)]
pub struct Disk(PathBuf);

impl Disk {
    /// One in memory. None, said loudly, where mounting is not allowed.
    ///
    /// # Errors
    /// When its place cannot be made.
    pub fn mount(at: &Path) -> Outcome<Option<Self>> {
        Self::mounted(at, &["-t", "tmpfs", "-o", "size=64m", "tmpfs"])
    }

    /// One with a journal, which can fail; in a file, for which a loop device is needed.
    ///
    /// # Errors
    /// When its place or its file cannot be made.
    pub fn mount_ext4(at: &Path, image: &Path) -> Outcome<Option<Self>> {
        File::create(image)?.set_len(128 * 1024 * 1024)?;
        let made = Command::new("mkfs.ext4").arg("-q").arg(image).status();
        if !made.is_ok_and(|status| status.success()) {
            return skipped("no mkfs.ext4");
        }
        let image = image.to_str().ok_or("not text")?;
        Self::mounted(at, &["-o", "loop,errors=remount-ro", image])
    }

    /// Whatever `mount` makes of these arguments. None, said loudly, where it makes nothing.
    ///
    /// # Errors
    /// When its place cannot be made.
    pub fn mounted(at: &Path, what: &[&str]) -> Outcome<Option<Self>> {
        fs::create_dir_all(at)?;
        match mount(what, at) {
            Ok(()) => Ok(Some(Self(at.to_owned()))),
            Err(_) => skipped("no right to mount, or no loop device"),
        }
    }

    /// Mounts it with other options: `ro`, say. That fails while anything on it is open for writing.
    ///
    /// # Errors
    /// When it cannot be mounted so.
    pub fn remount(&self, how: &str) -> Outcome {
        mount(&["-o", &format!("remount,{how}")], &self.0)
    }

    /// From now on whoever opens something there finds it read-only. What was opened before can be written on.
    ///
    /// # Errors
    /// When it cannot be mounted so.
    pub fn hide_behind_a_read_only_one(&self) -> Outcome {
        mount(&["--bind", self.0.to_str().ok_or("not text")?], &self.0)?;
        mount(&["-o", "remount,bind,ro"], &self.0)
    }

    /// The read-only one is gone again.
    pub fn unhide(&self) {
        unmount(&self.0);
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Takes all room there is but so many bytes.
    ///
    /// # Errors
    /// When it cannot be written for another reason than that it is full.
    pub fn fill_but(&self, left: u64) -> Outcome {
        let mut file = File::create(self.filler())?;
        loop {
            match file.write_all(&[1; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(file.set_len(file.metadata()?.len().saturating_sub(left))?)
    }

    /// Takes all room there is.
    ///
    /// # Errors
    /// As [`Disk::fill_but`].
    pub fn fill(&self) -> Outcome {
        self.fill_but(0)
    }

    /// Gives all that was taken back.
    ///
    /// # Errors
    /// When nothing was taken.
    pub fn empty(&self) -> Outcome {
        Ok(fs::remove_file(self.filler())?)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Once for the disk, and once for a read-only one before it.
        unmount(&self.0);
        unmount(&self.0);
    }
}

fn mount(what: &[&str], at: &Path) -> Outcome {
    let status = Command::new("mount").args(what).arg(at).stderr(Stdio::null()).status()?;
    if status.success() { Ok(()) } else { Err(format!("mount {what:?}: {status}").into()) }
}

/// Lazily: what still has a file open there goes first.
fn unmount(at: &Path) {
    let _ = Command::new("umount").arg("-l").arg(at).stderr(Stdio::null()).status();
}

fn skipped<T>(why: &str) -> Outcome<Option<T>> {
    // Not through the test's captured output: whoever reads the run should see it.
    writeln!(stderr(), "SKIPPED a test on a small disk: {why}")?;
    Ok(None)
}
