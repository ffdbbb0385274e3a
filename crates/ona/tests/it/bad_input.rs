//! Bad input: a clear error, and nothing half done.

use std::fs;
use std::os::unix::fs::PermissionsExt;

use ona_testkit::{Ran, run};
use serde_json::json;

use crate::project;

fn usage(ran: &Ran) -> &str {
    assert_eq!(ran.code, Some(2), "{}", ran.stderr);
    assert_eq!(ran.stdout, "");
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("\nhint: "), "{}", ran.stderr);
    &ran.stderr
}

#[test]
fn malformed_calls_are_usage_errors_and_leave_no_record() {
    let project = project();
    for (call, part) in [
        (r#"{"tool""#, "not valid JSON: EOF"),
        ("", "not valid JSON"),
        ("[]", "expected a JSON object"),
        ("{}", "`tool` is missing"),
        (r#"{"tool": 5}"#, "`tool` must be a tool's name, not 5"),
        (r#"{"tool": ""}"#, "`tool` must be a tool's name"),
        (r#"{"tool":"Read","inputs":{}}"#, "unknown key `inputs`"),
        (r#"{"tool":"Read","input":[]}"#, "`input` must be a JSON object, not []"),
    ] {
        let ran = run(&mut project.ona(["--eval", call]));
        assert!(usage(&ran).contains(part), "{call}: {}", ran.stderr);
    }
    assert!(!project.database().exists());
}

#[test]
fn a_call_can_come_on_standard_input() {
    let project = project();
    let file = project.file("call.json", r#"{"tool":"Bash","input":{"command":"echo hi"}}"#);
    let mut command = project.ona(["--eval", "-"]);
    assert_eq!(ona_testkit::report(command.stdin(fs::File::open(file).unwrap())).content, "hi\n");
}

#[test]
fn wrong_tools_and_inputs_are_rejected_on_the_record() {
    let project = project();
    for (tool, input, part) in [
        ("read", json!({}), "unknown tool `read`; the tools are Read, Write"),
        ("Read", json!({}), "missing field `file_path`"),
        ("Read", json!({"file_path": "x", "colour": 1}), "unknown field `colour`"),
        ("Read", json!({"file_path": ["x"]}), "`file_path`: invalid type: list"),
        ("Read", json!({"file_path": "x", "limit": "many"}), "`limit`: expected a whole number"),
        ("Bash", json!({"command": 5}), "`command`: invalid type"),
        ("Grep", json!({"pattern": "x", "output_mode": "lines"}), "`output_mode`"),
    ] {
        let content = project.refused(tool, input.clone());
        assert!(content.contains(part), "{tool} {input}: {content}");
    }
    assert_eq!(project.sql("SELECT count(*) FROM transcript_entries"), ["14"]);
    let classes = project.sql(
        "SELECT DISTINCT json_extract(detail, '$.class') FROM events WHERE event_type = 'tool.finished'",
    );
    assert_eq!(classes, ["tool_rejected"]);
}

#[test]
fn a_database_that_is_not_one_is_refused_untouched() {
    let project = project();
    let call = json!({"command": "touch done"});
    let text = "this is a text file, not a database, and it is long enough to show\n".repeat(30);
    fs::write(project.database(), &text).unwrap();
    let ran = run(&mut project.eval_command("Bash", &call));
    assert!(usage(&ran).contains("is not a SQLite database"), "{}", ran.stderr);
    assert_eq!(fs::read_to_string(project.database()).unwrap(), text);

    fs::remove_file(project.database()).unwrap();
    project.sql("CREATE TABLE theirs(x)");
    assert!(usage(&run(&mut project.eval_command("Bash", &call))).contains("not an ona database"));
    assert_eq!(project.sql("SELECT name FROM sqlite_schema"), ["theirs"]);
    run(&mut project.ona(["doctor"]));
    assert_eq!(project.sql("SELECT * FROM pragma_journal_mode"), ["delete"], "not even that");

    fs::remove_file(project.database()).unwrap();
    fs::create_dir(project.database()).unwrap();
    assert!(usage(&run(&mut project.eval_command("Bash", &call))).contains("it is a directory"));

    fs::remove_dir(project.database()).unwrap();
    std::os::unix::fs::symlink(project.database(), project.database()).unwrap();
    usage(&run(&mut project.eval_command("Bash", &call)));
    let doctor = run(&mut project.ona(["doctor"]));
    assert_eq!(doctor.code, Some(1), "a link in a circle is no missing file: {}", doctor.stdout);
    let mut command = project.eval_command("Bash", &call);
    assert!(usage(&run(command.env("AGENT_SDLC_DB", "/dev/null"))).contains("not a regular file"));
    assert!(!project.path("done").exists());
}

#[test]
fn a_database_from_a_newer_version_is_refused() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    project.sql("UPDATE schema_meta SET value = '99' WHERE key = 'migration'");
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "touch done"})));
    assert!(
        usage(&ran)
            .contains("was written by a newer version of ona (migration 99; this version supports")
    );
    assert!(!project.path("done").exists());
}

/// Root may write anything, so these look at what the others see only where that can be shown.
fn is_root() -> bool {
    fs::metadata("/proc/self").is_ok_and(|meta| std::os::unix::fs::MetadataExt::uid(&meta) == 0)
}

#[test]
fn no_permission_is_said() {
    if is_root() {
        return as_nobody();
    }
    let project = project();
    let file = project.file("secret.txt", "x");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    assert!(project.refused("Read", json!({"file_path": file})).contains("permission denied"));
    fs::create_dir(project.path("locked")).unwrap();
    fs::set_permissions(project.path("locked"), fs::Permissions::from_mode(0o555)).unwrap();
    let refusal = project.refused("Write", json!({"file_path": "locked/x", "content": ""}));
    assert!(refusal.contains("cannot be written"), "{refusal}");
}

/// The same through setpriv(1), which gives up root's rights for one program.
fn as_nobody() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    let open = |path: &std::path::Path| {
        fs::set_permissions(path, fs::Permissions::from_mode(0o777)).unwrap();
    };
    let root = project.dir().parent().unwrap().to_owned();
    open(&root);
    open(&project.dir());
    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o666)).unwrap();
        }
    }
    // The build directory may be closed to others, so the binary goes along.
    let binary = root.join("ona");
    fs::copy(env!("CARGO_BIN_EXE_ona"), &binary).unwrap();
    let file = project.file("secret.txt", "x");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o000)).unwrap();
    fs::create_dir(project.path("locked")).unwrap();
    let call = |tool: &str, input: serde_json::Value| {
        let mut command = project.command("setpriv");
        command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
        command.arg(&binary).args(["--eval", &json!({"tool": tool, "input": input}).to_string()]);
        ona_testkit::report(&mut command)
    };
    let refused = call("Read", json!({"file_path": file}));
    assert!(
        refused.is_error && refused.content.contains("permission denied"),
        "{}",
        refused.content
    );
    let refused = call("Write", json!({"file_path": "locked/x", "content": ""}));
    assert!(
        refused.is_error && refused.content.contains("cannot be written"),
        "{}",
        refused.content
    );

    for entry in fs::read_dir(&root).unwrap() {
        let path = entry.unwrap().path();
        if path.is_file() && path != binary {
            fs::set_permissions(&path, fs::Permissions::from_mode(0o444)).unwrap();
        }
    }
    fs::set_permissions(&root, fs::Permissions::from_mode(0o555)).unwrap();
    let mut doctor = project.command("setpriv");
    doctor.args(["--reuid=65534", "--regid=65534", "--clear-groups"]).arg(&binary).arg("doctor");
    let said = run(&mut doctor);
    assert_eq!(said.code, Some(1), "{}", said.stdout);
    let mut command = project.command("setpriv");
    command.args(["--reuid=65534", "--regid=65534", "--clear-groups"]);
    command.arg(&binary).args(["--eval", r#"{"tool":"Bash","input":{"command":"touch done"}}"#]);
    let ran = run(&mut command);
    assert!(usage(&ran).contains("cannot be written"), "{}", ran.stderr);
    assert!(!project.path("done").exists());
    open(&root);
}

/// A file size limit makes every write beyond it fail, as a full disk does.
fn on_a_full_disk(
    project: &ona_testkit::Project,
    kib: u32,
    tool: &str,
    input: &serde_json::Value,
) -> Ran {
    let call = json!({"tool": tool, "input": input}).to_string();
    let mut command = project.command("bash");
    let script = format!("trap '' XFSZ; ulimit -f {kib}; exec \"$0\" --eval \"$1\"");
    command.args(["-c", &script, env!("CARGO_BIN_EXE_ona"), &call]);
    run(&mut command)
}

#[test]
fn a_full_disk_fails_clearly_and_keeps_what_was() {
    let project = project();
    project.file("a.txt", "precious");
    project.ok("Read", json!({"file_path": "a.txt"}));
    let big = json!({"file_path": "a.txt", "content": "x".repeat(200)});

    // Room for the record, not for what the command writes.
    let room = u32::try_from(fs::metadata(project.database()).unwrap().len() / 1024).unwrap() + 400;
    let grow = json!({"command": format!("head -c {} /dev/zero > big.bin", (room + 100) * 1024)});
    let ran = on_a_full_disk(&project, room, "Bash", &grow);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let report = ona_testkit::parse_report(&ran.stdout).unwrap();
    assert!(report.is_error && report.content.contains("File too large"), "{}", report.content);

    // No room for the record: nothing is run, and it says so.
    let ran = on_a_full_disk(&project, 1, "Write", &big);
    assert_eq!(ran.code, Some(1), "{}", ran.stderr);
    assert!(ran.stderr.starts_with("error: ") && ran.stderr.contains("hint: "), "{}", ran.stderr);
    assert_eq!(project.content("a.txt"), "precious");
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
    project.ok("Write", big);
}

#[test]
fn wrong_directories_are_usage_errors() {
    let project = project();
    let file = project.file("f", "");
    for dir in ["/no/such/dir", file.as_str()] {
        let mut command = project.eval_command("Bash", &json!({"command": "true"}));
        let ran = run(command.args(["--cwd", dir]));
        assert!(usage(&ran).contains(dir), "{}", ran.stderr);
    }
}

#[test]
fn readers_that_go_away_and_outputs_that_fail_are_no_crash() {
    let project = project();
    let binary = env!("CARGO_BIN_EXE_ona");
    let shell = |script: &str| run(project.command("bash").args(["-c", script, binary]));
    let call = r#""$0" --eval '{"tool":"Bash","input":{"command":"echo hi"}}'"#;
    let ran = shell(&format!("{call} | head -c 0; echo ${{PIPESTATUS[0]}}"));
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("0\n", ""));
    let full = shell(&format!("{call} > /dev/full; echo $?"));
    assert_eq!(full.stdout, "1\n");
    assert!(full.stderr.contains("recorded, but cannot be printed"), "{}", full.stderr);
    assert_eq!(shell("\"$0\" --eval '{\"tool' 2> /dev/full; echo $?").stdout, "2\n");
    assert_eq!(shell("\"$0\" doctor | head -c 0; echo ${PIPESTATUS[0]}").stdout, "0\n");
    assert_eq!(project.sql("SELECT count(*) FROM transcript_entries"), ["4"]);
}

