//! `cargo xtask …`: the project's own chores, as one program.
//!
//! What a contributor or the CI runs beyond plain cargo lives here, so that a
//! fresh machine needs a Rust toolchain and git and no further scripts. It is
//! no part of ona: nothing depends on it, and it depends on no crate of ours.
//!
//! ```text
//! cargo xtask test        build, test suite, acceptance rows
//! cargo xtask licences    licences, banned crates, sources
//! cargo xtask bench       the tables of docs/PERFORMANCE.md
//! cargo xtask hosts       Claude Code and Codex behind ona's gate
//! cargo xtask mcp         ona's MCP server and the official client
//! ```
//!
//! The tests of this package (`tests/it`) guard the workspace itself: its
//! layers, its acceptance matrix, how its files are laid out.

#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a chore talks to its user on the terminal and exists to run other programs"
)]

mod bench;
mod hosts;
mod licences;
mod mcp;
mod metadata;
mod process;
mod spdx;
mod test;

use std::path::Path;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The chores of the ona workspace.
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
    /// Needs cargo, and the programs bash, git and sqlite3: what is missing is installed with
    /// apt-get where that is possible, else named. Uses cargo-nextest where it is installed.
    Test(test::Args),
    /// Check licences, banned crates and sources of all dependencies against deny.toml
    ///
    /// Runs `cargo deny check licenses bans sources` where cargo-deny is installed, else applies
    /// the same rules to what `cargo metadata` lists.
    Licences,
    /// Measure what docs/PERFORMANCE.md promises and print it as a Markdown table
    ///
    /// Builds ona in release and makes a tree of 50,000 files in the temporary directory. Ratios
    /// are medians of runs taken in turns with rg, fd and find on that same tree.
    Bench(bench::Args),
    /// Drive Claude Code and Codex, as npm ships them, behind ona's gate, and print what was seen as a table
    ///
    /// Needs npm and the network; the model they ask is scripted and on loopback.
    Hosts(hosts::Args),
    /// Drive `ona mcp serve` with the official MCP client, as npm ships it, and print what was seen as a table
    ///
    /// Needs npm, node and the network.
    Mcp(mcp::Args),
}

fn main() -> ExitCode {
    let root = root();
    let result = match Args::parse().chore {
        Chore::Test(args) => test::run(root, &args),
        Chore::Licences => licences::run(root),
        Chore::Bench(args) => bench::run(root, &args),
        Chore::Hosts(args) => hosts::run(root, &args),
        Chore::Mcp(args) => mcp::run(root, &args),
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
