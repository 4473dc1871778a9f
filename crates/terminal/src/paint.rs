//! Colours, where they are wanted: a tone says what a word means, and a terminal shows it.

use std::fmt;

/// Whether tones are shown.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Paint {
    /// As text alone.
    Plain,
    /// With the colours of a terminal.
    Ansi,
}

/// What a word means for whoever reads it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Nothing besides.
    Plain,
    /// All is as it should be.
    Good,
    /// It is under way.
    Busy,
    /// Something is wrong.
    Bad,
    /// It matters less.
    Faint,
    /// It matters more.
    Strong,
}

impl Tone {
    /// The code that turns it on; none is needed for plain text.
    fn code(self) -> Option<u8> {
        match self {
            Self::Plain => None,
            Self::Good => Some(32),
            Self::Busy => Some(33),
            Self::Bad => Some(31),
            Self::Faint => Some(2),
            Self::Strong => Some(1),
        }
    }
}

impl Paint {
    /// The text in its tone.
    #[must_use]
    pub fn tone(self, tone: Tone, text: impl fmt::Display) -> String {
        match (self, tone.code()) {
            (Self::Ansi, Some(code)) => format!("\x1b[{code}m{text}\x1b[0m"),
            (Self::Ansi, None) | (Self::Plain, _) => text.to_string(),
        }
    }
}

/// A text that others wrote, fit for a terminal: no character of it can move the cursor or change a colour.
#[must_use]
pub fn harmless(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { ' ' } else { c }).collect()
}

/// One line, in pieces of one tone each.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line(Vec<(Tone, String)>);

impl Line {
    /// With one more piece; what others wrote is made harmless.
    #[must_use]
    pub fn and(mut self, tone: Tone, text: impl ToString) -> Self {
        self.0.push((tone, harmless(&text.to_string())));
        self
    }

    /// How many characters it has.
    #[must_use]
    pub fn width(&self) -> usize {
        self.0.iter().map(|(_, text)| text.chars().count()).sum()
    }

    /// With another line right behind it.
    #[must_use]
    pub fn followed_by(mut self, other: Self) -> Self {
        self.0.extend(other.0);
        self
    }

    /// With another line behind it, which is filled up to a width if more follows it later.
    #[must_use]
    pub fn joined(mut self, other: &Self, width: usize) -> Self {
        let gap = self.width().next_multiple_of(width) - self.width();
        if gap > 0 {
            self.0.push((Tone::Plain, " ".repeat(gap)));
        }
        self.0.extend(other.0.iter().cloned());
        self
    }

    /// The whole line.
    #[must_use]
    pub fn render(&self, paint: Paint) -> String {
        self.0.iter().map(|(tone, text)| paint.tone(*tone, text)).collect()
    }

    /// At most so many characters of it; one that is cut says so.
    #[must_use]
    pub fn cut(mut self, width: usize) -> Self {
        if self.width() <= width {
            return self;
        }
        let mut left = width.saturating_sub(1);
        for (_, text) in &mut self.0 {
            *text = text.chars().take(left).collect();
            left -= text.chars().count();
        }
        self.and(Tone::Plain, "…")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn colours_are_there_only_where_they_are_wanted() {
        assert_eq!(Paint::Plain.tone(Tone::Bad, "failed"), "failed");
        assert_eq!(Paint::Ansi.tone(Tone::Bad, "failed"), "\x1b[31mfailed\x1b[0m");
        assert_eq!(Paint::Ansi.tone(Tone::Plain, "failed"), "failed");
    }

    #[test]
    fn what_others_wrote_commands_no_terminal() {
        assert_eq!(harmless("a\x1b[2Jb\nc\u{9b}d"), "a [2Jb c d");
    }

    #[test]
    fn a_line_is_cut_by_what_is_seen_of_it() {
        let line = Line::default().and(Tone::Good, "öne").and(Tone::Plain, " two");
        assert_eq!(line.clone().cut(7).render(Paint::Ansi), "\x1b[32möne\x1b[0m two");
        assert_eq!(line.clone().cut(6).render(Paint::Plain), "öne t…");
        assert_eq!(line.clone().cut(2).render(Paint::Plain), "ö…");
        assert_eq!(line.cut(6).width(), 6);
    }
}
