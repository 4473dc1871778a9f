//! The manifest: what a build of a module consists of and how it wants to be run and judged.
//!
//! A file (`bellwether.toml`) or JSON is read into a tree of values with their places; one reader ([`read`]) walks it and
//! gives either a [`Manifest`] that is valid, or every fault that it found ([`Faults`]).

mod defaults;
mod model;
mod read;
mod size;
mod write;

use names::Digest;
use serde::{Deserialize, Deserializer, de::Error as _};
use toml_fields::{Node, read_toml, read_tree};

pub use model::{
    Check, GatePolicy, Health, Limits, Listen, Manifest, Resource, Restart, Reversal, Signal, Stop,
    Swap, Tool,
};
pub use read::user as read_user;
pub use toml_fields::{Fault, Faults, Place, Wrong};

use crate::canonical;

impl Manifest {
    /// Reads the bytes of a `bellwether.toml`. The error holds all that is wrong with it, each with its place.
    pub fn from_toml(file: impl AsRef<[u8]>) -> Result<Self, Faults> {
        read_toml(file, read::manifest)
    }

    /// What tells it from every other manifest. Two files that mean the same have the same digest.
    pub fn digest(&self) -> Digest {
        canonical::digest(self)
    }
}

impl<'de> Deserialize<'de> for Manifest {
    /// From JSON in the shape of the file, through the same checks.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_tree(Node::deserialize(deserializer)?, read::manifest).map_err(D::Error::custom)
    }
}
