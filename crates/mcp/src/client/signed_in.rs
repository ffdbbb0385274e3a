//! Streamable HTTP with the tokens of a sign-in: a token is renewed before it ends, and once if the server refuses it.

use std::collections::HashMap;
use std::sync::Arc;

use futures_util::stream::BoxStream;
use reqwest::header::{HeaderName, HeaderValue};
use rmcp::model::ClientJsonRpcMessage;
use rmcp::transport::streamable_http_client::{
    SseError, StreamableHttpClient, StreamableHttpError, StreamableHttpPostResponse,
};
use sse_stream::Sse;

use super::oauth::Tokens;
use super::web::{Outcome, Web};

/// The way to a server that somebody has signed in to.
#[derive(Clone)]
pub(crate) struct SignedIn {
    pub(crate) web: Web,
    pub(crate) tokens: Arc<Tokens>,
}

impl SignedIn {
    /// Makes a request with the token that is good now, and again with a new one if the server refuses it.
    async fn call<T, F, Fut>(&self, request: F) -> Outcome<T>
    where
        F: Fn(Option<String>) -> Fut,
        Fut: Future<Output = Outcome<T>>,
    {
        let sent = self.tokens.current().await?;
        match (request(sent.clone()).await, sent) {
            (Err(StreamableHttpError::AuthRequired(challenge)), Some(sent)) => {
                match self.tokens.renewed(&sent).await? {
                    Some(new) => request(Some(new)).await,
                    None => Err(StreamableHttpError::AuthRequired(challenge)),
                }
            }
            (answer, _) => answer,
        }
    }
}

impl StreamableHttpClient for SignedIn {
    type Error = reqwest::Error;

    async fn post_message(
        &self,
        uri: Arc<str>,
        message: ClientJsonRpcMessage,
        session: Option<Arc<str>>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<StreamableHttpPostResponse> {
        self.call(|token| {
            let (uri, message) = (Arc::clone(&uri), message.clone());
            self.web.post_message(uri, message, session.clone(), token, headers.clone())
        })
        .await
    }

    async fn delete_session(
        &self,
        uri: Arc<str>,
        session: Arc<str>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<()> {
        self.call(|token| {
            self.web.delete_session(Arc::clone(&uri), Arc::clone(&session), token, headers.clone())
        })
        .await
    }

    async fn get_stream(
        &self,
        uri: Arc<str>,
        session: Option<Arc<str>>,
        last: Option<String>,
        _token: Option<String>,
        headers: HashMap<HeaderName, HeaderValue>,
    ) -> Outcome<BoxStream<'static, Result<Sse, SseError>>> {
        self.call(|token| {
            let (uri, last) = (Arc::clone(&uri), last.clone());
            self.web.get_stream(uri, session.clone(), last, token, headers.clone())
        })
        .await
    }
}
