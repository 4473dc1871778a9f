//! What an agent tells the people who look after its machine: one line for each fact, made of what happens and of what is
//! decided. It decides nothing, and nothing depends on it.

mod processes;
mod standing;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use agent_core::{Action, Adopted, AskId, Ending, Event, Obstacle, VerificationId};
use inventory::{Declaration, DeclarationNumber};
use names::{BuildId, InstanceName, ModuleName};
use wire::{DeclareReply, Held, WordReply};

use self::processes::Processes;
use self::standing::Standing;
use crate::log::Severity;
use crate::repeats::{Line, Repeats};

/// How much of a reason is told: enough for the last lines of a program, and no more than can be read in a log.
const REASON_CHARS_MAX: usize = 600;

/// What must be known to tell the next thing.
#[derive(Debug, Default)]
pub(crate) struct Telling {
    repeats: Repeats,
    held: Option<DeclarationNumber>,
    /// The newest declaration that was seen here, which may be newer than what is held.
    seen: Option<Held>,
    asked: BTreeMap<AskId, DeclarationNumber>,
    verified: BTreeMap<VerificationId, InstanceName>,
    processes: Processes,
    standing: Standing,
    controller: Controller,
}

#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Controller {
    /// Nothing was heard of it yet.
    #[default]
    Unheard,
    Answers,
    IsSilent,
}

impl Telling {
    /// What was found when the agent began.
    pub(crate) fn begun(
        &mut self,
        adopted: &[Adopted],
        held: Option<DeclarationNumber>,
    ) -> Vec<Line> {
        let seen = adopted.iter().filter_map(|one| one.seen.clone());
        self.seen = seen.max_by_key(|seen| seen.number);
        self.held = held;
        let held = match held {
            Some(number) => format!("declaration {number} is held"),
            None => "no declaration is held".to_owned(),
        };
        vec![self.processes.found(adopted), info("held", held)]
    }

    /// From now on this declaration is held, and nothing older than what was seen is taken.
    pub(crate) fn holds(
        &mut self,
        held: Option<DeclarationNumber>,
        seen: Option<Held>,
        now: Duration,
    ) -> Vec<Line> {
        self.seen = seen;
        let before = std::mem::replace(&mut self.held, held);
        let taken = held.filter(|held| before != Some(*held));
        let line = taken.map(|number| info("held", format!("declaration {number} is taken")));
        self.pass(line, now)
    }

    /// Something happened.
    pub(crate) fn heard(&mut self, event: &Event, now: Duration) -> Vec<Line> {
        let line = match event {
            Event::Tick
            | Event::Checked { .. }
            | Event::ReportKept(_)
            | Event::ReportUnanswered
            | Event::Examined { .. }
            | Event::Collected
            | Event::Worded { .. }
            | Event::BookAsked { .. }
            | Event::Installed { outcome: Ok(()), .. } => None,
            Event::Declared { ask, declaration } => {
                self.asked.insert(*ask, declaration.number);
                None
            }
            Event::HelloAnswered(reply) => {
                let answers = self.controller_is(Controller::Answers);
                let offered = self.offered(reply.declaration.as_ref());
                return self.pass(answers.into_iter().chain(offered), now);
            }
            Event::HelloUnanswered => self.controller_is(Controller::IsSilent),
            Event::Routed(Ok(faults)) => {
                let lines = faults.iter().map(|(address, why)| not_led(*address, why));
                return self.pass(lines.collect::<Vec<_>>(), now);
            }
            Event::Routed(Err(why)) => {
                let text = format!(
                    "the public addresses cannot be led anywhere, and it is tried again: {}",
                    reason(why)
                );
                Some(error("routes", text))
            }
            Event::RoutesLost => {
                let text = "the router is gone; another is started, and leads all addresses again";
                Some(warning("routes lost", text))
            }
            Event::Installed { module, build, outcome: Err(obstacle) } => {
                Some(not_installed(module, build, obstacle))
            }
            Event::Verified { verification, outcome } => {
                let instance = self.verified.remove(verification);
                let obstacle = outcome.as_ref().err();
                instance.zip(obstacle).map(|(instance, obstacle)| not_moved(&instance, obstacle))
            }
            Event::Started { run, process, address } => {
                self.processes.started(*run, process, *address)
            }
            Event::NotStarted { run, obstacle } => self.processes.not_started(*run, obstacle),
            Event::Exited { run, how, last_lines } => self.processes.exited(*run, how, last_lines),
            Event::ShutDown(Ending::Leave) => {
                Some(info("end", "it ends; what runs goes on, and the next engine finds it"))
            }
            Event::ShutDown(Ending::Stop) => {
                Some(info("end", "it ends, and stops everything that runs first"))
            }
        };
        self.pass(line, now)
    }

