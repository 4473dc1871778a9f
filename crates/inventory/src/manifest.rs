//! The manifest: what a build of a module consists of and how it wants to be run and judged.

mod model;

pub use model::{
    Check, GatePolicy, Health, Limits, Manifest, Resource, Restart, Reversal, Signal, Stop, Swap,
    Tool,
};
