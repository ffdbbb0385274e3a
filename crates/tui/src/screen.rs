//! The inline viewport: finished rows go into the terminal's own scrollback, the live rows stay below them.
//!
//! ratatui's own inline viewport has a fixed height and asks the terminal where the cursor is, which mixes with what the
//! user types. This one moves relative to the cursor only, so it never asks, and its height changes with every frame.

use std::io::{self, Write};

use ona_render::text::{truncate, width};
use ratatui::style::{Color, Modifier, Style};
use ratatui::text::{Line, Span};

/// Erases the row of the cursor, which is at its beginning, and all rows below it.
///
/// Not with one sequence: tmux and others put the whole screen into their scrollback if it is erased at once.
const ERASE_BELOW: &str = "\x1b[K\x1b7\x1b[B\x1b[J\x1b8";

/// The live rows, and where the cursor is among them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Frame {
    /// The rows, each no wider than the terminal.
    pub rows: Vec<Line<'static>>,
    /// The row and column of the cursor; hidden if `None`.
    pub cursor: Option<(usize, usize)>,
}

/// Whether the terminal wraps old rows anew when its width changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reflow {
    /// It does, as most do.
    Wraps,
    /// It cuts them off, as xterm and the Linux console do.
    Cuts,
}

/// The terminal as this process writes to it.
pub struct Screen<W> {
    out: W,
    columns: usize,
    height: usize,
    reflow: Reflow,
    /// The live rows as they were written.
    rows: Vec<String>,
    /// Their widths.
    widths: Vec<usize>,
    /// The row of the cursor among them.
    cursor_row: usize,
    /// How many rows were written above the live ones since the start.
    above: usize,
    /// Whether the alternate screen is shown.
    alternate: bool,
    /// The terminal was resized while the alternate screen was shown: the rows that stand above the live ones then.
    beneath: Option<Vec<Line<'static>>>,
}

impl<W: Write> Screen<W> {
    /// A screen of this size. The cursor is expected at the beginning of a row.
    pub fn new(out: W, columns: usize, height: usize, reflow: Reflow) -> Self {
        Self {
            out,
            columns: columns.max(1),
            height: height.max(2),
            reflow,
            rows: Vec::new(),
            widths: Vec::new(),
            cursor_row: 0,
            above: 0,
            alternate: false,
            beneath: None,
        }
    }

    /// Its columns.
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// Whether the terminal wraps old rows anew.
    pub fn reflow(&self) -> Reflow {
        self.reflow
    }

    /// Its rows.
    pub fn height(&self) -> usize {
        self.height
    }

    /// Writes something that is not shown: a title, a bell, a mode.
    pub fn write(&mut self, sequence: &str) -> io::Result<()> {
        self.out.write_all(sequence.as_bytes())?;
        self.out.flush()
    }

