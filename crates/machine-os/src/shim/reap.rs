//! The thread that waits for children, and the pipe on which it and the log's thread wake the main one.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;

use rustix::process::{Pid, WaitOptions, WaitStatus};

/// What wakes the main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// A child ended.
    Ended(Pid, How),
    /// There is no child any more, and so no descendant: each would be a child of a child, or have become our own.
    Nobody,
    /// All that the log was given is written.
    LogDone,
}

/// How a child ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum How {
    /// By itself, with this status.
    Status(i32),
    /// By this signal.
    Signal(i32),
}

/// Bytes of one note. Less than a pipe writes in one piece, so notes of two threads never mix.
const NOTE_BYTES: usize = 8;

/// The numbers that are no process's.
const NOBODY: i32 = 0;
const LOG_DONE: i32 = -1;

impl Note {
    /// Signals are told from exit statuses, which are never negative, by their sign.
    fn bytes(self) -> [u8; NOTE_BYTES] {
        let (who, how) = match self {
            Self::Ended(pid, How::Status(status)) => (pid.as_raw_nonzero().get(), status),
            Self::Ended(pid, How::Signal(number)) => (pid.as_raw_nonzero().get(), -number),
            Self::Nobody => (NOBODY, 0),
            Self::LogDone => (LOG_DONE, 0),
        };
        let mut bytes = [0; NOTE_BYTES];
        bytes[..4].copy_from_slice(&who.to_ne_bytes());
        bytes[4..].copy_from_slice(&how.to_ne_bytes());
        bytes
    }

    /// The next one; an error when there is none. Each is written in one piece, so it is read in one.
    pub(super) fn read(from: &mut PipeReader) -> io::Result<Self> {
        let mut bytes = [0; NOTE_BYTES];
        from.read_exact(&mut bytes)?;
        let [a, b, c, d, e, f, g, h] = bytes;
        let (who, how) = (i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]));
        let how = if how < 0 { How::Signal(-how) } else { How::Status(how) };
        Ok(match (who, Pid::from_raw(who.max(NOBODY))) {
            (_, Some(pid)) => Self::Ended(pid, how),
            (LOG_DONE, None) => Self::LogDone,
            (_, None) => Self::Nobody,
        })
    }

    /// Says it to the main thread, which reads for as long as this process lives.
    pub(super) fn send(self, to: &mut PipeWriter) {
        let _ = to.write_all(&self.bytes());
    }
}

/// Waits for every child from now on, the adopted ones too.
pub(super) fn reap(mut notes: PipeWriter) -> io::Result<()> {
    thread::Builder::new().name("reap".to_owned()).spawn(move || {
        loop {
            let note = match rustix::process::wait(WaitOptions::empty()) {
                Ok(Some((pid, status))) => match how(status) {
                    Some(how) => Note::Ended(pid, how),
                    None => continue,
                },
                Ok(None) | Err(rustix::io::Errno::INTR) => continue,
                Err(_) => Note::Nobody,
            };
            note.send(&mut notes);
            if note == Note::Nobody {
                return;
            }
        }
    })?;
    Ok(())
}

fn how(status: WaitStatus) -> Option<How> {
    let status_of = status.exit_status().map(How::Status);
    status_of.or_else(|| status.terminating_signal().map(How::Signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_arrive_as_they_were_sent() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let pid = Pid::from_raw(77).unwrap();
        for note in [
            Note::Ended(pid, How::Status(0)),
            Note::Ended(pid, How::Status(255)),
            Note::Ended(pid, How::Signal(9)),
            Note::Nobody,
            Note::LogDone,
        ] {
            note.send(&mut writer);
            assert_eq!(Note::read(&mut reader).unwrap(), note);
        }
    }
}
