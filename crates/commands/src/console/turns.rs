//! What the operator types: commands, prompts, command lines and memories.

use std::ffi::OsStr;
use std::path::Path;

use ona_engine::memory::fields::{FieldError, Fields, fresh_id};
use ona_engine::memory::project_of;
use ona_engine::{Agent, Session};
use ona_front::{Event, Via};
use ona_gate::call::CallError;
use ona_store::{Author, Memory, Saved};
use ona_tools::names;
use ona_types::{Attachment, PermissionMode, Phase};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use super::Console;
use super::show::commands;
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::mentions::{Mention, mentions};
use crate::outside::Outside;
use crate::table::{COMMANDS, name_of};

impl<O: Outside> Console<O> {
    /// A slash command while no turn runs.
    pub(super) async fn command(
        &mut self,
        agent: &mut Agent,
        line: &str,
        cancel: &CancellationToken,
    ) -> Option<(String, Act)> {
        let Some((meaning, arguments)) = Desk::<O>::command(line) else {
            return self.custom_command(agent, line, cancel).await;
        };
        let name = name_of(meaning).to_owned();
        self.front.tell(Event::Busy { what: format!("/{name}") });
        let desk = match Desk::beside(agent, &self.engine, &self.outside, &self.cwd) {
            Ok(desk) => desk,
            Err(error) => return Some((name, Act::error(error.to_string()))),
        };
        let mut act = Act::error("interrupted");
        {
            let work = async {
                tokio::select! {
                    done = desk.run(meaning, arguments, cancel) => act = done,
                    () = cancel.cancelled() => {}
                }
            };
            tokio::pin!(work);
            self.during(&desk, work, cancel).await;
        }
        if let Act::Prompt(_) = act {
            agent.typed_as(line);
        }
        Some((name, act))
    }

    /// A skill, a custom command or a prompt of a server; anything else is unknown.
    pub(super) async fn custom_command(
        &mut self,
        agent: &mut Agent,
        line: &str,
        cancel: &CancellationToken,
    ) -> Option<(String, Act)> {
        let unknown = unknown_command(agent.session(), &self.outside, line);
        if unknown.is_some() {
            return unknown;
        }
        self.submit(agent, line.to_owned(), Vec::new(), false, cancel).await;
        None
    }

    /// A prompt: what it names comes first, then the turn.
    pub(super) async fn submit(
        &mut self,
        agent: &mut Agent,
        prompt: String,
        attachments: Vec<Attachment>,
        with_mentions: bool,
        cancel: &CancellationToken,
    ) {
        if let Err(error) = self.enter_planning(agent, cancel).await {
            self.front.warn(error.to_string());
        }
        if with_mentions {
            self.attach_mentions(agent, &prompt, cancel).await;
        }
        self.turn(agent, Some((prompt, attachments)), cancel).await;
    }

    /// In plan mode a prompt is about a plan: the conversation enters planning.
    pub(super) async fn enter_planning(
        &mut self,
        agent: &mut Agent,
        cancel: &CancellationToken,
    ) -> Result<(), CallError> {
        let planning = agent.phase().map_err(CallError::NotStarted)? == Phase::Planning;
        if agent.session().mode() != PermissionMode::Plan || planning {
            return Ok(());
        }
        let entered =
            agent.operators_call((names::ENTER_PLAN_MODE, &json!({})), Via::Command, cancel).await;
        entered.map(drop)
    }

    pub(super) async fn attach_mentions(
        &mut self,
        agent: &mut Agent,
        prompt: &str,
        cancel: &CancellationToken,
    ) {
        let session = agent.session();
        let servers: Vec<String> = session.gate.pool().map_or_else(Vec::new, |pool| {
            pool.statuses().into_iter().map(|status| status.name).collect()
        });
        let agents: Vec<String> = session.agent_names();
        let place = session.gate.place().clone();
        let from = (place.cwd.as_path(), place.home.as_deref());
        for mention in mentions(prompt, from, &servers, &agents) {
            let done = match mention {
                Mention::Call(tool, input) => agent
                    .operators_call((tool, &input), Via::Mention, cancel)
                    .await
                    .map(drop)
                    .map_err(|e| e.to_string()),
                Mention::Agent(name) => {
                    let text = format!(
                        "The user wants the agent `{name}` to do this: start it with Agent."
                    );
                    agent.add_context(text, "mention").map_err(|error| error.to_string())
                }
                Mention::Missing(path) => {
                    Err(format!("@{path} is not attached: there is no such file"))
                }
            };
            if let Err(error) = done {
                self.front.warn(error);
            }
        }
    }

