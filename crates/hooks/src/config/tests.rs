//! What settings may write of hooks, and what is said of the rest.

use ona_policy::Scope;
use serde_json::json;

use super::*;

fn layer(scope: Scope, hooks: Value, off: bool) -> HookLayer {
    HookLayer { source: Source::of(scope), hooks, off, env: Vec::new() }
}

type Row = (i64, HookEvent, String, String);

fn read(hooks: Value) -> (Vec<Row>, Vec<String>) {
    let (entries, warnings) = collected(hooks);
    let entries = entries
        .into_iter()
        .map(|e| (e.ordinal, e.event, e.matcher_text, e.handler.label().to_owned()))
        .collect();
    (entries, warnings)
}

fn collected(hooks: Value) -> (Vec<HookEntry>, Vec<String>) {
    let (entries, warnings) = collect(&[layer(Scope::User, hooks, false)]);
    (entries, warnings.iter().map(ToString::to_string).collect())
}

fn row(ordinal: i64, event: HookEvent, matcher: &str, command: &str) -> Row {
    (ordinal, event, matcher.to_owned(), command.to_owned())
}

#[test]
fn three_shapes_one_order() {
    let expected = vec![
        row(0, HookEvent::PostToolUse, "", "a"),
        row(1, HookEvent::PreToolUse, "Bash", "b"),
        row(2, HookEvent::PreToolUse, "Bash", "c"),
    ];
    let map = json!({
        "PostToolUse": [{"hooks": [{"type": "command", "command": "a"}]}],
        "PreToolUse": [{"matcher": "Bash", "hooks": [{"type": "command", "command": "b"}, {"command": "c"}]}],
    });
    let groups = json!([
        {"hook_event_name": "PostToolUse", "hooks": [{"command": "a"}]},
        {"hook_event_name": "PreToolUse", "matcher": "Bash", "hooks": [{"command": "b"}, {"command": "c"}]},
    ]);
    let flat = json!([
        {"hook_event_name": "PostToolUse", "command": "a"},
        {"hook_event_name": "PreToolUse", "matcher": "Bash", "command": "b"},
        {"hook_event_name": "PreToolUse", "matcher": "Bash", "command": "c"},
    ]);
    for shape in [map, groups, flat] {
        assert_eq!(read(shape), (expected.clone(), vec![]));
    }
}

#[test]
fn only_neighbours_that_are_the_same_collapse() {
    let hook = |command: &str| json!({"hook_event_name": "Stop", "command": command});
    let (entries, _) = read(json!([hook("a"), hook("a"), hook("b"), hook("a")]));
    let commands: Vec<_> =
        entries.iter().map(|(n, _, _, command)| (*n, command.as_str())).collect();
    assert_eq!(commands, [(0, "a"), (1, "b"), (2, "a")]);
    // Another shell makes another hook.
    let (entries, _) =
        read(json!([hook("a"), {"hook_event_name": "Stop", "command": "a", "shell": "sh"}]));
    assert_eq!(entries.len(), 2);
}

