//! What engine and shim say to each other once the errand is handed over: orders one way, facts the other, each a line.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use host::Exit;

/// What an engine orders or asks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Order {
    /// Start the workload.
    Go,
    /// Send the whole tree this signal, and kill what is left of it after the grace.
    Stop { signal: i32, grace: Duration },
    /// Kill the whole tree.
    Kill,
    /// Nothing more: the engine knows how it ended, and sees to the rest.
    Heard,
    /// Say what the workload says of itself.
    Status,
    /// Say its last lines.
    Lines,
}

/// What a shim says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Fact {
    /// Everything is prepared; another engine could find it.
    Ready,
    /// The workload runs, with this number and start time.
    Started { pid: u32, started: u64, execution: String },
    /// It could not be started.
    Refused(String),
    /// It ended so, with these last lines, and nothing of its tree is left.
    Exited { exit: Exit, lines: Vec<String> },
    /// Whether it has said that it is ready, and its own words on how it is.
    Status { readiness: Readiness, words: String },
    /// The last lines that it wrote.
    Lines(Vec<String>),
}

/// What a workload has said of itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Readiness {
    /// That it is ready. Since when there was no sign of life from it is told only where it has a watchdog.
    Ready { quiet_for: Option<Duration> },
    /// Not yet that.
    NotReady,
    /// That it is to be treated as one from which there was no sign of life in time.
    Triggered,
}

/// A line that means nothing.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Unknown;

impl fmt::Display for Order {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Go => out.write_str("go"),
            Self::Stop { signal, grace } => write!(out, "stop {signal} {}", grace.as_millis()),
            Self::Kill => out.write_str("kill"),
            Self::Heard => out.write_str("heard"),
            Self::Status => out.write_str("status"),
            Self::Lines => out.write_str("lines"),
        }
    }
}

impl FromStr for Order {
    type Err = Unknown;

    fn from_str(line: &str) -> Result<Self, Unknown> {
        let words: Vec<&str> = line.split(' ').collect();
        match words[..] {
            ["go"] => Ok(Self::Go),
            ["kill"] => Ok(Self::Kill),
            ["heard"] => Ok(Self::Heard),
            ["status"] => Ok(Self::Status),
            ["lines"] => Ok(Self::Lines),
            ["stop", signal, grace] => {
                let signal = signal.parse().map_err(|_| Unknown)?;
                let grace = Duration::from_millis(grace.parse().map_err(|_| Unknown)?);
                Ok(Self::Stop { signal, grace })
            }
            _ => Err(Unknown),
        }
    }
}

impl fmt::Display for Fact {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ready => out.write_str("ready"),
            Self::Started { pid, started, execution } => {
                write!(out, "started {pid} {started} {execution}")
            }
            Self::Refused(why) => write!(out, "refused {}", escape(why)),
            Self::Exited { exit, lines } => {
                match exit {
                    Exit::Status(status) => write!(out, "exited code {status}")?,
                    Exit::Signal(number) => write!(out, "exited signal {number}")?,
                    Exit::OutOfMemory => out.write_str("exited out-of-memory 9")?,
                    Exit::PerhapsOutOfMemory => out.write_str("exited perhaps-out-of-memory 9")?,
                    Exit::Unknown => out.write_str("exited unknown 0")?,
                }
                write!(out, " {}", join(lines))
            }
            Self::Status { readiness, words } => {
                let words = escape(words);
                match readiness {
                    Readiness::Ready { quiet_for: None } => write!(out, "status ready {words}"),
                    Readiness::Ready { quiet_for: Some(quiet) } => {
                        write!(out, "status quiet {} {words}", quiet.as_millis())
                    }
                    Readiness::NotReady => write!(out, "status waiting {words}"),
                    Readiness::Triggered => write!(out, "status triggered {words}"),
                }
            }
            Self::Lines(lines) => write!(out, "lines {}", join(lines)),
        }
    }
}

impl FromStr for Fact {
    type Err = Unknown;

