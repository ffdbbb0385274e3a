//! The permission dialog.

use std::time::Duration;

use ona_front::{AskRequest, HumanAnswer, Op, StageAnswer, Wants};
use ona_render::theme::Depth;
use ona_tui::Facts;
use ona_tui::screen::Reflow;
use ona_types::gate::StageName;
use serde_json::json;

use crate::scenes::{ask, diff, permission, rule};
use crate::stage::{Stage, at_work_at_three_sizes, facts};

fn command(command: &str) -> AskRequest {
    permission("Bash", json!({"command": command, "description": "Run the tests of the parser"}))
}

fn with_always(request: AskRequest) -> AskRequest {
    AskRequest {
        suggestions: vec![rule("Bash", "cargo test:*")],
        always_in: ".ona/settings.local.json".to_owned(),
        ..request
    }
}

#[test]
fn a_command() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(command("cargo test -p engine parser")));
    }));
}

#[test]
fn a_command_with_a_rule_for_always() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(with_always(command("cargo test -p engine parser"))));
        stage.press("up");
    }));
}

#[test]
fn a_long_command_with_a_flood_of_blank_lines() {
    let flood = format!("echo harmless{}; rm -rf ~", "\n".repeat(300));
    let long: String = (1..=80).map(|number| format!("step {number} && ")).collect();
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(with_always(command(&format!("{flood}\n{long}\necho the end")))));
    }));
}

#[test]
fn a_diff() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let request = permission("Edit", json!({"file_path": "src/engine/parser.rs"}));
        stage.hears(ask(AskRequest { diff: Some(diff()), ..request }));
    }));
}

#[test]
fn a_tool_of_a_server() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let input = json!({"query": "tokens", "limit": 10, "deep": {"nested": true}});
        stage.hears(ask(AskRequest {
            agent: Some("researcher".to_owned()),
            stage: Some(StageName::Hooks),
            ..permission("mcp__docs__search", input)
        }));
    }));
}

#[test]
fn words_for_the_agent() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(with_always(command("cargo test -p engine parser"))));
        stage.press("tab");
        stage.types("run only the tests of the lexer, they are faster");
    }));
}

#[test]
fn several_questions_wait() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(command("cargo test")));
        stage.hears(ona_front::Event::Ask { ask: 2, request: Box::new(command("cargo build")) });
        stage.hears(ona_front::Event::Ask { ask: 3, request: Box::new(command("cargo doc")) });
    }));
}

/// The answer that a key gives.
fn answer(keys: &[&str]) -> HumanAnswer {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(with_always(command("cargo test"))));
    stage.take_sent();
    keys.iter().for_each(|key| stage.press(key));
    let sent = stage.take_sent();
    let answer = sent.into_iter().find_map(|op| match op {
        Op::Answer { ask: 1, answer } => Some(answer),
        _ => None,
    });
    answer.unwrap_or_else(|| panic!("{keys:?} is no answer: {}", stage.text()))
}

#[test]
fn one_key_is_an_answer() {
    let always = with_always(command("cargo test")).always();
    assert_eq!(answer(&["y"]), HumanAnswer::yes());
    assert_eq!(answer(&["1"]), HumanAnswer::yes());
    assert_eq!(answer(&["a"]), always);
    assert_eq!(answer(&["2"]), always);
    for no in ["n", "3", "esc", "enter"] {
        assert_eq!(answer(&[no]), HumanAnswer::no(""), "{no}");
    }
    assert_eq!(answer(&["up", "up", "enter"]), HumanAnswer::yes());
    assert_eq!(answer(&["tab", "n", "o", "t", "enter"]), HumanAnswer::no("not"));
}

/// A session at work whose user needs a moment to see a dialog.
fn guarded() -> Stage {
    let reaction = Duration::from_millis(150);
    let facts = Facts { reaction, ..facts(Depth::True, Reflow::Cuts) };
    let mut stage = Stage::with(facts, 80, 24);
    stage.begins_to_work();
    stage
}

/// Types with so many milliseconds between the keys.
fn types_slowly(stage: &mut Stage, text: &str, pause: u64) {
    for letter in text.chars() {
        stage.types(&letter.to_string());
        stage.waits(Duration::from_millis(pause));
    }
}

fn answers(stage: &mut Stage) -> Vec<HumanAnswer> {
    let answer = |op| match op {
        Op::Answer { answer, .. } => Some(answer),
        _ => None,
    };
    stage.take_sent().into_iter().filter_map(answer).collect()
}

#[test]
fn whoever_types_does_not_answer() {
    for pause in [60, 400, 1_000] {
        let mut stage = guarded();
        types_slowly(&mut stage, "yes, and ", pause);
        stage.hears(ask(command("rm -rf target")));
        types_slowly(&mut stage, "yay", pause);
        assert_eq!(answers(&mut stage), [], "the letters are for the prompt");
        stage.waits(Duration::from_secs(2));
        stage.press("n");
        stage.waits(Duration::from_millis(300));
        assert_eq!(answers(&mut stage), [HumanAnswer::no("")]);
        assert!(stage.text().contains("> yes, and yay"), "{}", stage.text());
    }
}

