//! A power cut on a simulated disk: whatever the journal acknowledged before the cut must be in it, whole, and nothing half.
//!
//! What is on a disk after a cut is put together from the files before and after a change: all that was synced, and of what
//! was not any part.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use failure_book::{FailureBook, Journal, Kept};
use journal_file::{FileJournal, Options, Trust};

#[path = "child/book_script.rs"]
mod book_script;
#[path = "child/place.rs"]
mod place;

use place::{Outcome, journal_of, open, place};

/// What a disk writes whole.
const SECTOR_BYTES: usize = 512;

/// Enough that the file is written anew in some of them.
const CHANGES: u64 = 420;

/// The files of a journal as they are when a change was acknowledged.
#[derive(Clone, PartialEq)]
struct Files {
    journal: Vec<u8>,
    mark: Vec<u8>,
}

fn files(folder: &Path) -> Outcome<Files> {
    Ok(Files { journal: fs::read(journal_of(folder))?, mark: fs::read(folder.join("mark"))? })
}

/// A journal as it is found after a cut; it must open as whole, and what it says then must stay.
fn found(files: &BTreeMap<&str, &[u8]>) -> Outcome<Option<Kept>> {
    let folder = place()?;
    for (name, bytes) in files {
        fs::write(folder.path().join(name), bytes)?;
    }
    let opened = FileJournal::open(Options::new(folder.path()))?;
    assert_eq!(opened.trust, Trust::Whole);
    let mut journal = opened.journal;
    let kept = journal.load()?;
    drop(journal);
    assert!(open(folder.path())?.load()? == kept, "it did not stay");
    for name in ["journal.new", "mark.new"] {
        assert!(!folder.path().join(name).exists(), "litter");
    }
    Ok(kept)
}

/// Of the bytes behind the first `synced`, each sector is there or not, by the seed; what is not there is zeros.
fn torn(after: &[u8], synced: usize, seed: &mut u64) -> Vec<u8> {
    let mut found = after.to_vec();
    let mut begin = synced;
    while begin < found.len() {
        let end = ((begin / SECTOR_BYTES + 1) * SECTOR_BYTES).min(found.len());
        if next(seed).is_multiple_of(2) {
            found[begin..end].fill(0);
        }
        begin = end;
    }
    found
}

#[test]
fn a_power_cut_loses_no_acknowledged_change() -> Outcome {
    let folder = place()?;
    let mut book: FailureBook<FileJournal> = book_script::open(open(folder.path())?, 1)?;
    book_script::settle(&mut book)?;
    let mut before = (files(folder.path())?, book.journal_mut().load()?);
    let first_mark = before.0.mark.clone();
    let (mut seed, mut cuts, mut anew) = (1, 0, 0);
    for number in 1..=CHANGES {
        book_script::run(&mut book, number)?;
        let after = (files(folder.path())?, book.journal_mut().load()?);
        let (old, new) = (&before.0.journal, &after.0.journal);
        let mut check = |journal: &[u8], mark: &[u8], unfinished: Option<&[u8]>| -> Outcome {
            let mut files = BTreeMap::from([("journal", journal), ("mark", mark)]);
            files.extend(unfinished.map(|bytes| ("journal.new", bytes)));
            let kept = found(&files)?;
            assert!(kept == before.1 || kept == after.1, "change {number}: neither, nor");
            cuts += 1;
            // Acknowledged is what the newest mark says at the latest.
            let is_acknowledged = mark == after.0.mark;
            assert!(!is_acknowledged || kept == after.1, "change {number} was lost");
            Ok(())
        };
        // It changed nothing of the book; or it is one of the many that are only appended.
        if new == old || (new.starts_with(old) && !number.is_multiple_of(3)) {
            before = after;
            continue;
        }
        if new.starts_with(old) {
            // After it was acknowledged: the mark may be as it was before, the file is synced.
            check(new, &before.0.mark, None)?;
            check(new, &after.0.mark, None)?;
            // On its way: any part of the new frame, and of the file's new length.
            check(&torn(new, old.len(), &mut seed), &before.0.mark, None)?;
            let length = old.len() + usize::try_from(next(&mut seed))? % (new.len() - old.len());
            check(&torn(&new[..length], old.len(), &mut seed), &before.0.mark, None)?;
        } else {
            anew += 1;
            // Written anew: nothing of the new file before its name, all of it afterwards, and the mark of either.
            check(new, &before.0.mark, None)?;
            check(new, &after.0.mark, None)?;
            for _ in 0..20 {
                let length = usize::try_from(next(&mut seed))? % new.len();
                let part = torn(&new[..length], 0, &mut seed);
                check(old, &before.0.mark, Some(&part))?;
            }
        }
        before = after;
    }
    assert!(anew > 1, "written anew {anew} times");
    assert_ne!(first_mark, before.0.mark);
    println!("{cuts} power cuts, {anew} times written anew");
    Ok(())
}

/// The mark is not synced with each change, so it may be any that it was since the file was written anew.
#[test]
fn a_mark_that_lags_behind_takes_nothing_away() -> Outcome {
    let folder = place()?;
    let mut book: FailureBook<FileJournal> = book_script::open(open(folder.path())?, 1)?;
    let mut marks = Vec::new();
    for number in 1..60 {
        book_script::run(&mut book, number)?;
        marks.push(files(folder.path())?.mark);
    }
    let kept = book.journal_mut().load()?;
    let last = files(folder.path())?;
    for mark in &marks {
        let files = BTreeMap::from([("journal", &last.journal[..]), ("mark", &mark[..])]);
        assert!(found(&files)? == kept);
    }
    Ok(())
}

/// Every byte at which the last write can end, and every set of its sectors that can be missing.
#[test]
fn a_write_that_was_cut_short_anywhere_is_dropped() -> Outcome {
    let folder = place()?;
    let mut book: FailureBook<FileJournal> = book_script::open(open(folder.path())?, 1)?;
    for number in 1..10 {
        book_script::run(&mut book, number)?;
    }
    let (before, kept) = (files(folder.path())?, book.journal_mut().load()?);
    book_script::run(&mut book, 17)?;
    let (after, kept_after) = (files(folder.path())?, book.journal_mut().load()?);
    let (old, new) = (before.journal.len(), &after.journal);
    let found =
        |journal: &[u8]| found(&BTreeMap::from([("journal", journal), ("mark", &before.mark[..])]));
    for length in old..new.len() {
        assert!(found(&new[..length])? == kept, "cut at {length}");
    }
    let sectors = new.len().div_ceil(SECTOR_BYTES) - old / SECTOR_BYTES;
    assert!((3..12).contains(&sectors), "{sectors} sectors");
    for missing in 0_u32..1 << sectors {
        let mut journal = new.clone();
        for (place, byte) in journal.iter_mut().enumerate().skip(old) {
            if missing >> (place / SECTOR_BYTES - old / SECTOR_BYTES) & 1 == 1 {
                *byte = 0;
            }
        }
        let right = if journal == *new { &kept_after } else { &kept };
        assert!(found(&journal)? == *right, "without {missing:b}");
    }
    Ok(())
}

/// `XorShift`: enough to have some sectors land and some not.
fn next(seed: &mut u64) -> u64 {
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    *seed
}
