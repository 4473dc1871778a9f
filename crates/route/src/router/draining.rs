//! Waiting until no connection to a backend is left, with a limit.

use std::net::SocketAddr;
use std::time::Duration;

use super::pair::Order;
use super::{Router, now};
use crate::words::{Answer, Drained};

/// The last part of a limit, in which connections are closed as they become quiet.
const EASE_MAX: Duration = Duration::from_secs(1);

/// Somebody waits.
#[derive(Debug)]
pub(super) struct Drain {
    /// The number of what was asked.
    id: u64,
    backend: SocketAddr,
    ease_at: Duration,
    cut_at: Duration,
    stage: Stage,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    Waiting,
    Easing,
    /// So many were left.
    Cutting(u64),
}

impl Router {
    pub(super) fn drain(&mut self, id: u64, backend: SocketAddr, limit: Duration) {
        let cut_at = now().saturating_add(limit);
        let ease_at = cut_at.saturating_sub((limit / 2).min(EASE_MAX));
        self.drains.push(Drain { id, backend, ease_at, cut_at, stage: Stage::Waiting });
        self.mind_drains();
    }

    /// Does what time asks for, and answers where nothing is left.
    pub(super) fn mind_drains(&mut self) {
        if self.drains.is_empty() {
            return;
        }
        let now = now();
        for mut drain in std::mem::take(&mut self.drains) {
            let open = self.board.open(drain.backend);
            if open == 0 {
                let drained = match drain.stage {
                    Stage::Waiting | Stage::Easing => Drained::Empty,
                    Stage::Cutting(cut) => Drained::Cut(cut),
                };
                self.answer(drain.id, Answer::Drained(drained));
                continue;
            }
            match drain.stage {
                Stage::Waiting | Stage::Easing if now >= drain.cut_at => {
                    drain.stage = Stage::Cutting(open);
                    self.order(drain.backend, Order::Cut);
                }
                Stage::Waiting if now >= drain.ease_at => {
                    drain.stage = Stage::Easing;
                    self.order(drain.backend, Order::Ease);
                }
                Stage::Waiting | Stage::Easing | Stage::Cutting(_) => {}
            }
            self.drains.push(drain);
        }
    }

    /// Nobody waits any more: what was not cut goes on.
    pub(super) fn drop_drains(&mut self) {
        for drain in std::mem::take(&mut self.drains) {
            if drain.stage == Stage::Easing {
                self.order(drain.backend, Order::Go);
            }
        }
    }

    fn order(&self, backend: SocketAddr, order: Order) {
        for open in self.open.values().filter(|open| open.backend == backend) {
            open.orders.send_replace(order);
        }
    }
}
