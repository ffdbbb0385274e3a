//! Skills and custom commands in a session: applied by the model or typed by the user, with what they allow while they
//! are active.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ona_front::DeniedCall;
use ona_store::{Step, StoreError};
use ona_tools::{AgentOrder, Calling, PREFIX, names};
use ona_types::{Change, Diagnostic, Entry, SystemNote, ToolOutput};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::identity::GENERAL;
use crate::model_handle::ModelHandle;
use crate::server_prompts::PromptError;
use crate::session::{Session, SessionRef};
use ona_config::servers::{PluginServers, Servers};
use ona_extensions::{
    AgentDefinition, Extensions, NotFound, Piece, Plugin, RenderError, SkillDefinition, SkillKind,
    slash,
};
use ona_gate::call::{CallError, CallReport};
use ona_gate::services::SkillOrder;

/// After a compaction the model is told this much of an active skill again, and of all of them together; in characters.
const LONGEST_AGAIN: usize = 20_000;
const ALL_AGAIN: usize = 100_000;

/// What a prompt that begins with a slash stands for.
pub(crate) enum Called {
    /// It is said as it is.
    Nothing,
    /// A skill, and what it says.
    Skill(Box<SkillDefinition>, String),
    /// A prompt of an MCP server.
    Prompt(String),
}

