//! Reads `agent.toml`, to its end whatever is wrong in it.

use std::{collections::BTreeSet, path::PathBuf};

use inventory::read_user;
use machine_os::{Allowed, Users};
use toml_fields::{Field, Found, Reported, excerpt};
use wire::signed::{PublicKey, Role, TrustedKeys};

use super::{AtStop, Config};

const PATH: &str = "an absolute path in quotes";
const USERS: &str = "\"all\", \"all-but-root\" or a list of names";
const ALLOWED: &str = "\"all\" or a list";
const KEYS: &str = "a list of public keys";

/// The whole file; what it does not say is as in `defaults`.
pub(super) fn config(root: Field, found: &mut Found, defaults: Config) -> Result<Config, Reported> {
    let mut file = root.table(found)?;
    let machine = file.optional(found, "machine", Field::parsed);
    let dir = file.or(found, ("dir", defaults.dir.clone()), path);
    let bus = file.or(found, ("bus", defaults.bus.clone()), path);
    let artifacts = file.optional(found, "artifacts", path);
    let trusted = file.or(found, ("trust", defaults.trust.clone()), trust);
    let unsaid = defaults.clone();
    let workloads =
        file.or(found, ("workloads", defaults), |field, found| workloads(field, found, unsaid));
    file.finish(found);
    Ok(Config {
        machine: machine?,
        dir: dir?,
        bus: bus?,
        artifacts: artifacts?,
        trust: trusted?,
        ..workloads?
    })
}

fn workloads(field: Field, found: &mut Found, defaults: Config) -> Result<Config, Reported> {
    let mut table = field.table(found)?;
    let mut bounds = defaults.bounds;
    let said = table.or(found, ("users", bounds.users.clone()), users);
    let default_user = table.optional(found, "default_user", read_user);
    let programs = table.or(found, ("programs", bounds.programs.clone()), |field, found| {
        allowed(field, found, path)
    });
    let listen = table.or(found, ("listen", bounds.listen.clone()), |field, found| {
        allowed(field, found, Field::parsed)
    });
    let path = table.or(found, ("path", defaults.path), folders);
    let at_stop = table.or(found, ("at_stop", defaults.at_stop), |field, found| {
        field.choice(found, &[("keep", AtStop::Keep), ("stop", AtStop::Stop)])
    });
    table.finish(found);
    bounds.users = said?;
    bounds.default_user = default_user?;
    bounds.programs = programs?;
    bounds.listen = listen?;
    Ok(Config { bounds, path: path?, at_stop: at_stop?, ..defaults })
}

fn trust(field: Field, found: &mut Found) -> Result<TrustedKeys, Reported> {
    let mut table = field.table(found)?;
    let operators = table
        .or(found, ("operators", Vec::new()), |field, found| keys(field, found, Role::Operator));
    let controllers = table.or(found, ("controllers", Vec::new()), |field, found| {
        keys(field, found, Role::Controller)
    });
    table.finish(found);
    Ok(TrustedKeys::new(operators?.into_iter().chain(controllers?)))
}

fn keys(field: Field, found: &mut Found, role: Role) -> Result<Vec<PublicKey>, Reported> {
    field.items(found, KEYS, |field, found| {
        field.checked(found, "a public key in quotes", |text| {
            let key: PublicKey = text.parse().map_err(in_words)?;
            key.for_role(role).map_err(in_words)
        })
    })
}

fn in_words(error: impl ToString) -> String {
    error.to_string()
}

fn path(field: Field, found: &mut Found) -> Result<PathBuf, Reported> {
    field.checked(found, PATH, |text| {
        let path = PathBuf::from(text);
        if path.is_absolute() { Ok(path) } else { Err("an absolute path is wanted".to_owned()) }
    })
}

fn users(field: Field, found: &mut Found) -> Result<Users, Reported> {
    if field.is_list() {
        return Ok(Users::Only(
            field.items(found, USERS, read_user)?.into_iter().collect::<BTreeSet<_>>(),
        ));
    }
    field.checked(found, USERS, |text| match text {
        "all" => Ok(Users::All),
        "all-but-root" => Ok(Users::AllButRoot),
        other => Err(format!(
            "`{}` is not allowed; allowed are `all`, `all-but-root` and a list of names",
            excerpt(other)
        )),
    })
}

fn allowed<T>(
    field: Field,
    found: &mut Found,
    read: impl FnMut(Field, &mut Found) -> Result<T, Reported>,
) -> Result<Allowed<T>, Reported> {
    if field.is_list() {
        return Ok(Allowed::Only(field.items(found, ALLOWED, read)?));
    }
    field.checked(found, ALLOWED, |text| match text {
        "all" => Ok(Allowed::All),
        other => Err(format!("`{}` is not allowed; {ALLOWED} is", excerpt(other))),
    })
}

fn folders(field: Field, found: &mut Found) -> Result<String, Reported> {
    field.checked(found, "a text in quotes", |text| {
        let is_path = text.split(':').all(|folder| folder.starts_with('/'));
        if is_path && !text.contains('\0') {
            return Ok(text.to_owned());
        }
        Err("folders are wanted, each by an absolute path, with `:` between them".to_owned())
    })
}