#[test]
fn whoever_insists_is_heard() {
    for (pause, key, expected) in [
        (1_000, "y", HumanAnswer::yes()),
        (400, "y", HumanAnswer::yes()),
        (1_000, "enter", HumanAnswer::no("")),
    ] {
        let mut stage = guarded();
        types_slowly(&mut stage, "draft", 60);
        stage.hears(ask(command("rm -rf target")));
        stage.waits(Duration::from_millis(300));
        stage.press(key);
        assert_eq!(answers(&mut stage), [], "it may belong to the draft");
        assert!(stage.text().contains("press it again to answer"), "{}", stage.text());
        stage.waits(Duration::from_millis(pause));
        stage.press(key);
        stage.waits(Duration::from_millis(300));
        assert_eq!(answers(&mut stage), [expected], "{key} {pause}");
    }
}

#[test]
fn keys_from_before_a_dialog_could_be_read_are_not_for_it() {
    let mut stage = guarded();
    stage.hears(ask(command("rm -rf target")));
    stage.press("y");
    stage.waits(Duration::from_secs(3));
    assert_eq!(answers(&mut stage), []);
    stage.press("y");
    stage.waits(Duration::from_millis(300));
    assert_eq!(answers(&mut stage), [HumanAnswer::yes()]);
    assert!(stage.text().contains("> y"), "{}", stage.text());
}

#[test]
fn a_word_is_no_answer() {
    for (word, pause) in [("yes", 50), ("why does it fail", 60), ("/why", 150), ("/status", 150)] {
        let mut stage = guarded();
        stage.hears(ask(with_always(command("rm -rf target"))));
        stage.waits(Duration::from_secs(1));
        types_slowly(&mut stage, word, pause);
        assert_eq!(answers(&mut stage), [], "{word}");
        stage.waits(Duration::from_secs(2));
        stage.press("esc");
        assert_eq!(answers(&mut stage), [HumanAnswer::no("")]);
        assert!(stage.text().contains(&format!("> {word}")), "{}", stage.text());
    }
}

#[test]
fn a_letter_by_itself_or_with_enter_is_an_answer() {
    let mut stage = guarded();
    stage.hears(ask(command("cargo test")));
    stage.waits(Duration::from_millis(400));
    stage.press("y");
    assert_eq!(answers(&mut stage), [], "a word may follow");
    stage.waits(Duration::from_millis(250));
    assert_eq!(answers(&mut stage), [HumanAnswer::yes()]);
    stage.hears(ask(command("cargo build")));
    stage.waits(Duration::from_secs(1));
    stage.press("n");
    stage.press("enter");
    assert_eq!(answers(&mut stage), [HumanAnswer::no("")]);
}

#[test]
fn trust_is_not_given_by_what_is_typed_at_the_start() {
    let facts = Facts { reaction: Duration::from_millis(150), ..facts(Depth::True, Reflow::Cuts) };
    let mut stage = Stage::bare(facts, 80, 24);
    let input = json!({"root": "/home/bob/engine", "runs": ["hooks"], "also": []});
    stage.hears(ask(AskRequest::new(Wants::Trust, "trust", input, "")));
    types_slowly(&mut stage, "why does it fail", 40);
    stage.waits(Duration::from_secs(3));
    assert_eq!(answers(&mut stage), []);
    assert!(stage.text().contains("Do you trust"), "{}", stage.text());
}

#[test]
fn a_key_that_is_held_down_answers_one_dialog() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(command("cargo test")));
    stage.take_sent();
    stage.press("y");
    assert_eq!(stage.take_sent().len(), 1);
    stage.hears(ask(command("rm -rf target")));
    // The keyboard begins to repeat late, and then repeats fast.
    stage.waits(Duration::from_millis(600));
    for _ in 0..20 {
        stage.press("y");
        stage.waits(Duration::from_millis(30));
    }
    assert_eq!(stage.take_sent(), []);
    stage.waits(Duration::from_millis(300));
    stage.press("y");
    assert_eq!(stage.take_sent(), [Op::Answer { ask: 1, answer: HumanAnswer::yes() }]);
    // Another key, and Esc, are no mistake.
    stage.hears(ask(command("rm -rf target")));
    stage.press("n");
    assert_eq!(stage.take_sent(), [Op::Answer { ask: 1, answer: HumanAnswer::no("") }]);
}

#[test]
fn the_command_the_reason_and_every_answer_are_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        let lines: Vec<String> = (0..200).map(|number| format!("echo {number}")).collect();
        stage.hears(ask(with_always(command(&lines.join("\n")))));
        let shown = stage.text();
        for wanted in
            ["Allow Bash?", "echo 0", "rules: no rule", "1. Yes", "2. Yes, always", "3. No"]
        {
            assert!(shown.contains(wanted), "{wanted} at {columns}×{height}:\n{shown}");
        }
    }
}

#[test]
fn the_rule_and_the_file_of_always_are_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        stage.hears(ask(with_always(command("cargo test"))));
        let shown: String = stage.text().split_whitespace().collect();
        for wanted in ["Bash(cargotest:*)", ".ona/settings.local.json"] {
            assert!(shown.contains(wanted), "{wanted} at {columns}×{height}:\n{}", stage.text());
        }
    }
}

