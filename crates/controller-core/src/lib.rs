//! Decides what the controller does: plans, gates, rollbacks.

pub mod failure;
