//! What the server says, and how it misbehaves while saying it.

use std::time::Duration;

use hyper::body::Bytes;
use serde_json::{Value, json};

use super::body::{Body, Step};
use super::recorded::Recorded;
use super::{anthropic, openai, responses};
use ona_types::Usage;

/// How many characters are sent at a time unless said otherwise.
const PIECE: usize = 24;

/// One reply. It begins with [`Reply::say`], [`Reply::new`] or one of the refusals, and each further word
/// adds to it.
#[derive(Clone, Debug)]
pub struct Reply {
    pub(super) kind: Kind,
    pub(super) pieces: Vec<Piece>,
    pub(super) stop_reason: Option<String>,
    pub(super) usage: Option<Usage>,
    pub(super) headers: Vec<(String, String)>,
    pub(super) piece_size: usize,
    pub(super) numbered: bool,
    pub(super) says_done: bool,
    pause: Duration,
    fault: Option<Fault>,
}

#[derive(Clone, Debug)]
pub(super) enum Kind {
    Message,
    Page { status: u16, content_type: String, body: String },
    HangUp,
}

#[derive(Clone, Debug)]
pub(super) enum Piece {
    Text(String),
    Thinking {
        text: String,
        signature: String,
    },
    Call {
        id: Option<String>,
        tool: String,
        arguments: String,
    },
    /// Text that is taken from a page.
    Cited {
        text: String,
        url: String,
    },
    /// A search that the server makes itself, with its results; Anthropic only.
    Search {
        id: String,
        query: String,
    },
    Searched {
        id: String,
        content: Value,
    },
}

#[derive(Clone, Debug)]
enum Fault {
    CutAfter(usize),
    CutMidEvent,
    NotJson,
    Error { kind: String, message: String },
    NoEnd,
}

impl Default for Reply {
    fn default() -> Self {
        Self {
            kind: Kind::Message,
            pieces: Vec::new(),
            stop_reason: None,
            usage: Some(Usage { input_tokens: 10, output_tokens: 5, ..Usage::default() }),
            headers: Vec::new(),
            piece_size: PIECE,
            numbered: true,
            says_done: true,
            pause: Duration::ZERO,
            fault: None,
        }
    }
}

impl Reply {
    /// An answer with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// An answer that begins with this text.
    pub fn say(text: impl Into<String>) -> Self {
        Self::new().text(text)
    }

    /// A refusal with this status and JSON body.
    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    pub fn status(status: u16, body: Value) -> Self {
        Self::page(status, "application/json", body.to_string())
    }

    /// A refusal in the words of the Anthropic API.
    pub fn error(status: u16, kind: &str, message: &str) -> Self {
        let error = json!({"type": kind, "message": message});
        Self::status(status, json!({"type": "error", "error": error}))
    }

    /// A page of HTML, as from a server that is not a model server.
    pub fn html(status: u16, page: impl Into<String>) -> Self {
        Self::page(status, "text/html; charset=utf-8", page.into())
    }

    /// No answer at all: the connection is closed.
    pub fn hang_up() -> Self {
        Self { kind: Kind::HangUp, ..Self::default() }
    }

    pub(super) fn none_left() -> Self {
        Self::error(500, "api_error", "the script has ended").header("x-should-retry", "false")
    }

    /// Any other page, with this content type; an empty one is not said.
    pub fn page(status: u16, content_type: &str, body: impl Into<String>) -> Self {
        let kind = Kind::Page { status, content_type: content_type.to_owned(), body: body.into() };
        Self { kind, ..Self::default() }
    }

    fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    /// Adds text.
    #[must_use]
    pub fn text(self, text: impl Into<String>) -> Self {
        self.with(|reply| reply.pieces.push(Piece::Text(text.into())))
    }

    /// Adds thinking; Chat Completions has no signature for it.
    #[must_use]
    pub fn thinking(self, text: impl Into<String>, signature: impl Into<String>) -> Self {
        let piece = Piece::Thinking { text: text.into(), signature: signature.into() };
        self.with(|reply| reply.pieces.push(piece))
    }

    /// Adds a call.
    #[must_use]
    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    pub fn call(self, id: &str, tool: &str, input: Value) -> Self {
        self.raw_call(Some(id), tool, input.to_string())
    }

    /// Adds a call with these very arguments, which need not be JSON, and perhaps without an id.
    #[must_use]
    pub fn raw_call(self, id: Option<&str>, tool: &str, arguments: impl Into<String>) -> Self {
        let (id, tool) = (id.map(str::to_owned), tool.to_owned());
        let piece = Piece::Call { id, tool, arguments: arguments.into() };
        self.with(|reply| reply.pieces.push(piece))
    }

