//! An install, a mending, a removal: killed at any system call, or answered by an error there. Afterwards a build is whole or
//! not there, and doing it again brings it about.

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use crate::machine::{BUILD, Machine, program};
use inventory::Artifact;

/// The calls by which an install changes a disk.
const CALLS: [&str; 9] =
    ["openat", "write", "mkdir", "rename", "fsync", "chmod", "fchmod", "symlink", "unlink"];

const RUN: &[u8] = b"#!/bin/sh\nexec sleep 1000\n";

/// A machine, and a build of a program and an archive that is to be installed on it.
struct Bed {
    machine: Machine,
    artifacts: Vec<Artifact>,
}

impl Bed {
    fn new() -> Self {
        let machine = Machine::new();
        let mut builder = tar::Builder::new(Vec::new());
        for (path, mode) in [("bin/serve", 0o755), ("pages/one", 0o644)] {
            let mut header = tar::Header::new_gnu();
            header.set_size(path.len() as u64);
            header.set_mode(mode);
            builder.append_data(&mut header, path, path.as_bytes()).unwrap();
        }
        let mut header = tar::Header::new_gnu();
        header.set_entry_type(tar::EntryType::Symlink);
        header.set_size(0);
        builder.append_link(&mut header, "current", "pages/one").unwrap();
        let archive = builder.into_inner().unwrap();
        let artifacts = vec![machine.artifact("run", RUN), machine.artifact("blog.tar", &archive)];
        Self { machine, artifacts }
    }

    fn command(&self, what: &str) -> Command {
        let installer = program().with_file_name("installer");
        assert!(installer.is_file(), "build it with `cargo build --example installer`");
        let mut command = Command::new(installer);
        self.arguments(&mut command, what);
        command
    }

    fn arguments(&self, command: &mut Command, what: &str) {
        command
            .arg(what)
            .arg(self.machine.root())
            .arg(self.machine.folder.path().join("artifacts"));
        if what == "install" {
            command.args(self.artifacts.iter().map(|one| format!("{}={}", one.name, one.digest)));
        }
    }

    /// Does it with strace's hand in it.
    fn traced(&self, what: &str, options: &[&str]) -> ExitStatus {
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-y", "-o"]).arg(self.trace()).args(options);
        command.arg(program().with_file_name("installer"));
        self.arguments(&mut command, what);
        command.stderr(Stdio::null()).status().unwrap()
    }

    fn trace(&self) -> PathBuf {
        self.machine.folder.path().join("trace")
    }

    fn do_it(&self, what: &str) {
        let output = self.command(what).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }

    /// Asserts that the build is whole.
    fn is_whole(&self) {
        let read = |path: &str| fs::read(self.machine.build().join(path)).unwrap();
        assert_eq!(read("run"), RUN);
        for path in ["bin/serve", "pages/one"] {
            assert_eq!(read(path), path.as_bytes());
        }
        assert_eq!(read("current"), b"pages/one");
    }

    fn is_there(&self) -> bool {
        self.machine.build().exists()
    }

    /// Asserts that nothing lies about.
    fn is_tidy(&self) {
        let left = |folder: &Path| fs::read_dir(folder).into_iter().flatten().count();
        let incoming = self.machine.root().join("incoming");
        assert_eq!((left(&incoming), left(&incoming.join("trash"))), (1, 0));
    }
}

fn strace_is_here(test: &str) -> bool {
    let here = Command::new("strace").arg("-V").stdout(Stdio::null()).status().is_ok();
    if !here {
        // Not through the test's captured output: whoever reads the run should see it.
        let _ = writeln!(std::io::stderr(), "SKIPPED {test}: there is no strace here");
    }
    here
}

