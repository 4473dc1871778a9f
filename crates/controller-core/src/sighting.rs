//! What the controller has heard from a machine since it started: gone with the process, and soon heard again.

use std::collections::BTreeMap;

use chrono::{DateTime, TimeDelta, Utc};
use inventory::DeclarationNumber;
use names::WordId;
use wire::{EngineNonce, Hello, RefusedDeclaration, Statement, WordReply};

/// A machine that was not heard for this long is silent: three statements in a row are missing.
pub const SILENT_AFTER: TimeDelta = TimeDelta::seconds(15);

/// How many engines of a machine that came before the present one are remembered, so that what they said last is known
/// for old when it arrives late. Engines change at restarts, and no message is late by eight of them.
const PAST_ENGINES_MAX: usize = 8;

/// What was heard from one machine. All times are the controller's own.
#[derive(Debug, Clone, Default)]
pub struct Sighting {
    /// When it last said anything.
    pub heard: Option<DateTime<Utc>>,
    /// Its newest hello.
    pub hello: Option<Hello>,
    /// Its newest statement.
    pub statement: Option<Stated>,
    /// How the declaration that it should hold got there.
    pub delivery: Delivery,
    /// Whether it has lost what it held, so that it counts its reports from the beginning again.
    pub memory: Memory,
    /// Since when the controller listens to it.
    pub expected: Option<DateTime<Utc>>,
    /// The pointers that it was handed.
    pub pointers: BTreeMap<WordId, Handed>,
    past_engines: Vec<EngineNonce>,
}

/// What became of handing a machine a pointer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Handed {
    /// It was handed over at this time, and is not answered yet.
    At(DateTime<Utc>),
    /// It answered.
    Answered(WordReply),
}

/// Whether a machine remembers what it reported.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Memory {
    /// As far as is known.
    #[default]
    Kept,
    /// It said that it holds no declaration, though it has reported on one: its disk is new.
    Lost,
}

/// A statement and when it arrived.
#[derive(Debug, Clone)]
pub struct Stated {
    /// When it arrived.
    pub heard: DateTime<Utc>,
    /// What it says.
    pub statement: Statement,
}

/// How a declaration got to its machine.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Delivery {
    /// Nothing was sent since the controller started.
    #[default]
    NotTried,
    /// It was sent, and is not answered yet.
    Trying {
        /// Which one.
        number: DeclarationNumber,
        /// When it was last sent.
        at: DateTime<Utc>,
        /// How often it was sent.
        tries: u32,
    },
    /// The machine keeps it.
    Taken {
        /// Which one.
        number: DeclarationNumber,
    },
    /// The machine will not keep it.
    Refused {
        /// Which one.
        number: DeclarationNumber,
        /// Why.
        why: RefusedDeclaration,
        /// When it said so.
        at: DateTime<Utc>,
    },
}

impl Sighting {
    /// Whether the machine was heard of late.
    pub fn is_heard(&self, now: DateTime<Utc>) -> bool {
        self.heard.is_some_and(|heard| now - heard <= SILENT_AFTER)
    }

    /// Whether it should have been heard by now. A controller that has just started has heard nobody yet, and says nothing
    /// of that for as long as a machine may be silent.
    pub fn is_overdue(&self, now: DateTime<Utc>) -> bool {
        let since = self.heard.max(self.expected);
        since.is_some_and(|since| now - since > SILENT_AFTER)
    }

    /// Whether it has refused this declaration, and nothing else has been heard of it since.
    pub(crate) fn refuses(&self, declared: Option<DeclarationNumber>) -> bool {
        matches!(&self.delivery, Delivery::Refused { number, .. } if Some(*number) == declared)
    }

    /// Takes a hello.
    pub fn take_hello(&mut self, now: DateTime<Utc>, hello: Hello) {
        self.heard = Some(now);
        if let Some(before) = &self.hello
            && before.engine != hello.engine
        {
            let before = before.engine.clone();
            self.retire(before);
        }
        self.hello = Some(hello);
    }

    /// Takes a statement, unless it is older than one that was taken: of the same engine with a lower sequence, or of an
    /// engine that another one has followed. Answers whether it was taken.
    pub fn take_statement(&mut self, now: DateTime<Utc>, statement: Statement) -> bool {
        if self.past_engines.contains(&statement.engine) {
            return false;
        }
        if let Some(Stated { statement: before, .. }) = &self.statement {
            if before.engine == statement.engine && statement.sequence <= before.sequence {
                return false;
            }
            if before.engine != statement.engine {
                let before = before.engine.clone();
                self.retire(before);
            }
        }
        self.heard = Some(now);
        // What could not be written down there when it was sent was handed over since, with the answer to a hello.
        if let Delivery::Refused { number, why: RefusedDeclaration::NotKept { .. }, .. } =
            self.delivery
            && statement.declaration == Some(number)
        {
            self.delivery = Delivery::Taken { number };
        }
        self.statement = Some(Stated { heard: now, statement });
        true
    }

    fn retire(&mut self, engine: EngineNonce) {
        if self.past_engines.contains(&engine) {
            return;
        }
        if self.past_engines.len() == PAST_ENGINES_MAX {
            self.past_engines.remove(0);
        }
        self.past_engines.push(engine);
    }
}

#[cfg(test)]
mod tests {
    use wire::BootId;

    use super::*;

    fn at(second: u32) -> DateTime<Utc> {
        DateTime::from_timestamp(1_800_000_000 + i64::from(second), 0).unwrap()
    }

    fn statement(engine: &str, sequence: u64) -> Statement {
        Statement {
            machine: "box-1".parse().unwrap(),
            boot: BootId("boot".into()),
            engine: EngineNonce(engine.into()),
            sequence,
            declaration: None,
            resources: Vec::new(),
            troubles: Vec::new(),
        }
    }

    #[test]
    fn a_late_statement_counts_for_nothing() {
        let mut sighting = Sighting::default();
        let cases = [
            ("first", 1, true),
            ("first", 3, true),
            ("first", 2, false),
            ("first", 3, false),
            ("second", 1, true),
            ("first", 4, false),
            ("second", 2, true),
        ];
        for (second, (engine, sequence, taken)) in (0..).zip(cases) {
            let heard = sighting.heard;
            assert_eq!(sighting.take_statement(at(second), statement(engine, sequence)), taken);
            assert_eq!(sighting.heard != heard, taken, "a late one is no sign of life either");
        }
    }

    #[test]
    fn a_machine_is_heard_for_fifteen_seconds() {
        let mut sighting = Sighting::default();
        assert!(!sighting.is_heard(at(0)), "never heard");
        sighting.take_statement(at(0), statement("first", 1));
        assert!(sighting.is_heard(at(15)));
        assert!(!sighting.is_heard(at(16)));
    }
}
