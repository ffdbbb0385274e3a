//! Questions of the model, forms of servers, signing in, trust.

use ona_front::{AskRequest, HumanAnswer, Op, Wants};
use serde_json::{Value, json};

use crate::scenes::ask;
use crate::stage::{Stage, at_three_sizes, at_work_at_three_sizes};

fn question(several: bool) -> AskRequest {
    let input = json!({"questions": [{
        "question": "Which of these files may change?",
        "header": "Files",
        "multiSelect": several,
        "options": [
            {"label": "The parser", "description": "src/engine/parser.rs, where the bug is"},
            {"label": "The lexer", "description": "It would be the better place, and takes longer"},
            {"label": "Both", "description": ""},
        ],
    }]});
    AskRequest::new(Wants::Answers, "AskUserQuestion", input, "the model asks")
}

fn form() -> AskRequest {
    let input = json!({"schema": {
        "properties": {
            "name": {"type": "string", "title": "Name", "description": "As it is on the invoice"},
            "plan": {"type": "string", "title": "Plan", "enum": ["basic", "large"], "default": "basic"},
            "seats": {"type": "integer", "title": "Seats", "description": "How many people"},
            "news": {"type": "boolean", "title": "News by mail"},
        },
        "required": ["name", "seats"],
    }});
    AskRequest::new(Wants::Form, "elicitation", input, "billing: Who pays for this?")
}

fn trust() -> AskRequest {
    let input = json!({
        "root": "/home/bob/engine",
        "runs": ["hook PreToolUse: ./scripts/check.sh --every-call", "MCP server docs: npx -y docs-server"],
        "also": ["allow rule Bash(cargo test:*)"],
    });
    AskRequest::new(Wants::Trust, "trust", input, "the folder is not trusted")
}

fn sign_in() -> AskRequest {
    let url = "https://claude.example/oauth/authorize?code=true&client_id=9d1c250a-e61b-44d9-88ed-5944d1962f5e&response_type=code&scope=user%3Ainference";
    AskRequest::new(Wants::Code, "login", json!({"url": url}), "the sign-in waits for the browser")
}

#[test]
fn a_question_with_one_answer() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(question(false)));
        stage.press("down");
    }));
}

#[test]
fn a_question_with_several_answers() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(question(true)));
        stage.press("1");
        stage.press("3");
    }));
}

#[test]
fn an_answer_of_ones_own() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(question(false)));
        stage.press("4");
        stage.types("only the tests, and nothing else in this repository");
    }));
}

#[test]
fn several_questions_come_one_after_the_other() {
    let mut request = question(false);
    let second = json!({"question": "When?", "header": "", "options": [{"label": "Now"}]});
    request.input["questions"].as_array_mut().unwrap().push(second);
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(request));
    assert!(stage.text().contains("Files (1 of 2)"), "{}", stage.text());
    stage.press("2");
    assert!(stage.text().contains("(2 of 2)\nWhen?"), "{}", stage.text());
    stage.take_sent();
    stage.press("enter");
    assert_eq!(
        given(&mut stage)["answers"],
        json!({
            "Which of these files may change?": "The lexer",
            "When?": "Now",
        })
    );
}

/// The input that was given as an answer.
fn given(stage: &mut Stage) -> Value {
    let sent = stage.take_sent();
    let input = sent.into_iter().find_map(|op| match op {
        Op::Answer { answer: HumanAnswer::Allow { input, .. }, .. } => input,
        _ => None,
    });
    input.unwrap_or_else(|| panic!("no answer was given: {}", stage.text()))
}

#[test]
fn digits_toggle_and_enter_confirms() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(question(true)));
    for key in ["1", "2", "1", "3"] {
        stage.press(key);
    }
    stage.press("enter");
    let answers = &given(&mut stage)["answers"];
    assert_eq!(answers["Which of these files may change?"], "The lexer, Both");
}

#[test]
fn a_form() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| stage.hears(ask(form()))));
}

#[test]
fn a_form_with_a_problem() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(form()));
        stage.types("Ada Lovelace");
        stage.press("tab");
        stage.press("tab");
        stage.types("many");
        stage.press("enter");
    }));
}

