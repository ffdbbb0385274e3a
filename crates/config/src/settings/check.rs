//! What in a file's settings makes no sense: it is dropped, with the reason, and the rest stays.

use ona_http::link;
use ona_http::private_host::PrivateHost;
use ona_policy::{Anchors, Rule, Scope, Source};
use ona_types::hook::HookEvent;
use ona_types::{Behavior, PermissionMode};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::Layer;
use super::SERVER_LIMITS;
use super::merge::{HOOKS_ONLY, LAYERS, RULES_ONLY, RULES_ONLY_NESTED, SERVERS_ONLY};
use super::schema::Settings;

/// A key with more bad entries than this is dropped as a whole.
const MOST: usize = 100;

/// Each entry that was dropped, or is kept but odd: its key and what is wrong with it.
pub(super) type Findings = Vec<(String, String)>;

/// Whose files may set a key that not every file may.
#[derive(Clone, Copy)]
enum May {
    OnlyManaged,
    NotProject,
    /// What holds for all projects, no directory decides.
    NotInProject,
    OnlyOna,
}

const LIMITED: &[(&[&str], May)] = &[
    (RULES_ONLY, May::OnlyManaged),
    (RULES_ONLY_NESTED, May::OnlyManaged),
    (HOOKS_ONLY, May::OnlyManaged),
    (SERVERS_ONLY, May::OnlyManaged),
    (&["skipDangerousModePermissionPrompt"], May::NotProject),
    (&["autoMemoryDirectory"], May::NotProject),
    (&["cleanupPeriodDays"], May::NotInProject),
    (&[LAYERS], May::OnlyOna),
];

impl May {
    /// Why a file of this scope may not.
    fn refuse(self, scope: Scope) -> Option<&'static str> {
        match (self, scope) {
            (Self::OnlyManaged, Scope::Managed) => None,
            (Self::OnlyManaged, _) => Some("only managed settings may set it"),
            (Self::NotProject, Scope::Project) => Some("project settings may not set it"),
            (Self::NotProject, _) => None,
            (Self::NotInProject, Scope::Project | Scope::Local) => {
                Some("only user and managed settings, and --settings, may set it")
            }
            (Self::NotInProject, _) => None,
            (Self::OnlyOna, _) => Some("ona sets it itself"),
        }
    }
}

/// Drops what makes no sense.
pub(super) fn check(layer: &mut Layer, anchors: &Anchors) -> Findings {
    let mut found = Findings::new();
    limits(layer, &mut found);
    mode(&mut layer.json, &mut found);
    rules(&mut layer.json, &layer.source, anchors, &mut found);
    model_config(&mut layer.json, &mut found);
    env(&mut layer.json, &mut found);
    web(&mut layer.json, &mut found);
    hooks(&mut layer.json, &mut found);
    for (key, value) in std::mem::take(&mut layer.json) {
        layer.json.extend(fitting(key, value, &mut found));
    }
    // A limit of the organisation's that was dropped must not be taken for none.
    for limit in SERVER_LIMITS.iter().filter(|_| layer.source.scope == Scope::Managed) {
        let is_part = |rest: &str| rest.is_empty() || rest.starts_with('[');
        if found.iter().any(|(key, _)| key.strip_prefix(limit).is_some_and(is_part)) {
            layer.json.insert((*limit).to_owned(), Value::Bool(false));
        }
    }
    found
}

fn limits(layer: &mut Layer, found: &mut Findings) {
    for (path, may) in LIMITED {
        let Some(reason) = may.refuse(layer.source.scope) else { continue };
        let [parents @ .., key] = path else { continue };
        let mut object = Some(&mut layer.json);
        for parent in parents {
            object = object.and_then(|object| object.get_mut(*parent)?.as_object_mut());
        }
        if object.is_some_and(|object| object.shift_remove(*key).is_some()) {
            found.push((path.join("."), reason.to_owned()));
        }
    }
}

fn permissions(json: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    json.get_mut("permissions")?.as_object_mut()
}

