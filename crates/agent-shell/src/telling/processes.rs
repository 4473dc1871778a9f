//! Processes, from their start to their end.

use std::collections::BTreeMap;
use std::net::SocketAddr;

use agent_core::{Adopted, Obstacle, RunId, Start};
use names::{BuildId, Commit, InstanceName, ResourceName};
use wire::ProcessIdentity;

use super::{info, reason, warning};
use crate::repeats::Line;

/// Every process of which more is to come.
#[derive(Debug, Default)]
pub(super) struct Processes(BTreeMap<RunId, Run>);

/// A process as it is told of.
#[derive(Debug)]
struct Run {
    name: String,
    build: String,
    pid: Option<u32>,
    course: Course,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Course {
    Runs,
    IsStopped,
}

impl Processes {
    /// These were found running.
    pub(super) fn found(&mut self, adopted: &[Adopted]) -> Line {
        for one in adopted {
            let run = Run {
                name: name(&one.instance, &one.resource),
                build: build(&one.declared.commit, &one.declared.build),
                pid: Some(one.process.pid),
                course: Course::Runs,
            };
            self.0.insert(one.run, run);
        }
        let names: Vec<_> = self.0.values().rev().map(Run::told).collect();
        let text = match names.len() {
            0 => "nothing was found running".to_owned(),
            1 => format!("1 process was found and goes on: {}", names.concat()),
            many => format!("{many} processes were found and go on: {}", names.join(", ")),
        };
        info("found", text)
    }

    pub(super) fn starts(&mut self, run: RunId, start: &Start) {
        let one = Run {
            name: name(&start.instance, &start.resource),
            build: build(&start.declared.commit, &start.build),
            pid: None,
            course: Course::Runs,
        };
        self.0.insert(run, one);
    }

    pub(super) fn started(
        &mut self,
        run: RunId,
        process: &ProcessIdentity,
        address: SocketAddr,
    ) -> Option<Line> {
        let one = self.0.get_mut(&run)?;
        one.pid = Some(process.pid);
        let Run { name, build, .. } = one;
        let text = format!("{name} runs build {build} as process {} on {address}", process.pid);
        Some(info(format!("started {name} {build}"), text))
    }

    pub(super) fn not_started(&mut self, run: RunId, obstacle: &Obstacle) -> Option<Line> {
        let Run { name, build, .. } = self.0.remove(&run)?;
        let text =
            format!("{name} cannot be started from build {build}: {}", reason(&obstacle.why));
        Some(warning(format!("not started {name}"), text))
    }

    pub(super) fn stops(&mut self, run: RunId) -> Option<Line> {
        let one = self.0.get_mut(&run)?;
        one.course = Course::IsStopped;
        Some(info(format!("stopping {}", one.name), format!("{} is being stopped", one.told())))
    }

    pub(super) fn exited(&mut self, run: RunId, how: &str, last_lines: &[String]) -> Option<Line> {
        let one = self.0.remove(&run)?;
        let (told, name) = (one.told(), &one.name);
        Some(match one.course {
            Course::IsStopped => {
                info(format!("stopped {name}"), format!("{told} is stopped ({how})"))
            }
            Course::Runs => {
                let mut text = format!("{told} ended with {how}");
                if !last_lines.is_empty() {
                    text += &format!("; its last lines: {}", reason(&last_lines.join("\n")));
                }
                warning(format!("ended {name} {how}"), text)
            }
        })
    }
}

impl Run {
    fn told(&self) -> String {
        match self.pid {
            Some(pid) => format!("{} (process {pid})", self.name),
            None => self.name.clone(),
        }
    }
}

pub(super) fn name(instance: &InstanceName, resource: &ResourceName) -> String {
    format!("{instance}/{resource}")
}

fn build(commit: &Commit, build: &BuildId) -> String {
    format!("{commit} {}", build.short())
}
