//! Reads all extensions of a session, in order of precedence.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};

use ona_config::settings::Roots;
use ona_config::trust::{Agreement, ExtensionEffects, Origin, Trusted};
use ona_types::Diagnostic;
use serde_json::{Map, Value};

use super::{Extensions, Kind, Shadowed, Unusable};
use crate::agent::{self, AgentDefinition, builtin};
use crate::effects::{effects_of, project_dirs};
use crate::files::{Bound, Files, SKILL_FILE};
use crate::keys::{self, KeyError, Keys};
use crate::names::is_name;
use crate::notes::Notes;
use crate::output_style::{self, OutputStyle};
use crate::plugin::{AgreedParts, Plugin};
use crate::skill::{self, Found, SkillDefinition, SkillKind};

/// The name of `--agents` in warnings.
const GIVEN: &str = "--agents";

/// The directory of output styles.
const STYLES: &str = "output-styles";

/// Where extensions come from.
#[derive(Debug)]
pub struct Sources<'a> {
    /// Where files are.
    pub roots: &'a Roots,
    /// Further working directories, whose skills are read.
    pub additional_dirs: &'a [PathBuf],
    /// `--agents`: agents as JSON.
    pub agents: Option<&'a str>,
    /// The active plugins.
    pub plugins: Vec<Plugin>,
    /// Whether files are read at all (not with `--bare`).
    pub files: bool,
    /// Whether those of the project and of further directories are read.
    pub project: bool,
    /// Whether skills and commands are read.
    pub skills: bool,
    /// What is trusted in the repository.
    pub agreed: Agreement,
}

/// What is needed to find skills near files later.
#[derive(Debug, Default)]
pub(super) struct Nearby {
    /// Directories that were searched.
    seen: HashSet<PathBuf>,
    /// The checkout, and further working directories.
    tops: Vec<(PathBuf, Origin)>,
    agreed: Agreement,
}

impl Nearby {
    /// The directories with a `.claude` that were searched here and not there.
    pub(super) fn dirs_besides<'a>(&'a self, there: &Self) -> Vec<&'a Path> {
        let new = self.seen.iter().filter(|dir| !there.seen.contains(*dir));
        new.filter_map(|dir| dir.parent()).collect()
    }
}

/// The reason why `--agents` cannot be used at all; it is reported at once.
pub fn check_given(json: &str) -> Result<(), GivenAgentsError> {
    parse_given(json).map(drop)
}

/// Why `--agents` cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum GivenAgentsError {
    /// It is not JSON.
    #[error("invalid JSON: {0}")]
    Json(#[from] serde_json::Error),
    /// It is another JSON value.
    #[error("it must be an object: {{\"NAME\": {{\"description\": …, \"prompt\": …}}}}")]
    NotAnObject,
}

fn parse_given(json: &str) -> Result<Map<String, Value>, GivenAgentsError> {
    match serde_json::from_str(json)? {
        Value::Object(agents) => Ok(agents),
        _ => Err(GivenAgentsError::NotAnObject),
    }
}

