//! The unit as it is shipped: systemd understands it, nothing in it ends what runs, and in a group as systemd makes it each
//! workload has a group of its own beside the engine's.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use crate::machine::{Bed, Machine, Outcome, Spoken, finished};

fn shipped() -> Outcome<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("dist/node-agent.service"))?)
}

#[test]
fn systemd_understands_the_unit() -> Outcome {
    let machine = Machine::new()?;
    let program = env!("CARGO_BIN_EXE_node-agent");
    // Only where the program lies is another: systemd looks whether it is there.
    let text = shipped()?.replace("/usr/bin/node-agent", program);
    assert!(text.contains(&format!("ExecStart={program} run\n")), "{text}");
    let unit = machine.join("node-agent.service");
    fs::write(&unit, text)?;
    let mut verify = Command::new("systemd-analyze");
    verify.arg("verify").arg("--man=no").arg(&unit);
    let verified = finished(verify)?;
    verified.done()?;
    // An older systemd does not know the leaf, and passes over it.
    let said = verified.stderr.lines().filter(|line| line.contains("node-agent.service"));
    let unknown: Vec<_> = said.filter(|line| !line.contains("DelegateSubgroup")).collect();
    assert_eq!(unknown, [""; 0]);
    Ok(())
}

#[test]
fn nothing_in_the_unit_ends_what_runs_or_keeps_the_engine_down() -> Outcome {
    let text = shipped()?;
    for line in [
        "Type=notify",
        "KillMode=process",
        "Delegate=yes",
        "DelegateSubgroup=engine",
        "Restart=always",
        "RestartSec=2s",
        "StartLimitIntervalSec=0",
        "OOMPolicy=continue",
        "OOMScoreAdjust=-900",
        "TimeoutStopSec=5min",
        "StandardOutput=journal",
        "StandardError=journal",
        "RuntimeDirectoryPreserve=yes",
    ] {
        assert!(text.lines().any(|found| found == line), "{line}");
    }
    // Workloads would be born into these.
    for key in [
        "Protect",
        "Private",
        "Restrict",
        "NoNewPrivileges",
        "ReadOnlyPaths",
        "SystemCall",
        "User=",
    ] {
        assert!(!text.lines().any(|line| line.starts_with(key)), "{key}");
    }
    Ok(())
}

/// A control group that is removed with the value, once nothing is in it any more.
struct Group(PathBuf);

impl Group {
    /// None, said loudly, where no group can be made.
    fn make(name: &str) -> Outcome<Option<Self>> {
        let mounts = fs::read_to_string("/proc/self/mounts")?;
        let mount = mounts.lines().find_map(|line| {
            let fields: Vec<&str> = line.split(' ').collect();
            (fields.get(2) == Some(&"cgroup2")).then(|| fields.get(1).map(PathBuf::from))?
        });
        let path = mount.map(|mount| mount.join(name));
        match path {
            Some(path) if fs::create_dir_all(path.join("engine")).is_ok() => Ok(Some(Self(path))),
            Some(_) | None => {
                writeln!(
                    std::io::stderr(),
                    "SKIPPED a test of control groups: none can be made here"
                )?;
                Ok(None)
            }
        }
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        let _ = fs::write(self.0.join("cgroup.kill"), "1");
        for _ in 0..200 {
            let _ = fs::remove_dir(self.0.join("engine"));
            let _ = fs::read_dir(&self.0).map(|groups| {
                groups.flatten().for_each(|group| drop(fs::remove_dir(group.path())));
            });
            if fs::remove_dir(&self.0).is_ok() {
                return;
            }
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
}

#[test]
fn in_a_delegated_group_each_workload_has_one_of_its_own_beside_the_engine() -> Outcome {
    let name = format!("bellwether-test-{}", std::process::id());
    let Some(group) = Group::make(&name)? else { return Ok(()) };
    let machine = Machine::new()?;
    let controller = machine.controller()?;
    // As systemd does with `DelegateSubgroup`.
    let enter =
        format!("echo $$ > {}/engine/cgroup.procs && exec \"$0\" \"$@\"", group.0.display());
    let engine = machine.program(&["run", "--statement-every", "200ms", "--orphan-after", "120s"]);
    let mut command = Command::new("/bin/sh");
    command.args(["-c", &enter]).arg(engine.get_program()).args(engine.get_args());
    command.env_clear().env("PATH", "/usr/local/bin:/usr/bin:/bin");
    let mut engine = Spoken::on_stderr(command)?;
    let pid = machine.runs_a(&controller)?;
    let of = |pid: u32| -> Outcome<String> {
        let groups = fs::read_to_string(format!("/proc/{pid}/cgroup"))?;
        Ok(groups.lines().find_map(|line| line.strip_prefix("0::")).unwrap_or_default().to_owned())
    };
    assert_eq!(of(engine.pid())?, format!("/{name}/engine"));
    let workload = of(pid)?;
    assert!(workload.starts_with(&format!("/{name}/bellwether-")), "{workload}");
    engine.kill()?;
    let mut bed = Bed { machine, controller, engine, pid };
    bed.start()?;
    bed.a_goes_on()
}
