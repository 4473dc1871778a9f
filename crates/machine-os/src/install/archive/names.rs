//! Names in archives: which paths and which links stay in the build's folder and can be shown to people.

use std::path::{Component, Path, PathBuf};

use super::Refused;

/// Longer paths and names are refused before the kernel does, which would leave half an archive unpacked.
const PATH_BYTES_MAX: usize = 1024;
const NAME_BYTES_MAX: usize = 255;
const DEPTH_MAX: usize = 64;

/// How much of a name is shown that was refused.
const SHOWN_CHARS_MAX: usize = 120;

/// The path without its `.` parts, if it stays inside; `None` for the folder itself.
pub(super) fn inside(path: &[u8]) -> Result<Option<PathBuf>, Refused> {
    let mut inside = PathBuf::new();
    for component in checked(path)?.components() {
        match component {
            Component::Normal(name) => inside.push(name),
            Component::CurDir => {}
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => {
                return Err(refuse(path, "leaves the build's folder"));
            }
        }
    }
    Ok(Some(inside).filter(|inside| *inside != Path::new("")))
}

/// The target of a link that lies `depth` folders below the top, if it stays inside: it climbs at most to the top, and only
/// at its beginning. A step up after a name would start from wherever that name leads, which a link may have moved.
pub(super) fn stays_inside(link: &Path, target: &[u8], depth: usize) -> Result<PathBuf, Refused> {
    let path = checked(target)?;
    let mut climbed = 0;
    let mut descends = false;
    let mut is_inside = !target.is_empty();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::Normal(_) => descends = true,
            Component::ParentDir if !descends => climbed += 1,
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => is_inside = false,
        }
    }
    if is_inside && climbed <= depth {
        return Ok(path.to_owned());
    }
    let text = format!("links to `{}`, which may lie outside", shown(target));
    Err(refuse(link.as_os_str().as_encoded_bytes(), &text))
}

/// A path that can be made, and shown in one line: control characters would forge lines in messages and logs.
fn checked(path: &[u8]) -> Result<&Path, Refused> {
    let Ok(text) = std::str::from_utf8(path) else {
        return Err(refuse(path, "is no UTF-8"));
    };
    if text.contains(char::is_control) {
        return Err(refuse(path, "has control characters in its name"));
    }
    let is_long = |name: &str| name.len() > NAME_BYTES_MAX;
    if text.len() > PATH_BYTES_MAX || text.split('/').any(is_long) {
        return Err(refuse(path, "has too long a name"));
    }
    let path = Path::new(text);
    if path.components().count() > DEPTH_MAX {
        return Err(refuse(text.as_bytes(), "lies too deep"));
    }
    Ok(path)
}

pub(super) fn refuse(path: &[u8], why: &str) -> Refused {
    Refused::Unsafe(format!("`{}` {why}", shown(path)))
}

/// A name as people can be shown it, however it is made.
fn shown(path: &[u8]) -> String {
    let text = String::from_utf8_lossy(path);
    let mut shown: String = text.chars().take(SHOWN_CHARS_MAX).collect();
    if shown.len() < text.len() {
        shown.push('…');
    }
    shown.chars().flat_map(|letter| escape(letter).chars().collect::<Vec<_>>()).collect()
}

fn escape(letter: char) -> String {
    if letter.is_control() { letter.escape_default().to_string() } else { letter.to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn why(refused: Refused) -> String {
        match refused {
            Refused::Unsafe(why) => why,
            Refused::Io(error) => unreachable!("{error}"),
        }
    }

    #[test]
    fn which_links_stay_inside() {
        for (target, depth, expected) in [
            ("file", 0, true),
            ("a/b", 0, true),
            ("./a", 0, true),
            ("../a", 1, true),
            ("../../a", 2, true),
            ("..", 0, false),
            ("../a", 0, false),
            ("../../a", 1, false),
            ("a/../b", 1, false),
            ("./../a", 0, false),
            ("/etc/passwd", 3, false),
            ("", 0, false),
            ("a\nb", 0, false),
        ] {
            let found = stays_inside(Path::new("link"), target.as_bytes(), depth);
            assert_eq!(found.is_ok(), expected, "{target} at {depth}");
        }
    }

    #[test]
    fn which_paths_are_inside() {
        let deep = vec!["d"; DEPTH_MAX].join("/");
        let cases = [
            ("a/b", Some("a/b")),
            ("./a/./b/", Some("a/b")),
            ("./", None),
            ("", None),
            ("a//b", Some("a/b")),
            ("..a/b..", Some("..a/b..")),
            ("naïve ☃", Some("naïve ☃")),
            (&deep, Some(&*deep)),
        ];
        for (path, expected) in cases {
            let found = inside(path.as_bytes()).unwrap();
            assert_eq!(found.as_deref(), expected.map(Path::new), "{path}");
        }
    }

    #[test]
    fn names_that_leave_or_cannot_be_made_or_shown_are_refused() {
        let deep = vec!["d"; DEPTH_MAX + 1].join("/");
        let long = "n".repeat(NAME_BYTES_MAX + 1);
        let longer = vec!["n".repeat(200); 6].join("/");
        for (path, words) in [
            (&b"/a"[..], "leaves the build's folder"),
            (b"../a", "leaves the build's folder"),
            (b"a/../../b", "leaves the build's folder"),
            (b"a/../b", "leaves the build's folder"),
            (b"a/..", "leaves the build's folder"),
            (b"\xff", "is no UTF-8"),
            (b"a\0b", "has control characters"),
            (b"a\nb", "`a\\nb` has control characters"),
            (b"a\x1b[2Jb", "`a\\u{1b}[2Jb` has control characters"),
            (b"a\x7f", "has control characters"),
            ("a\u{85}".as_bytes(), "has control characters"),
            (deep.as_bytes(), "lies too deep"),
            (long.as_bytes(), "has too long a name"),
            (longer.as_bytes(), "has too long a name"),
        ] {
            let why = why(inside(path).unwrap_err());
            assert!(why.contains(words) && !why.contains(char::is_control), "{why:?}");
            assert!(why.chars().count() < 200, "{why}");
        }
    }
}
