//! The core's side of the table: events go out, operations come in.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use ona_types::{AskRequest, Event, HumanAnswer, Op, ToolUseId};
use tokio::sync::{mpsc, oneshot};
use tokio_util::sync::CancellationToken;

use crate::crew::AgentLog;

/// Who stands behind a session, for what the rules say to ask.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Human {
    /// The operator calls the tool directly (`--eval`): whatever would be asked is a yes.
    Operator,
    /// Nobody: whatever would be asked is a no.
    Nobody,
    /// Somebody who answers [`Event::Ask`].
    Present,
}

/// What the core holds.
#[derive(Debug)]
pub struct Front {
    pub(crate) human: Human,
    events: mpsc::UnboundedSender<Event>,
    orders: mpsc::UnboundedReceiver<Op>,
    shared: Arc<Shared>,
    /// The call whose agent speaks here, if one does.
    of: Option<ToolUseId>,
    /// Where what it does is noted down.
    log: Option<Arc<AgentLog>>,
}

/// What a front-end holds to speak to the core.
#[derive(Clone, Debug)]
pub struct Remote {
    orders: mpsc::UnboundedSender<Op>,
    shared: Arc<Shared>,
}

#[derive(Debug, Default)]
struct Shared {
    open: Mutex<Open>,
    going_on: Mutex<CancellationToken>,
    /// Nothing more begins.
    over: CancellationToken,
}

/// Questions nobody has answered yet.
#[derive(Debug, Default)]
struct Open {
    next: u64,
    waiting: HashMap<u64, oneshot::Sender<HumanAnswer>>,
}

fn held<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Both sides of a table.
pub fn table(human: Human) -> (Front, Remote, mpsc::UnboundedReceiver<Event>) {
    let (events, receiver) = mpsc::unbounded_channel();
    let (sender, orders) = mpsc::unbounded_channel();
    let shared = Arc::new(Shared::default());
    let front = Front { human, events, orders, shared: Arc::clone(&shared), of: None, log: None };
    (front, Remote { orders: sender, shared }, receiver)
}

impl Remote {
    /// Hands an operation to the core. Answers, interrupts and the order to quit act at once, everything else in its turn. An
    /// answer to a question that is no longer open does nothing.
    pub fn send(&self, op: Op) {
        match op {
            Op::Answer { ask, answer } => {
                if let Some(waiting) = held(&self.shared.open).waiting.remove(&ask) {
                    let _ = waiting.send(answer);
                }
            }
            Op::Interrupt => held(&self.shared.going_on).cancel(),
            Op::Quit => {
                self.shared.over.cancel();
                held(&self.shared.going_on).cancel();
            }
            Op::Submit { .. } | Op::GoOn | Op::Compact { .. } | Op::End => {
                let _ = self.orders.send(op);
            }
        }
    }
}

impl Front {
    /// Tells the front-end something. One that has gone away misses nothing that is not on the record.
    pub(crate) fn tell(&self, event: Event) {
        if let Some(log) = &self.log {
            log.hear(&event);
        }
        // Whoever is asked answers by the number alone, whoever asks.
        let event = match (&self.of, event) {
            (None, event) | (Some(_), event @ Event::Ask { .. }) => event,
            (Some(call), event) => Event::OfAgent { call: call.clone(), what: Box::new(event) },
        };
        let _ = self.events.send(event);
    }

    /// The same table, for an agent that a call started. It takes no orders; in the background there is nobody to
    /// ask.
    pub(crate) fn for_agent(&self, call: &ToolUseId, log: Option<Arc<AgentLog>>) -> Self {
        let (_, orders) = mpsc::unbounded_channel();
        Self {
            human: if log.is_some() { Human::Nobody } else { self.human },
            events: self.events.clone(),
            orders,
            shared: Arc::clone(&self.shared),
            of: Some(call.clone()),
            log,
        }
    }

    /// The same place at the same table.
    pub(crate) fn beside(&self) -> Self {
        let (_, orders) = mpsc::unbounded_channel();
        Self {
            human: self.human,
            events: self.events.clone(),
            orders,
            shared: Arc::clone(&self.shared),
            of: self.of.clone(),
            log: self.log.clone(),
        }
    }

    /// The next operation in its turn; nothing if there will be none.
    pub(crate) async fn next(&mut self) -> Option<Op> {
        tokio::select! {
            biased;
            () = self.shared.over.cancelled() => None,
            op = self.orders.recv() => op,
        }
    }

    /// What an interrupt would end.
    pub(crate) fn going_on(&self) -> CancellationToken {
        held(&self.shared.going_on).clone()
    }

    /// Something new begins: an interrupt that ended what came before does not end this, unless it was the last.
    pub(crate) fn begin(&self) -> CancellationToken {
        let mut going_on = held(&self.shared.going_on);
        if going_on.is_cancelled() && !self.shared.over.is_cancelled() {
            *going_on = CancellationToken::new();
        }
        going_on.clone()
    }

    /// Asks the human, and waits.
    pub(crate) async fn ask(&self, request: AskRequest, cancel: &CancellationToken) -> HumanAnswer {
        let (sender, receiver) = oneshot::channel();
        let ask = {
            let mut open = held(&self.shared.open);
            open.next += 1;
            let ask = open.next;
            open.waiting.insert(ask, sender);
            ask
        };
        self.tell(Event::Ask { ask, request });
        let answer = tokio::select! {
            answer = receiver => answer.ok(),
            () = self.events.closed() => None,
            () = cancel.cancelled() => {
                Some(HumanAnswer::Deny { feedback: "interrupted".to_owned(), stop: true })
            }
        };
        held(&self.shared.open).waiting.remove(&ask);
        answer.unwrap_or_else(|| HumanAnswer::no("whoever was asked has gone away"))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn question() -> AskRequest {
        AskRequest {
            tool: "Bash".into(),
            input: json!({}),
            reason: "why".into(),
            suggestions: Vec::new(),
        }
    }

    #[tokio::test]
    async fn an_answer_reaches_the_question_it_is_for() {
        let (front, remote, mut events) = table(Human::Present);
        let cancel = front.going_on();
        let answer = async {
            let Some(Event::Ask { ask, .. }) = events.recv().await else { panic!() };
            remote.send(Op::Answer { ask: ask + 1, answer: HumanAnswer::no("another") });
            remote.send(Op::Answer { ask, answer: HumanAnswer::no("this one") });
        };
        let (said, ()) = tokio::join!(front.ask(question(), &cancel), answer);
        assert_eq!(said, HumanAnswer::no("this one"));
    }

    #[tokio::test]
    async fn after_the_order_to_quit_nothing_begins() {
        let (mut front, remote, _events) = table(Human::Nobody);
        remote.send(Op::GoOn);
        assert_eq!(front.next().await, Some(Op::GoOn));
        remote.send(Op::GoOn);
        remote.send(Op::Quit);
        assert_eq!(front.next().await, None, "what was asked for before included");
        assert!(front.begin().is_cancelled());
    }

    #[tokio::test]
    async fn an_interrupt_and_a_front_end_that_left_are_a_no() {
        let (front, remote, events) = table(Human::Present);
        let cancel = front.going_on();
        remote.send(Op::Interrupt);
        let said = front.ask(question(), &cancel).await;
        assert_eq!(said, HumanAnswer::Deny { feedback: "interrupted".into(), stop: true });
        assert!(!front.begin().is_cancelled(), "the next thing is not interrupted");
        drop(events);
        let said = front.ask(question(), &front.begin()).await;
        assert_eq!(said, HumanAnswer::no("whoever was asked has gone away"));
    }
}
