//! What is wrong with the machine itself: looked for every while, stated, and heeded before anything new is begun.

use core::time::Duration;

use wire::{Trouble, TroubleKind, UnableBecause};

use crate::action::Action;
use crate::event::Obstacle;
use crate::excerpt::excerpt;
use crate::time::Now;

/// Most troubles in a statement: what is wrong with a machine fits into a few, and a statement into a message.
const TROUBLES_MAX: usize = 16;

/// What was found when the machine was last looked at, and when it is looked at next.
#[derive(Debug)]
pub(crate) struct Troubles {
    every: Duration,
    /// None: nobody has looked yet.
    found: Option<Vec<Trouble>>,
    /// What keeps anything new from being begun.
    obstacle: Option<Obstacle>,
    look: Look,
}

#[derive(Debug)]
enum Look {
    Due(Duration),
    Asked,
}

/// What a look changed for those who wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change {
    /// What kept anything new from being begun is over.
    Relief,
    /// Nothing of that kind.
    None,
}

impl Troubles {
    pub(crate) fn new(every: Duration) -> Self {
        Self { every, found: None, obstacle: None, look: Look::Due(Duration::ZERO) }
    }

    /// What is stated of the machine itself.
    pub(crate) fn found(&self) -> &[Trouble] {
        self.found.as_deref().unwrap_or_default()
    }

    /// Whether the machine was ever looked at.
    pub(crate) fn are_known(&self) -> bool {
        self.found.is_some()
    }

    /// What keeps anything new from being begun on this machine.
    pub(crate) fn obstacle(&self) -> Option<&Obstacle> {
        self.obstacle.as_ref()
    }

    /// Something fell that may have fallen for the machine's sake: it is looked at without waiting for the next time.
    pub(crate) fn hurry(&mut self, now: Now) {
        match self.look {
            Look::Due(_) => self.look = Look::Due(now.monotonic),
            Look::Asked => {}
        }
    }

    /// Asks for a look that is due.
    pub(crate) fn tick(&mut self, now: Now, actions: &mut Vec<Action>) {
        match self.look {
            Look::Due(at) if at <= now.monotonic => {
                actions.push(Action::Examine);
                self.look = Look::Asked;
            }
            Look::Due(_) | Look::Asked => {}
        }
    }

    /// Takes in what a look found.
    pub(crate) fn take(&mut self, mut found: Vec<Trouble>, now: Now) -> Change {
        // By kind, so that what keeps things from being begun is not among what is cut off.
        found.sort();
        found.truncate(TROUBLES_MAX);
        found.iter_mut().for_each(|one| one.why = excerpt(&one.why));
        let obstacle = found.iter().find(|one| is_of_disk(one.kind)).map(|one| Obstacle {
            because: UnableBecause::Disk,
            why: format!("{}; nothing new is begun here until that is over", one.why),
        });
        let is_relief = self.obstacle.is_some() && obstacle.is_none();
        (self.found, self.obstacle) = (Some(found), obstacle);
        self.look = Look::Due(now.after(self.every));
        if is_relief { Change::Relief } else { Change::None }
    }

    /// When the next look is due.
    pub(crate) fn wake(&self) -> Option<Duration> {
        match self.look {
            Look::Due(at) => Some(at),
            Look::Asked => None,
        }
    }
}

fn is_of_disk(kind: TroubleKind) -> bool {
    match kind {
        TroubleKind::DiskFull | TroubleKind::DiskReadOnly | TroubleKind::DiskFails => true,
        TroubleKind::FileDamaged | TroubleKind::Other => false,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;

    use super::*;

    fn at(seconds: u64) -> Now {
        Now { monotonic: Duration::from_secs(seconds), wall: DateTime::UNIX_EPOCH }
    }

    fn trouble(kind: TroubleKind) -> Trouble {
        Trouble { kind, why: "it is so".to_owned() }
    }

    fn looks(troubles: &mut Troubles, seconds: u64) -> usize {
        let mut actions = Vec::new();
        troubles.tick(at(seconds), &mut actions);
        actions.len()
    }

    #[test]
    fn one_look_at_a_time_and_the_next_a_while_after_it_came_back() {
        let mut troubles = Troubles::new(Duration::from_secs(5));
        assert_eq!([looks(&mut troubles, 100), looks(&mut troubles, 130)], [1, 0]);
        troubles.take(Vec::new(), at(131));
        assert_eq!([looks(&mut troubles, 135), looks(&mut troubles, 136)], [0, 1]);
        troubles.take(Vec::new(), at(137));
        troubles.hurry(at(138));
        assert_eq!([looks(&mut troubles, 138), looks(&mut troubles, 138)], [1, 0]);
    }

    #[test]
    fn only_the_disk_keeps_things_from_being_begun() {
        let cases = [
            (TroubleKind::DiskFull, true),
            (TroubleKind::DiskReadOnly, true),
            (TroubleKind::DiskFails, true),
            (TroubleKind::FileDamaged, false),
            (TroubleKind::Other, false),
        ];
        for (kind, keeps) in cases {
            let mut troubles = Troubles::new(Duration::from_secs(5));
            assert_eq!(troubles.take(vec![trouble(kind)], at(0)), Change::None);
            assert_eq!(troubles.obstacle().is_some(), keeps, "{kind:?}");
            let change = troubles.take(Vec::new(), at(5));
            assert_eq!(change == Change::Relief, keeps, "{kind:?}");
        }
    }

    #[test]
    fn many_troubles_are_cut_and_the_disks_are_not() {
        let mut many = vec![trouble(TroubleKind::FileDamaged); 100];
        many.push(trouble(TroubleKind::DiskFull));
        let mut troubles = Troubles::new(Duration::from_secs(5));
        troubles.take(many, at(0));
        assert_eq!(troubles.found().len(), TROUBLES_MAX);
        assert!(troubles.obstacle().is_some());
    }
}
