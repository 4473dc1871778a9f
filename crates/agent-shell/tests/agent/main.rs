//! Whole agents over the in-process bus and the store in memory: on a simulated machine, and on this one.
#![expect(clippy::unwrap_used, reason = "a set-up that fails fails its test, where it fails")]

mod controller;
mod declared;
mod no_store;
mod real;
mod real_disks;
mod shelf;
mod simulated;
mod simulated_machine;
mod simulated_trouble;
mod told;
