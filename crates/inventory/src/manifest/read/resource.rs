//! Reads `[[resource]]`.

use core::{net::SocketAddr, ops::RangeInclusive};

use toml_fields::{Field, Found, Reported};

use super::{COMMAND, COUNT, Taken, command, health, some_time, time};
use crate::{
    manifest::{
        model::{Health, Limits, Listen, Resource, Restart, Signal, Stop},
        size,
    },
    module::Environment,
    span::Span,
};

/// What no two resources of a manifest may share.
#[derive(Debug, Default)]
pub(super) struct Seen {
    names: Taken,
    addresses: Taken,
}

pub(super) fn resource(
    field: Field,
    found: &mut Found,
    seen: &mut Seen,
) -> Result<Resource, Reported> {
    let mut table = field.table(found)?;
    let name = table.required(found, ("name", "the resource's name"), |field, found| {
        seen.names.name(field, found)
    });
    let command = table.required(found, ("command", COMMAND), command);
    let environment = table.or(found, ("environment", Environment::new()), environment);
    let listen =
        table.optional(found, "listen", |field, found| listen(field, found, &mut seen.addresses));
    let direct = table.optional(found, "direct", |field, found| {
        let spot = field.spot.clone();
        Ok((spot, field.truth(found)?))
    });
    let health = table.optional(found, "health", health::health);
    let stop = table.or(found, ("stop", Stop::default()), stop);
    let restart = table.or(found, ("restart", Restart::default()), restart);
    let user = table.optional(found, "user", user);
    let limits = table.or(found, ("limits", Limits::default()), limits);
    table.finish(found);
    let listen = match (listen?, direct?) {
        (None, Some((spot, true))) => {
            return Err(spot.wrong(found, "there is no `listen` to be listened on directly"));
        }
        (None, _) => Listen::Private,
        (Some(address), Some((_, true))) => Listen::Direct(address),
        (Some(address), _) => Listen::Routed(address),
    };
    Ok(Resource {
        name: name?,
        command: command?,
        environment: environment?,
        listen,
        health: health?.unwrap_or_else(|| Health::unsaid(listen)),
        stop: stop?,
        restart: restart?,
        user: user?,
        limits: limits?,
    })
}

fn environment(field: Field, found: &mut Found) -> Result<Environment, Reported> {
    field.entries(found, |name, field, found| {
        if name.is_empty() || name.contains(['=', '\0']) {
            return Err(field
                .spot
                .wrong(found, "the name of a variable must not be empty or have `=` in it"));
        }
        field.text(found)
    })
}

const ADDRESS: &str = "an address with a port, as \"0.0.0.0:8080\",";
const PAUSES: &str = "the first and the longest pause, as \"200ms..30s\",";
const MEMORY: &str = "a whole number above zero with a unit, as \"512M\" or \"2G\",";

fn listen(field: Field, found: &mut Found, addresses: &mut Taken) -> Result<SocketAddr, Reported> {
    let spot = field.spot.clone();
    let address: SocketAddr = field
        .checked(found, ADDRESS, |text| text.parse().map_err(|_| format!("{ADDRESS} is wanted")))?;
    if address.port() == 0 {
        return Err(spot.wrong(found, "the port must not be 0: nobody could know where to connect"));
    }
    addresses.once(spot, address, found)
}

fn stop(field: Field, found: &mut Found) -> Result<Stop, Reported> {
    let mut table = field.table(found)?;
    let default = Stop::default();
    let signal = table.or(found, ("signal", default.signal), |field, found| {
        field.choice(found, &Signal::ALL.map(|signal| (signal.word(), signal)))
    });
    let grace = table.or(found, ("grace", default.grace), time);
    let drain = table.or(found, ("drain", default.drain), time);
    table.finish(found);
    Ok(Stop { signal: signal?, grace: grace?, drain: drain? })
}

fn restart(field: Field, found: &mut Found) -> Result<Restart, Reported> {
    let mut table = field.table(found)?;
    let default = Restart::default();
    let limit = table
        .or(found, ("limit", default.limit), |field, found| field.whole(found, 0..=*COUNT.end()));
    let within = table.or(found, ("within", default.within), some_time);
    let pauses = (default.backoff_min, default.backoff_max);
    let backoff = table.or(found, ("backoff", pauses), backoff);
    table.finish(found);
    let (backoff_min, backoff_max) = backoff?;
    Ok(Restart { limit: limit?, within: within?, backoff_min, backoff_max })
}

fn backoff(field: Field, found: &mut Found) -> Result<(Span, Span), Reported> {
    field.checked(found, PAUSES, |text| {
        let (first, longest) = text.split_once("..").ok_or(format!("{PAUSES} is wanted"))?;
        let span = |text: &str| text.parse::<Span>().map_err(|error| error.to_string());
        let (first, longest) = (span(first)?, span(longest)?);
        if first == Span::ZERO {
            return Err("the first pause must be longer than nothing, or it never grows".to_owned());
        }
        if first > longest {
            return Err(format!("the first pause, {first}, is longer than the longest, {longest}"));
        }
        Ok((first, longest))
    })
}

/// Reads the name of a user, wherever a file of ours has one.
///
/// # Errors
/// When it is no name that a user can have; it was collected.
pub fn user(field: Field, found: &mut Found) -> Result<String, Reported> {
    const LENGTH_MAX: usize = 32;
    field.checked(found, "a user's name in quotes", |text| {
        let allowed = |b: u8| b.is_ascii_alphanumeric() || b"-_.".contains(&b);
        let valid = (1..=LENGTH_MAX).contains(&text.len())
            && text.bytes().all(allowed)
            && !text.starts_with('-');
        if valid {
            return Ok(text.to_owned());
        }
        Err(format!(
            "a user has 1 to {LENGTH_MAX} letters, digits, `-`, `_` and `.`, and no `-` in front"
        ))
    })
}

fn limits(field: Field, found: &mut Found) -> Result<Limits, Reported> {
    /// As many processes or files as any kernel hands out.
    const RANGE: RangeInclusive<i64> = 1..=i32::MAX as i64;
    let mut table = field.table(found)?;
    let memory = table.optional(found, "memory", |field, found| {
        field.checked(found, MEMORY, |text| size::parse(text).ok_or(format!("{MEMORY} is wanted")))
    });
    let tasks = table.optional(found, "tasks", |field, found| field.whole(found, RANGE));
    let files = table.optional(found, "files", |field, found| field.whole(found, RANGE));
    table.finish(found);
    Ok(Limits { memory: memory?, tasks: tasks?, files: files? })
}
