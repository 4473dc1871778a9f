//! How documents lie in the tree: a head under the document's key, and parts of what does not fit in it.
//!
//! | key | value |
//! |---|---|
//! | `0` `1` | nothing; there since the store was made |
//! | `0` `0` | a revision: none of a document that is gone was larger |
//! | `1`, key's text | a head: revision, length of the document, its first bytes |
//! | `2`, key's text, `0`, number | a part: revision, further bytes; numbers count from 1 |
//!
//! Numbers are big-endian, so the tree's order is theirs; a key's text holds no control character, so the zero
//! ends it. Parts name their revision, so a document that is not whole is seen and never handed out.

use store::{Document, Key, Prefix, Revision};

/// Largest value in the tree. sled keeps 16 or 17 values in a leaf before it splits it, and writes a page of
/// about 128 KiB or more to a file that nothing syncs: with this bound and keys at their longest, a leaf has at
/// most 90 KiB.
pub(crate) const VALUE_BYTES_MAX: usize = 4 * 1024;

const REVISION_BYTES: usize = 8;
const LENGTH_BYTES: usize = 8;
const HEAD_BYTES_MAX: usize = VALUE_BYTES_MAX - REVISION_BYTES - LENGTH_BYTES;
const PART_BYTES_MAX: usize = VALUE_BYTES_MAX - REVISION_BYTES;

/// Where the revisions of documents that are gone are remembered.
pub(crate) const LAST_REVISION_KEY: [u8; 2] = [0, 0];

/// What every store has from the first moment on, so that one without it has lost its file.
pub(crate) const MADE_KEY: [u8; 2] = [0, 1];

/// A document's first value, taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Head<'a> {
    pub(crate) revision: Revision,
    pub(crate) length: usize,
    first: &'a [u8],
}

/// What is wrong with values that should be a document.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Damaged;

/// The key of a document's head.
pub(crate) fn head_key(key: &Key) -> Vec<u8> {
    [&[1], key.as_str().as_bytes()].concat()
}

/// What the keys of all heads under `prefix` begin with.
pub(crate) fn head_keys(prefix: &Prefix) -> Vec<u8> {
    [&[1], prefix.as_str().as_bytes()].concat()
}

/// The document's key, from its head's.
pub(crate) fn key_of(head_key: &[u8]) -> Result<Key, Damaged> {
    let (_, text) = head_key.split_first().ok_or(Damaged)?;
    std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Damaged)
}

/// The key of a document's part.
pub(crate) fn part_key(key: &Key, number: u32) -> Vec<u8> {
    [&[2], key.as_str().as_bytes(), &[0], &number.to_be_bytes()].concat()
}

/// The numbers of the parts of a document of this length, its head not counted.
pub(crate) fn part_numbers(length: usize) -> impl Iterator<Item = u32> {
    (1..).take(length.saturating_sub(HEAD_BYTES_MAX).div_ceil(PART_BYTES_MAX))
}

/// The head and then the parts of a document.
pub(crate) fn cut(revision: Revision, bytes: &[u8]) -> (Vec<u8>, impl Iterator<Item = Vec<u8>>) {
    let revision = revision.get().to_be_bytes();
    let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX).to_be_bytes();
    let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES_MAX));
    let head = [&revision[..], &length, first].concat();
    (head, rest.chunks(PART_BYTES_MAX).map(move |part| [&revision[..], part].concat()))
}

/// Takes a head apart.
pub(crate) fn head(value: &[u8]) -> Result<Head<'_>, Damaged> {
    let (revision, rest) = number(value)?;
    let (length, first) = number(rest)?;
    let length = usize::try_from(length).map_err(|_| Damaged)?;
    if first.len() != length.min(HEAD_BYTES_MAX) {
        return Err(Damaged);
    }
    Ok(Head { revision: revision_of(revision)?, length, first })
}

/// The revision that [`LAST_REVISION_KEY`] holds.
pub(crate) fn last_revision(value: &[u8]) -> Result<u64, Damaged> {
    match number(value)? {
        (number, []) => Ok(number),
        (_, _) => Err(Damaged),
    }
}

/// A document as it is put together.
#[derive(Debug)]
pub(crate) struct Assembly {
    document: Document,
    length: usize,
}

impl Assembly {
    pub(crate) fn begin(head: Head<'_>) -> Self {
        let document = Document { revision: head.revision, bytes: head.first.to_vec() };
        Self { document, length: head.length }
    }

