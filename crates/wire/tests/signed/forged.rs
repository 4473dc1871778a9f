//! Whatever is changed of a signed word, or of who is said to have signed it, it counts no more.

use proptest::prelude::*;
use wire::signed::{
    Pointer, PublicKey, RetryGrant, Role, Rotation, Signed, SignedDeclaration, TrustedKeys, Word,
    WordError, sign, verify,
};

use crate::words::{
    Key, at, controller, declaration, grant, operator, pointer, rotation, signed_text, trusted,
};

fn refused<W: Word>(signed: &Signed) -> WordError {
    match verify::<W>(signed, &trusted(), at(0)) {
        Ok(_) => panic!("it is taken: {signed:?}"),
        Err(error) => error,
    }
}

#[test]
fn what_was_signed_is_taken_and_tells_who_signed_it() {
    let signed = sign(&grant(1), &operator()).unwrap();
    let verified = verify::<RetryGrant>(&signed, &trusted(), at(0)).unwrap();
    assert_eq!((&*verified, verified.by()), (&grant(1), &signed.by));
    assert_eq!(verified.into_word(), grant(1));
    let signed = sign(&declaration(), &controller()).unwrap();
    assert_eq!(*verify::<SignedDeclaration>(&signed, &trusted(), at(0)).unwrap(), declaration());
}

#[test]
fn no_bit_of_a_signature_can_be_another() {
    let signed = sign(&grant(1), &operator()).unwrap();
    for bit in 0..512 {
        let mut forged = signed.clone();
        forged.signature.0[bit / 8] ^= 1 << (bit % 8);
        assert!(matches!(refused::<RetryGrant>(&forged), WordError::Signature { .. }), "{bit}");
    }
}

/// The order of the curve's group. A signature's second half counts modulo it, and could be had in other forms by adding it.
const ORDER: [u8; 32] = [
    0xed, 0xd3, 0xf5, 0x5c, 0x1a, 0x63, 0x12, 0x58, 0xd6, 0x9c, 0xf7, 0xa2, 0xde, 0xf9, 0xde, 0x14,
    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x10,
];

#[test]
fn a_signature_has_no_second_form() {
    let signed = sign(&grant(1), &operator()).unwrap();
    let mut forged = signed.clone();
    let mut carry = 0;
    for (byte, order) in forged.signature.0[32..].iter_mut().zip(ORDER) {
        let sum = u16::from(*byte) + u16::from(order) + carry;
        (*byte, carry) = (sum.to_le_bytes()[0], sum >> 8);
    }
    assert_eq!(carry, 0);
    assert_ne!(forged, signed);
    assert!(matches!(refused::<RetryGrant>(&forged), WordError::Signature { .. }));
}

/// Whoever has the secret can make signatures that hold for some checks and not for others: this one of the grant below begins with
/// the neutral point. Two machines must not differ about a word, so it is none.
#[test]
fn a_signature_that_begins_with_a_point_of_small_order_is_none() {
    let signature = concat!(
        "0100000000000000000000000000000000000000000000000000000000000000",
        "cbc26e590f12b88408729ac50f58f7d8f0aad919efd59bbc3650061b91ef4206",
    );
    let signed = sign(&grant(1), &operator()).unwrap();
    let forged = Signed { signature: signature.parse().unwrap(), ..signed };
    let bytes = [RetryGrant::DOMAIN.as_bytes(), forged.payload.as_bytes()].concat();
    let key = ed25519_dalek::SigningKey::from_bytes(&[1; 32]).verifying_key();
    let lax = ed25519_dalek::Signature::from_bytes(&forged.signature.0);
    assert!(ed25519_dalek::Verifier::verify(&key, &bytes, &lax).is_ok(), "it holds for some");
    assert!(matches!(refused::<RetryGrant>(&forged), WordError::Signature { .. }));
}

type Verify = fn(&Signed) -> Result<(), WordError>;

#[test]
fn a_word_of_one_kind_says_nothing_as_another() {
    let said = [
        sign(&grant(1), &operator()).unwrap(),
        sign(&pointer(1, 0), &operator()).unwrap(),
        sign(&rotation(), &operator()).unwrap(),
    ];
    let kinds: [Verify; 3] = [
        |signed| verify::<RetryGrant>(signed, &trusted(), at(0)).map(drop),
        |signed| verify::<Pointer>(signed, &trusted(), at(0)).map(drop),
        |signed| verify::<Rotation>(signed, &trusted(), at(0)).map(drop),
    ];
    for (said_as, signed) in said.iter().enumerate() {
        for (taken_as, verify) in kinds.iter().enumerate() {
            let taken = verify(signed);
            if said_as == taken_as {
                assert!(taken.is_ok(), "{taken:?}");
            } else {
                let is_signature = matches!(taken, Err(WordError::Signature { .. }));
                assert!(is_signature, "{said_as} as {taken_as}: {taken:?}");
            }
        }
    }
    // Also where what was signed reads as the other kind.
    let payload = sign(&pointer(1, 0), &operator()).unwrap().payload;
    let forged = signed_text::<RetryGrant>(&payload, &operator());
    assert!(matches!(refused::<Pointer>(&forged), WordError::Signature { .. }));
    let domains =
        [RetryGrant::DOMAIN, Pointer::DOMAIN, Rotation::DOMAIN, SignedDeclaration::DOMAIN];
    for (index, domain) in domains.iter().enumerate() {
        assert_eq!(domain.find('\0'), Some(domain.len() - 1), "{domain:?}");
        assert!(!domains[..index].contains(domain), "{domain:?}");
    }
}

