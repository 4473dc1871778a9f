//! What the writer commits, as a function of the commit's number: so whoever reads the store afterwards knows
//! what must be there, and byte for byte what.

use std::collections::BTreeMap;

use store::{Key, KeyError};

/// Documents that the script writes over and over.
const DOCUMENTS: u64 = 40;

/// The changes of one commit: `None` deletes.
pub(crate) fn changes(number: u64) -> Result<BTreeMap<Key, Option<Vec<u8>>>, KeyError> {
    let mut changes = BTreeMap::new();
    let key = |kind, id: u64| Key::new(kind, [id.to_string().as_str()]);
    match number % 5 {
        // A pair that must never be seen apart.
        0 => {
            changes.insert(key("pair", 1)?, Some(bytes(number, 100)));
            changes.insert(key("pair", 2)?, Some(bytes(number, 20_000)));
        }
        1 => {
            changes.insert(key("document", number % DOCUMENTS)?, None);
        }
        2 => {
            let size = 1_000 + number % 7 * 50_000;
            changes.insert(key("large", number % 3)?, Some(bytes(number, size)));
        }
        _ => {
            let size = number % 11 * 900;
            changes.insert(key("document", number % DOCUMENTS)?, Some(bytes(number, size)));
        }
    }
    changes.insert(key("last", 1)?, Some(number.to_string().into_bytes()));
    Ok(changes)
}

fn bytes(number: u64, size: u64) -> Vec<u8> {
    (0..size)
        .map(|place| (number.wrapping_mul(7).wrapping_add(place / 3)).to_le_bytes()[0])
        .collect()
}
