//! Pure crates do no I/O and own no clock, threads, randomness or async: no line of theirs may.
//!
//! Their dependencies and features are looked at by the rule on external crates.

use super::code::{Token, lines_of};
use super::layers::{self, Library};
use super::{Finding, Tree};

/// The parts of `std` that reach outside.
const IMPURE_STD: &[&str] = &["env", "fs", "io", "net", "os", "process", "thread", "time"];

/// Other ways outside, as tokens in a row.
const IMPURE: &[&[&str]] = &[
    &["async"],
    &["await"],
    &["tokio", ":", ":"],
    &["rand", ":", ":"],
    &["Utc", ":", ":", "now"],
    &["Local", ":", ":", "now"],
];

/// Looks at what the pure crates ship; their tests may do as they like.
pub(super) fn rule(tree: &Tree) -> Vec<Finding> {
    let mut found = Vec::new();
    for package in &tree.packages {
        let Some(row) = layers::of(&package.name).filter(|row| row.layer.is_pure()) else {
            continue;
        };
        for (file, tokens) in tree.shipped(&package.name) {
            let impure = IMPURE.iter().flat_map(|pattern| {
                lines_of(&tokens, pattern).map(|line| (line, pattern.concat()))
            });
            for (line, what) in impure.chain(std_uses(&tokens)) {
                found.push(Finding {
                    place: format!("{}:{line}", file.path),
                    what: format!(
                        "`{what}` in the pure crate `{}`: take what it needs as an argument, or \
                         its pure part from `core`",
                        row.name
                    ),
                });
            }
            if row.library == Library::Alloc {
                found.extend(without_std(&file.path, row.name, &tokens));
            }
        }
    }
    found
}

/// Uses of the impure parts of `std`, also in `use std::{…}`.
fn std_uses<'a>(tokens: &'a [&'a Token]) -> impl Iterator<Item = (usize, String)> + 'a {
    let starts = tokens.windows(4).enumerate().filter(|(_, window)| {
        window[0].text == "std" && window[1].text == ":" && window[2].text == ":"
    });
    starts.flat_map(|(index, window)| {
        let parts =
            if window[3].text == "{" { first_words(&tokens[index + 4..]) } else { vec![window[3]] };
        parts
            .into_iter()
            .filter(|part| IMPURE_STD.contains(&part.text.as_str()))
            .map(|part| (part.line, format!("std::{}", part.text)))
    })
}

/// The first word of each path in a `{…}` list, of which `tokens` begins with the contents.
fn first_words<'a>(tokens: &[&'a Token]) -> Vec<&'a Token> {
    let mut words = Vec::new();
    let mut depth = 1;
    let mut first = true;
    for token in tokens {
        match token.text.as_str() {
            "{" => depth += 1,
            "}" => depth -= 1,
            _ if first => words.push(*token),
            _ => {}
        }
        if depth == 0 {
            break;
        }
        first = depth == 1 && token.text == ",";
    }
    words
}

fn without_std(path: &str, name: &str, tokens: &[&Token]) -> Vec<Finding> {
    let mut found = Vec::new();
    let declared = lines_of(tokens, &["#", "!", "[", "no_std", "]"]).next().is_some();
    if path.ends_with("/src/lib.rs") && !declared {
        found.push(Finding {
            place: path.to_owned(),
            what: format!("`{name}` must be `#![no_std]`, with `extern crate alloc`"),
        });
    }
    found.extend(lines_of(tokens, &["extern", "crate", "std"]).map(|line| Finding {
        place: format!("{path}:{line}"),
        what: format!("`{name}` does without `std`; its tests may bring it in"),
    }));
    found
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    fn found(package: &str, text: &str) -> Vec<String> {
        let path = format!("crates/{package}/src/part.rs");
        samples::found(rule, &samples::file(package, &path, text))
    }

    #[test]
    fn each_way_outside_is_found_in_a_pure_crate() {
        let cases = [
            ("use std::fs;", &["std::fs"][..]),
            ("fn a() -> std::net::IpAddr { b() }", &["std::net"]),
            ("use std::time::Instant;", &["std::time"]),
            ("fn a() { std::thread::spawn(b); }", &["std::thread"]),
            ("const A: &str = std::env!(\"A\");", &["std::env"]),
            (
                "use std::{fmt::{self, Display}, process::Command, collections::{time}, io};",
                &["std::process", "std::io"],
            ),
            ("async fn a() {}", &["async"]),
            ("fn a() { tokio::spawn(b) }", &["tokio::"]),
            ("fn a() { let b = chrono::Utc::now(); }", &["Utc::now"]),
            ("fn a() -> u8 { rand::random() }", &["rand::"]),
        ];
        for (text, expected) in cases {
            let found = found("inventory", text);
            assert_eq!(found.len(), expected.len(), "{text}: {found:?}");
            for (line, part) in found.iter().zip(expected) {
                assert!(line.contains(&format!(":1: `{part}` in the pure")), "{text}: {found:?}");
            }
        }
    }

    #[test]
    fn tests_and_impure_crates_may() {
        let test = "#[cfg(test)] mod tests { use std::fs; }";
        assert!(found("inventory", test).is_empty());
        assert!(found("machine-os", "use std::fs;").is_empty());
        assert!(
            found("inventory", "// std::fs\nuse std::{fmt, collections::BTreeMap};").is_empty()
        );
    }

    #[test]
    fn a_crate_that_should_do_without_std_says_so() {
        let lib = |name: &str, text: &str| {
            let path = format!("crates/{name}/src/lib.rs");
            samples::found(rule, &samples::file(name, &path, text))
        };
        assert!(lib("names", "#![no_std]\nextern crate alloc;").is_empty());
        assert!(lib("inventory", "").is_empty());
        assert!(lib("names", "#![no_std]\n#[cfg(test)] extern crate std;").is_empty());
        for text in ["extern crate alloc;", "#![cfg_attr(not(test), no_std)]"] {
            let found = lib("names", text);
            assert!(matches!(&found[..], [one] if one.contains("must be `#![no_std]`")), "{text}");
        }
        let found = lib("names", "#![no_std]\nextern crate std;");
        assert!(matches!(&found[..], [one] if one.contains(":2: `names` does without")));
    }
}
