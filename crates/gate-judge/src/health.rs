//! The health of one module on one machine: in a fixed order, the first check that speaks decides.

mod component;
mod report;
mod resources;

use crate::about_machine::Counting;
use crate::component::{Component, core_component};
use crate::facts::Manifest;
use crate::index::{FactsIndex, MachineFacts, ModuleFacts, ModuleId};
use crate::reason::{Broken, NotYet, Reason, Unnamed};
use crate::rules::{Identity, Lack, Rules};
use crate::weight::{Weight, weight};
use chrono::{DateTime, Utc};

/// The health of one module on one machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Health {
    /// Everything that is looked at speaks for it.
    Good,
    /// Something is wanting.
    NotYet(NotYet),
    /// There is evidence that it does not do.
    Broken(Broken),
}

/// One module that was moved on one machine, and what is known of the send.
#[derive(Debug, Clone, Copy)]
pub struct Moved<'a> {
    /// The module.
    pub module: &'a str,
    /// The manifest of the build that was sent; `None` when the catalogue has none.
    pub manifest: Option<&'a Manifest>,
    /// The id of the build that was sent.
    pub build: Option<&'a str>,
    /// The machine.
    pub machine: &'a str,
    /// The number of the declaration that the machine was sent.
    pub declaration: Option<u64>,
    /// When the machine was sent it.
    pub since: DateTime<Utc>,
}

/// Judges one module on one machine.
#[must_use]
pub fn health(moved: &Moved<'_>, facts: &FactsIndex<'_>, rules: &Rules) -> Health {
    let module = ModuleView::new(moved.module, moved.manifest, moved.build, facts);
    let machine = MachineView::new(moved.machine, moved.since, moved.declaration, facts);
    match Examination::new(&module, &machine, facts, rules).examine(MachineScope::Included) {
        Ok(()) => Health::Good,
        Err(Finding { reason: Reason::NotYet(reason), .. }) => Health::NotYet(reason),
        Err(Finding { reason: Reason::Broken(reason), .. }) => Health::Broken(reason),
    }
}

/// Whether the conditions about a machine itself are looked at with a module's health.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum MachineScope {
    /// They hold back whatever is judged there.
    Included,
    /// They were sorted before.
    SortedBefore,
}

/// A module, as all its machines see it.
#[derive(Debug)]
pub(crate) struct ModuleView<'a> {
    pub(crate) name: &'a str,
    pub(crate) component: Option<Component>,
    manifest: Option<&'a Manifest>,
    build: Option<&'a str>,
    id: Option<ModuleId>,
}

/// A machine, as all its modules see it.
#[derive(Debug)]
pub(crate) struct MachineView<'a> {
    pub(crate) name: &'a str,
    pub(crate) since: DateTime<Utc>,
    declaration: Option<u64>,
    pub(crate) facts: &'a MachineFacts<'a>,
}

impl<'a> ModuleView<'a> {
    pub(crate) fn new(
        name: &'a str,
        manifest: Option<&'a Manifest>,
        build: Option<&'a str>,
        facts: &FactsIndex<'a>,
    ) -> Self {
        Self { name, component: core_component(name), manifest, build, id: facts.module(name) }
    }
}

impl ModuleView<'_> {
    /// A reason of this module, with what it weighs by itself.
    pub(crate) fn not_yet(&self, reason: NotYet) -> Finding {
        let weight = weight(&reason, self.component);
        Finding { reason: reason.into(), weight }
    }
}

impl<'a> MachineView<'a> {
    pub(crate) fn new(
        name: &'a str,
        since: DateTime<Utc>,
        declaration: Option<u64>,
        facts: &'a FactsIndex<'a>,
    ) -> Self {
        Self { name, since, declaration, facts: facts.machine(name) }
    }

    pub(crate) fn counting<'b>(&'b self, rules: &'b Rules) -> Counting<'b> {
        let baseline = self.facts.baseline.map(|before| &before.conditions);
        Counting { since: self.since, baseline, rules }
    }
}

/// What a check that speaks says.
#[derive(Debug)]
pub(crate) struct Finding {
    pub(crate) reason: Reason,
    pub(crate) weight: Weight,
}

