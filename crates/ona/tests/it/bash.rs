//! Bash.

use std::fs;
use std::process::Stdio;
use std::time::{Duration, Instant};

use ona_testkit::parse_report;
use serde_json::json;

use crate::project;

#[test]
fn streams_are_kept_apart_and_codes_are_errors() {
    let project = project();
    assert_eq!(project.ok("Bash", json!({"command": "echo out"})), "out\n");
    assert_eq!(
        project.ok("Bash", json!({"command": "echo out; echo err >&2"})),
        "out\n\n--- stderr ---\nerr\n"
    );
    assert_eq!(
        project.refused("Bash", json!({"command": "printf x; printf y >&2; exit 3"})),
        "x\n--- stderr ---\ny"
    );
    assert_eq!(project.refused("Bash", json!({"command": "exit 3"})), "[exit code 3]");
    assert_eq!(project.refused("Bash", json!({"command": "kill -9 $$"})), "[killed by signal 9]");
    let codes = project.sql(
        "SELECT json_extract(detail, '$.class'), json_extract(detail, '$.exit_code') FROM events
         WHERE event_type = 'tool.finished' ORDER BY id",
    );
    assert_eq!(codes[2..4], ["tool_rejected|3", "tool_rejected|3"]);
    // The command is the shell's own: its messages name its own lines.
    let error = project.refused("Bash", json!({"command": "true\nno-such-command"}));
    assert!(error.contains("line 2: no-such-command"), "{error}");
}

#[test]
fn the_directory_carries_over_and_variables_do_not() {
    let project = project();
    fs::create_dir_all(project.path("sub/deep")).unwrap();
    assert_eq!(project.ok("Bash", json!({"command": "export V=1; cd sub"})), "");
    let sub = project.path("sub");
    assert_eq!(
        project.ok("Bash", json!({"command": "pwd; echo \"[$V]\""})),
        format!("{}\n[]\n", sub.display())
    );
    // Other tools start there too; and a command that fails or exits may still have moved.
    project.file("sub/x.txt", "here");
    project.ok("Read", json!({"file_path": "x.txt"}));
    project.refused("Bash", json!({"command": "cd deep; exit 1"}));
    assert!(project.ok("Bash", json!({"command": "pwd"})).ends_with("sub/deep\n"));
    let outside = project.ok("Bash", json!({"command": "cd /; pwd"}));
    assert_eq!(
        outside,
        format!("/\n\n--- stderr ---\nShell cwd was reset to {}\n", project.dir().display())
    );
    assert_eq!(
        project.ok("Bash", json!({"command": "pwd"})),
        format!("{}\n", project.dir().display())
    );
    project.ok("Bash", json!({"command": "cd sub"}));
    fs::remove_dir_all(project.path("sub")).unwrap();
    let gone = project.ok("Bash", json!({"command": "pwd"}));
    assert!(gone.starts_with(&format!("{}\n", project.dir().display())), "{gone}");
    assert!(gone.contains("no longer exists"), "{gone}");
}

#[test]
fn each_stream_is_cut_at_one_mebibyte() {
    let project = project();
    let content = project.ok(
        "Bash",
        json!({"command": "head -c 3000000 /dev/zero | tr '\\0' a; head -c 1048577 /dev/zero | tr '\\0' b >&2"}),
    );
    let mib = 1_048_576;
    let expected = format!(
        "{}[SDLC_TRUNCATED]\n--- stderr ---\n{}[SDLC_TRUNCATED]",
        "a".repeat(mib),
        "b".repeat(mib)
    );
    assert!(content == expected, "{} bytes", content.len());
    let exact = project.ok("Bash", json!({"command": "head -c 1048576 /dev/zero | tr '\\0' a"}));
    assert_eq!(exact.len(), mib, "exactly the cap is not cut");
}

#[test]
fn a_timeout_kills_the_tree_and_is_internal() {
    let project = project();
    let content = project.refused(
        "Bash",
        json!({"command": "echo before; (setsid sleep 60 & echo $! > pid); sleep 60", "timeout": 2500}),
    );
    assert!(
        content.starts_with("[SDLC_INTERNAL] the command ran longer than 2500 ms"),
        "{content}"
    );
    assert!(content.ends_with("before\n"), "{content}");
    let pid = project.content("pid");
    let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
    assert!(stat.is_empty() || stat.contains(") Z "), "{stat}");
    let class = project.sql(
        "SELECT json_extract(detail, '$.class') FROM events WHERE event_type = 'tool.finished'",
    );
    assert_eq!(class, ["internal_failure"]);
}

#[test]
fn odd_commands_are_taken_as_they_are() {
    let project = project();
    let quotes = r#"printf '%s|' "a b" 'c"d' $'e\tf' \\; cat <<'EOF'
$HOME `x`
EOF"#;
    assert_eq!(project.ok("Bash", json!({"command": quotes})), "a b|c\"d|e\tf|\\|$HOME `x`\n");
    let long = format!("echo start\n: {}\necho end", "x".repeat(300_000));
    assert_eq!(project.ok("Bash", json!({"command": long})), "start\nend\n");
    assert_eq!(project.ok("Bash", json!({"command": "cat"})), "", "standard input is empty");
    assert!(project.ok("Bash", json!({"command": "printf 'a\\377b'"})).contains('\u{fffd}'));
    assert!(project.refused("Bash", json!({"command": "  "})).contains("`command` is empty"));
    assert!(project.refused("Bash", json!({"command": "echo \u{0}"})).contains("NUL"));
    let database = project.ok("Bash", json!({"command": "echo $AGENT_SDLC_DB"}));
    assert_eq!(database, format!("{}\n", project.database().display()));
}

