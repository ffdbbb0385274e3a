//! What governs the session: refusals and their story, phase, intents, blame.

use super::*;
use crate::intents;
use crate::project;

#[test]
fn a_refused_call_shows_stage_and_reason_and_why_the_rest() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"deny": ["Bash(mkdir *)"]}}));
    let server = model([bash("toolu_no", "mkdir made"), Reply::say("A pity.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/why", "no call in this session yet");
    ready(&pty);
    let shown = answers(&pty, "go", "A pity.");
    let row = shown.lines().find(|row| row.contains("rules: denied by ")).unwrap_or_default();
    assert!(row.contains("Bash(mkdir *)"), "{shown}");
    ready(&pty);
    for line in ["/why", "/why toolu_no"] {
        pty.line(line);
        pty.wait_until(|_| {
            let whole = pty.whole();
            let after = whole.rsplit(&format!("> {line}\n")).next().unwrap_or_default();
            after.contains("rules    deny") && after.contains("hooks    pass")
        });
        ready(&pty);
    }
    answers(&pty, "/why toolu_nobody", "unknown call `toolu_nobody`");
}

#[test]
fn why_tells_of_the_refused_call_also_if_others_followed() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"deny": ["Bash(mkdir *)"]}}));
    let both =
        bash("toolu_refused", "mkdir made").call("toolu_after", "Bash", json!({"command": "ls"}));
    let server = model([both, Reply::say("A pity.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "go", "A pity.");
    ready(&pty);
    let shown = answers(&pty, "/why", "other calls since the prompt (/why ID): toolu_after Bash");
    assert!(shown.contains("rules    deny"), "{shown}");
    ready(&pty);
    answers(&pty, "/why toolu_after", "Bash {\"command\":\"ls\"}");
}

#[test]
fn explain_tells_what_the_gate_would_decide() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"deny": ["Bash(rm *)"]}}));
    let pty = start_alone(&project);
    let shown = answers(&pty, "/explain rm -r x", "Bash(rm *)");
    assert!(shown.contains("deny"), "{shown}");
    ready(&pty);
    answers(&pty, "/explain mkdir x", "ask");
    ready(&pty);
    answers(&pty, "/explain ", "which command?");
}

#[test]
fn the_phase_is_shown_and_changed_where_its_conditions_are_met() {
    let project = project();
    let pty = start_alone(&project);
    let shown = answers(&pty, "/phase", "next          planning");
    assert!(shown.contains("phase         idle"), "{shown}");
    assert!(shown.contains("plan          none is approved"), "{shown}");
    ready(&pty);
    answers(&pty, "/phase planning", "the phase is planning now");
    pty.wait_for("phase planning");
    ready(&pty);
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["planning"]);
    let shown = answers(&pty, "/phase implement", "the conversation has no approved plan");
    assert!(shown.contains("`ona plan approve`") && shown.contains("/clear"), "{shown}");
    ready(&pty);
    assert_eq!(project.sql("SELECT phase FROM conversations"), ["planning"], "no plan is approved");
    answers(&pty, "/phase nonsense", "nonsense");
}

#[test]
fn intents_are_listed_and_selected() {
    let project = intents::governed();
    let pty = start_alone(&project);
    pty.wait_for("intent not selected");
    let shown = answers(&pty, "/intent", "no intent is selected");
    assert!(shown.contains("INT-001") && shown.contains("Limit the login"), "{shown}");
    ready(&pty);
    answers(&pty, "/intent INT-001", "is the intent of this session now");
    pty.wait_for("intent INT-001");
    assert!(!pty.whole().contains("intent_context"), "{}", pty.whole());
    ready(&pty);
    answers(&pty, "/intent", "selected: INT-001");
    ready(&pty);
    answers(&pty, "/intent show INT-002", "Write docs");
    ready(&pty);
    answers(&pty, "/intent INT-999", "/intent lists the intents");
    assert!(!pty.whole().contains("{\""), "{}", pty.whole());
    ready(&pty);
    answers(&pty, "/intent show", "which intent? /intent show ID");
    ready(&pty);
    answers(&pty, "/intent none", "no intent is selected in this session now");
    ready(&pty);
    answers(&pty, "/intent", "/intent ID selects one");
}

#[test]
fn without_intents_it_says_how_to_set_them_up() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/intent", "this project has no intents");
}

#[test]
fn blame_tells_which_call_wrote_a_line() {
    let project = intents::governed();
    intents::done(&project, &["intent", "select", "INT-001"]);
    let server = model([
        Reply::new().call("toolu_i", "select_active_intent", json!({"intent_id": "INT-001"})),
        Reply::new().call(
            "toolu_w",
            "Write",
            json!({"file_path": "src/a.rs", "content": "fn a() {}\n"}),
        ),
        Reply::say("Written."),
    ]);
    let pty = start(&project, &server, &["--permission-mode", "acceptEdits"]);
    answers(&pty, "go", "Written.");
    ready(&pty);
    let shown = answers(&pty, "/blame 'src/a.rs:1'", "INT-001");
    assert!(shown.contains("Write"), "{shown}");
    ready(&pty);
    answers(&pty, "/blame ", "which file?");
    ready(&pty);
    answers(&pty, "/blame nowhere.rs", "✗ ");
}

#[test]
fn why_tells_every_line_of_a_hook() {
    let project = project();
    let says = "printf 'first line\\nsecond line\\nthird line\\n' >&2; exit 2";
    user_settings(&project, &json!({"hooks": {"PreToolUse": hook("Bash", says)}}));
    let server = model([bash("toolu_no", "mkdir made"), Reply::say("A pity.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "go", "A pity.");
    ready(&pty);
    let shown = answers(&pty, "/why", "result");
    let why = shown.rsplit("> /why").next().unwrap_or_default();
    for line in ["first line", "second line", "third line"] {
        assert!(why.contains(line), "{line}: {why}");
    }
}
