//! The book as its rules say, written the plain way: one sheet, copied whole at every save.

use crate::operations::Operation;
use crate::sheet::{IntentLine, MarkerLine, RecordLine, Sheet, app_of, time};
use crate::world::Outcome;
use failure_book::{
    Cleared, Failure, Fault, Grant, MarkerWish, RECONCILED_REASON, Snapshot, Unsaved,
};
use std::collections::{BTreeSet, VecDeque};

/// The book, and the disk under it.
#[derive(Debug)]
pub(crate) struct Model {
    pub(crate) memory: Sheet,
    /// The sheet on the disk; `None` when a write tore, and nobody knows.
    disk: Option<Sheet>,
    /// The sheet that the disk said it had, last.
    landed: Sheet,
    has_failed: bool,
    /// The clears: of which build, for which host (or all), and when.
    clears: Vec<(String, Option<String>, u64)>,
    pub(crate) reconciled: usize,
    faults: VecDeque<Option<Fault>>,
}

/// What an operation needs that is not written in it.
pub(crate) struct Given {
    pub(crate) now: String,
    pub(crate) snapshot: Option<Snapshot>,
    pub(crate) grant: Option<Grant>,
    /// An identity that nobody has yet.
    pub(crate) fresh: String,
    pub(crate) faults: [Option<Fault>; 2],
}

impl Model {
    /// The book of a disk with nothing on it.
    pub(crate) fn new(fresh: &str) -> Self {
        let mut model = Self {
            memory: Sheet::default(),
            disk: Some(Sheet::default()),
            landed: Sheet::default(),
            has_failed: false,
            clears: Vec::new(),
            reconciled: 0,
            faults: VecDeque::new(),
        };
        model.open(Sheet::default(), fresh, "");
        model
    }

    pub(crate) fn is_owed(&self) -> bool {
        self.has_failed || self.memory != self.landed
    }

    /// Whether the model cannot know what is on the disk.
    pub(crate) fn is_disk_unknown(&self) -> bool {
        self.disk.is_none()
    }

    /// Makes one operation.
    pub(crate) fn run(&mut self, operation: &Operation, given: &Given) -> Outcome {
        self.faults = given.faults.into();
        match operation {
            Operation::Record { failure, .. } => {
                let word = self.record(failure, given.snapshot, &given.now);
                self.settle(word)
            }
            Operation::Mark { host, ran } => {
                let exec = ran.exec.as_ref().map_or("", |exec| exec.as_str());
                let (host, build) = (host.as_str(), ran.build.to_string());
                self.mark(host, &build, exec, &time(ran.at), &given.now);
                self.settle("")
            }
            Operation::Begin { host, intent } => self.begin(
                host.as_str(),
                &IntentLine {
                    build: intent.build.to_string(),
                    mode: intent.mode.to_string(),
                    id: intent.id.to_string(),
                    start: time(intent.start),
                },
            ),
            Operation::End { host, id } => {
                self.memory
                    .intents
                    .retain(|on, intent| on != host.as_str() || intent.id != id.as_str());
                self.settle("")
            }
            Operation::ClearHoldRan { host } => self.clear_marker(host.as_str(), |_| true),
            Operation::ClearHoldRanBefore { host, .. } => {
                let before = given.snapshot.map_or(0, Snapshot::get);
                self.clear_marker(host.as_str(), |marker| marker.seq < before)
            }
            Operation::ClearHoldRanOnPointer { host, app, promoted_at } => {
                let (app, promoted_at) = (app.to_string(), time(*promoted_at));
                let is_meant =
                    |marker: &MarkerLine| app_of(&marker.build) == app && promoted_at > marker.at;
                self.clear_marker(host.as_str(), is_meant)
            }
            Operation::RetryHost { build, host } => {
                self.retry(&build.to_string(), &host.to_string())
            }
            Operation::RetryHostAt { .. } => self.grant(given.grant.as_ref().unwrap()),
            Operation::ClearOnPointer { build, promoted_at } => {
                self.pointer(&build.to_string(), &time(*promoted_at))
            }
            Operation::Prune { installed } => {
                self.prune(&installed.iter().map(ToString::to_string).collect());
                self.settle("")
            }
            Operation::Flush => {
                let error = self.save();
                outcome("", error)
            }
            Operation::SaveIfDirty => self.settle(""),
            Operation::RotateIdentity => {
                self.memory.id.clone_from(&given.fresh);
                self.settle("")
            }
            Operation::Crash => {
                let disk = self.disk.clone().unwrap();
                self.open(disk, &given.fresh, &given.now);
                outcome("opened", None)
            }
        }
    }

    /// Tells the model what is on the disk after all.
    pub(crate) fn learn_disk(&mut self, sheet: Sheet) {
        self.disk = Some(sheet);
    }

    fn next(&mut self) -> u64 {
        self.memory.seq += 1;
        self.memory.seq
    }

    fn moved(&mut self, app: &str) {
        let generation = self.next();
        self.memory.generations.insert(app.to_owned(), generation);
    }

