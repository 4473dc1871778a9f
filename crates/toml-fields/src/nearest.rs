//! Which known key a mistyped one was probably meant to be.

/// The known key nearest to this one, if any is near: it begins like it, or few letters differ.
pub(crate) fn nearest(key: &str, known: &[&'static str]) -> Option<&'static str> {
    // No key of ours is half as long; a longer one is no mistyped one, and comparing costs the product of both.
    const LENGTH_MAX: usize = 40;
    if key.len() > LENGTH_MAX {
        return None;
    }
    let begins =
        |known: &&&str| key.len() >= 3 && (known.starts_with(key) || key.starts_with(**known));
    // A third of the letters, so that two swapped ones in a word of four still count as near.
    let letters_allowed = key.chars().count().div_ceil(3);
    known.iter().find(begins).copied().or_else(|| {
        let distances = known.iter().map(|known| (letters_that_differ(key, known), *known));
        let (letters, nearest) = distances.min_by_key(|(letters, _)| *letters)?;
        (letters <= letters_allowed).then_some(nearest)
    })
}

/// The least number of letters to add, drop or change that turns one text into the other (Levenshtein's distance).
fn letters_that_differ(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    // Each row holds the distances of the letters of `a` so far to every beginning of `b`.
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, letter) in a.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for j in 0..b.len() {
            let changed = diagonal + usize::from(letter != b[j]);
            diagonal = row[j + 1];
            row[j + 1] = changed.min(diagonal + 1).min(row[j] + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    const KNOWN: [&str; 5] = ["name", "command", "environment", "health", "listen"];

    #[test]
    fn a_mistyped_key_finds_what_was_meant() {
        let cases = [
            ("nmae", Some("name")),
            ("nam", Some("name")),
            ("nane", Some("name")),
            ("comand", Some("command")),
            ("commands", Some("command")),
            ("env", Some("environment")),
            ("helth", Some("health")),
            ("listener", Some("listen")),
            ("colour", None),
            ("", None),
        ];
        for (key, meant) in cases {
            assert_eq!(nearest(key, &KNOWN), meant, "{key}");
        }
        assert_eq!(nearest(&"name".repeat(20), &KNOWN), None);
    }
}
