//! `ona -p`: the agent without a terminal. A front-end like any other: it sends operations and prints events.

mod control;
mod given;
mod json;
mod prompt;

use std::io::{BufRead as _, IsTerminal as _, Read as _};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Arc;

use ona_config::instructions;
use ona_engine::{Agent, AgentError, AgentOptions, Engine, Session};
use ona_front::{ClientHandle, Human, channel};
use ona_front::{Ending, Event, Op, TurnEnd};
use ona_gate::governance::GovernanceError;
use ona_gate::servers::Connecting;
use ona_gate::servers::server_lines;
use ona_policy::secrets::Redactor;
use ona_store::{Found, NewSession, Seat, Step, Store, StoreError, is_foreign};
use ona_tools::STRUCTURED_OUTPUT;
use ona_types::hook::{SessionEndReason, SetupTrigger, StartSource};
use ona_types::{ConversationId, SessionId};
use serde_json::{Value, json};
use tokio::sync::mpsc::UnboundedReceiver;

use crate::agent_args::{AgentArgs, InputFormat, OutputFormat, TAKES_WORDS};
use crate::args::Cli;
use crate::asker;
use crate::env;
use crate::error::CliError;
use crate::eval::{self, Interrupts, directory};
use crate::mcp::tokens;
use crate::model::{is_model, model_for_role, tell_effort};
use crate::output::{complain, for_reader, plain, print_line};
use crate::sessions;
use crate::trust;
use json::Shown;
use prompt::Prompt;

/// As much is taken from standard input.
const MOST_INPUT: u64 = 10 * 1024 * 1024;

pub fn run(cli: &Cli) -> Result<ExitCode, CliError> {
    let args = &cli.agent;
    if args.max_budget_usd.is_some_and(|most| most.is_nan() || most <= 0.0) {
        return Err(CliError::usage("--max-budget-usd must be more than 0"));
    }
    args.check_rules()?;
    let cwd = directory(cli.cwd.as_ref())?;
    let first_words = given::first_words(args, &cwd)?;
    given::check(args, &cwd)?;
    let name = args.name.as_deref().map(session_name).transpose()?;
    let answers = given::answers(args)?;
    let engine = if args.no_session_persistence { passing(cli)? } else { eval::engine(cli)? };
    let (seat, source) = seat(&engine, args, &cwd)?;
    let open = || Session::open(&engine, seat.clone(), &cwd);
    let mut session = match open() {
        Err(GovernanceError::Untrusted { what, also, request })
            if cli.ask && trust::agreed(&request.root, &what, &also) =>
        {
            request.trust(&engine.core.store)?;
            open()?
        }
        opened => opened?,
    };
    for warning in session.warnings() {
        complain(&format!("warning: {warning}\n"));
    }
    for warning in session.extend()? {
        complain(&format!("warning: {}\n", plain(&warning)));
    }
    let settings = session.gate.settings();
    for warning in session.unmet(|name| is_model(name, &settings))? {
        complain(&format!("warning: {}\n", plain(&warning.to_string())));
    }
    take_role(args, &engine.core.store, &mut session)?;
    let first = session.first_words().filter(|_| source == StartSource::Startup);
    let (prompt, initial) = first_prompt(args, source, first)?;
    let last = engine.core.store.last_model(&seat.session)?;
    let found = model_for_role(args, &session.gate.settings(), last.as_ref());
    let (model_handle, models, credential) =
        found.or_else(|error| refused(&engine, &seat, source, error))?;
    if answers.is_some()
        && session.gate.governance.permissions.denies_tool(STRUCTURED_OUTPUT, Default::default())
    {
        return Err(CliError::usage(format!(
            "--json-schema: a rule denies {STRUCTURED_OUTPUT}, the tool that returns the answer"
        ))
        .hint(format!("`ona config list` lists the rules; remove {STRUCTURED_OUTPUT} from permissions.deny and --disallowedTools")));
    }
    // Only now: a start that could not work leaves no session behind.
    begin(&engine, &seat, source, name.as_deref())?;
    if let (Some(name), StartSource::Resume) = (&name, source) {
        engine.core.store.rename_session(&seat, Some(name))?;
    }
    let human = if cli.ask { Human::Present } else { Human::Nobody };
    let (front, remote, events) = channel(human);
    let session = session.facing(front);
    let model_handle = session.model_of_role(model_handle, args.model.is_some());
    tell_effort(&model_handle);
    let options = AgentOptions {
        prompt: first_words,
        initial,
        shape: given::shape(answers, models.answer_retries),
        ..options(args, &session, &models, source)?
    };
    let shown = Shown {
        session_id: session.seat().session.to_string(),
        model: model_handle.model.clone(),
        credential,
        cwd: cwd.display().to_string(),
        mode: session.mode().to_string(),
        agent: session.agent_type_here(),
    };
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(|error| CliError::failed(format!("cannot start the runtime: {error}")))?;
    let outcome = runtime.block_on(async {
        let interrupts = Interrupts::listen(&remote)?;
        let model_handle = Arc::new(model_handle);
        let mut session = session.judged_by(Arc::clone(&model_handle));
        connect(&mut session).await?;
        let options = session
            .play(options)
            .await
            .map_err(|error| CliError::failed(error.to_string()))?;
        let mut agent = Agent::start(session, model_handle, options).await?;
        let session_id = shown.session_id.clone();
        let asks = cli.ask.then(|| remote.clone());
        let printer = Printer::new(args, shown, agent.tools(), asks);
        let servers = agent.session().gate.pool().map(|pool| server_lines(&pool)).unwrap_or_default();
        let there = agent.session().whats_there();
        printer.begin(&servers, &there)?;
        let feeding = feed(args, prompt, &session_id, &remote);
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
        Ok::<_, CliError>((code, signal))
    });
    runtime.shutdown_background();
    let (code, signal) = outcome?;
    if signal.is_none() {
        // The turn is done and on the record, whatever becomes of this.
        sessions::clean_up(&engine.core.store, &settings, &seat.session).unwrap_or_else(|error| {
            let warning = CliError::from(error).warning("old sessions are not removed");
            complain(&warning);
        });
    }
    Ok(signal.map_or(code, |signal| ExitCode::from(128 + signal)))
}

