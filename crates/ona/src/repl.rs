//! `ona`: the interactive session. The core runs here, the interface on a thread of its own, so that typing never waits for
//! the core.

mod outside;
mod platform;

use std::io::IsTerminal as _;
use std::process::ExitCode;
use std::sync::Arc;

use ona_cli::bootstrap::{self, directory};
use ona_cli::env::terminal::{Colours, TerminalFacts, terminal_facts};
use ona_cli::interrupts::{FirstInterrupt, Interrupts};
use ona_cli::output::{self, complain};
use ona_cli::started_by::started_by;
use ona_cli::{CliError, Options, agent_args, env};
use ona_commands::{Console, Next};
use ona_engine::{AgentOptions, Engine, SessionBuilder, Which, Work};
use ona_front::{ClientHandle, Event, Human, Op, channel};
use ona_render::theme::Depth;
use ona_store::Seat;
use ona_tui::screen::Reflow;
use ona_tui::{Ended, Facts, Notifies};
use ona_types::SessionId;
use ona_types::hook::StartSource;
use tokio::runtime::Runtime;

use crate::governed;
use crate::print;
use outside::Program;
use platform::System;

/// What only the operator has.
const INTERACTIVE: &str = "what an interactive session does";

pub fn run(options: Options) -> Result<ExitCode, CliError> {
    let args = &options.agent;
    let facts = terminal_facts();
    let plain = options.plain || facts.plain;
    if !std::io::stdin().is_terminal() || (!plain && !std::io::stdout().is_terminal()) {
        let error = CliError::usage("an interactive session needs a terminal")
            .hint("`ona -p 'PROMPT'` works without one");
        return Err(match args.takes_words() {
            true => error.hint(agent_args::TAKES_WORDS),
            false => error,
        });
    }
    if let Some(starter) = started_by() {
        return Err(governed::refused(INTERACTIVE, &starter).hint("`ona -p` works for agents too"));
    }
    if options.conversation.is_some() {
        return Err(CliError::usage(
            "--conversation cannot be combined with an interactive session",
        )
        .hint("continue a session with --resume ID; `ona sessions list` lists the sessions"));
    }
    print::check(args)?;
    let cwd = directory(options.cwd.as_deref())?;
    let agent_options = AgentOptions { waits_for_agents: false, ..print::options(args, &cwd)? };
    print::check_directories(args, &cwd)?;
    let name = args.name.as_deref().map(print::session_name).transpose()?;
    // Without a word the list is shown.
    let picks = args.resume.as_deref() == Some("");
    let which = if picks { Which::New(None) } else { print::which(args)? };
    let engine = match args.no_session_persistence {
        true => bootstrap::passing_engine(&options)?,
        false => bootstrap::engine(&options)?,
    };
    let facts = Facts {
        first_prompt: args.prompt.clone().filter(|_| !picks),
        first_command: picks.then(|| "/resume".to_owned()),
        slash_commands: !args.disable_slash_commands,
        ..interface_facts(&facts)
    };
    let options = Arc::new(options);
    let start = Start { which, source: None, name };
    live(&Live { engine, options, cwd, agent_options, plain }, facts, start)
}

/// What all sessions of this process share.
struct Live {
    engine: Engine,
    options: Arc<Options>,
    cwd: std::path::PathBuf,
    agent_options: AgentOptions,
    plain: bool,
}

/// The next session.
struct Start {
    which: Which,
    /// How it starts, where that is not seen from the session.
    source: Option<StartSource>,
    name: Option<String>,
}

/// Starts the interface, and runs session after session until the operator leaves.
fn live(live: &Live, facts: Facts, start: Start) -> Result<ExitCode, CliError> {
    let (front, remote, events) = channel(Human::Present);
    let told = front.another();
    output::send_messages_to(Some(Box::new(move |text| {
        let text = text.strip_prefix("warning: ").unwrap_or(text);
        told.tell(Event::Warning { text: text.to_owned() });
    })));
    let plain = live.plain;
    let client = remote.clone();
    give_terminal_back_on_panic();
    let interface = std::thread::Builder::new().name(INTERFACE.to_owned()).spawn(move || {
        // Whatever ends it, a panic too: nobody is there any more.
        let _gone = Gone(client.clone());
        match plain {
            true => ona_tui::line_mode::run(&facts, &client, events, &System).map(|()| Ended::Left),
            false => ona_tui::run(facts, &client, events, &System),
        }
    });
    let interface = interface
        .map_err(|error| CliError::failed(format!("cannot start the interface: {error}")))?;
    let runtime = bootstrap::runtime()?;
    let interrupts = runtime.block_on(async {
        Interrupts::listen_with(&remote, give_up, FirstInterrupt::Interrupts)
    })?;
    let program = Program::new(Arc::clone(&live.options), front.another(), interrupts.clone());
    let console = Console::new(live.engine.clone(), program.clone(), live.cwd.clone(), front);
    let last_word = program.front();
    let ended = sessions(live, &runtime, &interrupts, &program, console, start);
    runtime.block_on(live.engine.core.moved.end_all());
    // Whatever still holds the channel: the interface ends too.
    last_word.tell(Event::Exit);
    drop((program, last_word));
    output::send_messages_to(None);
    let shown = interface.join();
    ona_tui::terminal::leave();
    runtime.shutdown_background();
    // A session that a signal has kept from starting is no error.
    if let Some(signal) = interrupts.signal() {
        return Ok(ExitCode::from(128 + signal));
    }
    let Left { session, tasks } = ended?;
    match shown {
        Ok(Ok(Ended::Left)) => {}
        // The signal may come a moment later than the loss, or not at all.
        Ok(Ok(Ended::TerminalGone)) => return Ok(ExitCode::from(128 + HANGUP)),
        Ok(Err(error)) => {
            return Err(CliError::failed(format!("the terminal cannot be used: {error}")));
        }
        Err(_) => return Ok(ExitCode::FAILURE),
    }
    if tasks > 0 {
        let word = if tasks == 1 { "task" } else { "tasks" };
        complain(&format!("ended with the session: {tasks} background {word}\n"));
    }
    if let Some(session) = session {
        complain(&format!("to continue this session: ona --resume {session}\n"));
    }
    Ok(ExitCode::SUCCESS)
}

