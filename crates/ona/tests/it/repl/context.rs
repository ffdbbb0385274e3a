//! Commands about what the model sees and what it costs.

use ona_provider::Usage;

use super::*;
use crate::project;

fn used() -> (Project, Server, Pty) {
    let project = project();
    let usage = Usage { input_tokens: 12_345, output_tokens: 678, ..Usage::default() };
    let server = model([
        Reply::say("Noted.").usage(usage),
        Reply::say("SUMMARY: a tree is to be planted."),
        Reply::say("A tree."),
    ]);
    user_settings(
        &project,
        &json!({"hooks": {
            "PreCompact": hook("", "cat > /dev/null"), "PostCompact": hook("", "cat > /dev/null"),
            "SessionStart": hook("compact", "cat > /dev/null"),
        }}),
    );
    let pty = start(&project, &server, &[]);
    answers(&pty, "plant a tree", "Noted.");
    ready(&pty);
    (project, server, pty)
}

#[test]
fn compact_summarises_with_the_instructions_given() {
    let (project, server, pty) = used();
    answers(&pty, "/compact keep the tree", "the conversation was compacted");
    let asked = &server.requests()[1].body;
    assert!(asked.to_string().contains("keep the tree"), "{asked}");
    ready(&pty);
    answers(&pty, "what was it?", "A tree.");
    let told = last_told(&server);
    assert!(told.contains("SUMMARY: a tree is to be planted."), "{told}");
    let hooks = project.sql(
        "SELECT hook_event, coalesce(json_extract(input_json, '$.trigger'), json_extract(input_json, '$.source'))
         FROM hook_invocations ORDER BY id",
    );
    assert_eq!(hooks, ["PreCompact|manual", "PostCompact|manual", "SessionStart|compact"]);
}

#[test]
fn compact_without_a_conversation_says_so() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/compact", "nothing to compact");
    ready(&pty);
    assert!(server.requests().is_empty(), "there is nothing to summarise");
}

