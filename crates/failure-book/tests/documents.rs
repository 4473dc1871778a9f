//! The interchange document: what is read, what is refused and why, and what an import does.

use failure_book::{
    Answer, Begun, Book, BookId, Build, Disk, DocumentError, ExecutionId, FailureBook, Generation,
    Grant, HoldRan, Host, Intent, Journal, Kept, Landing, MemoryJournal, Mode, NotImported,
    RECONCILED_REASON, Rules, Served, Step, Time, Unsaved,
};
use proptest::prelude::*;
use std::convert::Infallible;
use std::error::Error;

type Outcome = Result<(), Box<dyn Error>>;

const OLD: &str = "00112233445566778899aabbccddeeff";

fn now() -> Time {
    Time::UNIX_EPOCH
}

fn id(byte: u8) -> BookId {
    BookId::from_random([byte; 16])
}

fn new_book() -> Result<FailureBook<MemoryJournal>, Box<dyn Error>> {
    let fresh = || Ok::<_, Infallible>(id(7));
    Ok(FailureBook::open(MemoryJournal::new(), now(), fresh, Rules::default())?)
}

/// A document with one entry of each kind.
fn full(schema: i64) -> String {
    format!(
        r#"{{
            "schema": {schema},
            "records": [{{
                "account": "ac", "app": "web", "build": "b1", "host": "h1", "cause": "release",
                "mode": "hold", "reason": "it exited", "promoted_at": "2026-03-01T00:00:05Z",
                "at": "2026-03-01T00:00:06.5Z", "held_down": ["h1"], "retried": ["h3", "h2"]
            }}],
            "hold_ran": {{"h4": {{
                "account": "ac", "app": "web", "build": "b1", "exec": "a3", "seq": 4,
                "at": "2026-03-01T00:00:04Z"
            }}}},
            "seq": 9,
            "intents": {{"h5": {{
                "account": "ac", "app": "web", "build": "b2", "mode": "overlap", "id": "w7"
            }}}},
            "book": "{OLD}",
            "gens": {{"ac/web": 8}},
            "durable_epochs": true
        }}"#
    )
}

