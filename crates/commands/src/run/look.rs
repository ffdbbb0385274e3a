//! Commands that show something.

use std::fmt::Write as _;
use std::time::Duration;

use ona_front::{Choice, Menu, MenuItem};
use ona_types::UpdateDestination;

use super::extensions::state;
use super::setting::set_saying;
use crate::act::Act;
use crate::closed::CLOSED;
use crate::desk::{CommandError, Desk};
use crate::outside::{Outside, Printed};
use crate::table::{COMMANDS, Meaning, find, name_of};

/// How long `/status` waits for the model's server.
const REACH_LIMIT: Duration = Duration::from_secs(3);

/// What can be typed at the beginning of a prompt.
const PREFIXES: &str = "\
| | |
|---|---|
| `/` | commands, skills, custom commands and prompts of MCP servers |
| `!` | runs a command line of your own, through the gate |
| `@` | attaches a file, a directory, or a resource of an MCP server |
| `#` | saves a memory |
| `?` | on an empty prompt: the keys |
";

/// `/help`.
pub(super) fn help<O: Outside>(desk: &Desk<O>, name: &str) -> Act {
    let name = name.trim_start_matches('/');
    if !name.is_empty() {
        let meaning = find(name);
        if let Some(variable) = meaning.and_then(|one| desk.outside.switched_off_by(name_of(one))) {
            return Act::plain(format!("/{name} is switched off by {variable}"));
        }
        return match meaning {
            Some(Meaning::Command(command)) => {
                let mut text =
                    format!("`/{} {}`: {}\n", command.name, command.arguments, command.about);
                if !command.aliases.is_empty() {
                    let aliases: Vec<String> =
                        command.aliases.iter().map(|alias| format!("`/{alias}`")).collect();
                    let _ = writeln!(text, "\nAlso {}", aliases.join(", "));
                }
                Act::text(text)
            }
            Some(Meaning::Closed(closed)) => {
                Act::plain(format!("/{}: {}", closed.name, closed.row))
            }
            None => {
                let custom = desk.session.offered_commands();
                match custom.iter().find(|command| command.name == name) {
                    Some(command) => Act::text(format!(
                        "`/{} {}` ({}): {}",
                        command.name, command.arguments, command.source, command.description
                    )),
                    None => filtered(desk, name),
                }
            }
        };
    }
    let mut text = format!("{PREFIXES}\n| Command | |\n|---|---|\n");
    let is_there = |name: &str| desk.outside.switched_off_by(name).is_none();
    for command in COMMANDS.iter().filter(|command| is_there(command.name)) {
        let _ = writeln!(
            text,
            "| `/{} {}` | {} |",
            command.name,
            command.arguments.replace('|', "\\|"),
            command.about
        );
    }
    for command in desk.session.offered_commands() {
        let about = command.description.replace('|', "\\|").replace('\n', " ");
        let _ = writeln!(text, "| `/{}` | {about} ({}) |", command.name, command.source);
    }
    let closed = CLOSED.iter().filter(|closed| is_there(closed.name));
    let closed: Vec<String> = closed.map(|closed| format!("/{}", closed.name)).collect();
    let _ = writeln!(text, "\nNot in ona; each says why: {}", closed.join(", "));
    Act::text(text)
}

/// The commands whose name or description contains a text.
fn filtered<O: Outside>(desk: &Desk<O>, word: &str) -> Act {
    let items: Vec<MenuItem> = COMMANDS
        .iter()
        .filter(|command| desk.outside.switched_off_by(command.name).is_none())
        .filter(|command| {
            command.name.contains(word) || command.about.to_lowercase().contains(word)
        })
        .map(|command| MenuItem {
            label: format!("/{} {}", command.name, command.arguments),
            detail: command.about.to_owned(),
            choice: Choice::Command { line: format!("/help {}", command.name) },
            ..MenuItem::default()
        })
        .collect();
    match items.is_empty() {
        true => Act::error(format!("Unknown command: /{word}")),
        false => {
            Act::menu(Menu {
                title: format!("Commands with “{word}”"), items, ..Menu::default()
            })
        }
    }
}

/// `/terminal-setup`.
pub(super) fn terminal_setup() -> Act {
    Act::text(
        "A line break in the prompt: `Ctrl+J`, or `\\` and `Enter`, in every terminal. `Shift+Enter` and `Alt+Enter` \
         work where the terminal reports them: kitty, WezTerm, Ghostty, foot, Alacritty, iTerm2 and Windows Terminal do \
         by themselves. In tmux, add `set -s extended-keys on` to `~/.tmux.conf`. In VS Code, bind `shift+enter` to \
         `workbench.action.terminal.sendSequence` with the text `\\u001b\\r`. ona changes no file of your terminal.",
    )
}