/// Does something again and again, from the beginning each time, with `fault` at the first, the second, and each further of
/// these calls, until it comes to its end before that. `check` looks at what each left. Says how often there was a fault.
fn at_each_call(
    what: &str,
    call: &str,
    fault: &str,
    begin: &dyn Fn() -> Bed,
    check: &dyn Fn(&Bed),
) -> u32 {
    let mut faults = 0;
    loop {
        let bed = begin();
        let inject = format!("inject={call}:{fault}:when={}", faults + 1);
        let status = bed.traced(what, &["-e", &format!("trace={call}"), "-e", &inject]);
        assert_ne!(status.code(), Some(101), "it panicked at {call} {faults}");
        check(&bed);
        let trace = fs::read_to_string(bed.trace()).unwrap();
        if status.success() && !trace.contains("INJECTED") {
            return faults;
        }
        faults += 1;
    }
}

fn installed() -> Bed {
    let bed = Bed::new();
    bed.do_it("install");
    bed
}

fn damaged() -> Bed {
    let bed = installed();
    fs::write(bed.machine.build().join("run"), "#!").unwrap();
    fs::remove_file(bed.machine.build().join("bin/serve")).unwrap();
    bed
}

fn after_install(bed: &Bed) {
    if bed.is_there() {
        bed.is_whole();
    }
    bed.do_it("install");
    bed.is_whole();
    bed.is_tidy();
}

fn after_mending(bed: &Bed) {
    // One that was set aside and not replaced yet is as good as damaged.
    if let Ok(run) = fs::read(bed.machine.build().join("run")) {
        assert!(run == RUN || run == b"#!");
    }
    after_repair(bed);
}

fn after_repair(bed: &Bed) {
    bed.do_it("install");
    bed.is_whole();
    bed.is_tidy();
}

fn after_removal(bed: &Bed) {
    if bed.is_there() {
        bed.is_whole();
    }
    bed.do_it("collect");
    assert!(!bed.machine.root().join("builds/blog").exists());
    bed.is_tidy();
    bed.do_it("install");
    bed.is_whole();
}

#[test]
fn killed_at_any_call_a_build_is_whole_or_not_there() {
    if !strace_is_here("killed_at_any_call_a_build_is_whole_or_not_there") {
        return;
    }
    for call in CALLS {
        let faults = at_each_call("install", call, "signal=SIGKILL", &Bed::new, &after_install);
        assert!(faults > 0, "{call}");
    }
}

#[test]
fn killed_at_any_call_a_damaged_build_can_still_be_mended() {
    if !strace_is_here("killed_at_any_call_a_damaged_build_can_still_be_mended") {
        return;
    }
    for call in ["rename", "fsync", "unlink", "mkdir"] {
        let faults = at_each_call("install", call, "signal=SIGKILL", &damaged, &after_mending);
        assert!(faults > 0, "{call}");
    }
}

#[test]
fn killed_at_any_call_a_removed_build_is_whole_or_gone() {
    if !strace_is_here("killed_at_any_call_a_removed_build_is_whole_or_gone") {
        return;
    }
    for call in ["rename", "unlinkat", "unlink", "rmdir", "fsync", "mkdir"] {
        let faults = at_each_call("collect", call, "signal=SIGKILL", &installed, &after_removal);
        assert!(faults > 0, "{call}");
    }
}

#[test]
fn an_error_at_any_call_leaves_a_build_whole_or_not_there() {
    if !strace_is_here("an_error_at_any_call_leaves_a_build_whole_or_not_there") {
        return;
    }
    for (call, error) in [
        ("write", "ENOSPC"),
        ("write", "EIO"),
        ("mkdir", "EROFS"),
        ("rename", "EIO"),
        ("rename", "ENOSPC"),
        ("fsync", "EIO"),
        ("fsync", "EDQUOT"),
        ("fchmod", "EIO"),
        ("unlink", "EIO"),
        ("symlink", "EDQUOT"),
    ] {
        let fault = format!("error={error}");
        assert!(at_each_call("install", call, &fault, &Bed::new, &after_install) > 0, "{call}");
    }
    at_each_call("collect", "unlinkat", "error=EIO", &installed, &after_removal);
    at_each_call("collect", "rename", "error=EROFS", &installed, &after_removal);
}

