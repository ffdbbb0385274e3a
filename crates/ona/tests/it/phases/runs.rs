//! Running tests: in the sandbox, twice, with limits.

use super::*;

/// A project whose program is this and that has one test, of what it prints.
fn one_test(program: &str, assert: &str) -> Project {
    let project = at_test(program);
    let parts = ["", "OUT=$(node \"$PROJECT/todo.mjs\" list)\necho \"$OUT\"", assert];
    adds_test(&project, "one", &script("SC-1", "process_output", parts));
    project
}

fn runs(project: &Project, args: &[&str]) -> String {
    let all: Vec<&str> = ["test", "run"].iter().chain(args).copied().collect();
    ona(project, &all);
    project.sql("SELECT status, reason FROM behavioral_runs ORDER BY id DESC LIMIT 1").concat()
}

#[test]
fn a_program_that_deletes_its_project_does_not_get_far() {
    let program = "import { rmSync } from 'node:fs';\n\
        try { rmSync(import.meta.dirname, { recursive: true }); console.log('gone'); }\n\
        catch (error) { console.log(`kept: ${error.code}`); }\n";
    let project = one_test(program, "grep -q kept <<< \"$OUT\" || exit 1");
    assert_eq!(runs(&project, &[]), "passed|");
    assert_eq!(project.content("todo.mjs"), program);
    assert!(project.path("docs/usage.md").exists() && project.path(".git").exists());
}

#[test]
fn a_program_that_never_ends_is_stopped_with_all_it_has_started() {
    let program = "import { spawn } from 'node:child_process';\n\
        spawn('sleep', ['600'], { detached: true }).unref();\nfor (;;) {}\n";
    let project = one_test(program, "grep -q x <<< \"$OUT\" || exit 1");
    assert_eq!(runs(&project, &["--timeout", "1"]), "timed_out|stopped after 1 s");
    assert!(refused(&project, &["phase", "verify"]).contains("(one): timed out"));
}

#[test]
fn a_program_that_prints_without_end_fails_and_is_kept_up_to_the_limit() {
    let program = "const line = 'x'.repeat(1 << 20);\n\
        for (let n = 0; n < 1024; n++) process.stdout.write(line);\nconsole.log('1. milk');\n";
    let project = at_test(program);
    let parts = [
        "",
        "node \"$PROJECT/todo.mjs\" list | tee out.txt | head -c 8000000",
        "grep -q '^1. milk' out.txt || exit 1",
    ];
    adds_test(&project, "much", &script("SC-1", "process_output", parts));
    let told = runs(&project, &[]);
    assert!(told.starts_with("failed|"), "{told}");
    let kept = project.sql("SELECT max(length(stdout)) FROM behavioral_runs").concat();
    assert!(kept.parse::<usize>().unwrap() <= (4 << 20) + 200, "{kept}");
}

#[test]
fn a_test_whose_runs_differ_is_flaky_and_does_not_count() {
    // Each run reads what comes next out of a pipe.
    let program = "import { readFileSync } from 'node:fs';\n\
        console.log(readFileSync(`${import.meta.dirname}/ignored/pipe`, 'utf8'));\n";
    let project = at_test(program);
    std::fs::create_dir(project.path("ignored")).unwrap();
    assert_eq!(run(project.command("mkfifo").arg("ignored/pipe")).code, Some(0));
    let parts =
        ["", "OUT=$(node \"$PROJECT/todo.mjs\" list)", "grep -q good <<< \"$OUT\" || exit 1"];
    adds_test(&project, "sometimes", &script("SC-1", "process_output", parts));
    let pipe = project.path("ignored/pipe");
    let told = std::thread::spawn(move || {
        for word in ["good", "bad"] {
            std::fs::write(&pipe, word).unwrap();
            // The reader ends before the pipe is opened for it again.
            std::thread::sleep(std::time::Duration::from_millis(300));
        }
    });
    assert_eq!(runs(&project, &[]), "flaky|the first run passed, the second failed");
    told.join().unwrap();
    assert!(refused(&project, &["phase", "verify"]).contains("(sometimes): flaky"));
    assert!(ok(&project, &["report"]).contains("flaky"));
}

#[test]
fn each_run_starts_empty_and_without_the_operators_secrets() {
    let project = at_test(
        "import { existsSync, writeFileSync } from 'node:fs';\n\
         const seen = existsSync('mark') || existsSync(`${process.env.HOME}/mark`);\n\
         writeFileSync('mark', ''); writeFileSync(`${process.env.HOME}/mark`, '');\n\
         console.log(seen ? 'old' : 'new', process.env.ANTHROPIC_API_KEY ?? process.env.DB_PASSWORD ?? 'no key');\n",
    );
    let parts = [
        "",
        "OUT=$(node \"$PROJECT/todo.mjs\" list)",
        "[ \"$OUT\" = 'new no key' ] || { echo \"$OUT\"; exit 1; }",
    ];
    adds_test(&project, "empty", &script("SC-1", "process_output", parts));
    let mut command = project.ona(["test", "run"]);
    command.env("ANTHROPIC_API_KEY", "sk-test-key-of-runs").env("DB_PASSWORD", "hunter2");
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    let level = project.sql("SELECT DISTINCT level FROM behavioral_runs").concat();
    assert_ne!(level, "none");
}