    /// Something is to be done.
    pub(crate) fn decided(&mut self, action: &Action, now: Duration) -> Vec<Line> {
        let line = match action {
            Action::Answer { ask, reply } => self.answered(*ask, reply),
            Action::Install { module, build, .. } => {
                let text = format!("build {} of {module} is brought onto the disk", build.short());
                Some(info(format!("install {module} {build}"), text))
            }
            Action::Verify { verification, starts, .. } => {
                let instance = starts.first().map(|start| start.instance.clone());
                self.verified.extend(instance.map(|instance| (*verification, instance)));
                None
            }
            Action::Start { run, start } => {
                self.processes.starts(*run, start);
                None
            }
            Action::Stop { run, .. } => self.processes.stops(*run),
            Action::State(statement) => {
                let lines = self.standing.stated(statement);
                return self.pass(lines, now);
            }
            Action::Report(report) => {
                let lines = self.standing.reported(report);
                return self.pass(lines, now);
            }
            // What is removed is told by whoever removed it, what was found of the machine by the next statement.
            Action::AnswerWord { reply, .. } => Some(worded(reply)),
            Action::Check { .. }
            | Action::AnswerBook { .. }
            | Action::Examine
            | Action::Collect { .. }
            | Action::Route(_)
            | Action::Hello(_) => None,
        };
        self.pass(line, now)
    }

    /// Not everything that must be remembered is on the disk.
    pub(crate) fn not_kept(&mut self, why: &str, now: Duration) -> Vec<Line> {
        let text = format!("what must be remembered could not be written down: {}", reason(why));
        self.pass(Some(error("not kept", text)), now)
    }

    fn pass(&mut self, lines: impl IntoIterator<Item = Line>, now: Duration) -> Vec<Line> {
        lines.into_iter().filter_map(|line| self.repeats.pass(line, now)).collect()
    }

    fn controller_is(&mut self, heard: Controller) -> Option<Line> {
        let before = std::mem::replace(&mut self.controller, heard);
        match (before, heard) {
            (Controller::Unheard, Controller::Answers) => {
                Some(info("controller", "the controller answers"))
            }
            (Controller::IsSilent, Controller::Answers) => {
                Some(info("controller", "the controller answers again"))
            }
            (Controller::Unheard | Controller::Answers, Controller::IsSilent) => Some(warning(
                "silent controller",
                "the controller does not answer; what runs goes on, and it is asked again",
            )),
            (Controller::Answers, Controller::Answers)
            | (Controller::IsSilent, Controller::IsSilent)
            | (_, Controller::Unheard) => None,
        }
    }

    /// The hello was answered with a declaration: one that cannot be taken has no answer of its own.
    fn offered(&self, declaration: Option<&Declaration>) -> Option<Line> {
        let (seen, offered) = (self.seen.as_ref()?, declaration?);
        if seen.number <= offered.number && seen.epoch <= offered.epoch {
            return None;
        }
        let (offered, seen) = (offered.number, seen.number);
        let text = format!(
            "the controller offers declaration {offered}, and {seen} was seen here: it is not taken"
        );
        Some(warning("offered", text))
    }

    fn answered(&mut self, ask: AskId, reply: &DeclareReply) -> Option<Line> {
        let number = self.asked.remove(&ask)?;
        match reply {
            DeclareReply::Taken => None,
            DeclareReply::Refused(why) => {
                let text = format!("declaration {number} is refused: {}", reason(&why.to_string()));
                Some(warning("refused", text))
            }
        }
    }
}

fn not_installed(module: &ModuleName, build: &BuildId, obstacle: &Obstacle) -> Line {
    let (build, why) = (build.short(), reason(&obstacle.why));
    let text = format!(
        "build {build} of {module} cannot be installed; what runs goes on, and it is tried again: {why}"
    );
    warning(format!("not installed {module}"), text)
}

