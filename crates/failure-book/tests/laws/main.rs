//! Laws of the book, held against any operations, over journals that fail, tear and lose.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod agreement;
mod crashes;
mod exhaustion;
mod grants;
mod model;
mod operations;
mod orderings;
mod pruning;
mod restrictions;
mod sheet;
mod world;
