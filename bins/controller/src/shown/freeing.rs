//! What holds instances, and what came of freeing them.

use chrono::{DateTime, Utc};
use wire::{
    BookState, Freed, HeldInstance, HeldMode, Lifted, ModuleOutcome, OnDisk, WordReply,
    api::{InstanceView, MachineState, PointedView, PointerView},
    retry_command,
    signed::PointerKind,
};

use super::{age, count, health, instant, list, one_line};
use crate::{
    freeing::{Book, Retried, held},
    paint::{Line, Paint, Tone, harmless},
    table::{Cell, Table},
};

/// A machine's failure book.
pub(crate) fn book(book: &Book<'_>, now: DateTime<Utc>, paint: Paint) -> String {
    let machine = &book.status.machine;
    let (id, disk) = match &book.status.book {
        BookState::Unusable { why } => {
            let what = format!("the failure book of {machine} cannot be used: {why}");
            return Line::default().and(Tone::Bad, what).render(paint);
        }
        BookState::Other => {
            return format!(
                "how the failure book of {machine} stands is not known to this version"
            );
        }
        BookState::Open { book, disk, .. } => (book, disk),
    };
    let disk = match disk {
        OnDisk::All => Line::default().and(Tone::Good, "all of it is on the disk"),
        OnDisk::Owed => Line::default()
            .and(Tone::Bad, "a save is owed: nothing can be granted until its disk takes writes"),
        OnDisk::Other => Line::default().and(Tone::Plain, "not known to this version"),
    };
    let all = held(book.status);
    let mut text = format!("book    {id} of {machine}\ndisk    {}\n", disk.render(paint));
    if all.is_empty() {
        return text + "holds   nothing";
    }
    text.push_str(&format!("holds   {}\n\n", count(all.len(), "restriction")));
    let mut table =
        Table::new(["INSTANCE", "BUILD", "HELD BY", "SINCE", "MODE", "GENERATION", "REASON"]);
    for held in all {
        table.row(held_row(held, now));
    }
    text.push_str(&table.render(paint, ""));
    text.push_str("\n\nto free:");
    book.frees.iter().for_each(|command| text.push_str(&format!("\n  {}", harmless(command))));
    text
}

fn held_row(held: &HeldInstance, now: DateTime<Utc>) -> [Cell; 7] {
    let mode = held.mode.map(|mode| match mode {
        HeldMode::Overlap => "overlap",
        HeldMode::Hold => "hold",
        HeldMode::Other => "other",
    });
    [
        Cell::new(Tone::Strong, format!("{}/{}", held.module, held.instance)),
        Cell::plain(&held.build),
        Cell::new(Tone::Bad, held.rule),
        Cell::known(held.since.map(|since| format!("{} ({})", instant(since), age(since, now)))),
        Cell::known(mode),
        Cell::known(held.generation),
        Cell::plain(held.reason.as_deref().map_or_else(String::new, one_line)),
    ]
}

/// Every instance.
pub(crate) fn instances(instances: &[InstanceView], paint: Paint) -> String {
    let mut table = Table::new(["MACHINE", "INSTANCE", "DECLARED", "RUNS", "STATE", "HELD", "WHY"]);
    for it in instances {
        let (tone, state, why) = state(it);
        let declared = named(it.commit.as_ref(), &it.build);
        table.row([
            Cell::new(Tone::Strong, &it.machine),
            Cell::plain(format!("{}/{}", it.module, it.instance)),
            Cell::plain(declared),
            Cell::known(it.runs.as_ref().map(|runs| named(runs.commit.as_ref(), &runs.build))),
            Cell::new(tone, state),
            held_cell(it),
            Cell::plain(why.map_or_else(String::new, one_line)),
        ]);
    }
    let mut text = table.render(paint, "no instances are declared");
    let held = instances.iter().flat_map(|it| it.held.iter().flatten().map(move |held| (it, held)));
    let mut frees: Vec<_> = held
        .map(|(it, held)| {
            retry_command(it.machine.as_str(), held.instance.as_str(), held.build.as_str())
        })
        .collect();
    frees.dedup();
    if !frees.is_empty() {
        text.push_str("\n\nto free:");
    }
    frees.iter().for_each(|command| text.push_str(&format!("\n  {}", harmless(command))));
    text
}

fn named(commit: Option<&names::Commit>, build: &names::BuildId) -> String {
    match commit {
        Some(commit) => format!("{commit} {}", build.short()),
        None => build.short().to_owned(),
    }
}

