//! Floors only rise.

use std::{collections::BTreeMap, sync::LazyLock};

use proptest::prelude::*;
use wire::signed::{Accepted, BelowFloor, Floors, Pointer, PointerKind, Verified};

use crate::words::{operator, pointer, verified};

fn taken(floors: &mut Floors, said: &Pointer) -> Result<Accepted, BelowFloor> {
    floors.accept(&verified(said, &operator()))
}

fn newest(floors: &Floors, of: &Pointer) -> Option<Pointer> {
    floors.newest(&of.account, &of.module, &of.channel).cloned()
}

#[test]
fn newer_is_taken_the_same_is_a_repeat_and_the_rest_is_refused() {
    let mut floors = Floors::default();
    assert_eq!(taken(&mut floors, &pointer(1, 100)), Ok(Accepted::Newer));
    assert_eq!(taken(&mut floors, &pointer(1, 100)), Ok(Accepted::Repeat));
    let older = taken(&mut floors, &pointer(2, 99)).unwrap_err();
    assert!(matches!(older, BelowFloor::Older { .. }), "{older}");
    let other_kind = Pointer { kind: PointerKind::Rollback, ..pointer(1, 100) };
    for other in [pointer(2, 100), other_kind] {
        let refused = taken(&mut floors, &other).unwrap_err();
        assert!(matches!(refused, BelowFloor::OtherContent { .. }), "{refused}");
    }
    assert_eq!(newest(&floors, &pointer(1, 0)), Some(pointer(1, 100)));
    assert_eq!(taken(&mut floors, &pointer(2, 101)), Ok(Accepted::Newer));
    assert_eq!(newest(&floors, &pointer(1, 0)), Some(pointer(2, 101)));
}

#[test]
fn each_channel_has_a_floor_of_its_own_and_a_build_its_newest_stamp() {
    let mut floors = Floors::default();
    let beta = Pointer { channel: "beta".parse().unwrap(), ..pointer(1, 200) };
    let other = Pointer { module: "shop".parse().unwrap(), ..pointer(1, 300) };
    let theirs = Pointer { account: "them".parse().unwrap(), ..pointer(1, 400) };
    for said in [&pointer(1, 100), &beta, &other, &theirs] {
        assert_eq!(taken(&mut floors, said), Ok(Accepted::Newer));
    }
    let stamp = |build| floors.stamp_of(&beta.account, &beta.module, build);
    assert_eq!(stamp(&beta.build), Some(beta.promoted_at));
    assert_eq!(stamp(&pointer(9, 0).build), None);
}

#[test]
fn what_was_kept_is_read_back_and_never_lower() {
    let mut floors = Floors::default();
    let beta = Pointer { channel: "beta".parse().unwrap(), ..pointer(1, 50) };
    for said in [&pointer(2, 100), &beta] {
        assert_eq!(taken(&mut floors, said), Ok(Accepted::Newer));
    }
    let text = serde_json::to_string(&floors).unwrap();
    assert_eq!(serde_json::from_str::<Floors>(&text).unwrap(), floors);
    let doubled = serde_json::to_string(&[pointer(1, 7), pointer(2, 100), pointer(3, 99), beta]);
    assert_eq!(serde_json::from_str::<Floors>(&doubled.unwrap()).unwrap(), floors);
}

/// A few pointers of two channels, verified once: what comes of them depends on their order alone.
static POOL: LazyLock<Vec<Verified<Pointer>>> = LazyLock::new(|| {
    let mut pool = Vec::new();
    for channel in ["default", "beta"] {
        for (build, stamp) in [(1, -3), (2, -3), (2, -2), (3, -1), (1, 0)] {
            let said = Pointer { channel: channel.parse().unwrap(), ..pointer(build, stamp) };
            pool.push(verified(&said, &operator()));
        }
    }
    pool
});

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn whatever_comes_in_whatever_order_floors_only_rise(order in prop::collection::vec(0_usize..10, 0..40)) {
        let mut floors = Floors::default();
        let mut model = BTreeMap::new();
        for index in order {
            let said = &POOL[index];
            let before = newest(&floors, said);
            let outcome = floors.accept(said);
            let after = newest(&floors, said);
            prop_assert!(before.as_ref().map(|one| one.promoted_at) <= after.as_ref().map(|one| one.promoted_at));
            let is_newer = before.as_ref().is_none_or(|one| one.promoted_at < said.promoted_at);
            prop_assert_eq!(matches!(outcome, Ok(Accepted::Newer)), is_newer);
            prop_assert_eq!(matches!(outcome, Ok(Accepted::Repeat)), before.as_ref() == Some(&**said));
            prop_assert_eq!(before != after, is_newer);
            let greatest = model.entry(said.channel.clone()).or_insert(said.promoted_at);
            *greatest = (*greatest).max(said.promoted_at);
            prop_assert_eq!(after.map(|one| one.promoted_at), Some(*greatest));
            // As after a restart.
            floors = serde_json::from_str(&serde_json::to_string(&floors).unwrap()).unwrap();
        }
    }
}