    fn save(&mut self) -> Option<Unsaved> {
        match self.faults.pop_front().flatten() {
            None => {
                self.disk = Some(self.memory.clone());
                self.landed = self.memory.clone();
                self.has_failed = false;
                return None;
            }
            Some(Fault::Fails) => {}
            Some(Fault::Lies) => self.disk = Some(self.memory.clone()),
            Some(Fault::Torn { .. }) => self.disk = None,
        }
        self.has_failed = true;
        Some(Unsaved::Failed)
    }

    fn settle(&mut self, word: &str) -> Outcome {
        let error = if self.is_owed() { self.save() } else { None };
        outcome(word, error)
    }

    fn open(&mut self, disk: Sheet, fresh: &str, now: &str) {
        self.landed = disk.clone();
        self.memory = disk.clone();
        self.disk = Some(disk);
        self.has_failed = false;
        self.clears.clear();
        if self.memory.id.is_empty() {
            fresh.clone_into(&mut self.memory.id);
        }
        let of_records = self.memory.records.iter().map(|record| app_of(&record.build));
        let of_markers = self.memory.markers.values().map(|marker| app_of(&marker.build));
        for app in of_records.chain(of_markers).collect::<BTreeSet<_>>() {
            if !self.memory.generations.contains_key(&app) {
                self.moved(&app);
            }
        }
        let intents = std::mem::take(&mut self.memory.intents);
        self.reconciled = intents.len();
        for (host, intent) in intents {
            let is_hold = intent.mode == "hold";
            if is_hold {
                self.mark(&host, &intent.build, &intent.id, &intent.start, now);
            }
            self.fail(RecordLine {
                build: intent.build,
                host: host.clone(),
                cause: "release".to_owned(),
                mode: intent.mode,
                reason: RECONCILED_REASON.to_owned(),
                promoted_at: now.to_owned(),
                at: now.to_owned(),
                held_down: if is_hold { vec![host] } else { Vec::new() },
                retried: Vec::new(),
            });
        }
    }

