//! `ona init`: sets up a project, and adds ona's gate to the settings of another agent.
//!
//! All changes are computed before the first one is written: either all files are written, or none.

mod hosts;
mod json;
mod modes;
mod section;
mod toml_file;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::Args;
use ona_files::ReadError;
use ona_files::jsonc::{self, EditError};
use ona_hooks::own_gate::{command_for, is_ona};
use ona_hosts::project::{self, Change, ChangeError};
use ona_intents::file::DIRECTORY;
use ona_intents::setup::root_for;
use serde_json::{Value, json};
use similar::TextDiff;

pub use hosts::Tool;
use hosts::{INSTRUCTIONS, Servers};
use section::{Broken, Comment, Section};

use crate::args::Cli;
use crate::env;
use crate::error::CliError;
use crate::eval::directory;
use crate::output::{complain, print};

#[derive(Debug, Args)]
pub struct Init {
    /// Also put this agent under ona's gate
    #[arg(long, value_name = "AGENT")]
    tool: Option<Tool>,
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

/// Why a file cannot be changed.
#[derive(Debug)]
pub struct Refused {
    /// Line and column, counted from 1, where that is known.
    place: Option<(usize, usize)>,
    why: String,
}

impl From<EditError> for Refused {
    fn from(error: EditError) -> Self {
        Self { place: error.place(), why: error.without_place() }
    }
}

impl Refused {
    /// A server with ona's name that is not ona's: hooks would take its tools for ona's own, and let them pass.
    fn name_is_taken() -> Self {
        let why =
            "another server is named `ona`, and its tools would pass for ona's own: rename it";
        Self { place: None, why: why.to_owned() }
    }
}

impl From<Broken> for Refused {
    fn from(broken: Broken) -> Self {
        Self { place: Some((broken.line, 1)), why: broken.why.to_owned() }
    }
}

impl From<ChangeError> for CliError {
    fn from(error: ChangeError) -> Self {
        let what = error.to_string();
        let error = match error {
            ChangeError::Write { .. }
            | ChangeError::Read { cause: ReadError::Io(_), .. }
            | ChangeError::Moved { .. } => Self::failed(what),
            _ => Self::usage(what),
        };
        error.hint("nothing was changed")
    }
}

pub fn run(cli: &Cli, init: &Init) -> Result<ExitCode, CliError> {
    let here = directory(cli.cwd.as_ref())?;
    let root = root_for(&here);
    if env::home().is_some_and(|home| home.canonicalize().is_ok_and(|home| home == root)) {
        return Err(CliError::usage(format!("{} is your home directory", root.display()))
            .hint("ona init sets up one project: change to its directory, or pass it with --cwd"));
    }
    let mut plan = Plan { root, files: Vec::new(), notes: Vec::new() };
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
        let changes = plan.files.iter().filter(|change| change.before != change.after);
        project::apply(&plan.root, &changes.cloned().collect::<Vec<_>>())?;
    }
    let said = if init.json { plan.as_json(init) } else { plan.as_text(init.dry_run) };
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

/// The planned change of each file.
struct Plan {
    root: PathBuf,
    files: Vec<Change>,
    notes: Vec<String>,
}

impl Plan {
    /// Plans the change of one file, on top of what is planned for it already.
    fn file(
        &mut self,
        path: &str,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, Refused>,
    ) -> Result<(), CliError> {
        let planned = self.files.iter().position(|file| file.path == path);
        let before = match planned {
            Some(at) => self.files[at].after.clone(),
            None => project::read(&self.root, path)?,
        };
        let after = change(before.as_deref()).map_err(|Refused { place, why }| {
            let place =
                place.map_or_else(String::new, |(line, column)| format!("{line}:{column}:"));
            CliError::usage(format!("{path}:{place} {why}"))
                .hint("nothing was changed; fix the file, then run it again")
        })?;
        match planned {
            Some(at) => self.files[at].after = after,
            None => self.files.push(Change { path: path.to_owned(), before, after }),
        }
        Ok(())
    }

    fn project(&mut self) -> Result<(), CliError> {
        self.files.extend(project::missing(&self.root)?);
        Ok(())
    }

    /// Removes the project's files, if nobody has worked with them.
    fn leave_project(&mut self) -> Result<(), CliError> {
        let untouched = project::untouched(&self.root)?;
        let is_ours = |name: &str| {
            let path = format!("{DIRECTORY}/{name}");
            untouched.iter().any(|file| file.path == path) || name.ends_with(".lock")
        };
        let inside = names(&self.root.join(DIRECTORY));
        if let Some(name) = inside.iter().find(|name| !is_ours(name)) {
            return Err(CliError::failed(format!(
                "{DIRECTORY}/{name} was changed since ona created it: the directory holds work"
            ))
            .hint("nothing was changed; to remove it anyway, use git")
            .hint("with --tool, only the changes in that agent's files are removed"));
        }
        self.files.extend(untouched);
        for lock in inside.iter().filter(|name| name.ends_with(".lock")) {
            self.file(&format!("{DIRECTORY}/{lock}"), |_| Ok(None))?;
        }
        Ok(())
    }

