//! Adapts a [`ToolSet`] to the `rmcp` library.

use std::sync::Arc;
use std::time::Duration;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, CustomRequest,
    CustomResult, ErrorCode, Implementation, ListToolsResult, PaginatedRequestParams,
    ProgressNotificationParam, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::Value;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::debug;

use crate::{Answer, Call, Progress, ToolSet, ToolSpec, UnknownTool};

/// The limit for progress steps that wait to be sent; further ones are dropped.
const MAX_STEPS: usize = 64;
/// How long an answer waits for earlier progress steps.
const STEPS_WITHIN: Duration = Duration::from_secs(1);

/// Answers requests of one client.
#[derive(Clone)]
pub(crate) struct Handler {
    pub(crate) tools: Arc<dyn ToolSet>,
}

impl ServerHandler for Handler {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let own = Implementation::new(self.tools.name(), self.tools.version());
        ServerConfig::new(capabilities)
            .with_server_info(own)
            .with_instructions(self.tools.instructions())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(self.tools.tools().into_iter().map(tool).collect()))
    }

    /// What the library cannot read as the method that it names ends up here too.
    async fn on_custom_request(
        &self,
        request: CustomRequest,
        _context: RequestContext<RoleServer>,
    ) -> Result<CustomResult, ErrorData> {
        let method = request.method;
        let why = match method.as_str() {
            "tools/call" => wrong_call(request.params.as_ref()),
            "initialize" | "ping" | "tools/list" => "its `params` do not fit",
            _ => {
                let unknown = format!("unknown method `{method}`");
                return Err(ErrorData::new(ErrorCode::METHOD_NOT_FOUND, unknown, None));
            }
        };
        Err(ErrorData::invalid_params(format!("{method}: {why}"), None))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let name = request.name.into_owned();
        debug!(target: "ona::mcp", tool = name, "called");
        let (progress, steps) = Reporter::new(&context);
        let call = Call {
            name: name.clone(),
            arguments: request.arguments.unwrap_or_default(),
            cancel: context.ct.clone(),
            progress,
        };
        // A task of its own: a tool that panics is an answer too.
        let answered = tokio::spawn(Arc::clone(&self.tools).call(call)).await;
        if let Some(steps) = steps {
            // What was said before the answer is heard before it.
            let _ = tokio::time::timeout(STEPS_WITHIN, steps).await;
        }
        match answered {
            Ok(Ok(Answer { texts, is_error })) => {
                let blocks: Vec<ContentBlock> = texts.into_iter().map(ContentBlock::text).collect();
                let result = match is_error {
                    true => CallToolResult::error(blocks),
                    false => CallToolResult::success(blocks),
                };
                Ok(result.into())
            }
            Ok(Err(UnknownTool)) => {
                Err(ErrorData::invalid_params(format!("unknown tool `{name}`"), None))
            }
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

/// Reports the progress of a call to a client that wants it. It never waits: steps that a slow client does not read are
/// dropped.
#[derive(Debug)]
pub struct Reporter(Option<mpsc::Sender<Progress>>);

impl Reporter {
    /// For the call of this context, and the task that sends what is reported; that one ends with the reporter.
    fn new(context: &RequestContext<RoleServer>) -> (Self, Option<JoinHandle<()>>) {
        let Some(token) = context.meta.get_progress_token() else { return (Self(None), None) };
        let (sender, mut steps) = mpsc::channel::<Progress>(MAX_STEPS);
        let peer = context.peer.clone();
        let forwarding = tokio::spawn(async move {
            while let Some(step) = steps.recv().await {
                let mut said = ProgressNotificationParam::new(token.clone(), step.done);
                said.total = step.total;
                said.message = step.message;
                if peer.notify_progress(said).await.is_err() {
                    return;
                }
            }
        });
        (Self(Some(sender)), Some(forwarding))
    }

    /// Reports progress. Each step has to be further than the one before.
    pub fn report(&self, step: Progress) {
        if let Some(sender) = &self.0 {
            let _ = sender.try_send(step);
        }
    }
}

/// What is wrong with the parameters of a call.
fn wrong_call(params: Option<&Value>) -> &'static str {
    let field = |key: &str| params.and_then(|params| params.get(key));
    match (field("name"), field("arguments")) {
        (None, _) => "`name` is missing",
        (Some(name), _) if !name.is_string() => "`name` must be a text",
        (_, Some(arguments)) if !arguments.is_object() => "`arguments` must be an object",
        _ => "its `params` do not fit",
    }
}

fn tool(spec: ToolSpec) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(spec.hints.reads_only)
        .destructive(spec.hints.destructive)
        .idempotent(spec.hints.idempotent)
        .open_world(spec.hints.open_world);
    Tool::new(spec.name, spec.description, Arc::new(spec.schema)).with_annotations(hints)
}

