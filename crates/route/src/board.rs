//! What becomes of each connection, decided and nothing done: whose turn it is, who waits and how long, and what is counted.
//!
//! The board knows connections by number. Whoever owns it has the connections themselves, tells it what happens to them, and
//! does what it answers. Time is an argument: since any fixed moment, the same for all routers of one boot.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::counts::{AddressCounts, BackendCounts, Counts};
use crate::table::{Refusal, Table, To};

/// How long a connection waits whose backends cannot be reached: as long as a program takes that is started again at once.
pub(crate) const UNREACHED_MAX: Duration = Duration::from_secs(5);

/// How many such may wait at an address. Each is tried again and again, so there is a bound.
pub(crate) const UNREACHED_LIMIT: usize = 1024;

/// How long after all backends were tried in vain they are tried again.
const TRY_EVERY: Duration = Duration::from_millis(100);

/// How often it is said that connections wait at an address, while they do.
pub(crate) const TELL_EVERY: Duration = Duration::from_secs(1);

/// A connection. Numbered in the order in which they arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub(crate) struct ConnectionId(pub(crate) u64);

/// What is to be done with a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Course {
    /// Connect it to this backend. From now on it counts as open there, until [`Board::unreached`] or [`Board::ended`].
    Forward(SocketAddr),
    /// Keep it; what becomes of it is said later.
    Hold,
    /// Refuse it, and forget it.
    Refuse(Refusal),
}

/// All addresses with what waits there and what is open from there.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Board {
    routes: BTreeMap<SocketAddr, Route>,
}

/// One address.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Route {
    /// None: it is not in the table any more, and connections from it are still open.
    to: Option<To>,
    /// How often a backend was chosen.
    turn: usize,
    waiting: BTreeMap<ConnectionId, Waiting>,
    /// Connections that a backend has refused, while they are on their way to another or open.
    #[serde(skip)]
    refused_by: BTreeMap<ConnectionId, Unreached>,
    /// When it was last said that some wait here.
    told: Option<Duration>,
    total: u64,
    refused: u64,
    backends: BTreeMap<SocketAddr, BackendCounts>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Waiting {
    since: Duration,
    /// When its backends were tried last; they are tried again.
    tried: Duration,
}

/// What a connection has met.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Unreached {
    /// When the first backend could not be reached.
    since: Duration,
    /// Which could not since it last waited.
    backends: Vec<SocketAddr>,
}

impl Board {
    /// The table as it is in effect.
    pub(crate) fn table(&self) -> Table {
        let listed = self.routes.iter().filter_map(|(at, route)| Some((*at, route.to.clone()?)));
        Table(listed.collect())
    }

    /// Turns an address to something else, or closes it, and says what becomes of those that wait there, in the order in which
    /// they arrived.
    pub(crate) fn turn(
        &mut self,
        address: SocketAddr,
        to: Option<To>,
        now: Duration,
    ) -> Vec<(ConnectionId, Course)> {
        let Some(route) = self.route(address, &to) else { return Vec::new() };
        let before = std::mem::replace(&mut route.to, to);
        let courses = match (&route.to, &before) {
            (Some(To::Forward { .. }), _) => route.forward_all(),
            (Some(To::Hold { .. }), Some(To::Hold { .. })) => Vec::new(),
            (Some(To::Hold { .. }), _) => {
                route.waiting.values_mut().for_each(|waiting| waiting.since = now);
                Vec::new()
            }
            (Some(To::Refuse(refusal)), _) => {
                let refusal = refusal.clone();
                route.refuse_all(&refusal)
            }
            (None, Some(To::Hold { then, .. })) => route.refuse_all(then),
            (None, _) => route.refuse_all(&Refusal::Close),
        };
        route.forget_backends();
        self.forget(address);
        courses
    }

    fn route(&mut self, address: SocketAddr, to: &Option<To>) -> Option<&mut Route> {
        match to {
            Some(_) => Some(self.routes.entry(address).or_default()),
            None => self.routes.get_mut(&address),
        }
    }

    /// A connection arrived.
    pub(crate) fn arrived(
        &mut self,
        address: SocketAddr,
        id: ConnectionId,
        now: Duration,
    ) -> Course {
        let Some(route) = self.routes.get_mut(&address) else {
            return Course::Refuse(Refusal::Close);
        };
        route.total += 1;
        route.admit(id, now)
    }

