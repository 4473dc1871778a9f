//! How a command ends: its exit status, and what a person is told when it did not do what was asked.

use std::{error::Error, fmt, process::ExitCode};

use wire::api::{Refusal, RefusalKind};

/// The exit statuses of every command. Scripts rely on them: a status never changes its meaning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum ExitStatus {
    /// It is done.
    Done = 0,
    /// It was tried and did not succeed.
    Failed = 1,
    /// The command makes no sense as it was given; nothing was tried.
    Usage = 2,
    /// A rule forbids it; nothing was changed.
    Refused = 3,
    /// The release that was waited for did not pass its gate.
    GateFailed = 4,
    /// Nobody answers who was asked: the controller, or a machine's engine.
    Unreachable = 5,
}

impl From<ExitStatus> for ExitCode {
    fn from(status: ExitStatus) -> Self {
        Self::from(status as u8)
    }
}

impl ExitStatus {
    /// Says what clap has to say of a command line: help on stdout, and that is success; anything else on stderr.
    #[must_use]
    pub fn of_usage(error: &clap::Error) -> Self {
        // Nobody is left to be told that nobody can be told.
        let _ = error.print();
        if error.use_stderr() { Self::Usage } else { Self::Done }
    }
}

/// Why a command did not do what was asked; the kind decides the exit status.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Which sort of failure it is.
    pub kind: FailureKind,
    /// What, and why.
    pub message: String,
    /// What to do about it.
    pub hints: Vec<String>,
}

/// The kinds of failures: each exit status but that of success.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FailureKind {
    /// It was tried and did not succeed.
    Failed,
    /// It makes no sense as it was given.
    Usage,
    /// A rule forbids it.
    Refused,
    /// A gate did not pass.
    GateFailed,
    /// Nobody answers who could do it.
    Unreachable,
}

impl FailureKind {
    /// The exit status that says so.
    #[must_use]
    pub fn exit_status(self) -> ExitStatus {
        match self {
            Self::Failed => ExitStatus::Failed,
            Self::Usage => ExitStatus::Usage,
            Self::Refused => ExitStatus::Refused,
            Self::GateFailed => ExitStatus::GateFailed,
            Self::Unreachable => ExitStatus::Unreachable,
        }
    }
}

impl Failure {
    /// A failure without hints.
    pub fn new(kind: FailureKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), hints: Vec::new() }
    }

    /// Of the kind that most are: it was tried and did not succeed.
    pub fn failed(message: impl Into<String>) -> Self {
        Self::new(FailureKind::Failed, message)
    }

    /// What was being done, and the error that ended it with everything behind it.
    pub fn because(what: impl fmt::Display, error: &dyn Error) -> Self {
        Self::failed(format!("{what}: {}", chain(error)))
    }

    /// With one more thing to do about it.
    #[must_use]
    pub fn hint(mut self, hint: impl Into<String>) -> Self {
        self.hints.push(hint.into());
        self
    }
}

impl From<Refusal> for Failure {
    fn from(refusal: Refusal) -> Self {
        let kind = match refusal.kind {
            RefusalKind::Unknown | RefusalKind::NotKept => FailureKind::Failed,
            RefusalKind::Rule => FailureKind::Refused,
            RefusalKind::Usage => FailureKind::Usage,
            RefusalKind::Silent => FailureKind::Unreachable,
        };
        Self { kind, message: refusal.why, hints: refusal.hint.into_iter().collect() }
    }
}

/// An error and what is behind it, in one line.
#[must_use]
pub fn chain(error: &dyn Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        text.push_str(": ");
        text.push_str(&error.to_string());
        source = error.source();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_of_refusal_has_its_exit_status() {
        for (kind, status) in [
            (RefusalKind::Unknown, 1),
            (RefusalKind::NotKept, 1),
            (RefusalKind::Usage, 2),
            (RefusalKind::Rule, 3),
            (RefusalKind::Silent, 5),
        ] {
            let hint = Some("do that".to_owned());
            let failure = Failure::from(Refusal { kind, why: "so".to_owned(), hint });
            assert_eq!(failure.kind.exit_status() as u8, status, "{kind:?}");
            assert_eq!((failure.message.as_str(), failure.hints.len()), ("so", 1));
        }
    }

    #[test]
    fn an_error_is_told_with_all_that_is_behind_it() {
        #[derive(Debug, thiserror::Error)]
        #[error("outside")]
        struct Outer(#[source] std::io::Error);
        let outer = Outer(std::io::Error::other("inside"));
        assert_eq!(Failure::because("no cake", &outer).message, "no cake: outside: inside");
    }
}
