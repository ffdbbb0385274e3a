//! What a terminal has received, and the threads that feed it.

use std::io::{ErrorKind, Read, Write};
use std::num::NonZeroU16;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Condvar, Mutex, PoisonError};
use std::time::Instant;

use super::Exit;
use super::terminal::Terminal;

/// The rows kept above the screen.
const SCROLLBACK: usize = 10_000;

/// What the threads of a terminal share with it.
pub(super) struct State {
    pub parser: vt100::Parser<Terminal>,
    pub raw: Vec<u8>,
    /// Grows with everything that a wait may wait for.
    pub changes: u64,
    pub last_output: Instant,
    /// No output can come any more.
    pub eof: bool,
    pub exit: Option<Exit>,
}

impl State {
    pub fn resize(&mut self, rows: u16, cols: u16) {
        self.parser.set_size(cells(rows), cells(cols));
    }

    pub fn screen(&self) -> String {
        let (_, cols) = self.parser.screen().size();
        joined(self.parser.screen().rows(0, cols.get()))
    }

    pub fn whole(&mut self) -> String {
        let screen = self.parser.screen_mut();
        let (height, cols) = screen.size();
        let mut rows = Vec::new();
        // The screen is moved over the rows above it, a page at a time.
        let mut above = screen.scrollback_len();
        while above > 0 {
            screen.set_scrollback(above);
            let page = above.min(height.get().into());
            rows.extend(screen.rows(0, cols.get()).take(page));
            above -= page;
        }
        screen.set_scrollback(0);
        rows.extend(screen.rows(0, cols.get()));
        joined(rows)
    }

    /// The screen, and the part of it before the cursor, both squashed.
    pub fn typed(&self) -> (String, String) {
        let screen = self.parser.screen();
        let (row, col) = screen.cursor_position();
        (squashed(&self.screen()), squashed(&screen.contents_between(0, 0, row, col)))
    }
}

/// The state, and how to wait for it to change.
pub(super) struct Shared {
    pub state: Mutex<State>,
    pub changed: Condvar,
}

impl Shared {
    pub fn new(rows: u16, cols: u16, terminal: Terminal) -> Self {
        let (rows, cols) = (cells(rows), cells(cols));
        let state = State {
            parser: vt100::Parser::new_with_callbacks(rows, cols, SCROLLBACK, terminal),
            raw: Vec::new(),
            changes: 0,
            last_output: Instant::now(),
            eof: false,
            exit: None,
        };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The state, for a thread that changes it. A panic elsewhere is reported elsewhere.
    pub fn change(&self, change: impl FnOnce(&mut State)) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut state);
        state.changes += 1;
        self.changed.notify_all();
    }

    /// Feeds the screen until no program has the terminal open.
    pub fn read(&self, mut output: impl Read, input: &Sender<Vec<u8>>) {
        let mut chunk = vec![0; 1 << 16];
        loop {
            let length = match output.read(&mut chunk) {
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                // Any other error means what the end of the output means: nothing more comes.
                Ok(0) | Err(_) => break,
                Ok(length) => length,
            };
            self.change(|state| {
                state.raw.extend_from_slice(&chunk[..length]);
                state.parser.process(&chunk[..length]);
                state.last_output = Instant::now();
                let replies = state.parser.callbacks_mut().replies();
                if !replies.is_empty() {
                    let _ = input.send(replies);
                }
            });
        }
        self.change(|state| state.eof = true);
    }
}

/// Passes the input on. A thread of its own: a program that does not read must not stop the one that reads its output.
pub(super) fn write(mut terminal: Box<dyn Write + Send>, input: &Receiver<Vec<u8>>) {
    // It fails once the program has ended, which the next wait reports.
    while let Ok(bytes) = input.recv()
        && terminal.write_all(&bytes).is_ok()
    {}
}

fn cells(count: u16) -> NonZeroU16 {
    NonZeroU16::new(count).expect("a screen has rows and columns")
}

/// The rows as text, without the blanks at their ends and the empty rows at the bottom.
fn joined(rows: impl IntoIterator<Item = String>) -> String {
    let rows: Vec<String> = rows.into_iter().map(|row| row.trim_end().to_owned()).collect();
    rows.join("\n").trim_end().to_owned()
}

/// Text without blanks and lines of boxes, so that it is found even where a program broke it into rows of a box.
pub(super) fn squashed(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace() && !('─'..='╿').contains(c)).collect()
}
