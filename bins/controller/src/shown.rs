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

/// The first of several lines, since a table has one for each row.
pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}
