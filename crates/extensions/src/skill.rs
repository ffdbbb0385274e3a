//! Skills and custom commands: texts that are put before the model when they are called for.

use std::path::{Path, PathBuf};

use globset::GlobSet;
use ona_config::instructions::{front, path_globs};
use ona_config::trust::Origin;
use ona_hooks::Shell;
use ona_policy::{Anchors, Rule, Scope, Source};
use ona_types::{Behavior, Effort};
use serde_json::Value;

use crate::agent::hooks;
use crate::keys::{Bad, Keys};
use crate::names::{MAX_NAME, is_name};
use crate::notes::Notes;

/// A skill, or a custom command.
#[derive(Clone, Debug)]
pub struct SkillDefinition {
    /// What stands behind the slash; of a plugin's, `plugin:name`.
    pub name: String,
    /// The directories a command's file lies in below `commands`, which tell two of one name apart.
    pub namespace: Vec<String>,
    /// Which of the two it is.
    pub kind: SkillKind,
    /// What it is for.
    pub description: String,
    /// What may follow its name.
    pub argument_hint: Option<String>,
    /// Whether the model may call it by itself.
    pub model_invocable: bool,
    /// Whether it is offered to the user.
    pub user_invocable: bool,
    /// Rules for what goes ahead unasked while it is active.
    pub allowed_tools: Vec<String>,
    /// The model while it is active.
    pub model: Option<String>,
    /// How hard that thinks.
    pub effort: Option<Effort>,
    /// Whether it runs in an agent of its own.
    pub forks: bool,
    /// Which agent that is.
    pub agent: Option<String>,
    /// Hooks that hold while it is active, as settings write them.
    pub hooks: Option<Value>,
    /// The only files near which the model hears of it.
    pub paths: Option<SkillPaths>,
    /// What runs the commands in it.
    pub shell: Shell,
    /// Its text.
    pub body: String,
    /// Whose it is.
    pub origin: Origin,
    /// Its file.
    pub path: PathBuf,
    /// Where its plugin is, and where that keeps data.
    pub plugin: Option<PluginPlace>,
    /// Keys that do not act because nobody has agreed to the repository as it is.
    pub held_back: Vec<&'static str>,
}

/// What a text is that can be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SkillKind {
    /// `skills/NAME/SKILL.md`.
    Skill,
    /// `commands/NAME.md`: the same, and `@file` stands for what is in a file.
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

/// Globs of files, from a directory on.
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

/// What a file is, besides what stands in it.
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

    /// The name that no other command has: `frontend:component`.
    pub fn full_name(&self) -> String {
        match self.namespace.as_slice() {
            [] => self.name.clone(),
            dirs => format!("{}:{}", dirs.join(":"), self.name),
        }
    }

    /// How it is shown: whose it is, and where.
    pub fn label(&self) -> String {
        match self.namespace.as_slice() {
            [] => self.origin.to_string(),
            dirs => format!("{}:{}", self.origin, dirs.join(":")),
        }
    }
}

/// The name of a skill: the one it gives itself, if that can be one.
pub(crate) fn name(found: &Found<'_>, keys: &Keys, notes: &mut Notes<'_>) -> Result<String, Bad> {
    // A command is called as its file is.
    if found.kind == SkillKind::Skill {
        let own = notes.or_default(keys.text("name"));
        match own {
            Some(own) if is_name(&own) => return Ok(own),
            Some(own) => notes.say(
                keys.line("name"),
                format!("`name`: `{own}` cannot be a name; it is called `{}`", found.name),
                &format!("use up to {MAX_NAME} small letters, digits and hyphens"),
            ),
            None => {}
        }
    }
    match is_callable(&found.name) {
        true => Ok(found.name.clone()),
        false => Err(Bad {
            line: None,
            why: format!("`{}` cannot be called: it holds blanks or slashes", found.name),
        }),
    }
}

/// Whether something can stand behind a slash. Files are named more freely than what is written in them.
fn is_callable(name: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || matches!(c, '-' | '_' | '.');
    !name.is_empty() && name.chars().count() <= MAX_NAME && name.chars().all(fits)
}

/// Reads a skill of this name. What is wrong with a key is noted, and the skill goes without it, unless that would
/// let it do more than it was meant to.
pub(crate) fn read(
    name: String,
    found: Found<'_>,
    keys: &Keys,
    body: &str,
    notes: &mut Notes<'_>,
) -> Result<SkillDefinition, Bad> {
    let hooks = hooks(keys)?;
    let shells = [("bash", Shell::Bash), ("sh", Shell::Sh), ("powershell", Shell::PowerShell)];
    let shell = keys.one_of("shell", &shells)?.unwrap_or_default();
    let description = notes.or_default(keys.text("description"));
    // Whoever cannot write `false` may have meant `true`.
    let mut model_invocable = match keys.flag("disable-model-invocation") {
        Ok(disabled) => !disabled.unwrap_or_default(),
        Err(bad) => {
            notes.say(bad.line, bad.why, "until it is mended only the user can call it");
            false
        }
    };
    let paths = paths(keys, found.base).unwrap_or_else(|bad| {
        notes.say(bad.line, bad.why, "until it is mended only the user can call it");
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
fn hint(keys: &Keys) -> Result<Option<String>, Bad> {
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

fn paths(keys: &Keys, base: &Path) -> Result<Option<SkillPaths>, Bad> {
    let globs = match keys.value("paths") {
        Some(Value::String(text)) => Some(front::commas(text)),
        _ => keys.words("paths")?,
    };
    let Some(globs) = globs.filter(|globs| !globs.is_empty()) else { return Ok(None) };
    let set =
        path_globs(&globs).map_err(|why| keys.bad("paths", &format!("cannot be used: {why}")))?;
    Ok(Some(SkillPaths { globs, base: base.to_owned(), set }))
}

/// The rules that can be read; others allow nothing.
fn allowed(keys: &Keys, notes: &mut Notes<'_>) -> Vec<String> {
    let anywhere = Anchors { source: "/".into(), cwd: "/".into(), home: "/".into() };
    let mut rules = Vec::new();
    for rule in notes.or_default(keys.words("allowed-tools")).unwrap_or_default() {
        match Rule::parse(&rule, Behavior::Allow, Source::of(Scope::Session), &anywhere) {
            Ok(_) => rules.push(rule),
            Err(why) => notes.say(
                keys.line("allowed-tools"),
                format!("`allowed-tools`: `{rule}` allows nothing: {why}"),
                "write it as a permission rule, such as Bash(git status *)",
            ),
        }
    }
    rules
}

/// The first words of a text, without marks of a heading.
fn first_paragraph(body: &str) -> String {
    let lines = body.lines().map(|line| line.trim().trim_start_matches('#').trim_start());
    let lines = lines.skip_while(|line| line.is_empty()).take_while(|line| !line.is_empty());
    lines.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
