//! `controller judge`: judges recorded facts as a gate would, without a controller, for whoever releases otherwise.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
};

use chrono::{DateTime, Utc};
use gate_judge::{Blame, End, Found, Judging, NotCounted, Recording, Replayed, Rules, Unread};
use serde::Serialize;

use crate::{
    command_line::{Judge, RulesName},
    failure::{Failure, FailureKind, chain},
    output::Output,
    paint::{Paint, Tone, harmless},
    shown,
};

/// The longest recording, in bytes: a large fleet's, over many judgings.
const BYTES_MAX: u64 = 256 * 1024 * 1024;

/// What the judging came to.
#[derive(Debug, Serialize)]
struct Judged {
    /// `passed`, `failed`, `cannot tell` or `judging`.
    state: &'static str,
    /// The gate in one line.
    summary: String,
    /// Why it ended so.
    why: Option<String>,
    /// Who is to blame, where somebody is.
    blame: Option<Blame>,
    /// What each judging found.
    judgings: Vec<At>,
}

#[derive(Debug, Serialize)]
struct At {
    at: DateTime<Utc>,
    #[serde(flatten)]
    judging: Judging,
}

/// Judges the file, writes what was found, and fails unless the gate passed.
pub(crate) fn judge(flags: &Judge, output: &Output) -> Result<(), Failure> {
    let name = flags.file.display();
    let text = read(&flags.file)
        .map_err(|error| Failure::because(format!("{name} cannot be read"), &error))?;
    let recording: Recording = serde_json::from_slice(&text).map_err(|error| {
        let what = format!("{name} is no recording of a gate: {}", chain(&error));
        Failure::new(FailureKind::Usage, what).hint(
            "it holds `opening`, `catalogue` and `steps`; the crate gate-judge has an example",
        )
    })?;
    let judged = replay(&recording, &rules(flags.rules))?;
    output.answer(&judged, text_of)?;
    outcome(&judged)
}

fn read(path: &Path) -> io::Result<Vec<u8>> {
    let from: Box<dyn Read> =
        if path == Path::new("-") { Box::new(io::stdin()) } else { Box::new(File::open(path)?) };
    let mut bytes = Vec::new();
    from.take(BYTES_MAX + 1).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > BYTES_MAX {
        return Err(io::Error::other(format!("it has more than {BYTES_MAX} bytes")));
    }
    Ok(bytes)
}

fn rules(name: RulesName) -> Rules {
    match name {
        RulesName::Default => Rules::default(),
        RulesName::Reference => Rules::reference(),
    }
}

fn replay(recording: &Recording, rules: &Rules) -> Result<Judged, Failure> {
    let Replayed { gate, judgings } = recording
        .replay(rules)
        .map_err(|error| Failure::new(FailureKind::Usage, error.to_string()))?;
    let ended = gate.ended();
    Ok(Judged {
        state: match ended.map(|ended| &ended.end) {
            None => "judging",
            Some(End::Passed { .. }) => "passed",
            Some(End::Failed(_)) => "failed",
            Some(End::CannotTell(_)) => "cannot tell",
        },
        summary: gate.summary(rules, None),
        why: ended.map(|ended| ended.end.to_string()),
        blame: ended.and_then(gate_judge::Ended::blame),
        judgings: judgings.into_iter().map(|(at, judging)| At { at, judging }).collect(),
    })
}

fn outcome(judged: &Judged) -> Result<(), Failure> {
    match (judged.state, &judged.why) {
        ("passed", _) => Ok(()),
        (state, Some(why)) => {
            Err(Failure::new(FailureKind::GateFailed, format!("the gate ended as {state}: {why}")))
        }
        (_, None) => Err(Failure::failed("the gate has not ended; more facts are wanted")),
    }
}

fn text_of(judged: &Judged, paint: Paint) -> String {
    let mut lines: Vec<_> = judged.judgings.iter().map(|at| line(at, paint)).collect();
    let state = paint.tone(shown::plan_tone(judged.state), judged.state);
    lines.push(format!("{state}: {}", harmless(&judged.summary)));
    lines.join("\n")
}

