//! The engine in its folder: answers calls, and is opened anew after it failed.

use crate::Options;
use crate::damage::without_panic;
use crate::folder::Folder;
use crate::note::Note;
use crate::open::OpenError;
use crate::room::Room;
use crate::session::{Failure, Session};
use crate::trouble::Trouble;

/// A store's engine. Dropped, it is closed, and another can take its folder.
#[derive(Debug)]
pub(crate) struct Engine {
    place: Place,
    state: State,
}

/// Where it works.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) folder: Folder,
    pub(crate) room: Room,
}

#[derive(Debug)]
enum State {
    /// What the session remembers is on the disk.
    Sound(Session),
    /// A write failed: only the disk knows what is true, and nothing is answered before it was opened anew.
    Doubtful,
}

impl Engine {
    pub(crate) fn open(options: Options) -> Result<(Self, Vec<Note>), OpenError> {
        let Options { folder, room } = options;
        let folder = Folder::take(&folder)?;
        let (session, notes) = Session::open(&folder)?;
        let place = Place { folder, room };
        Ok((Self { place, state: State::Sound(session) }, notes))
    }

    /// Answers a call, from what is on the disk.
    pub(crate) fn answer<T, E: From<Trouble>>(
        &mut self,
        call: impl FnOnce(&mut Session, &Place) -> Result<T, Failure<E>>,
    ) -> Result<T, E> {
        let mut session = match std::mem::replace(&mut self.state, State::Doubtful) {
            State::Sound(session) => session,
            // Its notes have nobody to go to here; what was set aside stays to be found.
            State::Doubtful => Session::open(&self.place.folder).map_err(Trouble::from)?.0,
        };
        // On some damage sled panics, also long after it opened: with a page that it reads only now.
        let answered = without_panic(|| call(&mut session, &self.place))
            .unwrap_or_else(|damage| Err(Failure::Doubtful(Trouble::Other(damage.into()))));
        match answered {
            Err(Failure::Doubtful(trouble)) => {
                session.close();
                Err(trouble.into())
            }
            Err(Failure::Sound(error)) => {
                self.state = State::Sound(session);
                Err(error)
            }
            Ok(answer) => {
                self.state = State::Sound(session);
                Ok(answer)
            }
        }
    }
}

impl Drop for Engine {
    fn drop(&mut self) {
        match std::mem::replace(&mut self.state, State::Doubtful) {
            State::Sound(session) => session.close(),
            State::Doubtful => {}
        }
    }
}
