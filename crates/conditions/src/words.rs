//! The open vocabularies of conditions: scopes, kinds and sources.
//!
//! They are words, not enums: a condition that a newer build raised is read by the older one that was
//! put back, and must not be lost because its kind is new.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use serde::{Deserialize, Serialize};

macro_rules! vocabulary {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $constant:ident = $word:literal;)* }) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        pub struct $name(Cow<'static, str>);

        impl $name {
            $($(#[$word_doc])* pub const $constant: Self = Self(Cow::Borrowed($word));)*

            /// The word given, known here or not.
            pub fn new(word: impl Into<String>) -> Self {
                Self(Cow::Owned(word.into()))
            }

            /// The word as text.
            #[must_use]
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

vocabulary! {
    /// What sort of thing a condition is about: the first part of its key.
    Scope {
        /// A machine itself.
        MACHINE = "machine";
        /// A module on a machine.
        MODULE = "module";
        /// A core component on a machine.
        CORE = "core";
        /// A build on the machines that it was sent to.
        BUILD = "build";
    }
}

vocabulary! {
    /// What is wrong, whatever it is wrong with.
    Kind {
        /// The previous build was put back.
        ROLLED_BACK = "rolled-back";
        /// The previous build is being put back; how it ends is not known yet.
        ROLLING_BACK = "rolling-back";
        /// The previous build was not put back, though it should have been.
        ROLLBACK_FAILED = "rollback-failed";
        /// A resource of a module is stated unhealthy.
        UNHEALTHY = "unhealthy";
        /// A machine has not been heard.
        SILENT = "silent";
        /// A core component is not the build that it should be.
        CORE_BEHIND = "core-behind";
    }
}

impl Kind {
    /// How many times in a row a source must say a condition of this kind before it is raised.
    ///
    /// One unhealthy statement may be a hiccup that the next one takes back; two in a row are not.
    #[must_use]
    pub fn sightings_needed(&self) -> u32 {
        if *self == Self::UNHEALTHY { 2 } else { 1 }
    }
}

vocabulary! {
    /// Who says a condition: a probe, or the gate.
    Source {
        /// The gate's own conditions; a gate never takes them for evidence.
        GATE = "DG";
    }
}
