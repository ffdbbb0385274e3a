//! A terminal that is only imagined: what is on its screen, what was scrolled off, and what a change of its size does.

use std::num::NonZero;

use ona_tui::screen::Reflow;

/// Rows that were scrolled off and are kept.
const SCROLLBACK: usize = 100_000;

/// The terminal.
pub struct Terminal {
    parser: vt100::Parser,
    reflow: Reflow,
}

/// A row, and whether the text goes on in the next one.
struct Row {
    text: String,
    goes_on: bool,
}

impl Terminal {
    /// An empty one.
    pub fn new(columns: usize, height: usize, reflow: Reflow) -> Self {
        Self { parser: parser(columns, height), reflow }
    }

    /// The process has written something.
    pub fn process(&mut self, bytes: &[u8]) {
        self.parser.process(bytes);
    }

    /// The rows of the screen, from the top.
    pub fn screen(&self) -> Vec<String> {
        self.parser.screen().rows(0, u16::MAX).map(|row| row.trim_end().to_owned()).collect()
    }

    /// The rows that were scrolled off, the oldest first.
    pub fn scrollback(&mut self) -> Vec<String> {
        self.above().into_iter().map(|row| row.text.trim_end().to_owned()).collect()
    }

    /// The row and column of the cursor, if it is shown.
    pub fn cursor(&self) -> Option<(u16, u16)> {
        let screen = self.parser.screen();
        (!screen.hide_cursor()).then(|| screen.cursor_position())
    }

    /// Whether the alternate screen is shown.
    pub fn is_alternate(&self) -> bool {
        self.parser.screen().alternate_screen()
    }

    /// The colour of the letters at a text on the screen.
    pub fn colour_of(&self, text: &str) -> vt100::Color {
        let (row, column) = self.place_of(text);
        self.parser.screen().cell(row, column).unwrap().fgcolor()
    }

    /// The colour behind the last column of the row with a text.
    pub fn background_beside(&self, text: &str) -> vt100::Color {
        let (row, _) = self.place_of(text);
        let last = self.parser.screen().size().1.get() - 1;
        self.parser.screen().cell(row, last).unwrap().bgcolor()
    }

    fn place_of(&self, text: &str) -> (u16, u16) {
        for (row, line) in (0..).zip(self.screen()) {
            if let Some(at) = line.find(text) {
                return (row, u16::try_from(ona_render::text::width(&line[..at])).unwrap());
            }
        }
        panic!("`{text}` is not on the screen")
    }

    /// The user changes its size.
    pub fn resize(&mut self, columns: usize, height: usize) {
        match self.reflow {
            Reflow::Cuts => self.parser.set_size(size(height), size(columns)),
            Reflow::Wraps => self.wrap_anew(columns, height),
        }
    }

    /// The rows above the screen.
    fn above(&mut self) -> Vec<Row> {
        let screen = self.parser.screen_mut();
        let count = screen.scrollback_len();
        let mut rows = Vec::with_capacity(count);
        for offset in (1..=count).rev() {
            screen.set_scrollback(offset);
            let text = screen.rows(0, u16::MAX).next().unwrap_or_default();
            rows.push(Row { text, goes_on: screen.row_wrapped(0) });
        }
        screen.set_scrollback(0);
        rows
    }

    /// As most terminals do it: every line is broken into rows again, and the cursor stays where it was in its line.
    fn wrap_anew(&mut self, columns: usize, height: usize) {
        assert!(!self.is_alternate(), "only the main screen can be wrapped anew here");
        let mut rows = self.above();
        let (cursor_row, cursor_column) = self.parser.screen().cursor_position();
        let cursor_row = rows.len() + usize::from(cursor_row);
        let hidden = self.parser.screen().hide_cursor();
        for (number, text) in (0..).zip(self.parser.screen().rows(0, u16::MAX)) {
            rows.push(Row { text, goes_on: self.parser.screen().row_wrapped(number) });
        }
        let last = rows.iter().rposition(|row| !row.text.trim_end().is_empty()).unwrap_or(0);
        rows.truncate(last.max(cursor_row) + 1);
        let mut parser = parser(columns, height);
        // Where the cursor is afterwards, counted from the oldest row.
        let (mut done, mut at) = (0, (0, 0));
        let mut lines = rows.iter().enumerate().peekable();
        while lines.peek().is_some() {
            let (mut line, mut offset) = (String::new(), None);
            for (number, row) in lines.by_ref() {
                if number == cursor_row {
                    offset = Some(ona_render::text::width(&line) + usize::from(cursor_column));
                }
                line.push_str(&row.text);
                if !row.goes_on {
                    break;
                }
            }
            let line = line.trim_end();
            let taken = ona_render::text::width(line).div_ceil(columns).max(1);
            if let Some(offset) = offset {
                at = (done + (offset / columns).min(taken - 1), offset % columns);
            }
            done += taken;
            parser.process(line.as_bytes());
            if lines.peek().is_some() {
                parser.process(b"\r\n");
            }
        }
        let above = parser.screen().scrollback_len();
        let place = format!("\x1b[{};{}H", at.0.saturating_sub(above) + 1, at.1 + 1);
        parser.process(place.as_bytes());
        parser.process(if hidden { b"\x1b[?25l" } else { b"\x1b[?25h" });
        self.parser = parser;
    }
}

fn parser(columns: usize, height: usize) -> vt100::Parser {
    vt100::Parser::new(size(height), size(columns), SCROLLBACK)
}

fn size(number: usize) -> NonZero<u16> {
    NonZero::new(u16::try_from(number).unwrap()).unwrap()
}

#[test]
fn lines_are_wrapped_anew_and_the_cursor_stays_in_its_line() {
    let mut terminal = Terminal::new(10, 4, Reflow::Wraps);
    terminal.process(b"a\r\n0123456789abc\r\nx\r\n> y");
    assert_eq!(terminal.scrollback(), ["a"]);
    terminal.resize(20, 5);
    assert_eq!(terminal.screen(), ["a", "0123456789abc", "x", "> y", ""]);
    assert_eq!(terminal.cursor(), Some((3, 3)));
    terminal.resize(5, 4);
    assert_eq!(terminal.screen(), ["56789", "abc", "x", "> y"]);
    assert_eq!(terminal.cursor(), Some((3, 3)));
}
