//! The real program, with real processes, sockets and disks, and a test in the place of the controller.

mod book;
mod bus;
mod commands;
mod damage;
mod disk;
mod life;
mod machine;
mod routed;
mod router;
mod unit;
