//! Each point where the handling is better than the recorded behaviour.

use conditions::{End, Kind, Rollback, Severity};
use controller_core::failure::{
    Answer, Ended, FailedBuild, Handling, Likeness, ModuleState, Need, NotAsked, NoteKind,
    PreviousBuild, Rules, Wrote,
};

use crate::world::{Effect, MANY, NOW, ROLLBACK_ID, Script, World, failed, kept, target, works};

fn words(handling: &Handling) -> Vec<Option<Rollback>> {
    handling.handled().into_iter().map(|handled| handled.rollback).collect()
}

#[test]
fn all_that_goes_back_goes_in_one_send() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["b", "a"])), ("shop", works(&["b", "c"]))]);
    let handling = world.handle(vec![failed("shop", &["b", "c"]), failed("blog", &["b", "a"])])?;

    assert_eq!(words(&handling), [Some(Rollback::RolledBack), Some(Rollback::RolledBack)]);
    let back = |module: &str| (module.to_owned(), target(), ROLLBACK_ID.to_owned());
    let sent = Effect::Sent {
        machines: ["a", "b", "c"].map(str::to_owned).to_vec(),
        modules: vec![back("blog"), back("shop")],
    };
    assert_eq!(world.sends(), 1);
    assert!(world.effects.contains(&sent), "{:?}", world.effects);
    Ok(())
}

#[test]
fn the_fingerprint_that_could_be_read_counts() -> Result<(), NotAsked> {
    let readable =
        [(Likeness::Unreadable, Likeness::Identical), (Likeness::Identical, Likeness::Unreadable)];
    for (source, artifacts) in readable {
        let mut world = World::new([("blog", Script { source, artifacts, ..works(&["a"]) })]);
        let handling = world.handle(vec![failed("blog", &["a"])])?;
        assert_eq!(words(&handling), [Some(Rollback::Unchanged)]);
        assert_eq!(handling.handled()[0].state, ModuleState::StoppedWithItsSend);
        assert_eq!(world.effects, []);
    }
    Ok(())
}

#[test]
fn a_build_that_the_plan_does_not_know_is_said_with_its_reason() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    let mut unknown = failed("blog", &["a"]);
    unknown.build = None;
    let handling = world.handle(vec![unknown])?;
    assert_eq!(world.not_back(), ["build_unknown"]);
    assert_eq!(world.conditions()[0].summary.code, "not_put_back");
    assert_eq!(world.sends(), 0);
    assert!(!handling.handled()[0].verdict_stands);
    Ok(())
}

#[test]
fn a_rollback_that_cannot_be_counted_is_not_made_and_says_why() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", Script { record: Wrote::Failed, ..works(&["a"]) })]);
    world.handle(vec![failed("blog", &["a"])])?;
    assert_eq!(world.not_back(), ["verdict_not_kept"]);
    assert_eq!(world.sends(), 0);
    Ok(())
}

#[test]
fn a_rollback_decided_before_a_crash_is_finished_with_its_id() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    world.verdicts.insert("blog-B2".to_owned(), kept(Rollback::RollingBack, "rollback-0"));
    let handling = world.handle(vec![failed("blog", &["a"])])?;

    assert_eq!(words(&handling), [Some(Rollback::RolledBack)]);
    assert_eq!(world.verdicts["blog-B2"].rollback, Rollback::RolledBack);
    let sent = Effect::Sent {
        machines: vec!["a".to_owned()],
        modules: vec![("blog".to_owned(), target(), "rollback-0".to_owned())],
    };
    assert!(world.effects.contains(&sent));
    assert_eq!(world.events()[0].rollback_id, "rollback-0");
    Ok(())
}

#[test]
fn a_resumed_rollback_goes_to_the_build_that_was_decided() -> Result<(), NotAsked> {
    let found = PreviousBuild::Found("another".to_owned());
    let mut world = World::new([("blog", Script { previous_build: found, ..works(&["a"]) })]);
    let mut undecided = kept(Rollback::RollingBack, "rollback-0");
    world.verdicts.insert("blog-B2".to_owned(), undecided.clone());
    world.handle(vec![failed("blog", &["a"])])?;
    let restored =
        Effect::Restored { module: "blog".to_owned(), target: target(), landed: Wrote::Landed };
    assert!(world.effects.contains(&restored));

    undecided.target = None;
    world.effects.clear();
    world.verdicts.insert("blog-B2".to_owned(), undecided);
    world.handle(vec![failed("blog", &["a"])])?;
    assert_eq!(world.not_back(), ["no_previous_build"], "none was decided");
    assert_eq!(world.sends(), 0);
    Ok(())
}

