//! Fingerprints: 64 bits that differ when the bytes do. They guard against disks, not against people.

/// A fingerprint in the making. Where one piece ends and the next begins is part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Fingerprint {
    /// Of nothing.
    pub(crate) const fn begin() -> Self {
        Self(0x6265_6c6c_7765_7468)
    }

    /// Of what it was of, and then this piece.
    pub(crate) fn and(self, piece: &[u8]) -> Self {
        let length = u64::try_from(piece.len()).unwrap_or(u64::MAX);
        let (words, rest) = piece.as_chunks::<8>();
        let mut mixed = self.and_number(length);
        for word in words {
            mixed = mixed.and_number(u64::from_le_bytes(*word));
        }
        let mut last = [0; 8];
        for (to, from) in last.iter_mut().zip(rest) {
            *to = *from;
        }
        mixed.and_number(u64::from_le_bytes(last))
    }

    /// Of what it was of, and then this number. No two numbers give the same, so one changed word always shows.
    pub(crate) const fn and_number(self, number: u64) -> Self {
        let mixed = (self.0 ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        Self(mixed ^ (mixed >> 29))
    }

    /// Its 64 bits, mixed once more, since the last words have been mixed the least.
    pub(crate) const fn bits(self) -> u64 {
        let mixed = (self.0 ^ (self.0 >> 32)).wrapping_mul(0xd6e8_feb8_6659_fd93);
        mixed ^ (mixed >> 32)
    }
}

/// The fingerprint of one piece.
pub(crate) fn of(piece: &[u8]) -> u64 {
    Fingerprint::begin().and(piece).bits()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn what_differs_anywhere_has_another_fingerprint() {
        let mut seen = BTreeSet::new();
        let bytes: Vec<u8> = (0..=255).cycle().take(300).collect();
        for length in 0..=bytes.len() {
            assert!(seen.insert(of(&bytes[..length])), "cut at {length}");
        }
        for place in 0..bytes.len() {
            for flipped in 0..8 {
                let mut changed = bytes.clone();
                changed[place] ^= 1 << flipped;
                assert!(seen.insert(of(&changed)), "bit {flipped} of {place}");
            }
        }
        for length in 2..=64 {
            assert!(seen.insert(of(&vec![0; length])), "{length} zeros");
        }
    }

    #[test]
    fn where_pieces_meet_is_part_of_it() {
        let pieces = |pieces: &[&[u8]]| {
            pieces.iter().fold(Fingerprint::begin(), |all, piece| all.and(piece)).bits()
        };
        assert_ne!(pieces(&[b"ab", b"c"]), pieces(&[b"a", b"bc"]));
        assert_ne!(pieces(&[b"abc"]), pieces(&[b"abc", b""]));
    }

    /// It is on disks: a change of it would make every store look damaged.
    #[test]
    fn it_stays_what_it_is() {
        assert_eq!(of(b""), 0xffd7_dacf_e523_7428);
        assert_eq!(of(b"a document"), 0x7638_6b98_25da_8f25);
    }
}