    /// Adds text that is taken from a page.
    #[must_use]
    pub fn cited(self, text: impl Into<String>, url: &str) -> Self {
        let piece = Piece::Cited { text: text.into(), url: url.to_owned() };
        self.with(|reply| reply.pieces.push(piece))
    }

    /// Adds a search that the server made itself, and the pages it found, each a title and an address.
    #[must_use]
    pub fn search(self, query: &str, pages: &[(&str, &str)]) -> Self {
        let page = |(title, url): &(&str, &str)| {
            json!({
                "type": "web_search_result", "title": title, "url": url,
                "encrypted_content": "c2VjcmV0", "page_age": null,
            })
        };
        self.searched(query, pages.iter().map(page).collect())
    }

    /// Adds a search that failed, with the API's code.
    #[must_use]
    pub fn failed_search(self, query: &str, code: &str) -> Self {
        let error = json!({"type": "web_search_tool_result_error", "error_code": code});
        self.searched(query, error)
    }

    fn searched(self, query: &str, content: Value) -> Self {
        let id = format!("srvtoolu_{}", self.pieces.len());
        let search = Piece::Search { id: id.clone(), query: query.to_owned() };
        self.with(|reply| reply.pieces.extend([search, Piece::Searched { id, content }]))
    }

    /// Sets why it stops, in Anthropic's words or, for Chat Completions, any other.
    #[must_use]
    pub fn stop(self, reason: &str) -> Self {
        self.with(|reply| reply.stop_reason = Some(reason.to_owned()))
    }

    /// Sets what it says it used.
    #[must_use]
    pub fn usage(self, usage: Usage) -> Self {
        self.with(|reply| reply.usage = Some(usage))
    }

    /// Lets it not say what it used.
    #[must_use]
    pub fn no_usage(self) -> Self {
        self.with(|reply| reply.usage = None)
    }

    /// Adds a header to the response.
    #[must_use]
    pub fn header(self, name: &str, value: &str) -> Self {
        self.with(|reply| reply.headers.push((name.to_owned(), value.to_owned())))
    }

    /// Sends texts and arguments whole, each in one event.
    #[must_use]
    pub fn at_once(self) -> Self {
        self.with(|reply| reply.piece_size = usize::MAX)
    }

    /// Waits before each event, and before the end.
    #[must_use]
    pub fn slow(self, pause: Duration) -> Self {
        self.with(|reply| reply.pause = pause)
    }

    /// Leaves out the numbers of calls (Chat Completions).
    #[must_use]
    pub fn unnumbered(self) -> Self {
        self.with(|reply| reply.numbered = false)
    }

    /// Leaves out `[DONE]` (Chat Completions).
    #[must_use]
    pub fn without_done(self) -> Self {
        self.with(|reply| reply.says_done = false)
    }

    /// Closes the connection after so many bytes of the body.
    #[must_use]
    pub fn cut_after(self, bytes: usize) -> Self {
        self.with(|reply| reply.fault = Some(Fault::CutAfter(bytes)))
    }

    /// Closes the connection in the middle of an event in the middle of the stream.
    #[must_use]
    pub fn cut_mid_event(self) -> Self {
        self.with(|reply| reply.fault = Some(Fault::CutMidEvent))
    }

    /// Puts an event that is not JSON into the middle.
    #[must_use]
    pub fn not_json(self) -> Self {
        self.with(|reply| reply.fault = Some(Fault::NotJson))
    }

    /// Ends the stream in an error instead of properly.
    #[must_use]
    pub fn then_error(self, kind: &str, message: &str) -> Self {
        let fault = Fault::Error { kind: kind.to_owned(), message: message.to_owned() };
        self.with(|reply| reply.fault = Some(fault))
    }

    /// Ends the response cleanly before the answer is whole.
    #[must_use]
    pub fn without_end(self) -> Self {
        self.with(|reply| reply.fault = Some(Fault::NoEnd))
    }

    pub(super) fn calls(&self) -> bool {
        self.pieces.iter().any(|piece| matches!(piece, Piece::Call { .. }))
    }

    /// How often it searches.
    pub(super) fn searches(&self) -> usize {
        self.pieces.iter().filter(|piece| matches!(piece, Piece::Search { .. })).count()
    }

    /// The default stop reason.
    pub(super) fn reason(&self) -> &str {
        let usual = if self.calls() { "tool_use" } else { "end_turn" };
        self.stop_reason.as_deref().unwrap_or(usual)
    }

