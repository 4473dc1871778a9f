//! Vector files: `.jsonl` or `.jsonl.gz`, one case a line.

use flate2::read::MultiGzDecoder;
use serde::Deserialize;
use serde_json::Value;
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};

/// The suite of a line that names none: a trace of the failure book.
const SUITE_OF_TRACES: &str = "book";

/// One vector file and the cases in it, in the file's order.
#[derive(Debug)]
pub struct VectorFile {
    /// Where it was read from.
    pub path: PathBuf,
    /// Its cases; never none.
    pub cases: Vec<Case>,
}

/// One line of a vector file.
#[derive(Debug, Clone, PartialEq)]
pub struct Case {
    /// The suite that knows how to run it.
    pub suite: String,
    /// Unique inside its file.
    pub name: String,
    /// The tag of the doubtful behaviour that it records, if it does.
    pub quirk: Option<String>,
    /// What goes in. For a trace of the failure book it is the whole line.
    pub input: Value,
    /// What came out of the reference. `null` for a trace, which carries its answers step by step.
    pub expect: Value,
}

/// Why a vector file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The path is missing or cannot be read.
    #[error("cannot read {}", path.display())]
    Unreadable {
        /// The file or folder.
        path: PathBuf,
        /// What the system answered.
        source: io::Error,
    },
    /// A line is not a case.
    #[error("{}, line {line}: not a case", path.display())]
    NotACase {
        /// The file.
        path: PathBuf,
        /// Counted from one.
        line: usize,
        /// What the decoder missed.
        source: serde_json::Error,
    },
    /// A file or folder without a single case: a replay of nothing would look like agreement.
    #[error("no vectors in {}", path.display())]
    Nothing {
        /// The file or folder.
        path: PathBuf,
    },
}

/// Reads vector files. A folder stands for all `.jsonl` and `.jsonl.gz` files directly in it,
/// ordered by name.
///
/// # Errors
///
/// [`ReadError`] on the first path that cannot be read, line that is no case, or file or folder
/// that holds none.
pub fn files(paths: &[impl AsRef<Path>]) -> Result<Vec<VectorFile>, ReadError> {
    let mut read = Vec::new();
    for path in paths {
        for file in expand(path.as_ref())? {
            read.push(read_file(file)?);
        }
    }
    Ok(read)
}

fn expand(path: &Path) -> Result<Vec<PathBuf>, ReadError> {
    let unreadable = |source| ReadError::Unreadable { path: path.to_path_buf(), source };
    if !fs::metadata(path).map_err(unreadable)?.is_dir() {
        return Ok(vec![path.to_path_buf()]);
    }
    let mut found = Vec::new();
    for entry in fs::read_dir(path).map_err(unreadable)? {
        let file = entry.map_err(unreadable)?.path();
        if is_vector_file(&file) {
            found.push(file);
        }
    }
    if found.is_empty() {
        return Err(ReadError::Nothing { path: path.to_path_buf() });
    }
    found.sort();
    Ok(found)
}

fn is_vector_file(path: &Path) -> bool {
    let name = path.to_string_lossy();
    name.ends_with(".jsonl") || name.ends_with(".jsonl.gz")
}

fn read_file(path: PathBuf) -> Result<VectorFile, ReadError> {
    let text = match read_text(&path) {
        Ok(text) => text,
        Err(source) => return Err(ReadError::Unreadable { path, source }),
    };
    let mut cases = Vec::new();
    for (index, line) in text.lines().enumerate() {
        if line.is_empty() {
            continue;
        }
        match decode(line) {
            Ok(case) => cases.push(case),
            Err(source) => return Err(ReadError::NotACase { path, line: index + 1, source }),
        }
    }
    if cases.is_empty() {
        return Err(ReadError::Nothing { path });
    }
    Ok(VectorFile { path, cases })
}

fn read_text(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let mut file = File::open(path)?;
    if path.extension().is_some_and(|extension| extension == "gz") {
        MultiGzDecoder::new(file).read_to_string(&mut text)?;
    } else {
        file.read_to_string(&mut text)?;
    }
    Ok(text)
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct CaseLine {
    suite: String,
    name: String,
    quirk: Option<String>,
    #[serde(rename = "in")]
    input: Value,
    expect: Value,
}

/// What every trace has; its runner decodes the rest strictly.
#[derive(Deserialize)]
struct TraceLine {
    name: String,
}

fn decode(line: &str) -> Result<Case, serde_json::Error> {
    let value: Value = serde_json::from_str(line)?;
    if value.get("suite").is_none() && value.get("steps").is_some() {
        let TraceLine { name } = TraceLine::deserialize(&value)?;
        let suite = SUITE_OF_TRACES.to_owned();
        return Ok(Case { suite, name, quirk: None, input: value, expect: Value::Null });
    }
    let CaseLine { suite, name, quirk, input, expect } = CaseLine::deserialize(value)?;
    Ok(Case { suite, name, quirk, input, expect })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    const LINE: &str =
        r#"{"suite":"health","name":"one","quirk":"odd","in":{"a":1},"expect":{"b":2}}"#;

    fn folder_with(name: &str, bytes: &[u8]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(name), bytes).unwrap();
        folder
    }

    #[test]
    fn plain_and_packed_files_of_a_folder_are_read_by_name() {
        let folder = folder_with("b.jsonl", format!("{LINE}\n").as_bytes());
        let mut packed = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packed.write_all(LINE.as_bytes()).unwrap();
        fs::write(folder.path().join("a.jsonl.gz"), packed.finish().unwrap()).unwrap();
        fs::write(folder.path().join("README.md"), "no vectors").unwrap();

        let read = files(&[folder.path()]).unwrap();

        let names: Vec<_> = read.iter().filter_map(|file| file.path.file_name()).collect();
        assert_eq!(names, ["a.jsonl.gz", "b.jsonl"]);
        assert_eq!(read[0].cases, read[1].cases);
        assert_eq!(read[0].cases[0].quirk.as_deref(), Some("odd"));
        assert_eq!(read[0].cases[0].input, serde_json::json!({"a": 1}));
    }

    #[test]
    fn a_trace_names_no_suite_and_keeps_its_large_numbers() {
        let folder =
            folder_with("t.jsonl", br#"{"name":"t","seed":18446744073709551615,"steps":[]}"#);
        let read = files(&[folder.path()]).unwrap();
        let case = &read[0].cases[0];
        assert_eq!((case.suite.as_str(), case.name.as_str()), ("book", "t"));
        assert_eq!(case.input["seed"], serde_json::json!(u64::MAX));
    }

    #[test]
    fn what_is_no_case_is_refused_with_its_line() {
        let text = format!("{LINE}\n{}", LINE.replace("quirk", "qwirk"));
        let folder = folder_with("a.jsonl", text.as_bytes());
        let refused = files(&[folder.path()]).unwrap_err();
        assert!(matches!(refused, ReadError::NotACase { line: 2, .. }), "{refused}");
    }

    #[test]
    fn nothing_to_replay_is_an_error() {
        let folder = folder_with("a.txt", b"");
        assert!(matches!(files(&[folder.path()]), Err(ReadError::Nothing { .. })));
        fs::write(folder.path().join("a.jsonl"), "\n").unwrap();
        assert!(matches!(files(&[folder.path()]), Err(ReadError::Nothing { .. })));
        assert!(matches!(files(&[folder.path().join("gone")]), Err(ReadError::Unreadable { .. })));
    }
}