#[test]
fn a_background_task_goes_on_and_its_end_is_recorded() {
    let project = project();
    project.ok("Bash", json!({"command": "mkfifo gate"}));
    let started = Instant::now();
    let said = project.ok(
        "Bash",
        json!({"command": "echo running; cat gate; echo oops >&2; exit 7", "run_in_background": true}),
    );
    assert!(started.elapsed() < Duration::from_secs(30), "it does not wait");
    assert!(said.starts_with("Started background task task_"), "{said}");
    let row = || {
        project
            .sql("SELECT exit_code, end_reason, output_path, ended_at IS NOT NULL FROM background_tasks")
            .remove(0)
    };
    assert!(row().ends_with("|0"), "{}", row());
    fs::write(project.path("gate"), "go\n").unwrap();
    while !row().ends_with("|1") {
        assert!(started.elapsed() < Duration::from_secs(60), "{}", row());
        std::thread::yield_now();
    }
    let row = row();
    let cells: Vec<&str> = row.split('|').collect();
    assert_eq!(cells[..2], ["7", "exited"]);
    assert_eq!(fs::read_to_string(cells[2]).unwrap(), "running\ngo\noops\n");
    assert!(said.contains(cells[2]), "{said}");
}

/// Starts a command that says when it runs, sends a signal to ona, and returns code and content.
fn signalled(signal: &str) -> (Option<i32>, String, ona_testkit::Project) {
    let project = project();
    project.ok("Bash", json!({"command": "mkfifo ready"}));
    let child = project
        .eval_command("Bash", &json!({"command": "echo hi; echo > ready; sleep 60"}))
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    fs::read(project.path("ready")).unwrap();
    let kill = project.command("kill").args([signal, &child.id().to_string()]).status().unwrap();
    assert!(kill.success());
    let output = child.wait_with_output().unwrap();
    let report = parse_report(std::str::from_utf8(&output.stdout).unwrap()).unwrap();
    (output.status.code(), report.content, project)
}

#[test]
fn signals_end_the_command_and_are_recorded() {
    for (signal, code) in [("-INT", 130), ("-TERM", 143), ("-HUP", 129)] {
        let (exit, content, project) = signalled(signal);
        assert_eq!(exit, Some(code), "{signal}");
        assert_eq!(content, "[SDLC_INTERNAL] interrupted; the command was killed\nhi\n");
        let results = project
            .sql("SELECT payload_json FROM transcript_entries WHERE entry_type = 'tool_result'");
        assert!(results[1].contains("interrupted; the command"), "{}", results[1]);
    }
}

#[test]
fn what_cleans_its_environment_and_forks_away_is_killed_too() {
    let project = project();
    let command = "env -i setsid bash -c 'echo $$ > a; sleep 77' & \
                   setsid nohup bash -c 'exec -c sleep 76' & echo $! > b; \
                   while [ ! -s a ]; do :; done; sleep 78";
    project.refused("Bash", json!({"command": command, "timeout": 2500}));
    for file in ["a", "b"] {
        let pid = project.content(file);
        let stat = fs::read_to_string(format!("/proc/{}/stat", pid.trim())).unwrap_or_default();
        assert!(stat.is_empty() || stat.contains(") Z "), "{file}: {stat}");
    }
}

#[test]
fn what_ona_does_around_a_command_does_not_show() {
    let project = project();
    fs::create_dir(project.path("s")).unwrap();
    assert_eq!(project.ok("Bash", json!({"command": "set -e; mkdir g; cd g; rmdir ../g"})), "");
    assert_eq!(
        project.ok("Bash", json!({"command": "set -x; true"})),
        "\n--- stderr ---\n+ true\n"
    );
    project.ok("Bash", json!({"command": "pwd() { echo /etc; }; cd s"}));
    assert!(project.ok("Bash", json!({"command": "pwd; cd .."})).ends_with("/s\n"));
    // A trap of its own takes the place of ours: then it says so.
    let own = project.ok("Bash", json!({"command": "trap 'echo bye' EXIT; cd s"}));
    assert!(own.starts_with("bye\n") && own.contains("Shell cwd could not be followed"), "{own}");
    assert_eq!(project.ok("Bash", json!({"command": "trap 'echo bye' EXIT"})), "bye\n");

    let file = project.file("start.sh", "FROM_BASH_ENV=1\n");
    let mut command =
        project.eval_command("Bash", &json!({"command": "echo $FROM_BASH_ENV $BASH_ENV"}));
    let shown = ona_testkit::report(command.env("BASH_ENV", &file)).content;
    assert_eq!(shown, format!("1 {file}\n"));
}

#[test]
fn a_task_whose_supervisor_was_killed_is_ended_by_the_next_call() {
    let project = project();
    project.ok("Bash", json!({"command": "mkfifo ready"}));
    project.ok(
        "Bash",
        json!({"command": "echo $$ $PPID > ready; sleep 60", "run_in_background": true}),
    );
    let pids = fs::read_to_string(project.path("ready")).unwrap();
    let (shell, supervisor) = pids.trim().split_once(' ').unwrap();
    assert!(project.command("kill").args(["-9", supervisor]).status().unwrap().success());
    let gone = |pid: &str| {
        let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.is_empty() || stat.contains(") Z ")
    };
    while !gone(supervisor) {
        std::thread::yield_now();
    }
    let doctor = ona_testkit::run(&mut project.ona(["doctor"])).stdout;
    assert!(doctor.contains("1 without a supervisor: task_"), "{doctor}");
    project.ok("Bash", json!({"command": "true"}));
    assert_eq!(project.sql("SELECT end_reason FROM background_tasks"), ["supervisor_died"]);
    assert!(gone(shell), "what it ran is killed");
}
