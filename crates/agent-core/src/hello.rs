//! Hellos: which declaration is held here, said at start and every while, so that a newer one can be handed over.

use core::time::Duration;

use crate::draws::doubling;
use crate::turn::Turn;

/// The first pause after a hello that nobody answered.
const UNANSWERED_PAUSE_MIN: Duration = Duration::from_secs(1);

/// When the next hello is due.
#[derive(Debug)]
pub(crate) struct Greeting {
    every: Duration,
    unanswered: u32,
    next: Next,
}

#[derive(Debug)]
enum Next {
    Due(Duration),
    Asked,
}

impl Greeting {
    pub(crate) fn new(every: Duration) -> Self {
        Self { every, unanswered: 0, next: Next::Due(Duration::ZERO) }
    }

    /// Whether a hello is to be said now; then it counts as said.
    pub(crate) fn say(&mut self, turn: &Turn<'_>) -> bool {
        match self.next {
            Next::Due(at) if at <= turn.now.monotonic => {
                self.next = Next::Asked;
                true
            }
            Next::Due(_) | Next::Asked => false,
        }
    }

    pub(crate) fn answered(&mut self, turn: &mut Turn<'_>) {
        self.unanswered = 0;
        self.next = Next::Due(turn.now.after(turn.draws.spread(self.every)));
    }

    pub(crate) fn unanswered(&mut self, turn: &mut Turn<'_>) {
        self.unanswered = self.unanswered.saturating_add(1);
        let pause = doubling(UNANSWERED_PAUSE_MIN, self.every, self.unanswered);
        self.next = Next::Due(turn.now.after(turn.draws.spread(pause)));
    }

    pub(crate) fn wake(&self) -> Option<Duration> {
        match self.next {
            Next::Due(at) => Some(at),
            Next::Asked => None,
        }
    }
}
