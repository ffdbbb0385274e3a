//! Servers of others in a session: what they offer, what they ask, and what they do not do well. Each costs its own call,
//! and is told of once.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::every_tool::small_server;
use crate::gate::at_terminal;
use crate::print::anthropic;
use crate::project;
use crate::skills::{go, last_asked, result};

/// What every server here begins with: it takes a line apart, and answers one.
const SPEAKS: &str = r#"of() { sqlite3 :memory: "SELECT json_extract('${line//\'/\'\'}', '\$$1')"; }
answer() { printf '{"jsonrpc":"2.0","id":%s,"result":%s}\n' "$id" "$1"; }
"#;

/// A server in bash, which is given these arguments.
fn in_bash(name: &str, script: &str, args: &[&str]) -> String {
    let script = format!("{SPEAKS}{script}");
    let args = [&["-c", &script, name], args].concat();
    json!({"mcpServers": {name: {"command": "bash", "args": args}}}).to_string()
}

/// A server with some of everything, and a tool that is none.
const VARIED: &str = r#"echo 'INFO ready'
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

#[test]
fn what_a_server_does_not_do_well_is_said_and_the_rest_works() {
    let project = project();
    let config = in_bash("varied", VARIED, &[]);
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
            "MCP server varied: the tool `bare` is left out: missing field `inputSchema`"
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
    let config = in_bash("varied", VARIED, &[]);
    let server = Server::start([Reply::say("Done.")]).unwrap();
    for (prompt, said) in [
        ("/mcp__varied__review", "requires what, how (optional: depth)"),
        ("/mcp__varied__review main.rs", "requires how (optional: depth)"),
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
    let config = format!("--mcp-config={}", in_bash("varied", VARIED, &[]));
    let ran = run(&mut project.ona([&config, "mcp", "reconnect", "varied"]));
    assert_eq!(
        (ran.code, ran.stdout.as_str()),
        (Some(0), "varied: connected, 1 tools (1 skipped)\n")
    );
    assert!(ran.stderr.contains("the tool `bare` is left out"), "{}", ran.stderr);
    assert!(
        ran.stderr.contains("it printed something that is not MCP: INFO ready"),
        "{}",
        ran.stderr
    );
}

#[test]
fn a_prompt_of_a_server_is_a_command() {
    let project = project();
    let server = Server::start([Reply::say("Reviewed.")]).unwrap();
    let config = small_server();
    let ran = go(&project, &server, "/mcp__small__review main.rs", &["--mcp-config", &config]);
    assert_eq!(ran.stdout, "Reviewed.\n", "{}", ran.stderr);
    assert!(last_asked(&server).contains("Review main.rs now"), "{}", last_asked(&server));
    for (prompt, why) in
        [("/mcp__small__review", "requires what"), ("/mcp__small__none", "unknown prompt")]
    {
        let ran = go(&project, &server, prompt, &["--mcp-config", &config]);
        assert_eq!(ran.code, Some(1));
        assert!(ran.stderr.contains(why), "{}", ran.stderr);
    }
}

#[test]
fn servers_do_not_get_the_keys_of_models() {
    let project = project();
    let keys = project.path("keys");
    let command = format!("env > {}; cat", keys.display());
    let config = json!({"mcpServers": {"nosy": {
        "command": "sh", "args": ["-c", command], "env": {"OPENAI_API_KEY": "given-on-purpose"},
    }}});
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let ran = run(anthropic(&project, &server, &["-p", "go", "--mcp-config", &config.to_string()])
        .env("ONA_MCP_WAIT_MS", "2000"));
    assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
    let seen = std::fs::read_to_string(keys).unwrap();
    assert!(!seen.contains("ANTHROPIC_API_KEY") && seen.contains("given-on-purpose"), "{seen}");
}

/// A server whose tool asks the user first, and tells what was answered.
const ASKING: &str = r#"while IFS= read -r line; do
  id=$(of .id)
  case $(of .method) in
    initialize) answer '{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":{"name":"asking","version":"1"},"instructions":"Ask before you leap."}' ;;
    tools/list) answer '{"tools":[{"name":"ask","description":"asks","inputSchema":{"type":"object"}}]}' ;;
    tools/call)
      printf '{"jsonrpc":"2.0","id":900,"method":"elicitation/create","params":{"message":"Your name?","requestedSchema":{"type":"object","properties":{"name":{"type":"string","minLength":2}}}}}\n'
      call=$id
      IFS= read -r line
      id=$call
      answer "{\"content\":[{\"type\":\"text\",\"text\":\"$(of .result.action) $(of .result.content.name)\"}]}" ;;
  esac
done
"#;

