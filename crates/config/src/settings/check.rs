//! Checks the settings of a file: invalid entries are dropped with a reason, the rest stays.

use ona_http::link;
use ona_http::private_host::{PrivateHost, PrivateHostError};
use ona_policy::{Anchors, Rule, RuleError, Scope, Source};
use ona_types::hook::{HookEvent, UnknownEvent};
use ona_types::{Behavior, PermissionMode};
use serde_json::{Map, Value};
use serde_path_to_error::Segment;

use super::Layer;
use super::SERVER_LIMITS;
use super::known_keys::unknown_in;
use super::merge::{HOOKS_ONLY, LAYERS, RULES_ONLY, RULES_ONLY_NESTED, SERVERS_ONLY};
use super::schema::Settings;
use crate::own_variables::{OWN_VARIABLE, is_own_variable};

/// A key with more invalid entries than this is dropped as a whole.
const MAX_BAD_ENTRIES: usize = 100;

/// An entry that was dropped or is suspicious.
pub(super) struct Finding {
    pub(super) key: String,
    /// The problem.
    pub(super) why: String,
    /// Whether it was meant to forbid something, and cannot be read.
    pub(super) is_guard: bool,
}

impl Finding {
    pub(super) fn new(key: impl Into<String>, why: impl Into<String>) -> Self {
        Self { key: key.into(), why: why.into(), is_guard: false }
    }

    /// The same about a setting that forbids something.
    fn of_guard(self) -> Self {
        Self { is_guard: true, ..self }
    }
}

pub(super) type Findings = Vec<Finding>;

/// Settings that forbid something: a value of the wrong type is a guard that is missing. Of the limits that only the
/// organisation sets, its own count.
const GUARDS: &[&str] = &[
    "permissions",
    "permissions.deny",
    "permissions.ask",
    "permissions.disableBypassPermissionsMode",
    "hooks",
    "deniedMcpServers",
    "disabledMcpjsonServers",
    "disableSkillShellExecution",
    "sandbox",
    "sandbox.enabled",
    "sandbox.failIfUnavailable",
    "sandbox.minimum",
    "sandbox.profile",
    "sandbox.autoAllowBashIfSandboxed",
    "sandbox.allowUnsandboxedCommands",
    "sandbox.hooks",
    "sandbox.mcpServers",
    "sandbox.filesystem",
    "sandbox.filesystem.denyWrite",
    "sandbox.filesystem.denyRead",
    "sandbox.limits",
    "sandbox.limits.cpuSeconds",
    "sandbox.limits.memoryMb",
    "sandbox.limits.processes",
    "sandbox.limits.fileSizeMb",
];
const MANAGED_GUARDS: &[&str] = &[
    "permissions.defaultMode",
    "permissions.allowManagedPermissionRulesOnly",
    "allowManagedPermissionRulesOnly",
    "allowManagedHooksOnly",
    "allowManagedMcpServersOnly",
    "allowedMcpServers",
    "allowedHttpHookUrls",
    "httpHookAllowedEnvVars",
];

/// Whether what was dropped there was meant to forbid something.
fn is_guard(key: &str, scope: Scope) -> bool {
    let key = key.split('[').next().unwrap_or(key);
    GUARDS.contains(&key) || scope == Scope::Managed && MANAGED_GUARDS.contains(&key)
}

/// Which files may set a restricted key.
#[derive(Clone, Copy)]
enum MaySet {
    OnlyManaged,
    NotProject,
    /// It affects all projects, so no project may set it.
    NotInProject,
    OnlyOna,
}

const LIMITED: &[(&[&str], MaySet)] = &[
    (RULES_ONLY, MaySet::OnlyManaged),
    (RULES_ONLY_NESTED, MaySet::OnlyManaged),
    (HOOKS_ONLY, MaySet::OnlyManaged),
    (SERVERS_ONLY, MaySet::OnlyManaged),
    (&["skipDangerousModePermissionPrompt"], MaySet::NotProject),
    (&["autoMemoryDirectory"], MaySet::NotProject),
    (&["cleanupPeriodDays"], MaySet::NotInProject),
    (&["oauth"], MaySet::NotInProject),
    (&[LAYERS], MaySet::OnlyOna),
];

