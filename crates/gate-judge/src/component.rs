//! The core components: modules whose own update is witnessed and judged in a way of its own.

/// A core component. Each is a module of the same name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Component {
    /// The controller: judged by the lease and its readiness.
    Controller,
    /// The agent itself: judged by the build that it reports.
    NodeEngine,
    /// What serves tools on a machine: judged by its answer.
    NodeTools,
}

impl Component {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Controller, Self::NodeEngine, Self::NodeTools];

    /// The module's name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Controller => "controller",
            Self::NodeEngine => "node-engine",
            Self::NodeTools => "node-tools",
        }
    }
}

/// The core component that a module is; `None` for a plain module. Names are compared byte for
/// byte, so any other spelling is a plain module.
#[must_use]
pub fn core_component(module: &str) -> Option<Component> {
    Component::ALL.into_iter().find(|component| component.name() == module)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_exact_name_is_a_core_component() {
        for component in Component::ALL {
            assert_eq!(core_component(component.name()), Some(component));
        }
        for plain in ["", "relay", "Controller", "node-engine ", "node_tools", "node-tool"] {
            assert_eq!(core_component(plain), None, "{plain:?}");
        }
    }
}