    /// A text in the pieces in which it is sent.
    pub(super) fn cut_up<'a>(&self, text: &'a str) -> Vec<&'a str> {
        let mut pieces = Vec::new();
        let mut rest = text;
        while !rest.is_empty() {
            let end = rest.char_indices().nth(self.piece_size).map_or(rest.len(), |(at, _)| at);
            let (piece, after) = rest.split_at(end);
            pieces.push(piece);
            rest = after;
        }
        pieces
    }
}

/// A stream as events: what is said, and the words that end it.
pub(super) struct Events {
    pub(super) said: Vec<String>,
    pub(super) end: Vec<String>,
}

/// A response, ready to be sent.
pub(super) struct Rendered {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: Body,
}

/// The reply as a response; `None` if the connection shall be closed instead.
pub(super) fn render(reply: &Reply, request: &Recorded, number: usize) -> Option<Rendered> {
    let page = |status: u16, content_type: &str, body: Body| {
        let mut headers = reply.headers.clone();
        if !content_type.is_empty() {
            headers.push(("content-type".to_owned(), content_type.to_owned()));
        }
        Some(Rendered { status, headers, body })
    };
    let plain = |text: String| Body::new([Step::Send(Bytes::from(text))]);
    let is_anthropic = request.path.ends_with("/v1/messages");
    let is_responses = request.path.ends_with("/v1/responses");
    let known = is_anthropic || is_responses || request.path.ends_with("/chat/completions");
    match &reply.kind {
        Kind::HangUp => None,
        Kind::Page { status, content_type, body } => {
            page(*status, content_type, plain(body.clone()))
        }
        Kind::Message if !known || request.method != "POST" => {
            page(404, "application/json", plain(json!({"error": "no such endpoint"}).to_string()))
        }
        Kind::Message if is_responses => {
            let events = responses::events(reply, request, number);
            page(200, "text/event-stream; charset=utf-8", streamed(reply, events, false))
        }
        Kind::Message if request.streams() => {
            let events = if is_anthropic {
                anthropic::events(reply, request, number)
            } else {
                openai::events(reply, request, number)
            };
            page(200, "text/event-stream; charset=utf-8", streamed(reply, events, is_anthropic))
        }
        Kind::Message => {
            let value = if is_anthropic {
                anthropic::message(reply, request, number)
            } else {
                openai::completion(reply, request, number)
            };
            page(200, "application/json", in_one_piece(reply, &value))
        }
    }
}

fn streamed(reply: &Reply, events: Events, is_anthropic: bool) -> Body {
    let Events { mut said, end } = events;
    let middle = said.len() / 2;
    let mut cut = false;
    match &reply.fault {
        None => said.extend(end),
        Some(Fault::NotJson) => {
            said.insert(middle, "data: {this is no JSON\n\n".to_owned());
            said.extend(end);
        }
        Some(Fault::Error { kind, message }) => {
            let error = json!({"type": kind, "message": message});
            said.push(if is_anthropic {
                format!("event: error\ndata: {}\n\n", json!({"type": "error", "error": error}))
            } else {
                format!("data: {}\n\n", json!({"error": error}))
            });
        }
        Some(Fault::NoEnd) => {}
        Some(Fault::CutMidEvent) => {
            cut = true;
            said.truncate(middle + 1);
            if let Some(last) = said.last_mut() {
                last.truncate(last.floor_char_boundary(last.len() / 2));
            }
        }
        Some(Fault::CutAfter(bytes)) => {
            said.extend(end);
            let mut whole = said.concat().into_bytes();
            whole.truncate(*bytes);
            return Body::new([Step::Send(Bytes::from(whole)), Step::Cut]);
        }
    }
    let pause = || (!reply.pause.is_zero()).then_some(Step::Pause(reply.pause));
    let steps = said
        .into_iter()
        .flat_map(|event| pause().into_iter().chain([Step::Send(Bytes::from(event))]));
    Body::new(steps.chain(pause()).chain(cut.then_some(Step::Cut)))
}

fn in_one_piece(reply: &Reply, value: &Value) -> Body {
    let mut text = value.to_string();
    let cut = match &reply.fault {
        Some(Fault::CutAfter(bytes)) => Some(*bytes),
        Some(Fault::CutMidEvent | Fault::NoEnd) => Some(text.len() / 2),
        Some(Fault::NotJson | Fault::Error { .. }) => {
            text.insert(0, '!');
            None
        }
        None => None,
    };
    let mut bytes = text.into_bytes();
    bytes.truncate(cut.unwrap_or(usize::MAX));
    let pause = (!reply.pause.is_zero()).then_some(Step::Pause(reply.pause));
    let steps = pause.into_iter().chain([Step::Send(Bytes::from(bytes))]);
    Body::new(steps.chain(cut.map(|_| Step::Cut)))
}
