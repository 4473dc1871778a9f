//! What machines hold, and the signed words that free it: the real commands, a real controller, and machines by script.

mod machine;
mod stand;

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
};

use chrono::TimeDelta;
use wire::{
    HeldBy, OnDisk,
    api::{Answer, Ask, Refusal, RefusalKind},
    signed::{Pointer, PointerKind, Signed, TrustedKeys, issue_pointer},
};

use crate::fleet::{Dev, Outcome, Place, eventually};
use stand::{Stand, now};

/// One machine, whose book holds `blog-1` against the build that it is declared.
fn held() -> Outcome<Stand> {
    let stand = Stand::new(&["box-1"])?;
    let build = stand.build.clone();
    stand.machine("box-1", |machine| machine.holds(&build, HeldBy::Record))?;
    is_reported(&stand, "refused")?;
    Ok(stand)
}

/// Waits until the controller knows this outcome of box-1's instance.
fn is_reported(stand: &Stand, outcome: &str) -> Outcome {
    eventually("the machine has reported", || {
        let all = stand.place.json(&["instances", "--machine", "box-1"])?;
        let is = all[0]["outcome"]["outcome"] == outcome;
        Ok(if is { Ok(()) } else { Err(all.to_string()) })
    })
}

#[test]
fn what_a_book_holds_is_shown_with_the_command_that_frees_it() -> Outcome {
    let stand = held()?;
    let build = &stand.build;
    let frees = format!("controller instances retry blog-1 --machine box-1 --build {build}");
    let shown = stand.place.ask(&["machines", "books", "box-1"])?;
    shown.done()?;
    for part in [
        "65a6b958f8fc0329e3503992f3e40e10",
        "all of it is on the disk",
        "blog/blog-1",
        build.as_str(),
        "record",
        "hold",
        "it ended with exit status 3",
        &frees,
    ] {
        assert!(shown.stdout.contains(part), "{part}: {shown:?}");
    }
    let json = stand.place.json(&["machines", "books", "box-1", "--module", "blog"])?;
    assert_eq!(json["frees"][0], frees.as_str());
    assert_eq!(json["book"]["held"][0]["generation"], 7);

    let instances = stand.place.ask(&["instances"])?;
    instances.done()?;
    for part in ["box-1", "blog/blog-1", "v1", "refused", "record of", &frees] {
        assert!(instances.stdout.contains(part), "{part}: {instances:?}");
    }
    let listed = stand.place.json(&["instances", "list", "--module", "blog"])?;
    assert_eq!(listed[0]["held"][0]["rule"], "record");
    stand.place.ask(&["instances", "--module", "shop"])?.failed(1, &["no module `shop`"])?;
    stand.place.ask(&["machines", "books", "box-9"])?.failed(1, &["no machine `box-9`"])
}

#[test]
fn a_retry_frees_exactly_what_was_published_and_the_secret_goes_nowhere() -> Outcome {
    let stand = held()?;
    let key = stand.key();
    let json = stand.place.json(&["instances", "retry", "blog-1", "--key", &key])?;
    assert_eq!(json["freed"][0]["lifted"], "record");
    let grants = stand.machine("box-1", |machine| machine.grants.clone())?;
    let [grant] = grants.as_slice() else { return Err(format!("{grants:?}").into()) };
    assert_eq!((grant.generation.0.get(), &grant.build), (7, &stand.build));
    assert_eq!(json["grant"], grant.id.as_str());

    let seed = fs::read_to_string(stand.seed_file())?;
    assert!(stand.was_told(grant.id.as_str())?, "the grant went through the controller");
    assert!(!stand.was_told(seed.trim())?, "the secret did not");

    is_reported(&stand, "applied")?;
    stand
        .place
        .ask(&["instances", "retry", "blog-1", "--key", &key])?
        .failed(1, &["nothing holds blog-1 on box-1", "controller machines books box-1"])
}