/// A new session is on the record from here on.
fn begin(
    engine: &Engine,
    seat: &Seat,
    source: StartSource,
    name: Option<&str>,
) -> Result<(), StoreError> {
    if source == StartSource::Startup {
        engine.core.store.new_session(&NewSession {
            project_dir: &seat.project_dir,
            conversation: Some(&seat.conversation),
            id: Some(&seat.session),
            origin: "headless",
            name,
        })?;
    }
    Ok(())
}

/// S0 §2.4, 3: that a model could not be asked is on the record too.
fn refused<T>(
    engine: &Engine,
    seat: &Seat,
    source: StartSource,
    error: CliError,
) -> Result<T, CliError> {
    begin(engine, seat, source, None)?;
    let detail = json!({"error": "authentication_failed", "message": error.to_string()});
    let event = Some(("turn.refused", &detail));
    engine.core.store.keep_step(seat, &Step { event, ..Step::default() })?;
    Err(error)
}

/// An engine whose record is gone when the process is.
fn passing(cli: &Cli) -> Result<Engine, CliError> {
    let mut core = eval::core_with(cli, Store::in_memory()?)?;
    core.settings.no_background.get_or_insert(
        "with --no-session-persistence the record is in memory, where their end could not be written",
    );
    Ok(Engine::new(core))
}

