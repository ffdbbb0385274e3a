//! Doing what a command comes to.

use std::time::Duration;

use ona_engine::{Agent, CompactError, LiveChange, Which};
use ona_front::{Event, Reply, Via};
use ona_types::hook::{SessionEndReason, StartSource};
use ona_types::{PermissionUpdate, UpdateDestination};
use tokio_util::sync::CancellationToken;

use super::show::commands;
use super::{Console, Next};
use crate::act::Act;
use crate::outside::Outside;

/// The answer to `/compact` where nothing was said since the start or the last summary.
const NOTHING_TO_COMPACT: &str =
    "nothing to compact: nothing was said since the session began or was last compacted";

impl<O: Outside> Console<O> {
    /// Does what a command comes to; `Some` if the session ends.
    pub(super) async fn act(
        &mut self,
        agent: &mut Agent,
        act: Option<(String, Act)>,
        cancel: &CancellationToken,
    ) -> Option<(Next, SessionEndReason)> {
        let (name, act) = act?;
        let reply = match act {
            Act::Reply(reply) => reply,
            Act::Change(change, reply) => {
                agent.changes().push(*change);
                agent.apply_changes();
                reply
            }
            Act::Tell(event, reply) => {
                self.tell(*event);
                reply
            }
            Act::Prompt(prompt) => {
                self.submit(agent, prompt, Vec::new(), false, cancel).await;
                return None;
            }
            Act::Compact(instructions) => {
                let compact =
                    async |agent: &mut Agent| agent.compact_now(instructions, cancel).await;
                match self.beside(agent, cancel, compact).await? {
                    // The front-end was told.
                    Ok(()) => return None,
                    Err(CompactError::Nothing) => {
                        Reply::Plain { text: NOTHING_TO_COMPACT.to_owned() }
                    }
                    Err(error) => {
                        Reply::Error { text: format!("the context was not compacted: {error}") }
                    }
                }
            }
            Act::Call { tool, input, then, said } => {
                let call = async |agent: &mut Agent| {
                    agent.operators_call((tool, &input), Via::Command, cancel).await
                };
                match self.beside(agent, cancel, call).await? {
                    Ok(report) if report.is_error => Reply::Error { text: report.content },
                    Ok(_) => {
                        if let Some(prompt) = then {
                            self.submit(agent, prompt, Vec::new(), true, cancel).await;
                            return None;
                        }
                        Reply::Plain { text: said }
                    }
                    Err(error) => Reply::Error { text: error.to_string() },
                }
            }
            Act::Open { which, reason, name: new_name, said, input } => {
                self.said = Some((name, Reply::Plain { text: said }));
                self.input = input;
                self.repeated = None;
                // A copy goes on where this one is: it has cost as much, and is on the screen already.
                let is_copy = matches!(which, Which::Named(_, Some(_)));
                let cost = self.shown.status.as_ref().map_or(0.0, |status| status.cost_usd);
                self.shown.cost_before = if is_copy { cost } else { 0.0 };
                self.shown.is_copy = is_copy;
                let source = match (&which, reason) {
                    (Which::New(_), _) => StartSource::Clear,
                    _ => StartSource::Resume,
                };
                return Some((Next::Open { which, source, name: new_name }, reason));
            }
            Act::Reload(reply) => {
                agent.apply_changes();
                let refresh = async |agent: &mut Agent| agent.session_mut().refresh(cancel).await;
                if let Some(Err(error)) = self.beside(agent, cancel, refresh).await {
                    self.front.warn(error.to_string());
                }
                reply
            }
            Act::ReloadExtensions(said) => match agent.session_mut().load_extensions() {
                Ok(warnings) => {
                    let known = commands(agent.session(), &self.outside);
                    let custom = known.iter().filter(|one| one.source != "ona").count();
                    let mut text = said.map(|said| format!("{said}\n")).unwrap_or_default();
                    text.push_str(&format!(
                        "reloaded: {custom} skills and commands, {} agents",
                        agent.session().agent_names().len()
                    ));
                    for warning in warnings {
                        text.push_str(&format!("\nwarning: {warning}"));
                    }
                    Reply::Plain { text }
                }
                Err(error) => Reply::Error { text: error.to_string() },
            },
            Act::AddDir(dir) => {
                let update = PermissionUpdate::AddDirectories {
                    directories: vec![dir.display().to_string()],
                    destination: UpdateDestination::Session,
                };
                agent.changes().push(LiveChange::Permissions(update));
                agent.apply_changes();
                Reply::Plain {
                    text: format!("{} is a working directory of this session now", dir.display()),
                }
            }
            Act::Reconnect(reply) => {
                self.reconnect(agent);
                reply
            }
            Act::Loop { prompt, .. } if prompt.is_empty() => {
                let text = match self.repeated.take() {
                    Some((_, prompt)) => format!("stopped: \"{prompt}\" is not repeated any more"),
                    None => "nothing to stop: no prompt is repeated".to_owned(),
                };
                Reply::Plain { text }
            }
            Act::Loop { every, prompt } => {
                self.repeated = Some((Duration::from_secs(every), prompt.clone()));
                self.front.tell(Event::Reply {
                    command: name,
                    reply: Reply::Plain {
                        text: format!(
                            "repeats \"{prompt}\" every {every} s while this session is open; /loop stop ends it"
                        ),
                    },
                });
                self.submit(agent, prompt, Vec::new(), true, cancel).await;
                return None;
            }
            Act::Tests(testing) => {
                let front = self.front.another();
                let work = async |agent: &mut Agent| {
                    crate::testing::run(agent, &front, testing, cancel).await
                };
                match self.beside(agent, cancel, work).await? {
                    Ok(text) => Reply::Plain { text },
                    Err(error) => Reply::Error { text: error.to_string() },
                }
            }
            Act::Exit => {
                self.front.tell(Event::Exit);
                return Some((Next::Leave, SessionEndReason::PromptInputExit));
            }
        };
        self.front.tell(Event::Reply { command: name, reply });
        None
    }

    /// Connects the model again: the credential may be another one.
    pub(super) fn reconnect(&mut self, agent: &mut Agent) {
        let access = agent.session().model_access();
        let model = agent.model().clone();
        let handle = match self.outside.connect_model(model.clone(), &access) {
            Ok(handle) => Some(handle),
            Err(error) => self.outside.unconnected(model, &error),
        };
        if let Some(handle) = handle {
            agent.changes().push(LiveChange::Model(Box::new(handle)));
            agent.apply_changes();
        }
    }
}
