//! Messages as lines of text: one client on a pipe. An invalid message is answered with its JSON-RPC error.

use std::io;

use rmcp::RoleServer;
use rmcp::model::{ClientJsonRpcMessage, ServerJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{
    AsyncBufRead, AsyncBufReadExt as _, AsyncRead, AsyncWrite, AsyncWriteExt as _, BufReader,
};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tracing::debug;

use crate::MAX_MESSAGE;
use crate::message::{fault, unreadable};

/// Messages that wait to be handled, and lines that wait to be written.
const MAX_WAITING: usize = 16;

/// A client behind a pair of pipes.
pub(crate) struct Lines {
    heard: mpsc::Receiver<ClientJsonRpcMessage>,
    said: Option<mpsc::Sender<String>>,
    reader: JoinHandle<()>,
    writer: Option<JoinHandle<()>>,
}

impl Lines {
    pub(crate) fn new(
        input: impl AsyncRead + Send + Unpin + 'static,
        output: impl AsyncWrite + Send + Unpin + 'static,
    ) -> Self {
        let (hear, heard) = mpsc::channel(MAX_WAITING);
        let (said, saying) = mpsc::channel(MAX_WAITING);
        let reader = tokio::spawn(read(BufReader::new(input), hear, said.clone()));
        let writer = tokio::spawn(write(output, saying));
        Self { heard, said: Some(said), reader, writer: Some(writer) }
    }
}

impl Transport<RoleServer> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: ServerJsonRpcMessage,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let said = self.said.clone();
        async move {
            let line = serde_json::to_string(&message)?;
            let closed = || io::Error::from(io::ErrorKind::NotConnected);
            said.ok_or_else(closed)?.send(line).await.map_err(|_| closed())
        }
    }

    async fn receive(&mut self) -> Option<ClientJsonRpcMessage> {
        self.heard.recv().await
    }

    async fn close(&mut self) -> io::Result<()> {
        // It may wait for a line that does not come.
        self.reader.abort();
        self.said = None;
        match self.writer.take() {
            Some(writer) => writer.await.map_err(io::Error::other),
            None => Ok(()),
        }
    }
}

/// Passes on every message, and answers invalid ones.
async fn read(
    mut input: impl AsyncBufRead + Unpin,
    hear: mpsc::Sender<ClientJsonRpcMessage>,
    said: mpsc::Sender<String>,
) {
    while let Some(line) = next_line(&mut input).await {
        let line = line.trim_ascii();
        if line.is_empty() {
            continue;
        }
        let answer = match fault(line) {
            Some(answer) => Some(answer),
            None => match serde_json::from_slice(line) {
                Ok(message) => {
                    if hear.send(message).await.is_err() {
                        return;
                    }
                    continue;
                }
                Err(error) => unreadable(line, &error),
            },
        };
        if let Some(answer) = answer
            && said.send(answer.to_string()).await.is_err()
        {
            return;
        }
    }
}

/// The next whole line; `None` at the end. A line above the limit is left out.
async fn next_line(input: &mut (impl AsyncBufRead + Unpin)) -> Option<Vec<u8>> {
    let (mut line, mut is_too_long) = (Vec::new(), false);
    loop {
        let available = match input.fill_buf().await {
            Ok([]) => return None,
            Ok(available) => available,
            Err(error) => {
                debug!(target: "ona::mcp", %error, "the client cannot be read");
                return None;
            }
        };
        let end = available.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(available.len(), |end| end + 1);
        is_too_long |= line.len() + taken > MAX_MESSAGE;
        match is_too_long {
            true => line.clear(),
            false => line.extend_from_slice(&available[..taken]),
        }
        input.consume(taken);
        match end {
            Some(_) if is_too_long => {
                debug!(target: "ona::mcp", "a message is too large, and was left out");
                is_too_long = false;
            }
            Some(_) => return Some(line),
            None => {}
        }
    }
}

async fn write(mut output: impl AsyncWrite + Unpin, mut saying: mpsc::Receiver<String>) {
    while let Some(mut line) = saying.recv().await {
        line.push('\n');
        let written = match output.write_all(line.as_bytes()).await {
            Ok(()) => output.flush().await,
            Err(error) => Err(error),
        };
        if let Err(error) = written {
            debug!(target: "ona::mcp", %error, "the client cannot be answered");
            return;
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[tokio::test]
    async fn messages_are_passed_on_and_others_answered() {
        let (near, far) = tokio::io::duplex(1 << 16);
        let (input, output) = tokio::io::split(far);
        let mut lines = Lines::new(input, output);
        let (answers, mut client) = tokio::io::split(near);
        let huge = "x".repeat(MAX_MESSAGE + 1);
        let sending = tokio::spawn(async move {
            let ping = r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#;
            let text = format!("{{\n\n{huge}\r\n[]\r\n{ping}\r\n{{\"jsonrpc\"");
            client.write_all(text.as_bytes()).await.unwrap();
            client.shutdown().await.unwrap();
        });
        let ping = serde_json::to_value(lines.receive().await.unwrap()).unwrap();
        assert_eq!((&ping["id"], &ping["method"]), (&json!(1), &json!("ping")));
        assert!(lines.receive().await.is_none(), "half a message is not a message");
        sending.await.unwrap();
        lines.close().await.unwrap();
        drop(lines);
        let mut answers = BufReader::new(answers).lines();
        let mut codes = Vec::new();
        while let Some(line) = answers.next_line().await.unwrap() {
            let answer: Value = serde_json::from_str(&line).unwrap();
            codes.push(answer["error"]["code"].clone());
        }
        assert_eq!(codes, [-32700, -32600]);
    }
}
