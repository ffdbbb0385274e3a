//! Requests to the authorization server. No redirect is followed.

use std::pin::Pin;
use std::time::Duration;

use oauth2::{AsyncHttpClient, HttpRequest, HttpResponse};
use url::Url;

use super::OauthError;

/// The limit for an answer.
const MAX_ANSWER: usize = 256 * 1024;

/// Why a request failed.
#[derive(Debug, thiserror::Error)]
pub(super) enum HttpError {
    #[error("{0}")]
    Failed(String),
    #[error("no answer within {} s", .0.as_secs_f32())]
    Late(Duration),
    #[error("its status is {0}{redirect}", redirect = if (300..400).contains(.0) { ", and redirects are not followed" } else { "" })]
    Status(u16),
    #[error("it is larger than {MAX_ANSWER} bytes")]
    TooLarge,
}

/// The way to the server.
pub(super) struct Http {
    client: reqwest::Client,
    answer_within: Duration,
}

impl Http {
    pub(super) fn new(answer_within: Duration) -> Result<Self, OauthError> {
        let client = ona_http::client()
            .user_agent(concat!("ona/", env!("CARGO_PKG_VERSION")))
            .timeout(answer_within)
            .redirect(reqwest::redirect::Policy::none())
            .build();
        let client = client.map_err(|error| OauthError::Request(error.to_string()))?;
        Ok(Self { client, answer_within })
    }

    /// Sends a form; any other answer than success is an error.
    pub(super) async fn post(&self, url: &Url, form: String) -> Result<(), HttpError> {
        let sent = self.client.post(url.clone());
        let sent = sent.header("content-type", "application/x-www-form-urlencoded").body(form);
        let answer = sent.send().await.map_err(|error| self.failed(error))?;
        match answer.status() {
            status if status.is_success() => Ok(()),
            status => Err(HttpError::Status(status.as_u16())),
        }
    }

    async fn ask(&self, request: HttpRequest) -> Result<HttpResponse, reqwest::Error> {
        let mut response = self.client.execute(reqwest::Request::try_from(request)?).await?;
        let mut made = HttpResponse::new(Vec::new());
        *made.status_mut() = response.status();
        *made.headers_mut() = response.headers().clone();
        while let Some(chunk) = response.chunk().await? {
            made.body_mut().extend_from_slice(&chunk);
            if made.body().len() > MAX_ANSWER {
                break;
            }
        }
        Ok(made)
    }

    /// The cause in a few words, without the address.
    fn failed(&self, error: reqwest::Error) -> HttpError {
        if error.is_timeout() {
            return HttpError::Late(self.answer_within);
        }
        let error = error.without_url();
        let mut cause: &dyn std::error::Error = &error;
        while let Some(deeper) = cause.source() {
            cause = deeper;
        }
        HttpError::Failed(cause.to_string())
    }
}

/// Whether an answer is an error in the words of OAuth.
fn says_why(answer: &HttpResponse) -> bool {
    let said = serde_json::from_slice::<serde_json::Value>(answer.body()).unwrap_or_default();
    said["error"].is_string()
}

impl<'c> AsyncHttpClient<'c> for Http {
    type Error = HttpError;
    type Future = Pin<Box<dyn Future<Output = Result<HttpResponse, HttpError>> + Send + 'c>>;

    fn call(&'c self, request: HttpRequest) -> Self::Future {
        Box::pin(async move {
            let answer = self.ask(request).await.map_err(|error| self.failed(error))?;
            if answer.body().len() > MAX_ANSWER {
                return Err(HttpError::TooLarge);
            }
            if !answer.status().is_success() && !says_why(&answer) {
                return Err(HttpError::Status(answer.status().as_u16()));
            }
            Ok(answer)
        })
    }
}
