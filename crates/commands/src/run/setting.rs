//! Writing and removing settings, and the truth about what acts afterwards.

use ona_config::settings::{
    self, EditError, InFile, Layer, Loaded, NoEffect, Saved, UnknownKeys, file_for, in_force,
    name_of, value_in,
};
use ona_config::trust;
use ona_engine::{LiveChange, USUAL_THINKING};
use ona_extensions::trust_request;
use ona_front::Reply;
use ona_policy::{Scope, Source};
use ona_types::UpdateDestination;
use serde_json::{Value, json};

use super::configuration::refused_value;
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// Settings that are read when a session starts, and how to change the present one.
const READ_AT_START: &[(&str, &str)] = &[
    ("outputStyle", "/clear starts one"),
    ("language", "/clear starts one"),
    ("agent", "/clear starts one"),
];

/// The value of a key in the settings that are in force.
pub(super) fn value_of<O: Outside>(desk: &Desk<O>, key: &str) -> Option<Value> {
    let parts: Vec<&str> = key.split('.').collect();
    in_force(desk.session.gate.layers(), &parts).map(|(value, _)| value)
}

/// The same, and where it comes from.
pub(super) fn with_source<O: Outside>(desk: &Desk<O>, key: &str) -> Option<(Value, Source)> {
    let parts: Vec<&str> = key.split('.').collect();
    in_force(desk.session.gate.layers(), &parts)
}

/// A value in words.
pub(super) fn text_of(value: Option<&Value>) -> String {
    match value {
        None => "not set".to_owned(),
        Some(Value::String(text)) => text.clone(),
        Some(value) => value.to_string(),
    }
}

/// A value as it is shown: without what may be a secret.
pub(super) fn shown(key: &str, value: &Value) -> Value {
    let parts: Vec<&str> = key.split('.').collect();
    settings::shown(&parts, value)
}

/// Whether the file that `/config` writes sets a key.
pub(super) fn is_local<O: Outside>(desk: &Desk<O>, key: &str) -> bool {
    let parts: Vec<&str> = key.split('.').collect();
    let file = desk.session.gate.governance.local_settings();
    let is = |layer: &&Layer| layer.source.file.as_deref() == Some(file.as_path());
    desk.session.gate.layers().iter().filter(is).any(|layer| value_in(layer, &parts).is_some())
}

/// Why a setting in a file does not act, and what to do about it; `None` if it acts.
fn without_effect<O: Outside>(desk: &Desk<O>, setting: &InFile<'_>) -> Option<String> {
    let gate = &desk.session.gate;
    let roots = gate.governance.roots();
    let why = match desk.store().operators_snapshot() {
        Ok(Some(_)) => Some(NoEffect::Snapshot),
        _ => {
            let given = &desk.engine.core.config.given;
            settings::no_effect(setting, gate.layers(), roots, given)
        }
    }?;
    let key = setting.key.join(".");
    let hint = match &why {
        NoEffect::Overruled { by, .. } => match by.scope {
            Scope::Managed => "your organisation decides it".to_owned(),
            Scope::Cli => "start ona without that option".to_owned(),
            Scope::Local if by.file == file_for(UpdateDestination::LocalSettings, roots) => {
                format!("`/config unset {key}` removes it there")
            }
            _ => "change it in that file".to_owned(),
        },
        NoEffect::NotRead(_) => "start ona without that option".to_owned(),
        NoEffect::Snapshot => "`ona config import` replaces it with the files".to_owned(),
    };
    Some(format!("{why}; {hint}"))
}

/// The parts of a key.
fn parts(key: &str) -> Result<Vec<&str>, CommandError> {
    let parts: Vec<&str> = key.split('.').collect();
    match parts.iter().any(|part| part.is_empty()) {
        true => Err(CommandError::Said(format!("invalid key `{key}`"))),
        false => Ok(parts),
    }
}

/// Why a key is not one that settings can have.
pub(super) fn check(key: &str) -> Result<(), CommandError> {
    let checked = settings::check_key(&parts(key)?);
    checked.map_err(|bad| CommandError::Said(refused(&bad.into())))
}

/// Writes a setting into a file. It acts at once, unless something of higher rank says otherwise; then that is said.
pub(super) fn set<O: Outside>(
    desk: &Desk<O>,
    key: &str,
    value: &str,
    destination: UpdateDestination,
) -> Act {
    set_saying(desk, key, value, destination, "")
}

