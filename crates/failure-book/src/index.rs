//! The indexes that make reads quick. None of them decides an order: that is what the ordinals and
//! the sorted maps are for.

mod apps;
mod clears;
mod records;

pub(crate) use apps::Apps;
pub(crate) use clears::Clears;
pub use records::Ordinal;
pub(crate) use records::Records;

/// A hash map with a fixed hasher, so that two runs are the same to the byte.
type HashMap<K, V> = hashbrown::HashMap<K, V, foldhash::fast::FixedState>;
