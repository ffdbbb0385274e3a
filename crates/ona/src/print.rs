//! `ona -p`: the agent without a terminal. A front-end like any other: it sends operations and prints events.

mod control;
mod given;
mod input;
mod json;
mod printer;
mod prompt;

use std::path::Path;
use std::process::ExitCode;

use ona_cli::agent_args::AgentArgs;
use ona_cli::bootstrap::{self, Operator, directory};
use ona_cli::env::model::models;
use ona_cli::interrupts::Interrupts;
use ona_cli::output::complain;
use ona_cli::{CliError, Options, env, secrets};
use ona_engine::{AgentOptions, Fork, SessionBuilder, Which, Work};
use ona_front::{Human, channel};
use ona_gate::servers::server_lines;
use ona_types::hook::{SessionEndReason, SetupTrigger};

use crate::sessions;
use json::Shown;
use printer::Printer;

pub fn run(cli: &Options) -> Result<ExitCode, CliError> {
    let args = &cli.agent;
    check_budget(args)?;
    if let Some(done) = crate::auth::by_slash(cli)? {
        return Ok(done);
    }
    check(args)?;
    if cli.conversation.is_some() {
        return Err(CliError::usage("--conversation cannot be combined with -p")
            .hint("continue a session with --resume ID; `ona sessions list` lists the sessions"));
    }
    let cwd = directory(cli.cwd.as_deref())?;
    let options = options(args, &cwd)?;
    given::check(args, &cwd)?;
    let name = args.name.as_deref().map(session_name).transpose()?;
    let which = which(args)?;
    let engine = match args.no_session_persistence {
        true => bootstrap::passing_engine(cli)?,
        false => bootstrap::engine(cli)?,
    };
    let prepared = SessionBuilder {
        engine: &engine,
        starter: Operator { cli },
        cwd: &cwd,
        which,
        work: Work::Turns { agent: args.run_as.as_deref(), model_named: args.model.is_some() },
        origin: "headless",
        name: name.as_deref(),
    }
    .prepare()?;
    let (prompt, initial) =
        input::first_prompt(args, prepared.source(), prepared.initial_prompt())?;
    let options = AgentOptions { initial, ..options };
    let settings = prepared.settings();
    let human = if cli.ask { Human::Present } else { Human::Nobody };
    let (front, remote, events) = channel(human);
    let runtime = bootstrap::runtime()?;
    let outcome = runtime.block_on(async {
        let interrupts = Interrupts::listen(&remote, crate::give_up)?;
        let Some(agent) = interrupts.starting(prepared.agent(front, options)).await else {
            return Ok((ExitCode::FAILURE, interrupts.signal(), None));
        };
        let mut agent = agent?;
        let session = agent.session();
        let session_id = session.seat().session.clone();
        let shown = Shown {
            session_id: session_id.to_string(),
            model: agent.model().clone(),
            credential: agent.credential_source().to_owned(),
            cwd: cwd.display().to_string(),
            mode: session.mode().to_string(),
            sandbox: session.gate.governance.sandbox_level().0.to_string(),
            agent: session.agent_type_name(),
        };
        let asks = cli.ask.then(|| remote.clone());
        let printer = Printer::new(args, shown, agent.tools(), asks, engine.core.config.redactor());
        let servers = session.gate.pool().map(|pool| server_lines(&pool)).unwrap_or_default();
        printer.begin(&servers, &session.extension_names())?;
        let feeding = input::feed(args, prompt, session_id.as_str(), &remote);
        let shown = tokio::spawn(printer.show(events));
        agent.drive().await;
        drop(feeding);
        let ended = agent.end(SessionEndReason::Other).await;
        // How the turn ended is told first, and whoever is told of a record that is lost need not hear it twice.
        let last = shown
            .await
            .map_err(|error| CliError::failed(format!("printing failed: {error}")))??;
        let done = last.unwrap_or(true);
        if done {
            ended?;
        }
        let signal = interrupts.signal();
        if last.is_none() && signal.is_none() && !args.init_only {
            return Err(CliError::failed("no prompt on standard input").hint(
                r#"with --input-format stream-json each line is a prompt: {"type":"user","message":{"role":"user","content":"…"}}"#,
            ));
        }
        let code = if done { ExitCode::SUCCESS } else { ExitCode::FAILURE };
        Ok::<_, CliError>((code, signal, Some(session_id)))
    });
    runtime.shutdown_background();
    let (code, signal, session_id) = outcome?;
    if let (None, Some(session_id)) = (signal, session_id) {
        // The turn is done and on the record, whatever becomes of this.
        sessions::clean_up(&engine.core.store, &settings, &session_id).unwrap_or_else(|error| {
            let warning = CliError::from(error).warning("old sessions are not removed");
            complain(&warning);
        });
    }
    Ok(signal.map_or(code, |signal| ExitCode::from(128 + signal)))
}

