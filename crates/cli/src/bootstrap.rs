//! Bootstrapping: what the command line and the environment make of a process. The engine that its sessions share, and
//! what the start of a session asks of the program ([`Starter`]).

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_engine::{
    AgentOptions, Engine, ModelAccess, ModelHandle, ModelWords, ServerOptions, Session, Starter,
};
use ona_gate::core::Core;
use ona_gate::governance::{GovernanceError, Unread, learn_secrets};
use ona_provider::Model;
use ona_store::Store;
use ona_tools::{Host, ToolSettings};
use ona_types::{ConversationId, SessionId};
use ona_web::Web;
use tokio::runtime::Runtime;

use crate::agent_args::AgentArgs;
use crate::asker;
use crate::env;
use crate::env::model::Models;
use crate::error::CliError;
use crate::model::{connect_model, model_words};
use crate::options::Options;
use crate::output::complain;
use crate::record;
use crate::started_by::{StartedBy, started_by};
use crate::tokens;

/// Everything a session needs, from command line and environment.
pub fn engine(cli: &Options) -> Result<Engine, CliError> {
    engine_at(cli, &env::database()?)
}

/// The same, with the record in another place.
pub fn engine_at(cli: &Options, database: &Path) -> Result<Engine, CliError> {
    engine_with(cli, record::open_at(database)?)
}

/// The same, with a record that is open already.
pub fn engine_with(cli: &Options, store: Store) -> Result<Engine, CliError> {
    core_with(cli, store).map(Engine::new)
}

/// What every session of this process shares.
pub fn core_with(cli: &Options, store: Store) -> Result<Core, CliError> {
    let program = std::env::current_exe().map_err(|error| {
        CliError::failed(format!("cannot find ona's own program file: {error}"))
    })?;
    let (outputs, child_env) = match store.path().is_absolute() {
        true => (outputs_beside(store.path()), env::for_children(store.path())),
        // A record in memory is nobody else's.
        false => (std::env::temp_dir().join("ona-outputs"), Vec::new()),
    };
    let config = env::config(cli)?;
    // It also masks what becomes known later: settings are read in a moment.
    let store = store.masking(Arc::new(config.redactor()));
    // Those of this directory first, since the row of the session is written before they take effect.
    if let Ok(here) = directory(cli.cwd.as_deref()) {
        learn_secrets(&config, &store, &here)?;
    }
    Ok(Core {
        settings: ToolSettings {
            background_stays: lets_background_stay(cli),
            ..env::tool_settings()?
        },
        config,
        moved: Default::default(),
        machine: env::machine(),
        host: Host {
            program,
            child_env,
            outputs,
            stores: stores()?,
            web: Arc::new(Web::new(env::web_access()?)),
        },
        store,
    })
}

/// Whether background commands go on when this process has ended. A call of the operator's is over at once, and what it
/// started is not meant to be. An agent cannot leave a command behind by a further ona.
fn lets_background_stay(cli: &Options) -> bool {
    let by_a_call = matches!(started_by(), Some(StartedBy::Call(_) | StartedBy::Ona(_)));
    !by_a_call && (cli.eval.is_some() || cli.agent.keep_background)
}

/// An engine whose record is gone when the process is.
pub fn passing_engine(cli: &Options) -> Result<Engine, CliError> {
    let mut core = core_with(cli, Store::in_memory()?)?;
    core.settings.no_background.get_or_insert(
        "with --no-session-persistence the record is in memory, where their end could not be written",
    );
    Ok(Engine::new(core))
}

/// An engine to look at a folder with: it knows what the operator trusts there, and makes no record where there is none.
pub fn looking_engine(cli: &Options) -> Result<Engine, CliError> {
    let database = env::database()?;
    match database.exists() {
        true => engine_at(cli, &database),
        false => passing_engine(cli),
    }
}

/// The command line as it starts sessions.
pub struct Operator<'a> {
    /// Its options.
    pub cli: &'a Options,
}

