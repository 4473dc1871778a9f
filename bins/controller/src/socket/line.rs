//! The lines on the socket: their form, their version and their bounds.

use serde::{Deserialize, Serialize, de::DeserializeOwned};
use tokio::io::{AsyncBufRead, AsyncBufReadExt, AsyncReadExt};
use wire::api::{Answer, Ask};

/// The version of the lines that this code writes and reads.
pub(crate) const VERSION: u32 = 1;

/// The longest request, in bytes. The largest is a registration: a manifest and the digests of its artifacts.
pub(crate) const REQUEST_BYTES_MAX: u64 = 1024 * 1024;

/// The longest answer, in bytes: every resource of every machine of a large fleet.
pub(crate) const ANSWER_BYTES_MAX: u64 = 256 * 1024 * 1024;

/// `{"version":1,"request":{"ask":"machines"}}`
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Request {
    pub(crate) request: Ask,
}

/// `{"version":1,"answer":{"answer":"machines","with":[]}}`
#[derive(Debug, Serialize, Deserialize)]
pub(crate) struct Reply {
    pub(crate) answer: Answer,
}

#[derive(Serialize)]
struct Versioned<'a, T> {
    version: u32,
    #[serde(flatten)]
    body: &'a T,
}

#[derive(Deserialize)]
struct VersionOnly {
    version: u32,
}

/// Why there is no line, or none that means something.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    /// Longer than the bound.
    #[error("a line has at most {bytes_max} bytes")]
    TooLong {
        /// The bound.
        bytes_max: u64,
    },
    /// The other side ended in the middle of a line.
    #[error("the line has no end")]
    NoEnd,
    /// Not JSON, or not of the form that its version has.
    #[error("the line cannot be understood")]
    Form(#[source] serde_json::Error),
    /// Of a version that this code does not know.
    #[error(
        "version {version} of the socket's lines is spoken, and only {VERSION} is known here; use the program that the controller runs"
    )]
    Version {
        /// The version found.
        version: u32,
    },
    /// The socket failed.
    #[error(transparent)]
    Io(#[from] std::io::Error),
}

/// The next line, without its end; none when the other side has said all.
pub(crate) async fn read(
    from: &mut (impl AsyncBufRead + Unpin),
    bytes_max: u64,
) -> Result<Option<Vec<u8>>, LineError> {
    let mut line = Vec::new();
    from.take(bytes_max + 1).read_until(b'\n', &mut line).await?;
    match line.pop() {
        None => Ok(None),
        Some(b'\n') => Ok(Some(line)),
        Some(_) if line.len() as u64 >= bytes_max => Err(LineError::TooLong { bytes_max }),
        Some(_) => Err(LineError::NoEnd),
    }
}

/// The line that says this.
pub(crate) fn encode<T: Serialize>(body: &T) -> Result<Vec<u8>, LineError> {
    let mut line =
        serde_json::to_vec(&Versioned { version: VERSION, body }).map_err(LineError::Form)?;
    line.push(b'\n');
    Ok(line)
}

/// What a line says. The version is looked at first, so that a later version is refused for what it is and not for a
/// field that it spells otherwise.
pub(crate) fn decode<T: DeserializeOwned>(line: &[u8]) -> Result<T, LineError> {
    let VersionOnly { version } = serde_json::from_slice(line).map_err(LineError::Form)?;
    if version != VERSION {
        return Err(LineError::Version { version });
    }
    serde_json::from_slice(line).map_err(LineError::Form)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_comes_back_as_it_went() {
        let plan = "01ARZ3NDEKTSV4RRFFQ69G5FAV".parse().unwrap();
        for (ask, line) in [
            (Ask::Machines, r#"{"version":1,"request":{"ask":"machines"}}"#),
            (
                Ask::Stop { plan },
                r#"{"version":1,"request":{"ask":"stop","plan":"01ARZ3NDEKTSV4RRFFQ69G5FAV"}}"#,
            ),
        ] {
            let encoded = encode(&Request { request: ask.clone() }).unwrap();
            assert_eq!(String::from_utf8(encoded).unwrap(), format!("{line}\n"));
            assert_eq!(decode::<Request>(line.as_bytes()).unwrap().request, ask);
        }
    }

    #[test]
    fn what_is_no_request_is_told_apart() {
        let decode = |line: &str| decode::<Request>(line.as_bytes()).unwrap_err().to_string();
        assert!(decode(r#"{"version":2,"request":{"tell":"machines"}}"#).starts_with("version 2 "));
        for line in ["", "machines", "{}", r#"{"version":1,"request":{"ask":"tea"}}"#] {
            assert_eq!(decode(line), "the line cannot be understood", "{line}");
        }
    }

    #[tokio::test]
    async fn lines_are_bounded_and_whole() {
        let mut from = &b"four\nand\n"[..];
        assert_eq!(read(&mut from, 4).await.unwrap().unwrap(), b"four");
        assert_eq!(read(&mut from, 4).await.unwrap().unwrap(), b"and");
        assert!(read(&mut from, 4).await.unwrap().is_none());
        assert!(matches!(read(&mut &b"five5\n"[..], 4).await, Err(LineError::TooLong { .. })));
        assert!(matches!(read(&mut &b"cut"[..], 4).await, Err(LineError::NoEnd)));
    }
}
