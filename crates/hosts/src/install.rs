//! What `ona init` writes: the files of a project, and ona's gate in the settings of another agent.
//!
//! All changes are planned before the first one is written: either all files are written, or none.

mod agents;
mod json;
mod modes;
mod section;
mod toml_file;

use std::path::{Path, PathBuf};

use ona_files::jsonc::{self, EditError};
use ona_hooks::own_gate::command_for;
use ona_intents::file::DIRECTORY;
use serde_json::Value;

use crate::project::{self, Change, ChangeError};
pub use agents::{Agent, UnknownAgent};
use agents::{INSTRUCTIONS, Servers};
use section::{Broken, Comment, Section};

/// Why nothing is changed.
#[derive(Debug, thiserror::Error)]
pub enum InstallError {
    /// A file cannot be read or written.
    #[error(transparent)]
    Change(#[from] ChangeError),
    /// A file cannot be changed as it is.
    #[error("{path}:{} {why}", place.map_or_else(String::new, |(line, column)| format!("{line}:{column}:")))]
    File {
        /// The file, from the root of the project.
        path: String,
        /// Line and column, counted from 1, where that is known.
        place: Option<(usize, usize)>,
        /// What is wrong with it.
        why: String,
    },
    /// Somebody has worked with the project's files.
    #[error("{path} was changed since ona created it: the directory holds work")]
    HoldsWork {
        /// The file, from the root of the project.
        path: String,
    },
}

/// Why a file cannot be changed.
#[derive(Debug)]
struct Refused {
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

/// The planned change of each file.
#[derive(Debug)]
pub struct Installation {
    /// The root of the project.
    pub root: PathBuf,
    /// The files that are looked at, with what they become.
    pub files: Vec<Change>,
    /// What the operator has to know.
    pub notes: Vec<String>,
}

impl Installation {
    /// Nothing planned yet.
    pub fn new(root: PathBuf) -> Self {
        Self { root, files: Vec::new(), notes: Vec::new() }
    }

    /// Writes all changes, or none.
    pub fn apply(&self) -> Result<(), InstallError> {
        let changes = self.files.iter().filter(|change| change.before != change.after);
        Ok(project::apply(&self.root, &changes.cloned().collect::<Vec<_>>())?)
    }

    /// Plans the change of one file, on top of what is planned for it already.
    fn file(
        &mut self,
        path: &str,
        change: impl FnOnce(Option<&str>) -> Result<Option<String>, Refused>,
    ) -> Result<(), InstallError> {
        let planned = self.files.iter().position(|file| file.path == path);
        let before = match planned {
            Some(at) => self.files[at].after.clone(),
            None => project::read(&self.root, path)?,
        };
        let after = change(before.as_deref()).map_err(|Refused { place, why }| {
            InstallError::File { path: path.to_owned(), place, why }
        })?;
        match planned {
            Some(at) => self.files[at].after = after,
            None => self.files.push(Change { path: path.to_owned(), before, after }),
        }
        Ok(())
    }

    /// Plans the files of a project.
    pub fn project(&mut self) -> Result<(), InstallError> {
        self.files.extend(project::missing(&self.root)?);
        Ok(())
    }

    /// Removes the project's files, if nobody has worked with them.
    pub fn leave_project(&mut self) -> Result<(), InstallError> {
        let untouched = project::untouched(&self.root)?;
        let is_ours = |name: &str| {
            let path = format!("{DIRECTORY}/{name}");
            untouched.iter().any(|file| file.path == path) || name.ends_with(".lock")
        };
        let inside = names(&self.root.join(DIRECTORY));
        if let Some(name) = inside.iter().find(|name| !is_ours(name)) {
            return Err(InstallError::HoldsWork { path: format!("{DIRECTORY}/{name}") });
        }
        self.files.extend(untouched);
        for lock in inside.iter().filter(|name| name.ends_with(".lock")) {
            self.file(&format!("{DIRECTORY}/{lock}"), |_| Ok(None))?;
        }
        Ok(())
    }

    /// Plans what puts an agent under the gate.
    pub fn install(&mut self, agent: Agent, program: &str) -> Result<(), InstallError> {
        if let Some(hooks) = agent.hooks() {
            let command = command_for(program, agent.name());
            self.file(hooks.file, |text| {
                Ok(Some(json::put_hooks(text.unwrap_or_default(), hooks.events, &command)?))
            })?;
            self.look_for_switch(hooks.file);
        }
        match agent.servers() {
            Servers::Json(file) => self
                .file(file, |text| json::put_server(text.unwrap_or_default(), program).map(Some))?,
            Servers::Toml(file) => {
                self.file(file, |text| toml_file::put(text, program).map(Some))?;
            }
        }
        if let Some(file) = agent.modes() {
            self.file(file, |text| modes::put(text).map(Some))?;
        }
        if let Some(file) = agent.instructions() {
            self.file(file, |text| Ok(Some(instructions(agent).put(text)?)))?;
        }
        if program != "ona" {
            self.notes.push(format!(
                "the `ona` on PATH is another program, so the files name {program}: everybody who shares them needs it there"
            ));
        }
        self.notes.push(agent.note().to_owned());
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

    /// Plans to remove what [`Installation::install`] adds, and nothing else.
    pub fn uninstall(&mut self, agent: Agent) -> Result<(), InstallError> {
        let rest = |left: String| Some(left).filter(|left| left.trim() != "{}");
        if let Some(hooks) = agent.hooks() {
            self.file(hooks.file, |text| match text {
                Some(text) => Ok(unless_same(text, json::take_hooks(text)?, rest)),
                None => Ok(None),
            })?;
        }
        match agent.servers() {
            Servers::Json(file) => self.file(file, |text| match text {
                Some(text) => Ok(unless_same(text, json::take_server(text)?, rest)),
                None => Ok(None),
            })?,
            Servers::Toml(file) => self.file(file, |text| match text {
                Some(text) => toml_file::take(text),
                None => Ok(None),
            })?,
        }
        if let Some(file) = agent.modes() {
            self.file(file, |text| match text {
                Some(text) => modes::take(text),
                None => Ok(None),
            })?;
        }
        if let Some(file) = agent.instructions() {
            self.file(file, |text| match text {
                Some(text) => Ok(instructions(agent).take(text)?),
                None => Ok(None),
            })?;
        }
        self.files.retain(|change| change.before.is_some());
        Ok(())
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

fn instructions(agent: Agent) -> Section<'static> {
    Section { comment: Comment::Markdown, name: agent.name(), body: INSTRUCTIONS }
}

fn names(dir: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(dir).into_iter().flatten().flatten();
    let mut names: Vec<String> =
        entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.sort();
    names
}
