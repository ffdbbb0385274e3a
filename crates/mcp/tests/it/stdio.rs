//! Good servers that are programs, and what they offer.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use ona_mcp::{
    Body, CallOptions, ContentPart, McpError, Progress, ResourceContent, ServerState, tool_name,
};
use serde_json::json;
use tokio_util::sync::CancellationToken;

use crate::permit::permit;
use crate::{LONG, call, fixture, permitted, said, settled, state, status, until, with_text};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_says_what_it_is_and_what_it_has() {
    let pool = settled(vec![fixture("My Server", &[])]).await;
    let status = status(&pool, "My Server");
    assert_eq!(status.state, ServerState::Connected, "{status:?}");
    assert_eq!((status.slug.as_str(), status.tools), ("my_server", 17));
    let info = status.info.unwrap();
    assert_eq!((info.name.as_str(), info.version.as_str()), ("fixture", "1.2"));
    // A word without end is cut sooner.
    let is_cut = |text: &str| (1500..=2048).contains(&text.len()) && text.ends_with("[…]");
    assert!(is_cut(&status.instructions.unwrap()));

    let tools = pool.tools();
    let echo = &tools[0];
    assert_eq!((echo.server.as_str(), echo.name.as_str()), ("My Server", "echo"));
    assert_eq!(echo.full_name, tool_name("My Server", "echo"));
    assert!(echo.read_only && !tools[1].read_only);
    assert!(is_cut(&tools[1].description));
    assert_eq!(echo.input_schema["properties"]["text"]["type"], "string");
    assert_eq!(echo.max_result_chars, Some(1000));
    let big = pool.find("mcp__my_server__big").unwrap();
    assert_eq!(big.max_result_chars, Some(500_000), "nobody gets more");
    assert_eq!(pool.find("mcp__my_server__nothing"), None);
    pool.close().await;
    assert_eq!(state(&pool, "My Server"), ServerState::Disabled);
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_are_called_and_answer_in_many_shapes() {
    let pool = settled(vec![fixture("s", &[])]).await;
    assert_eq!(said(&pool, "echo", "hello").await, "hello");
    let failed = call(&pool, "fail", "").await.unwrap();
    assert!(failed.is_error);
    let shapes = call(&pool, "shapes", "").await.unwrap();
    assert_eq!(shapes.structured, Some(json!({"answer": 42})));
    let (media_type, data) = ("image/png".to_owned(), "AAEC".to_owned());
    assert_eq!(shapes.parts[1], ContentPart::Image { media_type, data: data.clone() });
    assert_eq!(shapes.parts[2], ContentPart::Audio { media_type: "audio/wav".into(), data });
    let one =
        ResourceContent { uri: "memo://1".into(), mime: None, body: Body::Text("one".into()) };
    assert_eq!(shapes.parts[3], ContentPart::Resource(one));
    assert!(matches!(&shapes.parts[4], ContentPart::Link { uri, .. } if uri == "memo://2"));
    let place = said(&pool, "where", "").await;
    assert!(place.ends_with(" marked"), "it has its variables: {place}");

    let unknown = call(&pool, "nothing", "").await.unwrap_err();
    assert_eq!(unknown, McpError::UnknownTool { server: "s".into(), tool: "nothing".into() });
    let permit = permitted("t", "echo", "").await;
    let nobody = pool.call(&permit, "t", "echo", with_text(""), CallOptions::default()).await;
    let nobody = nobody.unwrap_err().to_string();
    assert_eq!(nobody, "unknown MCP server `t`; known: s");
}

#[tokio::test(flavor = "multi_thread")]
async fn prompts_and_resources_are_listed_and_read() {
    let pool = settled(vec![fixture("s", &[]), fixture("other", &["--die"])]).await;
    let prompts = pool.prompts();
    assert_eq!(prompts[0].full_name, "mcp__s__greet");
    assert!(prompts[0].arguments[0].required && prompts[0].arguments[0].name == "who");
    let cancel = CancellationToken::new();
    let who = vec![("who".to_owned(), "Ada".to_owned())];
    let said = pool.prompt("s", "greet", who, cancel.clone()).await.unwrap();
    assert_eq!(said[0].part, ContentPart::Text("Say hello to Ada".into()));
    assert!(!said[0].from_model && said[1].from_model);

    let resources = pool.resources(None).unwrap();
    assert_eq!(resources, pool.resources(Some("s")).unwrap());
    assert_eq!((resources[0].uri.as_str(), resources[0].size), ("memo://1", Some(3)));
    let templates = pool.templates(None).unwrap();
    assert_eq!(templates, pool.templates(Some("s")).unwrap());
    assert_eq!(templates[0].uri_template, "memo://{number}");
    let permit = permit("ReadMcpResource", json!({})).await;
    let read = pool.read(&permit, "s", "memo://2", cancel.clone()).await.unwrap();
    assert_eq!(read[0].body, Body::Blob("AAEC".into()));
    let refused = pool.read(&permit, "s", "memo://3", cancel).await.unwrap_err();
    let message = "there is no such memo".to_owned();
    assert_eq!(refused, McpError::Protocol { code: -32002, message });
    assert!(matches!(pool.resources(Some("other")), Err(McpError::NotConnected { .. })));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_call_that_takes_too_long_or_is_taken_back_is_cancelled() {
    let mut slow = fixture("s", &[]);
    slow.call_timeout = Duration::from_millis(300);
    let pool = settled(vec![slow]).await;
    let late = call(&pool, "slow", "").await.unwrap_err();
    assert!(matches!(late, McpError::Timeout { .. }), "{late}");

    let cancel = CancellationToken::new();
    cancel.cancel();
    let options = CallOptions { cancel, progress: None };
    let permit = permitted("s", "slow", "").await;
    let taken_back = pool.call(&permit, "s", "slow", with_text(""), options).await;
    assert_eq!(taken_back, Err(McpError::Cancelled));

    // Nobody waits for a future that is dropped, either.
    let dropped = call(&pool, "slow", "");
    assert!(tokio::time::timeout(Duration::from_millis(50), dropped).await.is_err());

    let told = async {
        while said(&pool, "cancelled", "").await != "3" {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(LONG, told).await.expect("the server hears of all three");
}

#[tokio::test]
async fn a_server_that_is_let_go_in_a_call_hears_that_nobody_waits() {
    let mut server = fixture("s", &[]);
    let ona_mcp::Way::Stdio { command, args, cwd, .. } = &mut server.way else { unreachable!() };
    let dir = tempfile::tempdir().unwrap();
    let script = format!("tee heard | '{command}'");
    (*command, *args) = ("bash".to_owned(), vec!["-c".to_owned(), script]);
    *cwd = dir.path().to_owned();
    let pool = settled(vec![server]).await;
    let heard = || std::fs::read_to_string(dir.path().join("heard")).unwrap();
    {
        let called = call(&pool, "slow", "");
        tokio::pin!(called);
        while !heard().contains("tools/call") {
            let soon = tokio::time::timeout(Duration::from_millis(5), &mut called);
            assert!(soon.await.is_err(), "it takes long");
        }
    }
    pool.close().await;
    assert!(heard().contains("notifications/cancelled"), "{}", heard());
}

#[tokio::test(flavor = "multi_thread")]
async fn progress_comes_in_order_before_the_answer_and_only_forward() {
    let pool = settled(vec![fixture("s", &[])]).await;
    let steps = Arc::new(Mutex::new(Vec::new()));
    let heard = Arc::clone(&steps);
    let progress = move |step: Progress| heard.lock().unwrap().push(step);
    let options =
        CallOptions { cancel: CancellationToken::new(), progress: Some(Arc::new(progress)) };
    let permit = permitted("s", "steps", "").await;
    pool.call(&permit, "s", "steps", with_text(""), options).await.unwrap();
    let steps = steps.lock().unwrap();
    let messages: Vec<_> = steps.iter().filter_map(|step| step.message.as_deref()).collect();
    assert_eq!(messages, ["one", "two", "three"]);
    assert_eq!((steps[2].done, steps[2].total), (3.0, Some(3.0)));
}

#[tokio::test(flavor = "multi_thread")]
async fn tools_that_are_renamed_are_known_by_their_new_names() {
    let pool = settled(vec![fixture("s", &[])]).await;
    let before = pool.version();
    assert_eq!(said(&pool, "rename", "").await, "renamed");
    until(&pool, |pool| pool.find("mcp__s__echo_2").is_some()).await;
    assert_eq!(pool.version(), before + 1, "however often it was said");
    assert_eq!(pool.find("mcp__s__echo"), None);
    assert_eq!(said(&pool, "echo_2", "hello").await, "hello");
    let gone = call(&pool, "echo", "").await.unwrap_err();
    assert!(matches!(gone, McpError::UnknownTool { .. }), "{gone}");
}
