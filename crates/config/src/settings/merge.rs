//! Merges layers by rank, with the switches that only the organisation has.

use std::collections::HashSet;
use std::path::Path;

use ona_policy::secrets::holds_secret;
use ona_policy::{Scope, Source};
use ona_repo::Disk;
use serde_json::{Map, Value};

use super::shown::remove_secrets;
use super::{Layer, Loaded};

/// The snapshot's key that holds the layers.
pub(super) const LAYERS: &str = "ona:layers";
/// The switch by which only the organisation's rules count.
pub(super) const RULES_ONLY: &[&str] = &["allowManagedPermissionRulesOnly"];
/// Appendix E has it here, Claude Code at the top; either counts.
pub(super) const RULES_ONLY_NESTED: &[&str] = &["permissions", "allowManagedPermissionRulesOnly"];
/// The switch by which only its hooks count.
pub(super) const HOOKS_ONLY: &[&str] = &["allowManagedHooksOnly"];
/// The switch by which only its list of allowed servers counts.
pub(super) const SERVERS_ONLY: &[&str] = &["allowManagedMcpServersOnly"];

/// The settings of all layers, which come lowest rank first. The highest scalar wins, lists are joined without
/// duplicates, objects are merged key by key; a null is ignored.
pub fn merge(layers: &[Layer]) -> Value {
    let (only_rules, only_hooks) = (managed_rules_only(layers), managed_hooks_only(layers));
    let mut merged = Map::new();
    for layer in layers {
        let mut json = layer.json.clone();
        if only_rules
            && !is_managed(layer)
            && let Some(Value::Object(permissions)) = json.get_mut("permissions")
        {
            permissions.retain(|key, _| !matches!(key.as_str(), "allow" | "ask" | "deny"));
        }
        if only_hooks && !is_managed(layer) {
            json.shift_remove("hooks");
        }
        if let (Some(Value::Object(_)), Some(Value::Array(_)))
        | (Some(Value::Array(_)), Some(Value::Object(_))) =
            (merged.get("hooks"), json.get("hooks"))
        {
            merged.get_mut("hooks").map(list_hooks);
            json.get_mut("hooks").map(list_hooks);
        }
        merge_objects(&mut merged, json);
    }
    Value::Object(merged)
}

pub(crate) fn merge_objects(into: &mut Map<String, Value>, from: Map<String, Value>) {
    for (key, value) in from {
        match (into.get_mut(&key), value) {
            (Some(_), Value::Null) => {}
            (Some(Value::Object(low)), Value::Object(high)) => merge_objects(low, high),
            (Some(Value::Array(low)), Value::Array(high)) => {
                let mut said: HashSet<Value> = low.iter().cloned().collect();
                low.extend(high.into_iter().filter(|entry| said.insert(entry.clone())));
            }
            (_, value) => {
                into.insert(key, value);
            }
        }
    }
}

/// Event map to matcher array, in document order.
pub(super) fn list_hooks(hooks: &mut Value) {
    let Value::Object(events) = hooks else { return };
    let mut list = Vec::new();
    for (event, matchers) in std::mem::take(events) {
        let Value::Array(matchers) = matchers else { continue };
        for matcher in matchers {
            let mut entry = Map::from_iter([("hook_event_name".to_owned(), event.clone().into())]);
            if let Value::Object(matcher) = matcher {
                entry.extend(matcher.into_iter().filter(|(key, _)| key != "hook_event_name"));
            }
            list.push(Value::Object(entry));
        }
    }
    *hooks = Value::Array(list);
}

/// The layers whose permission rules act.
pub fn rules_layers(layers: &[Layer]) -> Vec<&Layer> {
    let only = managed_rules_only(layers);
    let acts = |layer: &&Layer| layer.json.contains_key("permissions");
    layers.iter().filter(acts).filter(|layer| !only || is_managed(layer)).collect()
}

