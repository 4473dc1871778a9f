//! What the rules look at: the crates, their manifests, every source file, and what cargo resolves
//! for each pure crate when it is built alone.

use super::code::{Code, Token};
use super::layers;
use crate::process;
use crate::workspace::{Package, Workspace};
use anyhow::{Context, Result};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// The whole tree in memory.
#[derive(Debug, Default)]
pub struct Tree {
    pub(super) root: PathBuf,
    pub(super) packages: Vec<Package>,
    /// The text of `Cargo.toml`, by package.
    pub(super) manifests: BTreeMap<String, String>,
    pub(super) sources: Vec<Source>,
    /// By pure crate.
    pub(super) alone: BTreeMap<String, Vec<Resolved>>,
}

/// One `.rs` file.
#[derive(Debug)]
pub(super) struct Source {
    /// From the workspace's root, with forward slashes.
    pub(super) path: String,
    pub(super) package: String,
    pub(super) text: String,
    /// Or why it cannot be read.
    pub(super) code: Result<Code, String>,
}

/// A package that a crate of ours brings along, with the features it then has.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Resolved {
    pub(super) name: String,
    pub(super) features: BTreeSet<String>,
}

impl Tree {
    /// Reads the tree of `workspace`.
    ///
    /// # Errors
    /// When a file cannot be read, or cargo cannot resolve a pure crate's dependencies.
    pub fn read(workspace: &Workspace) -> Result<Self> {
        let mut tree = Self {
            root: workspace.root.clone(),
            packages: workspace.packages.clone(),
            ..Self::default()
        };
        for package in &workspace.packages {
            let text = read(&package.manifest)?;
            tree.manifests.insert(package.name.clone(), text);
            for file in rust_files(package.folder())? {
                let text = read(&file)?;
                tree.sources.push(Source::new(&tree.relative(&file), &package.name, &text));
            }
            if layers::of(&package.name).is_some_and(|row| row.layer.is_pure()) {
                let resolved = resolve_alone(&tree.root, &package.name)?;
                tree.alone.insert(package.name.clone(), resolved);
            }
        }
        Ok(tree)
    }

    /// Where the manifest of `package` is, from the root.
    pub(super) fn manifest(&self, package: &Package) -> String {
        self.relative(&package.manifest)
    }

    /// The files of `package` that are not only for tests, benchmarks or examples, each with its
    /// shipped tokens.
    pub(super) fn shipped(&self, package: &str) -> Vec<(&Source, Vec<&Token>)> {
        let files = self.sources.iter().filter(|file| file.package == package);
        let test_folders: Vec<String> = files.clone().flat_map(Source::test_modules).collect();
        files
            .filter(|file| {
                !file.path.contains("/tests/")
                    && !file.path.contains("/benches/")
                    && !file.path.contains("/examples/")
                    && !test_folders.iter().any(|module| file.is_in(module))
            })
            .filter_map(|file| Some((file, file.code.as_ref().ok()?.shipped())))
            .collect()
    }

    fn relative(&self, path: &Path) -> String {
        let path = path.strip_prefix(&self.root).unwrap_or(path);
        path.components()
            .map(|part| part.as_os_str().to_string_lossy())
            .collect::<Vec<_>>()
            .join("/")
    }
}

impl Source {
    pub(super) fn new(path: &str, package: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            package: package.to_owned(),
            text: text.to_owned(),
            code: Code::of(text),
        }
    }

    /// The paths, without `.rs`, of the modules that are declared here only for tests.
    fn test_modules(&self) -> Vec<String> {
        let stem = self.path.strip_suffix(".rs").unwrap_or(&self.path);
        let (parent, name) = stem.rsplit_once('/').unwrap_or(("", stem));
        let folder = if ["lib", "main", "mod"].contains(&name) { parent } else { stem };
        let modules = self.code.iter().flat_map(|code| &code.test_modules);
        modules.map(|module| format!("{folder}/{module}")).collect()
    }

    fn is_in(&self, module: &str) -> bool {
        self.path.strip_prefix(module).is_some_and(|rest| rest == ".rs" || rest.starts_with('/'))
    }
}

fn read(path: &Path) -> Result<String> {
    fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))
}

/// Every `.rs` file below `folder`, in order.
fn rust_files(folder: &Path) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = || format!("cannot read the folder {}", folder.display());
        for entry in fs::read_dir(&folder).with_context(unreadable)? {
            let entry = entry.with_context(unreadable)?;
            if entry.file_type().with_context(unreadable)?.is_dir() {
                folders.push(entry.path());
            } else if entry.path().extension() == Some(OsStr::new("rs")) {
                files.push(entry.path());
            }
        }
    }
    files.sort();
    Ok(files)
}

/// What `package` brings along when nothing else of the workspace is built with it.
fn resolve_alone(root: &Path, package: &str) -> Result<Vec<Resolved>> {
    let format = "{p}|{f}|";
    let args = ["tree", "-p", package, "-e", "normal,no-proc-macro", "--prefix", "none", "-f"];
    let mut command = process::cargo(root, args);
    let text = process::read(command.arg(format))?;
    let resolved: BTreeSet<Resolved> = text.lines().filter_map(resolved).collect();
    Ok(resolved.into_iter().collect())
}

/// Reads `name v1.0 (path)|feature,feature|`; a repeated line ends differently, which is cut off.
fn resolved(line: &str) -> Option<Resolved> {
    let mut parts = line.split('|');
    let name = parts.next()?.split(' ').next()?.to_owned();
    let features = parts.next()?.split(',').filter(|feature| !feature.is_empty());
    Some(Resolved { name, features: features.map(str::to_owned).collect() })
}

#[cfg(test)]
mod tests {
    use super::super::samples;
    use super::*;

    #[test]
    fn cargo_tree_lines_are_read() {
        let expected = |name: &str, features: &[&str]| Resolved {
            name: name.to_owned(),
            features: features.iter().map(|feature| (*feature).to_owned()).collect(),
        };
        let cases = [
            ("names v0.1.0 (/home/a/crates/names)||", expected("names", &[])),
            ("serde v1.0.2|alloc,derive|", expected("serde", &["alloc", "derive"])),
            ("serde v1.0.2|alloc| (*)", expected("serde", &["alloc"])),
        ];
        for (line, resolved_line) in cases {
            assert_eq!(resolved(line), Some(resolved_line), "{line}");
        }
        assert_eq!(resolved(""), None);
    }

    #[test]
    fn files_of_test_modules_are_not_shipped() {
        let mut tree = samples::tree(["a"]);
        let files = [
            ("crates/a/src/lib.rs", "mod b; #[cfg(test)] mod cases;"),
            ("crates/a/src/b.rs", "#[cfg(test)] mod tests;"),
            ("crates/a/src/b/tests.rs", ""),
            ("crates/a/src/b/tests_of_wit.rs", ""),
            ("crates/a/src/cases/more.rs", ""),
            ("crates/a/tests/laws.rs", ""),
            ("crates/a/benches/speed.rs", ""),
            ("crates/a/examples/use_it.rs", ""),
        ];
        for (path, text) in files {
            tree.sources.push(Source::new(path, "a", text));
        }
        let shipped = tree.shipped("a");
        let paths: Vec<&str> = shipped.iter().map(|(file, _)| file.path.as_str()).collect();
        let expected =
            ["crates/a/src/lib.rs", "crates/a/src/b.rs", "crates/a/src/b/tests_of_wit.rs"];
        assert_eq!(paths, expected);
    }
}
