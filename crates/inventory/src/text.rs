//! Short texts that other systems made or must carry: label values, public keys, artifact names.

pub(crate) use toml_fields::excerpt;

/// Why a text is not one of ours.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("`{text}` is no {what}: {wanted}")]
pub struct TextError {
    /// The kind of text that was wanted.
    pub what: &'static str,
    /// The text, cut after 80 characters.
    pub text: String,
    /// What is allowed.
    pub wanted: &'static str,
}

/// A text newtype that is valid by construction: parse, print, serde.
macro_rules! checked_text {
    ($(#[doc = $doc:literal])+ $type:ident, $what:literal, $wanted:literal, $valid:expr) => {
        $(#[doc = $doc])+
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize)]
        #[serde(try_from = "String", into = "String")]
        pub struct $type(String);

        impl $type {
            /// Parses the text; the error says what is allowed.
            pub fn new(text: impl Into<String>) -> Result<Self, $crate::text::TextError> {
                let text = text.into();
                let valid: fn(&str) -> bool = $valid;
                if valid(&text) {
                    return Ok(Self(text));
                }
                let text = $crate::text::excerpt(&text);
                Err($crate::text::TextError { what: $what, text, wanted: $wanted })
            }

            /// The text itself.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl core::fmt::Display for $type {
            fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                f.pad(&self.0)
            }
        }

        impl core::str::FromStr for $type {
            type Err = $crate::text::TextError;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl TryFrom<String> for $type {
            type Error = $crate::text::TextError;

            fn try_from(text: String) -> Result<Self, Self::Error> {
                Self::new(text)
            }
        }

        impl From<$type> for String {
            fn from(value: $type) -> String {
                value.0
            }
        }
    };
}

pub(crate) use checked_text;
