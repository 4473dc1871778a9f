//! Damaged files: each is the right book, or is named as damaged and left as it was found. None is ever a smaller book.

use std::fs;
use std::path::Path;

use failure_book::{Book, BookId, FailureBook, Journal, Kept};
use journal_file::{Damage, FileJournal, Note, OpenError, Options, Trust};
use tempfile::TempDir;

#[path = "child/book_script.rs"]
mod book_script;
#[path = "child/filled.rs"]
mod filled;
#[path = "child/place.rs"]
mod place;

use filled::filled;
use place::{Outcome, journal_of, open, place};

/// A closed journal of some hundred bytes, with a few changes.
fn small() -> Outcome<TempDir> {
    let folder = place()?;
    let mut book: FailureBook<FileJournal> = book_script::open(open(folder.path())?, 1)?;
    for number in [7, 8, 11, 16, 14] {
        book_script::run(&mut book, number)?;
    }
    Ok(folder)
}

/// What a journal was opened with, and what it holds.
type Found = (Trust, Vec<Note>, Option<Kept>);

/// Opens the files of another journal with one of them changed; the file must stay as it is when that is refused.
fn opened_with(right: &Path, name: &str, bytes: &[u8]) -> Outcome<Result<Found, OpenError>> {
    let folder = place()?;
    for file in ["journal", "mark"] {
        fs::copy(right.join(file), folder.path().join(file))?;
    }
    fs::write(folder.path().join(name), bytes)?;
    let before = fs::read(journal_of(folder.path()))?;
    let read = journal_file::read(folder.path());
    let opened = FileJournal::open(Options::new(folder.path()));
    match opened {
        Ok(opened) => {
            let mut journal = opened.journal;
            let kept = journal.load()?;
            assert!(read? == kept, "what looks on sees something else");
            Ok(Ok((opened.trust, opened.notes, kept)))
        }
        Err(error) => {
            assert!(read.is_err(), "what looks on sees a book where there is {error}");
            assert_eq!(fs::read(journal_of(folder.path()))?, before, "left as it was: {error}");
            Ok(Err(error))
        }
    }
}

fn is_damage(error: &OpenError) -> bool {
    match error {
        OpenError::Damaged { .. } | OpenError::Schema { .. } => true,
        OpenError::InUse { .. }
        | OpenError::Rows { .. }
        | OpenError::Full { .. }
        | OpenError::ReadOnly { .. }
        | OpenError::Io { .. } => false,
    }
}

#[test]
fn a_byte_that_was_flipped_anywhere_is_damage() -> Outcome {
    let right = small()?;
    let bytes = fs::read(journal_of(right.path()))?;
    for place in 0..bytes.len() {
        for flipped in [0x01, 0x80, 0xff] {
            let mut bytes = bytes.clone();
            bytes[place] ^= flipped;
            let opened = opened_with(right.path(), "journal", &bytes)?;
            let error = opened.err().ok_or_else(|| format!("{flipped} at {place} opened"))?;
            assert!(is_damage(&error), "{error}");
            if let OpenError::Damaged { place: said, .. } = error {
                assert!(said <= u64::try_from(place)?, "{said} is after {place}");
            }
        }
    }
    Ok(())
}

#[test]
fn a_file_that_was_cut_anywhere_is_damage() -> Outcome {
    let right = small()?;
    let bytes = fs::read(journal_of(right.path()))?;
    for length in 0..bytes.len() {
        let opened = opened_with(right.path(), "journal", &bytes[..length])?;
        let error = opened.err().ok_or_else(|| format!("cut at {length} and opened"))?;
        assert!(matches!(error, OpenError::Damaged { .. }), "{length}: {error}");
        let text = error.to_string();
        assert!(text.contains("journal is damaged at byte"), "{text}");
    }
    Ok(())
}

