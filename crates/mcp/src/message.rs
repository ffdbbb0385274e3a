//! Invalid JSON-RPC messages, and the error that answers each.

use rmcp::model::ErrorCode;
use serde_json::{Value, json};

/// The answer to a message that is neither a request nor a notification nor a response; `None` if it is one.
pub(crate) fn fault(message: &[u8]) -> Option<Value> {
    let said: Value = match serde_json::from_slice(message) {
        Ok(said) => said,
        Err(error) => {
            return Some(answer(
                &Value::Null,
                ErrorCode::PARSE_ERROR,
                &format!("not JSON: {error}"),
            ));
        }
    };
    let why = not_jsonrpc(&said)?;
    let id = said.get("id").filter(|id| is_id(id)).unwrap_or(&Value::Null);
    Some(answer(id, ErrorCode::INVALID_REQUEST, why))
}

/// The answer to a request that is JSON-RPC, and yet no message of MCP.
pub(crate) fn unreadable(message: &[u8], why: &serde_json::Error) -> Option<Value> {
    let said: Value = serde_json::from_slice(message).ok()?;
    let id = said.get("id")?;
    Some(answer(id, ErrorCode::INVALID_REQUEST, &format!("not a message of MCP: {why}")))
}

fn answer(id: &Value, code: ErrorCode, message: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "error": {"code": code, "message": message}})
}

fn not_jsonrpc(said: &Value) -> Option<&'static str> {
    let Value::Object(fields) = said else {
        return Some("a message is a JSON object; batches are not supported");
    };
    if fields.get("jsonrpc").and_then(Value::as_str) != Some("2.0") {
        return Some("`jsonrpc` must be \"2.0\"");
    }
    if !fields.get("id").is_none_or(is_id) {
        return Some("`id` must be a text or a whole number");
    }
    match fields.get("method") {
        None if fields.contains_key("result") || fields.contains_key("error") => None,
        None => Some("`method` is missing"),
        Some(method) if !method.is_string() => Some("`method` must be a text"),
        Some(_) => match fields.get("params") {
            None | Some(Value::Object(_) | Value::Array(_)) => None,
            Some(_) => Some("`params` must be an object"),
        },
    }
}

fn is_id(id: &Value) -> bool {
    id.is_string() || id.is_i64() || id.is_u64()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_message_is_answered_with_its_code() {
        for (message, code, id) in [
            ("{\"jsonrpc\":\"2.0\",\"id\":2,", -32700, json!(null)),
            ("text", -32700, json!(null)),
            ("\u{0}", -32700, json!(null)),
            ("[]", -32600, json!(null)),
            ("5", -32600, json!(null)),
            ("{}", -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":3}"#, -32600, json!(3)),
            (r#"{"id":4,"method":"ping"}"#, -32600, json!(4)),
            (r#"{"jsonrpc":"2.0","id":"a","method":7}"#, -32600, json!("a")),
            (r#"{"jsonrpc":"2.0","id":null,"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":{},"method":"ping"}"#, -32600, json!(null)),
            (r#"{"jsonrpc":"2.0","id":1,"method":"ping","params":"x"}"#, -32600, json!(1)),
        ] {
            let answer = fault(message.as_bytes()).unwrap();
            assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(code), &id), "{message}");
        }
        for message in [
            r#"{"jsonrpc":"2.0","id":1,"method":"ping"}"#,
            r#"{"jsonrpc":"2.0","method":"notifications/initialized"}"#,
            r#"{"jsonrpc":"2.0","id":"x","method":"tools/list","params":{}}"#,
            r#"{"jsonrpc":"2.0","id":1,"result":{}}"#,
        ] {
            assert_eq!(fault(message.as_bytes()), None, "{message}");
        }
    }
}
