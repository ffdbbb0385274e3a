//! Skills and custom commands in a session: taken up by the model or typed by the user, with what they allow while they
//! are active.

use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_front::{DeniedCall, Event};
use ona_policy::{Call, Effects};
use ona_store::{NewSession, Step, StoreError};
use ona_tools::{AgentOrder, Waits};
use ona_types::{Behavior, Change, Entry, OutcomeClass, SystemNote, ToolOutput, ToolUseId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Mind};
use crate::explain;
use crate::extensions::{
    AgentDefinition, Extensions, NotFound, Piece, Plugin, SkillDefinition, SkillKind, Warning,
    slash,
};
use crate::gate::PendingCall;
use crate::mcp::PREFIX;
use crate::servers::PluginServers;
use crate::session::Session;

/// As much of a skill is told again after the context was compacted, and of all of them together; in characters.
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

impl Session {
    /// What extends the session.
    pub(crate) fn extensions_now(&self) -> MutexGuard<'_, Extensions> {
        self.extended.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads what extends the session. Gives what is wrong with it.
    pub fn extend(&mut self) -> Result<Vec<String>, StoreError> {
        let found = self.extensions()?;
        let warnings = found.warnings.iter().map(ToString::to_string).collect();
        self.extended = Arc::new(Mutex::new(found));
        Ok(warnings)
    }

    /// What was read, for whoever has no use for the session besides.
    pub fn give_extensions(&self) -> Extensions {
        std::mem::take(&mut *self.extensions_now())
    }

    /// What agents' files name that there is not ([`Extensions::unmet`]).
    pub fn unmet(&self, has_model: impl Fn(&str) -> bool) -> Result<Vec<Warning>, StoreError> {
        let listed = self.servers(&self.plugin_servers())?.listed;
        let servers: Vec<&str> = listed.iter().map(|server| server.name.as_str()).collect();
        Ok(self.extensions_now().unmet(has_model, &servers))
    }

    /// The names of what extends the session, for whoever shows it.
    pub fn whats_there(&self) -> Value {
        let extensions = self.extensions_now();
        let agents: Vec<&str> = extensions.agents.iter().map(|one| one.name.as_str()).collect();
        let skills = extensions.skills.iter();
        let is_skill = |one: &&SkillDefinition| one.kind == SkillKind::Skill;
        let skill_names: Vec<&str> =
            skills.clone().filter(is_skill).map(|one| one.name.as_str()).collect();
        let mut commands: Vec<String> =
            skills.filter(|one| one.user_invocable).map(|one| one.name.clone()).collect();
        if let Some(pool) = self.pool().filter(|_| !self.engine.config.skills_off) {
            commands.extend(pool.prompts().into_iter().map(|prompt| prompt.full_name));
        }
        let plugin = |one: &Plugin| json!({"name": one.id, "path": one.root});
        let plugins: Vec<Value> = extensions.plugins.iter().map(plugin).collect();
        json!({"agents": agents, "skills": skill_names, "slash_commands": commands, "plugins": plugins})
    }

    /// MCP servers that plugins bring.
    pub fn plugin_servers(&self) -> Vec<PluginServers> {
        self.extensions_now().plugins.iter().map(Plugin::mcp_servers).collect()
    }

    /// The skill that an input of the tool Skill names.
    fn skill_named(&self, input: &Value) -> Result<SkillDefinition, NotFound> {
        let name = input.get("skill").and_then(Value::as_str).unwrap_or_default();
        self.extensions_now().skill(name.trim().trim_start_matches('/')).cloned()
    }

    /// Whether a call takes up a skill that allows nothing and brings no hooks.
    pub(crate) fn only_instructs(&self, call: &PendingCall<'_>) -> bool {
        let found = self.skill_named(&call.input);
        call.tool.name() == "Skill"
            // One that there is not says so itself.
            && found.map_or(true, |skill| skill.allowed_tools.is_empty() && skill.hooks.is_none())
    }

    /// Takes up a skill that the model asks for.
    pub(crate) async fn use_skill(
        &self,
        name: &str,
        args: &str,
        call: &ToolUseId,
        cancel: &CancellationToken,
    ) -> ToolOutput {
        let found = self.extensions_now().skill(name).cloned();
        let skill = match found {
            Ok(skill) if !skill.model_invocable => {
                return ToolOutput::rejected(format!(
                    "only the user can take up {name} (disable-model-invocation)"
                ));
            }
            Ok(skill) => skill,
            Err(error) => return ToolOutput::rejected(error.to_string()),
        };
        let text = match self.skill_text(&skill, args, cancel).await {
            Ok(text) => text,
            Err(why) => return ToolOutput::rejected(why),
        };
        if skill.forks {
            let order = self.fork(&skill, text);
            return self.forked(order, call, &skill, cancel).await;
        }
        let (name, content) = (skill.name.clone(), format!("Taken up: {}", skill.name));
        ToolOutput::success(content).with_change(Change::SkillTold { name, text })
    }

