//! The controller's answers as text for people: pure functions of the views.

mod builds;
mod conditions;
mod freeing;
mod gates;
mod machines;
mod modules;
mod plan;

pub(crate) use builds::{build_name, builds, registered};
pub(crate) use conditions::conditions;
pub(crate) use freeing::{book, instances, pointer, retried};
pub(crate) use gates::gates;
pub(crate) use machines::machines;
pub(crate) use modules::modules;
pub(crate) use plan::{moved, plan, plan_tone, plans, released};
pub(crate) use terminal::words::{age, count, health, instant, list, one_line};