#[cfg(test)]
mod tests {
    use std::sync::Mutex;

    use rmcp::model::{ClientRequest, PingRequest};
    use rmcp::service::{NotificationContext, PeerRequestOptions};
    use rmcp::{ClientHandler, RoleClient, ServiceExt as _};
    use serde_json::Map;

    use super::*;
    use crate::BoxFuture;

    /// One tool that reports steps, one that waits to be cancelled, one that panics.
    #[derive(Default)]
    struct Tools {
        cancelled: tokio::sync::Notify,
    }

    impl ToolSet for Tools {
        fn name(&self) -> &str {
            "tools"
        }

        fn version(&self) -> &str {
            "1"
        }

        fn instructions(&self) -> &str {
            ""
        }

        fn tools(&self) -> Vec<ToolSpec> {
            let named = |name: String| ToolSpec {
                name: name.into(),
                description: "A tool".into(),
                schema: Map::new(),
                hints: crate::Hints::READS,
            };
            vec![named("st".to_owned() + "eps")]
        }

        fn call(self: Arc<Self>, call: Call) -> BoxFuture<'static, Result<Answer, UnknownTool>> {
            Box::pin(async move {
                match call.name.as_str() {
                    "steps" => {
                        for done in [1.0, 2.0] {
                            let message = Some(format!("step {done}"));
                            call.progress.report(Progress { done, total: Some(2.0), message });
                        }
                    }
                    "waits" => {
                        call.cancel.cancelled().await;
                        self.cancelled.notify_one();
                    }
                    "panics" => panic!("as it was told"),
                    _ => return Err(UnknownTool),
                }
                Ok(Answer { texts: vec!["done".to_owned()], is_error: false })
            })
        }
    }

    #[derive(Clone, Default)]
    struct Client(Arc<Mutex<Vec<String>>>);

    impl ClientHandler for Client {
        async fn on_progress(
            &self,
            said: ProgressNotificationParam,
            _context: NotificationContext<RoleClient>,
        ) {
            self.0.lock().unwrap().push(said.message.unwrap());
        }
    }

    #[tokio::test]
    async fn calls_report_steps_are_cancelled_and_may_panic() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let tools = Arc::new(Tools::default());
        let handler = Handler { tools: Arc::<Tools>::clone(&tools) };
        tokio::spawn(async move { handler.serve(far).await.unwrap().waiting().await });
        let heard = Client::default();
        let client = heard.clone().serve(near).await.unwrap();
        assert_eq!(client.list_all_tools().await.unwrap()[0].name, "steps");

        client.call_tool(CallToolRequestParams::new("steps")).await.unwrap();
        let ping = ClientRequest::PingRequest(PingRequest::default());
        client.send_request(ping).await.unwrap();
        let mut steps = heard.0.lock().unwrap().clone();
        steps.sort();
        assert_eq!(steps, ["step 1", "step 2"]);

        let waits = rmcp::model::CallToolRequest::new(CallToolRequestParams::new("waits"));
        let request = ClientRequest::CallToolRequest(waits);
        let options = PeerRequestOptions::no_options();
        let handle = client.send_cancellable_request(request, options).await.unwrap();
        handle.cancel(None).await.unwrap();
        tools.cancelled.notified().await;

        let broken = client.call_tool(CallToolRequestParams::new("panics")).await.unwrap_err();
        assert!(broken.to_string().contains("panic"), "{broken}");
        let unknown = client.call_tool(CallToolRequestParams::new("other")).await.unwrap_err();
        assert!(unknown.to_string().contains("unknown tool `other`"), "{unknown}");
    }
}
