//! Skills and custom commands: texts that the model gets when they are called.

use std::path::{Path, PathBuf};

use globset::GlobSet;
use ona_config::instructions::{front, path_globs};
use ona_config::trust::Origin;
use ona_hooks::Shell;
use ona_policy::{Anchors, Rule, Scope, Source};
use ona_types::{Behavior, Effort};
use serde_json::Value;

use crate::agent::hooks;
use crate::keys::{KeyError, Keys};
use crate::names::{MAX_NAME, is_name};
use crate::notes::Notes;

/// A skill, or a custom command.
#[derive(Clone, Debug)]
pub struct SkillDefinition {
    /// The name after the slash; a plugin's skill is `plugin:name`.
    pub name: String,
    /// The directories of a command's file below `commands`, which distinguish commands of the same name.
    pub namespace: Vec<String>,
    /// Which of the two it is.
    pub kind: SkillKind,
    /// What it is for.
    pub description: String,
    /// The arguments it takes, for the user.
    pub argument_hint: Option<String>,
    /// Whether the model may call it by itself.
    pub model_invocable: bool,
    /// Whether it is offered to the user.
    pub user_invocable: bool,
    /// Rules for what is allowed while it is active.
    pub allowed_tools: Vec<String>,
    /// The model while it is active.
    pub model: Option<String>,
    /// The reasoning effort while it is active.
    pub effort: Option<Effort>,
    /// Whether it runs in its own agent.
    pub forks: bool,
    /// Which agent that is.
    pub agent: Option<String>,
    /// Hooks while it is active, as in settings.
    pub hooks: Option<Value>,
    /// The files it is for: the model is told about it once it sees one of them.
    pub paths: Option<SkillPaths>,
    /// The shell for its commands.
    pub shell: Shell,
    /// Its text.
    pub body: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its file.
    pub path: PathBuf,
    /// The directories of its plugin.
    pub plugin: Option<PluginPlace>,
    /// Keys without effect because the file is not trusted.
    pub held_back: Vec<&'static str>,
}

/// The two kinds of text that can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillKind {
    /// `skills/NAME/SKILL.md`.
    Skill,
    /// `commands/NAME.md`: the same, and `@file` stands for the contents of a file.
    Command,
}

/// Where a plugin is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PluginPlace {
    /// Its files.
    pub root: PathBuf,
    /// Where it may keep data.
    pub data: PathBuf,
}

/// Globs of files, relative to a directory.
#[derive(Clone, Debug)]
pub struct SkillPaths {
    /// As written.
    pub globs: Vec<String>,
    base: PathBuf,
    set: GlobSet,
}

impl SkillPaths {
    /// Whether a file is one of them.
    pub fn fits(&self, file: &Path) -> bool {
        file.strip_prefix(&self.base).is_ok_and(|below| self.set.is_match(below))
    }
}

/// What is known about a file besides its text.
pub(crate) struct Found<'a> {
    pub(crate) kind: SkillKind,
    /// The name of its directory or file.
    pub(crate) name: String,
    pub(crate) namespace: Vec<String>,
    pub(crate) origin: &'a Origin,
    /// What its globs are relative to.
    pub(crate) base: &'a Path,
    pub(crate) plugin: Option<PluginPlace>,
}

impl SkillDefinition {
    /// Its directory.
    pub fn dir(&self) -> &Path {
        self.path.parent().unwrap_or(&self.path)
    }

    /// The unique name: `frontend:component`.
    pub fn full_name(&self) -> String {
        match self.namespace.as_slice() {
            [] => self.name.clone(),
            dirs => format!("{}:{}", dirs.join(":"), self.name),
        }
    }

    /// How it is shown: its origin and its directories.
    pub fn label(&self) -> String {
        match self.namespace.as_slice() {
            [] => self.origin.to_string(),
            dirs => format!("{}:{}", self.origin, dirs.join(":")),
        }
    }
}

/// The name of a skill: the one in its file, if that is valid.
pub(crate) fn name(
    found: &Found<'_>,
    keys: &Keys,
    notes: &mut Notes<'_>,
) -> Result<String, KeyError> {
    // A command has the name of its file.
    if found.kind == SkillKind::Skill {
        let own = notes.or_default(keys.text("name"));
        match own {
            Some(own) if is_name(&own) => return Ok(own),
            Some(own) => notes.warn(
                keys.line("name"),
                format!("`name`: invalid name `{own}`; using `{}`", found.name),
                &format!("use up to {MAX_NAME} lowercase letters, digits and hyphens"),
            ),
            None => {}
        }
    }
    match is_callable(&found.name) {
        true => Ok(found.name.clone()),
        false => Err(KeyError {
            line: None,
            why: format!("`{}` cannot be called: its name contains spaces or slashes", found.name),
        }),
    }
}

