//! The part of a terminal that is drawn over itself, with lines that stay above it.

use std::io::stderr;

use rustix::termios::tcgetwinsize;

use crate::{
    output::{Live, Output},
    paint::Line,
};

/// Where a terminal does not say how large it is.
const USUAL: Size = Size { columns: 80, rows: 24 };

/// Lines that stay, and below them a picture of how things stand, which is drawn only on a terminal.
#[derive(Debug)]
pub(crate) struct Screen<'a> {
    output: &'a Output,
    /// How many lines of the picture are there now.
    drawn: usize,
}

#[derive(Debug, Clone, Copy)]
struct Size {
    columns: usize,
    rows: usize,
}

impl<'a> Screen<'a> {
    pub(crate) fn new(output: &'a Output) -> Self {
        Self { output, drawn: 0 }
    }

    /// Says something that stays. The picture is gone until it is drawn again.
    pub(crate) fn say(&mut self, line: &Line) {
        self.clear();
        self.output.status(&line.render(self.output.status));
    }

    /// Whether there is a picture that shows what would otherwise be said.
    pub(crate) fn is_drawn(&self) -> bool {
        self.output.live == Live::Drawn
    }

    /// Draws the picture in place of the one before.
    pub(crate) fn draw(&mut self, picture: &[Line]) {
        if self.output.live == Live::Lines {
            return;
        }
        let size = size();
        // One row is left for the cursor: a picture that scrolls could not be drawn over.
        let picture = &picture[..picture.len().min(size.rows.saturating_sub(1))];
        let mut text = self.erase();
        for line in picture {
            text.push_str(&line.clone().cut(size.columns).render(self.output.status));
            text.push('\n');
        }
        self.output.draw(&text);
        self.drawn = picture.len();
    }

    /// Takes the picture away.
    pub(crate) fn clear(&mut self) {
        if self.drawn > 0 {
            self.output.draw(&self.erase());
            self.drawn = 0;
        }
    }

    /// What takes the picture away: up to its first line, and clear from there.
    fn erase(&self) -> String {
        match self.drawn {
            0 => String::new(),
            drawn => format!("\x1b[{drawn}F\x1b[J"),
        }
    }
}

/// How wide the terminal is.
pub(crate) fn columns() -> usize {
    size().columns
}

fn size() -> Size {
    match tcgetwinsize(stderr()) {
        Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
            Size { columns: size.ws_col.into(), rows: size.ws_row.into() }
        }
        Ok(_) | Err(_) => USUAL,
    }
}
