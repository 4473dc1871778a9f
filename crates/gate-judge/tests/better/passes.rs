//! How passes are counted: the settle time, the distance, freshness, and times that run back.

use crate::fleet::{Judged, at, each_outcome, each_statement, opening, well};
use chrono::{DateTime, Utc};
use gate_judge::{
    BeforeSend, BetweenPasses, EmptyGate, Found, Gate, NotCounted, NothingToJudge, Opening,
    Outcome, Policy, Readiness, Rules, SetBack, SettleFrom,
};
use std::time::Duration;

type Opened = Result<(), NothingToJudge>;

fn relay(rules: Rules) -> Result<Judged, NothingToJudge> {
    Judged::open(opening("relay", &["anvil"]), rules)
}

#[test]
fn settle_counts_from_the_first_pass() -> Opened {
    // First good two minutes after the send: three passes within 80 s.
    let late = [120, 160, 200];
    let rules = Rules { settle_from: SettleFrom::Send, ..Rules::default() };
    let mut reference = relay(rules)?;
    let mut better = relay(Rules::default())?;
    for seconds in late {
        let _ = reference.well(seconds);
        assert_eq!(better.well(seconds), Found::Counted);
    }
    assert_eq!(reference.end(), ("passed", ""));
    assert_eq!(better.end(), ("judging", ""));
    assert_eq!(better.well(239), Found::NotCounted(NotCounted::TooClose));
    assert_eq!(better.well(240), Found::Ended);
    assert_eq!(better.end(), ("passed", ""));
    Ok(())
}

#[test]
fn evidence_between_two_passes_counts_at_once() -> Opened {
    let mut broken = well(60);
    each_outcome(&mut broken, "relay", |module| module.outcome = Outcome::Failed);
    let mut wanting = well(60);
    wanting.served = Ok([].into());

    let rules = Rules { between_passes: BetweenPasses::Wait, ..Rules::default() };
    let mut reference = relay(rules)?;
    assert_eq!(reference.well(40), Found::Counted);
    assert_eq!(reference.gate.readiness(at(79), &rules), Readiness::TooEarly);
    assert_eq!(reference.by(61, &broken), Found::TooEarly);
    assert_eq!(reference.passes(), 1);

    let mut better = relay(Rules::default())?;
    assert_eq!(better.well(40), Found::Counted);
    assert_eq!(better.by(61, &wanting), Found::Wanting);
    assert_eq!(better.passes(), 0, "a miss between two passes ends the row");
    assert_eq!(better.well(62), Found::Counted);
    assert_eq!(better.by(63, &broken), Found::Ended);
    assert_eq!(better.end(), ("broken", "report_failed"));
    Ok(())
}

#[test]
fn what_is_good_between_two_passes_is_not_counted() -> Opened {
    let mut better = relay(Rules::default())?;
    assert_eq!(better.well(40), Found::Counted);
    for seconds in [45, 60, 79] {
        assert_eq!(better.well(seconds), Found::NotCounted(NotCounted::TooClose));
    }
    assert_eq!(better.passes(), 1);
    assert_eq!(better.well(80), Found::Counted);
    Ok(())
}

#[test]
fn a_machine_that_said_healthy_and_died_passes_nothing() -> Opened {
    let last_word = well(35);
    let passes = [40, 80, 120, 160];

    let mut reference = relay(Rules { fresh: None, ..Rules::default() })?;
    let mut better = relay(Rules::default())?;
    for seconds in passes {
        let _ = reference.by(seconds, &last_word);
        let _ = better.by(seconds, &last_word);
    }
    assert_eq!(reference.end(), ("passed", ""));
    assert_eq!(better.passes(), 0);
    assert_eq!(better.by(601, &last_word), Found::Ended);
    assert_eq!(better.end(), ("cannot tell", "statement_too_old"));
    Ok(())
}

#[test]
fn a_counted_pass_needs_a_word_newer_than_the_last() -> Opened {
    let mut policy = Rules::default().policy;
    policy.every = Duration::from_secs(1);
    let mut better = relay(Rules::default().with_policy(policy))?;
    assert_eq!(better.by(40, &well(39)), Found::Counted);
    let machine = "anvil".to_owned();
    let silent = Found::NotCounted(NotCounted::NoNewStatement { machine });
    assert_eq!(better.by(42, &well(39)), silent);
    assert_eq!(better.passes(), 1, "nothing is wanting: the row goes on");
    assert_eq!(better.by(43, &well(42)), Found::Counted);
    Ok(())
}

#[test]
fn a_word_is_fresh_from_now_back_to_the_limit() -> Opened {
    let cases = [(40, true), (25, true), (24, false), (41, false)];
    for (heard, is_fresh) in cases {
        let found = relay(Rules::default())?.by(40, &well(heard));
        assert_eq!(found == Found::Counted, is_fresh, "heard at {heard}");
    }
    Ok(())
}

#[test]
fn an_empty_statement_is_a_word_too() -> Opened {
    let mut nothing_runs = well(39);
    each_statement(&mut nothing_runs, |statement| statement.resources.clear());
    let mut ledger = Judged::open(opening("ledger", &["anvil"]), Rules::default())?;
    assert_eq!(ledger.by(40, &nothing_runs), Found::Counted);
    Ok(())
}

#[test]
fn a_word_from_the_future_is_not_fresh() -> Opened {
    let mut better = relay(Rules::default())?;
    assert_eq!(better.by(40, &well(3_640)), Found::Wanting);
    Ok(())
}

