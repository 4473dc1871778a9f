//! The stated health of every long-running resource of a plain module.
//!
//! Only the new build's own live process speaks: what an older one that drains says is neither
//! for the build nor against it.

use super::{Examination, Finding, MachineView};
use crate::facts::{Resource, ResourceName, ResourceState, Statement};
use crate::reason::{Broken, NotYet, Reason, Unnamed};
use crate::rules::{BaselineUse, FailFast, Identity, Lack, Restated, Rules};
use crate::weight::Weight;
use alloc::string::String;
use chrono::{DateTime, TimeDelta, Utc};

/// What a module's resources lack: of each sort the one with the least name.
#[derive(Default)]
struct Wanting<'a> {
    failed: Option<&'a str>,
    unhealthy: Option<&'a str>,
    starting: Option<&'a str>,
    unnamed: Option<Unnamed>,
    unstated: Option<&'a str>,
    /// Whether any of it was not so before the send.
    news: News,
}

#[derive(Default, Clone, Copy, PartialEq, Eq)]
enum News {
    #[default]
    WasSoBefore,
    IsNew,
}

/// Whose process a stated resource is.
enum Process {
    OfSend,
    OfAnother,
    Unnamed(Unnamed),
}

impl MachineView<'_> {
    /// Whether a statement was made since the send, and about it. The machine may have been sent
    /// something since: then each resource still has to name the build.
    fn of_send(&self, statement: &Statement, rules: &Rules) -> Result<(), NotYet> {
        if statement.heard < self.since {
            return Err(NotYet::HealthNotRestated);
        }
        match rules.statement_identity {
            Identity::NotCompared => Ok(()),
            Identity::Compared => match (self.declaration, statement.declaration) {
                (None, _) => Err(NotYet::IdentityAbsent { of: Unnamed::Send }),
                (_, None) => Err(NotYet::IdentityAbsent { of: Unnamed::Statement }),
                (Some(sent), Some(stated)) if stated < sent => Err(NotYet::StatementOfAnotherSend),
                (Some(_), Some(_)) => Ok(()),
            },
        }
    }

    /// Whether the machine's statement is one of this send, and young enough to be its word now.
    /// A statement from the future would stay young for ever, so it is not.
    pub(crate) fn fresh_word(
        &self,
        now: DateTime<Utc>,
        fresh: TimeDelta,
        rules: &Rules,
    ) -> Result<(), NotYet> {
        let Some(statement) = self.facts.statement else { return Err(NotYet::HealthNotRestated) };
        self.of_send(statement, rules)?;
        let age = now.signed_duration_since(statement.heard);
        if age < TimeDelta::zero() || age > fresh {
            return Err(NotYet::StatementTooOld);
        }
        Ok(())
    }
}

