//! From the raw tree to a manifest that is known to be valid, or to every fault of it.

mod gate;
mod health;
mod resource;

use core::{fmt::Display, ops::RangeInclusive, str::FromStr};
use std::collections::BTreeMap;

use names::ModuleName;
use toml_fields::{Field, Found, Reported, Spot};

pub use resource::user;

use super::model::{Manifest, Reversal, Swap, Tool};
use crate::{
    module::Instances,
    span::{Span, SpanError},
};

/// What may be counted: far above any sense, and far below where a sum overflows.
const COUNT: RangeInclusive<i64> = 1..=1_000_000;

/// Reads the whole manifest. Each table is read to its end whatever is wrong in it, and only then given up.
pub(super) fn manifest(root: Field, found: &mut Found) -> Result<Manifest, Reported> {
    let mut file = root.table(found)?;
    let module = file.required(found, ("module", "a table with the module's `name`"), module);
    let mut seen = resource::Seen::default();
    let resources = file.or(found, ("resource", Vec::new()), |field, found| {
        field.items(found, "a list of tables, each under [[resource]],", |field, found| {
            resource::resource(field, found, &mut seen)
        })
    });
    let mut names = Taken::default();
    let tools = file.or(found, ("tool", Vec::new()), |field, found| {
        field.items(found, "a list of tables, each under [[tool]],", |field, found| {
            tool(field, found, &mut names)
        })
    });
    let gate = file.optional(found, "gate", gate::policy);
    file.finish(found);
    let Module { name, swap, observe, after, reversal } = module?;
    Ok(Manifest {
        module: name,
        swap,
        observe,
        after,
        reversal,
        resources: resources?,
        tools: tools?,
        gate: gate?.unwrap_or_default(),
    })
}

/// The table `[module]`.
struct Module {
    name: ModuleName,
    swap: Swap,
    observe: Span,
    after: Vec<ModuleName>,
    reversal: Reversal,
}

fn module(field: Field, found: &mut Found) -> Result<Module, Reported> {
    let mut table = field.table(found)?;
    let name = table.required(found, ("name", "the module's name"), module_name);
    let swap = table.or(found, ("swap", Swap::default()), |field, found| {
        field.choice(found, &[Swap::Overlap, Swap::Hold].map(|swap| (swap.word(), swap)))
    });
    let observe = table.or(found, ("observe", Manifest::OBSERVE), time);
    let mut earlier = Taken::default();
    if let Ok(name) = &name {
        // A module that came after itself would never come.
        earlier.0.insert(name.to_string(), "module.name".to_owned());
    }
    let after = table.or(found, ("after", Vec::new()), |field, found| {
        field.items(found, "a list of modules", |field, found| earlier.name(field, found))
    });
    let point = table.or(found, ("point_of_no_return", false), Field::truth);
    table.finish(found);
    let reversal = if point? { Reversal::PointOfNoReturn } else { Reversal::Possible };
    Ok(Module { name: name?, swap: swap?, observe: observe?, after: after?, reversal })
}

fn module_name(field: Field, found: &mut Found) -> Result<ModuleName, Reported> {
    field.checked(found, "a name in quotes", |text| {
        let name: ModuleName = text.parse().map_err(|error: names::NameError| error.to_string())?;
        if text.len() > Instances::MODULE_NAME_MAX {
            let max = Instances::MODULE_NAME_MAX;
            return Err(format!(
                "a module's name has at most {max} characters, so that its instances have room for a number"
            ));
        }
        Ok(name)
    })
}

fn tool(field: Field, found: &mut Found, names: &mut Taken) -> Result<Tool, Reported> {
    let mut table = field.table(found)?;
    let name =
        table.required(found, ("name", "the tool's name"), |field, found| names.name(field, found));
    let command = table.required(found, ("command", COMMAND), command);
    let timeout = table.or(found, ("timeout", Tool::TIMEOUT), some_time);
    table.finish(found);
    Ok(Tool { name: name?, command: command?, timeout: timeout? })
}

/// What was given so far, each with the path of where, among things of which each may be given once.
#[derive(Debug, Default)]
struct Taken(BTreeMap<String, String>);

impl Taken {
    /// The value, unless it was given before.
    fn once<T: Display>(&mut self, spot: Spot, value: T, found: &mut Found) -> Result<T, Reported> {
        // What it prints as, and not what it was written as: two texts can stand for one address.
        let word = value.to_string();
        if let Some(before) = self.0.get(&word) {
            return Err(spot.wrong(found, format!("`{word}` was given before, in {before}")));
        }
        self.0.insert(word, spot.path);
        Ok(value)
    }

    /// The name that the field's text is, unless it was given before.
    fn name<T: FromStr<Err: Display> + Display>(
        &mut self,
        field: Field,
        found: &mut Found,
    ) -> Result<T, Reported> {
        let spot = field.spot.clone();
        let name = field.parsed(found)?;
        self.once(spot, name, found)
    }
}

const COMMAND: &str = "a list of the program and its arguments";
const TIME: &str = "a length of time in quotes, as \"200ms\", \"2s\", \"5m\" or \"1h\",";

/// A program and its arguments.
fn command(field: Field, found: &mut Found) -> Result<Vec<String>, Reported> {
    let spot = field.spot.clone();
    let words = field.items(found, COMMAND, Field::text)?;
    match words.first() {
        Some(program) if !program.is_empty() => Ok(words),
        Some(_) | None => Err(spot.wrong(found, "must begin with a program")),
    }
}

/// A length of time.
fn time(field: Field, found: &mut Found) -> Result<Span, Reported> {
    field.checked(found, TIME, |text| text.parse().map_err(|error: SpanError| error.to_string()))
}

/// A length of time above zero.
fn some_time(field: Field, found: &mut Found) -> Result<Span, Reported> {
    let spot = field.spot.clone();
    match time(field, found)? {
        Span::ZERO => Err(spot.wrong(found, "must be longer than nothing")),
        span => Ok(span),
    }
}
