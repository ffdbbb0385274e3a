//! Commands about the model: which one, and how hard it thinks.

use ona_config::settings::name_of;
use ona_engine::{ChoiceError, LiveChange, ModelWords};
use ona_front::{Choice, Menu, MenuItem, MenuKey, Reply};
use ona_provider::{Model, ModelError, ProviderKind, allowed, is_wire_name};
use ona_types::{Effort, UpdateDestination};
use serde_json::json;

use super::first_word;
use super::setting::{self, Kept};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// The word that connects the present model again.
const AGAIN: &str = "--again";
/// The word that changes the effort from the list of models.
const EFFORT: &str = "--effort";
/// The model's own effort.
const AUTO: &str = "auto";

/// `/model`.
pub(super) fn model<O: Outside>(desk: &Desk<O>, arguments: &str) -> Result<Act, CommandError> {
    let said = |error: O::Error| CommandError::Said(desk.outside.words(&error));
    let words = desk.outside.model_words().map_err(said)?;
    match arguments {
        "" => Ok(Act::menu(picker(desk, &words, desk.model().effort.effort(), None))),
        AGAIN => Ok(Act::Reconnect(Reply::Plain { text: "reconnected to the model".to_owned() })),
        name => match name.strip_prefix(EFFORT) {
            Some(rest) => Ok(step_effort(desk, &words, rest.trim())),
            None => switch(desk, &words, name),
        },
    }
}

/// More or less effort, as the list of models is open: it stays open.
fn step_effort<O: Outside>(desk: &Desk<O>, words: &ModelWords, arguments: &str) -> Act {
    let (direction, shown) = first_word(arguments);
    let model = desk.model();
    let now = model.effort.effort();
    let Some(next) = stepped(&model.model, now, direction == "more") else {
        let wire = &model.model.wire;
        return Act::plain(format!("not supported: {wire} has no reasoning effort"));
    };
    let word = next.map_or(AUTO, Effort::as_str);
    match effort(desk, word) {
        Act::Reload(_) => Act::Reload(Reply::Menu { menu: picker(desk, words, next, Some(shown)) }),
        // The highest effort is not written anywhere.
        Act::Reply(Reply::Plain { .. }) => Act::menu(picker(desk, words, next, Some(shown))),
        other => other,
    }
}

/// The effort above or below, of those that a model supports; the lowest is its own. `None` if it supports none.
fn stepped(model: &Model, now: Option<Effort>, more: bool) -> Option<Option<Effort>> {
    let levels = levels(model);
    if levels.is_empty() {
        return None;
    }
    let all: Vec<Option<Effort>> =
        std::iter::once(None).chain(levels.into_iter().map(Some)).collect();
    let at = all.iter().position(|level| *level == now).unwrap_or_default();
    let next = if more { (at + 1).min(all.len() - 1) } else { at.saturating_sub(1) };
    all.get(next).copied()
}

/// The levels of effort that a model supports, the lowest first.
fn levels(model: &Model) -> Vec<Effort> {
    let all = Effort::ALL.iter().map(|(_, effort)| *effort);
    all.filter(|effort| model.effort(*effort) == Some(*effort)).collect()
}

/// The efforts of a model, in words.
fn efforts(model: &Model) -> String {
    match levels(model).as_slice() {
        [] => "effort not supported".to_owned(),
        [only] => format!("effort {}", only.as_str()),
        [lowest, .., highest] => format!("effort {} to {}", lowest.as_str(), highest.as_str()),
    }
}

