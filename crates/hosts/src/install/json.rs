//! ona's hooks and server in other agents' JSON files.

use ona_config::own_server;
use ona_files::jsonc::{EditError, Step, prune, push, put, value};
use ona_hooks::own_gate::{is_own, with_options_of};
use serde_json::{Value, json};

use super::Refused;
use super::agents::Event;
use Step::{Index, Key};

/// How long a host waits for ona, in seconds: more than a busy disk needs, less than a person would wait.
const TIMEOUT: u64 = 30;
/// A host that ends waits no longer than this (Codex).
const AT_THE_END: u64 = 3;

/// The file with ona's hook on every event. One that is there already stays where it is, with what was set for it;
/// only its command is brought up to date.
pub fn put_hooks(text: &str, events: &[Event], command: &str) -> Result<String, EditError> {
    let mut text = text.to_owned();
    for event in events {
        let settings = value(&text)?;
        let own = own_hooks(&settings, event.name);
        // Two would judge every call twice.
        for (group, handler) in own.iter().skip(1).rev() {
            text = take_hook(&text, event.name, *group, *handler)?;
        }
        text = match own.first() {
            Some((group, handler)) => {
                let path = [&path(event.name, *group, *handler)[..], &[Key("command")]].concat();
                let old = &settings["hooks"][event.name][*group]["hooks"][*handler]["command"];
                let command = with_options_of(command, old.as_str().unwrap_or_default());
                put(&text, &path, &json!(command))?
            }
            None => push(&text, &[Key("hooks"), Key(event.name)], &new_group(event, command))?,
        };
    }
    Ok(text)
}

/// The file without ona's hooks, on whichever event they are.
pub fn take_hooks(text: &str) -> Result<String, EditError> {
    let mut left = text.to_owned();
    let hooks = value(text)?;
    let events = hooks["hooks"].as_object().into_iter().flatten();
    for event in events.map(|(name, _)| name) {
        for (group, handler) in own_hooks(&hooks, event).into_iter().rev() {
            left = take_hook(&left, event, group, handler)?;
        }
    }
    Ok(left)
}

/// Takes a handler out, with its group if that has no other: a matcher alone says nothing.
fn take_hook(text: &str, event: &str, group: usize, handler: usize) -> Result<String, EditError> {
    let path = path(event, group, handler);
    let others = value(text)?["hooks"][event][group]["hooks"].as_array().map_or(0, Vec::len);
    prune(text, if others == 1 { &path[..3] } else { &path })
}

fn new_group(event: &Event, command: &str) -> Value {
    let timeout = if event.name == "SessionEnd" { AT_THE_END } else { TIMEOUT };
    let handler = json!({"type": "command", "command": command, "timeout": timeout});
    match event.of_tools {
        true => json!({"matcher": "*", "hooks": [handler]}),
        false => json!({"hooks": [handler]}),
    }
}

/// Where ona's hooks stand on an event: group, and handler in it.
fn own_hooks(settings: &Value, event: &str) -> Vec<(usize, usize)> {
    let groups = settings["hooks"][event].as_array().into_iter().flatten().enumerate();
    let handlers = groups.flat_map(|(at, group)| {
        let handlers = group["hooks"].as_array().into_iter().flatten().enumerate();
        handlers.map(move |(index, handler)| (at, index, handler))
    });
    handlers.filter(|(_, _, handler)| is_own(handler)).map(|(at, index, _)| (at, index)).collect()
}

fn path(event: &str, group: usize, handler: usize) -> [Step<'_>; 5] {
    [Key("hooks"), Key(event), Index(group), Key("hooks"), Index(handler)]
}

const SERVER: [Step<'static>; 2] = [Key("mcpServers"), Key(own_server::NAME)];

/// The file with ona's server, whose other settings stay as they are.
pub fn put_server(text: &str, program: &str) -> Result<String, Refused> {
    Ok(match &value(text)?["mcpServers"][own_server::NAME] {
        Value::Null => put(text, &SERVER, &own_server::entry(program))?,
        server if own_server::is_own(server) => {
            put(text, &[&SERVER[..], &[Key("command")]].concat(), &json!(program))?
        }
        _ => return Err(Refused::name_is_taken()),
    })
}

/// The file without ona's server.
pub fn take_server(text: &str) -> Result<String, EditError> {
    match own_server::is_own(&value(text)?["mcpServers"][own_server::NAME]) {
        true => prune(text, &SERVER),
        false => Ok(text.to_owned()),
    }
}
