//! `ona serve --mcp`, as a client sees it: JSON-RPC over a pipe, and over HTTP.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};

use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::project;

const INTENTS: &str = "\
active_intents:
  - id: INT-1
    name: Limits
    status: PLANNED # soon
    owned_scope: ['src/**', '!src/gen/**']
    constraints: [No new dependency]
    related_requirements: [REQ-7]
  - {id: INT-2, status: COMPLETED, owned_scope: ['**']}
  - {id: INT-3, status: IN_PROGRESS, owned_scope: ['docs/**']}
";

fn governed() -> Project {
    let project = project();
    assert_eq!(run(&mut project.ona(["init"])).code, Some(0));
    project.file(".orchestration/active_intents.yaml", INTENTS);
    project
}

/// A server, and the client's end of its pipes.
pub struct Server {
    pub child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Server {
    pub fn start(command: &mut Command) -> Self {
        let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = piped.spawn().unwrap();
        let (input, output) = (child.stdin.take(), BufReader::new(child.stdout.take().unwrap()));
        Self { child, input, output, next: 0 }
    }

    fn new(project: &Project, args: &[&str]) -> Self {
        Self::greeted(project.ona(["serve", "--mcp"]).args(args))
    }

    /// One that has been greeted.
    pub fn greeted(command: &mut Command) -> Self {
        let mut server = Self::start(command);
        let answer = server.request("initialize", &hello());
        assert_eq!(answer["result"]["serverInfo"]["name"], "ona", "{answer}");
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        server
    }

    pub fn send(&mut self, line: &str) {
        let input = self.input.as_mut().unwrap();
        input.write_all(line.as_bytes()).unwrap();
        input.write_all(b"\n").unwrap();
        input.flush().unwrap();
    }

    pub fn receive(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).unwrap();
        serde_json::from_str(&line).unwrap_or_else(|_| panic!("no JSON: {line:?}"))
    }

    pub fn ask(&mut self, method: &str, params: &Value) -> u64 {
        self.next += 1;
        let (id, next) = (self.next, self.next);
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        next
    }

    pub fn request(&mut self, method: &str, params: &Value) -> Value {
        let id = self.ask(method, params);
        let answer = self.receive();
        assert_eq!(answer["id"], id, "{answer}");
        answer
    }

    /// Calls a tool: what it says, and whether it is an error.
    #[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
    pub fn call(&mut self, tool: &str, arguments: Value) -> (String, bool) {
        let answer = self.request("tools/call", &json!({"name": tool, "arguments": arguments}));
        said(&answer)
    }

    /// A call that works; its answer as JSON.
    fn ok(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, is_error) = self.call(tool, arguments);
        assert!(!is_error, "{tool}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// A call that does not; its answer as JSON.
    fn refused(&mut self, tool: &str, arguments: Value) -> Value {
        let (text, is_error) = self.call(tool, arguments);
        assert!(is_error, "{tool}: {text}");
        serde_json::from_str(&text).unwrap()
    }

    /// Closes the client's end: the exit code, what is left on standard output, and standard error.
    pub fn close(mut self) -> (Option<i32>, String, String) {
        drop(self.input.take());
        self.end()
    }

    pub fn end(mut self) -> (Option<i32>, String, String) {
        let (mut out, mut err) = (String::new(), String::new());
        self.output.read_to_string(&mut out).unwrap();
        self.child.stderr.take().unwrap().read_to_string(&mut err).unwrap();
        (self.child.wait().unwrap().code(), out, err)
    }
}

impl Drop for Server {
    /// Nothing outlives a test, not even one that fails.
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

pub fn hello() -> Value {
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "t", "version": "0"}})
}

pub fn said(answer: &Value) -> (String, bool) {
    let result = &answer["result"];
    let text = result["content"][0]["text"].as_str().unwrap_or_else(|| panic!("{answer}"));
    (text.to_owned(), result["isError"] == true)
}

