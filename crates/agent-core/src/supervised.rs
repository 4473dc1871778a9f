//! Supervision of one resource: started, checked, started again after a growing pause, given up.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::VecDeque;

use chrono::{DateTime, Utc};
use inventory::{Resource, Restart};
use wire::{ProcessIdentity, ResourceState};

use crate::action::{Action, Start};
use crate::draws::{RunId, doubling};
use crate::event::Obstacle;
use crate::turn::Turn;

/// A resource that was given up is tried once more after each such pause, since its cause may have passed. It stays
/// *failed* until it is healthy. Ten minutes are rare enough to load no machine and short enough for a night.
const RETRY_GIVEN_UP: Duration = Duration::from_secs(600);

/// Most bytes of output in a sentence about a resource: statements of some hundred resources stay within a message.
const OUTPUT_BYTES_MAX: usize = 1_000;

/// One resource of one execution.
#[derive(Debug)]
pub(crate) struct Supervised {
    resource: Resource,
    start: Start,
    phase: Phase,
    state: ResourceState,
    since: DateTime<Utc>,
    why: Option<String>,
    restarts: u32,
    /// When it was started again, as far back as its limit looks.
    restarted_at: VecDeque<Duration>,
    record: Record,
}

/// What there is of its process.
#[derive(Debug)]
enum Phase {
    /// It was asked to start and has not answered.
    Launching { run: RunId },
    /// It was asked to start, and is to be stopped as soon as there is something to stop.
    Doomed { run: RunId },
    /// It runs.
    Up(Up),
    /// It was asked to stop and is not gone.
    Stopping { run: RunId, process: ProcessIdentity, address: SocketAddr },
    /// There is none until then.
    Waiting { until: Duration },
    /// There is none, and there will be none.
    Over,
}

#[derive(Debug)]
struct Up {
    run: RunId,
    process: ProcessIdentity,
    address: SocketAddr,
    since: Duration,
    check: NextCheck,
    passes: u32,
    failures: u32,
}

#[derive(Debug)]
enum NextCheck {
    Due(Duration),
    Asked,
}

/// The best that this resource has been in its execution.
#[derive(Debug)]
pub(crate) enum Record {
    /// It has never run; the obstacle of the last try.
    NeverStarted(Option<Obstacle>),
    /// It has run and never passed its checks.
    Started,
    /// It has been healthy.
    WasHealthy,
}

impl Supervised {
    /// A resource whose first process is asked for now.
    pub(crate) fn launch(resource: Resource, start: Start, turn: &mut Turn<'_>) -> Self {
        let mut supervised = Self {
            resource,
            start,
            phase: Phase::Over,
            state: ResourceState::Starting,
            since: turn.now.wall,
            why: None,
            restarts: 0,
            restarted_at: VecDeque::new(),
            record: Record::NeverStarted(None),
        };
        supervised.ask(turn);
        supervised
    }

    /// A resource whose process was found running. How it does is not known before its checks say so.
    pub(crate) fn adopt(
        resource: Resource,
        start: Start,
        run: RunId,
        process: ProcessIdentity,
        address: SocketAddr,
        turn: &Turn<'_>,
    ) -> Self {
        let since = turn.now.monotonic;
        let check = NextCheck::Due(since);
        let up = Up { run, process, address, since, check, passes: 0, failures: 0 };
        Self {
            resource,
            start,
            phase: Phase::Up(up),
            state: ResourceState::Starting,
            since: turn.now.wall,
            why: None,
            restarts: 0,
            restarted_at: VecDeque::new(),
            record: Record::Started,
        }
    }

    pub(crate) fn start(&self) -> &Start {
        &self.start
    }

    pub(crate) fn record(&self) -> &Record {
        &self.record
    }

    pub(crate) fn state(&self) -> ResourceState {
        self.state
    }

    pub(crate) fn since(&self) -> DateTime<Utc> {
        self.since
    }

    pub(crate) fn why(&self) -> Option<&str> {
        self.why.as_deref()
    }

    pub(crate) fn restarts(&self) -> u32 {
        self.restarts
    }