#[test]
fn a_key_signs_only_what_its_role_says() {
    let refused_to_sign = sign(&grant(1), &controller()).unwrap_err().to_string();
    let expected =
        "a retry grant is signed by a key of an operator, and this is a key of a controller";
    assert_eq!(refused_to_sign, expected);
    assert!(sign(&declaration(), &operator()).is_err());
    assert!(sign(&rotation(), &Key::new(Role::Machine, 2)).is_err());

    // Whoever signs it all the same is not believed, although the key is trusted and the signature right.
    let payload = sign(&grant(1), &operator()).unwrap().payload;
    let forged = signed_text::<RetryGrant>(&payload, &controller());
    assert!(matches!(refused::<RetryGrant>(&forged), WordError::Role { .. }));
    let payload = sign(&declaration(), &controller()).unwrap().payload;
    let forged = signed_text::<SignedDeclaration>(&payload, &operator());
    assert!(matches!(refused::<SignedDeclaration>(&forged), WordError::Role { .. }));
    // One secret under two roles is two keys.
    let as_operator = Key::new(Role::Operator, 2);
    let forged = sign(&grant(1), &as_operator).unwrap();
    assert!(matches!(refused::<RetryGrant>(&forged), WordError::NotTrusted { .. }));
}

#[test]
fn who_trusts_nobody_takes_nothing_and_says_what_to_do() {
    let signed = sign(&grant(1), &operator()).unwrap();
    for trusted in [
        TrustedKeys::default(),
        TrustedKeys::new([sign(&declaration(), &controller()).unwrap().by]),
    ] {
        let error = verify::<RetryGrant>(&signed, &trusted, at(0)).unwrap_err();
        assert!(matches!(error, WordError::NobodyTrusted { role: Role::Operator, .. }));
        assert!(error.to_string().contains("list it under [trust]"), "{error}");
    }
}

#[test]
fn a_signature_is_looked_at_before_what_was_signed() {
    let garbage = Signed { payload: "{".to_owned(), ..sign(&grant(1), &operator()).unwrap() };
    assert!(matches!(refused::<RetryGrant>(&garbage), WordError::Signature { .. }));
    let signed_garbage = signed_text::<RetryGrant>("{", &operator());
    assert!(matches!(refused::<RetryGrant>(&signed_garbage), WordError::Unreadable { .. }));
    let long = signed_text::<RetryGrant>(&" ".repeat(wire::BYTES_MAX + 1), &operator());
    assert!(matches!(refused::<RetryGrant>(&long), WordError::TooLarge { .. }));
}

#[test]
fn unknown_fields_are_ignored_and_unknown_versions_refused() {
    let payload = sign(&grant(1), &operator()).unwrap().payload;
    let newer = payload.replace(r#""word":{"#, r#""more":[],"word":{"colour":"red","#);
    assert_ne!(newer, payload);
    let signed = signed_text::<RetryGrant>(&newer, &operator());
    assert_eq!(*verify::<RetryGrant>(&signed, &trusted(), at(0)).unwrap(), grant(1));

    let unknown = r#"{"version":2,"word":"something that nobody here can read"}"#;
    let error = refused::<RetryGrant>(&signed_text::<RetryGrant>(unknown, &operator()));
    assert!(matches!(error, WordError::UnknownVersion { version: 2, .. }), "{error}");
    for payload in [r#"{"word":{}}"#, r#"{"version":1}"#, r#"{"version":1,"version":2,"word":{}}"#]
    {
        let error = refused::<RetryGrant>(&signed_text::<RetryGrant>(payload, &operator()));
        assert!(matches!(error, WordError::Unreadable { .. }), "{error}");
    }
    let kind =
        sign(&pointer(1, 0), &operator()).unwrap().payload.replace("promote\"", "free-all\"");
    let error = refused::<Pointer>(&signed_text::<Pointer>(&kind, &operator()));
    assert!(matches!(error, WordError::Unreadable { .. }), "{error}");
}

proptest! {
    #[test]
    fn no_bit_of_what_was_signed_can_be_another(at_bit in any::<prop::sample::Index>()) {
        let mut signed = sign(&grant(1), &operator()).unwrap();
        // All of it is ASCII, and stays so.
        let bit = at_bit.index(signed.payload.len() * 7);
        let mut bytes = signed.payload.into_bytes();
        bytes[bit / 7] ^= 1 << (bit % 7);
        signed.payload = String::from_utf8(bytes).unwrap();
        prop_assert!(
            matches!(refused::<RetryGrant>(&signed), WordError::Signature { .. }),
            "{}", signed.payload
        );
    }

    #[test]
    fn no_bit_of_the_key_can_be_another(bit in 0_usize..256) {
        let signed = sign(&grant(1), &operator()).unwrap();
        let mut bytes = ed25519_dalek::SigningKey::from_bytes(&[1; 32]).verifying_key().to_bytes();
        bytes[bit / 8] ^= 1 << (bit % 8);
        if let Ok(by) = PublicKey::new(Role::Operator, bytes) {
            let forged = Signed { by: by.clone(), ..signed };
            let is_not_trusted = matches!(refused::<RetryGrant>(&forged), WordError::NotTrusted { .. });
            prop_assert!(is_not_trusted);
            // Also where somebody trusts that key.
            let error = verify::<RetryGrant>(&forged, &TrustedKeys::new([by]), at(0)).unwrap_err();
            let is_signature = matches!(error, WordError::Signature { .. });
            prop_assert!(is_signature);
        }
    }
}