impl MaySet {
    /// The reason why a file of this scope may not set it.
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

/// Drops invalid entries.
pub(super) fn check(layer: &mut Layer, anchors: &Anchors) -> Findings {
    let mut found = limits(layer);
    let json = &mut layer.json;
    let scope = layer.source.scope;
    let mode = mode(json);
    found.extend(mode.map(|mode| if scope == Scope::Managed { mode.of_guard() } else { mode }));
    found.extend(rules(json, &layer.source, anchors));
    found.extend(model_config(json));
    found.extend(env(json));
    found.extend(web(json));
    found.extend(hooks(json));
    found.extend(sandbox(json));
    for (key, value) in std::mem::take(json) {
        let (fitting, misfits) = fitting(key, value);
        json.extend(fitting);
        found.extend(misfits.into_iter().map(|misfit| match is_guard(&misfit.key, scope) {
            true => misfit.of_guard(),
            false => misfit,
        }));
    }
    // A dropped limit of the organisation must not count as no limit.
    for limit in SERVER_LIMITS.iter().filter(|_| layer.source.scope == Scope::Managed) {
        let is_part = |rest: &str| rest.is_empty() || rest.starts_with('[');
        if found.iter().any(|found| found.key.strip_prefix(limit).is_some_and(is_part)) {
            layer.json.insert((*limit).to_owned(), Value::Bool(false));
        }
    }
    found
}

fn limits(layer: &mut Layer) -> Findings {
    let mut found = Findings::new();
    for (path, may) in LIMITED {
        let Some(reason) = may.refuse(layer.source.scope) else { continue };
        let [parents @ .., key] = path else { continue };
        let mut object = Some(&mut layer.json);
        for parent in parents {
            object = object.and_then(|object| object.get_mut(*parent)?.as_object_mut());
        }
        if object.is_some_and(|object| object.shift_remove(*key).is_some()) {
            found.push(Finding::new(path.join("."), reason));
        }
    }
    found
}

fn permissions(json: &mut Map<String, Value>) -> Option<&mut Map<String, Value>> {
    json.get_mut("permissions")?.as_object_mut()
}

fn mode(json: &mut Map<String, Value>) -> Option<Finding> {
    let permissions = permissions(json)?;
    let reason = match permissions.get("defaultMode") {
        None | Some(Value::Null) => return None,
        Some(Value::String(mode)) if mode == "auto" => {
            "`auto` is not supported: ona has no classifier".to_owned()
        }
        Some(Value::String(mode)) => match mode.parse::<PermissionMode>() {
            Ok(_) => return None,
            Err(unknown) => unknown.to_string(),
        },
        Some(_) => "it is not a string".to_owned(),
    };
    permissions.shift_remove("defaultMode");
    Some(Finding::new("permissions.defaultMode", reason))
}

fn rules(json: &mut Map<String, Value>, source: &Source, anchors: &Anchors) -> Findings {
    let mut found = Findings::new();
    let Some(permissions) = permissions(json) else { return found };
    for behavior in [Behavior::Allow, Behavior::Ask, Behavior::Deny] {
        let Some(Value::Array(list)) = permissions.get_mut(behavior.as_str()) else { continue };
        let key = format!("permissions.{behavior}");
        let forbids = behavior != Behavior::Allow;
        found.extend(sift(list, &key, |rule, key| {
            let unusable = |unusable: Unusable| unusable.in_guard(forbids);
            let text = rule.as_str().ok_or(Unusable::NotAString).map_err(unusable)?;
            let read = Rule::parse_or_mend(text, behavior, source.clone(), anchors);
            let (_, odd) = read.map_err(|why| Unusable::from(why).in_guard(forbids))?;
            Ok(odd.map(|odd| Finding::new(key, odd)).into_iter().collect())
        }));
    }
    found
}

/// S0 §2.2 allows nothing else here: a secret would end up in the database.
fn model_config(json: &mut Map<String, Value>) -> Findings {
    let mut found = Findings::new();
    let Some(Value::Object(config)) = json.get_mut("model_config") else { return found };
    config.retain(|key, _| {
        let known = matches!(key.as_str(), "provider" | "model_id");
        if !known {
            let reason = "only provider and model_id are allowed";
            found.push(Finding::new(format!("model_config.{key}"), reason));
        }
        known
    });
    found
}

/// Drops variables that no process can have, and those of ona itself.
fn env(json: &mut Map<String, Value>) -> Findings {
    let mut found = Findings::new();
    let Some(Value::Object(env)) = json.get_mut("env") else { return found };
    env.retain(|name, value| {
        let reason = if name.is_empty() || name.contains(['=', '\0']) {
            "invalid variable name"
        } else if value.as_str().is_some_and(|value| value.contains('\0')) {
            "a variable cannot contain NUL"
        } else if is_own_variable(name) {
            OWN_VARIABLE
        } else {
            return true;
        };
        found.push(Finding::new(format!("env.{name}"), reason));
        false
    });
    found
}

/// An invalid host would silently stay blocked, and an invalid URL would fail at the first search.
fn web(json: &mut Map<String, Value>) -> Findings {
    let mut found = Findings::new();
    if let Some(Value::Object(fetch)) = json.get_mut("webFetch")
        && let Some(Value::Array(hosts)) = fetch.get_mut("allowPrivateHosts")
    {
        found.extend(sift(hosts, "webFetch.allowPrivateHosts", |host, _| {
            // A value that is not a string is reported by the type check.
            host.as_str().map(PrivateHost::parse).transpose()?;
            Ok(Findings::new())
        }));
    }
    if let Some(Value::Object(search)) = json.get_mut("webSearch")
        && let Some(Err(why)) = search.get("url").and_then(Value::as_str).map(link::parse)
    {
        found.push(Finding::new("webSearch.url", why.to_string()));
        search.shift_remove("url");
    }
    found
}

/// A misspelt key of the sandbox, or a path that it cannot use, was meant to forbid or to open something. Other unknown
/// keys may be a newer Claude Code's: `ona doctor` names them.
fn sandbox(json: &mut Map<String, Value>) -> Findings {
    let Some(sandbox) = json.get_mut("sandbox") else { return Findings::new() };
    let mut found = Findings::new();
    for (key, meant) in unknown_in("sandbox", sandbox) {
        let Some(meant) = meant else { continue };
        let finding = Finding::new(key, format!("unknown key, did you mean `{meant}`?"));
        let is_guard = GUARDS.contains(&meant.as_str());
        found.push(if is_guard { finding.of_guard() } else { finding });
    }
    let files = sandbox.get_mut("filesystem").and_then(Value::as_object_mut);
    for (name, list) in files.into_iter().flatten() {
        let Value::Array(list) = list else { continue };
        let key = format!("sandbox.filesystem.{name}");
        let forbids = GUARDS.contains(&key.as_str());
        found.extend(sift(list, &key, |path, _| match path.as_str().map(sandbox_path) {
            Some(None) => Err(Unusable::Wildcards.in_guard(forbids)),
            _ => Ok(Findings::new()),
        }));
    }
    found
}

/// A path of `sandbox.filesystem`, without the `/**` that a directory may have; `None` if it is a pattern.
pub fn sandbox_path(text: &str) -> Option<&str> {
    let path = text.strip_suffix("/**").unwrap_or(text);
    (!path.is_empty() && !path.contains(['*', '?', '[', '{'])).then_some(path)
}

/// The author of a guard must learn that it does not run.
const NOT_RUN: &str = "no hook runs for it";

/// Checks only the shape: the hook plane checks the rest.
fn hooks(json: &mut Map<String, Value>) -> Findings {
    let mut found = Findings::new();
    match json.get_mut("hooks") {
        Some(Value::Object(events)) => events.retain(|event, matchers| {
            let key = format!("hooks.{event}");
            found.push(match (event.parse::<HookEvent>(), &mut *matchers) {
                // What is misspelt was meant to be a guard; what is not may be another product's event.
                (Err(unknown), _) => match unknown.meant() {
                    Some(meant) => {
                        let why = format!("{unknown}, did you mean `{meant}`?: {NOT_RUN}");
                        Finding::new(key, why).of_guard()
                    }
                    None => Finding::new(key, format!("{unknown}: {NOT_RUN}")),
                },
                (Ok(_), Value::Array(list)) => {
                    found.extend(sift(list, &key, matcher));
                    return true;
                }
                (Ok(_), _) => {
                    Finding::new(key, format!("it is not an array: {NOT_RUN}")).of_guard()
                }
            });
            false
        }),
        Some(Value::Array(list)) => found.extend(sift(list, "hooks", matcher)),
        None | Some(Value::Null) => {}
        Some(_) => {
            let reason = format!("it is neither an object nor an array: {NOT_RUN}");
            found.push(Finding::new("hooks", reason).of_guard());
            json.shift_remove("hooks");
        }
    }
    found
}

fn matcher(entry: &mut Value, key: &str) -> Verdict {
    usable(entry, key).map_err(not_run)
}

/// A hook that cannot be read counts as a guard; a hook for an unknown event does not, unless that is misspelt.
fn not_run(unusable: Unusable) -> Unusable {
    let is_guard = match &unusable {
        Unusable::Event(unknown) => unknown.meant().is_some(),
        _ => true,
    };
    Unusable::NotRun(Box::new(unusable)).in_guard(is_guard)
}

fn usable(entry: &mut Value, key: &str) -> Verdict {
    let entry = entry.as_object_mut().ok_or(Unusable::NotAnObject)?;
    if let Some(event) = entry.get("hook_event_name") {
        let event = event.as_str().ok_or(Unusable::EventName)?;
        event.parse::<HookEvent>()?;
    }
    let Some(handlers) = entry.get_mut("hooks") else { return Ok(Findings::new()) };
    let handlers = handlers.as_array_mut().ok_or(Unusable::Hooks)?;
    Ok(sift(handlers, &format!("{key}.hooks"), |handler, _| {
        let usable = handler.as_object().map(|_| Findings::new());
        usable.ok_or_else(|| not_run(Unusable::NotAnObject))
    }))
}

/// Why an entry is dropped.
#[derive(Debug, thiserror::Error)]
enum Unusable {
    #[error("it is not a string")]
    NotAString,
    #[error("it is not an object")]
    NotAnObject,
    #[error("its hook_event_name is not a string")]
    EventName,
    #[error("its hooks are not an array")]
    Hooks,
    #[error(transparent)]
    Event(#[from] UnknownEvent),
    #[error(transparent)]
    Rule(#[from] RuleError),
    #[error("wildcards are not understood here: name the file or directory")]
    Wildcards,
    #[error(transparent)]
    Host(#[from] PrivateHostError),
    #[error("{0}: {NOT_RUN}")]
    NotRun(Box<Unusable>),
    /// It was meant to forbid something.
    #[error(transparent)]
    Guard(Box<Unusable>),
}

impl Unusable {
    /// The same in something that forbids, if it does. A rule about a tool that does not exist here forbids nothing.
    fn in_guard(self, forbids: bool) -> Self {
        match self {
            Self::Rule(RuleError::UnknownTool(_)) => self,
            _ if forbids => Self::Guard(Box::new(self)),
            _ => self,
        }
    }
}

/// An error is the reason to drop an entry; findings are remarks about one that is kept, or about its parts.
type Verdict = Result<Findings, Unusable>;

/// Keeps the entries that pass the test, which gets the entry and its key.
fn sift(list: &mut Vec<Value>, key: &str, test: impl Fn(&mut Value, &str) -> Verdict) -> Findings {
    let mut found = Findings::new();
    let mut index = 0;
    list.retain_mut(|entry| {
        let key = format!("{key}[{index}]");
        index += 1;
        let verdict = test(entry, &key);
        let keep = verdict.is_ok();
        found.extend(verdict.unwrap_or_else(|unusable| {
            let finding = Finding::new(key, unusable.to_string());
            let is_guard = matches!(unusable, Unusable::Guard(_));
            vec![Finding { is_guard, ..finding }]
        }));
        keep
    });
    found
}

/// The part of the key's value that has the type [`Settings`] wants, and what was dropped.
pub(super) fn fitting(key: String, value: Value) -> (Map<String, Value>, Findings) {
    let mut found = Findings::new();
    let mut alone = Value::Object(Map::from_iter([(key.clone(), value)]));
    let mut gone: Vec<String> = Vec::new();
    while let Err(error) = serde_path_to_error::deserialize::<_, Settings>(&alone) {
        let known = |part: &&Segment| matches!(part, Segment::Seq { .. } | Segment::Map { .. });
        let path: Vec<Segment> = error.path().iter().take_while(known).cloned().collect();
        if gone.len() == MAX_BAD_ENTRIES || path.is_empty() {
            let why = format!("it has more than {MAX_BAD_ENTRIES} invalid entries");
            found.push(Finding::new(key, why));
            return (Map::new(), found);
        }
        let name = name_in_file(&path, &gone);
        let why = ona_types::plain_misfit(&error.inner().to_string());
        found.push(Finding::new(&*name, if key == "env" { without_value(&why) } else { why }));
        take_out(&mut alone, &path);
        gone.push(name);
    }
    match alone {
        Value::Object(alone) => (alone, found),
        _ => (Map::new(), found),
    }
}

/// The same without the value, which may be a secret: its kind is enough.
fn without_value(why: &str) -> String {
    let Some((found, expected)) = why.rsplit_once(", expected ") else {
        return "invalid value".to_owned();
    };
    let kind: Vec<&str> = found.split(' ').take(3).collect();
    format!("{}, expected {expected}", kind.join(" "))
}

/// The name that the entry at `path` had before other entries were removed.
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
