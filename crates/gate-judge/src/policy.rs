//! How long and how often a gate must be found good, and when it has waited long enough.

use crate::rules::SettleFrom;
use core::time::Duration;
use serde::{Deserialize, Serialize};

/// The four values that a plan may set for its gates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Policy {
    /// Judgings in a row that must find it good.
    pub passes: u32,
    /// The least distance between two counted passes.
    pub every: Duration,
    /// How long it must have been good.
    pub settle: Duration,
    /// How long a gate may go on wanting.
    pub bound: Duration,
}

impl Default for Policy {
    /// Three passes, 40 s apart, two minutes of being good, ten minutes at most.
    fn default() -> Self {
        Self {
            passes: 3,
            every: Duration::from_secs(40),
            settle: Duration::from_mins(2),
            bound: Duration::from_mins(10),
        }
    }
}

impl Policy {
    /// Why no gate under this policy could ever pass; `None` when one can.
    ///
    /// The judging does not look at this: whoever declares a policy does, and refuses it there.
    #[must_use]
    pub fn never_passes(&self, settle_from: SettleFrom) -> Option<NeverPasses> {
        let Self { passes, every, settle, bound } = *self;
        let needed = every.saturating_mul(passes.saturating_sub(1));
        if bound < needed {
            return Some(NeverPasses::BoundWithinPasses { needed, bound });
        }
        match settle_from {
            SettleFrom::Send if bound <= settle => {
                Some(NeverPasses::BoundWithinSettle { settle, bound })
            }
            SettleFrom::Send | SettleFrom::FirstPass => None,
        }
    }
}

/// Why no gate can pass under a policy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NeverPasses {
    /// The passes alone take longer than the bound allows.
    #[error("the passes take {needed:?}, longer than the bound of {bound:?}")]
    BoundWithinPasses {
        /// From the first pass to the last.
        needed: Duration,
        /// The policy's.
        bound: Duration,
    },
    /// The bound falls before the settle time since the send is over.
    #[error(
        "the settle time of {settle:?} since the send leaves nothing of the bound of {bound:?}"
    )]
    BoundWithinSettle {
        /// The policy's.
        settle: Duration,
        /// The policy's.
        bound: Duration,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(passes: u32, every_s: u64, settle_s: u64, bound_s: u64) -> Policy {
        let [every, settle, bound] = [every_s, settle_s, bound_s].map(Duration::from_secs);
        Policy { passes, every, settle, bound }
    }

    #[test]
    fn a_policy_that_can_never_pass_is_told() {
        let passes = |needed_s, bound_s| {
            let [needed, bound] = [needed_s, bound_s].map(Duration::from_secs);
            Some(NeverPasses::BoundWithinPasses { needed, bound })
        };
        let settle = |settle_s, bound_s| {
            let [settle, bound] = [settle_s, bound_s].map(Duration::from_secs);
            Some(NeverPasses::BoundWithinSettle { settle, bound })
        };
        let cases = [
            (Policy::default(), SettleFrom::FirstPass, None),
            (Policy::default(), SettleFrom::Send, None),
            (policy(3, 40, 0, 79), SettleFrom::FirstPass, passes(80, 79)),
            (policy(3, 40, 0, 80), SettleFrom::FirstPass, None),
            (policy(1, 40, 0, 0), SettleFrom::FirstPass, None),
            (policy(0, 40, 0, 0), SettleFrom::FirstPass, None),
            (policy(1, 0, 120, 120), SettleFrom::Send, settle(120, 120)),
            (policy(1, 0, 120, 121), SettleFrom::Send, None),
            (policy(1, 0, 120, 120), SettleFrom::FirstPass, None),
            (
                policy(u32::MAX, u64::MAX, 0, 1),
                SettleFrom::Send,
                Some(NeverPasses::BoundWithinPasses {
                    needed: Duration::MAX,
                    bound: Duration::from_secs(1),
                }),
            ),
        ];
        for (policy, settle_from, expected) in cases {
            assert_eq!(policy.never_passes(settle_from), expected, "{policy:?} {settle_from:?}");
        }
    }
}
