//! No grant is used twice.

use std::{collections::BTreeSet, sync::LazyLock};

use chrono::TimeDelta;
use proptest::prelude::*;
use wire::signed::{CLOCK_TOLERANCE, NotUsable, RetryGrant, UsedGrants, Verified};

use crate::words::{at, grant, operator, verified};

/// A grant that is good for so many minutes.
fn good_for(id: u64, minutes: i64) -> Verified<RetryGrant> {
    let expires_at = at(0) + TimeDelta::minutes(minutes);
    verified(&RetryGrant { expires_at, ..grant(id) }, &operator())
}

#[test]
fn a_grant_is_good_once() {
    let mut used = UsedGrants::default();
    let (one, other) = (good_for(1, 60), good_for(2, 60));
    assert_eq!(used.spend(&one, at(0)), Ok(()));
    assert_eq!(used.spend(&one, at(0)), Err(NotUsable::Used));
    assert_eq!(used.spend(&other, at(0)), Ok(()), "another one is another one");
    let kept = serde_json::to_string(&used).unwrap();
    let mut again: UsedGrants = serde_json::from_str(&kept).unwrap();
    assert_eq!(again, used);
    assert_eq!(again.spend(&other, at(0)), Err(NotUsable::Used));
}

#[test]
fn what_has_expired_is_forgotten_and_still_does_not_pass() {
    let mut used = UsedGrants::default();
    let (short, long, late) = (good_for(1, 10), good_for(2, 60), good_for(3, 10));
    assert_eq!(used.spend(&short, at(0)), Ok(()));
    let over = at(600) + CLOCK_TOLERANCE;
    assert_eq!(used.spend(&long, over), Ok(()));
    assert_eq!(used.remembered(), 2, "up to the edge it is remembered");
    assert_eq!(used.spend(&good_for(4, 60), over + TimeDelta::seconds(1)), Ok(()));
    assert_eq!(used.remembered(), 2, "it is forgotten");
    // Somebody sets the clock back.
    let forgotten = Err(NotUsable::Forgotten { horizon: at(600) });
    assert_eq!(used.spend(&short, at(0)), forgotten);
    assert_eq!(used.spend(&late, at(0)), forgotten, "nobody can tell whether it was used");
    assert_eq!(used.spend(&good_for(5, 11), at(0)), Ok(()), "one that lasts longer is known");
}

#[test]
fn a_clock_that_was_ahead_for_years_refuses_nothing_later() {
    let mut used = UsedGrants::default();
    assert_eq!(used.spend(&good_for(1, 60), at(0) + TimeDelta::days(9_000)), Ok(()));
    assert_eq!(used.remembered(), 0);
    assert_eq!(used.spend(&good_for(2, 61), at(0)), Ok(()));
}

#[test]
fn no_more_are_remembered_than_there_is_room_for_and_none_passes_twice() {
    let mut used = UsedGrants::default();
    let more = u64::try_from(UsedGrants::REMEMBERED_MAX).unwrap() + 9;
    let grants: Vec<_> =
        (0..more).map(|id| good_for(id, 60 + i64::try_from(id).unwrap())).collect();
    for grant in &grants {
        assert_eq!(used.spend(grant, at(0)), Ok(()));
    }
    assert_eq!(used.remembered(), UsedGrants::REMEMBERED_MAX);
    for grant in &grants {
        assert!(used.spend(grant, at(0)).is_err(), "{}", grant.id);
    }
}

/// Some expire together, some early, some late.
static POOL: LazyLock<Vec<Verified<RetryGrant>>> = LazyLock::new(|| {
    (0..8).map(|id| good_for(id, 1 + 20 * i64::try_from(id / 2).unwrap_or(0))).collect()
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_replay_never_passes_whatever_the_clock_does(
        steps in prop::collection::vec((0_u64..8, -100_000_i64..100_000), 0..60),
    ) {
        let mut used = UsedGrants::default();
        let mut passed = BTreeSet::new();
        for (id, now) in steps {
            let before = used.clone();
            match used.spend(&POOL[usize::try_from(id).unwrap()], at(now)) {
                Ok(()) => prop_assert!(passed.insert(id), "{id} passes again"),
                Err(_) => prop_assert_eq!(&used, &before),
            }
            // As after a restart.
            used = serde_json::from_str(&serde_json::to_string(&used).unwrap()).unwrap();
        }
    }
}
