//! Clocks that are wrong, and words that are too early or too late.

use chrono::{DateTime, TimeDelta, Utc};
use wire::signed::{
    CLOCK_TOLERANCE, GRANT_MAX, Pointer, RetryGrant, SignedDeclaration, WordError, sign, verify,
};

use crate::words::{at, controller, declaration, grant, operator, pointer, rotation, trusted};

fn taken_at(grant: &RetryGrant, now: DateTime<Utc>) -> Result<(), WordError> {
    verify::<RetryGrant>(&sign(grant, &operator()).unwrap(), &trusted(), now).map(drop)
}

#[test]
fn a_machine_that_is_ten_minutes_off_takes_every_grant_that_is_good() {
    let off = TimeDelta::minutes(10);
    for term in [TimeDelta::minutes(1), TimeDelta::hours(24), GRANT_MAX] {
        let grant = RetryGrant { expires_at: at(0) + term, ..grant(1) };
        for true_time in [at(0), at(30), at(0) + term] {
            for shown in [true_time - off, true_time, true_time + off] {
                let taken = taken_at(&grant, shown);
                assert!(taken.is_ok(), "good for {term}, at {true_time}, shown {shown}: {taken:?}");
            }
        }
    }
}

#[test]
fn a_grant_is_taken_up_to_the_edges_and_not_beyond() {
    let second = TimeDelta::seconds(1);
    let grant = grant(1);
    let (first, last) = (grant.issued_at - CLOCK_TOLERANCE, grant.expires_at + CLOCK_TOLERANCE);
    assert!(matches!(taken_at(&grant, first - second), Err(WordError::NotYet { .. })));
    assert!(taken_at(&grant, first).is_ok());
    assert!(taken_at(&grant, last).is_ok());
    assert!(matches!(taken_at(&grant, last + second), Err(WordError::Expired { .. })));
    let told = taken_at(&grant, DateTime::UNIX_EPOCH).unwrap_err().to_string();
    assert!(told.contains("here it is 1970-01-01") && told.contains("clocks is wrong"), "{told}");
}

#[test]
fn nobody_grants_for_ever() {
    let second = TimeDelta::seconds(1);
    for term in [GRANT_MAX + second, TimeDelta::zero(), -second] {
        let grant = RetryGrant { expires_at: at(0) + term, ..grant(1) };
        assert!(matches!(taken_at(&grant, at(0)), Err(WordError::Term { .. })), "{term}");
    }
    let ends = RetryGrant {
        issued_at: DateTime::<Utc>::MIN_UTC,
        expires_at: DateTime::<Utc>::MAX_UTC,
        ..grant(1)
    };
    for now in [DateTime::<Utc>::MIN_UTC, at(0), DateTime::<Utc>::MAX_UTC] {
        assert!(matches!(taken_at(&ends, now), Err(WordError::Term { .. })));
    }
}

#[test]
fn a_pointer_is_good_for_ever_and_not_before_it_was_signed() {
    let signed = sign(&pointer(1, 0), &operator()).unwrap();
    let taken = |now| verify::<Pointer>(&signed, &trusted(), now);
    assert!(taken(at(0) + TimeDelta::days(4_000)).is_ok());
    assert!(taken(at(0) - CLOCK_TOLERANCE).is_ok());
    let early = taken(at(-1) - CLOCK_TOLERANCE);
    assert!(matches!(early, Err(WordError::NotYet { .. })), "it would stand above every other");
}

#[test]
fn no_clock_keeps_a_machine_from_its_declaration_or_the_newest_key() {
    for now in [DateTime::UNIX_EPOCH, at(0), DateTime::<Utc>::MAX_UTC] {
        let signed = sign(&declaration(), &controller()).unwrap();
        assert!(verify::<SignedDeclaration>(&signed, &trusted(), now).is_ok());
        let signed = sign(&rotation(), &operator()).unwrap();
        assert!(verify::<wire::signed::Rotation>(&signed, &trusted(), now).is_ok());
    }
}
