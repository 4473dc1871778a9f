//! What a keeper raises, keeps and clears, one rule per test.

use chrono::{DateTime, TimeDelta, Utc};
use conditions::{
    Acknowledgement, Event, Keeper, Key, Kind, Observation, Resolver, Scope, Severity, Silence,
    Source, Steadiness, Subject, Summary,
};

fn at(seconds: i64) -> DateTime<Utc> {
    DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
}

fn probe() -> Source {
    Source::new("probe")
}

fn seen(kind: Kind, machine: &str) -> Observation {
    Observation {
        subject: Subject {
            scope: Scope::MACHINE,
            id: machine.to_owned(),
            machine: Some(machine.to_owned()),
            also: Vec::new(),
        },
        token: kind.as_str().to_owned(),
        kind,
        severity: Severity::Warning,
        source: None,
        resolver: Resolver::System,
        summary: Summary { code: "wrong".into(), text: format!("{machine} is wrong") },
        show: "controller conditions".to_string(),
        resolve: Vec::new(),
    }
}

fn silent(machine: &str) -> Observation {
    seen(Kind::SILENT, machine)
}

fn unhealthy(machine: &str) -> Observation {
    seen(Kind::UNHEALTHY, machine)
}

fn key(text: &str) -> Key {
    Key::from(text.to_owned())
}

/// Events as short lines: `raised machine.a.silent`.
fn lines(events: &[Event]) -> Vec<String> {
    let line = |event: &Event| {
        let what = match event {
            Event::Raised { .. } => "raised",
            Event::Changed { .. } => "changed",
            Event::Cleared { .. } => "cleared",
        };
        format!("{what} {}", event.condition().key)
    };
    events.iter().map(line).collect()
}

#[test]
fn it_is_raised_kept_and_cleared() {
    let mut keeper = Keeper::default();
    let events = keeper.run(&probe(), at(0), [silent("a"), silent("b")]);
    assert_eq!(lines(&events), ["raised machine.a.silent", "raised machine.b.silent"]);

    assert_eq!(keeper.run(&probe(), at(5), [silent("a"), silent("b")]), []);
    let kept = keeper.get(&key("machine.a.silent")).unwrap();
    assert_eq!((kept.raised, kept.last_seen, kept.times_seen), (at(0), at(5), 2));
    assert_eq!(kept.source, probe());

    let events = keeper.run(&probe(), at(10), [silent("b")]);
    assert_eq!(lines(&events), ["cleared machine.a.silent"]);
    assert_eq!(keeper.open().count(), 1);
}

#[test]
fn what_is_said_anew_is_a_change() {
    let mut keeper = Keeper::default();
    keeper.run(&probe(), at(0), [silent("a")]);
    let urgent = Observation { severity: Severity::Urgent, ..silent("a") };
    let events = keeper.run(&probe(), at(5), [urgent.clone()]);
    assert_eq!(lines(&events), ["changed machine.a.silent"]);
    assert_eq!(events[0].condition().severity, Severity::Urgent);
    assert_eq!(events[0].condition().raised, at(0));
    assert_eq!(keeper.run(&probe(), at(10), [urgent]), []);
}

#[test]
fn unhealthy_needs_the_second_statement_in_a_row_and_one_to_clear() {
    let mut keeper = Keeper::default();
    assert_eq!(keeper.run(&probe(), at(0), [unhealthy("a")]), []);
    assert_eq!(keeper.run(&probe(), at(5), []), []);
    assert_eq!(keeper.run(&probe(), at(10), [unhealthy("a")]), [], "not in a row");
    let events = keeper.run(&probe(), at(15), [unhealthy("a")]);
    assert_eq!(lines(&events), ["raised machine.a.unhealthy"]);
    let events = keeper.run(&probe(), at(20), []);
    assert_eq!(lines(&events), ["cleared machine.a.unhealthy"]);
}