    /// Its process, while there is one, and where that listens.
    pub(crate) fn process(&self) -> Option<(RunId, &ProcessIdentity, SocketAddr)> {
        match &self.phase {
            Phase::Up(up) => Some((up.run, &up.process, up.address)),
            Phase::Stopping { run, process, address } => Some((*run, process, *address)),
            Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Waiting { .. }
            | Phase::Over => None,
        }
    }

    /// Whether it has no process and gets none.
    pub(crate) fn is_over(&self) -> bool {
        matches!(self.phase, Phase::Over)
    }

    /// When it next wants a turn.
    pub(crate) fn wake(&self) -> Option<Duration> {
        match &self.phase {
            Phase::Waiting { until } => Some(*until),
            Phase::Up(Up { check: NextCheck::Due(at), .. }) => Some(*at),
            Phase::Up(Up { check: NextCheck::Asked, .. })
            | Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Stopping { .. }
            | Phase::Over => None,
        }
    }

    /// Does what is due by now.
    pub(crate) fn tick(&mut self, turn: &mut Turn<'_>) {
        match &mut self.phase {
            Phase::Waiting { until } if *until <= turn.now.monotonic => {
                self.restarts = self.restarts.saturating_add(1);
                if self.state != ResourceState::Failed {
                    self.restarted_at.push_back(turn.now.monotonic);
                    self.become_state(ResourceState::Starting, turn);
                }
                self.ask(turn);
            }
            Phase::Up(up) => {
                if let NextCheck::Due(at) = up.check
                    && at <= turn.now.monotonic
                {
                    up.check = NextCheck::Asked;
                    let health = &self.resource.health;
                    let (check, timeout) = (health.check.clone(), health.timeout.as_duration());
                    turn.actions.push(Action::Check { run: up.run, check, timeout });
                }
            }
            Phase::Waiting { .. }
            | Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Stopping { .. }
            | Phase::Over => {}
        }
    }

    /// It is not meant to run any longer.
    pub(crate) fn stop(&mut self, turn: &mut Turn<'_>) {
        self.phase = match std::mem::replace(&mut self.phase, Phase::Over) {
            Phase::Launching { run } | Phase::Doomed { run } => Phase::Doomed { run },
            Phase::Up(Up { run, process, address, .. }) => {
                turn.actions.push(Action::Stop { run, how: self.resource.stop });
                Phase::Stopping { run, process, address }
            }
            Phase::Stopping { run, process, address } => Phase::Stopping { run, process, address },
            Phase::Waiting { .. } | Phase::Over => Phase::Over,
        };
        self.why = None;
        self.become_state(ResourceState::Stopped, turn);
    }

    pub(crate) fn started(
        &mut self,
        of: RunId,
        process: ProcessIdentity,
        address: SocketAddr,
        turn: &mut Turn<'_>,
    ) {
        match self.phase {
            Phase::Launching { run } if run == of => {
                if let Record::NeverStarted(_) = self.record {
                    self.record = Record::Started;
                }
                let check = NextCheck::Due(turn.now.monotonic);
                let since = turn.now.monotonic;
                self.phase =
                    Phase::Up(Up { run, process, address, since, check, passes: 0, failures: 0 });
                self.tick(turn);
            }
            Phase::Doomed { run } if run == of => {
                turn.actions.push(Action::Stop { run, how: self.resource.stop });
                self.phase = Phase::Stopping { run, process, address };
            }
            Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Up(_)
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Over => {}
        }
    }

    pub(crate) fn not_started(&mut self, of: RunId, obstacle: Obstacle, turn: &mut Turn<'_>) {
        match self.phase {
            Phase::Launching { run } if run == of => {
                let why = obstacle.why.clone();
                if let Record::NeverStarted(last) = &mut self.record {
                    *last = Some(obstacle);
                }
                self.fall(why, turn);
            }
            Phase::Doomed { run } if run == of => self.phase = Phase::Over,
            Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Up(_)
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Over => {}
        }
    }

    pub(crate) fn exited(&mut self, of: RunId, how: &str, lines: &[String], turn: &mut Turn<'_>) {
        match &self.phase {
            Phase::Up(up) if up.run == of => self.fall(ended(how, lines), turn),
            Phase::Stopping { run, .. } if *run == of => self.phase = Phase::Over,
            Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Up(_)
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Over => {}
        }
    }

