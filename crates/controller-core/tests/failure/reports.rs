//! Put back is what the machines report, not what was sent.

use chrono::TimeDelta;
use conditions::{Kind, Resolver, Rollback, Severity};
use controller_core::failure::{
    Answer, Handling, HeldBack, Need, NotAsked, Refusal, Report, Reported, Rules, Wrote,
};

use crate::world::{NOW, ROLLBACK_ID, Script, World, failed, report, works};

/// `blog` failed on these machines, and they report this of the build that is put back.
fn reporting<const N: usize>(reports: [(&str, Option<Reported>); N]) -> (World, Vec<&str>) {
    let machines: Vec<&str> = reports.iter().map(|(machine, _)| *machine).collect();
    let said = reports.into_iter().filter_map(|(machine, said)| Some((machine.to_owned(), said?)));
    let script = Script { reports: said.collect(), ..works(&[]) };
    (World::new([("blog", script)]), machines)
}

fn held(instance: &str) -> Reported {
    let held = HeldBack {
        instance: instance.to_owned(),
        build: "B2".to_owned(),
        rule: "held down".to_owned(),
    };
    Reported::Refused(Refusal::Held { instances: vec![held] })
}

fn fails() -> Reported {
    Reported::Failed { why: "its database is gone".to_owned() }
}

/// Steps until the machines' reports are waited for.
fn until_it_waits(world: &mut World, machines: &[&str]) -> Result<Handling, NotAsked> {
    let failures = vec![failed("blog", machines)];
    let mut handling = Handling::new(Rules::default(), ROLLBACK_ID, NOW, failures);
    while !matches!(handling.need(), Need::Reports { .. } | Need::Done) {
        let Some(answer) = world.answer(&handling.need()) else { break };
        handling.answer(NOW, answer)?;
    }
    Ok(handling)
}

fn take(handling: &mut Handling, reports: Vec<Report>) -> Result<(), NotAsked> {
    handling.answer(NOW, Answer::Reports(reports))
}

fn awaited(handling: &Handling) -> Vec<String> {
    let Need::Reports { awaited } = handling.need() else { return Vec::new() };
    awaited.iter().map(|awaited| awaited.machine.to_owned()).collect()
}

#[test]
fn it_is_put_back_when_every_machine_reports_it_and_not_when_it_was_sent() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&[]))]);
    let mut handling = until_it_waits(&mut world, &["a", "b"])?;
    assert_eq!(world.sends(), 1);
    assert_eq!(awaited(&handling), ["a", "b"]);
    assert_eq!(world.verdicts["blog-B2"].rollback, Rollback::RollingBack);
    assert_eq!(world.conditions(), [] as [&_; 0], "nothing is said yet");

    take(&mut handling, vec![report("blog", "a", 1, Reported::Applied)])?;
    assert_eq!(awaited(&handling), ["b"]);
    take(&mut handling, vec![report("blog", "b", 1, Reported::Applied)])?;
    world.finish(&mut handling)?;
    assert_eq!(world.conditions()[0].kind, Kind::ROLLED_BACK);
    assert_eq!(world.events()[0].rollback, Rollback::RolledBack);
    Ok(())
}

#[test]
fn a_report_on_an_earlier_declaration_counts_for_nothing() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&[]))]);
    world.last_declaration = 7;
    let mut handling = until_it_waits(&mut world, &["a"])?;
    take(&mut handling, vec![report("blog", "a", 7, Reported::Applied)])?;
    assert_eq!(awaited(&handling), ["a"]);
    take(&mut handling, vec![report("other", "a", 8, Reported::Applied)])?;
    take(&mut handling, vec![report("blog", "stranger", 8, Reported::Applied)])?;
    assert_eq!(awaited(&handling), ["a"]);
    take(&mut handling, vec![report("blog", "a", 9, Reported::Applied)])?;
    assert_eq!(awaited(&handling), [] as [&str; 0], "a later declaration carries it too");
    Ok(())
}

#[test]
fn the_report_on_the_latest_declaration_counts() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&[]))]);
    let mut handling = until_it_waits(&mut world, &["a", "b"])?;
    take(&mut handling, vec![report("blog", "a", 2, Reported::Applied)])?;
    take(&mut handling, vec![report("blog", "a", 1, fails()), report("blog", "b", 1, fails())])?;
    world.finish(&mut handling)?;
    let words = world.events()[0].not_why.clone().unwrap_or_default();
    assert!(words.ends_with("back on a"), "{words}");
    Ok(())
}