#[test]
fn what_another_handling_ended_is_left_and_what_this_one_ended_is_said_again()
-> Result<(), NotAsked> {
    for rollback in [Rollback::RolledBack, Rollback::NotRolledBack] {
        let mut world = World::new([("blog", works(&["a"]))]);
        world.verdicts.insert("blog-B2".to_owned(), kept(rollback.clone(), "rollback-0"));
        let handling = world.handle(vec![failed("blog", &["a"])])?;
        assert_eq!(words(&handling), [Some(rollback.clone())]);
        assert_eq!(world.events(), [] as [&_; 0]);

        world.verdicts.insert("blog-B2".to_owned(), kept(rollback.clone(), ROLLBACK_ID));
        world.handle(vec![failed("blog", &["a"])])?;
        assert_eq!(world.events().len(), 1);
        assert_eq!(world.events()[0].rollback, rollback);
        assert_eq!(world.sends(), 0);
    }
    Ok(())
}

#[test]
fn a_kept_verdict_that_cannot_be_found_is_said() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    let failures = vec![failed("blog", &["a"])];
    let mut handling = Handling::new(Rules::default(), ROLLBACK_ID, NOW, failures);
    for _ in 0..MANY {
        let Some(answer) = world.answer(&handling.need()) else { break };
        if matches!(handling.need(), Need::RecordVerdict(_)) {
            world.verdicts.clear();
            let kept = controller_core::failure::Recorded::KeptAlready;
            handling.answer(NOW, Answer::Verdict(kept))?;
        } else {
            handling.answer(NOW, answer)?;
        }
    }
    assert_eq!(world.not_back(), ["kept_verdict_missing"]);
    assert_eq!(world.sends(), 0);
    Ok(())
}

#[test]
fn without_a_previous_build_to_trust_nothing_is_put_back() -> Result<(), NotAsked> {
    let cases = [
        (FailedBuild::Missing, found(), "failed_record_missing"),
        (FailedBuild::Unreadable, found(), "failed_record_unreadable"),
        (FailedBuild::PointOfNoReturn, found(), "point_of_no_return"),
        (FailedBuild::Found, PreviousBuild::NotFound, "no_previous_build"),
        (FailedBuild::Found, PreviousBuild::Condemned, "previous_build_condemned"),
        (FailedBuild::Found, PreviousBuild::Unreadable, "build_records_unreadable"),
    ];
    for (failed_build, previous_build, code) in cases {
        let script = Script { failed_build, previous_build, ..works(&["a"]) };
        let mut world = World::new([("blog", script)]);
        let handling = world.handle(vec![failed("blog", &["a"])])?;
        assert_eq!(world.not_back(), [code]);
        assert_eq!(world.sends(), 0);
        assert!(handling.handled()[0].verdict_stands, "it is condemned all the same");
    }
    Ok(())
}

fn found() -> PreviousBuild {
    PreviousBuild::Found("B1".to_owned())
}

#[test]
fn what_could_not_be_saved_is_not_sent() -> Result<(), NotAsked> {
    let unsaved = Script { save: Wrote::Failed, ..works(&["a"]) };
    let mut world = World::new([("blog", unsaved), ("shop", works(&["a"]))]);
    let handling = world.handle(vec![failed("blog", &["a"]), failed("shop", &["a"])])?;
    assert_eq!(words(&handling), [Some(Rollback::NotRolledBack), Some(Rollback::RolledBack)]);
    assert_eq!(world.not_back(), ["plan_not_saved"]);
    let sent = Effect::Sent {
        machines: vec!["a".to_owned()],
        modules: vec![("shop".to_owned(), target(), ROLLBACK_ID.to_owned())],
    };
    assert!(world.effects.contains(&sent));
    Ok(())
}

#[test]
fn a_gate_without_machines_is_no_condition_and_not_put_back() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&[]))]);
    world.handle(vec![failed("blog", &[])])?;
    assert_eq!(world.not_back(), ["no_machines"]);
    assert_eq!(world.conditions(), [] as [&_; 0]);
    assert_eq!(world.events()[0].key, None);
    assert_eq!(world.sends(), 0);

    let mut recorded = World::new([("blog", works(&[]))]);
    let failures = vec![failed("blog", &[])];
    recorded.finish(&mut Handling::new(Rules::reference(), ROLLBACK_ID, NOW, failures))?;
    assert_eq!(recorded.conditions()[0].key().as_str(), "build.blog..rolled-back");
    Ok(())
}

