//! One build for one instance: what should run there.

use std::collections::BTreeMap;
use std::sync::Arc;

use chrono::{DateTime, Utc};
use inventory::{DeclaredModule, Environment, Resource};
use names::{ExecutionId, InstanceName, ModuleName};

use crate::action::Start;

/// Which copy of which module.
pub(crate) type Place = (ModuleName, InstanceName);

/// What should run on an instance, or does.
#[derive(Debug, Clone)]
pub(crate) struct Placement {
    /// The build with its manifest; shared by all instances of its module.
    pub(crate) module: Arc<DeclaredModule>,
    /// The instance's own environment.
    pub(crate) environment: Environment,
    /// When somebody wanted it here; `None` for what was only found.
    pub(crate) composed_at: Option<DateTime<Utc>>,
}

impl Placement {
    /// Whether an instance that runs `other` runs this: the same build in the same environment. A build is known by its
    /// id; what it consists of never changes.
    pub(crate) fn is(&self, other: &Self) -> bool {
        self.module.build == other.module.build && self.environment == other.environment
    }

    /// Whether it can run beside what serves: none of its resources listens on an address that only one can have.
    pub(crate) fn can_stand_beside(&self) -> bool {
        self.resources().iter().all(|resource| resource.listen.direct().is_none())
    }

    pub(crate) fn resources(&self) -> &[Resource] {
        &self.module.manifest.resources
    }

    /// What it was declared as, from the same for one instance alone.
    pub(crate) fn of(instance: &InstanceName, declared: DeclaredModule) -> Self {
        let environment = declared.instances.get(instance).cloned().unwrap_or_default();
        let module = Arc::new(DeclaredModule { instances: BTreeMap::new(), ..declared });
        Self { module, environment, composed_at: None }
    }

    /// What it is declared as, for this instance alone.
    pub(crate) fn declared(&self, instance: &InstanceName) -> DeclaredModule {
        let instances = BTreeMap::from([(instance.clone(), self.environment.clone())]);
        DeclaredModule { instances, ..(*self.module).clone() }
    }

    /// How one of its resources is started.
    pub(crate) fn start(
        &self,
        place: &Place,
        execution: &ExecutionId,
        resource: &Resource,
    ) -> Start {
        let mut environment: BTreeMap<String, String> = resource.environment.clone();
        environment.extend(self.environment.clone());
        Start {
            module: place.0.clone(),
            instance: place.1.clone(),
            resource: resource.name.clone(),
            build: self.module.build.clone(),
            execution: execution.clone(),
            command: resource.command.clone(),
            environment,
            listen: resource.listen,
            user: resource.user.clone(),
            limits: resource.limits,
            check: resource.health.check.clone(),
            declared: self.declared(&place.1),
        }
    }
}
