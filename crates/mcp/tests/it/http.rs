//! Servers that listen with streamable HTTP: the library's own, and some that misbehave.

use std::borrow::Cow;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use hyper::Request;
use hyper::body::Incoming;
use ona_mcp::{ElicitAnswer, McpError, PoolOptions, Remote, Retry, ServerSpec, ServerState, Way};
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, ElicitRequestParams,
    ElicitationSchema, Implementation, ListToolsResult, PaginatedRequestParams, ProtocolVersion,
    ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::RequestContext;
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use rmcp::{ErrorData, RoleServer, ServerHandler};
use serde_json::{Map, Value, json};
use tokio::sync::mpsc;

use crate::web::{Answer, answer, body, empty, events, listen, listen_at};
use crate::{
    Answers, LONG, call, failure, quick, said, settled, settled_with, spec, state, status, until,
};

/// A server of the library's.
#[derive(Clone)]
struct Tools {
    versions: &'static [ProtocolVersion],
}

const EVERY: Tools = Tools { versions: ProtocolVersion::KNOWN_VERSIONS };
const NEWEST: Tools = Tools { versions: &[ProtocolVersion::V_2026_07_28] };

impl ServerHandler for Tools {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
            .with_server_info(Implementation::new("library", "3"))
    }

    fn supported_protocol_versions(&self) -> Cow<'static, [ProtocolVersion]> {
        Cow::Borrowed(self.versions)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = |name: &'static str| Tool::new(name, "A tool", Arc::new(Map::new()));
        Ok(ListToolsResult::with_all_items(["echo", "big", "ask"].map(tool).to_vec()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let text = request.arguments.unwrap_or_default()["text"].as_str().unwrap().to_owned();
        let said = match &*request.name {
            "big" => "x".repeat(text.parse::<usize>().unwrap() << 20),
            "ask" => {
                let asked = ElicitRequestParams::FormElicitationParams {
                    meta: None,
                    message: "Really?".to_owned(),
                    requested_schema: ElicitationSchema::new(Default::default()),
                };
                let answer = context.peer.create_elicitation(asked).await.unwrap();
                format!("{:?}", answer.action)
            }
            _ => text,
        };
        Ok(CallToolResult::success(vec![ContentBlock::text(said)]).into())
    }
}

/// Serves it on loopback.
async fn serve(tools: Tools, config: StreamableHttpServerConfig) -> String {
    let service = StreamableHttpService::new(
        move || Ok(tools.clone()),
        Arc::new(LocalSessionManager::default()),
        config,
    );
    let answer = move |request: Request<Incoming>| {
        let service = service.clone();
        async move { service.handle(request).await }
    };
    format!("{}/mcp", listen(answer).await)
}

fn remote(url: String) -> Remote {
    Remote { url, ..Remote::default() }
}

