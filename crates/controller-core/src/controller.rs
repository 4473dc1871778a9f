//! The controller's core: facts in, decisions out.

mod sent;

use std::collections::BTreeSet;

use chrono::{DateTime, TimeDelta, Utc};
use conditions::{Event as ConditionEvent, Keeper};
use inventory::{Epoch, Machine};
use names::{MachineName, PlanId};
use wire::{
    Hello, HelloReply, Report, ReportReply, Statement,
    api::{Ask, Refusal, RefusalKind},
};

use crate::{
    ask::{self, Asking, Reply},
    begin, catch_up, deliver, doctor, hand_over, judge,
    judge::Judged,
    kept_there::kept_there,
    plan::PlanState,
    put_back,
    record::{KeptReport, Record, Told},
    records::Records,
    send,
    sighting::{Delivery, Memory, SILENT_AFTER},
    state::{HeldOff, Rules, State},
    step::{Effect, Step},
    supersede,
    timeline::Anchor,
};

/// While a gate is open the timeline is kept at least this often, so that a restart knows for how long nobody observed.
const CLOCK_KEPT_EVERY: TimeDelta = TimeDelta::seconds(10);

/// How long nothing is written after a write that did not land: a full disk does not empty itself within milliseconds.
const RETRY_AFTER: TimeDelta = TimeDelta::seconds(2);

/// The controller's core. It decides and never acts: whoever drives it lands what a [`Step`] says, tells it so, and then
/// carries out the rest of the step.
///
/// ```text
/// hear_…, delivered, handed, tick  what happened
/// next → land → landed → do → carried_out        until next has nothing more
/// ask → land → landed → do → carried_out → answer
/// ```
///
/// Its memory of documents is what landed: a step that did not land has changed nothing, and comes again.
#[derive(Debug)]
pub struct Controller {
    state: State,
    /// Machines whose newest statement has not been taken into the conditions.
    restated: BTreeSet<MachineName>,
    /// Something happened that a gate may depend on.
    judging_due: bool,
    /// Time has passed, so what depends on time alone is looked at.
    ticked: bool,
    /// The inventory changed, or it is not known whether it did.
    inventory_changed: bool,
    /// The newest event that was told.
    told: Told,
    /// When it last looked for something to do.
    looked: DateTime<Utc>,
    /// Machines that may not have heard every pointer.
    to_hand: BTreeSet<MachineName>,
    /// Plans whose gates' bounds were moved, and that have not landed since.
    moved_bounds: BTreeSet<PlanId>,
}

impl Controller {
    /// Goes on from what landed. `gap` is how long nobody observed anything: the bounds of open gates move by it.
    pub fn restore(
        rules: Rules,
        epoch: Epoch,
        records: Records,
        now: DateTime<Utc>,
        gap: TimeDelta,
    ) -> Self {
        let told = records.told;
        let sightings = Default::default();
        let mut state = State { rules, epoch, records, sightings, held_off: None };
        for machine in state.records.machines.keys() {
            state.sightings.entry(machine.clone()).or_default().expected = Some(now);
        }
        let mut controller = Self {
            state,
            restated: BTreeSet::new(),
            judging_due: true,
            ticked: true,
            inventory_changed: true,
            told,
            looked: now,
            to_hand: BTreeSet::new(),
            moved_bounds: BTreeSet::new(),
        };
        controller.move_bounds(gap);
        controller
    }

    /// All that it knows.
    pub fn state(&self) -> &State {
        &self.state
    }

