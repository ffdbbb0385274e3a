//! `cargo xtask keyring`: ona with a real Secret Service, gnome-keyring on a bus of its own.
//!
//! It is not part of the tests: a keyring belongs to a desktop, and what ona does without one is tested there.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Result;

use crate::needs::{self, Need};
use crate::process;

const NEEDS: [Need; 6] = [
    ("bash", "bash"),
    ("dbus-run-session", "dbus-daemon"),
    ("gnome-keyring-daemon", "gnome-keyring"),
    ("secret-tool", "libsecret-tools"),
    ("gdbus", "libglib2.0-bin"),
    ("node", "nodejs"),
];

/// What is done and looked at there, check by check.
const CHECKS: &str = include_str!("keyring.sh");

pub fn run(root: &Path) -> Result<()> {
    needs::provide(&NEEDS)?;
    process::run(process::cargo().args(["build", "--locked", "-p", "ona"]).current_dir(root))?;
    let target = std::env::var_os("CARGO_TARGET_DIR").map(PathBuf::from);
    let target = target.unwrap_or_else(|| root.join("target"));
    let dir = tempfile::Builder::new().prefix("ona-keyring-").tempdir()?;
    std::fs::write(dir.path().join("checks.sh"), CHECKS)?;
    let mut session = Command::new("dbus-run-session");
    session
        .args(["--", "bash", "checks.sh"])
        .current_dir(dir.path())
        .env_clear()
        .env("PATH", std::env::var_os("PATH").unwrap_or_default())
        .env("HOME", dir.path().join("home"))
        .env("AGENT_SDLC_DB", dir.path().join("agent.db"))
        .env("ONA", target.join("debug/ona").canonicalize()?)
        .env("LIB", root.join("acceptance/lib"));
    process::run(&mut session)
}
