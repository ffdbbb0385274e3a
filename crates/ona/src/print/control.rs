//! Control requests of a program that drives ona (`control_request`), and their answers.

use ona_front::ClientHandle;
use ona_front::Op;
use serde_json::{Value, json};

/// The answer to a line, if it is such a request; what is asked for is done.
pub(super) fn answer(line: &str, remote: &ClientHandle) -> Option<Value> {
    let asked: Value = serde_json::from_str(line).ok()?;
    if asked["type"] != "control_request" {
        return None;
    }
    let id = &asked["request_id"];
    let done = |what: Value| json!({"subtype": "success", "request_id": id, "response": what});
    let response = match asked["request"]["subtype"].as_str() {
        // What there is to know comes with the line `system`/`init`.
        Some("initialize") => done(json!({"commands": [], "models": []})),
        Some("interrupt") => {
            remote.send(Op::Interrupt);
            done(json!({}))
        }
        other => {
            let what = other.unwrap_or_default();
            let why = format!("unknown request `{what}`; supported are initialize and interrupt");
            json!({"subtype": "error", "request_id": id, "error": why})
        }
    };
    Some(json!({"type": "control_response", "response": response}))
}