    /// Adds the next part.
    pub(crate) fn add(&mut self, value: &[u8]) -> Result<(), Damaged> {
        let (revision, part) = number(value)?;
        if revision != self.document.revision.get() {
            return Err(Damaged);
        }
        self.document.bytes.extend_from_slice(part);
        Ok(())
    }

    /// The document, when all of it is there.
    pub(crate) fn finish(self) -> Result<Document, Damaged> {
        if self.document.bytes.len() == self.length { Ok(self.document) } else { Err(Damaged) }
    }
}

fn number(bytes: &[u8]) -> Result<(u64, &[u8]), Damaged> {
    let (number, rest) = bytes.split_first_chunk().ok_or(Damaged)?;
    Ok((u64::from_be_bytes(*number), rest))
}

fn revision_of(number: u64) -> Result<Revision, Damaged> {
    std::num::NonZeroU64::new(number).map(Revision::new).ok_or(Damaged)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroU64;

    use super::*;

    fn revision(number: u64) -> Revision {
        Revision::new(NonZeroU64::new(number).unwrap())
    }

    fn assemble(head_value: &[u8], parts: &[Vec<u8>]) -> Result<Document, Damaged> {
        let mut assembly = Assembly::begin(head(head_value)?);
        for part in parts {
            assembly.add(part)?;
        }
        assembly.finish()
    }

    #[test]
    fn what_is_cut_comes_together_again() {
        let (one, two) = (HEAD_BYTES_MAX, HEAD_BYTES_MAX + PART_BYTES_MAX);
        let cases = [
            (0, 0),
            (1, 0),
            (one, 0),
            (one + 1, 1),
            (two - 1, 1),
            (two, 1),
            (two + 1, 2),
            (99_999, 24),
        ];
        for (length, parts_right) in cases {
            let bytes: Vec<u8> = (0..=255).cycle().take(length).collect();
            let (head_value, parts) = cut(revision(7), &bytes);
            let parts: Vec<Vec<u8>> = parts.collect();
            assert_eq!(parts.len(), parts_right, "{length} bytes");
            assert_eq!(part_numbers(length).collect::<Vec<_>>().len(), parts_right);
            assert!(parts.iter().all(|part| part.len() <= VALUE_BYTES_MAX));
            assert!(head_value.len() <= VALUE_BYTES_MAX);
            assert_eq!(
                assemble(&head_value, &parts),
                Ok(Document { revision: revision(7), bytes })
            );
        }
    }

    #[test]
    fn what_is_not_whole_is_damaged() {
        let bytes = vec![1; 20_000];
        let (head_value, parts) = cut(revision(7), &bytes);
        let parts: Vec<Vec<u8>> = parts.collect();
        let (old_head, old_parts) = cut(revision(6), &bytes);
        let old_parts: Vec<Vec<u8>> = old_parts.collect();
        let mixed = [&parts[..2], &old_parts[2..]].concat();

        assert_eq!(assemble(&head_value, &parts[1..]), Err(Damaged), "a part is missing");
        assert_eq!(assemble(&head_value, &mixed), Err(Damaged), "a part is of another revision");
        assert_eq!(assemble(&old_head, &parts), Err(Damaged), "the head is of another revision");
        assert_eq!(head(&head_value[..100]), Err(Damaged), "the head is short");
        assert_eq!(head(&[0; 16]), Err(Damaged), "there is no revision zero");
        assert_eq!(head(&[]), Err(Damaged));
        assert_eq!(last_revision(&[0; 7]), Err(Damaged));
        assert_eq!(last_revision(&[0; 9]), Err(Damaged));
    }

    #[test]
    fn keys_in_the_tree_are_in_the_order_of_keys() {
        let mut keys: Vec<Key> =
            ["a/b", "a/b/c", "a/b!", "aa/b", "a/ß"].map(|text| text.parse().unwrap()).to_vec();
        keys.sort();
        let heads: Vec<Vec<u8>> = keys.iter().map(head_key).collect();
        assert!(heads.is_sorted());
        for (key, head) in keys.iter().zip(&heads) {
            assert_eq!(key_of(head), Ok(key.clone()));
        }
        assert!(part_key(&keys[0], 255) < part_key(&keys[0], 256));
        assert_eq!(key_of(&[1]), Err(Damaged));
        assert_eq!(key_of(&[1, 0xff]), Err(Damaged));
    }
}
