//! What goes over the socket: a hello from each side, and after it frames.
//!
//! ```text
//! hello   "bwbus" version(1)            the first bytes in both directions, in every version
//! frame   length(4) kind(1) fields      the length counts what comes after it
//!
//! client                                server
//! hello                       ◄──►      hello
//!                             ◄──       welcome, or goodbye
//! publish                     ──►
//! subscribe or serve          ──►
//!                             ◄──       stands, then messages or requests
//! answer or no answer         ──►       to each request
//! leave                       ──►
//! ask                         ──►
//!                             ◄──       answered, nobody serves or not taken; nothing when the time is over
//! forget                      ──►
//!                             ◄──       goodbye, at any time the last
//! ```
//!
//! A number has 8 bytes, the high ones first; a text its length in 2 bytes before it. A payload is the last field of
//! its frame, and goes to the frame's end.

mod fields;
mod to_client;
mod to_server;

use bus::{PAYLOAD_BYTES_MAX, SUBJECT_BYTES_MAX, SubjectError, TooLarge};
use thiserror::Error;

use fields::Fields;
pub(crate) use to_client::ToClient;
pub(crate) use to_server::ToServer;

/// The version of the frames that this code writes and reads.
pub(crate) const VERSION: u8 = 1;

/// What every hello begins with.
pub(crate) const MAGIC: [u8; 5] = *b"bwbus";

/// The longest frame, by what its length counts: a kind, two numbers, the longest subject, and the largest payload.
const FRAME_BYTES_MAX: usize = 1 + 2 * 8 + 2 + SUBJECT_BYTES_MAX + PAYLOAD_BYTES_MAX;

/// The bytes of a frame's length.
const LENGTH_BYTES: usize = 4;

/// A client's subscription, or its serving of a pattern. Numbered by the client, and the same on each of its
/// connections.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct RegistrationId(pub(crate) u64);

/// A request that a client asks. Numbered by the client, anew on each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct AskId(pub(crate) u64);

/// A request that is handed to a client, which serves it. Numbered by the server, anew on each connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct HandedId(pub(crate) u64);

/// Something that is said in one direction.
pub(crate) trait Frame: Sized {
    /// Writes the kind and the fields.
    fn write(&self, to: &mut Vec<u8>);