/// The number of the signal of a terminal that is gone.
const HANGUP: u8 = 1;

/// The name of the interface's thread.
const INTERFACE: &str = "interface";

/// Tells the core that nobody is there any more.
struct Gone(ClientHandle);

impl Drop for Gone {
    fn drop(&mut self) {
        self.0.send(Op::Quit);
    }
}

/// A panic of the interface is told in a terminal that works.
fn give_terminal_back_on_panic() {
    let told = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        if std::thread::current().name() == Some(INTERFACE) {
            ona_tui::terminal::leave();
            output::send_messages_to(None);
        }
        told(panic);
    }));
}

/// What the operator leaves behind.
struct Left {
    /// The last session, if something was said in it.
    session: Option<SessionId>,
    /// What still ran in its background.
    tasks: usize,
}

/// Runs session after session.
fn sessions(
    live: &Live,
    runtime: &Runtime,
    interrupts: &Interrupts,
    program: &Program,
    mut console: Console<Program>,
    mut start: Start,
) -> Result<Left, CliError> {
    let args = &live.options.agent;
    let mut last: Option<Seat> = None;
    let mut is_second_try = false;
    loop {
        let prepared = SessionBuilder {
            engine: &live.engine,
            starter: program.clone(),
            cwd: &live.cwd,
            which: start.which.clone(),
            work: Work::Turns { agent: args.run_as.as_deref(), model_named: args.model.is_some() },
            origin: "interactive",
            name: start.name.as_deref(),
        }
        .prepare();
        let opened = prepared.and_then(|prepared| {
            let source = start.source.unwrap_or_else(|| prepared.source());
            let initial = prepared.initial_prompt().map(str::to_owned);
            let options =
                AgentOptions { initial, source: Some(source), ..live.agent_options.clone() };
            let front = console.front();
            let agent = runtime.block_on(interrupts.starting(prepared.agent(front, options)));
            agent.transpose().map(|agent| agent.map(|agent| (agent, source)))
        });
        let next = match opened {
            Ok(Some((agent, source))) => {
                is_second_try = false;
                last = Some(agent.session().seat().clone());
                runtime.block_on(console.run(agent, source))
            }
            // A signal came meanwhile.
            Ok(None) => Next::Leave,
            Err(error) => match &last {
                // The session before is opened again.
                Some(seat) => {
                    let words = error.words();
                    if is_second_try && !runtime.block_on(console.waits_to_try_again(&words)) {
                        break;
                    }
                    is_second_try = true;
                    console.failed("resume", words);
                    let which = Which::Named(seat.session.to_string(), None);
                    Next::Open { which, source: StartSource::Resume, name: None }
                }
                None => return Err(error),
            },
        };
        match next {
            Next::Leave => break,
            Next::Open { which, source, name } => {
                start = Start { which, source: Some(source), name }
            }
        }
    }
    let Some(seat) = last else { return Ok(Left { session: None, tasks: 0 }) };
    let store = &live.engine.core.store;
    let is_kept = store.turns(&seat.session)? > 0 && !args.no_session_persistence;
    let tasks = store.running_tasks(&seat.conversation)?.len();
    Ok(Left { session: Some(seat.session).filter(|_| is_kept), tasks })
}

/// Ends the process after a signal, whatever still runs.
fn give_up(signal: u8) {
    ona_tui::terminal::leave();
    crate::give_up(signal);
}

/// What the interface needs to know.
fn interface_facts(terminal: &TerminalFacts) -> Facts {
    let depth = match terminal.colours {
        Colours::None => Depth::None,
        Colours::Sixteen => Depth::Ansi16,
        Colours::Many => Depth::Ansi256,
        Colours::All => Depth::True,
    };
    let program = terminal.program.as_str();
    Facts {
        depth,
        light: terminal.light,
        ask_background: terminal.term != "linux" && depth != Depth::None,
        // Those that are known not to.
        reflow: match terminal.term.as_str() {
            "linux" | "xterm" | "vt100" | "screen" => Reflow::Cuts,
            _ => Reflow::Wraps,
        },
        home: env::home().map(|home| home.display().to_string()),
        version: env!("CARGO_PKG_VERSION"),
        notifies: match program {
            _ if terminal.kitty => Notifies::Kitty,
            "iTerm.app" | "ghostty" | "WezTerm" => Notifies::Osc9,
            _ => Notifies::Bell,
        },
        reaction: terminal.reaction,
        first_prompt: None,
        first_command: None,
        slash_commands: true,
    }
}
