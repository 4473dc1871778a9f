//! Declarations to hand to an agent.

use std::collections::{BTreeMap, BTreeSet};

use inventory::{
    Artifact, Declaration, DeclarationNumber, DeclaredModule, Environment, Epoch, Manifest,
};
use names::{BuildId, Digest, MachineName};

pub(crate) const A: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAA";
pub(crate) const B: &str = "01ARZ3NDEKTSV4RRFFQ69G5FAB";

pub(crate) fn machine() -> MachineName {
    "box-1".parse().unwrap()
}

pub(crate) fn build(id: &str) -> BuildId {
    id.parse().unwrap()
}

/// The manifest of `blog`, whose only resource has these lines.
pub(crate) fn manifest(resource: &str) -> Manifest {
    let text = format!(
        "[module]\nname = \"blog\"\nobserve = \"1s\"\n[[resource]]\nname = \"web\"\n{resource}\n"
    );
    Manifest::from_toml(text).unwrap()
}

/// A build of `blog` on its only instance.
pub(crate) fn blog(id: &str, manifest: Manifest, artifacts: Vec<Artifact>) -> DeclaredModule {
    DeclaredModule {
        account: Default::default(),
        build: build(id),
        commit: "abc".parse().unwrap(),
        manifest,
        artifacts,
        instances: BTreeMap::from([("blog-1".parse().unwrap(), Environment::new())]),
    }
}

/// A build of which nothing but its name matters.
pub(crate) fn any_artifact() -> Vec<Artifact> {
    let digest = Digest::from_bytes([7; 32]);
    vec![Artifact { name: "blog".parse().unwrap(), size: 1, digest }]
}

pub(crate) fn declaration(number: u64, blog: Option<DeclaredModule>) -> Declaration {
    let withdrawn = match blog {
        Some(_) => BTreeSet::new(),
        None => BTreeSet::from(["blog".parse().unwrap()]),
    };
    Declaration {
        machine: machine(),
        number: DeclarationNumber(number),
        epoch: Epoch(1),
        composed_at: None,
        modules: blog.into_iter().map(|one| ("blog".parse().unwrap(), one)).collect(),
        withdrawn,
    }
}
