//! The modes of the terminal, and giving them back in every case.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use crossterm::terminal;

/// Whether the modes are on: whoever ends the process must give the terminal back.
static ENTERED: AtomicBool = AtomicBool::new(false);

/// Whether the alternate screen is shown.
static ALTERNATE: AtomicBool = AtomicBool::new(false);

/// The title is kept; bracketed paste, focus reports, and keys that tell Shift+Enter from Enter where the terminal knows how.
const ENTER: &str = "\x1b[22;2t\x1b[?2004h\x1b[?1004h\x1b[>1u";
/// The same off; also a visible cursor, no colours, no open frame.
const LEAVE: &str = "\x1b[23;2t\x1b[<u\x1b[?1004l\x1b[?2004l\x1b[?2026l\x1b[?25h\x1b[0m";
/// Leaves the alternate screen. Where it is not shown, this would move the cursor to where it once was.
const LEAVE_ALTERNATE: &str = "\x1b[?1049l";
/// Asks for the background colour.
const ASK_BACKGROUND: &str = "\x1b]11;?\x1b\\";

/// Switches the modes on.
pub fn enter(out: &mut impl Write, ask_background: bool) -> io::Result<()> {
    terminal::enable_raw_mode()?;
    ENTERED.store(true, Ordering::SeqCst);
    out.write_all(ENTER.as_bytes())?;
    if ask_background {
        out.write_all(ASK_BACKGROUND.as_bytes())?;
    }
    out.flush()
}

/// The alternate screen is shown from now on, or no longer.
pub fn on_alternate(is_shown: bool) {
    ALTERNATE.store(is_shown, Ordering::SeqCst);
}

/// Gives the terminal back. It can be called from anywhere and more than once: after a panic, before the process is ended.
pub fn leave() {
    if ENTERED.swap(false, Ordering::SeqCst) {
        let mut out = io::stdout();
        if ALTERNATE.swap(false, Ordering::SeqCst) {
            let _ = out.write_all(LEAVE_ALTERNATE.as_bytes());
        }
        let _ = out.write_all(LEAVE.as_bytes());
        let _ = out.flush();
        let _ = terminal::disable_raw_mode();
    }
}

/// Gives the terminal back when it is dropped.
pub struct Modes;

impl Drop for Modes {
    fn drop(&mut self) {
        leave();
    }
}