fn mode(json: &mut Map<String, Value>, found: &mut Findings) {
    let Some(permissions) = permissions(json) else { return };
    let reason = match permissions.get("defaultMode") {
        None | Some(Value::Null) => return,
        Some(Value::String(mode)) if mode == "auto" => {
            "`auto` is not supported: no classifier decides here".to_owned()
        }
        Some(Value::String(mode)) => match mode.parse::<PermissionMode>() {
            Ok(_) => return,
            Err(unknown) => unknown.to_string(),
        },
        Some(_) => "it is no string".to_owned(),
    };
    found.push(("permissions.defaultMode".to_owned(), reason));
    permissions.shift_remove("defaultMode");
}

fn rules(json: &mut Map<String, Value>, source: &Source, anchors: &Anchors, found: &mut Findings) {
    let Some(permissions) = permissions(json) else { return };
    for behavior in [Behavior::Allow, Behavior::Ask, Behavior::Deny] {
        let Some(Value::Array(list)) = permissions.get_mut(behavior.as_str()) else { continue };
        let key = format!("permissions.{behavior}");
        sift(list, &key, found, |rule, _, _| {
            let text = rule.as_str().ok_or("it is no string")?;
            let (_, odd) = Rule::parse(text, behavior, source.clone(), anchors)
                .map_err(|error| error.to_string())?;
            Ok(odd)
        });
    }
}

/// S0 §2.2 wants nothing else there: a secret in it would end in the database.
fn model_config(json: &mut Map<String, Value>, found: &mut Findings) {
    let Some(Value::Object(config)) = json.get_mut("model_config") else { return };
    config.retain(|key, _| {
        let known = matches!(key.as_str(), "provider" | "model_id");
        if !known {
            let reason = "only provider and model_id belong there".to_owned();
            found.push((format!("model_config.{key}"), reason));
        }
        known
    });
}

/// What no process can be started with, and what ona tells its children by itself.
fn env(json: &mut Map<String, Value>, found: &mut Findings) {
    let Some(Value::Object(env)) = json.get_mut("env") else { return };
    env.retain(|name, value| {
        let own = name == "AGENT_SDLC_DB" || name.starts_with("ONA_") || name.starts_with("SDLC_");
        let reason = if name.is_empty() || name.contains(['=', '\0']) {
            "no variable can have this name"
        } else if value.as_str().is_some_and(|value| value.contains('\0')) {
            "no variable can hold a NUL"
        } else if own {
            "ona sets it itself"
        } else {
            return true;
        };
        found.push((format!("env.{name}"), reason.to_owned()));
        false
    });
}

/// A host that is none would silently stay closed, and an address that is none would fail at the first search.
fn web(json: &mut Map<String, Value>, found: &mut Findings) {
    if let Some(Value::Object(fetch)) = json.get_mut("webFetch")
        && let Some(Value::Array(hosts)) = fetch.get_mut("allowPrivateHosts")
    {
        sift(hosts, "webFetch.allowPrivateHosts", found, |host, _, _| match host.as_str() {
            // What is no text at all is found with the rest.
            None => Ok(None),
            Some(text) => match PrivateHost::parse(text) {
                Ok(_) => Ok(None),
                Err(why) => Err(why.to_string()),
            },
        });
    }
    if let Some(Value::Object(search)) = json.get_mut("webSearch")
        && let Some(Err(why)) = search.get("url").and_then(Value::as_str).map(link::parse)
    {
        found.push(("webSearch.url".to_owned(), why.to_string()));
        search.shift_remove("url");
    }
}

/// Whoever wrote a guard must not take it for one that acts.
const NOT_RUN: &str = "no hook runs for it";

/// Looks only at the shape: what a hook means is the hook plane's to say.
fn hooks(json: &mut Map<String, Value>, found: &mut Findings) {
    match json.get_mut("hooks") {
        Some(Value::Object(events)) => events.retain(|event, matchers| {
            let key = format!("hooks.{event}");
            let reason = match (event.parse::<HookEvent>(), &mut *matchers) {
                (Err(unknown), _) => format!("{unknown}: {NOT_RUN}"),
                (Ok(_), Value::Array(list)) => {
                    sift(list, &key, found, matcher);
                    return true;
                }
                (Ok(_), _) => format!("it is not an array: {NOT_RUN}"),
            };
            found.push((key, reason));
            false
        }),
        Some(Value::Array(list)) => sift(list, "hooks", found, matcher),
        None | Some(Value::Null) => {}
        Some(_) => {
            let reason = format!("it is neither an object nor an array: {NOT_RUN}");
            found.push(("hooks".to_owned(), reason));
            json.shift_remove("hooks");
        }
    }
}