/// The same, said in these words if there are some.
pub(super) fn set_saying<O: Outside>(
    desk: &Desk<O>,
    key: &str,
    value: &str,
    destination: UpdateDestination,
    words: &str,
) -> Act {
    let parts = match parts(key) {
        Ok(parts) => parts,
        Err(why) => return Act::error(why.to_string()),
    };
    let value: Value = serde_json::from_str(value).unwrap_or_else(|_| json!(value));
    if let Some(why) = refused_value(desk, key, &value) {
        return Act::error(why.to_string());
    }
    let roots = desk.session.gate.governance.roots();
    let (saved, odd) = match settings::set(destination, &parts, &value, roots, UnknownKeys::Refused)
    {
        Ok(set) => set,
        Err(error) => return Act::error(refused(&error)),
    };
    let file = saved.file.display();
    let setting = InFile { file: &saved.file, key: &parts, value: &value };
    let no_effect = without_effect(desk, &setting);
    let mut text = match (words, &no_effect) {
        ("", _) | (_, Some(_)) => format!("{file}: {key} = {}", shown(key, &value)),
        (words, None) => format!("{words}; saved in {file}"),
    };
    match no_effect {
        Some(why) => text.push_str(&format!("\n{why}")),
        None => {
            change_now(desk, key, Some(&value));
            text.push_str(&later(desk, key));
        }
    }
    text.push_str(&trusted(desk, &saved, &parts));
    for odd in odd {
        text.push_str(&format!("\nwarning: {odd}"));
    }
    Act::Reload(Reply::Plain { text })
}

/// When a setting acts, if not at once.
fn later<O: Outside>(desk: &Desk<O>, key: &str) -> String {
    if key == "permissions.defaultMode" && desk.keeps_mode {
        return format!("\nthis session keeps the mode {}; Shift+Tab changes it", desk.mode());
    }
    match READ_AT_START.iter().find(|(later, _)| *later == key) {
        Some((_, how)) => format!("\nit takes effect in the next session; {how}"),
        None => String::new(),
    }
}

/// What the operator has trusted before stays trusted, and the change is the operator's own; a line where it is not
/// trusted.
fn trusted<O: Outside>(desk: &Desk<O>, saved: &Saved, key: &[&str]) -> String {
    match trust::carry_over(saved, desk.session.gate.governance.roots(), desk.store()) {
        Ok(true) => {
            is_own(desk, saved);
            String::new()
        }
        Ok(false) if is_held_back(desk, saved, key) => {
            "\nit takes effect after `ona trust`".to_owned()
        }
        Ok(false) => String::new(),
        Err(error) => format!("\nwarning: {error}"),
    }
}

/// Whether a key of a file waits for the operator's trust.
fn is_held_back<O: Outside>(desk: &Desk<O>, saved: &Saved, key: &[&str]) -> bool {
    let roots = desk.session.gate.governance.roots();
    let config = &desk.engine.core.config;
    let Loaded { layers, .. } = settings::load(roots, &config.given);
    let request = trust_request(roots, &layers, !config.skills_off);
    let Ok(trusted) = desk.engine.core.trusted(&request.name()) else { return true };
    let judged = request.judge(&layers, roots, &trusted).layers;
    let has = |layers: &[Layer]| {
        let own = layers.iter().find(|layer| layer.source.file.as_deref() == Some(&saved.file));
        own.is_some_and(|layer| value_in(layer, key).is_some())
    };
    has(&layers) && !has(&judged)
}

/// The session knows of a change of a file that it is the operator's own.
fn is_own<O: Outside>(desk: &Desk<O>, saved: &Saved) {
    if let Some(layer) = saved.after.clone() {
        desk.changes.push(LiveChange::Written(Box::new(layer)));
    }
}

/// Changes the running session too, where the setting is one of the model's.
fn change_now<O: Outside>(desk: &Desk<O>, key: &str, value: Option<&Value>) {
    match key {
        "alwaysThinkingEnabled" => {
            let budget = (value == Some(&json!(true))).then_some(USUAL_THINKING);
            desk.changes.push(LiveChange::Thinking(budget));
        }
        "effortLevel" => {
            let effort = value.and_then(Value::as_str).and_then(|name| name.parse().ok());
            desk.changes.push(LiveChange::Effort(effort));
        }
        _ => {}
    }
}

/// The layers with a file as it is after a change.
fn after<O: Outside>(desk: &Desk<O>, saved: &Saved) -> Vec<Layer> {
    let mut layers = desk.session.gate.layers().to_vec();
    let is_it = |layer: &Layer| layer.source.file.as_deref() == Some(saved.file.as_path());
    match (layers.iter().position(is_it), &saved.after) {
        (Some(at), Some(after)) => layers[at] = after.clone(),
        (Some(at), None) => drop(layers.remove(at)),
        (None, _) => {}
    }
    layers
}

