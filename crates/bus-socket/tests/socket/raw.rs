//! The ends of a connection by hand: bytes as they are on the socket, right ones and others.

use std::path::Path;

use bus_socket::SocketBus;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWriteExt};
use tokio::net::{UnixListener, UnixStream};
use tokio::time::timeout;

use crate::served::PATIENCE;

pub(crate) const HELLO: &[u8] = b"bwbus\x01";

/// A frame of this kind: its fields, each as its bytes.
pub(crate) fn frame(kind: u8, fields: &[&[u8]]) -> Vec<u8> {
    let body = fields.concat();
    let length = u32::try_from(1 + body.len()).unwrap().to_be_bytes();
    [&length[..], &[kind], &body].concat()
}

pub(crate) fn number(number: u64) -> [u8; 8] {
    number.to_be_bytes()
}

pub(crate) fn text(text: &str) -> Vec<u8> {
    [&u16::try_from(text.len()).unwrap().to_be_bytes()[..], text.as_bytes()].concat()
}

pub(crate) fn publish(on: &str, payload: &[u8]) -> Vec<u8> {
    frame(0x01, &[&text(on), payload])
}

pub(crate) fn subscribe(id: u64, pattern: &str) -> Vec<u8> {
    frame(0x02, &[&number(id), &text(pattern)])
}

pub(crate) fn serve(id: u64, pattern: &str) -> Vec<u8> {
    frame(0x03, &[&number(id), &text(pattern)])
}

pub(crate) fn request(id: u64, on: &str, payload: &[u8]) -> Vec<u8> {
    frame(0x05, &[&number(id), &number(60_000), &text(on), payload])
}

pub(crate) fn welcome() -> Vec<u8> {
    frame(0x80, &[])
}

pub(crate) fn goodbye(why: &str) -> Vec<u8> {
    frame(0x87, &[&text(why)])
}

/// Somebody at a server's socket.
pub(crate) struct Raw<S = UnixStream>(pub(crate) S);

impl Raw {
    pub(crate) async fn connect(path: &Path) -> Self {
        Self(UnixStream::connect(path).await.unwrap())
    }

    /// Says all this; a server that has hung up already need not hear it.
    pub(crate) async fn say(&mut self, bytes: &[u8]) {
        let _ = timeout(PATIENCE, self.0.write_all(bytes)).await.unwrap();
    }
}

impl<S: AsyncRead + Unpin> Raw<S> {
    /// All that the server says until it hangs up.
    pub(crate) async fn hear_out(&mut self) -> Vec<u8> {
        let mut said = Vec::new();
        // A reset is an end as well.
        let _ = timeout(PATIENCE, self.0.read_to_end(&mut said)).await.unwrap();
        said
    }

    /// The kind and the fields of the next frame.
    pub(crate) async fn next(&mut self) -> (u8, Vec<u8>) {
        let next = async {
            let length = self.0.read_u32().await.unwrap();
            let mut body = vec![0; length as usize];
            self.0.read_exact(&mut body).await.unwrap();
            let fields = body.split_off(1);
            (body[0], fields)
        };
        timeout(PATIENCE, next).await.unwrap()
    }

    /// Hears that it is served.
    pub(crate) async fn hear_welcome(&mut self) {
        self.hear_hello().await;
        assert_eq!(self.next().await, (0x80, Vec::new()));
    }

    pub(crate) async fn hear_hello(&mut self) {
        let mut hello = [0; HELLO.len()];
        timeout(PATIENCE, self.0.read_exact(&mut hello)).await.unwrap().unwrap();
        assert_eq!(hello, HELLO);
    }
}

/// A server that says just this to everyone who comes, and takes whatever it is told.
pub(crate) fn server_that_says(path: &Path, bytes: Vec<u8>) -> SocketBus {
    let listener = UnixListener::bind(path).unwrap();
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.unwrap();
            let (mut from, mut to) = stream.into_split();
            let _ = to.write_all(&bytes).await;
            tokio::spawn(async move {
                let _ = tokio::io::copy(&mut from, &mut tokio::io::sink()).await;
                drop(to);
            });
        }
    });
    SocketBus::connect(path)
}
