//! Commands about settings.

use ona_config::settings::{self, EditError, UnknownKeys};
use ona_config::trust;
use ona_engine::{LiveChange, USUAL_THINKING};
use ona_extensions::DEFAULT_STYLE;
use ona_front::{Choice, Event, Menu, MenuItem, Preferences, Reply};
use ona_types::UpdateDestination;
use serde_json::{Value, json};

use super::{first_word, model};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// The settings that the menu offers, each with the values it can have; none: any text.
const OFFERED: &[(&str, &[&str])] = &[
    ("model", &[]),
    ("effortLevel", &["low", "medium", "high", "max"]),
    (
        "permissions.defaultMode",
        &["default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"],
    ),
    (
        "theme",
        &[
            "auto",
            "dark",
            "light",
            "dark-daltonized",
            "light-daltonized",
            "dark-ansi",
            "light-ansi",
        ],
    ),
    ("editorMode", &["normal", "vim"]),
    ("outputStyle", &[]),
    ("language", &[]),
    ("verbose", &["true", "false"]),
    ("syntaxHighlightingDisabled", &["true", "false"]),
    ("prefersReducedMotion", &["true", "false"]),
    (
        "preferredNotifChannel",
        &["auto", "terminal_bell", "iterm2", "kitty", "ghostty", "notifications_disabled"],
    ),
    ("alwaysThinkingEnabled", &["true", "false"]),
    ("autoMemoryEnabled", &["true", "false"]),
    ("respectGitignore", &["true", "false"]),
    ("cleanupPeriodDays", &[]),
];

/// Settings that are read when a session starts, and how to change the present one.
const READ_AT_START: &[(&str, &str)] = &[
    ("permissions.defaultMode", "Shift+Tab changes the mode of this one"),
    ("outputStyle", "/clear starts one"),
    ("language", "/clear starts one"),
    ("agent", "/clear starts one"),
    ("cleanupPeriodDays", "/clear starts one"),
];

/// The colours of `/color`.
const COLOURS: [&str; 9] =
    ["default", "red", "blue", "green", "yellow", "purple", "orange", "pink", "cyan"];

/// `/config`.
pub(super) async fn config<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let arguments = arguments.trim();
    if arguments.is_empty() {
        return Ok(Act::menu(all(desk)));
    }
    if arguments == "outputStyle" {
        return Ok(output_style(desk, ""));
    }
    if arguments == "list" {
        return Ok(desk.print(&["config", "list"]).await);
    }
    let Some((key, value)) = arguments.split_once('=') else {
        return Ok(one(desk, arguments));
    };
    if key.trim() == "model" {
        return model::keep_model(desk, value.trim().trim_matches('"'));
    }
    Ok(set(desk, key.trim(), value.trim(), UpdateDestination::LocalSettings))
}

/// The value of a key in the settings that are in force.
fn value_of<O: Outside>(desk: &Desk<O>, key: &str) -> Option<Value> {
    let merged = settings::merge(desk.session.gate.layers());
    key.split('.').try_fold(merged, |value, part| value.get(part).cloned())
}