/// What a key is now, and where that is set.
fn now(key: &str, found: Option<(Value, Source)>) -> String {
    match found {
        Some((value, source)) => {
            format!("now {key} = {}, from {}", shown(key, &value), name_of(&source))
        }
        None => format!("{key} is not set anywhere now: the default applies"),
    }
}

/// `/config unset KEY`: removes a key from the file that `/config` writes.
pub(super) fn unset<O: Outside>(desk: &Desk<O>, key: &str) -> Result<Act, CommandError> {
    if key.is_empty() {
        return Ok(Act::error("which setting? /config unset KEY"));
    }
    let parts = parts(key)?;
    check(key)?;
    let roots = desk.session.gate.governance.roots();
    let saved = match settings::unset(UpdateDestination::LocalSettings, &parts, roots) {
        Ok(saved) => saved,
        Err(error) if is_not_set(&error) => {
            let file = desk.session.gate.governance.local_settings();
            let elsewhere = match with_source(desk, key) {
                Some((value, source)) => {
                    let source = name_of(&source);
                    let value = shown(key, &value);
                    format!("{source} sets {key} = {value}: change it in that file")
                }
                None => "it is not set anywhere: the default applies".to_owned(),
            };
            let text = format!("`{key}` is not set in {}\n{elsewhere}", file.display());
            return Ok(Act::error(text));
        }
        Err(error) => return Ok(Act::error(refused(&error))),
    };
    let found = in_force(&after(desk, &saved), &parts);
    change_now(desk, key, found.as_ref().map(|(value, _)| value));
    let before = saved.before.as_ref().and_then(|layer| value_in(layer, &parts));
    let before = before.map(|value| format!(" = {}", shown(key, value))).unwrap_or_default();
    let file = saved.file.display();
    let mut text = format!("removed from {file}: {key}{before}\n{}", now(key, found));
    if matches!(key, "model" | "model_config") {
        let wire = desk.model().model.wire;
        text.push_str(&format!("\nthis session goes on with {wire}; /model switches"));
    }
    text.push_str(&later(desk, key));
    text.push_str(&trusted(desk, &saved, &parts));
    Ok(Act::Reload(Reply::Plain { text }))
}

/// Whether the file does not have the key.
fn is_not_set(error: &EditError) -> bool {
    match error {
        EditError::NotSet(_) => true,
        EditError::In { reason, .. } => is_not_set(reason),
        _ => false,
    }
}

/// A setting in the user's own file, after a change.
pub(super) struct Kept {
    /// The file; `None` if there was nothing to remove.
    pub(super) file: Option<String>,
    /// What the next sessions use instead, where another source decides.
    pub(super) instead: Option<String>,
}

/// Writes a setting into the user's own file.
pub(super) fn keep<O: Outside>(
    desk: &Desk<O>,
    key: &str,
    value: &Value,
) -> Result<Kept, CommandError> {
    let roots = desk.session.gate.governance.roots();
    let user = UpdateDestination::UserSettings;
    let set = settings::set(user, &[key], value, roots, UnknownKeys::Refused);
    let (saved, _) = set.map_err(|error| CommandError::Said(refused(&error)))?;
    is_own(desk, &saved);
    let setting = InFile { file: &saved.file, key: &[key], value };
    let instead = without_effect(desk, &setting);
    Ok(Kept { file: Some(saved.file.display().to_string()), instead })
}

/// Removes a setting from the user's own file, if it is there.
pub(super) fn drop_key<O: Outside>(desk: &Desk<O>, key: &str) -> Result<Kept, CommandError> {
    let roots = desk.session.gate.governance.roots();
    let (file, layers) = match settings::unset(UpdateDestination::UserSettings, &[key], roots) {
        Ok(saved) => {
            is_own(desk, &saved);
            (Some(saved.file.display().to_string()), after(desk, &saved))
        }
        Err(error) if is_not_set(&error) => (None, desk.session.gate.layers().to_vec()),
        Err(error) => return Err(CommandError::Said(refused(&error))),
    };
    let instead = in_force(&layers, &[key]).map(|(value, source)| {
        format!("{} sets {key} = {value}: change it there", name_of(&source))
    });
    Ok(Kept { file, instead })
}

/// Why a setting was not changed.
fn refused(error: &EditError) -> String {
    let meant = match error {
        EditError::Key(settings::BadKey::Unknown { nearest: Some(nearest), .. }) => {
            format!("\ndid you mean `{nearest}`?")
        }
        EditError::Key(settings::BadKey::Unknown { .. }) => {
            "\n`ona config schema` lists all settings".to_owned()
        }
        _ => String::new(),
    };
    format!("{error}{meant}")
}
