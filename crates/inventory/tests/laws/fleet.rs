//! Small fleets, drawn by numbers: machines, modules and builds that differ just enough.
#![expect(clippy::unwrap_used, reason = "a name that is written here is a name")]

use std::collections::{BTreeMap, BTreeSet};

use chrono::DateTime;
use inventory::{
    Artifact, Assignment, Build, Environment, Instances, Machine, Manifest, Module, Release,
    Target, Waves,
};
use names::{AccountName, BuildId, Digest, ModuleName};

pub(crate) fn module_name(number: u8) -> ModuleName {
    format!("module-{number}").parse().unwrap()
}

pub(crate) fn build_id(number: u8) -> BuildId {
    format!("01ARZ3NDEKTSV4RRFFQ69G5{number:03}").parse().unwrap()
}

pub(crate) fn digest(number: u8) -> Digest {
    Digest::from_bytes([number; 32])
}

pub(crate) fn artifact(number: u8) -> Artifact {
    Artifact {
        name: format!("file-{number}").parse().unwrap(),
        size: u64::from(number),
        digest: digest(number),
    }
}

pub(crate) fn manifest(module: u8) -> Manifest {
    Manifest::from_toml(format!("module = {{ name = \"module-{module}\" }}")).unwrap()
}

/// The build of this number; the greater the number, the newer it is.
pub(crate) fn build(number: u8, module: u8, artifacts: &[u8]) -> Build {
    Build {
        id: build_id(number),
        commit: format!("c{number}").parse().unwrap(),
        manifest: manifest(module),
        artifacts: artifacts.iter().copied().map(artifact).collect(),
        source_fingerprint: None,
        registered_at: DateTime::from_timestamp(i64::from(number), 0).unwrap(),
    }
}

/// `box-1`, labelled `site=ams` and `role=web`.
pub(crate) fn machine() -> Machine {
    Machine {
        name: "box-1".parse().unwrap(),
        labels: [("site", "ams"), ("role", "web")]
            .map(|(key, value)| (key.parse().unwrap(), value.parse().unwrap()))
            .into(),
        public_key: None,
        enrolled_at: DateTime::UNIX_EPOCH,
        roles: BTreeSet::new(),
        hold: None,
    }
}

pub(crate) fn assignment(target: &str, instances: usize) -> Assignment {
    let environment = |number| Environment::from([("N".to_owned(), format!("{target} {number}"))]);
    Assignment {
        to: target.parse::<Target>().unwrap(),
        instances: Instances::new((1..=instances).map(environment).collect()).unwrap(),
    }
}

pub(crate) fn module(number: u8, assignments: Vec<Assignment>) -> Module {
    Module {
        account: AccountName::default(),
        name: module_name(number),
        registered: None,
        assignments,
        release: Release::Manual,
        hold: None,
        waves: Waves::default(),
    }
}

pub(crate) fn by_name(modules: impl IntoIterator<Item = Module>) -> BTreeMap<ModuleName, Module> {
    modules.into_iter().map(|module| (module.name.clone(), module)).collect()
}

pub(crate) fn by_id(builds: impl IntoIterator<Item = Build>) -> BTreeMap<BuildId, Build> {
    builds.into_iter().map(|build| (build.id.clone(), build)).collect()
}
