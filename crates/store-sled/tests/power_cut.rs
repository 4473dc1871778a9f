//! A power cut on a simulated disk: whatever was acknowledged before the cut must be in the store, whole.

use std::error::Error;
use std::path::Path;

#[path = "child/disk.rs"]
mod disk;
#[path = "child/model.rs"]
mod model;
#[path = "child/script.rs"]
mod script;

use disk::OnDisk;
use program_test::trace::{strace_is_here, trace};

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const WRITER: &str = env!("CARGO_BIN_EXE_store-sled-writer");

/// Commits before the trace, so that sled has segments to use again.
const BEFORE: u64 = 60;
const COMMITS: u64 = 30;

#[tokio::test]
async fn a_power_cut_loses_no_acknowledged_write() -> Outcome {
    if !strace_is_here("a_power_cut_loses_no_acknowledged_write")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("store");
    trace(WRITER, &[], &root, 1, BEFORE)?;
    let mut db = OnDisk::closed(root.join("data/db"))?;
    // It is set anew when the store is opened, to the same; then the trace has it under this name.
    let mut mark = OnDisk::closed(root.join("mark"))?;
    let calls = trace(WRITER, &["-xx", "-s", "2000000"], &root, BEFORE + 1, BEFORE + COMMITS)?;

    let mut contents = model::Contents::new();
    for number in 1..=BEFORE {
        model::apply(&mut contents, number)?;
    }
    let (mut acknowledged, mut moved) = (BEFORE, 0);
    let mut seed = 1;
    for call in &calls {
        let marks = mark.follow(call)?;
        moved += u64::from(marks);
        if db.follow(call)? || marks {
            // In the middle of a commit; before the first, sled is still opening.
            if acknowledged > BEFORE {
                let found = cut(&root, [&db, &mark], &mut seed).await?;
                let mut next = contents.clone();
                model::apply(&mut next, acknowledged + 1)?;
                let right = found == contents || found == next;
                assert!(right, "cut in the commit after {acknowledged}");
            }
        } else if call.acknowledges() {
            acknowledged += 1;
            model::apply(&mut contents, acknowledged)?;
            let found = cut(&root, [&db, &mark], &mut seed).await?;
            assert!(found == contents, "{acknowledged} was acknowledged and lost");
        }
    }
    assert_eq!((acknowledged, moved), (BEFORE + COMMITS, COMMITS));
    Ok(())
}

/// The store as it is found after a cut. It must open: neither file may make the other look damaged.
async fn cut(root: &Path, disk: [&OnDisk; 2], seed: &mut u64) -> Outcome<model::Contents> {
    let after = disk::cut(root, disk, seed)?;
    model::read(after.path()).await
}
