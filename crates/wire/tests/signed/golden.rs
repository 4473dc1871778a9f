//! One signed word of each kind, byte for byte. A change here breaks words that were signed before.

use wire::signed::{
    Pointer, RetryGrant, Rotation, Signed, SignedDeclaration, Signer, TrustedKeys, Word, sign,
    verify,
};

use crate::words::{Key, at, controller, declaration, grant, operator, pointer, rotation};

fn is_golden<W: Word + PartialEq + std::fmt::Debug>(word: &W, key: &Key, golden: &str) {
    let signed = sign(word, key).unwrap();
    assert_eq!(serde_json::to_string_pretty(&signed).unwrap() + "\n", golden);
    let kept: Signed = serde_json::from_str(golden).unwrap();
    let trusted = TrustedKeys::new([key.public_key().clone()]);
    assert_eq!(*verify::<W>(&kept, &trusted, at(0)).unwrap(), *word);
}

#[test]
fn a_grant() {
    is_golden::<RetryGrant>(&grant(1), &operator(), include_str!("../golden/grant.json"));
}

#[test]
fn a_pointer() {
    is_golden::<Pointer>(&pointer(1, 0), &operator(), include_str!("../golden/pointer.json"));
}

#[test]
fn a_declaration() {
    let golden = include_str!("../golden/declaration.json");
    is_golden::<SignedDeclaration>(&declaration(), &controller(), golden);
}

#[test]
fn a_rotation() {
    is_golden::<Rotation>(&rotation(), &operator(), include_str!("../golden/rotation.json"));
}
