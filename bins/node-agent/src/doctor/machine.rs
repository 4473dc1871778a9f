//! The machine: its user, control groups, processes and clock.

use std::fs;

use chrono::{DateTime, Datelike, Utc};
use rustix::process::geteuid;

use super::{Check, Finding};
use crate::clock as time;

/// Who this is, and what that means.
pub(super) fn user() -> Check {
    match geteuid().as_raw() {
        0 => {
            Check::ok("user", "this is root: programs can run as other users, each with its limits")
        }
        uid => Check::ok(
            "user",
            format!("this is user {uid}: an engine of it starts programs as this user alone"),
        ),
    }
}

/// Whether limits on memory and tasks are kept by the engine that is this process, or could be by one.
pub(super) fn groups(engine: Option<u32>) -> Check {
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let mounted = mounts.lines().find_map(|line| {
        let fields: Vec<&str> = line.split(' ').collect();
        (fields.get(2) == Some(&"cgroup2")).then(|| fields.get(1).map(|at| (*at).to_owned()))?
    });
    let controllers =
        mounted.as_ref().map(|at| fs::read_to_string(format!("{at}/cgroup.controllers")));
    let check = of_groups(mounted.as_deref(), controllers.and_then(Result::ok).as_deref());
    match (check.finding, mounted, engine) {
        (Finding::Ok, Some(at), Some(pid)) => of_engine(&at, pid),
        (Finding::Ok | Finding::Warning | Finding::Bad, _, _) => check,
    }
}

/// Whether the group that the engine was delegated gives controllers to those in it.
fn of_engine(at: &str, pid: u32) -> Check {
    const NAME: &str = "cgroups";
    let own = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    let own = own.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default();
    let delegated = own.strip_suffix("/engine");
    let given = delegated
        .and_then(|group| fs::read_to_string(format!("{at}{group}/cgroup.subtree_control")).ok());
    let given = given.unwrap_or_default();
    let has = |name: &str| given.split_ascii_whitespace().any(|one| one == name);
    match (delegated, has("memory") && has("pids")) {
        (Some(_), true) => {
            Check::ok(NAME, "limits on memory and tasks are kept, each in a group of its own")
        }
        // They are asked for with the first workload.
        (Some(_), false) => {
            Check::ok(NAME, "limits on memory and tasks are kept from the first workload on")
        }
        (None, _) => Check::warning(
            NAME,
            format!(
                "the engine is in {own}, and no group beside it is its own: limits on memory and tasks are not kept"
            ),
            "run it with the unit that is shipped, under systemd 254 or newer (Delegate=yes, DelegateSubgroup=engine)",
        ),
    }
}

fn of_groups(mounted: Option<&str>, controllers: Option<&str>) -> Check {
    const NAME: &str = "cgroups";
    const HINT: &str = "boot with systemd.unified_cgroup_hierarchy=1, or live without these limits";
    let Some(at) = mounted else {
        let why =
            "there are no control groups of version 2: limits on memory and tasks are not kept";
        return Check::warning(NAME, why, HINT);
    };
    let has = |name: &str| {
        controllers.unwrap_or_default().split_ascii_whitespace().any(|one| one == name)
    };
    match (has("memory"), has("pids")) {
        (true, true) => Check::ok(
            NAME,
            format!(
                "version 2 at {at}, with memory and pids: limits can be kept where the engine is delegated them"
            ),
        ),
        (memory, pids) => {
            let missing: Vec<_> = [("memory", memory), ("pids", pids)]
                .into_iter()
                .filter(|(_, has)| !has)
                .map(|(name, _)| name)
                .collect();
            let why = format!(
                "version 2 at {at}, without {}: those limits are not kept",
                missing.join(" and ")
            );
            Check::warning(NAME, why, HINT)
        }
    }
}

/// Whether the kernel shows the processes that the engine must look after.
pub(super) fn processes() -> Check {
    const NAME: &str = "proc";
    let hint = "mount /proc, without hidepid or with a gid= that the engine's user is in";
    if fs::read_to_string("/proc/self/stat").is_err() {
        return Check::bad(NAME, "/proc cannot be read: no process can be looked after", hint);
    }
    if fs::read_to_string("/proc/sys/kernel/random/boot_id").is_err() {
        let why = "the kernel does not say which boot this is: the engine cannot begin";
        return Check::bad(NAME, why, hint);
    }
    let mounts = fs::read_to_string("/proc/self/mounts").unwrap_or_default();
    let hidden =
        mounts.lines().filter(|line| line.split(' ').nth(1) == Some("/proc")).any(|line| {
            let options = line.split(' ').nth(3).unwrap_or_default();
            options.split(',').any(|option| {
                matches!(
                    option,
                    "hidepid=1" | "hidepid=2" | "hidepid=noaccess" | "hidepid=invisible"
                )
            })
        });
    if hidden && !geteuid().is_root() {
        let why = "/proc hides the processes of other users (hidepid), so who listens on a port cannot be told";
        return Check::warning(NAME, why, hint);
    }
    Check::ok(NAME, "/proc shows what the engine must see")
}

/// Whether the time of day can be true.
pub(super) fn clock() -> Check {
    of_clock(time::now())
}

/// Before this program was written, or long after, is no time of day.
fn of_clock(now: DateTime<Utc>) -> Check {
    const NAME: &str = "clock";
    let told = now.format("%Y-%m-%d %H:%M:%S UTC");
    if (2026..2100).contains(&now.year()) {
        return Check::ok(NAME, format!("it is {told}"));
    }
    let why = format!(
        "it is {told}, says the clock: what is timed is timed right, and what people read is dated wrong"
    );
    Check::warning(NAME, why, "set the clock: timedatectl set-ntp true")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_work_where_their_controllers_are() {
        for (mounted, controllers, finding, said) in [
            (None, None, Finding::Warning, "no control groups of version 2"),
            (Some("/x"), Some("cpu io memory pids\n"), Finding::Ok, "limits can be kept"),
            (Some("/x"), Some("cpu pids\n"), Finding::Warning, "without memory:"),
            (Some("/x"), Some("\n"), Finding::Warning, "without memory and pids:"),
            (Some("/x"), None, Finding::Warning, "without memory and pids:"),
        ] {
            let check = of_groups(mounted, controllers);
            assert!(check.finding == finding && check.why.contains(said), "{check:?}");
        }
    }

    #[test]
    fn a_clock_that_cannot_be_right_is_told() {
        let at = |seconds| of_clock(DateTime::from_timestamp(seconds, 0).unwrap()).finding;
        assert_eq!(at(0), Finding::Warning);
        assert_eq!(at(1_800_000_000), Finding::Ok);
        assert_eq!(at(9_000_000_000), Finding::Warning);
    }
}
