//! The engine's life: begun, asked to end, killed, begun again; and what it runs, which notices nothing.

use std::{fs, process::Stdio};

use rustix::process::Signal;
use wire::ModuleOutcome;

use crate::machine::{A, Engine, Machine, Outcome, eventually, healthy, is_alive};

#[test]
fn what_is_declared_runs_and_is_told() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let engine = machine.engine()?;
    let pid = machine.runs_a(&controller)?;
    assert!(is_alive(pid));
    eventually("it is reported", || {
        let report = controller.heard().report.clone();
        let applied = report.as_ref().is_some_and(|report| {
            report.modules.values().all(|module| module.outcome == ModuleOutcome::Applied)
        });
        Ok(if applied { Ok(()) } else { Err(format!("{report:?}")) })
    })?;
    for line in [
        "info: engine ",
        "info: nothing was found running",
        "info: the bus is reached",
        "info: the controller answers",
        "info: declaration 1 is taken",
        "info: build 9G5FAA of blog is brought onto the disk",
        &format!("info: blog-1/web runs build abc 9G5FAA as process {pid} on 127.0.0.1:"),
        "info: blog-1/web is healthy",
        "info: declaration 1: blog is applied",
    ] {
        engine.until_said(line)?;
    }
    Ok(())
}

#[test]
fn an_engine_that_is_asked_to_end_leaves_what_runs_and_the_next_one_goes_on() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let engine = machine.engine()?;
    let pid = machine.runs_a(&controller)?;
    assert_eq!(engine.stop()?.code(), Some(0));
    assert!(is_alive(pid));
    let engine = machine.engine()?;
    let found = format!("1 process was found and goes on: blog-1/web (process {pid})");
    engine.until_said(&found)?;
    engine.until_said("declaration 1 is held")?;
    let same = controller.until_stated("A is healthy again", |stated| healthy(stated, A))?;
    assert_eq!(same, pid);
    Ok(())
}

#[test]
fn an_engine_that_is_killed_leaves_what_runs_and_the_next_one_goes_on() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let engine = machine.engine()?;
    let pid = machine.runs_a(&controller)?;
    engine.kill()?;
    assert!(is_alive(pid));
    let engine = machine.engine()?;
    engine.until_said("1 process was found and goes on")?;
    let same = controller.until_stated("A is healthy again", |stated| healthy(stated, A))?;
    assert_eq!(same, pid);
    assert_eq!(engine.stop()?.code(), Some(0));
    Ok(())
}

#[test]
fn at_stop_stop_stops_everything_first() -> Outcome {
    let machine = Machine::new()?;
    machine.configure("at_stop = \"stop\"")?;
    let controller = machine.controller()?;
    let engine = machine.engine()?;
    let pid = machine.runs_a(&controller)?;
    assert_eq!(engine.stop()?.code(), Some(0));
    assert!(!is_alive(pid));
    Ok(())
}

#[test]
fn a_second_signal_does_not_wait() -> Outcome {
    let machine = Machine::new()?;
    machine.configure("at_stop = \"stop\"")?;
    let controller = machine.controller()?;
    let mut engine = machine.engine()?;
    let stubborn = "[module]\nname = \"blog\"\n[[resource]]\nname = \"web\"\ncommand = [\"./run\"]\n\
                    health = { alive = \"100ms\", every = \"100ms\", passes = 1 }\nstop = { grace = \"10m\" }\n";
    let build = machine.build_of(A, stubborn, "trap '' TERM; while :; do sleep 1; done")?;
    controller.declare(&machine.declaration(1, build)?)?;
    let pid = controller.until_stated("it is healthy", |stated| healthy(stated, A))?;
    engine.signal(Signal::TERM)?;
    engine.until_said("it ends, and stops everything that runs first")?;
    engine.signal(Signal::TERM)?;
    assert_eq!(engine.ended()?.code(), Some(1));
    assert!(is_alive(pid), "nobody waited for it");
    Ok(())
}

#[test]
fn a_second_engine_on_a_folder_is_refused_and_names_the_first() -> Outcome {
    let machine = Machine::new()?;
    let engine = machine.engine()?;
    engine.until_said("nothing was found running")?;
    let held =
        format!("another engine (process {}) runs on {}", engine.pid(), machine.dir().display());
    machine.ask(&["run"])?.is(3, &[&held, "node-agent status --dir"])
}

