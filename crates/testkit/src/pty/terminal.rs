//! What a terminal does besides drawing: it answers questions, has a title, and shows a frame as a whole.

use std::mem;

use vt100::{Callbacks, Screen};

/// The mode in which a terminal shows nothing until a frame is complete.
const SYNCHRONIZED: u16 = 2026;

/// The colours a terminal reports, if it is asked for them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Background {
    /// Light text on black.
    Dark,
    /// Dark text on white.
    Light,
}

/// The part of the terminal that the parser leaves to its user.
pub(super) struct Terminal {
    background: Option<Background>,
    pub title: String,
    /// A frame has begun and is not complete.
    pub in_frame: bool,
    replies: Vec<u8>,
}

impl Terminal {
    pub fn new(background: Option<Background>) -> Self {
        Self { background, title: String::new(), in_frame: false, replies: Vec::new() }
    }

    /// The answers that were not sent yet.
    pub fn replies(&mut self) -> Vec<u8> {
        mem::take(&mut self.replies)
    }

    fn reply(&mut self, answer: &str) {
        self.replies.extend_from_slice(answer.as_bytes());
    }
}

impl Callbacks for Terminal {
    fn set_window_title(&mut self, _: &mut Screen, title: &[u8]) {
        self.title = String::from_utf8_lossy(title).into_owned();
    }

    fn unhandled_csi(
        &mut self,
        screen: &mut Screen,
        first: Option<u8>,
        second: Option<u8>,
        params: &[&[u16]],
        last: char,
    ) {
        let number = params.first().and_then(|param| param.first()).copied().unwrap_or(0);
        match (first, second, last, number) {
            // A VT220 that has colours.
            (None, None, 'c', 0) => self.reply("\x1b[?62;22c"),
            (None, None, 'n', 5) => self.reply("\x1b[0n"),
            (None, None, 'n', 6) => {
                let (row, col) = screen.cursor_position();
                // After the last column the cursor waits beyond it; terminals report the last.
                let col = col.min(screen.size().1.get() - 1);
                self.reply(&format!("\x1b[{};{}R", row + 1, col + 1));
            }
            (Some(b'?'), None, 'h' | 'l', SYNCHRONIZED) => self.in_frame = last == 'h',
            (Some(b'?'), Some(b'$'), 'p', mode) => {
                let state = if mode == SYNCHRONIZED { 2 - u16::from(self.in_frame) } else { 0 };
                self.reply(&format!("\x1b[?{mode};{state}$y"));
            }
            // Among the rest is the question for kitty's keyboard protocol: most terminals do not answer it.
            _ => {}
        }
    }

    fn unhandled_osc(&mut self, _: &mut Screen, params: &[&[u8]]) {
        let (white, black) = ("rgb:ffff/ffff/ffff", "rgb:0000/0000/0000");
        let colour = match (params, self.background) {
            ([b"10", b"?"], Some(Background::Dark)) => ("10", white),
            ([b"10", b"?"], Some(Background::Light)) => ("10", black),
            ([b"11", b"?"], Some(Background::Dark)) => ("11", black),
            ([b"11", b"?"], Some(Background::Light)) => ("11", white),
            _ => return,
        };
        self.reply(&format!("\x1b]{};{}\x1b\\", colour.0, colour.1));
    }
}
