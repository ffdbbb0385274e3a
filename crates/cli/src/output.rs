//! Printing, also to a pipe that is already closed.

use std::borrow::Cow;
use std::io::{self, IsTerminal as _, Write};

/// Prints a line on standard output. A closed pipe is not an error.
pub fn print_line(line: &str) -> io::Result<()> {
    print(&format!("{line}\n"))
}

/// Prints text on standard output, as [`print_line`].
pub fn print(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        other => other,
    }
}

/// Prints a list on standard output. If it is empty, `note` says so on standard error.
pub fn print_list(text: &str, note: &str) -> io::Result<()> {
    if text.is_empty() {
        complain(&format!("{note}\n"));
    }
    print(text)
}

/// Prints on standard error; if that fails, only the exit code tells.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(plain(text).as_bytes());
}

/// Text without characters that could move the cursor, change colours or reverse the text:
/// what a tool, a hook or a file said must not pass for what ona says.
pub fn plain(text: &str) -> String {
    let hidden = |c: char| {
        (c.is_control() && c != '\n' && c != '\t')
            || matches!(c, '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    text.chars().map(|c| if hidden(c) { '\u{fffd}' } else { c }).collect()
}

/// A model's words on standard output: as they are for a program, plain for a terminal.
pub fn for_reader(text: &str) -> Cow<'_, str> {
    match io::stdout().is_terminal() {
        true => plain(text).into(),
        false => text.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(plain("a\u{1b}[31mb\rc\u{9b}d\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\n");
        assert_eq!(plain("x\u{202e}y\u{200b}z\té 日本"), "x\u{fffd}y\u{fffd}z\té 日本");
    }
}
