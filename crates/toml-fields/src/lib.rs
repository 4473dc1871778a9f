//! Reads a TOML file field by field and finds *every* fault of it, each with its place and what is allowed there.
//!
//! Serde's derived readers stop at the first fault. So a file is read into a raw tree of values with their places, which
//! takes anything, and a reader of the caller's own walks it: it asks a [`Table`] for one field after the other, each of
//! which either gives a value or has collected why not. Whoever holds a [`Reported`] has no value and need not say why.
//!
//! JSON of the same shape goes the same way, without places ([`read_tree`]).

mod fault;
mod field;
mod nearest;
mod raw;

use toml::de::DeTable;

pub use fault::{Fault, Faults, Found, Place, Reported, Wrong, list};
pub use field::{Field, Spot, Table};
pub use raw::Node;

/// Reads the bytes of a file; the error holds all that is wrong with it.
///
/// # Errors
/// [`Faults`], at least one.
pub fn read_toml<T>(
    file: impl AsRef<[u8]>,
    read: impl FnOnce(Field, &mut Found) -> Result<T, Reported>,
) -> Result<T, Faults> {
    let mut found = Found::default();
    let bytes = file.as_ref();
    let text = match str::from_utf8(bytes) {
        Ok(text) => text,
        Err(error) => {
            let readable = &bytes[..error.valid_up_to()];
            let wrong = Wrong::Syntax("this is no UTF-8".to_owned());
            let reported = found.report(Some(readable.len()), "", wrong);
            return found.settle(Err(reported), &String::from_utf8_lossy(readable));
        }
    };
    let value = match DeTable::parse(text) {
        Ok(table) => read(Field::root(Node::of_toml(table)), &mut found),
        Err(error) => {
            let at = error.span().map_or(0, |span| span.start);
            let message = error.message().lines().collect::<Vec<_>>().join(", ");
            Err(found.report(Some(at), "", Wrong::Syntax(message)))
        }
    };
    found.settle(value, text)
}

/// Reads a tree that came as something else than a file, as JSON does; its faults have no places.
///
/// # Errors
/// [`Faults`], at least one.
pub fn read_tree<T>(
    tree: Node,
    read: impl FnOnce(Field, &mut Found) -> Result<T, Reported>,
) -> Result<T, Faults> {
    let mut found = Found::default();
    let value = read(Field::root(tree), &mut found);
    found.settle(value, "")
}

/// The start of a text, as much as a message should repeat of what somebody wrote.
#[must_use]
pub fn excerpt(text: &str) -> String {
    const CHARACTERS_MAX: usize = 80;
    let mut start: String = text.chars().take(CHARACTERS_MAX).collect();
    if start.len() < text.len() {
        start.push('…');
    }
    start
}
