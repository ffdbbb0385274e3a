//! Commands about settings.

use ona_config::settings::{self, name_of};
use ona_extensions::DEFAULT_STYLE;
use ona_front::{Choice, Event, Menu, MenuItem, MenuKey, Preferences, Reply};
use ona_types::{PermissionMode, UpdateDestination};
use serde_json::{Value, json};

use super::confirm::{YES, confirm, confirmed};
use super::setting::{self, is_local, set, set_saying, shown, text_of, value_of, with_source};
use super::{first_word, model};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::{Outside, Printed};

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
];

/// The question before bypassPermissions.
const BYPASS: &str = "Let the agent do everything without a question?";
/// What it means.
const BYPASS_MEANS: &str = "`bypassPermissions` asks about nothing: commands run and files are changed at once, in this session \
and in every later one of this folder. Deny rules still apply. Use it only where nothing can be lost.";

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
        let Printed { text, ok } = desk.printed(&["config", "list"]).await;
        let masked = serde_json::from_str(&text).map(|all: Value| settings::shown(&[], &all));
        return Ok(match masked {
            Ok(all) if ok => Act::plain(format!("{all:#}")),
            _ => Act::error(text.trim_end()),
        });
    }
    if let ("unset", key) = first_word(arguments) {
        return setting::unset(desk, key);
    }
    let (is_confirmed, arguments) = confirmed(arguments);
    let Some((key, value)) = arguments.split_once('=') else {
        return Ok(one(desk, arguments));
    };
    let bypasses = value.trim().trim_matches('"') == PermissionMode::BypassPermissions.as_str();
    if key.trim() == "permissions.defaultMode" && bypasses && !is_confirmed {
        return Ok(confirm(BYPASS, BYPASS_MEANS, format!("/config {YES} {arguments}")));
    }
    if key.trim() == "model" {
        return model::keep_model(desk, value.trim().trim_matches('"'));
    }
    Ok(set(desk, key.trim(), value.trim(), UpdateDestination::LocalSettings))
}

