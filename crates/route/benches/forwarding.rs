//! What a router costs: bulk, requests on kept connections, and new connections, each beside the same without a router.
//!
//! Direct and forwarded take turns, so that whatever else the machine does meets both; read the ratios. Client and backend are
//! this process, the router is one of its own.

#![expect(clippy::print_stdout, reason = "a benchmark's result is what it prints")]

use std::collections::BTreeMap;
use std::error::Error;
use std::future::pending;
use std::io::{ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::thread;
use std::time::{Duration, Instant};

use route::{Config, READY, Router, RouterClient, Start, Table, To};
use tempfile::TempDir;

type Outcome<T = ()> = Result<T, Box<dyn Error + Send + Sync>>;

const ROUNDS: usize = 9;
const BULK_BYTES: usize = 512 * 1024 * 1024;
const CHUNK_BYTES: usize = 256 * 1024;
const CLIENTS: usize = 8;
const REQUESTS: usize = 1_500;
const CONNECTIONS: usize = 250;
const OPEN: usize = 400;
const REQUEST: [u8; 64] = [b'q'; 64];
const ANSWER: [u8; 256] = [b'a'; 256];

/// What is aimed at: of what goes without a router.
const BULK_MIN: f64 = 0.8;

fn main() -> Outcome {
    let arguments: Vec<String> = std::env::args().collect();
    if let [_, word, socket] = &arguments[..]
        && word == "router"
    {
        return runtime()?.block_on(router(socket));
    }
    runtime()?.block_on(measure())
}

fn runtime() -> std::io::Result<tokio::runtime::Runtime> {
    tokio::runtime::Builder::new_current_thread().enable_all().build()
}

async fn router(socket: &str) -> Outcome {
    let config = Config {
        socket: socket.into(),
        version: "bench".to_owned(),
        orphan_after: Some(Duration::from_secs(5)),
        say: Box::new(|_| {}),
    };
    let router = Router::begin(config).await?;
    println!("{READY}");
    router.run(pending()).await;
    Ok(())
}

async fn measure() -> Outcome {
    let folder = TempDir::new()?;
    let socket = folder.path().join("route.sock");
    let engine = start(&socket).await?;
    let (bulk, asked) = (sink()?, answers()?);
    let (bulk_routed, asked_routed) = (free()?, free()?);
    let all: BTreeMap<SocketAddr, To> = [(bulk_routed, bulk), (asked_routed, asked)]
        .into_iter()
        .map(|(at, to)| (at, To::Forward { to: vec![to] }))
        .collect();
    let faults = engine.set(&Table(all)).await?;
    if !faults.is_empty() {
        return Err(format!("{faults:?}").into());
    }
    let measured = thread::spawn(move || -> Outcome {
        println!("{:<26} {:>12} {:>12} {:>8} {:>10}", "", "direct", "routed", "ratio", "target");
        let mib = |seconds: f64| BULK_BYTES as f64 / (1024.0 * 1024.0) / seconds;
        let target = format!(">= {BULK_MIN:.2}");
        row("bulk, MiB/s", mib, &target, || send_bulk(bulk), || send_bulk(bulk_routed))?;
        let rate = |seconds: f64| (CLIENTS * REQUESTS) as f64 / seconds;
        row("requests/s, kept", rate, "", || ask_kept(asked), || ask_kept(asked_routed))?;
        let rate = |seconds: f64| (CLIENTS * CONNECTIONS) as f64 / seconds;
        row("connections/s", rate, "", || ask_new(asked), || ask_new(asked_routed))
    });
    tokio::task::spawn_blocking(move || measured.join()).await?.map_err(|_| "it broke off")??;
    idle(&engine, &socket, asked_routed).await
}

/// What connections cost that are only open, and how long it takes to hand them over.
async fn idle(engine: &RouterClient, socket: &Path, at: SocketAddr) -> Outcome {
    let before = resident_kib(engine.about().pid)?;
    let opened = tokio::task::spawn_blocking(move || open(at)).await?;
    let mut open = opened?;
    let after = resident_kib(engine.about().pid)?;
    let each = after.saturating_sub(before) as f64 / OPEN as f64;
    println!(
        "{:<26} {before:>8} KiB resident, and {each:.1} KiB for each of {OPEN} connections",
        "idle"
    );
    let begun = now();
    start(socket).await?;
    let milliseconds = begun.elapsed().as_secs_f64() * 1e3;
    println!("{:<26} {milliseconds:>8.0} ms with {OPEN} connections", "upgrade");
    let asked = tokio::task::spawn_blocking(move || open.iter_mut().try_for_each(ask)).await?;
    Ok(asked?)
}

async fn start(socket: &Path) -> Outcome<RouterClient> {
    let command = vec![std::env::current_exe()?.into(), "router".into(), socket.into()];
    let start = Start { command, socket: socket.to_owned(), lines: Stdio::inherit() };
    Ok(route::start(start).await?)
}

/// Connections that were used once, and are idle.
fn open(at: SocketAddr) -> std::io::Result<Vec<TcpStream>> {
    let one = |_| {
        let mut stream = TcpStream::connect(at)?;
        ask(&mut stream)?;
        Ok(stream)
    };
    (0..OPEN).map(one).collect()
}

fn resident_kib(pid: u32) -> Outcome<u64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).ok_or("no such line")?;
    Ok(line.trim_end_matches("kB").trim().parse()?)
}

