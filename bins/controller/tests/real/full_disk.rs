//! A disk that fills up under a running fleet.

use std::{
    fs::{self, File},
    io::{ErrorKind, Write},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use crate::fleet::{Dev, Outcome, Place, eventually, finished, write_build};
use rustix::process::Signal;

/// A small file system of its own, where the fleet's folder is; unmounted when dropped.
struct Disk(PathBuf);

impl Disk {
    /// None, said loudly, where mounting is not allowed.
    fn mount(at: &Path) -> Outcome<Option<Self>> {
        fs::create_dir_all(at)?;
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", "size=64m", "tmpfs"]).arg(at).stderr(Stdio::null());
        if mount.status().is_ok_and(|status| status.success()) {
            return Ok(Some(Self(at.to_owned())));
        }
        // Not through the test's captured output: whoever reads the run should see it.
        let skipped = "SKIPPED a test on a full disk: no right to mount a tmpfs here";
        writeln!(std::io::stderr(), "{skipped}")?;
        Ok(None)
    }

    fn filler(&self) -> PathBuf {
        self.0.join("filler")
    }

    /// Takes all room there is.
    fn fill(&self) -> Outcome {
        let mut file = File::create(self.filler())?;
        loop {
            match file.write_all(&[1; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn empty(&self) -> Outcome {
        Ok(fs::remove_file(self.filler())?)
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        // Lazily: what still has a file open there goes first.
        let _ = Command::new("umount").arg("-l").arg(&self.0).status();
    }
}

#[test]
fn a_full_disk_refuses_changes_says_so_and_loses_nothing() -> Outcome {
    let place = Place::new()?;
    let Some(disk) = Disk::mount(&place.dir())? else { return Ok(()) };
    let mut dev = Dev::serving(&place)?;
    let source = place.join("hello");
    let manifest = "[module]\nname = \"hello\"\n[[resource]]\nname = \"a\"\ncommand = [\"/bin/sleep\", \"9\"]\n";
    write_build(&source, manifest, &[("file", "content")])?;
    let add = ["builds", "add", source.to_str().ok_or("no text")?];
    place.ask(&add)?.done()?;
    let before = place.json(&["modules"])?;

    disk.fill()?;
    let assign = ["assign", "hello", "--to", "box-1"];
    place.ask(&assign)?.failed(1, &["no space left"])?;
    fs::write(source.join("file"), vec![b'x'; 100_000])?;
    place.ask(&add)?.failed(1, &["cannot be kept", "make room on that disk"])?;
    // What does not write goes on, and says the same as before.
    assert_eq!(place.json(&["modules"])?, before);
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()?;
    let full = finished(place.of_fleet(&["dev", "--exit"]))?;
    full.failed(1, &["o space left"])?;

    disk.empty()?;
    let mut dev = Dev::serving(&place)?;
    assert_eq!(place.json(&["modules"])?, before);
    eventually("the machine is assigned", || {
        let assigned = place.ask(&assign)?;
        Ok(if assigned.status == Some(0) { Ok(()) } else { Err(format!("{assigned:?}")) })
    })?;
    place.ask(&add)?.done()?;
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()
}