/// The session to go on with, or a new one.
fn seat(engine: &Engine, args: &AgentArgs, cwd: &Path) -> Result<(Seat, StartSource), CliError> {
    let store = &engine.core.store;
    let here = cwd.to_string_lossy();
    let given = args.session_id.clone().map(SessionId::from_existing);
    if args.no_session_persistence && (args.continue_ || args.resume.is_some()) {
        return Err(CliError::usage(
            "--no-session-persistence cannot be combined with --continue or --resume: there is no session to continue",
        )
        .hint("remove --no-session-persistence to continue a session"));
    }
    let known = match &args.resume {
        Some(word) => Some(own(store, find(store, word, &here)?)?),
        None if args.continue_ => {
            let latest = store.latest_session(&here)?.ok_or_else(|| {
                CliError::usage(format!("no session to continue in {}", cwd.display()))
                    .hint("remove --continue to start a new session; `ona sessions list` lists the sessions")
            })?;
            Some(latest)
        }
        None => None,
    };
    if args.fork_session && known.is_none() {
        return Err(CliError::usage("--fork-session needs a session to copy")
            .hint("add --continue or --resume ID"));
    }
    if given.is_some() && known.is_some() && !args.fork_session {
        return Err(CliError::usage(
            "--session-id cannot be combined with --continue or --resume: the session keeps its id",
        )
        .hint("remove --session-id, or continue in a copy with --fork-session"));
    }
    let (seat, source) = match known {
        Some(seat) if args.fork_session => {
            (store.fork_session(&seat, args.at, given.as_ref(), "headless")?, StartSource::Resume)
        }
        Some(seat) => (seat, StartSource::Resume),
        None => {
            let session = given.unwrap_or_else(SessionId::generate);
            if store.session(&session)?.is_some() {
                return Err(StoreError::SessionExists(session.to_string()).into());
            }
            let conversation = ConversationId::generate();
            let project_dir = here.into_owned();
            (Seat { conversation, session, project_dir, cwd: None }, StartSource::Startup)
        }
    };
    Ok((seat, source))
}

/// A session that another agent keeps is only ever added to by that agent's hooks.
fn own(store: &Store, seat: Seat) -> Result<Seat, CliError> {
    match store.seat_of(&seat.session)? {
        Some((_, origin)) if is_foreign(&origin) => Err(CliError::usage(format!(
            "session {} belongs to {origin}; ona cannot continue it",
            seat.session
        ))
        .hint(format!("continue it in {origin}; `ona sessions show {}` shows it", seat.session))),
        _ => Ok(seat),
    }
}

/// A session's name as it is kept: one line, and no secret in it.
pub fn session_name(name: &str) -> Result<String, CliError> {
    let name = Redactor::knowing(env::secrets()).mask(name.trim()).into_owned();
    if name.is_empty() || name.chars().any(char::is_control) {
        return Err(CliError::usage("the name must be one line of text"));
    }
    Ok(name)
}

/// The session that a word names.
pub fn find(store: &Store, word: &str, here: &str) -> Result<Seat, CliError> {
    // A variable of a script that is not set: every id begins with nothing.
    if word.trim().is_empty() {
        return Err(CliError::usage("empty session id")
            .hint("`ona sessions list --all` lists all sessions"));
    }
    match store.find_session(word, here)? {
        Found::One(seat) => Ok(seat),
        Found::None => Err(CliError::usage(format!("unknown session `{word}`"))
            .hint("`ona sessions list --all` lists all sessions")),
        Found::Many(rows) => {
            let ids: Vec<&str> = rows.iter().map(|row| row.session_id.as_str()).collect();
            Err(CliError::usage(format!("`{word}` is ambiguous: {}", ids.join(", ")))
                .hint("give more characters of the id"))
        }
    }
}

/// The main agent is the one that the command line names, or else the one that the session was before, or else the one
/// in the settings.
fn take_role(args: &AgentArgs, store: &Store, session: &mut Session) -> Result<(), CliError> {
    const WHOSE: &str = "`ona agents` lists the agents and their sources";
    let settings = session.gate.settings();
    let before = store.role_of(&session.seat().session)?;
    let (from, name, mode, hint) = match (&args.run_as, before, settings.agent) {
        (Some(name), ..) => ("--agent", name.clone(), None, WHOSE),
        (None, Some(role), _) => {
            let hint = "`--agent NAME` continues as another agent; general-purpose has all tools";
            ("the agent that the session was", role.agent, role.mode, hint)
        }
        (None, None, Some(name)) => ("the setting `agent`", name, None, WHOSE),
        (None, None, None) => return Ok(()),
    };
    let mode = mode.and_then(|mode| mode.parse().ok());
    let taken = session.take_role(&name, mode);
    taken.map_err(|why| CliError::usage(format!("{from}: {why}")).hint(hint))
}

