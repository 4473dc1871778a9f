//! What every source file looks like: a purpose in its first line, a telling name, a bounded size.

use super::tree::Source;
use super::{Finding, Tree};

/// A file that is longer has more than one purpose.
const LINES_MAX: usize = 500;

/// Names that tell nothing about what is inside.
const EMPTY_NAMES: &[&str] = &[
    "common", "helper", "helpers", "manager", "managers", "misc", "stuff", "types", "util", "utils",
];

/// The words for "later" that a comment must not hold, in two halves so that this file passes.
const LATER: &[&str] = &[concat!("TO", "DO"), concat!("FIX", "ME")];

/// Looks at each file as lines of text.
pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().flat_map(file).collect()
}

fn file(file: &Source) -> Vec<Finding> {
    let mut found = Vec::new();
    let mut say = |place: String, what: String| found.push(Finding { place, what });

    if let Err(fault) = &file.code {
        say(file.path.clone(), fault.clone());
    }
    let first = file.text.lines().next().unwrap_or_default();
    if first.strip_prefix("//! ").is_none_or(|purpose| purpose.trim().is_empty()) {
        say(file.path.clone(), "its first line must say its purpose: `//! …`".to_owned());
    }
    let lines = file.text.lines().count();
    if lines > LINES_MAX {
        let what =
            format!("{lines} lines; {LINES_MAX} at most, so give its parts files of their own");
        say(file.path.clone(), what);
    }
    for word in words(&file.path).filter(|word| EMPTY_NAMES.contains(word)) {
        let what = format!("`{word}` in a name tells nothing: name what is inside");
        say(file.path.clone(), what);
    }
    for (index, line) in file.text.lines().enumerate() {
        for word in LATER.iter().filter(|word| line.contains(**word)) {
            let what = format!("`{word}`: do it now, or leave it out");
            say(format!("{}:{}", file.path, index + 1), what);
        }
    }
    found
}

/// The words that a path is made of.
fn words(path: &str) -> impl Iterator<Item = &str> {
    path.strip_suffix(".rs").unwrap_or(path).split(['/', '_', '-'])
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    const PURPOSE: &str = "//! Does one thing.\n";

    fn found(path: &str, text: &str) -> Vec<String> {
        samples::found(rule, &samples::file("a", path, text))
    }

    #[test]
    fn a_good_file_passes() {
        let lines = "\n".repeat(LINES_MAX - 1);
        assert!(found("crates/a/src/utility_rates.rs", &format!("{PURPOSE}{lines}")).is_empty());
    }

    #[test]
    fn a_file_without_purpose_is_found() {
        for text in ["", "fn main() {}", "//!\n", "//!  \n", "// Does one thing.", "\n//! Late."] {
            let found = found("a.rs", text);
            assert_eq!(found, ["a.rs: its first line must say its purpose: `//! …`"], "{text:?}");
        }
    }

    #[test]
    fn a_long_file_is_found() {
        let found = found("a.rs", &format!("{PURPOSE}{}", "\n".repeat(LINES_MAX)));
        assert!(matches!(&found[..], [one] if one.starts_with("a.rs: 501 lines;")), "{found:?}");
    }

    #[test]
    fn a_name_that_tells_nothing_is_found() {
        let paths = ["a/utils.rs", "a/helpers/b.rs", "a/test_helpers.rs", "lease-manager/b.rs"];
        for path in paths {
            let found = found(path, PURPOSE);
            assert!(matches!(&found[..], [one] if one.contains("tells nothing")), "{found:?}");
        }
    }

    #[test]
    fn work_put_off_is_found() {
        for word in LATER {
            let found = found("a.rs", &format!("{PURPOSE}// {word}: more\n"));
            assert_eq!(found, [format!("a.rs:2: `{word}`: do it now, or leave it out")]);
        }
    }

    #[test]
    fn what_is_not_rust_is_found() {
        let found = found("a.rs", "//! Does one thing.\nfn a( {}");
        assert_eq!(found, ["a.rs: is not Rust at line 2"]);
    }
}
