//! Which crates of others we use, and with which features: the allow-list, and the rule that keeps it.
//!
//! A workspace build joins the features that all crates ask for, so a pure crate that calls
//! `chrono::Utc::now` can compile there although it asks for no clock. That is why each pure
//! crate's dependencies are also looked at as cargo resolves them for that crate alone.

use super::layers::{self, Crate, Layer, Library};
use super::tree::Resolved;
use super::{Finding, Tree};
use crate::workspace::{Dependency, Kind, Package};
use std::collections::BTreeSet;

/// A crate of others, and the features that may be asked for; `default` stands for the default ones.
#[derive(Debug)]
struct External {
    name: &'static str,
    features: &'static [&'static str],
}

const fn external(name: &'static str, features: &'static [&'static str]) -> External {
    External { name, features }
}

/// All that a pure crate may bring along, directly or not, as resolved for it alone.
const PURE: &[External] = &[
    external("chrono", &["alloc", "serde"]),
    external("num-traits", &[]),
    external("hashbrown", &["default-hasher"]),
    external("foldhash", &[]),
    external("serde", &["alloc", "derive", "serde_derive"]),
    external("serde_core", &["alloc", "result", "std"]),
    external("serde_json", &["alloc"]),
    external("itoa", &[]),
    external("memchr", &[]),
    external("zmij", &[]),
    // Signatures are looked at where they decide; without `rand_core` it can make no key by itself.
    external("ed25519-dalek", &[]),
    external("ed25519", &[]),
    external("signature", &[]),
    external("curve25519-dalek", &["digest"]),
    external("subtle", &["const-generics"]),
    external("sha2", &[]),
    external("block-buffer", &[]),
    external("cfg-if", &[]),
    external("cpufeatures", &[]),
    external("crypto-common", &[]),
    external("digest", &["block-api", "default"]),
    external("hybrid-array", &[]),
    external("typenum", &["const-generics"]),
    external("thiserror", &[]),
    external("toml", &["parse", "serde", "std"]),
    external("serde_spanned", &["alloc", "serde", "std"]),
    external("toml_datetime", &["alloc", "serde", "std"]),
    external("toml_parser", &["alloc", "std"]),
    external("winnow", &[]),
];

/// What each pure crate may name in its own `Cargo.toml`; the features are those of [`PURE`].
const PURE_DIRECT: &[(&str, &[&str])] = &[
    ("names", &["serde", "thiserror"]),
    ("gate-judge", &["chrono", "hashbrown", "serde", "thiserror"]),
    ("toml-fields", &["serde", "thiserror", "toml"]),
    (
        "failure-book",
        // The fixed hasher keeps two runs the same to the byte.
        &["chrono", "foldhash", "hashbrown", "serde", "serde_json", "thiserror"],
    ),
    ("conditions", &["chrono", "serde", "thiserror"]),
    ("inventory", &["chrono", "serde", "serde_json", "sha2", "thiserror"]),
    ("wire", &["chrono", "ed25519-dalek", "serde", "serde_json", "sha2", "thiserror"]),
    ("controller-core", &["chrono", "serde", "serde_json", "thiserror"]),
    ("agent-core", &["chrono", "serde", "thiserror"]),
];

/// What a program for users may name.
const PROGRAM: &[External] = &[
    external("chrono", &["alloc", "serde", "std"]),
    external("clap", &["default", "derive", "env"]),
    // `termios` tells how wide the terminal is, `time` reads a clock that nobody sets.
    external("rustix", &["std", "process", "fs", "termios", "time"]),
    external("serde", &["alloc", "derive"]),
    external("serde_json", &["alloc", "std"]),
    external("sha2", &[]),
    external("tar", &[]),
    external("tempfile", &["default"]),
    external("thiserror", &[]),
    // `process` is for the agents of a fleet that is tried out.
    external(
        "tokio",
        &["io-util", "macros", "net", "process", "rt-multi-thread", "signal", "sync", "time"],
    ),
];

/// What the crates of the other layers may name in their own `Cargo.toml`.
const IMPURE_DIRECT: &[(Layer, &[External])] = &[
    (
        Layer::Port,
        &[
            external("bytes", &[]),
            external("chrono", &["alloc", "serde"]),
            external("thiserror", &[]),
            // The stand-ins in memory and the contracts wait and take turns; they open nothing.
            external("tokio", &["macros", "rt", "sync", "time"]),
        ],
    ),
    (
        Layer::Part,
        &[
            // A router passes on sockets (`net`), moves bytes through pipes (`pipe`) and has a clock that nobody sets (`time`).
            external("rustix", &["std", "process", "fs", "event", "net", "pipe", "time"]),
            external("serde", &["alloc", "derive"]),
            external("serde_json", &["alloc", "std"]),
            external("thiserror", &[]),
            external("tokio", &["io-util", "macros", "net", "process", "rt", "sync", "time"]),
        ],
    ),
    (
        Layer::Adapter,
        &[
            // Its checksums guard the failure book's journal; sled and flate2 bring it too.
            external("crc32fast", &["default"]),
            external("chrono", &["alloc", "serde"]),
            // What held a secret key is overwritten when it is dropped.
            external("ed25519-dalek", &["zeroize"]),
            external("zeroize", &["alloc"]),
            external("flate2", &["default"]),
            // A shim waits for descriptors (`event`), gives its own away (`stdio`) and its memory back (`mm`), and asks a socket who is at its other
            // end (`net`); `param` says how long a clock tick is.
            external(
                "rustix",
                &["std", "process", "fs", "event", "mm", "net", "param", "rand", "stdio", "time"],
            ),
            external("serde", &["alloc", "derive"]),
            external("serde_json", &["alloc", "std"]),
            external("sha2", &[]),
            external("sled", &["default"]),
            external("tar", &[]),
            external("thiserror", &[]),
            external("tokio", &["io-util", "macros", "net", "process", "rt", "sync", "time"]),
        ],
    ),
    (
        Layer::Shell,
        &[
            external("chrono", &["alloc", "serde"]),
            external("serde", &["alloc", "derive"]),
            external("serde_json", &["alloc", "std"]),
            external("thiserror", &[]),
            external("tokio", &["macros", "rt", "sync", "time"]),
        ],
    ),
    (
        Layer::Surface,
        &[
            external("chrono", &["alloc", "serde"]),
            external("clap", &["default", "derive", "env"]),
            external("serde", &["alloc", "derive"]),
            external("serde_json", &["alloc", "std"]),
            external("thiserror", &[]),
            external("tokio", &["rt-multi-thread"]),
        ],
    ),
    (Layer::Carried, PROGRAM),
    (Layer::Binary, PROGRAM),
    (
        Layer::Development,
        &[
            external("rustix", &["std", "process", "fs"]),
            external("chrono", &["alloc", "serde"]),
            external("flate2", &["default"]),
            external("serde", &["alloc", "derive", "std"]),
            external("serde_json", &["alloc", "std"]),
            external("thiserror", &["std"]),
        ],
    ),
    (
        Layer::Chores,
        &[
            external("anyhow", &["default"]),
            external("clap", &["default", "derive", "env"]),
            external("proc-macro2", &["span-locations"]),
            external("serde", &["alloc", "derive", "std"]),
            external("serde_json", &["alloc", "std"]),
            external("toml", &["parse", "serde", "std"]),
        ],
    ),
];

/// What tests may bring besides, with any features: they are in nothing that we ship.
const TESTS: &[&str] =
    &["ed25519-dalek", "flate2", "proptest", "serde_json", "sha2", "tar", "tempfile", "tokio"];

/// Looks at what each crate declares, and at what each pure crate brings along.
pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in &tree.packages {
        let Some(row) = layers::of(&package.name) else { continue };
        let mut say = |what: String| found.push(Finding { place: tree.manifest(package), what });
        for dependency in package.dependencies.iter().filter(|one| one.path.is_none()) {
            declared(row, dependency).into_iter().for_each(&mut say);
        }
        for resolved in tree.alone.get(&package.name).into_iter().flatten() {
            brought(row, resolved, &tree.packages).into_iter().for_each(&mut say);
        }
    }
    found
}