/// `/config model=NAME`: the model of this session and of the next ones.
pub(super) fn keep_model<O: Outside>(desk: &Desk<O>, name: &str) -> Result<Act, CommandError> {
    let said = |error: O::Error| CommandError::Said(desk.outside.words(&error));
    let words = desk.outside.model_words().map_err(said)?;
    let Act::Change(change, switched) = switch(desk, &words, name)? else {
        let known = ProviderKind::ALL.map(|(kind, word)| format!("  {word}: {}", allowed(kind)));
        let why = format!("unknown model `{name}`; the models are\n{}", known.join("\n"));
        return Err(CommandError::Said(why));
    };
    // The setting names no provider: the next session must find the same model by its name alone.
    let alone = match name.split_once('/') {
        Some((provider, alone)) if provider.parse::<ProviderKind>().is_ok() => alone,
        _ => name,
    };
    let given = words.model.clone();
    let found =
        ModelWords { model: Some(alone.to_owned()), ..words }.choose(&desk.settings(), None);
    let LiveChange::Model(handle) = &*change else { return Ok(Act::Change(change, switched)) };
    if !found.is_ok_and(|found| found == handle.model) {
        let why = "`model` cannot name a model of another provider; set model_config.provider and model_config.model_id";
        return Err(CommandError::Said(why.to_owned()));
    }
    let kept = setting::set(desk, "model", alone, UpdateDestination::LocalSettings);
    let Act::Reload(Reply::Plain { text: mut kept }) = kept else { return Ok(kept) };
    if let Some((named, source)) = setting::with_source(desk, "model_config.model_id") {
        let source = name_of(&source);
        kept.push_str(&format!(
            "\nthe next sessions use model_config.model_id = {named} of {source}, which ranks higher"
        ));
    } else if let Some(given) = given {
        kept.push_str(&format!(
            "\nsessions with --model or ANTHROPIC_MODEL use that: here it is {given}"
        ));
    }
    desk.changes.push(*change);
    Ok(Act::Reload(match switched {
        Reply::Error { text } => Reply::Error { text: format!("{kept}\n{text}") },
        Reply::Plain { text } => Reply::Plain { text: format!("{kept}\n{text}") },
        other => other,
    }))
}

/// The model of a name. `provider/model` names the provider too; a name alone is looked for among all of them, the
/// present one first. What can only be a name on the wire is sent as it is.
fn named_model<O: Outside>(
    desk: &Desk<O>,
    words: &ModelWords,
    name: &str,
) -> Result<Model, ChoiceError> {
    let settings = desk.settings();
    let present = desk.model().model.provider;
    let (provider, model) = match name.split_once('/') {
        Some((provider, model)) => match provider.parse::<ProviderKind>() {
            Ok(kind) => (Some(kind), Some(model).filter(|model| !model.is_empty())),
            // Names of this service have no slash: what stands before it is meant to be a provider.
            Err(unknown) if present == ProviderKind::ClaudeCodeSubscription => {
                return Err(unknown.into());
            }
            Err(_) => (None, Some(name)),
        },
        None => match name.parse::<ProviderKind>() {
            Ok(kind) => (Some(kind), None),
            Err(_) => (None, Some(name)),
        },
    };
    let lower = model.map(str::to_lowercase);
    let listed = |kind: ProviderKind| {
        let with = |model: Option<&str>| ModelWords {
            provider: Some(kind.to_string()),
            model: model.map(str::to_owned),
            ..words.clone()
        };
        let found = with(model).choose_listed(&settings);
        found.or_else(|error| with(lower.as_deref()).choose_listed(&settings).map_err(|_| error))
    };
    let kinds: Vec<ProviderKind> = match provider {
        Some(provider) => vec![provider],
        None => std::iter::once(present).chain(ProviderKind::ALL.map(|(kind, _)| kind)).collect(),
    };
    let mut why = None;
    for kind in kinds {
        match listed(kind) {
            Ok(model) => return Ok(model),
            // A provider that has it, but cannot use it, says more than one that does not have it.
            Err(error) if why.is_none() || !is_unknown(&error) => why = Some(error),
            Err(_) => {}
        }
    }
    match (model, why) {
        (Some(wire), why) if is_wire_name(wire) && why.as_ref().is_none_or(is_unknown) => {
            Ok(Model::by_wire(provider.unwrap_or(present), wire))
        }
        (_, Some(why)) => Err(why),
        (_, None) => words.choose_listed(&settings),
    }
}

