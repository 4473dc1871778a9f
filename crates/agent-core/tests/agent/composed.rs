//! Builds, manifests and declarations that the tests speak of.

use std::collections::BTreeMap;

use inventory::{Declaration, DeclarationNumber, DeclaredModule, Environment, Epoch, Manifest};
use names::InstanceName;

/// Three builds of the module `blog`.
pub(crate) const A: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAA";
pub(crate) const B: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAB";
pub(crate) const C: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAC";

/// One resource that is checked every second, and given up after two restarts in a minute.
pub(crate) const WEB: &str = r#"
[module]
name = "blog"
observe = "2s"
[[resource]]
name = "web"
command = ["./blog"]
health = { http = "/", every = "1s", timeout = "1s", passes = 2, failures = 2, start_up = "10s" }
restart = { limit = 2, within = "1m", backoff = "1s..8s" }
"#;

/// One module as a declaration has it.
pub(crate) fn module(build: &str, manifest: &str, instances: &[&str]) -> DeclaredModule {
    let instances = instances.iter().map(|name| (name.parse().unwrap(), Environment::new()));
    DeclaredModule {
        account: Default::default(),
        build: build.parse().unwrap(),
        commit: "abc".parse().unwrap(),
        manifest: Manifest::from_toml(manifest).unwrap(),
        artifacts: Vec::new(),
        instances: instances.collect(),
    }
}

pub(crate) fn declaration<const N: usize>(
    number: u64,
    modules: [(&str, DeclaredModule); N],
    withdrawn: &[&str],
) -> Declaration {
    Declaration {
        machine: "box-1".parse().unwrap(),
        number: DeclarationNumber(number),
        epoch: Epoch(1),
        composed_at: None,
        modules: modules.into_iter().map(|(name, one)| (name.parse().unwrap(), one)).collect(),
        withdrawn: withdrawn.iter().map(|name| name.parse().unwrap()).collect(),
    }
}

/// The environments of a module's instances.
pub(crate) fn with_environment(
    mut module: DeclaredModule,
    instance: &str,
    key: &str,
    value: &str,
) -> DeclaredModule {
    let name: InstanceName = instance.parse().unwrap();
    let environment = BTreeMap::from([(key.to_owned(), value.to_owned())]);
    module.instances.insert(name, environment);
    module
}

/// The same, given up as soon as it falls.
pub(crate) fn fragile(manifest: &str) -> String {
    manifest.replace("limit = 2", "limit = 0")
}

/// The same, listening where only one can: two of it cannot stand beside each other.
pub(crate) fn in_turn() -> String {
    WEB.replace("command", "listen = \"127.0.0.1:8080\"\ndirect = true\ncommand")
}

/// The same, with its data for itself.
pub(crate) fn hold() -> String {
    WEB.replace("observe", "swap = \"hold\"\nobserve")
}
