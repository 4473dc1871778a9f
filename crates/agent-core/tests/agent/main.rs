//! What an agent decides, event by event.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod adoption;
mod bench;
mod collection;
mod declarations;
mod laws;
mod moves;
mod paper;
mod reports;
mod supervision;
mod troubles;
mod world;
