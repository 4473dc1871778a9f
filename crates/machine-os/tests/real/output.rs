//! Output, whatever becomes of the place where it is written: no workload ever waits for its log, and nothing grows.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use crate::disk::Disk;
use crate::machine::{Machine, eventually, is_alive, memory_of, shim_of, until};
use host::{Exit, Process};
use machine_os::OsProcess;
use tokio::time::Instant;

/// A workload that waits for a word, writes ten megabytes in a second, which is more than any pipe holds, and waits again.
struct Pouring {
    machine: Machine,
    process: OsProcess,
}

impl Pouring {
    async fn start() -> Self {
        const SCRIPT: &str = "word() { until test -e ../../../../$1; do sleep 0.01; done; }
            echo begun; word go
            for _ in 1 2 3 4 5 6 7 8 9 10; do head -c 1000000 /dev/zero; sleep 0.1; done; echo; echo done
            word end; echo the end";
        let machine = Machine::new();
        let process = machine.run(SCRIPT).await;
        let pouring = Self { machine, process };
        until("it has begun", || pouring.is_logged("begun").then_some(())).await;
        pouring
    }

    fn folder(&self) -> PathBuf {
        self.machine.root().join("output/blog/blog-1")
    }

    fn log(&self) -> PathBuf {
        self.folder().join("web.log")
    }

    fn is_logged(&self, words: &str) -> bool {
        fs::read(self.log())
            .is_ok_and(|log| log.split(|byte| *byte == b'\n').any(|line| line == words.as_bytes()))
    }

    fn word(&self, word: &str) {
        fs::write(self.machine.folder.path().join(word), "").unwrap();
    }

    /// Its log's folder, without the log, so that whatever is mounted there is where it is written next.
    fn cleared(&self) -> PathBuf {
        fs::remove_file(self.log()).unwrap();
        self.folder()
    }

    /// Lets it pour, and waits until it has.
    async fn pour(&self) {
        let begun = Instant::now();
        self.word("go");
        let done =
            async || self.process.last_lines().await.last().is_some_and(|line| line == "done");
        eventually("it is done", done).await;
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(20), "it was held up: {took:?}");
        let memory = memory_of(shim_of(&self.process));
        assert!(memory.own_kib < 1024, "{memory:?}");
    }

    async fn end(&self) {
        self.word("end");
        assert_eq!(self.process.ended().await, Exit::Status(0));
        assert_eq!(self.process.last_lines().await.last().unwrap(), "the end");
    }
}

#[tokio::test]
async fn a_log_that_is_deleted_again_and_again_begins_again() {
    let pouring = Pouring::start().await;
    let log = pouring.log();
    let deleting = tokio::spawn(async move {
        let mut deleted = 0;
        for _ in 0..20 {
            deleted += u32::from(fs::remove_file(&log).is_ok());
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        deleted
    });
    pouring.pour().await;
    assert!(deleting.await.unwrap() > 5);
    pouring.end().await;
    assert!(pouring.is_logged("the end"));
}

#[tokio::test]
async fn a_log_whose_folder_is_gone_makes_it_again() {
    let pouring = Pouring::start().await;
    fs::remove_dir_all(pouring.machine.root().join("output/blog")).unwrap();
    pouring.pour().await;
    pouring.end().await;
    assert!(pouring.is_logged("the end"));
}

#[tokio::test]
async fn a_log_that_cannot_be_is_lost_and_holds_nobody_up() {
    let pouring = Pouring::start().await;
    // A file where its folder should be.
    fs::remove_dir_all(pouring.folder()).unwrap();
    fs::write(pouring.folder(), "").unwrap();
    pouring.pour().await;
    pouring.end().await;
}

#[tokio::test]
async fn a_log_in_a_folder_that_takes_no_writes_is_lost_and_holds_nobody_up() {
    let pouring = Pouring::start().await;
    let folder = pouring.cleared();
    let Some(disk) = Disk::read_only(&folder) else { return };
    pouring.pour().await;
    assert!(!pouring.log().exists());
    drop(disk);
    pouring.end().await;
    assert!(pouring.is_logged("the end"), "and goes on when it takes some again");
}

#[tokio::test]
async fn a_log_on_a_full_disk_holds_nobody_up_and_goes_on_when_there_is_room() {
    let pouring = Pouring::start().await;
    let folder = pouring.cleared();
    let Some(_disk) = Disk::mount(&folder) else { return };
    let ballast = folder.join("ballast");
    // It fails when nothing is left.
    let _ = fs::write(&ballast, vec![1; 8 * 1024 * 1024]);
    pouring.pour().await;
    fs::remove_file(ballast).unwrap();
    pouring.end().await;
    assert!(pouring.is_logged("the end"));
}

#[tokio::test]
async fn a_disk_that_hangs_holds_nobody_up_and_the_log_says_what_it_misses() {
    let pouring = Pouring::start().await;
    let folder = pouring.cleared();
    let Some(disk) = Disk::that_hangs(pouring.machine.folder.path(), &folder) else { return };
    disk.hang();
    pouring.pour().await;
    disk.go_on();
    let lost = || {
        let log = fs::read(pouring.log()).ok()?;
        String::from_utf8_lossy(&log).contains(" bytes of output are lost here: ").then_some(())
    };
    until("the log says that something is missing", lost).await;
    pouring.end().await;
    assert!(pouring.is_logged("the end"));
}

#[tokio::test]
async fn an_end_is_told_while_the_disk_of_its_log_hangs() {
    let pouring = Pouring::start().await;
    let folder = pouring.cleared();
    let Some(disk) = Disk::that_hangs(pouring.machine.folder.path(), &folder) else { return };
    disk.hang();
    pouring.pour().await;
    pouring.end().await;
    disk.go_on();
}

#[tokio::test]
async fn a_line_of_fifty_megabytes_and_bytes_of_any_kind_pass_and_nothing_grows() {
    let machine = Machine::new();
    let script = "head -c 50000000 /dev/zero | tr '\\0' x; echo; head -c 5000000 /dev/urandom; echo; echo done
        until test -e ../../../../end; do sleep 0.01; done";
    let process = machine.run(script).await;
    let done = async || process.last_lines().await.last().is_some_and(|line| line == "done");
    eventually("it is done", done).await;
    let memory = memory_of(shim_of(&process));
    assert!(memory.own_kib < 1024, "{memory:?}");
    assert!(is_alive(process.identity().pid));
    fs::write(machine.folder.path().join("end"), "").unwrap();
    assert_eq!(process.ended().await, Exit::Status(0));
    let logs = fs::read_dir(machine.root().join("output/blog/blog-1")).unwrap();
    let bytes: u64 = logs.map(|log| log.unwrap().metadata().unwrap().len()).sum();
    assert!(bytes < 3 * 1024 * 1024, "{bytes}");
}
