//! Questions of the model, plans, and forms of servers.

use super::*;
use crate::project;

fn question(several: bool) -> Reply {
    Reply::new().call(
        "toolu_q",
        "AskUserQuestion",
        json!({"questions": [{"question": "Which colour?", "header": "Colour", "multiSelect": several,
            "options": [
                {"label": "Red", "description": "like a rose"},
                {"label": "Blue", "description": "like the sea"},
                {"label": "Green", "description": "like grass"},
            ]}]}),
    )
}

#[test]
fn a_digit_answers_a_question_at_once() {
    let (project, server) = (project(), model([question(false), Reply::say("Blue it is.")]));
    let pty = start(&project, &server, &[]);
    pty.line("go");
    let shown = pty.wait_for("Which colour?");
    for row in ["❯ 1. Red", "2. Blue", "3. Green", "4. Other"] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    assert!(shown.contains("like the sea"), "{shown}");
    pty.send("2");
    pty.wait_for("Blue it is.");
    let said = result(&project, "toolu_q");
    assert!(said.contains("Blue") && !said.contains("Red"), "{said}");
}

#[test]
fn arrows_and_enter_choose_too() {
    let (project, server) = (project(), model([question(false), Reply::say("Green it is.")]));
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("❯ 1. Red");
    pty.key(Key::Down);
    pty.wait_for("❯ 2. Blue");
    pty.key(Key::Down);
    pty.wait_for("❯ 3. Green");
    pty.key(Key::Enter);
    pty.wait_for("Green it is.");
    assert!(result(&project, "toolu_q").contains("Green"));
}

#[test]
fn in_a_multiple_choice_digits_toggle_and_enter_confirms() {
    let (project, server) = (project(), model([question(true), Reply::say("Both.")]));
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("[ ] Red");
    pty.send("1");
    pty.wait_for("[x] Red");
    pty.send("2");
    pty.wait_for("[x] Blue");
    pty.send("3");
    pty.wait_for("[x] Green");
    pty.send("2");
    pty.wait_for("[ ] Blue");
    pty.key(Key::Enter);
    pty.wait_for("Both.");
    let said = result(&project, "toolu_q");
    assert!(said.contains("Red, Green") && !said.contains("Blue"), "{said}");
}

#[test]
fn other_is_an_answer_of_ones_own() {
    let (project, server) = (project(), model([question(false), Reply::say("Mauve, then.")]));
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("4. Other");
    pty.send("4");
    pty.wait_for("Your answer:");
    pty.line("2 shades of mauve");
    pty.wait_for("Mauve, then.");
    assert!(result(&project, "toolu_q").contains("2 shades of mauve"));
}

#[test]
fn esc_declines_to_answer() {
    let (project, server) = (project(), model([question(false), Reply::say("As you like.")]));
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("Which colour?");
    pty.key(Key::Esc);
    pty.wait_for("As you like.");
    assert!(
        result(&project, "toolu_q").contains("declined to answer"),
        "{}",
        result(&project, "toolu_q")
    );
}

#[test]
fn tab_and_words_decline_with_those_words_for_the_agent() {
    let (project, server) = (project(), model([question(false), Reply::say("As you like.")]));
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("Which colour?");
    pty.wait_for("Tab says why");
    pty.key(Key::Tab);
    pty.wait_for("No, and tell the agent:");
    pty.line("no colour at all");
    pty.wait_for("As you like.");
    assert!(result(&project, "toolu_q").contains("no colour at all"));
    assert!(last_told(&server).contains("no colour at all"), "{}", last_told(&server));
}

