//! How servers answer at this moment: `ona mcp list`, `reconnect`, `login` and `logout`.

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use ona_cli::output::{complain, plain, print};
use ona_cli::{CliError, Options, bootstrap, tokens};
use ona_config::servers::secrets;
use ona_engine::Session;
use ona_gate::servers::Connecting;
use ona_mcp::{
    AuthorizeError, Browser, Pool, ServerSpec, ServerState, ServerStatus, Way, token_key,
};
use serde_json::json;

use super::{found_and_told, show};

/// How long `ona mcp list` waits for all servers together.
const LIST_WITHIN: Duration = Duration::from_secs(10);

/// How it stands with each of these servers, each connected once for that.
pub fn statuses(cli: &Options, specs: &[ServerSpec]) -> Result<Vec<ServerStatus>, CliError> {
    if specs.is_empty() {
        return Ok(Vec::new());
    }
    with_pool(cli, specs.to_vec(), async |pool, seen| {
        pool.settle(LIST_WITHIN).await;
        Ok(seen.all(pool.statuses()))
    })
}

/// The words for a state.
pub fn word(status: &ServerStatus) -> String {
    match status.state {
        ServerState::Pending => "no answer yet".to_owned(),
        ServerState::Connected => {
            let left_out = match status.left_out.len() {
                0 => String::new(),
                number => format!(" ({number} skipped)"),
            };
            format!("connected, {} tools{left_out}", status.tools)
        }
        ServerState::Failed => {
            let why = status.error.as_deref().and_then(|why| why.lines().next());
            format!("failed: {}", why.unwrap_or("no reason given"))
        }
        ServerState::NeedsAuth => "needs login".to_owned(),
        ServerState::Disabled => "disabled".to_owned(),
    }
}

/// `ona mcp reconnect NAME`.
pub fn reconnect(cli: &Options, name: &str, as_json: bool) -> Result<ExitCode, CliError> {
    let spec = one(cli, name)?;
    let patience = spec.start_timeout + Duration::from_secs(1);
    let statuses = with_pool(cli, vec![spec], async |pool, seen| {
        pool.settle(patience).await;
        Ok(seen.all(pool.statuses()))
    })?;
    let Some(status) = statuses.into_iter().next() else {
        return Err(CliError::failed(format!("no state of {name} is known")));
    };
    told(&status, as_json)
}

/// `ona mcp login NAME`: the human signs in at the server.
pub fn login(cli: &Options, name: &str) -> Result<ExitCode, CliError> {
    let spec = one(cli, name)?;
    let status = with_pool(cli, vec![spec], async |pool, seen| {
        pool.settle(LIST_WITHIN).await;
        let now = seen.all(pool.statuses()).into_iter().next();
        // Who does not answer does not say where to sign in either.
        if let Some(status) = now.as_ref().filter(|status| status.state == ServerState::Failed) {
            return Ok((status.clone(), true));
        }
        match (pool.authorize(name, &Shown).await, now) {
            (Err(AuthorizeError::NotNeeded(_)), Some(status)) => {
                let unclear = status.state != ServerState::Connected;
                Ok((status, unclear))
            }
            (authorized, _) => {
                let status = authorized.map_err(|error| seen.failure(&error))?;
                Ok((seen.one(status), true))
            }
        }
    })?;
    let (status, needed) = status;
    if !needed {
        say(&format!("{} needs no sign-in: {}\n", plain(&status.name), word(&status)))?;
        return Ok(ExitCode::SUCCESS);
    }
    told(&status, false)
}

/// `ona mcp logout NAME`: forgets what came of it.
pub fn logout(cli: &Options, name: &str) -> Result<ExitCode, CliError> {
    let spec = one(cli, name)?;
    if let Way::Http(remote) | Way::Sse(remote) = &spec.way
        && tokens::vault()?
            .load(&token_key(name, &remote.url))
            .map_err(|error| CliError::failed(error.to_string()))?
            .is_none()
    {
        say(&format!("no tokens of {} are stored\n", plain(name)))?;
        return Ok(ExitCode::SUCCESS);
    }
    let status = with_pool(cli, vec![spec], async |pool, seen| {
        let forgotten = pool.sign_out(name).await;
        forgotten.map(|status| seen.one(status)).map_err(|error| seen.failure(&error))
    })?;
    say(&format!("deleted the tokens of {}: {}\n", plain(&status.name), word(&status)))?;
    Ok(ExitCode::SUCCESS)
}

