//! What is stored about plugins, and which are active.

use serde_json::{Value, json};

use super::*;

struct World {
    dir: TempDir,
    registry: Registry,
}

impl World {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let registry = Registry::of(dir.path());
        Self { dir, registry }
    }

    fn plugin(&self, place: &Path, id: &str, hook: &str) {
        let hooks = json!({"hooks": {"Stop": [{"hooks": [{"command": hook}]}]}});
        fs::create_dir_all(place.join(".claude-plugin")).unwrap();
        fs::create_dir_all(place.join("hooks")).unwrap();
        fs::write(place.join(super::super::MANIFEST), json!({"name": id}).to_string()).unwrap();
        fs::write(place.join("hooks/hooks.json"), hooks.to_string()).unwrap();
    }

    fn put(
        &self,
        id: &str,
        hook: &str,
        project: Option<&str>,
        replaces: bool,
    ) -> Result<Record, RegistryError> {
        let staged = self.registry.stage().unwrap();
        self.plugin(&staged.path(), id, hook);
        let plugin = Plugin::read(&staged.path(), Path::new("/none")).unwrap();
        let source = PluginSource::Directory("/from".into());
        self.registry.put(&staged, &plugin, &source, project.map(PathBuf::from), replaces)
    }

    fn acting(&self, given: &[PathBuf], enabled: &Value) -> (Vec<String>, Vec<String>) {
        let enabled: Option<BTreeMap<String, bool>> =
            serde_json::from_value(enabled.clone()).unwrap();
        let active = acting(&PluginQuery {
            ona_config: self.dir.path(),
            given,
            added: true,
            repository: Path::new("/here"),
            enabled: &enabled.unwrap_or_default(),
        });
        let runs = active.plugins.iter();
        let runs = runs.map(|plugin| format!("{} {}", plugin.id, plugin.runs().join(",")));
        (runs.collect(), active.problems().map(ToString::to_string).collect())
    }
}

#[test]
fn plugins_come_go_and_change() {
    let world = World::new();
    assert_eq!(world.acting(&[], &json!({})), (vec![], vec![]));
    world.put("b", "one", None, false).unwrap();
    world.put("a", "two", Some("/here"), false).unwrap();
    world.put("c", "three", Some("/elsewhere"), false).unwrap();
    assert!(matches!(world.put("b", "x", None, false), Err(RegistryError::Exists(_))));
    assert!(matches!(world.put("new", "x", None, true), Err(RegistryError::Unknown(_))));
    let (runs, said) = world.acting(&[], &json!({}));
    assert_eq!(runs, ["a hook on Stop: two", "b hook on Stop: one"], "{said:?}");
    world.registry.switch("a", false).unwrap();
    assert_eq!(world.acting(&[], &json!({})).0, ["b hook on Stop: one"]);
    // Only the previous version stays.
    let first = world.registry.record("b").unwrap().dir;
    let second = world.put("b", "next", None, true).unwrap().dir;
    let third = world.put("b", "last", None, true).unwrap().dir;
    let at = |version: &str| world.dir.path().join("plugins/b").join(version).exists();
    assert!(!at(&first) && at(&second) && at(&third));
    assert_eq!(world.acting(&[], &json!({})).0, ["b hook on Stop: last"]);
    world.registry.remove("b").unwrap();
    assert!(matches!(world.registry.remove("b"), Err(RegistryError::Unknown(_))));
    assert!(matches!(world.registry.remove("../x"), Err(RegistryError::Unknown(_))));
    assert_eq!(world.acting(&[], &json!({})).0, [""; 0]);
}

#[test]
fn settings_switch_plugins_off() {
    let world = World::new();
    world.put("kit", "x", None, false).unwrap();
    for (enabled, acts) in [
        (json!({}), true),
        (json!({"kit": true, "other@m": false}), true),
        (json!({"kit": false}), false),
        (json!({"kit@market": false}), false),
        (json!({"kit@market": false, "kit": true}), true),
        (Value::Null, true),
    ] {
        assert_eq!(!world.acting(&[], &enabled).0.is_empty(), acts, "{enabled}");
    }
}

#[test]
fn what_was_not_agreed_to_does_not_run() {
    let world = World::new();
    let record = world.put("kit", "good", None, false).unwrap();
    let place = world.dir.path().join("plugins/kit").join(record.dir);
    world.plugin(&place, "kit", "evil");
    let (runs, said) = world.acting(&[], &json!({}));
    assert_eq!(runs, ["kit "]);
    assert!(said[0].contains("have changed since it was added"), "{said:?}");
    world.plugin(&place, "other", "good");
    let (runs, said) = world.acting(&[], &json!({}));
    assert_eq!((runs.len(), said.len()), (0, 1), "{said:?}");
}

#[test]
fn a_plugin_that_is_given_wins_for_the_session() {
    let world = World::new();
    world.put("kit", "added", None, false).unwrap();
    let given: Vec<PathBuf> = ["one", "two", "none"].map(|name| world.dir.path().join(name)).into();
    world.plugin(&given[0], "kit", "given");
    world.plugin(&given[1], "kit", "twice");
    let (runs, said) = world.acting(&given, &json!({}));
    assert_eq!(runs, ["kit hook on Stop: given"]);
    assert!(said[1].contains("another given plugin is called `kit`"), "{said:?}");
    assert!(said[0].contains("none is not a plugin"), "{said:?}");
}

#[test]
fn a_broken_record_is_named_and_can_be_replaced() {
    let world = World::new();
    for text in ["{", r#"{"source":"x","dir":"../..","enabled":true,"agreed":""}"#] {
        let own = world.dir.path().join("plugins/kit");
        fs::create_dir_all(&own).unwrap();
        fs::write(own.join(RECORD), text).unwrap();
        let (runs, said) = world.acting(&[], &json!({}));
        assert!(runs.is_empty() && said[0].contains("record.json cannot be read"), "{said:?}");
    }
    world.put("kit", "x", None, false).unwrap();
    assert_eq!(world.acting(&[], &json!({})).0.len(), 1);
}

#[test]
fn two_at_once_take_turns() {
    let world = World::new();
    let results: Vec<bool> = std::thread::scope(|scope| {
        let threads: Vec<_> =
            (0..8).map(|_| scope.spawn(|| world.put("kit", "x", None, false).is_ok())).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert_eq!(results.iter().filter(|added| **added).count(), 1);
    assert_eq!(world.acting(&[], &json!({})).0.len(), 1);
}
