//! What the tests start as processes of their own: servers and clients that can be killed, stopped, or somebody else's.

use std::env;
use std::error::Error;
use std::io::Write;
use std::process::ExitCode;
use std::time::Duration;

use bus::{Bus, InProcessBus, Pattern, Requests};
use bus_socket::{Connection, SocketBus, SocketServer};
use tokio::time::timeout;

type Outcome = Result<(), Box<dyn Error + Send + Sync>>;

/// The tests wait no longer than this for anything.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() -> ExitCode {
    let arguments: Vec<String> = env::args().skip(1).collect();
    let words: Vec<&str> = arguments.iter().map(String::as_str).collect();
    match run(&words) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let _ = writeln!(std::io::stderr(), "{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(words: &[&str]) -> Outcome {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        match *words {
            ["server", path] => server(path).await,
            ["echo", path, pattern] => echo_on(path, &pattern.parse()?).await,
            ["count", path, pattern] => count(path, &pattern.parse()?).await,
            ["why", path] => why(path).await,
            _ => Err("use: server PATH | echo PATH PATTERN | count PATH PATTERN | why PATH".into()),
        }
    })
}

/// Has the bus itself, and answers on `echo`.
async fn server(path: &str) -> Outcome {
    let hub = InProcessBus::new();
    let requests = hub.serve(&"echo".parse()?).await?;
    let server = SocketServer::bind(path, hub).await?;
    say("ready")?;
    tokio::join!(server.serve(), echo(requests)).1
}

/// Answers on a bus of another process.
async fn echo_on(path: &str, pattern: &Pattern) -> Outcome {
    let bus = connected(path).await?;
    let requests = bus.serve(pattern).await?;
    say("ready")?;
    echo(requests).await
}

async fn echo(mut requests: Requests) -> Outcome {
    while let Some(request) = requests.next().await {
        let number = std::process::id();
        let answer = format!("{} by {number}", String::from_utf8_lossy(&request.payload));
        request.responder.respond(answer.into())?;
    }
    Ok(())
}

/// Says the number that each message begins with, until one begins with no number.
async fn count(path: &str, pattern: &Pattern) -> Outcome {
    let bus = connected(path).await?;
    let mut messages = bus.subscribe(pattern).await?;
    say("ready")?;
    while let Some(message) = messages.next().await {
        let text = String::from_utf8_lossy(&message.payload);
        let Ok(number) = text.split(' ').next().unwrap_or_default().parse::<u64>() else { break };
        say(&number.to_string())?;
    }
    Ok(())
}

/// Says why there is no connection.
async fn why(path: &str) -> Outcome {
    let bus = SocketBus::connect(path);
    let mut connection = bus.connection();
    let settled = connection.wait_for(|now| !matches!(now, Connection::Connecting));
    match &*timeout(PATIENCE, settled).await?? {
        Connection::Lost(why) => say(&why.to_string()),
        other @ (Connection::Connecting | Connection::Connected | Connection::Closed) => {
            say(&format!("{other:?}"))
        }
    }
}

async fn connected(path: &str) -> Result<SocketBus, Box<dyn Error + Send + Sync>> {
    let bus = SocketBus::connect(path);
    timeout(PATIENCE, bus.connection().wait_for(Connection::is_connected)).await??;
    Ok(bus)
}

fn say(line: &str) -> Outcome {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{line}")?;
    Ok(out.flush()?)
}
