//! Servers that listen with HTTP+SSE, as protocol 2024-11-05 has it.

use std::sync::{Arc, Mutex};

use hyper::Request;
use hyper::body::Incoming;
use ona_mcp::{ElicitAnswer, McpError, Remote, ServerSpec, ServerState, Way};
use serde_json::{Value, json};
use tokio::sync::mpsc;

use crate::web::{answer, body, empty, events, listen};
use crate::{Answers, call, failure, quick, said, settled, settled_with, spec, state, until};

type Stream = Arc<Mutex<Option<mpsc::UnboundedSender<String>>>>;

/// A server. What it is asked comes by posts, what it says goes by its one stream.
async fn serve(stream: Stream) -> String {
    listen(move |request: Request<Incoming>| {
        let stream = Arc::clone(&stream);
        async move {
            let say = |said: String| {
                let _ = stream.lock().unwrap().as_ref().unwrap().send(said);
            };
            match (request.method().as_str(), request.uri().path()) {
                ("GET", "/sse") => {
                    let (sender, receiver) = mpsc::unbounded_channel();
                    sender.send("event: endpoint\r\ndata: /post?session=1\r\n\r\n".into()).unwrap();
                    *stream.lock().unwrap() = Some(sender);
                    events(receiver)
                }
                ("POST", "/post") if request.uri().query() == Some("session=1") => {
                    let message: Value = serde_json::from_slice(&body(request).await).unwrap();
                    if message["params"]["name"] == "garbled" {
                        say("data: ready\n\ndata: {\"jsonrpc\":\"2.0\",oops\n\n".to_owned());
                    } else if let Some(said) = reply(&message) {
                        say(format!(": a comment\n\nevent: message\ndata: {said}\n\n"));
                    }
                    if message["params"]["name"] == "leave" {
                        stream.lock().unwrap().take();
                    }
                    empty(202)
                }
                _ => empty(404),
            }
        }
    })
    .await
}

/// What the server says to a message.
fn reply(message: &Value) -> Option<Value> {
    let text = |said: &str| json!({"content": [{"type": "text", "text": said}]});
    let params = &message["params"];
    let given = params["arguments"]["text"].as_str().unwrap_or_default();
    let result = match message["method"].as_str() {
        // The answer to its own question, which it was called for as request 2 or later.
        None => {
            let call = message["id"].as_str()?.parse::<u64>().ok()?;
            return Some(json!({
                "jsonrpc": "2.0", "id": call, "result": text(&message["result"].to_string()),
            }));
        }
        Some("initialize") => json!({
            "protocolVersion": "2024-11-05", "capabilities": {"tools": {}},
            "serverInfo": {"name": "old", "version": "1"},
        }),
        Some("tools/list") => {
            let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["echo", "big", "ask", "leave", "garbled"].map(tool);
            json!({ "tools": tools })
        }
        Some("tools/call") => match params["name"].as_str()? {
            "big" => text(&"x".repeat(given.parse::<usize>().unwrap() << 20)),
            "ask" => {
                return Some(json!({
                    "jsonrpc": "2.0", "id": message["id"].to_string(), "method": "elicitation/create",
                    "params": {
                        "message": "Well?", "requestedSchema": {"type": "object", "properties": {}},
                    },
                }));
            }
            "leave" => return None,
            _ => text(given),
        },
        _ => return None,
    };
    Some(json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

fn at(name: &str, url: String) -> ServerSpec {
    spec(name, Way::Sse(Remote { url, ..Remote::default() }))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_is_asked_and_asks() {
    let url = format!("{}/sse", serve(Stream::default()).await);
    let callbacks = Answers::with(ElicitAnswer::Decline);
    let pool = settled_with(vec![at("s", url)], callbacks, quick()).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected, "{:?}", pool.statuses());
    assert_eq!(said(&pool, "echo", "hello").await, "hello");
    assert_eq!(said(&pool, "ask", "").await, r#"{"action":"decline"}"#);
    let flooded = call(&pool, "big", "50").await.unwrap_err();
    assert!(matches!(flooded, McpError::TooLarge { .. }), "{flooded}");
    assert_eq!(said(&pool, "big", "1").await.len(), 1 << 20);
    let unread = call(&pool, "garbled", "").await.unwrap_err();
    assert!(matches!(unread, McpError::NoAnswer { .. }), "{unread}");
    assert_eq!(said(&pool, "echo", "still there").await, "still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_ends_is_opened_again() {
    let url = format!("{}/sse", serve(Stream::default()).await);
    let pool = settled(vec![at("s", url)]).await;
    let version = pool.version();
    let broken = call(&pool, "leave", "").await.unwrap_err();
    assert!(matches!(broken, McpError::NotConnected { .. }), "{broken}");
    until(&pool, |pool| pool.version() > version && state(pool, "s") == ServerState::Connected)
        .await;
    assert_eq!(said(&pool, "echo", "back").await, "back");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_stream_is_reported() {
    let elsewhere = listen(|_| async {
        let said = "event: endpoint\ndata: http://example.com/post\n\n";
        answer(200, "text/event-stream", said)
    });
    let silent = listen(|_| async { answer(200, "text/event-stream", "data: hello\n\n") });
    let page = listen(|_| async { answer(200, "text/html", "<html>") });
    let closed = listen(|_| async { answer(403, "text/plain", "not for you") });
    let pool = settled(vec![
        at("elsewhere", elsewhere.await),
        at("silent", silent.await),
        at("page", page.await),
        at("closed", closed.await),
    ])
    .await;
    for (name, part) in [
        ("elsewhere", "http://example.com/post"),
        ("silent", "before it named"),
        ("page", "text/html"),
        ("closed", "not for you"),
    ] {
        let why = failure(&pool, name);
        assert!(why.contains(part), "{name}: {why}");
    }
}
