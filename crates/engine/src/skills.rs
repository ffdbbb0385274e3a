//! Skills and custom commands in a session: applied by the model or typed by the user, with the permissions they give while
//! active.

use std::path::Path;
use std::sync::{Arc, Mutex};

use ona_front::{DeniedCall, Via};
use ona_store::{Step, StoreError};
use ona_tools::{Calling, PREFIX, names};
use ona_types::{Change, Diagnostic, Entry, SystemNote, ToolOutput};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::agent_side::AgentSide;
use crate::model_handle::ModelHandle;
use crate::server_prompts::PromptError;
use crate::session::{Session, SessionRef};
use ona_config::servers::{PluginServers, Servers};
use ona_extensions::{
    AgentDefinition, DEFAULT_STYLE, Extensions, NotFound, Piece, Plugin, RenderError,
    SkillDefinition, SkillKind, slash,
};
use ona_gate::call::{CallError, CallReport};
use ona_gate::services::SkillOrder;

/// After a compaction, active skills are restored up to these limits: per skill, and in total.
const MAX_RESTORED_SKILL_CHARS: usize = 20_000;
const MAX_RESTORED_CHARS: usize = 100_000;

/// What a prompt that starts with a slash means.
pub(crate) enum SlashPrompt {
    /// A plain prompt.
    Plain,
    /// A skill, and its text.
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
    /// Removes and returns the extensions, for callers that need only those.
    pub fn take_extensions(&self) -> Extensions {
        std::mem::take(&mut *self.side.extensions())
    }

    /// Loads the extensions. Returns warnings.
    pub fn load_extensions(&mut self) -> Result<Vec<String>, StoreError> {
        let found = self.view().read_extensions()?;
        let warnings = found.warnings.iter().map(ToString::to_string).collect();
        self.change_side(|side| side.extensions = Arc::new(Mutex::new(found)));
        Ok(warnings)
    }

    /// The configured MCP servers. Does not start them.
    pub fn servers(&self) -> Result<Servers, StoreError> {
        self.gate.governance.servers(&self.plugin_servers())
    }

    /// Names in agent definitions that do not exist ([`Extensions::unmet`]).
    pub fn missing_references(
        &self,
        has_model: impl Fn(&str) -> bool,
    ) -> Result<Vec<Diagnostic>, StoreError> {
        let listed = self.servers()?.listed;
        let servers: Vec<&str> = listed.iter().map(|server| server.name.as_str()).collect();
        Ok(self.side.extensions().unmet(has_model, &servers))
    }

    /// The names of the extensions, as JSON.
    pub fn extension_names(&self) -> Value {
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
        let style = self.gate.settings().output_style;
        let style = style.and_then(|name| Some(extensions.style(&name).ok()?.name.clone()));
        let style = style.unwrap_or_else(|| DEFAULT_STYLE.to_owned());
        let plugin = |one: &Plugin| json!({"name": one.id, "path": one.root});
        let plugins: Vec<Value> = extensions.plugins.iter().map(plugin).collect();
        json!({"agents": agents, "skills": skill_names, "slash_commands": commands, "plugins": plugins, "output_style": style})
    }

    /// The MCP servers of plugins.
    fn plugin_servers(&self) -> Vec<PluginServers> {
        self.side.extensions().plugins.iter().map(Plugin::mcp_servers).collect()
    }

    /// Applies a skill's permissions and hooks, until [`Governance::clear_skills`].
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

impl AgentSide {
    /// A skill that may be applied here.
    pub(crate) fn usable_skill<'e>(
        &self,
        extensions: &'e Extensions,
        name: &str,
    ) -> Result<&'e SkillDefinition, SkillError> {
        let skill = extensions.skill(name)?;
        match skill.model_invocable || self.for_user.is_some() {
            true => Ok(skill),
            false => Err(SkillError::NotForModel(name.to_owned())),
        }
    }
}