#[test]
fn a_machine_that_was_freed_meanwhile_counts_as_it_reports_last() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&[]))]);
    let mut handling = until_it_waits(&mut world, &["a", "b"])?;
    take(&mut handling, vec![report("blog", "a", 1, held("blog-1"))])?;
    take(&mut handling, vec![report("blog", "a", 1, Reported::Applied)])?;
    let later = NOW + TimeDelta::minutes(1);
    let last = vec![report("blog", "b", 1, Reported::Applied)];
    handling.answer(later, Answer::Reports(last))?;
    world.finish(&mut handling)?;
    assert_eq!(world.events()[0].rollback, Rollback::RolledBack);
    assert_eq!(world.events()[0].at, later, "the event says when it was known");
    Ok(())
}

#[test]
fn some_machines_back_and_others_not_is_not_put_back_naming_both() -> Result<(), NotAsked> {
    let (mut world, machines) =
        reporting([("a", Some(Reported::Applied)), ("b", Some(fails())), ("c", None)]);
    world.handle(vec![failed("blog", &machines)])?;
    let event = world.events()[0];
    assert_eq!(event.rollback, Rollback::NotRolledBack);
    assert_eq!(
        event.not_why.as_deref(),
        Some(
            "b fails with the previous build too (its database is gone); c did not report; \
             back on a"
        )
    );
    Ok(())
}

#[test]
fn what_a_book_holds_waits_for_a_person_with_the_two_commands_that_free_it() -> Result<(), NotAsked>
{
    let (mut world, machines) = reporting([("a", Some(held("blog-1")))]);
    world.handle(vec![failed("blog", &machines)])?;
    assert_eq!(world.not_back(), ["held"]);
    let condition = world.conditions()[0];
    assert_eq!(condition.severity, Severity::Urgent);
    assert_eq!(condition.resolver, Resolver::Operator);
    assert_eq!(
        condition.resolve,
        ["controller rollback blog B1", "controller instances retry blog-1 --machine a --build B2"]
    );
    Ok(())
}

#[test]
fn two_rules_of_one_build_are_freed_by_one_command() -> Result<(), NotAsked> {
    let [record, held_down] = ["record", "held down"].map(|rule| HeldBack {
        instance: "blog-1".to_owned(),
        build: "B2".to_owned(),
        rule: rule.to_owned(),
    });
    let both = Refusal::Held { instances: vec![record, held_down] };
    let (mut world, machines) = reporting([("a", Some(Reported::Refused(both)))]);
    world.handle(vec![failed("blog", &machines)])?;
    assert_eq!(world.conditions()[0].resolve.len(), 2, "{:?}", world.conditions()[0].resolve);
    Ok(())
}

#[test]
fn when_the_previous_build_fails_too_it_stops_and_is_urgent() -> Result<(), NotAsked> {
    let (mut world, machines) = reporting([("a", Some(held("blog-1"))), ("b", Some(fails()))]);
    let handling = world.handle(vec![failed("blog", &machines)])?;
    assert_eq!(handling.need(), Need::Done);
    assert_eq!(world.sends(), 1, "never another step back");
    assert_eq!(world.not_back(), ["previous_build_fails_too"]);
    assert_eq!(world.conditions()[0].severity, Severity::Urgent);
    Ok(())
}

#[test]
fn each_way_of_not_being_back_has_a_code() -> Result<(), NotAsked> {
    let rule = Reported::Refused(Refusal::Rule { rule: "managed = false".to_owned() });
    let cases = [
        (None, "no_report"),
        (Some(rule), "refused"),
        (Some(Reported::Other { said: "no space".to_owned() }), "report_other"),
        (Some(held("blog-1")), "held"),
        (Some(fails()), "previous_build_fails_too"),
    ];
    for (said, code) in cases {
        let (mut world, machines) = reporting([("a", said)]);
        world.handle(vec![failed("blog", &machines)])?;
        assert_eq!(world.not_back(), [code]);
        assert_eq!(world.conditions()[0].kind, Kind::ROLLBACK_FAILED);
    }
    Ok(())
}

