//! Faults that operators met in the field, and what the gate makes of them.

use crate::fleet::{
    DECLARATION, Judged, at, carrying, each_outcome, each_report, each_resource, each_statement,
    opening, well,
};
use gate_judge::{Facts, Found, Gate, NothingToJudge, Outcome, ResourceState, Rules};

type Opened = Result<(), NothingToJudge>;

fn relay() -> Result<Judged, NothingToJudge> {
    Judged::open(opening("relay", &["anvil"]), Rules::default())
}

fn state_all(facts: &mut Facts, state: &ResourceState) {
    each_resource(facts, |resource| resource.state = state.clone());
}

#[test]
fn stale_status_is_no_success() -> Opened {
    // The artifact takes half a minute to arrive. Until then the machine goes on stating that all
    // is healthy: under the declaration, the build and the process of before.
    let stale = |seconds| {
        let mut facts = well(seconds);
        each_report(&mut facts, |report| report.declaration = Some(DECLARATION - 1));
        each_statement(&mut facts, |statement| statement.declaration = Some(DECLARATION - 1));
        each_resource(&mut facts, |resource| {
            resource.build = Some("relay-1".to_owned());
            resource.execution = Some("an-older-run".to_owned());
        });
        facts
    };
    // Then it reports; and one late statement of before comes after that.
    let late = |seconds| {
        let mut facts = well(seconds);
        facts.statements = stale(seconds).statements;
        facts
    };
    let mut gate = relay()?;
    for seconds in [2, 7, 12, 17, 22, 27] {
        assert_eq!(gate.by(seconds, &stale(seconds - 1)), Found::Wanting);
    }
    assert_eq!(gate.by(31, &late(30)), Found::Wanting);
    assert_eq!(gate.passes(), 0);
    assert_eq!(gate.well(35), Found::Counted);
    Ok(())
}

#[test]
fn alternating_failures_never_pass() -> Opened {
    let states = ["unhealthy", "no answer"].map(|state| ResourceState::Other(state.to_owned()));
    let mut gate = relay()?;
    for (turn, seconds) in (5..=605).step_by(5).enumerate() {
        let mut facts = well(seconds - 1);
        // Now and then it is good for a moment, too short to matter.
        if turn % 3 != 2 {
            state_all(&mut facts, &states[turn % 2]);
        }
        let _ = gate.by(seconds, &facts);
        assert!(gate.passes() <= 1);
    }
    assert_eq!(gate.end(), ("failed", "resource_unhealthy"));
    Ok(())
}

#[test]
fn any_miss_starts_the_settle_time_anew() -> Opened {
    let mut gate = relay()?;
    for seconds in [9, 49, 89] {
        assert_eq!(gate.well(seconds), Found::Counted);
    }
    let mut starting = well(99);
    state_all(&mut starting, &ResourceState::Starting);
    assert_eq!(gate.by(100, &starting), Found::Wanting);
    for seconds in [105, 145, 185] {
        assert_eq!(gate.well(seconds), Found::Counted);
    }
    assert_eq!(gate.well(225), Found::Ended);
    Ok(())
}

#[test]
fn applied_is_not_passed() -> Opened {
    // The machine reports the declaration applied, and then falls back to the build of before.
    let mut gate = relay()?;
    assert_eq!(gate.well(40), Found::Counted);
    let mut fallen_back = well(79);
    each_resource(&mut fallen_back, |resource| resource.build = Some("relay-1".to_owned()));
    assert_eq!(gate.by(80, &fallen_back), Found::Wanting);
    assert_eq!(gate.passes(), 0);
    Ok(())
}

#[test]
fn green_while_nobody_is_listening_passes_nothing() -> Opened {
    let mut gate = Judged::open(opening("ledger", &["anvil", "birch"]), Rules::default())?;
    assert_eq!(gate.well(40), Found::Counted);
    // The agent of the second machine is killed; its last word was healthy.
    let last_word = well(41);
    let facts = |seconds| {
        let mut facts = well(seconds);
        let stated = last_word.statements.clone().unwrap_or_default();
        let birch = stated.get("birch").cloned();
        facts.statements.iter_mut().for_each(|all| {
            all.extend(birch.clone().map(|word| ("birch".to_owned(), word)));
        });
        facts
    };
    assert_eq!(gate.by(80, &facts(79)), Found::Wanting);
    let first = gate.gate.last_miss().and_then(|miss| miss.cause.pair());
    assert_eq!(first.map(|it| it.machine.as_str()), Some("birch"));
    Ok(())
}

#[test]
fn an_end_is_final() -> Opened {
    let mut gate = relay()?;
    for seconds in [10, 50, 90, 130] {
        let _ = gate.well(seconds);
    }
    assert_eq!(gate.end(), ("passed", ""));
    let ended = gate.gate.clone();
    let mut broken = well(139);
    each_outcome(&mut broken, "relay", |module| module.outcome = Outcome::Failed);
    assert_eq!(gate.by(140, &broken), Found::EndedBefore);
    assert_eq!(gate.gate, ended);
    Ok(())
}

#[test]
fn a_restarted_controller_goes_on_with_a_gate() -> Opened {
    let mut gate = Judged::open(carrying("relay", "anvil", &["ledger"]), Rules::default())?;
    assert_eq!(gate.well(10), Found::Counted);
    assert_eq!(gate.well(50), Found::Counted);
    let kept = serde_json::to_string(&gate.gate).unwrap();
    let again: Gate = serde_json::from_str(&kept).unwrap();
    assert_eq!(again, gate.gate);
    gate.gate = again;
    assert_eq!(gate.well(90), Found::Counted);
    assert_eq!(gate.well(130), Found::Ended);
    assert_eq!(gate.end(), ("passed", ""));
    Ok(())
}

#[test]
fn a_gate_is_summed_up_in_one_line() -> Opened {
    let rules = Rules::default();
    let mut gate = relay()?;
    let line = |gate: &Judged, rollback| gate.gate.summary(&rules, rollback);
    assert_eq!(line(&gate, None), "judging on anvil, c1 to c2: 0 of 3 passes");
    let _ = gate.by(5, &Facts { reports: [].into(), ..well(4) });
    assert_eq!(
        line(&gate, None),
        "judging on anvil, c1 to c2: relay on anvil: the machine has not reported on what it was \
         sent (0 of 3 passes)"
    );
    let mut broken = well(64);
    state_all(&mut broken, &ResourceState::Failed);
    let _ = gate.by(65, &broken);
    assert_eq!(
        line(&gate, Some("rolled-back")),
        "failed on anvil, c1 to c2, after 1m5s: relay on anvil: web was given up; rolled-back"
    );
    assert_eq!(gate.gate.took(), Some(at(65) - at(0)));
    Ok(())
}
