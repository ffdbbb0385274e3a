//! Commands about agents, MCP servers and plugins.

use ona_front::{Choice, Event, Menu, MenuItem, MenuKey, Reply};
use ona_mcp::ServerState;

use super::confirm::{YES, confirm, confirmed};
use super::{beginning, counted, first_word};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// The file of a new agent.
const NEW_AGENT: &str = "---\nname: {name}\ndescription: When to use this agent, in one sentence\ntools: Read, Grep, Glob\n---\n\nSay here what the agent is for, how it works and what it reports.\n";

/// What the model is asked if an agent is described, not written.
const DESCRIBED_AGENT: &str = "Write a subagent for this project as a new file .claude/agents/NAME.md. NAME is short, in \
lower-case letters, digits and hyphens, and no file in that directory has it. The file begins with front matter between lines \
of `---`: `name`, `description` (one sentence: when to use the agent), and `tools` (a comma-separated list of only those tools \
that it needs, such as Read, Grep, Glob, Bash, Edit). Below it says in plain words what the agent is for, how it works, and \
what it reports. Overwrite nothing. Then say that /reload-plugins makes the agent available. What the agent is for: ";

/// `/agents`.
pub(super) async fn agents<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let extensions = desk.session.read_extensions()?;
    let dir = desk.session.gate.place().project_dir.join(".claude/agents");
    let (word, name) = first_word(arguments);
    let path_of = |name: &str| {
        extensions
            .agents
            .iter()
            .find(|agent| agent.name == name)
            .and_then(|agent| agent.path.clone())
    };
    let no_file = |name: &str| match extensions.agents.iter().any(|agent| agent.name == name) {
        true => Act::error(format!("the agent `{name}` has no file: it is built in")),
        false => Act::error(format!("unknown agent `{name}`; /agents lists them")),
    };
    match (word, name) {
        ("", _) => {}
        ("list", _) => return Ok(desk.print(&["agents"]).await),
        ("new", name) if !name.is_empty() => {
            if !name.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-') {
                return Ok(Act::error(format!(
                    "invalid name `{name}`: lower-case letters, digits and -"
                )));
            }
            let file = dir.join(format!("{name}.md"));
            let content = NEW_AGENT.replace("{name}", name);
            let written = ona_files::replace(
                &file,
                content.as_bytes(),
                &ona_files::ReplaceOptions::new_file(),
            );
            if let Err(error) = written {
                return Ok(Act::error(format!("{} was not written: {error}", file.display())));
            }
            return Ok(edit(&file.display().to_string(), "created"));
        }
        ("generate", about) if !about.is_empty() => {
            return Ok(Act::Prompt(format!("{DESCRIBED_AGENT}{about}")));
        }
        ("generate", _) => {
            return Ok(Act::error("what is the agent for? /agents generate DESCRIPTION"));
        }
        ("edit", name) if !name.is_empty() => {
            return Ok(match path_of(name) {
                Some(path) => edit(&path.display().to_string(), "opened"),
                None => no_file(name),
            });
        }
        ("delete", rest) if !rest.is_empty() => {
            let (is_confirmed, name) = confirmed(rest);
            let Some(path) = path_of(name) else { return Ok(no_file(name)) };
            if !is_confirmed {
                let question = format!("Delete the agent {name}?");
                let about = format!("Its file is deleted: `{}`", path.display());
                return Ok(confirm(question, about, format!("/agents delete {YES} {name}")));
            }
            return Ok(match std::fs::remove_file(&path) {
                Ok(()) => Act::ReloadExtensions(Some(format!("deleted {}", path.display()))),
                Err(error) => Act::error(format!("{} was not deleted: {error}", path.display())),
            });
        }
        ("new" | "edit" | "delete", _) => {
            return Ok(Act::error(format!("which agent? /agents {word} NAME")));
        }
        (word, _) => {
            return Ok(Act::error(format!(
                "unknown argument `{word}`: new NAME, generate DESCRIPTION, edit NAME, delete NAME, list"
            )));
        }
    }
    let mut items: Vec<MenuItem> = extensions
        .agents
        .iter()
        .map(|agent| MenuItem {
            label: agent.name.clone(),
            detail: format!("{}: {}", agent.origin, beginning(&agent.description, 60)),
            choice: match agent.path {
                Some(_) => Choice::Command { line: format!("/agents edit {}", agent.name) },
                None => Choice::Close,
            },
            value: agent.name.clone(),
            ..MenuItem::default()
        })
        .collect();
    items.push(MenuItem {
        label: "New agent".to_owned(),
        choice: Choice::Type {
            label: "Name".to_owned(),
            line: "/agents new ".to_owned(),
            initial: String::new(),
        },
        ..MenuItem::default()
    });
    items.push(MenuItem {
        label: "New agent, written by the model".to_owned(),
        choice: Choice::Type {
            label: "What it is for".to_owned(),
            line: "/agents generate ".to_owned(),
            initial: String::new(),
        },
        ..MenuItem::default()
    });
    Ok(Act::menu(Menu {
        title: "Agents".to_owned(),
        items,
        keys: vec![MenuKey {
            key: 'd',
            label: "delete".to_owned(),
            choice: Choice::Command { line: "/agents delete {}".to_owned() },
        }],
        ..Menu::default()
    }))
}

fn edit(file: &str, what: &str) -> Act {
    let event = Event::Edit { file: file.to_owned(), then: "/reload-plugins".to_owned() };
    Act::Tell(Box::new(event), Reply::Plain { text: format!("{what} {file}") })
}

