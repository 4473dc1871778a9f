//! Where the machine's public addresses lead: to what serves, and while nothing does, nowhere or into a queue.

use core::net::SocketAddr;
use core::time::Duration;
use std::collections::BTreeMap;

use inventory::Check;
use names::ModuleName;
use wire::route::{Refusal, Table, To};
use wire::{ResourceState, UnableBecause};

use crate::action::Action;
use crate::draws::{Draws, doubling};
use crate::event::Obstacle;
use crate::instance::Instance;
use crate::placement::{Place, Placement};
use crate::time::Now;

/// How many connections to an address may wait while what is to serve them comes up: what a busy service takes in some
/// seconds, and not so many that they bury it.
const WAITING_MAX: u32 = 1_024;

/// How long each may wait: longer than most programs take to come up, and not longer than most clients wait.
const WAITING_TIME: Duration = Duration::from_secs(30);

/// How much of a reason whoever is refused is told.
const REASON_BYTES_MAX: usize = 500;

/// How soon a table that could not be put in place is tried again, at first and at most.
const AGAIN_MIN: Duration = Duration::from_secs(1);
const AGAIN_MAX: Duration = Duration::from_secs(30);

/// What was asked of the router, and what it said.
#[derive(Debug, Default)]
pub(crate) struct Routing {
    /// Whether all instances are known. Before that nothing is asked: an address that was left out would be closed.
    is_begun: bool,
    asked: Table,
    /// Whether it was answered.
    is_answered: bool,
    /// Whose address each is. Of two modules that want one, the first by name has it.
    owners: BTreeMap<SocketAddr, ModuleName>,
    /// What is not as it was asked, by address.
    faults: BTreeMap<SocketAddr, String>,
    failed_in_row: u32,
    again_at: Option<Duration>,
}

impl Routing {
    /// All instances are known from now on.
    pub(crate) fn begin(&mut self) {
        self.is_begun = true;
    }

    /// Asks for what should be, when that is not what was asked for last.
    pub(crate) fn ask(
        &mut self,
        instances: &BTreeMap<Place, Instance>,
        now: Now,
        actions: &mut Vec<Action>,
    ) {
        if !self.is_begun {
            return;
        }
        let (table, owners) = table(instances);
        self.owners = owners;
        let is_due = self.again_at.is_some_and(|at| at <= now.monotonic);
        if table == self.asked && !is_due {
            return;
        }
        self.asked = table.clone();
        self.is_answered = false;
        self.again_at = None;
        // Before anything is stopped that it led to.
        actions.insert(0, Action::Route(table));
    }

    /// Takes in what became of it. What is not as it was asked is asked again after a while.
    pub(crate) fn answered(
        &mut self,
        outcome: Result<BTreeMap<SocketAddr, String>, String>,
        now: Now,
        draws: &mut Draws,
    ) {
        self.is_answered = true;
        let is_well = match outcome {
            Ok(faults) => {
                let is_well = faults.is_empty();
                self.faults = faults;
                is_well
            }
            Err(why) => {
                self.faults = self.asked.0.keys().map(|address| (*address, why.clone())).collect();
                self.asked.0.is_empty()
            }
        };
        if is_well {
            self.failed_in_row = 0;
            self.again_at = None;
            return;
        }
        self.failed_in_row = self.failed_in_row.saturating_add(1);
        let pause = doubling(AGAIN_MIN, AGAIN_MAX, self.failed_in_row);
        self.again_at = Some(now.after(draws.spread(pause)));
    }

    /// Whatever led the addresses is gone: all is asked for anew.
    pub(crate) fn lost(&mut self, now: Now) {
        self.is_answered = false;
        self.again_at = Some(now.monotonic);
    }

    pub(crate) fn wake(&self) -> Option<Duration> {
        self.again_at
    }

    /// Whether it is known of each address of a build whether it can be had.
    pub(crate) fn knows(&self, placement: &Placement) -> bool {
        let mut addresses = addresses(placement);
        self.is_answered && addresses.all(|(address, _)| self.asked.0.contains_key(&address))
            || placement.resources().iter().all(|one| one.listen.routed().is_none())
    }

    /// What keeps a build of a module from being reached: its address is another module's, or cannot be had.
    pub(crate) fn obstacle(&self, module: &ModuleName, placement: &Placement) -> Option<Obstacle> {
        addresses(placement).find_map(|(address, _)| {
            let owner = self.owners.get(&address).filter(|owner| *owner != module);
            let why = match (owner, self.faults.get(&address)) {
                (Some(owner), _) => format!("the module {owner} has it"),
                (None, Some(why)) => why.clone(),
                (None, None) => return None,
            };
            let why = format!("{module} cannot be reached at {address}: {why}");
            Some(Obstacle { because: UnableBecause::Port, why })
        })
    }
}

/// What an instance has for one address.
#[derive(Debug, Default)]
struct Offers {
    healthy: Vec<SocketAddr>,
    up: Vec<SocketAddr>,
    is_coming: bool,
    is_http: bool,
    why: Option<String>,
}

fn table(instances: &BTreeMap<Place, Instance>) -> (Table, BTreeMap<SocketAddr, ModuleName>) {
    let mut all: BTreeMap<SocketAddr, (&Place, Offers)> = BTreeMap::new();
    for (place, instance) in instances {
        let serving = instance.serving();
        let placements = serving.map(|one| &one.placement).into_iter().chain(instance.bound_for());
        for (address, is_http) in placements.flat_map(addresses) {
            let (owner, offers) = all.entry(address).or_insert((place, Offers::default()));
            if owner.0 != place.0 {
                // It is told why when it is to begin.
                continue;
            }
            offers.is_http |= is_http;
            offers.is_coming |= instance.is_coming();
            let said = instance.before_start().1.filter(|_| serving.is_none());
            offers.why = offers.why.take().or_else(|| said.map(str::to_owned));
            let resources = serving.into_iter().flat_map(|one| one.resources());
            for one in resources.filter(|one| one.start().listen.routed() == Some(address)) {
                if let Some((_, _, backend)) = one.process()
                    && !offers.up.contains(&backend)
                {
                    offers.up.push(backend);
                    if one.state() == ResourceState::Healthy {
                        offers.healthy.push(backend);
                    }
                }
            }
        }
    }
    let owners = all.iter().map(|(address, (place, _))| (*address, place.0.clone())).collect();
    let led = all.into_iter().map(|(address, (place, offers))| (address, offers.to(place)));
    (Table(led.collect()), owners)
}

/// The public addresses that are routed to what is placed, and whether HTTP is spoken there.
fn addresses(placement: &Placement) -> impl Iterator<Item = (SocketAddr, bool)> {
    placement.resources().iter().filter_map(|resource| {
        let is_http = matches!(resource.health.check, Check::Http { .. });
        Some((resource.listen.routed()?, is_http))
    })
}

impl Offers {
    fn to(self, place: &Place) -> To {
        let to = if self.healthy.is_empty() { self.up } else { self.healthy };
        if !to.is_empty() {
            return To::Forward { to };
        }
        let refusal = |why: String| {
            if self.is_http { Refusal::Http { why } } else { Refusal::Close }
        };
        if self.is_coming {
            let then = refusal(format!("{} does not run yet", place.0));
            return To::Hold { limit: WAITING_MAX, time: WAITING_TIME, then };
        }
        let mut why = format!("{}: {}", place.0, self.why.as_deref().unwrap_or("it does not run"));
        why.truncate(why.floor_char_boundary(REASON_BYTES_MAX));
        To::Refuse(refusal(why))
    }
}
