//! `node-agent doctor`: looks this machine over, and says for each check what it means and what to do.

mod disk;
mod engine;
mod machine;

use serde::Serialize;
use terminal::{
    failure::Failure,
    output::Output,
    paint::{Line, Paint, Tone},
    words::count,
};

use crate::{
    command_line::Everywhere,
    config::{Config, DEFAULT_PATH, Origin},
    folder::{Folder, Held},
    status,
};

/// What one look found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
struct Check {
    name: &'static str,
    finding: Finding,
    /// What was found, and what it means.
    why: String,
    /// What to do about it.
    #[serde(skip_serializing_if = "Option::is_none")]
    hint: Option<String>,
}

/// How bad it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Finding {
    Ok,
    /// Something works less well than it could.
    Warning,
    /// Something does not work.
    Bad,
}

impl Check {
    fn ok(name: &'static str, why: impl Into<String>) -> Self {
        Self { name, finding: Finding::Ok, why: why.into(), hint: None }
    }

    fn warning(name: &'static str, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, finding: Finding::Warning, why: why.into(), hint: Some(hint.into()) }
    }

    fn bad(name: &'static str, why: impl Into<String>, hint: impl Into<String>) -> Self {
        Self { name, finding: Finding::Bad, why: why.into(), hint: Some(hint.into()) }
    }
}

/// Looks, says what was found, and fails if anything is bad.
pub(crate) async fn doctor(everywhere: &Everywhere, output: &Output) -> Result<(), Failure> {
    let (config, mut checks) = config(everywhere);
    checks.push(machine::user());
    let dir = everywhere.dir.clone().or_else(|| config.as_ref().map(|config| config.dir.clone()));
    let mut engine = None;
    match dir {
        None => checks.push(Check::warning(
            "folder",
            "not looked at: only the config could say which it is",
            "mend the config, or name the folder: --dir PATH",
        )),
        Some(dir) => {
            let folder = Folder::at(&dir);
            checks.extend(disk::folder(&folder));
            let answered = status::ask(&folder).await;
            checks.push(engine::running(&folder, answered.as_ref()));
            if let Some(config) = &config {
                checks.push(disk::artifacts(&config.artifacts(&dir)));
                checks.push(engine::bus(&config.bus, answered.as_ref().ok()).await);
            }
            checks.extend(engine::unit(&folder));
            engine = match folder.is_held() {
                Ok(Held::By(pid)) => pid,
                Ok(Held::ByNobody) | Err(_) => None,
            };
        }
    }
    checks.push(machine::groups(engine));
    checks.push(machine::processes());
    checks.push(machine::clock());
    output.answer(&checks, |checks, paint| shown(checks, paint))?;
    let bad = checks.iter().filter(|check| check.finding == Finding::Bad).count();
    if bad > 0 {
        return Err(Failure::failed(format!(
            "{} of this machine must be seen to",
            count(bad, "check")
        )));
    }
    Ok(())
}

/// Whether the config can be read, and what it says if it can.
fn config(everywhere: &Everywhere) -> (Option<Config>, Vec<Check>) {
    let loaded = Config::load(everywhere.config.as_deref());
    match loaded {
        Err(failure) => {
            let hint =
                "mend the file; the engine does not begin before that, and what runs goes on";
            (None, vec![Check::bad("config", failure.message, hint)])
        }
        Ok((config, origin)) => {
            let read = match (origin, &everywhere.config) {
                (Origin::Defaults, _) => format!("there is no {DEFAULT_PATH}: the defaults hold"),
                (Origin::File, Some(path)) => format!("{} can be read", path.display()),
                (Origin::File, None) => format!("{DEFAULT_PATH} can be read"),
            };
            let machine = match config.machine() {
                Ok(machine) => Check::ok("machine", format!("this is `{machine}`")),
                Err(failure) => Check::bad("machine", failure.message, failure.hints.concat()),
            };
            let trust = Check::ok("trust", config.trusts());
            (Some(config), vec![Check::ok("config", read), machine, trust])
        }
    }
}

fn shown(checks: &[Check], paint: Paint) -> String {
    let mut lines = Vec::new();
    for Check { name, finding, why, hint } in checks {
        let (tone, word) = match finding {
            Finding::Ok => (Tone::Good, "ok"),
            Finding::Warning => (Tone::Busy, "warning"),
            Finding::Bad => (Tone::Bad, "bad"),
        };
        let mut whys = why.lines();
        let first = whys.next().unwrap_or_default();
        let head = Line::default()
            .and(tone, format!("{word:<8}"))
            .and(Tone::Strong, format!("{name:<10}"))
            .and(Tone::Plain, first);
        lines.push(head);
        let below = |text: &str| Line::default().and(Tone::Plain, format!("{:18}{text}", ""));
        lines.extend(whys.map(below));
        lines.extend(
            hint.iter().map(|hint| Line::default().and(Tone::Faint, format!("{:18}→ {hint}", ""))),
        );
    }
    lines.iter().map(|line| line.render(paint)).collect::<Vec<_>>().join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_check_says_what_it_means_and_what_to_do() {
        let checks = [
            Check::ok("user", "root"),
            Check::bad("config", "it has faults:\n1:1: machine: …", "mend it"),
        ];
        let expected = "\
ok      user      root
bad     config    it has faults:
                  1:1: machine: …
                  → mend it";
        assert_eq!(shown(&checks, Paint::Plain), expected);
    }
}