/// The layers that have hooks, and whether those are active. Only the organisation can switch its hooks off.
pub fn hooks_layers(layers: &[Layer]) -> Vec<(&Layer, bool)> {
    let none = switched_off(layers) == Some((true, true));
    let others = others_hooks_act(layers);
    let acts = |layer: &Layer| !none && (others || is_managed(layer));
    let with_hooks = layers.iter().filter(|layer| layer.json.contains_key("hooks"));
    with_hooks.map(|layer| (layer, acts(layer))).collect()
}

/// Whether hooks of other scopes and of plugins are active.
pub fn others_hooks_act(layers: &[Layer]) -> bool {
    !managed_hooks_only(layers) && !matches!(switched_off(layers), Some((true, _)))
}

/// The value of `disableAllHooks`, and whether it is the organisation's.
fn switched_off(layers: &[Layer]) -> Option<(bool, bool)> {
    let switch = |layer: &Layer| layer.json.get("disableAllHooks")?.as_bool();
    layers.iter().rev().find_map(|layer| Some((switch(layer)?, is_managed(layer))))
}

/// Whether only the rules of managed settings act.
pub fn managed_rules_only(layers: &[Layer]) -> bool {
    says(layers, RULES_ONLY) || says(layers, RULES_ONLY_NESTED)
}

/// Whether only the organisation's list of allowed servers counts.
pub(crate) fn managed_servers_only(layers: &[Layer]) -> bool {
    says(layers, SERVERS_ONLY)
}

fn managed_hooks_only(layers: &[Layer]) -> bool {
    says(layers, HOOKS_ONLY)
}

/// Whether a layer is the organisation's.
pub fn is_managed(layer: &Layer) -> bool {
    layer.source.scope == Scope::Managed
}

/// Whether the organisation sets the switch.
fn says(layers: &[Layer], path: &[&str]) -> bool {
    let [key, keys @ ..] = path else { return false };
    let value = |layer: &Layer| {
        let value = keys.iter().try_fold(layer.json.get(*key)?, |value, key| value.get(key));
        value.and_then(Value::as_bool)
    };
    let managed = layers.iter().rev().filter(|layer| is_managed(layer));
    managed.filter_map(value).next() == Some(true)
}

/// What a session stores: the merged settings, and their layers. It goes into the record, so possible secrets in
/// `env` and in headers are left out (S0 §2.8).
pub fn snapshot(loaded: &Loaded) -> Value {
    let mut layers = loaded.layers.clone();
    for layer in &mut layers {
        remove_secrets(&mut layer.json);
    }
    let mut snapshot = merge(&layers);
    snapshot[LAYERS] = serde_json::to_value(&layers).unwrap_or_default();
    snapshot
}

/// The values in `env` that are secrets.
pub fn secrets(layers: &[Layer]) -> impl Iterator<Item = String> {
    let values = layers.iter().filter_map(|layer| layer.json.get("env")?.as_object()).flatten();
    let values = values.filter_map(|(name, value)| Some((name, value.as_str()?)));
    values
        .filter(|(name, value)| holds_secret(&Disk, name, value))
        .map(|(_, value)| value.trim().to_owned())
}

/// The layers of a snapshot. If it was written by hand and has no layers, or layers that do not match its settings, it
/// counts as one layer relative to `base`.
pub fn layers_of(snapshot: &Value, base: &Path) -> Vec<Layer> {
    let mut json = snapshot.as_object().cloned().unwrap_or_default();
    let layers = json.shift_remove(LAYERS).unwrap_or_default();
    match serde_json::from_value::<Vec<Layer>>(layers) {
        Ok(layers) if merge(&layers).as_object() == Some(&json) => layers,
        _ => vec![Layer { source: Source::of(Scope::Database), base: base.to_owned(), json }],
    }
}

#[cfg(test)]
mod tests {
    use ona_testkit::jsonc::json_object;
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn layer(scope: Scope, json: &Value) -> Layer {
        let json = json.as_object().unwrap().clone();
        Layer { source: Source::of(scope), base: "/b".into(), json }
    }