    /// A skill that runs in an agent of its own.
    fn fork(&self, skill: &SkillDefinition, prompt: String) -> AgentOrder {
        AgentOrder {
            description: format!("/{}", skill.name),
            prompt,
            subagent_type: skill.agent.clone().unwrap_or_else(|| "general-purpose".to_owned()),
            model: skill.model.clone(),
            background: Some(false),
            name: None,
            worktree: false,
            mode: None,
        }
    }

    /// Its work there. An agent may take up a skill that forks, so this is where the circle is closed.
    fn forked<'a>(
        &'a self,
        order: AgentOrder,
        call: &'a ToolUseId,
        skill: &'a SkillDefinition,
        cancel: &'a CancellationToken,
    ) -> Waits<'a, ToolOutput> {
        Box::pin(async move {
            match self.denies_agent(&order.subagent_type) {
                Some(why) => {
                    ToolOutput::rejected(format!("/{} runs in an agent: {why}", skill.name))
                }
                None => Box::pin(self.start_agent(order, call, Some(skill), cancel)).await,
            }
        })
    }

    /// Why no agent of this kind may be started, where a rule says so.
    fn denies_agent(&self, kind: &str) -> Option<String> {
        let (input, effects) = (json!({"subagent_type": kind}), Effects::default());
        let call = Call { tool: "Agent", input: &input, effects: &effects };
        let ruling = self.governance.permissions.judge(&call);
        (ruling.behavior == Behavior::Deny).then(|| explain::ruling(&ruling).0)
    }

    /// A skill as the model is told it. Its commands pass the gate in a session of their own, where what it allows is
    /// allowed.
    pub(crate) async fn skill_text(
        &self,
        skill: &SkillDefinition,
        args: &str,
        cancel: &CancellationToken,
    ) -> Result<String, String> {
        let rendered = self.render_skill(skill, args).map_err(|error| error.to_string())?;
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
                    text.push_str(&format!(
                        "[not run, because there is only bash here: {command}]"
                    ));
                    continue;
                }
                Piece::Command { command, .. } => ("Bash", json!({"command": command}), None),
                Piece::File(path) => ("Read", json!({"file_path": path}), Some(format!("@{path}"))),
            };
            let session = match &mut aside {
                Some(session) => session,
                None => aside.insert(self.for_skill(skill)?),
            };
            let report = session.call(tool, &input, cancel).await;
            let report = report.map_err(|error| error.to_string())?;
            if report.denied && written.is_none() {
                self.refused_aside([DeniedCall {
                    tool_name: tool.to_owned(),
                    tool_use_id: report.tool_use_id.clone(),
                    tool_input: input.clone(),
                }]);
            }
            match (report.is_error, written) {
                // What cannot be read was no file.
                (true, Some(written)) => text.push_str(&written),
                (true, None) => text.push_str(&format!("[failed: {}]", report.content)),
                (false, _) => text.push_str(&report.content),
            }
        }
        Ok(text)
    }

    /// The skills an agent knows from the start, as it is told of them.
    pub(crate) async fn known_skills(
        &self,
        kind: &AgentDefinition,
        cancel: &CancellationToken,
    ) -> Result<Option<String>, String> {
        // The operator has switched them off, and knows that.
        let wanted: &[String] = if self.engine.config.skills_off { &[] } else { &kind.skills };
        let mut texts = Vec::new();
        for name in wanted {
            let found = self.extensions_now().skill(name).cloned();
            match found {
                Ok(skill) if !skill.model_invocable => {
                    let text = format!(
                        "the agent {}: only the user can take up {name}, and it was left out",
                        kind.name
                    );
                    self.front.tell(Event::Warning { text });
                }
                Ok(skill) => {
                    let text = self.skill_text(&skill, "", cancel).await?;
                    texts.push(format!("The skill {name}:\n{text}"));
                }
                Err(error) => {
                    let text = format!("the agent {}: {error}", kind.name);
                    self.front.tell(Event::Warning { text });
                }
            }
        }
        Ok((!texts.is_empty()).then(|| texts.join("\n\n")))
    }

    /// A session for the commands of a skill.
    fn for_skill(&self, skill: &SkillDefinition) -> Result<Self, String> {
        let wrong = |error: StoreError| error.to_string();
        let seat = self.engine.store.new_session(&NewSession {
            project_dir: &self.seat.project_dir,
            conversation: Some(&self.seat.conversation),
            id: None,
            origin: "subagent",
            name: None,
        });
        let seat = seat.map_err(wrong)?;
        let mut place = self.place.clone();
        let seats = (&self.seat, &seat);
        let governance =
            self.governance.for_agent(&self.engine, seats, &mut place, &[], None, None);
        let governance = governance.map_err(wrong)?;
        let mut session = self.another(seat, place, governance, self.front.another());
        session.take_up(skill);
        Ok(session)
    }

    /// Lets act what a skill allows and hooks of its own, until [`Session::lay_down`].
    pub(crate) fn take_up(&mut self, skill: &SkillDefinition) {
        let mut json = serde_json::Map::new();
        if !skill.allowed_tools.is_empty() {
            json.insert("permissions".to_owned(), json!({"allow": skill.allowed_tools}));
        }
        if let Some(hooks) = &skill.hooks {
            json.insert("hooks".to_owned(), hooks.clone());
        }
        if !json.is_empty() {
            let engine = Arc::clone(&self.engine);
            self.governance.take_up(&engine, &skill.path, json, &mut self.place);
        }
    }

    /// What skills allowed is allowed no longer.
    pub(crate) fn lay_down(&mut self) {
        let engine = Arc::clone(&self.engine);
        self.governance.lay_down(&engine, &mut self.place);
    }

    /// What a prompt stands for.
    pub(crate) async fn called_by(
        &self,
        prompt: &str,
        cancel: &CancellationToken,
    ) -> Result<Called, String> {
        let called = slash(prompt).filter(|_| !self.engine.config.skills_off);
        let Some((name, args)) = called else { return Ok(Called::Nothing) };
        if name.starts_with(PREFIX) {
            return self.prompt_of_server(name, args, cancel).await.map(Called::Prompt);
        }
        let found = self.extensions_now().skill(name).cloned();
        let skill = found.map_err(|error| error.to_string())?;
        if !skill.user_invocable {
            return Err(format!("only the model can take up {name} (user-invocable: false)"));
        }
        let text = self.skill_text(&skill, args, cancel).await?;
        if skill.forks {
            let (order, call) = (self.fork(&skill, text), ToolUseId::generate());
            let done = self.forked(order, &call, &skill, cancel).await;
            let said = done.content;
            return match done.class {
                OutcomeClass::Success => Ok(Called::Prompt(format!(
                    "/{name} {args}\n[It ran in an agent of its own, which says:]\n{said}"
                ))),
                _ => Err(said),
            };
        }
        Ok(Called::Skill(Box::new(skill), text))
    }
}

