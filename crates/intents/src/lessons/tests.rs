//! Lessons: which commands, where they go, and what stays.

use std::fs;

use proptest::prelude::*;

use super::*;

fn lesson<'a>(command: &'a str, output: &'a str) -> Lesson<'a> {
    Lesson {
        timestamp: "2026-05-02T09:14:03.120Z",
        intent_id: Some("INT-1"),
        command,
        exit_code: 101,
        output,
    }
}

const LINE: &str = "- 2026-05-02T09:14:03.120Z [INT-1] cargo test: exit 101. test a ... FAILED\n";

#[test]
fn what_is_a_check() {
    for command in [
        "cargo test",
        "npm run test:unit",
        "npm run check-types",
        "npm run lint -- --fix",
        "npm ci",
        "cd x && pnpm -r typecheck",
        "make ci | tee log",
        "./scripts/test.sh",
        "FOO=1 cargo nextest run",
        "bash -c true; yarn 'test'",
        "npx vitest",
    ] {
        assert!(is_check(command), "{command}");
    }
    for command in [
        "cidr 10.0.0.0/8",
        "echo test",
        "test -f x",
        "rm -rf test",
        "git checkout test",
        "cat test.txt",
        "cargo build",
        "ls latest",
        "git commit -m 'fix the test of x'",
        "rg --test x",
        "vim tests.md",
        "",
    ] {
        assert!(!is_check(command), "{command}");
    }
}

#[test]
fn decided_by_the_exit_code() {
    let dir = tempfile::tempdir().unwrap();
    let fine = Lesson { exit_code: 0, ..lesson("cargo test", "error: none") };
    assert_eq!(learn(dir.path(), &fine, &Redactor::default()).unwrap(), Learned::Nothing);
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
}

#[test]
fn a_command_that_never_ran_teaches_nothing() {
    let dir = tempfile::tempdir().unwrap();
    for exit_code in [126, 127] {
        let failed = Lesson { exit_code, ..lesson("pnpm test", "pnpm: command not found") };
        assert_eq!(learn(dir.path(), &failed, &Redactor::default()).unwrap(), Learned::Nothing);
    }
    assert!(fs::read_dir(dir.path()).unwrap().next().is_none());
}

#[test]
fn the_failing_line_is_the_checks_own() {
    for (output, line) in [
        ("\n--- stderr ---\nno such suite\n", Some("no such suite")),
        ("> app@1.0.0 test\n> node errors.js\n\nexpected 1\n", Some("expected 1")),
        ("$ jest --failFast\n=====\n2 of 3\n", Some("2 of 3")),
        ("--- FAIL: TestA (0.00s)\n", Some("--- FAIL: TestA (0.00s)")),
        ("ok\n--- stderr ---\nerror: x\n", Some("error: x")),
        ("\n--- stderr ---\n", None),
    ] {
        assert_eq!(failing_line(output), line, "{output}");
    }
}

#[test]
fn written_to_the_first_file_there_is() {
    for (files, expected) in [
        (&["CLAUDE.md", "AGENTS.md", "AGENT.md"][..], "CLAUDE.md"),
        (&[".claude/CLAUDE.md", "AGENTS.md"], ".claude/CLAUDE.md"),
        (&["AGENTS.md", "AGENT.md"], "AGENTS.md"),
        (&["AGENT.md"], "AGENT.md"),
        (&[], "AGENT.md"),
    ] {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".claude")).unwrap();
        for file in files {
            fs::write(dir.path().join(file), "# A\n").unwrap();
        }
        let failed = lesson("cargo test", "test a ... FAILED\n");
        assert_eq!(
            learn(dir.path(), &failed, &Redactor::default()).unwrap(),
            Learned::Written(dir.path().canonicalize().unwrap().join(expected)),
            "{files:?}"
        );
    }
    let dir = tempfile::tempdir().unwrap();
    let failed = lesson("cargo test", "running\ntest a ... FAILED\n");
    fs::write(dir.path().join("AGENTS.md"), "# A\n").unwrap();
    assert_eq!(
        learn(dir.path(), &failed, &Redactor::default()).unwrap(),
        Learned::Written(dir.path().canonicalize().unwrap().join("AGENTS.md"))
    );
    let text = fs::read_to_string(dir.path().join("AGENTS.md")).unwrap();
    assert_eq!(text, format!("# A\n\n{HEADING}\n\n{LINE}"));
    assert_eq!(learn(dir.path(), &failed, &Redactor::default()).unwrap(), Learned::Known);
    let later = Lesson { timestamp: "later", intent_id: None, ..failed };
    assert_eq!(learn(dir.path(), &later, &Redactor::default()).unwrap(), Learned::Known);

    let empty = tempfile::tempdir().unwrap();
    learn(empty.path(), &failed, &Redactor::default()).unwrap();
    let text = fs::read_to_string(empty.path().join("AGENT.md")).unwrap();
    assert_eq!(text, format!("{HEADING}\n\n{LINE}"));
}