pub(super) fn all(sources: Sources<'_>) -> Extensions {
    let Sources { roots, additional_dirs, agents, plugins, files, project, skills, agreed } =
        sources;
    let additional_dirs = if project { additional_dirs } else { &[] };
    let mut loader = Loader {
        files: Files::default(),
        agreed: &agreed,
        plugins: plugins.iter().map(|one| (one.id.clone(), one.agreed.clone())).collect(),
        out: Extensions::default(),
        taken: HashMap::new(),
    };
    let checkout = roots.checkout();
    let within = Bound::Within(checkout.clone());
    let managed: Vec<PathBuf> = match files {
        true => roots.managed_dirs.iter().map(|dir| dir.join(".claude")).collect(),
        false => Vec::new(),
    };
    // The nearest directory wins.
    let project_files = files && project;
    let project: Vec<PathBuf> = match project_files {
        true => project_dirs(roots).into_iter().rev().collect(),
        false => Vec::new(),
    };
    let user: Vec<PathBuf> = if files { vec![roots.claude_dir.clone()] } else { Vec::new() };
    let anywhere = Bound::Anywhere;

    for dir in &managed {
        loader.agents(&dir.join("agents"), &Origin::Managed, &anywhere, None);
    }
    loader.given(agents);
    for dir in &project {
        loader.agents(&dir.join("agents"), &Origin::Project, &within, None);
    }
    for dir in &user {
        loader.agents(&dir.join("agents"), &Origin::User, &anywhere, None);
    }
    for plugin in &plugins {
        for place in &plugin.agents {
            let origin = Origin::Plugin(plugin.id.clone());
            loader.agents(place, &origin, &plugin.bound(), Some(plugin));
        }
    }
    for agent in builtin::agents() {
        loader.add_agent(agent);
    }

    for dir in &managed {
        loader.styles(&dir.join(STYLES), &Origin::Managed, &anywhere, None);
    }
    for dir in &project {
        loader.styles(&dir.join(STYLES), &Origin::Project, &within, None);
    }
    for dir in &user {
        loader.styles(&dir.join(STYLES), &Origin::User, &anywhere, None);
    }
    for plugin in &plugins {
        for place in &plugin.output_styles {
            let origin = Origin::Plugin(plugin.id.clone());
            loader.styles(place, &origin, &plugin.bound(), Some(plugin));
        }
    }
    for style in output_style::builtin() {
        loader.add_style(style);
    }

    if !skills {
        return loader.done(plugins);
    }
    let root = &checkout;
    let mut levels: Vec<(&Path, Origin, Bound, &Path)> = Vec::new();
    levels.extend(managed.iter().map(|dir| (&**dir, Origin::Managed, Bound::Anywhere, &**root)));
    levels.extend(user.iter().map(|dir| (&**dir, Origin::User, Bound::Anywhere, &**root)));
    levels.extend(
        project
            .iter()
            .map(|dir| (&**dir, Origin::Project, within.clone(), dir.parent().unwrap_or(dir))),
    );
    let additional: Vec<(PathBuf, &PathBuf)> = match files {
        true => additional_dirs.iter().map(|dir| (dir.join(".claude"), dir)).collect(),
        false => Vec::new(),
    };
    let known = |dir: &Path| levels.iter().any(|(known, ..)| *known == dir);
    let additional: Vec<_> = additional.iter().filter(|(dir, _)| !known(dir)).collect();
    levels.extend(additional.iter().map(|(dir, base)| {
        (&**dir, Origin::Additional, Bound::Within((*base).clone()), base.as_path())
    }));
    for (dir, origin, bound, base) in &levels {
        loader.skills(&dir.join("skills"), origin, bound, base, None);
    }
    for plugin in &plugins {
        loader.plugins_skills(plugin, root);
    }
    // A command loses to any skill of its name.
    for (dir, origin, bound, base) in
        levels.iter().filter(|(_, origin, ..)| *origin != Origin::Additional)
    {
        loader.commands(&dir.join("commands"), origin, bound, base, None);
    }
    for plugin in &plugins {
        for place in &plugin.commands {
            let origin = Origin::Plugin(plugin.id.clone());
            loader.commands(place, &origin, &plugin.bound(), root, Some(plugin));
        }
    }

    let mut out = loader.done(plugins);
    let mut tops = vec![(checkout.clone(), Origin::Project)];
    tops.extend(additional_dirs.iter().map(|dir| (dir.clone(), Origin::Additional)));
    let mut seen: HashSet<PathBuf> = levels.iter().map(|(dir, ..)| (*dir).to_owned()).collect();
    seen.insert(roots.claude_dir.clone());
    if !project_files {
        tops.clear();
    }
    out.nearby = Nearby { seen, tops, agreed };
    let kinds = ["skills", "commands"];
    out.watch(levels.iter().flat_map(|(dir, ..)| kinds.map(|kind| dir.join(kind))));
    out
}

