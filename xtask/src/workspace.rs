//! The workspace as cargo describes it: its crates, their files and their declared dependencies.

use crate::process;
use anyhow::{Context, Result};
use serde::Deserialize;
use std::path::{Path, PathBuf};

/// The workspace that holds the current folder.
#[derive(Debug, Deserialize)]
pub struct Workspace {
    /// Its members.
    pub packages: Vec<Package>,
    /// The folder of the topmost `Cargo.toml`.
    #[serde(rename = "workspace_root")]
    pub root: PathBuf,
    /// Where cargo builds.
    #[serde(rename = "target_directory")]
    pub target: PathBuf,
}

/// One member of the workspace.
#[derive(Debug, Clone, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// What `Cargo.toml` says it is for.
    pub description: Option<String>,
    /// Its `Cargo.toml`.
    #[serde(rename = "manifest_path")]
    pub manifest: PathBuf,
    /// What it declares to depend on, of all kinds.
    pub dependencies: Vec<Dependency>,
    /// What is built from it.
    pub targets: Vec<Target>,
}

impl Package {
    /// The folder that holds the package.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.manifest.parent().unwrap_or(&self.manifest)
    }
}

/// A dependency as declared.
#[derive(Debug, Clone, Deserialize)]
pub struct Dependency {
    /// The name of the package depended on.
    pub name: String,
    /// When it is needed; absent: always.
    pub kind: Option<Kind>,
    /// The features asked for, besides the default ones.
    pub features: Vec<String>,
    /// Whether the default features are asked for too.
    pub uses_default_features: bool,
    /// The folder of a dependency that is given by path; ours are.
    pub path: Option<PathBuf>,
}

/// When a dependency that is not always needed is needed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    /// For the build script.
    Build,
    /// For tests and benchmarks.
    Dev,
}

/// Something that cargo builds from a package.
#[derive(Debug, Clone, Deserialize)]
pub struct Target {
    /// Its name.
    pub name: String,
    /// What kinds it is of, for example `lib` or `bench`.
    pub kind: Vec<String>,
}

impl Workspace {
    /// Asks cargo for the workspace around the current folder.
    ///
    /// # Errors
    /// When cargo cannot read it, for example for a fault in a `Cargo.toml`.
    pub fn find() -> Result<Self> {
        let args = ["metadata", "--no-deps", "--format-version", "1"];
        let text = process::read(&mut process::cargo(Path::new("."), args))?;
        serde_json::from_str(&text).context("cargo described the workspace in an unknown way")
    }
}
