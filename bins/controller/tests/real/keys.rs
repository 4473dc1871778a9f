//! `controller keys`: what is made, shown and refused, and that no secret is ever told.

use std::{
    fs::{self, Permissions},
    os::unix::fs::PermissionsExt,
    path::Path,
};

use serde_json::Value;
use wire::signed::{PublicKey, Role, Rotation, Signed, TrustedKeys, verify};

use crate::fleet::{Answered, Dev, Outcome, Place, finished};

/// The secret in a file: what must be in no output.
fn secret(path: &Path) -> Outcome<String> {
    let text = fs::read_to_string(path)?.trim().to_owned();
    if text.len() == 58 && text.starts_with('S') { Ok(text) } else { Err("no seed".into()) }
}

fn mode(path: &Path) -> Outcome<u32> {
    Ok(fs::metadata(path)?.permissions().mode() & 0o777)
}

/// Asks in the place's own folder, where relative files are.
fn keys(place: &Place, arguments: &[&str]) -> Outcome<Answered> {
    let mut command = place.controller(&["keys"]);
    command.args(arguments).current_dir(place.join(""));
    finished(command)
}

fn json(place: &Place, arguments: &[&str]) -> Outcome<Value> {
    let mut all = arguments.to_vec();
    all.extend(["--output", "json"]);
    let answered = keys(place, &all)?;
    answered.done()?;
    Ok(serde_json::from_str(&answered.stdout)?)
}

fn public(value: &Value) -> Outcome<PublicKey> {
    Ok(value.as_str().ok_or("no key")?.parse()?)
}

#[test]
fn a_key_is_made_for_its_owner_alone_and_only_its_public_half_is_shown() -> Outcome {
    let place = Place::new()?;
    let made = keys(&place, &["new", "operator"])?;
    made.done()?;
    let path = place.join("operator.seed");
    let seed = secret(&path)?;
    assert_eq!(mode(&path)?, 0o600);
    assert!(seed.starts_with("SO"));
    let shown = json(&place, &["show", "operator.seed"])?;
    let key = public(&shown[0]["public"])?;
    assert_eq!(key.role(), Role::Operator);
    assert_eq!(shown[0]["fingerprint"], key.fingerprint().as_str());
    assert_eq!(shown[0]["role"], "operator");
    let line = format!("[trust]\n  operators = [\"{key}\"]");
    assert!(made.stdout.contains(&line), "{made:?}");
    let table = keys(&place, &["show", "operator.seed"])?;
    assert!(table.stdout.contains(&key.to_string()), "{table:?}");
    for said in [&made, &table] {
        assert!(!format!("{said:?}").contains(&seed), "a secret was told: {said:?}");
    }
    assert!(!shown.to_string().contains(&seed), "a secret was told: {shown}");
    Ok(())
}

#[test]
fn a_key_lies_where_it_was_said_and_none_is_written_over() -> Outcome {
    let place = Place::new()?;
    let out = place.join("elsewhere");
    let out = out.display().to_string();
    keys(&place, &["new", "night-shift", "--role", "operator", "--out", &out])?.done()?;
    let before = secret(Path::new(&out))?;
    let again = keys(&place, &["new", "operator", "--out", &out])?;
    again.failed(3, &["is there already", "never written over"])?;
    assert_eq!(secret(Path::new(&out))?, before);

    let dir = place.dir().display().to_string();
    keys(&place, &["new", "controller", "--dir", &dir])?.done()?;
    let kept = place.dir().join("keys/controller.seed");
    assert!(secret(&kept)?.starts_with("SC"));
    assert_eq!(mode(&place.dir().join("keys"))?, 0o700);
    let shown = json(&place, &["show", "--dir", &dir])?;
    assert_eq!(shown.as_array().map(Vec::len), Some(1), "{shown}");
    assert_eq!(public(&shown[0]["public"])?.role(), Role::Controller);

    keys(&place, &["new", "night-shift"])?.failed(2, &["whose key it is", "--role operator"])?;
    keys(&place, &["new", "a/b", "--role", "operator"])?.failed(2, &["said with --out"])?;
    keys(&place, &["new", "x", "--role", "operator", "--out", "no/such/folder"])?
        .failed(1, &["no/such/folder cannot be written"])
}

