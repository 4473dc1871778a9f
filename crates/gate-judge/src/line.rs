//! The one line that sums a gate up: first its parts, then the sentence made of them.

use alloc::string::String;
use core::fmt;

/// How a gate stands, in the line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineState {
    /// No end yet.
    Judging,
    /// It ended *passed*.
    Passed,
    /// It ended *failed*.
    Failed,
    /// It ended *cannot tell*.
    CannotTell,
}

impl LineState {
    /// The word for it.
    #[must_use]
    pub const fn word(self) -> &'static str {
        match self {
            Self::Judging => "judging",
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::CannotTell => "cannot tell",
        }
    }
}

/// What a line is made from. `None` is "nothing to say about it".
#[derive(Debug, Clone, Copy)]
pub struct LineWords<'a> {
    /// The core component, if the gate is about one.
    pub component: Option<&'a str>,
    /// The gate's machines, in its order.
    pub machines: &'a [String],
    /// The build that ran before.
    pub from: Option<&'a str>,
    /// The build that is judged.
    pub to: Option<&'a str>,
    /// How the gate stands.
    pub state: LineState,
    /// How long it took, as text.
    pub took: Option<&'a str>,
    /// Why it ended.
    pub why: Option<&'a str>,
    /// What the last judging found wanting.
    pub last: Option<&'a str>,
    /// Passes counted in a row.
    pub passes: u32,
    /// Passes wanted.
    pub of: u32,
    /// What became of the rollback.
    pub rollback: Option<&'a str>,
}

/// The parts of a line, in the order in which they are said. Its `Display` is the line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GateLine<'a> {
    /// The machines, joined with comma and space.
    pub on: String,
    /// How the gate stands.
    pub state: LineState,
    /// The core component, if the gate is about one.
    pub core: Option<&'a str>,
    /// The builds, when at least one of them is known.
    pub builds: Option<Builds<'a>>,
    /// How long it took.
    pub after: Option<&'a str>,
    /// What the line ends with.
    pub tail: LineTail<'a>,
    /// What became of the rollback.
    pub rollback: Option<&'a str>,
}

/// From which build to which.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Builds<'a> {
    /// The build that ran before; the word `none` when there was none.
    pub from: &'a str,
    /// The build that is judged; empty when it is not known.
    pub to: &'a str,
}

/// What a line ends with.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LineTail<'a> {
    /// Why the gate ended.
    Why(&'a str),
    /// What was wanting, and how far the passes are.
    Wanting {
        /// What was wanting.
        text: &'a str,
        /// Passes counted in a row.
        passes: u32,
        /// Passes wanted.
        of: u32,
    },
    /// How far the passes are.
    Passes {
        /// Passes counted in a row.
        passes: u32,
        /// Passes wanted.
        of: u32,
    },
    /// Nothing: it ended, and nothing is known of why.
    Nothing,
}

/// The line's parts. A reason beats what was wanting, which beats the mere count of passes.
#[must_use]
pub fn gate_line<'a>(words: &LineWords<'a>) -> GateLine<'a> {
    let LineWords { passes, of, .. } = *words;
    let builds = (words.from.is_some() || words.to.is_some())
        .then(|| Builds { from: words.from.unwrap_or("none"), to: words.to.unwrap_or("") });
    let tail = match (words.why, words.last, words.state) {
        (Some(why), _, _) => LineTail::Why(why),
        (None, Some(text), _) => LineTail::Wanting { text, passes, of },
        (None, None, LineState::Judging) => LineTail::Passes { passes, of },
        (None, None, LineState::Passed | LineState::Failed | LineState::CannotTell) => {
            LineTail::Nothing
        }
    };
    GateLine {
        on: words.machines.join(", "),
        state: words.state,
        core: words.component,
        builds,
        after: words.took,
        tail,
        rollback: words.rollback,
    }
}

impl fmt::Display for GateLine<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}", self.state.word(), self.on)?;
        if let Some(core) = self.core {
            write!(f, " ({core})")?;
        }
        if let Some(Builds { from, to }) = self.builds {
            write!(f, ", {from} to {to}")?;
        }
        if let Some(after) = self.after {
            write!(f, ", after {after}")?;
        }
        match self.tail {
            LineTail::Why(why) => write!(f, ": {why}")?,
            LineTail::Wanting { text, passes, of } => {
                write!(f, ": {text} ({passes} of {of} passes)")?;
            }
            LineTail::Passes { passes, of } => write!(f, ": {passes} of {of} passes")?,
            LineTail::Nothing => {}
        }
        if let Some(rollback) = self.rollback {
            write!(f, "; {rollback}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use alloc::string::ToString;

    #[test]
    fn the_line_says_its_parts_in_order() {
        let machines = ["anvil".to_string(), "birch".to_string()];
        let words = LineWords {
            component: Some("node-engine"),
            machines: &machines,
            from: None,
            to: Some("c2"),
            state: LineState::CannotTell,
            took: Some("10m0s"),
            why: Some("anvil did not report"),
            last: Some("not said, since why is"),
            passes: 0,
            of: 3,
            rollback: Some("rolled-back"),
        };
        assert_eq!(
            gate_line(&words).to_string(),
            "cannot tell on anvil, birch (node-engine), none to c2, after 10m0s: \
             anvil did not report; rolled-back"
        );
        let judging = LineWords {
            component: None,
            to: None,
            state: LineState::Judging,
            took: None,
            why: None,
            rollback: None,
            ..words
        };
        assert_eq!(
            gate_line(&judging).to_string(),
            "judging on anvil, birch: not said, since why is (0 of 3 passes)"
        );
        let first = LineWords { last: None, passes: 2, ..judging };
        assert_eq!(gate_line(&first).to_string(), "judging on anvil, birch: 2 of 3 passes");
    }
}
