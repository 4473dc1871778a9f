//! The real program, with real fleets, sockets, processes and disks.

mod agents;
mod commands;
mod damaged;
mod dev;
mod faults;
mod fleet;
mod freeing;
mod full_disk;
mod keys;
mod killed;
mod readme;
