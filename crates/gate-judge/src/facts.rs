//! The facts of one judging: what machines and sources said, for all machines at once.
//!
//! A source that could not be read is an error here, never an empty collection. What nobody may
//! know (an identity that older agents do not send) is an `Option`.

mod document;

use alloc::borrow::ToOwned;
use alloc::collections::{BTreeMap, BTreeSet};
use alloc::string::String;
use alloc::vec::Vec;
use chrono::{DateTime, Utc};
use document::FactsDocument;
use serde::{Deserialize, Serialize};

/// Everything that one judging reads, for all machines.
///
/// Its JSON form is flat: each source stands beside its error (`served`, `served_err`; `open`,
/// `open_err`; `holder`, `holder_err`; `health`, `health_err`), and data beside an error is
/// ignored.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(from = "FactsDocument", into = "FactsDocument")]
pub struct Facts {
    /// Each machine's last report; a machine that is not in it never made one.
    pub reports: BTreeMap<String, Report>,
    /// The node-engine build that each machine reports.
    pub engines: BTreeMap<String, String>,
    /// What each machine's node tools answered to discovery.
    pub served: Result<BTreeMap<String, Served>, Unreadable>,
    /// The open conditions.
    pub conditions: Conditions,
    /// The verdicts of each machine's witness.
    pub rolled_back: BTreeMap<String, Vec<WitnessVerdict>>,
    /// Who holds the controller lease; `None` when nobody does.
    pub lease: Result<Option<Holder>, Unreadable>,
    /// Each machine's newest statement; a machine that is not in it never made one.
    pub statements: Result<BTreeMap<String, Statement>, Unreadable>,
    /// What was already wanting on each machine before it was sent anything.
    pub baseline: BTreeMap<String, Baseline>,
}

/// Why a source could not be read. The text is for people only.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{why}")]
pub struct Unreadable {
    why: String,
}

impl Unreadable {
    /// Keeps the reason; an empty one is replaced, so that it stays an error when it is written.
    #[must_use]
    pub fn new(why: &str) -> Self {
        let why = if why.is_empty() { "no reason was given" } else { why };
        Self { why: why.to_owned() }
    }
}

/// A machine's answer to a declaration.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Report {
    /// When it was taken in.
    #[serde(default)]
    pub at: Option<DateTime<Utc>>,
    /// Whether it is about what the machine was last sent.
    pub current: bool,
    /// How the declaration went as a whole.
    #[serde(default)]
    pub outcome: Outcome,
    /// The number of the declaration that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declaration: Option<u64>,
    /// How each module of the declaration went.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub modules: BTreeMap<String, ModuleReport>,
}

/// What a report says of one module.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ModuleReport {
    /// How the module went.
    pub outcome: Outcome,
    /// The build that it went for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The executions that run it for this declaration, one for each instance.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub executions: Vec<String>,
}

/// How a declaration, or a module of it, went.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum Outcome {
    /// It runs.
    Applied,
    /// It was tried, and failed.
    Failed,
    /// It was not tried, by a rule.
    Refused,
    /// It could not be tried: the artifact, the space or the book was out of reach.
    Unable,
    /// A word that is not known here.
    Other(String),
}

impl Default for Outcome {
    /// A report that says nothing.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// What a machine's node tools answered to discovery.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Served {
    /// Whether they answered.
    pub runtime: bool,
    /// What they serve.
    #[serde(default)]
    pub tools: ToolNames,
    /// The node-tools build that answered.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
}

/// The tools that a machine serves.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ToolNames {
    /// Only the modules are known of which some tool is served.
    OfModules(BTreeSet<String>),
    /// Each module's tools, one by one.
    Each(BTreeMap<String, Vec<String>>),
}

impl Default for ToolNames {
    fn default() -> Self {
        Self::OfModules(BTreeSet::new())
    }
}

/// The open conditions, in the order in which they were raised or listed.
#[derive(Debug, Clone, PartialEq)]
pub enum Conditions {
    /// They are no part of this judging.
    NotJudged,
    /// All that are open.
    Open(Vec<Condition>),
    /// They could not be read.
    Unreadable(Unreadable),
}

/// Something that is wrong now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Condition {
    /// What tells it from every other.
    #[serde(default)]
    pub key: String,
    /// What sort it is of.
    #[serde(default)]
    pub kind: String,
    /// The probe that sees it.
    #[serde(default)]
    pub source: String,
    /// Since when it is open.
    pub raised: DateTime<Utc>,
    /// The sentence for people.
    #[serde(default)]
    pub summary: String,
    /// What it is about.
    #[serde(default)]
    pub subject: Subject,
}

