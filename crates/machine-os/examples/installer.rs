//! What the tests of interrupted installs start, and kill: it installs a build, or removes all of them.

use std::env;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;

use host::{Bundle, Host};
use inventory::Artifact;
use machine_os::{Bounds, OsConfig, OsHost};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["install", root, source, ref names @ ..] => install(root, source, names),
        ["collect", root, source] => collect(root, source),
        _ => Err("use: install ROOT ARTIFACTS NAME=DIGEST… | collect ROOT ARTIFACTS".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error:?}");
            ExitCode::FAILURE
        }
    }
}

fn install(root: &str, source: &str, names: &[&str]) -> Result<(), Box<dyn Error>> {
    let mut artifacts = Vec::new();
    for name in names {
        let (name, digest) = name.split_once('=').ok_or("NAME=DIGEST is wanted")?;
        let size = std::fs::metadata(format!("{source}/{digest}"))?.len();
        artifacts.push(Artifact { name: name.parse()?, size, digest: digest.parse()? });
    }
    let (module, build) = ("blog".parse()?, "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?);
    let bundle = Bundle { module, build, artifacts };
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    Ok(runtime.block_on(open(root, source)?.install(&bundle))?)
}

fn collect(root: &str, source: &str) -> Result<(), Box<dyn Error>> {
    let runtime = tokio::runtime::Builder::new_current_thread().build()?;
    runtime.block_on(open(root, source)?.collect(&Default::default()));
    Ok(())
}

fn open(root: &str, source: &str) -> Result<OsHost, Box<dyn Error>> {
    let (root, artifacts) = (root.into(), source.into());
    let bounds = Bounds::open();
    let config = OsConfig {
        root,
        artifacts,
        shim: Vec::new(),
        path: None,
        bounds,
        router: None,
        orphan_after: None,
    };
    Ok(OsHost::open(config)?)
}
