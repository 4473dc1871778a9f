//! A person's way through all commands, with a program of their own.

use std::{fs, path::Path};

use crate::fleet::{Dev, Outcome, Place, eventually};
use serde_json::Value;

/// The program that the README releases, with another line in its script.
fn hello(place: &Place, name: &str, line: &str) -> Outcome<String> {
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/examples/hello");
    let folder = place.join(name);
    fs::create_dir(&folder)?;
    for file in ["bellwether.toml", "hello.sh"] {
        fs::copy(example.join(file), folder.join(file))?;
    }
    let script = fs::read_to_string(folder.join("hello.sh"))?.replace("sleep 1", line);
    fs::write(folder.join("hello.sh"), script)?;
    Ok(folder.display().to_string())
}

/// What runs on a machine, as its commits.
fn runs(place: &Place, module: &str) -> Outcome<Vec<String>> {
    let mut runs = Vec::new();
    for machine in place.json(&["machines"])?.as_array().ok_or("no machines")? {
        for resource in machine["resources"].as_array().ok_or("no resources")? {
            if resource["module"] == module && resource["state"] == "healthy" {
                runs.push(format!("{} {}", text(&machine["machine"])?, text(&resource["commit"])?));
            }
        }
    }
    Ok(runs)
}

fn text(value: &Value) -> Outcome<&str> {
    Ok(value.as_str().ok_or("no text")?)
}

fn runs_soon(place: &Place, wanted: &[&str]) -> Outcome {
    eventually("the machines run it", || {
        let runs = runs(place, "hello")?;
        Ok(if runs == wanted { Ok(()) } else { Err(format!("{runs:?}")) })
    })
}

#[test]
fn a_person_releases_a_program_of_their_own_from_first_build_to_last() -> Outcome {
    let place = Place::new()?;
    let _dev = Dev::serving(&place)?;
    let good = hello(&place, "good", "sleep 1")?;
    place.ask(&["builds", "add", &good, "--commit", "v1"])?.done()?;
    place
        .ask(&["release", "hello"])?
        .failed(3, &["assigned to no machine", "controller assign"])?;
    place.ask(&["assign", "hello", "--to", "box-1,box-2", "--env", "WHO=you"])?.done()?;

    // Told, and nothing else.
    let dry = place.ask(&["release", "hello", "--dry-run"])?;
    dry.done()?;
    assert!(dry.stdout.contains("nothing was sent") && dry.stdout.contains("box-2"), "{dry:?}");
    let plans = place.json(&["plans"])?;
    assert!(!plans.to_string().contains("hello"), "{plans}");

    let released = place.ask(&["release", "hello", "--wait"])?;
    released.done()?;
    assert!(released.stderr.contains(": pass 1 of 2"), "{released:?}");
    assert!(released.stdout.contains("done"), "{released:?}");
    runs_soon(&place, &["box-1 v1", "box-2 v1"])?;
    let again = place.ask(&["release", "hello", "--wait"])?;
    again.done()?;
    assert!(again.stdout.contains("nothing to do"), "{again:?}");

    // A bad one stops at the first machine, and its exit status says so.
    let bad = hello(&place, "bad", "exit 7")?;
    place.ask(&["builds", "add", &bad, "--commit", "v2"])?.done()?;
    place.ask(&["release", "hello", "--wait"])?.failed(4, &["failed", "hint: look at it"])?;
    runs_soon(&place, &["box-1 v1", "box-2 v1"])?;
    place
        .ask(&["builds", "add", &bad, "--commit", "v3"])?
        .failed(3, &["is what failed its gate"])?;
    let conditions = place.ask(&["conditions"])?;
    assert!(conditions.stdout.contains("build.hello."), "{conditions:?}");
    let plan = place.json(&["plans"])?;
    let plan = text(&plan[0]["plan"])?.to_owned();
    let shown = place.ask(&["plans", "show", &plan])?;
    assert!(shown.stdout.contains("hello v1 → v2"), "{shown:?}");

    // A person may ask for it once more, and then think better of it.
    place.ask(&["plans", "retry", &plan])?.done()?;
    let retried = place.json(&["plans"])?;
    let retried = text(&retried[0]["plan"])?.to_owned();
    assert_ne!(retried, plan);
    place.ask(&["plans", "stop", &retried])?.failed(2, &["must be confirmed", "--yes"])?;
    let stopped = place.ask(&["plans", "stop", &retried, "--yes"])?;
    let is_over = stopped.status == Some(0) || stopped.stderr.contains("has ended");
    assert!(is_over, "{stopped:?}");
    runs_soon(&place, &["box-1 v1", "box-2 v1"])?;

    place.ask(&["push", "box-1"])?.done()?;
    place.ask(&["assign", "hello", "--to", "box-3"])?.done()?;
    runs_soon(&place, &["box-1 v1", "box-2 v1", "box-3 v1"])?;
    place.ask(&["unassign", "hello", "--to", "box-1,box-2"])?.failed(2, &["--yes"])?;
    place.ask(&["unassign", "hello", "--to", "box-1,box-2", "--yes"])?.done()?;
    runs_soon(&place, &["box-3 v1"])
}

#[test]
fn programs_read_every_list_as_json() -> Outcome {
    let place = Place::new()?;
    let _dev = Dev::serving(&place)?;
    for (arguments, field) in [
        (&["machines"][..], "machine"),
        (&["modules"], "module"),
        (&["builds"], "build"),
        (&["builds", "list", "sample"], "build"),
        (&["plans"], "plan"),
        (&["plans", "list"], "plan"),
        (&["gates"], "since"),
        (&["conditions"], "key"),
    ] {
        let list = place.json(arguments)?;
        assert!(text(&list[0][field]).is_ok(), "{arguments:?}: {list}");
        let table = place.ask(arguments)?;
        table.done()?;
        assert!(!table.stdout.contains('\x1b'), "{table:?}");
    }
    Ok(())
}
