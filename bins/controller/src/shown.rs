//! The controller's answers as text for people: pure functions of the views.

mod builds;
mod conditions;
mod gates;
mod machines;
mod modules;
mod plan;
mod time;

use std::fmt;

pub(crate) use builds::{build_name, builds, registered};
pub(crate) use conditions::conditions;
pub(crate) use gates::gates;
pub(crate) use machines::{health, machines};
pub(crate) use modules::modules;
pub(crate) use plan::{moved, plan, plan_tone, plans, released};
pub(crate) use time::{age, instant};

/// `a, b, c`, and a dash for none.
pub(crate) fn list<T: fmt::Display>(items: impl IntoIterator<Item = T>) -> String {
    let items: Vec<_> = items.into_iter().map(|item| item.to_string()).collect();
    if items.is_empty() { "-".to_owned() } else { items.join(", ") }
}

/// `1 machine`, `2 machines`
pub(crate) fn count(number: usize, one: &str) -> String {
    if number == 1 { format!("1 {one}") } else { format!("{number} {one}s") }
}

/// A text of several lines as one, no longer than a row can be read: what a program wrote as it ended can be long.
pub(crate) fn one_line(text: &str) -> String {
    const LENGTH_MAX: usize = 240;
    let line = text.lines().map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>();
    let line = line.join(" ");
    match line.char_indices().nth(LENGTH_MAX) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn several_lines_become_one_that_can_be_read() {
        assert_eq!(one_line("it ended:\n  error: no\n\n"), "it ended: error: no");
        assert_eq!(one_line(&"é\n".repeat(1_000)).chars().count(), 241);
    }
}
