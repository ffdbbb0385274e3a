//! Whether a value that was written into a settings file acts, and if not, what keeps it from acting.

use std::path::Path;

use ona_policy::{Scope, Source};
use serde_json::Value;

use super::{Given, Layer, Roots, merge, shown};

/// Why a value in a file does not act.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum NoEffect {
    /// Another source sets the key to something else, and ranks higher.
    #[error("it has no effect: {source_name} sets {key} = {value} and ranks higher")]
    Overruled {
        /// The key.
        key: String,
        /// The value that acts.
        value: Value,
        /// Where it comes from.
        by: Source,
        /// The same in words.
        source_name: String,
    },
    /// The scope of the file is not read.
    #[error("it has no effect: --setting-sources leaves {} settings out", .0.as_str())]
    NotRead(Scope),
    /// The operator's snapshot is used instead of files.
    #[error("it has no effect: the operator's snapshot in the database applies, not the files")]
    Snapshot,
}

/// A setting in a file.
#[derive(Clone, Copy, Debug)]
pub struct InFile<'a> {
    /// The file.
    pub file: &'a Path,
    /// The key.
    pub key: &'a [&'a str],
    /// Its value there.
    pub value: &'a Value,
}

/// Why a setting in a file does not act beside these layers; `None` if it does. Lists are joined, so no other one
/// overrules a list.
pub fn no_effect(
    setting: &InFile<'_>,
    layers: &[Layer],
    roots: &Roots,
    given: &Given,
) -> Option<NoEffect> {
    let InFile { file, key, value } = *setting;
    let files = roots.files();
    let rank = |file: &Path| files.iter().position(|(_, _, known)| known == file);
    let own = rank(file);
    if let (Some(own), Some(sources)) = (own, &given.sources)
        && let Some((scope, ..)) = files.get(own)
        && !sources.contains(scope)
    {
        return Some(NoEffect::NotRead(*scope));
    }
    let is_higher = |layer: &&Layer| match layer.source.scope {
        Scope::User | Scope::Project | Scope::Local => {
            layer.source.file.as_deref().and_then(rank) > own
        }
        Scope::Cli | Scope::Managed => true,
        // What was chosen in a session is the session's alone.
        Scope::Builtin | Scope::Database | Scope::Plugin | Scope::Session => false,
    };
    let higher: Vec<Layer> = layers.iter().filter(is_higher).cloned().collect();
    let together = merge(&higher);
    let together = key.iter().try_fold(&together, |value, part| value.get(part))?;
    if !differs(value, together) {
        return None;
    }
    let (layer, theirs) = higher
        .iter()
        .rev()
        .filter_map(|layer| Some((layer, value_in(layer, key)?)))
        .find(|(_, theirs)| differs(value, theirs))?;
    let (by, value) = (layer.source.clone(), shown(key, theirs));
    Some(NoEffect::Overruled { key: key.join("."), value, source_name: name_of(&by), by })
}

/// The value of a key that acts, and the source of the highest rank that sets it.
pub fn in_force(layers: &[Layer], key: &[&str]) -> Option<(Value, Source)> {
    let sets = |layer: &&Layer| value_in(layer, key).is_some_and(|value| !value.is_null());
    let source = layers.iter().rev().find(sets)?.source.clone();
    let merged = merge(layers);
    let value = key.iter().try_fold(&merged, |value, part| value.get(part))?;
    Some((value.clone(), source))
}

/// A source, as a user knows it: its file, where it has one.
pub fn name_of(source: &Source) -> String {
    match (&source.file, source.scope) {
        (Some(file), Scope::Managed) => {
            format!("the organisation's {}", file.display())
        }
        (Some(file), _) => file.display().to_string(),
        (None, Scope::Session) => "this session".to_owned(),
        (None, _) => source.to_string(),
    }
}

/// The value of a key in one layer.
pub fn value_in<'l>(layer: &'l Layer, key: &[&str]) -> Option<&'l Value> {
    let (first, rest) = key.split_first()?;
    rest.iter().try_fold(layer.json.get(*first)?, |value, part| value.get(part))
}