    fn install(&mut self, tool: Tool, program: &str) -> Result<(), CliError> {
        if let Some(hooks) = tool.hooks() {
            let command = command_for(program, tool.name());
            self.file(hooks.file, |text| {
                Ok(Some(json::put_hooks(text.unwrap_or_default(), hooks.events, &command)?))
            })?;
            self.look_for_switch(hooks.file);
        }
        match tool.servers() {
            Servers::Json(file) => self
                .file(file, |text| json::put_server(text.unwrap_or_default(), program).map(Some))?,
            Servers::Toml(file) => {
                self.file(file, |text| toml_file::put(text, program).map(Some))?;
            }
        }
        if let Some(file) = tool.modes() {
            self.file(file, |text| modes::put(text).map(Some))?;
        }
        if let Some(file) = tool.instructions() {
            self.file(file, |text| Ok(Some(instructions(tool).put(text)?)))?;
        }
        if program != "ona" {
            self.notes.push(format!(
                "the `ona` on PATH is another program, so the files name {program}: everybody who shares them needs it there"
            ));
        }
        self.notes.push(tool.note().to_owned());
        Ok(())
    }

    /// Hooks that are switched off gate nothing, however well they are written.
    fn look_for_switch(&mut self, file: &str) {
        let text = self.files.iter().find(|change| change.path == file);
        let settings = text.and_then(|change| jsonc::value(change.after.as_deref()?).ok());
        if settings.is_some_and(|settings| settings["disableAllHooks"] == Value::Bool(true)) {
            self.notes.push(format!(
                "{file} sets disableAllHooks: nothing is gated until that is removed"
            ));
        }
    }

    fn uninstall(&mut self, tool: Tool) -> Result<(), CliError> {
        let rest = |left: String| Some(left).filter(|left| left.trim() != "{}");
        if let Some(hooks) = tool.hooks() {
            self.file(hooks.file, |text| match text {
                Some(text) => Ok(unless_same(text, json::take_hooks(text)?, rest)),
                None => Ok(None),
            })?;
        }
        match tool.servers() {
            Servers::Json(file) => self.file(file, |text| match text {
                Some(text) => Ok(unless_same(text, json::take_server(text)?, rest)),
                None => Ok(None),
            })?,
            Servers::Toml(file) => self.file(file, |text| match text {
                Some(text) => toml_file::take(text),
                None => Ok(None),
            })?,
        }
        if let Some(file) = tool.modes() {
            self.file(file, |text| match text {
                Some(text) => modes::take(text),
                None => Ok(None),
            })?;
        }
        if let Some(file) = tool.instructions() {
            self.file(file, |text| match text {
                Some(text) => Ok(instructions(tool).take(text)?),
                None => Ok(None),
            })?;
        }
        self.files.retain(|change| change.before.is_some());
        Ok(())
    }

    fn as_text(&self, dry_run: bool) -> String {
        if dry_run {
            let diffs = self.files.iter().map(diff);
            return diffs.collect();
        }
        if self.files.is_empty() {
            return format!("kept     {} as it is\n", self.root.display());
        }
        let line = |change: &Change| format!("{:<8} {}\n", action(change), change.path);
        self.files.iter().map(line).collect()
    }

    fn as_json(&self, init: &Init) -> String {
        let file = |change: &Change| {
            let mut file = json!({"path": change.path, "action": action(change)});
            if init.dry_run {
                file["diff"] = json!(diff(change));
            }
            file
        };
        let files: Vec<Value> = self.files.iter().map(file).collect();
        let said = json!({
            "root": self.root.to_string_lossy(), "tool": init.tool.map(Tool::name),
            "dry_run": init.dry_run, "uninstall": init.uninstall,
            "files": files, "notes": self.notes,
        });
        format!("{said}\n")
    }
}

/// What is left of a file that something was taken out of; one that nothing was taken out of stays, even if empty.
fn unless_same(
    before: &str,
    left: String,
    rest: impl FnOnce(String) -> Option<String>,
) -> Option<String> {
    if left == before { Some(left) } else { rest(left) }
}

fn instructions(tool: Tool) -> Section<'static> {
    Section { comment: Comment::Markdown, name: tool.name(), body: INSTRUCTIONS }
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
    let diff = TextDiff::from_lines(old, new);
    diff.unified_diff().header(&name(before, "a"), &name(after, "b")).to_string()
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