fn all<O: Outside>(desk: &Desk<O>) -> Menu {
    let detail = |key: &str| match with_source(desk, key) {
        Some((value, source)) => {
            format!("{} ({})", text_of(Some(&shown(key, &value))), source.scope.as_str())
        }
        None => text_of(None),
    };
    let items = OFFERED.iter().map(|(key, _)| MenuItem {
        label: (*key).to_owned(),
        detail: detail(key),
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
    let text = text_of(now.as_ref().map(|now| shown(key, now)).as_ref());
    let Some((_, values)) = OFFERED.iter().find(|(known, _)| *known == key) else {
        return match setting::check(key) {
            Ok(()) => Act::plain(format!("{key}: {text}\n/config {key}=VALUE sets it")),
            Err(why) => Act::error(why.to_string()),
        };
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
    if is_local(desk, key) {
        items.push(MenuItem {
            label: "Remove it".to_owned(),
            detail: "from settings.local.json".to_owned(),
            choice: Choice::Command { line: format!("/config unset {key}") },
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
        text: match with_source(desk, key) {
            Some((_, source)) => format!("Now: {text}, from {}", name_of(&source)),
            None => format!("Now: {text}"),
        },
        items,
        selected,
        ..Menu::default()
    })
}

/// Why a value cannot be set, where the schema does not say it.
pub(super) fn refused_value<O: Outside>(
    desk: &Desk<O>,
    key: &str,
    value: &Value,
) -> Option<CommandError> {
    let themes = OFFERED.iter().find(|(known, _)| *known == "theme").map(|(_, values)| *values);
    let themes = themes.unwrap_or_default();
    match (key, value.as_str()) {
        ("theme", name) if !name.is_some_and(|name| themes.contains(&name)) => {
            let names = themes.join(", ");
            Some(CommandError::Said(format!("unknown theme {value}; the themes are: {names}")))
        }
        ("outputStyle", Some(name)) => known_style(desk, name).err(),
        _ => None,
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

/// The word that switches the colours of code.
const SYNTAX: &str = "--syntax";

/// `/theme`. It writes the user's own settings, also from its list.
pub(super) fn theme<O: Outside>(desk: &Desk<O>, name: &str) -> Act {
    let highlights = desk.settings().syntax_highlighting_disabled != Some(true);
    let user = UpdateDestination::UserSettings;
    match name {
        "" => Act::menu(themes(desk, highlights)),
        SYNTAX => {
            let words = if highlights { "code has no colours now" } else { "code has colours now" };
            set_saying(desk, "syntaxHighlightingDisabled", &highlights.to_string(), user, words)
        }
        name => set_saying(desk, "theme", name, user, &format!("the theme is {name}")),
    }
}

fn themes<O: Outside>(desk: &Desk<O>, highlights: bool) -> Menu {
    let now = value_of(desk, "theme").map_or_else(|| "auto".to_owned(), |now| text_of(Some(&now)));
    let names = OFFERED.iter().find(|(key, _)| *key == "theme").map(|(_, names)| *names);
    let items: Vec<MenuItem> = names
        .unwrap_or_default()
        .iter()
        .map(|name| MenuItem {
            label: (*name).to_owned(),
            current: *name == now,
            choice: Choice::Command { line: format!("/theme {name}") },
            ..MenuItem::default()
        })
        .collect();
    let selected = items.iter().position(|item| item.current).unwrap_or_default();
    let syntax = if highlights { "code without colours" } else { "code with colours" };
    Menu {
        title: "Theme".to_owned(),
        text: "It is saved in your own settings, for all projects.".to_owned(),
        items,
        selected,
        keys: vec![MenuKey {
            key: 't',
            label: syntax.to_owned(),
            choice: Choice::Command { line: format!("/theme {SYNTAX}") },
        }],
    }
}

/// `/vim`.
pub(super) fn vim<O: Outside>(desk: &Desk<O>) -> Act {
    let now = text_of(value_of(desk, "editorMode").as_ref());
    let next = if now == "vim" { "normal" } else { "vim" };
    let words = if next == "vim" { "vim keys are on" } else { "vim keys are off" };
    set_saying(desk, "editorMode", next, UpdateDestination::UserSettings, words)
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
                Some(command) => format!("the status line comes from: {command}\n/statusline off removes it"),
                None => "there is no status line command\n/statusline COMMAND sets one; it gets JSON about the session on its standard input".to_owned(),
            }))
        }
        ("off", _) => {
            let kept = setting::drop_key(desk, "statusLine")?;
            Ok(match (kept.file, kept.instead) {
                (Some(file), None) => {
                    let text = format!("removed the status line command from {file}");
                    Act::Reload(Reply::Plain { text })
                }
                (Some(file), Some(instead)) => {
                    let text = format!("removed statusLine from {file}, but {instead}");
                    Act::Reload(Reply::Plain { text })
                }
                (None, Some(instead)) => Act::error(instead),
                (None, None) => Act::plain("there is no status line command"),
            })
        }
        (word, _) if !desk.outside.is_command(word) => {
            Ok(Act::Prompt(format!("{DESCRIBED_LINE}{arguments}")))
        }
        _ => {
            let value = json!({"type": "command", "command": arguments});
            let kept = setting::keep(desk, "statusLine", &value)?;
            let file = kept.file.unwrap_or_default();
            let text = match kept.instead {
                None => format!("{file}: the status line comes from: {arguments}"),
                Some(why) => format!("{file}: statusLine = {arguments}\n{why}"),
            };
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
        return Ok(Act::plain(format!("reloaded {}", file.display())));
    }
    let mut text = format!("{}: changes apply as soon as the file is saved", file.display());
    if !file.exists() {
        let sample = desk.outside.default_keybindings();
        let written =
            ona_files::replace(&file, sample.as_bytes(), &ona_files::ReplaceOptions::new_file());
        if let Err(error) = written {
            return Ok(Act::error(format!("{} was not written: {error}", file.display())));
        }
        text = format!(
            "created {} with the default key bindings; changes apply as soon as the file is saved",
            file.display()
        );
    }
    let then = "/keybindings read".to_owned();
    let event = Event::Edit { file: file.display().to_string(), then };
    Ok(Act::Tell(Box::new(event), Reply::Plain { text }))
}
