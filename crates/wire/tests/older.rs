//! Messages of programs that are older or newer than this one: what they do not say is not known, and nothing is made up.

use serde_json::{from_value, json};
use wire::{HelloReply, Statement, Trouble, TroubleKind};

#[test]
fn a_controller_that_says_nothing_of_builds_has_none_removed() {
    let reply: HelloReply = from_value(json!({ "declaration": null })).unwrap();
    assert_eq!(reply, HelloReply { declaration: None, keep: None });
}

#[test]
fn a_machine_that_says_nothing_of_itself_has_no_troubles() {
    let statement: Statement = from_value(json!({
        "machine": "box-1", "boot": "b", "engine": "e", "sequence": 1, "declaration": 7, "resources": [],
    }))
    .unwrap();
    assert_eq!(statement.troubles, []);
}

#[test]
fn a_trouble_that_is_not_known_here_keeps_its_words() {
    let trouble: Trouble = from_value(json!({ "kind": "on-fire", "why": "it burns" })).unwrap();
    assert_eq!(trouble, Trouble { kind: TroubleKind::Other, why: "it burns".to_owned() });
    let known = [
        TroubleKind::DiskFull,
        TroubleKind::DiskReadOnly,
        TroubleKind::DiskFails,
        TroubleKind::FileDamaged,
        TroubleKind::Other,
    ];
    for kind in known {
        assert_eq!(json!(kind), kind.as_str(), "a condition goes by the word on the wire");
        assert_eq!(from_value::<TroubleKind>(json!(kind.as_str())).unwrap(), kind);
    }
}