#[test]
fn several_questions_come_one_after_the_other() {
    let project = project();
    let ask = |text: &str| {
        json!({"question": text, "header": "H", "options": [
            {"label": "Yes", "description": ""}, {"label": "No", "description": ""}]})
    };
    let server = model([
        Reply::new().call(
            "toolu_q",
            "AskUserQuestion",
            json!({"questions": [ask("First?"), ask("Second?")]}),
        ),
        Reply::say("Thanks."),
    ]);
    let pty = start(&project, &server, &[]);
    pty.line("go");
    pty.wait_for("(1 of 2)");
    pty.send("1");
    pty.wait_for("(2 of 2)");
    pty.wait_for("Second?");
    pty.send("2");
    pty.wait_for("Thanks.");
    let said = result(&project, "toolu_q");
    assert!(said.find("Yes") < said.find("No"), "{said}");
}

fn planned(plan: &str) -> (Project, Server) {
    let server = model([
        Reply::new().call("toolu_p", "ExitPlanMode", json!({"plan": plan})),
        Reply::say("We go on."),
    ]);
    (project(), server)
}

#[test]
fn a_plan_is_approved_and_its_check_is_shown() {
    let (project, server) = planned(
        "# The plan\n1. Do it\n\n## Success criteria\n- It prints a line\n- It is quick [surface: process_output]\n",
    );
    let pty = start(&project, &server, &[]);
    pty.line("/plan do it");
    let shown = pty.wait_for("Approve this plan?");
    assert!(shown.contains("1. Do it") || shown.contains("Do it"), "{shown}");
    assert!(shown.contains("success criteria: 2 found"), "{shown}");
    assert!(shown.contains("SC-1 [process_output, inferred] It prints a line"), "{shown}");
    assert!(shown.contains("plan hash: "), "{shown}");
    assert!(last_told(&server).contains("do it"));
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["planning"]);
    pty.send("y");
    pty.wait_for("We go on.");
    assert_eq!(project.sql("SELECT status FROM plans"), ["approved"]);
    pty.wait_for("phase implement");
    // What was approved can still be read.
    assert!(pty.whole().contains("1. Do it"), "{}", pty.whole());
    answers(&pty, "/phase", "planning → implement  moved  by human");
    assert!(pty.whole().contains("idle → planning  moved  by operator"), "{}", pty.whole());
}

#[test]
fn a_plan_without_criteria_goes_back_to_the_agent_without_a_question() {
    let (project, server) = planned("# The plan\n1. Do it\n");
    let pty = start(&project, &server, &[]);
    pty.line("/plan do it");
    pty.wait_for("We go on.");
    assert!(pty.whole().contains("the plan cannot be approved"), "{}", pty.whole());
    assert!(last_told(&server).contains("add a section `## Success criteria`"));
    assert_eq!(project.sql("SELECT status FROM plans"), ["draft"]);
    pty.wait_for("phase planning");
}

#[test]
fn plan_turns_the_mode_on_again_that_was_changed_in_planning() {
    let (project, server) = planned(&crate::plan());
    let pty = start(&project, &server, &[]);
    answers(&pty, "/plan", "the conversation is in planning");
    pty.wait_for("plan mode on");
    ready(&pty);
    pty.key(Key::BackTab);
    pty.wait_until(|screen| !screen.contains("plan mode on"));
    answers(&pty, "/plan", "plan mode is on again");
    pty.wait_for("plan mode on");
}

#[test]
fn a_plan_is_edited_in_the_editor_and_a_word_does_not_withdraw_an_approved_one() {
    let (project, server) = planned(&crate::plan());
    let editor = project.file("editor.sh", "#!/bin/sh\nsed -i 's/prints x/prints y/' \"$1\"\n");
    let options = with(&server).env("EDITOR", format!("sh {editor}"));
    let pty = start_in(&project, &[], options);
    pty.line("/plan do it");
    pty.wait_for("Approve this plan?");
    pty.send("n");
    pty.wait_for("We go on.");
    ready(&pty);
    answers(&pty, "/plan edit", "plan 2 is a draft, made from plan 1");
    ready(&pty);
    assert!(project.sql("SELECT content FROM plans WHERE id = 2")[0].contains("prints y"));
    pty.line("/plan approve");
    pty.wait_for("Approve plan 2?");
    pty.send("1");
    pty.wait_whole("approved plan 2");
    ready(&pty);
    pty.line("/plan apprve");
    pty.wait_for("The approved plan is withdrawn.");
    pty.send("2");
    ready(&pty);
    assert_eq!(project.sql("SELECT status FROM plans WHERE id = 2"), ["approved"]);
}