#[test]
fn a_form_is_sent_with_enter() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(form()));
    stage.types("Ada");
    stage.press("tab");
    stage.press("tab");
    stage.types("3");
    stage.press("enter");
    assert_eq!(given(&mut stage), json!({"name": "Ada", "plan": "basic", "seats": 3}));
}

/// A form with so many fields that they do not all fit.
fn long_form() -> AskRequest {
    let fields = (1..=20).map(|number| (format!("field{number}"), json!({"type": "string"})));
    let fields: serde_json::Map<String, Value> = fields.collect();
    let input = json!({"schema": {"properties": fields}});
    AskRequest::new(Wants::Form, "elicitation", input, "A long form")
}

#[test]
fn a_long_form() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| stage.hears(ask(long_form()))));
}

#[test]
fn the_field_that_is_typed_into_is_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        stage.hears(ask(long_form()));
        for number in 1..=20 {
            let field = format!("❯ field{number}:");
            assert!(stage.text().contains(&field), "{field} at {columns}×{height}");
            assert!(stage.terminal.cursor().is_some(), "no cursor in {field}");
            stage.press("tab");
        }
    }
}

#[test]
fn every_option_of_a_long_list_can_be_seen() {
    let options: Vec<Value> = (1..=9).map(|n| json!({"label": format!("option {n}")})).collect();
    let input = json!({"questions": [{"question": "Which?\n".repeat(9), "options": options}]});
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::at_work(columns, height);
        stage.hears(ask(AskRequest::new(Wants::Answers, "", input.clone(), "")));
        for number in 1..=9 {
            let option = format!("❯ {number}. option {number}");
            assert!(stage.text().contains(&option), "{option} at {columns}×{height}");
            stage.press("down");
        }
        assert!(stage.text().contains("❯ 10. Other"), "at {columns}×{height}");
    }
}

#[test]
fn signing_in() {
    insta::assert_snapshot!(at_three_sizes(|stage| stage.hears(ask(sign_in()))));
}

#[test]
fn the_whole_address_of_a_sign_in_is_in_sight() {
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::new(columns, height);
        let request = sign_in();
        stage.hears(ask(request.clone()));
        let shown: String = stage.text().split_whitespace().collect();
        let address = request.input["url"].as_str().unwrap();
        assert!(shown.contains(address), "at {columns}×{height}:\n{}", stage.text());
    }
}

#[test]
fn signing_in_with_a_code_that_was_wrong() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        let checks = vec!["the code is not valid any more".to_owned()];
        stage.hears(ask(AskRequest { checks, ..sign_in() }));
    }));
}

#[test]
fn a_page_to_visit() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        let input = json!({"url": "https://billing.example/confirm/1234"});
        stage.hears(ask(AskRequest::new(
            Wants::Form,
            "elicitation",
            input,
            "billing: Please confirm the order",
        )));
    }));
}

#[test]
fn trust_in_a_folder() {
    insta::assert_snapshot!(at_three_sizes(|stage| stage.hears(ask(trust()))));
}

#[test]
fn a_guard_that_cannot_be_read() {
    insta::assert_snapshot!(at_three_sizes(|stage| {
        let input =
            json!({"unread": [".ona/settings.json: expected `,` or `}` at line 12 column 3"]});
        stage.hears(ask(AskRequest::new(Wants::Unread, "unread", input, "a guard is missing")));
    }));
}

#[test]
fn no_is_what_is_chosen_at_first() {
    for request in [trust(), AskRequest::new(Wants::Unread, "", json!({}), "")] {
        let mut stage = Stage::new(80, 24);
        stage.hears(ask(request));
        stage.take_sent();
        stage.press("enter");
        let no = Op::Answer { ask: 1, answer: HumanAnswer::no("") };
        assert_eq!(stage.take_sent(), [no]);
    }
}

#[test]
fn what_would_run_is_in_sight_however_much_there_is() {
    let runs: Vec<String> = (1..=100).map(|number| format!("hook {number}: ./run.sh")).collect();
    let input = json!({"root": "/home/bob/engine", "runs": runs, "also": []});
    for (columns, height) in [(40, 15), (80, 24), (160, 50)] {
        let mut stage = Stage::new(columns, height);
        stage.hears(ask(AskRequest::new(Wants::Trust, "trust", input.clone(), "")));
        let shown = stage.text();
        for wanted in ["Do you trust", "hook 1:", "rows are not shown]", "1. Yes", "2. No"] {
            assert!(shown.contains(wanted), "{wanted} at {columns}×{height}:\n{shown}");
        }
    }
}