/// Servers are connected when a session begins.
fn next_session(act: Act) -> Act {
    match act {
        Act::Reply(Reply::Plain { text }) => {
            Act::plain(format!("{text}\nthe next session has it: /clear begins one"))
        }
        other => other,
    }
}

/// `/mcp`.
pub(super) async fn mcp<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let (word, name) = first_word(arguments);
    let Some(pool) = desk.session.gate.pool() else {
        return Ok(match word {
            "" | "list" => desk.print(&["mcp", "list"]).await,
            "add" => next_session(desk.print_typed(&["mcp", word], name).await),
            _ => Act::error(format!("no MCP servers, so nothing to {word}; `/mcp add` adds one")),
        });
    };
    let said = |error: &dyn std::fmt::Display| {
        CommandError::Said(desk.session.gate.masked(&error.to_string()))
    };
    match (word, name) {
        ("", _) => {}
        ("reconnect", name) if !name.is_empty() => {
            pool.reconnect(name).await.map_err(|error| said(&error))?;
            return Ok(Act::plain(state_of(desk, name)));
        }
        (word @ ("login" | "logout" | "enable" | "disable" | "get" | "remove"), "") => {
            return Ok(Act::error(format!("which server? /mcp {word} NAME; /mcp lists them")));
        }
        ("remove", rest) if !rest.is_empty() && !confirmed(rest).0 => {
            let question = format!("Remove the server {rest} from its file?");
            return Ok(confirm(question, "", format!("/mcp remove {YES} {rest}")));
        }
        ("login" | "logout" | "enable" | "disable" | "get" | "list" | "add" | "remove", rest) => {
            let act = desk.print_typed(&["mcp", word], confirmed(rest).1).await;
            if word == "add" || word == "remove" {
                return Ok(next_session(act));
            }
            if word == "login" || word == "logout" {
                let _ = pool.reconnect(name).await;
            }
            return Ok(act);
        }
        ("reconnect", _) => {
            return Ok(Act::error("which server? /mcp reconnect NAME; /mcp lists them"));
        }
        (word, _) => {
            return Ok(Act::error(format!(
                "unknown argument `{word}`: reconnect NAME, login NAME, logout NAME, enable NAME, disable NAME, get NAME, add, remove NAME, list"
            )));
        }
    }
    let statuses = pool.statuses();
    let problems = desk.session.servers()?.warnings;
    let problems: String = problems
        .iter()
        .map(|problem| format!("\n\nwarning: {}", desk.session.gate.masked(&problem.to_string())))
        .collect();
    if statuses.is_empty() {
        return Ok(Act::plain(format!("no MCP servers; `ona mcp add` adds one{problems}")));
    }
    let items = statuses.iter().map(|status| {
        let line = match status.state {
            ServerState::NeedsAuth => format!("/mcp login {}", status.name),
            _ => format!("/mcp reconnect {}", status.name),
        };
        MenuItem {
            label: status.name.clone(),
            detail: desk.session.gate.masked(&state(status)),
            choice: Choice::Command { line },
            value: status.name.clone(),
            ..MenuItem::default()
        }
    });
    let key = |key: char, label: &str, line: &str| MenuKey {
        key,
        label: label.to_owned(),
        choice: Choice::Command { line: line.to_owned() },
    };
    Ok(Act::menu(Menu {
        title: "MCP servers".to_owned(),
        text: format!("Enter connects a server again, or signs in where it wants that.{problems}"),
        items: items.collect(),
        keys: vec![key('l', "sign in", "/mcp login {}"), key('o', "sign out", "/mcp logout {}")],
        ..Menu::default()
    }))
}

fn state_of<O: Outside>(desk: &Desk<O>, name: &str) -> String {
    let statuses = desk.session.gate.pool().map(|pool| pool.statuses()).unwrap_or_default();
    let found = statuses.iter().find(|status| status.name == name);
    found.map_or(format!("unknown server `{name}`"), |status| {
        desk.session.gate.masked(&format!("{name}: {}", state(status)))
    })
}

/// The state of a server, in words.
pub(super) fn state(status: &ona_mcp::ServerStatus) -> String {
    match status.state {
        ServerState::Pending => "no answer yet".to_owned(),
        ServerState::Connected => format!("connected, {}", counted(status.tools, "tool")),
        ServerState::Failed => {
            let why = status.error.as_deref().and_then(|why| why.lines().next());
            format!("failed: {}", why.unwrap_or("no reason given"))
        }
        ServerState::NeedsAuth => "needs a sign-in".to_owned(),
        ServerState::Disabled => "disabled".to_owned(),
    }
}

/// What `/plugin` does.
const PLUGIN_WORDS: [&str; 7] =
    ["list", "add", "update", "remove", "enable", "disable", "validate"];

/// `/plugin`.
pub(super) async fn plugin<O: Outside>(desk: &Desk<O>, arguments: &str) -> Act {
    let (word, rest) = first_word(arguments);
    let (is_confirmed, rest) = confirmed(rest);
    if word == "remove" && !is_confirmed && !rest.is_empty() {
        let question = format!("Remove the plugin {rest} and its data?");
        return confirm(question, "", format!("/plugin remove {YES} {rest}"));
    }
    if !word.is_empty() && !PLUGIN_WORDS.contains(&word) {
        return Act::error(format!("unknown argument `{word}`: {}", PLUGIN_WORDS.join(", ")));
    }
    let word = if word.is_empty() { "list" } else { word };
    desk.print_typed(&["plugin", word], rest).await
}
