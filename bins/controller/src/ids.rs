//! ULIDs: ids that sort by the time at which they were drawn, and that nobody draws twice.

use std::io;

use chrono::{DateTime, Utc};
use controller_shell::Ids;
use names::WordId;

use crate::failure::Failure;

/// The digits of Crockford's base 32.
const DIGITS: &[u8; 32] = b"0123456789ABCDEFGHJKMNPQRSTVWXYZ";

/// The bits of an id that do not say when it was drawn.
const CHANCE_BITS: u32 = 80;

/// What is added to them from one id to the next: odd, so that every value comes before one comes again, and large, so
/// that the last characters, by which people tell ids apart, differ.
const STRIDE: u128 = 0x9e37_79b9_7f4a_7c15_f39d;

/// Draws ULIDs: from a beginning that no other process has, and each at a millisecond of its own, so that ids drawn later
/// sort later.
#[derive(Debug)]
pub(crate) struct Ulids {
    last_ms: u64,
    chance: u128,
}

impl Ulids {
    /// Fails where the kernel has no randomness to give.
    pub(crate) fn new() -> io::Result<Self> {
        let [high, low] = [machine_os::draw()?, machine_os::draw()?].map(u128::from);
        Ok(Self { last_ms: 0, chance: (high << 64) | low })
    }
}

/// An id for a word that is signed now.
pub(crate) fn word(now: DateTime<Utc>) -> Result<WordId, Failure> {
    let mut ulids =
        Ulids::new().map_err(|error| Failure::because("no ids can be drawn", &error))?;
    WordId::new(ulids.fresh(now)).map_err(|error| Failure::because("no id was drawn", &error))
}

impl Ids for Ulids {
    fn fresh(&mut self, wall: DateTime<Utc>) -> String {
        let wall_ms = u64::try_from(wall.timestamp_millis()).unwrap_or(0);
        self.last_ms = wall_ms.max(self.last_ms.saturating_add(1));
        self.chance = self.chance.wrapping_add(STRIDE);
        let chance = self.chance & ((1 << CHANCE_BITS) - 1);
        encode((u128::from(self.last_ms) << CHANCE_BITS) | chance)
    }
}

/// The 26 digits, the first of which holds three bits only.
fn encode(id: u128) -> String {
    let digit = |shift: u32| {
        let index = usize::try_from((id >> shift) & 31).unwrap_or(0);
        char::from(DIGITS[index])
    };
    (0..26).rev().map(|place| digit(place * 5)).collect()
}

#[cfg(test)]
mod tests {
    use names::BuildId;

    use super::*;

    #[test]
    fn the_encoding_is_that_of_ulids() {
        assert_eq!(encode(0), "0".repeat(26));
        assert_eq!(encode(u128::MAX), format!("7{}", "Z".repeat(25)));
        // The example of the specification: 1469918176385 ms.
        assert_eq!(&encode(1_469_918_176_385 << CHANCE_BITS)[..10], "01ARYZ6S41");
    }

    #[test]
    fn ids_are_ids_and_sort_as_they_were_drawn_whatever_the_clock_does() {
        let mut ulids = Ulids::new().unwrap();
        let walls =
            [1_700_000_000_000, 1_700_000_000_000, 1_600_000_000_000, -5, 1_700_000_000_009];
        let drawn = walls.map(|ms| ulids.fresh(DateTime::from_timestamp_millis(ms).unwrap()));
        assert!(drawn.is_sorted_by(|before, after| before < after), "{drawn:?}");
        for id in &drawn {
            assert!(BuildId::new(id.as_str()).is_ok(), "{id}");
        }
    }

    #[test]
    fn the_ends_of_neighbours_differ() {
        let mut ulids = Ulids { last_ms: 0, chance: 0 };
        let mut ends: Vec<_> =
            (0..1_000).map(|_| ulids.fresh(DateTime::UNIX_EPOCH)[20..].to_owned()).collect();
        ends.sort();
        ends.dedup();
        assert_eq!(ends.len(), 1_000);
    }
}
