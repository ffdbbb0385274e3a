//! Calls of tools: while they run, and when they have ended.

use std::time::Duration;

use ona_front::{Event, FileDiff, FileFate};
use ona_types::gate::StageName;
use serde_json::json;

use crate::scenes::{diff, ended, id, output, refused, started};
use crate::stage::{Stage, at_work_at_three_sizes};

fn of_agent(event: Event) -> Event {
    Event::OfAgent { call: id("agent"), what: Box::new(event) }
}

fn changed(tool: &str, diff: FileDiff) -> Event {
    Event::ToolEnded {
        id: id("edit"),
        tool: tool.to_owned(),
        content: "The file was changed.".to_owned(),
        is_error: false,
        refused: None,
        diff: Some(diff),
        exit_code: None,
    }
}

#[test]
fn a_command_that_runs() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("bash", "Bash", json!({"command": "cargo test --workspace"})));
        for number in 1..=9 {
            stage.hears(output("bash", &format!("   Compiling crate-{number} v0.1.0\n")));
        }
        stage.hears(output("bash", "    a line that is so long that it does not fit on a narrow terminal, and on no other either, since it goes on and on and on until it is two hundred letters long"));
        stage.waits(Duration::from_secs(12));
    }));
}

#[test]
fn a_command_of_several_lines_that_runs() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let command = "for file in src/*.rs; do\n\twc -l \"$file\"\ndone | sort -n | tail -20 && echo done with all of it, and this goes on for a while, so that three rows are not enough for it on a narrow terminal";
        stage.hears(started("bash", "Bash", json!({"command": command})));
    }));
}

#[test]
fn an_agent_with_calls_of_its_own() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let input = json!({"description": "Find where tokens are made", "prompt": "…"});
        stage.hears(started("agent", "Agent", input));
        for file in ["lexer.rs", "token.rs", "parser.rs"] {
            let input = json!({"file_path": format!("/home/bob/engine/src/{file}")});
            stage.hears(of_agent(started(file, "Read", input)));
            stage.hears(of_agent(ended(file, "Read", "1\n2\n", false)));
        }
        let input = json!({"command": "grep -rn Token src"});
        stage.hears(of_agent(started("grep", "Bash", input)));
        stage.waits(Duration::from_secs(7));
    }));
}

#[test]
fn what_an_agent_may_not_do_is_seen() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("agent", "Agent", json!({"description": "Clean up"})));
        stage.hears(of_agent(started("rm", "Bash", json!({"command": "rm -rf target"}))));
        stage.hears(of_agent(refused(
            "rm",
            "Bash",
            StageName::Rules,
            "the rule Bash(rm:*) in .ona/settings.json denies it",
        )));
    }));
}

#[test]
fn several_calls_that_run() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("a", "Read", json!({"file_path": "src/lexer.rs"})));
        stage.hears(started("b", "Grep", json!({"pattern": "fn next", "path": "src"})));
        stage.hears(started("c", "mcp__docs__search", json!({"query": "tokens"})));
        stage.hears(Event::ToolProgress {
            id: id("c"),
            done: 3.0,
            total: Some(10.0),
            message: Some("pages read".to_owned()),
        });
    }));
}

#[test]
fn calls_that_have_ended() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("a", "Read", json!({"file_path": "src/lexer.rs"})));
        stage.hears(ended(
            "a",
            "Read",
            "src/lexer.rs (3 lines)\n1\tone\n2\ttwo\n3\tthree\n",
            false,
        ));
        stage.hears(started("b", "Bash", json!({"command": "true"})));
        stage.hears(ended("b", "Bash", "", false));
        stage.hears(started("c", "TodoWrite", json!({"todos": []})));
        stage.hears(ended("c", "TodoWrite", "ok", false));
    }));
}

#[test]
fn a_command_with_a_long_output() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("bash", "Bash", json!({"command": "seq 100"})));
        let lines: Vec<String> = (1..=100).map(|number| format!("line {number}")).collect();
        stage.hears(ended("bash", "Bash", &lines.join("\n"), false));
    }));
}

#[test]
fn a_command_that_failed() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("bash", "Bash", json!({"command": "cargo build"})));
        let content = "error[E0425]: cannot find value `at` in this scope\n  --> src/engine/parser.rs:42:17\n   |\n42 |     let token = at;\n   |                 ^^ not found in this scope\n\nexit code 101";
        stage.hears(ended("bash", "Bash", content, true));
    }));
}

#[test]
fn a_refused_call_says_which_stage_and_why() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("bash", "Bash", json!({"command": "git push --force"})));
        stage.hears(refused(
            "bash",
            "Bash",
            StageName::Intent,
            "the intent INT-007 does not own what is pushed",
        ));
    }));
}

#[test]
fn an_edit_with_its_diff() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(started("edit", "Edit", json!({"file_path": "src/engine/parser.rs"})));
        stage.hears(changed("Edit", diff()));
    }));
}

#[test]
fn a_file_that_is_created() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let mut diff = diff();
        diff.fate = FileFate::Created;
        diff.path = "src/new.rs".to_owned();
        diff.hunks.truncate(1);
        (diff.hunks[0].old_start, diff.hunks[0].new_start) = (0, 1);
        diff.hunks[0].lines.retain(|line| line.sign == ona_front::Sign::Added);
        diff.removed = 0;
        stage.hears(started("edit", "Write", json!({"file_path": "src/new.rs"})));
        stage.hears(changed("Write", diff));
    }));
}

#[test]
fn a_running_call_gives_way_to_its_result() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(started("bash", "Bash", json!({"command": "seq 3"})));
    stage.hears(output("bash", "1\n2\n"));
    assert!(stage.text().contains("  ⎿  1\n     2"), "{}", stage.text());
    stage.hears(ended("bash", "Bash", "1\n2\n3", false));
    assert_eq!(stage.all_text().matches("Bash(seq 3)").count(), 1, "{}", stage.text());
    assert!(stage.text().contains("  ⎿  1\n     2\n     3"), "{}", stage.text());
}

#[test]
fn the_colour_of_a_changed_line_reaches_the_end_of_its_row() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(started("edit", "Edit", json!({"file_path": "src/engine/parser.rs"})));
    stage.hears(changed("Edit", diff()));
    assert_ne!(stage.terminal.background_beside("+     self.at += 1;"), vt100::Color::Default);
}

#[test]
fn a_title_that_is_cut_ends_with_one_ellipsis() {
    let mut stage = Stage::at_work(40, 24);
    stage.hears(started("bash", "Bash", json!({"command": "x".repeat(500)})));
    assert!(stage.text().contains('…') && !stage.text().contains("……"), "{}", stage.text());
}

#[test]
fn one_call_is_not_several() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(started("agent", "Agent", json!({"description": "Look"})));
    stage.hears(of_agent(started("a", "Read", json!({"file_path": "a"}))));
    assert!(stage.text().contains("1 call"), "{}", stage.text());
    assert!(!stage.text().contains("1 calls"), "{}", stage.text());
}
