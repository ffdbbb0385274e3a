//! Guards that were attacked: hooks whose directory, id or answer is odd, inputs that others replace, yeses for other
//! inputs, tasks that hooks refuse.

use std::fs;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use super::gate::{printing, user_settings};
use crate::gate::{governed, pre};
use crate::project;
use crate::skills::{go, result};

#[test]
fn a_guard_runs_whatever_the_model_and_the_server_do() {
    let refuses = pre("", "grep -q FORBIDDEN && { echo guarded >&2; exit 2; }; exit 0");
    let tells = "cat | python3 -c 'import json,sys; d=json.load(sys.stdin); print(json.dumps(\
         {\"hookSpecificOutput\": {\"hookEventName\": \"PreToolUse\", \"permissionDecision\": \"deny\", \
         \"permissionDecisionReason\": json.dumps(d)}}))'";
    let write = |content: String| json!({"file_path": "k.txt", "content": content});
    let bash = |command: &str| json!({"command": command});
    let forbidden = || write("FORBIDDEN".to_owned());
    for (hook, calls) in [
        // The directory of the session is gone.
        (
            &refuses,
            vec![
                ("a", "Bash", bash("mkdir d && cd d")),
                ("b", "Bash", bash("rmdir ../d")),
                ("c", "Bash", bash("echo FORBIDDEN > ../k.txt")),
            ],
        ),
        // Ids that fit into no environment.
        (&refuses, vec![(&*"x".repeat(200_000), "Write", forbidden())]),
        (&refuses, vec![("a\0b", "Write", forbidden())]),
        // An answer that is cut.
        (&pre("", tells), vec![("a", "Write", write("y".repeat(4_300_000)))]),
    ] {
        let project = project();
        user_settings(
            &project,
            &json!({"permissions": {"allow": ["Bash", "Edit"]}, "hooks": {"PreToolUse": [hook]}}),
        );
        let replies =
            calls.iter().map(|(id, tool, input)| Reply::new().call(id, tool, input.clone()));
        let replies: Vec<Reply> = replies.chain([Reply::say("Done.")]).collect();
        let server = Server::start(replies).unwrap();
        let ran = go(&project, &server, "go", &[]);
        assert!(!project.path("k.txt").exists(), "{}: {}", calls.last().unwrap().1, ran.stderr);
        let denied = project
            .sql("SELECT count(*) FROM gate_answers WHERE stage = 'hooks' AND verdict = 'deny'");
        assert_eq!(denied, ["1"], "{}", ran.stderr);
    }
}

/// A hook that gives this answer if the command is, or begins with, a text.
fn answering(matches: &str, answer: &Value) -> String {
    format!("case $(cat) in *'\"command\":\"{matches}'*) echo '{answer}';; esac")
}

fn pre_answer(members: &Value) -> Value {
    let mut answer = json!({"hookEventName": "PreToolUse"});
    answer.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    json!({ "hookSpecificOutput": answer })
}

#[test]
fn a_guard_that_has_replaced_an_input_judges_what_others_make_of_it() {
    let project = project();
    let sanitised = pre_answer(&json!({"updatedInput": {"command": "echo sanitised"}}));
    let guard =
        format!("case $(cat) in *'\"command\":\"echo sanitised'*) ;; *) echo '{sanitised}';; esac");
    let managed = project.dir().parent().unwrap().join("managed/managed-settings.json");
    fs::create_dir_all(managed.parent().unwrap()).unwrap();
    let hooks = json!({"hooks": {"PreToolUse": [pre("Bash", &guard)]}});
    fs::write(managed, hooks.to_string()).unwrap();
    let moved = pre_answer(
        &json!({"permissionDecision": "allow", "updatedInput": {"command": "touch pwned"}}),
    );
    user_settings(
        &project,
        &json!({"hooks": {"PreToolUse": [pre("Bash", &answering("echo sanitised", &moved))]}}),
    );
    run(&mut project.eval_command("Bash", &json!({"command": "echo hello"})));
    assert!(!project.path("pwned").exists());
}

