//! Every point where the rules are better than the recorded behaviour: what the reference does
//! there, and what Bellwether does.

mod bound;
mod fleet;
mod identities;
mod machines;
mod passes;
mod scenarios;
mod sources;