/// What a condition is about.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Subject {
    /// The sort of thing: `machine`, `module`, `core`, `build`, ….
    pub scope: String,
    /// Its dotted name inside that scope.
    pub id: String,
    /// The machine that it is on; empty when it is on none.
    #[serde(skip_serializing_if = "String::is_empty")]
    pub machine: String,
    /// Further machines.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub also: Vec<String>,
}

/// What the witness on a machine found about a core component's own update.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessVerdict {
    /// The core component.
    pub component: String,
    /// What was judged, for people.
    #[serde(default)]
    pub from: String,
    /// What runs now, for people.
    #[serde(default)]
    pub to: String,
    /// `unwitnessed` when it could not judge; any other word is a verdict against the build.
    #[serde(default)]
    pub outcome: String,
    /// The sentence for people.
    #[serde(default)]
    pub why: String,
    /// When it was found.
    pub at: DateTime<Utc>,
    /// The build that was judged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
}

/// Who holds the controller lease.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holder {
    /// Since when.
    pub taken: DateTime<Utc>,
    /// What it says of itself; `None` when it said nothing yet.
    #[serde(default)]
    pub health: Option<ControllerHealth>,
    /// Its build.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The machine that it runs on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub machine: Option<String>,
}

/// Whether a controller can act.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ControllerHealth {
    /// Whether it can.
    pub ready: bool,
    /// Why not, for people.
    #[serde(default)]
    pub why: String,
}

/// What a machine said of the health of everything it runs.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Statement {
    /// When it was heard, by the clock of whoever judges.
    pub heard: DateTime<Utc>,
    /// Every long-running resource; none is a word too.
    #[serde(default)]
    pub resources: Vec<Resource>,
    /// The number of the declaration that the machine follows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub declaration: Option<u64>,
}

/// What a statement says of one long-running resource.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Resource {
    /// The module it belongs to.
    pub module: String,
    /// Its name in the module's manifest.
    pub resource: String,
    /// How it is.
    #[serde(default)]
    pub state: ResourceState,
    /// Why it is so, for people.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub why: String,
    /// The instance, where several of one module run on a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
    /// The build that its process runs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub build: Option<String>,
    /// The execution that its process was started for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub execution: Option<String>,
}

/// How a resource is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub enum ResourceState {
    /// Its check passes.
    Healthy,
    /// It was started, and its check has not passed yet.
    Starting,
    /// Its supervisor gave it up.
    Failed,
    /// Another word; whatever it says, it is not healthy.
    Other(String),
}

impl Default for ResourceState {
    /// A resource of which nothing is said is not healthy.
    fn default() -> Self {
        Self::Other(String::new())
    }
}

/// What was wanting on a machine before it was sent anything.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Baseline {
    /// The keys of the conditions that were open.
    pub conditions: BTreeSet<String>,
    /// The resources that were not healthy.
    pub resources: BTreeSet<ResourceName>,
}

/// Which resource of a machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ResourceName {
    /// The module it belongs to.
    pub module: String,
    /// Its name in the module's manifest.
    pub resource: String,
    /// The instance, where several of one module run on a machine.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instance: Option<String>,
}

/// What a build of a module consists of, as far as it is judged.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Manifest {
    /// The tools that it declares.
    pub tools: Vec<String>,
    /// The long-running resources that it declares.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub resources: Vec<String>,
    /// The versions that it delivers; for the engine, what it reports once it runs.
    pub delivered: Vec<String>,
}

/// The manifest of each module's build that is judged.
pub type Catalogue = BTreeMap<String, Manifest>;

impl From<String> for Outcome {
    fn from(word: String) -> Self {
        match word.as_str() {
            "applied" => Self::Applied,
            "failed" => Self::Failed,
            "refused" => Self::Refused,
            "unable" => Self::Unable,
            _ => Self::Other(word),
        }
    }
}

impl From<Outcome> for String {
    fn from(outcome: Outcome) -> Self {
        match outcome {
            Outcome::Applied => "applied".to_owned(),
            Outcome::Failed => "failed".to_owned(),
            Outcome::Refused => "refused".to_owned(),
            Outcome::Unable => "unable".to_owned(),
            Outcome::Other(word) => word,
        }
    }
}

impl From<String> for ResourceState {
    fn from(word: String) -> Self {
        match word.as_str() {
            "healthy" => Self::Healthy,
            "starting" => Self::Starting,
            "failed" => Self::Failed,
            _ => Self::Other(word),
        }
    }
}

impl From<ResourceState> for String {
    fn from(state: ResourceState) -> Self {
        match state {
            ResourceState::Healthy => "healthy".to_owned(),
            ResourceState::Starting => "starting".to_owned(),
            ResourceState::Failed => "failed".to_owned(),
            ResourceState::Other(word) => word,
        }
    }
}
