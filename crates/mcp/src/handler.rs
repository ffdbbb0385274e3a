//! A tool set as `rmcp` wants it.

use std::sync::Arc;

use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use rmcp::service::RequestContext;
use rmcp::{ErrorData, RoleServer, ServerHandler};
use tracing::debug;

use crate::{Answer, ToolSet, ToolSpec, UnknownTool};

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

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tools = Arc::clone(&self.tools);
        let name = request.name.into_owned();
        debug!(target: "ona::mcp", tool = name, "called");
        let arguments = request.arguments.unwrap_or_default();
        let called = name.clone();
        let answered = tokio::task::spawn_blocking(move || tools.call(&called, arguments)).await;
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
                Err(ErrorData::invalid_params(format!("there is no tool `{name}`"), None))
            }
            Err(error) => Err(ErrorData::internal_error(error.to_string(), None)),
        }
    }
}

fn tool(spec: ToolSpec) -> Tool {
    let hints = ToolAnnotations::new()
        .read_only(spec.reads_only)
        .destructive(false)
        .idempotent(true)
        .open_world(false);
    Tool::new(spec.name, spec.description, Arc::new(spec.schema)).with_annotations(hints)
}