#[test]
fn three_schemas_are_read_and_the_third_is_written() -> Outcome {
    for schema in [1, 2, 3] {
        let kept = Kept::from_document(full(schema).as_bytes())?;
        assert_eq!(kept.needs_identity(), schema < 3, "an older book needs a new identity");
        let written = kept.to_document()?;
        assert!(written.contains(r#""schema": 3"#), "{written}");
        assert!(written.contains(r#""durable_epochs": true"#), "{written}");
        assert_eq!(written.contains(OLD), schema == 3);
        let again = Kept::from_document(written.as_bytes())?;
        assert_eq!(again, kept);
    }
    Ok(())
}

#[test]
fn what_is_kept_can_be_looked_at_as_it_is() -> Outcome {
    let kept = Kept::from_document(full(3).as_bytes())?;
    assert_eq!(kept.id(), Some(OLD.parse()?));
    assert_eq!(Kept::from_document(full(2).as_bytes())?.id(), None);
    let records: Vec<_> = kept.records().map(|record| record.build.to_string()).collect();
    assert_eq!(records, ["ac/web/b1"]);
    let marked: Vec<_> = kept.markers().map(|(host, _)| host.as_str()).collect();
    assert_eq!(marked, ["h4"]);
    let begun: Vec<_> =
        kept.intents().map(|(host, intent)| (host.as_str(), intent.id.as_str())).collect();
    assert_eq!(begun, [("h5", "w7")], "an intent is no failure as long as nobody opens the book");
    let generations: Vec<_> = kept.generations().map(|(app, kept)| (app.as_str(), kept)).collect();
    assert_eq!(generations, [("ac/web", Generation::new(8))]);
    Ok(())
}

#[test]
fn what_is_refused_says_what_and_where() {
    let cases = [
        ("", "EOF while parsing"),
        ("not json", "expected ident"),
        ("[]", "invalid type: sequence, expected an object"),
        ("null", "invalid type: null, expected an object"),
        (r#"{"schema": 3} x"#, "trailing characters at line 1"),
        (r#"{"schema": 3, "records": {}}"#, "invalid type: map, expected a sequence"),
        (r#"{"schema": 3, "records": [[]]}"#, "invalid type: sequence, expected an object"),
        (r#"{"schema": 3, "hold_ran": []}"#, "invalid type: sequence, expected an object"),
        (r#"{"schema": 3, "hold_ran": {"h1": []}}"#, "invalid type: sequence, expected an object"),
        (r#"{"schema": 3, "intents": {"h1": ["a"]}}"#, "invalid type: sequence, expected"),
        (r#"{"schema": 3, "seq": -1}"#, "invalid value: integer `-1`"),
        (r#"{"schema": 3, "seq": 18446744073709551616}"#, "invalid type: floating point"),
        (r#"{"schema": 3, "schema": 3}"#, "duplicate field `schema`"),
        (r#"{"schema": 3, "gens": {"a/b": 1, "a/b": 2}}"#, r#"the key "a/b" is there twice"#),
        (r#"{"schema": 3, "hold_ran": {"h": {}, "h": {}}}"#, r#"the key "h" is there twice"#),
        (r#"{"schema": 3, "records": [{"at": "yesterday"}]}"#, r#""yesterday" is no time"#),
        (r#"{"schema": 3, "intents": {"h1": {}}}"#, "an execution's identity cannot be empty"),
        (r#"{"schema": 3, "records": [{"app": "a/b"}]}"#, r#"the name "a/b" has a `/` at line 1"#),
        (r#"{"schema": 3, "records": [{"retried": ["h/1"]}]}"#, r#"the name "h/1" has a `/`"#),
        (r#"{"schema": 3, "hold_ran": {"h": {"build": "b/1"}}}"#, r#"the name "b/1" has a `/`"#),
        (r#"{"schema": 3, "intents": {"h/1": {"id": "a1"}}}"#, r#"the name "h/1" has a `/`"#),
        (r#"{"schema": 3, "gens": {"web": 1}}"#, r#"the name "web""#),
        (r#"{"schema": 3, "gens": {"a/b/c": 1}}"#, r#"the name "b/c" has a `/`"#),
        (r#"{"schema": 4}"#, "the document has schema 4"),
        (r#"{"schema": -1}"#, "the document has schema -1"),
        (r#"{"records": []}"#, "the document has schema 0"),
    ];
    for (text, expected) in cases {
        let error = Kept::from_document(text.as_bytes()).unwrap_err();
        let source = error.source().map(ToString::to_string).unwrap_or_default();
        let said = format!("{error}: {source}");
        assert!(said.contains(expected), "{text}\n{said}");
        let is_schema = matches!(error, DocumentError::UnknownSchema { .. });
        assert_eq!(is_schema, expected.contains("has schema"), "{text}");
    }
}

#[test]
fn what_is_missing_or_null_is_empty_and_unknown_keys_are_ignored() -> Outcome {
    let sparse = r#"{"schema": 1, "records": null, "hold_ran": {"h1": {"exec": null}},
        "intents": null, "gens": null, "seq": null, "colour": {"a": [1]}}"#;
    let kept = Kept::from_document(sparse.as_bytes())?;
    let open = Book::open(Some(kept), now(), || Ok::<_, Infallible>(id(7)), Rules::default())?;
    assert_eq!((open.hold_ran_count(), open.list().count()), (1, 0));
    Ok(())
}

#[test]
fn what_is_empty_is_not_written() -> Outcome {
    let empty: serde_json::Value = serde_json::from_str(&Kept::default().to_document()?)?;
    let expected = serde_json::json!({"schema": 3, "records": [], "durable_epochs": true});
    assert_eq!(empty, expected);

    let full = Kept::from_document(full(3).as_bytes())?.to_document()?;
    for key in ["hold_ran", "seq", "intents", "book", "gens"] {
        assert!(full.contains(&format!("\"{key}\": ")), "{full}");
    }
    Ok(())
}

#[test]
fn a_host_that_is_listed_twice_is_listed_once() -> Outcome {
    let text = full(3).replace(r#"["h3", "h2"]"#, r#"["h3", "h2", "h3"]"#);
    assert_eq!(Kept::from_document(text.as_bytes())?, Kept::from_document(full(3).as_bytes())?);
    Ok(())
}

#[test]
fn an_import_brings_everything_under_a_new_identity() -> Outcome {
    let mut book = new_book()?;
    let kept = Kept::from_document(full(3).as_bytes())?;
    let answer = book.run(|book| book.import(kept, now(), id(9)));
    assert_eq!(answer, Answer { value: Ok(()), error: None });

    let read = book.book();
    assert_eq!(read.id(), id(9));
    let [b1, b2] = [Build::new("ac", "web", "b1")?, Build::new("ac", "web", "b2")?];
    let host = |name| Host::new(name).unwrap();
    assert!(read.held_down(&b1, &host("h1")) && read.retried(&b1, &host("h2")));
    assert!(read.hold_ran_on(&host("h4")).is_some_and(|marker| marker.build == b1));
    let reason = read.lookup(&b2).map(|record| record.reason.as_str());
    assert_eq!(reason, Some(RECONCILED_REASON), "an execution without an outcome failed");
    assert_eq!(book.journal_mut().load()?, Some(book.book().kept()), "all of it landed");

    // A grant that was signed for the document's book frees nothing here.
    let generation = book.book().restriction_generation(&b1, &host("h1"));
    let grant = Grant {
        build: b1.clone(),
        host: host("h1"),
        book: OLD.parse()?,
        generation: generation.ok_or("no generation")?,
    };
    let _ = book.retry_host_at(&grant);
    assert!(book.book().blocks(&b1, &host("h1"), Served::NotYet));
    Ok(())
}

#[test]
fn an_import_takes_the_place_of_what_an_emptied_book_left() -> Outcome {
    let mut book = new_book()?;
    let b1 = Build::new("ac", "job", "b1")?;
    let host = Host::new("h1")?;
    let ran = HoldRan { build: b1.clone(), exec: None, at: None };
    for _ in 0..20 {
        assert_eq!(book.run(|book| book.mark_hold_ran(&host, ran.clone(), now())).error, None);
    }
    assert_eq!(book.run(|book| book.clear_hold_ran(&host)).error, None);
    let seq = book.book().seq();

    let kept = Kept::from_document(full(3).as_bytes())?;
    assert_eq!(book.run(|book| book.import(kept, now(), id(9))).value, Ok(()));
    assert!(book.book().seq() > seq, "the counter goes on from the larger of the two");
    assert_eq!(book.journal_mut().load()?, Some(book.book().kept()));
    Ok(())
}

#[test]
fn an_import_is_refused_by_a_book_that_holds_something() -> Outcome {
    let mut book = new_book()?;
    let kept = || Kept::from_document(full(3).as_bytes());
    let first = kept()?;
    assert_eq!(book.run(|book| book.import(first, now(), id(9))).value, Ok(()));
    let before = book.book().kept();
    let second = kept()?;
    let answer = book.run(|book| book.import(second, now(), id(8)));
    let refused = NotImported::NotEmpty { records: 2, markers: 1, intents: 0 };
    assert_eq!(answer, Answer { value: Err(refused), error: None });
    assert_eq!(book.book().kept(), before);
    assert_eq!(
        refused.to_string(),
        "the failure book holds 2 records, 1 markers and 0 intents, and only an empty book takes \
         a document"
    );
    Ok(())
}

#[test]
fn a_marker_or_an_intent_is_something_too() -> Outcome {
    let host = Host::new("h1")?;
    let build = Build::new("ac", "web", "b1")?;
    let document = || Kept::from_document(full(3).as_bytes());

    let mut book = new_book()?;
    let ran = HoldRan { build: build.clone(), exec: None, at: None };
    assert_eq!(book.run(|book| book.mark_hold_ran(&host, ran, now())).error, None);
    let kept = document()?;
    let refused = book.run(|book| book.import(kept, now(), id(8))).value;
    assert_eq!(refused, Err(NotImported::NotEmpty { records: 0, markers: 1, intents: 0 }));

    let mut book = new_book()?;
    let intent = Intent { build, mode: Mode::OVERLAP, id: ExecutionId::new("a1f-1")?, start: None };
    let begun = book.run(|book| book.begin(&host, intent));
    assert_eq!(begun.value, Begun::MayExecute);
    let kept = document()?;
    let refused = book.run(|book| book.import(kept, now(), id(8))).value;
    assert_eq!(refused, Err(NotImported::NotEmpty { records: 0, markers: 0, intents: 1 }));
    Ok(())
}

#[test]
fn an_import_that_does_not_land_is_owed() -> Outcome {
    let mut book = new_book()?;
    book.journal_mut().set_disk(Disk::TakesNoWrites);
    let kept = Kept::from_document(full(3).as_bytes())?;
    let answer = book.run(|book| book.import(kept, now(), id(9)));
    assert_eq!(answer, Answer { value: Ok(()), error: Some(Unsaved::Failed) });
    book.journal_mut().set_disk(Disk::Well);
    assert_eq!(book.run(Book::save_if_dirty).error, None);
    assert_eq!(book.journal_mut().load()?, Some(book.book().kept()));
    Ok(())
}

/// A change from before an import has nothing of it, so its landing pays for nothing of it.
#[test]
fn what_lands_late_pays_for_nothing_of_an_import() -> Outcome {
    let fresh = || Ok::<_, Infallible>(id(7));
    let mut book = Book::open(None, now(), fresh, Rules::default())?;
    let late = (10..30).map(|byte| book.rotate_identity(id(byte))).last();
    let kept = Kept::from_document(full(3).as_bytes())?;
    let Step::Land(import, _) = book.import(kept, now(), id(9)) else {
        return Err("an import has to land".into());
    };
    let Some(Step::Land(_, late)) = late else { return Err("a new identity has to land".into()) };
    assert_eq!(book.landed(late, Landing::Landed).error, None);
    let Step::Land(owed, _) = book.save_if_dirty() else { return Err("it is not owed".into()) };
    assert_eq!(owed, import);
    Ok(())
}

#[test]
fn an_exhausted_book_takes_no_document() -> Outcome {
    let text = format!(
        r#"{{"schema": 3, "seq": {}, "book": "{OLD}", "durable_epochs": true}}"#,
        u64::MAX - 2
    );
    let kept = Kept::from_document(text.as_bytes())?;
    let mut book = Book::open(Some(kept), now(), || Ok::<_, Infallible>(id(7)), Rules::default())?;
    let ran = HoldRan { build: Build::new("ac", "web", "b1")?, exec: None, at: None };
    let host = Host::new("h1")?;
    let _ = book.mark_hold_ran(&host, ran, now());
    let _ = book.clear_hold_ran(&host);
    let document = Kept::from_document(full(3).as_bytes())?;
    let Step::Done(answer) = book.import(document, now(), id(9)) else {
        return Err("an exhausted book landed something".into());
    };
    assert_eq!(answer.value, Err(NotImported::Exhausted));
    Ok(())
}

#[test]
fn an_identity_can_be_rotated_so_that_no_older_grant_counts() -> Outcome {
    let mut book = new_book()?;
    let kept = Kept::from_document(full(3).as_bytes())?;
    assert_eq!(book.run(|book| book.import(kept, now(), id(9))).error, None);
    let build = Build::new("ac", "web", "b1")?;
    let host = Host::new("h1")?;
    let generation = book.book().published_generation(&build, &host).ok_or("not published")?;
    let grant = Grant { build, host, book: book.book().id(), generation };
    assert_eq!(book.run(|book| book.rotate_identity(id(10))).error, None);

    let same: Option<Generation> = book.book().published_generation(&grant.build, &grant.host);
    assert_eq!(same, Some(generation));
    let _ = book.retry_host_at(&grant);
    assert!(book.book().blocks(&grant.build, &grant.host, Served::NotYet));
    let _ = book.retry_host_at(&Grant { book: id(10), ..grant.clone() });
    assert!(!book.book().blocks(&grant.build, &grant.host, Served::NotYet));
    Ok(())
}

/// A document, with some of its bytes changed.
fn nearly_a_document() -> impl Strategy<Value = Vec<u8>> {
    let changes = proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    (1..4_i64, changes).prop_map(|(schema, changes)| {
        let mut text = full(schema).into_bytes();
        for (place, byte) in changes {
            let place = place.index(text.len());
            text[place] = byte;
        }
        text
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    /// Hostile bytes are refused, and what is not refused is written and read again the same.
    #[test]
    fn whatever_is_read_is_written_and_read_again(text in nearly_a_document()) {
        if let Ok(kept) = Kept::from_document(&text) {
            let written = kept.to_document().unwrap();
            let again = Kept::from_document(written.as_bytes()).unwrap();
            prop_assert_eq!(again.to_document().unwrap(), written);
            let fresh = || Ok::<_, Infallible>(id(7));
            let Ok(book) = Book::open(Some(kept), now(), fresh, Rules::default());
            prop_assert!(book.kept().to_document().is_ok());
        }
    }

    #[test]
    fn any_bytes_are_no_panic(text in proptest::collection::vec(any::<u8>(), 0..200)) {
        let _ = Kept::from_document(&text);
        let _ = Kept::from_entries([(&text[..text.len() / 2], &text[text.len() / 2..])]);
    }
}