fn say(text: &str) -> Result<(), CliError> {
    print(text)
        .map_err(|error| CliError::failed(format!("done, but cannot print the result: {error}")))
}

fn told(status: &ServerStatus, as_json: bool) -> Result<ExitCode, CliError> {
    let connected = status.state == ServerState::Connected;
    let text = match as_json {
        true => format!(
            "{}\n",
            json!({
                "name": status.name, "status": word(status), "connected": connected,
                "error": status.error, "tools": status.tools, "left_out": status.left_out,
                "printed": status.noise,
                "server": status.info.as_ref().map(|info| json!({"name": info.name, "version": info.version})),
            })
        ),
        false => format!("{}: {}\n", plain(&status.name), word(status)),
    };
    print(&text).map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    if let Some(error) = status.error.as_ref().filter(|_| !connected) {
        complain(&format!("error: {}\n", plain(error)));
    }
    for left_out in &status.left_out {
        complain(&format!("warning: {}\n", plain(left_out)));
    }
    if let Some(noise) = &status.noise {
        complain(&format!("warning: it printed something that is not MCP: {}\n", plain(noise)));
    }
    if status.state == ServerState::NeedsAuth {
        complain(&format!("hint: `ona mcp login {}`\n", status.name));
    }
    Ok(if connected { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// A server that a session would start.
fn one(cli: &Options, name: &str) -> Result<ServerSpec, CliError> {
    let found = found_and_told(cli)?;
    if let Some(spec) = found.specs.iter().find(|spec| spec.name == name) {
        return Ok(spec.clone());
    }
    match found.listed.iter().find(|one| one.name == name) {
        Some(one) => Err(CliError::usage(format!(
            "{name} is not started: {}",
            one.state.why().unwrap_or_else(|| one.state.as_str().to_owned())
        ))),
        None => Err(show::unknown(name, &found.listed)),
    }
}

/// Connects servers as a session would, and ends them again.
fn with_pool<T>(
    cli: &Options,
    specs: Vec<ServerSpec>,
    work: impl AsyncFnOnce(Arc<Pool>, Seen<'_>) -> Result<T, CliError>,
) -> Result<T, CliError> {
    let engine = bootstrap::engine(cli)?;
    let mut session: Session = bootstrap::look(&engine, cli)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))?;
    let done = runtime.block_on(async {
        let secrets = secrets(&specs);
        let tokens = Some(tokens::vault()?);
        session.gate.connect(Connecting { specs, secrets, tokens, ..Connecting::default() })?;
        let Some(pool) = session.gate.pool() else {
            return Err(CliError::failed("no server to connect"));
        };
        let done = work(Arc::clone(&pool), Seen(&session)).await;
        pool.close().await;
        done
    });
    runtime.shutdown_background();
    done
}

/// What servers say, without what they were given in secret.
#[derive(Clone, Copy)]
struct Seen<'a>(&'a Session);

impl Seen<'_> {
    fn one(self, status: ServerStatus) -> ServerStatus {
        let masked = |text: String| self.0.gate.masked(&text);
        ServerStatus {
            error: status.error.map(masked),
            noise: status.noise.map(masked),
            left_out: status.left_out.into_iter().map(masked).collect(),
            ..status
        }
    }

    fn all(self, statuses: Vec<ServerStatus>) -> Vec<ServerStatus> {
        statuses.into_iter().map(|status| self.one(status)).collect()
    }

    fn failure(self, error: &dyn std::fmt::Display) -> CliError {
        CliError::failed(self.0.gate.masked(&error.to_string()))
    }
}

/// A browser if there is one; the address is said in any case.
struct Shown;

impl Browser for Shown {
    fn open(&self, url: &str) -> std::io::Result<()> {
        complain(&format!("sign in here: {}\n", plain(url)));
        ona_cli::browser::open(url)
            .map_err(|error| std::io::Error::other(error.message().to_owned()))
    }
}
