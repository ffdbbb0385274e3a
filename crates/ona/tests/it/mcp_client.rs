//! Servers of others in a session: what they offer, and what they do not do well.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, run};
use serde_json::json;

use crate::print::anthropic;
use crate::project;
use crate::skills::result;

/// A server with some of everything, and a tool that is none.
const VARIED: &str = r#"#!/usr/bin/env bash
of() { sqlite3 :memory: "SELECT json_extract('${line//\'/\'\'}', '\$$1')"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
echo 'INFO ready'
while IFS= read -r line; do
  id=$(of .id)
  case $(of .method) in
    initialize) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{},"resources":{},"prompts":{}},"serverInfo":{"name":"varied","version":"1"}}' ;;
    tools/list) answer '{"tools":[{"name":"bare"},{"name":"draw","inputSchema":{"type":"object"}}]}' ;;
    resources/list) answer '{"resources":[{"uri":"varied://logo","name":"logo","mimeType":"image/svg+xml"}]}' ;;
    resources/templates/list) answer '{"resourceTemplates":[{"uriTemplate":"varied://logo/{size}","name":"logos"}]}' ;;
    resources/read) answer '{"contents":[{"uri":"varied://logo","mimeType":"image/svg+xml","blob":"PHN2Zy8+"},{"uri":"varied://raw","blob":"AAEC"}]}' ;;
    prompts/list) answer '{"prompts":[{"name":"review","arguments":[{"name":"what","required":true},{"name":"how","required":true},{"name":"depth"}]}]}' ;;
    tools/call) printf '{"jsonrpc":"2.0","id":%s,"result":{oops\n' "$id" ;;
  esac
done
"#;

fn varied(project: &Project) -> String {
    let file = project.file("varied.sh", VARIED);
    run(project.command("chmod").args(["+x", &file]));
    json!({"mcpServers": {"varied": {"command": file}}}).to_string()
}

#[test]
fn what_a_server_does_not_do_well_is_said_and_the_rest_works() {
    let project = project();
    let config = varied(&project);
    let server = Server::start([
        Reply::new().call("toolu_d", "mcp__varied__draw", json!({})),
        Reply::new().call("toolu_l", "ListMcpResources", json!({})),
        Reply::new().call(
            "toolu_r",
            "ReadMcpResource",
            json!({"server": "varied", "uri": "varied://logo"}),
        ),
        Reply::say("Done."),
    ])
    .unwrap();
    let args = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__varied"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
    assert!(
        ran.stderr.contains(
            "of the MCP server varied the tool `bare` is left out: missing field `inputSchema`"
        ),
        "{}",
        ran.stderr
    );
    // It would wait for two minutes if nobody told it.
    let drawn = result(&project, "toolu_d");
    assert!(
        drawn.contains("`varied` gave no usable answer: what it sent cannot be read"),
        "{drawn}"
    );
    let listed = result(&project, "toolu_l");
    assert!(listed.contains(r#""uri":"varied://logo""#), "{listed}");
    assert!(listed.contains(r#""uriTemplate":"varied://logo/{size}""#), "{listed}");
    let read = result(&project, "toolu_r");
    assert!(read.contains(".svg]") && read.contains(".bin]"), "{read}");
}

#[test]
fn a_prompt_says_what_it_must_be_told_and_what_it_may_be() {
    let project = project();
    let config = varied(&project);
    let server = Server::start([Reply::say("Done.")]).unwrap();
    for (prompt, said) in [
        ("/mcp__varied__review", "wants what, how (optional: depth)"),
        ("/mcp__varied__review main.rs", "wants how (optional: depth)"),
    ] {
        let args = ["-p", prompt, "--mcp-config", &config];
        let ran = run(&mut anthropic(&project, &server, &args));
        assert_eq!(ran.code, Some(1), "{}", ran.stdout);
        assert!(ran.stderr.contains(said), "{}", ran.stderr);
    }
}

#[test]
fn looking_at_a_server_tells_what_is_odd_about_it() {
    let project = project();
    let config = format!("--mcp-config={}", varied(&project));
    let ran = run(&mut project.ona([&config, "mcp", "reconnect", "varied"]));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "varied: connected, 1 tools (1 left out)\n")
    );
    assert!(ran.stderr.contains("the tool `bare` is left out"), "{}", ran.stderr);
    assert!(ran.stderr.contains("it printed what is no MCP: INFO ready"), "{}", ran.stderr);
}