/// Whether something can follow a slash. The rules for names of files are less strict.
fn is_callable(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().count() <= MAX_NAME && name.chars().all(fits)
}

/// Reads a skill of this name. An invalid key is reported and ignored, unless that would give the skill more rights than
/// meant.
pub(crate) fn read(
    name: String,
    found: Found<'_>,
    keys: &Keys,
    body: &str,
    notes: &mut Notes<'_>,
) -> Result<SkillDefinition, KeyError> {
    let hooks = hooks(keys)?;
    let shells = [("bash", Shell::Bash), ("sh", Shell::Sh), ("powershell", Shell::PowerShell)];
    let shell = keys.one_of("shell", &shells)?.unwrap_or_default();
    let description = notes.or_default(keys.text("description"));
    // An invalid value may have meant `true`.
    let mut model_invocable = match keys.flag("disable-model-invocation") {
        Ok(disabled) => !disabled.unwrap_or_default(),
        Err(bad) => {
            notes.warn(bad.line, bad.why, "only the user can call it until it is fixed");
            false
        }
    };
    let paths = paths(keys, found.base).unwrap_or_else(|bad| {
        notes.warn(bad.line, bad.why, "only the user can call it until it is fixed");
        model_invocable = false;
        None
    });
    let name = match found.origin {
        Origin::Plugin(id) => format!("{id}:{name}"),
        _ => name,
    };
    Ok(SkillDefinition {
        description: description.unwrap_or_else(|| first_paragraph(body)),
        argument_hint: notes.or_default(hint(keys)),
        model_invocable,
        user_invocable: notes.or_default(keys.flag("user-invocable")).unwrap_or(true),
        allowed_tools: allowed(keys, notes),
        model: notes.or_default(keys.text("model")).filter(|model| model != "inherit"),
        effort: notes.or_default(keys.one_of("effort", &Effort::ALL)),
        forks: notes.or_default(keys.one_of("context", &[("fork", true)])).unwrap_or_default(),
        agent: notes.or_default(keys.text("agent")),
        hooks,
        paths,
        shell,
        body: body.to_owned(),
        origin: found.origin.clone(),
        path: notes.path().unwrap_or_default(),
        plugin: found.plugin,
        held_back: Vec::new(),
        kind: found.kind,
        namespace: found.namespace,
        name,
    })
}

/// `[file] [line]` is often written without quotes, and then it is a list.
fn hint(keys: &Keys) -> Result<Option<String>, KeyError> {
    match keys.value("argument-hint") {
        Some(Value::Array(list)) => {
            let words = list.iter().map(|item| match item.as_str() {
                Some(text) => text.to_owned(),
                None => item.to_string(),
            });
            Ok(Some(format!("[{}]", words.collect::<Vec<_>>().join(", "))))
        }
        _ => keys.text("argument-hint"),
    }
}

fn paths(keys: &Keys, base: &Path) -> Result<Option<SkillPaths>, KeyError> {
    let globs = match keys.value("paths") {
        Some(Value::String(text)) => Some(front::commas(text)),
        _ => keys.words("paths")?,
    };
    let Some(globs) = globs.filter(|globs| !globs.is_empty()) else { return Ok(None) };
    let set =
        path_globs(&globs).map_err(|why| keys.bad("paths", &format!("cannot be used: {why}")))?;
    Ok(Some(SkillPaths { globs, base: base.to_owned(), set }))
}

/// The valid rules; others allow nothing.
fn allowed(keys: &Keys, notes: &mut Notes<'_>) -> Vec<String> {
    let anywhere = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    let mut rules = Vec::new();
    for rule in notes.or_default(keys.words("allowed-tools")).unwrap_or_default() {
        match Rule::parse(&rule, Behavior::Allow, Source::of(Scope::Session), &anywhere) {
            Ok(_) => rules.push(rule),
            Err(why) => notes.warn(
                keys.line("allowed-tools"),
                format!("`allowed-tools`: invalid rule `{rule}`: {why}"),
                "write it as a permission rule, such as Bash(git status *)",
            ),
        }
    }
    rules
}

/// The first paragraph of a text, without heading marks.
fn first_paragraph(body: &str) -> String {
    let lines = body.lines().map(|line| line.trim().trim_start_matches('#').trim_start());
    let lines = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