fn at(url: String) -> ServerSpec {
    spec("s", Way::Http(remote(url)))
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_with_and_without_sessions_are_asked() {
    let stateless = StreamableHttpServerConfig::default()
        .with_legacy_session_mode(false)
        .with_json_response(true);
    for config in [StreamableHttpServerConfig::default(), stateless] {
        let pool = settled(vec![at(serve(EVERY, config).await)]).await;
        let status = status(&pool, "s");
        assert_eq!((status.state, status.tools), (ServerState::Connected, 3), "{status:?}");
        assert_eq!(status.info.unwrap().name, "library");
        assert_eq!(said(&pool, "echo", "hello").await, "hello");
        let flooded = call(&pool, "big", "50").await.unwrap_err();
        assert!(matches!(flooded, McpError::TooLarge { .. }), "{flooded}");
        assert_eq!(said(&pool, "echo", "still there").await, "still there");
        pool.close().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_asks_the_human_by_http() {
    let url = serve(EVERY, StreamableHttpServerConfig::default()).await;
    let pool = settled_with(vec![at(url)], Answers::with(ElicitAnswer::Decline), quick()).await;
    assert_eq!(said(&pool, "ask", "").await, "Decline");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_of_the_newest_protocol_alone_is_asked() {
    let url = serve(NEWEST, StreamableHttpServerConfig::default()).await;
    let pool = settled(vec![at(url)]).await;
    let status = status(&pool, "s");
    assert_eq!(status.state, ServerState::Connected, "{status:?}");
    assert_eq!(status.info.unwrap().protocol, "2026-07-28");
    assert_eq!(said(&pool, "echo", "hello").await, "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_server_is_reported() {
    let page = listen(|_| async { answer(200, "text/html", "<html>") }).await;
    let broken = listen(|_| async { answer(500, "text/plain", "out of order") }).await;
    let missing = listen(|_| async { answer(404, "text/plain", "nothing here") }).await;
    let nobody = "http://127.0.0.1:1/mcp".to_owned();
    let mut mute = spec("mute", Way::Http(remote(listen(|_| std::future::pending()).await)));
    mute.start_timeout = Duration::from_millis(300);
    let pool = settled(vec![
        spec("page", Way::Http(remote(page))),
        spec("broken", Way::Http(remote(broken))),
        spec("missing", Way::Http(remote(missing))),
        spec("nobody", Way::Http(remote(nobody))),
        spec("no address", Way::Http(remote("no address".into()))),
        mute,
    ])
    .await;
    for (name, part) in [
        ("page", "text/html"),
        ("broken", "500"),
        ("missing", "nothing here"),
        ("nobody", "refused"),
        ("no address", "relative URL"),
        ("mute", "no answer within 0.3 s"),
    ] {
        let why = failure(&pool, name);
        assert!(why.contains(part), "{name}: {why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_error_names_the_server_and_neither_the_rest_of_its_address_nor_all_it_says() {
    let nobody = || remote("http://me:pa55word@127.0.0.1:1/s3cret-path/?api_key=s3cret".to_owned());
    let words = "no\nway ".repeat(200);
    let wordy = {
        let words = words.clone();
        listen(move |_| std::future::ready(answer(400, "text/plain", words.clone()))).await
    };
    let pool = settled(vec![
        spec("http", Way::Http(nobody())),
        spec("sse", Way::Sse(nobody())),
        spec("wordy", Way::Http(remote(wordy.clone()))),
        spec("wordy-sse", Way::Sse(remote(wordy))),
    ])
    .await;
    for name in ["http", "sse"] {
        let why = failure(&pool, name);
        assert!(why.contains("http://127.0.0.1:1") && why.contains("refused"), "{name}: {why}");
        assert!(!why.contains("s3cret") && !why.contains("pa55word"), "{name}: {why}");
    }
    for name in ["wordy", "wordy-sse"] {
        let why = failure(&pool, name);
        assert!(why.contains("no way no way") && why.chars().count() < 350, "{name}: {why}");
    }
}

/// What a server by hand has heard: two headers of every request.
type Heard = Arc<Mutex<Vec<String>>>;

/// A server by hand.
async fn by_hand(heard: Heard, request: Request<Incoming>) -> Answer {
    let value = |name| request.headers().get(name).and_then(|value| value.to_str().ok());
    heard.lock().unwrap().push(format!("{:?} {:?}", value("x-a"), value("x-b")));
    let message: Value = match serde_json::from_slice(&body(request).await) {
        Ok(message) => message,
        Err(_) => return empty(405),
    };
    let result = match message["method"].as_str().unwrap() {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "hand", "version": "1"},
        }),
        "tools/list" => {
            let tool = |name| json!({"name": name, "inputSchema": {"type": "object"}});
            let tools = ["echo", "busy", "page", "garbled", "events"].map(tool);
            json!({ "tools": tools })
        }
        "tools/call" if message["params"]["name"] == "busy" => {
            return answer(503, "text/plain", "later");
        }
        "tools/call" => match message["params"]["name"].as_str().unwrap() {
            "page" => return answer(200, "text/html", "<html>"),
            "garbled" => return answer(200, "application/json", "[".repeat(100_000)),
            "events" => {
                let said = "data: ready\n\ndata: {\"jsonrpc\":\"2.0\",oops\n\n";
                return stays_open(said);
            }
            _ => json!({"content": [{"type": "text", "text": "hello"}]}),
        },
        _ => return empty(202),
    };
    crate::web::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}))
}

/// A stream of events that does not end.
fn stays_open(said: &str) -> Answer {
    let (sender, receiver) = mpsc::unbounded_channel();
    sender.send(said.to_owned()).unwrap();
    tokio::spawn(async move { sender.closed().await });
    events(receiver)
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_answer_fails_its_call_at_once() {
    let url = listen(|request| by_hand(Heard::default(), request)).await;
    let mut server = at(url);
    server.call_timeout *= 60;
    let pool = settled(vec![server]).await;
    for (tool, part) in [
        ("busy", "HTTP 503"),
        ("page", "it is `text/html`, not JSON"),
        ("garbled", "it is not an MCP message: recursion limit exceeded"),
        ("events", "what it sent cannot be read: key must be a string"),
    ] {
        let error = call(&pool, tool, "").await.unwrap_err();
        let said = error.to_string();
        assert!(matches!(error, McpError::NoAnswer { .. }), "{tool}: {said}");
        assert!(said.contains(part), "{tool}: {said}");
    }
    assert_eq!(said(&pool, "echo", "").await, "hello", "the connection lives on");
}

/// What a server with sessions heard: methods, each with its session.
type Sessions = Arc<Mutex<Vec<String>>>;

/// A server whose first session is over as soon as a tool is called in it.
async fn forgetful(heard: Sessions, request: Request<Incoming>) -> Answer {
    let session = request.headers().get("mcp-session-id").map(|id| id.to_str().unwrap().to_owned());
    let session = session.unwrap_or_default();
    let message: Value = match serde_json::from_slice(&body(request).await) {
        Ok(message) => message,
        Err(_) => return empty(405),
    };
    let method = message["method"].as_str().unwrap();
    heard.lock().unwrap().push(format!("{method} {session}"));
    let greetings = || heard.lock().unwrap().iter().filter(|one| *one == "initialize ").count();
    let result = match method {
        "initialize" => json!({
            "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
            "serverInfo": {"name": "forgetful", "version": "1"},
        }),
        "tools/list" => json!({"tools": [{"name": "echo", "inputSchema": {"type": "object"}}]}),
        "tools/call" if session == "session-1" => return empty(404),
        "tools/call" => json!({"content": [{"type": "text", "text": "hello"}]}),
        _ => return empty(202),
    };
    let mut said =
        crate::web::json(&json!({"jsonrpc": "2.0", "id": message["id"], "result": result}));
    if method == "initialize" {
        let id = format!("session-{}", greetings());
        said.headers_mut().insert("mcp-session-id", id.parse().unwrap());
    }
    said
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_is_over_is_begun_anew_and_the_call_repeated() {
    let heard = Sessions::default();
    let keeps = Sessions::clone(&heard);
    let url = listen(move |request| forgetful(Sessions::clone(&keeps), request)).await;
    // Whoever waited for another try would wait for longer than the test may take.
    let retry = Retry { most: 1, first: LONG * 60 };
    let options = PoolOptions { retry, ..PoolOptions::default() };
    let pool = settled_with(vec![at(url)], Arc::new(Answers::default()), options).await;
    assert_eq!(said(&pool, "echo", "").await, "hello");
    let heard = heard.lock().unwrap();
    let calls: Vec<_> = heard.iter().filter(|one| !one.starts_with("notifications/")).collect();
    assert_eq!(
        calls,
        [
            "initialize ",
            "tools/list session-1",
            "tools/call session-1",
            "initialize ",
            "tools/call session-2",
        ]
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn headers_are_sent_and_those_that_are_printed_win() {
    let heard = Arc::new(Mutex::new(Vec::new()));
    let keeps = Heard::clone(&heard);
    let url = listen(move |request| by_hand(Heard::clone(&keeps), request)).await;
    let with = |helper: Option<&str>| Remote {
        headers: vec![("X-A".into(), "written".into()), ("X-B".into(), "written".into())],
        headers_helper: helper.map(str::to_owned),
        ..remote(url.clone())
    };
    let callbacks = Arc::new(Answers::default());
    *callbacks.headers.lock().unwrap() = Some(Ok(r#"{"X-B": "printed"}"#.to_owned()));
    let specs = vec![spec("s", Way::Http(with(Some("print-headers"))))];
    let pool = settled_with(specs, Arc::<Answers>::clone(&callbacks), quick()).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected);
    let expected = r#"Some("written") Some("printed")"#;
    assert!(heard.lock().unwrap().iter().all(|heard| heard == expected), "{heard:?}");

    for (printed, part) in [
        (Ok("oops".to_owned()), "no JSON object"),
        (Ok(r#"{"X": 1}"#.to_owned()), "`X`"),
        (Ok(r#"{"Accept": "x"}"#.to_owned()), "MCP's own"),
        (Err(1), "headersHelper failed with exit code 1"),
    ] {
        *callbacks.headers.lock().unwrap() = Some(printed);
        let status = pool.reconnect("s").await.unwrap();
        let why = status.error.unwrap();
        assert!(why.contains(part), "{why}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_goes_away_is_connected_again_when_it_is_back() {
    let serve = |request| by_hand(Heard::default(), request);
    let (address, listening) = listen_at("127.0.0.1:0", serve).await;
    let pool = settled(vec![at(format!("http://{address}"))]).await;
    let busy = call(&pool, "busy", "").await.unwrap_err();
    assert!(matches!(&busy, McpError::NoAnswer { why, .. } if why.contains("503")), "{busy}");
    assert_eq!(state(&pool, "s"), ServerState::Connected, "a server may be busy");

    listening.abort();
    let _ = listening.await;
    let broken = call(&pool, "echo", "").await.unwrap_err();
    assert!(matches!(broken, McpError::NotConnected { .. }), "{broken}");
    until(&pool, |pool| state(pool, "s") == ServerState::Failed).await;
    listen_at(&address, serve).await;
    assert_eq!(pool.reconnect("s").await.unwrap().state, ServerState::Connected);
    assert_eq!(said(&pool, "echo", "").await, "hello");
}
