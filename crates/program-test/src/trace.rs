//! The system calls of a program, as strace tells them.

use std::collections::BTreeMap;
use std::error::Error;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a test that follows system calls comes to: it can go to another thread.
pub type Traced<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

/// A system call, with the descriptors' paths in its text, and where in the trace it began and returned.
#[derive(Debug)]
pub struct Call {
    /// As strace words it, from its name to its answer.
    pub text: String,
    /// The line of the trace where it began.
    pub began: usize,
    /// The line of the trace where it returned.
    pub returned: usize,
}

impl Call {
    /// Whether this synced the file or folder whose path, as the trace writes it, is given.
    #[must_use]
    pub fn syncs(&self, path: &str) -> bool {
        let sync = self.text.starts_with("fsync(") || self.text.starts_with("fdatasync(");
        sync && self.text.contains(&format!("<{path}>")) && self.text.ends_with("= 0")
    }

    /// Whether this wrote to that file at an offset.
    #[must_use]
    pub fn writes(&self, path: &str) -> bool {
        self.text.starts_with("pwrite64(") && self.text.contains(&format!("<{path}>"))
    }

    /// Whether this said a line on standard output.
    #[must_use]
    pub fn acknowledges(&self) -> bool {
        self.text.starts_with("write(1<")
    }
}

/// Whether strace can be run; says it loudly when not.
///
/// # Errors
/// When it could not be said.
pub fn strace_is_here(test: &str) -> Traced<bool> {
    let here = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !here {
        // Not through the test's captured output: whoever reads the run should see it.
        writeln!(std::io::stderr(), "SKIPPED {test}: there is no strace here")?;
    }
    Ok(here)
}

/// A program's calls while it does what the numbers from `first` to `last` ask for, in the folder `root`, with these options of strace.
///
/// # Errors
/// When it cannot be started, fails, or its trace makes no sense.
pub fn trace(
    child: &str,
    options: &[&str],
    root: &Path,
    first: u64,
    last: u64,
) -> Traced<Vec<Call>> {
    let output = root.with_extension("trace");
    let status = Command::new("strace")
        .args(["-f", "-y", "-e", "trace=write,pwrite64,fsync,fdatasync,ftruncate,rename"])
        .args(options)
        .arg("-o")
        .arg(&output)
        .arg(child)
        .arg(root)
        .args([first.to_string(), last.to_string()])
        .stdout(Stdio::null())
        .status()?;
    if !status.success() {
        return Err(format!("strace or its child ended with {status}").into());
    }
    parse(&std::fs::read_to_string(output)?)
}

/// Joins the two halves of a call that another thread's call came between.
fn parse(trace: &str) -> Traced<Vec<Call>> {
    let mut calls = Vec::new();
    let mut unfinished = BTreeMap::new();
    for (place, line) in trace.lines().enumerate() {
        let (thread, text) = line.split_once(' ').ok_or("a line without a thread")?;
        let text = text.trim();
        if let Some(begin) = text.strip_suffix("<unfinished ...>") {
            unfinished.insert(thread, (begin.trim(), place));
        } else if let Some((_, end)) = text.split_once(" resumed>") {
            let (begin, began) = unfinished.remove(thread).ok_or("resumed and never begun")?;
            calls.push(Call { text: format!("{begin}{end}"), began, returned: place });
        } else {
            calls.push(Call { text: text.to_owned(), began: place, returned: place });
        }
    }
    Ok(calls)
}
