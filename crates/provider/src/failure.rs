//! Failures of a request, in the closed words of S0 §11 (StopFailure).

use std::fmt;
use std::time::Duration;

use serde_json::Value;

use crate::credential::CredentialError;
use crate::http::ConfigurationError;

/// StopFailure's `error`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs, reason = "the names are those of S0 §11 and say all there is")]
pub enum FailureWord {
    AuthenticationFailed,
    BillingError,
    RateLimit,
    InvalidRequest,
    ServerError,
    Unknown,
    MaxOutputTokens,
}

impl FailureWord {
    /// Every word, in the order of S0 §11.
    pub const ALL: [(FailureWord, &'static str); 7] = [
        (FailureWord::AuthenticationFailed, "authentication_failed"),
        (FailureWord::BillingError, "billing_error"),
        (FailureWord::RateLimit, "rate_limit"),
        (FailureWord::InvalidRequest, "invalid_request"),
        (FailureWord::ServerError, "server_error"),
        (FailureWord::Unknown, "unknown"),
        (FailureWord::MaxOutputTokens, "max_output_tokens"),
    ];

    /// The word.
    pub fn as_str(self) -> &'static str {
        Self::ALL[self as usize].1
    }

    /// The word for an HTTP status.
    fn of_status(status: u16) -> Self {
        match status {
            401 | 403 => Self::AuthenticationFailed,
            402 => Self::BillingError,
            429 => Self::RateLimit,
            408 | 409 | 500..=599 => Self::ServerError,
            300..=499 => Self::InvalidRequest,
            _ => Self::Unknown,
        }
    }
}

impl fmt::Display for FailureWord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A request that got no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}{}", self.request_id.as_ref().map(|id| format!(" (request {id})")).unwrap_or_default())]
pub struct Failure {
    /// The kind of failure.
    pub word: FailureWord,
    /// The HTTP status, or the one that an error within the stream corresponds to.
    pub status: Option<u16>,
    /// What happened, in words for the user; secrets are masked.
    pub message: String,
    /// The provider's id of the request, for its support.
    pub request_id: Option<String>,
}

/// Why [`Client::ask`](crate::Client::ask) gives no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AskError {
    /// The caller no longer wants one.
    #[error("interrupted")]
    Cancelled,
    /// Something on this side is set up wrongly; nothing was sent.
    #[error(transparent)]
    Configuration(#[from] ConfigurationError),
    /// The conversation does not fit the model's context window any more.
    #[error("{0}")]
    ContextTooLong(Failure),
    /// Anything else; what is worth trying again was tried again.
    #[error("{0}")]
    Failed(Failure),
}

impl From<CredentialError> for AskError {
    /// S0 §2.7 A6: a missing credential counts as a refused one.
    fn from(error: CredentialError) -> Self {
        let word = FailureWord::AuthenticationFailed;
        let message = error.to_string();
        Self::Failed(Failure { word, status: None, message, request_id: None })
    }
}

impl AskError {
    /// StopFailure's word for it; nothing if the caller interrupted.
    pub fn word(&self) -> Option<FailureWord> {
        match self {
            Self::Cancelled => None,
            Self::Configuration(_) => Some(FailureWord::InvalidRequest),
            Self::ContextTooLong(failure) | Self::Failed(failure) => Some(failure.word),
        }
    }
}

/// A failed attempt, and what to do about it.
#[derive(Debug)]
pub(crate) struct FailedAttempt {
    pub(crate) failure: Failure,
    pub(crate) remedy: Remedy,
    /// Whether the listener has received events of the attempt.
    pub(crate) heard: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Remedy {
    /// None.
    Fail,
    /// A shorter conversation.
    Shorten,
    /// Another attempt, after the wait the server asks for if it asks for one.
    Again(Option<Duration>),
    /// Another attempt; the answer had begun, and enough of these mean that streaming is the problem.
    AgainAfterCut,
    /// Another credential.
    Renew,
    /// Another attempt without `stream_options`, which this server does not know.
    DropStreamOptions,
}

impl FailedAttempt {
    /// The connection was never made or gave no answer.
    pub(crate) fn unreachable(message: String) -> Self {
        let failure =
            Failure { word: FailureWord::Unknown, status: None, message, request_id: None };
        Self { failure, remedy: Remedy::Again(None), heard: false }
    }

