//! The agent as a whole: events in, decisions out.

mod landing;
#[cfg(test)]
mod pre_retry;
mod wording;

use core::time::Duration;
use std::collections::{BTreeMap, BTreeSet};

use failure_book::Book;
use inventory::{Declaration, DeclaredModule};
use names::{MachineName, ModuleName};
use wire::signed::TrustedKeys;
use wire::{
    BookStatus, BootId, BuildsKept, DeclareReply, Held, Hello, HelloReply, RefusedDeclaration,
    Statement,
};

use crate::action::{Action, Decision, Landing, Then, What};
use crate::adopted::{self, Adopted};
use crate::draws::{AskId, Incarnation, RunId};
use crate::errands::Errand;
use crate::event::{Ending, Event};
use crate::execution::Heard;
use crate::failures::FoundBook;
use crate::held;
use crate::hello::Greeting;
use crate::instance::{Instance, Past};
use crate::kept::Kept;
use crate::offer::{self, Offer};
use crate::placement::Place;
use crate::report::{self, Reporting};
use crate::served::{self, Served};
use crate::statement::{self, Stating};
use crate::time::Now;
use crate::troubles::Change;
use crate::turn::{Ledger, Turn};

/// How often what the failure book owes is tried again when nothing else is written there.
const SAVE_EVERY: Duration = Duration::from_secs(5);

/// What an agent is told once.
#[derive(Debug, Clone)]
pub struct Config {
    /// The machine that it speaks for.
    pub machine: MachineName,
    /// The version of its program, as a hello says it.
    pub agent: String,
    /// How often it states how everything stands when nothing changes.
    pub statement_every: Duration,
    /// Whose signed words count here, as the machine's own file says.
    pub trusted: TrustedKeys,
    /// How often it says hello.
    pub hello_every: Duration,
}

/// The agent of one machine. It decides, and does nothing.
#[derive(Debug)]
pub struct Agent {
    config: Config,
    boot: BootId,
    kept: Option<Kept>,
    /// What was found running, as it was declared: it stands for what is kept as long as nothing is.
    found: BTreeMap<ModuleName, DeclaredModule>,
    /// The newest declaration that had been seen when what was found was started.
    seen: Option<Held>,
    instances: BTreeMap<Place, Instance>,
    ledger: Ledger,
    reporting: Reporting,
    stating: Stating,
    greeting: Greeting,
    life: Life,
    /// What was kept, until it is taken up: after what the open of the book owes has landed.
    begins_with: Option<Kept>,
    /// When what the book owes is tried again.
    save_at: Duration,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Life {
    /// It brings the machine to its declaration.
    Serving,
    /// It begins nothing any more.
    Ending(Ending),
}

impl Agent {
    /// An agent that has just started, with what the one before it kept and what was found running.
    pub fn new(
        config: Config,
        boot: BootId,
        incarnation: Incarnation,
        kept: Option<Kept>,
        book: FoundBook,
        adopted: Vec<Adopted>,
        now: Now,
    ) -> (Self, Decision) {
        let served = kept.as_ref().map(|kept| kept.served.clone()).unwrap_or_default();
        let floors = kept.as_ref().map(|kept| kept.floors.clone()).unwrap_or_default();
        let mut ledger = Ledger::new(incarnation, config.statement_every, book, served, floors);
        let found = adopted::declared(&adopted);
        let seen = adopted::newest_seen(&adopted);
        let mut turn = ledger.turn(now);
        let instances = adopted::adopt(adopted, kept.as_ref(), &mut turn);
        // What the open made of standing intents lands before anything is done.
        turn.errands.push(Errand::Save);
        let actions = turn.actions;
        let mut agent = Self {
            stating: Stating::new(config.statement_every),
            greeting: Greeting::new(config.hello_every),
            config,
            boot,
            kept: None,
            found,
            seen,
            instances,
            ledger,
            reporting: Reporting::default(),
            life: Life::Serving,
            begins_with: None,
            save_at: Duration::ZERO,
        };
        let decision = match kept {
            None => {
                agent.ledger.routing.begin();
                agent.decide(actions, now)
            }
            Some(kept) => {
                let kept = Kept { engines: kept.engines.saturating_add(1), ..kept };
                agent.begins_with = Some(kept);
                agent.decide(actions, now)
            }
        };
        (agent, decision)
    }

