//! What the sandbox answers in the place of a question, and what it does not.

use super::*;

fn judged(
    rules: &[(Behavior, &str)],
    mode: PermissionMode,
    confines: Confines,
    command: &str,
) -> Behavior {
    let sample = bash(command);
    let call = Call {
        tool: sample.tool,
        facts: RuleFacts::of_tool(sample.tool),
        input: &sample.input,
        effects: &sample.effects,
        confines,
    };
    permissions(rules, mode).judge(&call).behavior
}

#[test]
fn a_confined_command_needs_no_question_but_rules_hold() {
    use Behavior::{Allow, Ask, Deny};
    use Confines::{Nothing, ProtectedToo, Writing};
    for (rules, confines, command, expected) in [
        (&[][..], Nothing, "make", Ask),
        (&[], Writing, "make", Allow),
        (&[], ProtectedToo, "make", Allow),
        // The question about every command is answered, one about this command is not.
        (&[(Ask, "Bash")], ProtectedToo, "make", Allow),
        (&[(Ask, "Bash(make *)")], ProtectedToo, "make all", Ask),
        (&[(Deny, "Bash")], ProtectedToo, "make", Deny),
        (&[(Deny, "Bash(make *)")], ProtectedToo, "make all", Deny),
        // Where protected names are protected, only written rules can be in doubt.
        (&[], Writing, "eval \"$X\"", Ask),
        (&[], ProtectedToo, "eval \"$X\"", Allow),
        (&[(Deny, "Bash(rm *)")], ProtectedToo, "eval \"$X\"", Ask),
        (&[], ProtectedToo, "echo x > .git/config", Ask),
    ] {
        let found = judged(rules, DefaultMode, confines, command);
        assert_eq!(found, expected, "{rules:?} {confines:?} {command}");
    }
}

#[test]
fn the_mode_counts_only_where_it_forbids_commands() {
    for (mode, expected) in [
        (PermissionMode::DontAsk, Behavior::Allow),
        (PermissionMode::AcceptEdits, Behavior::Allow),
        (PermissionMode::BypassPermissions, Behavior::Allow),
        (PermissionMode::Plan, Behavior::Deny),
    ] {
        assert_eq!(judged(&[], mode, Confines::Writing, "make"), expected, "{mode}");
    }
}

#[test]
fn the_paths_of_written_rules_are_told() {
    let permissions = permissions(
        &[
            (Behavior::Allow, "Edit(//data/out/**)"),
            (Behavior::Allow, "Edit(*.md)"),
            (Behavior::Deny, "Edit(./vendor)"),
            (Behavior::Deny, "Read(~/private)"),
            (Behavior::Deny, "Read(.env)"),
            (Behavior::Ask, "Read(//asked)"),
        ],
        DefaultMode,
    );
    let paths = RulePaths {
        writable: vec!["/data/out".into()],
        unwritable: vec!["/w/app/vendor".into()],
        unreadable: vec!["/home/u/private".into()],
        more_unreadable: true,
        more_unwritable: false,
    };
    assert_eq!(permissions.paths(), paths);
    assert!(permissions.keeps(Path::new("/w/app/vendor/x")));
    assert!(!permissions.keeps(Path::new("/w/app/src/x")));
}