    /// Lets the agent do something, and does meanwhile what the operator wants; `None` if it cannot begin.
    pub(super) async fn beside<T>(
        &mut self,
        agent: &mut Agent,
        cancel: &CancellationToken,
        work: impl AsyncFnOnce(&mut Agent) -> T,
    ) -> Option<T> {
        let desk = match Desk::beside(agent, &self.engine, &self.outside, &self.cwd) {
            Ok(desk) => desk,
            Err(error) => {
                self.front.warn(error.to_string());
                return None;
            }
        };
        let mut done = None;
        {
            let work = async { done = Some(work(agent).await) };
            tokio::pin!(work);
            self.during(&desk, work, cancel).await;
        }
        done
    }

    /// A turn, and what the operator does meanwhile.
    pub(super) async fn turn(
        &mut self,
        agent: &mut Agent,
        prompt: Option<(String, Vec<Attachment>)>,
        cancel: &CancellationToken,
    ) {
        self.beside(agent, cancel, async |agent| agent.run_turn(prompt, cancel).await).await;
    }

    /// `!`: the operator's own command, while other operations go on.
    pub(super) async fn shell(
        &mut self,
        agent: &mut Agent,
        command: &str,
        cancel: &CancellationToken,
    ) {
        self.front.tell(Event::Busy { what: "command".to_owned() });
        let input = json!({"command": command});
        let call = async |agent: &mut Agent| {
            agent.operators_call((names::BASH, &input), Via::Shell, cancel).await
        };
        if let Some(Err(error)) = self.beside(agent, cancel, call).await {
            self.front.warn(error.to_string());
        }
    }

    /// `#`: a memory of this project.
    pub(super) fn remember(&self, agent: &Agent, text: &str) -> Act {
        let seat = agent.session().seat();
        let memory = match memory(text, agent.session()) {
            Ok(memory) => memory,
            Err(why) => return Act::error(why.to_string()),
        };
        let author = Author { seat: Some(seat), ..Author::human() };
        match self.engine.core.store.save_memory(&memory, &author) {
            Ok(Saved::Added | Saved::Corrected | Saved::Unchanged) => {
                Act::plain(format!("saved {}: {}", memory.id, memory.title))
            }
            Err(error) => Act::error(error.to_string()),
        }
    }
}

/// The answer to a line that names no command of the project or of a server.
pub(super) fn unknown_command<O: Outside>(
    session: &Session,
    outside: &O,
    line: &str,
) -> Option<(String, Act)> {
    let name = line.split_whitespace().next().unwrap_or_default();
    let called = name.strip_prefix('/').unwrap_or_default();
    let mut known = commands(session, outside).into_iter();
    if known.any(|command| !command.closed && command.name == called) {
        return None;
    }
    let text = broken(session, called).unwrap_or_else(|| unknown(name));
    Some((called.to_owned(), Act::error(text)))
}

/// The message for a command or skill whose file cannot be used.
fn broken(session: &Session, name: &str) -> Option<String> {
    let extensions = session.read_extensions().ok()?;
    let is_it = |file: &Path| {
        let is = |part: Option<&OsStr>| part.is_some_and(|part| part == name);
        is(file.file_stem()) || is(file.parent().and_then(Path::file_name))
    };
    let problem = extensions.warnings.iter().find(|problem| is_it(&problem.file))?;
    Some(format!("/{name} cannot be used: {problem}"))
}

/// The message for an unknown command.
fn unknown(name: &str) -> String {
    let known = COMMANDS.iter().flat_map(|one| std::iter::once(&one.name).chain(one.aliases));
    let near = ona_types::nearest(name.trim_start_matches('/'), known.copied());
    let hint = near.map(|near| format!("\ndid you mean /{near}?")).unwrap_or_default();
    format!("Unknown command: {name}{hint}")
}

/// A memory of a line: its beginning is the title.
fn memory(text: &str, session: &Session) -> Result<Memory, CommandError> {
    let text = text.trim();
    if text.is_empty() {
        let why = "nothing to remember: type it after the #";
        return Err(CommandError::Said(why.to_owned()));
    }
    let mut fields = Fields::new(session.gate.redactor().clone());
    let first = text.lines().next().unwrap_or_default();
    let title: String = first.chars().take(80).collect();
    let said = |error: FieldError| CommandError::Said(error.to_string());
    Ok(Memory {
        id: fresh_id(),
        kind: fields.kind("note").map_err(said)?,
        title: fields.title(&title).map_err(said)?,
        content: fields.content(text).map_err(said)?,
        keywords: None,
        anticipated_queries: None,
        project_scope: Some(project_of(&session.gate.place().project_dir)),
    })
}
