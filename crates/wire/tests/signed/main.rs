//! Signed words: what is refused, what is taken once, and which bytes they are.
#![expect(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a set-up that fails fails its test, where it fails"
)]

mod bytes;
mod clocks;
mod floors;
mod forged;
mod golden;
mod messages;
mod rotations;
mod used;
mod words;