#[test]
fn an_outcome_that_cannot_be_recorded_says_that_the_tool_has_run() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    // The command fills the room that the record would need.
    let size = fs::metadata(project.database()).unwrap().len();
    let limit = size / 1024 + 20;
    let script = format!("touch ran; head -c {} /dev/zero | tr '\\0' x", limit * 1024);
    let ran = on_a_full_disk(
        &project,
        u32::try_from(limit).unwrap(),
        "Bash",
        &json!({"command": script}),
    );
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(project.path("ran").exists());
    assert!(ran.stderr.contains("the tool has run, but its outcome"), "{}", ran.stderr);
    assert!(ran.stderr.contains("before you repeat it"), "{}", ran.stderr);
    let doctor = run(&mut project.ona(["doctor"])).stdout;
    assert!(doctor.contains("1 interrupted"), "{doctor}");
}

#[test]
fn a_write_that_fails_leaves_no_directories() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    // The directories can be made, the file cannot.
    let name = format!("n1/n2/{}", "x".repeat(300));
    project.refused("Write", json!({"file_path": name, "content": "x"}));
    assert!(!project.path("n1").exists());
    // The record has no room for the call, so it does not begin.
    let size = fs::metadata(project.database()).unwrap().len();
    let content = "x".repeat(usize::try_from(size).unwrap() + 300 * 1024);
    let big = json!({"file_path": "n1/n2/big", "content": content});
    // Too large an input for an argument, so the file limit is set around a call from a file.
    fs::write(project.path("call.json"), json!({"tool": "Write", "input": big}).to_string())
        .unwrap();
    let room = size / 1024 + 200;
    let script = format!("trap '' XFSZ; ulimit -f {room}; exec \"$0\" --eval - < call.json");
    let ran = run(project.command("bash").args(["-c", &script, env!("CARGO_BIN_EXE_ona")]));
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(!project.path("n1").exists(), "{} {}", ran.stdout, ran.stderr);
}

#[test]
fn odd_rows_made_by_hand_are_tolerated() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    project.sql(&format!(
        "INSERT INTO conversations(id, project_dir, last_active) VALUES (NULL, '{0}', '3000'), (x'01', '{0}', '3001')",
        project.dir().display()
    ));
    project.ok("Bash", json!({"command": "true"}));
    project.sql(
        "INSERT INTO transcript_entries(session_id, sequence, entry_type, payload_json)
         SELECT session_id, 100, 'nonsense', 'no json' FROM sessions",
    );
    project.ok("Bash", json!({"command": "true"}));
    let doctor = run(&mut project.ona(["doctor"]));
    assert_eq!(doctor.code, Some(0), "{}", doctor.stdout);
    for part in ["payload is not JSON", "of an unknown type", "whose id is not text", "with a gap"]
    {
        assert!(doctor.stdout.contains(part), "{part}: {}", doctor.stdout);
    }
    project.sql(
        "INSERT INTO transcript_entries(session_id, sequence, entry_type, payload_json)
         SELECT session_id, 9223372036854775807, 'user', '{}' FROM sessions",
    );
    let ran = run(&mut project.eval_command("Bash", &json!({"command": "true"})));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains("no sequence number left"), "{}", ran.stderr);
}
