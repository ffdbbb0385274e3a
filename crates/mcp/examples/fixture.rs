//! A small MCP server for tests, by stdio: JSON-RPC written by hand, so that it can also do what no library would.
//!
//! Its arguments say how it misbehaves; without any it is a good server.
#![allow(clippy::print_stdout, clippy::print_stderr, reason = "a server speaks on its output")]
#![allow(clippy::disallowed_methods, reason = "it is a program of its own")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "it is a test")]

use std::collections::HashMap;
use std::io::{self, BufRead as _, Write as _};
use std::process::{Command, exit};
use std::{env, fs, thread, time::Duration};

use serde_json::{Value, json};

/// Tools on one page.
const PAGE: usize = 5;

#[derive(Default)]
struct Server {
    /// Calls that wait for an answer of the client's, by the id of what it was asked.
    waiting: HashMap<String, Value>,
    /// What the client has cancelled.
    cancelled: usize,
    renamed: bool,
    endless: bool,
    /// Some of its tools are none.
    odd: bool,
    /// Its answer to the greeting cannot be read.
    garbled: bool,
    next: usize,
}

fn main() {
    let mut server = Server::default();
    let mut stubborn = false;
    let mut args = env::args().skip(1);
    while let Some(arg) = args.next() {
        match arg.as_str() {
            "--die" => die(),
            "--die-if" if fs::exists(args.next().unwrap()).unwrap() => die(),
            "--die-if" => {}
            "--hang" => sleep(),
            "--nonsense" => println!("Usage: not a server"),
            "--flood" => println!("{}", "x".repeat(50 << 20)),
            "--stubborn" => stubborn = true,
            "--endless" => server.endless = true,
            "--odd" => server.odd = true,
            "--garbled" => server.garbled = true,
            // A child of its own, in the same group.
            "--child" => {
                let mut child = Command::new("sleep").arg("3600").spawn().unwrap();
                fs::write(args.next().unwrap(), child.id().to_string()).unwrap();
                thread::spawn(move || child.wait());
            }
            "--deaf" => {
                io::stdin().lines().for_each(drop);
                return;
            }
            other => panic!("{other}"),
        }
    }
    for line in io::stdin().lock().lines() {
        let message: Value = serde_json::from_str(&line.unwrap()).unwrap();
        server.hear(&message);
    }
    if stubborn {
        sleep();
    }
}

fn sleep() -> ! {
    loop {
        thread::sleep(Duration::from_secs(3600));
    }
}

fn die() -> ! {
    eprintln!("cannot open the treasure chest");
    exit(3);
}

fn say(message: &Value) {
    let mut out = io::stdout().lock();
    writeln!(out, "{message}").unwrap();
    out.flush().unwrap();
}

fn notify(method: &str, params: &Value) {
    say(&json!({"jsonrpc": "2.0", "method": method, "params": params}));
}

fn answer(id: &Value, result: &Value) {
    say(&json!({"jsonrpc": "2.0", "id": id, "result": result}));
}

/// Deeper than any reader follows.
fn deep() -> String {
    format!("{}{}", "[".repeat(100_000), "]".repeat(100_000))
}

fn text(id: &Value, text: &str) {
    answer(id, &json!({"content": [{"type": "text", "text": text}]}));
}

