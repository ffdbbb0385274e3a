//! Starting a session: what is refused leaves nothing behind.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};

use crate::project;

fn start(project: &Project, args: &[&str], key: bool) -> Ran {
    let server = Server::start(vec![Reply::say("done")]).unwrap();
    let mut command = project.ona(args);
    command.env("ANTHROPIC_BASE_URL", server.base_url());
    if key {
        command.env("ANTHROPIC_API_KEY", "key");
    }
    run(&mut command)
}

fn sessions(project: &Project) -> usize {
    let listed = run(&mut project.ona(["sessions", "list", "--json"])).stdout;
    serde_json::from_str::<Vec<serde_json::Value>>(&listed).unwrap().len()
}

#[test]
fn a_fork_that_does_not_start_leaves_no_copy() {
    let project = project();
    assert_eq!(start(&project, &["-p", "one", "--name", "alpha"], true).code, Some(0));
    for more in [
        &["--agent", "nope"][..],
        &["--model", "nope"],
        &["--name", "alpha"],
        &["--at", "99"],
        &["--settings", r#"{"agent":"nope"}"#],
    ] {
        let args = [&["-p", "two", "--continue", "--fork-session"], more].concat();
        let ran = start(&project, &args, true);
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.stderr);
        assert_eq!(sessions(&project), 1, "{more:?}");
    }
    let keyless = start(&project, &["-p", "two", "--continue", "--fork-session"], false);
    assert_eq!((keyless.code, sessions(&project)), (Some(2), 1), "{}", keyless.stderr);
    let named = ["-p", "two", "--continue", "--fork-session", "--name", "beta"];
    assert_eq!(start(&project, &named, true).code, Some(0));
    assert_eq!(sessions(&project), 2);
    let shown = run(&mut project.ona(["sessions", "show", "beta"])).stdout;
    assert!(shown.contains("one") && shown.contains("two"), "{shown}");
}

#[test]
fn a_wrong_command_line_is_told_before_a_missing_key_and_leaves_no_session() {
    let project = project();
    for (args, said) in [
        (&["-p"][..], "missing prompt"),
        (&["-p", "x", "--model", "nope"], "unknown model `nope`"),
        (&["-p", "x", "--provider", "acme"], "`acme`"),
        (&["-p", "x", "--agent", "nope"], "nope"),
        (&["-p", "x", "--conversation", "c"], "--conversation cannot be combined with -p"),
    ] {
        let ran = start(&project, args, false);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{args:?}: {}", ran.stderr);
        assert_eq!(sessions(&project), 0, "{args:?}");
    }
    let ran = start(&project, &["-p", "x"], false);
    assert!(ran.stderr.contains("needs a credential, and there is none"), "{}", ran.stderr);
    assert_eq!(sessions(&project), 1, "a model that could not be asked is recorded");
    let log = run(&mut project.ona(["log"])).stdout;
    assert!(log.contains("turn.refused") && !log.contains("hint:"), "{log}");
}

#[test]
fn options_of_the_agent_are_refused_where_there_is_none() {
    let project = project();
    let call = r#"{"tool":"Write","input":{"file_path":"new.txt","content":"x"}}"#;
    for option in [
        &["--tools", "Read"][..],
        &["--agent", "nope"],
        &["--resume", "nope"],
        &["--session-id", "s"],
        &["--name", "n"],
        &["--max-turns", "3"],
        &["--no-session-persistence"],
        &["--continue"],
        &["a prompt"],
    ] {
        let ran = run(&mut project.ona([&["--eval", call], option].concat()));
        assert_eq!(ran.code, Some(2), "{option:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("cannot be used with"), "{option:?}: {}", ran.stderr);
    }
    assert!(!project.path("new.txt").exists());
}

#[test]
fn a_tool_of_a_server_is_explained_without_the_server() {
    let project = project();
    let server = ["mcp", "add", "notes", "--", "/bin/false"];
    assert_eq!(run(&mut project.ona(server)).code, Some(0));
    let explain = |tool: &str, more: &[&str]| {
        let call = format!(r#"{{"tool":"{tool}","input":{{}}}}"#);
        run(&mut project.ona([&["explain", call.as_str()], more].concat())).stdout
    };
    let asked = explain("mcp__notes__list", &[]);
    assert!(asked.starts_with("ask\n") && asked.contains("was not asked whether"), "{asked}");
    let denied =
        explain("mcp__notes__list", &["--settings", r#"{"permissions":{"deny":["mcp__notes"]}}"#]);
    assert!(denied.starts_with("deny\n") && denied.contains("the rule mcp__notes"), "{denied}");
    assert!(explain("mcp__other__list", &[]).contains("unknown tool"), "nobody has that server");
}
