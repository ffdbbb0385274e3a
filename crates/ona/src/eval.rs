//! `ona --eval`: the operator calls a tool. `ona --init-db`: the operator wants the file to be there.

use std::io::{IsTerminal as _, Read as _};
use std::process::ExitCode;

use ona_cli::bootstrap::{self, Operator, directory};
use ona_cli::env::model::models;
use ona_cli::interrupts::Interrupts;
use ona_cli::output::print_line;
use ona_cli::started_by::started_by;
use ona_cli::{CliError, Options, asker, record};
use ona_engine::{SessionBuilder, Which, Work};
use ona_front::{Human, Via, channel};
use ona_tools::names::EXIT_PLAN_MODE;
use ona_types::ConversationId;
use serde_json::{Map, Value};

/// What `--eval` takes.
pub struct Call {
    pub tool: String,
    pub input: Value,
}

pub fn run(text: &str, cli: &Options) -> Result<ExitCode, CliError> {
    let call = parse(&given(text)?)?;
    let engine = bootstrap::engine(cli)?;
    let cwd = directory(cli.cwd.as_deref())?;
    let human = match (cli.ask, started_by()) {
        (true, _) => Human::Present,
        // Only a human at a terminal approves a plan.
        (false, None) if call.tool == EXIT_PLAN_MODE && !std::io::stdin().is_terminal() => {
            Human::Nobody
        }
        (false, None) => Human::Operator(Via::Eval),
        // Whoever is started by a call is no operator, whatever it claims.
        (false, Some(_)) => Human::Nobody,
    };
    let (front, remote, events) = channel(human);
    let conversation = cli.conversation.clone().map(ConversationId::from_existing);
    let prepared = SessionBuilder {
        engine: &engine,
        starter: Operator { cli },
        cwd: &cwd,
        which: Which::Join(conversation),
        work: Work::Call(&call.tool),
        origin: "eval",
        name: None,
    }
    .prepare()?;
    let options = bootstrap::agent_options(&cli.agent, &models()?)?;
    let runtime = bootstrap::runtime()?;
    let outcome = runtime.block_on(async {
        let interrupts = Interrupts::listen(&remote, crate::give_up)?;
        let shown = tokio::spawn(asker::show(events, remote));
        let Some(session) = interrupts.starting(prepared.session(front, options)).await else {
            return Ok((None, interrupts.signal()));
        };
        let mut session = session?;
        let cancel = session.running();
        let report = session.gate.call(&call.tool, &call.input, &cancel).await;
        session.wait_for_agents(&cancel).await;
        if let Some(pool) = session.gate.pool() {
            pool.close().await;
        }
        drop(session);
        // What was said on the way is on the terminal before the answer.
        let _ = shown.await;
        Ok::<_, CliError>((Some(report?), interrupts.signal()))
    });
    // A thread that waits for a dead disk must not keep us.
    runtime.shutdown_background();
    let (report, signal) = outcome?;
    let code = signal.map_or(ExitCode::SUCCESS, |signal| ExitCode::from(128 + signal));
    // It was ended before the call began.
    let Some(report) = report else { return Ok(code) };
    let line = serde_json::to_string(&report)
        .map_err(|error| CliError::failed(format!("the result is not JSON: {error}")))?;
    print_line(&line).map_err(|error| {
        CliError::failed(format!("the result is recorded, but cannot be printed: {error}"))
            .hint(format!("its id is {}", report.tool_use_id))
    })?;
    Ok(code)
}

pub fn init_db() -> Result<ExitCode, CliError> {
    let store = record::open(None)?;
    print_line(&store.path().display().to_string())
        .map_err(|error| CliError::failed(format!("cannot print the path: {error}")))?;
    Ok(ExitCode::SUCCESS)
}

/// The longest call on standard input.
const MAX_CALL: u64 = 64 << 20;

fn given(text: &str) -> Result<String, CliError> {
    if text != "-" {
        return Ok(text.to_owned());
    }
    let mut input = String::new();
    let refused = |why: String| {
        CliError::usage(format!("cannot read standard input: {why}"))
            .hint("`--eval -` expects the call as UTF-8 JSON")
    };
    std::io::stdin()
        .take(MAX_CALL + 1)
        .read_to_string(&mut input)
        .map_err(|error| refused(error.to_string()))?;
    match input.len() as u64 > MAX_CALL {
        true => Err(refused(ona_files::ReadError::TooLarge { limit: MAX_CALL }.to_string())),
        false => Ok(input),
    }
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
