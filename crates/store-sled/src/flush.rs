//! sled's flush, and the watch over it.
//!
//! The flush can sleep for ever: sled's thread that writes the beginning of a batch does not wake it when that write
//! fails, and a failing disk may tell its error to that thread only. So a thread of ours looks now and then, and shakes
//! a flush that still waits although sled has noted an error.
//!
//! sled can also flush on one of its own threads, and be waited for with patience. That costs a change of threads more
//! for each commit, and takes a thread from the pool that the writing needs: it is shared by all stores of a process,
//! and a few that land at once would wait for each other for ever.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

/// How often the watch looks. Only a disk that has failed waits for it.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// What the watch is for at the moment.
const RESTING: u8 = 0;
const FLUSHING: u8 = 1;
const ENDING: u8 = 2;

/// sled's flush that does not sleep for ever. Dropped, its thread is gone, and has let go of the engine.
#[derive(Debug)]
pub(crate) struct Flush {
    state: Arc<AtomicU8>,
    watch: Option<JoinHandle<()>>,
}

impl Flush {
    pub(crate) fn watched(db: &sled::Db) -> io::Result<Self> {
        let state = Arc::new(AtomicU8::new(RESTING));
        let (seen, db) = (Arc::clone(&state), db.clone());
        let watch = move || {
            loop {
                match seen.load(Ordering::Acquire) {
                    ENDING => return,
                    // With its error known, a further flush returns at once, and wakes whoever waits.
                    FLUSHING if db.context.global_error().is_err() => drop(db.flush()),
                    _ => {}
                }
                thread::park_timeout(LOOK_EVERY);
            }
        };
        let watch = thread::Builder::new().name("store-sled-watch".to_owned()).spawn(watch)?;
        Ok(Self { state, watch: Some(watch) })
    }

    /// Returns when everything that sled has in memory was written, or failed to be.
    pub(crate) fn run(&self, db: &sled::Db) -> Result<(), sled::Error> {
        self.state.store(FLUSHING, Ordering::Release);
        let flushed = db.flush();
        self.state.store(RESTING, Ordering::Release);
        flushed.map(|_bytes| ())
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        self.state.store(ENDING, Ordering::Release);
        if let Some(watch) = self.watch.take() {
            watch.thread().unpark();
            // It can only have panicked in sled, and then it is gone too.
            watch.join().ok();
        }
    }
}
