//! The known keys: a misspelt key would be stored and have no effect.

use serde_json::Value;

use super::schema::SCHEMA;

/// Why a key cannot be set.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum BadKey {
    #[error("unknown setting `{key}`")]
    Unknown {
        key: String,
        /// The most similar known key.
        nearest: Option<String>,
    },
    #[error("`{list}` is a list and must be set as a whole")]
    InList { list: String },
    #[error("`{key}` is not an object and has no keys")]
    NoObject { key: String },
}

/// Checks that the key, and the keys in its value, are known.
pub(super) fn check(key: &[&str], value: &Value) -> Result<(), BadKey> {
    let mut schema: &Value = &SCHEMA;
    let mut name = String::new();
    for part in key {
        // `allow[0]` is not a key.
        if let Some((list, _)) = part.split_once('[') {
            return Err(BadKey::InList { list: joined(&name, list) });
        }
        schema = match below(schema, part) {
            Below::Schema(schema) => schema,
            // The hook plane checks hooks.
            Below::Anything => return Ok(()),
            Below::Nothing => return Err(unknown(joined(&name, part))),
            Below::InList => return Err(BadKey::InList { list: name }),
            Below::NoObject => return Err(BadKey::NoObject { key: name }),
        };
        name = joined(&name, part);
    }
    inside(schema, &name, value)
}

/// Checks the keys in a value; its type is checked when the file is read.
fn inside(schema: &Value, name: &str, value: &Value) -> Result<(), BadKey> {
    match value {
        Value::Object(members) => members.iter().try_for_each(|(key, value)| {
            let name = joined(name, key);
            match below(schema, key) {
                Below::Schema(schema) => inside(schema, &name, value),
                Below::Nothing => Err(unknown(name)),
                Below::Anything | Below::InList | Below::NoObject => Ok(()),
            }
        }),
        Value::Array(entries) => match kind(schema).get("items") {
            Some(items) => entries
                .iter()
                .enumerate()
                .try_for_each(|(at, entry)| inside(items, &format!("{name}[{at}]"), entry)),
            None => Ok(()),
        },
        _ => Ok(()),
    }
}

/// What a schema says about a key.
enum Below<'s> {
    Schema(&'s Value),
    Anything,
    Nothing,
    InList,
    NoObject,
}

fn below<'s>(schema: &'s Value, key: &str) -> Below<'s> {
    let kind = kind(schema);
    if kind.get("anyOf").is_some() {
        return Below::Anything;
    }
    let known = kind.get("properties").map(|properties| properties.get(key));
    match (known, kind.get("additionalProperties")) {
        (Some(Some(schema)), _) | (None | Some(None), Some(schema)) => Below::Schema(schema),
        (Some(None), None) => Below::Nothing,
        (None, None) if kind.get("items").is_some() => Below::InList,
        (None, None) => Below::NoObject,
    }
}

/// A schema without its wrappers: the null that every setting may be, and references.
fn kind(schema: &Value) -> &Value {
    let null = |schema: &&Value| schema["type"] != "null";
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix("#/$defs/")) {
        return kind(&SCHEMA["$defs"][name]);
    }
    let choices = schema["anyOf"].as_array().into_iter().flatten().filter(null);
    match choices.collect::<Vec<_>>().as_slice() {
        [only] => kind(only),
        _ => schema,
    }
}

fn joined(name: &str, part: &str) -> String {
    if name.is_empty() { part.to_owned() } else { format!("{name}.{part}") }
}

/// The unknown keys in a section, each with the known key that was probably meant: one at the same place that differs by
/// a few letters, or one of the same name elsewhere in the section.
pub(crate) fn unknown_in(section: &str, value: &Value) -> Vec<(String, Option<String>)> {
    let mut found = Vec::new();
    if let Below::Schema(schema) = below(&SCHEMA, section) {
        strangers(schema, section, value, &mut found);
        let mut all = Vec::new();
        names(schema, section, &mut all);
        for (key, meant) in &mut found {
            if meant.is_none() {
                *meant = all.iter().find(|known| last_part(known) == last_part(key)).cloned();
            }
        }
    }
    found
}

fn strangers(schema: &Value, name: &str, value: &Value, found: &mut Vec<(String, Option<String>)>) {
    for (key, value) in value.as_object().into_iter().flatten() {
        match below(schema, key) {
            Below::Schema(schema) => strangers(schema, &joined(name, key), value, found),
            Below::Nothing => {
                let siblings = kind(schema)["properties"].as_object().into_iter().flatten();
                let meant = ona_types::nearest(key, siblings.map(|(known, _)| known.as_str()));
                found.push((joined(name, key), meant.map(|meant| joined(name, meant))));
            }
            Below::Anything | Below::InList | Below::NoObject => {}
        }
    }
}

