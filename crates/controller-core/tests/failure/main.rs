//! What is done after a failed gate: each better rule by itself, and the laws that hold for all.

mod laws;
mod reports;
mod rules;
mod world;
