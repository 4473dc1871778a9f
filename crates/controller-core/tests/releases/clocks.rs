//! Clocks that are set while a release is under way: every end comes at the moment at which it would have come anyway.

use chrono::{DateTime, TimeDelta, Utc};
use controller_core::PlanState;
use names::PlanId;

use crate::fleet::{Behaviour, Fleet};

/// What is under way.
#[derive(Debug, Clone, Copy)]
enum Course {
    /// A build that passes.
    Passes,
    /// A build that is wanting until the bound, and is put back.
    FailsAtTheBound,
    /// The first machine is silent for longer than the bound, and is put back when it returns.
    FallsSilent,
    /// The first machine refuses what it is sent, and is sent it again.
    Refuses,
}

/// Which clock is set.
#[derive(Debug, Clone, Copy)]
enum Clock {
    Controllers,
    Machines,
    Both,
}

/// What becomes of the controller when a clock was set.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Controller {
    RunsOn,
    Restarts,
}

const COURSES: [Course; 4] =
    [Course::Passes, Course::FailsAtTheBound, Course::FallsSilent, Course::Refuses];

/// Which clock is set, and by how much: an hour back and on, from 1970 to a right time, and from there back to long before.
fn disturbances() -> [(Clock, TimeDelta); 6] {
    [
        (Clock::Both, TimeDelta::hours(-1)),
        (Clock::Both, TimeDelta::hours(1)),
        (Clock::Both, TimeDelta::days(20_000)),
        (Clock::Both, TimeDelta::days(-20_000)),
        (Clock::Controllers, TimeDelta::hours(1)),
        (Clock::Machines, TimeDelta::hours(-1)),
    ]
}

/// Everything that people see, second by second, from the release on.
fn story(course: Course, set: impl Fn(&mut Fleet), set_after: u32) -> Vec<String> {
    let mut fleet = Fleet::new(3);
    fleet.with_good_build("a");
    fleet.register("b");
    match course {
        Course::Passes | Course::FallsSilent => {}
        Course::FailsAtTheBound => fleet.script("b", Behaviour::NeverHealthy),
        Course::Refuses => fleet.machine("box-1").keeps = false,
    }
    let plan = fleet.release("blog@b");
    let mut story = Vec::new();
    for second in 0..70 {
        if second == set_after {
            set(&mut fleet);
        }
        match (course, second) {
            (Course::FallsSilent, 2) => fleet.machine("box-1").unplug(),
            (Course::FallsSilent, 45) => fleet.machine("box-1").plug_in(),
            (Course::Refuses, 12) => fleet.machine("box-1").keeps = true,
            (
                Course::Passes | Course::FailsAtTheBound | Course::FallsSilent | Course::Refuses,
                _,
            ) => {}
        }
        fleet.run(1);
        story.push(seen(&mut fleet, &plan));
    }
    story
}

fn seen(fleet: &mut Fleet, plan: &PlanId) -> String {
    let runs = ["box-1", "box-2", "box-3"].map(|machine| fleet.runs(machine).unwrap_or_default());
    let passes = match &fleet.plan(plan).state {
        PlanState::Judging { gate, .. } => gate.row().map_or(0, |row| row.passes.get()),
        PlanState::Queued
        | PlanState::Sending { .. }
        | PlanState::PuttingBack(_)
        | PlanState::Done { .. }
        | PlanState::Failed(_)
        | PlanState::Stopped { .. }
        | PlanState::Superseded { .. } => 0,
    };
    let (state, sent) = (fleet.told_of(plan).0, fleet.sent.len());
    format!("{state}, {passes} passes, {sent} sent, {runs:?}, {:?}", fleet.conditions())
}

fn set(fleet: &mut Fleet, clock: Clock, by: TimeDelta) {
    let machines = |fleet: &mut Fleet| {
        for machine in fleet.machines.values_mut() {
            machine.clock_off += by;
        }
    };
    match clock {
        Clock::Controllers => fleet.set_clock(by),
        Clock::Machines => machines(fleet),
        Clock::Both => {
            fleet.set_clock(by);
            machines(fleet);
        }
    }
}

#[test]
fn clocks_that_are_set_in_the_middle_of_a_release_change_nothing() {
    for course in COURSES {
        for controller in [Controller::RunsOn, Controller::Restarts] {
            let after = |fleet: &mut Fleet| {
                if controller == Controller::Restarts {
                    fleet.restart();
                }
            };
            for set_after in [3, 15] {
                let undisturbed = story(course, after, set_after);
                for (clock, by) in disturbances() {
                    let disturbed = |fleet: &mut Fleet| {
                        set(fleet, clock, by);
                        after(fleet);
                    };
                    assert_eq!(
                        story(course, disturbed, set_after),
                        undisturbed,
                        "{course:?}, {clock:?} by {by} after {set_after} s, {controller:?}"
                    );
                }
            }
        }
    }
}

#[test]
fn a_controller_that_first_started_in_1970_judges_as_any_other() {
    let took = |wall: DateTime<Utc>, step: TimeDelta| {
        let mut fleet = Fleet::from_wall(2, wall);
        fleet.with_good_build("a");
        fleet.register("b");
        let plan = fleet.release("blog@b");
        let began = fleet.now;
        fleet.run(3);
        fleet.set_clock(step);
        fleet.run_until("it passes", |fleet| {
            matches!(fleet.plan(&plan).state, PlanState::Done { .. })
        });
        fleet.now - began
    };
    let right = DateTime::from_timestamp(1_800_000_000, 0).unwrap();
    let in_1970 = DateTime::from_timestamp(60, 0).unwrap();
    assert_eq!(took(in_1970, right - in_1970), took(right, TimeDelta::zero()));
}

#[test]
fn a_boot_in_1970_ends_no_gate_early_and_keeps_none_from_ending() {
    let story = |wall: fn(DateTime<Utc>) -> DateTime<Utc>| {
        let mut fleet = Fleet::new(2);
        fleet.with_good_build("a");
        fleet.register("b");
        fleet.script("b", Behaviour::NeverHealthy);
        let plan = fleet.release("blog@b");
        fleet.run(8);
        fleet.reboot(wall(fleet.now));
        let mut seconds = 0_u32;
        while fleet.plan(&plan).is_moving() {
            fleet.run(1);
            seconds += 1;
            assert!(seconds < 60, "the gate never ends");
            if seconds == 3 {
                fleet.set_clock(fleet.now - wall(fleet.now));
            }
        }
        assert_eq!(fleet.told_of(&plan).0, "putting back");
        seconds
    };
    let right = story(|now| now);
    let in_1970 = story(|_| DateTime::from_timestamp(60, 0).unwrap());
    // What is left of the bound when it boots is left; how long it was down is not known in 1970, and counts as nothing.
    assert!((8..=25).contains(&right), "{right}");
    assert!(in_1970.abs_diff(right) <= 10, "{in_1970} instead of {right}");
}
