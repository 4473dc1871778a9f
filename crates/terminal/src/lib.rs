//! How our programs speak to people and to scripts: the same everywhere, so that who knows one of them knows all.
//!
//! - [`output`] is the only place that writes answers to the standard streams; [`surroundings`] tells what those are.
//! - [`failure`] is how a command ends that did not do what was asked, with the exit statuses that scripts rely on.
//! - [`runtime`] has the threads that commands run on.
//! - [`table`], [`paint`] and [`words`] make text, as pure functions.

pub mod failure;
pub mod output;
pub mod paint;
pub mod runtime;
pub mod surroundings;
pub mod table;
pub mod words;
