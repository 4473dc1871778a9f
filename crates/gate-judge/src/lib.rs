//! Judges a release on a machine by evidence: facts to health to verdict.
#![no_std]

extern crate alloc;

mod component;
mod line;

pub use component::{Component, core_component};
pub use line::{Builds, GateLine, LineState, LineTail, LineWords, gate_line};
