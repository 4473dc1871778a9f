//! The `http` check: one GET, and what is made of the answer.

use std::net::SocketAddr;

use host::CheckFailed;
use tokio::io::{AsyncReadExt, AsyncWriteExt};

use super::connect;

/// Most bytes of an answer that are read. A health page is a few; one that is longer is not read to its end.
const ANSWER_BYTES_MAX: usize = 256 * 1024;

/// What an answer, as far as it was read, says.
#[derive(Debug, PartialEq, Eq)]
enum Verdict {
    Passes,
    Fails(String),
    /// More of it must be read.
    Open(String),
}

/// A GET of `path` answers with a 2xx status, and with a body that contains `wanted` if that is given.
pub(crate) async fn http(
    address: SocketAddr,
    path: &str,
    wanted: Option<&str>,
) -> Result<(), CheckFailed> {
    let mut stream = connect(address).await?;
    let request = format!(
        "GET {path} HTTP/1.1\r\nHost: {address}\r\nUser-Agent: bellwether\r\nAccept: */*\r\nConnection: close\r\n\r\n"
    );
    let broken = |error| CheckFailed(format!("GET {path}: {error}"));
    stream.write_all(request.as_bytes()).await.map_err(broken)?;
    let mut answer = Vec::new();
    let mut chunk = [0; 8 * 1024];
    loop {
        let length = stream.read(&mut chunk).await.map_err(broken)?;
        answer.extend_from_slice(chunk.get(..length).unwrap_or_default());
        let verdict = judge(&answer, wanted);
        match verdict {
            Verdict::Passes => return Ok(()),
            Verdict::Fails(why) => return Err(CheckFailed(format!("GET {path}: {why}"))),
            Verdict::Open(why) if length == 0 || answer.len() >= ANSWER_BYTES_MAX => {
                return Err(CheckFailed(format!("GET {path}: {why}")));
            }
            Verdict::Open(_) => {}
        }
    }
}

fn judge(answer: &[u8], wanted: Option<&str>) -> Verdict {
    let Some(end) = find(answer, b"\r\n") else {
        return Verdict::Open("the answer has no status line".to_owned());
    };
    let line = String::from_utf8_lossy(answer.get(..end).unwrap_or_default());
    let mut words = line.split(' ');
    let is_http = words.next().is_some_and(|version| version.starts_with("HTTP/1."));
    let status = words.next().and_then(|word| word.parse::<u16>().ok()).filter(|_| is_http);
    match status {
        None => return Verdict::Fails("the answer is not HTTP".to_owned()),
        Some(200..=299) => {}
        Some(status) => return Verdict::Fails(format!("status {status}")),
    }
    let Some(wanted) = wanted else { return Verdict::Passes };
    let missing = || Verdict::Open(format!("the body does not contain `{wanted}`"));
    let Some(head) = find(answer, b"\r\n\r\n") else { return missing() };
    let (head, body) = answer.split_at(head + 4);
    let head = String::from_utf8_lossy(head).to_ascii_lowercase();
    let is_chunked = head.lines().any(|line| {
        line.strip_prefix("transfer-encoding:").is_some_and(|value| value.contains("chunked"))
    });
    let body = if is_chunked { joined(body) } else { body.to_vec() };
    if find(&body, wanted.as_bytes()).is_some() { Verdict::Passes } else { missing() }
}

/// The chunks of a body, as far as they are there, joined.
fn joined(mut chunked: &[u8]) -> Vec<u8> {
    let mut body = Vec::new();
    while let Some(end) = find(chunked, b"\r\n") {
        let size = String::from_utf8_lossy(chunked.get(..end).unwrap_or_default());
        let size = size.split(';').next().unwrap_or_default().trim();
        let Ok(size) = usize::from_str_radix(size, 16) else { break };
        let rest = chunked.get(end + 2..).unwrap_or_default();
        body.extend_from_slice(rest.get(..size).unwrap_or(rest));
        match size.checked_add(2).and_then(|next| rest.get(next..)) {
            Some(next) if size > 0 => chunked = next,
            _ => break,
        }
    }
    body
}

fn find(text: &[u8], part: &[u8]) -> Option<usize> {
    if part.is_empty() {
        return Some(0);
    }
    text.windows(part.len()).position(|window| window == part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn which_answers_pass() {
        let open = |why: &str| Verdict::Open(why.to_owned());
        let fails = |why: &str| Verdict::Fails(why.to_owned());
        let no_ready = || open("the body does not contain `ready`");
        let chunked = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nrea\r\n2;x=y\r\ndy\r\n0\r\n\r\n";
        for (answer, wanted, expected) in [
            ("", None, open("the answer has no status line")),
            ("HTTP/1.1 200", None, open("the answer has no status line")),
            ("HTTP/1.1 200 OK\r\n", None, Verdict::Passes),
            ("HTTP/1.0 204 No Content\r\n", None, Verdict::Passes),
            ("HTTP/1.1 302 Found\r\n", None, fails("status 302")),
            ("HTTP/1.1 503 Busy\r\n", None, fails("status 503")),
            ("SSH-2.0-OpenSSH_9\r\n", None, fails("the answer is not HTTP")),
            ("HTTP/2 200\r\n", None, fails("the answer is not HTTP")),
            ("HTTP/1.1 200 OK\r\n\r\nready", Some("ready"), Verdict::Passes),
            ("HTTP/1.1 200 OK\r\n\r\nrea", Some("ready"), no_ready()),
            ("HTTP/1.1 200 OK\r\nX: ready\r\n", Some("ready"), no_ready()),
            ("HTTP/1.1 200 OK\r\nX: ready\r\n\r\nno", Some("ready"), no_ready()),
            ("HTTP/1.1 500 Oh\r\n\r\nready", Some("ready"), fails("status 500")),
            (chunked, Some("ready"), Verdict::Passes),
            (&chunked[..chunked.len() - 9], Some("ready"), no_ready()),
        ] {
            assert_eq!(judge(answer.as_bytes(), wanted), expected, "{answer:?}");
        }
    }

    #[test]
    fn a_chunk_that_claims_too_much_gives_what_is_there() {
        assert_eq!(joined(b"ffffffffffffffff\r\nabc"), b"abc");
        assert_eq!(joined(b"x\r\nabc"), b"");
        assert_eq!(joined(b""), b"");
    }
}
