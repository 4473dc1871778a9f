//! Supervision of one resource: started, checked, started again after a growing pause, given up.

use core::net::SocketAddr;
use core::time::Duration;

use chrono::{DateTime, Utc};
use inventory::{Resource, Restart};
use wire::{ProcessIdentity, ResourceState};

use crate::action::{Action, Start};
use crate::draws::{CheckId, RunId, doubling};
use crate::event::Obstacle;
use crate::excerpt::excerpt;
use crate::turn::Turn;

/// A resource that was given up is tried once more after each such pause, since its cause may have passed. It stays
/// *failed* until it is healthy. Ten minutes are rare enough to load no machine and short enough for a night.
const RETRY_GIVEN_UP: Duration = Duration::from_secs(600);

/// How long after its time-out the answer to a check is still waited for. Whoever checks keeps to the time-out; a machine
/// so loaded that its word takes this long has not been seen healthy either.
const CHECK_LATE_AFTER: Duration = Duration::from_secs(5);

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
    /// How long it had been healthy, in all, at each restart that counts. Only being healthy makes a restart old: neither a
    /// good start nor a long pause does, or a program that crashes at every start would never be given up.
    restarted_at: Vec<Duration>,
    healthy: Healthy,
    record: Record,
}

/// For how long it has been healthy.
#[derive(Debug, Default)]
struct Healthy {
    before: Duration,
    since: Option<Duration>,
}

impl Healthy {
    fn in_all(&self, now: Duration) -> Duration {
        let present = self.since.map_or(Duration::ZERO, |since| now.saturating_sub(since));
        self.before.saturating_add(present)
    }

    fn note(&mut self, state: ResourceState, now: Duration) {
        let since = match state {
            ResourceState::Healthy => Some(now),
            ResourceState::Starting
            | ResourceState::Unhealthy
            | ResourceState::Failed
            | ResourceState::Stopped => None,
        };
        *self = Self { before: self.in_all(now), since };
    }
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
    Asked { check: CheckId, late_at: Duration },
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
            restarted_at: Vec::new(),
            healthy: Healthy::default(),
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
            restarted_at: Vec::new(),
            healthy: Healthy::default(),
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

    /// Whether its checks have failed so often in a row that it is not healthy, however it was before.
    pub(crate) fn fails_its_checks(&self) -> bool {
        match &self.phase {
            Phase::Up(up) => up.failures >= self.resource.health.failures,
            Phase::Launching { .. }
            | Phase::Doomed { .. }
            | Phase::Stopping { .. }
            | Phase::Waiting { .. }
            | Phase::Over => false,
        }
    }

    /// Whether a process of it ran, or may have: one that was asked for and has not answered.
    pub(crate) fn may_have_run(&self) -> bool {
        let is_asked = matches!(self.phase, Phase::Launching { .. } | Phase::Doomed { .. });
        is_asked || !matches!(self.record, Record::NeverStarted(_))
    }

    /// Whether a run is its present one.
    pub(crate) fn is_in(&self, of: RunId) -> bool {
        match &self.phase {
            Phase::Launching { run }
            | Phase::Doomed { run }
            | Phase::Up(Up { run, .. })
            | Phase::Stopping { run, .. } => *run == of,
            Phase::Waiting { .. } | Phase::Over => false,
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
            Phase::Up(up) => match up.check {
                NextCheck::Due(at) | NextCheck::Asked { late_at: at, .. } => Some(at),
            },
            Phase::Launching { .. }
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
                    if turn.troubles.obstacle().is_none() {
                        self.restarted_at.push(self.healthy.in_all(turn.now.monotonic));
                    }
                    self.become_state(ResourceState::Starting, turn);
                }
                self.ask(turn);
            }
            Phase::Up(up) => match up.check {
                NextCheck::Due(at) if at <= turn.now.monotonic => {
                    let health = &self.resource.health;
                    let (ask, timeout) = (health.check.clone(), health.timeout.as_duration());
                    let check = turn.draws.check();
                    let late_at = turn.now.after(timeout.saturating_add(CHECK_LATE_AFTER));
                    up.check = NextCheck::Asked { check, late_at };
                    turn.actions.push(Action::Check { run: up.run, check, ask, timeout });
                }
                NextCheck::Asked { late_at, .. } if late_at <= turn.now.monotonic => {
                    let why = format!("no answer within {}", self.resource.health.timeout);
                    self.found(Err(why), turn);
                }
                NextCheck::Due(_) | NextCheck::Asked { .. } => {}
            },
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

    /// The answer to a check. One that was given up on counts for nothing.
    pub(crate) fn checked(
        &mut self,
        of: RunId,
        answered: CheckId,
        outcome: Result<(), String>,
        turn: &Turn<'_>,
    ) {
        let is_awaited = matches!(
            &self.phase,
            Phase::Up(Up { run, check: NextCheck::Asked { check, .. }, .. })
                if *run == of && *check == answered
        );
        if is_awaited {
            self.found(outcome, turn);
        }
    }

    /// What weighed on the machine is over: a start that waits is made now, and checks that failed count no longer. What was
    /// given up before keeps its own time.
    pub(crate) fn relieve(&mut self, turn: &Turn<'_>) {
        if let Phase::Up(up) = &mut self.phase {
            up.failures = 0;
        }
        if let Phase::Waiting { until } = &mut self.phase
            && self.state != ResourceState::Failed
        {
            *until = turn.now.monotonic;
        }
    }

    fn found(&mut self, outcome: Result<(), String>, turn: &Turn<'_>) {
        let Phase::Up(up) = &mut self.phase else { return };
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
        // The next look at the machine tells whether it is to blame, before this comes to its limit.
        turn.troubles.hurry(turn.now);
        let is_machines = turn.troubles.obstacle().is_some();
        let Restart { limit, within, backoff_min, backoff_max } = self.resource.restart;
        let healthy = self.healthy.in_all(turn.now.monotonic);
        self.restarted_at.retain(|at| healthy.saturating_sub(*at) < within.as_duration());
        let restarts = u32::try_from(self.restarted_at.len()).unwrap_or(u32::MAX);
        let given_up = match self.state {
            ResourceState::Failed => Some("given up, and one more try did not help".to_owned()),
            ResourceState::Starting
            | ResourceState::Healthy
            | ResourceState::Unhealthy
            | ResourceState::Stopped => (restarts >= limit && !is_machines)
                .then(|| format!("given up after {restarts} restarts within {within} of health")),
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
        // What weighs on the machine counts for nothing, so there is no row of pauses to grow.
        let nth = if is_machines { u32::MAX } else { restarts.saturating_add(1) };
        // Short of the longest, so that the spread is not cut off where it matters most: after many falls.
        let base = doubling(first, (longest / 5 * 4).max(first), nth);
        let pause = turn.draws.spread(base).min(longest);
        self.phase = Phase::Waiting { until: turn.now.after(pause) };
    }

    fn become_state(&mut self, state: ResourceState, turn: &Turn<'_>) {
        if self.state != state {
            self.healthy.note(state, turn.now.monotonic);
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