#[test]
fn a_test_of_ona_itself_has_a_record_of_its_own() {
    let plan = "# Reading\n\n## Success criteria\n- [surface: tool_result] Read of a file is a tool result with its number of lines\n";
    let project = with_plan(plan);
    ok(&project, &["--transition", "test"]);
    let parts = [
        "printf 'line1\\nline2\\nline3\\n' > input.txt",
        "ona --eval \"{\\\"tool\\\": \\\"Read\\\", \\\"input\\\": {\\\"file_path\\\": \\\"$PWD/input.txt\\\"}}\"",
        "RESULT=$(sqlite3 \"$AGENT_SDLC_DB\" \"SELECT payload_json FROM transcript_entries WHERE entry_type='tool_result' ORDER BY sequence DESC LIMIT 1\")\n\
         echo \"$RESULT\" | grep '\"is_error\":false' || exit 1\necho \"$RESULT\" | grep '3 lines' || exit 1",
    ];
    adds_test(&project, "reads", &script("SC-1", "tool_result", parts));
    let before = project.sql("SELECT count(*) FROM transcript_entries");
    let path = format!(
        "{}:{}",
        std::path::Path::new(env!("CARGO_BIN_EXE_ona")).parent().unwrap().display(),
        std::env::var("PATH").unwrap()
    );
    let ran = run(project.ona(["test", "run"]).env("PATH", path));
    assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
    assert_eq!(project.sql("SELECT count(*) FROM transcript_entries"), before);
}

#[test]
fn scripts_are_linted_alone_and_before_they_are_added() {
    let project = at_test(&right());
    let good = project.file("good.sh", adds());
    let bad = project.file(
        "bad.sh",
        script("ADD", "file_state", ["", "node \"$PROJECT/todo.mjs\" add x", "exit 0"]),
    );
    assert!(ok(&project, &["test", "lint", &good]).contains("no fault"));
    let ran = ona(&project, &["test", "lint", &good, &bad, "--json"]);
    assert_eq!(ran.code, Some(1));
    let told: Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!(told[0]["faults"], json!([]));
    assert!(told[1]["faults"][0].as_str().unwrap().contains("no assertion"), "{told}");
    let told = refused(&project, &["test", "add", &bad]);
    assert!(told.contains("was not added") && told.contains("no assertion"), "{told}");
    let other = project.file("other.sh", adds().replace("file_state", "process_output"));
    assert!(
        refused(&project, &["test", "add", &other]).contains("criterion ADD is about file_state")
    );
    let id = adds_test(&project, "adds", &adds());
    let shown: Value =
        serde_json::from_str(&ok(&project, &["test", "show", &id, "--json"])).unwrap();
    assert_eq!(shown["criterion"], "ADD");
    ok(&project, &["test", "remove", &id]);
    assert!(refused(&project, &["phase", "verify"]).contains("ADD has no test"));
    assert!(ok(&project, &["test", "show", &id]).contains("does not count"));
    assert_eq!(ona(&project, &["test", "show", "99"]).code, Some(2));
}

#[test]
fn names_of_tests_stand_in_one_line() {
    let project = at_test(&right());
    let file = project.home().join("t.sh");
    std::fs::write(&file, adds()).unwrap();
    let file = file.to_str().unwrap();
    for (name, why) in [
        ("good\npassed", "control"),
        ("\u{1b}[2J", "control"),
        ("a\u{202e}b", "control"),
        (" ", "empty"),
    ] {
        let told = ona(&project, &["test", "add", file, "--name", name]);
        assert_eq!(told.code, Some(2), "{name:?}");
        assert!(told.stderr.contains(why), "{name:?}: {}", told.stderr);
    }
    let forged =
        json!({"tests": [test("ADD", "file_state", "good\npassed  FAKE", &adds())]}).to_string();
    let server = author(&[forged.as_str(); 4]);
    assert_eq!(generates(&project, &server).code, Some(1));
    assert!(server.requests()[1].last_said().contains("control characters"));
}

#[test]
fn what_the_sandbox_refused_is_told_without_advice() {
    let project = one_test(
        "import { writeFileSync } from 'node:fs';\ntry { writeFileSync(`${import.meta.dirname}/x`, ''); } catch { console.log('1. milk'); }\n",
        "grep -q milk <<< \"$OUT\" || exit 1",
    );
    assert_eq!(runs(&project, &[]), "passed|");
    let printed = project.sql("SELECT stderr FROM behavioral_runs").concat();
    assert!(printed.starts_with("[sandbox] refused writing"), "{printed}");
    assert!(!printed.contains("allowWrite"), "{printed}");
}