fn line(At { at, judging }: &At, paint: Paint) -> String {
    let (tone, mut found) = match &judging.found {
        Found::EndedBefore => (Tone::Faint, "ended before".to_owned()),
        Found::TooEarly => (Tone::Faint, "too early to look again".to_owned()),
        Found::BeforeSend => (Tone::Faint, "nothing was sent yet".to_owned()),
        Found::Unread(Unread::Catalogue) => (Tone::Busy, "the manifests cannot be read".to_owned()),
        Found::Unread(Unread::Facts) => (Tone::Busy, "the facts cannot be read".to_owned()),
        Found::Wanting => (Tone::Busy, "not yet".to_owned()),
        Found::Counted => (Tone::Good, "good, counted".to_owned()),
        Found::NotCounted(NotCounted::TooClose) => {
            (Tone::Faint, "good, too soon after the last to be counted".to_owned())
        }
        Found::NotCounted(NotCounted::NoNewStatement { machine }) => {
            (Tone::Faint, format!("good, not counted: {machine} has said nothing new"))
        }
        Found::NotCounted(NotCounted::SetBack) => {
            (Tone::Faint, "good, not counted: the clock was set back".to_owned())
        }
        Found::Ended => (Tone::Strong, "the gate ends".to_owned()),
    };
    if !judging.wanting.is_empty() {
        let wanting = judging.wanting.iter().map(ToString::to_string).collect::<Vec<_>>();
        found = format!("{found}: {}", wanting.join("; "));
    }
    format!("{}  {}", shown::instant(*at), paint.tone(tone, harmless(&found)))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module that is stated in this state at each of these seconds after it was sent.
    fn recording(state: &str, seconds: &[u64]) -> String {
        let at = |second: u64| format!("2026-01-01T00:{:02}:{:02}Z", second / 60, second % 60);
        let step = |second: &u64| {
            format!(
                r#"{{"now": "{now}", "facts": {{
                    "reports": {{"anvil": {{"at": "{now}", "current": true, "outcome": "applied", "declaration": 7,
                        "modules": {{"relay": {{"outcome": "applied", "build": "B1", "executions": ["a1"]}}}}}}}},
                    "served": {{"anvil": {{"runtime": true, "tools": []}}}},
                    "judged": true,
                    "health": {{"anvil": {{"heard": "{now}", "declaration": 7, "resources": [
                        {{"module": "relay", "resource": "web", "state": "{state}", "build": "B1", "execution": "a1"}}]}}}}}}}}"#,
                now = at(*second)
            )
        };
        let steps: Vec<_> = seconds.iter().map(step).collect();
        format!(
            r#"{{"opening": {{"module": "relay", "machines": ["anvil"], "from": "v1", "to": "v2",
                    "since": "2026-01-01T00:00:00Z",
                    "sent": {{"machines": {{"anvil": {{"declaration": 7, "at": "2026-01-01T00:00:00Z"}}}},
                        "builds": {{"relay": "B1"}}}}}},
                "catalogue": {{"relay": {{"resources": ["web"]}}}},
                "steps": [{}]}}"#,
            steps.join(",")
        )
    }

    fn judged(state: &str, seconds: &[u64]) -> Judged {
        let recording = serde_json::from_str(&recording(state, seconds)).unwrap();
        replay(&recording, &rules(RulesName::Default)).unwrap()
    }

    #[test]
    fn each_end_of_a_gate_has_its_exit_status() {
        for (state, seconds, ended, status) in [
            ("healthy", &[10, 60, 140][..], "passed", 0),
            ("healthy", &[10, 60], "judging", 1),
            ("unhealthy", &[10, 700], "failed", 4),
            ("failed", &[10], "failed", 4),
        ] {
            let judged = judged(state, seconds);
            assert_eq!(judged.state, ended, "{state} {seconds:?}");
            let exit =
                outcome(&judged).map_or_else(|failure| failure.kind.exit_status() as u8, |()| 0);
            assert_eq!(exit, status, "{state} {seconds:?}");
        }
    }

    #[test]
    fn people_read_each_judging_and_the_end() {
        let text = text_of(&judged("healthy", &[10, 60, 140]), Paint::Plain);
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 4, "{text}");
        assert_eq!(lines[0], "2026-01-01 00:00:10 UTC  good, counted");
        assert!(lines[3].starts_with("passed: "), "{text}");
    }

    #[test]
    fn programs_get_the_same() {
        let json = serde_json::to_value(judged("failed", &[10])).unwrap();
        assert_eq!(json["state"], "failed");
        assert_eq!(json["blame"], "build");
        assert_eq!(json["judgings"][0]["found"], "ended");
    }
}
