//! System calls under the journal: whatever is acknowledged was synced before, file and folders.

use std::path::Path;

use program_test::trace::{Call, Traced, strace_is_here, trace};

const RECORDER: &str = env!("CARGO_BIN_EXE_journal-file-recorder");

/// Enough that the file is written anew.
const CHANGES: u64 = 300;

#[test]
fn an_fdatasync_returned_before_every_acknowledgement() -> Traced {
    if !strace_is_here("an_fdatasync_returned_before_every_acknowledgement")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("book");
    let calls = trace(RECORDER, &[], &root, 1, CHANGES)?;
    let text = |path: &Path| path.to_string_lossy().into_owned();
    let (journal, mark) = (text(&root.join("journal")), text(&root.join("mark")));
    let acknowledged: Vec<&Call> = calls.iter().filter(|call| call.acknowledges()).collect();
    assert_eq!(u64::try_from(acknowledged.len())?, CHANGES + 1, "changes that were acknowledged");

    let (mut before, mut changes) = (0, 0);
    for acknowledged in &acknowledged {
        let now = |call: &&Call| before < call.began && call.returned < acknowledged.began;
        let of_now: Vec<&Call> = calls.iter().filter(now).collect();
        before = acknowledged.began;
        let Some(written) = of_now.iter().rposition(|call| call.writes(&journal)) else {
            // It changed nothing of the book.
            continue;
        };
        changes += 1;
        let after = &of_now[written + 1..];
        let synced = after.iter().position(|call| call.syncs(&journal));
        let marked = after.iter().position(|call| call.writes(&mark));
        let synced = synced.ok_or_else(|| format!("not synced: {}", acknowledged.text))?;
        let marked = marked.ok_or_else(|| format!("not marked: {}", acknowledged.text))?;
        assert!(synced < marked, "the mark is ahead at {}", acknowledged.text);
    }
    assert!(changes > CHANGES / 2, "{changes} changes: the trace is not understood");

    let first = acknowledged.first().ok_or("nothing was acknowledged")?.began;
    let above = folder.path().canonicalize()?;
    for path in [&root.join("journal"), &root, &above] {
        let path = text(path);
        let lasting = calls.iter().any(|call| call.syncs(&path) && call.returned < first);
        assert!(lasting, "{path} was not synced before the first acknowledgement");
    }
    Ok(())
}

/// A file gets its name when it is on the disk, and nothing is said before its name is.
#[test]
fn a_file_is_synced_before_it_has_its_name_and_the_folder_afterwards() -> Traced {
    if !strace_is_here("a_file_is_synced_before_it_has_its_name_and_the_folder_afterwards")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("book");
    let calls = trace(RECORDER, &[], &root, 1, CHANGES)?;
    let path = |name: &str| root.join(name).to_string_lossy().into_owned();
    let renames: Vec<&Call> =
        calls.iter().filter(|call| call.text.starts_with("rename(")).collect();
    let journals = renames.iter().filter(|call| call.text.contains("/journal\"")).count();
    assert!(journals > 1, "it was made, and {journals} times written anew with that");
    for rename in renames {
        let name = if rename.text.contains("/journal\"") { "journal" } else { "mark" };
        let unfinished = path(&format!("{name}.new"));
        let before = |call: &&Call| call.returned < rename.began;
        let written = calls.iter().filter(before).rfind(|call| call.writes(&unfinished));
        let written = written.ok_or("renamed without a write")?;
        let synced = calls.iter().filter(before).rfind(|call| call.syncs(&unfinished));
        assert!(synced.is_some_and(|sync| written.returned < sync.began), "{}", rename.text);

        // Next of all that matters the folder is synced.
        let folder = root.to_string_lossy().into_owned();
        let next = calls.iter().find(|call| {
            let matters = call.acknowledges() || call.writes(&path("journal"));
            rename.returned < call.began && (matters || call.syncs(&folder))
        });
        let next = next.ok_or("nothing came after")?;
        assert!(next.syncs(&folder), "{} after {}", next.text, rename.text);
    }
    Ok(())
}

/// The kernel takes pages that it could not write for clean: only when they are written again does a sync mean them.
#[test]
fn what_a_failed_sync_left_is_written_again_before_a_sync_is_believed() -> Traced {
    if !strace_is_here("what_a_failed_sync_left_is_written_again_before_a_sync_is_believed")? {
        return Ok(());
    }
    let folder = tempfile::tempdir()?;
    let root = folder.path().canonicalize()?.join("book");
    // The first is that of the mark when the journal is made, the second that of the first change.
    let fault = ["-e", "inject=fdatasync:error=EIO:when=4"];
    let calls = trace(RECORDER, &fault, &root, 1, 10)?;
    let journal = root.join("journal").to_string_lossy().into_owned();
    let failed = calls.iter().position(|call| call.text.contains("(INJECTED)"));
    let failed = failed.ok_or("no sync failed")?;
    assert!(calls[failed].text.contains(&journal), "{}", calls[failed].text);
    let written = calls[..failed].iter().rfind(|call| call.writes(&journal)).ok_or("no write")?;
    let after = &calls[failed + 1..];
    let synced = after.iter().position(|call| call.syncs(&journal)).ok_or("never synced")?;
    let again = after[..synced].iter().find(|call| call.writes(&journal));
    let again = again.ok_or("synced again, and nothing was written again")?;
    assert!(!after[..synced].iter().any(Call::acknowledges), "said before it was synced");
    // From the beginning of the page to where the failed write ended.
    let [first, second] = [&written.text, &again.text].map(|text| numbers(text));
    let ((length, place), (length_again, place_again)) = (first?, second?);
    assert!(place_again <= place && place_again.is_multiple_of(4096), "{}", again.text);
    assert_eq!(place_again + length_again, place + length, "{}", again.text);
    Ok(())
}

/// The length and the place of `pwrite64(4<path>, "…"..., 300, 1200) = 300`.
fn numbers(call: &str) -> Traced<(u64, u64)> {
    let (call, _) = call.rsplit_once(')').ok_or("no call")?;
    let mut numbers = call.rsplit(", ");
    let (place, length) = (numbers.next().ok_or("no place")?, numbers.next().ok_or("no length")?);
    Ok((length.parse()?, place.parse()?))
}
