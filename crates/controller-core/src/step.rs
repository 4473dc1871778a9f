//! What the core decides at one time: what must land, and what may then be done.

use inventory::Declaration;
use names::{MachineName, WordId};
use wire::{Event, signed::Signed};

use crate::record::{Record, RecordKey};

/// One decision. Whoever carries it out lands all of [`Step::land`] first and tells the core so; only then comes
/// [`Step::then`], in order. Both can be repeated without harm, so a process that dies anywhere in it goes on from
/// what landed.
#[derive(Debug, Clone, Default, PartialEq)]
#[must_use]
pub struct Step {
    /// Why, in a few words, for logs and transcripts.
    pub why: String,
    /// Documents to write, in this order; all at once where the store can.
    pub land: Vec<Write>,
    /// What others can act on.
    pub then: Vec<Effect>,
}

/// One change of one document.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// Keep it.
    Put(Box<Record>),
    /// Forget it.
    Delete(RecordKey),
}

/// What others can act on.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// Send a machine this declaration. It answers whether it keeps it; what came of it is in its report.
    Send(Box<Declaration>),
    /// Tell everyone who listens.
    Tell(Box<Event>),
    /// Hand a machine a signed pointer. It answers whether it takes it, and what that freed.
    Hand(Box<Handing>),
}

/// A pointer on its way to a machine.
#[derive(Debug, Clone, PartialEq)]
pub struct Handing {
    /// To which machine.
    pub machine: MachineName,
    /// The pointer's id.
    pub id: WordId,
    /// The pointer.
    pub pointer: Signed,
}

impl Step {
    /// A decision with nothing in it yet.
    pub fn new(why: impl Into<String>) -> Self {
        Self { why: why.into(), ..Self::default() }
    }

    /// Adds a document to keep.
    pub fn put(&mut self, record: impl Into<Record>) {
        self.land.push(Write::Put(Box::new(record.into())));
    }
}
