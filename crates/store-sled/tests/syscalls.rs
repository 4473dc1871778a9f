//! System calls under the store: whatever is acknowledged was synced before, file and folders; and a call that the
//! disk answers with an error costs no acknowledged write, and never hangs the store.

use std::error::Error;
use std::path::Path;

#[path = "child/model.rs"]
mod model;
#[path = "child/script.rs"]
mod script;

use program_test::faulty;
use program_test::trace::{Call, strace_is_here, trace};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const WRITER: &str = env!("CARGO_BIN_EXE_store-sled-writer");

const COMMITS: u64 = 40;

#[test]
fn an_fsync_returned_before_every_acknowledgement() -> Outcome {
    if !strace_is_here("an_fsync_returned_before_every_acknowledgement")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("store");
    let calls = trace(WRITER, &[], &root, 1, COMMITS)?;
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
        let failed = faulty::run(WRITER, error, &folder.path().join("store"), 1..=COMMITS)?;
        assert!(failed > 0, "{error}: no commit failed, so nothing was tried");
        let found = model::read(&folder.path().join("store")).await?;
        assert!(found == right, "{error}: not what was acknowledged");
    }
    Ok(())
}
