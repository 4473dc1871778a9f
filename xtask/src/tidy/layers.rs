//! Which crate may use which: the table of layers, and the rule that holds the tree to it.

use super::{Finding, Tree};
use crate::workspace::{Dependency, Kind, Package};

/// A layer of the workspace, lowest first. A crate uses only crates of layers below its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Layer {
    /// Pure, and depends on no other layer.
    Base,
    /// Pure: what is known, and what is wrong.
    Model,
    /// Pure: what is said between machines.
    Wire,
    /// Pure: decides.
    Core,
    /// What a shell needs of the world, with its stand-in in memory.
    Port,
    /// A part of the machine that adapters are made of.
    Part,
    /// A port made of the real thing.
    Adapter,
    /// Gathers facts, runs a core, carries out its actions.
    Shell,
    /// What programs for users have in common: how they speak and end.
    Surface,
    /// A program for users that another program for users can carry in its own image.
    Carried,
    /// A program for users: flags and wiring.
    Binary,
    /// For development only; no program for users contains it.
    Development,
    /// The chores.
    Chores,
}

impl Layer {
    /// Whether its crates do no I/O and own no clock, threads, randomness or async.
    pub(super) fn is_pure(self) -> bool {
        self <= Layer::Core
    }
}

/// What a crate may use of the language's libraries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Library {
    /// `core` and `alloc`: the crate is `#![no_std]`.
    Alloc,
    /// The whole of `std`; in a pure crate only what is pure of it.
    Std,
}

/// One row of the table.
#[derive(Debug)]
pub(super) struct Crate {
    pub(super) name: &'static str,
    pub(super) layer: Layer,
    pub(super) library: Library,
    /// The crates of ours that it may use.
    pub(super) ours: &'static [&'static str],
}

/// Every crate of the workspace. A new crate gets a row before it passes.
const CRATES: &[Crate] = &[
    row("names", Layer::Base, Library::Alloc, &[]),
    row("gate-judge", Layer::Base, Library::Alloc, &[]),
    row("toml-fields", Layer::Base, Library::Std, &[]),
    row("failure-book", Layer::Base, Library::Alloc, &[]),
    row("conditions", Layer::Model, Library::Alloc, &["names"]),
    row("inventory", Layer::Model, Library::Std, &["names", "gate-judge", "toml-fields"]),
    row("wire", Layer::Wire, Library::Std, &["names", "inventory"]),
    row(
        "controller-core",
        Layer::Core,
        Library::Std,
        &["names", "gate-judge", "conditions", "inventory", "wire"],
    ),
    row("agent-core", Layer::Core, Library::Std, &["names", "failure-book", "inventory", "wire"]),
    row("bus", Layer::Port, Library::Std, &[]),
    row("store", Layer::Port, Library::Std, &[]),
    row("host", Layer::Port, Library::Std, &["names", "inventory", "wire"]),
    row("route", Layer::Part, Library::Std, &[]),
    row("bus-socket", Layer::Adapter, Library::Std, &["bus"]),
    row("keys", Layer::Adapter, Library::Std, &["wire"]),
    row("journal-file", Layer::Adapter, Library::Std, &["failure-book"]),
    row("store-sled", Layer::Adapter, Library::Std, &["store"]),
    row(
        "machine-os",
        Layer::Adapter,
        Library::Std,
        &["names", "inventory", "wire", "host", "route"],
    ),
    row(
        "controller-shell",
        Layer::Shell,
        Library::Std,
        &[
            "names",
            "gate-judge",
            "conditions",
            "inventory",
            "wire",
            "controller-core",
            "bus",
            "store",
        ],
    ),
    row(
        "agent-shell",
        Layer::Shell,
        Library::Std,
        &["names", "failure-book", "inventory", "wire", "agent-core", "bus", "store", "host"],
    ),
    row("terminal", Layer::Surface, Library::Std, &["wire"]),
    row(
        "node-agent",
        Layer::Carried,
        Library::Std,
        &[
            "names",
            "failure-book",
            "inventory",
            "toml-fields",
            "wire",
            "store",
            "host",
            "journal-file",
            "route",
            "store-sled",
            "bus-socket",
            "machine-os",
            "agent-shell",
            "terminal",
        ],
    ),
    row("controller", Layer::Binary, Library::Std, EVERYTHING_A_PROGRAM_IS_OF),
    row("program-test", Layer::Development, Library::Std, &[]),
    row(
        "vector-replay",
        Layer::Development,
        Library::Std,
        &["gate-judge", "failure-book", "conditions", "controller-core"],
    ),
    row("xtask", Layer::Chores, Library::Std, &["vector-replay"]),
];

/// What a program for users is wired from.
const EVERYTHING_A_PROGRAM_IS_OF: &[&str] = &[
    "names",
    "gate-judge",
    "toml-fields",
    "conditions",
    "inventory",
    "wire",
    "controller-core",
    "agent-core",
    "bus",
    "store",
    "host",
    "bus-socket",
    "keys",
    "store-sled",
    "machine-os",
    "controller-shell",
    "agent-shell",
    "terminal",
    "node-agent",
];

const fn row(
    name: &'static str,
    layer: Layer,
    library: Library,
    ours: &'static [&'static str],
) -> Crate {
    Crate { name, layer, library, ours }
}

