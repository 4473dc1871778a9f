//! What a shim left that was killed itself: found, and killed whole.

use std::collections::BTreeMap;
use std::time::Duration;

use rustix::process::Signal;
use tokio::task::spawn_blocking;

use crate::entry::{Identity, Who};
use crate::proc::{self, Stat};
use crate::shim::{MARK, kill_group, remove_group};

/// How soon what is left is killed once more.
const KILL_AGAIN_AFTER: Duration = Duration::from_millis(20);

/// How often. It is a bound for what cannot be killed: a process that the kernel holds in a system call.
const KILLS_MAX: u32 = 250;

/// How often nothing must be found, one look after another. While a process executes another program its environment is
/// empty, for less than a millisecond.
const EMPTY_LOOKS: u32 = 2;

/// Kills the shim, if it lives, and all that is left of its workload.
pub(super) async fn end(identity: &Identity) {
    let mut empty_looks = 0;
    for _ in 0..KILLS_MAX {
        let identity = identity.clone();
        let left = spawn_blocking(move || {
            if let Some(group) = &identity.group {
                kill_group(group);
            }
            let all = proc::all().unwrap_or_default();
            let left = remains(&all, &identity, proc::carries);
            left.iter().for_each(|one| proc::signal(one, Signal::KILL));
            if left.is_empty()
                && let Some(group) = &identity.group
            {
                remove_group(group);
            }
            left.len()
        });
        empty_looks = if left.await.unwrap_or(0) == 0 { empty_looks + 1 } else { 0 };
        if empty_looks == EMPTY_LOOKS {
            return;
        }
        tokio::time::sleep(KILL_AGAIN_AFTER).await;
    }
}

/// What of the shim and its workload is alive: the two by their own identity, what carries the workload's mark in its
/// environment, wherever it went, and what stayed in the shim's session, should it have written over its environment.
///
/// The kernel gives a session's number to no new process while anybody is in that session. So as long as no stranger has
/// the shim's number, what is in the session of that number is the shim's; otherwise nobody is left in it.
fn remains(
    all: &BTreeMap<u32, Stat>,
    identity: &Identity,
    carries: impl Fn(u32, &str) -> bool,
) -> Vec<Stat> {
    let Identity { shim, workload, .. } = identity;
    let is = |one: &Stat, who: &Who| one.pid == who.pid && one.started == who.started;
    let is_number_a_stranger_s = all.get(&shim.pid).is_some_and(|one| !is(one, shim));
    let mark = format!("{MARK}={}.{}", shim.pid, shim.started);
    let is_left = |one: &&Stat| {
        let in_session = one.session == shim.pid && !is_number_a_stranger_s;
        // Nothing of a workload is older than its shim: what is cannot be its own, whatever else speaks for it.
        !one.is_zombie
            && one.started >= shim.started
            && (is(one, shim)
                || workload.as_ref().is_some_and(|workload| is(one, workload))
                || in_session
                || carries(one.pid, &mark))
    };
    all.values().filter(is_left).copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(pid: u32, session: u32, started: u64) -> Stat {
        Stat { pid, parent: 1, session, started, is_zombie: false }
    }

    fn found(all: &[Stat], carrying: &[u32]) -> Vec<u32> {
        let identity = Identity {
            shim: Who { pid: 10, started: 100 },
            boot: "boot".to_owned(),
            group: None,
            workload: Some(Who { pid: 11, started: 101 }),
        };
        let all = all.iter().map(|one| (one.pid, *one)).collect();
        let carries = |pid, mark: &str| mark == "BELLWETHER_SHIM=10.100" && carrying.contains(&pid);
        remains(&all, &identity, carries).iter().map(|one| one.pid).collect()
    }

    #[test]
    fn what_is_left_of_a_shim_is_found_and_nobody_else() {
        let shim = stat(10, 10, 100);
        let workload = stat(11, 10, 101);
        let child = stat(12, 10, 150);
        let stray = stat(13, 13, 160);
        let neighbour = stat(14, 14, 170);
        let all = [shim, workload, child, stray, neighbour];
        assert_eq!(found(&all, &[11, 12, 13]), [10, 11, 12, 13]);
        assert_eq!(found(&all[1..], &[13]), [11, 12, 13], "the shim is gone");
        assert_eq!(found(&[Stat { is_zombie: true, ..workload }, neighbour], &[]), [0; 0]);
    }

    #[test]
    fn a_stranger_with_a_stored_number_is_left_alone() {
        let shim_s_number = stat(10, 10, 900);
        let workload_s_number = stat(11, 11, 901);
        let in_a_stranger_s_session = stat(12, 10, 902);
        let all = [shim_s_number, workload_s_number, in_a_stranger_s_session];
        assert_eq!(found(&all, &[]), [0; 0]);
        assert_eq!(found(&[stat(20, 10, 50)], &[20]), [0; 0], "older than the shim");
    }
}