fn is_unknown(error: &ChoiceError) -> bool {
    matches!(error, ChoiceError::Model(ModelError::Unknown { .. }))
}

/// Why the settings do not let a model be chosen.
fn not_available<O: Outside>(desk: &Desk<O>, words: &ModelWords, model: &Model) -> Option<String> {
    let settings = desk.settings();
    let list = settings.available_models.as_ref()?;
    let is = |name: &String| {
        let named = ModelWords {
            provider: Some(model.provider.to_string()),
            model: Some(name.clone()),
            ..words.clone()
        };
        *name == model.wire || named.choose_listed(&settings).is_ok_and(|named| named == *model)
    };
    let why = || {
        let names = list.join(", ");
        format!("{} is not among availableModels of the settings: {names}", model.wire)
    };
    (!list.iter().any(is)).then(why)
}

/// Another model.
fn switch<O: Outside>(desk: &Desk<O>, words: &ModelWords, name: &str) -> Result<Act, CommandError> {
    let model = match named_model(desk, words, name) {
        Ok(model) => model,
        Err(error) => {
            let all = ProviderKind::ALL.map(|(kind, word)| format!("  {word}: {}", allowed(kind)));
            return Ok(Act::error(format!("{error}\nthe models are\n{}", all.join("\n"))));
        }
    };
    if let Some(why) = not_available(desk, words, &model) {
        return Ok(Act::error(why));
    }
    let is_listed = ona_provider::model_ids(model.provider).any(|id| id == model.id);
    let as_it_is = if is_listed { "" } else { "\nona does not know it: the name is sent as it is" };
    let (wire, provider) = (model.wire.clone(), model.provider);
    let access = desk.session.model_access();
    let (handle, note) = match desk.outside.connect_model(model.clone(), &access) {
        Ok(handle) => (Some(handle), String::new()),
        Err(error) => {
            let why = desk.outside.words(&error);
            (desk.outside.unconnected(model, &error), format!("\nit cannot be used yet: {why}"))
        }
    };
    let Some(handle) = handle else {
        return Ok(Act::error(format!("the model is still {}{note}", desk.model().model.wire)));
    };
    let text = format!("the model is {wire} ({provider}) from the next request on{as_it_is}{note}");
    let reply = if note.is_empty() { Reply::Plain { text } } else { Reply::Error { text } };
    Ok(Act::Change(Box::new(LiveChange::Model(Box::new(handle))), reply))
}

/// The list of models. `effort` is the one that is in force; `shown` the item that was selected before.
fn picker<O: Outside>(
    desk: &Desk<O>,
    words: &ModelWords,
    effort: Option<Effort>,
    shown: Option<&str>,
) -> Menu {
    let (settings, present) = (desk.settings(), desk.model().model);
    let mut items: Vec<MenuItem> = Vec::new();
    let mut selected = 0;
    for (kind, provider) in ProviderKind::ALL {
        for id in ona_provider::model_ids(kind) {
            let own = ModelWords {
                provider: Some(provider.to_owned()),
                model: Some(id.to_owned()),
                ..words.clone()
            };
            let model = own.choose_listed(&settings);
            if model.as_ref().is_ok_and(|model| not_available(desk, words, model).is_some()) {
                continue;
            }
            let current = model
                .as_ref()
                .is_ok_and(|model| model.wire == present.wire && kind == present.provider);
            if shown.map_or(current, |shown| shown == id) {
                selected = items.len();
            }
            items.push(MenuItem {
                label: id.to_owned(),
                detail: match model {
                    Ok(model) => format!("{}, {provider}, {}", model.wire, efforts(&model)),
                    Err(error) => error.to_string(),
                },
                current,
                choice: Choice::Command { line: format!("/model {provider}/{id}") },
                value: id.to_owned(),
                ..MenuItem::default()
            });
        }
    }
    items.push(MenuItem {
        label: "Another model, by its wire name".to_owned(),
        choice: Choice::Type {
            label: "Model".to_owned(),
            line: "/model ".to_owned(),
            initial: present.wire.clone(),
        },
        ..MenuItem::default()
    });
    Menu {
        title: "Model".to_owned(),
        text: format!(
            "Now: {} ({}), {}",
            present.wire,
            present.provider,
            match (levels(&present).is_empty(), effort) {
                (true, _) => "effort not supported".to_owned(),
                (false, effort) => format!("effort {}", effort.map_or(AUTO, Effort::as_str)),
            }
        ),
        items,
        selected,
        keys: effort_keys(&present),
    }
}

