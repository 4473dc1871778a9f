//! Damaged files in a fleet's folder: what can be made again is, and said; without its store nothing starts, and what
//! runs is left alone.

use std::{fs, path::Path};

use crate::fleet::{Dev, Outcome, Place, eventually, finished};

/// A fleet of one machine, told to its end.
fn dev(place: &Place) -> std::process::Command {
    place.of_fleet(&["dev", "--machines", "1"])
}

/// The sample's processes, by their numbers and what they were started with.
fn samples(place: &Place) -> Outcome<Vec<String>> {
    let mut all = place.processes()?;
    all.retain(|process| process.contains(" sample --port "));
    all.sort();
    Ok(all)
}

#[test]
fn a_damaged_store_is_named_and_what_runs_is_left_alone() -> Outcome {
    let place = Place::new()?;
    let mut first = Dev::start(dev(&place))?;
    first.wait_for_line("serving until Ctrl-C")?;
    first.kill()?;
    let running = samples(&place)?;
    if running.is_empty() {
        return Err("its programs do not outlive it".into());
    }

    let db = place.dir().join("store/data/db");
    let whole = fs::read(&db)?;
    for (damaged, why) in [
        (whole[..whole.len() / 2].to_vec(), " was written; restore a backup of the store into an "),
        (Vec::new(), "it has nothing of the store that was made; restore a backup"),
    ] {
        fs::write(&db, &damaged)?;
        let refused = finished(dev(&place))?;
        refused.failed(1, &["store/data/db is damaged: ", why])?;
        assert!(fs::read(&db)? == damaged, "it was not left as it was found");
    }
    fs::rename(place.dir().join("store"), place.dir().join("elsewhere"))?;
    finished(dev(&place))?.failed(1, &["store/schema is missing", "hint: restore a backup"])?;
    assert_eq!(samples(&place)?, running, "what runs was touched");

    fs::rename(place.dir().join("elsewhere"), place.dir().join("store"))?;
    fs::write(&db, whole)?;
    let mut again = dev(&place);
    again.arg("--exit");
    let again = finished(again)?;
    again.done()?;
    assert!(!again.stderr.contains("released"), "nothing was lost: {again:?}");
    place.nothing_is_left()
}

#[test]
fn every_other_file_is_made_again() -> Outcome {
    let place = Place::new()?;
    finished(place.of_fleet(&["dev", "--machines", "2", "--exit"]))?.done()?;
    type Damage = fn(&Path) -> std::io::Result<()>;
    let damages: [Damage; 3] = [
        |path| fs::write(path, ""),
        |path| fs::write(path, [0xff, 0, 7, 0x9b].repeat(99)),
        |_| Ok(()),
    ];
    for damage in damages {
        let mut files =
            vec!["lock", "controller.sock", "fleet", "image", "store/lock", "store/mark"];
        files.extend(["sample/v1/bellwether.toml", "sample/v2/sample.conf"]);
        let artifacts = fs::read_dir(place.dir().join("artifacts"))?;
        let artifacts: Vec<_> = artifacts.map(|entry| Ok(entry?.path())).collect::<Outcome<_>>()?;
        let files = files.into_iter().map(|file| place.dir().join(file)).chain(artifacts);
        for file in files {
            if fs::symlink_metadata(&file).is_ok() {
                fs::remove_file(&file)?;
            }
            damage(&file)?;
        }
        let again = finished(place.of_fleet(&["dev", "--exit"]))?;
        again.done()?;
        assert!(!again.stderr.contains("released"), "nothing was lost: {again:?}");
        let says = ["note: a damaged mark of the store was set aside", "store/mark was missing"];
        assert!(says.iter().any(|note| again.stderr.contains(note)), "{again:?}");
        let machines = fs::read_dir(place.dir().join("machines"))?.count();
        assert_eq!(machines, 2, "the fleet has lost its size");
        place.nothing_is_left()?;
    }
    Ok(())
}

/// Whoever deletes the socket does not have to restart the controller.
#[test]
fn a_deleted_socket_is_there_again_soon() -> Outcome {
    let place = Place::new()?;
    let mut running = Dev::start(dev(&place))?;
    running.wait_for_line("box-1 is heard")?;
    fs::remove_file(place.dir().join("controller.sock"))?;
    eventually("commands are answered again", || {
        let machines = place.ask(&["machines"])?;
        Ok(if machines.status == Some(0) { Ok(()) } else { Err(format!("{machines:?}")) })
    })
}
