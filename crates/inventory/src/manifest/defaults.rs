//! What holds where a manifest says nothing. None of these ever changes once it is released: see [`super::write`].

use gate_judge::Policy;

use super::model::{
    Check, GatePolicy, Health, Listen, Manifest, Restart, Signal, Stop, Swap, Tool,
};
use crate::span::Span;

impl Default for Swap {
    /// A new build that fails beside the old one costs nothing: the old one never stopped. A failed hold leaves the
    /// instance down until a person signs, so it is for those who ask for it.
    fn default() -> Self {
        Self::Overlap
    }
}

impl Manifest {
    /// Longer than most programs that die of their configuration live.
    pub const OBSERVE: Span = Span::seconds(5);
}

impl Health {
    /// As often as a machine makes its statement: a rarer check leaves statements without news.
    pub const EVERY: Span = Span::seconds(5);

    /// Well below the pause between two checks, and far above what a check of one's own machine takes.
    pub const TIMEOUT: Span = Span::seconds(2);

    /// One pass can be the moment before a crash.
    pub const PASSES: u32 = 2;

    /// One slow answer under load is no failure, three in a row are.
    pub const FAILURES: u32 = 3;

    /// What a large runtime takes to start on a small machine.
    pub const START_UP: Span = Span::seconds(30);

    /// Of a resource that says nothing of its health. One that listens must at least accept a connection. Of any other
    /// nothing can be asked but that it stays up, here for longer than a start that fails takes.
    pub(super) fn unsaid(listen: Listen) -> Self {
        let check = listen.public().map_or(Check::Alive(Span::seconds(10)), |_| Check::Tcp);
        Self {
            check,
            every: Self::EVERY,
            timeout: Self::TIMEOUT,
            passes: Self::PASSES,
            failures: Self::FAILURES,
            start_up: Self::START_UP,
        }
    }
}

impl Default for Stop {
    /// `TERM` is what programs expect, and ten seconds let most of them finish the requests they have begun.
    fn default() -> Self {
        Self { signal: Signal::Term, grace: Span::seconds(10), drain: Span::seconds(10) }
    }
}

impl Default for Restart {
    /// Five pauses from 200 ms that double make some six seconds: a program that crashes at its start has failed long before
    /// the minute and the gate's bound are over. At 30 s one that cannot be helped costs the machine nothing.
    fn default() -> Self {
        Self {
            limit: 5,
            within: Span::seconds(60),
            backoff_min: Span::milliseconds(200),
            backoff_max: Span::seconds(30),
        }
    }
}

impl Tool {
    /// Somebody waits for the answer.
    pub const TIMEOUT: Span = Span::seconds(10);
}

impl GatePolicy {
    /// What the module's gates are judged by: what is said here, and the gate's own defaults for the rest.
    pub fn over_defaults(&self) -> Policy {
        let default = Policy::default();
        Policy {
            passes: self.passes.unwrap_or(default.passes),
            every: self.every.map_or(default.every, Span::as_duration),
            settle: self.settle.map_or(default.settle, Span::as_duration),
            bound: self.bound.map_or(default.bound, Span::as_duration),
        }
    }
}