    /// Puts finished rows above the live ones, and shows these.
    pub fn draw(&mut self, finished: &[Line<'_>], frame: &Frame) -> io::Result<()> {
        if self.alternate {
            self.leave_alternate()?;
            if let Some(beneath) = self.beneath.take() {
                self.redraw(|_| beneath, &Frame::default())?;
            }
        }
        let rows: Vec<String> = frame.rows.iter().map(|row| self.fitted(row)).collect();
        let mut bytes = String::from("\x1b[?2026h\x1b[?25l");
        if !finished.is_empty() || self.rows.is_empty() {
            bytes.push('\r');
            up(&mut bytes, self.cursor_row);
            bytes.push_str(ERASE_BELOW);
            for line in finished {
                bytes.push_str(&self.fitted(line));
                bytes.push_str("\r\n");
            }
            bytes.push_str(&rows.join("\r\n"));
            self.above = self.above.saturating_add(finished.len());
            self.cursor_row = rows.len().saturating_sub(1);
        } else {
            self.update(&mut bytes, &rows);
        }
        self.place_cursor(&mut bytes, frame.cursor);
        bytes.push_str("\x1b[?2026l");
        self.widths = frame.rows.iter().map(|row| self.fitted_width(row)).collect();
        self.rows = rows;
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Writes the rows that differ from those of the last frame.
    fn update(&mut self, bytes: &mut String, rows: &[String]) {
        let mut at = self.cursor_row;
        let old = self.rows.len();
        for (number, row) in rows.iter().enumerate() {
            if self.rows.get(number) == Some(row) {
                continue;
            }
            if number < old {
                move_rows(bytes, at, number);
            } else {
                // Only a line break makes a new row at the bottom of the terminal.
                move_rows(bytes, at, number - 1);
                bytes.push_str("\r\n");
            }
            at = number;
            // Erased first: behind a full row the cursor waits on its last column.
            bytes.push_str("\r\x1b[K");
            bytes.push_str(row);
        }
        if rows.len() < old {
            move_rows(bytes, at, rows.len());
            bytes.push('\r');
            bytes.push_str(ERASE_BELOW);
            at = rows.len();
        }
        self.cursor_row = at;
    }

    fn place_cursor(&mut self, bytes: &mut String, cursor: Option<(usize, usize)>) {
        let Some((row, column)) = cursor else { return };
        move_rows(bytes, self.cursor_row, row);
        self.cursor_row = row;
        bytes.push('\r');
        if column > 0 {
            bytes.push_str(&format!("\x1b[{}C", column.min(self.columns - 1)));
        }
        bytes.push_str("\x1b[?25h");
    }

    /// The terminal has another size. What is on the screen is drawn anew from `tail`, which gives the last rows above the
    /// live ones at the new width.
    pub fn resized(
        &mut self,
        columns: usize,
        height: usize,
        tail: impl FnOnce(usize) -> Vec<Line<'static>>,
        frame: &Frame,
    ) -> io::Result<()> {
        let (columns, height) = (columns.max(1), height.max(2));
        let same_width = columns == self.columns;
        let before = std::mem::replace(&mut self.height, height);
        self.columns = columns;
        if self.alternate {
            self.beneath = Some(tail(height));
            return Ok(());
        }
        if same_width && self.above + self.rows.len() < height {
            // Nothing has moved.
            return self.draw(&[], frame);
        }
        let rows_above_cursor = match self.reflow {
            Reflow::Cuts => self.cursor_row,
            Reflow::Wraps => {
                let wrapped = |width: &usize| width.div_ceil(columns).max(1);
                self.widths.iter().take(self.cursor_row).map(wrapped).sum()
            }
        };
        let mut bytes = String::from("\x1b[?2026h\x1b[?25l\r");
        let mut finished = tail(before.max(height));
        let fills = finished.len() + frame.rows.len() >= height;
        if fills {
            // The whole screen is ours. Rows that were on it and have no room any more are printed too: they scroll away.
            let room = height.saturating_sub(frame.rows.len());
            let keep = self.left_on_screen(before).max(room);
            finished.drain(..finished.len().saturating_sub(keep));
            bytes.push_str("\x1b[H");
        } else {
            up(&mut bytes, rows_above_cursor + self.above.min(height));
        }
        bytes.push_str(ERASE_BELOW);
        for line in &finished {
            bytes.push_str(&self.fitted(line));
            bytes.push_str("\r\n");
        }
        self.out.write_all(bytes.as_bytes())?;
        self.above = finished.len();
        (self.rows, self.widths, self.cursor_row) = (Vec::new(), Vec::new(), 0);
        self.draw(&[], frame)
    }

    /// How many finished rows are still on a screen that had this height. A terminal that gets lower drops the rows below
    /// the cursor first; only then do those at the top go into the scrollback.
    fn left_on_screen(&self, before: usize) -> usize {
        let lost = before.saturating_sub(self.height);
        let above = self.above.min(before.saturating_sub(self.rows.len()));
        let below = before.saturating_sub(1 + above + self.cursor_row);
        match lost {
            0 => 0,
            lost => above.saturating_sub(lost.saturating_sub(below)),
        }
    }

    /// Removes the live rows, so that another program can write where they were.
    pub fn clear_live(&mut self) -> io::Result<()> {
        if self.alternate {
            self.leave_alternate()?;
        }
        let mut bytes = String::from("\r");
        up(&mut bytes, self.cursor_row);
        bytes.push_str(ERASE_BELOW);
        bytes.push_str("\x1b[?25h");
        (self.rows, self.widths, self.cursor_row) = (Vec::new(), Vec::new(), 0);
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// Draws everything anew, as after another program has written.
    pub fn redraw(
        &mut self,
        tail: impl FnOnce(usize) -> Vec<Line<'static>>,
        frame: &Frame,
    ) -> io::Result<()> {
        if self.alternate {
            self.leave_alternate()?;
        }
        let mut finished = tail(self.height);
        let most = self.height.saturating_sub(frame.rows.len());
        finished.drain(..finished.len().saturating_sub(most));
        self.out.write_all(b"\x1b[H")?;
        self.out.write_all(ERASE_BELOW.as_bytes())?;
        (self.rows, self.widths, self.cursor_row) = (Vec::new(), Vec::new(), 0);
        self.above = 0;
        self.draw(&finished, frame)
    }

    /// Shows rows on the alternate screen, which leaves the scrollback alone.
    pub fn draw_alternate(&mut self, frame: &Frame) -> io::Result<()> {
        let mut bytes = String::new();
        if !self.alternate {
            bytes.push_str("\x1b[?1049h");
            self.alternate = true;
        }
        bytes.push_str("\x1b[?2026h\x1b[?25l\x1b[H");
        for (number, row) in frame.rows.iter().take(self.height).enumerate() {
            if number > 0 {
                bytes.push_str("\r\n");
            }
            bytes.push_str("\x1b[K");
            bytes.push_str(&self.fitted(row));
        }
        bytes.push_str("\x1b[J");
        if let Some((row, column)) = frame.cursor {
            bytes.push_str(&format!("\x1b[{};{}H\x1b[?25h", row + 1, column + 1));
        }
        bytes.push_str("\x1b[?2026l");
        self.out.write_all(bytes.as_bytes())?;
        self.out.flush()
    }

    /// A row as it is written. A row that is too wide would move all that are below it, so it is cut off.
    fn fitted(&self, line: &Line<'_>) -> String {
        let columns = line_width(line);
        if columns <= self.columns {
            let mut text = written(line);
            // The background of a row goes to its end.
            if line.style.bg.is_some() {
                write_span(&mut text, &Span::raw(" ".repeat(self.columns - columns)), line.style);
            }
            return text;
        }
        let mut left = self.columns;
        let mut cut = Line::default().style(line.style);
        for span in &line.spans {
            let text = truncate(&span.content, left);
            left -= width(&text);
            cut.spans.push(Span::styled(text, span.style));
        }
        written(&cut)
    }

    fn fitted_width(&self, line: &Line<'_>) -> usize {
        if line.style.bg.is_some() { self.columns } else { line_width(line).min(self.columns) }
    }

    fn leave_alternate(&mut self) -> io::Result<()> {
        self.alternate = false;
        self.out.write_all(b"\x1b[?1049l")
    }
}

/// Moves the cursor between rows that exist.
fn move_rows(bytes: &mut String, from: usize, to: usize) {
    if to < from {
        up(bytes, from - to);
    } else if to > from {
        bytes.push_str(&format!("\x1b[{}B", to - from));
    }
}

fn up(bytes: &mut String, rows: usize) {
    if rows > 0 {
        bytes.push_str(&format!("\x1b[{rows}A"));
    }
}

fn line_width(line: &Line<'_>) -> usize {
    line.spans.iter().map(|span| width(&span.content)).sum()
}

/// A row as it is written: styles become sequences, and nothing else does.
pub fn written(line: &Line<'_>) -> String {
    let mut text = String::new();
    for span in &line.spans {
        write_span(&mut text, span, line.style.patch(span.style));
    }
    text
}

fn write_span(text: &mut String, span: &Span<'_>, style: Style) {
    let codes = codes(style);
    if !codes.is_empty() {
        text.push_str(&format!("\x1b[{codes}m"));
    }
    // Whatever got in here: no control character gets out.
    text.extend(span.content.chars().filter(|c| !c.is_control()));
    if !codes.is_empty() {
        text.push_str("\x1b[0m");
    }
}

/// The codes of a style, for `CSI … m`.
fn codes(style: Style) -> String {
    let mut codes: Vec<String> = Vec::new();
    let modifiers = style.add_modifier.difference(style.sub_modifier);
    for (modifier, code) in [
        (Modifier::BOLD, "1"),
        (Modifier::DIM, "2"),
        (Modifier::ITALIC, "3"),
        (Modifier::UNDERLINED, "4"),
        (Modifier::REVERSED, "7"),
        (Modifier::CROSSED_OUT, "9"),
    ] {
        if modifiers.contains(modifier) {
            codes.push(code.to_owned());
        }
    }
    codes.extend(style.fg.and_then(|colour| colour_code(colour, 30)));
    codes.extend(style.bg.and_then(|colour| colour_code(colour, 40)));
    codes.join(";")
}

/// The code of a colour: `base` is 30 for the foreground and 40 for the background.
fn colour_code(colour: Color, base: u8) -> Option<String> {
    let named = |number: u8| Some((base + number).to_string());
    let bright = |number: u8| Some((base + 60 + number).to_string());
    match colour {
        Color::Reset => None,
        Color::Black => named(0),
        Color::Red => named(1),
        Color::Green => named(2),
        Color::Yellow => named(3),
        Color::Blue => named(4),
        Color::Magenta => named(5),
        Color::Cyan => named(6),
        Color::Gray => named(7),
        Color::DarkGray => bright(0),
        Color::LightRed => bright(1),
        Color::LightGreen => bright(2),
        Color::LightYellow => bright(3),
        Color::LightBlue => bright(4),
        Color::LightMagenta => bright(5),
        Color::LightCyan => bright(6),
        Color::White => bright(7),
        Color::Indexed(number) => Some(format!("{};5;{number}", base + 8)),
        Color::Rgb(red, green, blue) => Some(format!("{};2;{red};{green};{blue}", base + 8)),
    }
}

#[cfg(test)]
mod tests {
    use std::num::NonZero;

    use super::*;

    fn line(text: &str) -> Line<'static> {
        Line::from(text.to_owned())
    }

    fn frame(rows: &[&str]) -> Frame {
        Frame {
            rows: rows.iter().map(|row| line(row)).collect(),
            cursor: Some((rows.len() - 1, 0)),
        }
    }

    fn screen(bytes: &[u8], columns: u16, height: u16) -> String {
        let size = |number| NonZero::new(number).unwrap();
        let mut terminal = vt100::Parser::new(size(height), size(columns), 100);
        terminal.process(bytes);
        let text = terminal.screen().contents();
        text.trim_end().to_owned()
    }

    #[test]
    fn finished_rows_stand_above_the_live_ones() {
        let mut bytes = Vec::new();
        let mut shown = Screen::new(&mut bytes, 20, 6, Reflow::Cuts);
        shown.draw(&[], &frame(&["prompt", "status"])).unwrap();
        shown.draw(&[line("one"), line("two")], &frame(&["prompt", "status"])).unwrap();
        shown.draw(&[line("three")], &frame(&["prompt 2", "status"])).unwrap();
        drop(shown);
        assert_eq!(screen(&bytes, 20, 6), "one\ntwo\nthree\nprompt 2\nstatus");
    }

    #[test]
    fn the_live_area_grows_and_shrinks_at_the_bottom() {
        let mut bytes = Vec::new();
        let mut shown = Screen::new(&mut bytes, 20, 4, Reflow::Cuts);
        shown.draw(&[line("a"), line("b"), line("c")], &frame(&["> "])).unwrap();
        shown.draw(&[], &frame(&["> x", "menu", "menu 2"])).unwrap();
        drop(shown);
        assert_eq!(screen(&bytes, 20, 4), "c\n> x\nmenu\nmenu 2");
        let mut more = bytes.clone();
        let mut shown = Screen::new(&mut more, 20, 4, Reflow::Cuts);
        shown.rows = vec!["> x".into(), "menu".into(), "menu 2".into()];
        shown.cursor_row = 2;
        shown.draw(&[], &frame(&["> y"])).unwrap();
        drop(shown);
        assert_eq!(screen(&more, 20, 4), "c\n> y");
    }

    #[test]
    fn a_full_row_keeps_its_last_column() {
        let mut bytes = Vec::new();
        let mut shown = Screen::new(&mut bytes, 5, 4, Reflow::Cuts);
        shown.draw(&[line("12345")], &frame(&["abcde", "x"])).unwrap();
        shown.draw(&[], &frame(&["ABCDE", "x"])).unwrap();
        drop(shown);
        assert_eq!(screen(&bytes, 5, 4), "12345\nABCDE\nx");
    }

    #[test]
    fn no_control_character_gets_out() {
        let evil = Line::from("a\u{1b}]0;title\u{7}b\u{9b}2Jc\n");
        assert_eq!(written(&evil), "a]0;titleb2Jc");
    }

    #[test]
    fn styles_become_codes() {
        let styled = Line::from(Span::styled("x", Style::new().fg(Color::Rgb(1, 2, 3)).bold()));
        assert_eq!(written(&styled), "\x1b[1;38;2;1;2;3mx\x1b[0m");
    }
}