fn check_budget(args: &AgentArgs) -> Result<(), CliError> {
    match args.max_budget_usd.is_some_and(|most| most.is_nan() || most <= 0.0) {
        true => Err(CliError::usage("--max-budget-usd must be more than 0")
            .hint("give an amount in US dollars, such as 0.50")),
        false => Ok(()),
    }
}

/// Refuses options that no session could start with.
pub fn check(args: &AgentArgs) -> Result<(), CliError> {
    check_budget(args)?;
    args.check_rules()
}

/// Refuses directories that could not be used.
pub fn check_directories(args: &AgentArgs, cwd: &Path) -> Result<(), CliError> {
    given::check(args, cwd)
}

/// The session that the command line asks for.
pub fn which(args: &AgentArgs) -> Result<Which, CliError> {
    let goes_on = args.continue_ || args.resume.is_some();
    if args.no_session_persistence && goes_on {
        return Err(CliError::usage(
            "--no-session-persistence cannot be combined with --continue or --resume: there is no session to continue",
        )
        .hint("remove --no-session-persistence to continue a session"));
    }
    if args.fork_session && !goes_on {
        return Err(CliError::usage("--fork-session needs a session to copy")
            .hint("add --continue or --resume ID"));
    }
    if args.session_id.is_some() && goes_on && !args.fork_session {
        return Err(CliError::usage(
            "--session-id cannot be combined with --continue or --resume: the session keeps its id",
        )
        .hint("remove --session-id, or continue in a copy with --fork-session"));
    }
    let id = args.session_id.as_deref().map(given::session_id).transpose()?;
    let fork = args.fork_session.then(|| Fork { id: id.clone(), at: args.at });
    Ok(match &args.resume {
        Some(word) => Which::Named(word.clone(), fork),
        None if args.continue_ => Which::Latest(fork),
        None => Which::New(id),
    })
}

/// A session's name as it is kept: one line, and no secret in it.
pub fn session_name(name: &str) -> Result<String, CliError> {
    let name = secrets::redactor().mask(name.trim()).into_owned();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(CliError::usage("the name must be one line of text")
            .hint("for example: --name 'fix the login'"));
    }
    Ok(name)
}

/// How the agent works, as the command line and the environment say.
pub fn options(args: &AgentArgs, cwd: &Path) -> Result<AgentOptions, CliError> {
    let models = models()?;
    Ok(AgentOptions {
        prompt: given::first_words(args, cwd)?,
        shape: given::shape(given::answers(args)?, models.answer_retries),
        tools: offered(args)?,
        bare: args.bare,
        memories: env::offers_memories()?,
        setup: match (args.init || args.init_only, args.maintenance) {
            (true, _) => Some(SetupTrigger::Init),
            (false, true) => Some(SetupTrigger::Maintenance),
            (false, false) => None,
        },
        max_turns: args.max_turns,
        max_budget_usd: args.max_budget_usd,
        partial: args.include_partial_messages,
        ..bootstrap::agent_options(args, &models)?
    })
}

/// `--tools`, and `--bare`'s own.
fn offered(args: &AgentArgs) -> Result<Option<Vec<String>>, CliError> {
    let names = args.tools.iter().flatten().filter(|name| !name.is_empty() && *name != "default");
    let unknown: Vec<&str> =
        names.map(String::as_str).filter(|name| ona_tools::find(name).is_none()).collect();
    if !unknown.is_empty() {
        let all: Vec<&str> = ona_tools::TOOLS.iter().map(|tool| tool.name()).collect();
        return Err(CliError::usage(format!("--tools: unknown tool {}", unknown.join(", ")))
            .hint(format!("the tools are {}", all.join(", "))));
    }
    Ok(match &args.tools {
        Some(names) if names.iter().any(|name| name == "default") => None,
        Some(names) => Some(names.iter().filter(|name| !name.is_empty()).cloned().collect()),
        None if args.bare => Some(["Read", "Edit", "Bash"].map(str::to_owned).to_vec()),
        None => None,
    })
}