#[test]
fn compact_with_instructions_alone_or_twice_asks_no_model() {
    let project = project();
    project.file("CLAUDE.md", "Mind the gap.\n");
    let server = model([Reply::say("Noted."), Reply::say("SUMMARY: a tree.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/compact", "nothing to compact");
    ready(&pty);
    assert!(server.requests().is_empty(), "instructions are not a conversation");
    answers(&pty, "plant a tree", "Noted.");
    ready(&pty);
    answers(&pty, "/compact", "the conversation was compacted");
    ready(&pty);
    pty.line("/compact again");
    until("an answer", || pty.whole().matches("nothing to compact").count() == 2);
    assert_eq!(server.requests().len(), 2);
}

#[test]
fn context_shows_what_fills_it() {
    let (_project, _server, pty) = used();
    let shown = answers(&pty, "/context", "Free");
    assert!(
        shown.contains("13 023 of 200 000 tokens (6 %)") || shown.contains("12 345 of 200 000"),
        "{shown}"
    );
    assert!(shown.contains("Messages") && shown.contains('■'), "{shown}");
    assert!(shown.contains("There is room"), "{shown}");
    pty.wait_for("context 6%");
}

#[test]
fn cost_and_usage_show_tokens_and_money() {
    let (_project, _server, pty) = used();
    for name in ["/cost", "/usage"] {
        let shown = answers(&pty, name, "Total cost");
        assert!(shown.contains("12 345") && shown.contains("678"), "{shown}");
        assert!(shown.contains("claude-sonnet-4"), "{shown}");
        ready(&pty);
    }
    // 12,345 at 3 and 678 at 15 dollars per million.
    pty.wait_for("$0.0472");
}

#[test]
fn the_cost_of_a_copy_names_what_came_before() {
    let (_project, _server, pty) = used();
    answers(&pty, "/branch", "continued in a copy");
    ready(&pty);
    let shown = answers(&pty, "/cost", "it is a copy of session ");
    assert!(shown.contains("before that: $0.0472"), "{shown}");
}

#[test]
fn cost_before_a_question_is_nothing() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/cost", "cost $0.0000");
}

#[test]
fn stats_show_days_and_the_range_changes() {
    let (_project, _server, pty) = used();
    pty.line("/stats");
    let shown = pty.wait_for("Use by day (30d)");
    assert!(
        shown.contains("13 023 tokens") && shown.contains("most used model: claude-sonnet-4"),
        "{shown}"
    );
    pty.send("r");
    pty.wait_for("Use by day (all)");
    pty.send("r");
    pty.wait_for("Use by day (7d)");
    close(&pty);
    answers(&pty, "/stats 1y", "unknown range");
}

#[test]
fn insights_report_on_the_sessions_of_the_directory() {
    let (_project, _server, pty) = used();
    let shown = answers(&pty, "/insights", "Sessions of this directory");
    assert!(shown.contains("1 session, 1 prompt"), "{shown}");
    assert!(shown.contains("plant a tree"), "{shown}");
}

#[test]
fn memory_shows_and_forgets() {
    let project = project();
    project.file("CLAUDE.md", "Mind the gap.\n");
    let pty = start_alone(&project);
    answers(&pty, "# the gap is wide", "saved ");
    ready(&pty);
    pty.line("/memory");
    let shown = pty.wait_for("4. the gap is wide");
    for row in ["CLAUDE.md", "CLAUDE.local.md", "not there yet"] {
        assert!(shown.contains(row), "{row}: {shown}");
    }
    pty.send("4");
    pty.wait_gone("Esc closes");
    ready(&pty);
    let id = project.sql("SELECT id FROM memories").remove(0);
    confirms(&pty, &format!("/memory forget {id}"), &format!("Forget the memory {id}?"));
    until("it is forgotten", || project.sql("SELECT id FROM memories").is_empty());
    ready(&pty);
    answers(&pty, "/memory nonsense", "unknown argument");
    ready(&pty);
    answers(&pty, "/memory forget", "which memory?");
    ready(&pty);
    answers(&pty, "/memory edit no/such/file.md", "create it first");
}

#[test]
fn memory_lists_rules_and_imports_and_opens_them() {
    let project = project();
    project.file("CLAUDE.md", "See @more.md\n");
    project.file("more.md", "More.\n");
    project.file(".claude/rules/style.md", "Be brief.\n");
    project.file(".claude/rules/rust.md", "---\npaths: src/**/*.rs\n---\nNo unsafe.\n");
    let own = project.home().join(".claude/rules/own.md");
    fs::create_dir_all(own.parent().unwrap()).unwrap();
    fs::write(&own, "Be kind.\n").unwrap();
    let editor = "sh -c 'echo edited >> \"$1\"' x";
    let options = PtyOptions::default().size(40, 200).env("ANTHROPIC_API_KEY", KEY);
    let pty = start_in(&project, &[], options.env("EDITOR", editor));
    pty.line("/memory");
    let shown = pty.wait_for("Offer memories to the model: on");
    for (file, about) in [
        ("/more.md", "imported by "),
        ("/.claude/rules/style.md", "a rule of this project"),
        ("/.claude/rules/rust.md", "a rule for certain paths"),
        ("/.claude/rules/own.md", "your own rule, for all projects"),
    ] {
        let row = shown.lines().find(|row| row.contains(file)).unwrap_or_default();
        assert!(row.contains(about), "{file}: {shown}");
    }
    close(&pty);
    // A path may begin with the home directory.
    answers(&pty, "/memory edit ~/.claude/rules/own.md", "changes are read by the next session");
    until("the editor", || fs::read_to_string(&own).unwrap().contains("edited"));
}

#[test]
fn memory_opens_a_file_in_the_editor() {
    let project = project();
    project.file("CLAUDE.md", "Mind the gap.\n");
    let editor = "sh -c 'echo edited >> \"$1\"' x";
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).env("EDITOR", editor);
    let pty = start_in(&project, &[], options);
    pty.line("/memory");
    pty.wait_for("1. Edit ");
    pty.send("1");
    until("the editor", || project.content("CLAUDE.md").contains("edited"));
    pty.wait_whole("changes are read by the next session");
    ready(&pty);
}

