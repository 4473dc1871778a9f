//! Composes the next declaration of a machine.

use std::collections::{BTreeMap, BTreeSet};

use chrono::{DateTime, Utc};
use names::{BuildId, ModuleName, NameError};

use crate::{
    build::Build,
    declaration::{Declaration, DeclarationNumber, DeclaredModule, Epoch},
    machine::Machine,
    module::{Instances, Module, instances_on},
};

/// All that a declaration is composed from.
#[derive(Debug, Clone, Copy)]
pub struct Composing<'a> {
    /// The machine.
    pub machine: &'a Machine,
    /// What it was declared last; `None` before its first declaration.
    pub previous: Option<&'a Declaration>,
    /// The highest number that the machine says it has seen, where it said so. After a restore it can be above what the
    /// store knows, and the machine refuses every number that is not above it.
    pub heard: Option<DeclarationNumber>,
    /// The time of day.
    pub now: DateTime<Utc>,
    /// The lease epoch of who composes.
    pub epoch: Epoch,
    /// The build that each module should run on this machine. Which one that is, is decided elsewhere.
    pub wanted: &'a BTreeMap<ModuleName, BuildId>,
    /// All modules that are known.
    pub modules: &'a BTreeMap<ModuleName, Module>,
    /// All builds that are known.
    pub builds: &'a BTreeMap<BuildId, Build>,
}

/// What came of composing.
#[derive(Debug, Clone, PartialEq, Eq)]
#[must_use]
pub struct Composed {
    /// What the machine is to be declared.
    pub declaration: NextDeclaration,
    /// The modules that were left as the previous declaration has them, or out where it has them not, and why.
    pub left: BTreeMap<ModuleName, Left>,
}

/// What a machine is to be declared.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NextDeclaration {
    /// What it was declared before; that one still stands, under its number and epoch.
    Unchanged,
    /// This one.
    Next(Box<Declaration>),
}

/// Why a module was left as it was. None of these stops anything on a machine.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Left {
    /// It was declared before, and there is no record of it now. Only an assignment that is taken back withdraws.
    #[error("no module of this name is known")]
    ModuleUnknown,
    /// It is assigned, and nobody said which build it should run.
    #[error("no build is wanted of it yet")]
    NoBuildWanted,
    /// There is no record of the build that it should run.
    #[error("its build {build} is not known")]
    BuildUnknown {
        /// The wanted build.
        build: BuildId,
    },
    /// The build that it should run is another module's.
    #[error("build {build} is of the module {of}")]
    OthersBuild {
        /// The wanted build.
        build: BuildId,
        /// Whose it is.
        of: ModuleName,
    },
    /// Its instances cannot be named.
    #[error("its instances cannot be named")]
    Instances(#[source] NameError),
}

/// Composes the next declaration: the same inventory at the same time gives the same declaration to the byte.
///
/// An assigned module is declared in its wanted build. A declared module that is assigned here no longer is withdrawn, and
/// stays so until it is declared again. Everything else is left as it was.
pub fn compose(composing: &Composing<'_>) -> Composed {
    let mut modules =
        composing.previous.map(|previous| previous.modules.clone()).unwrap_or_default();
    let mut withdrawn =
        composing.previous.map(|previous| previous.withdrawn.clone()).unwrap_or_default();
    let mut left = BTreeMap::new();
    for name in modules.keys() {
        if !composing.modules.contains_key(name) {
            left.insert(name.clone(), Left::ModuleUnknown);
        }
    }
    for (name, module) in composing.modules {
        match instances_on(&module.assignments, composing.machine) {
            None => {
                if modules.remove(name).is_some() {
                    withdrawn.insert(name.clone());
                }
            }
            Some(instances) => match declared(composing, (name, module), instances) {
                Ok(declared) => {
                    withdrawn.remove(name);
                    modules.insert(name.clone(), declared);
                }
                Err(why) => {
                    left.insert(name.clone(), why);
                }
            },
        }
    }
    Composed { declaration: numbered(composing, modules, withdrawn), left }
}

fn declared(
    composing: &Composing<'_>,
    (name, module): (&ModuleName, &Module),
    instances: &Instances,
) -> Result<DeclaredModule, Left> {
    let wanted = composing.wanted.get(name).ok_or(Left::NoBuildWanted)?;
    let build =
        composing.builds.get(wanted).ok_or_else(|| Left::BuildUnknown { build: wanted.clone() })?;
    if build.module() != name {
        return Err(Left::OthersBuild { build: wanted.clone(), of: build.module().clone() });
    }
    let mut artifacts = build.artifacts.clone();
    artifacts.sort();
    Ok(DeclaredModule {
        account: module.account.clone(),
        build: build.id.clone(),
        commit: build.commit.clone(),
        manifest: build.manifest.clone(),
        artifacts,
        instances: instances.named(name).map_err(Left::Instances)?,
    })
}

fn numbered(
    composing: &Composing<'_>,
    modules: BTreeMap<ModuleName, DeclaredModule>,
    withdrawn: BTreeSet<ModuleName>,
) -> NextDeclaration {
    let last = composing.previous.map(|previous| previous.number);
    let same = composing
        .previous
        .is_some_and(|previous| previous.modules == modules && previous.withdrawn == withdrawn);
    if same && composing.heard <= last {
        return NextDeclaration::Unchanged;
    }
    let highest = last.max(composing.heard).unwrap_or(DeclarationNumber(0));
    NextDeclaration::Next(Box::new(Declaration {
        machine: composing.machine.name.clone(),
        number: highest.next(),
        epoch: composing.epoch,
        composed_at: Some(composing.now),
        modules,
        withdrawn,
    }))
}
