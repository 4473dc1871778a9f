//! Any bytes at all, into everything that reads some: an error is the worst that comes of them.

use proptest::prelude::*;
use serde::de::DeserializeOwned;
use wire::{
    BookAsked, BookStatus, Envelope, Report, WordReply,
    signed::{
        Floors, Pointer, PublicKey, RetryGrant, Rotation, Signature, Signed, SignedDeclaration,
        UsedGrants, Word, key_bytes, key_text, sign, verify,
    },
};

use crate::words::{at, controller, declaration, grant, operator, pointer, signed_text, trusted};

fn read<T: DeserializeOwned>(bytes: &[u8]) {
    let _ = Envelope::<T>::decode(bytes);
    let _ = serde_json::from_slice::<T>(bytes);
}

fn read_all(bytes: &[u8]) {
    read::<wire::Word>(bytes);
    read::<WordReply>(bytes);
    read::<BookAsked>(bytes);
    read::<BookStatus>(bytes);
    read::<Report>(bytes);
    read::<Signed>(bytes);
    read::<Floors>(bytes);
    read::<UsedGrants>(bytes);
    read::<PublicKey>(bytes);
}

/// As if somebody trusted had signed it.
fn verify_all(payload: &str) {
    fn one<W: Word>(payload: &str) {
        for key in [operator(), controller()] {
            for now in [at(0), chrono::DateTime::<chrono::Utc>::MIN_UTC] {
                let _ = verify::<W>(&signed_text::<W>(payload, &key), &trusted(), now);
            }
        }
    }
    one::<RetryGrant>(payload);
    one::<Pointer>(payload);
    one::<Rotation>(payload);
    one::<SignedDeclaration>(payload);
}

/// Words that are right, to be damaged.
fn payloads() -> [String; 3] {
    [
        sign(&grant(1), &operator()).unwrap().payload,
        sign(&pointer(1, 0), &operator()).unwrap().payload,
        sign(&declaration(), &controller()).unwrap().payload,
    ]
}

proptest! {
    #[test]
    fn any_bytes_are_read_or_refused(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
        read_all(&bytes);
    }

    #[test]
    fn any_text_is_a_key_to_the_letter_or_is_refused(text in ".{0,60}|[A-Z2-7]{54,60}") {
        if let Ok(key) = text.parse::<PublicKey>() {
            prop_assert_eq!(key.to_string(), text.as_str());
        }
        if let Ok(signature) = text.parse::<Signature>() {
            prop_assert_eq!(signature.to_string(), text.as_str());
        }
        if let Ok(bytes) = key_bytes::<33>(&text) {
            prop_assert_eq!(key_text(&bytes), text);
        }
    }

    #[test]
    fn any_bytes_are_a_text_and_back(bytes in any::<[u8; 33]>()) {
        let text = key_text(&bytes);
        prop_assert_eq!(text.len(), 56);
        prop_assert_eq!(key_bytes::<33>(&text), Ok(bytes));
        if let Ok(key) = text.parse::<PublicKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn no_character_of_a_key_can_be_another(place in 0_usize..56, other in "[A-Z2-7]") {
        use wire::signed::Signer;
        let text = operator().public_key().to_string();
        let changed = format!("{}{other}{}", &text[..place], &text[place + 1..]);
        prop_assert_eq!(changed.parse::<PublicKey>().is_ok(), changed == text);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn whatever_somebody_trusted_signs_is_read_or_refused(text in ".{0,80}") {
        verify_all(&text);
    }

    #[test]
    fn damaged_words_are_read_or_refused(
        which in 0_usize..3,
        place in any::<prop::sample::Index>(),
        length in 0_usize..12,
        other in "[0-9a-zA-Z{}\\[\\]\",:+-]{0,8}",
    ) {
        let payload = &payloads()[which];
        let from = place.index(payload.len());
        let to = (from + length).min(payload.len());
        let damaged = format!("{}{other}{}", &payload[..from], &payload[to..]);
        verify_all(&damaged);
        read_all(damaged.as_bytes());
    }
}

#[test]
fn the_largest_numbers_and_times_are_read_or_refused() {
    for (from, to) in [
        ("2027-01-15T08:00:00Z", "+262142-12-31T23:59:59Z"),
        ("2027-01-15T08:00:00Z", "-262143-01-01T00:00:00Z"),
        ("2027-01-15T08:00:00Z", "2027-01-15T08:00:60Z"),
        (":17,", ":18446744073709551615,"),
        (":17,", ":0,"),
        (":17,", ":-1,"),
        (":17,", ":1e400,"),
    ] {
        let payload = sign(&grant(1), &operator()).unwrap().payload;
        let changed = payload.replace(from, to);
        assert_ne!(changed, payload, "{from}");
        verify_all(&changed);
    }
    verify_all(&"[".repeat(100_000));
}
