//! Manifests of plugins, and the paths of their parts.

use std::fs;
use std::os::unix::fs::symlink;

use serde_json::json;
use tempfile::TempDir;

use super::*;

fn plugin(manifest: &Value, files: &[(&str, &str)]) -> TempDir {
    let dir = tempfile::tempdir().unwrap();
    let put = |path: &str, text: &str| {
        let path = dir.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    };
    put(MANIFEST, &manifest.to_string());
    for (path, text) in files {
        put(path, text);
    }
    dir
}

fn read(dir: &TempDir) -> Result<Plugin, String> {
    Plugin::read(dir.path(), Path::new("/data")).map_err(|error| error.to_string())
}

const HOOKS: &str = r#"{"description": "d", "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "x"}]}]}}"#;
const SERVERS: &str = r#"{"mcpServers": {"db": {"command": "${CLAUDE_PLUGIN_ROOT}/db", "args": ["--dir", "${CLAUDE_PLUGIN_DATA}"]}}}"#;

#[test]
fn parts_are_where_they_usually_are_or_where_it_says() {
    let files = [
        ("hooks/hooks.json", HOOKS),
        (".mcp.json", SERVERS),
        ("agents/a.md", "x"),
        ("more/b.md", "x"),
    ];
    let dir = plugin(&json!({"name": "kit", "version": "1.2", "author": {"name": "A"}}), &files);
    let usual = read(&dir).unwrap();
    let root = dir.path().canonicalize().unwrap();
    assert_eq!(usual.agents, [root.join("agents")]);
    assert!(usual.commands.is_empty() && usual.warnings.is_empty());
    assert_eq!(
        usual.runs(),
        ["hook on Stop: x", "MCP server db: ${CLAUDE_PLUGIN_ROOT}/db --dir ${CLAUDE_PLUGIN_DATA}"]
    );
    let server = &usual.mcp_servers().servers["db"];
    let place = root.to_string_lossy();
    assert_eq!(server["command"], format!("{place}/db"));
    assert_eq!(server["args"], json!(["--dir", "/data"]));
    assert_eq!(server["env"], json!({"CLAUDE_PLUGIN_ROOT": place, "CLAUDE_PLUGIN_DATA": "/data"}));

    let own = json!({"name": "kit", "agents": ["./more/b.md"], "commands": "./more",
        "hooks": {"Stop": [{"hooks": [{"command": "inline"}]}]}, "mcpServers": {"web": {"url": "http://x"}}});
    let own = read(&plugin(&own, &files)).unwrap();
    assert!(own.agents[0].ends_with("more/b.md") && own.commands[0].ends_with("more"));
    assert_eq!(own.runs(), ["hook on Stop: inline", "MCP server web: http://x"]);
    assert_ne!(own.runs_hash(), usual.runs_hash());
}

#[test]
fn what_cannot_be_meant_is_refused_with_its_place() {
    for (manifest, files, why) in [
        (json!({}), &[][..], "plugin.json: missing field `name`"),
        (json!([]), &[], "plugin.json: it must be an object"),
        (json!({"name": "Kit Bag"}), &[], "plugin.json: `name`: invalid name `Kit Bag`"),
        (json!({"name": ".."}), &[], "invalid name `..`"),
        (json!({"name": "kit", "version": 1}), &[], "plugin.json: version: invalid type"),
        (
            json!({"name": "kit", "agents": "agents"}),
            &[],
            "`agents`: `agents` must start with `./`",
        ),
        (json!({"name": "kit", "agents": "./../x"}), &[], "must not contain `..`"),
        (json!({"name": "kit", "agents": "./x"}), &[], "`./x` does not exist"),
        (json!({"name": "kit", "agents": {"a": 1}}), &[], "`agents` must be a path"),
        (json!({"name": "kit", "hooks": "./h.json"}), &[("h.json", "{")], "h.json: invalid JSON"),
        (
            json!({"name": "kit"}),
            &[("hooks/hooks.json", "\"x\"")],
            "hooks must be written as in settings",
        ),
        (
            json!({"name": "kit"}),
            &[(".mcp.json", "{\"a\": 1}")],
            "the MCP server `a` must be an object",
        ),
        (json!({"name": "kit"}), &[(".mcp.json", "[]")], "must be an object of definitions"),
    ] {
        let error = read(&plugin(&manifest, files)).unwrap_err();
        assert!(error.contains(why), "{manifest}: {error}");
    }
    let none = tempfile::tempdir().unwrap();
    assert!(read(&none).unwrap_err().contains(".claude-plugin/plugin.json not found"));
}

#[test]
fn nothing_of_it_is_a_link() {
    let dir = plugin(&json!({"name": "kit", "agents": "./agents"}), &[]);
    symlink("/etc", dir.path().join("agents")).unwrap();
    assert!(read(&dir).unwrap_err().contains("`./agents` is a link"));
    let dir = plugin(&json!({"name": "kit"}), &[("real.json", HOOKS)]);
    symlink("real.json", dir.path().join(".mcp.json")).unwrap();
    assert!(read(&dir).unwrap_err().contains("is a link"));
}

#[test]
fn what_is_odd_is_told() {
    let hooks = r#"{"hooks": {"Nope": [], "Stop": [{"hooks": [{"type": "command"}]}]}}"#;
    let dir = plugin(&json!({"name": "kit", "lspServers": {}}), &[("hooks/hooks.json", hooks)]);
    let said: Vec<String> = read(&dir).unwrap().warnings.iter().map(ToString::to_string).collect();
    assert!(said[0].contains("`lspServers` is not used by ona"), "{said:?}");
    assert!(said[1].contains("hooks.json: hooks.Nope: unknown event"), "{said:?}");
    assert!(said[2].contains("`command` is missing: the hook does not run"), "{said:?}");
}
