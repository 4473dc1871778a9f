//! Answers as text for people: pure functions.

use chrono::{DateTime, Utc};
use terminal::{
    paint::{Line, Paint, Tone},
    table::{Cell, Table},
    words::{age, health, instant, one_line},
};
use wire::{ResourceStatement, Statement};

use super::{
    BusState, BusStatus, Idle, Status,
    idle::{Found, State},
};

/// How everything stands.
pub(super) fn status(status: &Status, now: DateTime<Utc>, paint: Paint) -> String {
    let mut lines = vec![
        field("machine", Line::default().and(Tone::Strong, &status.machine)),
        field("engine", engine(status, now)),
        field("folder", plain(status.folder.display())),
        field("boot", plain(&status.boot.0)),
        field("bus", bus(&status.bus, now)),
    ];
    if let Some(why) = &status.storeless {
        let line =
            Line::default().and(Tone::Bad, "cannot be opened: ").and(Tone::Plain, one_line(why));
        lines.push(field("store", line));
    }
    let statement = status.statement.as_ref();
    lines.push(field("holds", holds(statement, status.stated_at, now)));
    for trouble in statement.map(|statement| &statement.troubles[..]).unwrap_or_default() {
        let line = Line::default()
            .and(Tone::Bad, trouble.kind.as_str())
            .and(Tone::Plain, format!(": {}", one_line(&trouble.why)));
        lines.push(field("trouble", line));
    }
    let text: Vec<_> = lines.iter().map(|line| line.render(paint)).collect();
    let resources = statement.map(|statement| resources(statement, now, paint));
    match resources {
        Some(resources) => format!("{}\n\n{resources}", text.join("\n")),
        None => text.join("\n"),
    }
}

fn field(name: &str, line: Line) -> Line {
    Line::default().and(Tone::Faint, format!("{name:<9}")).followed_by(line)
}

fn plain(text: impl ToString) -> Line {
    Line::default().and(Tone::Plain, text)
}

fn engine(status: &Status, now: DateTime<Utc>) -> Line {
    let Status { agent, process, since, .. } = status;
    let began = format!("began {} ({})", instant(*since), age(*since, now));
    plain(format!("{agent}, process {process}, {began}"))
}

fn bus(bus: &BusStatus, now: DateTime<Utc>) -> Line {
    let since =
        |what: &str| format!("{what} since {} ({})", instant(bus.since), age(bus.since, now));
    let (tone, text) = match bus.state {
        BusState::Connecting => (Tone::Busy, "is being reached".to_owned()),
        BusState::Connected => (Tone::Good, since("reached")),
        BusState::Lost => (Tone::Bad, since("not reached")),
        BusState::Closed => (Tone::Faint, "closed".to_owned()),
    };
    let why = bus.why.as_deref().map_or_else(String::new, |why| format!(": {}", one_line(why)));
    Line::default().and(tone, text).and(Tone::Plain, why)
}

fn holds(statement: Option<&Statement>, at: Option<DateTime<Utc>>, now: DateTime<Utc>) -> Line {
    let Some(statement) = statement else {
        return Line::default().and(Tone::Busy, "nothing was stated yet");
    };
    let held = match statement.declaration {
        Some(number) => plain(format!("declaration {number}")),
        None => Line::default().and(Tone::Faint, "no declaration"),
    };
    let at = at.map_or_else(String::new, |at| format!(", stated {}", age(at, now)));
    held.and(Tone::Plain, at)
}

fn resources(statement: &Statement, now: DateTime<Utc>, paint: Paint) -> String {
    let heading = [
        "MODULE", "INSTANCE", "RESOURCE", "BUILD", "STATE", "SINCE", "RESTARTS", "PROCESS",
        "ADDRESS", "WHY",
    ];
    let mut table = Table::new(heading);
    for row in &statement.resources {
        let ResourceStatement { module, instance, resource, build, state, since, .. } = row;
        table.row([
            Cell::plain(module),
            Cell::new(Tone::Strong, instance),
            Cell::plain(resource),
            Cell::plain(build.short()),
            Cell::new(health(*state), state),
            Cell::plain(age(*since, now)),
            Cell::plain(row.restarts),
            Cell::known(row.process.as_ref().map(|process| process.pid)),
            Cell::known(row.address),
            Cell::plain(row.why.as_deref().map_or_else(String::new, one_line)),
        ]);
    }
    table.render(paint, "nothing runs here, and nothing should")
}