    /// A backend could not be reached.
    pub(crate) fn unreached(
        &mut self,
        address: SocketAddr,
        id: ConnectionId,
        backend: SocketAddr,
        now: Duration,
    ) -> Course {
        let Some(route) = self.routes.get_mut(&address) else {
            return Course::Refuse(Refusal::Close);
        };
        route.left(backend);
        let course = match &route.to {
            Some(To::Forward { to }) => {
                let new = || Unreached { since: now, backends: Vec::new() };
                let unreached = route.refused_by.entry(id).or_insert_with(new);
                unreached.backends.push(backend);
                if to.iter().all(|backend| unreached.backends.contains(backend)) {
                    unreached.backends.clear();
                    let waiting = Waiting { since: unreached.since, tried: now };
                    route.hold(id, waiting, UNREACHED_LIMIT, Refusal::Close)
                } else {
                    let met = unreached.backends.clone();
                    route.forward(id, &met)
                }
            }
            Some(To::Hold { .. } | To::Refuse(_)) | None => route.admit(id, now),
        };
        if matches!(course, Course::Refuse(_)) {
            route.refused_by.remove(&id);
        }
        self.forget(address);
        course
    }

    /// A connection that was forwarded has ended, however.
    pub(crate) fn ended(&mut self, address: SocketAddr, id: ConnectionId, backend: SocketAddr) {
        if let Some(route) = self.routes.get_mut(&address) {
            route.left(backend);
            route.refused_by.remove(&id);
        }
        self.forget(address);
    }

    /// A connection that was on its way to a backend waits again, for another router to go on with it.
    pub(crate) fn taken_back(
        &mut self,
        address: SocketAddr,
        id: ConnectionId,
        backend: SocketAddr,
        now: Duration,
    ) {
        if let Some(route) = self.routes.get_mut(&address) {
            route.left(backend);
            route.waiting.insert(id, Waiting { since: now, tried: Duration::ZERO });
        }
    }

    /// What time makes of those that wait: they have waited too long, or their backends are tried again.
    pub(crate) fn tick(&mut self, now: Duration) -> Vec<(ConnectionId, Course)> {
        self.routes.values_mut().flat_map(|route| route.tick(now)).collect()
    }

    /// Whether it is to be said that connections wait at an address. Whoever asks, says it.
    pub(crate) fn tells(&mut self, address: SocketAddr, now: Duration) -> bool {
        self.routes.get_mut(&address).is_some_and(|route| route.tells(now))
    }

    /// Of which addresses it is to be said that connections wait there. Whoever asks, says it.
    pub(crate) fn tell(&mut self, now: Duration) -> Vec<SocketAddr> {
        let telling =
            self.routes.iter_mut().filter_map(|(at, route)| route.tells(now).then_some(*at));
        telling.collect()
    }

    /// Whoever was told is gone.
    pub(crate) fn untold(&mut self) {
        self.routes.values_mut().for_each(|route| route.told = None);
    }

    /// How many connections to a backend are open.
    pub(crate) fn open(&self, backend: SocketAddr) -> u64 {
        let open = self.routes.values().filter_map(|route| route.backends.get(&backend));
        open.map(|counts| counts.open).sum()
    }

    /// The connections that wait, with their addresses.
    pub(crate) fn waiting(&self) -> impl Iterator<Item = (SocketAddr, ConnectionId)> + '_ {
        let ids = |(at, route): (&SocketAddr, &'_ Route)| {
            let at = *at;
            route.waiting.keys().map(move |id| (at, *id)).collect::<Vec<_>>()
        };
        self.routes.iter().flat_map(ids)
    }

    /// A connection that is not there, whoever thought it was.
    pub(crate) fn lost(&mut self, address: SocketAddr, id: ConnectionId) {
        if let Some(route) = self.routes.get_mut(&address) {
            route.waiting.remove(&id);
        }
    }

    /// Connections that were open are gone, those of whoever had this board before.
    pub(crate) fn none_is_open(&mut self) {
        let routes = self.routes.values_mut();
        routes.flat_map(|route| route.backends.values_mut()).for_each(|counts| counts.open = 0);
    }

    /// A connection is open that was opened by whoever had this board before.
    pub(crate) fn is_open(&mut self, address: SocketAddr, backend: SocketAddr) {
        let route = self.routes.entry(address).or_default();
        route.backends.entry(backend).or_default().open += 1;
    }

    /// What there is and was.
    pub(crate) fn counts(&self) -> Counts {
        let counts = self.routes.iter().map(|(at, route)| {
            let queued = route.waiting.len() as u64;
            let (total, refused, backends) = (route.total, route.refused, route.backends.clone());
            (*at, AddressCounts { queued, total, refused, backends })
        });
        Counts(counts.collect())
    }

    /// An address that is not in the table is remembered as long as anything of it is left.
    fn forget(&mut self, address: SocketAddr) {
        let is_over = |route: &Route| {
            route.to.is_none() && route.backends.values().all(|counts| counts.open == 0)
        };
        if self.routes.get(&address).is_some_and(is_over) {
            self.routes.remove(&address);
        }
    }
}

