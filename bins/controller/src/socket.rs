//! The socket over which commands talk to a running controller: one line of JSON asks, one line answers.

mod client;
mod line;
mod peer;
mod place;
mod server;

pub(crate) use client::Client;
pub(crate) use server::Server;
