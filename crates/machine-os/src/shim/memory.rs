//! Whether a workload that was killed was killed because there was no memory left.

use std::fs;
use std::path::{Path, PathBuf};

use host::Exit;

/// What the kernel counts: once for each process that it kills for want of memory, before it does.
const KILLS: &str = "oom_kill";

/// The kernel's word on one workload.
#[derive(Debug)]
pub(super) struct Memory {
    /// Where the kills among the workload are counted, if they are.
    events: Option<PathBuf>,
    /// How many there were on the whole machine before the workload was started.
    before: Option<u64>,
}

impl Memory {
    /// To be asked before the workload is started. The group is one of its own, so nothing is counted there yet.
    pub(super) fn watch(group: Option<&Path>) -> Self {
        let events = group.map(|group| group.join("memory.events"));
        Self { events, before: kills_here() }
    }

    /// What it was that ended the workload by signal 9, which its shim did not send.
    pub(super) fn killed(&self) -> Exit {
        let own = self.events.as_ref().and_then(|events| kills(events));
        judge(own, self.before, kills_here())
    }
}

/// A group of its own with a count is believed either way. Without one the machine's count makes it likely, no more.
fn judge(own: Option<u64>, before: Option<u64>, now: Option<u64>) -> Exit {
    match (own, before, now) {
        (Some(1..), _, _) => Exit::OutOfMemory,
        (None, Some(before), Some(now)) if now > before => Exit::PerhapsOutOfMemory,
        (Some(0) | None, _, _) => Exit::Signal(9),
    }
}

fn kills_here() -> Option<u64> {
    kills(Path::new("/proc/vmstat"))
}

fn kills(file: &Path) -> Option<u64> {
    parse(&fs::read_to_string(file).ok()?)
}

fn parse(text: &str) -> Option<u64> {
    let mut counts = text.lines().filter_map(|line| line.split_once(' '));
    counts.find(|(key, _)| *key == KILLS)?.1.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_kernels_counts_are_read() {
        for (text, expected) in [
            ("low 0\nhigh 0\nmax 12\noom 3\noom_kill 2\noom_group_kill 7\n", Some(2)),
            ("nr_free_pages 9\noom_kill 41\nnuma_hit 8\n", Some(41)),
            ("oom 3\noom_group_kill 7\n", None),
            ("oom_kill x\n", None),
            ("oom_kill\n", None),
            ("", None),
        ] {
            assert_eq!(parse(text), expected, "{text}");
        }
        assert!(kills_here().is_some(), "every Linux that has groups counts them");
    }

    #[test]
    fn a_count_of_its_own_tells_and_the_machines_is_a_hint() {
        for (own, before, now, expected) in [
            (Some(1), Some(5), Some(6), Exit::OutOfMemory),
            (Some(2), None, None, Exit::OutOfMemory),
            (Some(0), Some(5), Some(6), Exit::Signal(9)),
            (None, Some(5), Some(6), Exit::PerhapsOutOfMemory),
            (None, Some(5), Some(5), Exit::Signal(9)),
            (None, None, Some(6), Exit::Signal(9)),
            (None, Some(5), None, Exit::Signal(9)),
        ] {
            assert_eq!(judge(own, before, now), expected, "{own:?} {before:?} {now:?}");
        }
    }

    #[test]
    fn a_group_is_asked_when_the_end_is_there() {
        let group = tempfile::tempdir().unwrap();
        let memory = Memory { events: Some(group.path().join("memory.events")), before: None };
        assert_eq!(memory.killed(), Exit::Signal(9));
        fs::write(group.path().join("memory.events"), "oom 1\noom_kill 1\n").unwrap();
        assert_eq!(memory.killed(), Exit::OutOfMemory);
    }
}
