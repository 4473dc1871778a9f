//! The ends of a router's socket by hand: bytes as they are on it, right ones and others.

use tokio::io::AsyncReadExt;
use tokio::net::UnixStream;

use crate::world::soon;

pub(crate) const ENGINE: &str = r#"{"protocol":1,"role":"engine"}"#;
pub(crate) const HEIR: &str = r#"{"protocol":1,"role":"heir"}"#;

/// A message between an engine and a router.
pub(crate) fn message(json: &str) -> Vec<u8> {
    [&length(json)[..], json.as_bytes()].concat()
}

/// A message between two routers, without bytes and descriptors.
pub(crate) fn passing(json: &str) -> Vec<u8> {
    [&length(json)[..], &[0; 4], json.as_bytes()].concat()
}

fn length(json: &str) -> [u8; 4] {
    u32::try_from(json.len()).unwrap().to_be_bytes()
}

/// What the next message between an engine and a router says; none at the end.
pub(crate) async fn said(stream: &mut UnixStream) -> Option<String> {
    let read = async {
        let length = stream.read_u32().await.ok()?;
        let mut json = vec![0; length as usize];
        stream.read_exact(&mut json).await.ok()?;
        String::from_utf8(json).ok()
    };
    soon("a message", read).await
}

/// What the next message between two routers says. Its descriptors are closed unseen.
pub(crate) async fn passed(stream: &mut UnixStream) -> String {
    let read = async {
        let (json, raw) = (stream.read_u32().await.unwrap(), stream.read_u32().await.unwrap());
        let mut bytes = vec![0; (json + raw) as usize];
        stream.read_exact(&mut bytes).await.unwrap();
        bytes.truncate(json as usize);
        String::from_utf8(bytes).unwrap()
    };
    soon("a message", read).await
}
