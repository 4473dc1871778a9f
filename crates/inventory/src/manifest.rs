//! The manifest: what a build of a module consists of and how it wants to be run and judged.
//!
//! A file (`bellwether.toml`) or JSON is read into a raw tree of values with their places ([`raw`]); one reader ([`read`])
//! walks it and gives either a [`Manifest`] that is valid, or every fault that it found ([`Faults`]).

mod defaults;
mod fault;
mod field;
mod model;
mod nearest;
mod raw;
mod read;
mod size;
mod write;

use names::Digest;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml::de::DeTable;

pub use fault::{Fault, Faults, Place, Wrong};
pub use model::{
    Check, GatePolicy, Health, Limits, Manifest, Resource, Restart, Reversal, Signal, Stop, Swap,
    Tool,
};

use crate::canonical;
use fault::Found;
use field::Field;
use raw::Node;

impl Manifest {
    /// Reads the bytes of a `bellwether.toml`. The error holds all that is wrong with it, each with its place.
    pub fn from_toml(file: impl AsRef<[u8]>) -> Result<Self, Faults> {
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
        let read = match DeTable::parse(text) {
            Ok(table) => read::manifest(Field::root(Node::of_toml(table)), &mut found),
            Err(error) => {
                let at = error.span().map_or(0, |span| span.start);
                let message = error.message().lines().collect::<Vec<_>>().join(", ");
                Err(found.report(Some(at), "", Wrong::Syntax(message)))
            }
        };
        found.settle(read, text)
    }

    /// What tells it from every other manifest. Two files that mean the same have the same digest.
    pub fn digest(&self) -> Digest {
        canonical::digest(self)
    }
}

impl<'de> Deserialize<'de> for Manifest {
    /// From JSON in the shape of the file, through the same checks.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut found = Found::default();
        let read = read::manifest(Field::root(Node::deserialize(deserializer)?), &mut found);
        found.settle(read, "").map_err(D::Error::custom)
    }
}
