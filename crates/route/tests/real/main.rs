//! Real processes: routers, programs behind them, and engines; clients without a pause.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]
#![expect(clippy::panic, reason = "what never comes fails its test, where it was waited for")]

mod load;
mod swaps;
mod world;
