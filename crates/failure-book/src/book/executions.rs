//! Intents: nothing executes before its intent has landed.

use super::Book;
use crate::change::RowKey;
use crate::entries::{Intent, known};
use crate::identity::{ExecutionId, ExecutionKind};
use crate::names::Host;
use crate::step::{Answer, Step, Undo};
use alloc::boxed::Box;

/// Whether an execution may begin.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use = "without a landed intent nothing may execute"]
pub enum Begun {
    /// Its intent is on the disk: it may execute.
    MayExecute,
    /// It must not execute.
    No(NotBegun),
}

/// Why an execution must not begin.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotBegun {
    /// Another execution's intent stands on the host: its outcome was not written yet.
    #[error("the execution {id} on this host has no outcome yet")]
    IntentStands {
        /// The other execution.
        id: ExecutionId,
    },
    /// The book has no numbers left, so no outcome could be written.
    #[error("the failure book has no numbers left")]
    Exhausted,
    /// The intent is not known to have landed. What stood before it stands again.
    #[error("the intent is not known to be on the disk")]
    NotLanded,
}

impl Book {
    /// Announces an execution of a build that this host has not served yet. Nothing may execute
    /// before the answer is [`Begun::MayExecute`].
    ///
    /// Refused while another execution's intent stands; only a wake takes the place of a wake. A
    /// refusal lands nothing, not even an owed save.
    ///
    /// When the intent is not known to have landed, what stood before it stands again. Until the
    /// next change has landed the disk may have either of the two.
    pub fn begin(&mut self, host: &Host, intent: Intent) -> Step<Begun> {
        let intent = Intent { start: known(intent.start), ..intent };
        let before = self.intents.get(host).cloned();
        if let Some(standing) = before.as_ref().filter(|standing| !gives_way(standing, &intent)) {
            return refused(NotBegun::IntentStands { id: standing.id.clone() });
        }
        if self.is_exhausted() {
            return refused(NotBegun::Exhausted);
        }
        self.intents.insert(host.clone(), intent.clone());
        self.owed.touch(RowKey::Intent(host.clone()));
        let value = Begun::No(NotBegun::NotLanded);
        let undo = Undo { host: host.clone(), begun: intent, before, value };
        self.land(Begun::MayExecute, Some(Box::new(undo)))
    }

    /// Removes a host's intent, if it is that of this execution. Its outcome must have been
    /// written before.
    pub fn end(&mut self, host: &Host, id: &ExecutionId) -> Step<()> {
        if self.intents.get(host).is_some_and(|intent| intent.id == *id) {
            self.intents.remove(host);
            self.owed.touch(RowKey::Intent(host.clone()));
        }
        self.settle(())
    }

    /// Takes a begun intent back. The disk may have it, so its row stays owed.
    pub(super) fn take_back<A>(&mut self, undo: Undo<A>) -> A {
        let Undo { host, begun, before, value } = undo;
        if self.intents.get(&host) == Some(&begun) {
            match before {
                Some(before) => self.intents.insert(host.clone(), before),
                None => self.intents.remove(&host),
            };
            self.owed.touch(RowKey::Intent(host));
        }
        value
    }
}

/// Whether a standing intent gives way to another: to its own again, and a wake's to a wake's.
fn gives_way(standing: &Intent, to: &Intent) -> bool {
    let is_wake = |intent: &Intent| match intent.id.kind() {
        ExecutionKind::Wake => true,
        ExecutionKind::Attempt => false,
    };
    standing.id == to.id || (is_wake(standing) && is_wake(to))
}

fn refused(why: NotBegun) -> Step<Begun> {
    Step::Done(Answer { value: Begun::No(why), error: None })
}
