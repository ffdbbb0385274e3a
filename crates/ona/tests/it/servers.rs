//! MCP servers that misbehave while a turn goes on: each costs its own call, and is told of once.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;

/// The frame of a server in bash: what it does with a call comes as `$1`, with `$id` and `answer` at hand. It has one
/// tool, whose name stands in `$tool`.
const SERVER: &str = r#"
of() { sqlite3 :memory: "SELECT json_extract('${line//\'/\'\'}', '\$$1')"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
tool=first
while IFS= read -r line; do
  id=$(of .id)
  case $(of .method) in
    initialize) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{"listChanged":true}},"serverInfo":{"name":"odd","version":"1"}}' ;;
    tools/list) answer "{\"tools\":[{\"name\":\"$tool\",\"inputSchema\":{\"type\":\"object\"}}]}" ;;
    tools/call) eval "$1" ;;
    ping) answer '{}' ;;
  esac
done
"#;

/// A turn that calls tools of the server `odd`, one after the other, under the ids `toolu_0`, `toolu_1`, …
fn turn(project: &Project, does: &str, tools: &[&str], env: &[(&str, &str)]) -> (Server, Ran) {
    let config =
        json!({"mcpServers": {"odd": {"command": "bash", "args": ["-c", SERVER, "odd", does]}}});
    let calls = tools.iter().enumerate().map(|(at, tool)| {
        Reply::new().call(&format!("toolu_{at}"), &format!("mcp__odd__{tool}"), json!({}))
    });
    let server = Server::start(calls.chain([Reply::say("Done.")]).collect::<Vec<_>>()).unwrap();
    let config = config.to_string();
    let args = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__odd"];
    let ran = run(anthropic(project, &server, &args).envs(env.iter().copied()));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    (server, ran)
}

/// What the model was told of a call, and whether as a failure.
fn result(project: &Project, id: &str) -> (String, bool) {
    let rows = project.sql(&format!(
        "SELECT payload_json FROM transcript_entries
         WHERE tool_use_id = '{id}' AND entry_type = 'tool_result'"
    ));
    let payload: Value = serde_json::from_str(&rows[0]).unwrap();
    (payload["content"].as_str().unwrap().to_owned(), payload["is_error"] == true)
}

#[test]
fn an_error_of_the_tool_is_the_calls() {
    let project = project();
    let does =
        r#"answer '{"content":[{"type":"text","text":"the disk is on fire"}],"isError":true}'"#;
    turn(&project, does, &["first"], &[]);
    assert_eq!(result(&project, "toolu_0"), ("the disk is on fire".to_owned(), true));
}

#[test]
fn a_server_that_dies_in_a_call_is_told_of_with_its_last_words() {
    let project = project();
    turn(&project, "echo 'out of cheese' >&2; exit 3", &["first"], &[]);
    let (content, failed) = result(&project, "toolu_0");
    assert!(failed && content.contains("odd"), "{content}");
}

#[test]
fn a_server_that_never_answers_is_given_up_after_its_time() {
    let project = project();
    turn(&project, ":", &["first"], &[("MCP_TOOL_TIMEOUT", "300")]);
    let (content, failed) = result(&project, "toolu_0");
    assert!(failed && content.contains("0.3 s"), "{content}");
}

#[test]
fn tools_that_are_renamed_on_the_way_are_called_by_their_new_names() {
    let project = project();
    let does = r#"
        if [ $tool = first ]; then
          tool=second
          printf '{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}\n'
        fi
        answer "{\"content\":[{\"type\":\"text\",\"text\":\"now it is $tool\"}]}""#;
    let (server, _) = turn(&project, does, &["first", "second", "first"], &[]);
    assert_eq!(result(&project, "toolu_0").0, "now it is second");
    assert_eq!(result(&project, "toolu_1"), ("now it is second".to_owned(), false));
    let (gone, failed) = result(&project, "toolu_2");
    assert!(failed && gone.contains("there is no tool `mcp__odd__first`"), "{gone}");
    assert!(gone.contains("mcp__odd__second"), "what there is instead is named: {gone}");
    let names = |at: usize| {
        let tools = server.requests()[at].body["tools"].as_array().unwrap().clone();
        tools.iter().any(|tool| tool["name"] == "mcp__odd__second")
    };
    assert_eq!([names(0), names(1)], [false, true]);
}

#[test]
fn fifty_megabytes_fill_neither_the_context_nor_the_record() {
    let project = project();
    let does = r#"
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
        head -c 52428800 /dev/zero | tr '\0' x
        printf '"}]}}\n'"#;
    let (server, _) = turn(&project, does, &["first"], &[]);
    let (content, _) = result(&project, "toolu_0");
    assert!(content.len() < 200_000, "{} bytes are told", content.len());
    let told = server.requests()[1].body.to_string();
    assert!(told.len() < 400_000, "{} bytes are sent", told.len());
    let kept = std::fs::metadata(project.database()).unwrap().len();
    assert!(kept < 4 << 20, "{kept} bytes are kept");
}

#[test]
fn a_server_that_is_not_there_is_told_of_once_by_whoever_brought_it() {
    let project = project();
    project.file(
        ".claude/agents/bringer.md",
        "---\nname: bringer\ndescription: brings\nmcpServers:\n  - lost:\n      command: /nowhere/lost\n---\nBRINGER\n",
    );
    let start = |kind: &str| json!({"description": "x", "prompt": "HELP", "subagent_type": kind});
    let server = Server::start([
        Reply::new().call("toolu_a", "Agent", start("general-purpose")).call(
            "toolu_b",
            "Agent",
            start("bringer"),
        ),
        Reply::say("helped"),
        Reply::say("helped"),
        Reply::say("Done."),
    ])
    .unwrap();
    let config = json!({"mcpServers": {"gone": {"command": "/nowhere/gone"}}}).to_string();
    let ran =
        run(&mut anthropic(&project, &server, &["-p", "go", "--trust", "--mcp-config", &config]));
    assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
    for name in ["gone", "lost"] {
        let told = ran.stderr.matches(&format!("the MCP server {name} is not there")).count();
        assert_eq!(told, 1, "{name}: {}", ran.stderr);
    }
}
