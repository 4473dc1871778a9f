//! A module at a public address, with clients that never pause: whatever is done to its builds and to the engine, no request
//! is lost.

use std::{
    env,
    io::{Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    thread::{self, JoinHandle},
    time::Duration,
};

use inventory::DeclaredModule;
use wire::{ModuleOutcome, Report};

use crate::machine::{A, B, Bed, Machine, Outcome, eventually};

/// The example `serve`, which is built with the tests and lies beside them.
fn serve() -> Outcome<PathBuf> {
    let test = env::current_exe()?;
    let folder = test.parent().and_then(|folder| folder.parent()).ok_or("no folder")?;
    let serve = folder.join("examples/serve");
    if serve.is_file() { Ok(serve) } else { Err("build it: cargo build --example serve".into()) }
}

fn free_address() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// A build of `blog` that answers with this word.
fn build(machine: &Machine, id: &str, at: SocketAddr, swap: &str) -> Outcome<DeclaredModule> {
    let manifest = format!(
        "[module]\nname = \"blog\"\nobserve = \"200ms\"\nswap = \"{swap}\"\n[[resource]]\nname = \"web\"\n\
         command = [\"./run\"]\nlisten = \"{at}\"\n\
         health = {{ http = \"/\", every = \"100ms\", passes = 1 }}\n\
         stop = {{ grace = \"1s\", drain = \"2s\" }}\n\
         restart = {{ limit = 0, within = \"1m\", backoff = \"50ms..100ms\" }}\n"
    );
    let script = format!("exec {} $PORT {id}", serve()?.display());
    machine.build_of(id, &manifest, &script)
}

/// Clients that ask one question after the other, each over a connection of its own.
struct Clients {
    ends: Arc<AtomicBool>,
    asked: Arc<AtomicU64>,
    clients: Vec<JoinHandle<Result<(), String>>>,
}

impl Clients {
    fn of(address: SocketAddr) -> Self {
        let (ends, asked) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
        let client = |_| {
            let (ends, asked) = (Arc::clone(&ends), Arc::clone(&asked));
            thread::spawn(move || {
                while !ends.load(Ordering::Relaxed) {
                    ask(address).map_err(|error| error.to_string())?;
                    asked.fetch_add(1, Ordering::Relaxed);
                }
                Ok(())
            })
        };
        let clients = (0..4).map(client).collect();
        Self { ends, asked, clients }
    }

    /// Waits until so many more were answered.
    fn go_on(&self) -> Outcome {
        let until = self.asked.load(Ordering::Relaxed) + 50;
        eventually("questions are answered", || {
            let asked = self.asked.load(Ordering::Relaxed);
            let lost = self.clients.iter().filter(|client| client.is_finished()).count();
            let is_so = asked >= until || lost > 0;
            Ok(if is_so { Ok(()) } else { Err(format!("{asked} of {until}")) })
        })
    }

    /// Not one question was lost.
    fn lost_none(self) -> Outcome {
        self.ends.store(true, Ordering::Relaxed);
        for client in self.clients {
            client.join().map_err(|_| "a client died")??;
        }
        Ok(())
    }
}

/// Asks once, and answers who it was.
fn ask(address: SocketAddr) -> Outcome<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.set_read_timeout(Some(Duration::from_secs(30)))?;
    stream.write_all(b"GET / HTTP/1.1\r\nHost: blog\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split_once("\r\n\r\n") {
        Some((head, word)) if head.starts_with("HTTP/1.1 200 ") => Ok(word.to_owned()),
        _ => Err(format!("no answer: {answer:?}").into()),
    }
}

fn applied(bed: &Bed, number: u64) -> Outcome {
    bed.controller.until_reported("applied", |report: &Report| {
        let modules = report.modules.values();
        let is_so = report.declaration.0 == number
            && modules.into_iter().all(|one| one.outcome == ModuleOutcome::Applied);
        is_so.then_some(())
    })
}

/// A machine on which A answers at a public address.
fn serving(address: SocketAddr, swap: &str) -> Outcome<Bed> {
    let machine = Machine::new()?;
    let (controller, engine) = (machine.controller()?, machine.engine()?);
    let bed = Bed { machine, controller, engine, pid: 0 };
    declare(&bed, 1, A, address, swap)?;
    applied(&bed, 1)?;
    assert_eq!(ask(address)?, A);
    Ok(bed)
}

fn declare(bed: &Bed, number: u64, id: &str, address: SocketAddr, swap: &str) -> Outcome {
    let build = build(&bed.machine, id, address, swap)?;
    bed.controller.declare(&bed.machine.declaration(number, build)?)?;
    Ok(())
}

fn moves(swap: &str) -> Outcome {
    let address = free_address()?;
    let bed = serving(address, swap)?;
    let clients = Clients::of(address);
    clients.go_on()?;
    declare(&bed, 2, B, address, swap)?;
    applied(&bed, 2)?;
    clients.go_on()?;
    eventually("the new build answers", || {
        let who = ask(address)?;
        Ok(if who == B { Ok(()) } else { Err(who) })
    })?;
    clients.lost_none()
}

#[test]
fn a_build_that_comes_beside_the_old_one_loses_no_request() -> Outcome {
    moves("overlap")
}

#[test]
fn a_build_that_comes_in_the_place_of_the_old_one_loses_no_request() -> Outcome {
    moves("hold")
}

#[test]
fn engines_that_are_killed_and_asked_to_end_lose_no_request() -> Outcome {
    let address = free_address()?;
    let mut bed = serving(address, "overlap")?;
    let clients = Clients::of(address);
    clients.go_on()?;
    bed.engine.kill()?;
    clients.go_on()?;
    bed.engine = bed.machine.engine()?;
    again(&bed)?;
    clients.go_on()?;
    bed.stop()?;
    clients.go_on()?;
    bed.engine = bed.machine.engine()?;
    again(&bed)?;
    clients.go_on()?;
    // And the next build moves as ever.
    declare(&bed, 2, B, address, "overlap")?;
    applied(&bed, 2)?;
    clients.go_on()?;
    clients.lost_none()
}

/// Waits until the engine has stated what goes on.
fn again(bed: &Bed) -> Outcome {
    bed.controller.until_stated("it goes on", |stated| {
        stated.resources.iter().all(|row| row.process.is_some()).then_some(())
    })
}

#[test]
fn a_build_that_fails_as_a_hold_is_answered_for_with_the_reason() -> Outcome {
    let address = free_address()?;
    let bed = serving(address, "hold")?;
    let mut broken = build(&bed.machine, B, address, "hold")?;
    broken.artifacts = bed.machine.build(B, "echo no such table >&2; exit 3")?.artifacts;
    bed.controller.declare(&bed.machine.declaration(2, broken)?)?;
    bed.controller.until_reported("failed", |report| {
        let failed = |one: &wire::ModuleReport| matches!(one.outcome, ModuleOutcome::Failed { .. });
        report.modules.values().any(failed).then_some(())
    })?;
    eventually("whoever asks is told", || {
        let mut stream = TcpStream::connect(address)?;
        stream.write_all(b"GET / HTTP/1.1\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        let is_so = answer.starts_with("HTTP/1.1 503 ") && answer.contains("no such table");
        Ok(if is_so { Ok(()) } else { Err(answer) })
    })
}
