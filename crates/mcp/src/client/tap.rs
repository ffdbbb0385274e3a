//! Between the library and a server: steps of progress are handed on as they come, lists that changed are marked, and the
//! end of a connection is told.
//!
//! The library would hand each of these to a task of its own, after which neither their order is kept nor that they come
//! before the answer. It would also take in requests without end from a server that reads none of the answers; here only
//! a limited number is open at a time. And an unreadable message that cannot be matched to a
//! request is reported to all open requests.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};
use std::sync::{Arc, Mutex, PoisonError};

use rmcp::RoleClient;
use rmcp::model::{
    ClientNotification, ClientRequest, GetExtensions as _, GetMeta as _, JsonRpcMessage,
    ProgressNotificationParam, ProgressToken, RequestId, ServerNotification,
};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio_util::sync::{CancellationToken, DropGuard};
use tracing::debug;

use super::stale::Stale;
use super::unread::UNREADABLE;
use crate::Progress;

/// The limit for unanswered requests of a server; further ones are ignored.
const MAX_OPEN: usize = 256;

/// Hears how far a call got. It must not wait for anything.
pub type OnProgress = Arc<dyn Fn(Progress) + Send + Sync>;

/// The progress listeners by request.
#[derive(Clone, Default)]
pub(crate) struct Listeners(Arc<Mutex<HashMap<ProgressToken, Listener>>>);

struct Listener {
    hears: OnProgress,
    so_far: f64,
}

/// Goes along with a request, and is found when that is sent: its token is known only then.
#[derive(Clone)]
struct Hears(OnProgress);

impl Listeners {
    /// Registers a progress listener for a request that will be sent.
    pub(crate) fn attach(request: &mut ClientRequest, hears: OnProgress) {
        request.extensions_mut().insert(Hears(hears));
    }

    /// Removes the listener.
    pub(crate) fn detach(&self, token: &ProgressToken) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(token);
    }

    fn sent(&self, message: &TxJsonRpcMessage<RoleClient>) {
        let JsonRpcMessage::Request(request) = message else { return };
        let Some(Hears(hears)) = request.request.extensions().get::<Hears>() else { return };
        let Some(token) = request.request.get_meta().get_progress_token() else { return };
        let listener = Listener { hears: Arc::clone(hears), so_far: f64::NEG_INFINITY };
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(token, listener);
    }

    fn received(&self, said: ProgressNotificationParam) {
        let mut listeners = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(listener) = listeners.get_mut(&said.progress_token) else { return };
        // Progress must increase; other steps are ignored.
        if said.progress > listener.so_far {
            listener.so_far = said.progress;
            let hears = Arc::clone(&listener.hears);
            drop(listeners);
            hears(Progress { done: said.progress, total: said.total, message: said.message });
        }
    }
}

/// Requests of a server whose answers it has not read yet.
#[derive(Clone, Default)]
struct Open(Arc<Mutex<HashSet<RequestId>>>);

impl Open {
    /// Whether a request is accepted. A second one with the same id is not.
    fn add(&self, id: &RequestId) -> bool {
        let mut open = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        open.len() < MAX_OPEN && open.insert(id.clone())
    }

    fn remove(&self, id: Option<&RequestId>) {
        if let Some(id) = id {
            self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(id);
        }
    }
}

/// A transport that is listened to.
pub(crate) struct Tap<T> {
    inner: T,
    listeners: Listeners,
    stale: Arc<Stale>,
    open: Open,
    /// Requests of ours that are not answered yet.
    asked: HashSet<RequestId>,
    /// What is handed on before anything else is heard.
    next: VecDeque<RxJsonRpcMessage<RoleClient>>,
    _gone: DropGuard,
}

impl<T> Tap<T> {
    /// `gone` is cancelled when the library has let go of the transport.
    pub(crate) fn new(
        inner: T,
        listeners: Listeners,
        stale: Arc<Stale>,
        gone: CancellationToken,
    ) -> Self {
        let (open, asked, next) = (Open::default(), HashSet::new(), VecDeque::new());
        Self { inner, listeners, stale, open, asked, next, _gone: gone.drop_guard() }
    }
}

impl<T: Transport<RoleClient> + 'static> Transport<RoleClient> for Tap<T> {
    type Error = T::Error;

    fn name() -> Cow<'static, str> {
        T::name()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), T::Error>> + Send + 'static {
        self.listeners.sent(&message);
        let answered = match &message {
            JsonRpcMessage::Response(answer) => Some(answer.id.clone()),
            JsonRpcMessage::Error(answer) => answer.id.clone(),
            JsonRpcMessage::Request(request) => {
                self.asked.insert(request.id.clone());
                None
            }
            JsonRpcMessage::Notification(said) => {
                // What is taken back is not waited for.
                if let ClientNotification::CancelledNotification(said) = &said.notification {
                    said.params.request_id.as_ref().map(|id| self.asked.remove(id));
                }
                None
            }
        };
        let (open, sent) = (self.open.clone(), self.inner.send(message));
        async move {
            let sent = sent.await;
            open.remove(answered.as_ref());
            sent
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            if let Some(message) = self.next.pop_front() {
                return Some(message);
            }
            match self.inner.receive().await? {
                JsonRpcMessage::Notification(message) => match message.notification {
                    ServerNotification::ProgressNotification(said) => {
                        self.listeners.received(said.params);
                    }
                    notification => {
                        self.stale.hear(&notification);
                        // What is taken back is not answered.
                        if let ServerNotification::CancelledNotification(said) = &notification {
                            self.open.remove(said.params.request_id.as_ref());
                        }
                        return Some(JsonRpcMessage::notification(notification));
                    }
                },
                JsonRpcMessage::Request(request) if !self.open.add(&request.id) => {
                    debug!(target: "ona::mcp", id = %request.id, "a request too many");
                }
                JsonRpcMessage::Error(said)
                    if said.id.is_none() && said.error.code.0 == UNREADABLE =>
                {
                    let all = self.asked.drain();
                    self.next
                        .extend(all.map(|id| JsonRpcMessage::error(said.error.clone(), Some(id))));
                }
                message => {
                    match &message {
                        JsonRpcMessage::Response(answer) => self.asked.remove(&answer.id),
                        JsonRpcMessage::Error(answer) => {
                            answer.id.as_ref().is_some_and(|id| self.asked.remove(id))
                        }
                        _ => false,
                    };
                    return Some(message);
                }
            }
        }
    }

    async fn close(&mut self) -> Result<(), T::Error> {
        self.inner.close().await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_requests_are_open() {
        let open = Open::default();
        let id = |n: usize| RequestId::Number(n as i64);
        assert!((0..MAX_OPEN).all(|n| open.add(&id(n))));
        assert!(!open.add(&id(MAX_OPEN)), "one too many");
        open.remove(Some(&id(7)));
        open.remove(None);
        assert!(open.add(&id(MAX_OPEN)), "there is room again");
        open.remove(Some(&id(1)));
        assert!(!open.add(&id(2)), "it is open already");
    }
}
