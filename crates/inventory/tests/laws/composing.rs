//! Composing is deterministic, leaves alone what it does not know, and withdraws only what was taken back.

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;
use inventory::{
    Composing, Declaration, DeclarationNumber, Epoch, Instances, Left, Machine, Module,
    NextDeclaration, compose, instances_on,
};
use names::{BuildId, ModuleName};
use proptest::{collection::vec, prelude::*};

use crate::fleet;

/// A fleet's records, and what its one machine was declared.
#[derive(Debug, Clone)]
struct Fleet {
    previous: Option<Declaration>,
    wanted: BTreeMap<ModuleName, BuildId>,
    modules: Vec<Module>,
    builds: Vec<inventory::Build>,
}

impl Fleet {
    fn compose(&self) -> inventory::Composed {
        self.compose_on(&fleet::machine())
    }

    fn compose_on(&self, machine: &Machine) -> inventory::Composed {
        compose(&Composing {
            machine,
            previous: self.previous.as_ref(),
            heard: None,
            now: DateTime::UNIX_EPOCH,
            epoch: Epoch(3),
            wanted: &self.wanted,
            modules: &fleet::by_name(self.modules.iter().cloned()),
            builds: &fleet::by_id(self.builds.iter().cloned()),
        })
    }

    /// What the machine is declared after composing.
    fn declared(&self) -> Option<Declaration> {
        match self.compose().declaration {
            NextDeclaration::Unchanged => self.previous.clone(),
            NextDeclaration::Next(next) => Some(*next),
        }
    }
}

const TARGETS: [&str; 6] =
    ["box-1", "box-2", "site=ams", "site=fra", "role=web,site=ams", "box-1,box-2"];

fn modules() -> impl Strategy<Value = Vec<Module>> {
    let assignment = (0..TARGETS.len(), 1..4usize)
        .prop_map(|(target, instances)| fleet::assignment(TARGETS[target], instances));
    let module = (0..6u8, vec(assignment, 0..4));
    let module = module.prop_map(|(number, assignments)| fleet::module(number, assignments));
    vec(module, 0..6).prop_map(|modules| fleet::by_name(modules).into_values().collect())
}

/// A fleet with gaps: modules without a wanted build, wanted builds without a record, builds of other modules.
fn records() -> impl Strategy<Value = Fleet> {
    let wanted = prop::collection::btree_map(0..6u8, 0..12u8, 0..6);
    let builds = prop::collection::btree_map(0..12u8, 0..6u8, 0..12);
    (modules(), wanted, builds).prop_map(|(modules, wanted, builds)| Fleet {
        previous: None,
        wanted: wanted
            .into_iter()
            .map(|(module, build)| (fleet::module_name(module), fleet::build_id(build)))
            .collect(),
        modules,
        builds: builds
            .into_iter()
            .map(|(number, module)| fleet::build(number, module, &[number, 99]))
            .collect(),
    })
}

/// A fleet whose machine was declared what an earlier state of its records says.
fn fleets() -> impl Strategy<Value = Fleet> {
    (records(), records()).prop_map(|(before, now)| Fleet { previous: before.declared(), ..now })
}

proptest! {
    #[test]
    fn the_same_inventory_gives_the_same_digest_in_whatever_order_it_was_made(
        (fleet, shuffled) in fleets().prop_flat_map(|fleet| {
            let assignments: Vec<_> =
                fleet.modules.iter().map(|module| Just(module.assignments.clone()).prop_shuffle()).collect();
            let shuffled = (assignments, Just(fleet.modules.clone()), Just(fleet.builds.clone()).prop_shuffle());
            (Just(fleet), shuffled)
        }),
    ) {
        let (assignments, modules, builds) = shuffled;
        let modules = modules.into_iter().zip(assignments).rev();
        let modules = modules.map(|(module, assignments)| Module { assignments, ..module }).collect();
        let mut other = Fleet { modules, builds, ..fleet.clone() };
        other.builds.iter_mut().for_each(|build| build.artifacts.reverse());
        prop_assert_eq!(fleet.compose(), other.compose());
        let digest = |fleet: &Fleet| fleet.declared().map(|declaration| declaration.digest());
        prop_assert_eq!(digest(&fleet), digest(&other));
    }

    #[test]
    fn composing_again_changes_nothing(fleet in fleets()) {
        let again = Fleet { previous: fleet.declared(), ..fleet };
        prop_assert_eq!(again.compose().declaration, NextDeclaration::Unchanged);
    }

    #[test]
    fn each_declared_module_goes_on_changes_as_wanted_or_is_withdrawn(fleet in fleets()) {
        let composed = fleet.compose();
        let Some(now) = fleet.declared() else { return Ok(()) };
        let (modules, builds) =
            (fleet::by_name(fleet.modules.iter().cloned()), fleet::by_id(fleet.builds.iter().cloned()));
        let nothing = BTreeMap::new();
        let before = fleet.previous.as_ref().map_or(&nothing, |previous| &previous.modules);
        let names: BTreeSet<_> = before.keys().chain(now.modules.keys()).chain(modules.keys()).collect();
        for name in names {
            let assigned =
                modules.get(name).map(|module| instances_on(&module.assignments, &fleet::machine()).is_some());
            let wanted = fleet.wanted.get(name).and_then(|id| builds.get(id));
            match (assigned, wanted.filter(|build| build.module() == name)) {
                // Taken back: not declared, and withdrawn if it was.
                (Some(false), _) => {
                    prop_assert!(!now.modules.contains_key(name));
                    prop_assert!(now.withdrawn.contains(name) || !before.contains_key(name));
                    prop_assert!(!composed.left.contains_key(name));
                }
                // Assigned and all known: in the wanted build.
                (Some(true), Some(build)) => {
                    prop_assert_eq!(&now.modules[name].build, &build.id);
                    prop_assert!(!composed.left.contains_key(name));
                }
                // Anything else is left as it was, and said to be.
                (Some(true), None) | (None, _) => {
                    prop_assert_eq!(now.modules.get(name), before.get(name));
                    prop_assert!(composed.left.contains_key(name));
                }
            }
        }
        prop_assert!(now.withdrawn.iter().all(|name| !now.modules.contains_key(name)));
    }

    #[test]
    fn the_loss_of_any_records_withdraws_nothing(fleet in records()) {
        let declared = fleet.declared();
        let lost = Fleet { previous: declared, wanted: BTreeMap::new(), modules: vec![], builds: vec![] };
        prop_assert_eq!(lost.compose().declaration, NextDeclaration::Unchanged);
    }
}