#[test]
fn what_cannot_be_meant_is_left_out_and_named() {
    let (entries, warnings) = read(json!([
        {"hook_event_name": "Nope", "command": "x"},
        {"command": "x"},
        {"hook_event_name": "Stop"},
        {"hook_event_name": "Stop", "command": " "},
        {"hook_event_name": "Stop", "command": "x", "shell": "fish"},
        {"hook_event_name": "Stop", "command": "x", "timeout": "soon"},
        {"hook_event_name": "Stop", "type": "webhook"},
        {"hook_event_name": "Stop", "matcher": 5, "command": "x"},
        {"hook_event_name": "SessionStart", "type": "http", "url": "http://x"},
        7,
        {"hook_event_name": "Stop", "command": "kept", "matcher": "("},
        {"hook_event_name": "Stop", "command": "kept too", "async": true},
    ]));
    assert_eq!(entries.len(), 3);
    let expected = [
        "user: hooks[0]: unknown hook event `Nope`: the hook does not run",
        "user: hooks[1]: `hook_event_name` is missing: the hook does not run",
        "user: hooks[2]: `command` is missing: the hook does not run",
        "user: hooks[3]: `command` is missing: the hook does not run",
        "user: hooks[4]: `shell` must be bash, sh or powershell, not \"fish\": the hook does not run",
        "user: hooks[5]: `timeout` must be a number of seconds greater than 0: the default is used",
        "user: hooks[6]: `type` must be command, http, prompt or agent, not `webhook`: the hook does not run",
        "user: hooks[7]: `matcher` must be a string: the hook does not run",
        "user: hooks[8]: SessionStart supports only hooks of type command: the hook does not run",
        "user: hooks[9]: expected an object: the hook does not run",
        "user: hooks[10]: `(` is not a valid pattern: it matches nothing, so the hook never runs",
        "user: hooks[11]: `async` is not supported: ona waits for the hook",
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn an_address_or_header_that_cannot_be_used_is_found_when_it_is_read() {
    let http = |url: &str, headers: Value| json!([{"hook_event_name": "Stop", "type": "http", "url": url, "headers": headers}]);
    for (hooks, why) in [
        (
            http("not an address", json!({})),
            "`url`: `not an address` is not a valid URL (relative URL",
        ),
        (http("localhost:80/x", json!({})), "`url`: `localhost:80/x` must begin with http://"),
        (http("file:///x", json!({})), "`url`: `file:///x` must begin with http://"),
        (http("http://", json!({})), "`url`: `http://` is not a valid URL (empty host"),
        (http("http://x/", json!({"a b": "c"})), "`headers`: `a b` is not a valid header name"),
        (http("http://x/", json!({"": "c"})), "`headers`: `` is not a valid header name"),
        (
            http("http://x/", json!({"a": "b\nc"})),
            "`headers.a` contains a character that is not allowed",
        ),
        (http("http://x/", json!({"a": 1})), "`headers.a` must be a string"),
        (http("http://x/", json!([1])), "`headers` must be an object"),
        (
            json!([{"hook_event_name": "Stop", "type": "http", "url": "http://x", "allowedEnvVars": "A"}]),
            "`allowedEnvVars` must be a list of names",
        ),
    ] {
        let (entries, warnings) = read(hooks);
        assert_eq!(entries, [], "{why}");
        let [warning] = warnings.as_slice() else { unreachable!("{warnings:?}") };
        assert!(
            warning.starts_with(&format!("user: hooks[0]: {why}"))
                && warning.ends_with(": the hook does not run"),
            "{warning}"
        );
    }
    let fine = http("https://x/y?z", json!({"Authorization": "Bearer $TOKEN ${OTHER}"}));
    assert_eq!(read(fine).1, [""; 0]);
}

#[test]
fn a_matcher_that_no_tool_has_is_named_with_what_may_be_meant() {
    let hooks =
        |event: &str| json!([{"hook_event_name": event, "command": "x", "matcher": "bash"}]);
    let (entries, warnings) = read(hooks("PreToolUse"));
    assert_eq!(entries.len(), 1, "it stays what it is");
    let expected = "user: hooks[0]: the matcher `bash` matches no tool: did you mean `Bash`?";
    assert_eq!(warnings, [expected]);
    assert_eq!(read(hooks("SessionStart")).1, [""; 0], "no tool's name is asked for there");
}

#[test]
fn a_hook_that_is_switched_off_takes_nobodys_place() {
    let hooks = json!([{"hook_event_name": "Stop", "command": "guard"}]);
    let (entries, _) = collect(&[
        layer(Scope::User, hooks.clone(), true),
        layer(Scope::Local, hooks.clone(), true),
        layer(Scope::Managed, hooks, false),
    ]);
    let kept: Vec<_> = entries.iter().map(|e| (e.ordinal, e.source.scope, e.off)).collect();
    assert_eq!(kept, [(0, Scope::User, true), (1, Scope::Managed, false)]);
}

#[test]
fn a_condition_that_cannot_be_read_counts_as_holding_and_is_named() {
    let table = [
        (json!("Bash(rm *"), "missing `)` at the end"),
        (json!("Write(x)"), "Write takes no path: write Edit(x), which covers it"),
        (json!("Bsh(rm *)"), "unknown tool `Bsh`: did you mean `Bash`?"),
        (json!("x".repeat(20_000)), "longer than"),
        (json!(5), "it is not a string"),
        (json!(["Bash"]), "it is not a string"),
    ];
    for (condition, why) in table {
        let hooks =
            json!({"PreToolUse": [{"hooks": [{"command": "guard", "if": condition.clone()}]}]});
        let (entries, warnings) = collected(hooks);
        assert!(matches!(entries[0].condition, Condition::Unreadable(_)), "{condition}");
        let [warning] = warnings.as_slice() else { unreachable!("{warnings:?}") };
        assert!(
            warning.starts_with("user: hooks.PreToolUse[0].hooks[0].if: ")
                && warning.contains(why)
                && warning.ends_with("the hook runs as if it matched")
                && warning.len() < 400,
            "{warning}"
        );
    }
    // What can be read, but will never hold, is named too.
    let hooks = json!([
        {"hook_event_name": "PreToolUse", "command": "a", "if": "Bsh"},
        {"hook_event_name": "Stop", "command": "b", "if": "Bash"},
        {"hook_event_name": "Stop", "command": "c", "if": null, "if_condition": " "},
    ]);
    let (entries, warnings) = collected(hooks);
    let expected = [
        "user: hooks[0].if: unknown tool `Bsh`",
        "user: hooks[1].if: Stop has no tool call, so the hook never runs",
    ];
    assert_eq!(warnings, expected);
    assert_eq!(entries[1].condition, Condition::Rule("Bash".into()));
    assert_eq!(entries[2].condition, Condition::None);
}

#[test]
fn a_matcher_that_cannot_be_judged_matches_everything_and_is_named() {
    let matcher = format!("{}Bash.", "a|".repeat(10_000));
    let hooks = json!([{"hook_event_name": "PreToolUse", "command": "x", "matcher": matcher}]);
    let (entries, warnings) = collected(hooks);
    assert!(entries[0].matcher.matches("Read"));
    let expected = "user: hooks[0]: `matcher` is ignored (it is longer than 2000 characters): \
                    the hook runs as if it matched";
    assert_eq!(warnings, [expected]);
}

#[test]
fn the_same_hook_of_two_plugins_is_two_hooks() {
    let of = |root: &str| HookLayer {
        env: vec![("CLAUDE_PLUGIN_ROOT".into(), root.into())],
        ..layer(
            Scope::Plugin,
            json!([{"hook_event_name": "Stop", "command": "${CLAUDE_PLUGIN_ROOT}/x"}]),
            false,
        )
    };
    let roots = |layers: &[HookLayer]| -> Vec<OsString> {
        let (entries, _) = collect(layers);
        entries.into_iter().map(|entry| entry.env[0].1.clone()).collect()
    };
    assert_eq!(roots(&[of("/a"), of("/b")]), ["/a", "/b"]);
    assert_eq!(roots(&[of("/a"), of("/a")]), ["/a"]);
}