    /// Takes an event in.
    #[expect(
        clippy::too_many_lines,
        reason = "an arm for each event, and nothing is decided in them"
    )]
    pub fn handle(&mut self, event: Event, now: Now) -> Decision {
        let mut turn = self.ledger.turn(now);
        let instances = &mut self.instances;
        let (mut offered, mut word, mut worded) = (None, None, None);
        match event {
            Event::Tick => {}
            Event::Declared { ask, declaration } => offered = Some((Some(ask), *declaration)),
            Event::HelloAnswered(reply) => {
                let HelloReply { declaration, keep } = *reply;
                word = keep.filter(|_| declaration.is_none());
                offered = declaration.map(|declaration| (None, declaration));
                self.greeting.answered(&mut turn);
            }
            Event::HelloUnanswered => self.greeting.unanswered(&mut turn),
            Event::ReportKept(reply) => self.reporting.kept(&reply, &turn),
            Event::ReportUnanswered => self.reporting.unanswered(&mut turn),
            Event::Installed { module, build, outcome } => {
                turn.builds.installed(&module, &build);
                for (_, instance) in instances.iter_mut().filter(|(place, _)| place.0 == module) {
                    instance.installed(&build, &outcome, &mut turn);
                }
            }
            Event::Verified { verification, outcome } => {
                for instance in instances.values_mut() {
                    instance.verified(verification, &outcome, &mut turn);
                }
            }
            Event::Started { run, process, address } => {
                hear(run, Heard::Started(process, address), instances, &mut turn);
            }
            Event::NotStarted { run, obstacle } => {
                hear(run, Heard::NotStarted(obstacle), instances, &mut turn);
            }
            Event::Checked { run, check, outcome } => {
                hear(run, Heard::Checked(check, outcome), instances, &mut turn);
            }
            Event::Exited { run, how, last_lines } => {
                hear(run, Heard::Exited(how, last_lines), instances, &mut turn);
            }
            Event::Worded { ask, word } => worded = Some((ask, *word)),
            Event::BookAsked { ask, asked } => {
                let book = held::state(turn.book, instances, asked.module.as_ref());
                let machine = self.config.machine.clone();
                let status = Box::new(BookStatus { machine, clock: now.wall, book });
                turn.actions.push(Action::AnswerBook { ask, status });
            }
            Event::Routed(outcome) => turn.routing.answered(outcome, now, turn.draws),
            Event::RoutesLost => turn.routing.lost(now),
            Event::Examined { troubles } => match turn.troubles.take(troubles, now) {
                Change::Relief => instances.values_mut().for_each(|one| one.relieve(&mut turn)),
                Change::None => {}
            },
            Event::Collected => {
                let waiting = turn.builds.collected();
                turn.actions.extend(waiting);
            }
            Event::ShutDown(ending) => {
                self.life = Life::Ending(ending);
                match ending {
                    Ending::Leave => {}
                    Ending::Stop => instances.values_mut().for_each(|one| one.end(&mut turn)),
                }
                // What the book still owes would be lost with this agent.
                turn.errands.push(Errand::Save);
            }
        }
        let mut actions = turn.actions;
        actions.extend(word.and_then(|word| self.collect(word)));
        let land = offered.and_then(|(ask, offered)| self.weigh(ask, offered, &mut actions, now));
        let land = land.or_else(|| {
            worded.and_then(|(ask, word)| self.hear_word(ask, &word, &mut actions, now))
        });
        match land {
            // What is due is done when that has landed.
            Some(_) => Decision { actions, land },
            None => self.decide(actions, now),
        }
    }

    /// When the agent next wants a turn although nothing happens, on the monotonic clock.
    #[must_use]
    pub fn wake(&self) -> Duration {
        let instances = self.instances.values().filter_map(Instance::wake);
        let others = self.reporting.wake().into_iter().chain(self.greeting.wake());
        let others = others.chain(self.ledger.troubles.wake());
        let is_owed = self.ledger.book.open().is_some_and(Book::save_owed);
        let others = others.chain(is_owed.then_some(self.save_at));
        let others = others.chain(self.ledger.routing.wake());
        instances.chain(others).fold(self.stating.wake(), Duration::min)
    }

    /// Whether it was asked to end and nothing is left that it must see to.
    #[must_use]
    pub fn is_over(&self) -> bool {
        match self.life {
            Life::Serving => false,
            Life::Ending(Ending::Leave) => !self.instances.values().any(Instance::is_in_the_middle),
            Life::Ending(Ending::Stop) => {
                self.instances.values().all(|one| one.executions().next().is_none())
            }
        }
    }

    /// The declaration that is held.
    #[must_use]
    pub fn held(&self) -> Option<Held> {
        self.kept.as_ref().map(Kept::held)
    }

    /// The newest declaration that was ever seen here, as far as anything remembers it. Kept with each process that is
    /// started, it outlives the loss of all that was kept on disk.
    #[must_use]
    pub fn seen(&self) -> Option<Held> {
        self.held().into_iter().chain(self.seen.clone()).max_by_key(|one| one.number)
    }

    fn weigh(
        &mut self,
        ask: Option<AskId>,
        offered: Declaration,
        actions: &mut Vec<Action>,
        now: Now,
    ) -> Option<Landing> {
        let held = self.held();
        let verdict = match self.life {
            Life::Serving => {
                offer::weigh(&self.config.machine, held.as_ref(), self.seen.as_ref(), &offered)
            }
            Life::Ending(_) => {
                let why = "the agent is ending; it takes declarations when it is back".to_owned();
                Err(RefusedDeclaration::NotKept { why })
            }
        };
        let reply = match verdict {
            Ok(Offer::New) => {
                let served = self.ledger.served.clone();
                let kept = match &self.kept {
                    Some(kept) => {
                        Kept::taking(offered, kept.wanted(), served, Some(kept), now.wall)
                    }
                    None => {
                        let served = self.served_as_found();
                        Kept::taking(offered, self.found.iter(), served, None, now.wall)
                    }
                };
                match kept.shared_name() {
                    None => {
                        return Some(Landing {
                            what: What::Kept(Box::new(kept), Then::Take { ask }),
                        });
                    }
                    Some(refused) => DeclareReply::Refused(refused),
                }
            }
            Ok(Offer::Held) => {
                let mut turn = self.ledger.turn(now);
                self.reporting.repeat(offered.number, &turn);
                self.instances.values_mut().for_each(|one| one.try_now(&mut turn));
                actions.append(&mut turn.actions);
                DeclareReply::Taken
            }
            Err(refused) => DeclareReply::Refused(refused),
        };
        actions.extend(ask.map(|ask| Action::Answer { ask, reply }));
        None
    }

    /// What has served, where nothing was kept: what was found running and goes on, if the book has nothing against it.
    fn served_as_found(&self) -> Served {
        let found = self.instances.iter().filter_map(|(place, one)| Some((place, one.serving()?)));
        let found = found.filter(|_| self.ledger.book.open().is_some());
        found.fold(self.ledger.served.clone(), |served, (place, serving)| {
            served::with_good(&served, place, &serving.placement, &BTreeSet::new())
        })
    }

    /// The removal of the builds that nobody needs, if it can be asked for now.
    fn collect(&mut self, word: BuildsKept) -> Option<Action> {
        let kept = self.kept.as_ref().filter(|_| self.life == Life::Serving)?;
        self.ledger.builds.collect(word, kept, &self.instances)
    }

    /// What was kept is what should run from now on. `past` is that of the instances that are new by it.
    fn take(&mut self, kept: Kept, past: Past, actions: &mut Vec<Action>, now: Now) {
        self.ledger.served = kept.served.clone();
        self.ledger.floors = kept.floors.clone();
        self.ledger.routing.begin();
        let mut turn = self.ledger.turn(now);
        let mut wanted = kept.placements();
        for place in wanted.keys() {
            let new = || Instance::new(place.clone(), past, &turn);
            self.instances.entry(place.clone()).or_insert_with(new);
        }
        for (place, instance) in &mut self.instances {
            instance.want(wanted.remove(place), &mut turn);
        }
        actions.append(&mut turn.actions);
        self.kept = Some(kept);
        self.stating.hurry();
    }

    /// Says what is to be said by now.
    fn say(&mut self, actions: Vec<Action>, now: Now) -> Decision {
        let mut turn = self.ledger.turn(now);
        turn.actions = actions;
        turn.troubles.tick(now, &mut turn.actions);
        if let Some(kept) = &self.kept
            && self.life == Life::Serving
        {
            let outcomes = report::outcomes(kept, turn.book, &self.instances);
            self.reporting.note(&self.config.machine, kept, outcomes, &turn);
        }
        let rows = statement::rows(&self.instances);
        if let Some(sequence) = self.stating.state(&rows, &turn) {
            let mut troubles = turn.troubles.found().to_vec();
            troubles.extend(turn.book.trouble());
            turn.actions.push(Action::State(Statement {
                machine: self.config.machine.clone(),
                boot: self.boot.clone(),
                engine: turn.draws.nonce(),
                sequence,
                declaration: self.kept.as_ref().map(|kept| kept.declaration.number),
                resources: rows,
                troubles,
            }));
        }
        self.reporting.tick(&mut turn);
        if self.greeting.say(&turn) {
            turn.actions.push(Action::Hello(Hello {
                machine: self.config.machine.clone(),
                agent: self.config.agent.clone(),
                boot: self.boot.clone(),
                engine: turn.draws.nonce(),
                held: self.kept.as_ref().map(Kept::held),
                clock: now.wall,
            }));
        }
        Decision { actions: turn.actions, land: None }
    }
}

/// Hands what became of a run to the instance whose run it is; of a run that nobody knows nothing is made.
fn hear(run: RunId, what: Heard, instances: &mut BTreeMap<Place, Instance>, turn: &mut Turn<'_>) {
    let Some((place, resource)) = turn.homes.get(&run).cloned() else { return };
    if matches!(what, Heard::NotStarted(_) | Heard::Exited(..)) {
        // It is the last that is heard of it.
        turn.homes.remove(&run);
    }
    if let Some(instance) = instances.get_mut(&place) {
        instance.heard(&resource, run, what, turn);
    }
}