#[allow(clippy::needless_pass_by_value, reason = "callers write json!(…)")]
fn trace(project: &Project, entry: Value) {
    let path = project.path(".orchestration/agent_trace.jsonl");
    let before = std::fs::read_to_string(&path).unwrap_or_default();
    std::fs::write(path, format!("{before}{entry}\n")).unwrap();
}

#[test]
fn tools_are_listed_with_their_schemas() {
    let project = governed();
    let mut server = Server::new(&project, &[]);
    let listed = server.request("tools/list", &json!({}));
    let tools = listed["result"]["tools"].as_array().unwrap();
    let names: Vec<&str> = tools.iter().map(|tool| tool["name"].as_str().unwrap()).collect();
    assert_eq!(
        names,
        ["select_active_intent", "list_intents", "check_scope", "trace_recent", "blame"]
    );
    for tool in tools {
        assert_eq!(tool["inputSchema"]["type"], "object", "{tool}");
        assert_eq!(tool["inputSchema"]["additionalProperties"], false, "{tool}");
        assert!(tool["inputSchema"].get("$schema").is_none(), "{tool}");
    }
    assert_eq!(tools[0]["inputSchema"]["required"], json!(["intent_id"]));
    assert_eq!(tools[0]["annotations"]["readOnlyHint"], false);
    assert_eq!(tools[4]["annotations"]["readOnlyHint"], true);
    assert_eq!(server.close(), (Some(0), String::new(), String::new()));
    assert_eq!(
        project.sql("SELECT count(*) FROM sessions"),
        ["0"],
        "whom nobody asks leaves nothing"
    );
}

#[test]
fn selecting_begins_an_intent_and_is_kept_for_the_servers_session() {
    let project = governed();
    let mut server = Server::new(&project, &["--session", "sess_mine"]);
    let (context, is_error) = server.call("select_active_intent", json!({"intent_id": "INT-1"}));
    assert!(!is_error && context.starts_with("<intent_context>"), "{context}");
    assert!(
        context.contains("<path>src/**</path>") && context.contains("No new dependency"),
        "{context}"
    );
    assert!(
        project
            .content(".orchestration/active_intents.yaml")
            .contains("status: IN_PROGRESS # soon")
    );
    assert_eq!(
        project.sql("SELECT workspace, session_id, intent_id, selected_by FROM selected_intents"),
        [format!("{}|sess_mine|INT-1|agent", project.dir().display())]
    );
    assert_eq!(project.sql("SELECT session_id, origin FROM session_info"), ["sess_mine|mcp"]);
    assert_eq!(
        project.sql("SELECT count(*) FROM events WHERE event_type = 'intent.selected'"),
        ["1"]
    );
    let listed = server.ok("list_intents", json!({}));
    assert_eq!(listed["selected"], "INT-1");
    let row = |at: usize| {
        let row = &listed["intents"][at];
        (row["id"].as_str().unwrap(), row["status"].as_str().unwrap(), row["selectable"] == true)
    };
    assert_eq!((row(0), row(1)), (("INT-1", "IN_PROGRESS", true), ("INT-2", "COMPLETED", false)));
    // Another session's choice is another's.
    server.call("select_active_intent", json!({"intent_id": "INT-3", "session": "host-7"}));
    assert_eq!(
        project.sql("SELECT session_id, intent_id FROM selected_intents ORDER BY session_id"),
        ["host-7|INT-3", "sess_mine|INT-1"]
    );
    // What ona's own sessions work for is not to be had by naming them.
    project.ok("Glob", json!({"pattern": "*"}));
    let own = project.sql("SELECT session_id FROM sessions WHERE session_id <> 'sess_mine'");
    let refused =
        server.call("select_active_intent", json!({"intent_id": "INT-3", "session": own[0]}));
    assert!(refused.0.contains("does not belong to an agent") && refused.1, "{refused:?}");
    assert_eq!(server.close().0, Some(0));
    // The same session goes on in the next server.
    let mut server = Server::new(&project, &["--session", "sess_mine"]);
    assert_eq!(server.ok("list_intents", json!({}))["selected"], "INT-1");
    server.call("select_active_intent", json!({"intent_id": "INT-3"}));
    assert_eq!(server.ok("list_intents", json!({}))["selected"], "INT-3");
}