impl Agent {
    /// What the model is told of skills, if it may take up any.
    pub(crate) fn skill_listing(&self) -> Option<String> {
        if !self.tools().iter().any(|tool| tool == "Skill") {
            return None;
        }
        let window = self.mind.model.context_window.map(u64::from);
        let room = self.session.skill_listing_room(window);
        let listing = self.session.extensions_now().listing(room);
        (!listing.trim().is_empty())
            .then(|| format!("Skills that can be taken up with the tool Skill:\n{listing}"))
    }

    /// A skill is active from here to the end of the turn: what it allows, its model and how hard that thinks.
    pub(crate) fn take_up(&mut self, skill: &SkillDefinition) {
        self.session.take_up(skill);
        let named = skill.model.as_deref().filter(|name| *name != "inherit");
        let mind = match named.map(|name| self.mind.called(name)) {
            None => Mind::clone(&self.mind),
            Some(Ok(mind)) => mind,
            Some(Err(why)) => {
                self.warn(format!("the model of the skill {}: {why}", skill.name));
                Mind::clone(&self.mind)
            }
        };
        self.own_mind.get_or_insert(Arc::clone(&self.mind));
        self.mind = Arc::new(mind.trying(skill.effort));
    }

    /// The model has taken up a skill.
    pub(crate) fn taken_up(&mut self, input: &Value) {
        if let Ok(skill) = self.session.skill_named(input)
            && !skill.forks
        {
            self.take_up(&skill);
        }
    }

    /// A file was read: the model hears of skills around it and for it.
    pub(crate) fn heed_skills_near(&mut self, file: &Path) -> Result<(), StoreError> {
        let new: Vec<String> = {
            let mut extensions = self.session.extensions_now();
            let near = extensions.near(file);
            near.iter().map(|skill| format!("- {}: {}", skill.name, skill.description)).collect()
        };
        if new.is_empty() || !self.tools().iter().any(|tool| tool == "Skill") {
            return Ok(());
        }
        let text =
            format!("Skills for what you read, which the tool Skill takes up:\n{}", new.join("\n"));
        let entry = Entry::system(&SystemNote::Context { text, from: "skills".to_owned() });
        self.keep(&Step { entries: &[entry], ..Step::default() })
    }

    /// The turn is over, and with it what its skills allowed.
    pub(crate) fn lay_down(&mut self) {
        self.session.lay_down();
        if let Some(mind) = self.own_mind.take() {
            self.mind = mind;
        }
    }
}

/// Skills that were taken up, as they are told again after a compaction: the latest first to keep, each cut.
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
        kept.push(format!("The skill {name}, which was taken up:\n{cut}{more}"));
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
