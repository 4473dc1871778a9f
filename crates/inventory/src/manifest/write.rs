//! A manifest as JSON, in the shape of its file.
//!
//! What is as the defaults have it is left out. So the digest of a manifest, under which verdicts are kept, stays what it
//! was when a later version knows more fields; and a machine whose agent is older reads every manifest that does without
//! them. The price: a default, once released, never changes.

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Serialize, Serializer};

use super::{
    model::{
        Check, GatePolicy, Health, Limits, Manifest, Resource, Restart, Reversal, Stop, Swap, Tool,
    },
    size,
};
use crate::span::Span;

impl Serialize for Manifest {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        manifest(self).serialize(serializer)
    }
}

/// What fields are written as.
#[derive(Serialize)]
#[serde(untagged)]
enum Word<'a> {
    Text(Cow<'a, str>),
    Whole(u64),
    Yes(bool),
    List(Vec<Word<'a>>),
    Table(BTreeMap<&'a str, Word<'a>>),
}

impl<'a> Word<'a> {
    fn text(text: &'a str) -> Option<Self> {
        Some(Self::Text(Cow::Borrowed(text)))
    }

    /// What it prints as.
    fn printed(value: impl ToString) -> Option<Self> {
        Some(Self::Text(Cow::Owned(value.to_string())))
    }

    fn list(words: impl IntoIterator<Item = Option<Self>>) -> Option<Self> {
        let words: Vec<_> = words.into_iter().flatten().collect();
        (!words.is_empty()).then_some(Self::List(words))
    }

    /// The fields that have something to say; nothing when none has.
    fn table(fields: impl IntoIterator<Item = (&'a str, Option<Self>)>) -> Option<Self> {
        let fields = fields.into_iter().filter_map(|(key, word)| Some((key, word?)));
        let fields: BTreeMap<_, _> = fields.collect();
        (!fields.is_empty()).then_some(Self::Table(fields))
    }

    /// A number, unless it is the default.
    fn count(number: u32, default: u32) -> Option<Self> {
        (number != default).then_some(Self::Whole(number.into()))
    }

    /// A length of time, unless it is the default.
    fn span(span: Span, default: Span) -> Option<Self> {
        if span == default { None } else { Self::printed(span) }
    }
}

fn manifest(manifest: &Manifest) -> Option<Word<'_>> {
    // Every field is named here, so that a new one cannot be forgotten.
    let Manifest { module, swap, observe, after, reversal, resources, tools, gate } = manifest;
    let swap = if *swap == Swap::default() { None } else { Word::text(swap.word()) };
    let point = match reversal {
        Reversal::Possible => None,
        Reversal::PointOfNoReturn => Some(Word::Yes(true)),
    };
    let module = [
        ("name", Word::text(module.as_str())),
        ("swap", swap),
        ("observe", Word::span(*observe, Manifest::OBSERVE)),
        ("after", Word::list(after.iter().map(|module| Word::text(module.as_str())))),
        ("point_of_no_return", point),
    ];
    Word::table([
        ("module", Word::table(module)),
        ("resource", Word::list(resources.iter().map(resource))),
        ("tool", Word::list(tools.iter().map(tool))),
        ("gate", gate_policy(gate)),
    ])
}

fn resource(resource: &Resource) -> Option<Word<'_>> {
    let Resource { name, command, environment, listen, health: checked, .. } = resource;
    let Resource { stop: stopped, restart: restarted, user, limits: limited, .. } = resource;
    let environment = environment.iter().map(|(name, value)| (name.as_str(), Word::text(value)));
    Word::table([
        ("name", Word::text(name.as_str())),
        ("command", words(command)),
        ("environment", Word::table(environment)),
        ("listen", listen.public().and_then(Word::printed)),
        ("direct", listen.direct().map(|_| Word::Yes(true))),
        ("health", health(checked)),
        ("stop", stop(stopped)),
        ("restart", restart(restarted)),
        ("user", user.as_deref().and_then(Word::text)),
        ("limits", limits(limited)),
    ])
}

fn words(command: &[String]) -> Option<Word<'_>> {
    Word::list(command.iter().map(|word| Word::text(word)))
}

fn health(health: &Health) -> Option<Word<'_>> {
    let Health { check, every, timeout, passes, failures, start_up } = health;
    // The check itself is always written, since its default depends on the rest of the resource.
    let (key, word) = match check {
        Check::Http { path, .. } => ("http", Word::text(path)),
        Check::Tcp => ("tcp", Some(Word::Yes(true))),
        Check::Exec(command) => ("exec", words(command)),
        Check::Notify { .. } => ("notify", Some(Word::Yes(true))),
        Check::Alive(span) => ("alive", Word::printed(span)),
    };
    let body = match check {
        Check::Http { body, .. } => body.as_deref().and_then(Word::text),
        Check::Tcp | Check::Exec(_) | Check::Notify { .. } | Check::Alive(_) => None,
    };
    let watchdog = match check {
        Check::Notify { watchdog } => watchdog.and_then(Word::printed),
        Check::Http { .. } | Check::Tcp | Check::Exec(_) | Check::Alive(_) => None,
    };
    Word::table([
        (key, word),
        ("body", body),
        ("watchdog", watchdog),
        ("every", Word::span(*every, Health::EVERY)),
        ("timeout", Word::span(*timeout, Health::TIMEOUT)),
        ("passes", Word::count(*passes, Health::PASSES)),
        ("failures", Word::count(*failures, Health::FAILURES)),
        ("start_up", Word::span(*start_up, Health::START_UP)),
    ])
}

fn stop(stop: &Stop) -> Option<Word<'_>> {
    let Stop { signal, grace, drain } = stop;
    let default = Stop::default();
    let signal = if *signal == default.signal { None } else { Word::text(signal.word()) };
    Word::table([
        ("signal", signal),
        ("grace", Word::span(*grace, default.grace)),
        ("drain", Word::span(*drain, default.drain)),
    ])
}

fn restart(restart: &Restart) -> Option<Word<'_>> {
    let Restart { limit, within, backoff_min, backoff_max } = restart;
    let default = Restart::default();
    let pauses = (*backoff_min, *backoff_max);
    let backoff = if pauses == (default.backoff_min, default.backoff_max) {
        None
    } else {
        Word::printed(format_args!("{backoff_min}..{backoff_max}"))
    };
    Word::table([
        ("limit", Word::count(*limit, default.limit)),
        ("within", Word::span(*within, default.within)),
        ("backoff", backoff),
    ])
}

fn limits(limits: &Limits) -> Option<Word<'_>> {
    let Limits { memory, tasks, files } = limits;
    Word::table([
        ("memory", memory.map(size::print).and_then(Word::printed)),
        ("tasks", tasks.map(Word::Whole)),
        ("files", files.map(Word::Whole)),
    ])
}

fn tool(tool: &Tool) -> Option<Word<'_>> {
    let Tool { name, command, timeout } = tool;
    Word::table([
        ("name", Word::text(name.as_str())),
        ("command", words(command)),
        ("timeout", Word::span(*timeout, Tool::TIMEOUT)),
    ])
}

fn gate_policy(policy: &GatePolicy) -> Option<Word<'_>> {
    let GatePolicy { passes, every, settle, bound } = policy;
    Word::table([
        ("passes", passes.map(|passes| Word::Whole(passes.into()))),
        ("every", every.and_then(Word::printed)),
        ("settle", settle.and_then(Word::printed)),
        ("bound", bound.and_then(Word::printed)),
    ])
}
