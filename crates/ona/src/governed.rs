//! Who speaks: the operator, or something that an agent's call has started (DESIGN §5, no. 12).

use std::fs;

use crate::args::{Cli, Command, Config};
use crate::error::CliError;

/// What everything that a call starts carries in its environment.
const MARKER: &str = "ONA_TOOL_USE_ID";

/// The call that this process belongs to: by its own environment, or by that of a process above it.
pub fn by_call() -> Option<String> {
    if let Ok(call) = std::env::var(MARKER) {
        return Some(call);
    }
    let mut pid = std::process::id();
    // Nobody has so many ancestors.
    for _ in 0..100 {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let parent = stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()?;
        if parent <= 1 {
            return None;
        }
        pid = parent;
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        let marked = environment.split(|byte| *byte == 0).find_map(|entry| {
            std::str::from_utf8(entry)
                .ok()?
                .strip_prefix(MARKER)?
                .strip_prefix('=')
                .map(str::to_owned)
        });
        if marked.is_some() {
            return marked;
        }
    }
    None
}

/// Refuses what only the operator may decide, if it is not the operator who asks.
pub fn check(cli: &Cli, trusts: bool) -> Result<(), CliError> {
    let what = match &cli.command {
        Some(Command::Trust { list: false, .. } | Command::Untrust) => "trust",
        Some(Command::Config(Config::Set { .. } | Config::Import)) => "settings",
        _ if trusts => "trust",
        _ if cli.transition.is_some() => "the phase",
        _ => match cli.permission_mode.as_deref() {
            Some("acceptEdits" | "bypassPermissions") => "the permission mode",
            _ => return Ok(()),
        },
    };
    match by_call() {
        None => Ok(()),
        Some(call) => Err(CliError::usage(format!(
            "{what} is the operator's to decide, and this ona was started by the call {call}"
        ))
        .hint("run it in a terminal of your own")),
    }
}
