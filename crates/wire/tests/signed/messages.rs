//! What a grant is composed of, and what is said around it.

use std::num::NonZeroU64;

use chrono::TimeDelta;
use serde_json::{from_value, json};
use wire::{
    BookState, BookStatus, HeldBy, HeldInstance, HeldMode, ModuleReport, RefusedBecause, WordReply,
    signed::{
        GRANT_DEFAULT, GRANT_MAX, Generation, GrantTerms, NotIssued, Pointer, RetryGrant,
        grant_for, issue_grant, issue_pointer, verify,
    },
};

use crate::words::{at, controller, grant, operator, pointer, trusted, word_id};

fn held() -> HeldInstance {
    HeldInstance {
        instance: "blog-1".parse().unwrap(),
        account: "default".parse().unwrap(),
        module: "blog".parse().unwrap(),
        build: crate::words::build(2),
        rule: HeldBy::HeldDown,
        since: Some(at(-60)),
        mode: Some(HeldMode::Hold),
        reason: Some("exited with status 3".to_owned()),
        generation: Some(Generation(NonZeroU64::new(17).unwrap())),
        book: "00112233445566778899aabbccddeeff".parse().unwrap(),
    }
}

fn terms(term: Option<TimeDelta>) -> GrantTerms {
    GrantTerms { id: word_id(1), issued_at: at(0), term }
}

#[test]
fn a_grant_names_what_the_book_published_and_nothing_else() {
    let machine = "box-1".parse().unwrap();
    let signed = issue_grant(&machine, &held(), terms(None), &operator()).unwrap();
    let verified = verify::<RetryGrant>(&signed, &trusted(), at(0)).unwrap();
    assert_eq!(*verified, grant(1));
    assert_eq!(verified.expires_at - verified.issued_at, GRANT_DEFAULT);

    let owed = HeldInstance { generation: None, ..held() };
    let refused = grant_for(&machine, &owed, terms(None)).unwrap_err();
    assert!(matches!(refused, NotIssued::NotPublished { .. }), "{refused}");
    for term in [TimeDelta::zero(), GRANT_MAX + TimeDelta::seconds(1)] {
        let refused = grant_for(&machine, &held(), terms(Some(term))).unwrap_err();
        assert!(matches!(refused, NotIssued::Term(_)), "{refused}");
    }
    let refused = issue_grant(&machine, &held(), terms(None), &controller()).unwrap_err();
    assert!(matches!(refused, NotIssued::Sign(_)), "{refused}");
}

#[test]
fn a_pointer_is_signed_by_an_operator_alone() {
    let signed = issue_pointer(&pointer(1, 0), &operator()).unwrap();
    assert_eq!(*verify::<Pointer>(&signed, &trusted(), at(0)).unwrap(), pointer(1, 0));
    assert!(issue_pointer(&pointer(1, 0), &controller()).is_err());
}

#[test]
fn a_word_travels_as_it_was_signed() {
    let signed = issue_pointer(&pointer(1, 0), &operator()).unwrap();
    let word = wire::Word::Pointer(signed.clone());
    let text = serde_json::to_value(&word).unwrap();
    assert_eq!(text["word"], "pointer");
    assert_eq!(text["signed"]["payload"], json!(signed.payload));
    assert_eq!(from_value::<wire::Word>(text).unwrap(), word);
}

#[test]
fn a_refusal_says_why_for_programs_and_for_people() {
    let unreadable = crate::words::signed_text::<Pointer>("{", &operator());
    let error = verify::<Pointer>(&unreadable, &trusted(), at(0)).unwrap_err();
    let WordReply::Refused { because, why } = WordReply::refused(&error) else {
        panic!("it is a refusal")
    };
    assert_eq!(because, RefusedBecause::Unreadable);
    assert!(why.starts_with("a pointer cannot be read: EOF"), "{why}");
    let newer = json!({ "answer": "refused", "because": "moon-phase", "why": "it is full" });
    let WordReply::Refused { because, .. } = from_value(newer).unwrap() else {
        panic!("it is a refusal")
    };
    assert_eq!(because, RefusedBecause::Other);
}

#[test]
fn a_report_of_an_older_agent_says_nothing_of_a_book_and_a_newer_one_is_read() {
    let older = json!({ "build": null, "outcome": "applied" });
    let report: ModuleReport = from_value(older.clone()).unwrap();
    assert_eq!(report.held, None);
    let mut written = serde_json::to_value(&report).unwrap();
    written.as_object_mut().unwrap().remove("executions");
    assert_eq!(written, older, "what is not said is not written");

    let refused = json!({
        "build": null, "outcome": "refused", "rule": "the build failed here",
        "held": [{
            "instance": "blog-1", "account": "default", "module": "blog",
            "build": "01ARZ3NDEKTSV4RRFF00000002", "rule": "frozen", "mode": "sideways",
            "book": "00112233445566778899aabbccddeeff", "weather": "rain",
        }],
    });
    let held = from_value::<ModuleReport>(refused).unwrap().held.unwrap();
    assert_eq!((held[0].rule, held[0].mode), (HeldBy::Other, Some(HeldMode::Other)));
    assert_eq!((held[0].generation, held[0].since), (None, None));
}

#[test]
fn the_state_of_a_book_is_read_also_when_it_is_news() {
    let status =
        |book| json!({ "machine": "box-1", "clock": "2027-01-15T08:00:00Z", "book": book });
    let open = json!({ "state": "open", "book": "00112233445566778899aabbccddeeff", "disk": "all", "held": [held()] });
    let read: BookStatus = from_value(status(open.clone())).unwrap();
    assert_eq!(serde_json::to_value(&read.book).unwrap(), open);
    let news: BookStatus =
        from_value(status(json!({ "state": "lent", "to": "a friend" }))).unwrap();
    assert_eq!(news.book, BookState::Other);
}
