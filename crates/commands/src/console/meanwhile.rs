//! What can be done while something runs.

use std::pin::Pin;
use std::time::Duration;

use futures_util::StreamExt as _;
use futures_util::stream::FuturesUnordered;
use ona_engine::{LiveChange, USUAL_THINKING};
use ona_front::{Event, Op, Reply};
use ona_types::{PermissionMode, PermissionUpdate, UpdateDestination};
use tokio::time::{MissedTickBehavior, interval};
use tokio_util::sync::CancellationToken;

use super::turns::unknown_command;
use super::{Console, is_aside};
use crate::act::Act;
use crate::desk::Desk;
use crate::opened::{self, PAGE};
use crate::outside::Outside;
use crate::table::{Command, Meaning, When, name_of};

/// How often the state of a session is looked at while a turn runs.
const LOOK_EVERY: Duration = Duration::from_millis(400);

type Side<'d> = Pin<Box<dyn Future<Output = Option<(String, Act)>> + 'd>>;

impl<O: Outside> Console<O> {
    /// Does what needs no agent: also while a turn runs.
    pub(super) fn at_once(&mut self, desk: &Desk<O>, op: Op) {
        match op {
            Op::CycleMode => {
                let mode = next_mode(desk.mode(), self.bypass);
                let change =
                    PermissionUpdate::SetMode { mode, destination: UpdateDestination::Session };
                desk.changes.push(LiveChange::Permissions(change));
                if let Some(status) = &mut self.shown.status {
                    status.mode = mode;
                    self.front.tell(Event::Status { status: Box::new(status.clone()) });
                    self.show_custom(&desk.session);
                }
            }
            Op::ToggleThinking => {
                let model = desk.model();
                let budget = model.thinking.is_none().then_some(USUAL_THINKING);
                desk.changes.push(LiveChange::Thinking(budget));
                let fits = budget.and_then(|b| model.model.thinking(b, model.max_output));
                let text = match (budget, fits) {
                    (None, _) => "thinking is off".to_owned(),
                    (Some(_), Some(budget)) => format!("thinking is on, up to {budget} tokens"),
                    (Some(_), None) => {
                        format!("{} does not support a thinking budget", model.model.wire)
                    }
                };
                let reply = Reply::Plain { text };
                self.front.tell(Event::Reply { command: "thinking".to_owned(), reply });
            }
            Op::Background if !self.front.move_into_background() => {
                self.front.warn("nothing runs that can go on in the background");
            }
            Op::FindFiles { query } => {
                let (index, front) = (self.files.clone(), self.front.another());
                let place = desk.session.gate.place().clone();
                let ignored = desk.settings().respect_gitignore == Some(false);
                tokio::task::spawn_blocking(move || {
                    let files = index.find(&place.cwd, place.home.as_deref(), &query, ignored);
                    front.tell(Event::Files { query, files });
                });
            }
            Op::Transcript { before } => {
                match opened::page(desk.store(), desk.session_id(), before, PAGE) {
                    Ok((entries, more)) => self.front.tell(Event::Transcript { entries, more }),
                    Err(error) => self.front.warn(error.to_string()),
                }
            }
            Op::VimMode { mode } => {
                self.shown.vim = mode;
                self.show_custom(&desk.session);
            }
            Op::Typed { text } => {
                if let Err(error) = desk.store().keep_typed(desk.project_dir(), &text) {
                    self.front.warn(format!("the history is not kept: {error}"));
                }
            }
            _ => {}
        }
    }