/// A mark that cannot be relied on takes no row away, and is loud.
#[test]
fn a_mark_that_was_flipped_or_cut_makes_the_journal_doubtful() -> Outcome {
    let right = small()?;
    let kept = journal_file::read(right.path())?;
    let mark = fs::read(right.path().join("mark"))?;
    let flipped = (0..mark.len()).map(|place| {
        let mut mark = mark.clone();
        mark[place] ^= 0x01;
        mark
    });
    let cut = (0..mark.len()).map(|length| mark[..length].to_vec());
    for bytes in flipped.chain(cut) {
        let (trust, notes, found) = opened_with(right.path(), "mark", &bytes)??;
        assert_eq!(trust, Trust::Doubtful);
        assert!(matches!(&notes[..], [Note::DamagedMark { .. }]), "{notes:?}");
        assert!(found == kept);
    }
    Ok(())
}

/// It stays doubtful until something has landed, whoever opens it meanwhile.
#[test]
fn a_journal_without_its_mark_is_doubtful_until_a_change_has_landed() -> Outcome {
    let folder = filled()?;
    let kept = journal_file::read(folder.path())?;
    assert_eq!(journal_file::trust(folder.path())?, Trust::Whole);
    fs::remove_file(folder.path().join("mark"))?;
    for _ in 0..2 {
        assert_eq!(journal_file::trust(folder.path())?, Trust::Doubtful);
        let opened = FileJournal::open(Options::new(folder.path()))?;
        assert_eq!(opened.trust, Trust::Doubtful);
        assert!(matches!(&opened.notes[..], [Note::MissingMark { .. }]), "{:?}", opened.notes);
        let mut journal = opened.journal;
        assert!(journal.load()? == kept);
    }
    let journal = FileJournal::open(Options::new(folder.path()))?.journal;
    let mut book = book_script::open(journal, 1)?;
    let answer = book.run(|book: &mut Book| book.rotate_identity(BookId::from_random([9; 16])));
    assert!(answer.error.is_none(), "{:?}", book.failure());
    drop(book);
    let mut journal = open(folder.path())?;
    assert!(journal.load()? != kept, "the identity is another");
    Ok(())
}

/// An empty book would let a build that failed start again.
#[test]
fn a_made_journal_without_its_changes_is_no_empty_book() -> Outcome {
    let folder = place()?;
    drop(open(folder.path())?);
    let empty = fs::read(journal_of(folder.path()))?;
    // With its mark it is an empty one, which it is.
    assert_eq!(open(folder.path())?.load()?, None);

    let filled = filled()?;
    let error = opened_with(filled.path(), "journal", &empty)?.err().ok_or("opened")?;
    let is_older = matches!(error, OpenError::Damaged { what: Damage::Older { found: 1, .. }, .. });
    assert!(is_older, "{error}");
    for damage in [None, Some("no mark")] {
        match damage {
            Some(text) => fs::write(folder.path().join("mark"), text)?,
            None => fs::remove_file(folder.path().join("mark"))?,
        }
        for _ in 0..2 {
            let error = open(folder.path()).err().ok_or("taken for an empty book")?;
            assert!(matches!(error, OpenError::Damaged { what: Damage::Empty, .. }), "{error}");
            assert!(journal_file::read(folder.path()).is_err());
        }
    }
    Ok(())
}

#[test]
fn a_file_that_is_gone_or_something_else_is_named() -> Outcome {
    type Damaging = fn(&Path) -> std::io::Result<()>;
    let folder = |path: &Path| {
        fs::remove_file(path)?;
        fs::create_dir(path)
    };
    let link = |path: &Path| {
        fs::rename(path, path.with_extension("moved"))?;
        std::os::unix::fs::symlink(path.with_extension("moved"), path)
    };
    let damages: [(Damaging, Damage, &str); 5] = [
        (|path| fs::remove_file(path), Damage::Missing, "it is missing"),
        (folder, Damage::NoFile, "it is no file"),
        (link, Damage::NoFile, "it is no file"),
        (|path| fs::write(path, b""), Damage::Header, "its first line"),
        (|path| fs::write(path, vec![0x5a; 600_000]), Damage::Header, "its first line"),
    ];
    for (damage, what, said) in damages {
        let folder = filled()?;
        let path = journal_of(folder.path());
        damage(&path)?;
        for _ in 0..2 {
            for error in [
                open(folder.path()).err().ok_or("a damaged journal was opened")?,
                journal_file::read(folder.path()).err().ok_or("a damaged journal was read")?,
            ] {
                let text = error.to_string();
                let is = matches!(error, OpenError::Damaged { what: found, .. } if found == what);
                assert!(is, "{text}");
                assert!(text.contains(path.to_str().ok_or("no text")?), "{text}");
                assert!(text.contains(said), "{text}");
            }
        }
    }
    Ok(())
}