    /// An answer that had begun was not finished.
    pub(crate) fn cut(message: impl Into<String>) -> Self {
        let failure = Failure {
            word: FailureWord::ServerError,
            status: None,
            message: message.into(),
            request_id: None,
        };
        Self { failure, remedy: Remedy::AgainAfterCut, heard: false }
    }

    /// The server is not a model server; a retry would not help.
    pub(crate) fn foreign(message: impl Into<String>) -> Self {
        let mut trouble = Self::unreachable(message.into());
        trouble.failure.word = FailureWord::InvalidRequest;
        trouble.remedy = Remedy::Fail;
        trouble
    }

    /// The server says no.
    pub(crate) fn refused(status: u16, complaint: &Complaint, wait: Option<Duration>) -> Self {
        let (word, remedy) = complaint.judge(status, wait);
        let message = complaint.message.clone();
        let failure = Failure { word, status: Some(status), message, request_id: None };
        Self { failure, remedy, heard: false }
    }
}

/// What a server says is wrong.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Complaint {
    /// `error.type` and `error.code`, whichever there are.
    marks: Vec<String>,
    pub(crate) message: String,
}

/// The status that an error within a stream corresponds to.
const STATUS_OF_MARK: [(&str, u16); 14] = [
    ("invalid_request_error", 400),
    ("authentication_error", 401),
    ("invalid_api_key", 401),
    ("billing_error", 402),
    ("insufficient_quota", 402),
    ("permission_error", 403),
    ("not_found_error", 404),
    ("request_too_large", 413),
    ("rate_limit_error", 429),
    ("rate_limit_exceeded", 429),
    ("api_error", 500),
    ("server_error", 500),
    ("timeout_error", 504),
    ("overloaded_error", 529),
];

/// Marks and wordings, in lower case, by which servers say that the conversation is too long: Anthropic,
/// OpenAI, vLLM, llama.cpp, LM Studio.
const TOO_LONG: [&str; 9] = [
    "prompt is too long",
    "exceed context limit",
    "context_length_exceeded",
    "exceeds the context window",
    "maximum context length",
    "exceed_context_size",
    "exceeds the available context size",
    "when context the overflows",
    "greater than the context length",
];

/// The same for accounts without money.
const NO_MONEY: [&str; 3] = ["insufficient_quota", "billing_error", "credit balance is too low"];

impl Complaint {
    /// Reads the known shapes of error responses. `None` if the value has none of them.
    pub(crate) fn read(value: &Value) -> Option<Self> {
        let error = match &value["error"] {
            Value::Null => value,
            error => error,
        };
        if let Some(message) = error.as_str() {
            return Some(Self { marks: Vec::new(), message: message.to_owned() });
        }
        let text = |key: &str| error[key].as_str().filter(|text| !text.is_empty());
        let code = match &error["code"] {
            Value::Number(code) => Some(code.to_string()),
            _ => text("code").map(str::to_owned),
        };
        let kind = text("type").filter(|kind| *kind != "error").map(str::to_owned);
        let marks: Vec<String> = [kind, code].into_iter().flatten().collect();
        let message = text("message").or_else(|| text("detail")).map(str::to_owned);
        let message = message.or_else(|| (!marks.is_empty()).then(|| marks.join(", ")))?;
        Some(Self { marks, message })
    }

    /// The failed attempt for an error within an answer.
    pub(crate) fn trouble(value: &Value) -> FailedAttempt {
        let complaint = Self::read(value)
            .unwrap_or_else(|| Self::said("the server reported an error without a message"));
        FailedAttempt::refused(complaint.status(), &complaint, None)
    }

    /// An error with a message only.
    pub(crate) fn said(message: impl Into<String>) -> Self {
        Self { marks: Vec::new(), message: message.into() }
    }

    /// The status it corresponds to, if none came with it. By default a server error.
    pub(crate) fn status(&self) -> u16 {
        let known = |mark: &String| {
            let listed = STATUS_OF_MARK.iter().find(|(name, _)| name == mark);
            let number = || mark.parse().ok().filter(|status| (400..600).contains(status));
            listed.map(|(_, status)| *status).or_else(number)
        };
        // A code is more specific than a type.
        self.marks.iter().rev().find_map(known).unwrap_or(500)
    }

    /// Whether it is about this word.
    pub(crate) fn mentions(&self, word: &str) -> bool {
        self.message.to_lowercase().contains(word)
            || self.marks.iter().any(|mark| mark.contains(word))
    }