#[test]
fn waiting_ends_with_what_became_of_it() -> Outcome {
    let stand = held()?;
    let key = stand.key();
    let retry = ["instances", "retry", "blog-1", "--machine", "box-1", "--wait", "--key", &key];
    stand.machine("box-1", |machine| machine.fails = true)?;
    stand.place.ask(&retry)?.failed(1, &["was tried, and failed again: exit status 3 again"])?;

    let build = stand.build.clone();
    stand.machine("box-1", |machine| {
        machine.fails = false;
        machine.holds(&build, HeldBy::Record);
    })?;
    is_reported(&stand, "refused")?;
    let waited = stand.place.ask(&retry)?;
    waited.done()?;
    assert!(waited.stdout.contains("it is now: healthy"), "{waited:?}");
    Ok(())
}

#[test]
fn a_book_that_changes_meanwhile_is_asked_anew_once() -> Outcome {
    let stand = held()?;
    let key = stand.key();
    let retry = ["instances", "retry", "blog-1", "--key", &key];
    stand.machine("box-1", |machine| machine.changes = 2)?;
    stand.place.ask(&retry)?.failed(1, &["the book has changed since", "machines books"])?;
    stand.machine("box-1", |machine| machine.changes = 1)?;
    stand.place.ask(&retry)?.done()?;
    let grants = stand.machine("box-1", |machine| machine.grants.len())?;
    assert_eq!(grants, 1, "what was signed for another generation freed nothing");
    Ok(())
}

#[test]
fn nothing_is_granted_while_a_save_is_owed() -> Outcome {
    let stand = held()?;
    stand.machine("box-1", |machine| machine.disk = OnDisk::Owed)?;
    let shown = stand.place.ask(&["machines", "books", "box-1"])?;
    assert!(shown.stdout.contains("a save is owed"), "{shown:?}");
    let key = stand.key();
    stand
        .place
        .ask(&["instances", "retry", "blog-1", "--key", &key])?
        .failed(1, &["a save is owed there", "again in a moment"])
}

#[test]
fn a_key_that_is_none_or_not_trusted_frees_nothing_and_says_what_to_do() -> Outcome {
    let stand = held()?;
    let key = stand.key();
    let retry = ["instances", "retry", "blog-1"];
    stand.place.ask(&retry)?.failed(2, &["no key was named", "controller keys new operator"])?;
    let other = stand.place.join("controller.seed").display().to_string();
    crate::fleet::finished(stand.place.controller(&[
        "keys",
        "new",
        "controller",
        "--out",
        &other,
    ]))?
    .done()?;
    let with = |key: &str| stand.place.ask(&[&retry[..], &["--key", key]].concat());
    with(&other)?.failed(2, &["a key of a controller, and an operator's is wanted"])?;
    with("no/such/file")?.failed(1, &["no/such/file"])?;
    fs::set_permissions(stand.seed_file(), Permissions::from_mode(0o644))?;
    with(&key)?.failed(3, &["can read or change"])?;
    fs::set_permissions(stand.seed_file(), Permissions::from_mode(0o600))?;

    stand.machine("box-1", |machine| machine.trusted = TrustedKeys::default())?;
    with(&key)?.failed(3, &["box-1 refused it", "agent.toml", "operators = [\"O"])?;
    assert!(stand.machine("box-1", |machine| machine.grants.is_empty())?);

    // A fleet's own key, and one that the environment names, need not be said.
    let trusted = keys::load(&stand.seed_file())?;
    let trusted = wire::signed::Signer::public_key(&trusted).clone();
    stand.machine("box-1", |machine| machine.trusted = TrustedKeys::new([trusted]))?;
    let mut named = stand.place.of_fleet(&retry);
    named.env("BELLWETHER_OPERATOR_KEY", &key);
    crate::fleet::finished(named)?.done()
}

#[test]
fn a_machine_that_does_not_answer_is_said_to() -> Outcome {
    let stand = held()?;
    let key = stand.key();
    stand.machine("box-1", |machine| machine.serves = false)?;
    for command in [
        &["machines", "books", "box-1"][..],
        &["instances", "retry", "blog-1", "--machine", "box-1", "--key", &key],
    ] {
        eventually("nobody serves it there", || {
            let asked = stand.place.ask(command)?;
            let is = asked.failed(5, &["box-1 does not answer", "node-agent status"]);
            Ok(is.map_err(|error| error.to_string()))
        })?;
    }
    Ok(())
}

fn both_are(stand: &Stand, outcome: &str) -> Outcome {
    eventually("both machines have reported", || {
        let all = stand.place.json(&["instances"])?;
        let is = |nth: usize| all[nth]["outcome"]["outcome"] == outcome;
        Ok(if is(0) && is(1) { Ok(()) } else { Err(all.to_string()) })
    })
}

