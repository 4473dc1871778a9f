//! What an agent decided and what the failure book keeps, in short words.

use agent_core::Action;
use failure_book::{Hosts, Row};
use names::{BuildId, ModuleName};
use wire::route::{Refusal, To};
use wire::{DeclareReply, ModuleOutcome, ModuleReport, Report};

/// An action in short words; `None` for what comes all the time.
pub(crate) fn brief(action: &Action) -> Option<String> {
    Some(match action {
        Action::Answer { reply: DeclareReply::Taken, .. } => "answer: taken".to_owned(),
        Action::Answer { reply: DeclareReply::Refused(why), .. } => {
            format!("answer: refused, {why}")
        }
        Action::Install { module, build, .. } => format!("install {}", of(module, build)),
        Action::Verify { starts, ours, .. } => {
            format!("verify {} starts, {} of ours will be gone", starts.len(), ours.len())
        }
        Action::Start { start, .. } => {
            format!("start {} of {}", start.instance, of(&start.module, &start.build))
        }
        Action::Stop { .. } => "stop".to_owned(),
        Action::Route(table) => {
            let led = table.0.iter().map(|(address, to)| format!("{address} {}", led(to)));
            format!("route {}", led.collect::<Vec<_>>().join(", "))
        }
        Action::Report(report) => format!("report {}: {}", report.declaration, outcomes(report)),
        Action::Collect { keep } => {
            let keep: Vec<_> = keep.iter().map(|(module, build)| of(module, build)).collect();
            format!("collect all but {}", keep.join(", "))
        }
        Action::Check { .. }
        | Action::AnswerWord { .. }
        | Action::AnswerBook { .. }
        | Action::Examine
        | Action::State(_)
        | Action::Hello(_) => {
            return None;
        }
    })
}

fn of(module: &ModuleName, build: &BuildId) -> String {
    format!("{module} {}", &build.as_str()[25..])
}

fn outcomes(report: &Report) -> String {
    let outcome = |(module, report): (&ModuleName, &ModuleReport)| match &report.outcome {
        ModuleOutcome::Applied => format!("{module} applied"),
        ModuleOutcome::Failed { instance, .. } => format!("{module} failed on {instance}"),
        ModuleOutcome::Refused { rule } => format!("{module} refused, {rule}"),
        ModuleOutcome::Unable { because, .. } => format!("{module} unable, {because:?}"),
    };
    report.modules.iter().map(outcome).collect::<Vec<_>>().join(", ")
}

pub(crate) fn is_check(action: &Action) -> bool {
    matches!(action, Action::Check { .. })
}

/// A row of the failure book; `None` for one that is only there to order the others.
pub(crate) fn brief_row(row: &Row) -> Option<String> {
    Some(match row {
        Row::Record(_, record) => {
            let hosts = |word: &str, hosts: &Hosts| {
                let hosts: Vec<_> = hosts.iter().map(|host| host.as_str()).collect();
                if hosts.is_empty() {
                    String::new()
                } else {
                    format!(", {word} {}", hosts.join(" "))
                }
            };
            format!(
                "record {} on {}{}{}",
                &record.build.name()[25..],
                record.host.as_str(),
                hosts("holds down", &record.held_down),
                hosts("retried", &record.retried),
            )
        }
        Row::Marker(host, marker) => {
            format!("marker {} on {}", &marker.build.name()[25..], host.as_str())
        }
        Row::Intent(host, intent) => {
            format!("intent {} on {}, {}", &intent.build.name()[25..], host.as_str(), intent.mode)
        }
        Row::Book { .. } | Row::Generation(..) => return None,
    })
}

fn led(to: &To) -> String {
    let refusal = |how: &Refusal| match how {
        Refusal::Close => "closes".to_owned(),
        Refusal::Http { why } => format!("answers 503, {why}"),
    };
    match to {
        To::Forward { to } => {
            let to: Vec<_> = to.iter().map(|one| one.port().to_string()).collect();
            format!("goes to {}", to.join(" and "))
        }
        To::Hold { .. } => "holds".to_owned(),
        To::Refuse(how) => refusal(how),
    }
}