fn worded(reply: &WordReply) -> Line {
    match reply {
        WordReply::Taken { freed } if freed.is_empty() => {
            info("word", "a signed word is taken; it frees nothing here")
        }
        WordReply::Taken { freed } => {
            let freed = freed.iter().map(|one| {
                let whom = one.instance.as_ref().map_or("every instance", |one| one.as_str());
                format!("{whom} of {} from build {}", one.module, one.build.short())
            });
            let freed = freed.collect::<Vec<_>>().join(", ");
            info("word", format!("a signed word is taken, and frees {freed}"))
        }
        WordReply::Refused { why, .. } => {
            warning("word", format!("a signed word is refused: {}", reason(why)))
        }
    }
}

fn not_led(address: SocketAddr, why: &str) -> Line {
    let text = format!("{address} cannot be listened on, and it is tried again: {}", reason(why));
    warning(format!("not led {address}"), text)
}

fn not_moved(instance: &InstanceName, obstacle: &Obstacle) -> Line {
    let why = reason(&obstacle.why);
    let text =
        format!("{instance} cannot be moved; what runs goes on, and it is tried again: {why}");
    warning(format!("not moved {instance}"), text)
}

/// In one line, and not too long: the beginning, and of what is left the end.
fn reason(why: &str) -> String {
    let lines: Vec<_> = why.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
    let line = lines.join(" | ").replace(": | ", ": ");
    let length = line.chars().count();
    if length <= REASON_CHARS_MAX {
        return line;
    }
    let half = REASON_CHARS_MAX / 2;
    let begin: String = line.chars().take(half).collect();
    let end: String = line.chars().skip(length - half).collect();
    format!("{begin} […] {end}")
}

fn info(about: impl Into<String>, text: impl Into<String>) -> Line {
    Line { severity: Severity::Info, about: about.into(), text: text.into() }
}

fn warning(about: impl Into<String>, text: impl Into<String>) -> Line {
    Line { severity: Severity::Warning, about: about.into(), text: text.into() }
}

fn error(about: impl Into<String>, text: impl Into<String>) -> Line {
    Line { severity: Severity::Error, about: about.into(), text: text.into() }
}

#[cfg(test)]
mod tests {
    use inventory::Epoch;
    use names::Digest;
    use wire::HelloReply;

    use super::*;

    #[test]
    fn a_declaration_older_than_what_was_seen_is_told() {
        let mut telling = Telling::default();
        let (number, epoch) = (DeclarationNumber(9), Epoch(1));
        let seen = Some(Held { number, epoch, digest: Digest::from_bytes([7; 32]) });
        assert_eq!(telling.holds(None, seen, Duration::ZERO), []);
        for (offered, told) in [(3, true), (9, false), (10, false)] {
            let declaration = Declaration {
                machine: "box-1".parse().unwrap(),
                number: DeclarationNumber(offered),
                epoch,
                composed_at: None,
                modules: BTreeMap::new(),
                withdrawn: Default::default(),
            };
            let reply = HelloReply { declaration: Some(declaration), keep: None };
            let lines = telling.heard(&Event::HelloAnswered(Box::new(reply)), Duration::ZERO);
            let is_told = lines.iter().any(|line| {
                line.text == format!("the controller offers declaration {offered}, and 9 was seen here: it is not taken")
            });
            assert_eq!(is_told, told, "{lines:?}");
        }
    }

    #[test]
    fn what_cannot_be_kept_is_an_error_told_a_few_times() {
        let mut telling = Telling::default();
        let told: Vec<_> =
            (0..20).flat_map(|_| telling.not_kept("no space left", Duration::ZERO)).collect();
        assert_eq!(told.len(), 3);
        assert_eq!(told[0].severity, Severity::Error);
        assert!(told[0].text.ends_with("could not be written down: no space left"));
    }

    #[test]
    fn a_reason_is_one_line_of_bounded_length() {
        assert_eq!(
            reason("it ended; its last lines:\none \n\ntwo"),
            "it ended; its last lines: one | two"
        );
        let long = reason(&format!("begin{}end", "é".repeat(5_000)));
        assert!(long.starts_with("begin") && long.ends_with("end"));
        assert!(long.chars().count() < REASON_CHARS_MAX + 10);
    }
}