impl From<Broken> for Finding {
    fn from(broken: Broken) -> Self {
        Self { reason: broken.into(), weight: Weight::Evidence }
    }
}

/// One module on one machine, with all that its checks look at.
pub(crate) struct Examination<'a> {
    pub(crate) module: &'a ModuleView<'a>,
    machine: &'a MachineView<'a>,
    /// What the machine says of the module.
    known: ModuleFacts<'a>,
    facts: &'a FactsIndex<'a>,
    rules: &'a Rules,
}

impl<'a> Examination<'a> {
    pub(crate) fn new(
        module: &'a ModuleView<'a>,
        machine: &'a MachineView<'a>,
        facts: &'a FactsIndex<'a>,
        rules: &'a Rules,
    ) -> Self {
        let known = facts.on(machine.facts, module.id);
        Self { module, machine, known, facts, rules }
    }
}

impl Examination<'_> {
    /// All checks, in their order.
    ///
    /// # Errors
    ///
    /// What the first check that speaks says.
    pub(crate) fn examine(&self, scope: MachineScope) -> Result<(), Finding> {
        self.witness()?;
        self.report()?;
        self.conditions(scope)?;
        self.catalogue()?;
        match self.module.component {
            Some(Component::NodeEngine) => self.engine(),
            Some(Component::NodeTools) => self.node_tools(),
            Some(Component::Controller) => self.controller(),
            None => {
                self.tools()?;
                self.resources()
            }
        }
    }

    /// A reason of this module, with what it weighs by itself.
    fn not_yet(&self, reason: NotYet) -> Finding {
        self.module.not_yet(reason)
    }

    /// The build that was sent.
    fn sent_build(&self) -> Result<&str, Finding> {
        self.named(self.module.build, Unnamed::Send)
    }

    /// What some evidence names.
    fn named<T>(&self, identity: Option<T>, of: Unnamed) -> Result<T, Finding> {
        identity.ok_or_else(|| self.not_yet(NotYet::IdentityAbsent { of }))
    }

    /// A witness's verdict on a core component comes before its report: a machine that has not
    /// reported at all can still be broken.
    fn witness(&self) -> Result<(), Finding> {
        let Some(component) = self.module.component else { return Ok(()) };
        let since = self.machine.since;
        let verdicts = self.machine.facts.verdicts.iter().filter(|verdict| {
            verdict.component == component.name()
                && verdict.outcome != "unwitnessed"
                && verdict.at >= since
        });
        let mut unnamed = Ok(());
        for verdict in verdicts {
            match self.rules.witness_identity {
                Identity::NotCompared => return Err(Broken::WitnessVerdict.into()),
                Identity::Compared => match (&verdict.build, self.module.build) {
                    (Some(build), Some(sent)) if build == sent => {
                        return Err(Broken::WitnessVerdict.into());
                    }
                    (Some(_), Some(_)) => {}
                    (None, _) => unnamed = self.named(None, Unnamed::Witness),
                    (_, None) => unnamed = self.named(None, Unnamed::Send),
                },
            }
        }
        unnamed
    }

    fn conditions(&self, scope: MachineScope) -> Result<(), Finding> {
        if self.facts.conditions_unreadable() {
            return Err(self.not_yet(NotYet::ConditionsUnreadable));
        }
        let conditions = &self.machine.facts.conditions;
        let counting = self.machine.counting(self.rules);
        let about_machine = match scope {
            MachineScope::Included => conditions.about_machine(),
            MachineScope::SortedBefore => &[],
        };
        let firsts = [
            about_machine.iter().find(|on| counting.counts(on)),
            conditions.naming(self.module.id).find(|on| counting.counts(on)),
        ];
        match firsts.into_iter().flatten().min_by_key(|on| on.place) {
            None => Ok(()),
            Some(on) => {
                let key = on.condition.key.clone();
                Err(self.not_yet(NotYet::ConditionRaised { key }))
            }
        }
    }

    fn catalogue(&self) -> Result<(), Finding> {
        match (self.module.manifest, self.rules.missing_manifest) {
            (Some(_), _) | (None, Lack::IsNothing) => Ok(()),
            (None, Lack::IsWanting) => Err(self.not_yet(NotYet::ModuleNotInCatalogue)),
        }
    }
}