/// What is wrong with one declared dependency.
fn declared(row: &Crate, dependency: &Dependency) -> Option<String> {
    let name = dependency.name.as_str();
    let is_allowed = match direct(row, name) {
        None => false,
        Some(allowed) => {
            let default = dependency.uses_default_features.then_some("default");
            let mut features = dependency.features.iter().map(String::as_str).chain(default);
            features.all(|feature| allowed.features.contains(&feature))
        }
    };
    if is_allowed || (dependency.kind == Some(Kind::Dev) && TESTS.contains(&name)) {
        return None;
    }
    let default = if dependency.uses_default_features { " and the default features" } else { "" };
    Some(format!(
        "`{}` ({:?}) may not ask for `{name}` with {:?}{default}: {HOW}",
        row.name, row.layer, dependency.features
    ))
}

fn direct(row: &Crate, name: &str) -> Option<&'static External> {
    let mut of_layer = if row.layer.is_pure() {
        let (_, names) = PURE_DIRECT.iter().find(|(user, _)| *user == row.name)?;
        names.contains(&name).then(|| PURE.iter())?
    } else {
        let (_, externals) = IMPURE_DIRECT.iter().find(|(layer, _)| *layer == row.layer)?;
        externals.iter()
    };
    of_layer.find(|external| external.name == name)
}