/// Reads the skills of directories around a file that were not searched yet, the nearest first.
pub(super) fn nearby(extensions: &mut Extensions, file: &Path) {
    let top = extensions.nearby.tops.iter().find(|(top, _)| file.starts_with(top)).cloned();
    let Some((top, origin)) = top else { return };
    let dirs: Vec<PathBuf> = file
        .ancestors()
        .skip(1)
        .take_while(|dir| dir.starts_with(&top))
        .map(Path::to_owned)
        .collect();
    let new: Vec<PathBuf> =
        dirs.into_iter().filter(|dir| extensions.nearby.seen.insert(dir.join(".claude"))).collect();
    if new.is_empty() {
        return;
    }
    let agreed = std::mem::take(&mut extensions.nearby.agreed);
    let mut out = std::mem::take(extensions);
    let taken =
        out.skills.iter().map(|skill| ((Kind::Skill, skill.name.clone()), skill.origin.clone()));
    let mut loader = Loader {
        taken: taken.collect(),
        files: std::mem::take(&mut out.files),
        agreed: &agreed,
        plugins: HashMap::new(),
        out,
    };
    let bound = Bound::Within(top);
    for dir in &new {
        loader.skills(&dir.join(".claude/skills"), &origin, &bound, dir, None);
    }
    let Loader { files, mut out, .. } = loader;
    out.files = files;
    out.warnings.append(&mut out.files.warnings);
    out.nearby.agreed = agreed;
    *extensions = out;
}

struct Loader<'a> {
    files: Files,
    agreed: &'a Agreement,
    /// What is trusted in each plugin.
    plugins: HashMap<String, AgreedParts>,
    out: Extensions,
    /// The names that are taken, and by whom.
    taken: HashMap<(Kind, String), Origin>,
}

