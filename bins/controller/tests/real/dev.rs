//! `controller dev` from its first line to its last: what it tells, how it ends, and that nothing of it is left.

use std::fs;

use crate::fleet::{Dev, Outcome, Place, finished};
use rustix::process::Signal;
use serde_json::Value;

#[test]
fn it_ends_with_success_when_the_story_went_as_it_should_and_leaves_nothing() -> Outcome {
    let place = Place::new()?;
    let command = place.controller(&["dev", "--exit", "--output", "json"]);
    let answered = finished(command)?;
    answered.done()?;
    let told: Value = serde_json::from_str(&answered.stdout)?;
    assert_eq!(told["good"]["standing"], "proven");
    assert_eq!(told["bad"]["standing"], "condemned");
    let machines = told["machines"].as_array().ok_or("no machines")?;
    assert_eq!(machines.len(), 3);
    for machine in machines {
        assert_eq!(machine["answer"], "hello from sample v1");
    }
    place.nothing_is_left()
}

#[test]
fn people_read_a_dozen_lines_of_many_machines_too() -> Outcome {
    let place = Place::new()?;
    let answered = finished(place.controller(&["dev", "--exit", "--machines", "16"]))?;
    answered.done()?;
    let lines: Vec<_> = answered.stdout.lines().collect();
    assert!((8..=12).contains(&lines.len()), "{lines:#?}");
    assert!(
        lines[0].contains("sample v1") && lines[0].contains("runs on 16 machines"),
        "{lines:#?}"
    );
    assert!(lines[1].contains("the other 15 machines never saw it"), "{lines:#?}");
    let cause = "there is no setting `greting`";
    assert!(answered.stdout.contains(cause), "{lines:#?}");
    assert!(!answered.stdout.contains('\x1b') && !answered.stderr.contains('\x1b'), "no terminal");
    Ok(())
}

#[test]
fn each_signal_ends_it_and_leaves_nothing() -> Outcome {
    // To end a fleet is what one does with it; a story that was to be told to its end was not.
    for (signal, arguments, status) in [
        (Signal::INT, &["dev"][..], 0),
        (Signal::HUP, &["dev"], 0),
        (Signal::TERM, &["dev", "--exit"], 1),
    ] {
        let place = Place::new()?;
        let mut dev = Dev::start(place.controller(arguments))?;
        // In the middle of things: processes run, a gate is open.
        dev.wait_for_line("pass 1 of 3")?;
        assert!(place.processes()?.len() > 1, "{signal:?}");
        dev.signal(signal)?;
        assert_eq!(dev.ended()?.code(), Some(status), "{signal:?}");
        place.nothing_is_left()?;
    }
    Ok(())
}

#[test]
fn a_second_signal_does_not_wait_and_leaves_nothing_either() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::start(place.controller(&["dev"]))?;
    dev.wait_for_line("pass 1 of 3")?;
    dev.signal(Signal::INT)?;
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(1));
    place.nothing_is_left()
}

#[test]
fn a_kept_fleet_goes_on_where_it_ended() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::serving(&place)?;
    let before = (place.json(&["builds"])?, place.json(&["plans"])?);
    dev.signal(Signal::TERM)?;
    assert_eq!(dev.ended()?.code(), Some(0));
    place.nothing_is_left()?;

    let mut again = Dev::serving(&place)?;
    assert_eq!((place.json(&["builds"])?, place.json(&["plans"])?), before);
    let said = again.said.join("\n");
    assert!(!said.contains("released"), "the story is not told twice: {said}");
    again.signal(Signal::INT)?;
    assert_eq!(again.ended()?.code(), Some(0));
    place.nothing_is_left()
}

#[test]
fn a_fleet_grows_and_the_story_holds_for_the_new_machines_too() -> Outcome {
    let place = Place::new()?;
    finished(place.of_fleet(&["dev", "--exit", "--machines", "2"]))?.done()?;
    let grown = finished(place.of_fleet(&["dev", "--exit", "--machines", "3"]))?;
    grown.done()?;
    assert!(grown.stdout.contains("runs on 3 machines"), "{grown:?}");
    let fewer = finished(place.of_fleet(&["dev", "--exit", "--machines", "1"]))?;
    fewer.failed(2, &["has 3 machines", "a fleet can grow, not shrink"])
}

#[test]
fn one_folder_has_one_fleet() -> Outcome {
    let place = Place::new()?;
    let _dev = Dev::serving(&place)?;
    let second = finished(place.of_fleet(&["dev", "--exit"]))?;
    second.failed(3, &["another controller (process ", "one store has one", "hint: talk to it"])?;
    // The first one has not noticed.
    place.ask(&["machines"])?.done()
}

#[test]
fn commands_find_the_fleet_that_was_started_last() -> Outcome {
    let place = Place::new()?;
    let none = finished(place.controller(&["machines"]))?;
    none.failed(5, &["no controller is running", "start one: controller dev"])?;

    let mut dev = Dev::start(place.controller(&["dev"]))?;
    dev.wait_for_line("box-1 is heard")?;
    let found = finished(place.controller(&["machines"]))?;
    found.done()?;
    assert!(found.stdout.contains("box-3"), "{found:?}");
    dev.signal(Signal::INT)?;
    dev.ended()?;

    let gone = finished(place.controller(&["machines"]))?;
    gone.failed(5, &["no controller is running"])?;
    fs::create_dir(place.dir())?;
    let never = place.ask(&["machines"])?;
    never.failed(5, &["no controller runs on", "start it: controller dev --dir"])
}

#[test]
fn a_folder_with_a_long_path_is_as_good_as_any() -> Outcome {
    let place = Place::new()?;
    let long = place.join(&"long".repeat(50));
    let long = long.to_str().ok_or("no text")?;
    let mut dev = Dev::start(place.controller(&["dev", "--dir", long]))?;
    dev.wait_for_line("box-1 is heard")?;
    finished(place.controller(&["machines", "--dir", long]))?.done()?;
    dev.signal(Signal::TERM)?;
    dev.ended()?;
    place.nothing_is_left()
}