/// What to begin with; nothing where lines of JSON will say, or an unfinished turn goes on. Beside it what is said
/// before that: `first`, unless it is all there is.
fn first_prompt(
    args: &AgentArgs,
    source: StartSource,
    first: Option<&str>,
) -> Result<(Option<String>, Option<String>), CliError> {
    let first = first.map(str::to_owned);
    if args.init_only {
        return Ok((None, None));
    }
    if args.input_format == InputFormat::StreamJson {
        return match args.prompt {
            None => Ok((None, first)),
            Some(_) => Err(CliError::usage(
                "with --input-format stream-json, prompts are read from standard input",
            )),
        };
    }
    let mut piped = String::new();
    if !std::io::stdin().is_terminal() {
        let bytes = piped_in(args.prompt.is_some() || first.is_some())?;
        if bytes.len() as u64 > MOST_INPUT {
            return Err(CliError::usage("standard input is too long, limit: 10 MB")
                .hint("write it to a file and name the file in the prompt"));
        }
        piped = String::from_utf8_lossy(&bytes).into_owned();
    }
    let parts = [args.prompt.clone().unwrap_or_default(), piped];
    let parts: Vec<&str> =
        parts.iter().map(String::as_str).filter(|part| !part.trim().is_empty()).collect();
    match (parts.is_empty(), source, first) {
        (false, _, first) => Ok((Some(parts.join("\n\n")), first)),
        (true, StartSource::Resume, _) => Ok((None, None)),
        (true, _, Some(first)) => Ok((Some(first), None)),
        (true, _, None) => Err(CliError::usage("missing prompt").hint(match args.takes_words() {
            true => TAKES_WORDS,
            false => "use ona -p 'PROMPT', or pipe the prompt to ona -p",
        })),
    }
}

/// How long standard input is waited for where there is a prompt already: it may be one that somebody left open.
const PATIENCE: std::time::Duration = std::time::Duration::from_secs(3);

/// What comes on standard input, unless nothing does and there is no need of it.
fn piped_in(optional: bool) -> Result<Vec<u8>, CliError> {
    let (sender, receiver) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let mut input = std::io::stdin().lock();
        let _ = sender.send(input.fill_buf().map(|_| Vec::new()));
        let mut bytes = Vec::new();
        let read = input.take(MOST_INPUT + 1).read_to_end(&mut bytes);
        let _ = sender.send(read.map(|_| bytes));
    });
    let unreadable =
        |error: std::io::Error| CliError::usage(format!("cannot read standard input: {error}"));
    let gone = |_| CliError::failed("cannot read standard input");
    let first = match optional {
        true => receiver.recv_timeout(PATIENCE).ok(),
        false => Some(receiver.recv().map_err(gone)?),
    };
    match first {
        Some(first) => drop(first.map_err(unreadable)?),
        None => {
            complain("warning: no data on standard input; continuing without it\n");
            return Ok(Vec::new());
        }
    }
    receiver.recv().map_err(gone)?.map_err(unreadable)
}

fn options(
    args: &AgentArgs,
    session: &Session,
    models: &crate::env::model::Models,
    source: StartSource,
) -> Result<AgentOptions, CliError> {
    Ok(AgentOptions {
        tools: offered(args)?,
        bare: args.bare,
        memory_tokens: if env::offers_memories()? { session.memory_tokens() } else { 0 },
        unheard: false,
        source: Some(source),
        setup: match (args.init || args.init_only, args.maintenance) {
            (true, _) => Some(SetupTrigger::Init),
            (false, true) => Some(SetupTrigger::Maintenance),
            (false, false) => None,
        },
        max_turns: args.max_turns,
        max_sent_back: models.max_sent_back,
        max_budget_usd: args.max_budget_usd,
        partial: args.include_partial_messages,
        room: models.room,
        instructions: instructions::Roots {
            read_additional: models.read_additional,
            ..session.instruction_roots()
        },
        today: today(),
        model_of_agents: env::subagent_model()?,
        waits: true,
        ..AgentOptions::default()
    })
}

