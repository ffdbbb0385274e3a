//! Which conversation a call joins, and the rows it leaves.

use ona_testkit::run;
use serde_json::json;

use crate::project;

#[test]
fn a_call_leaves_the_rows_of_s0() {
    let project = project();
    let file = project.file("a.txt", "line1\nline2\nline3\n");
    let report = project.eval("Read", json!({"file_path": file}));

    let rows = project.sql(
        "SELECT sequence, entry_type, tool_use_id, parent_entry_id IS NOT NULL
         FROM transcript_entries ORDER BY sequence",
    );
    let id = &report.tool_use_id;
    assert_eq!(rows, [format!("0|tool_use|{id}|0"), format!("1|tool_result|{id}|1")]);

    let payloads = project.sql("SELECT payload_json FROM transcript_entries ORDER BY sequence");
    assert_eq!(
        payloads[0],
        json!({"_t": "tool_use", "id": id, "name": "Read", "input": {"file_path": file}})
            .to_string()
    );
    assert!(payloads[1].contains(r#""is_error":false"#), "{}", payloads[1]);
    assert!(payloads[1].contains("3 lines"), "{}", payloads[1]);

    let events = project
        .sql("SELECT event_type, json_extract(detail, '$.tool_use_id') FROM events ORDER BY id");
    assert_eq!(events, [format!("tool.started|{id}"), format!("tool.finished|{id}")]);
    assert!(project.sql("SELECT * FROM running_calls").is_empty());
}

#[test]
fn calls_of_a_directory_go_on_in_its_latest_conversation() {
    let project = project();
    project.ok("Bash", json!({"command": "echo 1"}));
    project.ok("Bash", json!({"command": "echo 2"}));
    assert_eq!(project.sql("SELECT count(*) FROM conversations"), ["1"]);
    assert_eq!(project.sql("SELECT max(sequence) FROM transcript_entries"), ["3"]);

    std::fs::create_dir(project.path("sub")).unwrap();
    let mut elsewhere = project.eval_command("Bash", &json!({"command": "pwd"}));
    let report = ona_testkit::report(elsewhere.args(["--cwd", "sub"]));
    assert_eq!(report.content, format!("{}\n", project.path("sub").display()));
    assert_eq!(project.sql("SELECT count(*) FROM conversations"), ["2"]);
}

#[test]
fn rows_made_with_the_sqlite3_shell_are_joined() {
    let project = project();
    assert_eq!(run(&mut project.ona(["--init-db"])).code, Some(0));
    project.sql(
        "INSERT INTO conversations(id, project_dir, phase) VALUES ('test-conv-1', '/tmp', 'implement')",
    );
    let mut command = project.eval_command("Bash", &json!({"command": "echo hi"}));
    let report = ona_testkit::report(command.args(["--conversation", "test-conv-1"]));
    assert_eq!(report.content, "hi\n");
    let joined = project.sql(
        "SELECT conversation_id FROM transcript_entries t JOIN sessions s USING (session_id) GROUP BY 1",
    );
    assert_eq!(joined, ["test-conv-1"]);
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["implement"]);
}

#[test]
fn a_conversation_of_another_directory_goes_on_there() {
    let project = project();
    let [there, here] = ["there", "here"].map(|name| project.path(name));
    for (dir, word) in [(&there, "a"), (&here, "b")] {
        std::fs::create_dir_all(dir.join(".claude")).unwrap();
        let settings = json!({"permissions": {"deny": [format!("Bash(echo {word})")]}});
        std::fs::write(dir.join(".claude/settings.json"), settings.to_string()).unwrap();
    }
    let eval = |command: &str, rest: &[&str]| {
        let mut ona = project.eval_command("Bash", &json!({"command": command}));
        ona_testkit::report(ona.arg("--trust").args(rest))
    };
    eval("true", &["--cwd", "there"]);
    let conversation = project.sql("SELECT id FROM conversations").remove(0);
    let joined = ["--cwd", "here", "--conversation", &conversation];
    assert_eq!(eval("pwd", &joined).content, format!("{}\n", there.display()));
    assert!(eval("echo a", &joined).is_error, "its own rules");
    assert_eq!(eval("echo b", &joined).content, "b\n", "not those of here");
}

#[test]
fn a_conversation_that_does_not_exist_is_a_usage_error() {
    let project = project();
    let mut command = project.eval_command("Bash", &json!({"command": "echo hi"}));
    let ran = run(command.args(["--conversation", "nope"]));
    assert_eq!(ran.code, Some(2));
    insta::assert_snapshot!(ran.stderr, @r"
    error: conversation `nope` not found
    hint: omit --conversation to join the latest conversation of this directory
    ");
    assert!(project.sql("SELECT * FROM transcript_entries").is_empty());
}

#[test]
fn processes_side_by_side_share_the_record() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    let children: Vec<_> = (0..8)
        .map(|n| {
            let mut command =
                project.eval_command("Bash", &json!({"command": format!("echo {n}")}));
            command.stdout(std::process::Stdio::piped()).spawn().unwrap()
        })
        .collect();
    for child in children {
        let output = child.wait_with_output().unwrap();
        assert!(output.status.success());
    }
    assert_eq!(
        project.sql(
            "SELECT count(*), max(sequence), count(DISTINCT sequence) FROM transcript_entries"
        ),
        ["18|17|18"]
    );
}
