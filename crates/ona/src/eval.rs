//! `ona --eval`: the operator calls a tool. `ona --init-db`: the operator wants the file to be there.

use std::io::Read as _;
use std::path::PathBuf;
use std::process::ExitCode;

use ona_engine::{Engine, JoinRequest, Session};
use ona_store::Store;
use ona_tools::Host;
use ona_types::ConversationId;
use serde_json::{Map, Value};
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::args::Cli;
use crate::env;
use crate::error::CliError;

/// What `--eval` takes.
struct Call {
    tool: String,
    input: Value,
}

pub fn run(text: &str, cli: &Cli) -> Result<ExitCode, CliError> {
    let call = parse(&given(text)?)?;
    let request = JoinRequest {
        cwd: directory(cli.cwd.as_ref())?,
        conversation: cli.conversation.clone().map(ConversationId::from_existing),
    };
    let engine = engine()?;
    let session = Session::join(&engine, &request)?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))?;
    let (report, interrupted) = runtime.block_on(async {
        let cancel = CancellationToken::new();
        let watch = interrupts(cancel.clone())?;
        let report = session.call(&call.tool, &call.input, &cancel).await?;
        watch.abort();
        Ok::<_, CliError>((report, cancel.is_cancelled()))
    })?;
    let line = serde_json::to_string(&report)
        .map_err(|error| CliError::failed(format!("the result is no JSON: {error}")))?;
    println!("{line}");
    Ok(if interrupted { ExitCode::from(130) } else { ExitCode::SUCCESS })
}

pub fn init_db() -> Result<ExitCode, CliError> {
    let store = Store::open(&env::database()?)?;
    println!("{}", store.path().display());
    Ok(ExitCode::SUCCESS)
}

fn engine() -> Result<Engine, CliError> {
    let database = env::database()?;
    let program = std::env::current_exe()
        .map_err(|error| CliError::failed(format!("cannot find my own program file: {error}")))?;
    let mut tasks_dir = database.clone().into_os_string();
    tasks_dir.push("-tasks");
    Ok(Engine {
        settings: env::tool_settings()?,
        host: Host {
            program,
            child_env: env::for_children(&database),
            tasks_dir: tasks_dir.into(),
        },
        store: Store::open(&database)?,
    })
}

/// Ctrl-C and a polite kill end the tool, not the record: the outcome is still written.
fn interrupts(cancel: CancellationToken) -> Result<tokio::task::JoinHandle<()>, CliError> {
    let listen = |kind| {
        signal(kind)
            .map_err(|error| CliError::failed(format!("cannot listen for signals: {error}")))
    };
    let (mut interrupt, mut terminate) =
        (listen(SignalKind::interrupt())?, listen(SignalKind::terminate())?);
    Ok(tokio::spawn(async move {
        tokio::select! {
            _ = interrupt.recv() => {}
            _ = terminate.recv() => {}
        }
        cancel.cancel();
    }))
}

fn given(text: &str) -> Result<String, CliError> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut input = String::new();
    std::io::stdin()
        .read_to_string(&mut input)
        .map_err(|error| CliError::usage(format!("standard input cannot be read: {error}")))?;
    Ok(input)
}

fn parse(text: &str) -> Result<Call, CliError> {
    let usage = |what: String| {
        CliError::usage(format!("--eval: {what}")).hint(
            r#"it takes JSON such as '{"tool":"Read","input":{"file_path":"/etc/hostname"}}'"#,
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
    if let Some(key) = members.keys().next() {
        return Err(usage(format!("unknown key `{key}`; the keys are `tool` and `input`")));
    }
    Ok(Call { tool, input })
}

fn directory(given: Option<&PathBuf>) -> Result<PathBuf, CliError> {
    let dir = match given {
        Some(dir) => dir.clone(),
        None => std::env::current_dir().map_err(|error| {
            CliError::usage(format!("the current directory cannot be found: {error}"))
                .hint("change to a directory that exists, or give one with --cwd")
        })?,
    };
    let real = dir
        .canonicalize()
        .map_err(|error| CliError::usage(format!("--cwd {}: {error}", dir.display())))?;
    if !real.is_dir() {
        return Err(CliError::usage(format!("--cwd {}: not a directory", dir.display())));
    }
    Ok(real)
}
