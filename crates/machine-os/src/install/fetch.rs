//! Fetching an artifact into a file beside, verified while it streams, and gone on with where it was interrupted.
//!
//! What there is of it, the *part*, outlives whatever interrupts: a cut, a crash, a full disk that gets room again. It is
//! hashed before anything is added to it, so what was damaged meanwhile never becomes an artifact: a part from which
//! something else came than was declared is dropped, and the artifact is fetched once more from its beginning.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::path::Path;

use inventory::Artifact;
use names::Digest;
use sha2::{Digest as _, Sha256};

use crate::disk::Fault;
use crate::install::source::Source;
use crate::install::sweep;

/// How often a source that breaks off is asked to go on, at once. Whoever installs tries again later, with the part there is.
const CUTS_MAX: u32 = 3;

/// Why an artifact is not fetched.
#[derive(Debug)]
pub(super) enum Refused {
    /// Its source does not have it.
    Missing,
    /// Its source has something else, in words.
    Mismatch(String),
    /// Its source failed.
    Source(io::Error),
    /// The disk failed.
    Disk(io::Error),
}

/// Brings an artifact into the file `part`, and answers well only if it is what was declared, to the byte.
pub(super) fn fetch(source: &impl Source, artifact: &Artifact, part: &Path) -> Result<(), Refused> {
    let mut cuts = 0;
    let mut is_anew = false;
    loop {
        let mut held = Part::open(part).map_err(Refused::Disk)?;
        let begun_at = held.size;
        let completed = held.complete(source, artifact);
        if held.size == 0 && completed.is_err() {
            sweep::remove(part).map_err(Refused::Disk)?;
        }
        match completed {
            Ok(()) => return Ok(()),
            Err(Broken::Cut(_)) if cuts < CUTS_MAX => cuts += 1,
            Err(Broken::Cut(error)) => return Err(Refused::Source(error)),
            Err(Broken::Missing) => return Err(Refused::Missing),
            Err(Broken::Mismatch(found)) => {
                sweep::remove(part).map_err(Refused::Disk)?;
                // What was there before may be to blame, and not the source: it is asked once more, for all of it.
                if begun_at == 0 || is_anew {
                    return Err(Refused::Mismatch(found));
                }
                is_anew = true;
            }
            Err(Broken::Disk(error)) => {
                // A disk that is full needs its room more than this fetch does.
                if Fault::of(&error) == Fault::Full {
                    let _ = sweep::remove(part);
                }
                return Err(Refused::Disk(error));
            }
        }
    }
}

/// What there is of an artifact.
struct Part {
    file: File,
    size: u64,
    hasher: Sha256,
}

/// Why a part is not completed.
enum Broken {
    /// Its source broke off; what came is kept.
    Cut(io::Error),
    Missing,
    Mismatch(String),
    Disk(io::Error),
}