#[test]
fn a_gate_with_nothing_to_judge_never_passes() {
    let empty = || opening("relay", &[]);
    let rules = Rules { empty_gate: EmptyGate::Passes, ..Rules::default() };
    let mut reference = Judged::open(empty(), rules).ok();
    for seconds in [40, 80, 120, 160] {
        let _ = reference.as_mut().map(|gate| gate.well(seconds));
    }
    assert_eq!(reference.as_ref().map(Judged::end), Some(("passed", "")));

    assert!(Judged::open(empty(), Rules::default()).is_err());
    // One that was opened under other rules is there all the same.
    let mut kept = Gate::open(empty(), &rules).unwrap();
    let found = |gate: &mut Gate, seconds| {
        gate.judge(&well(seconds).index(), &Default::default(), at(seconds), &Rules::default())
            .found
    };
    assert_eq!(found(&mut kept, 40), Found::Wanting);
    assert_eq!(found(&mut kept, 601), Found::Ended);
    let code = |gate: &Gate| gate.last_miss().map(|miss| miss.cause.code());
    assert_eq!(code(&kept), Some("nothing_to_judge"));
}

#[test]
fn nothing_is_judged_before_the_send() -> Opened {
    let rules = Rules { before_send: BeforeSend::Judged, fresh: None, ..Rules::default() };
    let mut reference = relay(rules)?;
    assert_eq!(reference.by(-10, &well(5)), Found::Counted);

    let mut better = relay(Rules::default())?;
    assert_eq!(better.gate.readiness(at(-10), &Rules::default()), Readiness::BeforeSend);
    let before = better.gate.clone();
    assert_eq!(better.well(-10), Found::BeforeSend);
    assert_eq!(better.gate, before);
    assert_eq!(better.gate.readiness(at(0), &Rules::default()), Readiness::Judges);
    Ok(())
}

#[test]
fn clock_set_back_moves_nothing() -> Opened {
    // Wanting until second 40, then the clock goes half a minute back, and stays good.
    let mut wanting = well(39);
    wanting.reports.clear();
    let rules = Rules { set_back: SetBack::Counts, ..Rules::default() };
    let mut reference = relay(rules)?;
    let mut better = relay(Rules::default())?;
    assert_eq!(reference.by(40, &wanting), Found::Wanting);
    assert_eq!(better.by(40, &wanting), Found::Wanting);

    assert_eq!(reference.well(10), Found::Counted);
    assert_eq!(better.well(10), Found::NotCounted(NotCounted::SetBack));
    assert_eq!(better.passes(), 0);
    assert_eq!(better.by(11, &wanting), Found::Wanting, "what is wanting is wanting at any time");
    assert_eq!(better.well(40), Found::Counted, "the same time again is not back");
    assert_eq!(better.well(-3_600), Found::BeforeSend);
    assert_eq!(better.passes(), 1);
    Ok(())
}

#[test]
fn unobserved_time_moves_the_bound_and_never_the_settle_time() -> Opened {
    let rules = Rules::default();
    let mut better = relay(rules)?;
    assert_eq!(better.gate.bound_ends(&rules), at(600));
    assert_eq!(better.well(580), Found::Counted);
    better.gate.unobserved(Duration::from_secs(100));
    assert_eq!(better.gate.bound_ends(&rules), at(700));
    assert_eq!(better.gate.earliest_pass(at(680), &rules), at(720));
    let mut wanting = well(690);
    wanting.reports.clear();
    assert_eq!(better.by(691, &wanting), Found::Wanting, "the bound has moved");
    assert_eq!(better.by(701, &wanting), Found::Ended);
    Ok(())
}

#[test]
fn the_earliest_pass_is_told() -> Opened {
    let rules = Rules::default();
    let mut better = relay(rules)?;
    let told = |gate: &Judged, seconds| gate.gate.earliest_pass(at(seconds), &rules);
    assert_eq!(told(&better, 10), at(130), "settle time beats three passes");
    let _ = better.well(10);
    assert_eq!(told(&better, 20), at(130));
    for seconds in [50, 90] {
        let _ = better.well(seconds);
    }
    assert_eq!(told(&better, 95), at(130));
    assert_eq!(better.well(130), Found::Ended);
    let slow = Rules { policy: Policy { every: Duration::from_secs(90), ..rules.policy }, ..rules };
    let unjudged = relay(slow)?;
    assert_eq!(unjudged.gate.earliest_pass(at(10), &slow), at(190), "passes beat the settle time");
    Ok(())
}

#[test]
fn times_at_the_ends_of_time_are_no_trouble() -> Opened {
    let rules = Rules::default();
    for since in [DateTime::<Utc>::MIN_UTC, at(0), DateTime::<Utc>::MAX_UTC] {
        for now in [DateTime::<Utc>::MIN_UTC, at(40), DateTime::<Utc>::MAX_UTC] {
            let opening = Opening { since, ..opening("relay", &["anvil"]) };
            let mut gate = Judged::open(opening, rules)?.gate;
            gate.unobserved(Duration::MAX);
            let _ = gate.judge(&well(39).index(), &Default::default(), now, &rules);
            assert_eq!(gate.bound_ends(&rules), DateTime::<Utc>::MAX_UTC);
            assert!(gate.earliest_pass(now, &rules) >= now);
        }
    }
    Ok(())
}
