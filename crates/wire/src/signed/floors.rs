//! What keeps an older pointer from being taken after a newer one.

use std::collections::{BTreeMap, btree_map::Entry};

use chrono::{DateTime, Utc};
use names::{AccountName, BuildId, ChannelName, ModuleName};
use serde::{Deserialize, Serialize};

use super::pointer::Pointer;
use super::verify::Verified;

/// The newest pointer that was taken, for each channel of each module. It is kept on the disk, and lands before
/// anything is done on a pointer's word.
///
/// Floors only rise: whatever comes, and in whatever order, the greatest stamp stays.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "Vec<Pointer>", into = "Vec<Pointer>")]
pub struct Floors(BTreeMap<Channel, Pointer>);

type Channel = (AccountName, ModuleName, ChannelName);

/// How a pointer stands to the floor, when it is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Accepted {
    /// It is newer, and is the floor now.
    Newer,
    /// It is the very pointer that is the floor. What it meant may not have been done yet, and can be done again.
    Repeat,
}

/// Why a pointer is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BelowFloor {
    /// A newer one was taken.
    #[error("the pointer is of {offered}, and one of {held} was taken here for that channel")]
    Older {
        /// The stamp of the one that was taken.
        held: DateTime<Utc>,
        /// Its own.
        offered: DateTime<Utc>,
    },
    /// Another one of the same stamp was taken, so nobody can tell which is meant.
    #[error(
        "another pointer of the same time, {stamp}, was taken here for that channel; sign a newer one"
    )]
    OtherContent {
        /// The stamp of both.
        stamp: DateTime<Utc>,
    },
}

impl Floors {
    /// Takes a pointer, if none that is newer was taken.
    ///
    /// # Errors
    ///
    /// [`BelowFloor`] when it counts no longer; nothing has changed then.
    pub fn accept(&mut self, pointer: &Verified<Pointer>) -> Result<Accepted, BelowFloor> {
        let offered = pointer.promoted_at;
        match self.0.entry(channel(pointer)) {
            Entry::Vacant(place) => {
                place.insert((**pointer).clone());
                Ok(Accepted::Newer)
            }
            Entry::Occupied(place) if *place.get() == **pointer => Ok(Accepted::Repeat),
            Entry::Occupied(mut place) => {
                let held = place.get().promoted_at;
                if offered < held {
                    return Err(BelowFloor::Older { held, offered });
                }
                if offered == held {
                    return Err(BelowFloor::OtherContent { stamp: held });
                }
                place.insert((**pointer).clone());
                Ok(Accepted::Newer)
            }
        }
    }

    /// The newest pointer of a channel.
    #[must_use]
    pub fn newest(
        &self,
        account: &AccountName,
        module: &ModuleName,
        channel: &ChannelName,
    ) -> Option<&Pointer> {
        self.0.get(&(account.clone(), module.clone(), channel.clone()))
    }

    /// The newest stamp under which a build is current in any channel: what a failure of it is stamped with.
    #[must_use]
    pub fn stamp_of(
        &self,
        account: &AccountName,
        module: &ModuleName,
        build: &BuildId,
    ) -> Option<DateTime<Utc>> {
        let names = |pointer: &&Pointer| {
            pointer.account == *account && pointer.module == *module && pointer.build == *build
        };
        self.0.values().filter(names).map(|pointer| pointer.promoted_at).max()
    }
}

fn channel(pointer: &Pointer) -> Channel {
    (pointer.account.clone(), pointer.module.clone(), pointer.channel.clone())
}

impl From<Vec<Pointer>> for Floors {
    /// Of two pointers of one channel the greater stamp stays.
    fn from(pointers: Vec<Pointer>) -> Self {
        let mut floors = BTreeMap::new();
        for pointer in pointers {
            match floors.entry(channel(&pointer)) {
                Entry::Vacant(place) => {
                    place.insert(pointer);
                }
                Entry::Occupied(mut place) => {
                    let held: &mut Pointer = place.get_mut();
                    if held.promoted_at < pointer.promoted_at {
                        *held = pointer;
                    }
                }
            }
        }
        Self(floors)
    }
}

impl From<Floors> for Vec<Pointer> {
    fn from(floors: Floors) -> Self {
        floors.0.into_values().collect()
    }
}
