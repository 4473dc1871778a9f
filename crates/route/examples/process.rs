//! What the tests start as processes of their own: routers, programs behind them, and engines.

use std::collections::BTreeMap;
use std::env;
use std::error::Error;
use std::future::pending;
use std::io::Write;
use std::net::SocketAddr;
use std::process::ExitCode;
use std::time::Duration;

use route::{Config, READY, Router, RouterClient, Table, To};
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// No process of a test goes on for longer without anybody who knows it.
const ORPHAN_AFTER: Duration = Duration::from_secs(120);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stdout(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match *words {
            ["router", socket, version] => router(socket, version, ORPHAN_AFTER).await,
            ["router", socket, version, orphan] => {
                router(socket, version, Duration::from_millis(orphan.parse()?)).await
            }
            ["server", name, address] => server(name, address.parse()?).await,
            ["engine", socket, from, to] => engine(socket, from.parse()?, to.parse()?).await,
            _ => {
                Err("router SOCKET VERSION [MS] | server NAME ADDRESS | engine SOCKET FROM TO"
                    .into())
            }
        }
    })
}

async fn router(socket: &str, version: &str, orphan_after: Duration) -> Outcome {
    let _ = rustix::process::setsid();
    let config = Config {
        socket: socket.into(),
        version: version.to_owned(),
        orphan_after: Some(orphan_after),
        say: Box::new(|line| drop(writeln!(std::io::stderr(), "{line}"))),
    };
    let router = Router::begin(config).await?;
    say(READY)?;
    router.run(pending()).await;
    Ok(())
}

/// Answers each line with its own name and the line, until the other side has said all.
async fn server(name: &str, address: SocketAddr) -> Outcome {
    let listener = TcpListener::bind(address).await?;
    say(&listener.local_addr()?.to_string())?;
    loop {
        let (stream, _) = listener.accept().await?;
        let name = name.to_owned();
        tokio::spawn(async move { answer(stream, &name).await });
    }
}

async fn answer(mut stream: TcpStream, name: &str) -> std::io::Result<()> {
    stream.set_nodelay(true)?;
    let (from, mut to) = stream.split();
    let mut lines = BufReader::new(from).lines();
    while let Some(line) = lines.next_line().await? {
        to.write_all(format!("{name} {line}\n").as_bytes()).await?;
    }
    Ok(())
}

/// Has one address forwarded, and stays.
async fn engine(socket: &str, from: SocketAddr, to: SocketAddr) -> Outcome {
    let client = RouterClient::connect(socket.as_ref()).await?;
    let table = Table(BTreeMap::from([(from, To::Forward { to: vec![to] })]));
    let faults = client.set(&table).await?;
    say(&format!("{} faults", faults.len()))?;
    say(&client.gone().await.to_string())
}

fn say(line: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