#[test]
fn diff_shows_uncommitted_changes_and_those_of_a_prompt() {
    let project = project();
    let file = project.file("a.txt", "one\ntwo\n");
    crate::trust::git(&project, &["init", "-q"]);
    crate::trust::git(&project, &["add", "."]);
    crate::trust::git(&project, &["commit", "-q", "-m", "first"]);
    let server = model([
        Reply::new().call("toolu_r", "Read", json!({"file_path": file})),
        Reply::new().call(
            "toolu_e",
            "Edit",
            json!({"file_path": file, "old_string": "two", "new_string": "zwei"}),
        ),
        Reply::say("Edited."),
    ]);
    let pty = start(&project, &server, &["--permission-mode", "acceptEdits"]);
    answers(&pty, "/diff", "no changes");
    ready(&pty);
    answers(&pty, "translate it", "Edited.");
    ready(&pty);
    pty.line("/diff");
    let shown = pty.wait_for("Esc leaves");
    assert!(
        shown.contains("uncommitted changes") && shown.contains("prompt: translate it"),
        "{shown}"
    );
    assert!(shown.contains("❯ a.txt") && shown.contains("+1 -1"), "{shown}");
    pty.key(Key::Enter);
    pty.wait_for("zwei");
    pty.key(Key::Backspace);
    pty.wait_for("❯ a.txt");
    pty.key(Key::Right);
    pty.wait_for("a.txt");
    pty.key(Key::Esc);
    ready(&pty);
}

/// A model that is overloaded when a summary is wanted.
pub(super) fn overloaded() -> Server {
    let busy = Reply::error(529, "overloaded_error", "too much to do").header("retry-after", "50");
    model([Reply::say("Hello."), busy])
}

#[test]
fn while_a_summary_is_waited_for_commands_answer_and_the_retry_is_told() {
    let (project, server) = (project(), overloaded());
    let pty = start(&project, &server, &[]);
    answers(&pty, "hi", "Hello.");
    ready(&pty);
    pty.line("/compact");
    pty.wait_for("Trying again in");
    answers(&pty, "/status", "claude_code_subscription");
    answers(&pty, "/rename one two", "one two");
    answers(&pty, "/tasks", "no background tasks");
    answers(&pty, "/cost", "Total cost");
    assert!(!pty.whole().contains("was not compacted"), "{}", pty.whole());
    pty.key(Key::Esc);
    pty.wait_whole("the context was not compacted");
    ready(&pty);
}

#[test]
fn diff_tells_of_binary_files_and_modes() {
    let project = project();
    for file in ["a.bin", "b.sh"] {
        project.file(file, "one\0two\n");
    }
    crate::trust::git(&project, &["init", "-q"]);
    crate::trust::git(&project, &["add", "."]);
    crate::trust::git(&project, &["commit", "-q", "-m", "first"]);
    project.file("a.bin", "one\0zwei\n");
    project.file("new.bin", "\0");
    ona_testkit::run(project.command("chmod").args(["755", "b.sh"]));
    let server = model([]);
    let pty = project.pty(["--plain"], with(&server));
    pty.wait_for("/help lists the commands");
    pty.line("/diff");
    let shown = pty.wait_whole("1 bytes, none before");
    for words in ["a.bin", "9 bytes, 8 bytes before", "mode 755, 644 before"] {
        assert!(shown.contains(words), "{words}: {shown}");
    }
}

#[test]
fn diff_outside_a_repository_says_so() {
    let pty = start_alone(&project());
    answers(&pty, "/diff", "this directory is not in a git repository");
}
