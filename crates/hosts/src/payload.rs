//! The input of a host's hook, in any version: missing fields get defaults, new ones are ignored.

use std::borrow::Cow;
use std::path::PathBuf;

use ona_policy::secrets::Redactor;
use ona_types::hook::HookEvent;
use ona_types::{ContentHash, SessionId, ToolUseId, hashed, is_plain_name, shell_quoted};
use serde_json::Value;

use super::Host;

/// The limit for names of tools, in bytes.
const MAX_NAME: usize = 200;

/// The input of a host's hook.
#[derive(Clone, Debug)]
pub(crate) struct Payload {
    pub(crate) event: HookEvent,
    pub(crate) session: SessionId,
    pub(crate) cwd: Option<PathBuf>,
    pub(crate) permission_mode: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) call: Option<HostCall>,
}

/// A call of the host's agent.
#[derive(Clone, Debug)]
pub(crate) struct HostCall {
    pub(crate) id: ToolUseId,
    /// ona's name for the tool.
    pub(crate) tool: String,
    pub(crate) input: Value,
    /// Its result.
    pub(crate) response: Option<Value>,
    pub(crate) error: Option<String>,
}

/// Why a hook's input is not valid.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub enum PayloadError {
    /// Not JSON, or not an object.
    #[error("the hook's input is not a JSON object{}", .0.as_deref().map(|why| format!(": {why}")).unwrap_or_default())]
    NotJson(Option<String>),
    /// A field is missing or invalid.
    #[error("`{0}` is missing or invalid in the hook's input")]
    Field(&'static str),
    /// An event that this version of ona does not know.
    #[error("unknown event `{0}`; ignored")]
    UnknownEvent(String),
}

impl Payload {
    pub(crate) fn read(host: Host, text: &str) -> Result<Self, PayloadError> {
        let said: Value = serde_json::from_str(text)
            .map_err(|error| PayloadError::NotJson(Some(error.to_string())))?;
        if !said.is_object() {
            return Err(PayloadError::NotJson(None));
        }
        let text = |key: &'static str| said.get(key).and_then(Value::as_str);
        let name = text("hook_event_name").ok_or(PayloadError::Field("hook_event_name"))?;
        let event =
            HookEvent::ALL.iter().find(|(_, known)| *known == name).map(|(event, _)| *event);
        let event = event.ok_or_else(|| PayloadError::UnknownEvent(ona_types::shown(name)))?;
        let session = text("session_id").map(str::trim).filter(|id| !id.is_empty());
        let session = session.ok_or(PayloadError::Field("session_id"))?;
        // An id is not a place in the file system, and the calls of an odd one are judged all the same.
        let session = &*match is_plain_name(session) {
            true => Cow::Borrowed(session),
            false => Cow::Owned(hashed(host.as_str(), session)),
        };
        let is_about_a_call = matches!(
            event,
            HookEvent::PreToolUse | HookEvent::PostToolUse | HookEvent::PostToolUseFailure
        );
        let call = if is_about_a_call { Some(call(host, &said, session)?) } else { None };
        Ok(Self {
            event,
            session: SessionId::from_existing(session),
            cwd: text("cwd").map(PathBuf::from).filter(|dir| dir.is_absolute()),
            permission_mode: text("permission_mode").map(str::to_owned),
            model: text("model").map(str::to_owned),
            call,
        })
    }
}

impl Payload {
    /// Replaces ids that hold a live secret by their hashes. They are keys of the record, which are not masked.
    pub(crate) fn hide_secrets(&mut self, host: Host, redactor: &Redactor) {
        let hidden = |id: &str| match redactor.mask_live(id) {
            Cow::Borrowed(_) => None,
            Cow::Owned(_) => Some(hashed(host.as_str(), id)),
        };
        if let Some(session) = hidden(self.session.as_str()) {
            self.session = SessionId::from_existing(session);
        }
        if let Some(call) = &mut self.call
            && let Some(id) = hidden(call.id.as_str())
        {
            call.id = ToolUseId::from_existing(id);
        }
    }
}

fn is_name(text: &str) -> bool {
    !text.is_empty() && text.len() <= MAX_NAME && !text.chars().any(char::is_control)
}

fn call(host: Host, said: &Value, session: &str) -> Result<HostCall, PayloadError> {
    let tool = said.get("tool_name").and_then(Value::as_str).filter(|name| is_name(name));
    let tool = tool.ok_or(PayloadError::Field("tool_name"))?;
    let input = said.get("tool_input").cloned().unwrap_or(Value::Null);
    let id = said.get("tool_use_id").and_then(Value::as_str).filter(|id| is_plain_name(id));
    // Older hosts give calls no id. Then equal calls get the same one.
    let id = id.map_or_else(
        || {
            let text = format!("{session}\n{tool}\n{input}");
            format!("{}_{}", host.as_str(), &ContentHash::of(text.as_bytes()).as_str()[..24])
        },
        str::to_owned,
    );
    let response = said.get("tool_response").or_else(|| said.get("tool_output")).cloned();
    Ok(HostCall {
        id: ToolUseId::from_existing(id),
        tool: canonical(tool, &input).to_owned(),
        input,
        response,
        error: said.get("error").and_then(Value::as_str).map(str::to_owned),
    })
}