#[test]
fn the_notes_of_a_batch_name_each_module() -> Result<(), NotAsked> {
    let unchanged = Script { source: Likeness::Identical, ..works(&["a"]) };
    let lost = Script { previous_build: PreviousBuild::NotFound, ..works(&["a"]) };
    let mut world = World::new([("blog", works(&["a"])), ("shop", lost), ("wiki", unchanged)]);
    let failures = ["blog", "shop", "wiki"].map(|module| failed(module, &["a"]));
    let handling = world.handle(failures.to_vec())?;
    let notes: Vec<_> =
        handling.notes().into_iter().map(|note| (note.about, note.kind, note.tail)).collect();
    let note = |about: &str, kind, tail: &[&str]| {
        (about.to_owned(), kind, tail.iter().map(|code| (*code).to_owned()).collect::<Vec<_>>())
    };
    assert_eq!(
        notes,
        [
            note("blog", NoteKind::Failed, &["put_back"]),
            note("shop", NoteKind::Failed, &["no_previous_build"]),
            note("wiki", NoteKind::Unchanged, &[]),
        ]
    );
    Ok(())
}

#[test]
fn a_build_that_could_not_be_judged_goes_back_and_is_not_said_to_have_failed()
-> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    let mut silent = failed("blog", &["a"]);
    let ended = Ended { end: End::CannotTell, why: "a did not report".to_owned() };
    silent.gate = silent.gate.map(|mut gate| {
        gate.ended = Some(ended);
        gate
    });
    let handling = world.handle(vec![silent])?;
    assert_eq!(words(&handling), [Some(Rollback::RolledBack)]);
    assert_eq!(handling.handled()[0].state, ModuleState::CouldNotBeJudged);
    assert_eq!(world.events()[0].end, End::CannotTell);
    assert!(world.conditions()[0].summary.text.contains("could not be judged"));
    Ok(())
}

#[test]
fn a_module_that_runs_what_it_ran_is_a_warning_and_a_core_component_is_urgent()
-> Result<(), NotAsked> {
    for (component, severity) in [(None, Severity::Warning), (Some("node-tools"), Severity::Urgent)]
    {
        let mut world = World::new([("blog", works(&["a"]))]);
        let mut module = failed("blog", &["a"]);
        module.gate = module.gate.map(|mut gate| {
            gate.component = component.map(str::to_owned);
            gate
        });
        world.handle(vec![module])?;
        assert_eq!(world.conditions()[0].kind, Kind::ROLLED_BACK);
        assert_eq!(world.conditions()[0].severity, severity);
    }
    Ok(())
}

#[test]
fn an_answer_to_something_else_is_refused_and_changes_nothing() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    let failures = vec![failed("blog", &["a"])];
    let mut handling = Handling::new(Rules::default(), ROLLBACK_ID, NOW, failures);
    for _ in 0..MANY {
        let before = handling.clone();
        let publishes = matches!(handling.need(), Need::PublishEvent(_));
        let wrong = if publishes { Answer::ConditionRaised } else { Answer::EventPublished };
        assert!(handling.answer(NOW, wrong).is_err());
        assert_eq!(handling, before);
        let Some(answer) = world.answer(&handling.need()) else { break };
        handling.answer(NOW, answer)?;
    }
    assert_eq!(words(&handling), [Some(Rollback::RolledBack)]);
    Ok(())
}

#[test]
fn a_stored_handling_that_is_at_no_module_is_refused() -> Result<(), serde_json::Error> {
    let failures = vec![failed("blog", &["a"])];
    let handling = Handling::new(Rules::default(), ROLLBACK_ID, NOW, failures);
    let mut stored = serde_json::to_value(&handling)?;
    assert_eq!(serde_json::from_value::<Handling>(stored.clone())?, handling);
    let mut beyond = stored.clone();
    beyond["step"]["preparing"]["case"] = 1.into();
    let refused = serde_json::from_value::<Handling>(beyond).unwrap_err();
    assert_eq!(refused.to_string(), "at module 1 of 1");
    stored["lot"] = 2.into();
    let refused = serde_json::from_value::<Handling>(stored).unwrap_err();
    assert_eq!(refused.to_string(), "at module 2 of 1");
    Ok(())
}
