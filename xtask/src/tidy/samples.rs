//! Small trees for the tests of the rules.

use super::Finding;
use super::tree::{Source, Tree};
use crate::workspace::{Dependency, Kind, Package};

/// A crate named `name` in `crates/`, in order.
pub(super) fn package(name: &str) -> Package {
    Package {
        name: name.to_owned(),
        description: Some("Does one thing".to_owned()),
        manifest: format!("/w/crates/{name}/Cargo.toml").into(),
        dependencies: Vec::new(),
        targets: Vec::new(),
    }
}

/// A tree with these crates and nothing in them.
pub(super) fn tree<'a>(names: impl IntoIterator<Item = &'a str>) -> Tree {
    let packages = names.into_iter().map(package).collect();
    Tree { root: "/w".into(), packages, ..Tree::default() }
}

/// A tree with one crate and one file.
pub(super) fn file(package: &str, path: &str, text: &str) -> Tree {
    let mut tree = tree([package]);
    tree.sources.push(Source::new(path, package, text));
    tree
}

/// A dependency on a crate of ours.
pub(super) fn ours(name: &str, kind: Option<Kind>) -> Dependency {
    let path = Some(format!("/w/crates/{name}").into());
    Dependency { path, ..external(name, kind, &[]) }
}

/// A dependency on somebody else's crate, without its default features.
pub(super) fn external(name: &str, kind: Option<Kind>, features: &[&str]) -> Dependency {
    Dependency {
        name: name.to_owned(),
        kind,
        features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        uses_default_features: false,
        path: None,
    }
}

/// Adds a dependency to the crate `user` of `tree`.
pub(super) fn depend(tree: &mut Tree, user: &str, dependency: Dependency) {
    let package = tree.packages.iter_mut().find(|package| package.name == user);
    package.unwrap().dependencies.push(dependency);
}

/// What `rule` finds, as text.
pub(super) fn found(rule: fn(&Tree) -> Vec<Finding>, tree: &Tree) -> Vec<String> {
    rule(tree).iter().map(ToString::to_string).collect()
}
