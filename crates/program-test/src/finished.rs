//! A program that is run to its end.

use std::{
    io::Read,
    process::{Child, Command, Stdio},
    thread::{self, JoinHandle},
};

use crate::{Outcome, eventually};

/// How a command ended, and what it said.
#[derive(Debug)]
pub struct Answered {
    /// Its exit status; none: a signal ended it.
    pub status: Option<i32>,
    /// All that it said on the standard output.
    pub stdout: String,
    /// All that it said on the standard error.
    pub stderr: String,
}

impl Answered {
    /// It ended with this status, and said each of these on stderr.
    ///
    /// # Errors
    /// When it did not.
    pub fn failed(&self, status: i32, said: &[&str]) -> Outcome {
        self.is(status, &self.stderr, said)
    }

    /// It ended with this status, and said each of these, on whichever stream.
    ///
    /// # Errors
    /// When it did not.
    pub fn ended(&self, status: i32, said: &[&str]) -> Outcome {
        self.is(status, &format!("{}\n{}", self.stdout, self.stderr), said)
    }

    /// It did what was asked.
    ///
    /// # Errors
    /// When it did not.
    pub fn done(&self) -> Outcome {
        self.failed(0, &[])
    }

    fn is(&self, status: i32, all: &str, said: &[&str]) -> Outcome {
        let missing = said.iter().find(|text| !all.contains(**text));
        if self.status == Some(status) && missing.is_none() {
            return Ok(());
        }
        Err(format!("status {status} and {missing:?} are wanted, this is {self:#?}").into())
    }
}

/// Runs a command to its end; one that has none is killed, and that is an error.
///
/// # Errors
/// When it cannot be started, or has no end.
pub fn finished(mut command: Command) -> Outcome<Answered> {
    Started::new(&mut command)?.finished()
}

/// A command that was started.
#[derive(Debug)]
pub struct Started {
    child: Child,
    stdout: JoinHandle<String>,
    stderr: JoinHandle<String>,
}

impl Started {
    /// Starts it.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn new(command: &mut Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let stdout = reading(child.stdout.take().ok_or("no stdout")?);
        let stderr = reading(child.stderr.take().ok_or("no stderr")?);
        Ok(Self { child, stdout, stderr })
    }

    /// Waits until it has ended; one that does not is killed, and that is an error.
    ///
    /// # Errors
    /// When it has no end.
    pub fn finished(mut self) -> Outcome<Answered> {
        let ended = eventually("the command has ended", || {
            Ok(self.child.try_wait()?.ok_or_else(|| "it runs".to_owned()))
        });
        if ended.is_err() {
            self.child.kill()?;
        }
        let text = |reading: JoinHandle<String>| reading.join().map_err(|_| "reading broke off");
        let (stdout, stderr) = (text(self.stdout)?, text(self.stderr)?);
        match ended {
            Ok(status) => Ok(Answered { status: status.code(), stdout, stderr }),
            Err(error) => Err(format!("{error}\n{stdout}\n{stderr}").into()),
        }
    }
}

fn reading(mut from: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        // What was said before it broke is worth reading too.
        let _ = from.read_to_end(&mut bytes);
        String::from_utf8_lossy(&bytes).into_owned()
    })
}
