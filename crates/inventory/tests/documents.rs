//! The documents as a store and the bus hold them: a change of their shape is a change for every store that exists.

use inventory::{Build, Declaration, Machine, Module, Verdict};
use serde::{Serialize, de::DeserializeOwned};

/// Checks that the text is read, and written again to the letter.
fn check<T: Serialize + DeserializeOwned>(text: &str) {
    let text: String = text.lines().map(str::trim).collect();
    let written =
        serde_json::from_str::<T>(&text).and_then(|document| serde_json::to_string(&document));
    assert_eq!(written.map_err(|error| error.to_string()), Ok(text));
}

#[test]
fn a_machine() {
    check::<Machine>(
        r#"{"name":"box-1","labels":{"bellwether":"true","site":"ams"},"public_key":"UABC",
        "enrolled_at":"2026-01-02T03:04:05Z","roles":["lead-machine","bus"],
        "hold":{"by":"ann","why":"new disk","since":"2026-01-02T03:04:05Z"}}"#,
    );
}

#[test]
fn a_module() {
    check::<Module>(
        r#"{"account":"default","name":"blog","registered":"01ARZ3NDEKTSV4RRFFQ69G5FAV","assignments":[
        {"to":"box-1,box-2","instances":[{"PORT":"80"},{}]},{"to":"role=web,site=ams","instances":[{}]}],
        "release":"automatic","hold":null,"waves":["1","10%","rest"]}"#,
    );
}

#[test]
fn a_build() {
    check::<Build>(
        r#"{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","commit":"1f139d12","manifest":{"module":{"name":"blog"}},"artifacts":[
        {"name":"blog.tar.gz","size":7,"digest":"0000000000000000000000000000000000000000000000000000000000000001"}],
        "source_fingerprint":null,"registered_at":"2026-01-02T03:04:05Z"}"#,
    );
}

#[test]
fn a_declaration() {
    check::<Declaration>(
        r#"{"machine":"box-1","number":7,"epoch":2,"modules":{"blog":{"account":"default",
        "build":"01ARZ3NDEKTSV4RRFFQ69G5FAV","commit":"1f139d12","manifest":{"module":{"name":"blog"}},"artifacts":[],
        "instances":{"blog-1":{"PORT":"80"}}}},"withdrawn":["old"]}"#,
    );
}

#[test]
fn a_verdict_with_each_end_and_each_word_of_a_rollback() {
    let rollback = |word: &str| {
        format!(r#"{{"rollback":{{"id":"01ARZ3NDEKTSV4RRFFQ69G5FAW","word":{word}}}}}"#)
    };
    let to = r#""to":"01ARZ3NDEKTSV4RRFFQ69G5FAX""#;
    let ends = [
        r#""passed""#.to_owned(),
        format!(r#"{{"failed":{}}}"#, rollback(&format!(r#"{{"rolling-back":{{{to}}}}}"#))),
        format!(r#"{{"failed":{}}}"#, rollback(&format!(r#"{{"put-back":{{{to}}}}}"#))),
        format!(
            r#"{{"failed":{}}}"#,
            rollback(
                r#"{"not-put-back":{"to":null,"why":{"code":"none","text":"nothing ran before"}}}"#
            )
        ),
        format!(r#"{{"cannot-tell":{}}}"#, rollback(r#""unchanged""#)),
    ];
    for end in ends {
        check::<Verdict>(&format!(
            r#"{{"module":"blog","build":"01ARZ3NDEKTSV4RRFFQ69G5FAV",
            "content":"0000000000000000000000000000000000000000000000000000000000000001",
            "plan":"01ARZ3NDEKTSV4RRFFQ69G5FAV","wave":0,"trial":1,"stage":"first","end":{end},
            "why":{{"code":"passes","text":"3 in a row"}},"at":"2026-01-02T03:04:05Z","machines":["box-1"]}}"#
        ));
    }
}