/// What is found where no engine runs.
pub(super) fn idle(idle: &Idle, paint: Paint) -> String {
    if idle.workloads.is_empty() {
        return "nothing runs here that an engine started".to_owned();
    }
    let runs = idle.workloads.iter().filter(|found| found.process.is_some()).count();
    let mut table = Table::new(["MODULE", "INSTANCE", "RESOURCE", "STATE", "PROCESS", "ADDRESS"]);
    for found in &idle.workloads {
        let Found { module, instance, resource, address, process, .. } = found;
        let (tone, state) = match found.state {
            State::Runs => (Tone::Good, "runs"),
            State::RunsAlone => (Tone::Bad, "runs without its shim"),
            State::Ended => (Tone::Bad, "ended"),
        };
        table.row([
            Cell::plain(module),
            Cell::new(Tone::Strong, instance),
            Cell::plain(resource),
            Cell::new(tone, state),
            Cell::known(*process),
            Cell::plain(address),
        ]);
    }
    let goes_on = match runs {
        1 => "1 process goes on".to_owned(),
        runs => format!("{runs} processes go on"),
    };
    format!(
        "{goes_on} without an engine, and the next one finds what is here:\n{}",
        table.render(paint, "")
    )
}

#[cfg(test)]
mod tests {
    use chrono::TimeDelta;
    use wire::{BootId, Trouble, TroubleKind};

    use super::*;

    fn at(seconds: i64) -> DateTime<Utc> {
        DateTime::UNIX_EPOCH + TimeDelta::seconds(seconds)
    }

    fn of(bus: BusState) -> Status {
        let trouble = Trouble { kind: TroubleKind::DiskFull, why: "no room\non /data".to_owned() };
        Status {
            version: Status::VERSION,
            machine: "box-1".parse().unwrap(),
            agent: "1.2.3".to_owned(),
            process: 7,
            boot: BootId("a-boot".to_owned()),
            since: at(0),
            folder: "/data".into(),
            bus: BusStatus { state: bus, since: at(60), why: None },
            storeless: None,
            stated_at: Some(at(3_600)),
            statement: Some(Statement {
                machine: "box-1".parse().unwrap(),
                boot: BootId("a-boot".to_owned()),
                engine: wire::EngineNonce("1".to_owned()),
                sequence: 1,
                declaration: None,
                resources: Vec::new(),
                troubles: vec![trouble],
            }),
        }
    }

    #[test]
    fn everything_that_is_known_of_a_machine_is_told() {
        let told = status(&of(BusState::Connected), at(3_605), Paint::Plain);
        let expected = "\
machine  box-1
engine   1.2.3, process 7, began 1970-01-01 00:00:00 UTC (1 h ago)
folder   /data
boot     a-boot
bus      reached since 1970-01-01 00:01:00 UTC (59 min ago)
holds    no declaration, stated 5 s ago
trouble  disk-full: no room on /data

nothing runs here, and nothing should";
        assert_eq!(told, expected);
    }

    #[test]
    fn what_is_not_there_says_why() {
        let bus = BusStatus { why: Some("nobody listens".to_owned()), ..of(BusState::Lost).bus };
        let storeless = Some("no space left".to_owned());
        let unstated = Status { bus, storeless, statement: None, ..of(BusState::Lost) };
        let told = status(&unstated, at(3_605), Paint::Plain);
        for line in [
            "bus      not reached since 1970-01-01 00:01:00 UTC (59 min ago): nobody listens",
            "store    cannot be opened: no space left",
            "holds    nothing was stated yet",
        ] {
            assert!(told.lines().any(|told| told == line), "{line}\n{told}");
        }
    }

    #[test]
    fn where_no_engine_runs_what_goes_on_is_counted() {
        assert_eq!(
            idle(&Idle { workloads: Vec::new() }, Paint::Plain),
            "nothing runs here that an engine started"
        );
        let found = |state, process| Found {
            module: "blog".parse().unwrap(),
            instance: "blog-1".parse().unwrap(),
            resource: "web".parse().unwrap(),
            execution: "a1-1".parse().unwrap(),
            address: "127.0.0.1:80".parse().unwrap(),
            state,
            process,
        };
        let workloads = vec![found(State::Runs, Some(9)), found(State::Ended, None)];
        let told = idle(&Idle { workloads }, Paint::Plain);
        assert!(told.starts_with("1 process goes on without an engine"), "{told}");
        assert!(
            told.ends_with("blog    blog-1    web       ended  -        127.0.0.1:80"),
            "{told}"
        );
    }
}