#[test]
fn nothing_chosen_is_no_answer() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(question(true)));
    stage.take_sent();
    stage.press("enter");
    assert_eq!(stage.take_sent(), []);
    assert!(stage.text().contains("nothing is chosen"), "{}", stage.text());
    assert!(!stage.text().contains("[x]"), "{}", stage.text());
    stage.press("2");
    assert!(!stage.text().contains("nothing is chosen"), "{}", stage.text());
    stage.press("enter");
    let answers = &given(&mut stage)["answers"];
    assert_eq!(answers["Which of these files may change?"], "The lexer");
}

#[test]
fn what_a_narrow_row_has_no_room_for_is_told_of_the_selected_option() {
    let mut stage = Stage::at_work(40, 24);
    stage.hears(ask(question(false)));
    stage.press("down");
    let shown = stage.text().split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(shown.contains("It would be the better place, and takes longer"), "{shown}");
}

#[test]
fn every_dialog_has_its_choices_in_a_low_terminal() {
    for (columns, height) in [(40, 12), (40, 10), (80, 8)] {
        for (request, wanted) in [
            (question(false), &["Which of", "1. The parser", "4. Other"][..]),
            (question(true), &["Which of", "1. [ ] The parser", "4. Other"]),
            (trust(), &["Do you trust", "1. Yes", "2. No"]),
            (form(), &["❯ Name*:", "Enter sends"]),
        ] {
            let mut stage = Stage::at_work(columns, height);
            stage.hears(ask(request));
            let shown = stage.text();
            for wanted in wanted {
                assert!(shown.contains(wanted), "{wanted} at {columns}×{height}:\n{shown}");
            }
        }
    }
}

fn choices() -> AskRequest {
    let input = json!({"schema": {
        "properties": {
            "size": {"type": "string", "title": "Size", "enum": ["s", "m", "l"], "enumNames": ["Small", "Medium", "Large"]},
            "tags": {"type": "array", "title": "Tags", "items": {"type": "string", "enum": ["new", "old, worn", "blue"]}},
            "news": {"type": "boolean", "title": "News", "default": false},
        },
        "required": ["size"],
    }});
    AskRequest::new(Wants::Form, "elicitation", input, "shop: What would you like?")
}

#[test]
fn values_are_chosen_in_a_form() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(choices()));
    stage.take_sent();
    assert!(stage.text().contains("❯ Size*: ‹ not chosen ›"), "{}", stage.text());
    stage.press("enter");
    assert_eq!(stage.take_sent(), [], "a size is needed");
    stage.press("right");
    stage.press("right");
    stage.press("tab");
    stage.press("2");
    stage.press("right");
    stage.types(" ");
    stage.press("tab");
    stage.types("y");
    stage.press("enter");
    let expected = json!({"size": "m", "tags": ["old, worn", "blue"], "news": true});
    assert_eq!(given(&mut stage), expected);
}

#[test]
fn a_letter_finds_a_value() {
    let mut stage = Stage::at_work(80, 24);
    stage.hears(ask(choices()));
    stage.types("l");
    assert!(stage.text().contains("‹ Large ›"), "{}", stage.text());
    stage.press("left");
    assert!(stage.text().contains("‹ Medium ›"), "{}", stage.text());
    stage.press("backspace");
    assert!(stage.text().contains("‹ not chosen ›"), "{}", stage.text());
}

#[test]
fn a_form_with_values_to_choose() {
    insta::assert_snapshot!(at_work_at_three_sizes(|stage| {
        stage.hears(ask(choices()));
        stage.press("right");
        stage.press("tab");
        stage.press("2");
    }));
}

#[test]
fn the_line_breaks_of_what_would_run_are_seen() {
    let mut stage = Stage::new(80, 24);
    let runs = ["hooks in .claude/settings.json", "  hooks.Stop: date\n\n\nrm -rf ~\necho x"];
    let input = json!({"root": "/home/bob/engine", "runs": runs, "also": ["permissions.allow in x", "  permissions.allow: Bash(rm *)"]});
    stage.hears(ask(AskRequest::new(Wants::Trust, "trust", input, "")));
    insta::assert_snapshot!(stage.text());
}
