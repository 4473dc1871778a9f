//! The engine: whether it runs, whether its bus is there, and how systemd keeps it.

use std::{
    fs,
    io::Read,
    path::Path,
    process::{Command, Stdio},
    thread,
    time::Duration,
};

use bus_socket::{Connection, SocketBus};
use chrono::TimeDelta;
use terminal::{
    failure::chain,
    words::{age, instant},
};
use tokio::time::timeout;

use super::Check;
use crate::{
    clock,
    folder::{Folder, Held},
    status::{AskError, BusState, Status},
};

/// How long the bus may take to be reached.
const BUS_PATIENCE: Duration = Duration::from_secs(5);

/// How often, and after what pauses, systemd is asked whether it has answered.
const SYSTEMD_LOOKS: u32 = 60;
const SYSTEMD_PAUSE: Duration = Duration::from_millis(50);

/// How old a statement may be: an engine states every 5 s.
const STATEMENT_AGE_MAX: TimeDelta = TimeDelta::seconds(30);

const START: &str = "start it: systemctl start node-agent";

/// Whether an engine runs and answers.
pub(super) fn running(folder: &Folder, answered: Result<&Status, &AskError>) -> Check {
    const NAME: &str = "engine";
    let status = match answered {
        Ok(status) => status,
        Err(error) => {
            return match folder.is_held() {
                Ok(Held::By(_)) => {
                    let hint = "look at its lines: journalctl --unit node-agent";
                    Check::bad(NAME, format!("it runs and cannot be asked: {error}"), hint)
                }
                Ok(Held::ByNobody) | Err(_) => {
                    Check::bad(NAME, "no engine runs here; what runs goes on without it", START)
                }
            };
        }
    };
    let now = clock::now();
    if let Some(why) = &status.storeless {
        let why = format!("it runs without a store, so it takes no declaration: {why}");
        return Check::bad(NAME, why, "see to the disk; the engine goes on by itself then");
    }
    match status.stated_at {
        Some(at) if now - at <= STATEMENT_AGE_MAX => {
            let why = format!(
                "{} runs as process {}, and stated {}",
                status.agent,
                status.process,
                age(at, now)
            );
            Check::ok(NAME, why)
        }
        Some(at) => {
            let why = format!("it has stated nothing since {}: it hangs", age(at, now));
            Check::bad(
                NAME,
                why,
                "start it anew: systemctl restart node-agent; what runs goes on meanwhile",
            )
        }
        None => Check::warning(NAME, "it has only just begun", "ask again in a moment"),
    }
}

/// Whether the bus is there.
pub(super) async fn bus(path: &Path, status: Option<&Status>) -> Check {
    const NAME: &str = "bus";
    const HINT: &str =
        "start the controller; what runs goes on, and the engine comes back by itself";
    let at = path.display();
    if let Some(status) = status {
        let since = instant(status.bus.since);
        return match (status.bus.state, &status.bus.why) {
            (BusState::Connected, _) => {
                Check::ok(NAME, format!("the engine has reached {at} since {since}"))
            }
            (BusState::Connecting | BusState::Lost | BusState::Closed, why) => {
                let why = why.as_deref().unwrap_or("it is being reached");
                let why = format!("the engine has not reached {at} since {since}: {why}");
                Check::bad(NAME, why, HINT)
            }
        };
    }
    let bus = SocketBus::connect(path);
    let mut connection = bus.connection();
    let tried =
        timeout(BUS_PATIENCE, connection.wait_for(|now| !matches!(now, Connection::Connecting)));
    match tried.await {
        Ok(Ok(now)) => match &*now {
            Connection::Connected => Check::ok(NAME, format!("{at} is reached")),
            Connection::Lost(why) => {
                Check::bad(NAME, format!("{at} is not reached: {}", chain(&**why)), HINT)
            }
            Connection::Connecting | Connection::Closed => {
                Check::bad(NAME, format!("{at} is not reached"), HINT)
            }
        },
        Ok(Err(_)) | Err(_) => Check::bad(NAME, format!("{at} does not answer"), HINT),
    }
}

