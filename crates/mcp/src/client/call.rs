//! Requests to a server, with a time limit.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequest, CallToolRequestParams, CancelledNotification, CancelledNotificationParam,
    ClientRequest, DEFAULT_MRTR_MAX_ROUNDS, GetPromptRequestParams, InputRequest,
    InputRequiredResult, InputResponses, JsonObject, ProgressToken, ReadResourceRequestParams,
    RequestId, ServerRequest, ServerResult,
};
use rmcp::service::{Peer, PeerRequestOptions, RequestContext, Service as _, ServiceError};
use rmcp::{ErrorData, RoleClient};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::connect::Link;
use super::content::{CallOutcome, PromptMessage, ResourceContent, contents, messages, outcome};
use super::error::McpError;
use super::tap::{Listeners, OnProgress};

/// The time limit for sending a cancellation to a server.
const TELL_WITHIN: Duration = Duration::from_secs(1);
/// The wait before a request is repeated when the server only asks to repeat it.
const ROUND_PAUSE: Duration = Duration::from_millis(100);

/// How a tool is called.
#[derive(Clone, Default)]
pub struct CallOptions {
    /// Cancelled when the caller no longer waits for the answer.
    pub cancel: CancellationToken,
    /// Receives the progress of a call. It must not block.
    pub progress: Option<OnProgress>,
}

/// Something that is asked of a server.
pub(crate) struct Asking<'a> {
    pub(crate) server: &'a str,
    pub(crate) link: &'a Link,
    pub(crate) within: Duration,
    pub(crate) cancel: CancellationToken,
}

impl Asking<'_> {
    /// Calls a tool.
    pub(crate) async fn call(
        &self,
        tool: &str,
        arguments: JsonObject,
        progress: Option<OnProgress>,
    ) -> Result<CallOutcome, McpError> {
        let mut params = CallToolRequestParams::new(tool.to_owned()).with_arguments(arguments);
        let rounds = async {
            for _ in 0..DEFAULT_MRTR_MAX_ROUNDS {
                let mut request =
                    ClientRequest::CallToolRequest(CallToolRequest::new(params.clone()));
                if let Some(hears) = &progress {
                    Listeners::attach(&mut request, Arc::clone(hears));
                }
                match self.send(request).await? {
                    ServerResult::CallToolResult(result) => return Ok(outcome(result)),
                    ServerResult::InputRequiredResult(wanted) => {
                        params.request_state = wanted.request_state.clone();
                        params.input_responses = self.inputs(wanted).await?;
                    }
                    _ => return Err(ServiceError::UnexpectedResponse),
                }
            }
            Err(ServiceError::InputRequiredRoundsExceeded { max_rounds: DEFAULT_MRTR_MAX_ROUNDS })
        };
        self.in_time(rounds).await
    }

    /// Reads a resource.
    pub(crate) async fn read(&self, uri: &str) -> Result<Vec<ResourceContent>, McpError> {
        let params = ReadResourceRequestParams::new(uri);
        self.in_time(self.link.running.read_resource(params)).await.map(contents)
    }

    /// Has a prompt made.
    pub(crate) async fn prompt(
        &self,
        name: &str,
        arguments: JsonObject,
    ) -> Result<Vec<PromptMessage>, McpError> {
        let mut params = GetPromptRequestParams::new(name);
        params.arguments = (!arguments.is_empty()).then_some(arguments);
        self.in_time(self.link.running.get_prompt(params)).await.map(messages)
    }

    /// Sends a request, and waits for its answer. If this is dropped before that comes, the server is told.
    async fn send(&self, request: ClientRequest) -> Result<ServerResult, ServiceError> {
        let peer = self.link.running.peer();
        let options = PeerRequestOptions::no_options();
        let handle = peer.send_cancellable_request(request, options).await?;
        let mut waiting = Waiting {
            peer: peer.clone(),
            listeners: self.link.listeners.clone(),
            token: handle.progress_token.clone(),
            id: Some(handle.id.clone()),
            telling: self.link.telling.clone(),
        };
        let answer = handle.await_response().await;
        waiting.id = None;
        answer
    }

    /// Asks the human what a server wants to know before it answers.
    async fn inputs(
        &self,
        wanted: InputRequiredResult,
    ) -> Result<Option<InputResponses>, ServiceError> {
        let requests = wanted.input_requests.unwrap_or_default();
        if requests.is_empty() {
            tokio::time::sleep(ROUND_PAUSE).await;
            return Ok(None);
        }
        let mut responses = InputResponses::new();
        for (key, request) in requests {
            let request = match request {
                InputRequest::Elicitation(request) => ServerRequest::ElicitRequest(request),
                InputRequest::ListRoots(request) => ServerRequest::ListRootsRequest(request),
                _ => {
                    let said = "this client cannot answer what the server asks";
                    return Err(ServiceError::McpError(ErrorData::invalid_request(said, None)));
                }
            };
            let id = RequestId::String(key.as_str().into());
            let context = RequestContext::new(id, self.link.running.peer().clone());
            let answer = self.link.running.service().handle_request(request, context).await;
            let answer = serde_json::to_value(answer.map_err(ServiceError::McpError)?)
                .map_err(|_| ServiceError::UnexpectedResponse)?;
            responses.insert(key, answer);
        }
        Ok(Some(responses))
    }

    /// Waits up to the time limit. Time that the human takes to answer the server's own questions does not count.
    async fn in_time<T>(
        &self,
        asked: impl Future<Output = Result<T, ServiceError>>,
    ) -> Result<T, McpError> {
        tokio::pin!(asked);
        let mut asking = self.link.asking.clone();
        let mut left = self.within;
        loop {
            let since = Instant::now();
            let stands_still = *asking.borrow_and_update() > 0;
            tokio::select! {
                biased;
                answer = &mut asked => {
                    return answer.map_err(|error| McpError::of(self.server, error));
                }
                () = self.cancel.cancelled() => return Err(McpError::Cancelled),
                () = tokio::time::sleep(left), if !stands_still => {
                    let server = self.server.to_owned();
                    return Err(McpError::Timeout { server, after: self.within });
                }
                changed = asking.changed() => {
                    if changed.is_err() {
                        // The connection is over; the answer says so.
                        return asked.await.map_err(|error| McpError::of(self.server, error));
                    }
                    if !stands_still {
                        left = left.saturating_sub(since.elapsed());
                    }
                }
            }
        }
    }
}

/// A request that is waited for.
struct Waiting {
    peer: Peer<RoleClient>,
    listeners: Listeners,
    token: ProgressToken,
    id: Option<RequestId>,
    telling: TaskTracker,
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.listeners.detach(&self.token);
        let (Some(id), Ok(runtime)) = (self.id.take(), tokio::runtime::Handle::try_current())
        else {
            return;
        };
        let peer = self.peer.clone();
        let tell = async move {
            let why = "the caller no longer waits for the answer".to_owned();
            let params = CancelledNotificationParam::new(Some(id), Some(why));
            let told = peer.send_notification(CancelledNotification::new(params).into());
            let _ = tokio::time::timeout(TELL_WITHIN, told).await;
        };
        self.telling.spawn_on(tell, &runtime);
    }
}