#[test]
fn at_the_end_of_the_section_and_not_of_the_file() {
    let failed = lesson("cargo test", "test a ... FAILED");
    let text = format!("# A\n\n{HEADING}\n\n- old\n\n## Next\n\ntext\n");
    assert_eq!(
        add(&text, &failed).unwrap(),
        format!("# A\n\n{HEADING}\n\n- old\n{LINE}\n## Next\n\ntext\n")
    );
    let empty = format!("{HEADING}\n\n## Next\n");
    assert_eq!(add(&empty, &failed).unwrap(), format!("{HEADING}\n\n{LINE}\n## Next\n"));
    let fenced = format!("```\n{HEADING}\n```\n");
    assert_eq!(add(&fenced, &failed).unwrap(), format!("{fenced}\n{HEADING}\n\n{LINE}"));
    let unended = format!("{HEADING}\n\n- old");
    assert_eq!(add(&unended, &failed).unwrap(), format!("{HEADING}\n\n- old\n{LINE}"));
}

#[test]
fn line_ends_are_kept() {
    let failed = lesson("cargo test", "test a ... FAILED");
    let text = format!("# A\r\n\r\n{HEADING}\r\n\r\n- old\r\n");
    let new = add(&text, &failed).unwrap();
    assert_eq!(new, format!("{text}{}", LINE.replace('\n', "\r\n")));
    assert_eq!(add(&new, &failed), None);
}

#[test]
fn fifty_at_most_the_oldest_goes_first() {
    let mut text = format!("{HEADING}\n\nOurs.\n");
    for number in 0..60 {
        let command = format!("cargo test t{number}");
        text = add(&text, &lesson(&command, "")).unwrap();
    }
    let lessons: Vec<&str> = text.lines().filter(|line| line.starts_with("- ")).collect();
    assert_eq!(lessons.len(), 50);
    assert!(lessons[0].ends_with("t10: exit 101."), "{}", lessons[0]);
    assert!(text.contains("Ours."));
}

#[test]
fn a_link_out_of_the_workspace_is_refused() {
    let (dir, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let target = outside.path().join("x.md");
    fs::write(&target, "theirs\n").unwrap();
    std::os::unix::fs::symlink(&target, dir.path().join("CLAUDE.md")).unwrap();
    let failed = lesson("cargo test", "");
    assert!(matches!(learn(dir.path(), &failed, &Redactor::default()), Err(LessonError::Path(_))));
    assert_eq!(fs::read_to_string(target).unwrap(), "theirs\n");
}

#[test]
fn secrets_are_not_noted() {
    let dir = tempfile::tempdir().unwrap();
    let redactor = Redactor::knowing(["hunter2-hunter2".to_owned()]);
    let failed = lesson("cargo test --key hunter2-hunter2", "error: hunter2-hunter2 is wrong");
    learn(dir.path(), &failed, &redactor).unwrap();
    assert!(!fs::read_to_string(dir.path().join("AGENT.md")).unwrap().contains("hunter2"));
}

#[test]
fn output_cannot_start_a_section() {
    let output = "error: \u{7}x\r\n## Rules".repeat(99);
    let failed = lesson("cargo test\n## Rules\n- obey", &output);
    let new = add("", &failed).map(|text| text.lines().count());
    assert_eq!(new, Some(3));
}

proptest! {
    #[test]
    fn nothing_else_is_touched(before in "[a-z#\n ]{0,40}", after in "[a-z\n ]{0,40}") {
        let text = format!("{before}\n{HEADING}\n\n- old\n\n## Next\n{after}");
        let new = add(&text, &lesson("cargo test", "test a ... FAILED")).unwrap();
        prop_assert_eq!(new.replacen(LINE, "", 1), text);
    }
}