#[test]
fn refusals_are_the_gates_own() {
    let project = governed();
    let mut server = Server::new(&project, &[]);
    let select = |server: &mut Server, id: &str| {
        server.refused("select_active_intent", json!({"intent_id": id}))
    };
    let refusal = select(&mut server, "INT-9");
    assert_eq!((&refusal["status"], &refusal["type"]), (&json!("error"), &json!("invalid_intent")));
    assert_eq!(refusal["available_intents"], json!(["INT-1", "INT-3"]));
    assert_eq!(select(&mut server, "INT-2")["type"], "intent_inactive");
    project.file(".orchestration/.intentignore", "INT-3\n");
    assert_eq!(select(&mut server, "INT-3")["type"], "intent_blocked");
    assert_eq!(
        server.refused("check_scope", json!({"paths": ["src/a"]}))["type"],
        "intent_required"
    );
    project.file(".orchestration/active_intents.yaml", "active_intents: [\n");
    assert_eq!(select(&mut server, "INT-1")["type"], "intent_parse_failed");
    std::fs::remove_dir_all(project.path(".orchestration")).unwrap();
    assert_eq!(select(&mut server, "INT-1")["type"], "missing_intents");
    assert_eq!(server.refused("list_intents", json!({}))["type"], "missing_intents");
    for arguments in [json!({}), json!({"intent_id": 5}), json!({"intent_id": "INT-1", "more": 1})]
    {
        let refusal = server.refused("select_active_intent", arguments);
        assert_eq!(refusal["type"], "invalid_arguments", "{refusal}");
    }
    assert_eq!(project.sql("SELECT count(*) FROM selected_intents"), ["0"]);
}

#[test]
fn the_scope_of_paths_is_told_beforehand() {
    let project = governed();
    project.file(".orchestration/.intentignore", "src/secret/**\n");
    std::os::unix::fs::symlink("/etc", project.path("etc")).unwrap();
    let mut server = Server::new(&project, &[]);
    let paths = [
        "src/a.rs",
        "src/gen/b.rs",
        "docs/x",
        "src/../docs/x",
        "src/secret/k",
        "../x",
        "etc/passwd",
    ];
    let found = server.ok("check_scope", json!({"paths": paths, "intent_id": "INT-1"}));
    assert_eq!(found["all_in_scope"], false);
    let rows = found["paths"].as_array().unwrap();
    assert_eq!(
        rows[0],
        json!({"path": "src/a.rs", "in_scope": true, "file": "src/a.rs", "pattern": "src/**"})
    );
    let kinds: Vec<&str> = rows[1..].iter().map(|row| row["type"].as_str().unwrap()).collect();
    assert_eq!(
        kinds,
        [
            "scope_violation",
            "scope_violation",
            "scope_violation",
            "path_blocked",
            "scope_violation",
            "scope_violation"
        ]
    );
    assert!(rows[1]["message"].as_str().unwrap().contains("excludes it"), "{}", rows[1]);
    server.call("select_active_intent", json!({"intent_id": "INT-3"}));
    let found = server.ok("check_scope", json!({"paths": ["docs/a.md"]}));
    assert_eq!((&found["intent_id"], &found["all_in_scope"]), (&json!("INT-3"), &json!(true)));
    assert!(!project.path("docs").exists(), "asking makes nothing");
    assert_eq!(server.refused("check_scope", json!({"paths": []}))["type"], "invalid_arguments");
}

