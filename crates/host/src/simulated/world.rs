//! The state of one simulated machine.

use std::collections::{BTreeMap, BTreeSet};
use std::net::SocketAddr;
use std::time::Duration;

use chrono::{DateTime, Utc};
use names::{BuildId, ModuleName};
use wire::route::Table;
use wire::{BootId, ProcessIdentity, Trouble};

use crate::process::{Exit, ProcessSpec};
use crate::simulated::script::BuildScript;

#[derive(Debug)]
pub(super) struct World {
    pub(super) boot: BootId,
    pub(super) now: Duration,
    /// The time of day at boot, as the machine's clock has it now: setting that clock moves this.
    pub(super) wall_at_boot: DateTime<Utc>,
    pub(super) scripts: BTreeMap<BuildId, BuildScript>,
    pub(super) installed: BTreeSet<(ModuleName, BuildId)>,
    /// Addresses that somebody who is no process of ours listens on.
    pub(super) strangers: BTreeSet<SocketAddr>,
    /// What is wrong with the machine itself.
    pub(super) troubles: Vec<Trouble>,
    /// How long the removal of builds takes.
    pub(super) removal: Duration,
    /// Where the public addresses lead.
    pub(super) routes: Table,
    /// Every process ever started, by its number.
    pub(super) processes: BTreeMap<u32, Entry>,
    pub(super) next_port: u16,
}

/// One process that was started on a simulated machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Started {
    /// What was asked for.
    pub spec: ProcessSpec,
    /// Which process it became.
    pub identity: ProcessIdentity,
    /// Where it listens.
    pub address: SocketAddr,
    /// When it started, since boot.
    pub at: Duration,
}

#[derive(Debug)]
pub(super) struct Entry {
    pub(super) started: Started,
    /// When it ends and how, as far as is settled.
    pub(super) end: Option<(Duration, Exit)>,
    /// Whether somebody was told of its end.
    pub(super) is_heard: bool,
}

impl World {
    pub(super) fn script(&self, build: &BuildId) -> BuildScript {
        self.scripts.get(build).cloned().unwrap_or_default()
    }

    pub(super) fn alive(&self) -> impl Iterator<Item = &Started> {
        let alive = self.processes.values().filter(|entry| entry.exit(self.now).is_none());
        alive.map(|entry| &entry.started)
    }

    /// Who holds an address, in words; processes in `ours` do not count.
    pub(super) fn holder(&self, address: SocketAddr, ours: &[u32]) -> Option<String> {
        if self.strangers.contains(&address) {
            return Some("a stranger listens there".to_owned());
        }
        let holder =
            self.alive().find(|one| one.address == address && !ours.contains(&one.identity.pid))?;
        Some(format!("process {} of `{}` listens there", holder.identity.pid, holder.spec.instance))
    }

    /// A port on loopback that nobody holds.
    pub(super) fn free_port(&mut self) -> SocketAddr {
        loop {
            self.next_port = self.next_port.checked_add(1).unwrap_or(FIRST_PORT);
            let address = SocketAddr::from(([127, 0, 0, 1], self.next_port));
            if self.holder(address, &[]).is_none() {
                return address;
            }
        }
    }

    /// Settles that a process ends at `at`, unless it ends earlier.
    pub(super) fn end(&mut self, pid: u32, at: Duration, exit: Exit) {
        if let Some(entry) = self.processes.get_mut(&pid)
            && entry.end.is_none_or(|(settled, _)| at < settled)
        {
            entry.end = Some((at, exit));
        }
    }

    /// Somebody was told of a process's end.
    pub(super) fn hear(&mut self, pid: u32) {
        if let Some(entry) = self.processes.get_mut(&pid) {
            entry.is_heard = true;
        }
    }

    /// Every process that is alive, or of whose end nobody was told.
    pub(super) fn unheard(&self) -> impl Iterator<Item = &Started> {
        self.processes.values().filter(|entry| !entry.is_heard).map(|entry| &entry.started)
    }

    pub(super) fn exit(&self, pid: u32) -> Option<Exit> {
        // A number that was never given out belongs to nobody who lives.
        self.processes.get(&pid).map_or(Some(Exit::Unknown), |entry| entry.exit(self.now))
    }
}

impl Entry {
    fn exit(&self, now: Duration) -> Option<Exit> {
        self.end.filter(|(at, _)| *at <= now).map(|(_, exit)| exit)
    }
}

/// The ports that a simulated machine gives out begin after this one.
pub(super) const FIRST_PORT: u16 = 20_000;
