//! File systems that are not as they should be.

use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use crate::machine::skipped;

/// A mount, taken away with the value.
#[derive(Debug)]
pub(crate) struct Disk<'a>(&'a Path);

impl<'a> Disk<'a> {
    /// A file system of its own, of 4 MiB. `None` for who is not root: then nothing can be mounted, and the test has nothing
    /// to say.
    pub(crate) fn mount(at: &'a Path) -> Option<Self> {
        Self::mount_with("size=4m", at)
    }

    /// The same, as large as its options say.
    pub(crate) fn mount_with(options: &str, at: &'a Path) -> Option<Self> {
        fs::create_dir_all(at).unwrap();
        let mounted = mount(&["-t", "tmpfs", "-o", options, "tmpfs"], at);
        mounted.then_some(Self(at)).or_else(cannot)
    }

    pub(crate) fn remount(&self, options: &str) {
        assert!(mount(&["-o", &format!("remount,{options}")], self.0));
    }

    /// Makes a folder one that nobody can write to, root neither. `None` for who is not root.
    pub(crate) fn read_only(at: &'a Path) -> Option<Self> {
        let path = at.to_str().unwrap();
        let bound = mount(&["--bind", path], at).then_some(Self(at)).or_else(cannot)?;
        mount(&["-o", "remount,bind,ro"], at).then_some(bound).or_else(cannot)
    }
}

impl<'a> Disk<'a> {
    /// A file system that can be made to hang: whoever writes waits until it goes on, as on a disk that has lost its
    /// controller. `None` where none can be made. Its image is kept in `beside`.
    pub(crate) fn that_hangs(beside: &Path, at: &'a Path) -> Option<Self> {
        let image = beside.join("image");
        fs::File::create(&image).unwrap().set_len(32 * 1024 * 1024).unwrap();
        let made = Command::new("mkfs.ext4").arg("-q").arg(&image).status();
        if !made.is_ok_and(|status| status.success()) {
            return cannot();
        }
        mount(&["-o", "loop", image.to_str().unwrap()], at).then_some(Self(at)).or_else(cannot)
    }

    pub(crate) fn hang(&self) {
        self.freeze("--freeze").unwrap();
    }

    pub(crate) fn go_on(&self) {
        self.freeze("--unfreeze").unwrap();
    }

    fn freeze(&self, how: &str) -> Option<()> {
        let mut command = Command::new("fsfreeze");
        let done = command.arg(how).arg(self.0).stderr(Stdio::null()).status();
        done.is_ok_and(|status| status.success()).then_some(())
    }
}

impl Drop for Disk<'_> {
    fn drop(&mut self) {
        // One that hangs would do so for ever.
        self.freeze("--unfreeze");
        let _ = Command::new("umount").arg("-l").arg(self.0).status();
    }
}

fn cannot<T>() -> Option<T> {
    skipped("a test on another disk: nothing can be mounted here");
    None
}

fn mount(arguments: &[&str], at: &Path) -> bool {
    Command::new("mount").args(arguments).arg(at).status().is_ok_and(|status| status.success())
}
