//! Messages with descriptors, between a router and the one that takes its place. Each is two lengths of four bytes, the high
//! ones first, then JSON, then bytes as they are; its descriptors come with its first byte.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, IoSlice, IoSliceMut};
use std::mem::MaybeUninit;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::io::Errno;
use rustix::net::{
    RecvAncillaryBuffer, RecvAncillaryMessage, RecvFlags, SendAncillaryBuffer,
    SendAncillaryMessage, SendFlags, recvmsg, sendmsg,
};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::io::Interest;
use tokio::net::UnixStream;
use tokio::time::sleep;

/// The most descriptors of one message: both ends of a connection.
const DESCRIPTORS_MAX: usize = 2;

/// The longest message: all addresses with all that wait there.
const JSON_BYTES_MAX: usize = 64 * 1024 * 1024;

/// The most bytes of a connection that are on their way, in both directions.
const RAW_BYTES_MAX: usize = 4 * 1024 * 1024;

/// How long sending pauses when so many descriptors are under way that the kernel takes no more.
const PAUSE: Duration = Duration::from_millis(5);

/// The socket between two routers.
#[derive(Debug)]
pub(crate) struct Passage {
    stream: UnixStream,
    /// Those that have come, and whose message is not read to its end yet.
    descriptors: VecDeque<OwnedFd>,
}

/// A message as it came.
#[derive(Debug)]
pub(crate) struct Passed<T> {
    pub(crate) message: T,
    pub(crate) raw: Vec<u8>,
    pub(crate) descriptors: Vec<OwnedFd>,
}

impl Passage {
    pub(crate) fn over(stream: UnixStream) -> Self {
        Self { stream, descriptors: VecDeque::new() }
    }

    /// Sends a message.
    pub(crate) async fn send(
        &self,
        message: &impl Serialize,
        raw: &[&[u8]],
        descriptors: &[BorrowedFd<'_>],
    ) -> io::Result<()> {
        let json = serde_json::to_vec(message)?;
        let raw = raw.concat();
        let too_long = |_| io::Error::from(ErrorKind::InvalidData);
        let lengths = [json.len(), raw.len()].map(u32::try_from);
        let [json_length, raw_length] = lengths;
        let mut bytes = json_length.map_err(too_long)?.to_be_bytes().to_vec();
        bytes.extend(raw_length.map_err(too_long)?.to_be_bytes());
        bytes.extend(json);
        bytes.extend(raw);
        let (mut rest, mut descriptors) = (bytes.as_slice(), descriptors);
        while !rest.is_empty() {
            let sent = self
                .stream
                .async_io(Interest::WRITABLE, || send_some(&self.stream, rest, descriptors));
            match sent.await {
                Ok(sent) => {
                    rest = rest.get(sent..).unwrap_or_default();
                    descriptors = &[];
                }
                Err(error) if is_full(&error) => sleep(PAUSE).await,
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// The next message; none when the other side is gone, also in the middle of one.
    pub(crate) async fn next<T: DeserializeOwned>(&mut self) -> io::Result<Option<Passed<T>>> {
        let Some(lengths) = self.read(8).await? else { return Ok(None) };
        let length = |at: usize| {
            let bytes = lengths.get(at..at + 4).and_then(|bytes| bytes.try_into().ok());
            bytes.map_or(usize::MAX, |bytes| u32::from_be_bytes(bytes) as usize)
        };
        let (json, raw) = (length(0), length(4));
        if json > JSON_BYTES_MAX || raw > RAW_BYTES_MAX {
            return Err(io::Error::new(ErrorKind::InvalidData, "a message is too long"));
        }
        let Some(json) = self.read(json).await? else { return Ok(None) };
        let Some(raw) = self.read(raw).await? else { return Ok(None) };
        let message = serde_json::from_slice(&json)?;
        Ok(Some(Passed { message, raw, descriptors: self.descriptors.drain(..).collect() }))
    }

    async fn read(&mut self, length: usize) -> io::Result<Option<Vec<u8>>> {
        let mut bytes = Vec::new();
        let mut chunk = vec![0; length.min(64 * 1024)];
        while bytes.len() < length {
            let wanted = chunk.len().min(length - bytes.len());
            let into = chunk.get_mut(..wanted).unwrap_or_default();
            let descriptors = &mut self.descriptors;
            let received = self
                .stream
                .async_io(Interest::READABLE, || receive_some(&self.stream, into, descriptors));
            match received.await {
                Ok(0) => return Ok(None),
                Ok(received) => bytes.extend_from_slice(chunk.get(..received).unwrap_or_default()),
                Err(error) if error.kind() == ErrorKind::ConnectionReset => return Ok(None),
                Err(error) => return Err(error),
            }
        }
        Ok(Some(bytes))
    }
}

fn is_full(error: &io::Error) -> bool {
    error.raw_os_error().map(Errno::from_raw_os_error) == Some(Errno::TOOMANYREFS)
}

fn send_some(
    stream: &UnixStream,
    bytes: &[u8],
    descriptors: &[BorrowedFd<'_>],
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = SendAncillaryBuffer::new(&mut space);
    if !descriptors.is_empty() && !control.push(SendAncillaryMessage::ScmRights(descriptors)) {
        return Err(ErrorKind::InvalidInput.into());
    }
    Ok(sendmsg(stream, &[IoSlice::new(bytes)], &mut control, SendFlags::NOSIGNAL)?)
}

fn receive_some(
    stream: &UnixStream,
    into: &mut [u8],
    descriptors: &mut VecDeque<OwnedFd>,
) -> io::Result<usize> {
    let mut space = [MaybeUninit::uninit(); rustix::cmsg_space!(ScmRights(DESCRIPTORS_MAX))];
    let mut control = RecvAncillaryBuffer::new(&mut space);
    let flags = RecvFlags::CMSG_CLOEXEC;
    let received = recvmsg(stream, &mut [IoSliceMut::new(into)], &mut control, flags)?;
    for message in control.drain() {
        if let RecvAncillaryMessage::ScmRights(rights) = message {
            descriptors.extend(rights);
        }
    }
    Ok(received.bytes)
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::fd::AsFd;

    use super::*;

    #[tokio::test]
    async fn a_message_brings_its_own_descriptors() {
        let (one, two) = UnixStream::pair().unwrap();
        let (one, mut two) = (Passage::over(one), Passage::over(two));
        let (mut read, write) = std::io::pipe().unwrap();
        one.send(&"first", &[b"ab", b"c"], &[write.as_fd(), read.as_fd()]).await.unwrap();
        one.send(&"second", &[], &[]).await.unwrap();
        drop((one, write));
        let first: Passed<String> = two.next().await.unwrap().unwrap();
        assert_eq!((first.message.as_str(), first.raw.as_slice()), ("first", &b"abc"[..]));
        let [write, _read] = <[OwnedFd; 2]>::try_from(first.descriptors).unwrap();
        File::from(write).write_all(b"through").unwrap();
        let second: Passed<String> = two.next().await.unwrap().unwrap();
        assert!(second.descriptors.is_empty());
        assert!(two.next::<String>().await.unwrap().is_none());
        let mut text = String::new();
        read.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[tokio::test]
    async fn a_message_that_breaks_off_is_none() {
        let (one, two) = UnixStream::pair().unwrap();
        one.writable().await.unwrap();
        one.try_write(b"\0\0\0\x09\0\0\0\0\"so f").unwrap();
        drop(one);
        assert!(Passage::over(two).next::<String>().await.unwrap().is_none());
    }
}
