//! Signed words in the agent: weighed, kept, applied to the failure book, answered; then what they freed goes on.

use wire::signed::{Pointer, UsedGrants};
use wire::{RefusedBecause, Word, WordReply};

use super::Agent;
use crate::action::{Action, Landing, Then, What};
use crate::applying::{Applied, Applying};
use crate::draws::AskId;
use crate::errands::Errand;
use crate::kept::Kept;
use crate::served;
use crate::time::Now;
use crate::words::{self, Weighed};

impl Agent {
    /// Takes a word in.
    pub(super) fn hear_word(
        &mut self,
        ask: AskId,
        word: &Word,
        actions: &mut Vec<Action>,
        now: Now,
    ) -> Option<Landing> {
        let Self { config, kept, .. } = &*self;
        match words::weigh(word, &config.machine, &config.trusted, kept.as_ref(), now.wall) {
            Weighed::Answered(reply) => actions.push(Action::AnswerWord { ask, reply }),
            Weighed::Keep(kept, pointer) => {
                let what = What::Kept(kept, Then::Word { ask, pointer });
                return Some(Landing { what });
            }
            Weighed::Point(pointer) => self.point(ask, pointer),
            Weighed::Free(granted, asked) => {
                // What is owed lands first: a grant counts for what was published, and nothing is while a save is owed.
                self.ledger.errands.push(Errand::Save);
                let apply = Applying::Grant { ask, granted, asked };
                self.ledger.errands.push(Errand::Apply(apply));
            }
        }
        None
    }

    /// A word was to be kept.
    pub(super) fn word_landed(
        &mut self,
        kept: Kept,
        (ask, pointer): (AskId, Option<Box<Pointer>>),
        how: Result<(), String>,
        actions: &mut Vec<Action>,
    ) {
        if let Err(why) = how {
            let reply = WordReply::Refused { because: RefusedBecause::NotKept, why };
            return actions.push(Action::AnswerWord { ask, reply });
        }
        self.ledger.floors = kept.floors.clone();
        self.kept = Some(kept);
        match pointer {
            Some(pointer) => self.point(ask, pointer),
            None => {
                let reply = WordReply::Taken { freed: Vec::new() };
                actions.push(Action::AnswerWord { ask, reply });
            }
        }
    }

    /// Tells the book of a pointer.
    fn point(&mut self, ask: AskId, pointer: Box<Pointer>) {
        let places = self.instances.keys().filter(|place| place.0 == pointer.module);
        let is_meant = |place: &&crate::placement::Place| {
            let good = served::good(&self.ledger.served, place);
            good.is_some_and(|good| good.module.build == pointer.build)
        };
        let instances = places.filter(is_meant).map(|place| place.1.clone()).collect();
        self.ledger.errands.push(Errand::Apply(Applying::Pointer { ask, pointer, instances }));
    }

    /// A word was applied: it is answered, and what it freed is looked at again.
    pub(super) fn applied(&mut self, applied: Applied, actions: &mut Vec<Action>, now: Now) {
        let Applied { ask, module, reply, spent } = applied;
        actions.push(Action::AnswerWord { ask, reply });
        if let Some(granted) = spent {
            self.ledger.errands.push(Errand::Spend(granted));
        }
        let mut turn = self.ledger.turn(now);
        for (_, instance) in self.instances.iter_mut().filter(|(place, _)| place.0 == module) {
            instance.freed(&mut turn);
        }
        actions.append(&mut turn.actions);
    }

    /// What is kept once a grant is known as used.
    pub(super) fn spending(
        &self,
        granted: &wire::signed::Verified<wire::signed::RetryGrant>,
        now: Now,
    ) -> Option<Kept> {
        let kept = self.kept.as_ref()?;
        let mut used: UsedGrants = kept.used.clone();
        // It was looked at before it was applied, so this cannot refuse it; a repeat leaves all as it is.
        used.spend(granted, now.wall).ok()?;
        Some(Kept { used, ..kept.clone() })
    }
}
