//! The commands, by what they are about.

mod account;
mod configuration;
mod confirm;
mod context;
mod extensions;
mod governance;
mod look;
mod memory;
mod model;
mod paths;
mod permissions;
mod phases;
mod prompts;
mod resume;
mod session;
mod setting;
mod transcript;
mod trust;

pub(crate) use phases::OUT_OF_PLANNING;
use tokio_util::sync::CancellationToken;

use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;
use crate::table::Run;

/// Runs a command.
pub(crate) async fn run<O: Outside>(
    desk: &Desk<O>,
    run: Run,
    arguments: &str,
    cancel: &CancellationToken,
) -> Result<Act, CommandError> {
    match run {
        Run::Clear => session::clear(desk, arguments),
        Run::Resume => resume::resume(desk, arguments),
        Run::Branch => session::branch(desk, arguments),
        Run::Rename => session::rename(desk, arguments),
        Run::Rewind => crate::rewind::rewind(desk, arguments),
        Run::Exit => Ok(Act::Exit),
        Run::AddDir => Ok(session::add_dir(desk, arguments)),
        Run::Tasks => session::tasks(desk, arguments).await,
        Run::Todos => session::todos(desk),
        Run::Export => transcript::export(desk, arguments),
        Run::Copy => transcript::copy(desk, arguments),
        Run::Diff => transcript::diff(desk).await,
        Run::Btw => session::btw(desk, arguments, cancel).await,
        Run::Help => Ok(look::help(desk, arguments)),
        Run::Compact => {
            Ok(Act::Compact(Some(arguments.to_owned()).filter(|text| !text.is_empty())))
        }
        Run::Context => context::context(desk),
        Run::Memory => memory::memory(desk, arguments).await,
        Run::Cost | Run::Usage => context::cost(desk),
        Run::Stats => context::stats(desk, arguments),
        Run::Insights => context::insights(desk),
        Run::Init => Ok(prompts::init()),
        Run::Review => Ok(prompts::review(arguments)),
        Run::SecurityReview => Ok(prompts::security_review()),
        Run::Simplify => Ok(prompts::simplify(arguments)),
        Run::Batch => Ok(prompts::batch(arguments)),
        Run::Debug => Ok(prompts::debug(desk, arguments)),
        Run::Loop => Ok(prompts::repeat(arguments)),
        Run::Model => model::model(desk, arguments),
        Run::Effort => Ok(model::effort(desk, arguments)),
        Run::Plan => phases::plan(desk, arguments).await,
        Run::Config => configuration::config(desk, arguments).await,
        Run::Theme => Ok(configuration::theme(desk, arguments)),
        Run::Color => Ok(configuration::color(arguments)),
        Run::StatusLine => configuration::status_line(desk, arguments),
        Run::Vim => Ok(configuration::vim(desk)),
        Run::OutputStyle => Ok(configuration::output_style(desk, arguments)),
        Run::Keybindings => configuration::keybindings(desk, arguments),
        Run::TerminalSetup => Ok(look::terminal_setup()),
        Run::Sandbox => Ok(look::sandbox(desk, arguments)),
        Run::Status => look::status(desk).await,
        Run::Doctor => look::doctor(desk).await,
        Run::ReleaseNotes => Ok(Act::text(desk.outside.release_notes())),
        Run::Permissions => permissions::permissions(desk, arguments),
        Run::Hooks => Ok(governance::hooks(desk)),
        Run::Phase => phases::phase(desk, arguments).await,
        Run::Test => phases::test(desk, arguments).await,
        Run::Report => phases::report(desk, arguments).await,
        Run::Intent => governance::intent(desk, arguments).await,
        Run::Why => governance::why(desk, arguments).await,
        Run::Explain => governance::explain(desk, arguments).await,
        Run::Blame => governance::blame(desk, arguments).await,
        Run::Trust => trust::trust(desk),
        Run::Agents => extensions::agents(desk, arguments).await,
        Run::Skills => look::skills(desk).await,
        Run::Mcp => extensions::mcp(desk, arguments).await,
        Run::Plugin => Ok(extensions::plugin(desk, arguments).await),
        Run::ReloadPlugins => Ok(Act::ReloadExtensions(None)),
        Run::Login => Ok(account::login(desk, cancel).await),
        Run::Logout => Ok(account::logout(desk).await),
        Run::NothingYet(what) => {
            Ok(Act::plain(format!("There is nothing yet: this version of ona has no {what}.")))
        }
    }
}

/// The first word of a text, and the rest.
pub(crate) fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim();
    match text.split_once(char::is_whitespace) {
        Some((first, rest)) => (first, rest.trim()),
        None => (text, ""),
    }
}

/// `1 thing`, `2 things`.
pub(crate) fn counted(number: usize, thing: &str) -> String {
    format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
}

/// The beginning of a text's first line.
pub(crate) fn beginning(text: &str, most: usize) -> String {
    let line = text.trim().lines().next().unwrap_or_default();
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}