/// Why a skill cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SkillError {
    #[error(transparent)]
    NotFound(#[from] NotFound),
    #[error("only the model can use {0} (user-invocable: false)")]
    NotForUser(String),
    #[error("only the user can use {0} (disable-model-invocation)")]
    NotForModel(String),
    #[error(transparent)]
    Render(#[from] RenderError),
    #[error(transparent)]
    Prompt(#[from] PromptError),
    #[error("{0}")]
    Failed(String),
    #[error(transparent)]
    Call(#[from] CallError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Session {
    /// What extends the session, for whoever has no use for the session besides.
    pub fn give_extensions(&self) -> Extensions {
        std::mem::take(&mut *self.side.extensions())
    }

    /// Reads what extends the session. Gives what is wrong with it.
    pub fn extend(&mut self) -> Result<Vec<String>, StoreError> {
        let found = self.view().read_extensions()?;
        let warnings = found.warnings.iter().map(ToString::to_string).collect();
        self.change_side(|side| side.extensions = Arc::new(Mutex::new(found)));
        Ok(warnings)
    }

    /// The MCP servers there are, as the settings and files say at this moment; nothing is started.
    pub fn servers(&self) -> Result<Servers, StoreError> {
        self.gate.governance.servers(&self.plugin_servers())
    }

    /// What agents' files name that does not exist ([`Extensions::unmet`]).
    pub fn unmet(&self, has_model: impl Fn(&str) -> bool) -> Result<Vec<Diagnostic>, StoreError> {
        let listed = self.servers()?.listed;
        let servers: Vec<&str> = listed.iter().map(|server| server.name.as_str()).collect();
        Ok(self.side.extensions().unmet(has_model, &servers))
    }

    /// The names of what extends the session, for whoever shows it.
    pub fn whats_there(&self) -> Value {
        let extensions = self.side.extensions();
        let agents: Vec<&str> = extensions.agents.iter().map(|one| one.name.as_str()).collect();
        let skills = extensions.skills.iter();
        let is_skill = |one: &&SkillDefinition| one.kind == SkillKind::Skill;
        let skill_names: Vec<&str> =
            skills.clone().filter(is_skill).map(|one| one.name.as_str()).collect();
        let mut commands: Vec<String> =
            skills.filter(|one| one.user_invocable).map(|one| one.name.clone()).collect();
        if let Some(pool) = self.gate.pool().filter(|_| !self.view().skills_off()) {
            commands.extend(pool.prompts().into_iter().map(|prompt| prompt.full_name));
        }
        let plugin = |one: &Plugin| json!({"name": one.id, "path": one.root});
        let plugins: Vec<Value> = extensions.plugins.iter().map(plugin).collect();
        json!({"agents": agents, "skills": skill_names, "slash_commands": commands, "plugins": plugins})
    }

    /// MCP servers that plugins bring.
    fn plugin_servers(&self) -> Vec<PluginServers> {
        self.side.extensions().plugins.iter().map(Plugin::mcp_servers).collect()
    }

    /// Lets act what a skill allows and hooks of its own, until [`Governance::clear_skills`].
    ///
    /// [`Governance::clear_skills`]: ona_gate::governance::Governance::clear_skills
    pub(crate) fn apply_skill(&mut self, skill: &SkillDefinition) {
        let mut json = serde_json::Map::new();
        if !skill.allowed_tools.is_empty() {
            json.insert("permissions".to_owned(), json!({"allow": skill.allowed_tools}));
        }
        if let Some(hooks) = &skill.hooks {
            json.insert("hooks".to_owned(), hooks.clone());
        }
        if !json.is_empty() {
            self.gate.governance.apply_skill(&skill.path, json);
        }
    }
}

impl SessionRef<'_> {
    /// Whether the operator has switched skills and commands off.
    pub(crate) fn skills_off(self) -> bool {
        self.gate.record.core.config.skills_off
    }

    /// Applies a skill on behalf of a call that the gate has permitted.
    pub(crate) async fn use_skill(self, order: SkillOrder<'_>, call: Calling<'_>) -> ToolOutput {
        let found = self.side.extensions().skill(order.name).cloned();
        let skill = match found {
            Ok(skill) if !skill.model_invocable && !self.side.by_user => {
                let error = SkillError::NotForModel(order.name.to_owned());
                return ToolOutput::rejected(error.to_string());
            }
            Ok(skill) => skill,
            Err(error) => return ToolOutput::rejected(error.to_string()),
        };
        let text = match self.skill_text(&skill, order.args, call.cancel).await {
            Ok(text) => text,
            Err(error) => return ToolOutput::rejected(error.to_string()),
        };
        if skill.forks {
            // An agent may use a skill that forks, so this is where the circle is closed.
            let started = self.start_agent(fork(&skill, text), Some(&skill), call);
            return Box::pin(started).await;
        }
        let (name, content) = (skill.name.clone(), format!("Applied: {}", skill.name));
        ToolOutput::success(content).with_change(Change::SkillTold { name, text })
    }

    /// A skill as the model is told it. Its commands pass the gate in a session of their own, where what it allows is
    /// allowed.
    async fn skill_text(
        self,
        skill: &SkillDefinition,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<String, SkillError> {
        let rendered = self.render_skill(skill, args)?;
        let mut aside = None;
        let mut text = match skill.kind {
            SkillKind::Skill => {
                format!("Base directory of this skill: {}\n\n", skill.dir().display())
            }
            SkillKind::Command => String::new(),
        };
        for piece in rendered.pieces {
            let (tool, input, written) = match piece {
                Piece::Text(piece) => {
                    text.push_str(&piece);
                    continue;
                }
                Piece::Command { command, shell } if shell != ona_hooks::Shell::Bash => {
                    text.push_str(&format!("[not run, because only bash is supported: {command}]"));
                    continue;
                }
                Piece::Command { command, .. } => (names::BASH, json!({"command": command}), None),
                Piece::File(path) => {
                    (names::READ, json!({"file_path": path}), Some(format!("@{path}")))
                }
            };
            let session = match &mut aside {
                Some(session) => session,
                None => aside.insert(self.for_skill(skill)?),
            };
            let report = session.gate.call(tool, &input, cancel).await?;
            if report.denied_by.is_some() && written.is_none() {
                self.side.add_denials([DeniedCall {
                    tool_name: tool.to_owned(),
                    tool_use_id: report.tool_use_id.clone(),
                    tool_input: input.clone(),
                }]);
            }
            match (report.is_error, written) {
                // What cannot be read was not meant as a file.
                (true, Some(written)) => text.push_str(&written),
                (true, None) => text.push_str(&format!("[failed: {}]", report.content)),
                (false, _) => text.push_str(&report.content),
            }
        }
        Ok(text)
    }

    /// The skills an agent knows from the start, as it is told of them.
    pub(crate) async fn known_skills(
        self,
        definition: &AgentDefinition,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, SkillError> {
        // The operator has switched them off, and knows that.
        let wanted: &[String] = if self.skills_off() { &[] } else { &definition.skills };
        let mut texts = Vec::new();
        for name in wanted {
            let found = self.side.extensions().skill(name).cloned();
            match found {
                Ok(skill) if !skill.model_invocable => {
                    let error = SkillError::NotForModel(name.clone());
                    self.warn(format!("the agent {}: {error}; it was left out", definition.name));
                }
                Ok(skill) => {
                    let text = self.skill_text(&skill, "", cancel).await?;
                    texts.push(format!("The skill {name}:\n{text}"));
                }
                Err(error) => self.warn(format!("the agent {}: {error}", definition.name)),
            }
        }
        Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
    }

    /// A session for the commands of a skill.
    fn for_skill(self, skill: &SkillDefinition) -> Result<Session, StoreError> {
        let mut session = self.aside()?;
        session.apply_skill(skill);
        Ok(session)
    }

    /// What a prompt stands for.
    pub(crate) async fn called_by(
        self,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Result<Called, SkillError> {
        let called = slash(prompt).filter(|_| !self.skills_off());
        let Some((name, args)) = called else { return Ok(Called::Nothing) };
        if name.starts_with(PREFIX) {
            return Ok(Called::Prompt(self.prompt_of_server(name, args, cancel).await?));
        }
        let skill = self.side.extensions().skill(name).cloned()?;
        if !skill.user_invocable {
            return Err(SkillError::NotForUser(name.to_owned()));
        }
        if !skill.forks {
            let text = self.skill_text(&skill, args, cancel).await?;
            return Ok(Called::Skill(Box::new(skill), text));
        }
        let CallReport { content, is_error, .. } = self.fork_for_user(name, args, cancel).await?;
        match is_error {
            true => Err(SkillError::Failed(content)),
            false => Ok(Called::Prompt(format!(
                "/{name} {args}\n[It ran in an agent of its own, which says:]\n{content}"
            ))),
        }
    }

    /// Has a skill run in an agent of its own because the user has typed its name. That is a call like any other: it
    /// passes the gate, as one that the user asked for.
    async fn fork_for_user(
        self,
        name: &str,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<CallReport, SkillError> {
        let mut aside = self.aside()?;
        let options = self.side.options.clone();
        aside.change_side(|side| (side.by_user, side.options) = (true, options));
        let mut aside = {
            let front = aside.gate.front.another().for_operator();
            aside.facing(front)
        };
        let input = json!({"skill": name, "args": args});
        // It may start an agent, and that one use a skill: boxed, so that the circle ends.
        let report = Box::pin(aside.gate.call(names::SKILL, &input, cancel)).await?;
        let (theirs, own) = (&aside.seat().session, &self.gate.seat().session);
        self.gate.store().hand_over_tasks(theirs, own)?;
        Ok(report)
    }
}

/// A skill that runs in an agent of its own.
fn fork(skill: &SkillDefinition, prompt: String) -> AgentOrder {
    AgentOrder {
        description: format!("/{}", skill.name),
        prompt,
        subagent_type: skill.agent.clone().unwrap_or_else(|| GENERAL.to_owned()),
        model: skill.model.clone(),
        background: Some(false),
        name: None,
        worktree: false,
        mode: None,
    }
}

impl Agent {
    /// What the model is told of skills, if it may take up any.
    pub(crate) fn skill_listing(&self) -> Option<String> {
        if !self.offers_skills() {
            return None;
        }
        let window = self.model_handle.model.context_window.map(u64::from);
        let room = self.session.view().skill_listing_room(window);
        let listing = self.session.side.extensions().listing(room);
        (!listing.trim().is_empty())
            .then(|| format!("Skills that the tool Skill applies:\n{listing}"))
    }

    /// A skill is active from here to the end of the turn: what it allows, its model and how hard that thinks.
    pub(crate) fn apply_skill(&mut self, skill: &SkillDefinition) {
        self.session.apply_skill(skill);
        let named = skill.model.as_deref().filter(|name| *name != "inherit");
        let model_handle = match named.map(|name| self.model_handle.called(name)) {
            None => ModelHandle::clone(&self.model_handle),
            Some(Ok(model_handle)) => model_handle,
            Some(Err(why)) => {
                self.warn(format!("the model of the skill {}: {why}", skill.name));
                ModelHandle::clone(&self.model_handle)
            }
        };
        self.own_model.get_or_insert(Arc::clone(&self.model_handle));
        self.model_handle = Arc::new(model_handle.trying(skill.effort));
    }

    /// The model has applied the skill of this name.
    pub(crate) fn skill_applied(&mut self, name: &str) {
        let found = self.session.side.extensions().skill(name).cloned();
        if let Ok(skill) = found
            && !skill.forks
        {
            self.apply_skill(&skill);
        }
    }

    /// Whether the model may apply skills.
    fn offers_skills(&self) -> bool {
        let toolbox = &self.session.gate.toolbox;
        let applies =
            |name: &String| toolbox.find(name).is_some_and(|tool| tool.facts().needs_skills);
        self.tools().iter().any(applies)
    }

    /// A file was read: the model hears of skills around it and for it.
    pub(crate) fn heed_skills_near(&mut self, file: &Path) -> Result<(), StoreError> {
        let new: Vec<String> = {
            let mut extensions = self.session.side.extensions();
            let near = extensions.near(file);
            near.iter().map(|skill| format!("- {}: {}", skill.name, skill.description)).collect()
        };
        if new.is_empty() || !self.offers_skills() {
            return Ok(());
        }
        let text =
            format!("Skills for what you read, which the tool Skill applies:\n{}", new.join("\n"));
        let entry = Entry::system(&SystemNote::Context { text, from: "skills".to_owned() });
        self.keep(&Step { entries: &[entry], ..Step::default() })
    }

    /// The turn is over, and with it what its skills allowed.
    pub(crate) fn clear_skills(&mut self) {
        self.session.gate.governance.clear_skills();
        if let Some(model_handle) = self.own_model.take() {
            self.model_handle = model_handle;
        }
    }
}

/// Active skills, as they are told again after a compaction: the latest first to keep, each cut.
pub(crate) fn told_again(skills: &[(String, String)]) -> Option<String> {
    let mut kept = Vec::new();
    let mut room = ALL_AGAIN;
    for (name, text) in skills.iter().rev() {
        let cut: String = text.chars().take(LONGEST_AGAIN).collect();
        if cut.len() > room {
            break;
        }
        room -= cut.len();
        let more = if cut.len() < text.len() { "\n[cut]" } else { "" };
        kept.push(format!("The skill {name}, which is active:\n{cut}{more}"));
    }
    kept.reverse();
    (!kept.is_empty()).then(|| kept.join("\n\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_many_skills_the_latest_are_told_again() {
        let skill = |name: &str, length: usize| (name.to_owned(), "x".repeat(length));
        let skills = [
            skill("old", 25_000),
            skill("a", 30_000),
            skill("b", 20_000),
            skill("c", 20_000),
            skill("d", 20_000),
            skill("e", 10),
        ];
        let told = told_again(&skills).unwrap();
        assert!(!told.contains("skill old"));
        for name in ["a", "b", "c", "d", "e"] {
            assert!(told.contains(&format!("The skill {name}, ")), "{name}");
        }
        assert_eq!(told.matches("[cut]").count(), 1);
        assert_eq!(told_again(&[]), None);
    }
}
