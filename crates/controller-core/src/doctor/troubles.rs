//! What machines state to be wrong with themselves, as conditions.

use std::collections::BTreeMap;

use conditions::{Keeper, Kind, Observation, Resolver, Severity};
use names::MachineName;
use wire::{Statement, TroubleKind};

use super::about_machine;

/// One observation of each kind: a machine that has several of one kind says them all in it.
pub(super) fn seen(
    machine: &MachineName,
    statement: &Statement,
    keeper: &Keeper,
) -> Vec<Observation> {
    let mut of_kind: BTreeMap<TroubleKind, Vec<&str>> = BTreeMap::new();
    for trouble in &statement.troubles {
        of_kind.entry(trouble.kind).or_default().push(&trouble.why);
    }
    let seen = of_kind.into_iter().map(|(kind, why)| Observation {
        resolver: Resolver::Operator,
        resolve: resolve(kind, machine).into_iter().collect(),
        ..about_machine(
            machine,
            Kind::new(kind.as_str()),
            severity(kind),
            format!("{machine}: {}", why.join("; ")),
        )
    });
    seen.map(|observation| without_counting(observation, keeper)).collect()
}

/// Words that differ from those of the open condition in numbers alone are no news: the bytes that are left of a full disk
/// change with every statement.
fn without_counting(mut observation: Observation, keeper: &Keeper) -> Observation {
    let words = |text: &str| text.replace(|letter: char| letter.is_ascii_digit(), "");
    if let Some(open) = keeper.get(&observation.key())
        && words(&open.summary.text) == words(&observation.summary.text)
    {
        observation.summary = open.summary.clone();
    }
    observation
}

/// What runs goes on, but nothing can be put onto such a machine, nor back: a person is wanted before that is needed.
fn severity(kind: TroubleKind) -> Severity {
    match kind {
        TroubleKind::DiskFull | TroubleKind::DiskReadOnly | TroubleKind::DiskFails => {
            Severity::Urgent
        }
        TroubleKind::FileDamaged | TroubleKind::Other => Severity::Warning,
    }
}

fn resolve(kind: TroubleKind, machine: &MachineName) -> Option<String> {
    match kind {
        TroubleKind::DiskFull => Some(format!("make room on {machine}; it then goes on by itself")),
        TroubleKind::DiskReadOnly => {
            Some(format!("make the disk of {machine} writable; it then goes on by itself"))
        }
        TroubleKind::DiskFails => {
            Some(format!("look at the kernel's log on {machine}; it then goes on by itself"))
        }
        // Its own words say which file, and what became of it.
        TroubleKind::FileDamaged | TroubleKind::Other => None,
    }
}

#[cfg(test)]
mod tests {
    use chrono::DateTime;
    use conditions::Source;
    use wire::{BootId, EngineNonce, Trouble};

    use super::*;

    fn statement(troubles: &[(TroubleKind, &str)]) -> Statement {
        let trouble =
            |(kind, why): &(TroubleKind, &str)| Trouble { kind: *kind, why: (*why).into() };
        Statement {
            machine: "box-1".parse().unwrap(),
            boot: BootId("boot".into()),
            engine: EngineNonce("engine".into()),
            sequence: 1,
            declaration: None,
            resources: Vec::new(),
            troubles: troubles.iter().map(trouble).collect(),
        }
    }

    #[test]
    fn each_kind_is_one_condition_with_all_its_words() {
        use TroubleKind::{DiskFails, DiskFull, DiskReadOnly, FileDamaged, Other};
        let machine = "box-1".parse().unwrap();
        let stated = statement(&[
            (FileDamaged, "a.json was set aside"),
            (DiskFull, "no room"),
            (FileDamaged, "b.json was set aside"),
            (Other, "of a newer agent"),
            (DiskReadOnly, "it takes no writes"),
            (DiskFails, "no answer"),
        ]);
        let told: Vec<_> = seen(&machine, &stated, &Keeper::default())
            .iter()
            .map(|it| format!("{} {}: {}", it.severity.as_str(), it.key(), it.summary.text))
            .collect();
        let expected = [
            "urgent machine.box-1.disk-full: box-1: no room",
            "urgent machine.box-1.disk-read-only: box-1: it takes no writes",
            "urgent machine.box-1.disk-fails: box-1: no answer",
            "warning machine.box-1.file-damaged: box-1: a.json was set aside; b.json was set aside",
            "warning machine.box-1.other: box-1: of a newer agent",
        ];
        assert_eq!(told, expected);
        assert!(seen(&machine, &statement(&[]), &Keeper::default()).is_empty());
    }

    #[test]
    fn other_numbers_are_no_news_and_other_words_are() {
        let (machine, now) = ("box-1".parse().unwrap(), DateTime::UNIX_EPOCH);
        let mut keeper = Keeper::default();
        let mut news = |why: &str| {
            let stated = statement(&[(TroubleKind::DiskFull, why)]);
            let seen = seen(&machine, &stated, &keeper);
            keeper.run(&Source::new("statements.box-1"), now, seen).len()
        };
        let cases = [("12 MiB are left", 1), ("9 MiB are left", 0), ("9 files are left", 1)];
        for (why, expected) in cases {
            assert_eq!(news(why), expected, "{why}");
        }
    }
}
