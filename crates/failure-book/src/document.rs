//! The interchange document: a whole book as one JSON object, to take along and to look at.
//!
//! Schemas 1, 2 and 3 are read, 3 is written.

use crate::identity::BookId;
use crate::index::Ordinal;
use crate::kept::Kept;
use crate::names::{App, BadName, Host};
use crate::shapes::read::{Keyed, Object, ReadIntent, ReadMarker, ReadRecord, or_empty};
use crate::{Intent, Marker, Record};
use alloc::collections::BTreeMap;
use alloc::string::String;
use alloc::vec::Vec;
use serde::ser::SerializeMap;
use serde::{Deserialize, Serialize, Serializer};

/// The schema that is written.
const SCHEMA: i64 = 3;

/// Why a text is no document of a failure book. Nothing of it is used then.
#[derive(Debug, thiserror::Error)]
pub enum DocumentError {
    /// It is not JSON, or not of the right shape.
    #[error("this is no document of a failure book")]
    Unreadable(#[from] serde_json::Error),
    /// A name in it can be in no book.
    #[error("this document of a failure book has a name that no book can have")]
    Name(#[from] BadName),
    /// It has a schema that is not known, or none. A newer version may have written it.
    #[error("the document has schema {schema}, and only the schemas 1, 2 and 3 can be read")]
    UnknownSchema {
        /// The schema, zero when there is none.
        schema: i64,
    },
}

#[derive(Deserialize)]
struct Shape {
    #[serde(default, deserialize_with = "or_empty")]
    schema: i64,
    #[serde(default, deserialize_with = "or_empty")]
    records: Vec<ReadRecord>,
    #[serde(default, deserialize_with = "or_empty")]
    hold_ran: Keyed<ReadMarker>,
    #[serde(default, deserialize_with = "or_empty")]
    seq: u64,
    #[serde(default, deserialize_with = "or_empty")]
    intents: Keyed<ReadIntent>,
    #[serde(default, deserialize_with = "or_empty")]
    book: String,
    #[serde(default, deserialize_with = "or_empty")]
    gens: Keyed<u64>,
    #[serde(default, deserialize_with = "or_empty")]
    durable_epochs: bool,
}

impl Kept {
    /// Reads a document.
    ///
    /// One of an older schema, or that does not say that its generations landed before they were
    /// said, or that has no identity, needs a new identity: no grant may name it any more.
    ///
    /// # Errors
    ///
    /// [`DocumentError`].
    pub fn from_document(text: &[u8]) -> Result<Self, DocumentError> {
        let Object(shape) = serde_json::from_slice::<Object<Shape>>(text)?;
        if !(1..=SCHEMA).contains(&shape.schema) {
            return Err(DocumentError::UnknownSchema { schema: shape.schema });
        }
        let is_durable = shape.schema == SCHEMA && shape.durable_epochs;
        let mut kept = Self {
            id: shape.book.parse().ok().filter(|_| is_durable),
            seq: shape.seq,
            ..Self::default()
        };
        for (place, ReadRecord { record, epochs }) in (0..).zip(shape.records) {
            kept.records.insert(Ordinal::new(place), record);
            if let Some(epochs) = epochs {
                kept.is_outdated = true;
                kept.seq = epochs.into_values().fold(kept.seq, u64::max);
            }
        }
        for (host, ReadMarker(marker)) in shape.hold_ran.0 {
            kept.markers.insert(Host::new(&host)?, marker);
        }
        for (host, ReadIntent(intent)) in shape.intents.0 {
            kept.intents.insert(Host::new(&host)?, intent);
        }
        for (app, generation) in shape.gens.0 {
            kept.generations.insert(App::from_joined(&app)?, generation);
        }
        Ok(kept)
    }

    /// Writes it as a document.
    ///
    /// # Errors
    ///
    /// A [`serde_json::Error`] only if an entry could not be made into JSON, which none is known
    /// for.
    pub fn to_document(&self) -> Result<String, serde_json::Error> {
        let Self { id, seq, records, markers, intents, generations, is_outdated: _ } = self;
        serde_json::to_string_pretty(&Document {
            schema: SCHEMA,
            records: records.values().collect(),
            hold_ran: Named(markers),
            seq: *seq,
            intents: Named(intents),
            book: *id,
            gens: Joined(generations),
            durable_epochs: true,
        })
    }
}

#[derive(Serialize)]
struct Document<'a> {
    schema: i64,
    records: Vec<&'a Record>,
    #[serde(skip_serializing_if = "Named::is_empty")]
    hold_ran: Named<'a, Marker>,
    #[serde(skip_serializing_if = "is_zero")]
    seq: u64,
    #[serde(skip_serializing_if = "Named::is_empty")]
    intents: Named<'a, Intent>,
    #[serde(skip_serializing_if = "Option::is_none")]
    book: Option<BookId>,
    #[serde(skip_serializing_if = "Joined::is_empty")]
    gens: Joined<'a>,
    durable_epochs: bool,
}

/// Entries by the names of their hosts.
struct Named<'a, V>(&'a BTreeMap<Host, V>);

impl<V> Named<'_, V> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<V: Serialize> Serialize for Named<'_, V> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (host, entry) in self.0 {
            map.serialize_entry(host.as_str(), entry)?;
        }
        map.end()
    }
}

/// Generations by the joined names of their apps.
struct Joined<'a>(&'a BTreeMap<App, u64>);

impl Joined<'_> {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl Serialize for Joined<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (app, generation) in self.0 {
            map.serialize_entry(app.as_str(), generation)?;
        }
        map.end()
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(number: &u64) -> bool {
    *number == 0
}
