//! Secrets do not reach the record.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use ona_testkit::{Project, report, run};
use serde_json::json;

use crate::gate::{governed, pre};
use crate::project;

const LIVE: &str = "correct-horse-battery-staple";

/// Every byte of the record, the write-ahead log included.
pub fn record(project: &Project) -> String {
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
        "PostToolUse": [pre("", "tee -a stdin; printenv DEPLOY_TOKEN >&2; exit 2")],
    }}));
    let command = format!("echo \"$DEPLOY_TOKEN\"; printenv DEPLOY_TOKEN >&2; : {LIVE}");
    let mut eval = project.eval_command("Bash", &json!({"command": command}));
    let said = report(eval.env("DEPLOY_TOKEN", LIVE)).content;
    assert_eq!(said, "[REDACTED:live]\n\n--- stderr ---\n[REDACTED:live]\n");
    assert!(!project.content("stdin").contains(LIVE), "a hook has read it");
    assert!(!record(&project).contains(LIVE), "it is on the record");
    assert!(record(&project).contains("\"redacted\":true"));
}

#[test]
fn a_secret_in_the_name_of_a_file_or_directory_is_masked_and_work_goes_on() {
    let project = project();
    project.file(&format!("{LIVE}/f.txt"), "a\n");
    let call = |tool: &str, input: serde_json::Value| {
        run(project.eval_command(tool, &input).env("DEPLOY_TOKEN", LIVE))
    };
    let file = project.path(LIVE).join("f.txt");
    // What was seen of the file is known to the next process.
    let read = call("Read", json!({"file_path": file}));
    assert!(read.stdout.contains("\"is_error\":false"), "{}", read.stdout);
    let edited = call("Edit", json!({"file_path": file, "old_string": "a", "new_string": "b"}));
    assert!(edited.stdout.contains("\"is_error\":false"), "{}", edited.stdout);
    assert_eq!(fs::read_to_string(&file).unwrap(), "b\n");
    let seen = project.sql("SELECT path FROM file_views").join("");
    assert!(seen.ends_with("/project/[REDACTED:live]/f.txt"), "{seen}");

    // Where the shell was left is not: the next process says so and goes on in the project.
    call("Bash", json!({"command": format!("cd {LIVE}")}));
    let state = project.sql("SELECT value FROM state WHERE key LIKE 'cwd/%'").join("");
    assert!(state.ends_with("/project/[REDACTED:live]"), "{state}");
    let ran = call("Bash", json!({"command": "pwd"}));
    let there = project.dir().display().to_string();
    assert!(ran.stdout.contains(&format!("{there}\\n")), "{}", ran.stdout);
    for part in [
        "warning: the session's last directory ",
        "[REDACTED:live] has a secret in its name",
        &there,
    ] {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!record(&project).contains(LIVE), "it is on the record");
}

#[test]
fn output_of_a_background_task_is_its_owners_alone_and_masked() {
    let project = project();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    // As an older ona, or somebody by hand, may have left it.
    let mut outputs = project.database().into_os_string();
    outputs.push("-outputs");
    let outputs = PathBuf::from(outputs);
    fs::create_dir(&outputs).unwrap();
    fs::set_permissions(&outputs, Permissions::from_mode(0o755)).unwrap();
    let call = |tool: &str, input: serde_json::Value| {
        report(project.eval_command(tool, &input).env("DEPLOY_TOKEN", LIVE)).content
    };
    let command = "umask 0; printenv DEPLOY_TOKEN";
    let said = call("Bash", json!({"command": command, "run_in_background": true}));
    let log = PathBuf::from(said.rsplit_once("goes to ").unwrap().1);
    assert_eq!((mode(&outputs), mode(log.parent().unwrap()), mode(&log)), (0o700, 0o700, 0o600));
    let start = Instant::now();
    while fs::read_to_string(&log).unwrap() != "[REDACTED:live]\n" {
        assert!(start.elapsed() < Duration::from_secs(60), "the task never printed");
        std::thread::yield_now();
    }
    let read = call("Read", json!({"file_path": log}));
    assert!(read.contains("[REDACTED:live]") && !read.contains(LIVE), "{read}");
    assert!(!record(&project).contains(LIVE), "it is on the record");
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
