//! The bounded queue between a bus and one reader: it never blocks the bus, and drops the oldest when full.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;

/// Most entries that wait for one reader. A reader that is this far behind a fleet's statements is better
/// served by the newest: what was dropped is stated again within seconds.
pub const QUEUE_LENGTH_MAX: usize = 4096;

/// An end of the queue that a bus feeds. Dropping it ends the reader's stream after what is queued.
#[derive(Debug)]
pub struct Feed<T> {
    shared: Arc<Shared<T>>,
}

/// The end of the queue that is read, in the order of arrival. Dropping it is how a reader leaves: the bus
/// sees [`Fed::Gone`] on its next feed.
///
/// **A slow reader never blocks a sender.** When [`QUEUE_LENGTH_MAX`] entries wait, the oldest is dropped for
/// the new one and counted in [`Queue::dropped`].
#[derive(Debug)]
pub struct Queue<T> {
    shared: Arc<Shared<T>>,
}

/// What became of an entry that was fed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fed {
    /// It waits for the reader.
    Queued,
    /// It waits for the reader, and the oldest entry was dropped for it.
    DroppedOldest,
    /// There is no reader any more.
    Gone,
}

#[derive(Debug)]
struct Shared<T> {
    // Both ends touch the entries from any thread, for a push or a pop and never across an await.
    state: Mutex<State<T>>,
    changed: Notify,
}

#[derive(Debug)]
struct State<T> {
    waiting: VecDeque<T>,
    dropped: u64,
    ends: Ends,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ends {
    Both,
    NoFeed,
    NoReader,
}

/// A new queue, for a bus to feed and to hand to one reader.
#[must_use]
pub fn queue<T>() -> (Feed<T>, Queue<T>) {
    let state = State { waiting: VecDeque::new(), dropped: 0, ends: Ends::Both };
    let shared = Arc::new(Shared { state: Mutex::new(state), changed: Notify::new() });
    (Feed { shared: Arc::clone(&shared) }, Queue { shared })
}

impl<T> Feed<T> {
    /// Hands `entry` to the reader, without ever waiting for it.
    pub fn feed(&self, entry: T) -> Fed {
        let mut state = self.shared.lock();
        if state.ends == Ends::NoReader {
            return Fed::Gone;
        }
        // The dropped entry is let go after the lock: its own drop may do anything.
        let oldest = if state.waiting.len() < QUEUE_LENGTH_MAX {
            None
        } else {
            state.dropped += 1;
            state.waiting.pop_front()
        };
        state.waiting.push_back(entry);
        drop(state);
        self.shared.changed.notify_one();
        match oldest {
            None => Fed::Queued,
            Some(_) => Fed::DroppedOldest,
        }
    }

    /// Whether the reader is gone.
    #[must_use]
    pub fn is_gone(&self) -> bool {
        self.shared.lock().ends == Ends::NoReader
    }
}

impl<T> Queue<T> {
    /// The next entry, waiting for one; `None` once the bus has closed and everything queued was read. Safe to
    /// cancel: an entry is taken only when it is returned.
    pub async fn next(&mut self) -> Option<T> {
        loop {
            {
                let mut state = self.shared.lock();
                if let Some(entry) = state.waiting.pop_front() {
                    return Some(entry);
                }
                if state.ends == Ends::NoFeed {
                    return None;
                }
            }
            // A notice that came since the look above is kept by `Notify`, so none is missed.
            self.shared.changed.notified().await;
        }
    }

    /// The next entry if one waits already.
    pub fn try_next(&mut self) -> Option<T> {
        self.shared.lock().waiting.pop_front()
    }

    /// How many entries were dropped because this reader was too far behind.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.shared.lock().dropped
    }
}

impl<T> Drop for Feed<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        if state.ends == Ends::Both {
            state.ends = Ends::NoFeed;
        }
        drop(state);
        self.shared.changed.notify_one();
    }
}

impl<T> Drop for Queue<T> {
    fn drop(&mut self) {
        let mut state = self.shared.lock();
        state.ends = Ends::NoReader;
        let unread = std::mem::take(&mut state.waiting);
        drop(state);
        drop(unread);
    }
}

impl<T> Shared<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing panics while the lock is held, so what a poisoned lock guards is whole.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
