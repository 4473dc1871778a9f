//! Entries made into JSON.

use crate::entries::{Intent, Marker, NO_TIME, Record, Time};
use crate::hosts::Hosts;
use chrono::SecondsFormat;
use core::num::NonZeroU64;
use serde::{Serialize, Serializer};

/// A time, with what stands for one that is not known.
#[derive(Debug, Default)]
pub(crate) struct Stamp(pub(crate) Option<Time>);

impl Serialize for Stamp {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let time = self.0.unwrap_or(NO_TIME);
        serializer.serialize_str(&time.to_rfc3339_opts(SecondsFormat::AutoSi, true))
    }
}

#[derive(Serialize)]
struct RecordShape<'a> {
    account: &'a str,
    app: &'a str,
    build: &'a str,
    host: &'a str,
    cause: &'a str,
    mode: &'a str,
    reason: &'a str,
    promoted_at: Stamp,
    at: Stamp,
    #[serde(skip_serializing_if = "Hosts::is_empty")]
    held_down: &'a Hosts,
    #[serde(skip_serializing_if = "Hosts::is_empty")]
    retried: &'a Hosts,
}

impl Serialize for Hosts {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.iter().map(crate::names::Host::as_str))
    }
}

impl Serialize for Record {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { build, host, cause, mode, reason, promoted_at, at, held_down, retried } = self;
        RecordShape {
            account: build.account(),
            app: build.app_name(),
            build: build.name(),
            host: host.as_str(),
            cause,
            mode: mode.as_str(),
            reason,
            promoted_at: Stamp(*promoted_at),
            at: Stamp(*at),
            held_down,
            retried,
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct MarkerShape<'a> {
    account: &'a str,
    app: &'a str,
    build: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    exec: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    seq: Option<NonZeroU64>,
    at: Stamp,
}

impl Serialize for Marker {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { build, exec, seq, at } = self;
        MarkerShape {
            account: build.account(),
            app: build.app_name(),
            build: build.name(),
            exec: exec.as_ref().map(crate::identity::ExecutionId::as_str),
            seq: *seq,
            at: Stamp(*at),
        }
        .serialize(serializer)
    }
}

#[derive(Serialize)]
struct IntentShape<'a> {
    account: &'a str,
    app: &'a str,
    build: &'a str,
    mode: &'a str,
    id: &'a str,
    start: Stamp,
}

impl Serialize for Intent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Self { build, mode, id, start } = self;
        IntentShape {
            account: build.account(),
            app: build.app_name(),
            build: build.name(),
            mode: mode.as_str(),
            id: id.as_str(),
            start: Stamp(*start),
        }
        .serialize(serializer)
    }
}
