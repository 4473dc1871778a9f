//! Bad input and faults: each is told clearly, nothing is lost by it, and when its cause is gone things go on.

use std::{fs, net::TcpListener, path::Path};

use crate::fleet::{Answered, Dev, Outcome, Place, Started, eventually, finished, write_build};

/// A manifest whose gate ends soon when something is wanting.
fn manifest(module: &str, listen: &str) -> String {
    format!(
        r#"[module]
name = "{module}"

[[resource]]
name = "worker"
command = ["./run.sh"]
{listen}
health = {{ alive = "500ms" }}

[gate]
passes = 2
every = "1s"
settle = "1s"
bound = "5s"
"#
    )
}

fn write_worker(folder: &Path, module: &str, listen: &str) -> Outcome {
    use std::os::unix::fs::PermissionsExt;
    let script = format!("#!/bin/sh\n# {module}\nwhile :; do sleep 1; done\n");
    write_build(folder, &manifest(module, listen), &[("run.sh", &script)])?;
    Ok(fs::set_permissions(folder.join("run.sh"), fs::Permissions::from_mode(0o755))?)
}

/// Registers a worker, assigned to one machine, and gives the file that its artifact is kept in.
fn add_worker(place: &Place, module: &str, machine: &str, listen: &str) -> Outcome<String> {
    let source = place.join(module);
    write_worker(&source, module, listen)?;
    let source = source.display().to_string();
    let before = artifacts(place)?;
    place.ask(&["builds", "add", &source, "--commit", "v1"])?.done()?;
    place.ask(&["assign", module, "--to", machine])?.done()?;
    let new = artifacts(place)?.into_iter().find(|name| !before.contains(name));
    Ok(new.ok_or("no artifact was placed")?)
}

fn artifacts(place: &Place) -> Outcome<Vec<String>> {
    let entries = fs::read_dir(place.dir().join("artifacts"))?;
    let names = entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()));
    names.collect()
}

#[test]
fn what_cannot_be_tried_condemns_nothing_and_goes_well_when_its_cause_is_gone() -> Outcome {
    let place = Place::new()?;
    let _dev = Dev::serving(&place)?;
    let artifact = |name: &str| place.dir().join("artifacts").join(name);

    let missing = add_worker(&place, "missing", "box-1", "")?;
    fs::remove_file(artifact(&missing))?;
    let wrong = add_worker(&place, "wrong", "box-2", "")?;
    let right = fs::read(artifact(&wrong))?;
    fs::write(artifact(&wrong), vec![b'x'; right.len()])?;
    let taken = TcpListener::bind("127.0.0.1:0")?;
    let address = taken.local_addr()?;
    add_worker(&place, "taken", "box-3", &format!("listen = \"{address}\""))?;

    let cases = [
        ("missing", "is not at its source"),
        ("wrong", "does not match what was declared"),
        ("taken", "listens there already"),
    ];
    let modules = cases.map(|(module, _)| module);
    let mut plans = Vec::new();
    for (answered, (module, said)) in all_at_once(&place, "release", modules)?.iter().zip(cases) {
        answered.failed(4, &["cannot tell", said])?;
        assert_eq!(place.json(&["builds", module])?[0]["standing"], "unproven", "{module}");
        let hint = answered.stderr.split("controller plans retry ").nth(1).ok_or("no hint")?;
        plans.push(hint.trim().to_owned());
    }

    // The same content is placed again, whatever was there.
    for module in ["missing", "wrong"] {
        let source = place.join(module).display().to_string();
        let again = place.ask(&["builds", "add", &source])?;
        again.done()?;
        assert!(again.stdout.contains("is registered already"), "{again:?}");
    }
    drop(taken);
    // The machines try again by themselves, after pauses that grow.
    for module in modules {
        eventually("the machine has come to try it", || {
            let machines = place.json(&["machines"])?;
            let machines = machines.as_array().ok_or("no machines")?;
            let of_all = machines.iter().filter_map(|machine| machine["resources"].as_array());
            let mut of_module = of_all.flatten().filter(|resource| resource["module"] == module);
            let runs = of_module.any(|resource| resource["state"] == "healthy");
            Ok(if runs { Ok(()) } else { Err(format!("{module}: {machines:?}")) })
        })?;
    }
    // As the hint says.
    for answered in all_at_once(&place, "plans retry", plans.iter().map(String::as_str))? {
        answered.done()?;
    }
    for (module, _) in cases {
        assert_eq!(place.json(&["builds", module])?[0]["standing"], "proven", "{module}");
    }
    Ok(())
}