#[test]
fn a_file_that_others_can_read_is_refused_and_not_told() -> Outcome {
    let place = Place::new()?;
    keys(&place, &["new", "operator"])?.done()?;
    let path = place.join("operator.seed");
    let seed = secret(&path)?;
    fs::set_permissions(&path, Permissions::from_mode(0o640))?;
    for arguments in [["show", "operator.seed"], ["rotate", "operator.seed"]] {
        let refused = keys(&place, &arguments)?;
        refused.failed(3, &["can read or change", "mode 640", "chmod 600"])?;
        assert!(!format!("{refused:?}").contains(&seed), "{refused:?}");
    }
    fs::set_permissions(&path, Permissions::from_mode(0o600))?;
    fs::write(&path, &seed[..57])?;
    let refused = keys(&place, &["show", "operator.seed"])?;
    refused.failed(1, &["has no key in it", "57 characters"])?;
    assert!(!format!("{refused:?}").contains(&seed[..57]), "{refused:?}");
    keys(&place, &["show", "missing"])?.failed(1, &["missing cannot be read"])?;
    keys(&place, &["show"])?.failed(5, &["or name the files"])
}

#[test]
fn the_next_key_comes_with_the_old_one_s_word_for_it() -> Outcome {
    let place = Place::new()?;
    keys(&place, &["new", "operator"])?.done()?;
    let old = public(&json(&place, &["show", "operator.seed"])?[0]["public"])?;
    let rotated = json(&place, &["rotate", "operator.seed"])?;
    let next = public(&rotated["next"]["public"])?;
    assert_eq!(public(&rotated["from"])?, old);
    assert_ne!(next, old);
    let seeds = ["operator.seed", "operator.next.seed"].map(|name| place.join(name));
    for path in &seeds {
        assert!(!rotated.to_string().contains(&secret(path)?), "a secret was told: {rotated}");
        assert_eq!(mode(path)?, 0o600);
    }
    assert_eq!(public(&json(&place, &["show", "operator.next.seed"])?[0]["public"])?, next);

    let statement = fs::read_to_string(place.join("operator.next.rotation.json"))?;
    let statement: Signed = serde_json::from_str(&statement)?;
    assert_eq!(serde_json::to_value(&statement)?, rotated["statement"]);
    let trusted = TrustedKeys::new([old.clone()]);
    let rotation = verify::<Rotation>(&statement, &trusted, chrono::DateTime::UNIX_EPOCH)?;
    let trusted = trusted.rotated(&rotation)?;
    assert!(trusted.has(&next) && !trusted.has(&old));

    let again = keys(&place, &["rotate", "operator.seed"])?;
    again.failed(3, &["operator.next.seed is there already"])?;
    keys(&place, &["rotate", "operator.seed", "--out", "third.seed"])?.done()
}

#[test]
fn a_fleet_has_keys_that_its_agents_trust() -> Outcome {
    let place = Place::new()?;
    let mut dev = Dev::start(place.of_fleet(&["dev", "--machines", "1"]))?;
    dev.wait_for_line("box-1 is heard")?;
    let shown = place.json(&["keys", "show"])?;
    let config = fs::read_to_string(place.dir().join("machines/box-1/agent.toml"))?;
    for (index, list) in ["controllers", "operators"].iter().enumerate() {
        let key = public(&shown[index]["public"])?;
        assert!(config.contains(&format!("{list} = [\"{key}\"]")), "{config}");
    }
    let log = fs::read_to_string(place.dir().join("machines/box-1/agent.log"))?;
    assert!(log.contains("1 key of an operator and 1 key of a controller count here"), "{log}");
    for name in ["operator", "controller"] {
        let path = place.dir().join(format!("keys/{name}.seed"));
        assert_eq!(mode(&path)?, 0o600);
        let seed = secret(&path)?;
        assert!(!config.contains(&seed) && !log.contains(&seed), "a secret was told");
    }
    Ok(())
}