    /// Reads the fields of this kind.
    fn read(kind: u8, fields: &mut Fields<'_>) -> Result<Self, FrameError>;
}

/// Why bytes are no frame.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub enum FrameError {
    /// Over the bound. Nothing of it was kept.
    #[error("a frame of {bytes} bytes is too long, the most is {FRAME_BYTES_MAX}")]
    TooLong {
        /// Its length, as it says itself.
        bytes: usize,
    },
    /// A kind that this direction does not have.
    #[error("there is no frame of kind {0}")]
    UnknownKind(u8),
    /// It ends before its last field does.
    #[error("a frame ends within a field")]
    Cut,
    /// It goes on after its last field.
    #[error("a frame has {bytes} bytes after its last field")]
    Trailing {
        /// How many.
        bytes: usize,
    },
    /// A text is not UTF-8.
    #[error("a text of a frame is not UTF-8")]
    NotText,
    /// A text is no subject or pattern.
    #[error(transparent)]
    Subject(#[from] SubjectError),
    /// The payload is over the port's bound.
    #[error(transparent)]
    Payload(#[from] TooLarge),
}

/// Writes `frame` behind what is in `to`.
pub(crate) fn append(frame: &impl Frame, to: &mut Vec<u8>) {
    let start = to.len();
    to.extend([0; LENGTH_BYTES]);
    frame.write(to);
    // Every field is bounded, so the length is far below what four bytes hold.
    let length = (to.len() - start - LENGTH_BYTES) as u32;
    to[start..start + LENGTH_BYTES].copy_from_slice(&length.to_be_bytes());
}

/// The first frame of `bytes`, and how many of them it takes; none while it is not whole.
pub(crate) fn first<F: Frame>(bytes: &[u8]) -> Result<Option<(F, usize)>, FrameError> {
    let Some((length, rest)) = bytes.split_first_chunk::<LENGTH_BYTES>() else { return Ok(None) };
    let length = u32::from_be_bytes(*length) as usize;
    if length > FRAME_BYTES_MAX {
        return Err(FrameError::TooLong { bytes: length });
    }
    let Some(body) = rest.get(..length) else { return Ok(None) };
    let mut fields = Fields::of(body);
    let kind = fields.byte()?;
    let frame = F::read(kind, &mut fields)?;
    fields.end()?;
    Ok(Some((frame, LENGTH_BYTES + length)))
}

#[cfg(test)]
mod tests {
    use bus::Bytes;
    use proptest::prelude::*;

    use super::*;

    fn bytes(frame: &impl Frame) -> Vec<u8> {
        let mut bytes = Vec::new();
        append(frame, &mut bytes);
        bytes
    }

    #[test]
    fn frames_are_these_bytes() {
        let publish = ToServer::Publish {
            subject: "a.b".parse().unwrap(),
            payload: Bytes::from_static(b"hi"),
        };
        assert_eq!(bytes(&publish), b"\x00\x00\x00\x08\x01\x00\x03a.bhi");
        let asked = ToClient::Asked {
            registration: RegistrationId(2),
            id: HandedId(258),
            subject: "a".parse().unwrap(),
            payload: Bytes::new(),
        };
        let expected = b"\x00\x00\x00\x14\x83\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\x01\x02\x00\x01a";
        assert_eq!(bytes(&asked), expected);
    }

    #[test]
    fn the_largest_frame_fits_and_no_larger_one() {
        let largest = ToClient::Asked {
            registration: RegistrationId(u64::MAX),
            id: HandedId(u64::MAX),
            subject: "s".repeat(SUBJECT_BYTES_MAX).parse().unwrap(),
            payload: Bytes::from(vec![7; PAYLOAD_BYTES_MAX]),
        };
        let bytes = bytes(&largest);
        assert_eq!(bytes.len(), LENGTH_BYTES + FRAME_BYTES_MAX);
        assert_eq!(first::<ToClient>(&bytes), Ok(Some((largest, bytes.len()))));

        // The length alone is enough: nothing is waited for that would be refused.
        let over = u32::try_from(FRAME_BYTES_MAX + 1).unwrap().to_be_bytes();
        let refused = first::<ToClient>(&over);
        assert_eq!(refused, Err(FrameError::TooLong { bytes: FRAME_BYTES_MAX + 1 }));
    }

    #[test]
    fn what_is_no_frame_is_told_apart() {
        let mut payload = b"\x00\x08\x00\x05\x01\x00\x01a".to_vec();
        payload.resize(LENGTH_BYTES + 0x8_0005, 0);
        let over = TooLarge { bytes: PAYLOAD_BYTES_MAX + 1 };
        let cases: [(&[u8], FrameError); 8] = [
            (b"\0\0\0\0", FrameError::Cut),
            (b"\0\0\0\x01\x80", FrameError::UnknownKind(0x80)),
            (b"\0\0\0\x01\x01", FrameError::Cut),
            (b"\0\0\0\x05\x04\0\0\0\0", FrameError::Cut),
            (b"\0\0\0\x0a\x04\0\0\0\0\0\0\0\x01!", FrameError::Trailing { bytes: 1 }),
            (b"\0\0\0\x04\x01\0\x01\xff", FrameError::NotText),
            (b"\0\0\0\x04\x01\0\x01.", SubjectError::EmptyToken(".".to_owned()).into()),
            (&payload, over.into()),
        ];
        for (bytes, expected) in cases {
            assert_eq!(
                first::<ToServer>(bytes),
                Err(expected),
                "{:?}",
                &bytes[..bytes.len().min(20)]
            );
        }
    }

    fn subject() -> impl Strategy<Value = bus::Subject> {
        "[a-z-]{1,9}(\\.[a-z0-9]{1,9}){0,3}".prop_map(|text| text.parse().unwrap())
    }

    fn pattern() -> impl Strategy<Value = bus::Pattern> {
        "(\\*|[a-z]{1,9})(\\.[a-z0-9]{1,9}){0,3}(\\.>)?".prop_map(|text| text.parse().unwrap())
    }

    fn payload() -> impl Strategy<Value = Bytes> {
        proptest::collection::vec(any::<u8>(), 0..99).prop_map(Bytes::from)
    }

    fn to_server() -> impl Strategy<Value = ToServer> {
        let registration = || any::<u64>().prop_map(RegistrationId);
        prop_oneof![
            (subject(), payload())
                .prop_map(|(subject, payload)| ToServer::Publish { subject, payload }),
            (registration(), pattern())
                .prop_map(|(registration, pattern)| ToServer::Subscribe { registration, pattern }),
            (registration(), pattern())
                .prop_map(|(registration, pattern)| ToServer::Serve { registration, pattern }),
            registration().prop_map(|registration| ToServer::Leave { registration }),
            (any::<u64>(), any::<u64>(), subject(), payload()).prop_map(
                |(id, within_ms, subject, payload)| ToServer::Ask {
                    id: AskId(id),
                    within_ms,
                    subject,
                    payload
                }
            ),
            any::<u64>().prop_map(|id| ToServer::Forget { id: AskId(id) }),
            (any::<u64>(), payload())
                .prop_map(|(id, payload)| ToServer::Answer { id: HandedId(id), payload }),
            any::<u64>().prop_map(|id| ToServer::NoAnswer { id: HandedId(id) }),
        ]
    }

    fn to_client() -> impl Strategy<Value = ToClient> {
        let registration = || any::<u64>().prop_map(RegistrationId);
        prop_oneof![
            Just(ToClient::Welcome),
            registration().prop_map(|registration| ToClient::Stands { registration }),
            (registration(), subject(), payload()).prop_map(|(registration, subject, payload)| {
                ToClient::Message { registration, subject, payload }
            }),
            (registration(), any::<u64>(), subject(), payload()).prop_map(
                |(registration, id, subject, payload)| ToClient::Asked {
                    registration,
                    id: HandedId(id),
                    subject,
                    payload
                }
            ),
            (any::<u64>(), payload())
                .prop_map(|(id, payload)| ToClient::Answered { id: AskId(id), payload }),
            any::<u64>().prop_map(|id| ToClient::NobodyServes { id: AskId(id) }),
            (any::<u64>(), ".{0,99}")
                .prop_map(|(id, why)| ToClient::NotTaken { id: AskId(id), why }),
            ".{0,99}".prop_map(|why| ToClient::Goodbye { why }),
        ]
    }

    /// Comes back whole, however the bytes are cut on their way, and takes nothing of what follows.
    fn comes_back<F: Frame + PartialEq + std::fmt::Debug>(frame: F) -> Result<(), TestCaseError> {
        let mut bytes = bytes(&frame);
        let length = bytes.len();
        for end in 0..length {
            prop_assert_eq!(first::<F>(&bytes[..end]), Ok(None));
        }
        bytes.extend(b"what follows");
        prop_assert_eq!(first::<F>(&bytes), Ok(Some((frame, length))));
        Ok(())
    }

    proptest! {
        #[test]
        fn a_frame_comes_back_as_it_went(to_server in to_server(), to_client in to_client()) {
            comes_back(to_server)?;
            comes_back(to_client)?;
        }

        /// Any bytes behind a right length: mostly no frame, never a panic, and what is one is written as it was read.
        #[test]
        fn any_bytes_are_a_frame_or_an_error(
            kind in prop_oneof![0_u8..10, 0x80_u8..0x8a, any::<u8>()],
            body in proptest::collection::vec(prop_oneof![0_u8..4, any::<u8>()], 0..60),
        ) {
            let mut whole = u32::try_from(body.len() + 1).unwrap().to_be_bytes().to_vec();
            whole.push(kind);
            whole.extend(body);
            if let Ok(Some((frame, length))) = first::<ToServer>(&whole) {
                prop_assert_eq!((bytes(&frame), length), (whole.clone(), whole.len()));
            }
            if let Ok(Some((frame, length))) = first::<ToClient>(&whole) {
                prop_assert_eq!((bytes(&frame), length), (whole.clone(), whole.len()));
            }
        }
    }
}
