//! Shortcuts that nobody takes: a silenced lint, a skipped test, a hole in the code, `unsafe`.

use super::code::lines_of;
use super::{Finding, Tree};

/// Tokens in a row, and what to do instead.
const SHORTCUTS: &[(&[&str], &str)] = &[
    (&["todo", "!"], "write it, or leave out what needs it"),
    (&["unimplemented", "!"], "write it, or leave out what needs it"),
    (&["#", "[", "allow"], "meet the lint, or `#[expect(…, reason = \"…\")]`"),
    (&["#", "!", "[", "allow"], "meet the lint, or `#![expect(…, reason = \"…\")]`"),
    (&["#", "[", "ignore"], "make the test fast and sure, or remove it"),
    (&[",", "ignore", ")", "]"], "make the test fast and sure, or remove it"),
    (&[",", "ignore", "="], "make the test fast and sure, or remove it"),
];

/// The crate that may hold `unsafe`, in one file.
const UNSAFE_CRATE: &str = "machine-os";

/// Looks at the tokens of each file, tests included.
pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let shortcuts = tree.sources.iter().flat_map(|file| {
        let tokens: Vec<_> = file.code.iter().flat_map(|code| &code.tokens).collect();
        let mut found = Vec::new();
        for (pattern, instead) in SHORTCUTS {
            found.extend(lines_of(&tokens, pattern).map(|line| Finding {
                place: format!("{}:{line}", file.path),
                what: format!("`{}`: {instead}", pattern.concat()),
            }));
        }
        found
    });
    shortcuts.chain(unsafe_code(tree)).collect()
}

fn unsafe_code(tree: &Tree) -> Vec<Finding> {
    let uses = tree.sources.iter().filter_map(|file| {
        let tokens: Vec<_> = file.code.iter().flat_map(|code| &code.tokens).collect();
        let line = lines_of(&tokens, &["unsafe"]).next()?;
        Some((file, format!("{}:{line}", file.path)))
    });
    let (home, elsewhere): (Vec<_>, Vec<_>) = uses.partition(|(file, _)| {
        file.package == UNSAFE_CRATE
            && file.path.contains("/src/")
            && !file.path.ends_with("/src/lib.rs")
    });
    let mut found: Vec<Finding> = elsewhere
        .into_iter()
        .map(|(_, place)| Finding {
            place,
            what: format!("`unsafe`: only one module of `{UNSAFE_CRATE}` may hold it"),
        })
        .collect();
    if home.len() > 1 {
        found.extend(home.into_iter().map(|(_, place)| Finding {
            place,
            what: format!("`unsafe` in several modules of `{UNSAFE_CRATE}`: keep it in one"),
        }));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::super::tree::Source;
    use super::*;

    #[test]
    fn each_shortcut_is_found_in_tests_too() {
        let cases = [
            ("fn a() { todo!() }", "todo!"),
            ("fn a() { unimplemented!(\"later\") }", "unimplemented!"),
            ("#[allow(dead_code)] fn a() {}", "#[allow"),
            ("#![allow(dead_code)]", "#![allow"),
            ("#[cfg(test)] mod tests { #[test] #[ignore] fn a() {} }", "#[ignore"),
            ("#[cfg_attr(miri, ignore)] fn a() {}", ",ignore)]"),
            ("#[cfg_attr(miri, ignore = \"slow\")] fn a() {}", ",ignore="),
        ];
        for (text, shortcut) in cases {
            let found = samples::found(rule, &samples::file("a", "a.rs", text));
            let expected = format!("a.rs:1: `{shortcut}`: ");
            assert!(matches!(&found[..], [one] if one.starts_with(&expected)), "{text}: {found:?}");
        }
    }

    #[test]
    fn words_in_comments_and_names_are_no_shortcuts() {
        let text = "// todo!()\nfn ignore_me() { allow(\"#[allow\", ignore); todo(1) }";
        assert!(samples::found(rule, &samples::file("a", "a.rs", text)).is_empty());
    }

    #[test]
    fn unsafe_code_has_one_home() {
        let code = "fn a() { unsafe { b() } }";
        let home = "crates/machine-os/src/spawn.rs";
        let second = "crates/machine-os/src/kill.rs";
        let cases: &[(&[&str], usize)] = &[
            (&[home], 0),
            (&[home, second], 2),
            (&["crates/machine-os/src/lib.rs"], 1),
            (&["crates/machine-os/tests/spawn.rs"], 1),
            (&[home, "crates/names/src/lib.rs"], 1),
        ];
        for (paths, expected) in cases {
            let mut tree = samples::tree([]);
            for path in *paths {
                let package = path.split('/').nth(1).unwrap();
                tree.sources.push(Source::new(path, package, code));
            }
            let found = samples::found(rule, &tree);
            assert_eq!(found.len(), *expected, "{paths:?}: {found:?}");
        }
    }
}
