//! Messages on the standard streams of a program: a line each.

use std::borrow::Cow;

use futures_util::StreamExt as _;
use rmcp::RoleClient;
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use rmcp::transport::async_rw::AsyncRwTransport;
use tokio::io::Empty;
use tokio::process::{ChildStdin, ChildStdout};
use tokio_util::io::ReaderStream;

use super::bound::{Bounded, Frame, MAX_RESPONSE, Noise};
use super::unread::read;

/// The library writes; what it would read it would also drop without a word, so that is done here.
pub(crate) struct Pipe {
    lines: Bounded<ReaderStream<ChildStdout>>,
    writer: AsyncRwTransport<RoleClient, Empty, ChildStdin>,
    noise: Noise,
}

impl Pipe {
    /// `noise` receives the first line that is not a message.
    pub(crate) fn new(output: ChildStdout, input: ChildStdin, noise: &Noise) -> Self {
        let lines = ReaderStream::new(output);
        Self {
            lines: Bounded::new(lines, Frame::Line, MAX_RESPONSE, noise.clone()),
            writer: AsyncRwTransport::new_client(tokio::io::empty(), input),
            noise: noise.clone(),
        }
    }
}

impl Transport<RoleClient> for Pipe {
    type Error = std::io::Error;

    fn name() -> Cow<'static, str> {
        "stdio".into()
    }

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = Result<(), Self::Error>> + Send + 'static {
        self.writer.send(message)
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        loop {
            let line = self.lines.next().await?.ok()?;
            match read(&line) {
                Some(message) => return Some(message),
                None => self.noise.hear(&line),
            }
        }
    }

    async fn close(&mut self) -> Result<(), Self::Error> {
        self.writer.close().await
    }
}
