//! Texts that others wrote, cut so that they fit into a statement.

/// Most bytes of one sentence: statements of some hundred resources stay within a message.
const BYTES_MAX: usize = 1_000;

/// The beginning and, of what is too long, the end: what happened stands first and the newest output last.
pub(crate) fn excerpt(text: &str) -> String {
    if text.len() <= BYTES_MAX {
        return text.to_owned();
    }
    let head = text.floor_char_boundary(BYTES_MAX / 4);
    let tail = text.ceil_char_boundary(text.len() - BYTES_MAX * 3 / 4);
    format!("{} […] {}", &text[..head], &text[tail..])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_text_keeps_its_beginning_and_its_end_and_whole_characters() {
        let text = format!("it ended with exit status 3; {}the last word", "é".repeat(5_000));
        let short = excerpt(&text);
        assert!(short.starts_with("it ended with exit status 3"));
        assert!(short.ends_with("the last word"));
        assert!(short.len() <= BYTES_MAX + 10);
        assert_eq!(excerpt("short"), "short");
    }
}