#[test]
fn the_first_of_a_key_in_one_run_counts() {
    let mut keeper = Keeper::default();
    let urgent = Observation { severity: Severity::Urgent, ..silent("a") };
    keeper.run(&probe(), at(0), [silent("a"), urgent]);
    assert_eq!(keeper.get(&key("machine.a.silent")).unwrap().severity, Severity::Warning);
    assert_eq!(keeper.run(&probe(), at(1), [unhealthy("b"), unhealthy("b")]).len(), 1, "not two");
}

#[test]
fn a_failed_run_clears_nothing_and_is_remembered() {
    let mut keeper = Keeper::default();
    keeper.run(&probe(), at(0), [silent("a")]);
    keeper.run_failed(&probe(), at(5), "store unreadable");
    keeper.run_failed(&probe(), at(10), "store still unreadable");
    assert_eq!(keeper.open().count(), 1);
    let (source, failed) = keeper.failing().next().unwrap();
    assert_eq!((source, failed.since), (&probe(), at(5)));
    assert_eq!(failed.why, "store still unreadable");

    assert_eq!(lines(&keeper.run(&probe(), at(15), [])), ["cleared machine.a.silent"]);
    assert_eq!(keeper.failing().count(), 0);
}

#[test]
fn another_source_running_clears_nothing() {
    let mut keeper = Keeper::default();
    keeper.run(&probe(), at(0), [silent("a")]);
    assert_eq!(keeper.run(&Source::new("other"), at(5), []), []);
    assert_eq!(keeper.open().count(), 1);
}

#[test]
fn what_two_sources_say_stays_until_the_last_one_stops() {
    let mut keeper = Keeper::default();
    let other = Source::new("other");
    keeper.run(&probe(), at(0), [silent("a")]);
    assert_eq!(keeper.run(&other, at(1), [silent("a")]), []);
    assert_eq!(keeper.run(&probe(), at(2), []), []);
    assert_eq!(lines(&keeper.run(&other, at(3), [])), ["cleared machine.a.silent"]);
}

#[test]
fn only_its_owner_clears_it() {
    let mut keeper = Keeper::default();
    let other = Source::new("other");
    for minute in [0, 2, 4] {
        keeper.run(&probe(), at(minute * 60), [unhealthy("a")]);
        keeper.run(&probe(), at(minute * 60 + 30), [unhealthy("a")]);
        keeper.run(&probe(), at(minute * 60 + 60), []);
    }
    keeper.run(&other, at(310), [unhealthy("a")]);
    // It flapped and was held open; its owner says it again, once so far and no longer flapping.
    keeper.run(&probe(), at(1_200), [unhealthy("a")]);
    assert_eq!(keeper.run(&other, at(1_201), []), []);
    assert!(keeper.get(&key("machine.a.unhealthy")).is_some());
}

#[test]
fn a_sighting_between_runs_leaves_the_others_alone() {
    let mut keeper = Keeper::default();
    keeper.run(&probe(), at(0), [silent("a")]);
    let event = keeper.sight(&probe(), at(1), silent("b")).unwrap();
    assert_eq!(lines(&[event]), ["raised machine.b.silent"]);
    assert_eq!(keeper.open().count(), 2);
    assert_eq!(keeper.run(&probe(), at(2), [silent("a"), silent("b")]), []);
}

#[test]
fn an_observations_own_source_is_what_the_condition_shows() {
    let mut keeper = Keeper::default();
    let gate = Observation { source: Some(Source::GATE), ..silent("a") };
    keeper.run(&probe(), at(0), [gate]);
    assert_eq!(keeper.get(&key("machine.a.silent")).unwrap().source, Source::GATE);
    assert_eq!(keeper.run(&probe(), at(1), []).len(), 1, "it is the probe's to clear");
}

