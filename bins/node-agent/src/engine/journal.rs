//! Where the engine's lines go: to the standard error, in the form that whoever reads it there wants.

use std::{
    io::{Write, stderr},
    sync::mpsc::{SyncSender, TrySendError, sync_channel},
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    thread,
    time::Duration,
};

use agent_shell::{Log, Severity};
use chrono::{DateTime, SecondsFormat, Utc};
use terminal::paint::{Paint, Tone, harmless};

use crate::{clock, systemd};

/// Lines that wait to be written. The engine waits for nobody who reads its lines: what has no room is counted, and told.
const LINES_MAX: usize = 1_000;

/// How long the last lines may take to be written when the engine ends.
const LAST_LINES: Duration = Duration::from_secs(1);

/// In which form lines are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Form {
    /// Behind the number of its severity; the journal adds the rest.
    Journal,
    /// With the time.
    Stream(Paint),
}

/// Writes lines, in a thread of its own.
#[derive(Debug)]
pub(crate) struct Journal {
    written: SyncSender<Written>,
    form: Form,
    unwritten: Arc<AtomicU64>,
}

#[derive(Debug)]
enum Written {
    Line(String),
    /// All before it was written.
    Mark(SyncSender<()>),
}

impl Journal {
    /// Begins to write to the standard error, with these colours unless it is the journal.
    pub(crate) fn begin(paint: Paint) -> std::io::Result<Self> {
        let form = if systemd::is_journal() { Form::Journal } else { Form::Stream(paint) };
        let (written, coming) = sync_channel(LINES_MAX);
        let unwritten = Arc::new(AtomicU64::new(0));
        let missing = Arc::clone(&unwritten);
        thread::Builder::new().name("journal".to_owned()).spawn(move || {
            for one in coming {
                match one {
                    Written::Line(line) => write(&line),
                    // Whoever waited may have gone.
                    Written::Mark(say) => drop(say.send(())),
                }
                let missing = missing.swap(0, Ordering::Relaxed);
                if missing > 0 {
                    let text = format!("{missing} lines could not be written and are lost");
                    write(&form.line(Severity::Warning, &text, clock::now()));
                }
            }
        })?;
        Ok(Self { written, form, unwritten })
    }

    /// Takes lines.
    pub(crate) fn log(&self) -> Log {
        let (written, form) = (self.written.clone(), self.form);
        let unwritten = Arc::clone(&self.unwritten);
        Log::new(move |severity, text| {
            let line = Written::Line(form.line(severity, text, clock::now()));
            match written.try_send(line) {
                Ok(()) | Err(TrySendError::Disconnected(_)) => {}
                Err(TrySendError::Full(_)) => {
                    unwritten.fetch_add(1, Ordering::Relaxed);
                }
            }
        })
    }

    /// Lets what was told until now be written.
    pub(crate) fn finish(&self) {
        let (say, is_written) = sync_channel(1);
        if self.written.try_send(Written::Mark(say)).is_ok() {
            let _ = is_written.recv_timeout(LAST_LINES);
        }
    }
}

impl Form {
    fn line(self, severity: Severity, text: &str, now: DateTime<Utc>) -> String {
        // It can hold what others wrote.
        let text = harmless(text);
        match self {
            Self::Journal => {
                let level = match severity {
                    Severity::Error => 3,
                    Severity::Warning => 4,
                    Severity::Info => 6,
                };
                format!("<{level}>{text}\n")
            }
            Self::Stream(paint) => {
                let at = now.to_rfc3339_opts(SecondsFormat::Millis, true);
                let word = match severity {
                    Severity::Error => paint.tone(Tone::Bad, "error"),
                    Severity::Warning => paint.tone(Tone::Busy, "warning"),
                    Severity::Info => paint.tone(Tone::Faint, "info"),
                };
                format!("{} {word}: {text}\n", paint.tone(Tone::Faint, at))
            }
        }
    }
}

fn write(line: &str) {
    // Nobody is left to be told that nobody can be told.
    let _ = stderr().lock().write_all(line.as_bytes());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_form_has_what_its_reader_wants() {
        let now = DateTime::from_timestamp_millis(1_700_000_000_123).unwrap();
        let line = |form: Form, severity| form.line(severity, "two\nlines \x1b[2J", now);
        let journal = |severity| line(Form::Journal, severity);
        assert_eq!(journal(Severity::Error), "<3>two lines  [2J\n");
        assert_eq!(journal(Severity::Warning), "<4>two lines  [2J\n");
        assert_eq!(journal(Severity::Info), "<6>two lines  [2J\n");
        let plain = line(Form::Stream(Paint::Plain), Severity::Warning);
        assert_eq!(plain, "2023-11-14T22:13:20.123Z warning: two lines  [2J\n");
        let painted = line(Form::Stream(Paint::Ansi), Severity::Error);
        assert!(painted.contains("\x1b[31merror\x1b[0m: two"), "{painted:?}");
    }
}