    /// A machine says who it is and what it holds.
    pub fn hear_hello(&mut self, now: DateTime<Utc>, hello: Hello) -> Result<HelloReply, Stranger> {
        let machine = hello.machine.clone();
        self.check_known(&machine)?;
        let declared = self.state.records.declared.get(&machine).map(|it| &it.declaration);
        let held = hello.held.as_ref();
        let is_held = match (declared, held) {
            (Some(declared), Some(held)) => {
                declared.number == held.number && declared.digest() == held.digest
            }
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        // A machine that has seen more than this store knows: the store was put back, and goes on above.
        let is_ahead = held.map(|held| held.number) > declared.map(|declared| declared.number);
        let sighting_of = machine.clone();
        let sighting = self.state.sightings.entry(machine).or_default();
        // What it says it holds is what it has, whatever was answered before: its disk may have been put back.
        match (is_held, held) {
            (true, Some(held)) => sighting.delivery = Delivery::Taken { number: held.number },
            (true, None) => {}
            // It goes on refusing what it refused, until something is seen of the contrary.
            (false, _) if sighting.refuses(declared.map(|declared| declared.number)) => {}
            (false, _) => sighting.delivery = Delivery::NotTried,
        }
        if held.is_none() && self.state.records.reports.contains_key(&sighting_of) {
            sighting.memory = Memory::Lost;
        }
        sighting.take_hello(now, hello);
        self.to_hand.insert(sighting_of.clone());
        self.inventory_changed |= is_ahead;
        self.judging_due = true;
        let declaration = declared.filter(|_| !is_held && !is_ahead).cloned();
        // To a machine that holds another declaration it would say nothing.
        let keep = kept_there(&self.state, &sighting_of).filter(|_| is_held);
        Ok(HelloReply { declaration, keep })
    }

    /// A machine states the health of all that it runs.
    pub fn hear_statement(
        &mut self,
        now: DateTime<Utc>,
        statement: Statement,
    ) -> Result<(), Stranger> {
        self.check_known(&statement.machine)?;
        let machine = statement.machine.clone();
        if self.state.sightings.entry(machine.clone()).or_default().take_statement(now, statement) {
            self.restated.insert(machine);
            self.judging_due = true;
        }
        Ok(())
    }

    /// A machine reports what came of a declaration. The step keeps the report; only then may it be acknowledged. An older
    /// report than the one kept is acknowledged as it is, so that nobody sends it for ever.
    pub fn hear_report(
        &mut self,
        now: DateTime<Utc>,
        report: Report,
    ) -> Result<(Step, ReportReply), Stranger> {
        self.check_known(&report.machine)?;
        let sighting = self.state.sightings.entry(report.machine.clone()).or_default();
        sighting.heard = Some(now);
        let begins_anew = core::mem::take(&mut sighting.memory) == Memory::Lost;
        let reply = ReportReply { declaration: report.declaration, revision: report.revision };
        let place = |report: &Report| (report.declaration, report.revision);
        let kept = self.state.records.reports.get(&report.machine);
        let mut step = Step::default();
        if begins_anew || kept.is_none_or(|kept| place(&kept.report) < place(&report)) {
            step.why = format!("{} reports on declaration {}", report.machine, report.declaration);
            step.put(KeptReport { at: now, report });
        }
        Ok((step, reply))
    }

    /// Time has passed. To be called at least every few seconds.
    pub fn tick(&mut self) {
        self.ticked = true;
        self.judging_due = true;
    }

    /// A person's request: what to land and do before the answer is given, and the answer, or who has it.
    pub fn ask(&self, asking: Asking<'_>, ask: Ask) -> Result<(Step, Reply), Refusal> {
        ask::ask(&self.state, asking, ask)
    }

    /// Adds a machine, or changes what is known of it.
    pub fn enroll(&self, machine: Machine) -> Step {
        if self.state.records.machines.get(&machine.name) == Some(&machine) {
            return Step::default();
        }
        let mut step = Step::new(format!("{} is enrolled", machine.name));
        step.put(machine);
        step
    }

    /// The next thing to do; `None` when there is nothing until something happens.
    pub fn next(&mut self, moment: &Anchor) -> Option<Step> {
        let now = moment.at;
        let since_looked = now - self.looked;
        self.looked = self.looked.max(now);
        if since_looked > SILENT_AFTER {
            // The process was stopped, or its machine was: nobody is to blame for what was not heard.
            self.move_bounds(since_looked);
        }
        if self.state.held_off.as_ref().is_some_and(|held_off| now < held_off.until) {
            return None;
        }
        let mut step = self
            .retell()
            .or_else(|| self.keep_bounds())
            .or_else(|| self.note_statements(now))
            .or_else(|| supersede::supersede(&self.state, now))
            .or_else(|| self.put_back(now))
            .or_else(|| self.judge(now))
            .or_else(|| send::send(&self.state, now))
            .or_else(|| begin::begin(&self.state, now))
            .or_else(|| self.catch_up(now))
            .or_else(|| self.examine(now))
            .or_else(|| self.keep_clock(moment))
            .or_else(|| self.deliver(now))
            .or_else(|| hand_over::hand_over(&self.state, now, &mut self.to_hand))?;
        if !step.land.is_empty() {
            self.add_bookkeeping(&mut step, moment);
        }
        Some(step)
    }

    /// What a step says has landed: from here on it is so.
    pub fn landed(&mut self, now: DateTime<Utc>, step: &Step) {
        if !step.land.is_empty() {
            self.state.held_off = None;
        }
        for write in &step.land {
            self.state.records.apply(write);
            if let crate::step::Write::Put(record) = write {
                self.note_change(now, record);
            }
        }
    }

    /// What a step says did not land, or nobody knows whether it did. It counts as not done; nothing that rests on it is done
    /// meanwhile. What the store holds is to be taken anew ([`Controller::reload`]) before anything else is decided.
    pub fn not_landed(&mut self, now: DateTime<Utc>, why: String) {
        let since = self.state.held_off.as_ref().map_or(now, |held_off| held_off.since);
        let until = now.checked_add_signed(RETRY_AFTER).unwrap_or(now);
        self.state.held_off = Some(HeldOff { until, since, why });
        self.inventory_changed = true;
        self.judging_due = true;
        self.ticked = true;
    }

    /// Takes anew what the store holds, after a write of which nobody knows whether it landed.
    pub fn reload(&mut self, records: Records) {
        self.state.records = records;
        self.state.held_off = None;
        self.inventory_changed = true;
        self.judging_due = true;
        self.ticked = true;
    }

    /// The answer when what a request rests on did not land.
    pub fn not_kept(why: &str) -> Refusal {
        Refusal {
            kind: RefusalKind::NotKept,
            why: format!("it could not be written down, so it was not done: {why}"),
            hint: Some(
                "see `controller conditions`; ask again when the store can be written".into(),
            ),
        }
    }

    fn check_known(&self, machine: &MachineName) -> Result<(), Stranger> {
        match self.state.records.machines.contains_key(machine) {
            true => Ok(()),
            false => Err(Stranger { machine: machine.clone() }),
        }
    }

    fn note_change(&mut self, now: DateTime<Utc>, record: &Record) {
        if let Record::Plan(plan) = record {
            self.moved_bounds.remove(&plan.id);
        }
        match record {
            Record::Machine(machine) => {
                self.inventory_changed = true;
                self.state.sightings.entry(machine.name.clone()).or_default().expected = Some(now);
            }
            Record::Module(_) | Record::Plan(_) | Record::Declared(_) => {
                self.inventory_changed = true;
                self.judging_due = true;
            }
            Record::Pointer(_) => self.to_hand.extend(self.state.records.machines.keys().cloned()),
            Record::Report(_) => self.judging_due = true,
            Record::Build(_)
            | Record::Verdict(_)
            | Record::Conditions(_)
            | Record::Event(_)
            | Record::Told(_)
            | Record::Clock(_) => {}
        }
    }

    /// Moves the bounds of open gates by a time in which nobody observed anything.
    fn move_bounds(&mut self, gap: TimeDelta) {
        let gap = gap.to_std().unwrap_or_default();
        for plan in self.state.records.plans.values_mut() {
            if let PlanState::Judging { gate, .. } = &mut plan.state
                && !gap.is_zero()
            {
                gate.unobserved(gap);
                self.moved_bounds.insert(plan.id.clone());
            }
        }
    }

    /// Keeps the bounds that were moved: the next start knows its own gap only.
    fn keep_bounds(&self) -> Option<Step> {
        let plans = self.moved_bounds.iter().filter_map(|id| self.state.records.plans.get(id));
        let mut step =
            Step::new("what nobody observed does not count for the bounds of open gates");
        plans.for_each(|plan| step.put(plan.clone()));
        (!step.land.is_empty()).then_some(step)
    }

    /// Tells what landed before a crash and may not have been told.
    fn retell(&self) -> Option<Step> {
        let from = self.told.number.checked_add(1)?;
        let untold = self.state.records.events.range(from..).map(|(_, event)| event.clone());
        let then: Vec<_> = untold.map(|event| Effect::Tell(Box::new(event))).collect();
        let why = "events that may not have been told".into();
        (!then.is_empty()).then_some(Step { why, land: Vec::new(), then })
    }

    fn put_back(&self, now: DateTime<Utc>) -> Option<Step> {
        self.state.records.plans.values().find_map(|plan| put_back::advance(&self.state, now, plan))
    }

    /// Judges every open gate once for all that has happened since the last time.
    fn judge(&mut self, now: DateTime<Utc>) -> Option<Step> {
        if !self.judging_due {
            return None;
        }
        let ids: Vec<_> = self.state.records.plans.keys().cloned().collect();
        for id in ids {
            let judged = self
                .state
                .records
                .plans
                .get(&id)
                .and_then(|plan| judge::judge(&self.state, now, plan));
            match judged {
                None => {}
                Some(Judged::Step(step)) => return Some(*step),
                Some(Judged::Seen(seen)) => {
                    // What is only seen needs no write: a restart sees it again.
                    if let Some(PlanState::Judging { gate, .. }) =
                        self.state.records.plans.get_mut(&id).map(|plan| &mut plan.state)
                    {
                        *gate = seen;
                    }
                }
            }
        }
        self.judging_due = false;
        None
    }

    fn catch_up(&mut self, now: DateTime<Utc>) -> Option<Step> {
        if !self.inventory_changed {
            return None;
        }
        let step = catch_up::catch_up(&self.state, now);
        self.inventory_changed = step.is_some();
        step
    }

    /// Takes what machines stated into the conditions, before any gate is judged: what a machine says of itself in the same
    /// breath as it speaks against a build is known first.
    fn note_statements(&mut self, now: DateTime<Utc>) -> Option<Step> {
        if self.restated.is_empty() {
            return None;
        }
        let (mut keeper, mut events) = (self.state.records.conditions.clone(), Vec::new());
        for machine in &self.restated {
            events.extend(doctor::take_statement(&mut keeper, &self.state, now, machine));
        }
        self.restated.clear();
        self.conditions_seen(now, keeper, &events)
    }

    /// Runs the probes that look at more than one statement, when time has passed.
    fn examine(&mut self, now: DateTime<Utc>) -> Option<Step> {
        if !self.ticked {
            return None;
        }
        let (keeper, events) = doctor::examine(&self.state, now);
        self.conditions_seen(now, keeper, &events)
    }

    fn conditions_seen(
        &mut self,
        now: DateTime<Utc>,
        keeper: Keeper,
        events: &[ConditionEvent],
    ) -> Option<Step> {
        let step = doctor::step(&self.state, now, keeper.clone(), events);
        if step.is_none() {
            // Only counts and times of what is open already: a restart counts on from what it finds.
            self.state.records.conditions = keeper;
        }
        step
    }

    fn keep_clock(&self, moment: &Anchor) -> Option<Step> {
        let mut plans = self.state.records.plans.values();
        let is_open = plans.any(|plan| matches!(plan.state, PlanState::Judging { .. }));
        let kept = self.state.records.clock.as_ref();
        let is_due = kept.is_none_or(|kept| moment.at - kept.at >= CLOCK_KEPT_EVERY);
        let mut step = Step::new("the clock is kept");
        step.put(moment.clone());
        (is_open && is_due).then_some(step)
    }

    fn deliver(&mut self, now: DateTime<Utc>) -> Option<Step> {
        if !self.ticked {
            return None;
        }
        let step = deliver::deliver(&self.state, now);
        self.ticked = step.is_some();
        step
    }

    /// What goes along with whatever lands.
    fn add_bookkeeping(&self, step: &mut Step, moment: &Anchor) {
        if !step.land.iter().any(|write| matches!(write, crate::step::Write::Put(it) if matches!(**it, Record::Clock(_)))) {
            step.put(moment.clone());
        }
        if self.told > self.state.records.told {
            step.put(self.told);
        }
    }
}

/// A machine that nobody enrolled speaks.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("no machine `{machine}` is enrolled")]
pub struct Stranger {
    /// The name that it gives.
    pub machine: MachineName,
}
