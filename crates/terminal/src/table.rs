//! Tables for people: columns as wide as what is in them, the last one free.

use crate::paint::{Paint, Tone, harmless};

/// A table: a heading and rows.
#[derive(Debug)]
pub struct Table<const COLUMNS: usize> {
    heading: [&'static str; COLUMNS],
    rows: Vec<[Cell; COLUMNS]>,
}

/// What stands in one place of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    text: String,
    tone: Tone,
}

impl Cell {
    /// A text with a tone; what others wrote is made harmless.
    pub fn new(tone: Tone, text: impl ToString) -> Self {
        Self { text: harmless(&text.to_string()), tone }
    }

    /// A text as it is.
    pub fn plain(text: impl ToString) -> Self {
        Self::new(Tone::Plain, text)
    }

    /// What is known, or a dash.
    pub fn known(text: Option<impl ToString>) -> Self {
        text.map_or_else(|| Self::new(Tone::Faint, "-"), Self::plain)
    }
}

impl<const COLUMNS: usize> Table<COLUMNS> {
    /// One without rows.
    #[must_use]
    pub fn new(heading: [&'static str; COLUMNS]) -> Self {
        Self { heading, rows: Vec::new() }
    }

    /// Adds a row.
    pub fn row(&mut self, row: [Cell; COLUMNS]) {
        self.rows.push(row);
    }

    /// The lines, or the sentence that says why there are none.
    #[must_use]
    pub fn render(&self, paint: Paint, empty: &str) -> String {
        if self.rows.is_empty() {
            return empty.to_owned();
        }
        let heading = self.heading.map(|text| Cell::new(Tone::Faint, text));
        let lines: Vec<_> = std::iter::once(&heading).chain(&self.rows).collect();
        let mut widths = [0; COLUMNS];
        for cells in &lines {
            for (width, cell) in widths.iter_mut().zip(*cells) {
                *width = (*width).max(cell.text.chars().count());
            }
        }
        let line = |cells: &[Cell; COLUMNS]| {
            let mut line = String::new();
            for (index, (cell, width)) in cells.iter().zip(widths).enumerate() {
                line.push_str(&paint.tone(cell.tone, &cell.text));
                if index + 1 < COLUMNS {
                    let gap = width - cell.text.chars().count() + 2;
                    line.extend(std::iter::repeat_n(' ', gap));
                }
            }
            line.truncate(line.trim_end().len());
            line
        };
        lines.into_iter().map(line).collect::<Vec<_>>().join("\n")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_as_wide_as_their_widest_cell() {
        let mut table = Table::new(["A", "LONG", "LAST"]);
        table.row([Cell::plain("aéa"), Cell::known(None::<&str>), Cell::plain("x y z")]);
        table.row([Cell::plain("b"), Cell::new(Tone::Good, "ok\n"), Cell::plain("")]);
        let plain = "A    LONG  LAST\naéa  -     x y z\nb    ok";
        assert_eq!(table.render(Paint::Plain, "none"), plain);
        let painted = table.render(Paint::Ansi, "none");
        assert!(painted.contains("b    \x1b[32mok \x1b[0m"), "{painted:?}");
    }

    #[test]
    fn an_empty_table_says_so() {
        assert_eq!(Table::new(["A"]).render(Paint::Plain, "no machines yet"), "no machines yet");
    }
}
