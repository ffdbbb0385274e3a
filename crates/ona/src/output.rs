//! Printing, for readers that may have gone away.

use std::io::{self, Write};

/// Prints a line on standard output. A pipe that was closed is no error: whoever read it has had enough.
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

/// Says what went wrong; if nobody can be told, the exit code has to do.
pub fn complain(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
