//! ona's own server in a file of MCP servers.
//!
//! `ona init` adds it for agents that have no hooks. ona's own agent has the same tools built in, so ona never starts
//! it, and it needs no trust.

use ona_files::jsonc::{EditError, Step, prune, value};
use ona_hooks::own_gate::is_ona;
use serde_json::{Value, json};

/// The name of ona's server.
pub const NAME: &str = "ona";

/// The entry of the server, started by this program.
pub fn entry(program: &str) -> Value {
    json!({"command": program, "args": ["serve", "--mcp"]})
}

/// Whether a server is ona's, whatever else is set for it.
pub fn is_own(server: &Value) -> bool {
    let args = server.get("args").and_then(Value::as_array);
    let starts = args.is_some_and(|args| args.iter().take(2).eq(&[json!("serve"), json!("--mcp")]));
    starts && server.get("command").and_then(Value::as_str).is_some_and(is_ona)
}

/// Whether a server is ona's and nothing else is set for it: variables could change what a program does.
pub(crate) fn is_plain(own: &Value) -> bool {
    let program = own.get("command").and_then(Value::as_str).unwrap_or_default();
    is_own(own) && *own == entry(program)
}

/// The text of a file of servers without ona's own; `None` if nothing is left.
pub(crate) fn without(text: &str) -> Result<Option<String>, EditError> {
    if !is_plain(&value(text)?["mcpServers"][NAME]) {
        return Ok(Some(text.to_owned()));
    }
    let left = prune(text, &[Step::Key("mcpServers"), Step::Key(NAME)])?;
    Ok(Some(left).filter(|left| left.trim() != "{}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_others_wrote_is_left() {
        let own = json!({"mcpServers": {"ona": entry("ona")}}).to_string();
        assert_eq!(without(&own).unwrap(), None);
        let with_env = json!({"mcpServers": {"ona": {
            "command": "ona", "args": ["serve", "--mcp"], "env": {"LD_PRELOAD": "x.so"}}}});
        let relative = json!({"mcpServers": {"ona": entry("./ona")}});
        let other = json!({"mcpServers": {"ona": {"command": "ona", "args": ["-p", "x"]}}});
        for kept in [with_env, relative, other, json!({}), json!({"mcpServers": []})] {
            let kept = kept.to_string();
            assert_eq!(without(&kept).unwrap(), Some(kept.clone()));
        }
        let before = "{\n  \"mcpServers\": {\n    \"db\": {\"command\": \"db\"}\n  }\n}\n";
        let with = ona_files::jsonc::put(
            before,
            &[Step::Key("mcpServers"), Step::Key(NAME)],
            &entry("/opt/ona"),
        );
        assert_eq!(without(&with.unwrap()).unwrap().as_deref(), Some(before));
    }
}
