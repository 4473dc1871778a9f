//! Laws of the board: whatever happens in whatever order, each connection is in one place, and what is counted is what is there.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;

/// What can happen, with small numbers so that things meet.
#[derive(Debug, Clone)]
enum Happening {
    Turn(u8, Option<To>),
    Arrives(u8),
    /// The oldest connection that is on its way or open reaches nobody.
    Unreached,
    /// The newest one ends.
    Ends,
    Time(u16),
}

fn address(number: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 80 + u16::from(number)))
}

fn backend(number: u8) -> SocketAddr {
    SocketAddr::from(([127, 0, 0, 1], 8000 + u16::from(number)))
}

fn to() -> impl Strategy<Value = To> {
    let refusal = || Refusal::Http { why: "later".to_owned() };
    prop_oneof![
        prop::collection::vec((0..4_u8).prop_map(backend), 1..4).prop_map(|to| To::Forward { to }),
        (0..4_u32, 0..2000_u64).prop_map(move |(limit, time)| To::Hold {
            limit,
            time: Duration::from_millis(time),
            then: refusal(),
        }),
        Just(To::Refuse(Refusal::Close)),
    ]
}

fn happenings() -> impl Strategy<Value = Vec<Happening>> {
    let one = prop_oneof![
        2 => (0..3_u8, prop::option::weighted(0.8, to())).prop_map(|(at, to)| Happening::Turn(at, to)),
        4 => (0..3_u8).prop_map(Happening::Arrives),
        3 => Just(Happening::Unreached),
        2 => Just(Happening::Ends),
        2 => (0..1500_u16).prop_map(Happening::Time),
    ];
    prop::collection::vec(one, 0..60)
}

/// What whoever owns the board has.
#[derive(Debug, Default)]
struct Owner {
    board: Board,
    table: BTreeMap<SocketAddr, To>,
    at: BTreeMap<ConnectionId, SocketAddr>,
    held: BTreeSet<ConnectionId>,
    open: BTreeMap<ConnectionId, SocketAddr>,
    refused: BTreeSet<ConnectionId>,
    ended: BTreeSet<ConnectionId>,
    now: Duration,
}

impl Owner {
    fn take(&mut self, id: ConnectionId, course: Course) {
        self.held.remove(&id);
        assert!(!self.open.contains_key(&id) && !self.refused.contains(&id), "{id:?} is elsewhere");
        match course {
            Course::Forward(backend) => {
                let listed = self.table.get(&self.at[&id]);
                let is_listed = matches!(listed, Some(To::Forward { to }) if to.contains(&backend));
                assert!(is_listed, "{id:?} goes to {backend}, and the table says {listed:?}");
                self.open.insert(id, backend);
            }
            Course::Hold => drop(self.held.insert(id)),
            Course::Refuse(_) => drop(self.refused.insert(id)),
        }
    }

    fn follow(&mut self, courses: Vec<(ConnectionId, Course)>) {
        let mut last: BTreeMap<SocketAddr, ConnectionId> = BTreeMap::new();
        for (id, course) in courses {
            assert!(self.held.contains(&id), "{id:?} does not wait");
            if let Course::Forward(_) = course {
                let before = last.insert(self.at[&id], id);
                assert!(before.is_none_or(|before| before < id), "{id:?} is out of order");
            }
            self.take(id, course);
        }
    }

    fn happen(&mut self, happening: Happening) {
        match happening {
            Happening::Turn(number, to) => {
                let at = address(number);
                match &to {
                    Some(to) => drop(self.table.insert(at, to.clone())),
                    None => drop(self.table.remove(&at)),
                }
                let courses = self.board.turn(at, to, self.now);
                self.follow(courses);
            }
            Happening::Arrives(number) => {
                let (at, id) = (address(number), ConnectionId(self.at.len() as u64));
                self.at.insert(id, at);
                let course = self.board.arrived(at, id, self.now);
                self.take(id, course);
            }
            Happening::Unreached => {
                let Some((id, backend)) = self.open.pop_first() else { return };
                let course = self.board.unreached(self.at[&id], id, backend, self.now);
                self.take(id, course);
            }
            Happening::Ends => {
                let Some((id, backend)) = self.open.pop_last() else { return };
                self.board.ended(self.at[&id], id, backend);
                self.ended.insert(id);
            }
            Happening::Time(milliseconds) => {
                self.now += Duration::from_millis(u64::from(milliseconds));
                let courses = self.board.tick(self.now);
                self.follow(courses);
            }
        }
    }

    fn check(&self) {
        let waiting: BTreeSet<ConnectionId> = self.board.waiting().map(|(_, id)| id).collect();
        assert_eq!(waiting, self.held);
        let all = self.held.len() + self.open.len() + self.refused.len() + self.ended.len();
        assert_eq!(all, self.at.len());
        for number in 0..4 {
            let to = backend(number);
            let open = self.open.values().filter(|one| **one == to).count();
            assert_eq!(self.board.open(to), open as u64, "{to}");
        }
        assert_eq!(self.board.table().0, self.table);
        for id in &self.held {
            let to = &self.table[&self.at[id]];
            assert!(!matches!(to, To::Refuse(_)), "{id:?} waits where everybody is refused");
        }
        let known: BTreeSet<SocketAddr> = self.board.counts().0.into_keys().collect();
        let open_from = self.open.keys().map(|id| self.at[id]);
        assert_eq!(known, self.table.keys().copied().chain(open_from).collect());
    }
}

proptest! {
    #[test]
    fn each_connection_is_in_one_place_and_is_counted_there(happenings in happenings()) {
        let mut owner = Owner::default();
        for happening in happenings {
            owner.happen(happening);
            owner.check();
        }
    }

    /// Nobody waits for ever: of what is held, nothing is left once its longest time is over.
    #[test]
    fn nobody_waits_for_ever(happenings in happenings()) {
        let mut owner = Owner::default();
        happenings.into_iter().for_each(|happening| owner.happen(happening));
        for _ in 0..60 {
            owner.happen(Happening::Time(100));
            while !owner.open.is_empty() {
                owner.happen(Happening::Unreached);
            }
        }
        owner.check();
        prop_assert!(owner.held.is_empty(), "{:?} still wait", owner.held);
    }

    /// Another router that is handed the board goes on as this one would.
    #[test]
    fn what_is_handed_over_decides_the_same(before in happenings(), after in happenings()) {
        let mut owner = Owner::default();
        before.into_iter().for_each(|happening| owner.happen(happening));
        // What was on its way stands still, and waits.
        for (id, backend) in std::mem::take(&mut owner.open) {
            owner.board.taken_back(owner.at[&id], id, backend, owner.now);
            owner.held.insert(id);
        }
        let json = serde_json::to_vec(&owner.board).unwrap();
        owner.board = serde_json::from_slice(&json).unwrap();
        owner.board.none_is_open();
        let courses = owner.board.tick(owner.now);
        owner.follow(courses);
        after.into_iter().for_each(|happening| owner.happen(happening));
        let waiting: BTreeSet<ConnectionId> = owner.board.waiting().map(|(_, id)| id).collect();
        prop_assert_eq!(waiting, owner.held);
    }
}
