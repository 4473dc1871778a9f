//! Names and ids of Bellwether's nouns, and what makes each of them valid.
//!
//! A value of one of these types is valid by construction: it is parsed once, at the edge, and never checked again.
//! Two families exist. `name` holds what people choose (machines, modules, instances): short lower-case words that a
//! bus subject, a file name and a URL can carry as they are. `id` holds what software makes up (builds, plans,
//! executions, digests). Nothing here makes an id: identities are arguments, drawn by whoever owns a source of randomness.
#![no_std]

extern crate alloc;

mod id;
mod name;
mod text;

pub use id::{BookId, BuildId, Commit, Digest, ExecutionId, IdError, PlanId, RollbackId, WordId};
pub use name::{
    AccountName, ChannelName, InstanceName, LabelKey, MachineName, ModuleName, NameError,
    ResourceName, ToolName,
};
