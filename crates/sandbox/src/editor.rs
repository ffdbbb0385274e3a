//! The operator's editor, in the operator's terminal.

use std::io;
use std::path::Path;
use std::process::Command;

/// Runs an editor, which may be a command line, on a file, and waits for it; says whether it ended well.
///
/// It shares ona's terminal, process group and environment: the operator started it, not a tool call.
pub fn edit(editor: &str, file: &Path) -> io::Result<bool> {
    let line = format!("{editor} \"$@\"");
    let status = Command::new("sh").arg("-c").arg(line).arg(editor).arg(file).status()?;
    Ok(status.success())
}

/// Stops this process until the operator continues it.
///
/// The signal goes to this thread: one to the process or its group may be taken by another thread, and this one would
/// go on for a while.
pub fn suspend() {
    let _ = nix::sys::signal::raise(nix::sys::signal::Signal::SIGTSTP);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_editor_is_a_command_line_that_gets_the_file() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("it's a file");
        std::fs::write(&file, "one").unwrap();
        assert!(edit("sed -i s/one/two/", &file).unwrap());
        assert_eq!(std::fs::read_to_string(&file).unwrap(), "two");
        assert!(!edit("false", &file).unwrap());
    }
}
