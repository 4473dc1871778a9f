//! The names that people choose.
//!
//! One rule for all of them: 1 to 63 characters of `a-z`, `0-9`, `-` and `_`, beginning with a letter or a digit.
//! Such a name is one token of a bus subject, one segment of a store key, one folder, and has no twin that differs
//! by case or by Unicode form.

use alloc::string::String;

use serde::{Deserialize, Serialize};

use crate::text::text_newtype;

/// The longest name, in bytes: what one label of a host name may have.
const LENGTH_MAX: usize = 63;

/// Why a text is no name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// The text is empty.
    #[error("a {what} must not be empty")]
    Empty {
        /// The kind of name that was wanted.
        what: &'static str,
    },
    /// The text is longer than 63 bytes.
    #[error("a {what} has at most 63 characters, this one has {length}")]
    TooLong {
        /// The kind of name that was wanted.
        what: &'static str,
        /// How long the text is, in bytes.
        length: usize,
    },
    /// The text begins with `-` or `_`.
    #[error("the {what} `{text}` must begin with a letter or a digit")]
    BadStart {
        /// The kind of name that was wanted.
        what: &'static str,
        /// The text.
        text: String,
    },
    /// The text has a character that no name may have.
    #[error("the {what} `{text}` has the character {found:?}; allowed are a-z, 0-9, `-` and `_`")]
    BadCharacter {
        /// The kind of name that was wanted.
        what: &'static str,
        /// The text.
        text: String,
        /// The first character that is not allowed.
        found: char,
    },
}

fn check_name(what: &'static str, text: &str) -> Result<(), NameError> {
    if text.is_empty() {
        return Err(NameError::Empty { what });
    }
    if text.len() > LENGTH_MAX {
        return Err(NameError::TooLong { what, length: text.len() });
    }
    let allowed = |c: char| matches!(c, 'a'..='z' | '0'..='9' | '-' | '_');
    if let Some(found) = text.chars().find(|c| !allowed(*c)) {
        return Err(NameError::BadCharacter { what, text: text.into(), found });
    }
    if text.starts_with(['-', '_']) {
        return Err(NameError::BadStart { what, text: text.into() });
    }
    Ok(())
}

macro_rules! name {
    ($(#[doc = $doc:literal])+ $type:ident, $what:literal) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            fn check(text: &str) -> Result<(), NameError> {
                check_name($what, text)
            }
        }

        text_newtype!($type, NameError);
    };
}

name! {
    /// An owner of modules.
    AccountName, "account name"
}
name! {
    /// A line of builds of one module, of which one is current: what a pointer moves.
    ChannelName, "channel name"
}
name! {
    /// A box that runs an agent.
    MachineName, "machine name"
}
name! {
    /// A deployable unit.
    ModuleName, "module name"
}
name! {
    /// One running copy of a module on a machine; unique on its machine.
    InstanceName, "instance name"
}
name! {
    /// A long-running process of a module.
    ResourceName, "resource name"
}
name! {
    /// A command of a module that its machine serves.
    ToolName, "tool name"
}
name! {
    /// The key of a machine's label.
    LabelKey, "label key"
}

impl Default for AccountName {
    /// The owner when nothing is said.
    fn default() -> Self {
        Self("default".into())
    }
}

impl Default for ChannelName {
    /// The only one, where nobody makes a difference.
    fn default() -> Self {
        Self("default".into())
    }
}

#[cfg(test)]
mod tests {
    use alloc::string::ToString;

    use super::*;

    #[test]
    fn what_a_bus_a_path_and_a_key_can_carry_is_a_name() {
        for text in ["a", "7", "box-7", "node_engine", &"x".repeat(63)] {
            assert_eq!(MachineName::new(text).map(|name| name.to_string()), Ok(text.to_string()));
        }
    }

    #[test]
    fn everything_else_is_refused_with_its_reason() {
        let cases = [
            ("", "a module name must not be empty"),
            (
                "Blog",
                "the module name `Blog` has the character 'B'; allowed are a-z, 0-9, `-` and `_`",
            ),
            (
                "a.b",
                "the module name `a.b` has the character '.'; allowed are a-z, 0-9, `-` and `_`",
            ),
            (
                "a/b",
                "the module name `a/b` has the character '/'; allowed are a-z, 0-9, `-` and `_`",
            ),
            ("a*", "the module name `a*` has the character '*'; allowed are a-z, 0-9, `-` and `_`"),
            ("é", "the module name `é` has the character 'é'; allowed are a-z, 0-9, `-` and `_`"),
            ("-a", "the module name `-a` must begin with a letter or a digit"),
        ];
        for (text, why) in cases {
            assert_eq!(ModuleName::new(text).unwrap_err().to_string(), why);
        }
        let long = "x".repeat(64);
        assert_eq!(
            ModuleName::new(long).unwrap_err().to_string(),
            "a module name has at most 63 characters, this one has 64"
        );
    }

    #[test]
    fn serde_parses_and_so_refuses_too() {
        let name: MachineName = serde_json::from_str("\"box-1\"").unwrap();
        assert_eq!(serde_json::to_string(&name).unwrap(), "\"box-1\"");
        assert!(serde_json::from_str::<MachineName>("\"Box 1\"").is_err());
    }
}
