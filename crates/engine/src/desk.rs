//! What a session does for its tools.

use ona_tools::{Desk, Waits, WebFound, WebQuery};
use serde_json::Value;

use crate::session::Session;

impl Desk for Session {
    fn setting(&self, key: &str) -> Value {
        self.governance.settings()[key].clone()
    }

    fn digest<'a>(&'a self, prompt: &'a str, text: &'a str) -> Waits<'a, Result<String, String>> {
        Box::pin(async move { self.ask_aside(prompt, text).await })
    }

    fn search<'a>(&'a self, query: &'a WebQuery) -> Waits<'a, Option<Result<WebFound, String>>> {
        Box::pin(async move { self.search_aside(query).await })
    }
}