    fn judge(&self, status: u16, wait: Option<Duration>) -> (FailureWord, Remedy) {
        let mentions_one = |words: &[&str]| words.iter().any(|word| self.mentions(word));
        // A local server's loader answers 500 to a prompt that does not fit.
        if status != 429 && mentions_one(&TOO_LONG) {
            return (FailureWord::InvalidRequest, Remedy::Shorten);
        }
        if mentions_one(&NO_MONEY) {
            return (FailureWord::BillingError, Remedy::Fail);
        }
        let remedy = match status {
            401 => Remedy::Renew,
            408 | 409 | 429 | 500..=599 => Remedy::Again(wait),
            _ => Remedy::Fail,
        };
        (FailureWord::of_status(status), remedy)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn words_are_those_of_the_closed_set() {
        for (word, name) in FailureWord::ALL {
            assert_eq!(word.as_str(), name);
        }
    }

    #[test]
    fn complaints_come_in_many_shapes() {
        for (body, message, status) in [
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
                "Overloaded",
                529,
            ),
            (
                json!({"error": {"message": "slow down", "type": "tokens", "code": "rate_limit_exceeded"}}),
                "slow down",
                429,
            ),
            (json!({"error": {"message": "upstream", "code": 502}}), "upstream", 502),
            (json!({"error": "No models loaded"}), "No models loaded", 500),
            (json!({"detail": "Not Found"}), "Not Found", 500),
            (
                json!({"object": "error", "message": "bad", "type": "invalid_request_error"}),
                "bad",
                400,
            ),
            (json!({"error": {"type": "api_error"}}), "api_error", 500),
        ] {
            let complaint = Complaint::read(&body).unwrap();
            assert_eq!((complaint.message.as_str(), complaint.status()), (message, status));
        }
        for none in [json!({}), json!([]), json!("x"), json!({"error": {}}), json!(null)] {
            let read = Complaint::read(&none);
            assert!(read.is_none() || none == json!("x"), "{none}");
        }
    }

    #[test]
    fn each_status_has_its_word_and_remedy() {
        use FailureWord::*;
        let wait = Some(Duration::from_secs(3));
        for (status, word, remedy) in [
            (400, InvalidRequest, Remedy::Fail),
            (401, AuthenticationFailed, Remedy::Renew),
            (402, BillingError, Remedy::Fail),
            (403, AuthenticationFailed, Remedy::Fail),
            (404, InvalidRequest, Remedy::Fail),
            (408, ServerError, Remedy::Again(wait)),
            (409, ServerError, Remedy::Again(wait)),
            (413, InvalidRequest, Remedy::Fail),
            (429, RateLimit, Remedy::Again(wait)),
            (500, ServerError, Remedy::Again(wait)),
            (529, ServerError, Remedy::Again(wait)),
            (200, Unknown, Remedy::Fail),
        ] {
            assert_eq!(Complaint::default().judge(status, wait), (word, remedy), "{status}");
        }
    }

    #[test]
    fn a_conversation_that_is_too_long_is_told_apart() {
        for body in [
            json!({"error": {"type": "invalid_request_error", "message": "prompt is too long: 210000 tokens > 200000 maximum"}}),
            json!({"error": {"message": "This model's maximum context length is 128000 tokens.", "code": "context_length_exceeded"}}),
            json!({"error": {"message": "x", "type": "exceed_context_size_error", "code": 400}}),
            json!({"error": "Trying to keep the first 5000 tokens when context the overflows. However, the model is loaded with context length of only 4096 tokens"}),
            json!({"error": {"message": "The number of tokens to keep from the initial prompt is greater than the context length."}}),
        ] {
            let complaint = Complaint::read(&body).unwrap();
            let judged = complaint.judge(400, None);
            let expected = (FailureWord::InvalidRequest, Remedy::Shorten);
            assert_eq!(judged, expected, "{body}");
        }
        let poor = Complaint::said("Your credit balance is too low to access the API.");
        assert_eq!(poor.judge(400, None), (FailureWord::BillingError, Remedy::Fail));
        let quota =
            Complaint { marks: vec!["insufficient_quota".to_owned()], ..Complaint::default() };
        assert_eq!(quota.judge(429, None), (FailureWord::BillingError, Remedy::Fail));
    }
}
