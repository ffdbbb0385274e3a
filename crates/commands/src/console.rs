//! The console: one session after the other, one operation after the other, and what may run at the same time.

mod acts;
mod meanwhile;
mod show;
mod turns;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use ona_engine::{Agent, Engine, LiveChange, ModelHandle, Which};
use ona_front::{CoreEnd, Event, Op, Ops, Reply};
use ona_types::hook::{HookDetail, SessionEndReason, StartSource};
use ona_types::{PermissionMode, PermissionUpdate, UpdateDestination};
use tokio::time::{Instant, sleep, sleep_until};
use tokio_util::sync::CancellationToken;

use crate::act::Act;
use crate::desk::Desk;
use crate::files::FileIndex;
use crate::outside::Outside;
use show::Shown;

/// Typed prompts that a front-end gets.
const HISTORY: i64 = 1_000;

/// How often the state of a session is looked at while nothing runs.
const LOOK_WHEN_IDLE: Duration = Duration::from_secs(2);

/// What comes after a session.
#[derive(Debug)]
pub enum Next {
    /// Nothing: the operator leaves.
    Leave,
    /// Another session.
    Open {
        /// Which.
        which: Which,
        /// How it starts.
        source: StartSource,
        /// Its name.
        name: Option<String>,
    },
}

/// Runs sessions for a front-end.
pub struct Console<O> {
    engine: Engine,
    outside: O,
    cwd: PathBuf,
    front: CoreEnd,
    ops: Ops,
    /// What came while something else ran, and has to wait.
    waiting: VecDeque<Op>,
    files: FileIndex,
    /// What the next session says first.
    said: Option<(String, Reply)>,
    /// What the next session puts into the prompt.
    input: Option<String>,
    /// The prompt that is repeated, and how often.
    repeated: Option<(Duration, String)>,
    shown: Shown,
    /// The mode that a session hands on to the one that goes on from it.
    mode: Option<PermissionMode>,
    /// The model that it hands on, if the operator has chosen another one.
    model: Option<ModelHandle>,
    /// Whether bypassPermissions is among the modes to go through: a session was started in it.
    bypass: bool,
}

impl<O: Outside> Console<O> {
    /// A console for this end of a channel.
    pub fn new(engine: Engine, outside: O, cwd: PathBuf, mut front: CoreEnd) -> Self {
        let ops = front.take_ops();
        Self {
            engine,
            outside,
            cwd,
            front,
            ops,
            waiting: VecDeque::new(),
            files: FileIndex::default(),
            said: None,
            input: None,
            repeated: None,
            shown: Shown::default(),
            mode: None,
            model: None,
            bypass: false,
        }
    }

    /// An end of the channel for the next session.
    pub fn front(&self) -> CoreEnd {
        self.front.another()
    }

    /// Tells the front-end that a session could not be opened.
    pub fn failed(&mut self, command: &str, text: String) {
        self.said = Some((command.to_owned(), Reply::Error { text }));
    }

    /// Without any session: tells why, and waits until the operator wants to try again; `false` if they leave. What they
    /// type comes back to the prompt.
    pub async fn waits_to_try_again(&mut self, why: &str) -> bool {
        let text = format!("{why}\nno session is open: any input tries again, /exit leaves");
        let reply = Reply::Error { text };
        self.front.tell(Event::Reply { command: "resume".to_owned(), reply });
        self.front.tell(Event::Ready);
        loop {
            let typed = match self.ops.next().await {
                None => return false,
                Some(Op::Command { line }) if ["/exit", "/quit"].contains(&line.trim()) => {
                    self.front.tell(Event::Exit);
                    return false;
                }
                Some(Op::Submit { prompt, .. }) => prompt,
                Some(Op::Command { line }) => line,
                Some(Op::Shell { command }) => format!("!{command}"),
                Some(Op::Remember { text }) => format!("#{text}"),
                Some(_) => continue,
            };
            self.input = Some(typed);
            return true;
        }
    }

    /// Runs a session until it ends.
    pub async fn run(&mut self, mut agent: Agent, source: StartSource) -> Next {
        agent.session_mut().gate.keeps_files = true;
        if let Some(mode) = self.mode.take() {
            let destination = UpdateDestination::Session;
            let change = PermissionUpdate::SetMode { mode, destination };
            agent.changes().push(LiveChange::Permissions(change));
            agent.apply_changes();
        }
        let first = agent.model_handle().clone();
        let handed_on = self.model.take();
        let mut is_chosen = handed_on.is_some();
        if let Some(model) = handed_on {
            agent.changes().push(LiveChange::Model(Box::new(model)));
            agent.apply_changes();
        }
        self.bypass |= agent.session().mode() == PermissionMode::BypassPermissions;
        if let Err(error) = self.opened(&agent, source) {
            self.front.warn(error.to_string());
        }
        let (next, reason) = self.drive(&mut agent).await;
        if let Next::Open { which: Which::New(_) | Which::Named(_, Some(_)), .. } = &next {
            // A mode of the settings is not handed on: they may say something else by then.
            let session = agent.session();
            self.mode = session.gate.governance.has_own_mode().then(|| session.mode());
            let last = agent.model_handle();
            let key = |handle: &ModelHandle| (handle.model.clone(), handle.effort, handle.thinking);
            is_chosen |= key(last) != key(&first);
            self.model = is_chosen.then(|| last.clone());
        }
        if let Err(error) = agent.end(reason).await {
            self.front.warn(error.to_string());
        }
        next
    }

