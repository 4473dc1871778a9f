//! Files that tell by themselves whether they are whole: their last line is the digest of what stands before it.

use names::Digest;
use sha2::{Digest as _, Sha256};

/// The digest in hex, with a line break before and after it.
const SEAL_BYTES: usize = 66;

/// The content with its seal.
pub(crate) fn seal(content: &[u8]) -> Vec<u8> {
    let mut sealed = content.to_vec();
    sealed.extend_from_slice(of(content).as_bytes());
    sealed
}

/// The content of a sealed file; `None` when it is not whole.
pub(crate) fn open(sealed: &[u8]) -> Option<&[u8]> {
    let (content, seal) = sealed.split_at_checked(sealed.len().checked_sub(SEAL_BYTES)?)?;
    (seal == of(content).as_bytes()).then_some(content)
}

fn of(content: &[u8]) -> String {
    format!("\n{}\n", Digest::from_bytes(Sha256::digest(content).into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_sealed_is_opened_and_what_was_changed_is_not() {
        for content in [&b""[..], b"x", b"two\nlines\n", &[0xff; 1000]] {
            let sealed = seal(content);
            assert_eq!(open(&sealed), Some(content));
            for at in 0..sealed.len() {
                assert_eq!(open(&sealed[..at]), None, "cut at {at}");
                let mut changed = sealed.clone();
                changed[at] ^= 1;
                assert_eq!(open(&changed), None, "changed at {at}");
            }
        }
    }
}
