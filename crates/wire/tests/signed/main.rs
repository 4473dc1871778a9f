//! Signed words: what is refused, what is taken once, and which bytes they are.

mod bytes;
mod clocks;
mod floors;
mod forged;
mod golden;
mod messages;
mod rotations;
mod used;
mod words;