#[test]
fn what_comes_and_goes_is_one_condition_that_says_it_flaps() {
    let mut keeper = Keeper::default();
    let mut said = Vec::new();
    for minute in 0..8 {
        let observed = (minute % 2 == 0).then(|| silent("a"));
        said.extend(lines(&keeper.run(&probe(), at(minute * 60), observed)));
    }
    assert_eq!(
        said,
        [
            "raised machine.a.silent",
            "cleared machine.a.silent",
            "raised machine.a.silent",
            "cleared machine.a.silent",
            "raised machine.a.silent",
        ],
        "the third time it stays open"
    );
    let condition = keeper.get(&key("machine.a.silent")).unwrap();
    assert_eq!(condition.steadiness, Steadiness::Flapping);
    assert_eq!(condition.raised, at(240));

    // Its last three appearances are at minutes 2, 4 and 6: at minute 12 it has held still.
    assert_eq!(keeper.run(&probe(), at(719), []), []);
    assert_eq!(lines(&keeper.run(&probe(), at(720), [])), ["cleared machine.a.silent"]);
}

#[test]
fn what_flapped_and_stays_is_said_to_be_steady() {
    let mut keeper = Keeper::default();
    for minute in 0..5 {
        keeper.run(&probe(), at(minute * 60), (minute % 2 == 0).then(|| silent("a")));
    }
    let events = keeper.run(&probe(), at(600), [silent("a")]);
    assert_eq!(lines(&events), ["changed machine.a.silent"]);
    assert_eq!(events[0].condition().steadiness, Steadiness::Steady);
}

#[test]
fn how_often_and_how_long_is_remembered_until_it_is_forgotten() {
    let mut keeper = Keeper::default();
    let silent_a = key("machine.a.silent");
    keeper.run(&probe(), at(0), [silent("a"), silent("b")]);
    keeper.run(&probe(), at(30), [silent("b")]);
    keeper.run(&probe(), at(100), [silent("a"), silent("b")]);
    keeper.run(&probe(), at(110), [silent("b")]);

    let history = keeper.history(&silent_a).unwrap();
    assert_eq!(history.times_raised, 2);
    assert_eq!(history.open_ms_total, 40_000);
    assert_eq!(history.last_cleared, Some(at(110)));

    keeper.forget_history(at(110));
    assert!(keeper.history(&silent_a).is_some());
    keeper.forget_history(at(111));
    assert!(keeper.history(&silent_a).is_none());
    assert!(keeper.history(&key("machine.b.silent")).is_some(), "it is open");
}

#[test]
fn acknowledging_changes_who_is_told_and_not_what_is_true() {
    let mut keeper = Keeper::default();
    let silent_a = key("machine.a.silent");
    keeper.run(&probe(), at(0), [silent("a")]);
    let by_ann = Acknowledgement { by: "ann".to_owned(), at: at(1) };
    keeper.acknowledge(&silent_a, by_ann.clone()).unwrap();

    assert_eq!(keeper.run(&probe(), at(2), [silent("a")]), [], "it is said as before");
    let condition = keeper.get(&silent_a).unwrap();
    assert_eq!(condition.acknowledged, Some(by_ann.clone()));
    assert!(!condition.is_told(at(2)));

    keeper.run(&probe(), at(3), []);
    assert!(keeper.acknowledge(&silent_a, by_ann).is_err(), "no longer open");
}

#[test]
fn a_silence_ends_by_itself() {
    let mut keeper = Keeper::default();
    let silent_a = key("machine.a.silent");
    keeper.run(&probe(), at(0), [silent("a")]);
    let silence = Silence { by: "ann".to_owned(), reason: "moving it".to_owned(), until: at(60) };
    keeper.silence(&silent_a, silence).unwrap();
    assert_eq!(keeper.run(&probe(), at(5), [silent("a")]), [], "it is said as before");
    let condition = keeper.get(&silent_a).unwrap();
    assert!(!condition.is_told(at(59)));
    assert!(condition.is_told(at(60)));
}
