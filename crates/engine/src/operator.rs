//! What the operator does in a running session: calls of their own, a question aside, the state of things.

use std::path::{Path, PathBuf};
use std::time::Instant;

use ona_config::instructions::{self, Instruction};
use ona_extensions::{SkillDefinition, SkillKind};
use ona_front::{CommandInfo, Event, ModelUsed, Via};
use ona_gate::call::{CallError, CallReport};
use ona_provider::{AskError, Message, Request, ToolChoice};
use ona_store::{Step, StoreError};
use ona_types::hook::HookDetail;
use ona_types::{Entry, Phase, SystemNote, ToolUseId};
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use crate::agent::Agent;
use crate::answer_calls::refused;
use crate::compact::CompactError;
use crate::model_context::ModelContext;
use crate::model_handle::ModelHandle;
use crate::session::Session;
use crate::session_builder::ModelAccess;
use crate::usage::{call_row, millis, usage_of};

/// Why a question aside has no answer.
#[derive(Debug, thiserror::Error)]
pub enum AsideError {
    /// The model cannot be asked.
    #[error(transparent)]
    Ask(#[from] AskError),
    /// The record failed.
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// What is asked with a question aside.
const ASIDE: &str = "This is a question aside. Answer it briefly from what you know of the conversation. You cannot use \
tools, and neither the question nor your answer becomes part of the conversation.";

impl Agent {
    /// A call of the operator's own. It passes the gate: a question counts as answered with yes, a denial stays one.
    pub async fn operators_call(
        &mut self,
        (tool, input): (&str, &Value),
        via: Via,
        cancel: &CancellationToken,
    ) -> Result<CallReport, CallError> {
        let id = ToolUseId::generate();
        let gate = &mut self.session.gate;
        let front = gate.front.another().for_operator(via);
        let usual = std::mem::replace(&mut gate.front, front);
        usual.tell(Event::ToolStarted {
            id: id.clone(),
            tool: tool.to_owned(),
            input: input.clone(),
        });
        let report = gate.call_as(id.clone(), tool, input, cancel).await;
        gate.front = usual;
        let report = report?;
        gate.front.tell(Event::ToolEnded {
            id,
            tool: tool.to_owned(),
            content: report.content.clone(),
            is_error: report.is_error,
            refused: refused(&report),
            diff: report.diff.clone(),
            exit_code: report.exit_code,
        });
        self.catch_up().map_err(CallError::NotStarted)?;
        Ok(report)
    }

    /// Compacts the context now, if something was said since it was empty or compacted. Instructions alone are not
    /// worth a summary: they would be read again anyway.
    pub async fn compact_now(
        &mut self,
        instructions: Option<String>,
        cancel: &CancellationToken,
    ) -> Result<(), CompactError> {
        let (store, session) = (self.session.gate.store(), self.session.gate.record.session());
        let mut said = false;
        store.view_live(session, |row| {
            said |= matches!(row.entry_type, "user" | "assistant" | "tool_use");
        })?;
        match said {
            true => self.compact("manual", instructions, cancel).await,
            false => Err(CompactError::Nothing),
        }
    }

    /// Tells the model something with the next prompt.
    pub fn add_context(&mut self, text: String, from: &str) -> Result<(), StoreError> {
        let note = SystemNote::Context { text, from: from.to_owned() };
        self.commit(&Step { entries: &[Entry::system(&note)], ..Step::default() })
    }

    /// Fires a hook event that belongs to no call, and records it.
    pub async fn fire_and_record(
        &mut self,
        detail: HookDetail,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        let fired = self.fire(detail, cancel).await;
        self.commit(&Step { hooks: &fired.rows, ..Step::default() })
    }

    /// The phase of the conversation.
    pub fn phase(&self) -> Result<Phase, StoreError> {
        Ok(self.session.gate.record.standing()?.phase)
    }

    /// The size of the context at the last model call, in tokens.
    pub fn context_tokens(&self) -> u64 {
        self.context_tokens
    }

    /// The model and how it is asked.
    pub fn model_handle(&self) -> &ModelHandle {
        &self.model_handle
    }

    /// How much of the context takes how much: the system prompt, tools, and what was said. In bytes.
    pub fn context_parts(&self) -> Vec<(&'static str, usize)> {
        let request = self.request();
        let system: usize = request.system.iter().map(String::len).sum();
        let tools = request.tools.iter();
        let tools = tools.map(|tool| tool.description.len() + tool.input_schema.to_string().len());
        vec![("System prompt", system), ("Tools", tools.sum())]
    }

    /// The session, to be changed.
    pub fn session_mut(&mut self) -> &mut Session {
        &mut self.session
    }

    /// Waits until a command or an agent in the background has ended of which the model was not told; for ever if there is
    /// none.
    pub async fn background_ended(&self) {
        let (background, session) =
            (&self.session.side.background, self.session.gate.record.session().clone());
        loop {
            if background.count(&session) == 0 {
                std::future::pending::<()>().await;
            }
            background.wait_for_one(&session).await;
            let untold = self.session.gate.store().untold_tasks(&session);
            if untold.is_ok_and(|tasks| !tasks.is_empty()) {
                return;
            }
        }
    }

    /// Says what the operator has typed for the next prompt, where the prompt is not that text itself.
    pub fn typed_as(&mut self, line: &str) {
        self.typed = Some(line.to_owned());
    }

    /// A turn about what has ended in the background.
    pub async fn run_turn_about_tasks(
        &mut self,
        cancel: &CancellationToken,
    ) -> Result<(), StoreError> {
        self.report_ended_tasks(cancel).await?;
        self.run_turn(None, cancel).await;
        Ok(())
    }
}

impl Session {
    /// The files of instructions, as they are now: those that apply from the start, and rules for certain paths.
    pub fn instruction_files(&self) -> (Vec<Instruction>, Vec<PathBuf>) {
        let (loaded, conditional) = instructions::load(&self.view().instruction_roots());
        (loaded.instructions, conditional.rules().map(Path::to_owned).collect())
    }

    /// The names of the agents that can be started.
    pub fn agent_names(&self) -> Vec<String> {
        self.side.extensions().agents.iter().map(|agent| agent.name.clone()).collect()
    }

    /// Whether `--disable-slash-commands` was given.
    pub fn has_no_commands(&self) -> bool {
        self.view().skills_off()
    }

    /// What the user can call with a slash besides ona's own commands: skills, custom commands, prompts of servers.
    pub fn offered_commands(&self) -> Vec<CommandInfo> {
        if self.view().skills_off() {
            return Vec::new();
        }
        let info = |skill: &SkillDefinition| CommandInfo {
            name: skill.name.clone(),
            aliases: Vec::new(),
            arguments: skill.argument_hint.clone().unwrap_or_default(),
            description: skill.description.clone(),
            source: match skill.kind {
                SkillKind::Skill => "skill".to_owned(),
                SkillKind::Command => "command".to_owned(),
            },
            immediate: false,
            closed: false,
        };
        let extensions = self.side.extensions();
        let skills = extensions.skills.iter().filter(|skill| skill.user_invocable);
        let mut all: Vec<CommandInfo> = skills.map(info).collect();
        for prompt in self.gate.pool().iter().flat_map(|pool| pool.prompts()) {
            let arguments: Vec<String> =
                prompt.arguments.iter().map(|one| format!("<{}>", one.name)).collect();
            all.push(CommandInfo {
                name: prompt.full_name.clone(),
                aliases: Vec::new(),
                arguments: arguments.join(" "),
                description: prompt.description.clone(),
                source: prompt.server.clone(),
                immediate: false,
                closed: false,
            });
        }
        all
    }

    /// The same session, for use while a turn runs.
    pub fn beside(&self) -> Result<Self, StoreError> {
        self.view().for_concurrent_use()
    }

    /// What a connection to a model depends on.
    pub fn model_access(&self) -> ModelAccess {
        ModelAccess {
            layers: self.gate.layers().to_vec(),
            settings: self.gate.settings(),
            project_dir: self.gate.place().project_dir.clone(),
            learned: self.gate.record.core.config.learned_secrets.clone(),
        }
    }

    /// Asks the model something that does not become part of the conversation.
    pub async fn ask_aside(
        &self,
        model_handle: &ModelHandle,
        question: &str,
        cancel: &CancellationToken,
    ) -> Result<String, AsideError> {
        let mut context = ModelContext::new(model_handle.model.provider);
        let store = self.gate.store();
        store.view_live(self.gate.record.session(), |row| context.read(row))?;
        let mut request = Request::new(&model_handle.model.wire, model_handle.max_output);
        request.system = context.system().to_vec();
        (request.earlier, request.recent) = context.messages();
        request.messages.extend(context.results());
        request.messages.push(Message::user(format!("{ASIDE}\n\n{question}")));
        request.tools = self.tool_specs(&self.gate.offered());
        request.tool_choice = ToolChoice::None;
        let started = Instant::now();
        let answer = model_handle.client.ask(&request, &mut |_| (), cancel).await?;
        let call = call_row(model_handle, "aside", &answer, millis(started));
        model_handle.spend_on_side_query(ModelUsed {
            web_searches: answer.web_searches,
            ..usage_of(&call)
        });
        store.keep_step(self.gate.seat(), &Step { model_call: Some(&call), ..Step::default() })?;
        Ok(self.gate.redactor().mask_live(&answer.text()).into_owned())
    }
}
