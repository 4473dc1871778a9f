//! Fields while they are read: each read either gives a value or has collected why not.

use core::{fmt::Display, ops::RangeInclusive, str::FromStr};
use std::collections::BTreeMap;

use crate::excerpt;
use crate::{
    fault::{Found, Reported, Wrong, list},
    nearest::nearest,
    raw::{Node, Value},
};

/// A value that is there.
#[derive(Debug)]
pub struct Field {
    /// Where it is.
    pub spot: Spot,
    value: Value,
}

/// Where something is: the path of its field, and its offset in the file.
#[derive(Debug, Clone)]
pub struct Spot {
    /// The path of the field, for example `resource[0].health.every`; empty for the file as a whole.
    pub path: String,
    at: Option<usize>,
}

/// A table whose fields are asked for one by one; what nobody asked for is unknown.
#[derive(Debug)]
pub struct Table {
    /// Where it is.
    pub spot: Spot,
    fields: BTreeMap<String, (Option<usize>, Node)>,
    asked: Vec<&'static str>,
}

impl Spot {
    /// Collects that what is here breaks a rule.
    pub fn wrong(&self, found: &mut Found, why: impl Into<String>) -> Reported {
        found.report(self.at, self.path.as_str(), Wrong::Value(why.into()))
    }

    fn path_of(&self, key: &str) -> String {
        let bare = |b: u8| b.is_ascii_alphanumeric() || b"-_".contains(&b);
        let separator = if self.path.is_empty() { "" } else { "." };
        if (1..=80).contains(&key.len()) && key.bytes().all(bare) {
            format!("{}{separator}{key}", self.path)
        } else {
            format!("{}{separator}{:?}", self.path, excerpt(key))
        }
    }
}

impl Field {
    /// The file as a whole.
    pub(crate) fn root(node: Node) -> Self {
        Self::new(String::new(), node)
    }

    fn new(path: String, node: Node) -> Self {
        Self { spot: Spot { path, at: node.at }, value: node.value }
    }

    fn of_another_kind(self, found: &mut Found, wanted: &'static str) -> Reported {
        found.report(self.spot.at, self.spot.path, Wrong::Kind { wanted, found: self.value.kind() })
    }

    /// Whether it is a list: for a field that may also be a text.
    #[must_use]
    pub fn is_list(&self) -> bool {
        matches!(self.value, Value::List(_))
    }

    /// Its fields, to be asked for by name.
    pub fn table(self, found: &mut Found) -> Result<Table, Reported> {
        let Value::Table(entries) = self.value else {
            return Err(self.of_another_kind(found, "a table"));
        };
        let mut table = Table { spot: self.spot, fields: BTreeMap::new(), asked: Vec::new() };
        for entry in entries {
            let path = table.spot.path_of(&entry.key);
            if table.fields.insert(entry.key, (entry.key_at, entry.node)).is_some() {
                found.report(entry.key_at, path, Wrong::Repeated);
            }
        }
        Ok(table)
    }

    /// Its items, each read in the same way. All of them are read, also when one is wrong.
    pub fn items<T>(
        self,
        found: &mut Found,
        wanted: &'static str,
        mut read: impl FnMut(Field, &mut Found) -> Result<T, Reported>,
    ) -> Result<Vec<T>, Reported> {
        let Value::List(nodes) = self.value else {
            return Err(self.of_another_kind(found, wanted));
        };
        let fields = nodes.into_iter().enumerate();
        let fields = fields.map(|(i, node)| Field::new(format!("{}[{i}]", self.spot.path), node));
        let values: Vec<_> = fields.map(|field| read(field, found)).collect();
        values.into_iter().collect()
    }

    /// Its fields under whatever names they have. All of them are read, also when one is wrong.
    pub fn entries<T>(
        self,
        found: &mut Found,
        mut read: impl FnMut(&str, Field, &mut Found) -> Result<T, Reported>,
    ) -> Result<BTreeMap<String, T>, Reported> {
        let mut table = self.table(found)?;
        let fields = core::mem::take(&mut table.fields).into_iter();
        let values: Vec<_> = fields
            .map(|(name, (_, node))| {
                let value = read(&name, Field::new(table.spot.path_of(&name), node), found)?;
                Ok((name, value))
            })
            .collect();
        values.into_iter().collect()
    }

