//! Both ends of the channel: events go out of the core, operations come in.

use std::collections::HashMap;
use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_types::ToolUseId;
use tokio::sync::{Notify, mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::{AskRequest, Event, HumanAnswer, Op};

/// Receives every event of a background agent, in addition to the front end.
pub type Listener = Arc<dyn Fn(&Event) + Send + Sync>;

/// Who answers when the rules say to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Human {
    /// The operator calls the tool directly: every question counts as answered with yes.
    Operator(Via),
    /// Nobody: every question counts as answered with no.
    Nobody,
    /// A human who answers [`Event::Ask`].
    Present,
}

/// How the operator calls a tool directly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Via {
    /// `--eval`.
    Eval,
    /// `!` in an interactive session.
    Shell,
    /// `@` in a prompt.
    Mention,
    /// A slash command or a skill that the operator has typed.
    Command,
}

impl Via {
    /// As it is recorded.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Eval => "eval",
            Self::Shell => "shell",
            Self::Mention => "mention",
            Self::Command => "command",
        }
    }
}

/// The core's end of the channel.
pub struct CoreEnd {
    human: Human,
    /// Who answers the questions of agents started here.
    agents_human: Human,
    events: mpsc::UnboundedSender<Event>,
    ops: Ops,
    shared: Arc<Shared>,
    /// The call that started the agent behind this end, if it is an agent's.
    agent_call: Option<ToolUseId>,
    /// Also receives the events sent here.
    listener: Option<Listener>,
}

impl fmt::Debug for CoreEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CoreEnd").field("human", &self.human).finish_non_exhaustive()
    }
}

/// The operations that the front end sends, in their order.
pub struct Ops {
    queue: mpsc::UnboundedReceiver<Op>,
    shared: Arc<Shared>,
}

impl Ops {
    /// The next operation; `None` if there will be no more.
    pub async fn next(&mut self) -> Option<Op> {
        tokio::select! {
            biased;
            () = self.shared.over.cancelled() => None,
            op = self.queue.recv() => op,
        }
    }
}

/// The front end's handle to the core.
#[derive(Clone, Debug)]
pub struct ClientHandle {
    ops: mpsc::UnboundedSender<Op>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Open>,
    running: Mutex<CancellationToken>,
    /// Set when no further operation may start.
    over: CancellationToken,
    /// Notified when what runs is to go on in the background, and how many wait for that.
    background: Notify,
    movable: AtomicUsize,
}

/// Counts who can go on in the background, as long as it exists.
struct Movable<'a>(&'a Shared);

impl<'a> Movable<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.movable.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Movable<'_> {
    fn drop(&mut self) {
        self.0.movable.fetch_sub(1, Ordering::SeqCst);
    }
}

/// Open questions.
#[derive(Debug, Default)]
struct Open {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<HumanAnswer>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Creates both ends, and the events that the front end reads.
pub fn channel(human: Human) -> (CoreEnd, ClientHandle, mpsc::UnboundedReceiver<Event>) {
    let (events, receiver) = mpsc::unbounded_channel();
    let (sender, ops) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::default());
    let core = CoreEnd {
        human,
        // The operator has asked for the agent, not for each of its calls.
        agents_human: match human {
            Human::Operator(_) => Human::Nobody,
            human => human,
        },
        events,
        ops: Ops { queue: ops, shared: Arc::clone(&shared) },
        shared: Arc::clone(&shared),
        agent_call: None,
        listener: None,
    };
    (core, ClientHandle { ops: sender, shared }, receiver)
}

impl ClientHandle {
    /// Sends an operation to the core. Answers, interrupts and quitting act at once, everything else is queued. An
    /// answer to a question that is no longer open does nothing.
    pub fn send(&self, op: Op) {
        match op {
            Op::Answer { ask, answer } => {
                if let Some(waiting) = held(&self.shared.open).waiting.remove(&ask) {
                    let _ = waiting.send(answer);
                }
            }
            Op::Interrupt => held(&self.shared.running).cancel(),
            Op::Quit => {
                self.shared.over.cancel();
                held(&self.shared.running).cancel();
            }
            op => {
                let _ = self.ops.send(op);
            }
        }
    }
}

impl CoreEnd {
    /// Who answers questions here.
    pub fn human(&self) -> Human {
        self.human
    }

    /// Sends an event to the front end. If it has disconnected, nothing is lost: the record has everything.
    pub fn tell(&self, event: Event) {
        if let Some(listener) = &self.listener {
            listener(&event);
        }
        // A question is not wrapped: its number is unique across agents, and the answer names only that.
        let event = match (&self.agent_call, event) {
            (None, event) | (Some(_), event @ (Event::Ask { .. } | Event::AskEnded { .. })) => {
                event
            }
            (Some(call), event) => Event::OfAgent { call: call.clone(), what: Box::new(event) },
        };
        let _ = self.events.send(event);
    }

    /// Shows a warning to the user.
    pub fn warn(&self, text: impl Into<String>) {
        self.tell(Event::Warning { text: text.into() });
    }

    /// The same front end, for a subagent. It receives no operations. A background agent has a listener and no
    /// human.
    pub fn for_agent(&self, call: &ToolUseId, listener: Option<Listener>) -> Self {
        let human = if listener.is_some() { Human::Nobody } else { self.agents_human };
        Self {
            human,
            agents_human: human,
            agent_call: Some(call.clone()),
            listener,
            ..self.another()
        }
    }

    /// Another end of the same channel. It receives no operations.
    #[must_use]
    pub fn another(&self) -> Self {
        Self {
            human: self.human,
            agents_human: self.agents_human,
            events: self.events.clone(),
            ops: self.no_ops(),
            shared: Arc::clone(&self.shared),
            agent_call: self.agent_call.clone(),
            listener: self.listener.clone(),
        }
    }

