//! Searches that the provider makes by itself while it answers (Anthropic's server tool `web_search`).
//!
//! They need no tool of ours: the answer tells what was searched for and found. The blocks it tells it in go back to
//! the provider as they came, so they stay [`Block::Opaque`]; [`Answer::searched`] reads them.

use serde_json::Value;

use crate::message::{Answer, Block};

/// The kind of block that holds what was found.
const RESULT: &str = "web_search_tool_result";

/// The list price of one search, in US dollars.
const SEARCH_USD: f64 = 0.01;

/// A search that the provider may make.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WebSearch {
    /// How often it may search for one answer.
    pub max_uses: u32,
    /// Only on these domains, if there are any.
    pub allowed_domains: Vec<String>,
    /// Not on these; the API does not take both.
    pub blocked_domains: Vec<String>,
}

/// A page that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its title.
    pub title: String,
    /// Its address.
    pub url: String,
}

/// A passage of an answer that is taken from a page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Citation {
    /// Where the passage ends, in bytes of [`Answer::text`].
    pub at: usize,
    /// The page's address.
    pub url: String,
}

/// Why a search failed, in the API's own words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the provider's search failed: {}", explained(.0))]
pub struct SearchError(pub String);

/// What the codes mean.
const CODES: [(&str, &str); 5] = [
    ("too_many_requests", "its rate limit is reached"),
    ("invalid_input", "it rejects the query or a domain"),
    ("max_uses_exceeded", "the limit of searches is reached"),
    ("query_too_long", "the query is too long"),
    ("unavailable", "it is not available at the moment"),
];

fn explained(code: &str) -> String {
    let known = CODES.iter().find(|(known, _)| *known == code);
    known.map_or_else(|| code.to_owned(), |(_, meaning)| format!("{meaning} ({code})"))
}

/// The results of the searches of one answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Searched {
    /// The pages, in the order they were found, each once.
    pub found: Vec<Found>,
    /// Searches that failed.
    pub failed: Vec<SearchError>,
    /// How many searches there were.
    pub searches: usize,
}

impl Answer {
    /// What its searches cost at list price, beside what it used.
    pub fn searches_usd(&self) -> f64 {
        self.web_searches as f64 * SEARCH_USD
    }

    /// What the provider's own searches brought.
    pub fn searched(&self) -> Searched {
        let mut searched = Searched::default();
        let results = self.content.iter().filter_map(|block| match block {
            Block::Opaque { value, .. } if value["type"] == RESULT => Some(&value["content"]),
            _ => None,
        });
        for content in results {
            searched.searches += 1;
            match content {
                Value::Array(pages) => pages.iter().for_each(|page| searched.take(page)),
                other => {
                    let code = other["error_code"].as_str().unwrap_or("an unknown error");
                    searched.failed.push(SearchError(code.to_owned()));
                }
            }
        }
        searched
    }
}

impl Searched {
    fn take(&mut self, page: &Value) {
        let Some(url) = page["url"].as_str() else { return };
        if !self.found.iter().any(|known| known.url == url) {
            let title = page["title"].as_str().unwrap_or_default().to_owned();
            self.found.push(Found { title, url: url.to_owned() });
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::scripted::{Reply, Server};
    use crate::{Client, Credential, Fixed, Message, ProviderKind, Request, Retry, Transport};

    fn client(server: &Server) -> Client {
        let credentials = Arc::new(Fixed::new("test", Credential::None));
        let provider = ProviderKind::ClaudeCodeSubscription;
        Client::new(provider, &Transport::to(server.base_url()), credentials, Retry::default())
            .unwrap()
    }

    fn request() -> Request<'static> {
        let mut request = Request::new("m", 100).with(Message::user("Search the web for: rust"));
        request.web_search = Some(WebSearch {
            max_uses: 8,
            allowed_domains: vec!["rust-lang.org".to_owned()],
            blocked_domains: Vec::new(),
        });
        request
    }

    async fn answer(server: &Server, request: &Request<'_>) -> Answer {
        client(server).ask(request, &mut |_| (), &CancellationToken::new()).await.unwrap()
    }

    fn searching() -> Reply {
        let pages =
            [("Rust", "https://rust-lang.org/"), ("Book", "https://doc.rust-lang.org/book")];
        Reply::say("I search. ")
            .search("rust language", &pages)
            .search("rust book", &pages[..1])
            .cited("A language.", "https://rust-lang.org/")
            .text(" That is all.")
    }

    #[tokio::test]
    async fn pages_citations_and_counts_are_read() {
        // Cut off three times, an answer is asked for in one piece: both forms say the same.
        for cut in [0, 3] {
            let mut replies: Vec<Reply> = (0..cut).map(|_| searching().cut_mid_event()).collect();
            replies.push(searching());
            let server = Server::start(replies).unwrap();
            let answer = answer(&server, &request()).await;
            let page = |title: &str, url: &str| Found { title: title.into(), url: url.into() };
            let found = vec![
                page("Rust", "https://rust-lang.org/"),
                page("Book", "https://doc.rust-lang.org/book"),
            ];
            let searched = Searched { found, failed: Vec::new(), searches: 2 };
            assert_eq!(answer.searched(), searched);
            assert_eq!(answer.text(), "I search. A language. That is all.");
            let at = "I search. A language.".len();
            let url = "https://rust-lang.org/".to_owned();
            assert_eq!(answer.citations, [Citation { at, url }]);
            assert_eq!(answer.web_searches, 2);
            assert!((answer.searches_usd() - 0.02).abs() < 1e-9);
            assert_eq!(
                server.requests()[cut].body["tools"],
                json!([{
                    "type": "web_search_20250305", "name": "web_search", "max_uses": 8,
                    "allowed_domains": ["rust-lang.org"],
                }])
            );
        }
    }

    #[tokio::test]
    async fn what_the_provider_said_goes_back_to_it_as_it_came() {
        let server = Server::start([searching().stop("pause_turn"), Reply::say("ok")]).unwrap();
        let mut request = request();
        let first = answer(&server, &request).await;
        request.messages.push(Message::assistant(&first));
        answer(&server, &request).await;
        let sent = &server.requests()[1].body["messages"][1]["content"];
        assert_eq!(sent[1]["type"], "server_tool_use");
        assert_eq!(sent[1]["input"], json!({"query": "rust language"}));
        assert_eq!(sent[2]["content"][0]["encrypted_content"], "c2VjcmV0");
    }

    #[tokio::test]
    async fn a_search_that_failed_says_why() {
        let reply = Reply::new().failed_search("x", "max_uses_exceeded").failed_search("y", "odd");
        let server = Server::start([reply]).unwrap();
        let searched = answer(&server, &request()).await.searched();
        let said: Vec<String> = searched.failed.iter().map(ToString::to_string).collect();
        assert_eq!(
            said,
            [
                "the provider's search failed: the limit of searches is reached (max_uses_exceeded)",
                "the provider's search failed: odd",
            ]
        );
        assert_eq!((searched.found.len(), searched.searches), (0, 2));
    }
}