/// The keys that change the effort of the present model.
fn effort_keys(model: &Model) -> Vec<MenuKey> {
    if levels(model).is_empty() {
        return Vec::new();
    }
    let key = |key: char, label: &str, line: String| MenuKey {
        key,
        label: label.to_owned(),
        choice: Choice::Command { line },
    };
    vec![
        key('<', "less effort", format!("/model {EFFORT} less {{}}")),
        key('>', "more effort", format!("/model {EFFORT} more {{}}")),
        key('e', "effort", "/effort".to_owned()),
    ]
}

/// `/effort`.
pub(super) fn effort<O: Outside>(desk: &Desk<O>, word: &str) -> Act {
    let model = desk.model();
    let now = model.effort.effort();
    let supported = |effort: Effort| model.model.effort(effort);
    let wire = &model.model.wire;
    let is_word = word.is_empty() || word.parse::<Effort>().is_ok();
    if supported(Effort::Medium).is_none() && is_word {
        return Act::plain(format!("not supported: {wire} has no reasoning effort"));
    }
    let effort = match word {
        "" => {
            let item = |word: &str, effort: Option<Effort>| MenuItem {
                label: word.to_owned(),
                current: now == effort,
                choice: Choice::Command { line: format!("/effort {word}") },
                ..MenuItem::default()
            };
            let mut items: Vec<MenuItem> =
                Effort::ALL.iter().map(|(word, effort)| item(word, Some(*effort))).collect();
            items.push(item("auto", None));
            let selected = items.iter().position(|item| item.current).unwrap_or_default();
            let now = now.map_or(AUTO, Effort::as_str);
            return Act::menu(Menu {
                title: "Reasoning effort".to_owned(),
                text: format!("Now: {now}"),
                items,
                selected,
                ..Menu::default()
            });
        }
        "auto" => None,
        word => match word.parse::<Effort>() {
            Ok(effort) => Some(effort),
            Err(error) => return Act::error(format!("{error}, or {AUTO} for the model's own")),
        },
    };
    let text = match effort.map(|effort| (effort, supported(effort))) {
        None => "the reasoning effort is the model's default".to_owned(),
        Some((effort, Some(taken))) if taken == effort => {
            format!("the reasoning effort is {}", effort.as_str())
        }
        Some((effort, Some(taken))) => {
            format!(
                "{wire} supports at most {}, not {}; that is used",
                taken.as_str(),
                effort.as_str()
            )
        }
        Some((effort, None)) => format!("not supported: {wire} has no effort {}", effort.as_str()),
    };
    desk.changes.push(LiveChange::Effort(effort));
    // The highest effort is for this session only.
    let kept = match effort {
        Some(Effort::Max) => return Act::plain(format!("{text}; in this session only")),
        Some(effort) => setting::keep(desk, "effortLevel", &json!(effort.as_str())),
        None => setting::drop_key(desk, "effortLevel"),
    };
    match kept {
        Ok(Kept { file, instead }) => {
            let file = file.map(|file| format!("; saved in {file}")).unwrap_or_default();
            let instead = instead.map(|why| format!("\nin the next sessions {why}"));
            let text = format!("{text}{file}{}", instead.unwrap_or_default());
            Act::Reload(Reply::Plain { text })
        }
        Err(why) => Act::error(format!("{text}\nit was not saved: {why}")),
    }
}
