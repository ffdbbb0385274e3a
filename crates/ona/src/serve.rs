//! `ona serve --mcp`: intents, scope, trace and blame as MCP tools, for agents without hooks.

use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use clap::Args;
use ona_cli::bootstrap::directory;
use ona_cli::output::complain;
use ona_cli::started_by::{StartedBy, started_by};
use ona_cli::{CliError, Options, record};
use ona_hosts::ServedTools;
use ona_intents::Workspace;
use ona_intents::file::workspace;
use ona_mcp::{ServeError, serve_http, serve_stdio};
use ona_repo::Repository;
use ona_types::SessionId;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

#[derive(Debug, Args)]
pub struct Serve {
    /// Use MCP, over standard input and output unless --port is given
    #[arg(long, required = true)]
    mcp: bool,
    /// Serve streamable HTTP on this port of 127.0.0.1; 0 picks a free port and prints it on standard error
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// Session for calls without one; default: a new session of this server
    #[arg(long, value_name = "ID")]
    session: Option<String>,
}

pub fn run(cli: &Options, serve: &Serve) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    let root = workspace(&here).unwrap_or_else(|| Repository::of(&here).checkout);
    let tools: Arc<ServedTools> = Arc::new(tools(&root, serve.session.as_deref())?);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))?;
    let served = runtime.block_on(async {
        let cancel = until_signalled()?;
        let outcome = match serve.port {
            None => serve_stdio(tools, cancel).await,
            Some(port) => {
                // The client of a free port needs its number.
                let said = |address: &str| complain(&format!("listening on {address}\n"));
                serve_http(tools, port, cancel, said).await
            }
        };
        outcome.map_err(|error| refused(&error, serve.port))
    });
    // A thread that waits for a line that does not come must not keep us.
    runtime.shutdown_background();
    served.map(|()| ExitCode::SUCCESS)
}

fn tools(root: &Path, session: Option<&str>) -> Result<ServedTools, CliError> {
    let session = match session.map(str::trim) {
        Some("") => return Err(CliError::usage("--session: empty id")),
        Some(id) => SessionId::from_existing(id.to_owned()),
        None => SessionId::generate(),
    };
    let workspace = Workspace::at(root)
        .map_err(|error| CliError::failed(format!("{}: {error}", root.display())))?;
    let governed = matches!(started_by(), Some(StartedBy::Call(_) | StartedBy::Ona(_)));
    Ok(ServedTools::new(record::open(Some(root))?, workspace, session, governed))
}

/// Why serving ended, and what to do about it.
pub fn refused(error: &ServeError, port: Option<u16>) -> CliError {
    let said = CliError::failed(error.to_string());
    match (error, port) {
        (ServeError::Transport(_), Some(port)) => {
            said.hint(format!("is port {port} in use? 0 picks a free port"))
        }
        (ServeError::Client(_), _) => {
            said.hint("an MCP client starts this command; `ona init --tool AGENT` configures one")
        }
        _ => said,
    }
}

/// Cancelled by Ctrl-C, a polite kill or a closed terminal: all of them are how a server ends.
pub fn until_signalled() -> Result<CancellationToken, CliError> {
    let cancel = CancellationToken::new();
    for kind in [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::hangup()] {
        let mut signals = signal(kind)
            .map_err(|error| CliError::failed(format!("cannot listen for signals: {error}")))?;
        let cancel = cancel.clone();
        tokio::spawn(async move {
            signals.recv().await;
            cancel.cancel();
        });
    }
    Ok(cancel)
}