fn text_of(value: Option<&Value>) -> String {
    match value {
        None => "not set".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

fn all<O: Outside>(desk: &Desk<O>) -> Menu {
    let items = OFFERED.iter().map(|(key, _)| MenuItem {
        label: (*key).to_owned(),
        detail: text_of(value_of(desk, key).as_ref()),
        choice: Choice::Command { line: format!("/config {key}") },
        value: (*key).to_owned(),
        ..MenuItem::default()
    });
    Menu {
        title: "Settings".to_owned(),
        text: format!(
            "Changes are written to `{}`.",
            desk.session.gate.governance.local_settings().display()
        ),
        items: items.collect(),
        ..Menu::default()
    }
}

/// The values that a setting can have.
fn one<O: Outside>(desk: &Desk<O>, key: &str) -> Act {
    let now = value_of(desk, key);
    let text = text_of(now.as_ref());
    let Some((_, values)) = OFFERED.iter().find(|(known, _)| *known == key) else {
        return Act::plain(format!("{key}: {text}\n/config {key}=VALUE sets it"));
    };
    let mut items: Vec<MenuItem> = values
        .iter()
        .map(|value| MenuItem {
            label: (*value).to_owned(),
            current: *value == text,
            choice: Choice::Command { line: format!("/config {key}={value}") },
            ..MenuItem::default()
        })
        .collect();
    if values.is_empty() {
        items.push(MenuItem {
            label: "Another value".to_owned(),
            choice: Choice::Type {
                label: key.to_owned(),
                line: format!("/config {key}="),
                initial: now.map(|now| text_of(Some(&now))).unwrap_or_default(),
            },
            ..MenuItem::default()
        });
    }
    items.push(MenuItem {
        label: "Back".to_owned(),
        choice: Choice::Command { line: "/config".to_owned() },
        ..MenuItem::default()
    });
    let selected = items.iter().position(|item| item.current).unwrap_or_default();
    Act::menu(Menu {
        title: key.to_owned(),
        text: format!("Now: {text}"),
        items,
        selected,
        ..Menu::default()
    })
}

/// Writes a setting into a file; it acts at once.
pub(super) fn set<O: Outside>(
    desk: &Desk<O>,
    key: &str,
    value: &str,
    destination: UpdateDestination,
) -> Act {
    let parts: Vec<&str> = key.split('.').collect();
    if parts.iter().any(|part| part.is_empty()) {
        return Act::error(format!("invalid key `{key}`"));
    }
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    let roots = desk.session.gate.governance.roots();
    if matches!(parts.as_slice(), ["theme"])
        && !OFFERED.iter().any(|(key, values)| {
            *key == "theme" && value.as_str().is_some_and(|name| values.contains(&name))
        })
    {
        return Act::error(format!("unknown theme {value}: see /theme"));
    }
    if key == "outputStyle"
        && let Some(name) = value.as_str()
        && let Err(why) = known_style(desk, name)
    {
        return Act::error(why.to_string());
    }
    match settings::set(destination, &parts, &value, roots, UnknownKeys::Refused) {
        Ok((saved, odd)) => {
            let mut text = format!("{}: {key} = {value}", saved.file.display());
            change_now(desk, key, &value);
            if let Some((_, how)) = READ_AT_START.iter().find(|(later, _)| *later == key) {
                text.push_str(&format!("\nit acts from the next session on; {how}"));
            }
            // The operator wrote it: what was trusted before is trusted still.
            match trust::carry_over(&saved, roots, desk.store()) {
                Ok(true) => {}
                Ok(false) => text.push_str("\nit acts after `ona trust`"),
                Err(error) => text.push_str(&format!("\nwarning: {error}")),
            }
            for odd in odd {
                text.push_str(&format!("\nwarning: {odd}"));
            }
            Act::Reload(Reply::Plain { text })
        }
        Err(error) => Act::error(refused(&error)),
    }
}

/// Changes the running session too, where the setting is one of the model's.
fn change_now<O: Outside>(desk: &Desk<O>, key: &str, value: &Value) {
    match key {
        "alwaysThinkingEnabled" => {
            let budget = (value == &json!(true)).then_some(USUAL_THINKING);
            desk.changes.push(LiveChange::Thinking(budget));
        }
        "effortLevel" => {
            let effort = value.as_str().and_then(|name| name.parse().ok());
            desk.changes.push(LiveChange::Effort(effort));
        }
        _ => {}
    }
}

/// Why a name is not that of an output style.
fn known_style<O: Outside>(desk: &Desk<O>, name: &str) -> Result<(), CommandError> {
    let styles = desk.session.output_styles();
    if styles.iter().any(|style| style.is_named(name)) {
        return Ok(());
    }
    let names: Vec<&str> = styles.iter().map(|style| style.name.as_str()).collect();
    let why = format!("unknown output style `{name}`; there are: {}", names.join(", "));
    Err(CommandError::Said(why))
}

/// Writes a setting into the user's own file; its name.
pub(super) fn keep<O: Outside>(
    desk: &Desk<O>,
    key: &str,
    value: &Value,
) -> Result<String, CommandError> {
    let roots = desk.session.gate.governance.roots();
    let user = UpdateDestination::UserSettings;
    let set = settings::set(user, &[key], value, roots, UnknownKeys::Refused);
    let said = |error: EditError| CommandError::Said(refused(&error));
    set.map(|(saved, _)| saved.file.display().to_string()).map_err(said)
}

/// Removes a setting from the user's own file; its name.
pub(super) fn drop_key<O: Outside>(desk: &Desk<O>, key: &str) -> Result<String, CommandError> {
    let roots = desk.session.gate.governance.roots();
    let unset = settings::unset(UpdateDestination::UserSettings, &[key], roots);
    let said = |error: EditError| CommandError::Said(refused(&error));
    unset.map(|file| file.display().to_string()).map_err(said)
}

fn refused(error: &EditError) -> String {
    let meant = match error {
        EditError::Key(settings::BadKey::Unknown { nearest: Some(nearest), .. }) => {
            format!("\ndid you mean `{nearest}`?")
        }
        _ => String::new(),
    };
    format!("{error}{meant}")
}

/// `/theme`.
pub(super) fn theme<O: Outside>(desk: &Desk<O>, name: &str) -> Act {
    match name {
        "" => one(desk, "theme"),
        name => set(desk, "theme", name, UpdateDestination::UserSettings),
    }
}

/// `/vim`.
pub(super) fn vim<O: Outside>(desk: &Desk<O>) -> Act {
    let now = text_of(value_of(desk, "editorMode").as_ref());
    let next = if now == "vim" { "normal" } else { "vim" };
    set(desk, "editorMode", next, UpdateDestination::UserSettings)
}

/// `/output-style`.
pub(super) fn output_style<O: Outside>(desk: &Desk<O>, name: &str) -> Act {
    if !name.is_empty() {
        return set(desk, "outputStyle", name, UpdateDestination::LocalSettings);
    }
    let now = desk.settings().output_style.unwrap_or_else(|| DEFAULT_STYLE.to_owned());
    let items: Vec<MenuItem> = desk
        .session
        .output_styles()
        .into_iter()
        .map(|style| MenuItem {
            current: style.is_named(&now),
            choice: Choice::Command { line: format!("/output-style {}", style.name) },
            detail: style.description,
            label: style.name,
            ..MenuItem::default()
        })
        .collect();
    let selected = items.iter().position(|item| item.current).unwrap_or_default();
    Act::menu(Menu {
        title: "Output style".to_owned(),
        text: format!("Now: {now}. Your own are files in `.claude/output-styles`."),
        items,
        selected,
        ..Menu::default()
    })
}

/// `/color`.
pub(super) fn color(name: &str) -> Act {
    if name.is_empty() {
        let item = |name: &&str| MenuItem {
            label: (*name).to_owned(),
            choice: Choice::Command { line: format!("/color {name}") },
            ..MenuItem::default()
        };
        return Act::menu(Menu {
            title: "Colour of the prompt".to_owned(),
            items: COLOURS.iter().map(item).collect(),
            ..Menu::default()
        });
    }
    if !COLOURS.contains(&name) {
        return Act::error(format!("unknown colour `{name}`: {}", COLOURS.join(", ")));
    }
    let colour = Some(name.to_owned()).filter(|name| name != "default");
    let preferences = Box::new(Preferences { colour, ..Preferences::default() });
    let reply = Reply::Plain { text: format!("the prompt is {name} in this session") };
    Act::Tell(Box::new(Event::Preferences { preferences }), reply)
}

/// What the model is asked if the status line is described, not given as a command.
const DESCRIBED_LINE: &str = "Set up the status line of this terminal interface. It is printed by a shell command, which \
gets JSON about the session on its standard input: cwd, session_id, model.id, workspace.project_dir, cost.total_cost_usd, \
context_window.used_percentage, phase, intent, permission_mode, vim.mode. Write a script ~/.claude/statusline.sh that reads \
the JSON and prints one short line, make it executable, try it with sample input, and set \
`\"statusLine\": {\"type\": \"command\", \"command\": \"~/.claude/statusline.sh\"}` in ~/.claude/settings.json, keeping \
everything else in that file. What it should show: ";

/// `/statusline`.
pub(super) fn status_line<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    match first_word(arguments) {
        ("", _) => {
            let now = desk.settings().status_line;
            let command = now.and_then(|helper| helper.command.clone());
            Ok(Act::plain(match command {
                Some(command) => format!("the status line is printed by: {command}\n/statusline off removes it"),
                None => "there is no status line command\n/statusline COMMAND sets one; it gets JSON about the session on its standard input".to_owned(),
            }))
        }
        ("off", _) => {
            let file = drop_key(desk, "statusLine")?;
            let text = format!("{file}: there is no status line command any more");
            Ok(Act::Reload(Reply::Plain { text }))
        }
        (word, _) if !desk.outside.is_command(word) => {
            Ok(Act::Prompt(format!("{DESCRIBED_LINE}{arguments}")))
        }
        _ => {
            let value = json!({"type": "command", "command": arguments});
            let file = keep(desk, "statusLine", &value)?;
            let text = format!("{file}: the status line is printed by: {arguments}");
            Ok(Act::Reload(Reply::Plain { text }))
        }
    }
}

/// `/keybindings`, and `/keybindings read` after the editor: they are read whenever a command ends.
pub(super) fn keybindings<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    let file = desk.outside.keybindings();
    if arguments == "read" {
        return Ok(Act::plain(format!("{} was read again", file.display())));
    }
    let mut text = format!("{} acts as soon as it is saved", file.display());
    if !file.exists() {
        let sample = desk.outside.default_keybindings();
        let written =
            ona_files::replace(&file, sample.as_bytes(), &ona_files::ReplaceOptions::new_file());
        if let Err(error) = written {
            return Ok(Act::error(format!("{} was not written: {error}", file.display())));
        }
        text = format!(
            "created {} with all bindings as they are; it acts as soon as it is saved",
            file.display()
        );
    }
    let then = "/keybindings read".to_owned();
    let event = Event::Edit { file: file.display().to_string(), then };
    Ok(Act::Tell(Box::new(event), Reply::Plain { text }))
}
