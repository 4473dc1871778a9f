//! The fields of a frame: numbers, texts, and the payload.

use bus::{Bytes, Pattern, Subject, TooLarge};

use super::FrameError;

/// The longest text that is no subject: a reason, for people.
const REASON_BYTES_MAX: usize = 1024;

/// The fields of a frame that are still to be read.
#[derive(Debug)]
pub(crate) struct Fields<'a>(&'a [u8]);

impl<'a> Fields<'a> {
    pub(super) fn of(body: &'a [u8]) -> Self {
        Self(body)
    }

    pub(super) fn byte(&mut self) -> Result<u8, FrameError> {
        self.array().map(|[byte]| byte)
    }

    pub(super) fn number(&mut self) -> Result<u64, FrameError> {
        self.array().map(u64::from_be_bytes)
    }

    pub(super) fn subject(&mut self) -> Result<Subject, FrameError> {
        Ok(self.text()?.parse()?)
    }

    pub(super) fn pattern(&mut self) -> Result<Pattern, FrameError> {
        Ok(self.text()?.parse()?)
    }

    pub(super) fn text(&mut self) -> Result<&'a str, FrameError> {
        let length = self.array().map(u16::from_be_bytes)?;
        let (text, rest) = self.0.split_at_checked(length.into()).ok_or(FrameError::Cut)?;
        self.0 = rest;
        std::str::from_utf8(text).map_err(|_| FrameError::NotText)
    }

    /// All that is left. A copy of just its size: a payload may wait in a queue for long, and must not hold a whole
    /// buffer of the connection there.
    pub(super) fn payload(&mut self) -> Result<Bytes, FrameError> {
        let payload = Bytes::copy_from_slice(std::mem::take(&mut self.0));
        TooLarge::check(&payload)?;
        Ok(payload)
    }

    pub(super) fn end(self) -> Result<(), FrameError> {
        match self.0.len() {
            0 => Ok(()),
            bytes => Err(FrameError::Trailing { bytes }),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let (array, rest) = self.0.split_first_chunk().ok_or(FrameError::Cut)?;
        self.0 = rest;
        Ok(*array)
    }
}

pub(super) fn put_number(to: &mut Vec<u8>, number: u64) {
    to.extend(number.to_be_bytes());
}

pub(super) fn put_text(to: &mut Vec<u8>, text: &str) {
    // A subject is far shorter than what two bytes count, and a reason is cut short.
    to.extend((text.len() as u16).to_be_bytes());
    to.extend(text.as_bytes());
}

pub(super) fn put_reason(to: &mut Vec<u8>, reason: &str) {
    put_text(to, &reason[..reason.floor_char_boundary(REASON_BYTES_MAX)]);
}