impl Loader<'_> {
    /// What was found, with these plugins.
    fn done(self, plugins: Vec<Plugin>) -> Extensions {
        let Self { files, mut out, .. } = self;
        out.files = files;
        out.warnings.append(&mut out.files.warnings);
        out.plugins = plugins;
        out
    }

    fn agents(&mut self, place: &Path, origin: &Origin, bound: &Bound, plugin: Option<&Plugin>) {
        for file in self.files.markdown_at(place, bound) {
            let Some(text) = self.files.read(&file, bound) else { continue };
            let mut notes = Notes::about(&file);
            let mut name = None;
            let mut read = || -> Result<AgentDefinition, KeyError> {
                let document = keys::read(&text)?;
                let keys = document.keys.ok_or_else(|| KeyError {
                    line: Some(1),
                    why: "an agent must start with front matter: `---`, `name: …`, `description: …`, `---`"
                        .to_owned(),
                })?;
                let own = name.insert(agent::name(&keys)?).clone();
                let prompt =
                    plugin.map_or_else(|| document.body.to_owned(), |p| p.filled(document.body));
                let mut agent = agent::read(own, &keys, &prompt, origin, &mut notes)?;
                let brings = effects_of(&file, &keys, document.body);
                agent.hold_back(&brings, self.agreed.of(origin, &brings));
                Ok(agent)
            };
            let read = read();
            let name = name.map(|name| match origin {
                Origin::Plugin(id) => format!("{id}:{name}"),
                _ => name,
            });
            match read {
                Ok(agent) => {
                    self.out.warnings.append(&mut notes.found);
                    self.add_agent(agent);
                }
                Err(bad) => self.unusable(Kind::Agent, name, origin, &file, bad),
            }
        }
    }

    fn styles(&mut self, place: &Path, origin: &Origin, bound: &Bound, plugin: Option<&Plugin>) {
        for file in self.files.markdown_at(place, bound) {
            let Some(text) = self.files.read(&file, bound) else { continue };
            let mut notes = Notes::about(&file);
            let stem = file.file_stem().unwrap_or_default().to_string_lossy();
            let id = plugin.map(|plugin| plugin.id.as_str());
            let read = keys::read(&text).and_then(|document| {
                let keys = document.keys.unwrap_or_default();
                output_style::read((&stem, id), &keys, document.body, origin, &mut notes)
            });
            match read {
                Ok(style) => {
                    self.out.warnings.append(&mut notes.found);
                    self.add_style(style);
                }
                Err(bad) => self.unusable(Kind::Style, None, origin, &file, bad),
            }
        }
    }

    fn add_style(&mut self, style: OutputStyle) {
        // Names are compared without regard to case.
        let name = style.name.to_lowercase();
        if self.take(Kind::Style, &name, &style.origin, style.path.as_deref()) {
            self.out.styles.push(style);
        }
    }

    fn given(&mut self, json: Option<&str>) {
        let given = Path::new(GIVEN);
        let agents = match json.map(parse_given) {
            None => return,
            Some(Ok(agents)) => agents,
            Some(Err(why)) => {
                let remedy = "give an object of agents";
                return self
                    .out
                    .warnings
                    .push(Diagnostic::new(given, why.to_string()).hint(remedy));
            }
        };
        for (name, agent) in agents {
            let given = PathBuf::from(format!("{GIVEN}: {}", ona_types::shown(&name)));
            let mut notes = Notes::without_file(&given);
            let mut read = || -> Result<AgentDefinition, KeyError> {
                let wrong = |why: &str| KeyError { line: None, why: why.to_owned() };
                if !is_name(&name) && !builtin::NAMES.contains(&name.as_str()) {
                    return Err(wrong("invalid name: use lowercase letters, digits and hyphens"));
                }
                let json = agent.as_object().ok_or_else(|| wrong("it must be an object"))?;
                let keys = Keys::given(json);
                let prompt = keys.text("prompt")?.ok_or_else(|| wrong("`prompt` is missing"))?;
                agent::read(name.clone(), &keys, &prompt, &Origin::Given, &mut notes)
            };
            match read() {
                Ok(agent) => {
                    self.out.warnings.append(&mut notes.found);
                    self.add_agent(agent);
                }
                Err(bad) => {
                    self.unusable(Kind::Agent, Some(name), &Origin::Given, &given, bad);
                }
            }
        }
    }

    fn plugins_skills(&mut self, plugin: &Plugin, root: &Path) {
        let origin = Origin::Plugin(plugin.id.clone());
        for place in &plugin.skills {
            for file in self.files.skills(place, &plugin.bound()) {
                self.skill(&file, &origin, &plugin.bound(), root, Some(plugin));
            }
        }
    }

    fn skills(
        &mut self,
        dir: &Path,
        origin: &Origin,
        bound: &Bound,
        base: &Path,
        plugin: Option<&Plugin>,
    ) {
        for file in self.files.in_each(dir, SKILL_FILE, bound) {
            self.skill(&file, origin, bound, base, plugin);
        }
    }

    fn skill(
        &mut self,
        file: &Path,
        origin: &Origin,
        bound: &Bound,
        base: &Path,
        plugin: Option<&Plugin>,
    ) {
        let dir = file.parent().and_then(Path::file_name).unwrap_or_default();
        let found = Found {
            kind: SkillKind::Skill,
            name: dir.to_string_lossy().into_owned(),
            namespace: Vec::new(),
            origin,
            base,
            plugin: plugin.map(Plugin::place),
        };
        self.read_skill(file, found, bound);
    }

    fn commands(
        &mut self,
        dir: &Path,
        origin: &Origin,
        bound: &Bound,
        base: &Path,
        plugin: Option<&Plugin>,
    ) {
        for file in self.files.markdown_at(dir, bound) {
            let text = |part: &std::ffi::OsStr| part.to_string_lossy().into_owned();
            let below = file.strip_prefix(dir).ok().and_then(Path::parent);
            let namespace = below.into_iter().flat_map(Path::iter).map(text).collect();
            let found = Found {
                kind: SkillKind::Command,
                name: file.file_stem().map(text).unwrap_or_default(),
                namespace,
                origin,
                base,
                plugin: plugin.map(Plugin::place),
            };
            self.read_skill(&file, found, bound);
        }
    }

    fn read_skill(&mut self, file: &Path, found: Found<'_>, bound: &Bound) {
        let Some(text) = self.files.read(file, bound) else { return };
        let mut notes = Notes::about(file);
        let origin = found.origin;
        let mut name = None;
        let read = || -> Result<SkillDefinition, KeyError> {
            let document = keys::read(&text)?;
            let keys = document.keys.unwrap_or_default();
            let own = name.insert(skill::name(&found, &keys, &mut notes)?).clone();
            let mut skill = skill::read(own, found, &keys, document.body, &mut notes)?;
            let brings = effects_of(file, &keys, document.body);
            let trusted = match origin {
                Origin::Plugin(id) => {
                    self.plugins.get(id).map_or(Trusted::Nothing, |parts| parts.trusts(&brings))
                }
                _ => self.agreed.of(origin, &brings),
            };
            skill.hold_back(&brings, trusted);
            if let (Origin::Plugin(id), false) = (origin, skill.held_back.is_empty()) {
                let why = format!(
                    "{} changed since the plugin was added and is not active",
                    skill.held_back.join(", ")
                );
                let remedy = format!("review it, then run `ona plugin update {id}`");
                notes.found.push(Diagnostic::new(file, why).hint(remedy));
            }
            Ok(skill)
        };
        let read = read();
        match read {
            Ok(skill) => {
                self.out.warnings.append(&mut notes.found);
                self.add_skill(skill);
            }
            Err(bad) => {
                let name = name.map(|name| match origin {
                    Origin::Plugin(id) => format!("{id}:{name}"),
                    _ => name,
                });
                self.unusable(Kind::Skill, name, origin, file, bad);
            }
        }
    }

    /// Takes a name; `false` if it was taken already.
    fn take(&mut self, kind: Kind, name: &str, origin: &Origin, path: Option<&Path>) -> bool {
        match self.taken.get(&(kind, name.to_owned())) {
            Some(by) => {
                self.out.shadowed.push(Shadowed {
                    kind,
                    name: name.to_owned(),
                    origin: origin.clone(),
                    path: path.map(Path::to_owned),
                    by: by.clone(),
                });
                false
            }
            None => {
                self.taken.insert((kind, name.to_owned()), origin.clone());
                true
            }
        }
    }

    fn add_agent(&mut self, agent: AgentDefinition) {
        if self.take(Kind::Agent, &agent.name, &agent.origin, agent.path.as_deref()) {
            self.out.agents.push(agent);
        }
    }

    fn add_skill(&mut self, skill: SkillDefinition) {
        let full = skill.full_name();
        let free = self.take(Kind::Skill, &skill.name, &skill.origin, Some(&skill.path));
        // A command in a directory can still be called by its full name.
        if free
            || full != skill.name && self.take(Kind::Skill, &full, &skill.origin, Some(&skill.path))
        {
            self.out.skills.push(skill);
        }
    }

    /// Reports a file that cannot be used. Its name stays taken: what it hides may have more rights than was meant.
    fn unusable(
        &mut self,
        kind: Kind,
        name: Option<String>,
        origin: &Origin,
        file: &Path,
        bad: KeyError,
    ) {
        let KeyError { line, why } = bad;
        if let Some(name) = name
            && self.take(kind, &name, origin, Some(file))
        {
            let why = why.clone();
            self.out.unusable.push(Unusable { kind, name, why });
        }
        let remedy = format!("this {} cannot be used until it is fixed", kind.word());
        self.out.warnings.push(Diagnostic::new(file, why).at_line(line).hint(remedy));
    }
}

