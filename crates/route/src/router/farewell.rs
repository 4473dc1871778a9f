//! How a connection is ended so that the other side gets all that was said: it is shut for writing, and what still comes is
//! read for a moment. Closed at once, it would be reset as soon as something comes, and what was said last would be lost.

use std::time::Duration;

use rustix::net::{Shutdown, shutdown};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::table::Refusal;

/// How long the other side may take to see the end.
const LINGER: Duration = Duration::from_secs(1);

/// How long a request may take that is only refused.
const REQUEST_MAX: Duration = Duration::from_secs(2);

/// The most that is read of such a request: its head.
const REQUEST_BYTES_MAX: usize = 16 * 1024;

/// When whoever was refused may come again, in seconds: a program that is started has answered by then, or takes longer.
const RETRY_AFTER_SECONDS: u32 = 2;

/// How long a farewell takes at most.
pub(super) const FAREWELL_MAX: Duration = LINGER.saturating_add(REQUEST_MAX);

/// Ends a connection that was never forwarded.
pub(super) async fn refuse(mut stream: TcpStream, refusal: Refusal) {
    if let Refusal::Http { why } = refusal {
        // Many a client takes an answer amiss that comes before it has asked.
        let _ = timeout(REQUEST_MAX, read_head(&mut stream)).await;
        let _ = timeout(LINGER, stream.write_all(response(&why).as_bytes())).await;
    }
    hang_up(stream).await;
}

/// Ends a connection on which all was said.
pub(super) async fn hang_up(mut stream: TcpStream) {
    let _ = shutdown(&stream, Shutdown::Write);
    let rest = async {
        let mut bytes = [0; 4096];
        while stream.read(&mut bytes).await.is_ok_and(|length| length > 0) {}
    };
    let _ = timeout(LINGER, rest).await;
}

/// Reads until a request's head is over, or is too long, or does not come.
async fn read_head(stream: &mut TcpStream) {
    let mut head = Vec::new();
    let mut bytes = [0; 4096];
    while head.len() < REQUEST_BYTES_MAX && !head.windows(4).any(|part| part == b"\r\n\r\n") {
        match stream.read(&mut bytes).await {
            Ok(0) | Err(_) => return,
            Ok(length) => head.extend_from_slice(bytes.get(..length).unwrap_or_default()),
        }
    }
}

fn response(why: &str) -> String {
    format!(
        "HTTP/1.1 503 Service Unavailable\r\nRetry-After: {RETRY_AFTER_SECONDS}\r\n\
         Content-Type: text/plain; charset=utf-8\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{why}\n",
        why.len() + 1
    )
}