/// The row of a crate, if it has one.
pub(super) fn of(name: &str) -> Option<&'static Crate> {
    CRATES.iter().find(|row| row.name == name)
}

/// The names of the pure crates, lowest first; each must build alone.
pub fn pure_crates() -> impl Iterator<Item = &'static str> {
    CRATES.iter().filter(|row| row.layer.is_pure()).map(|row| row.name)
}

/// Every crate has a row and every row a crate; no crate uses another that its row does not name.
pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let without_crate = CRATES
        .iter()
        .filter(|row| !tree.packages.iter().any(|package| package.name == row.name))
        .map(|row| Finding {
            place: TABLE.to_owned(),
            what: format!("`{}` has a row, but is no crate here: remove the row", row.name),
        });
    let packages = tree.packages.iter().flat_map(|package| match of(&package.name) {
        Some(row) => edges(tree, package, row),
        None => vec![Finding {
            place: tree.manifest(package),
            what: format!("`{}` is in no layer: give it a row in {TABLE}", package.name),
        }],
    });
    without_crate.chain(packages).collect()
}

const TABLE: &str = "xtask/src/tidy/layers.rs";

fn edges(tree: &Tree, package: &Package, row: &Crate) -> Vec<Finding> {
    package
        .dependencies
        .iter()
        .filter(|dependency| dependency.path.is_some() && !may_use(row, dependency))
        .map(|dependency| Finding {
            place: tree.manifest(package),
            what: format!(
                "`{}` ({:?}) may not use `{}` ({}), only: {}",
                row.name,
                row.layer,
                dependency.name,
                of(&dependency.name)
                    .map_or_else(|| "no layer".to_owned(), |used| format!("{:?}", used.layer)),
                if row.ours.is_empty() { "none of ours".to_owned() } else { row.ours.join(", ") },
            ),
        })
        .collect()
}

/// A test may use more: its own crate with more features, what is for development, and above the
/// pure crates anything up to the adapters.
fn may_use(row: &Crate, dependency: &Dependency) -> bool {
    let in_tests = || {
        of(&dependency.name).is_some_and(|used| match used.layer {
            Layer::Base
            | Layer::Model
            | Layer::Wire
            | Layer::Core
            | Layer::Port
            | Layer::Part
            | Layer::Adapter => !row.layer.is_pure(),
            Layer::Shell | Layer::Surface | Layer::Carried | Layer::Binary | Layer::Chores => false,
            Layer::Development => true,
        })
    };
    let name = dependency.name.as_str();
    row.ours.contains(&name)
        || (dependency.kind == Some(Kind::Dev) && (name == row.name || in_tests()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tidy::samples;

    #[test]
    fn the_table_points_only_downwards() {
        for row in CRATES {
            for name in row.ours {
                let used = of(name).unwrap_or_else(|| panic!("{name} has no row"));
                assert!(used.layer < row.layer, "{} uses {name}", row.name);
            }
        }
    }

    #[test]
    fn a_row_stands_once() {
        let mut names: Vec<_> = CRATES.iter().map(|row| row.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CRATES.len());
    }

    #[test]
    fn edges_up_and_sideways_are_found() {
        let cases = [
            ("names", "inventory", None, Some("`names` (Base) may not use `inventory` (Model)")),
            ("gate-judge", "names", None, Some("`names` (Base), only: none of ours")),
            ("agent-core", "controller-core", None, Some("`controller-core` (Core)")),
            ("controller-core", "store", None, Some("`store` (Port)")),
            ("controller-core", "store", Some(Kind::Dev), Some("`store` (Port)")),
            ("controller", "vector-replay", None, Some("`vector-replay` (Development)")),
            ("names", "vector-replay", Some(Kind::Build), Some("`vector-replay` (Development)")),
            ("store", "elsewhere", None, Some("`elsewhere` (no layer)")),
            ("controller-core", "gate-judge", None, None),
            ("gate-judge", "vector-replay", Some(Kind::Dev), None),
            ("controller-shell", "store-sled", Some(Kind::Dev), None),
            ("store", "store", Some(Kind::Dev), None),
        ];
        for (user, used, kind, expected) in cases {
            let mut tree = samples::tree(CRATES.iter().map(|row| row.name));
            samples::depend(&mut tree, user, samples::ours(used, kind));
            let found: Vec<String> = rule(&tree).iter().map(ToString::to_string).collect();
            match expected {
                None => assert!(found.is_empty(), "{user} -> {used}: {found:?}"),
                Some(part) => assert!(
                    matches!(&found[..], [one] if one.contains(part)),
                    "{user} -> {used}: {found:?}"
                ),
            }
        }
    }

    #[test]
    fn a_crate_without_row_and_a_row_without_crate_are_found() {
        let names = CRATES.iter().map(|row| row.name).filter(|name| *name != "wire");
        let tree = samples::tree(names.chain(["newcomer"]));
        let found: Vec<String> = rule(&tree).iter().map(ToString::to_string).collect();
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].contains("`wire` has a row, but is no crate here"), "{found:?}");
        assert!(found[1].contains("`newcomer` is in no layer"), "{found:?}");
    }
}
