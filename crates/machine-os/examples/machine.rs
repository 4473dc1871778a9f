//! What the tests start: a leash, a workload that answers over HTTP, and an engine that can be killed.

use std::env;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::process::ExitCode;

use host::{Bundle, Host, Process, ProcessSpec};
use machine_os::{OsConfig, OsHost};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["leash"] => return machine_os::leash::main(),
        ["serve", port, answer] => serve(port, answer),
        ["engine", root, artifacts, bundle] => engine(root, artifacts, bundle),
        _ => Err("use: leash | serve PORT ANSWER | engine ROOT ARTIFACTS DIGEST".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

/// Answers every connection with the same bytes.
fn serve(port: &str, answer: &str) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind(("127.0.0.1", port.parse()?))?;
    for stream in listener.incoming() {
        let mut stream = stream?;
        let _ = stream.read(&mut [0; 1024])?;
        stream.write_all(answer.as_bytes())?;
    }
    Ok(())
}

/// Starts `./run` of a build of one artifact, says its process number, and waits for ever.
fn engine(root: &str, artifacts: &str, digest: &str) -> Result<(), Box<dyn Error>> {
    let leash = vec![env::current_exe()?.into(), "leash".into()];
    let path = env::var_os("PATH").and_then(|path| path.into_string().ok());
    let config = OsConfig { root: root.into(), artifacts: artifacts.into(), leash, path };
    let size = std::fs::metadata(format!("{artifacts}/{digest}"))?.len();
    let artifact = inventory::Artifact { name: "run".parse()?, size, digest: digest.parse()? };
    let bundle = Bundle {
        module: "blog".parse()?,
        build: "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse()?,
        artifacts: vec![artifact],
    };
    let spec = ProcessSpec {
        module: bundle.module.clone(),
        instance: "blog-1".parse()?,
        resource: "web".parse()?,
        build: bundle.build.clone(),
        execution: "a1-1".parse()?,
        command: vec!["./run".to_owned()],
        environment: Default::default(),
        listen: None,
        user: None,
        limits: Default::default(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let host = OsHost::open(config)?;
        host.install(&bundle).await?;
        let process = host.start(&spec).await?;
        writeln!(std::io::stdout(), "{}", process.identity().pid)?;
        process.ended().await;
        Ok(())
    })
}
