//! What only the operator decides: refused to a process that an agent's call has started (DESIGN §5, no. 12).

use crate::args::{Cli, Command, Config};
use crate::auth::SIGNED_IN;
use crate::mcp::Mcp;
use ona_cli::CliError;
use ona_cli::started_by::{StartedBy, changed_guard, started_by};
use ona_sdlc::plan::Plan;

/// Refuses what only the operator may decide, if an agent has started this process.
pub fn check(cli: &Cli) -> Result<(), CliError> {
    // What calls tools is governed by what the variables lead to.
    let calls = matches!(&cli.command, None | Some(Command::Mcp(Mcp::Serve(_))));
    if calls && let Some(name) = changed_guard() {
        let message = format!(
            "{name} differs from the ona that started this process: only the operator decides where settings are found"
        );
        return Err(CliError::usage(message)
            .hint("leave the variable unchanged, or run the command in your own terminal"));
    }
    let what = match &cli.command {
        Some(Command::Trust { list: false, .. } | Command::Untrust) => "about trust",
        Some(Command::Init(init)) if !init.dry_run => "what governs a project",
        Some(Command::Auth(auth)) if auth.is_the_operators() => SIGNED_IN,
        Some(Command::Operator(_)) => "about the operator's key",
        Some(Command::Plan(plan)) if plan.is_the_operators() => "about a plan",
        Some(Command::Phase(phase)) if phase.is_the_operators() => "about the phase",
        Some(Command::Test(test)) if test.is_the_operators() => "which tests count",
        Some(Command::Report(report)) if report.is_the_operators() => "about a report",
        Some(Command::Config(Config::Set { .. } | Config::Unset { .. } | Config::Import)) => {
            "about settings"
        }
        Some(Command::Mcp(mcp)) if mcp.is_the_operators() => "which servers are used",
        Some(Command::Intent(intent)) if intent.is_the_operators() => "about an intent",
        Some(Command::Memory(memory)) if memory.is_the_operators() => {
            "about memories outside the own project"
        }
        Some(Command::Sessions(sessions)) if sessions.is_the_operators() => {
            "what stays on the record"
        }
        Some(Command::Doctor { compact: true, .. }) => "when the record is compacted",
        Some(Command::Trace(trace)) if trace.is_the_operators() => "who answers for a change",
        Some(Command::Plugin(plugin)) if plugin.is_the_operators() => "which plugins are used",
        _ if cli.options.trust => "about trust",
        _ if cli.options.transition.is_some() => "about the phase",
        _ if cli.options.eval.is_some() && cli.options.conversation.is_some() => {
            "which conversation is used"
        }
        // Anybody can make a terminal, and type into it.
        _ if cli.options.ask => "who is asked",
        // They would run, and no rule would be asked.
        _ if !cli.options.agent.mcp_config.is_empty() => "which servers are used",
        // They bring hooks and servers, and permit what others must ask for.
        _ if !cli.options.plugin_dir.is_empty() => "which plugins are used",
        _ if cli.options.agents.is_some() => "which agents are used",
        // The guards are in the files that would be left out.
        _ if cli.options.agent.bare || cli.options.setting_sources.is_some() => {
            "which settings are read"
        }
        _ => match cli.options.permission_mode.as_deref() {
            Some("acceptEdits" | "bypassPermissions") => "about the permission mode",
            _ => return Ok(()),
        },
    };
    match started_by() {
        None => Ok(()),
        Some(starter) => Err(refused(what, &starter)),
    }
}

/// Records that an agent tried to change a phase, as far as there is a record of it.
pub fn note(cli: &Cli, refused: &CliError) {
    let to = match &cli.command {
        Some(Command::Phase(phase)) => phase.to.as_deref(),
        Some(Command::Plan(Plan::Approve { .. })) => Some("implement"),
        Some(Command::Report(report)) if report.is_the_operators() => Some("done"),
        _ => cli.options.transition.as_deref(),
    };
    if let Some(to) = to.and_then(|to| to.parse().ok()) {
        ona_sdlc::phase::note_refused(&cli.options, to, refused);
    }
}

/// The error for a caller that is not the operator.
pub fn refused(what: &str, starter: &StartedBy) -> CliError {
    CliError::usage(format!(
        "only the operator decides {what}, and this ona was started by {starter}"
    ))
    .hint("run the command in your own terminal")
}
