//! Running other programs: on the terminal, for their output, or only if they
//! are installed.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail};

/// The cargo that runs us, so that a `+toolchain` stays in effect.
pub fn cargo() -> Command {
    Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()))
}

/// Runs `command` on the user's terminal; any exit code but 0 is an error that names it.
pub fn run(command: &mut Command) -> Result<()> {
    let status = command.status().with_context(|| format!("cannot start `{}`", shown(command)))?;
    if !status.success() {
        bail!("`{}` failed with {status}", shown(command));
    }
    Ok(())
}

/// Runs `command` for its standard output; an error contains the end of its output.
pub fn capture(command: &mut Command) -> Result<String> {
    let output = output(command)?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        let end: Vec<&str> = said.trim_end().lines().rev().take(20).collect();
        let end: Vec<&str> = end.into_iter().rev().collect();
        bail!("`{}` failed with {}:\n{}", shown(command), output.status, end.join("\n"));
    }
    String::from_utf8(output.stdout)
        .with_context(|| format!("the output of `{}` is not UTF-8", shown(command)))
}

/// Runs `command` without input and returns its output, however it ends.
pub fn output(command: &mut Command) -> Result<Output> {
    command
        .stdin(Stdio::null())
        .output()
        .with_context(|| format!("cannot start `{}`", shown(command)))
}

/// Whether `cargo <name>` is installed, such as cargo-nextest and cargo-deny.
pub fn has_cargo_subcommand(name: &str) -> bool {
    output(cargo().args([name, "--version"])).is_ok_and(|output| output.status.success())
}

/// Where `PATH` finds the program `name`.
pub fn find_program(name: &str) -> Option<PathBuf> {
    std::env::split_paths(&std::env::var_os("PATH")?)
        .map(|directory| directory.join(name))
        .find(|candidate| is_executable(candidate))
}

#[cfg(unix)]
fn is_executable(path: &std::path::Path) -> bool {
    use std::os::unix::fs::PermissionsExt;
    path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
}

#[cfg(not(unix))]
fn is_executable(path: &std::path::Path) -> bool {
    path.is_file()
}

/// The command line as typed, for messages.
fn shown(command: &Command) -> String {
    let program = PathBuf::from(command.get_program());
    let program = program.file_name().unwrap_or(command.get_program()).to_string_lossy();
    let mut line = program.into_owned();
    for argument in command.get_args() {
        line.push(' ');
        line.push_str(&argument.to_string_lossy());
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_programs_on_the_path() {
        assert!(find_program("sh").is_some());
        assert_eq!(find_program("no-such-program-anywhere"), None);
    }

    #[test]
    fn failures_name_the_command_and_what_it_said() {
        let error = capture(Command::new("sh").args(["-c", "echo cause >&2; exit 3"]))
            .map_err(|error| error.to_string());
        let error = error.err().unwrap_or_default();
        assert!(error.contains("`sh -c") && error.contains("exit status: 3"), "{error}");
        assert!(error.ends_with("cause"), "{error}");
    }

    #[test]
    fn missing_programs_are_named() {
        let error = run(&mut Command::new("no-such-program-anywhere"));
        let error = error.err().map(|error| error.to_string()).unwrap_or_default();
        assert_eq!(error, "cannot start `no-such-program-anywhere`");
    }
}