fn matcher(entry: &mut Value, key: &str, found: &mut Findings) -> Verdict {
    usable(entry, key, found).map_err(|reason| format!("{reason}: {NOT_RUN}"))
}

fn usable(entry: &mut Value, key: &str, found: &mut Findings) -> Verdict {
    let entry = entry.as_object_mut().ok_or("it is not an object")?;
    if let Some(event) = entry.get("hook_event_name") {
        let event = event.as_str().ok_or("its hook_event_name is no string")?;
        event.parse::<HookEvent>().map_err(|unknown| unknown.to_string())?;
    }
    if let Some(handlers) = entry.get_mut("hooks") {
        let handlers = handlers.as_array_mut().ok_or("its hooks are no array")?;
        sift(handlers, &format!("{key}.hooks"), found, |handler, _, _| {
            let usable = handler.as_object().map(|_| None);
            usable.ok_or_else(|| format!("it is not an object: {NOT_RUN}"))
        });
    }
    Ok(None)
}

/// A reason to drop an entry, or perhaps a word about one that is kept.
type Verdict = Result<Option<String>, String>;

/// Keeps the entries that pass; a test is given the entry, its key, and where to tell of what is in it.
fn sift(
    list: &mut Vec<Value>,
    key: &str,
    found: &mut Findings,
    test: impl Fn(&mut Value, &str, &mut Findings) -> Verdict,
) {
    let mut index = 0;
    list.retain_mut(|entry| {
        let key = format!("{key}[{index}]");
        index += 1;
        let verdict = test(entry, &key, found);
        let keep = verdict.is_ok();
        if let Some(reason) = verdict.unwrap_or_else(Some) {
            found.push((key, reason));
        }
        keep
    });
}

/// What of the key's value is as [`Settings`] wants it.
pub(super) fn fitting(key: String, value: Value, found: &mut Findings) -> Map<String, Value> {
    let mut alone = Value::Object(Map::from_iter([(key.clone(), value)]));
    let mut gone: Vec<String> = Vec::new();
    while let Err(error) = serde_path_to_error::deserialize::<_, Settings>(&alone) {
        let known = |part: &&Segment| matches!(part, Segment::Seq { .. } | Segment::Map { .. });
        let path: Vec<Segment> = error.path().iter().take_while(known).cloned().collect();
        if gone.len() == MOST || path.is_empty() {
            found.push((key, format!("it has more than {MOST} bad entries")));
            return Map::new();
        }
        let name = name_in_file(&path, &gone);
        found.push((name.clone(), error.inner().to_string()));
        take_out(&mut alone, &path);
        gone.push(name);
    }
    match alone {
        Value::Object(alone) => alone,
        _ => Map::new(),
    }
}

/// The name of what stands at `path` now that other things are gone, as it was before.
fn name_in_file(path: &[Segment], gone: &[String]) -> String {
    let mut name = String::new();
    for part in path {
        match part {
            Segment::Seq { index } => {
                let sibling = |gone: &String| {
                    gone.strip_prefix(&name)?.strip_prefix('[')?.strip_suffix(']')?.parse().ok()
                };
                let mut siblings: Vec<usize> = gone.iter().filter_map(sibling).collect();
                siblings.sort_unstable();
                let before = |index, &gone: &usize| index + usize::from(gone <= index);
                let index = siblings.iter().fold(*index, before);
                name.push_str(&format!("[{index}]"));
            }
            Segment::Map { key } if name.is_empty() => name.push_str(key),
            part => name.push_str(&format!(".{part}")),
        }
    }
    name
}

fn take_out(from: &mut Value, path: &[Segment]) {
    let Some((last, parents)) = path.split_last() else { return };
    let mut parent = Some(from);
    for part in parents {
        parent = parent.and_then(|value| match part {
            Segment::Seq { index } => value.get_mut(index),
            Segment::Map { key } => value.get_mut(key),
            _ => None,
        });
    }
    match (parent, last) {
        (Some(Value::Array(list)), Segment::Seq { index }) if *index < list.len() => {
            list.remove(*index);
        }
        (Some(Value::Object(object)), Segment::Map { key }) => {
            object.shift_remove(key);
        }
        _ => {}
    }
}
