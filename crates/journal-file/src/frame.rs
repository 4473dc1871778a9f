//! Frames: one change as bytes, and back.
//!
//! ```text
//! length   4 bytes   of the body; never 0
//! head     4 bytes   check of the length, after the check of the frame before
//! body     4 bytes   check of the body, after that of the head: the check of this frame
//! …        the body: for each row
//!            key      4 bytes   length of the key
//!            value    4 bytes   length of the value and 1; 0 when the row is dropped
//!            …        the key, then the value
//!          and 4 bytes of 0xff at its end
//! ```
//!
//! Numbers have their lowest byte first. Since the head has a check of its own, a length is believed before anything is
//! read by it; and since the checks are chained, a frame stands at its own place in its own file only.

use std::io::{self, Read};

use failure_book::Entry;

use crate::check::Check;

/// How long the body of a frame is at most, in bytes. A change that is longer is refused: it would be a book of millions
/// of records in one change.
pub const FRAME_BYTES_MAX: u32 = 1 << 30;

/// What stands before a body.
const HEAD_BYTES: usize = 12;

/// Ends a body, which so is never empty. A key of this length would not fit into a frame.
const END: [u8; 4] = [0xff; 4];

/// What a row takes in a body besides its key and its value.
const ROW_BYTES: u64 = 8;

/// A change is longer than [`FRAME_BYTES_MAX`].
#[derive(Debug)]
pub(crate) struct TooLong;

/// A row as it stands in a frame; without a value it is dropped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RowBytes<'a> {
    pub(crate) key: &'a [u8],
    pub(crate) value: Option<&'a [u8]>,
}

impl<'a> RowBytes<'a> {
    pub(crate) fn of(entry: &'a Entry) -> Self {
        Self { key: entry.key.as_bytes(), value: entry.value.as_deref() }
    }

    /// How much of a body it takes.
    pub(crate) fn bytes(self) -> u64 {
        let lengths = self.key.len().saturating_add(self.value.map_or(0, <[u8]>::len));
        u64::try_from(lengths).unwrap_or(u64::MAX).saturating_add(ROW_BYTES)
    }
}

/// The frame of these rows, to stand after what comes to `before`, and what it comes to.
pub(crate) fn encode<'a>(
    rows: impl IntoIterator<Item = RowBytes<'a>>,
    before: Check,
) -> Result<(Vec<u8>, Check), TooLong> {
    let mut frame = vec![0; HEAD_BYTES];
    let mut body_bytes = u64::try_from(END.len()).unwrap_or(u64::MAX);
    for row in rows {
        body_bytes = body_bytes.saturating_add(row.bytes());
        if body_bytes > u64::from(FRAME_BYTES_MAX) {
            return Err(TooLong);
        }
        let key = u32::try_from(row.key.len()).map_err(|_| TooLong)?;
        let value = u32::try_from(row.value.map_or(0, |value| value.len() + 1));
        frame.extend_from_slice(&key.to_le_bytes());
        frame.extend_from_slice(&value.map_err(|_| TooLong)?.to_le_bytes());
        frame.extend_from_slice(row.key);
        frame.extend_from_slice(row.value.unwrap_or_default());
    }
    frame.extend_from_slice(&END);
    let (head, body) = frame.split_at_mut(HEAD_BYTES);
    let length = u32::try_from(body.len()).map_err(|_| TooLong)?.to_le_bytes();
    let head_check = before.and(&length);
    let body_check = head_check.and(body);
    for (to, from) in head.chunks_exact_mut(4).zip([
        length,
        head_check.0.to_le_bytes(),
        body_check.0.to_le_bytes(),
    ]) {
        to.copy_from_slice(&from);
    }
    Ok((frame, body_check))
}

/// Why what stands at a place is no frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unfit {
    /// The file ends before the frame does, or its head or the last body are not as they were written: so it can be
    /// that its write was cut short.
    Torn,
    /// Its body is not as it was written, and something follows, which was written only after this frame was whole.
    Inside,
}

/// What comes next in a file.
#[derive(Debug)]
pub(crate) enum Next<'a> {
    /// The body of a frame.
    Body(&'a [u8]),
    /// The file ends here.
    End,
    /// Something that is no frame.
    Unfit(Unfit),
}

/// The frames of a file, one after another.
#[derive(Debug)]
pub(crate) struct Frames<R> {
    from: R,
    /// Where the next frame begins.
    pub(crate) place: u64,
    /// How long the file is.
    length: u64,
    /// What everything before comes to.
    pub(crate) check: Check,
    body: Vec<u8>,
}

impl<R: Read> Frames<R> {
    /// Goes on reading at `place`, in a file of this length.
    pub(crate) fn at(from: R, place: u64, length: u64, check: Check) -> Self {
        Self { from, place, length, check, body: Vec::new() }
    }

    pub(crate) fn next(&mut self) -> io::Result<Next<'_>> {
        let left = self.length.saturating_sub(self.place);
        if left == 0 {
            return Ok(Next::End);
        }
        let mut head = [[0; 4]; HEAD_BYTES / 4];
        if left < HEAD_BYTES as u64 || !fill(&mut self.from, head.as_flattened_mut())? {
            return Ok(Next::Unfit(Unfit::Torn));
        }
        let [length, head_check, body_check] = head;
        let checked = self.check.and(&length);
        let length = u64::from(u32::from_le_bytes(length));
        let end = self.place.saturating_add(HEAD_BYTES as u64).saturating_add(length);
        // All three are looked at before a byte of memory is taken for the body.
        if checked.0.to_le_bytes() != head_check
            || !(1..=u64::from(FRAME_BYTES_MAX)).contains(&length)
            || end > self.length
        {
            return Ok(Next::Unfit(Unfit::Torn));
        }
        self.body.resize(usize::try_from(length).unwrap_or(usize::MAX), 0);
        if !fill(&mut self.from, &mut self.body)? {
            return Ok(Next::Unfit(Unfit::Torn));
        }
        let checked = checked.and(&self.body);
        if checked.0.to_le_bytes() != body_check {
            return Ok(Next::Unfit(if end < self.length { Unfit::Inside } else { Unfit::Torn }));
        }
        (self.place, self.check) = (end, checked);
        Ok(Next::Body(&self.body))
    }
}

