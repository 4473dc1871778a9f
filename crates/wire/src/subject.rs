//! Who speaks to whom on which subject. Names are single tokens by their own rules, so none can reach outside its place.

use names::MachineName;

/// Begins every subject.
pub const PREFIX: &str = "bw.v1";

/// Controller to agent, a request: a declaration.
pub fn declare(machine: &MachineName) -> String {
    format!("{PREFIX}.declare.{machine}")
}

/// Agent to controller, a request: who I am and what I hold.
pub fn hello(machine: &MachineName) -> String {
    format!("{PREFIX}.hello.{machine}")
}

/// Agent to controller, a request: what came of a declaration.
pub fn report(machine: &MachineName) -> String {
    format!("{PREFIX}.report.{machine}")
}

/// Agent to controller: a statement of health.
pub fn health(machine: &MachineName) -> String {
    format!("{PREFIX}.health.{machine}")
}

/// Controller to agent, a request: a signed word.
pub fn grant(machine: &MachineName) -> String {
    format!("{PREFIX}.grant.{machine}")
}

/// Controller to agent, a request: what the failure book holds.
pub fn book(machine: &MachineName) -> String {
    format!("{PREFIX}.book.{machine}")
}

/// Controller to anyone: something happened.
pub fn event(kind: &str) -> String {
    format!("{PREFIX}.event.{kind}")
}

/// All hellos.
pub fn any_hello() -> String {
    format!("{PREFIX}.hello.*")
}

/// All reports.
pub fn any_report() -> String {
    format!("{PREFIX}.report.*")
}

/// All statements.
pub fn any_health() -> String {
    format!("{PREFIX}.health.*")
}

/// All events.
pub fn any_event() -> String {
    format!("{PREFIX}.event.>")
}

/// The machine that a subject speaks of: its last token, when that is a name.
pub fn machine_of(subject: &str) -> Option<MachineName> {
    let (_, last) = subject.rsplit_once('.')?;
    last.parse().ok()
}