#[test]
fn trace_and_blame_tell_what_is_on_the_trace() {
    let project = governed();
    let entry = |id: &str, intent: &str, file: &str, range: Value| {
        json!({
            "id": id, "timestamp": "2026-05-02T09:14:03.120Z", "intent_id": intent, "session_id": "s",
            "tool_name": "Edit", "mutation_class": "BUG_FIX", "success": true,
            "file": {"relative_path": file, "pre_hash": null, "post_hash": null},
            "related_requirements": ["REQ-7"],
            "modified_ranges": [{"file": file, "old_range": {"start_line": 1, "end_line": 0}, "new_range": range,
                "content_hash": content_hash("two\nthree")}],
        })
    };
    let range = json!({"start_line": 2, "end_line": 3});
    trace(&project, entry("e1", "INT-1", "src/a.rs", range.clone()));
    trace(&project, json!("nonsense"));
    trace(&project, entry("e2", "INT-3", "docs/b.md", range));
    project.file("src/a.rs", "one\ntwo\nthree\nfour\n");
    let mut server = Server::new(&project, &[]);
    let ids = |found: &Value| -> Vec<String> {
        let entries = found["entries"].as_array().unwrap().iter();
        entries.map(|entry| entry["id"].as_str().unwrap().to_owned()).collect()
    };
    assert_eq!(ids(&server.ok("trace_recent", json!({}))), ["e1", "e2"]);
    assert_eq!(ids(&server.ok("trace_recent", json!({"limit": 1}))), ["e2"]);
    assert_eq!(ids(&server.ok("trace_recent", json!({"intent_id": "INT-1"}))), ["e1"]);
    let found = server.ok("trace_recent", json!({"file": "./src/../src/a.rs"}));
    assert_eq!(ids(&found), ["e1"]);
    assert_eq!(found["entries"][0]["mutation_class"], "BUG_FIX");
    assert_eq!(found["entries"][0]["files"], json!(["src/a.rs"]));
    let found = server.ok("blame", json!({"file": "src/a.rs"}));
    assert_eq!(found["lines"], 4);
    let stretches = found["stretches"].as_array().unwrap();
    let ranges: Vec<(u64, u64)> = stretches
        .iter()
        .map(|row| (row["start_line"].as_u64().unwrap(), row["end_line"].as_u64().unwrap()))
        .collect();
    assert_eq!(ranges, [(1, 1), (2, 3), (4, 4)], "{found}");
    assert!(stretches[0]["unknown"].is_string(), "{found}");
    assert_eq!(stretches[1]["intent_id"], "INT-1");
    assert_eq!(stretches[1]["related_requirements"], json!(["REQ-7"]));
    let found = server.ok("blame", json!({"file": project.path("src/a.rs"), "line": 3}));
    assert_eq!(found["stretches"].as_array().unwrap().len(), 1);
    assert_eq!(found["stretches"][0]["start_line"], 3);
    for arguments in [
        json!({"file": "src/a.rs", "line": 9}),
        json!({"file": "src/a.rs", "line": 3, "end_line": 2}),
        json!({"file": "/etc/passwd"}),
    ] {
        assert_eq!(server.refused("blame", arguments)["type"], "invalid_arguments");
    }
    assert_eq!(server.refused("blame", json!({"file": "src"}))["type"], "unreadable");
    assert_eq!(server.refused("blame", json!({"file": "gone"}))["type"], "unreadable");
}

fn content_hash(text: &str) -> String {
    let mut child =
        Command::new("sha256sum").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(text.as_bytes()).unwrap();
    let output = child.wait_with_output().unwrap();
    format!("sha256:{}", &String::from_utf8(output.stdout).unwrap()[..64])
}

