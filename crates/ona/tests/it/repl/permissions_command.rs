//! `/permissions`: rules with their sources, adding, removing, and what was denied.

use super::*;
use crate::project;

#[test]
fn the_rules_of_every_source_are_listed_with_it() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"deny": ["Bash(rm *)"], "ask": ["WebFetch"]}}));
    let pty = start_alone(&project);
    for name in ["/permissions", "/allowed-tools"] {
        pty.line(name);
        let shown = pty.wait_for("Permissions");
        assert!(shown.contains("Mode: default"), "{shown}");
        assert!(shown.contains("Working directories"), "{shown}");
        assert!(shown.contains("deny rules") && shown.contains("built in"), "{shown}");
        close(&pty);
    }
    pty.line("/permissions");
    pty.wait_for("1. allow rules");
    // allow, ask, deny.
    pty.send("3");
    let shown = pty.wait_for("❯ 1. Bash(rm *)");
    let row = shown.lines().find(|row| row.contains("Bash(rm *)")).unwrap();
    assert!(row.contains(".config/ona/settings.json"), "{row}");
    assert!(shown.lines().any(|row| row.contains("Read(") && row.contains("builtin")), "{shown}");
}

#[test]
fn a_rule_is_added_acts_and_is_removed_again() {
    let project = project();
    let server = model([
        bash("toolu_1", "mkdir one"),
        Reply::say("First."),
        bash("toolu_2", "mkdir two"),
        Reply::say("Second."),
    ]);
    let pty = start(&project, &server, &[]);
    let file = project.path(".claude/settings.local.json");
    let shown = answers(&pty, "/permissions add allow Bash(mkdir *)", "added to ");
    assert!(shown.contains("settings.local.json: allow Bash(mkdir *)"), "{shown}");
    assert_eq!(local_settings(&project)["permissions"]["allow"], json!(["Bash(mkdir *)"]));
    ready(&pty);
    answers(&pty, "go", "First.");
    assert!(project.path("one").exists());
    ready(&pty);
    // No is selected first.
    pty.line("/permissions remove allow Bash(mkdir *)");
    pty.wait_for("❯ 2. No");
    pty.key(Key::Enter);
    ready(&pty);
    assert_eq!(local_settings(&project)["permissions"]["allow"], json!(["Bash(mkdir *)"]));
    confirms(
        &pty,
        "/permissions remove allow Bash(mkdir *)",
        "Remove this rule: allow Bash(mkdir *)?",
    );
    pty.wait_whole("removed from ");
    let text = fs::read_to_string(&file).unwrap_or_default();
    assert!(!text.contains("mkdir"), "{text}");
    ready(&pty);
    pty.line("go on");
    pty.wait_for("Allow Bash?");
    pty.send("n");
    pty.wait_for("Second.");
}

