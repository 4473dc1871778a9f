//! The files that a build consists of.

use names::Digest;
use serde::{Deserialize, Serialize};

use crate::text::checked_text;

/// One file of a build, known by what is in it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct Artifact {
    /// Unique in its build.
    pub name: ArtifactName,
    /// In bytes.
    pub size: u64,
    /// The SHA-256 of its bytes.
    pub digest: Digest,
}

checked_text! {
    /// The file name of an artifact, for example `blog.tar.gz`: one path segment on every file system.
    ArtifactName,
    "artifact name",
    "1 to 128 letters, digits, `.`, `-`, `_` and `+` are allowed, the first a letter or a digit",
    |text| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b".-_+".contains(&b);
        text.len() <= 128
            && text.bytes().all(allowed)
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_artifact_name_is_one_path_segment() {
        for text in ["blog", "blog-1.2+x86_64.tar.gz", "7z"] {
            assert!(ArtifactName::new(text).is_ok(), "{text}");
        }
        for text in ["", ".", "..", ".hidden", "a/b", "-rf", "a b", "é", &"x".repeat(129)] {
            assert!(ArtifactName::new(text).is_err(), "{text}");
        }
    }
}