#[test]
fn nonsense_does_not_end_it() {
    let project = governed();
    let mut server = Server::start(&mut project.ona(["serve", "--mcp"]));
    // Before the handshake: no JSON at all, and a request that comes too early.
    server.send("hello?");
    assert_eq!(server.receive()["error"]["code"], -32700);
    let early = server.request("tools/list", &json!({}));
    assert!(early["error"].is_object(), "{early}");
    assert!(server.request("initialize", &hello())["result"].is_object());
    server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
    server.send("{\"jsonrpc\": \"2.0\", \"id\": ");
    assert_eq!(server.receive()["error"]["code"], -32700);
    server.send("[1, 2, 3]");
    assert_eq!(server.receive()["error"]["code"], -32600);
    let unknown = server.request("tools/call", &json!({"name": "rm", "arguments": {}}));
    assert!(
        unknown["error"]["message"].as_str().unwrap().contains("unknown tool `rm`"),
        "{unknown}"
    );
    assert_eq!(server.request("no/such", &json!({}))["error"]["code"], -32601);
    // More than anybody asks for is not taken in.
    server.send(&json!({"jsonrpc": "2.0", "id": 0, "method": "tools/list", "params": {"x": "y".repeat(5 << 20)}}).to_string());
    assert_eq!(server.ok("list_intents", json!({}))["intents"].as_array().unwrap().len(), 3);
    let (code, out, err) = server.close();
    assert_eq!((code, out.as_str(), err.as_str()), (Some(0), "", ""));
}

#[test]
fn calls_beside_each_other_are_all_answered() {
    let project = governed();
    let mut server = Server::new(&project, &[]);
    let mut asked: Vec<u64> = (0..40)
        .map(|at| {
            let call = match at % 3 {
                0 => json!({"name": "select_active_intent", "arguments": {"intent_id": "INT-1"}}),
                1 => json!({"name": "check_scope", "arguments": {"paths": ["src/a"], "intent_id": "INT-1"}}),
                _ => json!({"name": "trace_recent", "arguments": {}}),
            };
            server.ask("tools/call", &call)
        })
        .collect();
    for _ in 0..40 {
        let answer = server.receive();
        assert!(!said(&answer).1, "{answer}");
        asked.retain(|id| answer["id"] != *id);
    }
    assert_eq!(asked, [0_u64; 0]);
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["1"]);
}

#[test]
fn it_ends_well_with_its_client_and_by_a_signal() {
    let project = governed();
    // Before a word was said.
    let server = Server::start(&mut project.ona(["serve", "--mcp"]));
    assert_eq!(server.close(), (Some(0), String::new(), String::new()));
    for name in ["INT", "TERM", "HUP"] {
        let server = Server::new(&project, &[]);
        let pid = server.child.id().to_string();
        run(Command::new("kill").args(["-s", name, &pid]));
        assert_eq!(server.end(), (Some(0), String::new(), String::new()), "{name}");
    }
    for args in
        [&["serve"][..], &["serve", "--mcp", "--port", "x"], &["serve", "--mcp", "--session", ""]]
    {
        assert_eq!(run(&mut project.ona(args)).code, Some(2), "{args:?}");
    }
}

/// A server on a port of its own.
pub struct Http {
    pub server: Server,
    pub port: u16,
}

impl Http {
    fn start(project: &Project) -> Self {
        Self::started(&mut project.ona(["serve", "--mcp", "--port", "0"]))
    }

    /// One that says where it listens.
    pub fn started(command: &mut Command) -> Self {
        let mut server = Server::start(command);
        let mut said = BufReader::new(server.child.stderr.take().unwrap());
        let mut line = String::new();
        said.read_line(&mut line).unwrap();
        let port = line.trim_end().strip_prefix("listening on http://127.0.0.1:").unwrap();
        let port = port.strip_suffix("/mcp").unwrap().parse().unwrap();
        server.child.stderr = Some(said.into_inner());
        Self { server, port }
    }

    /// Where it listens.
    pub fn address(&self) -> String {
        format!("http://127.0.0.1:{}/mcp", self.port)
    }

