//! Notes: what was wrong with a store and was put right while it was opened.

use std::fmt;
use std::path::PathBuf;

/// Something that was wrong in the folder and was put right, or that was done to it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Note {
    /// sled had not finished writing this snapshot when it was stopped. Nothing is lost.
    UnfinishedSnapshot {
        /// Where it is kept now.
        kept: PathBuf,
    },
    /// sled could not read this snapshot, or not go on from it. Without it everything is there.
    DamagedSnapshot {
        /// Where it is kept now.
        kept: PathBuf,
    },
    /// sled's own settings were not as it writes them. They are always the same, and were written anew.
    DamagedSettings {
        /// Where the damaged ones are kept now.
        kept: PathBuf,
    },
    /// The mark was damaged and set anew. What is in the store is whole in itself; that its end is not missing could
    /// not be checked this time.
    DamagedMark {
        /// Where it is kept now.
        kept: PathBuf,
    },
    /// The same, of a mark that was not there.
    MissingMark {
        /// Where it is now.
        mark: PathBuf,
    },
    /// The store was of this older schema, and is of the present one now: builds that know only that refuse it.
    Upgraded {
        /// The store's folder.
        folder: PathBuf,
        /// Its schema before.
        from: u32,
    },
}

impl fmt::Display for Note {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let unchecked =
            "what the store holds is whole, but nothing could tell whether its end is missing";
        match self {
            Self::UnfinishedSnapshot { kept } => write!(
                out,
                "an unfinished snapshot of the store was set aside as {}",
                kept.display()
            ),
            Self::DamagedSnapshot { kept } => {
                write!(out, "a damaged snapshot of the store was set aside as {}", kept.display())
            }
            Self::DamagedSettings { kept } => {
                write!(out, "damaged settings of the store were set aside as {}", kept.display())
            }
            Self::DamagedMark { kept } => write!(
                out,
                "a damaged mark of the store was set aside as {}; {unchecked}",
                kept.display()
            ),
            Self::MissingMark { mark } => {
                write!(out, "the store's mark {} was missing; {unchecked}", mark.display())
            }
            Self::Upgraded { folder, from } => write!(
                out,
                "the store in {} was of schema {from} and was brought to the present one",
                folder.display()
            ),
        }
    }
}