#[test]
fn a_server_that_asks_is_answered_by_hooks_or_by_nobody() {
    let project = project();
    let config = in_bash("asking", ASKING, &[]);
    let ask = |args: &[&str]| {
        let id = format!("toolu_{}", args.len());
        let server = Server::start([
            Reply::new().call(&id, "mcp__asking__ask", json!({})),
            Reply::say("Done."),
        ])
        .unwrap();
        let ran = go(
            &project,
            &server,
            "go",
            &[&["--mcp-config", &config, "--allowedTools", "mcp__asking"], args].concat(),
        );
        assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
        assert!(last_asked(&server).contains("Ask before you leap."));
        result(&project, &id)
    };
    assert_eq!(ask(&[]), "decline ");
    let answer = json!({"hookSpecificOutput": {"hookEventName": "Elicitation", "action": "accept", "content": {"name": "Ada"}}});
    project.file("answer.json", answer.to_string());
    let changed = json!({"hookSpecificOutput": {"hookEventName": "ElicitationResult", "action": "accept", "content": {"name": "Grace"}}});
    project.file("changed.json", changed.to_string());
    let hooks = |events: &[(&str, &str)]| {
        let hook = |command: &str| json!([{"hooks": [{"type": "command", "command": command}]}]);
        let events: serde_json::Map<String, Value> =
            events.iter().map(|(event, command)| ((*event).to_owned(), hook(command))).collect();
        project.file(".claude/settings.json", json!({"hooks": events}).to_string());
    };
    hooks(&[("Elicitation", "cat answer.json")]);
    assert_eq!(ask(&["--trust"]), "accept Ada");
    project.file("short.json", answer.to_string().replace("Ada", "A"));
    hooks(&[("Elicitation", "cat short.json")]);
    assert_eq!(ask(&["--trust", "--max-turns", "9", "--verbose"]), "decline ", "it does not fit");
    hooks(&[("Elicitation", "cat answer.json"), ("ElicitationResult", "cat changed.json")]);
    assert_eq!(ask(&["--trust", "--max-turns", "9"]), "accept Grace");
    let by = project.sql(
        "SELECT json_extract(detail, '$.by') FROM events WHERE event_type = 'mcp.elicitation'",
    );
    assert_eq!(by, ["headless", "hook", "hook", "hook"]);
}

#[test]
fn a_server_that_asks_is_answered_at_the_terminal() {
    let project = project();
    let config = project.home().join(".config/ona");
    std::fs::create_dir_all(&config).unwrap();
    std::fs::write(config.join("mcp.json"), in_bash("asking", ASKING, &[])).unwrap();
    let call = json!({"tool": "mcp__asking__ask", "input": {}});
    // The call, then whether to answer, then the answer.
    let said = at_terminal(&project, &call, "y\ny\nA\nAda\n");
    assert!(said.contains("Your name?") && said.contains("accept Ada"), "{said}");
    assert!(said.contains("Expected text, at least 2 characters"), "{said}");
    let said = at_terminal(&project, &call, "y\nn\n");
    assert!(said.contains("decline"), "{said}");
    // In a turn as well.
    let server = Server::start([
        Reply::new().call("toolu_t", "mcp__asking__ask", json!({})),
        Reply::say("Done."),
    ])
    .unwrap();
    let mut child = project
        .command("script")
        .args(["-qec", &format!("{} -p go --ask", env!("CARGO_BIN_EXE_ona")), "/dev/null"])
        .env("ANTHROPIC_API_KEY", "sk-test-key-of-this-test")
        .env("ANTHROPIC_BASE_URL", server.base_url())
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    std::io::Write::write_all(&mut child.stdin.take().unwrap(), b"y\ny\nGrace\n").unwrap();
    let said = String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap();
    assert!(said.contains("Your name?") && said.contains("Done."), "{said}");
    assert_eq!(result(&project, "toolu_t"), "accept Grace");
}

