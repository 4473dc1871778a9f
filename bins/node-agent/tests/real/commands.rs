//! The commands that look at a machine: status, logs, doctor.

use std::fs;

use rustix::process::Signal;
use serde_json::Value;

use crate::machine::{A, Bed, Machine, Outcome, Spoken, eventually, healthy};

#[test]
fn status_says_how_everything_stands() -> Outcome {
    let Bed { machine, controller, mut engine, pid } = Bed::new()?;
    let status = eventually("it is healthy", || {
        let answered = machine.ask(&["status"])?;
        Ok(if answered.stdout.contains(" healthy ") { Ok(answered) } else { Err(answered.stdout) })
    })?;
    let of_process = pid.to_string();
    let of_engine = format!("process {}", engine.pid());
    status.ended(
        0,
        &[
            "machine  box-1",
            &of_engine,
            "bus      reached since",
            "holds    declaration 1, stated",
            "MODULE",
            "blog",
            "blog-1",
            "web",
            "9G5FAA",
            &of_process,
            "127.0.0.1:",
        ],
    )?;
    let json: Value = serde_json::from_str(&machine.ask(&["status", "--output", "json"])?.stdout)?;
    assert_eq!(json["machine"], "box-1");
    assert_eq!(json["bus"]["state"], "connected");
    assert_eq!(json["statement"]["resources"][0]["process"]["pid"], pid);
    drop(controller);
    eventually("the bus is lost", || {
        let answered = machine.ask(&["status"])?.stdout;
        let is_lost = answered.contains("bus      not reached since");
        Ok(if is_lost { Ok(()) } else { Err(answered) })
    })?;
    engine.wait_for_line("warning: the bus is not reached; what runs goes on")?;
    let _again = machine.controller()?;
    eventually("the bus is back", || {
        let answered = machine.ask(&["status"])?.stdout;
        Ok(if answered.contains("bus      reached since") { Ok(()) } else { Err(answered) })
    })
}

#[test]
fn without_an_engine_status_says_what_goes_on() -> Outcome {
    let machine = Machine::new()?;
    let dir = machine.dir().display().to_string();
    machine.ask(&["status"])?.ended(5, &["no engine runs on", &dir])?;
    let mut bed = Bed::of(machine)?;
    bed.stop()?;
    let (machine, pid) = (&bed.machine, bed.pid);
    let of_process = format!(" {pid} ");
    machine.ask(&["status"])?.ended(
        5,
        &[
            "1 process goes on without an engine",
            "blog-1",
            "runs",
            &of_process,
            "no engine runs on",
        ],
    )?;
    let json = machine.ask(&["status", "--output", "json"])?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    assert_eq!(json["workloads"][0]["process"], pid);
    assert_eq!(json["workloads"][0]["state"], "runs");
    Ok(())
}

#[test]
fn logs_are_read_with_and_without_an_engine() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let mut engine = machine.engine()?;
    let script = "for n in 1 2 3; do echo line $n; done; printf 'bad \\033[2J\\377 bytes\\n' >&2; exec sleep 1000";
    controller.declare(&machine.declaration(1, machine.build(A, script)?)?)?;
    controller.until_stated("it is healthy", |stated| healthy(stated, A))?;
    engine.kill()?;
    let logs = machine.ask(&["logs", "blog-1"])?;
    logs.ended(
        0,
        &["=== bellwether: execution", "line 1\nline 2\nline 3\nbad  [2J\u{fffd} bytes\n"],
    )?;
    let last = machine.ask(&["logs", "blog/blog-1", "--resource", "web", "-n", "2"])?;
    assert_eq!(last.stdout, "line 3\nbad  [2J\u{fffd} bytes\n");
    let json = machine.ask(&["logs", "blog-1", "-n", "1", "--output", "json"])?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    assert_eq!(
        (&json["resource"], &json["line"]),
        (&"web".into(), &"bad \u{1b}[2J\u{fffd} bytes".into())
    );

    machine.ask(&["logs", "blog-2"])?.ended(1, &["no instance `blog-2`", "blog/blog-1"])?;
    machine
        .ask(&["logs", "blog-1", "--resource", "db"])?
        .ended(1, &["resource `db`", "these have: web"])?;
    let other = machine.dir().join("output/shop/blog-1");
    fs::create_dir_all(&other)?;
    fs::write(other.join("till.log"), "open\n")?;
    fs::write(other.join("cat.log"), "meow\n")?;
    machine.ask(&["logs", "blog-1"])?.ended(2, &["can be any of blog/blog-1, shop/blog-1"])?;
    let several = machine.ask(&["logs", "shop/blog-1"])?;
    assert_eq!(several.stdout, "cat  │ meow\ntill │ open\n");
    Ok(())
}

#[test]
fn followed_logs_survive_rotation_and_deletion_and_end_at_ctrl_c() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let _engine = machine.engine()?;
    let go = machine.join("go");
    // Each time it is told to, it writes more than a file holds, and a line to know it by.
    let script = format!(
        "echo ready; n=0; while :; do if [ -e {go} ]; then n=$((n+1)); \
         i=0; while [ $i -lt 1300 ]; do printf '%01023d\\n' $i; i=$((i+1)); done; \
         echo turn $n; rm {go}; fi; sleep 0.05; done",
        go = go.display()
    );
    controller.declare(&machine.declaration(1, machine.build(A, &script)?)?)?;
    controller.until_stated("it is healthy", |stated| healthy(stated, A))?;
    let follow = machine.program(&["logs", "blog-1", "--follow", "-n", "1"]);
    let mut follower = Spoken::on_stdout(follow)?;
    follower.wait_for_line("ready")?;
    for turn in 1..=2 {
        follower.said.clear();
        fs::write(&go, "")?;
        follower.wait_for_line(&format!("turn {turn}"))?;
        let numbers = follower.said.iter().filter(|line| line.len() == 1_023).count();
        assert_eq!(numbers, 1_300, "turn {turn}");
    }
    let log = machine.dir().join("output/blog/blog-1/web.log");
    fs::remove_file(&log)?;
    fs::write(&go, "")?;
    follower.wait_for_line("turn 3")?;
    follower.signal(Signal::INT)?;
    assert_eq!(follower.ended()?.code(), Some(0));
    Ok(())
}

#[test]
fn doctor_finds_what_is_wrong_and_says_what_to_do() -> Outcome {
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    let mut engine = machine.engine()?;
    engine.wait_for_line("the controller answers")?;
    // What this very machine lacks (control groups, a unit) is a warning.
    machine.ask(&["doctor"])?.ended(
        0,
        &[
            "ok      config",
            "ok      trust     no key of an operator and no key of a controller count here",
            "ok      folder",
            "ok      disk",
            "ok      engine",
            "ok      artifacts",
            "ok      bus",
        ],
    )?;
    let json = machine.ask(&["doctor", "--output", "json"])?;
    let json: Value = serde_json::from_str(&json.stdout)?;
    assert!(json.as_array().is_some_and(|checks| checks.len() > 8), "{json}");
    drop(controller);
    engine.kill()?;
    fs::create_dir_all(machine.dir().join("set-aside/store"))?;
    fs::remove_dir(machine.join("artifacts"))?;
    let bad = machine.ask(&["doctor"])?;
    bad.ended(
        1,
        &[
            "bad     engine",
            "→ start it: systemctl start node-agent",
            "bad     artifacts",
            "bad     bus",
            "nobody listens on the socket",
            "warning damage    found damaged and set aside:",
            "3 checks of this machine must be seen to",
        ],
    )
}
