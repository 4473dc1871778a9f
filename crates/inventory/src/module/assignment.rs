//! On which machines a module runs, and in how many copies.

use core::{fmt, str::FromStr};
use std::collections::{BTreeMap, BTreeSet};

use names::{InstanceName, LabelKey, MachineName, ModuleName, NameError};
use serde::{Deserialize, Serialize};

use crate::{
    machine::{LabelValue, Machine},
    text::excerpt,
};

/// What an instance finds in its environment, beside what manifest and agent give.
pub type Environment = BTreeMap<String, String>;

/// Some machines, and the copies that each of them runs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Assignment {
    /// Which machines.
    pub to: Target,
    /// The copies on each.
    pub instances: Instances,
}

/// Which machines an assignment means: `box-1,box-2`, or `site=ams,role=web` for those that have all these labels.
/// An empty one, which no text gives, means no machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub enum Target {
    /// These.
    Machines(BTreeSet<MachineName>),
    /// Those that have all these labels.
    Labels(BTreeMap<LabelKey, LabelValue>),
}

/// Why a text names no machines.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TargetError {
    /// Names and labels in one text.
    #[error("`{text}` mixes machine names with labels; write one assignment for each")]
    Mixed {
        /// The text.
        text: String,
    },
    /// One label twice.
    #[error("the label `{key}` is given twice")]
    Twice {
        /// The label's key.
        key: LabelKey,
    },
    /// A part is no valid name.
    #[error(transparent)]
    Name(#[from] NameError),
    /// A part is no valid label value.
    #[error(transparent)]
    Value(#[from] crate::text::TextError),
}

/// The copies of a module on one machine, 1 to 99, each with its own environment.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "Vec<Environment>", into = "Vec<Environment>")]
pub struct Instances(Vec<Environment>);

/// Not 1 to 99 instances.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a machine runs 1 to {} instances of a module, not {count}", Instances::COUNT_MAX)]
pub struct InstancesError {
    /// How many were wanted.
    pub count: usize,
}

impl Instances {
    /// The most of one module on one machine: two digits of an instance's name.
    pub const COUNT_MAX: usize = 99;

    /// The longest name of a module that leaves room for a `-` and the number.
    pub const MODULE_NAME_MAX: usize = 60;

    /// One for each environment.
    pub fn new(environments: Vec<Environment>) -> Result<Self, InstancesError> {
        match environments.len() {
            1..=Self::COUNT_MAX => Ok(Self(environments)),
            count => Err(InstancesError { count }),
        }
    }

    /// Their environments, in order of their numbers.
    pub fn environments(&self) -> &[Environment] {
        &self.0
    }

    /// Each instance by its name: `blog-1`, `blog-2` and so on.
    ///
    /// A single one has its number too. So the first keeps its name, and what the failure book knows of it, when a
    /// second joins it; and no two modules can have instances of one name, since what follows the last `-` is always
    /// a number. Fails where the module's name leaves no room for the number, which no manifest allows.
    pub fn named(
        &self,
        module: &ModuleName,
    ) -> Result<BTreeMap<InstanceName, Environment>, NameError> {
        let numbered = (1..).zip(&self.0);
        numbered
            .map(|(number, environment)| {
                Ok((InstanceName::new(format!("{module}-{number}"))?, environment.clone()))
            })
            .collect()
    }
}

impl Default for Instances {
    /// One, with no environment of its own.
    fn default() -> Self {
        Self(vec![Environment::new()])
    }
}

impl TryFrom<Vec<Environment>> for Instances {
    type Error = InstancesError;

    fn try_from(environments: Vec<Environment>) -> Result<Self, InstancesError> {
        Self::new(environments)
    }
}

impl From<Instances> for Vec<Environment> {
    fn from(instances: Instances) -> Self {
        instances.0
    }
}

impl Target {
    /// Whether it means this machine.
    pub fn includes(&self, machine: &Machine) -> bool {
        match self {
            Self::Machines(names) => names.contains(&machine.name),
            Self::Labels(labels) => {
                let has = |(key, value)| machine.labels.get(key) == Some(value);
                !labels.is_empty() && labels.iter().all(has)
            }
        }
    }

    /// How much it says: a name says more than any number of labels, more labels say more than fewer.
    fn weight(&self) -> usize {
        match self {
            Self::Machines(_) => usize::MAX,
            Self::Labels(labels) => labels.len(),
        }
    }
}

/// What runs on a machine according to all assignments of a module; `None` where none includes it.
///
/// One assignment alone decides: the one that says most of the machine, so that a machine can be named to differ from
/// its site. Where two say as much, the first in order of their texts decides, whatever order they were made in.
pub fn instances_on<'a>(assignments: &'a [Assignment], machine: &Machine) -> Option<&'a Instances> {
    let including = assignments.iter().filter(|assignment| assignment.to.includes(machine));
    including
        .min_by_key(|assignment| (core::cmp::Reverse(assignment.to.weight()), *assignment))
        .map(|assignment| &assignment.instances)
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        match self {
            Self::Machines(names) => {
                for name in names {
                    write!(f, "{separator}{name}")?;
                    separator = ",";
                }
            }
            Self::Labels(labels) => {
                for (key, value) in labels {
                    write!(f, "{separator}{key}={value}")?;
                    separator = ",";
                }
            }
        }
        Ok(())
    }
}

