//! A program that goes on, and what it says line by line.

use std::{
    io::{BufRead, BufReader, Read},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver, RecvTimeoutError},
    thread,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

use crate::{Outcome, PATIENCE, eventually, now};

/// A program that was started. Dropped, it is killed.
#[derive(Debug)]
pub struct Spoken {
    child: Child,
    lines: Receiver<String>,
    /// What it has said so far, as far as anybody asked.
    pub said: Vec<String>,
}

impl Spoken {
    /// Starts it, and reads what it says on stderr.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn on_stderr(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = child.stderr.take().ok_or("no stderr")?;
        Ok(Self { lines: lines(stderr), child, said: Vec::new() })
    }

    /// Starts it, and reads what it says on stdout.
    ///
    /// # Errors
    /// When it cannot be started.
    pub fn on_stdout(mut command: Command) -> Outcome<Self> {
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        let stdout = child.stdout.take().ok_or("no stdout")?;
        Ok(Self { lines: lines(stdout), child, said: Vec::new() })
    }

    /// Its number.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until it has said a line that has this in it, now or before.
    ///
    /// # Errors
    /// When it does not, or has ended.
    pub fn wait_for_line(&mut self, part: &str) -> Outcome {
        if self.said.iter().any(|line| line.contains(part)) {
            return Ok(());
        }
        let deadline = now() + PATIENCE;
        loop {
            let left = deadline.saturating_duration_since(now());
            match self.next_line(left)? {
                Some(line) if line.contains(part) => return Ok(()),
                Some(_) => {}
                None => return Err(format!("`{part}` was never said: {:#?}", self.said).into()),
            }
        }
    }

    /// The next line that it says; none when it says nothing for so long.
    ///
    /// # Errors
    /// When it has said all.
    pub fn next_line(&mut self, within: Duration) -> Outcome<Option<String>> {
        match self.lines.recv_timeout(within) {
            Ok(line) => {
                self.said.push(line.clone());
                Ok(Some(line))
            }
            Err(RecvTimeoutError::Timeout) => Ok(None),
            Err(RecvTimeoutError::Disconnected) => {
                Err(format!("it has ended: {:#?}", self.said).into())
            }
        }
    }

    /// Signals it.
    ///
    /// # Errors
    /// When it is gone.
    pub fn signal(&self, signal: Signal) -> Outcome {
        let pid = i32::try_from(self.child.id()).ok().and_then(Pid::from_raw);
        Ok(kill_process(pid.ok_or("no process")?, signal)?)
    }

    /// Waits until it ends by itself.
    ///
    /// # Errors
    /// When it does not.
    pub fn ended(&mut self) -> Outcome<ExitStatus> {
        eventually("the program has ended", || {
            Ok(self.child.try_wait()?.ok_or_else(|| "it runs".to_owned()))
        })
    }

    /// Kills it, as a power cut would, and waits until it is gone.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn kill(&mut self) -> Outcome {
        self.child.kill()?;
        self.child.wait()?;
        Ok(())
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        // It is gone already in most tests.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn lines(from: impl Read + Send + 'static) -> Receiver<String> {
    let (said, lines) = mpsc::channel();
    thread::spawn(move || {
        for line in BufReader::new(from).lines().map_while(Result::ok) {
            // Whoever has asked enough is gone, and what the program says must still be read.
            let _ = said.send(line);
        }
    });
    lines
}
