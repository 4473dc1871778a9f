//! What the kernel says of processes: `/proc`, read and nothing else.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::time::Duration;

use rustix::param::clock_ticks_per_second;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};
use rustix::time::{ClockId, Timespec, clock_gettime};

/// More generations than any tree of processes has.
const STEPS_MAX: u32 = 1_000;

/// One process at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stat {
    pub(crate) pid: u32,
    pub(crate) parent: u32,
    pub(crate) session: u32,
    /// In clock ticks since boot; with the number it tells this process from all others of this boot.
    pub(crate) started: u64,
    pub(crate) is_zombie: bool,
}

/// The process with this number, if there is one.
pub(crate) fn stat(pid: u32) -> Option<Stat> {
    parse(pid, &fs::read_to_string(format!("/proc/{pid}/stat")).ok()?)
}

/// Every process. One that comes or goes meanwhile may be in it or not.
pub(crate) fn all() -> io::Result<BTreeMap<u32, Stat>> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir("/proc")? {
        let name = entry?.file_name();
        let pid = name.to_str().and_then(|name| name.parse().ok());
        if let Some(one) = pid.and_then(stat) {
            found.insert(one.pid, one);
        }
    }
    Ok(found)
}

/// Everything that descends from a process, without it, parents before their children.
pub(crate) fn descendants(of: u32) -> io::Result<Vec<Stat>> {
    Ok(descend(of, &all()?))
}

/// Whether a process descends from another, which takes orphans in and so stays every descendant's forebear. `None` when
/// there is no such process.
pub(crate) fn descends(pid: u32, of: u32) -> Option<bool> {
    let mut one = stat(pid)?;
    let (mut steps, is_of) = (0, |one: &Stat| one.parent == of);
    while !is_of(&one) && one.parent > 1 && steps < STEPS_MAX {
        // Should its parent have ended just now, it has another.
        one = stat(one.parent).or_else(|| stat(one.pid))?;
        steps += 1;
    }
    Some(is_of(&one))
}

/// Which boot this is.
pub(crate) fn boot() -> io::Result<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id")?;
    Ok(boot.trim().to_owned())
}

/// How long a process is up that was started so many clock ticks after boot.
pub(crate) fn up_for(started: u64) -> Duration {
    let Timespec { tv_sec, tv_nsec } = clock_gettime(ClockId::Boottime);
    let seconds = u64::try_from(tv_sec).unwrap_or(0);
    let since_boot = Duration::new(seconds, u32::try_from(tv_nsec).unwrap_or(0));
    let ticks_a_second = clock_ticks_per_second().max(1);
    let begun = Duration::from_millis(started.saturating_mul(1_000) / ticks_a_second);
    since_boot.saturating_sub(begun)
}

/// Whether a process was started with this variable in its environment.
pub(crate) fn carries(pid: u32, variable: &str) -> bool {
    let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
    environment.split(|byte| *byte == 0).any(|one| one == variable.as_bytes())
}

/// What a variable was when a process was started, if it had it and it is text.
pub(crate) fn variable(pid: u32, name: &str) -> Option<String> {
    let environment = fs::read(format!("/proc/{pid}/environ")).ok()?;
    let mut variables = environment.split(|byte| *byte == 0);
    let value = variables.find_map(|one| one.strip_prefix(name.as_bytes())?.strip_prefix(b"="))?;
    String::from_utf8(value.to_owned()).ok()
}

/// Sends a signal to exactly this process: not to another that was given its number meanwhile. That it is gone, or is not
/// ours to signal, is no error here: whoever signals looks again at what is left.
pub(crate) fn signal(one: &Stat, signal: Signal) {
    let Some(pid) = i32::try_from(one.pid).ok().and_then(Pid::from_raw) else { return };
    let Ok(handle) = pidfd_open(pid, PidfdFlags::empty()) else { return };
    // The handle holds the number's present owner; it is the one meant if that owner started when it did.
    if stat(one.pid).is_some_and(|now| now.started == one.started) {
        let _ = pidfd_send_signal(handle, signal);
    }
}

fn descend(of: u32, all: &BTreeMap<u32, Stat>) -> Vec<Stat> {
    let mut found: Vec<Stat> = all.values().filter(|one| one.parent == of).copied().collect();
    let mut next = 0;
    while let Some(parent) = found.get(next).map(|one| one.pid) {
        found.extend(all.values().filter(|one| one.parent == parent));
        next += 1;
    }
    found
}

/// Reads a line of `/proc/PID/stat`. The second field is the program's name in parentheses and may hold anything,
/// parentheses and blanks too, so the fields are counted from its end.
fn parse(pid: u32, text: &str) -> Option<Stat> {
    let (_, rest) = text.rsplit_once(") ")?;
    let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
    Some(Stat {
        pid,
        is_zombie: *fields.first()? == "Z",
        parent: fields.get(1)?.parse().ok()?,
        session: fields.get(3)?.parse().ok()?,
        started: fields.get(19)?.parse().ok()?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_parentheses_and_blanks_shifts_no_field() {
        let text = "7 (a) R 1 (b) S 3 7 6 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 1 1";
        let stat = parse(7, text).unwrap();
        let expected = Stat { pid: 7, parent: 3, session: 6, started: 12345, is_zombie: false };
        assert_eq!(stat, expected);
        for broken in ["", "7 (a) S", "7 (a) S x 7 6"] {
            assert_eq!(parse(7, broken), None, "{broken}");
        }
    }

    #[test]
    fn a_tree_is_all_that_descends_and_nothing_else() {
        let stat = |pid, parent| Stat { pid, parent, session: 1, started: 0, is_zombie: false };
        let family = [stat(2, 1), stat(9, 2), stat(3, 9), stat(4, 9), stat(5, 1), stat(6, 5)];
        let all = family.into_iter().map(|one| (one.pid, one)).collect();
        let pids: Vec<u32> = descend(2, &all).iter().map(|one| one.pid).collect();
        assert_eq!(pids, [9, 3, 4]);
    }

    #[test]
    fn a_process_descends_from_those_above_it_and_from_nobody_else() {
        let me = std::process::id();
        let parent = stat(me).unwrap().parent;
        assert_eq!(descends(me, parent), Some(true));
        assert_eq!(descends(parent, me), Some(false));
        assert_eq!(descends(me, me), Some(false));
        let mut child = std::process::Command::new("sleep").arg("1000").spawn().unwrap();
        assert_eq!(descends(child.id(), me), Some(true));
        assert_eq!(descends(child.id(), parent), Some(true));
        child.kill().unwrap();
        child.wait().unwrap();
        assert_eq!(descends(child.id(), me), None);
    }

    #[test]
    fn this_very_process_is_found() {
        let me = std::process::id();
        assert!(all().unwrap().contains_key(&me));
        assert!(stat(me).unwrap().started > 0);
    }
}
