//! What every text newtype of this crate can do: parse, print, compare with text, travel through serde.

/// Gives a `struct T(String)` with an inherent `fn check(&str) -> Result<(), E>` its common traits.
macro_rules! text_newtype {
    ($type:ident, $error:ty) => {
        impl $type {
            /// Parses the text; an error tells which rule it breaks.
            pub fn new(text: impl Into<String>) -> Result<Self, $error> {
                let text = text.into();
                Self::check(&text)?;
                Ok(Self(text))
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
            type Err = $error;

            fn from_str(text: &str) -> Result<Self, Self::Err> {
                Self::new(text)
            }
        }

        impl AsRef<str> for $type {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl core::borrow::Borrow<str> for $type {
            fn borrow(&self) -> &str {
                &self.0
            }
        }

        impl TryFrom<String> for $type {
            type Error = $error;

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

pub(crate) use text_newtype;
