//! Real processes: routers, programs behind them, and engines; clients without a pause.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]
#![expect(clippy::panic, reason = "what never comes fails its test, where it was waited for")]

mod connections;
mod hostile;
mod load;
mod raw;
mod swaps;
mod upgrades;
mod world;