#[test]
fn which_instance_is_meant_is_not_guessed() -> Outcome {
    let stand = Stand::new(&["box-1", "box-2"])?;
    let (key, build) = (stand.key(), stand.build.clone());
    let retry = ["instances", "retry", "blog-1", "--key", &key];
    both_are(&stand, "applied")?;
    stand.place.ask(&retry)?.failed(1, &["nothing holds blog-1 on any machine"])?;
    for machine in ["box-1", "box-2"] {
        stand.machine(machine, |machine| machine.holds(&build, HeldBy::Record))?;
    }
    both_are(&stand, "refused")?;
    stand.place.ask(&retry)?.failed(2, &["several machines", "box-1, box-2", "--machine"])?;

    let other = "01BX5ZZKBKACTAV9WEVGEMMVRZ".parse()?;
    stand.machine("box-1", |machine| machine.holds(&other, HeldBy::Marker))?;
    let on_one = [&retry[..], &["--machine", "box-1"]].concat();
    let several = format!("--build {other}");
    stand.place.ask(&on_one)?.failed(2, &["several builds hold blog-1", &several])?;
    stand.place.ask(&[&on_one[..], &["--build", "MMVRZ"]].concat())?.done()?;
    let left = stand.machine("box-1", |machine| machine.held.len())?;
    assert_eq!(left, 1, "what holds it for another build stays");
    stand.place.ask(&["instances", "retry", "nobody-1", "--key", &key])?.failed(1, &["no instance"])
}

#[test]
fn a_pointer_reaches_every_machine_also_one_that_was_away() -> Outcome {
    let mut stand = Stand::new(&["box-1", "box-2"])?;
    let (key, build) = (stand.key(), stand.build.clone());
    stand.machine("box-1", |machine| machine.holds(&build, HeldBy::HeldDown))?;
    stand.machine("box-2", |machine| {
        machine.holds(&build, HeldBy::Record);
        machine.serves = false;
    })?;
    let promoted = stand.place.ask(&["promote", "blog", "v1", "--retry", "--key", &key])?;
    promoted.done()?;
    for part in ["blog tries again v1", "freed blog/blog-1", "it did not answer yet", "by itself"] {
        assert!(promoted.stdout.contains(part), "{part}: {promoted:?}");
    }
    let taken = |stand: &Stand, machine: &str| stand.machine(machine, |it| it.pointers.clone());
    let [first] = &taken(&stand, "box-1")?[..] else { return Err("not once".into()) };
    assert_eq!((first.kind, &first.build), (PointerKind::PromoteRetry, &build));
    assert_eq!(taken(&stand, "box-2")?, []);

    // It is kept, so the next controller hands it over; and who has it can take it again.
    stand.start()?;
    stand.machine("box-2", |machine| machine.serves = true)?;
    eventually("the other one has it too", || {
        let taken = taken(&stand, "box-2")?;
        Ok(if taken.first() == Some(first) { Ok(()) } else { Err(format!("{taken:?}")) })
    })?;
    assert!(stand.machine("box-2", |machine| machine.held.is_empty())?);
    Ok(())
}

#[test]
fn a_rollback_names_the_registered_build_and_says_what_each_machine_says() -> Outcome {
    let stand = Stand::new(&["box-1", "box-2"])?;
    let key = stand.key();
    stand.machine("box-2", |machine| machine.trusted = TrustedKeys::default())?;
    let said = stand.place.ask(&["rollback", "blog", "--key", &key])?;
    said.failed(1, &["box-2 refused it", "operators = [\"O"])?;
    assert!(said.stdout.contains("nothing was held"), "{said:?}");
    let pointers = stand.machine("box-1", |machine| machine.pointers.clone())?;
    let [pointer] = pointers.as_slice() else { return Err(format!("{pointers:?}").into()) };
    assert_eq!((pointer.kind, &pointer.build), (PointerKind::Rollback, &stand.build));
    stand
        .place
        .ask(&["rollback", "blog", "v9", "--key", &key])?
        .failed(1, &["no build `blog@v9`"])?;
    stand.place.ask(&["promote", "shop", "v1", "--key", &key])?.failed(1, &["no module `shop`"])
}

