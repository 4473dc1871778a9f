//! System calls under the store: whatever is acknowledged was synced before, file and folders; and a call that the
//! disk answers with an error costs no acknowledged write, and never hangs the store.

use std::error::Error;
use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

#[path = "child/model.rs"]
mod model;
#[path = "child/script.rs"]
mod script;
#[path = "child/trace.rs"]
mod trace;

use trace::{Call, strace_is_here, trace};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const COMMITS: u64 = 40;

#[test]
fn an_fsync_returned_before_every_acknowledgement() -> Outcome {
    if !strace_is_here("an_fsync_returned_before_every_acknowledgement")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("store");
    let calls = trace(&[], &root, 1, COMMITS)?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let db = text(&root.join("data/db"));
    let acknowledged: Vec<&Call> = calls.iter().filter(|call| call.acknowledges()).collect();
    assert_eq!(u64::try_from(acknowledged.len())?, COMMITS, "commits that were acknowledged");

    let mut before = 0;
    for acknowledged in &acknowledged {
        let since = |call: &&Call| before < call.began && call.began < acknowledged.began;
        let writes = calls.iter().filter(|call| call.writes(&db)).filter(since);
        let last = writes.map(|call| call.returned).max();
        let last = last.ok_or("acknowledged without a write: the trace is not understood")?;
        let lasting = calls
            .iter()
            .any(|call| call.syncs(&db) && last < call.began && call.returned < acknowledged.began);
        assert!(lasting, "{:?} was said before its write was synced", acknowledged.text);
        before = acknowledged.began;
    }

    let first = acknowledged.first().ok_or("nothing was acknowledged")?.began;
    let made = ["schema.new", "data/db", "data/conf", "data", "", ".."];
    for path in made.map(|path| root.join(path)) {
        // The name by which the file was opened; the folder above by its own.
        let path = if path.ends_with("..") { folder.path().canonicalize()? } else { path };
        let path = text(&path).trim_end_matches('/').to_owned();
        let lasting = calls.iter().any(|call| call.syncs(&path) && call.returned < first);
        assert!(lasting, "{path} was not synced before the first acknowledgement");
    }
    Ok(())
}

/// Which calls fail, with which error. strace counts each thread's calls apart, so one rule hits several threads
/// of sled's pool; the writer tries a commit again until it lands. Opening uses fsync, a commit
/// fdatasync; the first is that of the making.
const ERRORS: [&str; 14] = [
    "sync_file_range:error=EIO:when=2",
    "sync_file_range:error=EIO:when=3",
    "sync_file_range:error=EIO:when=4",
    "sync_file_range:error=EIO:when=5",
    // Again and again: only so is it likely that one hits what sled does not tell the thread that waits.
    "sync_file_range:error=EIO:when=2+3",
    "sync_file_range:error=EIO:when=3+4",
    "fdatasync:error=EIO:when=2",
    "fdatasync:error=EIO:when=3",
    "fdatasync:error=EIO:when=4",
    "fdatasync:error=ENOSPC:when=5",
    "pwrite64:error=ENOSPC:when=2",
    "pwrite64:error=ENOSPC:when=3",
    "pwrite64:error=EROFS:when=4",
    "pwrite64:error=EIO:when=5",
];

/// Far more than the commits take; a store that hangs stays for ever.
const PATIENCE: Duration = Duration::from_secs(120);

#[tokio::test]
async fn an_error_of_the_disk_neither_hangs_the_store_nor_loses_a_write() -> Outcome {
    if !strace_is_here("an_error_of_the_disk_neither_hangs_the_store_nor_loses_a_write")? {
        return Ok(());
    }
    let mut right = model::Contents::new();
    for number in 1..=COMMITS {
        model::apply(&mut right, number)?;
    }
    for error in ERRORS {
        let folder = tempfile::tempdir()?;
        let failed = write_with(error, folder.path())?;
        assert!(failed > 0, "{error}: no commit failed, so nothing was tried");
        let found = model::read(&folder.path().join("store")).await?;
        assert!(found == right, "{error}: not what was acknowledged");
    }
    Ok(())
}

/// Runs the writer with some of its calls failing; answers how many commits failed before they landed.
fn write_with(error: &str, folder: &Path) -> Outcome<usize> {
    let mut child = Command::new("strace")
        .args(["-f", "-e", "trace=pwrite64,sync_file_range,fsync,fdatasync", "-e"])
        .arg(format!("inject={error}"))
        .arg("-o")
        .arg(folder.join("trace"))
        .arg(env!("CARGO_BIN_EXE_store-sled-writer"))
        .arg(folder.join("store"))
        .args(["1", &COMMITS.to_string()])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()?;
    let lines = BufReader::new(child.stdout.take().ok_or("no output")?).lines();
    let (said, heard) = mpsc::channel();
    thread::spawn(move || {
        for line in lines.map_while(Result::ok) {
            said.send(line).ok();
        }
    });
    let outcome = wait_for_all(&heard).map_err(|what| format!("{error}: {what}"));
    if outcome.is_err() {
        end(&mut child)?;
    }
    let mut complaints = String::new();
    child.stderr.take().ok_or("no errors")?.read_to_string(&mut complaints)?;
    let status = child.wait()?;
    outcome.map_err(|what| format!("{what}; {status}; {complaints}"))?;
    Ok(complaints.lines().filter(|line| line.starts_with("commit ")).count())
}

fn wait_for_all(heard: &mpsc::Receiver<String>) -> Result<(), String> {
    for number in 1..=COMMITS {
        let line = heard.recv_timeout(PATIENCE);
        let line = line.map_err(|error| format!("before {number} was acknowledged: {error}"))?;
        if line != number.to_string() {
            return Err(format!("{line} was acknowledged in place of {number}"));
        }
    }
    Ok(())
}

/// Ends strace's child with it: a killed strace would let it run on.
fn end(child: &mut Child) -> Outcome {
    let children = format!("/proc/{0}/task/{0}/children", child.id());
    for traced in std::fs::read_to_string(children)?.split_whitespace() {
        Command::new("kill").args(["-9", traced]).status()?;
    }
    Ok(child.kill()?)
}
