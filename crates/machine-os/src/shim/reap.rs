//! The thread that waits for children, and the pipe on which it and the output's thread wake the main one.

use std::io::{self, PipeReader, PipeWriter, Read, Write};
use std::thread;

use host::Exit;
use rustix::process::{Pid, WaitOptions, WaitStatus};

/// What wakes the main thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Note {
    /// A child ended.
    Ended(Pid, Exit),
    /// There is no child any more, and so no descendant: each would be a child of a child, or have become our own.
    Nobody,
    /// All output is taken in.
    OutputDone,
}

/// Bytes of one note. Less than a pipe writes in one piece, so notes of two threads never mix.
const NOTE_BYTES: usize = 8;

/// The numbers that are no process's.
const NOBODY: i32 = 0;
const OUTPUT_DONE: i32 = -1;

impl Note {
    /// Signals are told from exit statuses, which are never negative, by their sign.
    fn bytes(self) -> [u8; NOTE_BYTES] {
        let (who, how) = match self {
            Self::Ended(pid, Exit::Status(status)) => (pid.as_raw_nonzero().get(), status),
            Self::Ended(pid, Exit::Signal(number)) => (pid.as_raw_nonzero().get(), -number),
            Self::Ended(_, Exit::Unknown) | Self::Nobody => (NOBODY, 0),
            Self::OutputDone => (OUTPUT_DONE, 0),
        };
        let mut bytes = [0; NOTE_BYTES];
        bytes[..4].copy_from_slice(&who.to_ne_bytes());
        bytes[4..].copy_from_slice(&how.to_ne_bytes());
        bytes
    }

    pub(super) fn read(from: &mut PipeReader) -> io::Result<Self> {
        let mut bytes = [0; NOTE_BYTES];
        from.read_exact(&mut bytes)?;
        let [a, b, c, d, e, f, g, h] = bytes;
        let (who, how) = (i32::from_ne_bytes([a, b, c, d]), i32::from_ne_bytes([e, f, g, h]));
        let exit = if how < 0 { Exit::Signal(-how) } else { Exit::Status(how) };
        Ok(match (who, Pid::from_raw(who.max(NOBODY))) {
            (_, Some(pid)) => Self::Ended(pid, exit),
            (OUTPUT_DONE, None) => Self::OutputDone,
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
                Ok(Some((pid, status))) => match exit(status) {
                    Some(exit) => Note::Ended(pid, exit),
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

fn exit(status: WaitStatus) -> Option<Exit> {
    let status_of = status.exit_status().map(Exit::Status);
    status_of.or_else(|| status.terminating_signal().map(Exit::Signal))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notes_arrive_as_they_were_sent() {
        let (mut reader, mut writer) = io::pipe().unwrap();
        let pid = Pid::from_raw(77).unwrap();
        for note in [
            Note::Ended(pid, Exit::Status(0)),
            Note::Ended(pid, Exit::Status(255)),
            Note::Ended(pid, Exit::Signal(9)),
            Note::Nobody,
            Note::OutputDone,
        ] {
            note.send(&mut writer);
            assert_eq!(Note::read(&mut reader).unwrap(), note);
        }
    }
}
