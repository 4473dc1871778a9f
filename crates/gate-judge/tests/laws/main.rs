//! Laws of the gate, held against any facts, rules and times.

mod anything;
mod laws;
mod story;
