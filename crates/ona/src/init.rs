//! `ona init`: sets up a project, and adds ona's gate to the settings of another agent.

use std::process::ExitCode;

use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser as _};
use ona_cli::bootstrap::directory;
use ona_cli::output::{complain, print};
use ona_cli::{CliError, Options, env};
use ona_hooks::own_gate::is_ona;
use ona_hosts::install::{Agent, Installation};
use ona_hosts::project::Change;
use ona_intents::setup::root_for;
use ona_trace::patch::patch;
use serde_json::{Value, json};

#[derive(Debug, Args)]
pub struct Init {
    /// Also put this agent under ona's gate
    #[arg(long, value_name = "AGENT", value_parser = agents().try_map(|name| name.parse::<Agent>()))]
    tool: Option<Agent>,
    /// Print the changes as a unified diff, and change nothing
    #[arg(long)]
    pub dry_run: bool,
    /// Remove what ona added, and nothing else
    #[arg(long)]
    uninstall: bool,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// The agents as the command line names them.
fn agents() -> PossibleValuesParser {
    PossibleValuesParser::new(
        Agent::ALL.map(|agent| PossibleValue::new(agent.name()).help(agent.title())),
    )
}

pub fn run(cli: &Options, init: &Init) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_deref())?;
    let root = root_for(&here);
    if env::home().is_some_and(|home| home.canonicalize().is_ok_and(|home| home == root)) {
        return Err(CliError::usage(format!("{} is your home directory", root.display()))
            .hint("ona init sets up one project: change to its directory, or pass it with --cwd"));
    }
    let mut plan = Installation::new(root);
    match (init.tool, init.uninstall) {
        (tool, false) => {
            plan.project()?;
            if let Some(tool) = tool {
                plan.install(tool, &program()?)?;
            }
        }
        (Some(tool), true) => plan.uninstall(tool)?,
        (None, true) => plan.leave_project()?,
    }
    if !init.dry_run {
        plan.apply()?;
    }
    let said = if init.json { as_json(&plan, init) } else { as_text(&plan, init.dry_run) };
    print(&said).map_err(|error| CliError::failed(format!("cannot print the result: {error}")))?;
    if !init.json {
        for note in &plan.notes {
            complain(&format!("note: {note}\n"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// How other programs' files name this one: `ona` if PATH leads to it, otherwise its absolute path.
fn program() -> Result<String, CliError> {
    let (own, is_on_path) = env::own_program()?;
    if is_on_path {
        return Ok("ona".to_owned());
    }
    let named = own.to_str().filter(|own| is_ona(own)).map(str::to_owned);
    named.ok_or_else(|| {
        CliError::usage(format!("this program is {}, but hosts start it as `ona`", own.display()))
            .hint("put it on PATH as `ona`")
    })
}

fn as_text(plan: &Installation, dry_run: bool) -> String {
    if dry_run {
        let diffs = plan.files.iter().map(diff);
        return diffs.collect();
    }
    if plan.files.is_empty() {
        return format!("nothing to change in {}\n", plan.root.display());
    }
    let line = |change: &Change| format!("{:<8} {}\n", action(change), change.path);
    plan.files.iter().map(line).collect()
}

fn as_json(plan: &Installation, init: &Init) -> String {
    let file = |change: &Change| {
        let mut file = json!({"path": change.path, "action": action(change)});
        if init.dry_run {
            file["diff"] = json!(diff(change));
        }
        file
    };
    let files: Vec<Value> = plan.files.iter().map(file).collect();
    let said = json!({
        "root": plan.root.to_string_lossy(), "tool": init.tool.map(Agent::name),
        "dry_run": init.dry_run, "uninstall": init.uninstall,
        "files": files, "notes": plan.notes,
    });
    format!("{said}\n")
}

fn action(change: &Change) -> &'static str {
    match (&change.before, &change.after) {
        (None, Some(_)) => "created",
        (Some(_), None) => "removed",
        (before, after) if before == after => "kept",
        _ => "changed",
    }
}

/// A change as `git diff` would show it; nothing if there is none.
fn diff(change: &Change) -> String {
    let Change { path, before, after } = change;
    if before == after {
        return String::new();
    }
    let name = |text: &Option<String>, side: &str| match text {
        Some(_) => format!("{side}/{path}"),
        None => "/dev/null".to_owned(),
    };
    let (old, new) = (before.as_deref().unwrap_or_default(), after.as_deref().unwrap_or_default());
    patch(old, new, (&name(before, "a"), &name(after, "b")))
}
