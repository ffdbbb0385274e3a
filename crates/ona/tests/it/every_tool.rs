//! One turn in which the model uses every built-in tool of S0 §7, and one of an MCP server.

use std::path::Path;

use ona_provider::scripted::{Recorded, Reply, Script, Server};
use ona_testkit::run;
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;
use crate::site::Site;

/// S0 §7.
const TOOLS: [&str; 21] = [
    "Read",
    "Write",
    "Edit",
    "NotebookEdit",
    "Bash",
    "Glob",
    "Grep",
    "WebFetch",
    "WebSearch",
    "AskUserQuestion",
    "TodoWrite",
    "TaskOutput",
    "Agent",
    "Skill",
    "EnterPlanMode",
    "ExitPlanMode",
    "ListMcpResources",
    "ReadMcpResource",
    "ToolSearch",
    "Brief",
    "TaskStop",
];

/// A small MCP server that needs nothing but the shell.
pub fn small_server() -> String {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../acceptance/lib/mcp-server.sh");
    json!({"mcpServers": {"Small": {"command": file.canonicalize().unwrap()}}}).to_string()
}

fn question() -> Value {
    json!({"questions": [{"question": "Which?", "header": "One", "options": [
        {"label": "A", "description": ""}, {"label": "B", "description": ""},
    ]}]})
}

fn input(tool: &str, request: &Recorded, site: &str) -> Value {
    let told = request.body["messages"].to_string();
    let task = told.split("Started background task ").nth(1).unwrap_or_default();
    let task = task.split(' ').next().unwrap_or_default();
    match tool {
        "Read" => json!({"file_path": "a.txt"}),
        "Write" => json!({"file_path": "b.txt", "content": "b\n"}),
        "Edit" => json!({"file_path": "a.txt", "old_string": "a", "new_string": "A"}),
        "NotebookEdit" => {
            json!({"notebook_path": "n.ipynb", "edit_mode": "insert", "cell_type": "code", "new_source": "1"})
        }
        "Bash" => json!({"command": "sleep 600", "run_in_background": true}),
        "Glob" => json!({"pattern": "*.txt"}),
        "Grep" => json!({"pattern": "A"}),
        "WebFetch" => json!({"url": site, "prompt": "what is it?"}),
        "WebSearch" => json!({"query": "something"}),
        "AskUserQuestion" => question(),
        "TodoWrite" => json!({"todos": [{"content": "x", "status": "pending", "activeForm": "x"}]}),
        "TaskOutput" => json!({"task_id": task, "block": false}),
        "TaskStop" => json!({"task_id": task}),
        "Agent" => json!({"description": "help", "prompt": "HELP"}),
        "Skill" => json!({"skill": "greet", "args": "you"}),
        "ExitPlanMode" => json!({"plan": "the plan"}),
        "ReadMcpResource" => json!({"server": "Small", "uri": "small://motd"}),
        "ToolSearch" => json!({"query": "select:mcp__small__greet"}),
        "Brief" => json!({"message": "a message"}),
        _ => json!({}),
    }
}

#[test]
fn a_turn_uses_all_21_tools() {
    let project = project();
    project.file("a.txt", "a\n");
    project.file("n.ipynb", r#"{"cells":[],"metadata":{},"nbformat":4,"nbformat_minor":5}"#);
    project.file(
        ".claude/skills/greet/SKILL.md",
        "---\ndescription: greets\n---\nGreet $ARGUMENTS.\n",
    );
    let site = Site::page("text/html", "<h1>A page</h1><p>of text</p>");
    let search = Site::page(
        "application/json",
        r#"{"results":[{"title":"T","url":"https://t.example/","content":"c"}]}"#,
    );
    let hosts = json!([format!("127.0.0.1:{}", site.port), format!("127.0.0.1:{}", search.port)]);
    let mut answered = question();
    answered["answers"] = json!({"Which?": "B"});
    let said = json!({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow", "updatedInput": answered,
    }});
    project.file("answer.json", said.to_string());
    let settings = json!({
        "webFetch": {"allowPrivateHosts": hosts, "summarize": false},
        "webSearch": {"backend": "searxng", "url": search.url("/")},
        "hooks": {"PreToolUse": [{"matcher": "AskUserQuestion", "hooks": [
            {"type": "command", "command": "cat answer.json"},
        ]}]},
    });
    project.file(".claude/settings.json", settings.to_string());
    let url = site.url("/");
    // Reading the notebook comes first, planning last: nothing may be written in it.
    let order: Vec<&str> = TOOLS.into_iter().filter(|tool| !tool.ends_with("PlanMode")).collect();
    let script = Script::choose(move |request| {
        let body = request.body["messages"].to_string();
        if body.contains("HELP") && !body.contains("MAIN") {
            return Reply::say("helped");
        }
        let done = body.matches("\"type\":\"tool_result\"").count();
        let call = |tool: &str| {
            Reply::new().call(&format!("toolu_{done}"), tool, input(tool, request, &url))
        };
        match done {
            0 => Reply::new().call("toolu_n", "Read", json!({"file_path": "n.ipynb"})),
            done if done <= order.len() => call(order[done - 1]),
            20 => Reply::new().call("toolu_g", "mcp__small__greet", json!({"name": "Ada"})),
            21 => call("EnterPlanMode"),
            22 => call("ExitPlanMode"),
            _ => Reply::say("All of them."),
        }
    });
    let server = Server::start(script).unwrap();
    let ran = run(anthropic(
        &project,
        &server,
        &["-p", "MAIN", "--trust", "--mcp-config", &small_server()],
    )
    .args(["--permission-mode", "bypassPermissions", "--max-turns", "40"])
    .env("ENABLE_TOOL_SEARCH", "true"));
    assert!(ran.stdout.ends_with("All of them.\n"), "{}\n{}", ran.stdout, ran.stderr);
    let asked = "SELECT json_extract(u.payload_json, '$.name') || ' ' || json_extract(r.payload_json, '$.is_error')
                 FROM transcript_entries u JOIN transcript_entries r ON r.tool_use_id = u.tool_use_id
                 WHERE u.entry_type = 'tool_use' AND r.entry_type = 'tool_result' ORDER BY u.id";
    let used = project.sql(asked);
    for tool in TOOLS {
        // Nobody is there to approve a plan.
        let wanted = format!("{tool} {}", i32::from(tool == "ExitPlanMode"));
        assert!(used.contains(&wanted), "{wanted} is not among {used:?}");
    }
    assert!(used.contains(&"mcp__small__greet 0".to_owned()), "{used:?}");
    assert_eq!(project.sql("SELECT status FROM plans"), ["draft"]);
}
