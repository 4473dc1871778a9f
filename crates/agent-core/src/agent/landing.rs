//! What has to be on the disk before the agent goes on: landed one after the other, each followed by what rests on it.

use std::collections::BTreeMap;

use failure_book::Book;
use wire::{DeclareReply, RefusedDeclaration};

use super::{Agent, Life, SAVE_EVERY};
use crate::action::{Action, Decision, Landing, Then, What};
use crate::cohort;
use crate::errands::{Ended, Errand, Progress, Serves, Told};
use crate::failures::FoundBook;
use crate::instance::{Instance, News, Past};
use crate::kept::Kept;
use crate::placement::Place;
use crate::served;
use crate::time::Now;
use crate::turn::Turn;

impl Agent {
    /// Takes in how a landing went; `Err` says why it is not known to be on the disk.
    pub fn landed(&mut self, landing: Landing, how: Result<(), String>, now: Now) -> Decision {
        let mut actions = Vec::new();
        match landing.what {
            What::Kept(kept, then) => self.kept_landed(*kept, then, how, &mut actions, now),
            What::Book(change, ticket) => {
                drop(change);
                let how = if how.is_ok() {
                    failure_book::Landing::Landed
                } else {
                    failure_book::Landing::Failed
                };
                let ended = match &mut self.ledger.book {
                    FoundBook::Open(book) => ticket.landed(book, how),
                    // Only an open book asks for landings, and it stays open.
                    FoundBook::Unreadable { .. } => Ended::Nobody,
                };
                match ended {
                    Ended::Nobody => {}
                    Ended::Instance(place, told) => {
                        self.tell(&place, told, &mut actions, now);
                    }
                    Ended::Word(applied) => self.applied(applied, &mut actions, now),
                }
            }
        }
        self.decide(actions, now)
    }

    fn kept_landed(
        &mut self,
        kept: Kept,
        then: Then,
        how: Result<(), String>,
        actions: &mut Vec<Action>,
        now: Now,
    ) {
        match (then, how) {
            // Should the count of engines not have landed, the worst is a report whose revision was used before; that is
            // no reason to leave everything down.
            (Then::Begin, Ok(()) | Err(_)) => self.take(kept, Past::Used, actions, now),
            (Then::Take { ask }, Ok(())) => {
                self.take(kept, Past::Unused, actions, now);
                actions.extend(ask.map(|ask| Action::Answer { ask, reply: DeclareReply::Taken }));
            }
            (Then::Take { ask }, Err(why)) => {
                let reply = DeclareReply::Refused(RefusedDeclaration::NotKept { why });
                actions.extend(ask.map(|ask| Action::Answer { ask, reply }));
            }
            (Then::Word { ask, pointer }, how) => {
                self.word_landed(kept, (ask, pointer), how, actions);
            }
            (Then::Spent, Ok(())) => self.kept = Some(kept),
            // The book itself refuses it a second time: what it was signed for is no more.
            (Then::Spent, Err(_)) => {}
            (Then::Serves { place, serves }, how) => {
                if how.is_ok() {
                    self.ledger.served = kept.served.clone();
                    self.kept = Some(kept);
                }
                self.tell(&place, serves.told(how), actions, now);
            }
        }
    }

    /// Tells an instance that its errand is done, and its siblings what they must know of it.
    fn tell(&mut self, place: &Place, told: Told, actions: &mut Vec<Action>, now: Now) {
        let mut turn = self.ledger.turn(now);
        let Some(instance) = self.instances.get_mut(place) else { return };
        match instance.told(told, &mut turn) {
            News::None => {}
            News::Halt(build) => {
                let siblings = self.instances.iter_mut();
                for (_, sibling) in
                    siblings.filter(|(other, _)| other.0 == place.0 && *other != place)
                {
                    sibling.halt(&build, &mut turn);
                }
            }
        }
        actions.append(&mut turn.actions);
    }

    /// Does what is due by now and says what is to be said, after what was decided already. What has to be on the disk first
    /// comes first: then nothing is said before it has landed.
    pub(super) fn decide(&mut self, mut actions: Vec<Action>, now: Now) -> Decision {
        loop {
            let mut turn = self.ledger.turn(now);
            turn.actions = actions;
            self.instances.values_mut().for_each(|instance| instance.tick(&mut turn));
            self.instances.retain(|_, instance| !instance.is_gone());
            if self.life == Life::Serving {
                announce(&mut self.instances, &mut turn);
            }
            if turn.book.open().is_some_and(Book::save_owed) && self.save_at <= now.monotonic {
                self.save_at = now.after(SAVE_EVERY);
                turn.errands.push(Errand::Save);
            }
            turn.routing.ask(&self.instances, now, &mut turn.actions);
            actions = turn.actions;
            match self.ledger.errands.take_up(&mut self.ledger.book, now) {
                None => match self.begins_with.take() {
                    None => break,
                    Some(kept) => {
                        let what = What::Kept(Box::new(kept), Then::Begin);
                        return Decision { actions, land: Some(Landing { what }) };
                    }
                },
                Some(Progress::Quiet) => {}
                Some(Progress::Told(place, told)) => self.tell(&place, told, &mut actions, now),
                Some(Progress::Land(change, ticket)) => {
                    let what = What::Book(change, ticket);
                    return Decision { actions, land: Some(Landing { what }) };
                }
                Some(Progress::Applied(applied)) => self.applied(applied, &mut actions, now),
                Some(Progress::Spend(granted)) => {
                    if let Some(kept) = self.spending(&granted, now) {
                        let what = What::Kept(Box::new(kept), Then::Spent);
                        return Decision { actions, land: Some(Landing { what }) };
                    }
                }
                Some(Progress::Keep(place, serves)) => match &self.kept {
                    Some(kept) => {
                        let what = What::Kept(
                            Box::new(serving(kept, &place, &serves)),
                            Then::Serves { place, serves },
                        );
                        return Decision { actions, land: Some(Landing { what }) };
                    }
                    None => {
                        let why = "nothing was declared here yet".to_owned();
                        self.tell(&place, serves.told(Err(why)), &mut actions, now);
                    }
                },
            }
        }
        self.say(actions, now)
    }
}

/// Lets the instances whose turn it is announce what they try.
fn announce(instances: &mut BTreeMap<Place, Instance>, turn: &mut Turn<'_>) {
    loop {
        // Each that is taken no longer waits, so this ends.
        let turns = cohort::turns(instances, turn.routing);
        if turns.is_empty() {
            return;
        }
        for place in turns {
            if let Some(instance) = instances.get_mut(&place) {
                instance.announce(turn);
            }
        }
    }
}

/// What is kept once this is said of what serves an instance.
fn serving(kept: &Kept, place: &Place, serves: &Serves) -> Kept {
    let served = match serves {
        Serves::Good { good, outlived } => served::with_good(&kept.served, place, good, outlived),
        Serves::Reopened { build } => served::with_reopened(&kept.served, place, build),
    };
    Kept { served, ..kept.clone() }
}