/// Asks for several things, each with `--wait`, and gives what came of them in the order they were asked for.
fn all_at_once<'a>(
    place: &Place,
    verb: &str,
    of: impl IntoIterator<Item = &'a str>,
) -> Outcome<Vec<Answered>> {
    let mut asked = Vec::new();
    for one in of {
        let mut arguments: Vec<_> = verb.split(' ').collect();
        arguments.extend([one, "--wait"]);
        asked.push(Started::new(&mut place.of_fleet(&arguments))?);
    }
    asked.into_iter().map(Started::finished).collect()
}

#[test]
fn a_broken_manifest_is_told_fault_by_fault_and_changes_nothing() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::start(place.of_fleet(&["dev"]))?;
    dev.wait_for_line("box-1 is heard")?;
    let source = place.join("broken");
    let manifest = "[module]\nname = \"Broken\"\n\n[[resource]]\nname = \"web\"\ncommand = []\nhelth = { tcp = true }\n";
    write_build(&source, manifest, &[])?;
    let path = source.display().to_string();
    let added = place.ask(&["builds", "add", &path])?;
    added.failed(
        1,
        &[
            "the manifest has faults, so nothing was registered",
            &format!("{path}/bellwether.toml:2:8: module.name: "),
            &format!("{path}/bellwether.toml:6:11: resource[0].command: "),
            &format!(
                "{path}/bellwether.toml:7:1: resource[0].helth: unknown key; did you mean `health`?"
            ),
        ],
    )?;
    for (bytes, said) in [(&b"= no toml"[..], ":1:"), (b"\xff\xfe", ":1:1"), (b"", "module")] {
        fs::write(source.join("bellwether.toml"), bytes)?;
        place.ask(&["builds", "add", &path])?.failed(1, &["bellwether.toml", said])?;
    }
    fs::remove_file(source.join("bellwether.toml"))?;
    place.ask(&["builds", "add", &path])?.failed(1, &["no manifest at", "bellwether.toml"])?;
    place
        .ask(&["builds", "add", "/nowhere/at/all"])?
        .failed(1, &["/nowhere/at/all", "hint: give"])?;
    let builds = place.json(&["builds"])?;
    assert!(!builds.to_string().contains("roken"), "{builds}");
    let left: Vec<_> =
        artifacts(&place)?.into_iter().filter(|name| name.starts_with(".new")).collect();
    assert_eq!(left, [""; 0]);
    Ok(())
}

#[test]
fn what_nobody_knows_is_told_with_what_to_look_at() -> Outcome {
    let place = Place::new()?;
    let _dev = Dev::serving(&place)?;
    let plan = "01ARZ3NDEKTSV4RRFFQ69G5FAV";
    for (arguments, said) in [
        (&["release", "sample@v9"][..], "there is no build `sample@v9`"),
        (&["release", "nothing"], "there is no module `nothing`"),
        (&["builds", "nothing"], "there is no module `nothing`"),
        (&["assign", "nothing", "--to", "box-1"], "there is no module `nothing`"),
        (&["assign", "sample", "--to", "box-9"], "there is no machine `box-9`"),
        (&["unassign", "sample", "--to", "box-9", "--yes"], "no assignment to `box-9`"),
        (&["plans", "show", plan], "there is no plan"),
        (&["plans", "retry", plan], "there is no plan"),
        (&["plans", "stop", plan, "--yes"], "there is no plan"),
        (&["push", "box-9"], "box-9"),
    ] {
        place.ask(arguments)?.failed(1, &[said, "hint: "])?;
    }
    place.ask(&["release", "sample@v2"])?.failed(3, &["condemned", "controller plans retry"])?;
    place.ask(&["release", "Sample"])?.failed(2, &["Sample"])
}

#[test]
fn a_store_of_another_schema_is_left_alone() -> Outcome {
    let place = Place::new()?;
    finished(place.of_fleet(&["dev", "--exit"]))?.done()?;
    let schema = place.dir().join("store/schema");
    let ours = fs::read(&schema)?;
    fs::write(&schema, "bellwether store 99\n")?;
    let refused = finished(place.of_fleet(&["dev", "--exit"]))?;
    refused.failed(1, &["store/schema says \"bellwether store 99\"", "restore a backup"])?;
    place.nothing_is_left()?;
    assert_eq!(fs::read(&schema)?, b"bellwether store 99\n");

    fs::write(&schema, ours)?;
    let again = finished(place.of_fleet(&["dev", "--exit"]))?;
    again.done()?;
    assert!(!again.stderr.contains("released"), "nothing was lost: {again:?}");
    Ok(())
}
