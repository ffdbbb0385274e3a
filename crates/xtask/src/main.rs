//! `cargo xtask …`: the project's own tasks, as one program.
//!
//! Everything that a contributor or the CI runs beyond plain cargo is here, so that a
//! fresh machine needs only a Rust toolchain and git. It is not part of ona:
//! nothing depends on it, and it depends on none of our crates.
//!
//! ```text
//! cargo xtask test        build, test suite, acceptance rows
//! cargo xtask licences    licences, banned crates, sources
//! cargo xtask bench       the tables of docs/PERFORMANCE.md
//! cargo xtask hosts       Claude Code and Codex behind ona's gate
//! cargo xtask mcp         ona's MCP server and the official client
//! cargo xtask keyring     ona with a real keyring
//! cargo xtask torment     random keys and resizes for the interactive session
//! cargo xtask pictures    pictures of the interactive session for the documentation
//! ```
//!
//! The tests of this package (`tests/it`) check the workspace itself: its
//! layers, its acceptance matrix, the layout of its files.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a task prints to the terminal and runs other programs"
)]

mod bench;
mod hosts;
mod keyring;
mod licences;
mod mcp;
mod metadata;
mod needs;
mod pictures;
mod process;
mod spdx;
mod test;
mod torment;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The tasks of the ona workspace.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct Args {
    #[command(subcommand)]
    chore: Chore,
}

#[derive(Subcommand)]
enum Chore {
    /// Build everything, run every test, then every row of the acceptance matrix
    ///
    /// Needs cargo, bash, git and sqlite3; installs missing programs with apt-get if possible,
    /// otherwise names them. Uses cargo-nextest if it is installed.
    Test(test::Args),
    /// Check licences, banned crates and sources of all dependencies against deny.toml
    ///
    /// Runs `cargo deny check licenses bans sources` if cargo-deny is installed, otherwise applies
    /// the same rules to the output of `cargo metadata`.
    Licences,
    /// Measure the figures of docs/PERFORMANCE.md and print them as a Markdown table
    ///
    /// Builds ona in release and creates a tree of 50,000 files in the temporary directory. Ratios
    /// are medians of alternating runs with rg, fd and find on the same tree.
    Bench(bench::Args),
    /// Run Claude Code and Codex from npm behind ona's gate, and print the checks as a table
    ///
    /// Needs npm and the network; their model is scripted and on loopback.
    Hosts(hosts::Args),
    /// Run `ona mcp serve` with the official MCP client from npm, and print the checks as a table
    ///
    /// Needs npm, node and the network.
    Mcp(mcp::Args),
    /// Run ona with a real Secret Service on a bus of its own
    ///
    /// Needs dbus-run-session, gnome-keyring-daemon, secret-tool, gdbus and node; installs missing ones with apt-get if
    /// possible.
    Keyring,
    /// Send random keys, pastes and resizes to the interactive session, and look for panics and hangs
    Torment(torment::Args),
    /// Draw the pictures of the interactive session in docs/pictures again
    ///
    /// Needs tmux; installs it with apt-get if possible.
    Pictures,
}

fn main() -> ExitCode {
    let root = root();
    let result = match Args::parse().chore {
        Chore::Test(args) => test::run(root, &args),
        Chore::Licences => licences::run(root),
        Chore::Bench(args) => bench::run(root, &args),
        Chore::Hosts(args) => hosts::run(root, &args),
        Chore::Mcp(args) => mcp::run(root, &args),
        Chore::Keyring => keyring::run(root),
        Chore::Torment(args) => torment::run(root, &args),
        Chore::Pictures => pictures::run(root),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The root of the repository: this package is `crates/xtask` in it.
fn root() -> &'static Path {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package)
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn arguments_are_consistent() {
        Args::command().debug_assert();
    }

    #[test]
    fn root_holds_the_workspace_manifest() {
        assert!(root().join("Cargo.toml").is_file());
        assert!(root().join("crates/xtask").is_dir());
    }
}