    /// Posts a message: the status, and the body.
    pub fn post(&self, path: &str, headers: &[(&str, &str)], body: &str) -> (u16, String) {
        let mut answer = String::new();
        let _ = self.posted(path, headers, body).read_to_string(&mut answer);
        let status =
            answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer}")).parse().unwrap();
        (status, answer.split_once("\r\n\r\n").unwrap().1.to_owned())
    }

    /// Says hello: the name of the session.
    pub fn session(&self) -> String {
        let first = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()});
        let mut answer = String::new();
        self.posted("/mcp", &[], &first.to_string()).read_to_string(&mut answer).unwrap();
        let named = answer.lines().find_map(|line| line.strip_prefix("mcp-session-id: "));
        named.unwrap_or_else(|| panic!("{answer}")).to_owned()
    }

    /// Posts a message, and does not wait for an answer.
    pub fn posted(&self, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(("127.0.0.1", self.port)).unwrap();
        let host = format!("127.0.0.1:{}", self.port);
        let mut all = vec![
            ("Host", host.as_str()),
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
            ("Connection", "close"),
        ];
        for (name, value) in headers {
            all.retain(|(known, _)| known != name);
            all.push((name, value));
        }
        let mut request = format!("POST {path} HTTP/1.1\r\nContent-Length: {}\r\n", body.len());
        for (name, value) in all {
            request.push_str(&format!("{name}: {value}\r\n"));
        }
        // A server that has heard enough may close before everything was sent.
        let _ = stream.write_all(format!("{request}\r\n{body}").as_bytes());
        stream
    }

    pub fn call(&self, headers: &[(&str, &str)], tool: &str, arguments: &Value) -> (u16, String) {
        let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
            "params": {"name": tool, "arguments": arguments}});
        self.post("/mcp", headers, &call.to_string())
    }
}

#[test]
fn over_http_the_same_tools_answer() {
    let project = governed();
    let http = Http::start(&project);
    let first = json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": hello()});
    let (status, body) = http.post("/mcp", &[], &first.to_string());
    assert_eq!(status, 200, "{body}");
    assert!(body.contains("\"serverInfo\""), "{body}");
    let (status, body) =
        http.call(&[], "select_active_intent", &json!({"intent_id": "INT-1", "session": "h"}));
    let answer: Value = serde_json::from_str(&body).unwrap_or_else(|_| panic!("{status} {body}"));
    assert!(said(&answer).0.starts_with("<intent_context>"), "{answer}");
    assert_eq!(project.sql("SELECT session_id, intent_id FROM selected_intents"), ["h|INT-1"]);
    let (_, body) = http.call(&[], "check_scope", &json!({"paths": ["src/a"], "session": "h"}));
    assert!(body.contains("\\\"all_in_scope\\\":true"), "{body}");
    std::thread::scope(|scope| {
        for _ in 0..8 {
            scope.spawn(|| assert_eq!(http.call(&[], "list_intents", &json!({})).0, 200));
        }
    });
    run(Command::new("kill").args(["-s", "INT", &http.server.child.id().to_string()]));
    assert_eq!(http.server.end(), (Some(0), String::new(), String::new()));
}

#[test]
fn no_web_page_and_no_other_name_gets_through() {
    let project = governed();
    let http = Http::start(&project);
    let call = |headers: &[(&str, &str)]| http.call(headers, "list_intents", &json!({})).0;
    let own = format!("http://127.0.0.1:{}", http.port);
    assert_eq!(call(&[]), 200);
    assert_eq!(call(&[("Origin", &own)]), 200);
    for headers in [
        ("Host", "evil.example"),
        ("Host", "127.0.0.1:1"),
        ("Origin", "https://evil.example"),
        ("Origin", "http://localhost:1"),
        ("Origin", "null"),
    ] {
        assert_eq!(call(&[headers]), 403, "{headers:?}");
    }
    assert_eq!(http.post("/", &[], "{}").0, 404);
    assert_eq!(http.post("/mcp", &[], "{").0 / 100, 4);
    assert_eq!(http.post("/mcp", &[], &"x".repeat(5 << 20)).0, 413);
    assert_eq!(call(&[]), 200, "it goes on");
    let pid = http.server.child.id().to_string();
    run(Command::new("kill").arg(&pid));
    assert_eq!(http.server.end().0, Some(0));
}

#[test]
fn a_port_that_is_taken_is_said_so() {
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let project = governed();
    let ran = run(&mut project.ona(["serve", "--mcp", "--port", &port]));
    assert_eq!(ran.code, Some(1));
    assert!(ran.stderr.contains(&format!("is port {port} in use?")), "{}", ran.stderr);
}