#[test]
fn a_server_that_is_not_there_costs_nothing_but_its_tools() {
    let project = project();
    let config = json!({"mcpServers": {
        "gone": {"command": "/nowhere/at-all"},
        "silent": {"command": "sleep", "args": ["600"]},
    }})
    .to_string();
    let lists = Reply::new().call("toolu_l", "ListMcpResources", json!({}));
    let server = Server::start([lists, Reply::say("Done.")]).unwrap();
    let ran = run(anthropic(
        &project,
        &server,
        &["-p", "go", "--mcp-config", &config, "--output-format", "stream-json"],
    )
    .env("ONA_MCP_WAIT_MS", "200"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stderr.contains("MCP server gone is not connected"), "{}", ran.stderr);
    let init: Value = serde_json::from_str(ran.stdout.lines().next().unwrap()).unwrap();
    let servers = init["mcp_servers"].as_array().unwrap();
    assert!(servers.contains(&json!({"name": "silent", "status": "pending"})), "{init}");
    assert!(servers.contains(&json!({"name": "gone", "status": "failed"})), "{init}");
    let (listed, _) = told(&project, "toolu_l");
    assert!(listed.contains("The MCP server gone is not available"), "{listed}");
}

#[test]
fn an_agent_can_have_servers_of_its_own() {
    let project = project();
    let small: Value = serde_json::from_str(&small_server()).unwrap();
    let command = &small["mcpServers"]["Small"]["command"];
    project.file(
        ".claude/agents/greeter.md",
        format!("---\nname: greeter\ndescription: greets\nmcpServers:\n  - small:\n      command: {command}\n---\nGREETER\n"),
    );
    let server = Server::start([
        Reply::new().call("toolu_m", "mcp__small__greet", json!({"name": "nobody"})),
        Reply::new().call(
            "toolu_a",
            "Agent",
            json!({"description": "greet", "prompt": "HELP", "subagent_type": "greeter"}),
        ),
        Reply::new().call("toolu_g", "mcp__small__greet", json!({"name": "Ada"})),
        Reply::say("greeted"),
        Reply::say("done"),
    ])
    .unwrap();
    let ran = go(&project, &server, "go", &["--trust", "--allowedTools", "mcp__small"]);
    assert_eq!(ran.stdout, "done\n", "{}", ran.stderr);
    assert!(result(&project, "toolu_m").contains("unknown tool"), "it is the agent's");
    assert_eq!(result(&project, "toolu_g"), "Hello, Ada");
}

#[test]
fn rules_about_a_server_are_about_what_it_has_to_read() {
    let project = project();
    let config = small_server();
    let read = |id: &str, uri: &str, args: &[&str]| {
        let server = Server::start([
            Reply::new().call(id, "ReadMcpResource", json!({"server": "Small", "uri": uri})),
            Reply::say("done"),
        ])
        .unwrap();
        go(&project, &server, "go", &[&["--mcp-config", &config], args].concat());
        result(&project, id)
    };
    assert!(read("toolu_1", "small://motd", &[]).contains("message of the day"));
    let denied = read("toolu_2", "small://motd", &["--disallowedTools", "mcp__Small"]);
    assert!(denied.contains("denied"), "{denied}");
    let unlisted = read("toolu_3", "small://else", &[]);
    assert!(unlisted.contains("no user is available"), "{unlisted}");
    assert!(read("toolu_4", "small://else", &["--allowedTools", "mcp__small"]).contains("message"));
}

/// The frame of a server in bash: what it does with a call comes as `$1`, with `$id` and `answer` at hand. It has one
/// tool, whose name stands in `$tool`.
const SERVER: &str = r#"tool=first
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
    let config = in_bash("odd", SERVER, &[does]);
    let calls = tools.iter().enumerate().map(|(at, tool)| {
        Reply::new().call(&format!("toolu_{at}"), &format!("mcp__odd__{tool}"), json!({}))
    });
    let server = Server::start(calls.chain([Reply::say("Done.")]).collect::<Vec<_>>()).unwrap();
    let args = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__odd"];
    let ran = run(anthropic(project, &server, &args).envs(env.iter().copied()));
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "Done.\n"), "{}", ran.stderr);
    (server, ran)
}

/// What the model was told of a call, and whether as a failure.
fn told(project: &Project, id: &str) -> (String, bool) {
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
    assert_eq!(told(&project, "toolu_0"), ("the disk is on fire".to_owned(), true));
}

#[test]
fn a_server_that_dies_in_a_call_is_told_of_with_its_last_words() {
    let project = project();
    turn(&project, "echo 'out of cheese' >&2; exit 3", &["first"], &[]);
    let (content, failed) = told(&project, "toolu_0");
    assert!(failed && content.contains("odd"), "{content}");
}

#[test]
fn a_server_that_never_answers_is_given_up_after_its_time() {
    let project = project();
    turn(&project, ":", &["first"], &[("MCP_TOOL_TIMEOUT", "300")]);
    let (content, failed) = told(&project, "toolu_0");
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
    assert_eq!(told(&project, "toolu_0").0, "now it is second");
    assert_eq!(told(&project, "toolu_1"), ("now it is second".to_owned(), false));
    let (gone, failed) = told(&project, "toolu_2");
    assert!(failed && gone.contains("unknown tool `mcp__odd__first`"), "{gone}");
    assert!(gone.contains("mcp__odd__second"), "what there is instead is named: {gone}");
    let names = |at: usize| {
        let tools = server.requests()[at].body["tools"].as_array().unwrap().clone();
        tools.iter().any(|tool| tool["name"] == "mcp__odd__second")
    };
    assert_eq!([names(0), names(1)], [false, true]);
}