/// How systemd keeps the engine, as far as it can be seen; nothing where no engine runs.
pub(super) fn unit(folder: &Folder) -> Option<Check> {
    let Ok(Held::By(Some(pid))) = folder.is_held() else { return None };
    let groups = fs::read_to_string(format!("/proc/{pid}/cgroup")).unwrap_or_default();
    Some(match unit_of(&groups) {
        None => Check::warning(
            "unit",
            "no systemd unit keeps the engine: nobody starts it again when it ends",
            "install node-agent.service, and start it with systemctl",
        ),
        Some(unit) => match show(unit) {
            Some(shown) => of_unit(unit, &shown),
            None => Check::warning(
                "unit",
                format!("systemd does not tell about {unit}"),
                "ask it: systemctl show",
            ),
        },
    })
}

/// The unit in the text of `/proc/PID/cgroup`: the last part of a path that is a service.
fn unit_of(groups: &str) -> Option<&str> {
    let paths = groups.lines().filter_map(|line| line.splitn(3, ':').nth(2));
    paths.flat_map(|path| path.rsplit('/')).find(|part| part.ends_with(".service"))
}

/// What systemd shows of a unit; none when it does not answer.
fn show(unit: &str) -> Option<String> {
    let mut command = Command::new("systemctl");
    command.args(["show", "--property=KillMode,Delegate,Restart", "--", unit]);
    let mut child =
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()?;
    for _ in 0..SYSTEMD_LOOKS {
        if child.try_wait().ok()?.is_some() {
            let mut text = String::new();
            child.stdout.take()?.read_to_string(&mut text).ok()?;
            return (!text.trim().is_empty()).then_some(text);
        }
        thread::sleep(SYSTEMD_PAUSE);
    }
    let _ = child.kill();
    let _ = child.wait();
    None
}

fn of_unit(unit: &str, shown: &str) -> Check {
    let value = |key: &str| {
        shown.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('=')).unwrap_or("?")
    };
    const HINT: &str = "use the unit as it is shipped, without an override of that key";
    let (kill, delegate, restart) = (value("KillMode"), value("Delegate"), value("Restart"));
    if kill != "process" {
        let why = format!(
            "{unit} has KillMode={kill}: whatever the engine runs dies when it is restarted"
        );
        return Check::bad("unit", why, HINT);
    }
    if delegate != "yes" {
        let why =
            format!("{unit} has Delegate={delegate}: limits on memory and tasks are not kept");
        return Check::warning("unit", why, HINT);
    }
    if restart != "always" {
        let why = format!(
            "{unit} has Restart={restart}: an engine that ended is not always started again"
        );
        return Check::warning("unit", why, HINT);
    }
    Check::ok("unit", format!("{unit} leaves what runs alone, and starts the engine again"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::doctor::Finding;

    #[test]
    fn the_unit_is_the_service_in_the_path() {
        for (groups, unit) in [
            ("0::/system.slice/node-agent.service\n", Some("node-agent.service")),
            ("0::/system.slice/node-agent.service/engine\n", Some("node-agent.service")),
            ("4:memory:/x\n0::/system.slice/agent.service/bellwether-1.2\n", Some("agent.service")),
            ("0::/user.slice/user-0.slice/session-1.scope\n", None),
            ("0::/\n", None),
            ("", None),
        ] {
            assert_eq!(unit_of(groups), unit, "{groups}");
        }
    }

    #[test]
    fn a_unit_that_kills_what_runs_is_bad() {
        for (shown, finding) in [
            ("KillMode=process\nDelegate=yes\nRestart=always\n", Finding::Ok),
            ("KillMode=control-group\nDelegate=yes\nRestart=always\n", Finding::Bad),
            ("KillMode=process\nDelegate=no\nRestart=always\n", Finding::Warning),
            ("KillMode=process\nDelegate=yes\nRestart=no\n", Finding::Warning),
            ("nonsense", Finding::Bad),
        ] {
            assert_eq!(of_unit("x.service", shown).finding, finding, "{shown}");
        }
    }
}