/// Connects the session's MCP servers, and waits a little for them: what comes later is there for a later question.
pub async fn connect(session: &mut Session) -> Result<(), CliError> {
    let servers = session.servers()?;
    for warning in &servers.warnings {
        complain(&format!("warning: {warning}\n"));
    }
    let secrets = servers.secrets().map(str::to_owned).collect();
    session.gate.connect(Connecting {
        secrets,
        specs: servers.specs,
        tokens: Some(tokens::vault()?),
        deferral: env::servers::deferral()?,
    })?;
    session.gate.settle_servers(env::servers::wait()?).await;
    Ok(())
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

/// Today's date, as the model is told.
pub fn today() -> String {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let days = since.map_or(0, |since| since.as_secs() / 86_400);
    ona_types::date(i64::try_from(days).unwrap_or_default())
}

/// Sends prompts to the core; the last of them is followed by the end.
fn feed(
    args: &AgentArgs,
    prompt: Option<String>,
    session_id: &str,
    remote: &ClientHandle,
) -> Option<std::thread::JoinHandle<()>> {
    match (args.input_format, prompt) {
        _ if args.init_only => {}
        (InputFormat::Text, Some(prompt)) => {
            remote.send(Op::Submit { prompt, attachments: Vec::new() });
        }
        (InputFormat::Text, None) => remote.send(Op::GoOn),
        (InputFormat::StreamJson, _) => {
            let remote = remote.clone();
            let replays = args.replay_user_messages.then(|| session_id.to_owned());
            // Standard input may never end; the process does not wait for this thread.
            return Some(std::thread::spawn(move || {
                for line in std::io::stdin().lock().lines() {
                    let Ok(line) = line else { break };
                    if let Some(answer) = control::answer(&line, &remote) {
                        let _ = print_line(&answer.to_string());
                        continue;
                    }
                    match Prompt::read(&line) {
                        Ok(Some(Prompt { text, attachments, content })) => {
                            if let Some(session_id) = &replays {
                                let said = json::replay(session_id, &content);
                                let _ = print_line(&said.to_string());
                            }
                            remote.send(Op::Submit { prompt: text, attachments });
                        }
                        Ok(None) => {}
                        Err(why) => complain(&format!("warning: skipped a line of input: {why}\n")),
                    }
                }
                remote.send(Op::End);
            }));
        }
    }
    remote.send(Op::End);
    None
}

/// Prints what happens.
struct Printer {
    format: OutputFormat,
    shown: Shown,
    tools: Vec<String>,
    hooks: bool,
    verbose: bool,
    /// Whether there will be a session to go on with.
    kept: bool,
    /// Where answers go of whoever is at the terminal, if somebody is.
    asks: Option<ClientHandle>,
}

impl Printer {
    fn new(args: &AgentArgs, shown: Shown, tools: Vec<String>, asks: Option<ClientHandle>) -> Self {
        Self {
            asks,
            format: args.output_format,
            shown,
            tools,
            hooks: args.include_hook_events,
            verbose: args.verbose,
            kept: !args.no_session_persistence,
        }
    }

    fn begin(&self, servers: &[Value], there: &Value) -> Result<(), CliError> {
        if self.format == OutputFormat::StreamJson {
            self.line(&self.shown.init(&self.tools, servers, there))?;
        }
        Ok(())
    }

    /// Prints every event until there are no more; whether the last turn, if there was one, came to its end.
    async fn show(self, mut events: UnboundedReceiver<Event>) -> Result<Option<bool>, CliError> {
        let mut done = None;
        while let Some(event) = events.recv().await {
            if let Event::TurnEnded { end } = &event {
                done = Some(end.ending == Ending::Done);
            }
            if let (Event::Ask { ask, request }, Some(remote)) = (&event, &self.asks) {
                asker::put(*ask, request.clone(), remote);
            }
            self.event(&event)?;
        }
        Ok(done)
    }

    fn event(&self, event: &Event) -> Result<(), CliError> {
        match (self.format, event) {
            (OutputFormat::StreamJson, event) => {
                for value in self.shown.lines(event, self.hooks) {
                    self.line(&value)?;
                }
            }
            (OutputFormat::Json, Event::TurnEnded { end }) => self.line(&self.shown.result(end))?,
            (OutputFormat::Text, Event::TurnEnded { end }) => self.text(end)?,
            (OutputFormat::Text, Event::Said { message, attachments, .. }) => {
                print_line(&for_reader(message)).map_err(unprintable)?;
                for file in attachments {
                    print_line(&format!("[{}]", plain(file))).map_err(unprintable)?;
                }
            }
            (OutputFormat::Text, Event::OfAgent { what, .. })
                if matches!(**what, Event::Said { .. }) =>
            {
                return self.event(what);
            }
            _ => {}
        }
        self.aside(event);
        Ok(())
    }

    /// What is said on standard error.
    fn aside(&self, event: &Event) {
        let text = match event {
            Event::OfAgent { what, .. } => return self.aside(what),
            Event::Warning { text } => format!("warning: {text}"),
            Event::HookMessage { text } => format!("hook: {text}"),
            // One object on standard output has no room for it.
            Event::Said { message, attachments, .. } if self.format == OutputFormat::Json => {
                let files = attachments.iter().map(|file| format!("\n[{file}]"));
                plain(&format!("{message}{}", files.collect::<String>()))
            }
            Event::Retry { attempt, max_retries, delay_ms, error, .. } => {
                format!(
                    "retry {attempt} of {max_retries} in {:.1} s: {}",
                    *delay_ms as f64 / 1e3,
                    plain(error)
                )
            }
            Event::Compacting { trigger } => format!("compacting the context ({trigger})"),
            Event::ToolStarted { tool, input, .. } if self.verbose => {
                format!(
                    "{tool} {}",
                    plain(&input.to_string()).chars().take(200).collect::<String>()
                )
            }
            Event::ToolProgress { done, total, message, .. } if self.verbose => {
                let of = total.map(|total| format!(" of {total}")).unwrap_or_default();
                format!("{done}{of} {}", plain(message.as_deref().unwrap_or_default()))
            }
            Event::ToolEnded { tool, is_error: true, content, .. } if self.verbose => {
                format!("{tool} failed: {}", plain(content).lines().next().unwrap_or_default())
            }
            _ => return,
        };
        complain(&format!("{text}\n"));
    }

    fn text(&self, end: &TurnEnd) -> Result<(), CliError> {
        let text = final_text(end);
        if !text.is_empty() {
            print_line(&for_reader(&text)).map_err(unprintable)?;
        }
        if let Some(why) = end.ending.problem() {
            complain(&format!("error: {}\n", plain(&why)));
            if matches!(end.ending, Ending::RecordLost { .. }) {
                complain(
                    "hint: free some space if the disk is full; `ona doctor` checks the record\n",
                );
            }
            if self.kept {
                complain(&format!(
                    "hint: `ona -p --resume {} …` continues the session\n",
                    self.shown.session_id
                ));
            }
        }
        Ok(())
    }

    fn line(&self, value: &Value) -> Result<(), CliError> {
        print_line(&value.to_string()).map_err(unprintable)
    }
}

#[allow(clippy::needless_pass_by_value, reason = "it is handed to map_err")]
fn unprintable(error: std::io::Error) -> CliError {
    CliError::failed(format!("the result is recorded, but cannot be printed: {error}"))
}

/// What a turn came to, as text: an answer in the shape that was asked for is the whole of it.
fn final_text(end: &TurnEnd) -> String {
    match (&end.ending, &end.answer) {
        (Ending::Done, Some(answer)) => answer.to_string(),
        _ => end.text.clone(),
    }
}

impl From<AgentError> for CliError {
    fn from(error: AgentError) -> Self {
        match error {
            AgentError::Store(cause) => cause.into(),
            AgentError::InUse { .. } => CliError::failed(error.to_string())
                .hint("wait for it to end, or continue in a copy with --fork-session"),
        }
    }
}