impl Part {
    /// Opens what an earlier fetch left and hashes it, or begins an empty one.
    fn open(path: &Path) -> io::Result<Self> {
        if path.is_dir() {
            sweep::remove(path)?;
        }
        let mut options = OpenOptions::new();
        let file = options.read(true).write(true).create(true).truncate(false).open(path)?;
        let mut part = Self { file, size: 0, hasher: Sha256::new() };
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = part.file.read(&mut buffer)?;
            let piece = buffer.get(..length).unwrap_or_default();
            if piece.is_empty() {
                return Ok(part);
            }
            part.hasher.update(piece);
            part.size += piece.len() as u64;
        }
    }

    fn complete(&mut self, source: &impl Source, artifact: &Artifact) -> Result<(), Broken> {
        let begun_at = self.size;
        if begun_at < artifact.size || artifact.size == 0 {
            let bytes = match source.open(&artifact.digest, self.size) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    return Err(Broken::Missing);
                }
                bytes => bytes.map_err(Broken::Cut)?,
            };
            self.take_in(bytes, artifact.size)?;
        }
        if self.size < artifact.size {
            // As long as something comes, an end may be a cut that nobody told.
            return Err(if self.size > begun_at {
                Broken::Cut(io::ErrorKind::UnexpectedEof.into())
            } else {
                Broken::Mismatch(format!("it has {} bytes, not {}", self.size, artifact.size))
            });
        }
        // A part that is too long has another one as well.
        let digest = Digest::from_bytes(self.hasher.finalize_reset().into());
        if digest != artifact.digest {
            return Err(Broken::Mismatch(format!("its digest is {}…", digest.short())));
        }
        Ok(())
    }

    /// Adds what comes. One byte more than declared shows that it is too long, and no more than that is read of it.
    fn take_in(&mut self, bytes: impl Read, size: u64) -> Result<(), Broken> {
        let mut bytes = bytes.take(size.saturating_sub(self.size).saturating_add(1));
        let mut buffer = vec![0; 64 * 1024];
        loop {
            let length = match bytes.read(&mut buffer) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                length => length.map_err(Broken::Cut)?,
            };
            let piece = buffer.get(..length).unwrap_or_default();
            if piece.is_empty() {
                return Ok(());
            }
            if self.size.saturating_add(piece.len() as u64) > size {
                return Err(Broken::Mismatch(format!("it is longer than {size} bytes")));
            }
            self.file.write_all(piece).map_err(Broken::Disk)?;
            self.hasher.update(piece);
            self.size += piece.len() as u64;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;
    use std::fs;
    use std::path::PathBuf;

    const GOOD: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz";
    const PAGE: &[u8] = b"<html>Please log in to go on</html>!";

    /// What a source does when it is asked.
    #[derive(Debug, Clone, Copy)]
    enum Answer {
        /// Gives what it has from the offset on, up to a place, and then breaks off.
        CutAt(&'static [u8], usize),
        /// The same, and says nothing of its breaking off.
        EndAt(&'static [u8], usize),
        /// Gives all that it has, from the offset on.
        Onward(&'static [u8]),
        /// Gives all that it has from its beginning on, whatever it was asked for.
        Ignores(&'static [u8]),
        Missing,
        Refuses,
    }

    /// Answers by script; the last answer is given again and again.
    struct Scripted {
        answers: Vec<Answer>,
        asked: RefCell<Vec<u64>>,
    }

    impl Scripted {
        fn new(answers: &[Answer]) -> Self {
            Self { answers: answers.to_vec(), asked: RefCell::default() }
        }
    }

    struct Cut;

    impl Read for Cut {
        fn read(&mut self, _: &mut [u8]) -> io::Result<usize> {
            Err(io::ErrorKind::ConnectionReset.into())
        }
    }

    impl Source for Scripted {
        fn open(&self, _: &Digest, offset: u64) -> io::Result<impl Read> {
            let nth = self.asked.borrow().len().min(self.answers.len() - 1);
            self.asked.borrow_mut().push(offset);
            let from = |bytes: &'static [u8]| {
                bytes.get(usize::try_from(offset).unwrap()..).unwrap_or_default()
            };
            let (bytes, breaks_off) = match self.answers[nth] {
                Answer::CutAt(bytes, at) => (from(&bytes[..at]), Some(Cut)),
                Answer::EndAt(bytes, at) => (from(&bytes[..at]), None),
                Answer::Onward(bytes) => (from(bytes), None),
                Answer::Ignores(bytes) => (bytes, None),
                Answer::Missing => return Err(io::ErrorKind::NotFound.into()),
                Answer::Refuses => return Err(io::ErrorKind::PermissionDenied.into()),
            };
            let cut: Box<dyn Read> = match breaks_off {
                Some(cut) => Box::new(cut),
                None => Box::new(io::empty()),
            };
            Ok(bytes.chain(cut))
        }
    }

    struct Place {
        _folder: tempfile::TempDir,
        part: PathBuf,
    }

    impl Place {
        fn new() -> Self {
            let folder = tempfile::tempdir().unwrap();
            Self { part: folder.path().join("part"), _folder: folder }
        }

        fn holding(content: &[u8]) -> Self {
            let place = Self::new();
            fs::write(&place.part, content).unwrap();
            place
        }

        fn held(&self) -> Option<Vec<u8>> {
            fs::read(&self.part).ok()
        }

        /// Fetches `GOOD`, and says where the source was asked to begin.
        fn fetch(&self, answers: &[Answer]) -> (Result<(), Refused>, Vec<u64>) {
            let source = Scripted::new(answers);
            let digest = Digest::from_bytes(Sha256::digest(GOOD).into());
            let name = "blog.tar".parse().unwrap();
            let artifact = Artifact { name, size: GOOD.len() as u64, digest };
            let done = fetch(&source, &artifact, &self.part);
            (done, source.asked.into_inner())
        }
    }

    #[test]
    fn a_fetch_that_is_cut_anywhere_goes_on_from_there() {
        for at in 0..GOOD.len() {
            for cut in [Answer::CutAt(GOOD, at), Answer::EndAt(GOOD, at)] {
                let place = Place::new();
                let (done, asked) = place.fetch(&[cut, Answer::Onward(GOOD)]);
                match (cut, at) {
                    // Nothing at all is what such a source has.
                    (Answer::EndAt(..), 0) => {
                        assert!(matches!(done, Err(Refused::Mismatch(_))), "{done:?}");
                    }
                    _ => {
                        assert!(done.is_ok(), "{cut:?}: {done:?}");
                        assert_eq!((place.held(), asked), (Some(GOOD.into()), vec![0, at as u64]));
                    }
                }
            }
        }
    }

    #[test]
    fn a_source_that_goes_on_breaking_off_is_left_for_later_with_the_part_kept() {
        let place = Place::new();
        let cuts = [3, 7, 7, 20].map(|at| Answer::CutAt(GOOD, at));
        let (done, asked) = place.fetch(&cuts);
        assert!(matches!(done, Err(Refused::Source(_))), "{done:?}");
        assert_eq!((place.held(), asked), (Some(GOOD[..20].into()), vec![0, 3, 7, 7]));
        let (done, asked) = place.fetch(&[Answer::Onward(GOOD)]);
        assert!(done.is_ok() && asked == [20] && place.held().as_deref() == Some(GOOD));
    }

    #[test]
    fn what_an_interrupted_fetch_left_is_gone_on_with_only_if_it_is_right() {
        let damaged: &[u8] = b"0123X56789abcdef";
        let longer = [GOOD, b"!"].concat();
        for (left, expected) in [
            (&b""[..], vec![0]),
            (&GOOD[..1], vec![1]),
            (&GOOD[..35], vec![35]),
            (GOOD, vec![]),
            (damaged, vec![16, 0]),
            (PAGE, vec![0]),
            (&longer, vec![0]),
        ] {
            let place = Place::holding(left);
            let (done, asked) = place.fetch(&[Answer::Onward(GOOD)]);
            assert!(done.is_ok(), "{left:?}: {done:?}");
            assert_eq!((place.held(), asked), (Some(GOOD.into()), expected), "{left:?}");
        }
    }

    #[test]
    fn a_source_that_begins_anew_although_it_was_asked_to_go_on_spoils_nothing() {
        for (answers, expected) in [
            // Once it is too long, once its digest is wrong, and once it ends too soon.
            (&[Answer::Ignores(GOOD), Answer::Onward(GOOD)][..], vec![10, 0]),
            (&[Answer::Ignores(&GOOD[..26]), Answer::Onward(GOOD)], vec![10, 0]),
            (&[Answer::Ignores(&GOOD[..5]), Answer::Onward(GOOD)], vec![10, 15, 0]),
        ] {
            let place = Place::holding(&GOOD[..10]);
            let (done, asked) = place.fetch(answers);
            assert!(done.is_ok(), "{answers:?}: {done:?}");
            assert_eq!((place.held(), asked), (Some(GOOD.into()), expected), "{answers:?}");
        }
    }

    #[test]
    fn something_else_than_was_declared_is_refused_and_dropped() {
        let changed: &[u8] = b"0123456789abcdefgh?jklmnopqrstuvwxyz";
        let longer: &[u8] = b"0123456789abcdefghijklmnopqrstuvwxyz and more";
        for (answer, words) in [
            (Answer::Onward(PAGE), "its digest is"),
            (Answer::Onward(&PAGE[..20]), "it has 20 bytes, not 36"),
            (Answer::Onward(b""), "it has 0 bytes, not 36"),
            (Answer::Onward(changed), "its digest is"),
            (Answer::Onward(longer), "it is longer than 36 bytes"),
            (Answer::Ignores(longer), "it is longer than 36 bytes"),
        ] {
            for left in [&b""[..], &GOOD[..5]] {
                let place = Place::holding(left);
                let (done, asked) = place.fetch(&[answer]);
                let Err(Refused::Mismatch(found)) = &done else { unreachable!("{done:?}") };
                assert!(found.starts_with(words), "{answer:?}: {found}");
                assert_eq!(place.held(), None, "{answer:?}");
                assert!(asked.len() <= 4, "{answer:?}: {asked:?}");
            }
        }
    }

    #[test]
    fn a_page_instead_of_the_rest_costs_one_more_fetch() {
        let cut = Answer::CutAt(GOOD, 25);
        // The page ends before as much came as was declared, and then the artifact goes on behind it.
        let page = Answer::Ignores(&PAGE[..5]);
        let place = Place::new();
        let (done, asked) = place.fetch(&[cut, page, Answer::Onward(GOOD)]);
        assert!(done.is_ok(), "{done:?}");
        assert_eq!((place.held(), asked), (Some(GOOD.into()), vec![0, 25, 30, 0]));
    }

    #[test]
    fn a_source_that_has_nothing_or_refuses_keeps_the_part() {
        let place = Place::holding(&GOOD[..5]);
        let (done, _) = place.fetch(&[Answer::Missing]);
        assert!(matches!(done, Err(Refused::Missing)), "{done:?}");
        let (done, asked) = place.fetch(&[Answer::Refuses]);
        assert!(matches!(done, Err(Refused::Source(_))) && asked.len() == 4, "{done:?} {asked:?}");
        assert_eq!(place.held().as_deref(), Some(&GOOD[..5]));
    }

    #[test]
    fn no_more_than_one_byte_too_many_is_read() {
        struct Endless(std::rc::Rc<RefCell<usize>>);
        impl Read for Endless {
            fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
                *self.0.borrow_mut() += into.len();
                into.fill(0);
                Ok(into.len())
            }
        }
        struct Flood(std::rc::Rc<RefCell<usize>>);
        impl Source for Flood {
            fn open(&self, _: &Digest, _: u64) -> io::Result<impl Read> {
                Ok(Endless(std::rc::Rc::clone(&self.0)))
            }
        }
        let place = Place::new();
        let read = std::rc::Rc::new(RefCell::new(0));
        let digest = Digest::from_bytes(Sha256::digest(GOOD).into());
        let artifact = Artifact { name: "a".parse().unwrap(), size: GOOD.len() as u64, digest };
        let done = fetch(&Flood(std::rc::Rc::clone(&read)), &artifact, &place.part);
        assert!(matches!(done, Err(Refused::Mismatch(_))), "{done:?}");
        assert_eq!(*read.borrow(), GOOD.len() + 1);
    }
}