fn last_part(key: &str) -> String {
    key.rsplit('.').next().unwrap_or_default().to_ascii_lowercase()
}

fn unknown(key: String) -> BadKey {
    BadKey::Unknown { nearest: nearest(&key), key }
}

/// The most similar known key: one with the same last part anywhere, or one that differs by a few letters.
fn nearest(key: &str) -> Option<String> {
    let mut all = Vec::new();
    names(&SCHEMA, "", &mut all);
    let same = all.iter().find(|known| last_part(known) == last_part(key));
    let near = ona_types::nearest(key, all.iter().map(String::as_str)).map(str::to_owned);
    near.or_else(|| same.cloned())
}

fn names(schema: &Value, name: &str, all: &mut Vec<String>) {
    let properties = kind(schema)["properties"].as_object();
    for (key, schema) in properties.into_iter().flatten() {
        let name = joined(name, key);
        names(schema, &name, all);
        all.push(name);
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn checked(key: &str, value: &Value) -> Result<(), BadKey> {
        let key: Vec<&str> = key.split('.').collect();
        check(&key, value)
    }

    #[test]
    fn known_keys_can_be_set() {
        for (key, value) in [
            ("model", json!("x")),
            ("permissions", json!({"allow": [], "defaultMode": "plan"})),
            ("permissions.allow", json!(["Bash"])),
            ("sandbox.network.allowedDomains", json!([])),
            ("env.ANY_NAME", json!("x")),
            ("env", json!({"A": "b"})),
            ("enabledPlugins", json!({"a@b": true})),
            ("hooks", json!({"Stop": [{"hooks": [{"command": "x"}]}]})),
            ("hooks.Stop", json!([])),
            ("allowedMcpServers", json!([{"serverName": "x"}])),
            ("model_config", json!({"model_id": "x"})),
        ] {
            assert_eq!(checked(key, &value), Ok(()), "{key}");
        }
    }

    #[test]
    fn unknown_keys_are_reported_with_the_nearest_known_one() {
        for (key, value, named, nearest) in [
            ("permisions.allow", json!([]), "permisions", Some("permissions")),
            ("permissions.alow", json!([]), "permissions.alow", Some("permissions.allow")),
            ("permissions", json!({"alow": []}), "permissions.alow", Some("permissions.allow")),
            ("defaultMode", json!("plan"), "defaultMode", Some("permissions.defaultMode")),
            ("Model", json!("x"), "Model", Some("model")),
            ("completely.different", json!(1), "completely", None),
            (
                "allowedMcpServers",
                json!([{"serverName": "x"}, {"name": "y"}]),
                "allowedMcpServers[1].name",
                None,
            ),
        ] {
            let nearest = nearest.map(str::to_owned);
            let expected = BadKey::Unknown { key: named.to_owned(), nearest };
            assert_eq!(checked(key, &value), Err(expected), "{key}");
        }
    }

    #[test]
    fn unknown_keys_of_a_section_are_all_found() {
        let value = json!({
            "enabeld": true, "denyRead": ["x"], "ripgrep": {"command": "rg"}, "enabled": true,
            "filesystem": {"denyread": [], "allowWrite": []}, "network": {"deniedDomains": []},
        });
        let found = unknown_in("sandbox", &value);
        let found: Vec<(&str, Option<&str>)> =
            found.iter().map(|(key, meant)| (key.as_str(), meant.as_deref())).collect();
        assert_eq!(
            found,
            [
                ("sandbox.enabeld", Some("sandbox.enabled")),
                ("sandbox.denyRead", Some("sandbox.filesystem.denyRead")),
                ("sandbox.ripgrep", None),
                ("sandbox.filesystem.denyread", Some("sandbox.filesystem.denyRead")),
                ("sandbox.network.deniedDomains", None),
            ]
        );
        assert_eq!(unknown_in("sandbox", &json!("yes")), []);
    }

    #[test]
    fn a_list_is_set_as_a_whole_and_a_text_has_no_keys() {
        let list = || Err(BadKey::InList { list: "permissions.allow".to_owned() });
        assert_eq!(checked("permissions.allow[0]", &json!("Bash")), list());
        assert_eq!(checked("permissions.allow.0", &json!("Bash")), list());
        let text = BadKey::NoObject { key: "model".to_owned() };
        assert_eq!(checked("model.name", &json!("x")), Err(text));
    }
}
