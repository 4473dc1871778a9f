//! Machines, modules, manifests, builds and declarations: what should run where, and what each build is known to be.
//!
//! Everything here is a document or a pure function over documents. Nothing reads a clock, a file or a network: time
//! and identities are arguments, and the same documents give the same answer to the byte.

mod artifact;
mod build;
mod canonical;
mod compose;
mod declaration;
mod kept;
mod machine;
mod manifest;
mod module;
mod span;
mod standing;
mod text;
mod verdict;

pub use artifact::{Artifact, ArtifactName};
pub use build::{Build, Content};
pub use compose::{Composed, Composing, Left, NextDeclaration, compose};
pub use declaration::{Declaration, DeclarationNumber, DeclaredModule, Epoch};
pub use kept::{Collection, InUse, KeptFor, NEWEST_KEPT, collect};
pub use machine::{Hold, LabelValue, Machine, PublicKey, Role};
pub use manifest::{
    Check, Fault, Faults, GatePolicy, Health, Limits, Listen, Manifest, Place, Resource, Restart,
    Reversal, Signal, Stop, Swap, Tool, Wrong, read_user,
};
pub use module::{
    Assignment, Environment, Instances, InstancesError, Module, Percent, Release, Target,
    TargetError, WaveSize, WaveSizeError, Waves, WavesError, instances_on,
};
pub use span::{Span, SpanError};
pub use standing::{KeepError, Kept, Standing, Verdicts, WordError, standing};
pub use text::TextError;
pub use verdict::{End, Rollback, RollbackWord, Stage, Trial, Verdict, Wave, Why};