    /// The same end for calls of the user: every question is answered with yes. Agents that they start ask as
    /// before.
    #[must_use]
    pub fn for_operator(self, via: Via) -> Self {
        Self { human: Human::Operator(via), ..self }
    }

    /// The same end for a call that nobody asked for by name: its questions are those of an agent.
    #[must_use]
    pub fn for_agents_call(self) -> Self {
        Self { human: self.agents_human, ..self }
    }

    /// The next queued operation; `None` if there will be no more.
    pub async fn next(&mut self) -> Option<Op> {
        self.ops.next().await
    }

    /// The operations, for somebody else to read: here there will be no more.
    pub fn take_ops(&mut self) -> Ops {
        let none = self.no_ops();
        std::mem::replace(&mut self.ops, none)
    }

    fn no_ops(&self) -> Ops {
        let (_, queue) = mpsc::unbounded_channel();
        Ops { queue, shared: Arc::clone(&self.shared) }
    }

    /// The token that an interrupt cancels.
    pub fn running(&self) -> CancellationToken {
        held(&self.shared.running).clone()
    }

    /// Starts a new operation with a fresh token: an earlier interrupt does not stop it, unless the session must quit.
    pub fn begin(&self) -> CancellationToken {
        let mut running = held(&self.shared.running);
        if running.is_cancelled() && !self.shared.over.is_cancelled() {
            *running = CancellationToken::new();
        }
        running.clone()
    }

    /// Waits until what runs is to go on in the background. What an agent runs goes there with the agent.
    pub async fn asked_into_background(&self) {
        if self.agent_call.is_some() {
            std::future::pending::<()>().await;
        }
        let _movable = Movable::new(&self.shared);
        self.shared.background.notified().await;
    }

    /// Lets what runs go on in the background; `false` if nothing can.
    pub fn move_into_background(&self) -> bool {
        self.shared.background.notify_waiters();
        self.shared.movable.load(Ordering::SeqCst) > 0
    }

    /// Asks the human, and waits.
    pub async fn ask(&self, request: AskRequest, cancel: &CancellationToken) -> HumanAnswer {
        let (sender, receiver) = oneshot::channel();
        let ask = {
            let mut open = held(&self.shared.open);
            open.next += 1;
            let ask = open.next;
            open.waiting.insert(ask, sender);
            ask
        };
        let _open = OpenAsk { core: self, ask };
        self.tell(Event::Ask { ask, request: Box::new(request) });
        let answer = tokio::select! {
            answer = receiver => answer.ok(),
            () = self.events.closed() => None,
            // Nobody has decided anything.
            () = cancel.cancelled() => Some(HumanAnswer::unasked("interrupted")),
        };
        answer.unwrap_or_else(|| HumanAnswer::unasked("the front end has disconnected"))
    }
}

/// A question that is open. When nobody waits for its answer any more, whoever shows it is told.
struct OpenAsk<'c> {
    core: &'c CoreEnd,
    ask: u64,
}

impl Drop for OpenAsk<'_> {
    fn drop(&mut self) {
        let unanswered = held(&self.core.shared.open).waiting.remove(&self.ask).is_some();
        if unanswered {
            self.core.tell(Event::AskEnded { ask: self.ask });
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::Wants;

    fn question() -> AskRequest {
        AskRequest::new(Wants::Permission, "Bash", json!({}), "why")
    }

    #[tokio::test]
    async fn an_answer_reaches_the_question_it_is_for() {
        let (core, client, mut events) = channel(Human::Present);
        let cancel = core.running();
        let answer = async {
            let Some(Event::Ask { ask, .. }) = events.recv().await else { panic!() };
            client.send(Op::Answer { ask: ask + 1, answer: HumanAnswer::no("another") });
            client.send(Op::Answer { ask, answer: HumanAnswer::no("this one") });
        };
        let (said, ()) = tokio::join!(core.ask(question(), &cancel), answer);
        assert_eq!(said, HumanAnswer::no("this one"));
    }

    #[test]
    fn an_agent_is_not_the_operator() {
        let call = ToolUseId::from_existing("t");
        for (human, agents) in [
            (Human::Operator(Via::Eval), Human::Nobody),
            (Human::Nobody, Human::Nobody),
            (Human::Present, Human::Present),
        ] {
            let (core, ..) = channel(human);
            assert_eq!(core.for_agent(&call, None).human(), agents);
            let asked_for = core.another().for_operator(Via::Shell);
            assert_eq!(asked_for.human(), Human::Operator(Via::Shell));
            assert_eq!(
                asked_for.for_agent(&call, None).human(),
                agents,
                "also for what a user asks"
            );
        }
    }

    #[tokio::test]
    async fn after_the_order_to_quit_nothing_begins() {
        let (mut core, client, _events) = channel(Human::Nobody);
        client.send(Op::Continue);
        assert_eq!(core.next().await, Some(Op::Continue));
        client.send(Op::Continue);
        client.send(Op::Quit);
        assert_eq!(core.next().await, None, "what was asked for before included");
        assert!(core.begin().is_cancelled());
    }

    #[tokio::test]
    async fn an_interrupt_and_a_front_end_that_left_are_a_no() {
        let (core, client, events) = channel(Human::Present);
        let cancel = core.running();
        client.send(Op::Interrupt);
        let said = core.ask(question(), &cancel).await;
        assert_eq!(said, HumanAnswer::unasked("interrupted"), "nobody has said no");
        assert!(!core.begin().is_cancelled(), "the next thing is not interrupted");
        drop(events);
        let said = core.ask(question(), &core.begin()).await;
        assert_eq!(said, HumanAnswer::unasked("the front end has disconnected"));
    }
}