#[test]
fn a_machine_that_took_no_declaration_is_not_waited_for() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    world.unreachable.insert("b".to_owned());
    world.handle(vec![failed("blog", &["a", "b"])])?;
    assert_eq!(world.not_back(), ["not_sent"]);
    Ok(())
}

#[test]
fn a_send_that_was_refused_is_not_put_back() -> Result<(), NotAsked> {
    let mut world = World::new([("blog", works(&["a"]))]);
    world.send_refused = true;
    world.handle(vec![failed("blog", &["a"])])?;
    assert_eq!(world.not_back(), ["send_refused"]);
    Ok(())
}

#[test]
fn what_is_true_is_said_though_it_could_not_be_kept() -> Result<(), NotAsked> {
    let script = Script { set_rollback: Wrote::Failed, ..works(&["a"]) };
    let mut world = World::new([("blog", script)]);
    world.handle(vec![failed("blog", &["a"])])?;
    assert_eq!(world.events()[0].rollback, Rollback::RolledBack);
    assert_eq!(world.verdicts["blog-B2"].rollback, Rollback::RollingBack, "a restart finds it");
    Ok(())
}

/// Ends the handling with what these machines report, and answers it with its world.
fn ended(reports: &[(&'static str, Reported)]) -> Result<(World, Handling), NotAsked> {
    let said = reports.iter().map(|(machine, said)| ((*machine).to_owned(), said.clone()));
    let script = Script { reports: said.collect(), ..works(&[]) };
    let mut world = World::new([("blog", script)]);
    let machines: Vec<&str> = reports.iter().map(|(machine, _)| *machine).collect();
    let handling = world.handle(vec![failed("blog", &machines)])?;
    Ok((world, handling))
}

fn stuck(handling: &Handling) -> Vec<&str> {
    handling.stuck().iter().map(|stuck| stuck.machine).collect()
}

#[test]
fn a_machine_that_was_freed_after_the_end_is_told_as_put_back() -> Result<(), NotAsked> {
    let (mut world, mut handling) = ended(&[("a", Reported::Applied), ("b", held("blog-1"))])?;
    assert_eq!(stuck(&handling), ["b"]);
    let later = NOW + TimeDelta::minutes(9);
    assert!(handling.take_late(later, vec![report("blog", "b", 1, Reported::Applied)]));
    assert_eq!(handling.stuck(), [], "first it is kept and said");
    world.finish(&mut handling)?;
    assert_eq!(world.verdicts["blog-B2"].rollback, Rollback::RolledBack);
    let last = world.events()[1].clone();
    assert_eq!((last.rollback, last.at), (Rollback::RolledBack, later));
    assert_eq!(last.rollback_id, ROLLBACK_ID, "it is the same rollback");
    assert_eq!(world.conditions()[1].kind, Kind::ROLLED_BACK);
    assert_eq!(world.sends(), 1, "nothing is sent again");
    assert_eq!(handling.stuck(), []);
    Ok(())
}

#[test]
fn one_of_two_freed_leaves_the_command_for_the_other() -> Result<(), NotAsked> {
    let (mut world, mut handling) = ended(&[("a", held("blog-1")), ("b", held("blog-1"))])?;
    assert!(handling.take_late(NOW, vec![report("blog", "a", 1, Reported::Applied)]));
    world.finish(&mut handling)?;
    assert_eq!(stuck(&handling), ["b"]);
    assert_eq!(
        world.conditions()[1].resolve,
        ["controller rollback blog B1", "controller instances retry blog-1 --machine b --build B2"]
    );
    Ok(())
}

#[test]
fn what_is_no_news_is_not_said_again() -> Result<(), NotAsked> {
    let (_, mut handling) = ended(&[("a", held("blog-1")), ("b", fails())])?;
    let again = Reported::Failed { why: "it says something else now".to_owned() };
    let before = handling.clone();
    for reports in [
        vec![],
        vec![report("blog", "a", 1, held("blog-1"))],
        vec![report("blog", "b", 1, again)],
        vec![report("blog", "a", 0, Reported::Applied)],
        vec![report("other", "a", 1, Reported::Applied)],
    ] {
        assert!(!handling.take_late(NOW, reports.clone()), "{reports:?}");
        assert_eq!(handling, before);
    }
    Ok(())
}