impl Starter for Operator<'_> {
    type Error = CliError;

    fn warn(&self, warning: &str) {
        warn(warning);
    }

    fn warn_without(&self, error: &CliError, without: &str) {
        complain(&error.warning(without));
    }

    fn trusts(&self, folder: &Path, runs: &[String], also: &[String]) -> bool {
        self.cli.ask && asker::agreed(folder, runs, also)
    }

    fn goes_on_without(&self, unread: &[String]) -> bool {
        match self.cli.eval.is_some() {
            // The operator's own call goes on, with warnings.
            true => started_by().is_none(),
            false => self.cli.ask && asker::goes_on(unread),
        }
    }

    fn model_words(&self) -> Result<ModelWords, CliError> {
        model_words(&self.cli.agent)
    }

    fn connect_model(&self, model: Model, access: &ModelAccess) -> Result<ModelHandle, CliError> {
        connect_model(&self.cli.agent, model, access)
    }

    fn message(&self, error: &CliError) -> String {
        error.message().to_owned()
    }

    fn server_options(&self) -> Result<ServerOptions, CliError> {
        Ok(ServerOptions {
            tokens: tokens::vault()?,
            deferral: env::servers::deferral()?,
            wait: env::servers::wait()?,
        })
    }
}

/// How agents work, as far as it is the same for all of them.
pub fn agent_options(args: &AgentArgs, models: &Models) -> Result<AgentOptions, CliError> {
    Ok(AgentOptions {
        today: today(),
        subagent_model: env::subagent_model()?,
        waits_for_agents: true,
        max_stop_blocks: models.max_sent_back,
        max_budget_usd: args.max_budget_usd,
        context_limit: models.room,
        read_additional: models.read_additional,
        ..AgentOptions::default()
    })
}

/// A runtime on this thread.
pub fn runtime() -> Result<Runtime, CliError> {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))
}

/// Today's date, as the model is told.
pub fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400);
    ona_types::date(i64::try_from(days).unwrap_or_default())
}

/// The session that `--eval` would join, to be asked about and not to be changed.
pub fn look(engine: &Engine, cli: &Options) -> Result<Session, CliError> {
    Ok(try_look(engine, cli, Unread::Stops)??)
}

/// The same; the inner error is that of the folder's settings.
pub fn try_look(
    engine: &Engine,
    cli: &Options,
    unread: Unread,
) -> Result<Result<Session, GovernanceError>, CliError> {
    let conversation = cli.conversation.clone().map(ConversationId::from_existing);
    let here = directory(cli.cwd.as_deref())?;
    let looked = Session::read_only(engine, &here, conversation.as_ref(), unread);
    Ok(looked.inspect(warn_all))
}

/// A session that there is no record of yet, in the directory the command line asks for.
pub fn look_new(engine: &Engine, cli: &Options) -> Result<Session, CliError> {
    Ok(Session::new_read_only(engine, &directory(cli.cwd.as_deref())?).inspect(warn_all)?)
}

fn warn_all(session: &Session) {
    session.warnings().iter().for_each(|warning| warn(warning));
}

/// Tells the user of a problem that does not stop ona.
fn warn(warning: &str) {
    complain(&format!("warning: {warning}\n"));
}

const EXISTING: &str = "give an existing directory, or remove --cwd to use the current one";

/// The directory to work in: `--cwd` or the current one, without symlinks.
pub fn directory(given: Option<&Path>) -> Result<PathBuf, CliError> {
    let dir = match given {
        Some(dir) => dir.to_owned(),
        None => std::env::current_dir().map_err(|error| {
            CliError::usage(format!("cannot find the current directory: {error}"))
                .hint("change to an existing directory, or give one with --cwd")
        })?,
    };
    let real = dir.canonicalize().map_err(|error| {
        CliError::usage(format!("--cwd {}: {error}", dir.display())).hint(EXISTING)
    })?;
    if !real.is_dir() {
        return Err(
            CliError::usage(format!("--cwd {}: not a directory", dir.display())).hint(EXISTING)
        );
    }
    Ok(real)
}

/// Removes what a session's calls have left beside the record; says why if it cannot.
pub fn remove_outputs(record: &Path, session: &SessionId) {
    let outputs = outputs_beside(record).join(session.file_name());
    if let Err(error) = std::fs::remove_dir_all(&outputs)
        && error.kind() != std::io::ErrorKind::NotFound
    {
        complain(&format!("warning: cannot remove {}: {error}\n", outputs.display()));
    }
}

/// Where credentials are stored, as it is named and as links lead there.
fn stores() -> Result<Vec<PathBuf>, CliError> {
    let dir = env::vault_dir()?;
    let real = dir.canonicalize().ok().filter(|real| *real != dir);
    Ok(std::iter::once(dir).chain(real).collect())
}

/// Where the output of sessions' tools is put: beside the record.
pub fn outputs_beside(record: &Path) -> PathBuf {
    let mut outputs = record.to_owned().into_os_string();
    outputs.push("-outputs");
    outputs.into()
}
