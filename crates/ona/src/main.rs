//! The binary: it parses the arguments, wires the crates together and returns an exit code.
//!
//! Only this crate reads the environment, the home directory and the terminal. It has no behaviour of its own
//! except printing results; see `docs/ARCHITECTURE.md` for the map of the crates.
#![allow(clippy::disallowed_methods, reason = "this is the crate that reads the environment")]

mod args;
mod auth;
mod blame;
mod config;
mod debug;
mod demo;
mod doctor;
mod eval;
mod extend;
mod governed;
mod help;
mod helpers;
mod hook;
mod init;
mod intent;
mod mcp;
mod memory;
mod operator;
mod plugin;
mod print;
mod repl;
mod sandbox;
mod schema;
mod serve;
mod sessions;
mod story;
mod trace;
mod trust;
mod workspace;

use std::process::ExitCode;

use ona_cli::{CliError, output};

use crate::args::{Cli, Command, Schema};

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    if let Some(code) = ona_sandbox::confine::enter_if_asked() {
        return code;
    }
    output::tell_panics();
    ona_sandbox::no_core_dumps();
    ona_sandbox::take_over();
    let outcome = args::parse().and_then(|cli| {
        if cli.starts_programs() {
            ona_sandbox::hand_over();
        }
        ona_cli::env::descriptor::take_oauth_descriptor();
        ona_sandbox::adopt_orphans();
        debug::listen(&cli.options)?;
        match cli.is_interactive() {
            true => {
                governed::check(&cli)?;
                repl::run(cli.options)
            }
            false => dispatch(&cli),
        }
    });
    let code = outcome.unwrap_or_else(|error| {
        output::complain(&error.to_string());
        error.kind.exit_code()
    });
    // Nothing a call started goes on ungoverned.
    let ended = ona_sandbox::end_leftovers();
    if !ended.is_empty() {
        output::complain(&format!(
            "warning: ended processes that were left running: {}\n\
             hint: start long-running commands with a Bash call and run_in_background\n",
            ended.join(", ")
        ));
    }
    code
}

/// Ends the process after a signal, whatever still runs.
fn give_up(signal: u8) {
    ona_sandbox::end_leftovers();
    std::process::exit(128 + i32::from(signal));
}

/// Runs a command line.
/// An option that would be ignored is an error: whoever names a conversation means that one.
fn check_conversation(cli: &Cli) -> Result<(), CliError> {
    let takes_it = match &cli.command {
        None => true,
        Some(command) => matches!(
            command,
            Command::Explain { .. }
                | Command::Phase(_)
                | Command::Plan(_)
                | Command::Test(_)
                | Command::Report(_)
                | Command::Sandbox(_)
        ),
    };
    match takes_it || cli.options.conversation.is_none() {
        true => Ok(()),
        false => Err(CliError::usage("this command takes no --conversation").hint(
            "it belongs to --eval, --transition, explain, phase, plan, test, report and sandbox",
        )),
    }
}

fn dispatch(cli: &Cli) -> Result<ExitCode, CliError> {
    let other = cli.options.eval.is_some()
        || cli.options.transition.is_some()
        || cli.options.init_db
        || cli.options.agent.init_only;
    if cli.command.is_some() && other {
        return Err(CliError::usage(
            "a command cannot be combined with --eval, --transition, --init-db or --init-only",
        )
        .hint("see `ona --help`"));
    }
    let options = &cli.options;
    check_conversation(cli)?;
    governed::check(cli).inspect_err(|refused| governed::note(cli, refused))?;
    match &cli.command {
        Some(Command::Init(init)) => init::run(options, init),
        Some(Command::Serve(serve)) => serve::run(options, serve),
        Some(Command::Mcp(command)) => mcp::run(options, command),
        Some(Command::Doctor { compact: true, json }) => doctor::compact(*json),
        Some(Command::Doctor { compact: false, json }) => doctor::run(options, *json),
        Some(Command::Why { tool_use_id, json }) => story::why(tool_use_id.as_deref(), *json),
        Some(Command::Explain { call, bash, json }) => {
            story::explain(options, call.as_deref(), bash.as_deref(), *json)
        }
        Some(Command::Log { session, follow, json, last }) => {
            story::log(options, session.as_deref(), *follow, *json, *last)
        }
        Some(Command::Trust { list, json }) => trust::run(options, *list, *json),
        Some(Command::Untrust) => trust::untrust(options),
        Some(Command::Demo { live }) => demo::run(options, *live),
        Some(Command::Phase(args)) => ona_sdlc::phase::run(options, args),
        Some(Command::Plan(command)) => ona_sdlc::plan::run(options, command),
        Some(Command::Test(command)) => ona_sdlc::test::run(options, command),
        Some(Command::Report(args)) => ona_sdlc::report::run(options, args),
        Some(Command::Sessions(command)) => sessions::run(options, command),
        Some(Command::Hook { host, rules }) => hook::run(options, host, *rules),
        Some(Command::Config(command)) => config::run(options, command),
        Some(Command::Auth(command)) => auth::run(options, command),
        Some(Command::Operator(command)) => operator::run(command),
        Some(Command::Memory(command)) => memory::run(options, command),
        Some(Command::Intent(command)) => intent::run(options, command),
        Some(Command::Trace(command)) => trace::run(options, command),
        Some(Command::Blame { target, json }) => blame::run(options, target, *json),
        Some(Command::Plugin(command)) => plugin::run(options, command),
        Some(Command::Agents { json }) => extend::agents(options, *json),
        Some(Command::Skills { json }) => extend::skills(options, *json),
        Some(Command::Sandbox(command)) => sandbox::run(options, command),
        Some(Command::Schema(Schema::Hooks { output, order })) => schema::hooks(*output, *order),
        Some(Command::Schema(Schema::Tests)) => schema::tests(),
        Some(Command::Help { name, json }) => help::run(name, *json),
        Some(Command::TaskHost) => helpers::task_host(),
        Some(Command::PdfText { pages, bytes }) => helpers::pdf_text(pages.as_deref(), *bytes),
        Some(Command::HtmlText) => helpers::html_text(),
        Some(Command::ScriptedModel { replies }) => helpers::scripted_model(replies),
        None if cli.options.agent.print || cli.options.agent.init_only => print::run(options),
        None if cli.options.init_db => eval::init_db(),
        None => match (&cli.options.eval, &cli.options.transition) {
            (Some(call), _) => eval::run(call, options),
            (None, Some(phase)) => ona_sdlc::phase::transition(phase, options),
            (None, None) => Err(CliError::usage("an interactive session cannot be started here")
                .hint("`ona --help` lists commands and options")),
        },
    }
}
