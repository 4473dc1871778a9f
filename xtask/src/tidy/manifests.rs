//! What every crate's `Cargo.toml` says: what the crate is for, and that it keeps the common lints.

use super::{Finding, Tree};

/// Looks at each manifest.
pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in &tree.packages {
        let mut say = |what: &str| {
            found.push(Finding { place: tree.manifest(package), what: what.to_owned() });
        };
        if package.description.as_ref().is_none_or(|text| text.trim().is_empty()) {
            say("it needs a `description`: what the crate is for, in a line");
        }
        let text = tree.manifests.get(&package.name).map_or("", String::as_str);
        if !inherits_lints(text) {
            say("it must keep the workspace's lints: `[lints]` with `workspace = true`");
        }
    }
    found
}

fn inherits_lints(manifest: &str) -> bool {
    manifest.parse::<toml::Table>().is_ok_and(|table| {
        let lints = table.get("lints").and_then(|lints| lints.get("workspace"));
        lints.and_then(toml::Value::as_bool) == Some(true)
    })
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    const GOOD: &str = "[lints]\nworkspace = true\n";

    fn found(description: Option<&str>, manifest: &str) -> Vec<String> {
        let mut tree = samples::tree(["a"]);
        tree.packages[0].description = description.map(str::to_owned);
        tree.manifests.insert("a".to_owned(), manifest.to_owned());
        samples::found(rule, &tree)
    }

    #[test]
    fn a_good_manifest_passes() {
        assert!(found(Some("Does one thing"), GOOD).is_empty());
    }

    #[test]
    fn a_crate_without_description_is_found() {
        for description in [None, Some(" ")] {
            let found = found(description, GOOD);
            assert!(matches!(&found[..], [one] if one.contains("`description`")), "{found:?}");
        }
    }

    #[test]
    fn a_crate_with_lints_of_its_own_is_found() {
        for manifest in ["", "[lints]\nworkspace = false", "[lints.clippy]\nall = 'allow'"] {
            let found = found(Some("Does one thing"), manifest);
            assert!(
                matches!(&found[..], [one] if one.starts_with("crates/a/Cargo.toml: it must keep")),
                "{manifest}: {found:?}"
            );
        }
    }
}
