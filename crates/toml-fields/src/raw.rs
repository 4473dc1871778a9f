//! The raw layer: a tree of values with their places, whether they came as TOML or as JSON.
//!
//! It takes anything: what is wrong with it is for a reader to find.

use core::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

/// A value and where it is in its file, in bytes; `None` for JSON.
#[derive(Debug)]
pub struct Node {
    pub(crate) at: Option<usize>,
    pub(crate) value: Value,
}

/// A value of one of the kinds that a file of ours has.
#[derive(Debug)]
pub(crate) enum Value {
    Text(String),
    Whole(i64),
    Truth(bool),
    List(Vec<Node>),
    Table(Vec<Entry>),
    /// What no field may be, in words.
    Foreign(&'static str),
}

/// A field of a table.
#[derive(Debug)]
pub(crate) struct Entry {
    pub(crate) key: String,
    pub(crate) key_at: Option<usize>,
    pub(crate) node: Node,
}

const TOO_LARGE: &str = "a number that is too large";
const FRACTION: &str = "a number with a fraction";

impl Value {
    /// What it is, in words.
    pub(crate) fn kind(&self) -> &'static str {
        match self {
            Self::Text(_) => "a text",
            Self::Whole(_) => "a number",
            Self::Truth(_) => "true or false",
            Self::List(_) => "a list",
            Self::Table(_) => "a table",
            Self::Foreign(what) => what,
        }
    }
}

impl Node {
    /// The tree of a whole TOML file.
    pub(crate) fn of_toml(file: Spanned<DeTable<'_>>) -> Self {
        Self { at: Some(file.span().start), value: Value::Table(entries(file.into_inner())) }
    }
}

fn entries(table: DeTable<'_>) -> Vec<Entry> {
    let entry = |(key, value): (Spanned<_>, _)| Entry {
        key_at: Some(key.span().start),
        key: String::from(key.into_inner()),
        node: node(value),
    };
    table.into_iter().map(entry).collect()
}

fn node(value: Spanned<DeValue<'_>>) -> Node {
    let at = Some(value.span().start);
    let value = match value.into_inner() {
        DeValue::String(text) => Value::Text(text.into_owned()),
        DeValue::Integer(number) => {
            let whole = i64::from_str_radix(number.as_str(), number.radix());
            whole.map_or(Value::Foreign(TOO_LARGE), Value::Whole)
        }
        DeValue::Float(_) => Value::Foreign(FRACTION),
        DeValue::Boolean(truth) => Value::Truth(truth),
        DeValue::Datetime(_) => Value::Foreign("a date"),
        DeValue::Array(list) => Value::List(list.into_iter().map(node).collect()),
        DeValue::Table(table) => Value::Table(entries(table)),
    };
    Node { at, value }
}

impl<'de> Deserialize<'de> for Node {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = deserializer.deserialize_any(AnyValue)?;
        Ok(Self { at: None, value })
    }
}

struct AnyValue;

impl<'de> Visitor<'de> for AnyValue {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a table of fields")
    }

    fn visit_str<E>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_owned()))
    }

    fn visit_string<E>(self, text: String) -> Result<Value, E> {
        Ok(Value::Text(text))
    }

    fn visit_i64<E>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Whole(number))
    }

    fn visit_u64<E>(self, number: u64) -> Result<Value, E> {
        Ok(i64::try_from(number).map_or(Value::Foreign(TOO_LARGE), Value::Whole))
    }

    fn visit_f64<E>(self, _: f64) -> Result<Value, E> {
        Ok(Value::Foreign(FRACTION))
    }

    fn visit_bool<E>(self, truth: bool) -> Result<Value, E> {
        Ok(Value::Truth(truth))
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Foreign("null"))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut nodes = Vec::new();
        while let Some(node) = list.next_element()? {
            nodes.push(node);
        }
        Ok(Value::List(nodes))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut table: A) -> Result<Value, A::Error> {
        let mut entries = Vec::new();
        while let Some((key, node)) = table.next_entry()? {
            entries.push(Entry { key, key_at: None, node });
        }
        Ok(Value::Table(entries))
    }
}