/// Whether a value of higher rank takes something of this one away: objects are merged key by key, lists are joined.
fn differs(own: &Value, higher: &Value) -> bool {
    match (own, higher) {
        (_, Value::Null) | (Value::Array(_), Value::Array(_)) => false,
        (Value::Object(own), Value::Object(higher)) => own
            .iter()
            .any(|(key, value)| higher.get(key).is_some_and(|higher| differs(value, higher))),
        (own, higher) => own != higher,
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;

    fn roots() -> Roots {
        Roots {
            project_dir: "/none/project".into(),
            home: "/none/home".into(),
            claude_dir: "/none/home/.claude".into(),
            ona_config: "/none/home/.config/ona".into(),
            managed_dirs: Vec::new(),
            cwd: "/none/project".into(),
        }
    }

    fn layer(scope: Scope, file: &str, json: Value) -> Layer {
        let file = Some(PathBuf::from(file)).filter(|file| file.is_absolute());
        let Value::Object(json) = json else { panic!() };
        Layer { source: Source { scope, file }, base: "/".into(), json }
    }

    const USER: &str = "/none/home/.claude/settings.json";
    const ONA: &str = "/none/home/.config/ona/settings.json";
    const PROJECT: &str = "/none/project/.claude/settings.json";
    const LOCAL: &str = "/none/project/.claude/settings.local.json";

    fn told(file: &str, key: &str, value: &Value, layers: &[Layer]) -> Option<String> {
        let key: Vec<&str> = key.split('.').collect();
        let setting = InFile { file: Path::new(file), key: &key, value };
        no_effect(&setting, layers, &roots(), &Given::default()).map(|why| why.to_string())
    }

    #[test]
    fn a_higher_file_with_another_value_is_named() {
        let layers = [
            layer(Scope::User, USER, json!({"theme": "light"})),
            layer(Scope::User, ONA, json!({"theme": "dark"})),
            layer(Scope::Project, PROJECT, json!({"theme": "dark-ansi"})),
        ];
        let by = |file: &str, value: &str| {
            Some(format!("it has no effect: {file} sets theme = \"{value}\" and ranks higher"))
        };
        assert_eq!(told(USER, "theme", &json!("auto"), &layers), by(PROJECT, "dark-ansi"));
        assert_eq!(told(USER, "theme", &json!("auto"), &layers[..2]), by(ONA, "dark"));
        assert_eq!(told(LOCAL, "theme", &json!("auto"), &layers), None);
        assert_eq!(told(USER, "theme", &json!("dark-ansi"), &layers), None, "the same value");
    }

    #[test]
    fn the_organisation_and_the_command_line_rank_above_all_files() {
        let cli = [layer(Scope::Cli, "", json!({"model": "opus"}))];
        let said = told(LOCAL, "model", &json!("sonnet"), &cli).unwrap();
        assert!(said.starts_with("it has no effect: the command line sets model"), "{said}");
        let managed = [layer(Scope::Managed, "/etc/m.json", json!({"model": "opus"}))];
        let said = told(LOCAL, "model", &json!("sonnet"), &managed).unwrap();
        assert!(
            said.starts_with("it has no effect: the organisation's /etc/m.json sets"),
            "{said}"
        );
    }

    #[test]
    fn objects_are_compared_key_by_key_and_lists_are_joined() {
        let higher = json!({"permissions": {"allow": ["A"], "defaultMode": "plan"}});
        let layers = [layer(Scope::Project, PROJECT, higher)];
        assert_eq!(told(USER, "permissions.allow", &json!(["B"]), &layers), None);
        assert!(told(USER, "permissions.defaultMode", &json!("default"), &layers).is_some());
        let line = |command: &str| json!({"type": "command", "command": command});
        let layers = [layer(Scope::Project, PROJECT, json!({"statusLine": line("a")}))];
        assert!(told(USER, "statusLine", &line("b"), &layers).is_some());
        assert_eq!(told(USER, "statusLine", &json!({"padding": 1}), &layers), None);
    }

    #[test]
    fn a_scope_that_is_not_read_does_not_act() {
        let given = Given { sources: Some(vec![Scope::User]), ..Given::default() };
        let value = json!("dark");
        let setting = InFile { file: Path::new(LOCAL), key: &["theme"], value: &value };
        let why = no_effect(&setting, &[], &roots(), &given);
        assert_eq!(why, Some(NoEffect::NotRead(Scope::Local)));
    }

    #[test]
    fn what_acts_is_told_with_its_source() {
        let layers = [
            layer(Scope::User, USER, json!({"theme": "light"})),
            layer(Scope::Project, PROJECT, json!({"theme": null})),
        ];
        let (value, source) = in_force(&layers, &["theme"]).unwrap();
        assert_eq!((value, name_of(&source)), (json!("light"), USER.to_owned()));
        assert_eq!(in_force(&layers, &["model"]), None);
    }
}
