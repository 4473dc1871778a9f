//! What is a subject, what is a pattern, and which subjects a pattern wants.

use bus::{Pattern, SUBJECT_BYTES_MAX, Subject, SubjectError};

#[test]
fn subjects_are_tokens_joined_by_dots() {
    for text in ["a", "bw.v1.hello.box-3", "_INBOX.x7", "$SRV.PING", "event.rolled-back", "A/b=c"] {
        let subject: Subject = text.parse().unwrap();
        assert_eq!(subject.as_str(), text);
        assert_eq!(Subject::from_tokens(subject.tokens()), Ok(subject.clone()));
        let pattern = Pattern::from(subject.clone());
        assert_eq!(text.parse(), Ok(pattern.clone()));
        assert!(pattern.matches(&subject));
    }
}

#[test]
fn what_is_no_subject_is_refused_with_the_reason() {
    let empty = |text: &str| SubjectError::EmptyToken(text.into());
    let character = |token: &str, found| SubjectError::Character { token: token.into(), found };
    let cases = [
        ("", empty("")),
        (".", empty(".")),
        ("a.", empty("a.")),
        (".a", empty(".a")),
        ("a..b", empty("a..b")),
        ("a.*", character("*", '*')),
        ("a.b>", character("b>", '>')),
        ("a b", character("a b", ' ')),
        ("a.b\r\nPUB", character("b\r\nPUB", '\r')),
        ("hällo", character("hällo", 'ä')),
    ];
    for (text, error) in cases {
        assert_eq!(text.parse::<Subject>(), Err(error), "{text:?}");
    }
    assert_eq!(Subject::from_tokens(["hello", "box.3"]), Err(character("box.3", '.')));
    assert_eq!(Subject::from_tokens([]), Err(empty("")));
    let long = "x".repeat(SUBJECT_BYTES_MAX + 1);
    assert_eq!(
        long.parse::<Subject>(),
        Err(SubjectError::TooLong { bytes: SUBJECT_BYTES_MAX + 1 })
    );
}

#[test]
fn wildcards_are_tokens_of_their_own() {
    for text in ["*", ">", "a.*", "*.a", "a.*.b", "a.>", "*.>"] {
        assert_eq!(text.parse::<Pattern>().map(|pattern| pattern.to_string()), Ok(text.into()));
    }
    let rest = |text: &str| Err(SubjectError::RestNotLast(text.into()));
    let character =
        |token: &str, found| Err(SubjectError::Character { token: token.into(), found });
    let cases = [
        (">.a", rest(">.a")),
        ("a.>.>", rest("a.>.>")),
        ("a*", character("a*", '*')),
        ("**", character("**", '*')),
        ("a.b>", character("b>", '>')),
        ("", Err(SubjectError::EmptyToken(String::new()))),
    ];
    for (text, refused) in cases {
        assert_eq!(text.parse::<Pattern>(), refused, "{text:?}");
    }
}

#[test]
fn a_pattern_matches_token_by_token() {
    let cases = [
        ("a.b", "a.b", true),
        ("a.b", "a.c", false),
        ("a.b", "a", false),
        ("a.b", "a.b.c", false),
        ("a.*", "a.b", true),
        ("a.*", "a", false),
        ("a.*", "a.b.c", false),
        ("*.b", "a.b", true),
        ("a.*.c", "a.b.c", true),
        ("a.*.c", "a.b.d", false),
        ("a.>", "a.b", true),
        ("a.>", "a.b.c", true),
        ("a.>", "a", false),
        ("a.>", "b.c", false),
        (">", "a", true),
        (">", "a.b.c", true),
        ("*.>", "a", false),
        ("*.>", "a.b", true),
        ("ab", "abc", false),
    ];
    for (pattern, subject, matches) in cases {
        let (wanted, on): (Pattern, Subject) = (pattern.parse().unwrap(), subject.parse().unwrap());
        assert_eq!(wanted.matches(&on), matches, "{pattern} and {subject}");
    }
}
