//! Checks: what all that was written so far comes to, so that nothing of it can be changed, moved or left out unseen.

/// What a journal comes to up to some place. Each frame's has that of the frame before in it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Check(pub(crate) u32);

impl Check {
    /// Where the first frame of a file goes on from: two files that follow one another begin unlike.
    pub(crate) fn first(writing: u64) -> Self {
        Self(crc32fast::hash(&writing.to_le_bytes()))
    }

    /// After these bytes too.
    pub(crate) fn and(self, bytes: &[u8]) -> Self {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.0.to_le_bytes());
        hasher.update(bytes);
        Self(hasher.finalize())
    }
}

/// The check of one line of text.
pub(crate) fn of_text(text: &str) -> u32 {
    crc32fast::hash(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// It is on disks: a change of it would make every journal look damaged.
    #[test]
    fn it_stays_what_it_is() {
        assert_eq!(Check::first(1), Check(0xa988_dff7));
        assert_eq!(Check::first(1).and(b"a frame"), Check(0x545d_c080));
        assert_eq!(of_text("a line"), 0x43fb_39b2);
    }
}