#[test]
fn the_end_of_a_long_command_is_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        let lines: Vec<String> = (0..200).map(|number| format!("echo {number}")).collect();
        stage.hears(ask(with_always(command(&lines.join("\n")))));
        assert!(stage.text().contains("echo 199"), "at {columns}×{height}:\n{}", stage.text());
    }
}

#[test]
fn what_changes_is_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        let request = permission("Edit", json!({"file_path": "src/engine/parser.rs"}));
        stage.hears(ask(AskRequest { diff: Some(diff()), ..request }));
        let shown = stage.text();
        let changes = shown.contains("42 - ") || shown.contains("42 + ");
        assert!(changes, "at {columns}×{height}:\n{shown}");
    }
}

/// A call about which much is to be said.
fn wordy() -> AskRequest {
    let rules = ["git commit:*", "git push origin main", "cargo build --release --workspace"];
    AskRequest {
        suggestions: rules.iter().map(|words| rule("Bash", words)).collect(),
        always_in: "/home/bob/engine/.claude/settings.local.json".to_owned(),
        reason: "no rule matches, and the mode default asks about everything that no rule covers"
            .to_owned(),
        ..command(
            "git commit -am fix &&\ngit push origin main &&\ncargo build --release --workspace",
        )
    }
}

#[test]
fn every_answer_is_in_sight_in_the_lowest_terminals() {
    for (columns, height) in [(40, 12), (40, 10), (40, 8), (40, 6), (80, 7), (400, 6)] {
        let mut stage = Stage::at_work(columns, height);
        stage.hears(ask(wordy()));
        let first = stage.text();
        for wanted in ["Allow Bash?", "1. Yes", "2. Yes, always", "3. No"] {
            assert!(first.contains(wanted), "{wanted} at {columns}×{height}:\n{first}");
        }
        // The rest can be scrolled to, and where "always" has no room, it shows its rules first.
        let mut seen = first;
        for shows_rules in [false, true] {
            if shows_rules && !seen.contains("always: Bash(") {
                stage.press("a");
            }
            for _ in 0..20 {
                seen.push_str(&stage.text());
                stage.press("pagedown");
            }
        }
        let seen: String = seen.split_whitespace().collect();
        for wanted in ["gitcommit-amfix", "--workspace", ".claude/settings.loc", "rules:norule"] {
            assert!(seen.contains(wanted), "{wanted} at {columns}×{height}:\n{seen}");
        }
    }
}

#[test]
fn a_question_in_a_low_terminal() {
    let mut stage = Stage::at_work(40, 12);
    stage.hears(ask(wordy()));
    insta::assert_snapshot!(stage.text());
}

#[test]
fn in_a_low_terminal_always_shows_its_rule_first() {
    for (columns, height) in [(80, 6), (40, 12)] {
        let mut stage = Stage::at_work(columns, height);
        let request = wordy();
        stage.hears(ask(request.clone()));
        stage.take_sent();
        stage.press("a");
        let answers = |stage: &mut Stage| {
            stage.take_sent().into_iter().find_map(|op| match op {
                Op::Answer { answer, .. } => Some(answer),
                _ => None,
            })
        };
        assert_eq!(answers(&mut stage), None, "{columns}x{height}");
        let shown = stage.text();
        assert!(shown.contains("always: Bash(git commit"), "{columns}x{height}: {shown}");
        stage.press("a");
        assert_eq!(answers(&mut stage), Some(request.always()), "{columns}x{height}");
    }
}

fn with_answers() -> AskRequest {
    let answer = |stage: StageName, verdict: &str, reason: &str| StageAnswer {
        stage,
        verdict: verdict.to_owned(),
        reason: reason.to_owned(),
    };
    AskRequest {
        answers: vec![
            answer(StageName::Input, "pass", "the input matches the tool's schema"),
            answer(StageName::Hooks, "pass", "no hook matched"),
            answer(StageName::Rules, "ask", "no rule matches: the mode default asks"),
        ],
        ..with_always(command("cargo test"))
    }
}

#[test]
fn what_each_stage_said() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(with_answers()));
        stage.press("ctrl+e");
    }));
}

#[test]
fn what_each_stage_said_is_no_answer() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(with_answers()));
    stage.take_sent();
    stage.press("ctrl+e");
    assert!(stage.text().contains("no hook matched"), "{}", stage.text());
    stage.press("ctrl+e");
    assert!(!stage.text().contains("no hook matched"), "{}", stage.text());
    assert_eq!(stage.take_sent(), []);
}

#[test]
fn a_dialog_can_be_suspended_and_drawn_anew() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(command("cargo test")));
    stage.take_sent();
    stage.app.key(crate::stage::event_of("ctrl+z"), std::time::Instant::now());
    assert!(stage.app.gives_terminal_away());
    stage.press("ctrl+l");
    assert!(stage.text().contains("Allow Bash?"), "{}", stage.text());
    assert_eq!(stage.take_sent(), []);
}
