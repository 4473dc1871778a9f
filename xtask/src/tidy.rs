//! The rules of the house that no compiler checks, and what in the tree breaks them.
//!
//! [`Tree::read`] takes everything in; each rule is then a function over it, without I/O. A new rule
//! is one such function, a line in [`findings`], and a test with a small input that it catches.

mod code;
mod contents;
mod external;
mod layers;
mod manifests;
mod purity;
#[cfg(test)]
mod samples;
mod shortcuts;
mod tree;

pub use layers::pure_crates;
pub use tree::Tree;

use std::fmt::{self, Display};

/// One place where a rule is broken.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Finding {
    /// A file, or a file and a line: `crates/names/src/lib.rs:12`.
    pub place: String,
    /// What is there, and what should be.
    pub what: String,
}

impl Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.what)
    }
}

/// Everything in `tree` that breaks a rule, sorted by place.
#[must_use]
pub fn findings(tree: &Tree) -> Vec<Finding> {
    let rules = [
        contents::rule,
        external::rule,
        layers::rule,
        manifests::rule,
        purity::rule,
        shortcuts::rule,
    ];
    let mut found: Vec<Finding> = rules.iter().flat_map(|rule| rule(tree)).collect();
    found.sort();
    found.dedup();
    found
}
