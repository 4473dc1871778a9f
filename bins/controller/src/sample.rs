//! The service that `dev` releases: it reads its settings, and answers on HTTP with the greeting that they hold.
//!
//! Its builds differ in nothing but `sample.conf`, and the bad one is bad the way that bad builds are: its settings have
//! a slip of the pen, so the program says so and ends, each time it is started.

use std::{
    fs, io,
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use clap::Args;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    time::timeout,
};

use crate::failure::{Failure, FailureKind, chain};

/// The file that it reads, in the folder it starts in.
pub(crate) const SETTINGS: &str = "sample.conf";

/// The longest head of a request, in bytes: far more than any `curl` says.
const HEAD_BYTES_MAX: usize = 8 * 1024;

/// How long somebody may take to say one.
const PATIENCE: Duration = Duration::from_secs(5);

#[derive(Debug, Args)]
pub(crate) struct SampleFlags {
    /// The port to listen on, on loopback
    #[arg(long)]
    port: u16,
}

/// Why it ends.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SampleError {
    /// Its settings make no sense.
    #[error("{SETTINGS}:{0}")]
    Settings(SettingsError),
    /// It cannot read them, or cannot listen.
    #[error("{what}")]
    Io {
        /// What was being done.
        what: String,
        /// How it failed.
        #[source]
        source: io::Error,
    },
}

/// What is wrong with the settings, and in which line.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum SettingsError {
    /// Nobody knows this setting.
    #[error("{line}: there is no setting `{name}`; the one that is known is `greeting`")]
    Unknown {
        /// In which line.
        line: usize,
        /// What is written there.
        name: String,
    },
    /// Nothing says how to greet.
    #[error("1: the setting `greeting` is missing")]
    Missing,
}

impl From<SampleError> for Failure {
    /// Settings that make no sense are refused, with the exit status for that.
    fn from(error: SampleError) -> Self {
        let kind = match error {
            SampleError::Settings(_) => FailureKind::Refused,
            SampleError::Io { .. } => FailureKind::Failed,
        };
        Self::new(kind, chain(&error))
    }
}

/// The greeting that the settings hold.
fn greeting(settings: &str) -> Result<&str, SettingsError> {
    let mut found = None;
    for (index, line) in settings.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        match line.split_once('=').map(|(name, value)| (name.trim(), value.trim())) {
            Some(("greeting", value)) => found = Some(value),
            Some((name, _)) => {
                return Err(SettingsError::Unknown { line: index + 1, name: name.to_owned() });
            }
            None => {
                return Err(SettingsError::Unknown { line: index + 1, name: line.to_owned() });
            }
        }
    }
    found.ok_or(SettingsError::Missing)
}

/// Serves until it is killed.
pub(crate) async fn serve(flags: &SampleFlags) -> Result<(), SampleError> {
    let io = |what: String| |source| SampleError::Io { what, source };
    let settings = fs::read_to_string(SETTINGS).map_err(io(format!("cannot read {SETTINGS}")))?;
    let greeting = greeting(&settings).map_err(SampleError::Settings)?.to_owned();
    let address = SocketAddr::from((Ipv4Addr::LOCALHOST, flags.port));
    let listener =
        TcpListener::bind(address).await.map_err(io(format!("cannot listen on {address}")))?;
    loop {
        let (stream, _) =
            listener.accept().await.map_err(io(format!("cannot accept on {address}")))?;
        let greeting = greeting.clone();
        tokio::spawn(async move {
            // Whoever asked and went away needs no answer.
            let _ = timeout(PATIENCE, converse(stream, &greeting)).await;
        });
    }
}

async fn converse(mut stream: TcpStream, greeting: &str) -> io::Result<()> {
    let mut head = Vec::new();
    while !head.windows(4).any(|end| end == b"\r\n\r\n") {
        if head.len() > HEAD_BYTES_MAX || stream.read_buf(&mut head).await? == 0 {
            return Ok(());
        }
    }
    let line = head.split(|byte| *byte == b'\r').next().unwrap_or_default();
    let (status, body) = match line {
        line if line.starts_with(b"GET / ") => ("200 OK", greeting),
        line if line.starts_with(b"GET /healthz ") => ("200 OK", "healthy"),
        _ => ("404 Not Found", "here are only / and /healthz"),
    };
    let length = body.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\nconnection: close\r\n\r\n{body}\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    stream.shutdown().await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_hold_a_greeting_and_nothing_unknown() {
        assert_eq!(greeting("\n  greeting = hello from v1 \n"), Ok("hello from v1"));
        assert_eq!(greeting(""), Err(SettingsError::Missing));
        for (settings, line, name) in [
            ("greting = hello", 1, "greting"),
            ("greeting = hello\n\ncolour = red", 3, "colour"),
            ("hello", 1, "hello"),
        ] {
            let name = name.to_owned();
            assert_eq!(greeting(settings), Err(SettingsError::Unknown { line, name }));
        }
    }

    #[tokio::test]
    async fn it_answers_who_asks_for_what_it_has() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        for (request, status, body) in [
            ("GET / HTTP/1.1\r\nhost: x\r\n\r\n", "200", "hello\n"),
            ("GET /healthz HTTP/1.0\r\n\r\n", "200", "healthy\n"),
            ("GET /secret HTTP/1.1\r\n\r\n", "404", "here are only / and /healthz\n"),
        ] {
            let mut client = TcpStream::connect(address).await.unwrap();
            let (server, _) = listener.accept().await.unwrap();
            client.write_all(request.as_bytes()).await.unwrap();
            converse(server, "hello").await.unwrap();
            let mut answer = String::new();
            client.read_to_string(&mut answer).await.unwrap();
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{answer}");
            assert!(answer.ends_with(&format!("\r\n\r\n{body}")), "{answer}");
        }
    }
}