    /// Waits for something, and does what can be done at the same time.
    pub(super) async fn during(
        &mut self,
        desk: &Desk<O>,
        mut work: Pin<&mut impl Future<Output: Sized>>,
        cancel: &CancellationToken,
    ) {
        let mut side: FuturesUnordered<Side<'_>> = FuturesUnordered::new();
        let mut look = interval(LOOK_EVERY);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                biased;
                _ = &mut work => break,
                Some(done) = side.next(), if !side.is_empty() => {
                    if let Some((name, act)) = done {
                        self.answer_at_once(desk, name, act);
                    }
                }
                op = self.ops.next() => match op {
                    // The work was cancelled with it.
                    None => { work.as_mut().await; break }
                    Some(op) => side.extend(self.meanwhile(desk, op, cancel)),
                },
                _ = look.tick() => self.look(desk),
            }
        }
        // What is still asked aside is answered.
        while let Some(done) = side.next().await {
            if let Some((name, act)) = done {
                self.answer_at_once(desk, name, act);
            }
        }
    }

    /// Tells the front-end what has changed while something runs.
    fn look(&mut self, desk: &Desk<O>) {
        // The session knows the mode only after the turn.
        if let Err(error) = self.show_state(&desk.session, &desk.model(), Some(desk.mode())) {
            self.front.warn(error.to_string());
        }
        if let Ok(todos) = desk.store().todos(desk.session.seat()) {
            self.show_todos(todos);
        }
    }

    /// An operation while something runs: done at once, or kept for later.
    pub(super) fn meanwhile<'d>(
        &mut self,
        desk: &'d Desk<O>,
        op: Op,
        cancel: &CancellationToken,
    ) -> Option<Side<'d>> {
        match op {
            Op::Command { line } => {
                let meaning = Desk::<O>::command(&line).map(|(meaning, _)| meaning);
                let at_once = match meaning {
                    Some(Meaning::Command(Command { when, .. })) => *when == When::AtOnce,
                    Some(Meaning::Closed(_)) => true,
                    None => false,
                };
                if !at_once {
                    // A line that names no command is answered now.
                    if meaning.is_none()
                        && let Some((name, act)) =
                            unknown_command(&desk.session, &self.outside, &line)
                    {
                        self.answer_at_once(desk, name, act);
                        return None;
                    }
                    self.waiting.push_back(Op::Command { line });
                    return None;
                }
                let cancel = cancel.clone();
                Some(Box::pin(async move {
                    let (meaning, arguments) = Desk::<O>::command(&line)?;
                    let act = desk.run(meaning, arguments, &cancel).await;
                    Some((name_of(meaning).to_owned(), act))
                }))
            }
            Op::StopAgents => Some(Box::pin(async move {
                desk.session.stop_tasks().await;
                None
            })),
            op if is_aside(&op) => {
                self.at_once(desk, op);
                None
            }
            Op::Waiting => None,
            op => {
                self.waiting.push_back(op);
                None
            }
        }
    }

    /// What a command comes to while a turn runs. What needs the agent waits for the end of the turn.
    pub(super) fn answer_at_once(&mut self, desk: &Desk<O>, name: String, act: Act) {
        let reply = match act {
            Act::Reply(reply) => reply,
            Act::Change(change, reply) => {
                desk.changes.push(*change);
                reply
            }
            Act::Tell(event, reply) => {
                self.tell(*event);
                reply
            }
            Act::Exit => {
                self.front.tell(Event::Exit);
                return;
            }
            Act::Reload(reply) => reply,
            // What it did is done; what it wants read again is read after the turn.
            Act::ReloadExtensions(Some(text)) => {
                self.waiting.push_back(Op::Command { line: "/reload-plugins".to_owned() });
                Reply::Plain { text }
            }
            Act::Reconnect(reply) => {
                self.waiting.push_back(Op::Command { line: "/model --again".to_owned() });
                reply
            }
            _ => Reply::Error {
                text: format!(
                    "/{name} cannot run while the agent works: type it again after the turn"
                ),
            },
        };
        self.front.tell(Event::Reply { command: name, reply });
    }

    pub(super) fn tell(&mut self, event: Event) {
        if let Event::Preferences { preferences } = &event {
            self.shown.colour.clone_from(&preferences.colour);
            self.shown.preferences = None;
            return;
        }
        self.front.tell(event);
    }
}

/// The mode after this one: default, accepting edits, planning, and bypassing where the settings allow it.
fn next_mode(mode: PermissionMode, bypass: bool) -> PermissionMode {
    match mode {
        PermissionMode::Default | PermissionMode::DontAsk => PermissionMode::AcceptEdits,
        PermissionMode::AcceptEdits => PermissionMode::Plan,
        PermissionMode::Plan if bypass => PermissionMode::BypassPermissions,
        PermissionMode::Plan | PermissionMode::BypassPermissions => PermissionMode::Default,
    }
}
