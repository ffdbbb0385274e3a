//! `ona mcp`: manages MCP servers, and serves ona's own tools as one.

mod add;
mod live;
mod serve;
mod show;

use std::process::ExitCode;

use clap::Subcommand;
use ona_cli::bootstrap::directory;
use ona_cli::output::complain;
use ona_cli::{CliError, Options, env};
use ona_config::servers::{self, KeptIn, Servers};
use ona_config::settings::{Roots, Settings};
use ona_extensions::{Plugin, active_plugins, trust_request};

use crate::config;

#[derive(Debug, Subcommand)]
pub enum Mcp {
    /// Add a server for yourself in this project, for yourself everywhere, or for everybody on the project
    ///
    /// Words after `--` go to the program unchanged. In every value, ${VAR} and ${VAR:-default} are replaced with the
    /// environment variable when the server starts, which keeps secrets out of files.
    #[command(
        after_help = "Examples:\n  ona mcp add files -- npx -y @modelcontextprotocol/server-filesystem .\n  ona mcp add db -e 'DB_URL=${DB_URL}' --scope user -- db-server --read-only\n  ona mcp add -t http docs https://docs.example/mcp -H 'Authorization: Bearer ${TOKEN}'"
    )]
    Add(Box<add::Add>),
    /// Add a server from its JSON entry, as in .mcp.json
    #[command(
        after_help = "Examples:\n  ona mcp add-json files '{\"command\": \"npx\", \"args\": [\"-y\", \"some-server\", \".\"]}'\n  ona mcp add-json docs '{\"type\": \"http\", \"url\": \"https://docs.example/mcp\"}' --scope project"
    )]
    AddJson(add::AddJson),
    /// Show a server: its file, its command or URL, and whether sessions start it
    ///
    /// The values of variables and headers are masked.
    #[command(
        after_help = "Examples:\n  ona mcp get files\n  ona mcp get files --json | jq .state"
    )]
    Get {
        /// Name of the server
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// List all servers with their state; shows why a server is not started
    #[command(
        after_help = "Examples:\n  ona mcp list\n  ona mcp list --json | jq -r '.servers[] | select(.state == \"ready\") | .name'"
    )]
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
        /// Do not connect to the servers
        #[arg(long)]
        offline: bool,
    },
    /// Connect to a server and print the result; exits with 1 if that fails
    #[command(
        after_help = "Examples:\n  ona mcp reconnect files\n  ona mcp reconnect files --json | jq .error"
    )]
    Reconnect {
        /// Name of the server
        name: String,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Sign in to a server with OAuth; the tokens are kept in the vault
    #[command(after_help = "Examples:\n  ona mcp login docs")]
    Login {
        /// Name of the server
        name: String,
    },
    /// Delete the tokens of a server
    #[command(after_help = "Examples:\n  ona mcp logout docs")]
    Logout {
        /// Name of the server
        name: String,
    },
    /// Remove a server from its file
    #[command(
        after_help = "Examples:\n  ona mcp remove files\n  ona mcp remove files --scope project"
    )]
    Remove {
        /// Name of the server
        name: String,
        /// local, user or project; needed only if several of them have the server
        #[arg(long)]
        scope: Option<String>,
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Serve ona's own tools to another agent; every call passes the gate and is recorded
    ///
    /// There is no one to ask: a call that a rule would ask about is denied, and recorded as headless. The server stops
    /// with exit code 0 when the client disconnects, and on Ctrl-C.
    #[command(
        after_help = "Examples:\n  ona mcp serve\n  ona --cwd ~/project --permission-mode acceptEdits mcp serve\n  ona mcp serve --http 0"
    )]
    Serve(serve::Serve),
}

impl Mcp {
    /// Whether only the operator may say so.
    pub fn is_the_operators(&self) -> bool {
        matches!(
            self,
            Self::Add(_)
                | Self::AddJson(_)
                | Self::Remove { .. }
                | Self::Login { .. }
                | Self::Logout { .. }
        )
    }
}

pub fn run(cli: &Options, command: &Mcp) -> Result<ExitCode, CliError> {
    match command {
        Mcp::Add(given) => add::add(cli, given),
        Mcp::AddJson(given) => add::add_json(cli, given),
        Mcp::Remove { name, scope, json } => add::remove(cli, name, scope.as_deref(), *json),
        Mcp::Get { name, json } => show::get(cli, name, *json),
        Mcp::List { json, offline } => show::list(cli, *json, &|specs| {
            if *offline {
                return Vec::new();
            }
            let known = live::statuses(cli, specs).unwrap_or_else(|error| {
                complain(&error.to_string());
                Vec::new()
            });
            known.iter().map(|status| (status.name.clone(), live::word(status))).collect()
        }),
        Mcp::Reconnect { name, json } => live::reconnect(cli, name, *json),
        Mcp::Login { name } => live::login(cli, name),
        Mcp::Logout { name } => live::logout(cli, name),
        Mcp::Serve(given) => serve::run(cli, given),
    }
}

/// The directories that settings are read from.
fn roots(cli: &Options) -> Result<Roots, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    Ok(env::config(cli)?.roots(&here, &here))
}

/// The servers of this directory; looking for them makes no record.
fn found(cli: &Options) -> Result<Servers, CliError> {
    let (config, roots) = (env::config(cli)?, roots(cli)?);
    let layers = config::in_force(cli, &roots, None)?;
    let request = trust_request(&roots, &layers, !config.skills_off);
    let trusted = config::trusted(&config, &roots, &request)?;
    let active = active_plugins(&config, &roots.project_dir, &Settings::merged(&layers));
    for warning in active.problems() {
        complain(&format!("warning: {warning}\n"));
    }
    let brought: Vec<_> = active.plugins.iter().map(Plugin::mcp_servers).collect();
    Ok(servers::find(&config, &roots, &layers, &trusted, &brought))
}

/// The same, with what is wrong said on standard error.
fn found_and_told(cli: &Options) -> Result<Servers, CliError> {
    let found = found(cli)?;
    for warning in &found.warnings {
        complain(&format!("warning: {warning}\n"));
    }
    Ok(found)
}

/// The scope that a word names.
fn scope_of(word: &str) -> Result<KeptIn, CliError> {
    KeptIn::ALL.into_iter().find(|scope| scope.as_str() == word).ok_or_else(|| {
        CliError::usage(format!("unknown scope `{word}`")).hint(
            "expected local (you, in this project), user (you, everywhere) or project (everybody)",
        )
    })
}
