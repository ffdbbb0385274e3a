//! Unreadable messages: the waiting request fails at once.
//!
//! An answer that is not JSON-RPC, or nested too deeply, would be dropped by the library, and its call would
//! wait for its whole time limit. Here an error replaces it. Output that never was a message, such as a log line, is
//! ignored.

use rmcp::ErrorData;
use rmcp::model::{ErrorCode, RequestId, ServerJsonRpcMessage};
use serde_json::error::Category;

use super::bound::Scan;

/// The code of the error that takes the place of an answer that cannot be read. Without an id it is about everything
/// that is waited for. Servers' own codes are above.
pub(crate) const UNREADABLE: i32 = -32_997;

/// Parses a message; an unreadable one becomes an error for the waiting request, or `None` if none can be waiting.
pub(crate) fn read(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    let text = text.strip_prefix("\u{feff}".as_bytes()).unwrap_or(text);
    serde_json::from_slice(text).or_else(|error| in_place_of(text, &error).ok_or(())).ok()
}

/// What takes the place of a message that cannot be read, for this reason.
pub(crate) fn in_place_of(text: &[u8], error: &serde_json::Error) -> Option<ServerJsonRpcMessage> {
    let seen = Scan::of(text);
    // A request or notification of the server: no call waits for it.
    if seen.is_request || !(seen.speaks || holds_more(text)) {
        return None;
    }
    let why = match error.classify() {
        Category::Data => "it is not a JSON-RPC message".to_owned(),
        _ => error.to_string(),
    };
    let id = seen.answered().and_then(|id| serde_json::from_str::<RequestId>(&id).ok());
    let said = format!("what it sent cannot be read: {why}");
    Some(ServerJsonRpcMessage::error(ErrorData::new(ErrorCode(UNREADABLE), said, None), id))
}

/// Whether a text begins like a batch of messages, and not like a log line that also starts with `[`.
fn holds_more(text: &[u8]) -> bool {
    let inner = text.trim_ascii_start().strip_prefix(b"[");
    matches!(inner.and_then(|inner| inner.trim_ascii_start().first()), Some(b'[' | b'{'))
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    fn read_as_json(text: &str) -> Option<Value> {
        read(text.as_bytes()).map(|message| serde_json::to_value(message).unwrap())
    }

    #[test]
    fn what_cannot_be_read_fails_who_waits_for_it() {
        let deep = |open: &str, close: &str| format!("{}{}", open.repeat(9999), close.repeat(9999));
        for (text, id) in [
            (format!(r#"{{"jsonrpc":"2.0","id":7,"result":{}}}"#, deep("[", "]")), Some(7)),
            (format!(r#"{{"jsonrpc":"2.0","result":{},"id":7}}"#, deep("[", "]")), Some(7)),
            (r#"{"jsonrpc":"2.0","id":7,"result":{oops}}"#.to_owned(), Some(7)),
            (r#"{"jsonrpc":"1.0","id":7,"result":{}}"#.to_owned(), Some(7)),
            (r#"{"jsonrpc":"2.0","result":{}}"#.to_owned(), None),
            (r#"{"jsonrpc":"2.0","id":7"#.to_owned(), None),
            (deep("[", "]"), None),
            (r#" [{"jsonrpc":"2.0","id":7,"result":{}}]"#.to_owned(), None),
        ] {
            let said = read_as_json(&text).unwrap_or_else(|| panic!("{text}"));
            assert_eq!(said["error"]["code"], UNREADABLE, "{said}");
            assert_eq!(said.get("id").and_then(Value::as_i64), id, "{said}");
        }
    }

    #[test]
    fn what_nobody_waits_for_is_left_out() {
        for text in [
            "[2026-01-01 12:00:00] INFO ready",
            r#"{"level":30,"id":7,"msg":"ready"}"#,
            "{oops",
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{oops"#,
            r#"{"jsonrpc":"2.0","method":"ping","id":7,"params":[[}"#,
        ] {
            assert_eq!(read_as_json(text), None, "{text}");
        }
        let good = "\u{feff}{\"jsonrpc\":\"2.0\",\"id\":7,\"result\":{}}\r\n";
        assert_eq!(read_as_json(good).unwrap()["id"], 7);
    }
}
