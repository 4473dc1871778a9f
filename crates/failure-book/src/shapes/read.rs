//! Entries made of JSON.
//!
//! What is not there, and what is `null`, is empty. Unknown keys are ignored, so that a newer
//! writer's document can be read; a key that comes twice is refused, since nobody can tell which
//! one was meant. An object must be an object: the derived decoders would also take a list.

use super::write::Stamp;
use crate::entries::{Intent, Marker, Mode, Record, Time, known};
use crate::hosts::Hosts;
use crate::identity::ExecutionId;
use crate::names::{Build, Host};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::marker::PhantomData;
use core::num::NonZeroU64;
use serde::de::value::MapAccessDeserializer;
use serde::de::{Error, MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// A value that may also be missing or `null`; put `default` beside it.
pub(crate) fn or_empty<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Option::deserialize(deserializer).map(Option::unwrap_or_default)
}

/// What is written as an object, and as nothing else.
#[derive(Debug)]
pub(crate) struct Object<T>(pub(crate) T);

impl<'de, T: Deserialize<'de>> Deserialize<'de> for Object<T> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<T>(PhantomData<T>);
        impl<'de, T: Deserialize<'de>> Visitor<'de> for OfMap<T> {
            type Value = Object<T>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Object<T>, A::Error> {
                T::deserialize(MapAccessDeserializer::new(map)).map(Object)
            }
        }
        deserializer.deserialize_map(OfMap(PhantomData))
    }
}

/// An object with keys of its own, none of them twice.
#[derive(Debug)]
pub(crate) struct Keyed<V>(pub(crate) BTreeMap<String, V>);

impl<V> Default for Keyed<V> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<'de, V: Deserialize<'de>> Deserialize<'de> for Keyed<V> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OfMap<V>(PhantomData<V>);
        impl<'de, V: Deserialize<'de>> Visitor<'de> for OfMap<V> {
            type Value = Keyed<V>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Keyed<V>, A::Error> {
                let mut read = BTreeMap::new();
                while let Some((key, value)) = map.next_entry::<String, V>()? {
                    if read.contains_key(&key) {
                        return Err(A::Error::custom(format_args!(
                            "the key {key:?} is there twice"
                        )));
                    }
                    read.insert(key, value);
                }
                Ok(Keyed(read))
            }
        }
        deserializer.deserialize_map(OfMap(PhantomData))
    }
}

impl<'de> Deserialize<'de> for Stamp {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        // Not the strict parser of RFC 3339: it would refuse years past 9999, which are written.
        let time: Time = text
            .parse()
            .map_err(|_| D::Error::custom(format_args!("{text:?} is no time in RFC 3339")))?;
        Ok(Self(known(Some(time))))
    }
}

/// A record as it is written, with what only older writers left.
#[derive(Debug)]
pub(crate) struct ReadRecord {
    pub(crate) record: Record,
    /// Numbers by host. To be dropped by the next save, so `{}` is not the same as none.
    pub(crate) epochs: Option<BTreeMap<String, u64>>,
}

#[derive(Deserialize)]
struct RecordShape {
    #[serde(default, deserialize_with = "or_empty")]
    account: String,
    #[serde(default, deserialize_with = "or_empty")]
    app: String,
    #[serde(default, deserialize_with = "or_empty")]
    build: String,
    #[serde(default, deserialize_with = "or_empty")]
    host: String,
    #[serde(default, deserialize_with = "or_empty")]
    cause: String,
    #[serde(default, deserialize_with = "or_empty")]
    mode: String,
    #[serde(default, deserialize_with = "or_empty")]
    reason: String,
    #[serde(default, deserialize_with = "or_empty")]
    promoted_at: Stamp,
    #[serde(default, deserialize_with = "or_empty")]
    at: Stamp,
    #[serde(default, deserialize_with = "or_empty")]
    held_down: Vec<String>,
    #[serde(default, deserialize_with = "or_empty")]
    retried: Vec<String>,
    epochs: Option<Keyed<u64>>,
}

impl<'de> Deserialize<'de> for ReadRecord {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(shape) = Object::<RecordShape>::deserialize(deserializer)?;
        let hosts = |names: &[String]| {
            let listed: Result<Hosts, _> = names.iter().map(|name| Host::new(name)).collect();
            listed.map_err(D::Error::custom)
        };
        let record = Record {
            build: build(&shape.account, &shape.app, &shape.build)?,
            host: Host::new(&shape.host).map_err(D::Error::custom)?,
            cause: shape.cause,
            mode: Mode::new(shape.mode),
            reason: shape.reason,
            promoted_at: shape.promoted_at.0,
            at: shape.at.0,
            held_down: hosts(&shape.held_down)?,
            retried: hosts(&shape.retried)?,
        };
        Ok(Self { record, epochs: shape.epochs.map(|epochs| epochs.0) })
    }
}

fn build<E: Error>(account: &str, app: &str, build: &str) -> Result<Build, E> {
    Build::new(account, app, build).map_err(E::custom)
}

/// A marker as it is written.
#[derive(Debug)]
pub(crate) struct ReadMarker(pub(crate) Marker);

#[derive(Deserialize)]
struct MarkerShape {
    #[serde(default, deserialize_with = "or_empty")]
    account: String,
    #[serde(default, deserialize_with = "or_empty")]
    app: String,
    #[serde(default, deserialize_with = "or_empty")]
    build: String,
    #[serde(default, deserialize_with = "or_empty")]
    exec: String,
    #[serde(default, deserialize_with = "or_empty")]
    seq: u64,
    #[serde(default, deserialize_with = "or_empty")]
    at: Stamp,
}

impl<'de> Deserialize<'de> for ReadMarker {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(shape) = Object::<MarkerShape>::deserialize(deserializer)?;
        Ok(Self(Marker {
            build: build(&shape.account, &shape.app, &shape.build)?,
            exec: ExecutionId::new(&shape.exec).ok(),
            seq: NonZeroU64::new(shape.seq),
            at: shape.at.0,
        }))
    }
}

/// An intent as it is written.
#[derive(Debug)]
pub(crate) struct ReadIntent(pub(crate) Intent);

#[derive(Deserialize)]
struct IntentShape {
    #[serde(default, deserialize_with = "or_empty")]
    account: String,
    #[serde(default, deserialize_with = "or_empty")]
    app: String,
    #[serde(default, deserialize_with = "or_empty")]
    build: String,
    #[serde(default, deserialize_with = "or_empty")]
    mode: String,
    #[serde(default, deserialize_with = "or_empty")]
    id: String,
    #[serde(default, deserialize_with = "or_empty")]
    start: Stamp,
}

impl<'de> Deserialize<'de> for ReadIntent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Object(shape) = Object::<IntentShape>::deserialize(deserializer)?;
        Ok(Self(Intent {
            build: build(&shape.account, &shape.app, &shape.build)?,
            mode: Mode::new(shape.mode),
            id: ExecutionId::new(&shape.id).map_err(D::Error::custom)?,
            start: shape.start.0,
        }))
    }
}