/// ona's name for a host's tool, if it has one.
fn canonical<'t>(tool: &'t str, input: &Value) -> &'t str {
    match tool {
        // Input to a running shell is a command too.
        "shell" | "local_shell" | "exec_command" | "unified_exec" | "execute_command"
        | "write_stdin" => "Bash",
        // Some versions of Codex pass patches to the shell.
        "Bash" if patch_of(input).is_some_and(|text| text.starts_with("*** Begin Patch")) => {
            "apply_patch"
        }
        "MultiEdit" => "Edit",
        other => other,
    }
}

/// The command line of a call, given as a string or a list of words.
pub(super) fn command_of(input: &Value) -> Option<String> {
    let given = ["command", "cmd", "chars"].into_iter().find_map(|key| input.get(key))?;
    match given {
        Value::String(line) => Some(line.clone()),
        Value::Array(words) => {
            let words: Option<Vec<&str>> = words.iter().map(Value::as_str).collect();
            match words?.as_slice() {
                [shell, "-lc" | "-c", line] if shell.ends_with("bash") || shell.ends_with("sh") => {
                    Some((*line).to_owned())
                }
                words => {
                    Some(words.iter().map(|word| shell_quoted(word)).collect::<Vec<_>>().join(" "))
                }
            }
        }
        _ => None,
    }
}

/// The text of a patch.
pub(super) fn patch_of(input: &Value) -> Option<&str> {
    let given = ["command", "input", "patch"].into_iter().find_map(|key| input.get(key));
    given.or(Some(input)).and_then(Value::as_str)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_version_is_understood_as_far_as_it_goes() {
        let read = |said: Value| Payload::read(Host::ClaudeCode, &said.to_string());
        let full = json!({"session_id": "s", "transcript_path": "/t", "cwd": "/w", "permission_mode": "default",
            "hook_event_name": "PreToolUse", "tool_name": "Edit", "tool_input": {"file_path": "a"},
            "tool_use_id": "toolu_1", "some_day": {"new": true}});
        let payload = read(full).unwrap();
        assert_eq!(payload.call.unwrap().id.as_str(), "toolu_1");
        let old = json!({"session_id": "s", "hook_event_name": "PostToolUse", "tool_name": "Bash",
            "tool_input": {"command": "ls"}, "tool_output": "x"});
        let (one, two) = (read(old.clone()).unwrap(), read(old).unwrap());
        let (one, two) = (one.call.unwrap(), two.call.unwrap());
        assert_eq!(one.id, two.id, "an id that both hooks of a call find");
        assert_eq!(one.response, Some(json!("x")));
        for (said, error) in [
            (json!([1]), PayloadError::NotJson(None)),
            (json!({"session_id": "s"}), PayloadError::Field("hook_event_name")),
            (
                json!({"hook_event_name": "Stop", "session_id": ""}),
                PayloadError::Field("session_id"),
            ),
            (
                json!({"hook_event_name": "New", "session_id": "s"}),
                PayloadError::UnknownEvent("New".into()),
            ),
            (
                json!({"hook_event_name": "PreToolUse", "session_id": "s"}),
                PayloadError::Field("tool_name"),
            ),
        ] {
            assert_eq!(read(said).unwrap_err(), error);
        }
        assert!(matches!(Payload::read(Host::Codex, "{"), Err(PayloadError::NotJson(_))));
    }

    #[test]
    fn an_id_with_a_secret_in_it_is_hashed_and_others_stay() {
        let said = |session: &str, call: &str| {
            json!({"session_id": session, "hook_event_name": "PreToolUse", "tool_name": "Edit",
                "tool_use_id": call})
            .to_string()
        };
        let redactor = Redactor::knowing(["live-value-of-ours".to_owned()]);
        let read = |session, call| {
            let mut payload = Payload::read(Host::Codex, &said(session, call)).unwrap();
            payload.hide_secrets(Host::Codex, &redactor);
            (payload.session.to_string(), payload.call.unwrap().id.to_string())
        };
        assert_eq!(read("plain", "toolu_1"), ("plain".into(), "toolu_1".into()));
        let odd = read("s-live-value-of-ours", "t-live-value-of-ours");
        assert_eq!(odd, read("s-live-value-of-ours", "t-live-value-of-ours"), "the same each time");
        assert!(odd.0.starts_with("codex-") && odd.1.starts_with("codex-"), "{odd:?}");
        assert_ne!(odd.0, odd.1);
    }

    #[test]
    fn a_command_is_a_text_or_a_list_of_words() {
        for (input, line) in [
            (json!({"command": "ls -l"}), "ls -l"),
            (json!({"command": ["bash", "-lc", "rm a"]}), "rm a"),
            (json!({"command": ["rm", "it's"]}), r"rm 'it'\''s'"),
            (json!({"cmd": "x"}), "x"),
        ] {
            assert_eq!(command_of(&input).as_deref(), Some(line));
        }
        assert_eq!(command_of(&json!({"command": [1]})), None);
        let patch = json!({"command": "*** Begin Patch\n*** End Patch"});
        assert_eq!(canonical("Bash", &patch), "apply_patch");
        assert_eq!(canonical("exec_command", &json!({})), "Bash");
    }
}
