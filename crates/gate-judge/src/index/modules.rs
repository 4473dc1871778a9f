//! What machines say of their modules, by machine and module.
//!
//! Names are compared once, here: then a module is a number, and what one machine says of all its
//! modules lies together.

use crate::facts::{ModuleReport, Report, Resource, Served, Statement, ToolNames};
use crate::places::Places;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

/// Stands for a module's name inside one index.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct ModuleId(usize);

/// What one machine says of one module. The default is that it says nothing.
#[derive(Debug, Clone, Default)]
pub(crate) struct ModuleFacts<'f> {
    pub(crate) report: Option<&'f ModuleReport>,
    /// Its served tools, where they are named one by one.
    pub(crate) tools: Option<&'f Vec<String>>,
    resources: Range<usize>,
}

#[derive(Debug, Default)]
pub(super) struct ModuleIndex<'f> {
    names: Places<'f>,
    /// A machine's lie together, ordered by id.
    known: Vec<(ModuleId, ModuleFacts<'f>)>,
    /// Of each module, its place in `known` for the machine that was last added with it.
    last_places: Vec<usize>,
    /// A machine's lie together, ordered by module.
    resources: Vec<&'f Resource>,
    /// The resources of the machine that is being added.
    stated: Vec<(ModuleId, &'f Resource)>,
}

impl<'f> ModuleIndex<'f> {
    /// Adds what a machine says; answers where it lies.
    pub(super) fn add(
        &mut self,
        report: Option<&'f Report>,
        served: Option<&'f Served>,
        statement: Option<&'f Statement>,
    ) -> Range<usize> {
        let start = self.known.len();
        for (module, report) in report.iter().flat_map(|report| &report.modules) {
            let id = self.id_of(module);
            self.facts_of(id, start).report = Some(report);
        }
        let tools = served.and_then(|served| match &served.tools {
            ToolNames::OfModules(_) => None,
            ToolNames::Each(modules) => Some(modules),
        });
        for (module, tools) in tools.into_iter().flatten() {
            let id = self.id_of(module);
            self.facts_of(id, start).tools = Some(tools);
        }
        if let Some(statement) = statement {
            self.add_resources(&statement.resources, start);
        }
        self.known[start..].sort_unstable_by_key(|(id, _)| *id);
        start..self.known.len()
    }

    fn add_resources(&mut self, resources: &'f [Resource], start: usize) {
        let mut stated = core::mem::take(&mut self.stated);
        stated.extend(resources.iter().map(|resource| (self.id_of(&resource.module), resource)));
        stated.sort_by_key(|(id, _)| *id);
        for of_module in stated.chunk_by(|(one, _), (other, _)| one == other) {
            let first = self.resources.len();
            self.resources.extend(of_module.iter().map(|(_, resource)| *resource));
            if let Some((id, _)) = of_module.first() {
                self.facts_of(*id, start).resources = first..self.resources.len();
            }
        }
        stated.clear();
        self.stated = stated;
    }

    /// The id of a name that may be a module's.
    pub(super) fn id_of(&mut self, module: &'f str) -> ModuleId {
        let id = self.names.put(module);
        if id == self.last_places.len() {
            self.last_places.push(0);
        }
        ModuleId(id)
    }

    /// The facts of a module for the machine whose facts start at a place.
    fn facts_of(&mut self, id: ModuleId, start: usize) -> &mut ModuleFacts<'f> {
        let last = self.last_places[id.0];
        let is_of_machine = last >= start && self.known.get(last).is_some_and(|(of, _)| *of == id);
        let place = if is_of_machine {
            last
        } else {
            self.known.push((id, ModuleFacts::default()));
            self.known.len() - 1
        };
        self.last_places[id.0] = place;
        &mut self.known[place].1
    }

    pub(super) fn id(&self, module: &str) -> Option<ModuleId> {
        self.names.get(module).map(ModuleId)
    }

    pub(super) fn get(
        &self,
        of_machine: Range<usize>,
        module: Option<ModuleId>,
    ) -> ModuleFacts<'f> {
        let known = &self.known[of_machine];
        let place =
            module.and_then(|module| known.binary_search_by_key(&module, |(id, _)| *id).ok());
        place.map(|place| known[place].1.clone()).unwrap_or_default()
    }

    pub(super) fn resources(&self, known: &ModuleFacts<'f>) -> &[&'f Resource] {
        &self.resources[known.resources.clone()]
    }
}
