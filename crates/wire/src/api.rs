//! What people ask the controller, and its answers.
//!
//! One request and one answer each; the same over a socket and, later, over the bus. Answers are made for reading by
//! people and programs alike: ids whole, times as instants, states as words.

mod answer;
mod ask;
mod held;

pub use answer::{
    Answer, BuildView, ConditionView, GateView, MachineState, MachineView, ModuleView, MoveView,
    PlanView, Refusal, RefusalKind, Registered, Released, ResourceView, WaveState, WaveView,
};
pub use ask::{Ask, BuildRef, BuildRefError, Pace, Registration, Run};
pub use held::{InstanceView, PointedView, PointerView, Question, ReportPlace, RunView};
