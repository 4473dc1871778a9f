//! How everything stands: what changes from one statement, or report, to the next.

use std::collections::{BTreeMap, BTreeSet};

use inventory::DeclarationNumber;
use names::{InstanceName, ModuleName, ResourceName};
use wire::{
    ModuleOutcome, ModuleReport, Report, ResourceState, ResourceStatement, Statement, Trouble,
};

use super::{error, info, processes, reason, warning};
use crate::repeats::Line;

/// What was told last.
#[derive(Debug, Default)]
pub(super) struct Standing {
    resources: BTreeMap<(ModuleName, InstanceName, ResourceName), ResourceState>,
    troubles: BTreeSet<Trouble>,
    outcomes: BTreeMap<ModuleName, (DeclarationNumber, ModuleOutcome)>,
}

impl Standing {
    pub(super) fn stated(&mut self, statement: &Statement) -> Vec<Line> {
        let mut lines = Vec::new();
        let mut resources = BTreeMap::new();
        for row in &statement.resources {
            let key = (row.module.clone(), row.instance.clone(), row.resource.clone());
            if self.resources.get(&key) != Some(&row.state) {
                lines.extend(became(row));
            }
            resources.insert(key, row.state);
        }
        self.resources = resources;
        let troubles: BTreeSet<_> = statement.troubles.iter().cloned().collect();
        for Trouble { kind, why } in troubles.difference(&self.troubles) {
            let text = format!("trouble with this machine ({}): {}", kind.as_str(), reason(why));
            lines.push(error(format!("trouble {}", kind.as_str()), text));
        }
        for Trouble { kind, why } in self.troubles.difference(&troubles) {
            let text = format!("a trouble is over ({}): {}", kind.as_str(), reason(why));
            lines.push(info(format!("over {}", kind.as_str()), text));
        }
        self.troubles = troubles;
        lines
    }

    /// A report is sent until it is acknowledged, and says more when more comes: what is new in it is told once.
    pub(super) fn reported(&mut self, report: &Report) -> Vec<Line> {
        let mut lines = Vec::new();
        for (module, reported) in &report.modules {
            let outcome = (report.declaration, reported.outcome.clone());
            if self.outcomes.get(module) != Some(&outcome) {
                lines.extend(came_of(module, report.declaration, reported));
            }
            self.outcomes.insert(module.clone(), outcome);
        }
        self.outcomes.retain(|module, _| report.modules.contains_key(module));
        lines
    }
}

/// How a resource stands from now on; `None` where another line has told it.
fn became(row: &ResourceStatement) -> Option<Line> {
    let name = processes::name(&row.instance, &row.resource);
    let why = || row.why.as_deref().map_or_else(String::new, |why| format!(": {}", reason(why)));
    let about = format!("{} {name}", row.state);
    match row.state {
        ResourceState::Starting | ResourceState::Stopped => None,
        ResourceState::Healthy => Some(info(about, format!("{name} is healthy"))),
        // Without a process it was told how that ended, or what kept it from being started.
        ResourceState::Unhealthy if row.process.is_none() => None,
        ResourceState::Unhealthy => Some(warning(about, format!("{name} is unhealthy{}", why()))),
        ResourceState::Failed => Some(error(about, format!("{name} does not run{}", why()))),
    }
}

fn came_of(
    module: &ModuleName,
    number: DeclarationNumber,
    reported: &ModuleReport,
) -> Option<Line> {
    let about = format!("outcome {module}");
    let of = format!("declaration {number}: {module}");
    match &reported.outcome {
        ModuleOutcome::Applied => {
            let what = if reported.build.is_some() { "applied" } else { "withdrawn" };
            Some(info(about, format!("{of} is {what}")))
        }
        ModuleOutcome::Failed { instance, why } => {
            Some(error(about, format!("{of} failed on {instance}: {}", reason(why))))
        }
        ModuleOutcome::Refused { rule } => {
            Some(warning(about, format!("{of} is refused: {}", reason(rule))))
        }
        // What is in the way was told when it was met.
        ModuleOutcome::Unable { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use wire::{BootId, EngineNonce, TroubleKind};

    use super::*;

    #[test]
    fn a_trouble_is_told_when_it_comes_and_when_it_is_over() {
        let trouble = Trouble { kind: TroubleKind::DiskFull, why: "no room on /data".to_owned() };
        let with = |troubles: &[Trouble]| Statement {
            machine: "box-1".parse().unwrap(),
            boot: BootId("boot".to_owned()),
            engine: EngineNonce("1".to_owned()),
            sequence: 1,
            declaration: None,
            resources: Vec::new(),
            troubles: troubles.to_vec(),
        };
        let mut standing = Standing::default();
        let mut told = |troubles: &[Trouble]| -> Vec<String> {
            standing.stated(&with(troubles)).into_iter().map(|line| line.text).collect()
        };
        assert_eq!(told(&[]), [""; 0]);
        let came = "trouble with this machine (disk-full): no room on /data";
        assert_eq!(told(std::slice::from_ref(&trouble)), [came]);
        assert_eq!(told(&[trouble]), [""; 0]);
        assert_eq!(told(&[]), ["a trouble is over (disk-full): no room on /data"]);
    }
}
