//! What a store must hold, by its schema and its mark.

use crate::damage::{Damage, Unsound};
use crate::folder::Making;
use crate::mark::Marked;
use crate::record;
use crate::standing::{self, Standing, Sums};

/// What is known of a store before it is opened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Expected {
    pub(crate) making: Making,
    pub(crate) marked: Marked,
}

impl Expected {
    /// Reads everything, and answers how the store stands.
    pub(crate) fn check(self, db: &sled::Db) -> Result<Standing, Unsound> {
        let sums = match self.making {
            // Nothing of it was ever acknowledged.
            Making::BeingMade => return standing::of(db, Sums::Unknown),
            Making::MadeBefore(_) => Sums::Unknown,
            Making::Made => Sums::Kept,
        };
        if !db.contains_key(record::MADE_KEY)? {
            return Err(Damage::Empty.into());
        }
        let found = standing::of(db, sums)?;
        match self.marked {
            Marked::At(written) if found.revision < written.revision => {
                let (found, written) = (found.revision, written.revision);
                Err(Damage::Behind { found, written }.into())
            }
            Marked::At(written) if found.revision == written.revision && found != written => {
                Err(Damage::Sum.into())
            }
            Marked::At(_) | Marked::Missing | Marked::Damaged => Ok(found),
        }
    }
}