#[test]
fn a_pointer_that_no_machine_could_take_is_not_kept() -> Outcome {
    let stand = Stand::new(&["box-1"])?;
    let key = keys::load(&stand.seed_file())?;
    let at = now();
    let pointer = |minutes: i64| Pointer {
        id: "01BX5ZZKBKACTAV9WEVGEMMVRZ".parse().unwrap_or_else(|_| unreachable!()),
        account: Default::default(),
        module: "blog".parse().unwrap_or_else(|_| unreachable!()),
        channel: Default::default(),
        build: stand.build.clone(),
        promoted_at: at + TimeDelta::minutes(minutes),
        kind: PointerKind::Promote,
    };
    let refused = |signed: Signed| -> Outcome<Refusal> {
        let answer = stand.ask(Ask::Point { pointer: signed })?;
        let Answer::Refused(refusal) = answer else { return Err(format!("{answer:?}").into()) };
        Ok(refusal)
    };
    let first = issue_pointer(&pointer(0), &key)?;
    let mut changed = first.clone();
    changed.payload = changed.payload.replace("promote", "rollback");
    assert_eq!(refused(changed)?.kind, RefusalKind::Usage, "it is not what was signed");
    let ahead = issue_pointer(&pointer(60), &key)?;
    assert_eq!(refused(ahead)?.kind, RefusalKind::Usage, "it is from the future");
    let other = Pointer { account: "other".parse()?, ..pointer(0) };
    assert!(refused(issue_pointer(&other, &key)?)?.why.contains("account other"));
    let nothing = Pointer { build: "01BX5ZZKBKACTAV9WEVGEMMVRZ".parse()?, ..pointer(0) };
    assert!(refused(issue_pointer(&nothing, &key)?)?.why.contains("there is no build"));

    for _ in 0..2 {
        let kept = stand.ask(Ask::Point { pointer: first.clone() })?;
        assert!(matches!(kept, Answer::Pointed(_)), "the same can be brought again: {kept:?}");
    }
    let older = refused(issue_pointer(&pointer(-1), &key)?)?;
    assert_eq!(older.kind, RefusalKind::Rule);
    assert!(older.why.contains("has a newer pointer"), "{older}");
    Ok(())
}

#[test]
fn in_a_fleet_that_is_tried_out_what_failed_is_held_and_its_own_key_frees_it() -> Outcome {
    let place = Place::new()?;
    let _dev = Dev::serving(&place)?;
    let builds = place.json(&["builds", "sample"])?;
    let condemned = builds.as_array().into_iter().flatten();
    let mut condemned = condemned.filter(|build| build["standing"] == "condemned");
    let build = condemned.next().and_then(|build| build["build"].as_str()).ok_or("no build")?;
    let book = place.json(&["machines", "books", "box-1"])?;
    let held = &book["book"]["held"];
    assert_eq!(held.as_array().map(Vec::len), Some(1), "{book}");
    assert_eq!((&held[0]["build"], &held[0]["rule"]), (&build.into(), &"record".into()));
    let elsewhere = place.ask(&["machines", "books", "box-2"])?;
    assert!(elsewhere.stdout.contains("holds   nothing"), "{elsewhere:?}");

    // The command that is shown, as it is shown.
    let frees = book["frees"][0].as_str().and_then(|it| it.strip_prefix("controller "));
    let frees: Vec<_> = frees.ok_or("no command")?.split(' ').collect();
    let freed = place.ask(&frees)?;
    freed.done()?;
    assert!(freed.stdout.contains("may try build"), "{freed:?}");
    let after = place.ask(&["machines", "books", "box-1"])?;
    assert!(after.stdout.contains("holds   nothing"), "{after:?}");
    place.ask(&frees)?.failed(1, &["nothing holds sample-1 on box-1"])?;

    let promoted = place.json(&["promote", "sample", build, "--retry"])?;
    for machine in promoted["machines"].as_array().ok_or("no machines")? {
        assert_eq!(machine["reply"]["answer"], "taken", "{promoted}");
    }
    let moves = promoted["moves"].as_str().ok_or("nothing moves it")?;
    assert!(moves.starts_with("controller plans retry "), "{promoted}");
    Ok(())
}