/// What is wrong with one package that a pure crate brings along.
fn brought(row: &Crate, resolved: &Resolved, ours: &[Package]) -> Option<String> {
    if ours.iter().any(|package| package.name == resolved.name) {
        return None;
    }
    let Some(external) = PURE.iter().find(|external| external.name == resolved.name) else {
        return Some(format!("alone, `{}` brings `{}`: {HOW}", row.name, resolved.name));
    };
    let too_much: BTreeSet<&str> = resolved
        .features
        .iter()
        .map(String::as_str)
        .filter(|feature| {
            !external.features.contains(feature)
                || (row.library == Library::Alloc && *feature == "std")
        })
        .collect();
    (!too_much.is_empty()).then(|| {
        format!("alone, `{}` brings `{}` with {too_much:?}: {HOW}", row.name, resolved.name)
    })
}

const HOW: &str = "do without it, or allow it in xtask/src/tidy/external.rs and say why there";

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn each_pure_crate_has_its_list_and_names_only_what_is_pure() {
        let listed: Vec<&str> = PURE_DIRECT.iter().map(|(name, _)| *name).collect();
        assert_eq!(listed, layers::pure_crates().collect::<Vec<_>>());
        for name in PURE_DIRECT.iter().flat_map(|(_, names)| *names) {
            assert!(PURE.iter().any(|external| external.name == *name), "{name}");
        }
    }

    #[test]
    fn what_a_crate_may_not_ask_for_is_found() {
        let dev = Some(Kind::Dev);
        let cases = [
            ("names", "chrono", None, &[][..], true),
            ("gate-judge", "chrono", None, &["clock"], true),
            ("gate-judge", "chrono", None, &["alloc"], false),
            ("gate-judge", "tokio", None, &["rt"], true),
            ("conditions", "tokio", dev, &["rt"], false),
            ("conditions", "openssl", dev, &[], true),
            ("bus", "tokio", None, &["sync"], false),
            ("bus", "tokio", None, &["net"], true),
            ("bus", "reqwest", None, &[], true),
        ];
        for (user, used, kind, features, is_found) in cases {
            let mut tree = samples::tree([user]);
            samples::depend(&mut tree, user, samples::external(used, kind, features));
            let found = samples::found(rule, &tree);
            assert_eq!(found.len(), usize::from(is_found), "{user} -> {used}: {found:?}");
        }
    }

    #[test]
    fn default_features_must_be_allowed_too() {
        let mut tree = samples::tree(["gate-judge"]);
        let mut chrono = samples::external("chrono", None, &[]);
        chrono.uses_default_features = true;
        samples::depend(&mut tree, "gate-judge", chrono);
        let found = samples::found(rule, &tree);
        assert!(
            matches!(&found[..], [one] if one.contains("and the default features")),
            "{found:?}"
        );
    }

    #[test]
    fn what_a_pure_crate_brings_along_is_found() {
        let cases = [
            ("names", "serde", &["alloc"][..], None),
            ("names", "names", &["anything"], None),
            ("inventory", "serde_core", &["std"], None),
            ("names", "serde_core", &["std"], Some("brings `serde_core` with {\"std\"}")),
            ("inventory", "chrono", &["clock", "now"], Some("with {\"clock\", \"now\"}")),
            ("wire", "getrandom", &[], Some("alone, `wire` brings `getrandom`")),
        ];
        for (user, used, features, expected) in cases {
            let mut tree = samples::tree([user]);
            let features = features.iter().map(|feature| (*feature).to_owned()).collect();
            let resolved = Resolved { name: used.to_owned(), features };
            tree.alone.insert(user.to_owned(), vec![resolved]);
            let found = samples::found(rule, &tree);
            match expected {
                None => assert!(found.is_empty(), "{user} -> {used}: {found:?}"),
                Some(part) => {
                    assert!(matches!(&found[..], [one] if one.contains(part)), "{found:?}");
                }
            }
        }
    }
}