/// Bytes that no process of ours wrote, behind what was acknowledged: they are not rows, and nothing else is lost.
#[test]
fn what_is_no_frame_behind_the_last_is_dropped_and_said() -> Outcome {
    let right = small()?;
    let kept = journal_file::read(right.path())?;
    let bytes = fs::read(journal_of(right.path()))?;
    let tails: [&[u8]; 5] =
        [&[0], &[0; 12], &[0; 5_000], &[0xff; 12], b"\xff\xff\xff\x3f and so on"];
    for tail in tails {
        let (trust, notes, found) =
            opened_with(right.path(), "journal", &[&bytes[..], tail].concat())??;
        assert_eq!(trust, Trust::Whole);
        let [Note::TornEnd { bytes, .. }] = &notes[..] else { panic!("{notes:?}") };
        assert_eq!(*bytes, u64::try_from(tail.len())?);
        assert!(found == kept);
    }
    Ok(())
}

/// The file and its mark both as they were some changes ago cannot be told from a journal that came only so far; the
/// file alone can.
#[test]
fn an_older_copy_of_the_file_beside_its_newer_mark_is_damage() -> Outcome {
    let folder = small()?;
    let older = fs::read(journal_of(folder.path()))?;
    let mut book = book_script::open(open(folder.path())?, 30)?;
    for number in [33, 34, 36] {
        book_script::run(&mut book, number)?;
    }
    drop(book);
    let error = opened_with(folder.path(), "journal", &older)?.err().ok_or("opened")?;
    let is = matches!(error, OpenError::Damaged { place, what: Damage::Changed, .. }
        if place == u64::try_from(older.len())?);
    assert!(is, "{error}");
    Ok(())
}

/// Whole frames from elsewhere: of another journal, or of this one in another order.
#[test]
fn frames_that_were_moved_are_damage() -> Outcome {
    let right = small()?;
    let bytes = fs::read(journal_of(right.path()))?;
    let mut places = vec![100];
    while let Some(length) = bytes.get(places[places.len() - 1]..).and_then(<[u8]>::first_chunk) {
        let length = usize::try_from(u32::from_le_bytes(*length))?;
        places.push(places[places.len() - 1] + 12 + length);
    }
    assert_eq!(places.last(), Some(&bytes.len()));
    let frames: Vec<&[u8]> = places.windows(2).map(|ends| &bytes[ends[0]..ends[1]]).collect();
    assert!(frames.len() > 3);
    for swapped in 1..frames.len() {
        let mut frames = frames.clone();
        frames.swap(swapped - 1, swapped);
        if frames[swapped - 1] == frames[swapped] {
            continue;
        }
        let moved = [&bytes[..100], &frames.concat()].concat();
        let opened = opened_with(right.path(), "journal", &moved)?;
        assert!(opened.is_err_and(|error| is_damage(&error)), "{swapped}");
    }
    Ok(())
}

/// A journal that went another way since, by frames that are whole and as long: the mark is of another past.
#[test]
fn another_past_of_the_same_length_is_damage() -> Outcome {
    let begun = |number| -> Outcome<TempDir> {
        let folder = place()?;
        let mut book = book_script::open(open(folder.path())?, 1)?;
        for number in [1, number] {
            book_script::run(&mut book, number)?;
        }
        Ok(folder)
    };
    let (one, other) = (begun(24)?, begun(64)?);
    let [right, wrong] = [one, other].map(|folder| (fs::read(journal_of(folder.path())), folder));
    let wrong = wrong.0?;
    assert_eq!(right.0?.len(), wrong.len());
    let error = opened_with(right.1.path(), "journal", &wrong)?.err().ok_or("opened")?;
    assert!(matches!(error, OpenError::Damaged { what: Damage::Changed, .. }), "{error}");
    Ok(())
}
