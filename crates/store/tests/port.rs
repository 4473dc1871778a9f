//! What is a key, a prefix and a batch, and what is refused.

use std::num::NonZeroU64;

use store::{
    Batch, BatchError, CommitError, DOCUMENT_BYTES_MAX, Entry, Expect, KEY_BYTES_MAX, Key,
    KeyError, Prefix, Revision, SEGMENT_BYTES_MAX,
};

#[test]
fn keys_are_a_kind_and_an_id() {
    for text in [
        "plan/01J8ZC9GX7N3QW2R4T6V8Y0A1B",
        "module/default/blog",
        "build/a.b_c~d+e@f:1",
        "machine/box 3",
        "machine/größe",
        "lease/..",
    ] {
        let key: Key = text.parse().unwrap();
        assert_eq!(key.as_str(), text);
        let id: Vec<&str> = key.id().collect();
        assert_eq!(Key::new(key.kind(), id).unwrap(), key);
    }
}

#[test]
fn what_is_no_key_is_refused_with_the_reason() {
    let long = "x".repeat(SEGMENT_BYTES_MAX + 1);
    let many = format!("k{}", "/x".repeat(KEY_BYTES_MAX / 2));
    let character = |segment: &str, found| KeyError::Character { segment: segment.into(), found };
    let too_long = |bytes, bytes_max| KeyError::TooLong { bytes, bytes_max };
    let cases = [
        (String::new(), KeyError::EmptySegment(String::new())),
        ("plan".into(), KeyError::NoId("plan".into())),
        ("/plan".into(), KeyError::EmptySegment("/plan".into())),
        ("plan/".into(), KeyError::EmptySegment("plan/".into())),
        ("plan//1".into(), KeyError::EmptySegment("plan//1".into())),
        ("plan/a\0b".into(), character("a\0b", '\0')),
        ("plan/a\n".into(), character("a\n", '\n')),
        (format!("plan/{long}"), too_long(SEGMENT_BYTES_MAX + 1, SEGMENT_BYTES_MAX)),
        (many.clone(), too_long(many.len(), KEY_BYTES_MAX)),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<Key>(), Err(error), "{text:?}");
    }
    assert_eq!(Key::new("plan", ["a/b"]), Err(character("a/b", '/')));
    assert_eq!(Key::new("plan", []), Err(KeyError::NoId("plan".into())));
}

#[test]
fn a_prefix_ends_at_a_segment() {
    let prefix = Prefix::new(["plan"]).unwrap();
    let covers = |text: &str| prefix.covers(&text.parse().unwrap());
    assert!(covers("plan/1"));
    assert!(covers("plan/1/step"));
    assert!(!covers("planned/1"));
    assert!(!covers("module/plan"));
    assert!(Prefix::all().covers(&"any/thing".parse().unwrap()));
    assert_eq!(Prefix::new([]).unwrap(), Prefix::all());
    assert!(Prefix::new(["a/b"]).is_err());
}

#[test]
fn a_batch_names_each_key_once_and_bounds_each_document() {
    let key: Key = "plan/1".parse().unwrap();
    let put = Entry::put(key.clone(), Expect::Any, vec![]);
    let delete = Entry::delete(key.clone(), Expect::Any);
    assert_eq!(Batch::new(vec![put, delete]), Err(BatchError::Twice(key.clone())));

    let bytes = DOCUMENT_BYTES_MAX + 1;
    let large = Entry::put(key.clone(), Expect::Any, vec![0; bytes]);
    assert_eq!(Batch::new(vec![large]), Err(BatchError::TooLarge { key, bytes }));
}

#[test]
fn an_expectation_is_met_by_what_it_names() {
    let revision = |number| Revision::new(NonZeroU64::new(number).unwrap());
    let cases = [
        (Expect::Any, [true, true, true]),
        (Expect::Absent, [true, false, false]),
        (Expect::At(revision(1)), [false, true, false]),
    ];
    for (expect, holds) in cases {
        let found = [None, Some(revision(1)), Some(revision(2))];
        assert_eq!(found.map(|found| expect.holds(found)), holds, "{expect:?}");
    }
}

#[test]
fn a_conflict_reads_as_a_sentence() {
    let seven = Revision::new(NonZeroU64::new(7).unwrap());
    let key: Key = "plan/1".parse().unwrap();
    let conflict = CommitError::Conflict { key, expected: Expect::Absent, found: Some(seven) };
    assert_eq!(conflict.to_string(), "plan/1 has revision 7, expected was no document");
}
