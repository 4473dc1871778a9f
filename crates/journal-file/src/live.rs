//! How much of a file still counts: the sizes of the rows that nothing took the place of.

use std::collections::BTreeMap;

use crate::frame::RowBytes;

/// The rows that are kept, by their keys, with how much of a frame each takes.
#[derive(Debug, Default)]
pub(crate) struct Live {
    sizes: BTreeMap<Box<[u8]>, u64>,
    bytes: u64,
}

impl Live {
    /// Takes in what became of a row.
    pub(crate) fn note(&mut self, row: RowBytes<'_>) {
        let before = match (row.value, self.sizes.get_mut(row.key)) {
            (Some(_), Some(size)) => std::mem::replace(size, row.bytes()),
            (Some(_), None) => {
                self.sizes.insert(row.key.into(), row.bytes());
                0
            }
            (None, _) => self.sizes.remove(row.key).unwrap_or_default(),
        };
        let after = if row.value.is_some() { row.bytes() } else { 0 };
        self.bytes = self.bytes.saturating_sub(before).saturating_add(after);
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.sizes.is_empty()
    }

    /// How much of a file they take.
    pub(crate) fn bytes(&self) -> u64 {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_value_of_a_row_counts() {
        let mut live = Live::default();
        let (long, short) = (RowBytes { key: b"k", value: Some(b"long value") }, b"v");
        live.note(long);
        live.note(RowBytes { key: b"other", value: Some(b"") });
        let both = live.bytes();
        assert_eq!(both, long.bytes() + 8 + 5);
        live.note(RowBytes { key: b"k", value: Some(short) });
        assert_eq!(live.bytes(), both - 9);
        live.note(RowBytes { key: b"k", value: None });
        live.note(RowBytes { key: b"never there", value: None });
        assert_eq!(live.bytes(), 13);
        live.note(RowBytes { key: b"other", value: None });
        assert!(live.is_empty() && live.bytes() == 0);
    }
}
