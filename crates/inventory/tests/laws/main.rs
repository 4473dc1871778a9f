//! Laws of the inventory: what holds of every manifest, collection and declaration.

mod collection;
mod composing;
mod content;
mod fleet;
mod manifests;