#[test]
fn an_engine_waits_for_one_that_is_just_ending() -> Outcome {
    let machine = Machine::new()?;
    let first = machine.engine()?;
    first.until_said("nothing was found running")?;
    let second = machine.engine()?;
    first.stop()?;
    second.until_said("nothing was found running")
}

#[test]
fn a_tethered_engine_does_not_outlive_whoever_holds_its_other_end() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let mut command = machine.program(&[
        "run",
        "--statement-every",
        "200ms",
        "--orphan-after",
        "120s",
        "--tether",
    ]);
    let (reader, writer) = std::io::pipe()?;
    let mut engine = Engine::start(command.stdin(reader))?;
    // The command holds the reading end too.
    drop(command);
    let pid = machine.runs_a(&controller)?;
    drop(writer);
    engine.ended()?;
    assert!(is_alive(pid), "it was killed, and what it runs goes on");
    // One whose input ended before it began does not begin.
    let mut late = machine.program(&["run", "--tether"]);
    let mut late = Engine::start(late.stdin(Stdio::null()))?;
    late.ended()?;
    Ok(())
}

#[test]
fn a_config_with_faults_is_told_fault_by_fault_and_what_runs_goes_on() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let engine = machine.engine()?;
    let pid = machine.runs_a(&controller)?;
    engine.stop()?;
    let good = fs::read_to_string(machine.config())?;
    fs::write(machine.config(), good.replace("bus =", "bos =").replace("\"all\"", "\"nobody\""))?;
    let path = machine.config().display().to_string();
    let told = [
        &format!("{path}:3:1: bos: unknown key; did you mean `bus`?")[..],
        &format!("{path}:6:9: workloads.users: `nobody` is not allowed"),
        "node-agent doctor",
    ];
    machine.ask(&["run"])?.is(1, &told)?;
    machine.ask(&["doctor"])?.is(1, &["bad     config", "3:1: bos: unknown key"])?;
    assert!(is_alive(pid));
    fs::remove_file(machine.config())?;
    machine.ask(&["run"])?.is(1, &[&path, "cannot be read"])?;
    fs::write(machine.config(), good)?;
    machine.engine()?.until_said("1 process was found and goes on")
}

#[test]
fn in_the_journal_a_line_says_its_severity_and_no_time() -> Outcome {
    use std::os::unix::fs::MetadataExt;
    let machine = Machine::new()?;
    let journal = fs::File::create(machine.join("journal"))?;
    let stream = journal.metadata()?;
    let mut command = machine.program(&["run"]);
    command.env("JOURNAL_STREAM", format!("{}:{}", stream.dev(), stream.ino()));
    let mut child = command.stderr(journal).spawn()?;
    let said = eventually("lines are written", || {
        let text = fs::read_to_string(machine.join("journal"))?;
        Ok(if text.contains("nothing was found running\n") { Ok(text) } else { Err(text) })
    });
    child.kill()?;
    child.wait()?;
    let said = said?;
    assert!(said.contains("<4>the bus is not reached"), "{said}");
    assert!(said.lines().all(|line| line.starts_with("<4>") || line.starts_with("<6>")), "{said}");
    Ok(())
}

#[test]
fn the_service_manager_is_told_when_the_engine_is_ready_and_when_it_ends() -> Outcome {
    use std::os::unix::net::UnixDatagram;
    let machine = Machine::new()?;
    let path = machine.join("notify");
    let manager = UnixDatagram::bind(&path)?;
    manager.set_read_timeout(Some(std::time::Duration::from_secs(60)))?;
    let mut command = machine.program(&["run"]);
    let engine = Engine::start(command.env("NOTIFY_SOCKET", &path))?;
    let hear = || -> Outcome<String> {
        let mut bytes = [0; 256];
        let length = manager.recv(&mut bytes)?;
        Ok(String::from_utf8(bytes[..length].to_vec())?)
    };
    assert_eq!(hear()?, "READY=1");
    assert_eq!(hear()?, "STATUS=no declaration, 0 of 0 healthy");
    engine.stop()?;
    assert_eq!(hear()?, "STOPPING=1");
    Ok(())
}