#[test]
fn words_send_a_plan_back() {
    let (project, server) = planned(&crate::plan());
    let pty = start(&project, &server, &[]);
    pty.line("/plan do it");
    pty.wait_for("Approve this plan?");
    pty.key(Key::Tab);
    pty.wait_for("No, and tell the agent:");
    pty.line("say how you will test it");
    pty.wait_for("We go on.");
    assert!(last_told(&server).contains("say how you will test it"));
    assert_eq!(project.sql("SELECT count(*) FROM plans WHERE status = 'approved'"), ["0"]);
    pty.wait_for("phase planning");
}

#[test]
fn a_plan_can_be_approved_with_its_edits() {
    let (project, server) = planned("# The plan\n## Success criteria\n- It prints x\n");
    let pty = start(&project, &server, &[]);
    pty.line("/plan do it");
    pty.wait_for("Yes, and accept edits from then on");
    pty.send("e");
    pty.wait_for("We go on.");
    pty.wait_for("accept edits on");
    assert_eq!(project.sql("SELECT status FROM plans"), ["approved"]);
}

/// A server whose tool asks for a name.
fn asking_server() -> String {
    let script = r#"of() { sqlite3 :memory: "SELECT json_extract('${line//\'/\'\'}', '\$$1')"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
while IFS= read -r line; do
  id=$(of .id)
  case $(of .method) in
    initialize) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"}}' ;;
    tools/list) answer '{"tools":[{"name":"sign","inputSchema":{"type":"object"}}]}' ;;
    tools/call) call=$id
      printf '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Who are you?","requestedSchema":{"type":"object","properties":{"name":{"type":"string"},"age":{"type":"integer"}},"required":["name"]}}}\n' ;;
    *) if [ "$id" = 900 ]; then
         told=$(of .result | tr -d '"{}' ); id=$call
         answer "{\"content\":[{\"type\":\"text\",\"text\":\"told: $told\"}]}"
       fi ;;
  esac
done"#;
    json!({"mcpServers": {"asking": {"command": "bash", "args": ["-c", script]}}}).to_string()
}

#[test]
fn a_form_starts_in_its_first_field_and_enter_sends_it() {
    let sign = || Reply::new().call("toolu_f", "mcp__asking__sign", json!({}));
    let project = project();
    let server = model([sign(), Reply::say("Signed.")]);
    let config = asking_server();
    let args = ["--mcp-config", &config, "--allowedTools", "mcp__asking"];
    let pty = start(&project, &server, &args);
    pty.line("go");
    let shown = pty.wait_for("Who are you?");
    assert!(shown.contains("❯ name*:"), "{shown}");
    typed(&pty, "Ada");
    pty.key(Key::Tab);
    pty.wait_for("❯ age:");
    typed(&pty, "36");
    pty.key(Key::Enter);
    pty.wait_for("Signed.");
    let said = result(&project, "toolu_f");
    assert!(
        said.contains("accept") && said.contains("name:Ada") && said.contains("age:36"),
        "{said}"
    );
}

#[test]
fn esc_declines_a_form() {
    let project = project();
    let sign = Reply::new().call("toolu_f", "mcp__asking__sign", json!({}));
    let server = model([sign, Reply::say("A pity.")]);
    let config = asking_server();
    let pty = start(&project, &server, &["--mcp-config", &config, "--allowedTools", "mcp__asking"]);
    pty.line("go");
    pty.wait_for("Who are you?");
    pty.key(Key::Esc);
    pty.wait_for("A pity.");
    assert!(result(&project, "toolu_f").contains("decline"), "{}", result(&project, "toolu_f"));
}
