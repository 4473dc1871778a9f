//! What engine and leash say to each other: one errand, then orders one way and facts the other, each a line.

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;

use host::Exit;
use serde::{Deserialize, Serialize};

use crate::user::User;

/// The workload to hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Errand {
    /// Program and arguments, at least the program.
    pub(crate) command: Vec<String>,
    /// Its whole environment.
    pub(crate) environment: BTreeMap<String, String>,
    /// Where it starts.
    pub(crate) folder: PathBuf,
    /// Whom it runs as, if not as the engine.
    pub(crate) user: Option<User>,
    /// How many files it may have open, if that is limited.
    pub(crate) files: Option<u64>,
    /// Where its output goes.
    pub(crate) output: PathBuf,
    /// What stands before its output.
    pub(crate) title: String,
}

/// What the engine orders.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Send this signal to the whole tree; what ends by itself from then on is not hurried.
    Signal(i32),
    /// Kill the whole tree.
    Kill,
}

/// What a leash says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    /// The workload runs, with this number and start time.
    Started { pid: u32, started: u64 },
    /// It could not be started.
    Refused(String),
    /// It ended so, and nothing of its tree is left.
    Exited(Exit),
}

/// A line that means nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Signal(number) => write!(out, "signal {number}"),
            Self::Kill => out.write_str("kill"),
        }
    }
}

impl FromStr for Order {
    type Err = Unknown;

    fn from_str(line: &str) -> Result<Self, Unknown> {
        match line.split_once(' ') {
            None if line == "kill" => Ok(Self::Kill),
            Some(("signal", number)) => number.parse().map(Self::Signal).map_err(|_| Unknown),
            _ => Err(Unknown),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Started { pid, started } => write!(out, "started {pid} {started}"),
            Self::Refused(why) => write!(out, "refused {}", why.replace('\n', " ")),
            Self::Exited(Exit::Status(status)) => write!(out, "exited code {status}"),
            Self::Exited(Exit::Signal(number)) => write!(out, "exited signal {number}"),
            Self::Exited(Exit::Unknown) => out.write_str("exited unknown 0"),
        }
    }
}

impl FromStr for Fact {
    type Err = Unknown;

    fn from_str(line: &str) -> Result<Self, Unknown> {
        let (word, rest) = line.split_once(' ').ok_or(Unknown)?;
        if word == "refused" {
            return Ok(Self::Refused(rest.to_owned()));
        }
        let (first, second) = rest.split_once(' ').ok_or(Unknown)?;
        let number = || second.parse().map_err(|_| Unknown);
        match (word, first) {
            ("exited", "code") => Ok(Self::Exited(Exit::Status(number()?))),
            ("exited", "signal") => Ok(Self::Exited(Exit::Signal(number()?))),
            ("exited", "unknown") => Ok(Self::Exited(Exit::Unknown)),
            ("started", pid) => {
                let pid = pid.parse().map_err(|_| Unknown)?;
                let started = second.parse().map_err(|_| Unknown)?;
                Ok(Self::Started { pid, started })
            }
            _ => Err(Unknown),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for order in [Order::Signal(15), Order::Kill] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        for fact in [
            Fact::Started { pid: 7, started: 12_345 },
            Fact::Refused("no such program".to_owned()),
            Fact::Exited(Exit::Status(3)),
            Fact::Exited(Exit::Signal(9)),
            Fact::Exited(Exit::Unknown),
        ] {
            assert_eq!(fact.to_string().parse(), Ok(fact));
        }
    }

    #[test]
    fn a_reason_of_several_lines_is_one_line() {
        let fact = Fact::Refused("one\ntwo".to_owned());
        assert_eq!(fact.to_string(), "refused one two");
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for line in ["", "kill now", "signal", "signal x", "started 7", "exited code", "exited x 1"]
        {
            assert!(line.parse::<Order>().is_err(), "{line}");
            assert!(line.parse::<Fact>().is_err(), "{line}");
        }
    }
}
