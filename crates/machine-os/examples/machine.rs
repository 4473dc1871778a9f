//! What the tests start: a shim, workloads, and an engine that can be killed.

use std::env;
use std::error::Error;
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::linux::net::SocketAddrExt;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::process::ExitCode;
use std::time::Duration;

use host::{Bundle, Host, Process, ProcessSpec};
use inventory::Check;
use machine_os::{Bounds, OsConfig, OsHost};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        ["shim"] => return machine_os::shim::main(),
        ["notify", words] => notify(words),
        ["serve", port, answer] => serve(port, answer),
        ["listen", port] => listen(port),
        ["engine", root, artifacts, digest] => {
            Machine::open(root, artifacts, digest).and_then(|machine| engine(&machine))
        }
        ["hasty", root, artifacts, digest, rounds, check] => Machine::open(root, artifacts, digest)
            .and_then(|machine| hasty(&machine, rounds, check)),
        _ => Err("use: shim | serve PORT ANSWER | listen PORT | notify WORDS | engine ROOT ARTIFACTS DIGEST \
                      | hasty ROOT ARTIFACTS DIGEST ROUNDS CHECK"
            .into()),
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

/// Listens and never answers.
fn listen(port: &str) -> Result<(), Box<dyn Error>> {
    let _listener = TcpListener::bind(("127.0.0.1", port.parse()?))?;
    loop {
        std::thread::park();
    }
}

/// Says something as `sd_notify` does.
fn notify(words: &str) -> Result<(), Box<dyn Error>> {
    let name = env::var_os("NOTIFY_SOCKET").and_then(|name| name.into_string().ok());
    let name = name.as_deref().and_then(|name| name.strip_prefix('@')).ok_or("no socket")?;
    let to = SocketAddr::from_abstract_name(name)?;
    UnixDatagram::unbound()?.send_to_addr(words.as_bytes(), &to)?;
    Ok(())
}

/// A machine with a build of one artifact, and what is started of it.
struct Machine {
    host: OsHost,
    bundle: Bundle,
    spec: ProcessSpec,
}

impl Machine {
    fn open(root: &str, artifacts: &str, digest: &str) -> Result<Self, Box<dyn Error>> {
        let shim = vec![env::current_exe()?.into(), "shim".into()];
        let path = env::var_os("PATH").and_then(|path| path.into_string().ok());
        let orphan_after = Some(Duration::from_secs(60));
        let config = OsConfig {
            root: root.into(),
            artifacts: artifacts.into(),
            shim,
            path,
            bounds: Bounds::open(),
            router: None,
            orphan_after,
        };
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
            listen: inventory::Listen::Private,
            user: None,
            limits: Default::default(),
            notify: host::Notify::Unheard,
            keepsake: String::new(),
        };
        Ok(Self { host: OsHost::open(config)?, bundle, spec })
    }
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

/// Takes over what runs, or starts `./run` of a build of one artifact, says its process number, and starts it
/// again when it ends.
fn engine(machine: &Machine) -> Result<(), Box<dyn Error>> {
    let Machine { host, bundle, spec } = machine;
    runtime()?.block_on(async {
        host.install(bundle).await?;
        let mut found = host.adopt().await?.pop();
        loop {
            let process = match found.take() {
                Some(adopted) => adopted.process,
                None => host.start(spec).await?,
            };
            writeln!(std::io::stdout(), "{}", process.identity().pid)?;
            process.ended().await;
        }
    })
}

/// Starts `./run` of a build of one artifact, asks it in haste again and again, and says how many descriptors this process
/// had before and how many it has afterwards.
fn hasty(machine: &Machine, rounds: &str, check: &str) -> Result<(), Box<dyn Error>> {
    let Machine { host, bundle, spec } = machine;
    let exec = Check::Exec(["sh", "-c", check].map(str::to_owned).into());
    let http = Check::Http { path: "/".to_owned(), body: None };
    let rounds: u64 = rounds.parse()?;
    runtime()?.block_on(async {
        host.install(bundle).await?;
        let process = host.start(spec).await?;
        let descriptors = || std::fs::read_dir("/proc/self/fd").map(Iterator::count);
        let mut before = 0;
        for round in 0..rounds {
            for check in [&exec, &http] {
                let passed = process.check(check, Duration::from_millis(5 + round % 40)).await;
                if passed.is_ok() {
                    return Err("a check passed".into());
                }
            }
            if round == 10 {
                before = descriptors()?;
            }
        }
        // Those of the last round are closed a moment after it.
        for _ in 0..200 {
            if descriptors()? <= before {
                break;
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        writeln!(std::io::stdout(), "{before} {}", descriptors()?)?;
        process.stop(inventory::Stop::default()).await;
        Ok(())
    })
}