fn state(it: &InstanceView) -> (Tone, String, Option<&str>) {
    match it.heard {
        MachineState::Heard => {}
        MachineState::Silent => return (Tone::Bad, "machine silent".to_owned(), None),
        MachineState::Unheard => return (Tone::Faint, "machine unheard".to_owned(), None),
    }
    match (&it.outcome, &it.runs) {
        (Some(ModuleOutcome::Refused { rule }), _) => {
            (Tone::Bad, "refused".to_owned(), Some(rule.as_str()))
        }
        (Some(ModuleOutcome::Failed { why, .. }), _) => {
            (Tone::Bad, "failed".to_owned(), Some(why.as_str()))
        }
        (Some(ModuleOutcome::Unable { why, .. }), _) => {
            (Tone::Bad, "unable".to_owned(), Some(why.as_str()))
        }
        (Some(ModuleOutcome::Applied) | None, Some(runs)) => {
            (health(runs.state), runs.state.to_string(), runs.why.as_deref())
        }
        (Some(ModuleOutcome::Applied), None) => (Tone::Plain, "applied".to_owned(), None),
        (None, None) => (Tone::Busy, "not reported".to_owned(), None),
    }
}

/// What its machine's book holds against it: a dash where nothing does, and a question mark where it did not say.
fn held_cell(it: &InstanceView) -> Cell {
    match &it.held {
        None => Cell::new(Tone::Faint, "?"),
        Some(held) if held.is_empty() => Cell::known(None::<&str>),
        Some(held) => {
            let held = held.iter().map(|it| format!("{} of {}", it.rule, it.build.short()));
            Cell::new(Tone::Bad, list(held))
        }
    }
}

/// What a retry freed, and how the instance stands.
pub(crate) fn retried(retried: &Retried, paint: Paint) -> String {
    let Retried { machine, module, instance, build, freed, .. } = retried;
    let what = format!("{module}/{instance} on {machine} may try build {build} again");
    let mut lines = vec![Line::default().and(Tone::Good, what).render(paint)];
    lines.extend(freed.iter().map(|freed| format!("  freed: {}", freed_words(freed))));
    if let Some(stands) = &retried.stands {
        let (tone, state, why) = state(stands);
        let line = Line::default().and(Tone::Plain, "  it is now: ").and(tone, state);
        let why = why.map(|why| format!(": {}", one_line(why))).unwrap_or_default();
        lines.push(line.and(Tone::Plain, why).render(paint));
    }
    lines.join("\n")
}

fn freed_words(freed: &Freed) -> String {
    let lifted = match freed.lifted {
        Lifted::Record => "the failure record of",
        Lifted::Marker => "the marker of",
        Lifted::HoldDown => "being held down by",
        Lifted::RecordAndMarker => "the failure record and the marker of",
        Lifted::Other => "something that is not known to this version, of",
    };
    let whom = match &freed.instance {
        Some(instance) => format!("{}/{instance}", freed.module),
        None => format!("every instance of {}", freed.module),
    };
    format!("{whom} of {lifted} build {}", freed.build)
}

/// A pointer, and what each machine said to it.
pub(crate) fn pointer(view: &PointerView, paint: Paint) -> String {
    let verb = match view.kind {
        PointerKind::Promote => "is promoted to",
        PointerKind::PromoteRetry => "tries again",
        PointerKind::Rollback => "goes back to",
    };
    let (module, build) = (&view.module, named(view.commit.as_ref(), &view.build));
    let what = format!("{module} {verb} {build}, as {} says", view.signed_by.fingerprint());
    let mut text = Line::default().and(Tone::Strong, what).render(paint);
    let mut table = Table::new(["MACHINE", "ANSWER", "WHAT"]);
    view.machines.iter().for_each(|it| table.row(pointed(it)));
    text.push('\n');
    text.push_str(&table.render(paint, "no machine runs it"));
    match &view.moves {
        None => {
            text.push_str("\nevery machine of it is declared that build, and goes on by itself");
        }
        Some(command) => {
            let command = harmless(command);
            text.push_str(&format!(
                "\nthis frees, and moves nothing; to move the machines: {command}"
            ));
        }
    }
    text
}

fn pointed(it: &PointedView) -> [Cell; 3] {
    let machine = Cell::new(Tone::Strong, &it.machine);
    let (tone, answer, what) = match &it.reply {
        Some(WordReply::Taken { freed }) if freed.is_empty() => {
            (Tone::Good, "taken", "nothing was held".to_owned())
        }
        Some(WordReply::Taken { freed }) => {
            (Tone::Good, "taken", format!("freed {}", list(freed.iter().map(freed_words))))
        }
        Some(WordReply::Refused { why, .. }) => (Tone::Bad, "refused", one_line(why)),
        None => match it.heard {
            MachineState::Heard => {
                (Tone::Busy, "none", "it did not answer yet, and is handed it again".to_owned())
            }
            MachineState::Silent | MachineState::Unheard => {
                (Tone::Busy, "away", "it is handed it when it says hello".to_owned())
            }
        },
    };
    [machine, Cell::new(tone, answer), Cell::plain(what)]
}