    fn layers(all: &[(Scope, Value)]) -> Vec<Layer> {
        all.iter().map(|(scope, json)| layer(*scope, json)).collect()
    }

    #[test]
    fn ranks() {
        let table = [
            (json!({"model": "a"}), json!({"model": "b"}), json!({"model": "b"})),
            (json!({"model": "a"}), json!({"model": null}), json!({"model": "a"})),
            (json!({"x": [1, 2]}), json!({"x": [3, 1, 3]}), json!({"x": [1, 2, 3]})),
            (json!({"x": ["-v", "-v"]}), json!({}), json!({"x": ["-v", "-v"]})),
            (json!({"x": [1]}), json!({"x": null}), json!({"x": [1]})),
            (json!({"x": [1]}), json!({"x": {"y": 1}}), json!({"x": {"y": 1}})),
            (
                json!({"env": {"A": "1", "B": "1"}}),
                json!({"env": {"B": "2"}}),
                json!({"env": {"A": "1", "B": "2"}}),
            ),
            (
                json!({"a": {"b": {"c": [1]}}}),
                json!({"a": {"b": {"c": [2]}, "d": 1}}),
                json!({"a": {"b": {"c": [1, 2]}, "d": 1}}),
            ),
        ];
        for (low, high, merged) in table {
            let layers = layers(&[(Scope::User, low), (Scope::Local, high)]);
            assert_eq!(merge(&layers), merged);
        }
        let layers = layers(&[
            (Scope::User, json!({"z": 1, "a": 1})),
            (Scope::Cli, json!({"b": 1, "z": 2})),
        ]);
        assert_eq!(merge(&layers).to_string(), r#"{"z":2,"a":1,"b":1}"#, "keys keep their order");
    }

    #[test]
    fn the_organisation_can_have_only_its_own_rules_and_hooks() {
        let ours = json!({"permissions": {"allow": ["A"], "ask": ["B"], "deny": ["C"], "defaultMode": "plan"}, "hooks": {"Stop": [{}]}});
        for switch in [
            json!({"allowManagedPermissionRulesOnly": true}),
            json!({"permissions": {"allowManagedPermissionRulesOnly": true}}),
        ] {
            let mut theirs = json!({"permissions": {"deny": ["D"]}});
            merge_objects(theirs.as_object_mut().unwrap(), switch.as_object().unwrap().clone());
            let layers = layers(&[(Scope::User, ours.clone()), (Scope::Managed, theirs)]);
            let mut permissions = merge(&layers)["permissions"].clone();
            permissions.as_object_mut().unwrap().shift_remove("allowManagedPermissionRulesOnly");
            assert_eq!(permissions, json!({"defaultMode": "plan", "deny": ["D"]}));
            assert_eq!(rules_layers(&layers), [&layers[1]]);
            assert_eq!(hooks_layers(&layers), [(&layers[0], true)]);
        }
        let theirs = json!({"allowManagedHooksOnly": true, "hooks": {"Setup": [{}]}});
        let layers = layers(&[(Scope::User, ours), (Scope::Managed, theirs)]);
        assert_eq!(merge(&layers)["hooks"], json!({"Setup": [{}]}));
        assert_eq!(hooks_layers(&layers), [(&layers[0], false), (&layers[1], true)]);
        assert_eq!(rules_layers(&layers), [&layers[0]]);
    }

    #[test]
    fn who_can_switch_hooks_off() {
        let hooks = |off: Option<bool>| match off {
            Some(off) => json!({"hooks": {}, "disableAllHooks": off}),
            None => json!({"hooks": {}}),
        };
        // user, project, managed → which of them act
        let table: [([Option<bool>; 3], &[usize]); 6] = [
            ([None, None, None], &[0, 1, 2]),
            ([Some(true), None, None], &[2]),
            ([Some(true), Some(false), None], &[0, 1, 2]),
            ([Some(false), Some(true), None], &[2]),
            ([None, None, Some(true)], &[]),
            ([Some(true), Some(true), Some(false)], &[0, 1, 2]),
        ];
        for (off, acting) in table {
            let scopes = [Scope::User, Scope::Project, Scope::Managed];
            let all: Vec<_> = scopes.into_iter().zip(off.map(hooks)).collect();
            let layers = layers(&all);
            let expected: Vec<_> = layers
                .iter()
                .enumerate()
                .map(|(at, layer)| (layer, acting.contains(&at)))
                .collect();
            assert_eq!(hooks_layers(&layers), expected, "{off:?}");
            assert!(merge(&layers).get("hooks").is_some());
        }
    }

    #[test]
    fn both_forms_of_hooks_become_a_list() {
        let map = json!({"hooks": {"Stop": [{"hooks": [1]}], "PreToolUse": [{"matcher": "Bash", "hooks": [2]}, {"hooks": [3]}]}});
        let list = json!({"hooks": [{"hook_event_name": "Setup", "command": "x"}]});
        let listed = vec![
            json!({"hook_event_name": "Stop", "hooks": [1]}),
            json!({"hook_event_name": "PreToolUse", "matcher": "Bash", "hooks": [2]}),
            json!({"hook_event_name": "PreToolUse", "hooks": [3]}),
        ];
        let flat = list["hooks"].as_array().unwrap().clone();
        let both = layers(&[(Scope::User, map.clone()), (Scope::Local, list.clone())]);
        assert_eq!(merge(&both)["hooks"], Value::from([listed.clone(), flat.clone()].concat()));
        let both = layers(&[(Scope::User, list), (Scope::Local, map)]);
        assert_eq!(merge(&both)["hooks"], Value::from([flat, listed].concat()));
    }

    #[test]
    fn a_snapshot_knows_its_layers() {
        let layers =
            layers(&[(Scope::User, json!({"model": "a"})), (Scope::Cli, json!({"model": "b"}))]);
        let loaded = Loaded { layers, ..Loaded::default() };
        let written = snapshot(&loaded);
        assert_eq!(written["model"], "b");
        assert_eq!(written["ona:layers"][0]["source"], json!({"scope": "user"}));
        assert_eq!(layers_of(&written, Path::new("/p")), loaded.layers);

        let from_database = |json: Value| {
            let json = json.as_object().unwrap().clone();
            vec![Layer { source: Source::of(Scope::Database), base: "/p".into(), json }]
        };
        let mut changed = written;
        changed["model"] = "c".into();
        let table = [
            (changed, json!({"model": "c"})),
            (json!({"hooks": [1]}), json!({"hooks": [1]})),
            (json!({"a": 1, "ona:layers": "x"}), json!({"a": 1})),
            (json!([]), json!({})),
        ];
        for (snapshot, layer) in table {
            assert_eq!(layers_of(&snapshot, Path::new("/p")), from_database(layer));
        }
    }

    proptest! {
        #[test]
        fn one_layer_stays_what_it_is(json in json_object()) {
            prop_assert_eq!(merge(&[layer(Scope::User, &json)]), json);
        }

        #[test]
        fn merging_step_by_step_is_merging_at_once(all in prop::collection::vec(json_object(), 3)) {
            let [a, b, c] = [0, 1, 2].map(|at| layer(Scope::User, &all[at]));
            let first = layer(Scope::User, &merge(&[a.clone(), b.clone()]));
            prop_assert_eq!(merge(&[first, c.clone()]), merge(&[a, b, c]));
        }

        #[test]
        fn a_snapshot_comes_back(all in prop::collection::vec(json_object(), 0..3)) {
            let layers: Vec<Layer> = all.iter().map(|json| layer(Scope::User, json)).collect();
            let loaded = Loaded { layers, ..Loaded::default() };
            prop_assert_eq!(layers_of(&snapshot(&loaded), Path::new("/p")), loaded.layers);
        }
    }
}