    fn from_str(line: &str) -> Result<Self, Unknown> {
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let (first, last) = rest.split_once(' ').unwrap_or((rest, ""));
        match (word, first) {
            ("ready", "") => Ok(Self::Ready),
            ("refused", _) => Ok(Self::Refused(unescape(rest))),
            ("lines", _) => Ok(Self::Lines(split(rest))),
            ("status", how) => {
                let (readiness, words) = match how {
                    "ready" => (Readiness::Ready { quiet_for: None }, last),
                    "quiet" => {
                        let (quiet, words) = last.split_once(' ').ok_or(Unknown)?;
                        let quiet = Duration::from_millis(quiet.parse().map_err(|_| Unknown)?);
                        (Readiness::Ready { quiet_for: Some(quiet) }, words)
                    }
                    "waiting" => (Readiness::NotReady, last),
                    "triggered" => (Readiness::Triggered, last),
                    _ => return Err(Unknown),
                };
                Ok(Self::Status { readiness, words: unescape(words) })
            }
            ("started", pid) => {
                let pid = pid.parse().map_err(|_| Unknown)?;
                let (started, execution) = last.split_once(' ').ok_or(Unknown)?;
                let started = started.parse().map_err(|_| Unknown)?;
                Ok(Self::Started { pid, started, execution: execution.to_owned() })
            }
            ("exited", how) => {
                let (number, lines) = last.split_once(' ').ok_or(Unknown)?;
                let number = number.parse().map_err(|_| Unknown)?;
                let exit = match how {
                    "code" => Exit::Status(number),
                    "signal" => Exit::Signal(number),
                    "out-of-memory" => Exit::OutOfMemory,
                    "perhaps-out-of-memory" => Exit::PerhapsOutOfMemory,
                    "unknown" => Exit::Unknown,
                    _ => return Err(Unknown),
                };
                Ok(Self::Exited { exit, lines: split(lines) })
            }
            _ => Err(Unknown),
        }
    }
}

/// Lines as one line; each ends with `\n`, written so, since no line is not one empty line.
fn join(lines: &[String]) -> String {
    lines.iter().map(|line| escape(line) + "\\n").collect()
}

fn split(joined: &str) -> Vec<String> {
    unescape(joined).split_terminator('\n').map(str::to_owned).collect()
}

fn escape(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n")
}

fn unescape(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next() == Some('n') => plain.push('\n'),
            '\\' => plain.push('\\'),
            letter => plain.push(letter),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_said_is_understood() {
        for order in [
            Order::Go,
            Order::Stop { signal: 15, grace: Duration::from_millis(1_500) },
            Order::Kill,
            Order::Heard,
            Order::Status,
            Order::Lines,
        ] {
            assert_eq!(order.to_string().parse(), Ok(order));
        }
        let lines = || vec![String::new(), r"a \n b\".to_owned(), " é ".to_owned()];
        for fact in [
            Fact::Ready,
            Fact::Started { pid: 7, started: 12_345, execution: "a1-1".to_owned() },
            Fact::Refused("no such\nprogram".to_owned()),
            Fact::Exited { exit: Exit::Status(3), lines: lines() },
            Fact::Exited { exit: Exit::Signal(9), lines: Vec::new() },
            Fact::Exited { exit: Exit::OutOfMemory, lines: lines() },
            Fact::Exited { exit: Exit::PerhapsOutOfMemory, lines: Vec::new() },
            Fact::Exited { exit: Exit::Unknown, lines: vec![String::new()] },
            Fact::Status {
                readiness: Readiness::Ready { quiet_for: None },
                words: "all\nwell".to_owned(),
            },
            Fact::Status {
                readiness: Readiness::Ready { quiet_for: Some(Duration::from_millis(1_234)) },
                words: "at work".to_owned(),
            },
            Fact::Status { readiness: Readiness::Triggered, words: String::new() },
            Fact::Status { readiness: Readiness::NotReady, words: String::new() },
            Fact::Lines(lines()),
            Fact::Lines(Vec::new()),
        ] {
            assert!(!fact.to_string().contains('\n'), "{fact}");
            assert_eq!(fact.to_string().parse(), Ok(fact));
        }
    }

    #[test]
    fn what_means_nothing_is_refused() {
        for line in [
            "",
            "kill now",
            "stop",
            "stop x 1",
            "stop 15 -1",
            "started 7 1",
            "exited code",
            "status quiet x y",
        ] {
            assert!(line.parse::<Order>().is_err(), "{line}");
            assert!(line.parse::<Fact>().is_err(), "{line}");
        }
    }
}
