//! The first line of a journal: which form it has, which writing of the journal it is, and how far it was written at once.
//!
//! It always has the same length, and is written last when a file is made.

use crate::check;

/// The form of the file that this build reads and writes.
pub const SCHEMA: u32 = 1;

const NAME: &str = "bellwether failure book ";

/// How long the line is.
pub(crate) const HEADER_BYTES: u64 = 100;

/// What the first line says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Header {
    /// Which file this is in the row of those that took one another's place; the first is 1.
    pub(crate) writing: u64,
    /// How many bytes it had, with this line, when it took its place: they were synced before.
    pub(crate) base: u64,
}

/// Why a first line is not one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum BadHeader {
    /// It names another form.
    Schema(String),
    /// It is not what any version would have written.
    Damaged,
}

impl Header {
    pub(crate) fn text(self) -> String {
        let Self { writing, base } = self;
        let said = format!("{NAME}{SCHEMA}, writing {writing:020}, {base:020} bytes");
        format!("{said}, check {:08x}\n", check::of_text(&said))
    }

    pub(crate) fn parse(bytes: &[u8]) -> Result<Self, BadHeader> {
        let text = String::from_utf8_lossy(bytes);
        let line = text.split_inclusive('\n').next().unwrap_or_default();
        let rest = line.strip_prefix(NAME).ok_or(BadHeader::Damaged)?;
        let schema = rest.split([',', '\n']).next().unwrap_or_default();
        let is_number = !schema.is_empty() && schema.bytes().all(|byte| byte.is_ascii_digit());
        if is_number && schema != SCHEMA.to_string() {
            return Err(BadHeader::Schema(format!("{NAME}{schema}")));
        }
        let header = numbers(rest).ok_or(BadHeader::Damaged)?;
        // Whatever is read, only what this version would have written is taken.
        if header.text() == line && header.base >= HEADER_BYTES && header.writing > 0 {
            Ok(header)
        } else {
            Err(BadHeader::Damaged)
        }
    }
}

fn numbers(rest: &str) -> Option<Header> {
    let (_, rest) = rest.split_once(", writing ")?;
    let (writing, rest) = rest.split_once(", ")?;
    let (base, _) = rest.split_once(" bytes")?;
    Some(Header { writing: writing.parse().ok()?, base: base.parse().ok()? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_comes_back_and_always_has_its_length() {
        for (writing, base) in [(1, HEADER_BYTES), (7, 1_000_000), (u64::MAX, u64::MAX)] {
            let header = Header { writing, base };
            let text = header.text();
            assert_eq!(u64::try_from(text.len()).unwrap(), HEADER_BYTES, "{text}");
            assert_eq!(Header::parse(text.as_bytes()), Ok(header));
        }
    }

    #[test]
    fn what_is_not_exactly_a_first_line_is_refused() {
        let right = Header { writing: 3, base: 4_711 }.text().into_bytes();
        for place in 0..right.len() {
            for changed in 1..=255 {
                let mut bytes = right.clone();
                bytes[place] ^= changed;
                assert!(Header::parse(&bytes).is_err(), "{changed} at {place}");
            }
            assert!(Header::parse(&right[..place]).is_err(), "cut at {place}");
        }
        let zero = Header { writing: 0, base: HEADER_BYTES }.text();
        assert_eq!(Header::parse(zero.as_bytes()), Err(BadHeader::Damaged));
        let short = Header { writing: 1, base: HEADER_BYTES - 1 }.text();
        assert_eq!(Header::parse(short.as_bytes()), Err(BadHeader::Damaged));
    }

    #[test]
    fn another_form_is_named() {
        let named = Err(BadHeader::Schema("bellwether failure book 2".to_owned()));
        assert_eq!(Header::parse(b"bellwether failure book 2, and more\n"), named);
        assert_eq!(Header::parse(b"bellwether failure book 2\n"), named);
        assert_eq!(Header::parse(b"something else"), Err(BadHeader::Damaged));
    }
}
