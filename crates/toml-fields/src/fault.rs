//! What is wrong with a file: every fault of it, each with its place.

use core::fmt;

/// All that is wrong with one file; at least one fault, in the order of the file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Faults(Vec<Fault>);

/// One thing that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Where, in a file; `None` for what came as JSON.
    pub place: Option<Place>,
    /// Which field, for example `resource[0].health.every`; empty when it is the file as a whole.
    pub path: String,
    /// What is wrong with it.
    pub wrong: Wrong,
}

/// A place in a file. Both count from 1; columns are characters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    /// The line.
    pub line: usize,
    /// The character in its line.
    pub column: usize,
}

/// What is wrong with a field, and what is allowed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The file cannot be read as TOML at all; nothing else of it is checked.
    #[error("{0}")]
    Syntax(String),
    /// No such field exists here.
    #[error("unknown key; {}", suggest(*.nearest, .allowed))]
    UnknownKey {
        /// The field that was probably meant.
        nearest: Option<&'static str>,
        /// All fields that exist here.
        allowed: Vec<&'static str>,
    },
    /// A field of this name was there before.
    #[error("is given twice")]
    Repeated,
    /// The field must be there.
    #[error("is missing; {wanted} is wanted")]
    Missing {
        /// What it must be.
        wanted: &'static str,
    },
    /// A value of another kind was wanted.
    #[error("{wanted} is wanted, this is {found}")]
    Kind {
        /// What it must be.
        wanted: &'static str,
        /// What it is.
        found: &'static str,
    },
    /// The kind is right and the value is not.
    #[error("{0}")]
    Value(String),
}

fn suggest(nearest: Option<&str>, allowed: &[&str]) -> String {
    match nearest {
        Some(key) => format!("did you mean `{key}`?"),
        None => format!("allowed are {}", list(allowed)),
    }
}

/// `a`, `b` and `c`
pub fn list(words: &[&str]) -> String {
    let quoted: Vec<_> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} and {last}", first.join(", ")),
        Some(_) | None => quoted.concat(),
    }
}

impl Faults {
    /// Each of them.
    pub fn iter(&self) -> impl Iterator<Item = &Fault> {
        self.0.iter()
    }

    /// As a list for people, a line each: `bellwether.toml:7:11: resource[0].health.every: …`.
    pub fn in_file<'a>(&'a self, file: &'a str) -> impl fmt::Display + 'a {
        InFile { faults: self, file }
    }
}

struct InFile<'a> {
    faults: &'a Faults,
    file: &'a str,
}

impl fmt::Display for InFile<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for fault in self.faults.iter() {
            f.write_str(separator)?;
            separator = "\n";
            let colon = if fault.place.is_some() { ":" } else { ": " };
            write!(f, "{}{colon}{fault}", self.file)?;
        }
        Ok(())
    }
}

impl core::error::Error for Faults {}

impl fmt::Display for Faults {
    /// In one line; [`Faults::in_file`] has a line for each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut separator = "";
        for fault in &self.0 {
            write!(f, "{separator}{fault}")?;
            separator = "; ";
        }
        Ok(())
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(Place { line, column }) = self.place {
            write!(f, "{line}:{column}: ")?;
        }
        if !self.path.is_empty() {
            write!(f, "{}: ", self.path)?;
        }
        self.wrong.fmt(f)
    }
}

/// Faults while they are collected.
#[derive(Debug, Default)]
pub struct Found(Vec<(Option<usize>, String, Wrong)>);

/// The proof that a fault was collected: whoever holds one has no value to give and need not say why.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reported(());

impl Found {
    /// Collects a fault; `at` is its offset in the file, in bytes.
    pub fn report(&mut self, at: Option<usize>, path: impl Into<String>, wrong: Wrong) -> Reported {
        self.0.push((at, path.into(), wrong));
        Reported(())
    }

    /// The value, if nothing was found wrong with it.
    pub(crate) fn settle<T>(self, value: Result<T, Reported>, file: &str) -> Result<T, Faults> {
        match value {
            Ok(value) if self.0.is_empty() => Ok(value),
            Ok(_) | Err(Reported(())) => Err(self.into_faults(file)),
        }
    }

    fn into_faults(mut self, file: &str) -> Faults {
        self.0.sort_by_key(|(at, ..)| *at);
        let mut walk = Walk { file, at: 0, place: Place { line: 1, column: 1 } };
        let fault = |(at, path, wrong): (Option<usize>, _, _)| Fault {
            place: at.map(|at| walk.forward_to(at)),
            path,
            wrong,
        };
        Faults(self.0.into_iter().map(fault).collect())
    }
}

/// Turns offsets into places in one pass, so that many faults in a long file stay cheap.
struct Walk<'a> {
    file: &'a str,
    at: usize,
    place: Place,
}

impl Walk<'_> {
    /// The place of an offset that is not before the last one.
    fn forward_to(&mut self, at: usize) -> Place {
        for character in self.file.get(self.at..at).unwrap_or_default().chars() {
            if character == '\n' {
                self.place = Place { line: self.place.line + 1, column: 1 };
            } else {
                self.place.column += 1;
            }
        }
        self.at = at;
        self.place
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_count_lines_and_characters_from_one() {
        let file = "é = 1\r\nb\n\nc";
        let mut walk = Walk { file, at: 0, place: Place { line: 1, column: 1 } };
        let cases = [(0, 1, 1), (2, 1, 2), (8, 2, 1), (10, 3, 1), (11, 4, 1), (12, 4, 2)];
        for (at, line, column) in cases {
            assert_eq!(walk.forward_to(at), Place { line, column }, "offset {at}");
        }
    }

    #[test]
    fn a_list_reads_like_a_sentence() {
        assert_eq!(list(&["a"]), "`a`");
        assert_eq!(list(&["a", "b", "c"]), "`a`, `b` and `c`");
    }
}
