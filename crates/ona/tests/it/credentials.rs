//! Credentials: who gets them, and who does not.

use std::fs;

use ona_testkit::{Project, report, run};
use serde_json::json;

use crate::gate::{governed, pre};
use crate::project;

/// The variables that hold credentials, with a marker in each.
const KEYS: [&str; 8] = [
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_CUSTOM_HEADERS",
    "CLAUDE_CODE_OAUTH_TOKEN",
    "CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR",
    "LM_STUDIO_API_KEY",
    "ONA_VAULT_PASSPHRASE",
    "OPENAI_API_KEY",
];

#[test]
fn commands_get_no_credentials_and_hooks_do() {
    let hook = "printenv > hook-env; exit 0";
    let project = governed(&json!({
        "permissions": {"allow": ["Bash"]},
        "env": {"OPENAI_API_KEY": "marker-of-settings"},
        "hooks": {"PreToolUse": [pre("Bash", hook)]},
    }));
    for background in [false, true] {
        let file = if background { "later-env" } else { "env" };
        let command = format!("printenv > {file}.part; mv {file}.part {file}");
        let input = json!({"command": command, "run_in_background": background});
        let mut call = project.eval_command("Bash", &input);
        call.envs(KEYS.map(|name| (name, format!("marker-{name}: x"))));
        assert!(!report(&mut call).is_error);
        while !project.path(file).exists() {
            std::thread::yield_now();
        }
        let env = project.content(file);
        assert!(env.contains("AGENT_SDLC_DB"), "{env}");
        assert!(!env.contains("marker"), "{env}");
        for name in KEYS {
            assert!(!env.contains(name), "{name}: {env}");
        }
    }
    let env = project.content("hook-env");
    assert!(KEYS.iter().all(|name| env.contains(name)), "S0 §5.11: {env}");
}

/// A project whose operator has a vault.
fn with_vault() -> (Project, String) {
    let project = project();
    let vault = project.home().join(".local/state/ona/vault");
    fs::create_dir_all(&vault).unwrap();
    for file in ["vault", "vault.key"] {
        fs::write(vault.join(file), "the-vaults-key\n").unwrap();
    }
    (project, vault.display().to_string())
}

#[test]
fn stored_credentials_are_denied_in_every_mode() {
    let (project, vault) = with_vault();
    let state = project.home().join(".local/state").display().to_string();
    for mode in ["default", "acceptEdits", "bypassPermissions"] {
        let settings =
            json!({"permissions": {"allow": ["Bash", "Read", "Edit"], "defaultMode": mode}});
        fs::create_dir_all(project.home().join(".claude")).unwrap();
        fs::write(project.home().join(".claude/settings.json"), settings.to_string()).unwrap();
        for (tool, input) in [
            ("Read", json!({"file_path": format!("{vault}/vault.key")})),
            ("Write", json!({"file_path": format!("{vault}/vault.key"), "content": "x"})),
            ("Grep", json!({"pattern": "key", "path": vault})),
            ("Glob", json!({"pattern": "*", "path": vault})),
            ("Bash", json!({"command": format!("cat {vault}/vault.key")})),
            ("Bash", json!({"command": "cat ~/.local/state/ona/vault/vault.key"})),
            ("Bash", json!({"command": "cd ~/.local/state/ona && cat vault/vault.key"})),
            ("Bash", json!({"command": format!("grep -r key {state}")})),
            ("Bash", json!({"command": "tar cf all.tar ~/.local"})),
            ("Bash", json!({"command": format!("cp {vault}/* .")})),
            ("Bash", json!({"command": format!("rm -rf {vault}")})),
        ] {
            let said = project.refused(tool, input.clone());
            assert!(
                said.contains("denied") && !said.contains("the-vaults-key"),
                "{mode} {input}: {said}"
            );
        }
        // A search above it leaves it out.
        let found = project.eval("Grep", json!({"pattern": "the-vaults-key", "path": state}));
        assert!(!found.content.contains("vault.key"), "{mode}: {}", found.content);
        project.ok("Bash", json!({"command": "rg x ~/. || true; ls"}));
    }
}

#[test]
fn nobody_leaves_a_core_dump() {
    let project = governed(&json!({"permissions": {"allow": ["Bash"]}}));
    let call = json!({"tool": "Bash", "input": {"command": "ulimit -Sc"}}).to_string();
    let binary = env!("CARGO_BIN_EXE_ona");
    let script = format!("ulimit -c unlimited 2>/dev/null; exec {binary} --eval '{call}'");
    let ran = run(project.command("bash").args(["-c", &script]));
    let report = ona_testkit::parse_report(&ran.stdout).unwrap();
    assert_eq!(report.content.trim(), "0", "{}", ran.stderr);
}
