//! What happened, in a dozen lines.

use names::{BuildId, Commit, MachineName};
use serde::Serialize;

use super::{chapter::MODULE, story::Told, visit::Visit};
use crate::{
    folder::Folder,
    paint::{Line, Paint, Tone},
    shown,
};

/// How many machines are listed by name and address.
const LISTED_MAX: usize = 4;

/// What happened, for people and for programs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(crate) struct Summary {
    good: Ended,
    bad: Ended,
    /// The machine that alone was sent the bad build.
    first: MachineName,
    machines: Vec<Visit>,
    /// Where the fleet lives, for `--dir`.
    folder: String,
}

/// What became of a build.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Ended {
    build: BuildId,
    commit: Commit,
    standing: String,
    why: Option<String>,
}

impl Summary {
    pub(crate) fn new(told: &Told, machines: Vec<Visit>, folder: &Folder) -> Self {
        let ended = |build: &wire::api::BuildView| Ended {
            build: build.build.clone(),
            commit: build.commit.clone(),
            standing: build.standing.clone(),
            why: build.why.clone(),
        };
        Self {
            good: ended(&told.good),
            bad: ended(&told.bad),
            first: told.first.clone(),
            machines,
            folder: folder.path().display().to_string(),
        }
    }

    /// The lines.
    pub(crate) fn text(&self, paint: Paint) -> String {
        let lines = self.lines();
        lines.iter().map(|line| line.render(paint)).collect::<Vec<_>>().join("\n")
    }

    fn lines(&self) -> Vec<Line> {
        let Self { good, bad, first, machines, folder } = self;
        let line = Line::default;
        let others = machines.len().saturating_sub(1);
        let spared = match others {
            0 => "there was no other to be spared".to_owned(),
            others => format!("the other {} never saw it", shown::count(others, "machine")),
        };
        let why = shown::one_line(bad.why.as_deref().unwrap_or("nobody knows why"));
        let build = |ended: &Ended| format!("{MODULE} {} ({})", ended.commit, ended.build.short());
        let mut lines = vec![
            line()
                .and(Tone::Good, "good  ")
                .and(Tone::Strong, build(good))
                .and(Tone::Plain, " passed its gates and runs on ")
                .and(Tone::Plain, shown::count(machines.len(), "machine")),
            line()
                .and(Tone::Bad, "bad   ")
                .and(Tone::Strong, build(bad))
                .and(Tone::Plain, format!(" failed its gate on {first}; {spared}")),
            line().and(Tone::Faint, format!("      {why}")),
            line().and(
                Tone::Plain,
                format!("      {first} was put back to {}, and {} is condemned: only a person's retry frees it", good.commit, bad.commit),
            ),
            line(),
        ];
        for visit in machines.iter().take(LISTED_MAX) {
            let address = format!("  curl http://{}/", visit.address);
            let answer = format!("  {}: {}", visit.machine, visit.answer);
            lines.push(line().and(Tone::Strong, address).and(Tone::Faint, answer));
        }
        if machines.len() > LISTED_MAX {
            let more = format!("  and {} more: controller machines", machines.len() - LISTED_MAX);
            lines.push(line().and(Tone::Plain, more));
        }
        lines.push(line());
        lines.push(line().and(Tone::Faint, format!("fleet in {folder}")));
        lines
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary(machines: u16) -> Summary {
        let ended = |commit: &str, standing: &str, why: Option<&str>| Ended {
            build: crate::samples::build_id(commit),
            commit: commit.parse().unwrap(),
            standing: standing.to_owned(),
            why: why.map(str::to_owned),
        };
        let visit = |number| Visit {
            machine: format!("box-{number}").parse().unwrap(),
            address: ([127, 0, 0, 1], 4_000 + number).into(),
            answer: "hello from sample v1".to_owned(),
        };
        Summary {
            good: ended("v1", "proven", None),
            bad: ended("v2", "condemned", Some("exit status 3\nlast words")),
            first: "box-1".parse().unwrap(),
            machines: (1..=machines).map(visit).collect(),
            folder: "/tmp/fleet".to_owned(),
        }
    }

    #[test]
    fn it_is_a_dozen_lines_however_many_machines_there_are() {
        assert_eq!(
            summary(3).text(Paint::Plain),
            "\
good  sample v1 (9G00V1) passed its gates and runs on 3 machines
bad   sample v2 (9G00V2) failed its gate on box-1; the other 2 machines never saw it
      exit status 3 last words
      box-1 was put back to v1, and v2 is condemned: only a person's retry frees it

  curl http://127.0.0.1:4001/  box-1: hello from sample v1
  curl http://127.0.0.1:4002/  box-2: hello from sample v1
  curl http://127.0.0.1:4003/  box-3: hello from sample v1

fleet in /tmp/fleet"
        );
        assert!(summary(200).lines().len() <= 12);
        assert!(summary(1).text(Paint::Plain).contains("no other to be spared"));
    }

    #[test]
    fn programs_get_all_of_it() {
        let json = serde_json::to_value(summary(5)).unwrap();
        assert_eq!(json["bad"]["standing"], "condemned");
        assert_eq!(json["machines"].as_array().unwrap().len(), 5);
    }
}