/// What an error is said to be, whatever was being done.
#[test]
fn full_read_only_and_failing_are_told_apart_where_they_happen() {
    if !strace_is_here("full_read_only_and_failing_are_told_apart_where_they_happen") {
        return;
    }
    for (call, error, word) in [
        ("fsync", "ENOSPC", "Full"),
        ("fsync", "EDQUOT", "Full"),
        ("fsync", "EROFS", "ReadOnly"),
        ("fsync", "EIO", "Failed"),
        ("symlink", "ENOSPC", "Full"),
        ("symlink", "EIO", "Failed"),
    ] {
        let bed = Bed::new();
        let mut command = Command::new("strace");
        command.args(["-f", "-qq", "-o"]).arg(bed.trace());
        command.args(["-e", &format!("inject={call}:error={error}:when=1")]);
        command.arg(program().with_file_name("installer"));
        bed.arguments(&mut command, "install");
        let said = command.output().unwrap().stderr;
        let said = String::from_utf8_lossy(&said).into_owned();
        assert!(said.starts_with(word), "{call} {error}: {said}");
    }
}

#[test]
fn all_of_a_build_is_on_the_disk_before_it_has_its_name() {
    if !strace_is_here("all_of_a_build_is_on_the_disk_before_it_has_its_name") {
        return;
    }
    let bed = Bed::new();
    assert!(bed.traced("install", &["-e", "trace=fsync,rename"]).success());
    let trace = fs::read_to_string(bed.trace()).unwrap();
    let lines: Vec<&str> = trace.lines().collect();
    let named = format!("builds/blog/{BUILD}\")");
    let named = lines.iter().position(|line| line.contains("rename(") && line.contains(&named));
    let named = named.unwrap();
    let root = bed.machine.root().canonicalize().unwrap();
    let is_synced = |path: &str, lines: &[&str]| {
        let path = format!("<{}>", root.join(path).display());
        lines.iter().any(|line| line.contains("fsync(") && line.contains(&path))
    };
    for path in [
        "incoming/content",
        "incoming/content/run",
        "incoming/content/bin",
        "incoming/content/bin/serve",
        "incoming/content/pages",
        "incoming/content/pages/one",
        "incoming/record",
    ] {
        assert!(is_synced(path, &lines[..named]), "{path} was not synced before\n{trace}");
    }
    for path in ["builds/blog", "builds"] {
        assert!(is_synced(path, &lines[named..]), "{path} was not synced after\n{trace}");
    }
}

/// Without strace, and on a larger build: killed after more and more time.
#[test]
fn killed_at_any_moment_a_build_is_whole_or_not_there() {
    let mut bed = Bed::new();
    let mut builder = tar::Builder::new(Vec::new());
    for nth in 0..150 {
        let mut header = tar::Header::new_gnu();
        header.set_size(5_000);
        header.set_mode(0o644);
        builder.append_data(&mut header, format!("{}/{nth}", nth % 7), &[7; 5_000][..]).unwrap();
    }
    let archive = builder.into_inner().unwrap();
    bed.artifacts.push(bed.machine.artifact("many.tar", &archive));
    let is_whole = |bed: &Bed| {
        bed.is_whole();
        for nth in 0..150 {
            let path = bed.machine.build().join(format!("{}/{nth}", nth % 7));
            assert_eq!(fs::read(path).unwrap(), [7; 5_000]);
        }
    };
    let mut cut_short = 0;
    for round in 0..40 {
        let mut child = bed.command("install").spawn().unwrap();
        std::thread::sleep(Duration::from_millis(round));
        let _ = child.kill();
        let status = child.wait().unwrap();
        cut_short += u32::from(!status.success());
        if bed.is_there() {
            is_whole(&bed);
            fs::remove_dir_all(bed.machine.build()).unwrap();
        }
    }
    assert!(cut_short > 0, "nothing was interrupted");
    bed.do_it("install");
    is_whole(&bed);
    bed.is_tidy();
}