#[test]
fn a_yes_of_a_hook_is_for_the_input_that_it_saw() {
    let allow = pre_answer(&json!({"permissionDecision": "allow"}));
    let moves = pre_answer(&json!({"updatedInput": {"command": "touch pwned"}}));
    let both = pre_answer(
        &json!({"permissionDecision": "allow", "updatedInput": {"command": "touch moved"}}),
    );
    let asks =
        pre_answer(&json!({"permissionDecision": "ask", "permissionDecisionReason": "sure?",
        "updatedInput": {"command": "touch asked"}}));
    let go = |hooks: &[&Value], file: &str| {
        let project = project();
        let hooks: Vec<Value> =
            hooks.iter().map(|hook| pre("Bash", &answering("make safe", hook))).collect();
        user_settings(&project, &json!({"hooks": {"PreToolUse": hooks}}));
        let call = Reply::new().call("toolu_m", "Bash", json!({"command": "make safe"}));
        let server = Server::start([call, Reply::say("Done.")]).unwrap();
        go(&project, &server, "go", &[]);
        (project.path(file).exists(), result(&project, "toolu_m"))
    };
    let (ran, said) = go(&[&allow, &moves], "pwned");
    assert!(!ran && said.contains("no user is available"), "{said}");
    assert!(!go(&[&moves, &allow], "pwned").0, "the second hook saw another input");
    assert!(go(&[&both], "moved").0, "who replaces an input may allow what it makes of it");
    let (ran, said) = go(&[&asks], "asked");
    assert!(!ran && said.contains("sure?"), "the reason is kept: {said}");
}

#[test]
fn a_replaced_skill_gives_nothing_of_the_one_that_was_named() {
    let project = project();
    project.file(
        ".claude/skills/allowing/SKILL.md",
        "---\ndescription: allows\nallowed-tools: Bash(touch *)\n---\nALLOWING\n",
    );
    project.file(".claude/skills/plain/SKILL.md", "---\ndescription: plain\n---\nPLAIN\n");
    let plain = pre_answer(&json!({"updatedInput": {"skill": "plain"}}));
    user_settings(
        &project,
        &json!({"permissions": {"deny": ["Skill(allowing)"]},
            "hooks": {"PreToolUse": [pre("Skill", &printing(&plain))]}}),
    );
    let server = Server::start([
        Reply::new().call("toolu_s", "Skill", json!({"skill": "allowing"})),
        Reply::new().call("toolu_t", "Bash", json!({"command": "touch t"})),
        Reply::say("Done."),
    ])
    .unwrap();
    go(&project, &server, "go", &["--trust"]);
    assert_eq!(result(&project, "toolu_s"), "Applied: plain");
    assert!(!project.path("t").exists(), "{}", result(&project, "toolu_t"));
}

#[test]
fn what_a_hook_about_tasks_refuses_is_a_deny_among_the_answers() {
    for (event, status) in [("TaskCreated", "pending"), ("TaskCompleted", "completed")] {
        let project = governed(&json!({"hooks": {event: [pre("", "echo not yet >&2; exit 2")]}}));
        let todos = |status: &str| json!({"todos": [{"content": "c", "status": status, "activeForm": "c"}]});
        if status == "completed" {
            project.ok("TodoWrite", todos("pending"));
        }
        let said = project.refused("TodoWrite", todos(status));
        assert!(said.contains("not yet"), "{said}");
        let rows = project
            .sql("SELECT stage, verdict, tool_use_id FROM gate_answers ORDER BY id DESC LIMIT 1");
        let (row, id) = rows[0].rsplit_once('|').unwrap();
        assert_eq!(row, "tasks|deny", "{event}");
        let why = run(&mut project.ona(["why", "--json", id]));
        let told: Value = serde_json::from_str(&why.stdout).unwrap();
        let answers = told["answers"]
            .as_array()
            .or(told["gate"].as_array())
            .unwrap_or_else(|| panic!("{told}"));
        let no = answers
            .iter()
            .find(|answer| answer["verdict"] == "deny")
            .unwrap_or_else(|| panic!("{told}"));
        assert!(no["reason"].as_str().unwrap().contains(event), "{no}");
    }
}

#[test]
fn a_background_task_that_a_hook_refuses_at_its_end_is_a_deny_too() {
    let project = project();
    let refuses = json!({"hooks": {"TaskCompleted": [pre("", "echo not yet >&2; exit 2")]}});
    user_settings(&project, &refuses);
    let input = json!({"command": "true", "run_in_background": true});
    let wait = json!({"task_id": "task_b", "block": true, "timeout": 20000});
    let server = Server::start([
        Reply::new().call("toolu_b", "Bash", input),
        Reply::new().call("toolu_w", "TaskOutput", wait),
        Reply::say("Done."),
    ])
    .unwrap();
    let ran = go(&project, &server, "go", &["--allowedTools", "Bash"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let rows = project.sql(
        "SELECT stage, reason FROM gate_answers WHERE tool_use_id = 'toolu_b' AND verdict = 'deny'",
    );
    assert_eq!(rows.len(), 1, "{rows:?} {}", result(&project, "toolu_w"));
    assert!(rows[0].starts_with("tasks|") && rows[0].contains("not yet"), "{rows:?}");
    let why = run(&mut project.ona(["why", "--json", "toolu_b"]));
    assert!(why.stdout.contains("TaskCompleted hook refuses"), "{}", why.stdout);
}