    /// A text without NUL, which no argument and no variable of a process can carry.
    pub fn text(self, found: &mut Found) -> Result<String, Reported> {
        self.checked(found, "a text in quotes", |text| {
            if text.contains('\0') {
                return Err("must not have a NUL character".to_owned());
            }
            Ok(text.to_owned())
        })
    }

    /// What its text stands for.
    pub fn parsed<T: FromStr<Err: Display>>(self, found: &mut Found) -> Result<T, Reported> {
        self.checked(found, "a text in quotes", |text| {
            text.parse().map_err(|error: T::Err| error.to_string())
        })
    }

    /// What `check` makes of its text; `wanted` is said where it is no text.
    pub fn checked<T>(
        self,
        found: &mut Found,
        wanted: &'static str,
        check: impl FnOnce(&str) -> Result<T, String>,
    ) -> Result<T, Reported> {
        let Value::Text(text) = &self.value else {
            return Err(self.of_another_kind(found, wanted));
        };
        check(text).map_err(|why| self.spot.wrong(found, why))
    }

    /// The choice whose word its text is.
    pub fn choice<T: Copy>(self, found: &mut Found, choices: &[(&str, T)]) -> Result<T, Reported> {
        self.checked(found, "a text in quotes", |text| {
            let chosen = choices.iter().find(|(word, _)| *word == text);
            chosen.map(|(_, choice)| *choice).ok_or_else(|| {
                let words: Vec<_> = choices.iter().map(|(word, _)| *word).collect();
                format!("`{}` is not allowed; allowed are {}", excerpt(text), list(&words))
            })
        })
    }

    /// A number of the range.
    pub fn whole<T: TryFrom<i64>>(
        self,
        found: &mut Found,
        range: RangeInclusive<i64>,
    ) -> Result<T, Reported> {
        let Value::Whole(number) = self.value else {
            return Err(self.of_another_kind(found, "a number"));
        };
        let value = T::try_from(number).ok().filter(|_| range.contains(&number));
        value.ok_or_else(|| {
            self.spot.wrong(
                found,
                format!("{number} is not allowed; {} to {} is", range.start(), range.end()),
            )
        })
    }

    /// True or false.
    pub fn truth(self, found: &mut Found) -> Result<bool, Reported> {
        let Value::Truth(truth) = self.value else {
            return Err(self.of_another_kind(found, "true or false"));
        };
        Ok(truth)
    }
}

impl Table {
    /// The field of this name, if it is there.
    pub fn take(&mut self, key: &'static str) -> Option<Field> {
        self.asked.push(key);
        let (_, node) = self.fields.remove(key)?;
        Some(Field::new(self.spot.path_of(key), node))
    }

    /// The field of this name, which must be there.
    pub fn required<T>(
        &mut self,
        found: &mut Found,
        (key, wanted): (&'static str, &'static str),
        read: impl FnOnce(Field, &mut Found) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        match self.take(key) {
            Some(field) => read(field, found),
            None => {
                Err(found.report(self.spot.at, self.spot.path_of(key), Wrong::Missing { wanted }))
            }
        }
    }

    /// The field of this name, or `None` where it is not there.
    pub fn optional<T>(
        &mut self,
        found: &mut Found,
        key: &'static str,
        read: impl FnOnce(Field, &mut Found) -> Result<T, Reported>,
    ) -> Result<Option<T>, Reported> {
        self.take(key).map(|field| read(field, found)).transpose()
    }

    /// The field of this name, or the default where it is not there.
    pub fn or<T>(
        &mut self,
        found: &mut Found,
        (key, default): (&'static str, T),
        read: impl FnOnce(Field, &mut Found) -> Result<T, Reported>,
    ) -> Result<T, Reported> {
        Ok(self.optional(found, key, read)?.unwrap_or(default))
    }

    /// Collects every field that nobody asked for. Each reader of a table ends with this.
    pub fn finish(mut self, found: &mut Found) {
        for (key, (at, _)) in core::mem::take(&mut self.fields) {
            let wrong = Wrong::UnknownKey {
                nearest: nearest(&key, &self.asked),
                allowed: self.asked.clone(),
            };
            found.report(at, self.spot.path_of(&key), wrong);
        }
    }
}