impl FromStr for Target {
    type Err = TargetError;

    fn from_str(text: &str) -> Result<Self, TargetError> {
        let mut names = BTreeSet::new();
        let mut labels = BTreeMap::new();
        for part in text.split(',') {
            match part.split_once('=') {
                None => {
                    names.insert(MachineName::new(part)?);
                }
                Some((key, value)) => {
                    let key = LabelKey::new(key)?;
                    if labels.insert(key.clone(), LabelValue::new(value)?).is_some() {
                        return Err(TargetError::Twice { key });
                    }
                }
            }
        }
        match (names.is_empty(), labels.is_empty()) {
            (false, false) => Err(TargetError::Mixed { text: excerpt(text) }),
            (true, _) => Ok(Self::Labels(labels)),
            (false, true) => Ok(Self::Machines(names)),
        }
    }
}

impl TryFrom<String> for Target {
    type Error = TargetError;

    fn try_from(text: String) -> Result<Self, TargetError> {
        text.parse()
    }
}

impl From<Target> for String {
    fn from(target: Target) -> String {
        target.to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_names_or_labels_and_prints_in_order() {
        let cases = [
            ("box-1", "box-1"),
            ("box-2,box-1,box-2", "box-1,box-2"),
            ("site=ams", "site=ams"),
            ("site=ams,role=Web.1", "role=Web.1,site=ams"),
        ];
        for (text, printed) in cases {
            assert_eq!(
                text.parse::<Target>().map(|target| target.to_string()),
                Ok(printed.to_owned())
            );
        }
        assert!(matches!("box-1,site=ams".parse::<Target>(), Err(TargetError::Mixed { .. })));
        assert!(matches!("site=ams,site=fra".parse::<Target>(), Err(TargetError::Twice { .. })));
        for text in ["", ",", "box-1,", "Box-1", "=ams"] {
            assert!(matches!(text.parse::<Target>(), Err(TargetError::Name(_))), "{text}");
        }
        for text in ["site=", "site=a b", "site=a=b"] {
            assert!(matches!(text.parse::<Target>(), Err(TargetError::Value(_))), "{text}");
        }
    }

    #[test]
    fn an_empty_target_means_no_machine() {
        let machine: Machine =
            serde_json::from_str(r#"{"name":"box-1","enrolled_at":"2026-01-01T00:00:00Z"}"#)
                .unwrap();
        assert!(!Target::Machines(BTreeSet::new()).includes(&machine));
        assert!(!Target::Labels(BTreeMap::new()).includes(&machine));
    }

    #[test]
    fn each_instance_has_a_number_in_its_name() {
        let named = |count, module: &str| {
            let instances = Instances::new(vec![Environment::new(); count]).unwrap();
            let named = instances.named(&module.parse().unwrap());
            named.map(|named| named.into_keys().map(String::from).collect::<Vec<_>>())
        };
        assert_eq!(named(1, "blog"), Ok(vec!["blog-1".to_owned()]));
        assert_eq!(named(2, "blog-1"), Ok(vec!["blog-1-1".to_owned(), "blog-1-2".to_owned()]));
        let longest = "m".repeat(Instances::MODULE_NAME_MAX);
        assert_eq!(named(Instances::COUNT_MAX, &longest).unwrap().len(), 99);
        assert!(named(1, &"m".repeat(62)).is_err());
    }

    #[test]
    fn a_machine_runs_one_to_99_instances() {
        for (count, allowed) in [(0, false), (1, true), (99, true), (100, false)] {
            assert_eq!(Instances::new(vec![Environment::new(); count]).is_ok(), allowed, "{count}");
        }
        assert!(serde_json::from_str::<Instances>("[]").is_err());
    }
}