impl Server {
    fn hear(&mut self, message: &Value) {
        let (id, params) = (&message["id"], &message["params"]);
        match message["method"].as_str() {
            Some("initialize") if self.garbled => {
                println!(r#"{{"jsonrpc":"2.0","id":{id},"result":{}}}"#, deep());
            }
            Some("initialize") => answer(
                id,
                &json!({
                    "protocolVersion": params["protocolVersion"],
                    "capabilities": {
                        "tools": {"listChanged": true}, "prompts": {}, "resources": {},
                    },
                    "serverInfo": {"name": "fixture", "title": "Fixture", "version": "1.2"},
                    "instructions": "i".repeat(5000),
                }),
            ),
            Some("tools/list") => self.list(id, params),
            Some("tools/call") => self.call(id, params),
            Some("prompts/list") => answer(
                id,
                &json!({"prompts": [{
                    "name": "greet", "description": "Says hello",
                    "arguments": [{"name": "who", "description": "whom", "required": true}],
                }]}),
            ),
            Some("prompts/get") => answer(
                id,
                &json!({"messages": [
                    {"role": "user", "content": {
                        "type": "text",
                        "text": format!("Say hello to {}", params["arguments"]["who"].as_str().unwrap()),
                    }},
                    {"role": "assistant", "content": {"type": "text", "text": "Hello"}},
                ]}),
            ),
            Some("resources/list") => answer(
                id,
                &json!({"resources": [
                    {"uri": "memo://1", "name": "one", "mimeType": "text/plain", "size": 3},
                    {"uri": "memo://2", "name": "two"},
                ]}),
            ),
            Some("resources/templates/list") => answer(
                id,
                &json!({"resourceTemplates": [{"uriTemplate": "memo://{number}", "name": "memos"}]}),
            ),
            Some("resources/read") => match params["uri"].as_str() {
                Some("memo://1") => answer(
                    id,
                    &json!({"contents": [{"uri": "memo://1", "mimeType": "text/plain", "text": "one"}]}),
                ),
                Some("memo://2") => {
                    answer(id, &json!({"contents": [{"uri": "memo://2", "blob": "AAEC"}]}));
                }
                _ => say(&json!({
                    "jsonrpc": "2.0", "id": id,
                    "error": {"code": -32002, "message": "there is no such memo"},
                })),
            },
            Some("notifications/cancelled") => self.cancelled += 1,
            Some("notifications/roots/list_changed") => {
                let call = json!(null);
                self.ask("roots/list", &json!({}), &call);
            }
            Some(_) if id.is_null() => {}
            Some(_) => say(&json!({
                "jsonrpc": "2.0", "id": id, "error": {"code": -32601, "message": "no such method"},
            })),
            // An answer of the client's.
            None => {
                let call = self.waiting.remove(id.as_str().unwrap_or_default());
                let said = message.get("result").unwrap_or(&message["error"]).to_string();
                match call {
                    Some(Value::Null) => eprintln!("roots: {said}"),
                    Some(call) => text(&call, &said),
                    None => {}
                }
            }
        }
    }

    fn ask(&mut self, method: &str, params: &Value, call: &Value) {
        self.next += 1;
        let id = format!("ask-{}", self.next);
        say(&json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}));
        self.waiting.insert(id, call.clone());
    }

    fn tools(&self) -> Vec<Value> {
        let mut names = vec![
            "echo",
            "fail",
            "shapes",
            "slow",
            "cancelled",
            "steps",
            "ask",
            "ask_page",
            "roots",
            "rename",
            "big",
            "die",
            "where",
            "deaf",
            "deep",
            "garbled",
            "chatty",
        ];
        if self.renamed {
            names[0] = "echo_2";
        }
        let tool = |name: &&str| {
            json!({
                "name": name,
                "description": "d".repeat(if *name == "fail" { 5000 } else { 3 }),
                "inputSchema": {"type": "object", "properties": {"text": {"type": "string"}}},
                "annotations": {"readOnlyHint": name.starts_with("echo"), "title": "A tool"},
                "_meta": {"anthropic/maxResultSizeChars": if *name == "big" { 9_000_000 } else { 1000 }},
            })
        };
        let mut tools: Vec<Value> = names.iter().map(tool).collect();
        if self.odd {
            let schema = json!({"type": "object"});
            tools.insert(0, json!({"name": "bare", "description": "It has no schema"}));
            tools.insert(2, json!({"name": "listed", "inputSchema": [schema]}));
            tools.push(json!({"name": 5, "inputSchema": schema}));
            tools.push(json!({"name": "", "inputSchema": schema}));
            tools.push(json!({"name": "echo", "inputSchema": schema}));
            tools.push(json!("tool"));
        }
        tools
    }

    fn list(&self, id: &Value, params: &Value) {
        let tools = self.tools();
        let at: usize = params["cursor"].as_str().map_or(0, |at| at.parse().unwrap());
        if self.endless {
            let more = json!({"name": format!("tool_{at}"), "inputSchema": {"type": "object"}});
            return answer(id, &json!({"tools": [more], "nextCursor": (at + 1).to_string()}));
        }
        let page = &tools[at..tools.len().min(at + PAGE)];
        match at + PAGE < tools.len() {
            true => answer(id, &json!({"tools": page, "nextCursor": (at + PAGE).to_string()})),
            false => answer(id, &json!({"tools": page})),
        }
    }

    fn call(&mut self, id: &Value, params: &Value) {
        let arguments = &params["arguments"];
        match params["name"].as_str().unwrap() {
            "echo" | "echo_2" => text(id, arguments["text"].as_str().unwrap_or_default()),
            "fail" => answer(
                id,
                &json!({"content": [{"type": "text", "text": "it did not work"}], "isError": true}),
            ),
            "shapes" => answer(
                id,
                &json!({
                    "content": [
                        {"type": "text", "text": "t"},
                        {"type": "image", "data": "AAEC", "mimeType": "image/png"},
                        {"type": "audio", "data": "AAEC", "mimeType": "audio/wav"},
                        {"type": "resource", "resource": {"uri": "memo://1", "text": "one"}},
                        {"type": "resource_link", "uri": "memo://2", "name": "two"},
                    ],
                    "structuredContent": {"answer": 42},
                }),
            ),
            // Never answered.
            "slow" => {}
            "deaf" => sleep(),
            "cancelled" => text(id, &self.cancelled.to_string()),
            "steps" => {
                let token = &params["_meta"]["progressToken"];
                for (step, message) in [(1, "one"), (2, "two"), (1, "back"), (3, "three")] {
                    notify(
                        "notifications/progress",
                        &json!({
                            "progressToken": token, "progress": step, "total": 3, "message": message,
                        }),
                    );
                }
                text(id, "done");
            }
            "ask" => self.ask(
                "elicitation/create",
                &json!({
                    "message": "Which colour?",
                    "requestedSchema": {
                        "type": "object", "properties": {"colour": {"type": "string"}},
                    },
                }),
                id,
            ),
            "ask_page" => self.ask(
                "elicitation/create",
                &json!({
                    "mode": "url", "message": "Sign here", "url": arguments["text"],
                    "elicitationId": "e1",
                }),
                id,
            ),
            "roots" => self.ask("roots/list", &json!({}), id),
            "rename" => {
                self.renamed = true;
                for _ in 0..100 {
                    notify("notifications/tools/list_changed", &json!({}));
                }
                text(id, "renamed");
            }
            "big" => {
                let megabytes: usize = arguments["text"].as_str().unwrap().parse().unwrap();
                let long = "x".repeat(megabytes << 20);
                println!(
                    r#"{{"jsonrpc":"2.0","id":{id},"result":{{"content":[{{"type":"text","text":"{long}"}}]}}}}"#
                );
            }
            "deep" => println!(r#"{{"jsonrpc":"2.0","result":{},"id":{id}}}"#, deep()),
            // Nobody can tell which request it answers.
            "garbled" => println!("{}", deep()),
            "chatty" => {
                println!(
                    "[2026-01-01] INFO called\n{{\"level\":30,\"id\":{id},\"msg\":\"called\"}}\n{{oops"
                );
                text(id, "done");
            }
            "die" => die(),
            "where" => {
                let directory = env::current_dir().unwrap();
                let marked = env::var("FIXTURE").unwrap_or_default();
                text(id, &format!("{} {marked}", directory.display()));
            }
            other => say(&json!({
                "jsonrpc": "2.0", "id": id,
                "error": {"code": -32602, "message": format!("there is no tool {other}")},
            })),
        }
    }
}
