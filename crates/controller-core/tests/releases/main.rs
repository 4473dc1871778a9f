//! Whole releases by the real core, over a fleet in memory.

#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    reason = "a test fails by panicking"
)]

mod assigned;
mod clocks;
mod ended;
mod fleet;
mod held;
mod kept;
mod killed;
mod laws;
mod machine_trouble;
mod release;
mod together;
