//! What an agent decides, event by event.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod adoption;
mod attempts;
mod begun;
mod bench;
mod brief;
mod cohorts;
mod collection;
mod composed;
mod declarations;
mod holds;
mod laws;
mod moves;
mod operator;
mod paper;
mod reports;
mod routing;
mod saves;
mod supervision;
mod troubles;
mod unreadable;
mod words;
mod world;