impl Route {
    /// What becomes of a connection that has met no backend yet.
    fn admit(&mut self, id: ConnectionId, now: Duration) -> Course {
        match &self.to {
            Some(To::Forward { .. }) => self.forward(id, &[]),
            Some(To::Hold { limit, then, .. }) => {
                let (limit, then) = (*limit as usize, then.clone());
                self.hold(id, Waiting { since: now, tried: now }, limit, then)
            }
            Some(To::Refuse(refusal)) => {
                let refusal = refusal.clone();
                self.refuse(refusal)
            }
            None => self.refuse(Refusal::Close),
        }
    }

    fn refuse(&mut self, refusal: Refusal) -> Course {
        self.refused += 1;
        Course::Refuse(refusal)
    }

    /// To the next backend in turn of those that are not among `without`.
    fn forward(&mut self, id: ConnectionId, without: &[SocketAddr]) -> Course {
        let Some(To::Forward { to }) = &self.to else { return self.refuse(Refusal::Close) };
        let turns = (0..to.len()).filter_map(|step| to.get((self.turn + step) % to.len()));
        let Some(backend) = turns.copied().find(|backend| !without.contains(backend)) else {
            return self.refuse(Refusal::Close);
        };
        self.turn = (self.turn + 1) % to.len();
        let counts = self.backends.entry(backend).or_default();
        counts.open += 1;
        counts.total += 1;
        self.waiting.remove(&id);
        Course::Forward(backend)
    }

    fn hold(&mut self, id: ConnectionId, waiting: Waiting, limit: usize, then: Refusal) -> Course {
        if self.waiting.len() >= limit {
            return self.refuse(then);
        }
        self.waiting.insert(id, waiting);
        Course::Hold
    }

    fn forward_all(&mut self) -> Vec<(ConnectionId, Course)> {
        let ids: Vec<ConnectionId> = self.waiting.keys().copied().collect();
        // Its backends are others now, or can be reached now.
        self.refused_by.clear();
        ids.into_iter().map(|id| (id, self.forward(id, &[]))).collect()
    }

    fn refuse_all(&mut self, refusal: &Refusal) -> Vec<(ConnectionId, Course)> {
        let ids = std::mem::take(&mut self.waiting).into_keys();
        ids.map(|id| (id, self.refuse(refusal.clone()))).collect()
    }

    fn tick(&mut self, now: Duration) -> Vec<(ConnectionId, Course)> {
        let (time, then) = match &self.to {
            Some(To::Hold { time, then, .. }) => (*time, then.clone()),
            Some(To::Forward { .. }) => (UNREACHED_MAX, Refusal::Close),
            Some(To::Refuse(_)) | None => return Vec::new(),
        };
        let is_over = |waiting: &Waiting| now.saturating_sub(waiting.since) >= time;
        let over = self.waiting.iter().filter(|(_, waiting)| is_over(waiting));
        let over: Vec<ConnectionId> = over.map(|(id, _)| *id).collect();
        let mut courses = Vec::new();
        for id in over {
            self.waiting.remove(&id);
            self.refused_by.remove(&id);
            courses.push((id, self.refuse(then.clone())));
        }
        if matches!(self.to, Some(To::Forward { .. })) {
            let is_due = |waiting: &Waiting| now.saturating_sub(waiting.tried) >= TRY_EVERY;
            let due = self.waiting.iter().filter(|(_, waiting)| is_due(waiting));
            let ids: Vec<ConnectionId> = due.map(|(id, _)| *id).collect();
            courses.extend(ids.into_iter().map(|id| (id, self.forward(id, &[]))));
        }
        courses
    }

    fn tells(&mut self, now: Duration) -> bool {
        let is_idle = matches!(self.to, Some(To::Hold { .. })) && !self.waiting.is_empty();
        let is_due = self.told.is_none_or(|told| now.saturating_sub(told) >= TELL_EVERY);
        if is_idle && is_due {
            self.told = Some(now);
        }
        is_idle && is_due
    }

    fn left(&mut self, backend: SocketAddr) {
        if let Some(counts) = self.backends.get_mut(&backend) {
            counts.open = counts.open.saturating_sub(1);
            if counts.open == 0 {
                self.forget_backends();
            }
        }
    }

    /// What was once a backend is not remembered for ever.
    fn forget_backends(&mut self) {
        let listed = match &self.to {
            Some(To::Forward { to }) => to.as_slice(),
            Some(To::Hold { .. } | To::Refuse(_)) | None => &[],
        };
        self.backends.retain(|backend, counts| counts.open > 0 || listed.contains(backend));
    }
}

#[cfg(test)]
mod laws;
#[cfg(test)]
mod tests;