/// `/sandbox`.
pub(super) fn sandbox<O: Outside>(desk: &Desk<O>, arguments: &str) -> Act {
    let switched = match arguments {
        "on" => Some(("true", "commands run in the sandbox")),
        "off" => Some(("false", "commands run outside the sandbox")),
        "" => None,
        other => return Act::error(format!("unknown argument `{other}`: on, off")),
    };
    if let Some((value, words)) = switched {
        return set_saying(desk, "sandbox.enabled", value, UpdateDestination::LocalSettings, words);
    }
    let governance = &desk.session.gate.governance;
    let on = governance.sandbox.enabled;
    let item = |label: &str, line: &str, current| MenuItem {
        label: label.to_owned(),
        choice: Choice::Command { line: line.to_owned() },
        current,
        ..MenuItem::default()
    };
    Act::menu(Menu {
        title: "Sandbox of commands".to_owned(),
        text: format!("```text\n{}\n```", governance.sandbox_words()),
        items: vec![item("On", "/sandbox on", on), item("Off", "/sandbox off", !on)],
        selected: usize::from(!on),
        keys: Vec::new(),
    })
}

/// `/status`.
pub(super) async fn status<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let model = desk.model();
    let provider = model.model.provider.to_string();
    let auth = ["auth", "status", "--provider", &provider];
    let (credential, reached) = tokio::join!(desk.printed(&auth), model.client.reach(REACH_LIMIT));
    let gate = &desk.session.gate;
    let name = desk.store().session(desk.session_id())?.and_then(|row| row.name);
    let name = name.map(|name| format!(" ({name})")).unwrap_or_default();
    let effort = model.effort.effort().map(|effort| format!(", effort {}", effort.as_str()));
    let mut text = format!(
        "ona {}\nsession   {}{name}\nmodel     {} ({provider}){}\n",
        desk.outside.version(),
        desk.session_id(),
        model.model.wire,
        effort.unwrap_or_default()
    );
    let reached = match reached {
        Ok(time) => format!("answers in {} ms", time.as_millis()),
        Err(error) => format!("cannot be reached: {error}"),
    };
    let _ = writeln!(text, "server    {} ({reached})", model.client.server());
    let _ = writeln!(text, "mode      {}", desk.mode());
    let _ = writeln!(text, "phase     {}", gate.record.standing()?.phase);
    let _ = writeln!(text, "directory {}", gate.place().cwd.display());
    let _ = writeln!(text, "record    {}", desk.store().path().display());
    let (level, missing) = gate.governance.sandbox_level();
    let missing = missing.map(|why| format!(" ({why})")).unwrap_or_default();
    let _ = writeln!(text, "sandbox   {level}{missing}");
    let servers = gate.pool().map(|pool| pool.statuses()).unwrap_or_default();
    if !servers.is_empty() {
        let states =
            servers.iter().map(|one| gate.masked(&format!("{} ({})", one.name, state(one))));
        let _ = writeln!(text, "servers   {}", states.collect::<Vec<_>>().join(", "));
    }
    let sources: Vec<String> = gate.layers().iter().map(|layer| layer.source.to_string()).collect();
    let sources = if sources.is_empty() { "no files".to_owned() } else { sources.join(", ") };
    let _ = writeln!(text, "settings  {sources}");
    let _ = write!(text, "\ncredential\n{}", credential.text.trim_end());
    Ok(Act::plain(text))
}

/// `/doctor`.
pub(super) async fn doctor<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let record = desk.printed(&["doctor"]).await;
    let mut text = record.text.trim_end().to_owned();
    for warning in &desk.warnings {
        let _ = write!(text, "\nwarn  settings     {}", warning.replace('\n', " "));
    }
    if desk.warnings.is_empty() {
        text.push_str("\nok    settings     no problems");
    }
    for problem in &desk.session.read_extensions()?.warnings {
        let _ = write!(text, "\nwarn  {:<12} {}", "extensions", one_line(&problem.to_string()));
    }
    for problem in &desk.session.servers()?.warnings {
        let problem = desk.session.gate.masked(&problem.to_string());
        let _ = write!(text, "\nwarn  {:<12} {}", "server", one_line(&problem));
    }
    text.push_str(&about_keybindings(desk));
    for status in desk.session.gate.pool().map(|pool| pool.statuses()).unwrap_or_default() {
        let word = if status.error.is_some() { "warn" } else { "ok" };
        let why = status.error.as_deref().and_then(|why| why.lines().next()).unwrap_or("connected");
        let why = desk.session.gate.masked(why);
        let _ = write!(text, "\n{word:<5} {:<12} {}: {why}", "server", status.name);
    }
    Ok(if record.ok { Act::plain(text) } else { Act::error(text) })
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// `/skills`.
pub(super) async fn skills<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let Printed { mut text, ok } = desk.printed(&["skills"]).await;
    for skill in &desk.session.read_extensions()?.skills {
        if find(&skill.name).is_some() {
            let _ = writeln!(text, "note: /{0} is ona's own command, not this {0}", skill.name);
        }
    }
    let text = text.trim_end().to_owned();
    Ok(if ok { Act::plain(text) } else { Act::error(text) })
}

/// The rows about the user's key bindings; none if there is no file.
fn about_keybindings<O: Outside>(desk: &Desk<O>) -> String {
    let file = desk.outside.keybindings();
    let problems = match ona_files::content_text(&file) {
        Ok(text) => desk.outside.keybindings_problems(&text),
        Err(_) if !file.exists() => return String::new(),
        Err(error) => vec![error.to_string()],
    };
    let row = |level: &str, what: &str| format!("\n{level:<5} {:<12} {what}", "keybindings");
    match problems.as_slice() {
        [] => row("ok", &format!("{}: no problems", file.display())),
        problems => problems.iter().map(|problem| row("warn", problem)).collect(),
    }
}
