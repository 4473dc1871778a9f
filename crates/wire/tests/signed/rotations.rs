//! A key in the place of another.

use wire::signed::{
    NotRotated, Pointer, PublicKey, Role, Rotation, Signer, TrustedKeys, WordError, sign, verify,
};

use crate::words::{Key, at, controller, operator, pointer, trusted};

fn to(key: &Key) -> Rotation {
    Rotation { next: key.public_key().clone(), issued_at: at(0) }
}

fn rotated(trusted: &TrustedKeys, from: &Key, next: &Key) -> Result<TrustedKeys, String> {
    let signed = sign(&to(next), from).map_err(|error| error.to_string())?;
    let rotation = verify(&signed, trusted, at(0)).map_err(|error| error.to_string())?;
    trusted.rotated(&rotation).map_err(|error| error.to_string())
}

#[test]
fn the_next_key_counts_and_the_old_one_no_longer() {
    let (old, next) = (operator(), Key::new(Role::Operator, 3));
    let trusted = rotated(&trusted(), &old, &next).unwrap();
    let by = |key| verify::<Pointer>(&sign(&pointer(1, 0), key).unwrap(), &trusted, at(0));
    assert!(by(&next).is_ok());
    let refused = by(&old).unwrap_err();
    assert!(matches!(refused, WordError::Retired { .. }), "{refused}");
    assert!(refused.to_string().contains("was replaced by a newer key"), "{refused}");
    let controllers: Vec<_> = trusted.of(Role::Controller).collect();
    assert_eq!(controllers, [controller().public_key()], "the others are as they were");
    // The same again, as it is when kept rotations are applied to a file that was brought up to date.
    assert!(rotated(&trusted, &old, &next).unwrap_err().contains("was replaced"));
}

#[test]
fn what_was_replaced_never_comes_back() {
    let (first, second, third) =
        (operator(), Key::new(Role::Operator, 3), Key::new(Role::Operator, 4));
    let trusted = rotated(&trusted(), &first, &second).unwrap();
    let refused = rotated(&trusted, &second, &first).unwrap_err();
    assert!(refused.contains("was replaced before; make a new key"), "{refused}");
    assert!(rotated(&trusted, &second, &second).is_err());
    let trusted = rotated(&trusted, &second, &third).unwrap();
    let operators: Vec<&PublicKey> = trusted.of(Role::Operator).collect();
    assert_eq!(operators, [third.public_key()]);
    assert!(rotated(&trusted, &first, &second).is_err(), "an old statement says nothing");
}

#[test]
fn a_role_never_changes_and_a_stranger_rotates_nobody() {
    let refused = rotated(&trusted(), &operator(), &Key::new(Role::Controller, 3)).unwrap_err();
    assert!(refused.contains("from a key of an operator to a key of a controller"), "{refused}");
    let stranger = Key::new(Role::Operator, 9);
    assert!(rotated(&trusted(), &stranger, &Key::new(Role::Operator, 3)).is_err());
    // Verified where the stranger is trusted, and applied where it is not.
    let theirs = TrustedKeys::new([stranger.public_key().clone()]);
    let signed = sign(&to(&Key::new(Role::Operator, 3)), &stranger).unwrap();
    let rotation = verify(&signed, &theirs, at(0)).unwrap();
    let refused = trusted().rotated(&rotation);
    assert_eq!(refused, Err(NotRotated::NotTrusted { by: stranger.public_key().clone() }));
    assert!(rotated(&trusted(), &controller(), &Key::new(Role::Controller, 5)).is_ok());
}