impl AgentDefinition {
    /// Removes what is not trusted.
    fn hold_back(&mut self, brings: &ExtensionEffects, trusted: Trusted) {
        self.held_back = held(brings, trusted);
        for key in &self.held_back {
            match *key {
                "hooks" => self.hooks = None,
                "mcpServers" => self.mcp_servers.clear(),
                "permissionMode" => self.permission_mode = None,
                _ => {}
            }
        }
    }
}

impl SkillDefinition {
    /// Removes what is not trusted.
    fn hold_back(&mut self, brings: &ExtensionEffects, trusted: Trusted) {
        self.held_back = held(brings, trusted);
        for key in &self.held_back {
            match *key {
                "hooks" => self.hooks = None,
                "allowed-tools" => self.allowed_tools.clear(),
                _ => {}
            }
        }
    }
}

/// The keys without effect.
fn held(brings: &ExtensionEffects, trusted: Trusted) -> Vec<&'static str> {
    const ALL: [(&str, bool); 4] = [
        ("hooks", true),
        ("mcpServers", true),
        ("allowed-tools", false),
        ("permissionMode", false),
    ];
    let acts = |runs: bool| match trusted {
        Trusted::Everything => true,
        Trusted::WhatRuns => runs,
        Trusted::Nothing => false,
    };
    let brought = |key: &str| brings.runs.contains_key(key) || brings.permits.contains_key(key);
    ALL.iter().filter(|(key, runs)| brought(key) && !acts(*runs)).map(|(key, _)| *key).collect()
}