impl SessionRef<'_> {
    /// Whether the operator turned skills and commands off.
    pub(crate) fn skills_off(self) -> bool {
        self.gate.record.core.config.skills_off
    }

    /// Applies a skill for a call that the gate has permitted.
    pub(crate) async fn use_skill(self, order: SkillOrder<'_>, call: Calling<'_>) -> ToolOutput {
        let found = self.side.usable_skill(&self.side.extensions(), order.name).cloned();
        let skill = match found {
            Ok(skill) => skill,
            Err(error) => return ToolOutput::rejected(error.to_string()),
        };
        let text = match self.skill_text(&skill, order.args, call.cancel).await {
            Ok(text) => text,
            Err(error) => return ToolOutput::rejected(error.to_string()),
        };
        if skill.forks {
            // The subagent may use a skill that forks: boxed, because the future is recursive.
            let forked = Box::pin(self.fork_skill(&skill, text, call)).await;
            return forked.unwrap_or_else(|error| ToolOutput::internal(error.to_string()));
        }
        let (name, content) = (skill.name.clone(), format!("Applied: {}", skill.name));
        ToolOutput::success(content).with_change(Change::SkillTold { name, text })
    }

    /// The text of a skill for the model. Its commands pass the gate in a side session with the skill's permissions.
    async fn skill_text(
        self,
        skill: &SkillDefinition,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<String, SkillError> {
        let rendered = self.render_skill(skill, args)?;
        let mut side_session = None;
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
            let session = match &mut side_session {
                Some(session) => session,
                None => side_session.insert(self.skill_session(skill)?),
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
                // If it cannot be read, it was not meant as a file.
                (true, Some(written)) => text.push_str(&written),
                (true, None) => text.push_str(&format!("[failed: {}]", report.content)),
                (false, _) => text.push_str(&report.content),
            }
        }
        Ok(text)
    }

    /// The text of the skills that an agent gets at the start.
    pub(crate) async fn preloaded_skills(
        self,
        definition: &AgentDefinition,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, SkillError> {
        // No warning: the operator turned them off.
        let wanted: &[String] = if self.skills_off() { &[] } else { &definition.skills };
        let mut texts = Vec::new();
        for name in wanted {
            let found = self.side.extensions().skill(name).cloned();
            match found {
                Ok(skill) if !skill.model_invocable => {
                    let error = SkillError::NotForModel(name.clone());
                    self.warn(format!("the agent {}: {error}; skipped", definition.name));
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

    /// A side session for the commands of a skill.
    fn skill_session(self, skill: &SkillDefinition) -> Result<Session, StoreError> {
        let mut session = self.side_session()?;
        session.apply_skill(skill);
        Ok(session)
    }

    /// Expands a prompt that starts with a slash.
    pub(crate) async fn expand_prompt(
        self,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Result<SlashPrompt, SkillError> {
        let called = slash(prompt).filter(|_| !self.skills_off());
        let Some((name, args)) = called else { return Ok(SlashPrompt::Plain) };
        if name.starts_with(PREFIX) {
            return Ok(SlashPrompt::Prompt(self.expand_server_prompt(name, args, cancel).await?));
        }
        let skill = self.side.extensions().skill(name).cloned()?;
        if !skill.user_invocable {
            return Err(SkillError::NotForUser(name.to_owned()));
        }
        if !skill.forks {
            let text = self.skill_text(&skill, args, cancel).await?;
            return Ok(SlashPrompt::Skill(Box::new(skill), text));
        }
        let CallReport { content, is_error, stop, .. } =
            self.fork_for_user(name, args, cancel).await?;
        if let Some(reason) = stop {
            return Err(SkillError::Failed(format!("a hook stops the agent: {reason}")));
        }
        match is_error {
            true => Err(SkillError::Failed(content)),
            false => Ok(SlashPrompt::Prompt(format!(
                "/{name} {args}\n[It ran in a subagent, which answered:]\n{content}"
            ))),
        }
    }

    /// Runs a skill in a subagent because the user typed its name. This is a call like any other: it passes the gate, as
    /// one that the user asked for.
    async fn fork_for_user(
        self,
        name: &str,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<CallReport, SkillError> {
        let mut side_session = self.side_session()?;
        let (options, tools) = (self.side.options.clone(), self.gate.offered());
        side_session.change_side(|side| (side.for_user, side.options) = (Some(tools), options));
        let mut side_session = {
            let front = side_session.gate.front.another().for_operator(Via::Command);
            side_session.with_front(front)
        };
        let input = json!({"skill": name, "args": args});
        // The subagent may use a skill: boxed, because the future is recursive.
        let report = Box::pin(side_session.gate.call(names::SKILL, &input, cancel)).await?;
        let (theirs, own) = (&side_session.seat().session, &self.gate.seat().session);
        self.gate.store().hand_over_tasks(theirs, own)?;
        Ok(report)
    }
}

impl Agent {
    /// The list of skills for the model, if it may use any.
    pub(crate) fn skill_listing(&self) -> Option<String> {
        if !self.offers_skills() {
            return None;
        }
        let window = self.model_handle.model.context_window.map(u64::from);
        let room = self.session.view().skill_listing_room(window);
        let listing = self.session.side.extensions().listing(room);
        (!listing.trim().is_empty())
            .then(|| format!("Skills you can apply with the tool Skill:\n{listing}"))
    }

    /// Activates a skill until the end of the turn: its permissions, model and effort.
    pub(crate) fn apply_skill(&mut self, skill: &SkillDefinition) {
        self.session.apply_skill(skill);
        let named = skill.model.as_deref().filter(|name| *name != "inherit");
        let model_handle = match named.map(|name| self.model_handle.for_model(name)) {
            None => ModelHandle::clone(&self.model_handle),
            Some(Ok(model_handle)) => model_handle,
            Some(Err(why)) => {
                self.warn(format!("the model of the skill {}: {why}", skill.name));
                ModelHandle::clone(&self.model_handle)
            }
        };
        self.model_before_skill.get_or_insert(Arc::clone(&self.model_handle));
        self.model_handle = Arc::new(model_handle.with_effort(skill.effort));
    }

    /// Activates the skill that the model has applied.
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

    /// After a file was read: lists the skills for it, and those in its directories.
    pub(crate) fn announce_skills_near(&mut self, file: &Path) -> Result<(), StoreError> {
        let new: Vec<String> = {
            let mut extensions = self.session.side.extensions();
            let near = extensions.near(file);
            near.iter().map(|skill| format!("- {}: {}", skill.name, skill.description)).collect()
        };
        if new.is_empty() || !self.offers_skills() {
            return Ok(());
        }
        let text = format!(
            "Skills for the files you read, which you can apply with the tool Skill:\n{}",
            new.join("\n")
        );
        let entry = Entry::system(&SystemNote::Context { text, from: "skills".to_owned() });
        self.commit(&Step { entries: &[entry], ..Step::default() })
    }

    /// Deactivates the skills at the end of the turn.
    pub(crate) fn clear_skills(&mut self) {
        self.session.gate.governance.clear_skills();
        if let Some(model_handle) = self.model_before_skill.take() {
            self.model_handle = model_handle;
        }
    }
}

/// The active skills to restore after a compaction: the latest ones that fit, each truncated.
pub(crate) fn restored_skills(skills: &[(String, String)]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut room = MAX_RESTORED_CHARS;
    for (name, text) in skills.iter().rev() {
        let cut: String = text.chars().take(MAX_RESTORED_SKILL_CHARS).collect();
        if cut.len() > room {
            break;
        }
        room -= cut.len();
        let more = if cut.len() < text.len() { "\n[cut]" } else { "" };
        kept.push(format!("The active skill {name}:\n{cut}{more}"));
    }
    kept.reverse();
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_skills_are_restored() {
        let skill = |name: &str, length: usize| (name.to_owned(), "x".repeat(length));
        let skills = [
            skill("old", 25_000),
            skill("a", 30_000),
            skill("b", 20_000),
            skill("c", 20_000),
            skill("d", 20_000),
            skill("e", 10),
        ];
        let restored = restored_skills(&skills).join("\n\n");
        assert!(!restored.contains("skill old"));
        for name in ["a", "b", "c", "d", "e"] {
            assert!(restored.contains(&format!("The active skill {name}:")), "{name}");
        }
        assert_eq!(restored.matches("[cut]").count(), 1);
        assert!(restored_skills(&[]).is_empty());
    }
}