/// An address on which nobody listens now.
fn free() -> Outcome<SocketAddr> {
    Ok(TcpListener::bind("127.0.0.1:0")?.local_addr()?)
}

/// Measures both, taking turns, and prints the medians.
fn row(
    what: &str,
    figure: impl Fn(f64) -> f64,
    target: &str,
    direct: impl Fn() -> Outcome<Duration>,
    routed: impl Fn() -> Outcome<Duration>,
) -> Outcome {
    let (mut one, mut two, mut ratios) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        let (direct, routed) = (direct()?.as_secs_f64(), routed()?.as_secs_f64());
        one.push(direct);
        two.push(routed);
        ratios.push(direct / routed);
    }
    let [one, two, ratio] = [one, two, ratios].map(median);
    println!("{what:<26} {:>12.0} {:>12.0} {ratio:>8.2} {target:>10}", figure(one), figure(two));
    Ok(())
}

fn median(mut all: Vec<f64>) -> f64 {
    all.sort_by(f64::total_cmp);
    all[all.len() / 2]
}

#[expect(clippy::disallowed_methods, reason = "a benchmark measures real time")]
fn now() -> Instant {
    Instant::now()
}

fn timed(work: impl FnOnce() -> Outcome) -> Outcome<Duration> {
    let begun = now();
    work()?;
    Ok(begun.elapsed())
}

/// Takes what it is sent, and says when it has all.
fn sink() -> Outcome<SocketAddr> {
    serve(|mut stream| {
        let mut bytes = vec![0; CHUNK_BYTES];
        while stream.read(&mut bytes)? > 0 {}
        stream.write_all(b"!")
    })
}

/// Answers each request.
fn answers() -> Outcome<SocketAddr> {
    serve(|mut stream| {
        stream.set_nodelay(true)?;
        let mut request = REQUEST;
        loop {
            match stream.read_exact(&mut request) {
                Ok(()) => stream.write_all(&ANSWER)?,
                Err(error) if error.kind() == ErrorKind::UnexpectedEof => return Ok(()),
                Err(error) => return Err(error),
            }
        }
    })
}

fn serve(
    each: impl Fn(TcpStream) -> std::io::Result<()> + Copy + Send + 'static,
) -> Outcome<SocketAddr> {
    let listener = TcpListener::bind("127.0.0.1:0")?;
    let address = listener.local_addr()?;
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || each(stream));
        }
    });
    Ok(address)
}

fn send_bulk(to: SocketAddr) -> Outcome<Duration> {
    let chunk = vec![7; CHUNK_BYTES];
    timed(|| {
        let mut stream = TcpStream::connect(to)?;
        for _ in 0..BULK_BYTES / CHUNK_BYTES {
            stream.write_all(&chunk)?;
        }
        stream.shutdown(std::net::Shutdown::Write)?;
        Ok(stream.read_exact(&mut [0])?)
    })
}

fn ask(stream: &mut TcpStream) -> std::io::Result<()> {
    stream.write_all(&REQUEST)?;
    let mut answer = ANSWER;
    stream.read_exact(&mut answer)
}

fn ask_kept(at: SocketAddr) -> Outcome<Duration> {
    by_clients(move || {
        let mut stream = TcpStream::connect(at)?;
        stream.set_nodelay(true)?;
        (0..REQUESTS).try_for_each(|_| ask(&mut stream))
    })
}

fn ask_new(at: SocketAddr) -> Outcome<Duration> {
    by_clients(move || (0..CONNECTIONS).try_for_each(|_| ask(&mut TcpStream::connect(at)?)))
}

fn by_clients(work: impl Fn() -> std::io::Result<()> + Copy + Send + 'static) -> Outcome<Duration> {
    timed(|| {
        let clients: Vec<_> = (0..CLIENTS).map(|_| thread::spawn(work)).collect();
        for client in clients {
            client.join().map_err(|_| "a client broke off")??;
        }
        Ok(())
    })
}
