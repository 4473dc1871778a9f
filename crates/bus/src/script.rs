//! Faults of the in-process bus, by script: the same script and the same traffic give the same deliveries.

use std::collections::VecDeque;
use std::ops::Range;
use std::time::Duration;

use crate::subject::{Pattern, Subject};

/// One line of a script: which deliveries it concerns, and what becomes of them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rule {
    /// The part of a conversation that is hit.
    pub leg: Leg,
    /// The subjects that are hit.
    pub pattern: Pattern,
    /// Which of the deliveries on this leg and these subjects, counted from zero since the script was set:
    /// `0..1` is the first, `3..u64::MAX` all from the fourth on.
    pub which: Range<u64>,
    /// What becomes of them.
    pub fault: Fault,
}

/// A part of a conversation that can go wrong by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Leg {
    /// What was published, on its way to all subscribers.
    Message,
    /// What was asked, on its way to a server.
    Request,
    /// What a server answered, on its way back; the request was handled.
    Answer,
}

/// What becomes of a delivery.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Fault {
    /// It never arrives.
    Drop,
    /// It arrives twice.
    Duplicate,
    /// It arrives this much later, by tokio's clock.
    DelayFor(Duration),
    /// It arrives right after this many further deliveries that the rule's leg and pattern match.
    DelayBehind(u64),
    /// Deliveries wait until there are this many, and arrive in reverse order.
    Reverse(usize),
}

/// What the bus has to do now for one delivery that was offered.
#[derive(Debug)]
pub(crate) enum Step<D> {
    Deliver(D),
    DeliverAfter(Duration, D),
}

/// The rules with what each has seen and holds back.
#[derive(Debug)]
pub(crate) struct Script<D> {
    rules: Vec<Running<D>>,
}

#[derive(Debug)]
struct Running<D> {
    rule: Rule,
    seen: u64,
    held: VecDeque<Held<D>>,
}

#[derive(Debug)]
struct Held<D> {
    // The number, as the rule counts, of the delivery after which this one is let go.
    behind: u64,
    delivery: D,
}

impl<D: Clone> Script<D> {
    pub(crate) fn new(rules: Vec<Rule>) -> Self {
        let running = |rule| Running { rule, seen: 0, held: VecDeque::new() };
        Self { rules: rules.into_iter().map(running).collect() }
    }

    /// Everything that is held back, rule by rule, in the order it was offered.
    pub(crate) fn into_held(self) -> Vec<D> {
        let held = self.rules.into_iter().flat_map(|running| running.held);
        held.map(|held| held.delivery).collect()
    }

    /// What to do now that `delivery` is offered: with it, and with what it lets go. The first rule that
    /// matches decides; a rule after it does not even count the delivery.
    pub(crate) fn offer(&mut self, leg: Leg, subject: &Subject, delivery: D) -> Vec<Step<D>> {
        let matching = self
            .rules
            .iter_mut()
            .find(|running| running.rule.leg == leg && running.rule.pattern.matches(subject));
        match matching {
            None => vec![Step::Deliver(delivery)],
            Some(running) => running.offer(delivery),
        }
    }
}

impl<D: Clone> Running<D> {
    fn offer(&mut self, delivery: D) -> Vec<Step<D>> {
        let number = self.seen;
        self.seen += 1;
        let mut steps = Vec::new();
        if self.rule.which.contains(&number) {
            match self.rule.fault {
                Fault::Drop => {}
                Fault::Duplicate => {
                    steps.extend([Step::Deliver(delivery.clone()), Step::Deliver(delivery)]);
                }
                Fault::DelayFor(duration) => steps.push(Step::DeliverAfter(duration, delivery)),
                Fault::DelayBehind(further) => {
                    let behind = number.saturating_add(further);
                    self.held.push_back(Held { behind, delivery });
                }
                Fault::Reverse(run) => {
                    self.held.push_front(Held { behind: u64::MAX, delivery });
                    if self.held.len() >= run {
                        let run = self.held.drain(..);
                        steps.extend(run.map(|held| Step::Deliver(held.delivery)));
                    }
                }
            }
        } else {
            steps.push(Step::Deliver(delivery));
        }
        while let Some(held) = self.held.pop_front_if(|held| held.behind <= number) {
            steps.push(Step::Deliver(held.delivery));
        }
        steps
    }
}