#[test]
fn what_a_server_was_given_in_secret_is_not_kept_with_its_answer() {
    let project = project();
    let long = "x".repeat(60_000);
    let does = format!(
        r#"answer "{{\"content\":[{{\"type\":\"text\",\"text\":\"$GIVEN {long} $GIVEN ghp_$(printf 'a1B2%.0s' 1 2 3 4 5 6 7 8 9)\"}}]}}""#
    );
    let mut config: Value = serde_json::from_str(&in_bash("odd", SERVER, &[&does])).unwrap();
    config["mcpServers"]["odd"]["env"] = json!({"GIVEN": "Given-in-secret"});
    let call = Reply::new().call("toolu_0", "mcp__odd__first", json!({}));
    let server = Server::start([call, Reply::say("Done.")]).unwrap();
    let config = config.to_string();
    let args = ["-p", "go", "--mcp-config", &config, "--allowedTools", "mcp__odd"];
    let ran = run(anthropic(&project, &server, &args).env("MAX_MCP_OUTPUT_TOKENS", "1000"));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let (content, failed) = told(&project, "toolu_0");
    assert!(!failed && content.starts_with("[REDACTED:live] x"), "{content}");
    let path = content.rsplit_once("the full text is in ").unwrap().1.trim_end_matches(')');
    let kept = std::fs::read_to_string(path).unwrap();
    assert!(kept.len() > 60_000 && kept.contains(" [REDACTED:live] [REDACTED:"), "{}", kept.len());
    assert!(!kept.contains("Given-in-secret") && !kept.contains("a1B2"));
}

#[test]
fn what_a_server_was_given_in_secret_is_not_said_when_it_fails() {
    let project = project();
    let fails = r#"echo "bad key $GIVEN and $1" >&2; exit 3"#;
    let config = json!({"mcpServers": {"odd": {
        "command": "bash", "args": ["-c", fails, "odd", "--api-key=0f-the-arguments"],
        "env": {"GIVEN": "Given-in-secret"},
    }}});
    project.file("servers.json", config.to_string());
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let turn =
        run(&mut anthropic(&project, &server, &["-p", "go", "--mcp-config", "servers.json"]));
    let args = ["--mcp-config=servers.json", "mcp", "reconnect", "odd", "--json"];
    let again = run(&mut anthropic(&project, &server, &args));
    for said in [turn.stderr, again.stderr, again.stdout] {
        assert!(said.contains("bad key [REDACTED:live] and --api-key=[REDACTED:live]"), "{said}");
    }
}

#[test]
fn fifty_megabytes_fill_neither_the_context_nor_the_record() {
    let project = project();
    let does = r#"
        printf '{"jsonrpc":"2.0","id":%s,"result":{"content":[{"type":"text","text":"' "$id"
        head -c 52428800 /dev/zero | tr '\0' x
        printf '"}]}}\n'"#;
    let (server, _) = turn(&project, does, &["first"], &[]);
    let (content, _) = told(&project, "toolu_0");
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
        let told = ran.stderr.matches(&format!("MCP server {name} is not connected")).count();
        assert_eq!(told, 1, "{name}: {}", ran.stderr);
    }
}

#[test]
fn a_server_that_outlives_a_killed_ona_is_ended_by_the_next_session() {
    let project = project();
    // It takes no notice of the end of its input.
    let stubborn = format!("echo $$ > {}; exec sleep 600", project.path("pid").display());
    let config = json!({"mcpServers": {"stubborn": {"command": "sh", "args": ["-c", stubborn]}}});
    let config = config.to_string();
    let server =
        Server::start([Reply::new().call("toolu_s", "Bash", json!({"command": "sleep 600"}))])
            .unwrap();
    let args = ["-p", "go", "--mcp-config", &config, "--allowedTools", "Bash(sleep *)"];
    let mut child =
        anthropic(&project, &server, &args).env("ONA_MCP_WAIT_MS", "1").spawn().unwrap();
    let since = std::time::Instant::now();
    let written = || std::fs::read_to_string(project.path("pid")).unwrap_or_default();
    while !written().ends_with('\n') || project.sql("SELECT count(*) FROM running_calls") != ["1"] {
        assert!(since.elapsed() < std::time::Duration::from_secs(60));
        std::thread::yield_now();
    }
    child.kill().unwrap();
    child.wait().unwrap();
    let stat = format!("/proc/{}/stat", written().trim());
    let lives = || std::fs::read_to_string(&stat).is_ok_and(|stat| !stat.contains(") Z "));
    assert!(lives(), "nobody has ended it yet");
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go on"]));
    assert_eq!(ran.stdout, "Done.\n", "{}", ran.stderr);
    assert!(!lives());
}
