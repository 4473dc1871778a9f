//! Artifacts by their digest, from a local folder, verified while they stream.

use std::fs::File;
use std::io::{self, Read, Write};
use std::path::Path;

use inventory::Artifact;
use names::Digest;
use sha2::{Digest as _, Sha256};

/// Why an artifact is not fetched.
#[derive(Debug)]
pub(super) enum Refused {
    /// Its source does not have it.
    Missing,
    /// Its source has something else, in words.
    Mismatch(String),
    Io(io::Error),
}

impl From<io::Error> for Refused {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Copies an artifact to `to`, and answers well only if it is what was declared, to the byte.
pub(super) fn fetch(artifacts: &Path, artifact: &Artifact, to: &Path) -> Result<(), Refused> {
    let source = match File::open(artifacts.join(artifact.digest.as_str())) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Err(Refused::Missing),
        source => source?,
    };
    let mut target = File::create(to)?;
    // One byte more than declared shows that it is too long, and no more than that is read of it.
    let mut source = source.take(artifact.size.saturating_add(1));
    let mut hasher = Sha256::new();
    let mut size: u64 = 0;
    let mut buffer = vec![0; 64 * 1024];
    loop {
        let length = source.read(&mut buffer)?;
        let piece = buffer.get(..length).unwrap_or_default();
        if piece.is_empty() {
            break;
        }
        hasher.update(piece);
        target.write_all(piece)?;
        size += piece.len() as u64;
    }
    if size > artifact.size {
        return Err(Refused::Mismatch(format!("it is longer than {} bytes", artifact.size)));
    }
    if size < artifact.size {
        return Err(Refused::Mismatch(format!("it has {size} bytes, not {}", artifact.size)));
    }
    let digest = Digest::from_bytes(hasher.finalize().into());
    if digest != artifact.digest {
        return Err(Refused::Mismatch(format!("its digest is {}…", digest.short())));
    }
    Ok(())
}
