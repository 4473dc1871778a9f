//! A disk without room, and one that can only be read: what is answered, and that nothing acknowledged is lost.
//!
//! Needs the right to mount a small file system; says so loudly where that is missing.

use std::collections::BTreeMap;
use std::error::Error;
use std::fs::{self, File};
use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

use store::{Batch, CommitError, Entry, Expect, Key, Prefix, ReadError, Reserve, Store};
use store_sled::{OpenError, Options, Room, SledStore};
use tempfile::TempDir;
use tokio::time::timeout;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const MIB: u64 = 1024 * 1024;

/// A store that hangs is a fault of its own, and must not hang the test.
const PATIENCE: Duration = Duration::from_secs(60);

type Contents = BTreeMap<Key, Vec<u8>>;

#[tokio::test]
async fn a_full_disk_refuses_commits_before_anything_is_touched() -> Outcome {
    let Some(disk) = Disk::mount("16m")? else { return Ok(()) };
    let room = Room::Leave { bytes: 2 * MIB };
    let options = Options { room, ..Options::new(disk.store()) };
    let store = SledStore::open(options.clone()).await?.store;
    let mut kept = Contents::new();
    put(&store, &mut kept, 0, 100_000).await?;

    let filler = disk.fill()?;
    for number in 0..5 {
        let answer = put(&store, &mut kept, number, 100).await;
        assert!(matches!(answer, Err(CommitError::Full)), "{answer:?}");
        assert_eq!(contents(&store).await?, kept, "reads go on, and see nothing of it");
    }

    fs::remove_file(filler)?;
    put(&store, &mut kept, 1, 100_000).await?;
    store.close().await;
    let store = SledStore::open(options).await?.store;
    assert_eq!(contents(&store).await?, kept);
    Ok(())
}

/// Commits up to the room that is to be left: after a crash at that point the store still opens, on the disk as
/// full as it is.
#[tokio::test]
async fn the_room_that_is_left_is_enough_to_open_again() -> Outcome {
    for bytes in [100, 3_000, 50_000] {
        let Some(disk) = Disk::mount("16m")? else { return Ok(()) };
        let room = Room::Leave { bytes: 2 * MIB };
        let options = Options { room, ..Options::new(disk.store()) };
        let mut store = SledStore::open(options.clone()).await?.store;
        let mut kept = Contents::new();
        // Most of the way with a file, the rest with commits.
        disk.fill_but(4 * MIB)?;
        let mut number = 0;
        while put(&store, &mut kept, number % 20, bytes + number).await.is_ok() {
            number += 1;
        }
        assert!(number > 0, "no commit of {bytes} bytes fitted");
        for _ in 0..3 {
            store.close().await;
            store = SledStore::open(options.clone()).await?.store;
            assert_eq!(contents(&store).await?, kept, "with {bytes} bytes each");
        }
    }
    Ok(())
}

/// What is about a failure is written with the last room, and of that enough is left to open again.
#[tokio::test]
async fn what_may_use_the_reserve_lands_when_nothing_else_does() -> Outcome {
    let Some(disk) = Disk::mount("16m")? else { return Ok(()) };
    let options = Options { room: Room::Leave { bytes: 4 * MIB }, ..Options::new(disk.store()) };
    let store = SledStore::open(options.clone()).await?.store;
    let mut kept = Contents::new();
    put(&store, &mut kept, 0, 1_000).await?;
    disk.fill_but(7 * MIB / 2)?;
    let refused = put(&store, &mut kept, 1, 100).await;
    assert!(matches!(refused, Err(CommitError::Full)), "{refused:?}");
    let mut number = 0;
    loop {
        let (key, value): (Key, _) = (format!("failure/{number}").parse()?, vec![7; 3_000]);
        let entry = Entry::put(key.clone(), Expect::Any, value.clone());
        let batch = Batch::new(vec![entry])?.with_reserve(Reserve::Used);
        match timeout(PATIENCE, store.commit(batch)).await? {
            Ok(_) => kept.insert(key, value),
            Err(CommitError::Full) => break,
            Err(error) => return Err(error.into()),
        };
        number += 1;
    }
    assert!(number > 20, "only {number} had room");
    store.close().await;
    let store = SledStore::open(options).await?.store;
    assert_eq!(contents(&store).await?, kept);
    Ok(())
}