    fn record(&mut self, failure: &Failure, snapshot: Option<Snapshot>, now: &str) -> &'static str {
        let (build, host) = (failure.build.to_string(), failure.host.to_string());
        let is_stale = snapshot.is_some_and(|snapshot| {
            self.clears.iter().any(|(of, on, event)| {
                *of == build && on.as_ref().is_none_or(|on| *on == host) && snapshot.get() <= *event
            })
        });
        let is_asked = matches!(failure.marker, MarkerWish::Set);
        if is_asked || (is_stale && failure.held_down.contains(&failure.host)) {
            let exec = failure.exec.as_ref().map_or("", |exec| exec.as_str());
            self.mark(&host, &build, exec, &time(failure.start), now);
        }
        if is_stale {
            return "pre_retry";
        }
        self.fail(RecordLine {
            build,
            host,
            cause: failure.cause.clone(),
            mode: failure.mode.to_string(),
            reason: failure.reason.clone(),
            promoted_at: time(failure.promoted_at),
            at: time(failure.at),
            held_down: failure.held_down.iter().map(ToString::to_string).collect(),
            retried: Vec::new(),
        })
    }

    fn fail(&mut self, failed: RecordLine) -> &'static str {
        let app = app_of(&failed.build);
        let standing = self.memory.records.iter_mut().find(|record| record.build == failed.build);
        let Some(standing) = standing else {
            self.memory.records.push(failed);
            self.moved(&app);
            return "recorded";
        };
        let before = standing.clone();
        standing.retried.retain(|host| *host != failed.host);
        standing.promoted_at = standing.promoted_at.clone().max(failed.promoted_at);
        for host in failed.held_down {
            if !standing.held_down.contains(&host) {
                standing.held_down.push(host);
            }
        }
        if *standing == before {
            return "unchanged";
        }
        self.moved(&app);
        "merged"
    }

    fn mark(&mut self, host: &str, build: &str, exec: &str, at: &str, now: &str) {
        let standing = self.memory.markers.get(host).cloned();
        let is_same = |marker: &MarkerLine| marker.build == build && marker.exec == exec;
        if !exec.is_empty() && standing.as_ref().is_some_and(is_same) {
            return;
        }
        let at = if at.is_empty() { now } else { at };
        let later = standing.as_ref().map_or("", |marker| &marker.at).max(at).to_owned();
        let seq = self.next();
        let marker = MarkerLine { build: build.to_owned(), exec: exec.to_owned(), seq, at: later };
        self.memory.markers.insert(host.to_owned(), marker);
        let app = app_of(build);
        if let Some(other) = standing.map(|marker| app_of(&marker.build)).filter(|of| *of != app) {
            self.moved(&other);
        }
        self.moved(&app);
    }

    fn clear_marker(&mut self, host: &str, is_meant: impl Fn(&MarkerLine) -> bool) -> Outcome {
        let is_cleared = self.memory.markers.get(host).is_some_and(is_meant);
        if is_cleared {
            let marker = self.memory.markers.remove(host).unwrap();
            self.moved(&app_of(&marker.build));
        }
        self.settle(cleared(is_cleared.into()))
    }

    fn begin(&mut self, host: &str, intent: &IntentLine) -> Outcome {
        let before = self.memory.intents.get(host).cloned();
        let is_refused = before.as_ref().is_some_and(|standing| {
            let are_wakes = standing.id.starts_with('w') && intent.id.starts_with('w');
            standing.id != intent.id && !are_wakes
        });
        if is_refused {
            return outcome("intent stands", None);
        }
        self.memory.intents.insert(host.to_owned(), intent.clone());
        let error = self.save();
        if error.is_none() {
            return outcome("may execute", None);
        }
        match before {
            Some(before) => self.memory.intents.insert(host.to_owned(), before),
            None => self.memory.intents.remove(host),
        };
        outcome("not landed", error)
    }

    fn free(&mut self, build: &str, host: &str) -> bool {
        let standing = self.memory.records.iter_mut().find(|record| record.build == build);
        match standing {
            Some(record) if !record.retried.iter().any(|on| on == host) => {
                record.retried.push(host.to_owned());
                record.held_down.retain(|on| on != host);
                true
            }
            Some(_) | None => false,
        }
    }

    fn retry(&mut self, build: &str, host: &str) -> Outcome {
        let is_freed = self.free(build, host);
        if is_freed {
            let event = self.next();
            self.clears.push((build.to_owned(), Some(host.to_owned()), event));
            self.moved(&app_of(build));
        }
        self.settle(cleared(is_freed.into()))
    }

    /// The generation of what a build restricts on a host; zero for none.
    pub(crate) fn generation(&self, build: &str, host: &str) -> u64 {
        let record = self.memory.records.iter().find(|record| record.build == build);
        let is_blocked = record.is_some_and(|record| !record.retried.iter().any(|on| on == host));
        let is_marked = self.memory.markers.get(host).is_some_and(|marker| marker.build == build);
        let generation = self.memory.generations.get(&app_of(build)).copied();
        if is_blocked || is_marked { generation.unwrap_or(0) } else { 0 }
    }

    fn grant(&mut self, grant: &Grant) -> Outcome {
        let (build, host) = (grant.build.to_string(), grant.host.to_string());
        if self.is_owed() {
            let error = self.save();
            if error.is_some() {
                return outcome("freed nothing", error);
            }
        }
        let fits = self.generation(&build, &host) == grant.generation.get();
        if self.memory.id != grant.book.to_string() || !fits {
            return outcome("freed nothing", None);
        }
        let record = self.memory.records.iter().find(|record| record.build == build);
        let is_running_retry = record.is_some_and(|record| record.retried.contains(&host));
        let of_record = self.free(&build, &host);
        let is_marked = self.memory.markers.get(&host).is_some_and(|marker| marker.build == build);
        if is_marked {
            self.memory.markers.remove(&host);
        }
        let event = self.next();
        if !is_running_retry {
            self.clears.push((build.clone(), Some(host), event));
        }
        self.moved(&app_of(&build));
        self.settle(match (of_record, is_marked) {
            (true, true) => "freed of both",
            (true, false) => "freed of the record",
            (false, true) => "freed of the marker",
            (false, false) => "freed nothing",
        })
    }

    fn pointer(&mut self, build: &str, promoted_at: &str) -> Outcome {
        let place = self.memory.records.iter().position(|record| record.build == build);
        let newer =
            place.filter(|place| promoted_at > self.memory.records[*place].promoted_at.as_str());
        if let Some(place) = newer {
            self.memory.records.remove(place);
            let event = self.next();
            self.clears.push((build.to_owned(), None, event));
            self.moved(&app_of(build));
        }
        self.settle(cleared(newer.is_some().into()))
    }

    fn prune(&mut self, installed: &BTreeSet<String>) {
        let is_gone = |record: &&RecordLine| !installed.contains(&record.build);
        let gone = self.memory.records.iter().filter(is_gone);
        let touched: BTreeSet<_> = gone.map(|record| app_of(&record.build)).collect();
        self.memory.records.retain(|record| installed.contains(&record.build));
        self.clears.retain(|(build, ..)| installed.contains(build));
        let of_records = self.memory.records.iter().map(|record| app_of(&record.build));
        let of_markers = self.memory.markers.values().map(|marker| app_of(&marker.build));
        let restricted: BTreeSet<_> = of_records.chain(of_markers).collect();
        for app in touched.intersection(&restricted) {
            self.moved(app);
        }
        self.memory.generations.retain(|app, _| restricted.contains(app));
    }
}

fn outcome(word: &str, error: Option<Unsaved>) -> Outcome {
    Outcome { word: word.to_owned(), error }
}

fn cleared(cleared: Cleared) -> &'static str {
    match cleared {
        Cleared::Yes => "cleared",
        Cleared::No => "not cleared",
    }
}