    pub(crate) fn checked(&mut self, of: RunId, outcome: Result<(), String>, turn: &mut Turn<'_>) {
        let Phase::Up(up) = &mut self.phase else { return };
        if up.run != of {
            return;
        }
        let health = &self.resource.health;
        up.check = NextCheck::Due(turn.now.after(health.every.as_duration()));
        match outcome {
            Ok(()) => {
                up.failures = 0;
                up.passes = up.passes.saturating_add(1);
                if up.passes >= health.passes {
                    self.record = Record::WasHealthy;
                    self.why = None;
                    self.become_state(ResourceState::Healthy, turn);
                }
            }
            Err(why) => {
                up.passes = 0;
                let up_for = turn.now.monotonic.saturating_sub(up.since);
                let starting = self.state == ResourceState::Starting;
                if !starting || up_for >= health.start_up.as_duration() {
                    up.failures = up.failures.saturating_add(1);
                }
                let fails = up.failures >= health.failures;
                if self.state != ResourceState::Healthy || fails {
                    self.why = Some(excerpt(&format!("its check fails: {why}")));
                }
                if fails && self.state != ResourceState::Failed {
                    self.become_state(ResourceState::Unhealthy, turn);
                }
            }
        }
    }

    fn ask(&mut self, turn: &mut Turn<'_>) {
        let run = turn.draws.run();
        let place = (self.start.module.clone(), self.start.instance.clone());
        turn.homes.insert(run, (place, self.start.resource.clone()));
        turn.actions.push(Action::Start { run, start: Box::new(self.start.clone()) });
        self.phase = Phase::Launching { run };
    }

    /// Its process ended, or could not be started: it is started again after a pause, or given up.
    fn fall(&mut self, why: String, turn: &mut Turn<'_>) {
        let now = turn.now.monotonic;
        let Restart { limit, within, backoff_min, backoff_max } = self.resource.restart;
        self.restarted_at.retain(|at| now.saturating_sub(*at) < within.as_duration());
        let restarts = u32::try_from(self.restarted_at.len()).unwrap_or(u32::MAX);
        let given_up = match self.state {
            ResourceState::Failed => Some("given up, and one more try did not help".to_owned()),
            ResourceState::Starting
            | ResourceState::Healthy
            | ResourceState::Unhealthy
            | ResourceState::Stopped => (restarts >= limit)
                .then(|| format!("given up after {restarts} restarts within {within}")),
        };
        if let Some(given_up) = given_up {
            self.why = Some(excerpt(&format!("{given_up}: {why}")));
            self.become_state(ResourceState::Failed, turn);
            self.phase = Phase::Waiting { until: turn.now.after(RETRY_GIVEN_UP) };
            return;
        }
        self.why = Some(excerpt(&why));
        self.become_state(ResourceState::Unhealthy, turn);
        let (first, longest) = (backoff_min.as_duration(), backoff_max.as_duration());
        let pause = turn.draws.spread(doubling(first, longest, restarts + 1)).min(longest);
        self.phase = Phase::Waiting { until: turn.now.after(pause) };
    }

    fn become_state(&mut self, state: ResourceState, turn: &Turn<'_>) {
        if self.state != state {
            self.state = state;
            self.since = turn.now.wall;
        }
    }
}

fn ended(how: &str, lines: &[String]) -> String {
    if lines.is_empty() {
        return format!("it ended with {how}, without output");
    }
    format!("it ended with {how}; its last lines:\n{}", lines.join("\n"))
}

/// The beginning and, of what is too long, the end: what happened stands first and the newest output last.
fn excerpt(text: &str) -> String {
    if text.len() <= OUTPUT_BYTES_MAX {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(OUTPUT_BYTES_MAX / 4);
    let tail = text.ceil_char_boundary(text.len() - OUTPUT_BYTES_MAX * 3 / 4);
    format!("{} […] {}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end_and_whole_characters() {
        let text = format!("it ended with exit status 3; {}the last word", "é".repeat(5_000));
        let short = excerpt(&text);
        assert!(short.starts_with("it ended with exit status 3"));
        assert!(short.ends_with("the last word"));
        assert!(short.len() <= OUTPUT_BYTES_MAX + 10);
        assert_eq!(excerpt("short"), "short");
    }
}
