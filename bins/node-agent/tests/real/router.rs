//! The process that keeps the machine's listeners, as the program runs it.

use std::{
    fs,
    io::{BufRead, BufReader, Read, Write},
    net::{SocketAddr, TcpListener, TcpStream},
    path::Path,
    process::{Command, Stdio},
    thread,
};

use route::{READY, RouterClient, Start, Table, To};
use rustix::process::Signal;
use tokio::runtime::Runtime;

use crate::machine::{Machine, Outcome, Spoken, eventually, is_alive};

/// A command that becomes a router of this machine and goes on without an engine for two minutes.
fn route(machine: &Machine) -> Command {
    machine.program(&["route", "--orphan-after", "120s"])
}

fn runtime() -> Outcome<Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build()?)
}

/// Sends back what it is sent.
fn echo() -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || {
                let mut to = stream.try_clone()?;
                std::io::copy(&mut BufReader::new(stream), &mut to)
            });
        }
    });
    Ok(address)
}

fn say(stream: &mut TcpStream, line: &str) -> Outcome {
    stream.write_all(line.as_bytes())?;
    let mut heard = vec![0; line.len()];
    stream.read_exact(&mut heard)?;
    if heard == line.as_bytes() { Ok(()) } else { Err(format!("{line}: {heard:?}").into()) }
}

#[test]
fn a_router_begins_hands_over_and_ends_as_it_is_asked() -> Outcome {
    let machine = Machine::new()?;
    fs::create_dir(machine.dir())?;
    let socket = machine.dir().join("route.sock");
    let mut first = Spoken::on_stdout(route(&machine))?;
    first.wait_for_line(READY)?;
    let runtime = runtime()?;
    let engine = runtime.block_on(RouterClient::connect(&socket))?;
    assert_eq!(
        (engine.about().pid, &*engine.about().version),
        (first.pid(), env!("CARGO_PKG_VERSION"))
    );
    let at = TcpListener::bind("127.0.0.1:0")?.local_addr()?;
    let table = Table([(at, To::Forward { to: vec![echo()?] })].into());
    assert!(runtime.block_on(engine.set(&table))?.is_empty());
    let mut stream = TcpStream::connect(at)?;
    say(&mut stream, "one\n")?;

    let mut second = Spoken::on_stderr(route(&machine))?;
    second.wait_for_line("begins at")?;
    assert!(first.ended()?.success());
    say(&mut stream, "two\n")?;
    say(&mut TcpStream::connect(at)?, "three\n")?;

    drop(stream);
    second.signal(Signal::TERM)?;
    assert!(second.ended()?.success());
    assert!(!socket.exists());
    assert!(TcpStream::connect(at).is_err());
    Ok(())
}

/// It is no child that ends with its parent, and no program of the machine's engine is on its standard streams.
#[test]
fn a_router_that_an_engine_starts_outlives_it_in_a_session_of_its_own() -> Outcome {
    let machine = Machine::new()?;
    fs::create_dir(machine.dir())?;
    let socket = machine.dir().join("route.sock");
    let config = machine.config();
    let config = config.to_str().ok_or("no text")?;
    let words = ["--config", config, "route", "--orphan-after", "120s"];
    let program = env!("CARGO_BIN_EXE_node-agent");
    let command = [program].into_iter().chain(words).map(Into::into).collect();
    let start = Start { command, socket: socket.clone(), lines: Stdio::null() };
    let runtime = runtime()?;
    let engine = runtime.block_on(route::start(start))?;
    let pid = engine.about().pid;
    let stat = fs::read_to_string(format!("/proc/{pid}/stat"))?;
    let fields: Vec<&str> = stat.rsplit_once(") ").ok_or("no stat")?.1.split(' ').collect();
    let (group, session) = (fields.get(2), fields.get(3));
    assert_eq!((group, session), (Some(&&*pid.to_string()), Some(&&*pid.to_string())));
    let environment = fs::read(format!("/proc/{pid}/environ"))?;
    assert!(environment.is_empty(), "{}", String::from_utf8_lossy(&environment));
    assert_eq!(fs::read_link(format!("/proc/{pid}/cwd"))?, Path::new("/"));
    drop(runtime);
    assert!(is_alive(pid));
    let runtime = self::runtime()?;
    let again = runtime.block_on(route::find(&socket))?.ok_or("no router")?;
    assert_eq!(again.about().pid, pid);
    let pid = rustix::process::Pid::from_raw(pid.cast_signed()).ok_or("no process")?;
    rustix::process::kill_process(pid, Signal::TERM)?;
    eventually("its socket is gone", || Ok((!socket.exists()).then_some(()).ok_or("there".into())))
}

#[test]
fn a_router_without_a_folder_says_why_it_does_not_begin() -> Outcome {
    let machine = Machine::new()?;
    let mut child = route(&machine).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.take().ok_or("no stdout")?).read_line(&mut line)?;
    assert!(line.contains("the router's socket cannot be made"), "{line}");
    assert_eq!(child.wait()?.code(), Some(1));
    Ok(())
}
