//! Programs that misbehave, and their end.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use ona_mcp::{McpError, Pool, PoolOptions, ServerState, Way};

use crate::{
    Answers, LONG, call, failure, fixture, quick, said, settled, settled_with, state, status, until,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_dies_is_reported_with_its_last_words() {
    let mut missing = fixture("missing", &[]);
    if let Way::Stdio { command, .. } = &mut missing.way {
        *command = "no-such-program-anywhere".to_owned();
    }
    let mut nowhere = fixture("nowhere", &[]);
    if let Way::Stdio { cwd, .. } = &mut nowhere.way {
        *cwd = "/no/such/directory".into();
    }
    let pool = settled(vec![fixture("dies", &["--die"]), missing, nowhere]).await;
    let dead = failure(&pool, "dies");
    assert!(dead.contains("exit status: 3"), "{dead}");
    assert!(dead.contains("cannot open the treasure chest"), "{dead}");
    let missing = failure(&pool, "missing");
    assert!(missing.contains("no-such-program-anywhere") && missing.contains("PATH"), "{missing}");
    let nowhere = failure(&pool, "nowhere");
    assert!(nowhere.contains("/no/such/directory does not exist"), "{nowhere}");
    assert!(pool.tools().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_program_that_is_no_server_is_given_up() {
    let mut mute = fixture("mute", &["--nonsense", "--deaf"]);
    mute.start_timeout = Duration::from_secs(2);
    let pool = settled(vec![mute]).await;
    let why = failure(&pool, "mute");
    assert!(why.contains("no answer within 2 s"), "{why}");
    assert!(why.contains("Usage: not a server"), "{why}");
}

#[tokio::test(flavor = "multi_thread")]
async fn one_server_that_hangs_holds_up_no_other() {
    let mut specs = vec![fixture("hangs", &["--hang"])];
    specs.extend((1..10).map(|n| fixture(&format!("s{n}"), &[])));
    let started = Instant::now();
    let pool = Pool::start(specs, Arc::new(Answers::default()));
    assert!(started.elapsed() < Duration::from_secs(1), "starting waits for nothing");
    let connected = |pool: &Pool| {
        pool.statuses().iter().filter(|status| status.state == ServerState::Connected).count()
    };
    until(&pool, |pool| connected(pool) == 9).await;
    let asked = Instant::now();
    pool.settle(Duration::from_millis(300)).await;
    let took = asked.elapsed();
    assert!(took >= Duration::from_millis(300), "{took:?}");
    assert!(took < Duration::from_secs(3), "settling took {took:?}");
    assert_eq!(state(&pool, "hangs"), ServerState::Pending);
    assert_eq!(pool.tools().len(), 9 * 17);
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn floods_are_survived() {
    let pool = settled(vec![fixture("s", &["--flood"]), fixture("endless", &["--endless"])]).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected, "50 MB of noise are no message");
    let flooded = call(&pool, "big", "50").await.unwrap_err();
    assert!(matches!(flooded, McpError::TooLarge { .. }), "{flooded}");
    assert_eq!(said(&pool, "echo", "still there").await, "still there");
    assert_eq!(said(&pool, "big", "1").await.len(), 1 << 20);
    assert_eq!(status(&pool, "endless").tools, 100, "a list without an end is cut");
}

/// Nobody waits for the whole time of a call: `LONG` is more than the test runner gives.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_cannot_be_read_fails_its_call_at_once() {
    let mut specs = vec![fixture("s", &[]), fixture("garbled", &["--garbled"])];
    for spec in &mut specs {
        (spec.start_timeout, spec.call_timeout) = (LONG * 60, LONG * 60);
    }
    let pool = settled(specs).await;
    let why = failure(&pool, "garbled");
    assert!(why.contains("cannot be read: recursion limit exceeded"), "{why}");
    for tool in ["deep", "garbled"] {
        let unread = call(&pool, tool, "").await.unwrap_err();
        assert!(matches!(unread, McpError::NoAnswer { .. }), "{unread}");
        let said = unread.to_string();
        assert!(said.contains("`s` gave no usable answer: what it sent cannot be read"), "{said}");
        assert_eq!(said.matches("the MCP server says").count(), 0, "{said}");
    }
    assert_eq!(status(&pool, "s").noise, None);
    assert_eq!(said(&pool, "chatty", "").await, "done", "lines of a log are no answers");
    assert_eq!(status(&pool, "s").noise.as_deref(), Some("[2026-01-01] INFO called"));
    assert_eq!(said(&pool, "echo", "still there").await, "still there");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_tool_that_is_none_costs_no_other() {
    let pool = settled(vec![fixture("s", &["--odd"])]).await;
    let status = status(&pool, "s");
    assert_eq!((status.state, status.tools), (ServerState::Connected, 17), "{status:?}");
    assert_eq!(
        status.left_out,
        [
            "the tool `bare` is left out: missing field `inputSchema`",
            "the tool `listed` is left out: invalid type: sequence, expected a map",
            "the tool no. 20 is left out: invalid type: integer `5`, expected a string",
            "the tool no. 23 is left out: invalid type: string \"tool\", expected struct Tool",
            "the tool `` is left out: it has no name",
            "the tool `echo` is left out: another tool has the same name",
        ]
    );
    assert_eq!(said(&pool, "echo", "hello").await, "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_breaks_is_made_again_but_not_for_ever() {
    let directory = tempfile::tempdir().unwrap();
    let mark = directory.path().join("broken");
    let pool = settled(vec![fixture("s", &["--die-if", &mark.to_string_lossy()])]).await;
    let version = pool.version();
    let broken = call(&pool, "die", "").await.unwrap_err();
    assert!(matches!(broken, McpError::NotConnected { .. }), "{broken}");
    until(&pool, |pool| pool.version() > version && state(pool, "s") == ServerState::Connected)
        .await;
    assert_eq!(said(&pool, "echo", "back").await, "back");

    std::fs::write(&mark, "").unwrap();
    let _ = call(&pool, "die", "").await;
    until(&pool, |pool| state(pool, "s") == ServerState::Failed).await;
    let why = failure(&pool, "s");
    assert!(why.contains("exit status: 3") && why.contains("treasure chest"), "{why}");
    let refused = call(&pool, "echo", "").await.unwrap_err();
    assert!(matches!(refused, McpError::NotConnected { .. }), "{refused}");

    std::fs::remove_file(&mark).unwrap();
    let status = pool.reconnect("s").await.unwrap();
    assert_eq!(status.state, ServerState::Connected, "{status:?}");
    assert_eq!(said(&pool, "echo", "by hand").await, "by hand");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_can_be_switched_off_and_on() {
    let disabled = ["s".to_owned()].into();
    let options = PoolOptions { disabled, ..quick() };
    let callbacks = Arc::new(Answers::default());
    let pool = settled_with(vec![fixture("s", &[])], callbacks, options).await;
    assert_eq!(state(&pool, "s"), ServerState::Disabled);
    assert_eq!(pool.reconnect("s").await.unwrap().state, ServerState::Connected);
    pool.disable("s").await.unwrap();
    assert_eq!(state(&pool, "s"), ServerState::Disabled);
    assert!(pool.tools().is_empty());
    let refused = call(&pool, "echo", "").await.unwrap_err();
    assert!(refused.to_string().contains("switched off"), "{refused}");
}

/// A server that will not end, with a child of its own, and that child's pid.
async fn stubborn(directory: &Path) -> (Pool, i32) {
    let file = directory.join("pid");
    let pool =
        settled(vec![fixture("s", &["--stubborn", "--child", &file.to_string_lossy()])]).await;
    assert_eq!(state(&pool, "s"), ServerState::Connected);
    (pool, std::fs::read_to_string(file).unwrap().parse().unwrap())
}

/// Waits until a process is gone, or only waits to be buried.
fn gone(pid: i32) {
    let deadline = Instant::now() + LONG;
    let lives = || {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        stat.rsplit(") ").next().is_some_and(|rest| !rest.is_empty() && !rest.starts_with('Z'))
    };
    while lives() {
        assert!(Instant::now() < deadline, "{pid} lives on");
        std::thread::yield_now();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_ends_programs_with_all_they_started() {
    let directory = tempfile::tempdir().unwrap();
    let (pool, child) = stubborn(directory.path()).await;
    pool.close().await;
    gone(child);
}

#[tokio::test(flavor = "multi_thread")]
async fn dropping_the_pool_kills_programs_with_all_they_started() {
    let directory = tempfile::tempdir().unwrap();
    let (pool, child) = stubborn(directory.path()).await;
    drop(pool);
    gone(child);
}

#[tokio::test(flavor = "multi_thread")]
async fn closing_does_not_wait_for_servers_that_never_answered() {
    let pool = Pool::start(vec![fixture("s", &["--hang"])], Arc::new(Answers::default()));
    let asked = Instant::now();
    pool.close().await;
    assert!(asked.elapsed() < Duration::from_secs(10));
    pool.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_stops_listening_holds_up_nothing() {
    let mut deaf = fixture("s", &[]);
    deaf.call_timeout = Duration::from_millis(300);
    let pool = settled(vec![deaf]).await;
    for (tool, text) in [("deaf", String::new()), ("echo", "x".repeat(1 << 20))] {
        let late = call(&pool, tool, &text).await.unwrap_err();
        assert!(matches!(late, McpError::Timeout { .. }), "{late}");
    }
    let asked = Instant::now();
    pool.close().await;
    assert!(asked.elapsed() < Duration::from_secs(15), "{:?}", asked.elapsed());
}