/// With no room kept back, sled itself runs out of space in the middle of a commit.
#[tokio::test]
async fn a_commit_that_meets_the_end_of_the_disk_is_there_whole_or_not_at_all() -> Outcome {
    for bytes in [50, 900, 9_000, 70_000, 400_000] {
        let Some(disk) = Disk::mount("12m")? else { return Ok(()) };
        let options = Options { room: Room::All, ..Options::new(disk.store()) };
        let store = SledStore::open(options.clone()).await?.store;
        let mut kept = Contents::new();
        put(&store, &mut kept, 0, 1_000).await?;
        disk.fill_but(600_000)?;
        for round in 0..5 {
            let (attempted, answer) = fill_with_commits(&store, &mut kept, round, bytes).await?;
            assert!(matches!(answer, CommitError::Full), "{bytes} bytes: {answer:?}");
            // What is read now is the truth, or nothing is read.
            match store.scan(&Prefix::all()).await {
                Ok(_) => {}
                Err(ReadError::Failed(_)) => {}
                Err(error) => return Err(error.into()),
            }
            disk.free(700_000)?;
            settle(&store, &mut kept, attempted).await?;
            put(&store, &mut kept, 99, 10).await?;
        }
        store.close().await;
        let store = SledStore::open(options).await?.store;
        assert_eq!(contents(&store).await?, kept, "{bytes} bytes, opened anew");
    }
    Ok(())
}

#[tokio::test]
async fn a_read_only_disk_is_said_to_be_one() -> Outcome {
    let Some(disk) = Disk::mount("16m")? else { return Ok(()) };
    let store = SledStore::open(Options::new(disk.store())).await?.store;
    let mut kept = Contents::new();
    put(&store, &mut kept, 0, 1_000).await?;
    store.close().await;

    disk.remount("ro")?;
    let opened = SledStore::open(Options::new(disk.store())).await;
    assert!(matches!(opened, Err(OpenError::ReadOnly { .. })), "{opened:?}");

    disk.remount("rw")?;
    let store = SledStore::open(Options::new(disk.store())).await?.store;
    assert_eq!(contents(&store).await?, kept);
    Ok(())
}

/// As a disk becomes whose journal fails: not by a mount, and not for those who ask whether it is mounted so.
#[tokio::test]
async fn a_disk_that_becomes_read_only_loses_nothing() -> Outcome {
    let Some(disk) = Disk::mount_ext4()? else { return Ok(()) };
    let store = SledStore::open(Options::new(disk.store())).await?.store;
    let mut kept = Contents::new();
    for number in 0..9 {
        put(&store, &mut kept, number, 1_000).await?;
    }
    disk.remount("abort")?;
    for _ in 0..3 {
        let answer = put(&store, &mut kept, 1, 10).await;
        assert!(matches!(answer, Err(CommitError::ReadOnly)), "{answer:?}");
    }
    store.close().await;
    let opened = SledStore::open(Options::new(disk.store())).await;
    assert!(matches!(opened, Err(OpenError::ReadOnly { .. })), "{opened:?}");
    disk.mount_again()?;
    let store = SledStore::open(Options::new(disk.store())).await?.store;
    assert_eq!(contents(&store).await?, kept);
    Ok(())
}

#[tokio::test]
async fn a_full_disk_is_said_when_a_store_is_opened() -> Outcome {
    let Some(disk) = Disk::mount("16m")? else { return Ok(()) };
    let store = SledStore::open(Options::new(disk.store())).await?.store;
    let mut kept = Contents::new();
    put(&store, &mut kept, 0, 1_000).await?;
    store.close().await;

    let filler = disk.fill()?;
    let opened = SledStore::open(Options::new(disk.store())).await;
    assert!(matches!(opened, Err(OpenError::Full { .. })), "{opened:?}");
    let fresh = SledStore::open(Options::new(disk.root().join("another"))).await;
    assert!(matches!(fresh, Err(OpenError::Full { .. })), "{fresh:?}");

    fs::remove_file(filler)?;
    let store = SledStore::open(Options::new(disk.store())).await?.store;
    assert_eq!(contents(&store).await?, kept);
    let fresh = SledStore::open(Options::new(disk.root().join("another"))).await?.store;
    assert_eq!(contents(&fresh).await?, Contents::new());
    Ok(())
}

/// Commits pairs of documents until one fails; answers what that one would have made of the contents.
async fn fill_with_commits(
    store: &SledStore,
    kept: &mut Contents,
    round: usize,
    bytes: usize,
) -> Outcome<(Contents, CommitError)> {
    for number in 0..100_000 {
        let text = format!("{round}-{number}").into_bytes();
        let large = text.iter().copied().cycle().take(bytes).collect();
        let attempted = Contents::from([
            (format!("pair/{round}-{number}-text").parse()?, text),
            (format!("pair/{round}-{number}-large").parse()?, large),
        ]);
        let puts = attempted.clone().into_iter();
        let puts = puts.map(|(key, value)| Entry::put(key, Expect::Absent, value));
        let batch = Batch::new(puts.collect())?;
        match timeout(PATIENCE, store.commit(batch)).await? {
            Ok(_) => kept.extend(attempted),
            Err(error) => return Ok((attempted, error)),
        }
    }
    Err("the disk did not fill".into())
}

/// Finds out whether the commit that failed is there, and takes that for what must be there from now on.
async fn settle(store: &SledStore, kept: &mut Contents, attempted: Contents) -> Outcome {
    let found = contents(store).await?;
    if found != *kept {
        kept.extend(attempted);
    }
    assert!(found == *kept, "neither what was acknowledged nor what was attempted is there");
    Ok(())
}

