//! `ona --eval`: the operator calls a tool. `ona --init-db`: the operator wants the file to be there.

use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use ona_engine::{AgentOptions, Engine, JoinRequest, Session};
use ona_front::Op;
use ona_front::{ClientHandle, Human, channel};
use ona_gate::core::Core;
use ona_gate::governance::GovernanceError;
use ona_gate::phase::TransitionError;
use ona_store::{Join, Store};
use ona_tools::{Host, ModelNeed, PREFIX, Web};
use ona_types::{ConversationId, Phase};
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};

use crate::args::Cli;
use crate::asker;
use crate::env;
use crate::error::CliError;
use crate::governed;
use crate::model::model_handle;
use crate::output::{complain, print_line};
use crate::print;
use crate::trust;

/// What `--eval` takes.
pub struct Call {
    pub tool: String,
    pub input: Value,
}

pub fn run(text: &str, cli: &Cli) -> Result<ExitCode, CliError> {
    let call = parse(&given(text)?)?;
    let engine = engine(cli)?;
    let human = match (cli.ask, governed::started_by()) {
        (true, _) => Human::Present,
        (false, None) => Human::Operator,
        // Whoever is started by a call is no operator, whatever it claims.
        (false, Some(_)) => Human::Nobody,
    };
    let (front, remote, events) = channel(human);
    let mut session = join(&engine, cli)?.facing(front);
    let facts = ona_tools::find(&call.tool).map(|tool| tool.facts());
    let wants_servers =
        call.tool.starts_with(PREFIX) || facts.is_some_and(|facts| facts.needs_servers);
    if wants_servers || facts.is_some_and(|facts| facts.starts_agents) {
        for warning in session.extend()? {
            complain(&format!("warning: {warning}\n"));
        }
    }
    let settings = session.gate.settings();
    let need = session.model_need(&call.tool);
    if session.wants_model() || need != ModelNeed::None {
        // Without one, such hooks are skipped, which is recorded, and such tools say so.
        match model_handle(&cli.agent, &settings, None) {
            Ok((model_handle, ..)) => {
                session = session.judged_by(Arc::new(model_handle)).working(for_agents(cli)?);
            }
            Err(error) if session.wants_model() => {
                complain(&error.warning("hooks that call a model do not run"));
            }
            Err(error) if need == ModelNeed::Always => {
                complain(&error.warning(&format!("{} calls no model", call.tool)));
            }
            Err(_) => {}
        }
    }
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))?;
    let outcome = runtime.block_on(async {
        let interrupts = Interrupts::listen(&remote)?;
        let shown = tokio::spawn(asker::show(events, remote));
        let cancel = session.running();
        if wants_servers {
            print::connect(&mut session).await?;
        }
        let report = session.gate.call(&call.tool, &call.input, &cancel).await;
        session.wait_for_agents(&cancel).await;
        if let Some(pool) = session.gate.pool() {
            pool.close().await;
        }
        drop(session);
        // What was said on the way is on the terminal before the answer.
        let _ = shown.await;
        Ok::<_, CliError>((report?, interrupts.signal()))
    });
    // A thread that waits for a dead disk must not keep us.
    runtime.shutdown_background();
    let (report, signal) = outcome?;
    let line = serde_json::to_string(&report)
        .map_err(|error| CliError::failed(format!("the result is not JSON: {error}")))?;
    print_line(&line).map_err(|error| {
        CliError::failed(format!("the result is recorded, but cannot be printed: {error}"))
            .hint(format!("its id is {}", report.tool_use_id))
    })?;
    Ok(signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(128 + signal)))
}

/// How agents work that a call starts without a turn around it.
pub fn for_agents(cli: &Cli) -> Result<AgentOptions, CliError> {
    Ok(AgentOptions {
        today: print::today(),
        model_of_agents: env::subagent_model()?,
        waits: true,
        max_sent_back: env::model::models()?.max_sent_back,
        max_budget_usd: cli.agent.max_budget_usd,
        ..AgentOptions::default()
    })
}