/// One module on one machine, declared in build 1.
fn declared_once() -> Fleet {
    let fleet = Fleet {
        previous: None,
        wanted: [(fleet::module_name(1), fleet::build_id(1))].into(),
        modules: vec![fleet::module(1, vec![fleet::assignment("box-1", 1)])],
        builds: vec![fleet::build(1, 1, &[1]), fleet::build(2, 2, &[2])],
    };
    Fleet { previous: fleet.declared(), ..fleet }
}

#[test]
fn numbers_grow_by_one_and_the_epoch_is_the_composers() {
    let mut fleet = declared_once();
    let first = fleet.previous.clone().unwrap();
    assert_eq!((first.number, first.epoch), (DeclarationNumber(1), Epoch(3)));
    fleet.modules[0].assignments.clear();
    let second = fleet.declared().unwrap();
    assert_eq!(second.number, DeclarationNumber(2));
}

#[test]
fn a_withdrawn_module_stays_withdrawn_until_it_is_declared_again() {
    let mut fleet = declared_once();
    let assignments = std::mem::take(&mut fleet.modules[0].assignments);
    for _ in 0..2 {
        fleet.previous = fleet.declared();
        let previous = fleet.previous.as_ref().unwrap();
        assert_eq!(
            (previous.modules.len(), &previous.withdrawn),
            (0, &[fleet::module_name(1)].into())
        );
        // Something else changes.
        fleet.modules.push(fleet::module(2, vec![]));
    }
    fleet.modules[0].assignments = assignments;
    let declared = fleet.declared().unwrap();
    assert_eq!((declared.modules.len(), declared.withdrawn.len()), (1, 0));
}

#[test]
fn a_machine_that_has_seen_a_higher_number_is_declared_above_it() {
    let fleet = declared_once();
    let (modules, builds) = (fleet::by_name(fleet.modules), fleet::by_id(fleet.builds));
    let number = |heard| {
        let composed = compose(&Composing {
            machine: &fleet::machine(),
            previous: fleet.previous.as_ref(),
            heard,
            now: DateTime::UNIX_EPOCH,
            epoch: Epoch(4),
            wanted: &fleet.wanted,
            modules: &modules,
            builds: &builds,
        });
        match composed.declaration {
            NextDeclaration::Unchanged => None,
            NextDeclaration::Next(next) => Some(next.number.0),
        }
    };
    assert_eq!(number(None), None);
    assert_eq!(number(Some(DeclarationNumber(1))), None);
    assert_eq!(number(Some(DeclarationNumber(7))), Some(8));
}

#[test]
fn why_a_module_was_left_is_said() {
    let mut fleet = declared_once();
    let wanted = |number| [(fleet::module_name(1), fleet::build_id(number))].into();
    let unknown = Left::BuildUnknown { build: fleet::build_id(9) };
    let others = Left::OthersBuild { build: fleet::build_id(2), of: fleet::module_name(2) };
    let cases = [(BTreeMap::new(), Left::NoBuildWanted), (wanted(9), unknown), (wanted(2), others)];
    for (wanted, left) in cases {
        fleet.wanted = wanted;
        let composed = fleet.compose();
        assert_eq!(composed.declaration, NextDeclaration::Unchanged);
        assert_eq!(composed.left, [(fleet::module_name(1), left)].into());
    }
    fleet.modules.clear();
    assert_eq!(fleet.compose().left[&fleet::module_name(1)], Left::ModuleUnknown);
}

#[test]
fn the_assignment_that_says_most_of_a_machine_decides() {
    let cases = [
        (vec!["box-2", "site=fra"], None),
        (vec!["site=ams"], Some("site=ams")),
        (vec!["site=ams", "role=web,site=ams"], Some("role=web,site=ams")),
        (vec!["role=web,site=ams", "box-1,box-2"], Some("box-1,box-2")),
        (vec!["site=ams", "role=web"], Some("role=web")),
    ];
    for (targets, decides) in cases {
        let mut assignments: Vec<_> =
            targets.iter().map(|target| fleet::assignment(target, 1)).collect();
        for _ in 0..2 {
            let instances =
                instances_on(&assignments, &fleet::machine()).map(Instances::environments);
            let expected = decides.map(|target| fleet::assignment(target, 1).instances);
            assert_eq!(instances, expected.as_ref().map(Instances::environments), "{targets:?}");
            assignments.reverse();
        }
    }
}
