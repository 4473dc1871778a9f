//! The engine's life: begun, asked to end, killed, begun again; and what it runs, which notices nothing.

use std::{
    fs,
    os::unix::{fs::MetadataExt, net::UnixDatagram},
    process::Stdio,
    time::Duration,
};

use rustix::process::Signal;
use wire::ModuleOutcome;

use crate::machine::{A, Bed, Machine, Outcome, Spoken, eventually, healthy, is_alive};

#[test]
fn what_is_declared_runs_and_is_told() -> Outcome {
    let mut bed = Bed::new()?;
    eventually("it is reported", || {
        let report = bed.controller.heard().report.clone();
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
        &format!("info: blog-1/web runs build abc 9G5FAA as process {} on 127.0.0.1:", bed.pid),
        "info: blog-1/web is healthy",
        "info: declaration 1: blog is applied",
    ] {
        bed.engine.wait_for_line(line)?;
    }
    Ok(())
}

#[test]
fn an_engine_that_is_asked_to_end_leaves_what_runs_and_the_next_one_goes_on() -> Outcome {
    let mut bed = Bed::new()?;
    bed.stop()?;
    assert!(is_alive(bed.pid));
    bed.start()?;
    bed.engine.wait_for_line("declaration 1 is held")?;
    bed.a_goes_on()
}

#[test]
fn an_engine_that_is_killed_leaves_what_runs_and_the_next_one_goes_on() -> Outcome {
    let mut bed = Bed::new()?;
    bed.engine.kill()?;
    assert!(is_alive(bed.pid));
    bed.start()?;
    bed.a_goes_on()?;
    bed.stop()
}

#[test]
fn at_stop_stop_stops_everything_first() -> Outcome {
    let machine = Machine::new()?;
    machine.configure("at_stop = \"stop\"")?;
    let mut bed = Bed::of(machine)?;
    bed.stop()?;
    assert!(!is_alive(bed.pid));
    Ok(())
}

#[test]
fn a_second_signal_does_not_wait() -> Outcome {
    let machine = Machine::new()?;
    machine.configure("at_stop = \"stop\"")?;
    let controller = machine.controller()?;
    let mut engine = machine.engine()?;
    let stubborn = "[module]\nname = \"blog\"\nobserve = \"100ms\"\n[[resource]]\nname = \"web\"\ncommand = [\"./run\"]\n\
                    health = { alive = \"100ms\", every = \"100ms\", passes = 1 }\nstop = { grace = \"10m\" }\n";
    let build = machine.build_of(A, stubborn, "trap '' TERM; while :; do sleep 1; done")?;
    controller.declare(&machine.declaration(1, build)?)?;
    let pid = controller.until_stated("it is healthy", |stated| healthy(stated, A))?;
    engine.signal(Signal::TERM)?;
    engine.wait_for_line("it ends, and stops everything that runs first")?;
    engine.signal(Signal::TERM)?;
    assert_eq!(engine.ended()?.code(), Some(1));
    assert!(is_alive(pid), "nobody waited for it");
    Ok(())
}

#[test]
fn a_second_engine_on_a_folder_is_refused_and_names_the_first() -> Outcome {
    let machine = Machine::new()?;
    let mut engine = machine.engine()?;
    engine.wait_for_line("nothing was found running")?;
    let dir = machine.dir().display();
    let held = format!("another engine (process {}) runs on {dir}", engine.pid());
    machine.ask(&["run"])?.failed(3, &[&held, "node-agent status --dir"])
}

#[test]
fn an_engine_waits_for_one_that_is_just_ending() -> Outcome {
    let machine = Machine::new()?;
    let mut first = machine.engine()?;
    first.wait_for_line("nothing was found running")?;
    let mut second = machine.engine()?;
    first.signal(Signal::TERM)?;
    first.ended()?;
    second.wait_for_line("nothing was found running")
}

#[test]
fn a_tethered_engine_does_not_outlive_whoever_holds_its_other_end() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let (reader, writer) = std::io::pipe()?;
    let flags = ["run", "--statement-every", "200ms", "--orphan-after", "120s", "--tether"];
    let mut command = machine.program(&flags);
    command.stdin(reader);
    let mut engine = Spoken::on_stderr(command)?;
    let pid = machine.runs_a(&controller)?;
    drop(writer);
    assert_eq!(engine.ended()?.code(), None, "it is killed");
    assert!(is_alive(pid), "what it runs goes on");
    // One whose input has ended already does not begin.
    let mut command = machine.program(&["run", "--tether"]);
    command.stdin(Stdio::null());
    assert_eq!(Spoken::on_stderr(command)?.ended()?.code(), None);
    Ok(())
}

#[test]
fn a_config_with_faults_is_told_fault_by_fault_and_what_runs_goes_on() -> Outcome {
    let mut bed = Bed::new()?;
    bed.stop()?;
    let config = bed.machine.config();
    let good = fs::read_to_string(&config)?;
    fs::write(&config, good.replace("bus =", "bos =").replace("\"all\"", "\"nobody\""))?;
    let path = config.display().to_string();
    let told = [
        &format!("{path}:3:1: bos: unknown key; did you mean `bus`?")[..],
        &format!("{path}:6:9: workloads.users: `nobody` is not allowed"),
        "node-agent doctor",
    ];
    bed.machine.ask(&["run"])?.failed(1, &told)?;
    bed.machine.ask(&["doctor"])?.ended(1, &["bad     config", "3:1: bos: unknown key"])?;
    assert!(is_alive(bed.pid));
    fs::remove_file(&config)?;
    bed.machine.ask(&["run"])?.failed(1, &[&path, "cannot be read"])?;
    fs::write(&config, good)?;
    bed.start()
}

#[test]
fn in_the_journal_a_line_says_its_severity_and_no_time() -> Outcome {
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
    let machine = Machine::new()?;
    let path = machine.join("notify");
    let manager = UnixDatagram::bind(&path)?;
    manager.set_read_timeout(Some(Duration::from_secs(60)))?;
    let mut command = machine.program(&["run"]);
    command.env("NOTIFY_SOCKET", &path);
    let engine = Spoken::on_stderr(command)?;
    let hear = || -> Outcome<String> {
        let mut bytes = [0; 256];
        let length = manager.recv(&mut bytes)?;
        Ok(String::from_utf8(bytes[..length].to_vec())?)
    };
    assert_eq!(hear()?, "READY=1");
    assert_eq!(hear()?, "STATUS=no declaration, 0 of 0 healthy");
    engine.signal(Signal::TERM)?;
    assert_eq!(hear()?, "STOPPING=1");
    Ok(())
}
