//! Reads `health`.

use toml_fields::{Field, Found, Reported, list};

use super::{COUNT, command, some_time, time};
use crate::manifest::model::{Check, Health};

type ReadCheck = fn(Field, &mut Found) -> Result<Check, Reported>;

/// Each check by the key that asks for it.
const CHECKS: [(&str, ReadCheck); 5] = [
    ("http", |field, found| path(field, found).map(|path| Check::Http { path, body: None })),
    ("tcp", |field, found| yes(field, found).map(|()| Check::Tcp)),
    ("exec", |field, found| command(field, found).map(Check::Exec)),
    ("notify", |field, found| yes(field, found).map(|()| Check::Notify { watchdog: None })),
    ("alive", |field, found| some_time(field, found).map(Check::Alive)),
];

pub(super) fn health(field: Field, found: &mut Found) -> Result<Health, Reported> {
    let mut table = field.table(found)?;
    let mut keys = Vec::new();
    let mut checks = Vec::new();
    for (key, read) in CHECKS {
        if let Some(field) = table.take(key) {
            keys.push(key);
            checks.push(read(field, found));
        }
    }
    let check = match (checks.pop(), checks.is_empty()) {
        (Some(check), true) => check,
        (Some(_), false) => Err(table
            .spot
            .wrong(found, format!("only one check is wanted, here are {}", list(&keys)))),
        (None, _) => {
            let all = CHECKS.map(|(key, _)| key);
            Err(table.spot.wrong(found, format!("a check is wanted, one of {}", list(&all))))
        }
    };
    let body = table.optional(found, "body", |field, found| {
        if keys != ["http"] {
            return Err(field.spot.wrong(found, "only an `http` check looks at a body"));
        }
        field.checked(found, "a text in quotes", |text| match text {
            "" => Err("must not be empty: every body has nothing in it".to_owned()),
            text => Ok(text.to_owned()),
        })
    });
    let watchdog = table.optional(found, "watchdog", |field, found| {
        if keys != ["notify"] {
            return Err(field.spot.wrong(found, "only a `notify` check has a watchdog"));
        }
        some_time(field, found)
    });
    let count = |field: Field, found: &mut Found| field.whole(found, COUNT);
    let every = table.or(found, ("every", Health::EVERY), some_time);
    let timeout = table.or(found, ("timeout", Health::TIMEOUT), some_time);
    let passes = table.or(found, ("passes", Health::PASSES), count);
    let failures = table.or(found, ("failures", Health::FAILURES), count);
    let start_up = table.or(found, ("start_up", Health::START_UP), time);
    table.finish(found);
    let (mut check, wanted, bound) = (check?, body?, watchdog?);
    match &mut check {
        Check::Http { body, .. } => *body = wanted,
        Check::Notify { watchdog } => *watchdog = bound,
        Check::Tcp | Check::Exec(_) | Check::Alive(_) => {}
    }
    Ok(Health {
        check,
        every: every?,
        timeout: timeout?,
        passes: passes?,
        failures: failures?,
        start_up: start_up?,
    })
}

/// What stands after the host in an address. Nothing else could be sent without ending the request's line.
fn path(field: Field, found: &mut Found) -> Result<String, Reported> {
    field.checked(found, "a path in quotes", |text| {
        if text.starts_with('/') && text.bytes().all(|b| b.is_ascii_graphic()) {
            return Ok(text.to_owned());
        }
        Err("a path is wanted that begins with `/` and has visible ASCII characters only"
            .to_owned())
    })
}

/// A check that is only named has nothing to be said of it.
fn yes(field: Field, found: &mut Found) -> Result<(), Reported> {
    let spot = field.spot.clone();
    if field.truth(found)? {
        return Ok(());
    }
    Err(spot.wrong(found, "only true has a meaning; leave it out otherwise"))
}
