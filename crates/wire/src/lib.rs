//! What controller, agents and people say to each other: subjects, messages, and the envelope that they travel in.
//!
//! The rules of the bus hold here: every message carries a version, an id, its sender and when it was sent; unknown fields
//! are ignored, an unknown version is refused with a reason, and nothing is half-read. Delivery is at least once, so
//! every message can be taken twice without harm: declarations by number, reports and statements by number or sequence.
//!
//! Some words count because of who signed them: those are in [`signed`]. Everything else is believed of whoever may
//! say it on the bus.
//!
//! This crate has no I/O. It makes bytes of messages and messages of bytes; a bus moves them.

pub mod api;
mod book;
mod declare;
mod envelope;
mod event;
mod report;
pub mod route;
pub mod signed;
mod statement;
pub mod subject;
mod trouble;
mod word;

pub use book::{
    BookAsked, BookState, BookStatus, HeldBy, HeldInstance, HeldMode, OnDisk, retry_command,
};
pub use declare::{BuildsKept, Declare, DeclareReply, Held, Hello, HelloReply, RefusedDeclaration};
pub use envelope::{BYTES_MAX, Envelope, Unreadable, VERSION};
pub use event::Event;
pub use report::{ModuleOutcome, ModuleReport, Report, ReportReply, UnableBecause};
pub use statement::{
    BootId, EngineNonce, ProcessIdentity, ResourceState, ResourceStatement, Statement,
};
pub use trouble::{Trouble, TroubleKind};
pub use word::{Freed, Lifted, RefusedBecause, Word, WordReply};