/// Fills all of it; `false` when the file ends before.
fn fill(from: &mut impl Read, bytes: &mut [u8]) -> io::Result<bool> {
    match from.read_exact(bytes) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => Ok(false),
        Err(error) => Err(error),
    }
}

/// The rows of a body, in their order; `None` in place of one that makes no sense, which is then the last.
pub(crate) fn rows(body: &[u8]) -> impl Iterator<Item = Option<RowBytes<'_>>> {
    let mut rest = Some(body);
    std::iter::from_fn(move || {
        let bytes = rest.take()?;
        if bytes == END {
            return None;
        }
        let split = row(bytes);
        rest = split.map(|(_, after)| after);
        Some(split.map(|(row, _)| row))
    })
}

fn row(bytes: &[u8]) -> Option<(RowBytes<'_>, &[u8])> {
    let (key, rest) = number(bytes)?;
    let (value, rest) = number(rest)?;
    let (key, rest) = rest.split_at_checked(key)?;
    let Some(value) = value.checked_sub(1) else {
        return Some((RowBytes { key, value: None }, rest));
    };
    let (value, rest) = rest.split_at_checked(value)?;
    Some((RowBytes { key, value: Some(value) }, rest))
}

fn number(bytes: &[u8]) -> Option<(usize, &[u8])> {
    let (number, rest) = bytes.split_first_chunk()?;
    Some((usize::try_from(u32::from_le_bytes(*number)).ok()?, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    const BEFORE: Check = Check(7);

    fn frame() -> (Vec<u8>, Check) {
        let rows = [
            RowBytes { key: b"marker/h1", value: Some(b"a value") },
            RowBytes { key: b"", value: Some(b"") },
            RowBytes { key: b"intent/h1", value: None },
        ];
        encode(rows, BEFORE).unwrap()
    }

    fn read(bytes: &[u8]) -> Frames<&[u8]> {
        Frames::at(bytes, 0, u64::try_from(bytes.len()).unwrap(), BEFORE)
    }

    #[test]
    fn rows_come_back_as_they_were_written() {
        let (bytes, check) = frame();
        let mut frames = read(&bytes);
        let Next::Body(body) = frames.next().unwrap() else { panic!("no frame") };
        let found: Vec<RowBytes<'_>> = rows(body).map(Option::unwrap).collect();
        assert_eq!(found.len(), 3);
        assert_eq!(found[0], RowBytes { key: b"marker/h1", value: Some(b"a value") });
        assert_eq!(found[1], RowBytes { key: b"", value: Some(b"") });
        assert_eq!(found[2], RowBytes { key: b"intent/h1", value: None });
        let in_body: u64 = found.iter().map(|row| row.bytes()).sum();
        assert_eq!(in_body + 4, u64::try_from(body.len()).unwrap());
        assert!(matches!(frames.next().unwrap(), Next::End));
        assert_eq!(frames.check, check);
    }

    #[test]
    fn no_changed_byte_and_no_cut_goes_unseen() {
        let (bytes, _) = frame();
        for place in 0..bytes.len() {
            for changed in 1..=255 {
                let mut bytes = bytes.clone();
                bytes[place] ^= changed;
                assert!(matches!(read(&bytes).next().unwrap(), Next::Unfit(Unfit::Torn)));
            }
            let cut = read(&bytes[..place]).next().map(|next| matches!(next, Next::Body(_)));
            assert!(!cut.unwrap(), "cut at {place}");
        }
    }

    #[test]
    fn a_frame_stands_at_no_other_place() {
        let (bytes, _) = frame();
        let mut twice = read(&bytes);
        twice.check = Check(8);
        assert!(matches!(twice.next().unwrap(), Next::Unfit(Unfit::Torn)));
    }

    #[test]
    fn a_damaged_frame_that_is_followed_was_not_cut_short() {
        let (mut bytes, check) = frame();
        let place = bytes.len() - 1;
        bytes.extend(encode([], check).unwrap().0);
        assert!(matches!(read(&bytes).next().unwrap(), Next::Body(_)));
        bytes[place] ^= 1;
        assert!(matches!(read(&bytes).next().unwrap(), Next::Unfit(Unfit::Inside)));
    }

    #[test]
    fn a_length_is_not_believed_beyond_the_file() {
        for length in [0, 1, FRAME_BYTES_MAX, FRAME_BYTES_MAX + 1, u32::MAX] {
            // With the right check of its head, as only a person would write it.
            let length = length.to_le_bytes();
            let mut bytes = length.to_vec();
            bytes.extend(BEFORE.and(&length).0.to_le_bytes());
            bytes.extend([0; 4]);
            let mut frames = read(&bytes);
            assert!(matches!(frames.next().unwrap(), Next::Unfit(Unfit::Torn)));
            assert_eq!(frames.body.capacity(), 0);
        }
        assert!(matches!(read(&[0; 64]).next().unwrap(), Next::Unfit(Unfit::Torn)));
    }

    #[test]
    fn a_body_that_makes_no_sense_is_said_once() {
        for body in [&b""[..], b"\x01", b"\xff\xff\xff\xff\0", b"\x05\0\0\0\0\0\0\0key"] {
            assert_eq!(rows(body).collect::<Vec<_>>(), [None], "{body:?}");
        }
    }
}
