//! One client, on standard input and output.

use std::sync::Arc;

use rmcp::service::{QuitReason, ServerInitializeError, serve_server_with_ct};
use rmcp::transport::io::stdio_pipes;
use tokio_util::sync::CancellationToken;

use crate::handler::Handler;
use crate::lines::Lines;
use crate::{ServeError, ToolSet};

/// Serves until the client closes its end, or until it is cancelled. Both are a good end.
pub async fn serve_stdio(
    tools: Arc<dyn ToolSet>,
    cancel: CancellationToken,
) -> Result<(), ServeError> {
    let (input, output) = stdio_pipes();
    let lines = Lines::new(input, output);
    let running = match serve_server_with_ct(Handler { tools }, lines, cancel).await {
        Ok(running) => running,
        // A client that goes away before it has said anything has done nothing wrong.
        Err(ServerInitializeError::ConnectionClosed(_) | ServerInitializeError::Cancelled) => {
            return Ok(());
        }
        Err(error) => return Err(ServeError::Client(error.to_string())),
    };
    match running.waiting().await {
        Ok(QuitReason::JoinError(error)) | Err(error) => Err(ServeError::Broken(error.to_string())),
        Ok(_) => Ok(()),
    }
}
