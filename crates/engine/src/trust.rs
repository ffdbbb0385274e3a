//! Trust: a repository's own hooks, helpers and servers act only after the operator has agreed to them, as
//! they are. Its deny and ask rules always act: they can only make things stricter.

use std::fs;
use std::path::{Path, PathBuf};

use ona_policy::Scope;
use ona_types::{ContentHash, canonical};
use serde_json::{Map, Value, json};

use crate::settings::Layer;

/// Settings that make something run.
const RUNS: &[&str] = &[
    "hooks",
    "apiKeyHelper",
    "statusLine",
    "fileSuggestion",
    "otelHeadersHelper",
    "mcpServers",
    "env",
];

/// What a repository brings along that would run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Brought {
    /// The repository's root: what trust is bound to.
    pub root: PathBuf,
    /// What it brings, each with its file.
    pub what: Vec<String>,
    /// The hash of all that.
    pub hash: ContentHash,
}

/// Whether a layer belongs to the repository.
fn is_projects(layer: &Layer) -> bool {
    matches!(layer.source.scope, Scope::Project | Scope::Local)
}

/// Looks at what a project's settings and its `.mcp.json` would run.
pub fn brought(project_dir: &Path, layers: &[Layer]) -> Brought {
    let mut what = Vec::new();
    let mut all = Map::new();
    for layer in layers.iter().filter(|layer| is_projects(layer)) {
        for key in RUNS {
            let Some(value) = layer.json.get(*key).filter(|value| !is_empty(value)) else {
                continue;
            };
            let file = layer.source.to_string();
            what.push(format!("{key} in {file}"));
            all.insert(format!("{file}\n{key}"), value.clone());
        }
    }
    let servers = project_dir.join(".mcp.json");
    if let Ok(text) = fs::read_to_string(&servers) {
        what.push(format!("MCP servers in {}", servers.display()));
        all.insert(".mcp.json".to_owned(), Value::String(text));
    }
    let all = Value::Object(all);
    // A number that has no canonical form still has a text.
    let hash =
        canonical::hash(&all).unwrap_or_else(|_| ContentHash::of(all.to_string().as_bytes()));
    Brought { root: repository_root(project_dir), what, hash }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.values().all(is_empty),
        _ => false,
    }
}

/// The root of the repository a directory is in; of a linked worktree, the main checkout's; without a
/// repository, the directory itself.
pub fn repository_root(dir: &Path) -> PathBuf {
    for candidate in dir.ancestors() {
        let git = candidate.join(".git");
        if git.is_dir() {
            return candidate.to_owned();
        }
        if let Ok(text) = fs::read_to_string(&git) {
            let main = text
                .trim()
                .strip_prefix("gitdir: ")
                .and_then(|path| path.split_once("/.git/worktrees/"))
                .map(|(main, _)| PathBuf::from(main));
            return main.unwrap_or_else(|| candidate.to_owned());
        }
    }
    dir.to_owned()
}

/// The layers as they act in a folder that is not trusted: of the project's own, only what restricts.
pub(crate) fn restricted(layers: &[Layer]) -> Vec<Layer> {
    layers
        .iter()
        .map(|layer| {
            if !is_projects(layer) {
                return layer.clone();
            }
            let mut kept = Map::new();
            for list in ["deny", "ask"] {
                if let Some(rules) = layer.json.get("permissions").and_then(|p| p.get(list)) {
                    let permissions = kept.entry("permissions").or_insert_with(|| json!({}));
                    permissions[list] = rules.clone();
                }
            }
            Layer { json: kept, ..layer.clone() }
        })
        .collect()
}

/// Whether something in the project's settings does not act while it is not trusted.
pub(crate) fn holds_back(layers: &[Layer]) -> bool {
    restricted(layers).iter().zip(layers).any(|(kept, layer)| {
        is_projects(layer)
            && layer.json.get("permissions").is_some_and(|all| {
                ["allow", "additionalDirectories", "defaultMode"]
                    .iter()
                    .any(|key| all.get(key).is_some())
            })
            && kept.json != layer.json
    })
}

#[cfg(test)]
mod tests {
    use ona_policy::Source;

    use super::*;

    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    fn layer(scope: Scope, json: Value) -> Layer {
        Layer {
            source: Source::of(scope),
            base: "/p".into(),
            json: json.as_object().unwrap().clone(),
        }
    }

    #[test]
    fn only_what_the_project_would_run_counts() {
        let none = [
            layer(Scope::User, json!({"hooks": {"Stop": [{}]}})),
            layer(
                Scope::Project,
                json!({
                    "permissions": {"allow": ["Bash"]}, "hooks": {"Stop": []},
                }),
            ),
        ];
        assert!(brought(Path::new("/nowhere"), &none).what.is_empty());
        let hooks = |command: &str| {
            [layer(Scope::Project, json!({"hooks": {"Stop": [{"hooks": [{"command": command}]}]}}))]
        };
        let one = brought(Path::new("/nowhere"), &hooks("a"));
        assert_eq!(one.what, ["hooks in project"]);
        assert_ne!(one.hash, brought(Path::new("/nowhere"), &hooks("b")).hash);
        assert_eq!(one.hash, brought(Path::new("/nowhere"), &hooks("a")).hash);
    }

    #[test]
    fn a_worktree_is_trusted_with_its_main_checkout() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("main/.git/worktrees/w")).unwrap();
        fs::create_dir_all(root.join("main/sub")).unwrap();
        fs::create_dir_all(root.join("w/sub")).unwrap();
        let link = format!("gitdir: {}/main/.git/worktrees/w\n", root.display());
        fs::write(root.join("w/.git"), link).unwrap();
        assert_eq!(repository_root(&root.join("main/sub")), root.join("main"));
        assert_eq!(repository_root(&root.join("w/sub")), root.join("main"));
        assert_eq!(repository_root(Path::new("/")), Path::new("/"));
    }

    #[test]
    fn without_trust_only_restrictions_act() {
        let layers = [
            layer(Scope::User, json!({"permissions": {"allow": ["Bash"]}})),
            layer(
                Scope::Project,
                json!({
                    "hooks": {"Stop": [{}]},
                    "permissions": {"allow": ["Bash"], "deny": ["Read(x)"], "defaultMode": "bypassPermissions"},
                }),
            ),
        ];
        let kept = restricted(&layers);
        assert_eq!(kept[0], layers[0]);
        assert_eq!(
            Value::Object(kept[1].json.clone()),
            json!({"permissions": {"deny": ["Read(x)"]}})
        );
        assert!(holds_back(&layers));
    }
}
