//! Secrets do not reach the record.

use std::fs;

use ona_testkit::{Project, report};
use serde_json::json;

use crate::gate::{governed, pre};
use crate::project;

const LIVE: &str = "correct-horse-battery-staple";

/// Every byte of the record, the write-ahead log included.
fn record(project: &Project) -> String {
    let mut bytes = Vec::new();
    for suffix in ["", "-wal"] {
        let mut path = project.database().into_os_string();
        path.push(suffix);
        bytes.extend(fs::read(path).unwrap_or_default());
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[test]
fn a_secret_of_the_environment_is_masked_everywhere() {
    let project = governed(&json!({"hooks": {
        "PreToolUse": [pre("", "tee -a stdin")],
        "PostToolUse": [pre("", "tee -a stdin; printenv OPENAI_API_KEY >&2; exit 2")],
    }}));
    let command = format!("echo \"$OPENAI_API_KEY\"; printenv OPENAI_API_KEY >&2; : {LIVE}");
    let mut eval = project.eval_command("Bash", &json!({"command": command}));
    let said = report(eval.env("OPENAI_API_KEY", LIVE)).content;
    assert_eq!(said, "[REDACTED:live]\n\n--- stderr ---\n[REDACTED:live]\n");
    assert!(!project.content("stdin").contains(LIVE), "a hook has read it");
    assert!(!record(&project).contains(LIVE), "it is on the record");
    assert!(record(&project).contains("\"redacted\":true"));
}

#[test]
fn what_looks_like_a_secret_is_masked_and_cannot_be_overwritten_by_its_mask() {
    let project = project();
    let token = format!("ghp_{}", "aB3dE6".repeat(6));
    let file = project.file(".env", format!("# tokens\nTOKEN={token}\nMODE=a\n"));
    let shown = project.ok("Read", json!({"file_path": file}));
    assert!(shown.contains("TOKEN=[REDACTED:github_token]"), "{shown}");
    assert!(!record(&project).contains(&token));
    let refused = project.refused(
        "Write",
        json!({"file_path": file, "content": "TOKEN=[REDACTED:github_token]\nMODE=b\n"}),
    );
    assert!(refused.contains("would destroy the secret. Use Edit"), "{refused}");
    project.ok("Edit", json!({"file_path": file, "old_string": "MODE=a", "new_string": "MODE=b"}));
    let with_mask = json!({"file_path": file, "old_string": "MODE=b", "new_string": "MODE=[REDACTED:github_token]"});
    project.refused("Edit", with_mask);
    assert_eq!(project.content(".env"), format!("# tokens\nTOKEN={token}\nMODE=b\n"));
    project.ok("Write", json!({"file_path": "doc.md", "content": "a mask is [REDACTED:jwt]"}));
}