impl Examination<'_> {
    /// The machine's statement, and in it every resource of the module.
    pub(super) fn resources(&self) -> Result<(), Finding> {
        if self.facts.statements_unreadable() {
            return Err(self.not_yet(NotYet::HealthUnreadable));
        }
        let declared = self.module.manifest.map_or(&[][..], |manifest| &manifest.resources);
        let Some(statement) = self.machine.facts.statement else {
            return match self.rules.never_stated {
                Lack::IsWanting if !declared.is_empty() => {
                    Err(self.not_yet(NotYet::HealthNotRestated))
                }
                Lack::IsWanting | Lack::IsNothing => Ok(()),
            };
        };
        let own = self.facts.resources(&self.known);
        match self.rules.restated {
            Restated::WithResources if declared.is_empty() && own.is_empty() => return Ok(()),
            Restated::WithResources | Restated::EveryModule => {}
        }
        self.of_send(statement)?;
        self.told(&self.wanting(declared, own))
    }

    fn of_send(&self, statement: &Statement) -> Result<(), Finding> {
        self.machine.of_send(statement, self.rules).map_err(|reason| self.not_yet(reason))
    }

    fn wanting<'a>(&self, declared: &'a [String], own: &[&'a Resource]) -> Wanting<'a> {
        let mut wanting = Wanting::default();
        for resource in own {
            let sort = match (self.process(resource), &resource.state) {
                (Process::OfAnother, _) | (Process::OfSend, ResourceState::Healthy) => continue,
                (Process::Unnamed(of), _) => {
                    wanting.unnamed = Some(of);
                    continue;
                }
                (Process::OfSend, ResourceState::Starting) => &mut wanting.starting,
                (Process::OfSend, ResourceState::Failed) => match self.rules.fail_fast {
                    FailFast::On => &mut wanting.failed,
                    FailFast::Off => &mut wanting.unhealthy,
                },
                (Process::OfSend, ResourceState::Other(_)) => &mut wanting.unhealthy,
            };
            least(sort, &resource.resource);
            let is_it = |before: &ResourceName| {
                before.resource == resource.resource && before.instance == resource.instance
            };
            if !self.was_wanting_before(is_it) {
                wanting.news = News::IsNew;
            }
        }
        match self.rules.unstated_resource {
            Lack::IsNothing => {}
            Lack::IsWanting => self.add_unstated(declared, own, &mut wanting),
        }
        wanting
    }

    /// Every declared resource must be stated, for each execution that runs the build.
    fn add_unstated<'a>(
        &self,
        declared: &'a [String],
        own: &[&Resource],
        wanting: &mut Wanting<'a>,
    ) {
        for name in declared {
            let stated = || own.iter().filter(|resource| resource.resource == *name);
            let is_stated = match (self.rules.statement_identity, self.known.report) {
                (Identity::NotCompared, _) => stated().next().is_some(),
                (Identity::Compared, Some(reported)) if !reported.executions.is_empty() => {
                    let runs = |execution: &String| {
                        stated().any(|resource| {
                            resource.execution.as_ref() == Some(execution)
                                && resource.build.as_deref() == self.module.build
                        })
                    };
                    reported.executions.iter().all(runs)
                }
                (Identity::Compared, Some(_) | None) => {
                    wanting.unnamed = Some(Unnamed::Report);
                    return;
                }
            };
            if !is_stated {
                least(&mut wanting.unstated, name);
                if !self.was_wanting_before(|before| before.resource == *name) {
                    wanting.news = News::IsNew;
                }
            }
        }
    }

    fn process(&self, resource: &Resource) -> Process {
        match self.rules.statement_identity {
            Identity::NotCompared => return Process::OfSend,
            Identity::Compared => {}
        }
        let (Some(build), Some(execution)) = (&resource.build, &resource.execution) else {
            return Process::Unnamed(Unnamed::Resource);
        };
        let Some(sent) = self.module.build else { return Process::Unnamed(Unnamed::Send) };
        if build != sent {
            return Process::OfAnother;
        }
        match self.known.report {
            Some(reported) if reported.executions.contains(execution) => Process::OfSend,
            Some(reported) if !reported.executions.is_empty() => Process::OfAnother,
            Some(_) | None => Process::Unnamed(Unnamed::Report),
        }
    }

    /// Whether a resource of the module was wanting before the send.
    fn was_wanting_before(&self, is_it: impl Fn(&ResourceName) -> bool) -> bool {
        match (self.rules.baseline, self.machine.facts.baseline) {
            (BaselineUse::Ignored, _) | (_, None) => false,
            (BaselineUse::Compared, Some(before)) => {
                before.resources.iter().any(|one| one.module == self.module.name && is_it(one))
            }
        }
    }

    /// The worst of it decides.
    fn told(&self, wanting: &Wanting<'_>) -> Result<(), Finding> {
        if let Some(failed) = wanting.failed {
            return Err(Broken::ResourceFailed { resource: failed.into() }.into());
        }
        let seen = |reason: NotYet| {
            let weight = match wanting.news {
                News::WasSoBefore => Weight::WantingBefore,
                News::IsNew => Weight::Evidence,
            };
            Err(Finding { reason: Reason::NotYet(reason), weight })
        };
        if let Some(unhealthy) = wanting.unhealthy {
            return seen(NotYet::ResourceUnhealthy { resource: unhealthy.into() });
        }
        if let Some(starting) = wanting.starting {
            return seen(NotYet::ResourceStarting { resource: starting.into() });
        }
        if let Some(of) = wanting.unnamed {
            return Err(self.not_yet(NotYet::IdentityAbsent { of }));
        }
        match wanting.unstated {
            Some(unstated) => seen(NotYet::ResourceNotStated { resource: unstated.into() }),
            None => Ok(()),
        }
    }
}

fn least<'a>(sort: &mut Option<&'a str>, name: &'a str) {
    *sort = Some(sort.map_or(name, |least| least.min(name)));
}
