//! All extensions of a session: what was found, what is hidden, and what the model is told about it.

mod listing;
mod load;
mod reload;

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use ona_config::trust::Origin;
use ona_config::watch::Watch;
use ona_types::Diagnostic;

use crate::agent::{AgentDefinition, ServerUse};
use crate::files::Files;
use crate::output_style::OutputStyle;
use crate::plugin::Plugin;
use crate::skill::SkillDefinition;
pub use listing::listing_room;
pub use load::{GivenAgentsError, Sources, check_given};

/// The kind of an extension with a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// An agent.
    Agent,
    /// A skill or a command.
    Skill,
    /// An output style.
    Style,
}

impl Kind {
    fn word(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Skill => "skill",
            Self::Style => "output style",
        }
    }
}

/// An extension that is hidden by another one of the same name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shadowed {
    /// What it is.
    pub kind: Kind,
    /// The name of both.
    pub name: String,
    /// Where it comes from.
    pub origin: Origin,
    /// Its file.
    pub path: Option<PathBuf>,
    /// Where the other one comes from.
    pub by: Origin,
}

/// A name that is taken by an extension that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Unusable {
    kind: Kind,
    name: String,
    why: String,
}

/// Why no extension of a name can be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum NotFound {
    #[error("unknown {kind} `{name}`{}", nearest.as_ref().map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default())]
    Unknown { kind: &'static str, name: String, nearest: Option<String> },
    #[error("the {kind} `{name}` cannot be used: {why}")]
    Unusable { kind: &'static str, name: String, why: String },
}

/// All extensions of a session.
#[derive(Debug, Default)]
pub struct Extensions {
    /// The agents that can be started.
    pub agents: Vec<AgentDefinition>,
    /// The skills and commands that can be called.
    pub skills: Vec<SkillDefinition>,
    /// The output styles that can be chosen.
    pub styles: Vec<OutputStyle>,
    /// The active plugins, by id.
    pub plugins: Vec<Plugin>,
    /// Extensions that are hidden by others of the same name.
    pub shadowed: Vec<Shadowed>,
    /// Problems, for the user.
    pub warnings: Vec<Diagnostic>,
    unusable: Vec<Unusable>,
    /// What is needed to find skills near files.
    nearby: load::Nearby,
    /// Skills for certain files whose files have been seen.
    awake: HashSet<String>,
    files: Files,
    /// The files of skills and commands, as they were read.
    watch: Watch,
}

impl Extensions {
    /// Reads all of them.
    pub fn load(sources: Sources<'_>) -> Self {
        load::all(sources)
    }

    /// The agent of a name.
    pub fn agent(&self, name: &str) -> Result<&AgentDefinition, NotFound> {
        let found = self.agents.iter().find(|agent| agent.name == name);
        found.ok_or_else(|| self.not_found(Kind::Agent, name))
    }

    /// The skill or command of a name; `frontend:component` distinguishes commands of the same name.
    pub fn skill(&self, name: &str) -> Result<&SkillDefinition, NotFound> {
        let plain = self.skills.iter().find(|skill| skill.name == name);
        let full = || self.skills.iter().find(|skill| skill.full_name() == name);
        plain.or_else(full).ok_or_else(|| self.not_found(Kind::Skill, name))
    }

    /// The output style of a name.
    pub fn style(&self, name: &str) -> Result<&OutputStyle, NotFound> {
        let found = self.styles.iter().find(|style| style.is_named(name));
        found.ok_or_else(|| self.not_found(Kind::Style, name))
    }

    fn not_found(&self, kind: Kind, name: &str) -> NotFound {
        let kind_of = |unusable: &&Unusable| unusable.kind == kind && unusable.name == name;
        if let Some(found) = self.unusable.iter().find(kind_of) {
            let (name, why) = (found.name.clone(), found.why.clone());
            return NotFound::Unusable { kind: kind.word(), name, why };
        }
        let names: Vec<&str> = match kind {
            Kind::Agent => self.agents.iter().map(|agent| agent.name.as_str()).collect(),
            Kind::Skill => self.skills.iter().map(|skill| skill.name.as_str()).collect(),
            Kind::Style => self.styles.iter().map(|style| style.name.as_str()).collect(),
        };
        let nearest = ona_types::nearest(name, names).map(str::to_owned);
        NotFound::Unknown { kind: kind.word(), name: ona_types::shown(name), nearest }
    }

    /// Unknown models and servers in the files of agents. Such an agent still works, with its caller's model and without
    /// those tools.
    pub fn unmet(&self, has_model: impl Fn(&str) -> bool, servers: &[&str]) -> Vec<Diagnostic> {
        let mut warnings = Vec::new();
        for agent in &self.agents {
            let file = agent.path.as_deref().unwrap_or(Path::new("--agents"));
            let mut say = |why: String, remedy: &str| {
                warnings.push(Diagnostic::new(file, why).hint(remedy));
            };
            if let Some(model) = agent.model.as_deref().filter(|model| !has_model(model)) {
                let why = format!(
                    "`model`: unknown model `{model}`, so the agent {} uses its caller's",
                    agent.name
                );
                say(why, "use a known model, or define the name with model_aliases in settings");
            }
            for server in &agent.mcp_servers {
                if let ServerUse::Named(name) = server
                    && !servers.contains(&name.as_str())
                {
                    let why = format!("`mcpServers`: unknown server `{name}`");
                    say(why, "`ona mcp list` shows the servers; or define it inline");
                }
            }
        }
        warnings
    }

    /// What the model is told about the skills it may call, in this much room ([`listing_room`]).
    pub fn listing(&self, room: usize) -> String {
        listing::listing(self.skills.iter().filter(|skill| self.is_offered(skill)), room)
    }

    /// Whether the model is told about a skill: it may call it, and a file it is for was seen.
    fn is_offered(&self, skill: &SkillDefinition) -> bool {
        skill.model_invocable && (skill.paths.is_none() || self.awake.contains(&skill.full_name()))
    }

    /// Notes a file that is read or written, and returns the skills that the model must be told about from now on: those
    /// in directories around it, and those for such files. Problems are added to the warnings.
    pub fn near(&mut self, file: &Path) -> Vec<&SkillDefinition> {
        let before = self.skills.len();
        load::nearby(self, file);
        let mut new = Vec::new();
        for (at, skill) in self.skills.iter().enumerate() {
            let wakes = match &skill.paths {
                Some(paths) => paths.fits(file) && self.awake.insert(skill.full_name()),
                None => at >= before,
            };
            if wakes && skill.model_invocable {
                new.push(at);
            }
        }
        new.into_iter().filter_map(|at| self.skills.get(at)).collect()
    }
}

#[cfg(test)]
mod tests;
