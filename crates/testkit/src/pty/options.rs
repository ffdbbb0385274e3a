//! The terminal that a program starts in.

use std::ffi::OsString;
use std::time::Duration;

use super::Background;

/// The terminal that a program starts in.
#[derive(Clone, Debug)]
pub struct PtyOptions {
    /// The height of the screen.
    pub rows: u16,
    /// The width of the screen.
    pub cols: u16,
    /// The value of `TERM`.
    pub term: String,
    /// Further variables. They replace those of the project.
    pub env: Vec<(OsString, OsString)>,
    /// The colour reported to OSC 11. With `None` the terminal does not answer that.
    pub background: Option<Background>,
    /// How long a wait may take.
    pub deadline: Duration,
}

impl Default for PtyOptions {
    fn default() -> Self {
        Self {
            rows: 40,
            cols: 120,
            term: "xterm-256color".to_owned(),
            // A test answers as soon as it sees a dialog.
            env: vec![("ONA_DIALOG_DELAY_MS".into(), "0".into())],
            background: None,
            deadline: Duration::from_secs(30),
        }
    }
}

impl PtyOptions {
    /// Another size.
    pub fn size(mut self, rows: u16, cols: u16) -> Self {
        (self.rows, self.cols) = (rows, cols);
        self
    }

    /// Another `TERM`.
    pub fn term(mut self, term: &str) -> Self {
        term.clone_into(&mut self.term);
        self
    }

    /// One more variable.
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        self.env.push((name.into(), value.into()));
        self
    }

    /// A terminal that tells the colour of its background.
    pub fn background(mut self, background: Background) -> Self {
        self.background = Some(background);
        self
    }

    /// Another deadline for every wait.
    pub fn deadline(mut self, deadline: Duration) -> Self {
        self.deadline = deadline;
        self
    }
}
