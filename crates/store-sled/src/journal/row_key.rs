//! The key of a row's document.
//!
//! A row's own key is text with slashes and with names as they come: empty, long, with control characters. The store's
//! keys have bounded segments of printable text. So `marker/h1` becomes `row/marker:h1`; what cannot stand there, and
//! what would be mistaken, is written as `%` with the hexadecimal digits of each of its bytes; and what is longer than a
//! segment goes on in the next.

use store::{Key, KeyError, SEGMENT_BYTES_MAX};

const KIND: &str = "row";

/// The key of a row's document.
pub(super) fn encode(row: &str) -> Result<Key, KeyError> {
    let mut segments = vec![String::new()];
    for character in row.chars() {
        let written = written(character);
        match segments.last_mut() {
            Some(last) if last.len() + written.len() <= SEGMENT_BYTES_MAX => {
                last.push_str(&written);
            }
            Some(_) | None => segments.push(written),
        }
    }
    Key::new(KIND, segments.iter().map(String::as_str))
}

fn written(character: char) -> String {
    match character {
        '/' => ":".to_owned(),
        '%' | ':' => escaped(character),
        _ if character.is_control() => escaped(character),
        _ => character.to_string(),
    }
}

fn escaped(character: char) -> String {
    character.to_string().bytes().map(|byte| format!("%{byte:02x}")).collect()
}

/// The row of a document's key; `None` when it is not exactly the key of one.
pub(super) fn decode(key: &Key) -> Option<String> {
    let text: String = key.id().collect();
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let Some((first, after)) = rest.split_first() {
        rest = after;
        match first {
            b':' => bytes.push(b'/'),
            b'%' => {
                let (digits, after) = rest.split_at_checked(2)?;
                bytes.push(u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?);
                rest = after;
            }
            byte => bytes.push(*byte),
        }
    }
    let row = String::from_utf8(bytes).ok()?;
    // Whatever is read, only what this version would have written is taken.
    encode(&row).is_ok_and(|right| right == *key).then_some(row)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_a_key_of_its_own_and_comes_back() {
        let long = "long-".repeat(60);
        let names =
            ["", "h", "h1", "%", "%2f", ":", "::", "%3a", "ä", "\0", "\u{85}", ".", "..", &long];
        let mut keys = BTreeSet::new();
        for one in names {
            for two in names {
                for row in [format!("generation/{one}/{two}"), format!("marker/{one}{two}")] {
                    let key = encode(&row).unwrap();
                    assert_eq!(decode(&key).as_deref(), Some(row.as_str()), "{key}");
                    keys.insert((key, row));
                }
            }
        }
        let different: BTreeSet<&Key> = keys.iter().map(|(key, _)| key).collect();
        let rows: BTreeSet<&String> = keys.iter().map(|(_, row)| row).collect();
        assert_eq!(different.len(), rows.len());
    }

    #[test]
    fn records_are_in_the_order_of_the_book() {
        let keys: Vec<Key> = [9_u64, 10, 255, 256, u64::MAX / 2]
            .map(|place| encode(&format!("record/{place:016x}")).unwrap())
            .to_vec();
        assert!(keys.is_sorted());
    }

    #[test]
    fn what_is_not_exactly_a_rows_key_is_none() {
        let more = "x".repeat(SEGMENT_BYTES_MAX);
        let texts =
            ["plan/7", "row/a/b", "row/%61", "row/%2F", "row/%", "row/%+1", "row/%ff", "row/a%c3"];
        for text in texts.into_iter().map(str::to_owned).chain([format!("row/a/{more}")]) {
            assert_eq!(decode(&text.parse().unwrap()), None, "{text}");
        }
        assert_eq!(decode(&"row/book".parse().unwrap()).as_deref(), Some("book"));
    }

    #[test]
    fn a_name_that_no_key_holds_is_refused() {
        let error = encode(&format!("marker/{}", "x".repeat(2_000))).unwrap_err();
        assert!(matches!(error, KeyError::TooLong { .. }), "{error}");
    }
}