async fn put(
    store: &SledStore,
    kept: &mut Contents,
    number: usize,
    bytes: usize,
) -> Result<(), CommitError> {
    let failed = |error: Box<dyn Error + Send + Sync>| CommitError::Failed(error);
    let key: Key = format!("document/{number}").parse().map_err(|e| failed(Box::new(e)))?;
    let value = vec![number.to_le_bytes()[0]; bytes];
    let entry = Entry::put(key.clone(), Expect::Any, value.clone());
    let batch = Batch::new(vec![entry]).map_err(|e| failed(Box::new(e)))?;
    timeout(PATIENCE, store.commit(batch)).await.map_err(|e| failed(Box::new(e)))??;
    kept.insert(key, value);
    Ok(())
}

async fn contents(store: &SledStore) -> Outcome<Contents> {
    let documents = timeout(PATIENCE, store.scan(&Prefix::all())).await??;
    Ok(documents.into_iter().map(|(key, document)| (key, document.bytes)).collect())
}

/// A small file system of its own, unmounted when dropped.
struct Disk(TempDir);

impl Disk {
    /// `None`, said loudly, where mounting is not allowed.
    fn mount(size: &str) -> Outcome<Option<Self>> {
        let disk = Self(tempfile::tempdir()?);
        fs::create_dir(disk.root())?;
        disk.mounted(&["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
    }

    /// One with a journal, which can fail; in a file, for which a loop device is needed.
    fn mount_ext4() -> Outcome<Option<Self>> {
        let disk = Self(tempfile::tempdir()?);
        fs::create_dir(disk.root())?;
        File::create(disk.image())?.set_len(32 * MIB)?;
        let made = Command::new("mkfs.ext4").arg("-q").arg(disk.image()).status();
        if !made.is_ok_and(|status| status.success()) {
            return skipped("no mkfs.ext4");
        }
        let image = disk.image();
        disk.mounted(&["-o", EXT4, image.to_str().ok_or("not text")?])
    }

    /// As after a restart of the machine.
    fn mount_again(&self) -> Outcome {
        let unmounted = Command::new("umount").arg(self.root()).status()?;
        let mounted =
            Command::new("mount").args(["-o", EXT4]).arg(self.image()).arg(self.root()).status()?;
        if unmounted.success() && mounted.success() {
            return Ok(());
        }
        Err(format!("umount: {unmounted}, mount: {mounted}").into())
    }

    fn mounted(self, what: &[&str]) -> Outcome<Option<Self>> {
        let mut mount = Command::new("mount");
        let status = mount.args(what).arg(self.root()).stderr(Stdio::null()).status();
        if status.is_ok_and(|status| status.success()) {
            return Ok(Some(self));
        }
        skipped("no right to mount, or no loop device")
    }

    fn root(&self) -> PathBuf {
        self.0.path().join("disk")
    }

    fn image(&self) -> PathBuf {
        self.0.path().join("image")
    }

    fn remount(&self, how: &str) -> Outcome {
        let options = format!("remount,{how}");
        let status = Command::new("mount").args(["-o", &options]).arg(self.root()).status()?;
        if status.success() { Ok(()) } else { Err(format!("{options}: {status}").into()) }
    }

    fn store(&self) -> PathBuf {
        self.root().join("store")
    }

    /// Takes all room there is.
    fn fill(&self) -> Outcome<PathBuf> {
        self.fill_but(0)?;
        Ok(self.filler())
    }

    /// Takes all room but this many bytes.
    fn fill_but(&self, left: u64) -> Outcome {
        let mut file = File::create(self.filler())?;
        loop {
            match file.write_all(&[1; 4096]) {
                Ok(()) => {}
                Err(error) if error.kind() == ErrorKind::StorageFull => break,
                Err(error) => return Err(error.into()),
            }
        }
        self.free(left)
    }

    /// Gives this many bytes of what was taken back.
    fn free(&self, bytes: u64) -> Outcome {
        let file = File::options().write(true).open(self.filler())?;
        Ok(file.set_len(file.metadata()?.len().saturating_sub(bytes))?)
    }

    fn filler(&self) -> PathBuf {
        self.root().join("filler")
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        unmount(&self.root());
    }
}

/// How ext4 is mounted everywhere: when its journal fails it can only be read.
const EXT4: &str = "loop,errors=remount-ro";

fn skipped(why: &str) -> Outcome<Option<Disk>> {
    // Not through the test's captured output: whoever reads the run should see it.
    writeln!(std::io::stderr(), "SKIPPED a test on a disk of its own: {why} here")?;
    Ok(None)
}

/// Lazily: a store that closes right now may still have its files open.
fn unmount(path: &Path) {
    Command::new("umount").arg("-l").arg(path).stderr(Stdio::null()).status().ok();
}