    /// One operation after the other.
    async fn drive(&mut self, agent: &mut Agent) -> (Next, SessionEndReason) {
        self.ready(agent);
        loop {
            let op = self.next_op(agent).await;
            let cancel = self.front.begin();
            let Some(op) = op else {
                let reason = match self.outside.is_ended_by_signal() {
                    true => SessionEndReason::Other,
                    false => SessionEndReason::PromptInputExit,
                };
                return (Next::Leave, reason);
            };
            if is_aside(&op) {
                self.aside(agent, op);
                continue;
            }
            let act = self.handle(agent, op, &cancel).await;
            if let Some(ended) = self.act(agent, act, &cancel).await {
                return ended;
            }
            self.ready(agent);
        }
    }

    /// Tells the front-end what has changed, and that the next operation can come.
    fn ready(&mut self, agent: &mut Agent) {
        agent.apply_changes();
        if let Err(error) = self.show(agent) {
            self.front.warn(error.to_string());
        }
        self.front.tell(Event::Ready);
    }

    /// Does an operation that needs no agent.
    fn aside(&mut self, agent: &mut Agent, op: Op) {
        match Desk::beside(agent, &self.engine, &self.outside, &self.cwd) {
            Ok(desk) => self.at_once(&desk, op),
            Err(error) => self.front.warn(error.to_string()),
        }
        agent.apply_changes();
        if let Err(error) = self.show_state(agent.session(), agent.model_handle(), None) {
            self.front.warn(error.to_string());
        }
    }

    /// The next operation. Meanwhile, what ends in the background is reported to the model, and a prompt repeated.
    async fn next_op(&mut self, agent: &mut Agent) -> Option<Op> {
        let due = self.repeated.as_ref().map(|(every, _)| Instant::now() + *every);
        loop {
            if let Some(op) = self.waiting.pop_front() {
                return Some(op);
            }
            let repeat = async {
                match due {
                    Some(due) => sleep_until(due).await,
                    None => std::future::pending().await,
                }
            };
            let front_ops = &mut self.ops;
            tokio::select! {
                biased;
                op = front_ops.next() => return op,
                () = agent.background_ended() => {
                    let cancel = self.front.begin();
                    self.front.tell(Event::Busy { what: "background task".to_owned() });
                    let turn =
                        async |agent: &mut Agent| agent.run_turn_about_tasks(&cancel).await;
                    if let Some(Err(error)) = self.beside(agent, &cancel, turn).await {
                        self.front.warn(error.to_string());
                    }
                    if let Err(error) = self.show(agent) {
                        self.front.warn(error.to_string());
                    }
                    self.front.tell(Event::Ready);
                }
                // What others change meanwhile is seen: a task that ends, key bindings that are saved.
                () = sleep(LOOK_WHEN_IDLE) => {
                    if let Err(error) = self.show(agent) {
                        self.front.warn(error.to_string());
                    }
                }
                () = repeat => {
                    let prompt = self.repeated.as_ref().map(|(_, prompt)| prompt.clone());
                    return prompt.map(|prompt| Op::Submit {
                        prompt,
                        attachments: Vec::new(),
                        mentions: true,
                    });
                }
            }
        }
    }

    /// What an operation comes to, if it is not done already.
    async fn handle(
        &mut self,
        agent: &mut Agent,
        op: Op,
        cancel: &CancellationToken,
    ) -> Option<(String, Act)> {
        match op {
            Op::Submit { prompt, attachments, mentions } => {
                self.submit(agent, prompt, attachments, mentions, cancel).await;
                None
            }
            Op::Continue => {
                self.turn(agent, None, cancel).await;
                None
            }
            Op::Command { line } => self.command(agent, &line, cancel).await,
            Op::Compact { instructions } => {
                Some(("compact".to_owned(), Act::Compact(instructions)))
            }
            Op::Shell { command } => {
                self.shell(agent, &command, cancel).await;
                None
            }
            Op::Remember { text } => Some(("memory".to_owned(), self.remember(agent, &text))),
            Op::End => Some(("exit".to_owned(), Act::Exit)),
            Op::StopAgents => {
                agent.session().stop_tasks().await;
                None
            }
            Op::Waiting => {
                let detail = HookDetail::Notification {
                    message: "ona is waiting for your input".to_owned(),
                    title: None,
                    notification_type: "idle_prompt".to_owned(),
                };
                if let Err(error) = agent.fire_and_record(detail, cancel).await {
                    self.front.warn(error.to_string());
                }
                None
            }
            // What is done at once is done already.
            _ => None,
        }
    }
}

/// Whether an operation needs no agent: it is done at once, whatever runs.
pub(crate) fn is_aside(op: &Op) -> bool {
    matches!(
        op,
        Op::CycleMode
            | Op::ToggleThinking
            | Op::Background
            | Op::FindFiles { .. }
            | Op::Transcript { .. }
            | Op::Typed { .. }
            | Op::VimMode { .. }
    )
}
