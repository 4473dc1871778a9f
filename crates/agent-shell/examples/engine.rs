//! The smallest program that embeds an agent: a shim in a hidden subcommand, and an agent on a bus of its own.
//!
//! `engine run ROOT DECLARATION` brings this machine to the declaration in a file, says each process that it states, and
//! runs until it is killed. What it started runs on for a minute, in which the next one can take it over. Its store is gone
//! with it: the declaration comes again from the file.

use std::env;
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use agent_shell::{Config, Incarnation, KeptBook};
use bus::{Bus, InProcessBus};
use chrono::DateTime;
use failure_book::{BookId, MemoryJournal};
use machine_os::{Bounds, OsConfig, OsHost};
use store::MemoryStore;
use wire::{Envelope, HelloReply, Statement};

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    let done = match words[..] {
        // Before anything else: a shim must be the only one that waits for children in its process.
        ["shim"] => return machine_os::shim::main(),
        ["run", root, declaration] => run(Path::new(root), Path::new(declaration)),
        _ => Err("use: shim | run ROOT DECLARATION".into()),
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(root: &Path, declaration: &Path) -> Result<(), Box<dyn Error>> {
    let declaration: inventory::Declaration = serde_json::from_slice(&fs::read(declaration)?)?;
    let machine = declaration.machine.clone();
    let host = OsHost::open(OsConfig {
        root: root.join("host"),
        artifacts: root.join("artifacts"),
        shim: vec![env::current_exe()?.into(), "shim".into()],
        path: None,
        bounds: Bounds::open(),
        router: None,
        orphan_after: Some(Duration::from_secs(60)),
    })?;
    let config =
        Config::new(machine.clone(), "example".to_owned(), Incarnation(machine_os::draw()?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let bus = InProcessBus::new();
        let fresh = || Ok::<_, std::convert::Infallible>(BookId::from_random([7; 16]));
        let book = KeptBook::load(MemoryJournal::new(), DateTime::UNIX_EPOCH, fresh);
        let mut hellos = bus.serve(&wire::subject::any_hello().parse()?).await?;
        let mut statements = bus.subscribe(&wire::subject::any_health().parse()?).await?;
        let forever = std::future::pending();
        let mut agent =
            std::pin::pin!(agent_shell::run(config, bus, MemoryStore::new(), book, host, forever));
        loop {
            tokio::select! {
                ended = &mut agent => return Ok(ended?),
                // Whoever says hello is handed what it should hold.
                Some(hello) = hellos.next() => {
                    let reply = HelloReply { declaration: Some(declaration.clone()), keep: None };
                    let sent_at = DateTime::UNIX_EPOCH;
                    let reply = Envelope::new("1".to_owned(), "example".to_owned(), sent_at, reply);
                    hello.responder.respond(reply.encode()?.into())?;
                }
                Some(message) = statements.next() => say(&message.payload)?,
            }
        }
    })
}

/// Says each process that a statement speaks of.
fn say(statement: &[u8]) -> Result<(), Box<dyn Error>> {
    for row in Envelope::<Statement>::decode(statement)?.body.resources {
        if let Some(process) = row.process {
            writeln!(io::stdout(), "{} {}", row.state, process.pid)?;
        }
    }
    Ok(())
}