#[test]
fn a_rule_can_be_for_the_session_and_a_wrong_one_is_refused() {
    let project = project();
    let server = model([bash("toolu_1", "mkdir one"), Reply::say("Refused.")]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/permissions add deny Bash(mkdir *) in session", "added to this session");
    assert_eq!(local_settings(&project), Value::Null);
    ready(&pty);
    answers(&pty, "/permissions add allow Bash(", "invalid rule");
    ready(&pty);
    answers(&pty, "/permissions add never Bash", "expected allow, ask or deny");
    ready(&pty);
    answers(&pty, "/permissions denied", "nothing was denied in this session");
    ready(&pty);
    let shown = answers(&pty, "go", "Refused.");
    // The stage and the reason, in one line.
    let row = shown.lines().find(|row| row.contains("rules: denied by ")).unwrap_or_default();
    assert!(row.contains("Bash(mkdir *)"), "{shown}");
    ready(&pty);
    pty.line("/permissions denied");
    let shown = pty.wait_for("Recently denied");
    assert!(shown.contains("1. Bash: "), "{shown}");
    // Choosing one tells the rest.
    pty.send("1");
    pty.wait_whole("rules    deny");
}

#[test]
fn removing_a_rule_from_the_list_needs_no_typing() {
    let project = project();
    user_settings(&project, &json!({"permissions": {"ask": ["Bash(mv *)"]}}));
    let file = project.home().join(".claude/settings.json");
    fs::create_dir_all(file.parent().unwrap()).unwrap();
    fs::write(&file, json!({"permissions": {"ask": ["Bash(mkdir *)"]}}).to_string()).unwrap();
    let pty =
        start_in(&project, &[], PtyOptions::default().size(40, 200).env("ANTHROPIC_API_KEY", KEY));
    pty.line("/permissions ask");
    let shown = pty.wait_for("Bash(mkdir *)");
    let row = |rule: &str| shown.lines().find(|row| row.contains(rule)).unwrap_or_default();
    assert!(row("Bash(mkdir *)").contains("Enter removes it"), "{shown}");
    // Of the files of a scope, ona writes one.
    assert!(row("Bash(mv *)").contains("edit it there"), "{shown}");
    if !row("Bash(mkdir *)").contains('❯') {
        pty.key(Key::Down);
        pty.wait_for("❯ Bash(mkdir *)");
    }
    pty.key(Key::Enter);
    says_yes(&pty, "Remove this rule: ask Bash(mkdir *) in user?");
    pty.wait_whole("removed from ");
    let text = fs::read_to_string(&file).unwrap();
    assert!(!text.contains("mkdir"), "{text}: {}", pty.whole());
}

#[test]
fn a_rule_that_has_no_effect_is_told() {
    let project = project();
    user_settings(
        &project,
        &json!({"permissions": {"deny": ["Bash(mv *)"], "ask": ["Bash(cp *)"]}}),
    );
    let pty = start_alone(&project);
    let shown = answers(&pty, "/permissions add allow Bash(mv *)", "comes first");
    assert!(shown.contains("no effect: deny Bash(mv *) comes first"), "{shown}");
    ready(&pty);
    answers(&pty, "/permissions add ask Bash(cp *)", "added to ");
    ready(&pty);
    confirms(&pty, "/permissions remove ask Bash(cp *)", "Remove this rule");
    pty.wait_whole("the same rule still applies: user (");
    ready(&pty);
    answers(&pty, "/permissions remove ask Bash(cp *)", "rule not found in ");
    pty.wait_whole("there is one in user (");
}

#[test]
fn nothing_is_said_to_be_written_that_was_not() {
    use std::os::unix::fs::PermissionsExt as _;
    let project = project();
    let pty = start_alone(&project);
    let file = project.file(".claude/settings.local.json", "{\"permissions\": ");
    let lines = [
        "/permissions add allow Bash(mkdir *)",
        "/permissions add deny Read(x) in local",
        "/config verbose=true",
    ];
    for line in lines {
        pty.line(line);
        pty.wait_until(|_| {
            pty.whole().contains(line) && pty.whole().contains("settings.local.json: ")
        });
        ready(&pty);
    }
    assert!(!pty.whole().contains("added to"), "{}", pty.whole());
    fs::write(&file, "{\"permissions\": {\"ask\": [\"Bash(mv *)\"]}}").unwrap();
    // Nothing can be created beside it, and it cannot be replaced.
    let dir = project.path(".claude");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o555)).unwrap();
    if fs::write(dir.join("probe"), "").is_ok() {
        // Root may write everywhere.
        return;
    }
    answers(&pty, "/permissions add allow Bash(mkdir *)", "nothing was changed");
    ready(&pty);
    assert!(!pty.whole().contains("added to"), "{}", pty.whole());
    pty.line("/permissions allow");
    let shown = pty.wait_for("Add a rule");
    assert!(!shown.contains("mkdir"), "{shown}");
    fs::set_permissions(&dir, fs::Permissions::from_mode(0o755)).unwrap();
}

#[test]
fn what_is_wrong_with_a_rule_is_told_in_words() {
    let project = project();
    let pty = start_alone(&project);
    for (line, words) in [
        ("/permissions add", "which rule? /permissions add allow|ask|deny RULE"),
        ("/permissions remove", "which rule? /permissions remove allow|ask|deny RULE"),
        ("/permissions add allow", "which rule? /permissions add allow RULE"),
        ("/permissions add allow Bash(ls) in nowhere", "unknown scope `nowhere`"),
        ("/permissions add allow Bash(ls) in managed", "managed rules are your organisation's"),
        ("/permissions add allow NoSuchTool", "unknown tool `NoSuchTool`"),
        ("/permissions add allow Bash(ls -l)", "added to "),
        ("/permissions add allow Bash(ls -l)", "already in "),
        ("/permissions add deny Bash(rm *) in session", "added to this session"),
        ("/permissions add deny Bash(rm *) in session", "already in this session"),
    ] {
        answers(&pty, line, words);
        ready(&pty);
    }
    assert_eq!(
        local_settings(&project)["permissions"]["allow"],
        json!(["NoSuchTool", "Bash(ls -l)"])
    );
    pty.line("/permissions remove allow Bash(ls -l)");
    let shown = pty.wait_for("Remove this rule");
    assert!(shown.contains("settings.local.json"), "{shown}");
    close(&pty);
    pty.line("/permissions deny");
    let shown = pty.wait_for("built");
    let row = shown.lines().find(|row| row.contains("builtin")).unwrap_or_default();
    assert!(row.contains("always applies"), "{shown}");
}