pub fn init_db() -> Result<ExitCode, CliError> {
    let store = Store::open(&env::database()?)?;
    print_line(&store.path().display().to_string())
        .map_err(|error| CliError::failed(format!("cannot print the path: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// Everything a session needs, from command line and environment.
pub fn engine(cli: &Cli) -> Result<Engine, CliError> {
    engine_at(cli, &env::database()?)
}

/// The same, with the record in another place.
pub fn engine_at(cli: &Cli, database: &Path) -> Result<Engine, CliError> {
    engine_with(cli, Store::open(database)?)
}

/// The same, with a record that is open already.
pub fn engine_with(cli: &Cli, store: Store) -> Result<Engine, CliError> {
    core_with(cli, store).map(Engine::new)
}

/// What every session of this process shares.
pub fn core_with(cli: &Cli, store: Store) -> Result<Core, CliError> {
    let program = std::env::current_exe().map_err(|error| {
        CliError::failed(format!("cannot find ona's own program file: {error}"))
    })?;
    let (outputs, child_env) = match store.path().is_absolute() {
        true => (outputs_beside(store.path()), env::for_children(store.path())),
        // A record in memory is nobody else's.
        false => (std::env::temp_dir().join("ona-outputs"), Vec::new()),
    };
    Ok(Core {
        settings: env::tool_settings()?,
        config: env::config(cli)?,
        host: Host { program, child_env, outputs, web: Arc::new(Web::new(env::web_access()?)) },
        store,
    })
}

/// Joins the session the command line asks for, and says what is wrong with settings.
pub fn join(engine: &Engine, cli: &Cli) -> Result<Session, CliError> {
    let request = request(cli)?;
    let session = match Session::join(engine, &request) {
        Err(GovernanceError::Untrusted { what, also, request: untrusted })
            if cli.ask && trust::agreed(&untrusted.root, &what, &also) =>
        {
            untrusted.trust(&engine.core.store)?;
            Session::join(engine, &request)?
        }
        joined => joined?,
    };
    warn(&session);
    Ok(session)
}

/// The session that [`join`] would join, to be asked about and not to be changed.
pub fn look(engine: &Engine, cli: &Cli) -> Result<Session, CliError> {
    let session = Session::look(engine, &request(cli)?)?;
    warn(&session);
    Ok(session)
}

/// The same; where the folder is not trusted, what is to be said about that.
pub fn try_look(engine: &Engine, cli: &Cli) -> Result<Result<Session, String>, CliError> {
    match Session::look(engine, &request(cli)?) {
        Err(error @ GovernanceError::Untrusted { .. }) => Ok(Err(error.to_string())),
        looked => {
            let session = looked?;
            warn(&session);
            Ok(Ok(session))
        }
    }
}

/// A session that there is no record of yet, in the directory the command line asks for.
pub fn look_new(engine: &Engine, cli: &Cli) -> Result<Session, CliError> {
    let session = Session::look_new(engine, &directory(cli.cwd.as_ref())?)?;
    warn(&session);
    Ok(session)
}

fn request(cli: &Cli) -> Result<JoinRequest, CliError> {
    Ok(JoinRequest {
        cwd: directory(cli.cwd.as_ref())?,
        conversation: cli.conversation.clone().map(ConversationId::from_existing),
    })
}

fn warn(session: &Session) {
    for warning in session.warnings() {
        complain(&format!("warning: {warning}\n"));
    }
}

/// `ona --transition`.
pub fn transition(phase: &str, cli: &Cli) -> Result<ExitCode, CliError> {
    let to: Phase = phase.parse().map_err(|error: ona_types::UnknownPhase| {
        CliError::usage(error.to_string()).hint("see `ona --help`")
    })?;
    let store = Store::open(&env::database()?)?;
    let conversation = match &cli.conversation {
        Some(id) => ConversationId::from_existing(id.clone()),
        None => {
            let here = directory(cli.cwd.as_ref())?;
            let here = here.to_string_lossy();
            store.join(&Join { project_dir: &here, conversation: None })?.conversation
        }
    };
    match ona_gate::phase::transition(&store, &conversation, to) {
        Ok(from) => {
            print_line(&format!("{conversation}: {from} → {to}")).map_err(|error| {
                CliError::failed(format!(
                    "the phase has changed, but the result cannot be printed: {error}"
                ))
            })?;
            Ok(ExitCode::SUCCESS)
        }
        Err(TransitionError::Store(error)) => Err(error.into()),
        Err(refused) => Err(CliError::failed(refused.to_string())
            .hint("`ona help phases` has the table of transitions")),
    }
}

/// Ctrl-C, a polite kill and a closed terminal end the tool, not the record: the outcome is still written.
pub struct Interrupts {
    /// The number of the signal that came.
    came: Arc<AtomicU8>,
}

impl Interrupts {
    pub fn listen(remote: &ClientHandle) -> Result<Self, CliError> {
        let this = Self { came: Arc::default() };
        for (kind, number) in
            [(SignalKind::interrupt(), 2), (SignalKind::terminate(), 15), (SignalKind::hangup(), 1)]
        {
            let mut signals = signal(kind)
                .map_err(|error| CliError::failed(format!("cannot listen for signals: {error}")))?;
            let (remote, came) = (remote.clone(), Arc::clone(&this.came));
            tokio::spawn(async move {
                signals.recv().await;
                came.store(number, Ordering::Relaxed);
                remote.send(Op::Quit);
            });
        }
        Ok(this)
    }

    pub fn signal(&self) -> Option<u8> {
        Some(self.came.load(Ordering::Relaxed)).filter(|number| *number > 0)
    }
}

fn given(text: &str) -> Result<String, CliError> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut input = String::new();
    std::io::stdin().read_to_string(&mut input).map_err(|error| {
        CliError::usage(format!("cannot read standard input: {error}"))
            .hint("`--eval -` expects the call as UTF-8 JSON")
    })?;
    Ok(input)
}

pub fn parse(text: &str) -> Result<Call, CliError> {
    let usage = |what: String| {
        CliError::usage(format!("the call: {what}")).hint(
            r#"expected JSON such as '{"tool":"Read","input":{"file_path":"/etc/hostname"}}'"#,
        )
    };
    let value: Value =
        serde_json::from_str(text).map_err(|error| usage(format!("not valid JSON: {error}")))?;
    let Value::Object(mut members) = value else {
        return Err(usage("expected a JSON object".into()));
    };
    let tool = match members.remove("tool") {
        Some(Value::String(tool)) if !tool.is_empty() => tool,
        Some(other) => return Err(usage(format!("`tool` must be a tool's name, not {other}"))),
        None => return Err(usage("`tool` is missing".into())),
    };
    let input = members.remove("input").unwrap_or_else(|| Value::Object(Map::new()));
    if !input.is_object() {
        return Err(usage(format!("`input` must be a JSON object, not {input}")));
    }
    if let Some(key) = members.keys().next() {
        return Err(usage(format!("unknown key `{key}`; the keys are `tool` and `input`")));
    }
    Ok(Call { tool, input })
}

const EXISTING: &str = "give an existing directory, or remove --cwd to use the current one";

pub fn directory(given: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    let dir = match given {
        Some(dir) => dir.clone(),
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

/// Where the output of sessions' tools is put: beside the record.
pub fn outputs_beside(record: &Path) -> PathBuf {
    let mut outputs = record.to_owned().into_os_string();
    outputs.push("-outputs");
    outputs.into()
}
