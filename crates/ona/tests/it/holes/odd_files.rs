//! What was tried with pipes, devices and files without end where git, a walk over the tree or the trace reads a file that
//! nobody named.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;
use std::process::Stdio;
use std::thread;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, git, run};
use serde_json::json;

use super::secrets::{answered, bounded, pipe};
use crate::print::anthropic;
use crate::project;

const KINDS: [&str; 3] = ["pipe", "zero", "sparse"];

/// Puts something in place of a file.
fn put(path: &Path, kind: &str) {
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    let _ = fs::remove_file(path);
    match kind {
        "pipe" => pipe(path),
        "zero" => symlink("/dev/zero", path).unwrap(),
        _ => fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
    }
}

/// A repository with a commit, and an intent for all of it.
fn repository() -> Project {
    let project = project();
    git(&project.dir(), &["init", "-q", "-b", "main"]);
    for args in [
        &["intent", "init"][..],
        &["intent", "add", "--name", "n", "--scope", "**"],
        &["intent", "select", "INT-001"],
    ] {
        assert_eq!(run(&mut project.ona(args)).code, Some(0), "{args:?}");
    }
    project.file("src/a.txt", "needle\n");
    git(&project.dir(), &["add", "-A"]);
    git(&project.dir(), &["commit", "-q", "-m", "first"]);
    project
}

#[test]
fn a_list_of_ignored_files_that_is_no_file_stops_no_walk() {
    for kind in KINDS {
        let project = repository();
        for name in [".gitignore", "src/.gitignore", ".ignore", "src/.ignore", ".git/info/exclude"]
        {
            put(&project.path(name), kind);
        }
        for (tool, input) in [
            ("Grep", json!({"pattern": "needle"})),
            ("Grep", json!({"pattern": "needle", "path": "src", "glob": "*.txt"})),
            ("Glob", json!({"pattern": "**/*.txt"})),
        ] {
            let call = json!({"tool": tool, "input": input}).to_string();
            let mut command = bounded(&project, &["--eval", &call]);
            let ran = run(command.env("CLAUDE_CODE_GLOB_NO_IGNORE", "false"));
            assert!(
                ran.stdout.contains("src/a.txt"),
                "{tool} {kind}: {} {}",
                ran.stdout,
                ran.stderr
            );
        }
        let call = json!({"tool": "Bash", "input": {"command": "echo x > src/b.txt"}}).to_string();
        let ran = run(&mut bounded(&project, &["--eval", &call]));
        assert!(
            ran.stdout.contains(r#""is_error":false"#),
            "{kind}: {} {}",
            ran.stdout,
            ran.stderr
        );
        assert!(
            project.content(".orchestration/agent_trace.jsonl").contains("src/b.txt"),
            "{kind}"
        );
    }
}

/// What is put where, in the repository or at home, and a command that asks git.
fn waits(place: &str, kind: &str, args: &[&str]) {
    let project = repository();
    let path = match place.strip_prefix("~/") {
        Some(name) => project.home().join(name),
        None => project.path(place),
    };
    if place == "included" {
        git(&project.dir(), &["config", "include.path", "../included"]);
    }
    put(&path, kind);
    let ran = run(&mut bounded(&project, args));
    answered(&ran, &format!("{args:?} with {place} as {kind}"));
}

#[test]
fn git_that_waits_is_given_up() {
    // Each waits for some seconds, so they wait together.
    thread::scope(|scope| {
        for place in ["included", "~/.gitconfig", "src/.gitignore", ".git/refs/heads/main"] {
            for args in [&["trace", "reconcile"][..], &["blame", "src/a.txt"], &["intent", "lint"]]
            {
                scope.spawn(move || waits(place, "pipe", args));
            }
        }
    });
    for place in [".git/refs/heads/main", ".git/packed-refs", ".git/commondir", "src/.gitignore"] {
        for kind in ["zero", "sparse"] {
            waits(place, kind, &["trace", "reconcile"]);
        }
    }
}

#[test]
fn a_session_starts_whatever_git_would_wait_for() {
    for place in ["included", "~/.gitconfig", "~/.config/git/config", ".git/refs/heads/other"] {
        for kind in KINDS {
            waits(place, kind, &["--init-only"]);
        }
    }
}

#[test]
fn a_trace_without_end_is_an_error() {
    let project = repository();
    put(&project.path(".orchestration/agent_trace.jsonl"), "sparse");
    for args in [
        &["trace", "verify"][..],
        &["trace", "list"],
        &["trace", "export", "--format", "agent-trace"],
        &["blame", "src/a.txt"],
        &["intent", "show", "INT-001"],
    ] {
        let ran = run(&mut bounded(&project, args));
        assert_eq!(ran.code, Some(1), "{args:?}: {}", ran.stderr);
        assert!(ran.stderr.contains("it is larger than 1024 MiB"), "{args:?}: {}", ran.stderr);
    }
    let call = json!({"tool": "Bash", "input": {"command": "echo x > src/b.txt"}}).to_string();
    let ran = run(&mut bounded(&project, &["--eval", &call]));
    assert!(ran.stderr.contains("the trace has a gap"), "{}", ran.stderr);
}

#[test]
fn files_that_variables_and_options_name_are_read_with_a_bound() {
    let project = project();
    let odd = project.home().join("odd");
    let server = Server::start([]).unwrap();
    let named = odd.to_str().unwrap().to_owned();
    for kind in KINDS {
        put(&odd, kind);
        let ran = run(anthropic(&project, &server, &["-p", "go"]).env("NODE_EXTRA_CA_CERTS", &odd));
        assert_eq!(ran.code, Some(2), "{kind}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("NODE_EXTRA_CA_CERTS names {named}: ")), "{kind}");
        let ran =
            run(&mut anthropic(&project, &server, &["-p", "go", "--system-prompt-file", &named]));
        assert_eq!(ran.code, Some(2), "{kind}: {}", ran.stderr);
        assert!(ran.stderr.contains(&format!("--system-prompt-file {named}: ")), "{kind}");
    }
    put(&odd, "pipe");
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--debug-file", &named]));
    assert!(ran.stderr.contains("it is a pipe"), "{}", ran.stderr);
    let json = ["--input-format", "stream-json", "--output-format", "stream-json", "--verbose"];
    let args: Vec<&str> = ["-p"].into_iter().chain(json).collect();
    let zero = fs::File::open("/dev/zero").unwrap();
    let ran = run(anthropic(&project, &server, &args).stdin(zero));
    assert!(ran.stderr.contains("is longer than 64 MiB"), "{}", ran.stderr);
    assert_eq!(server.requests().len(), 0);
}

#[test]
fn a_signal_ends_a_session_that_has_not_started_yet() {
    for (signal, code) in [("-TERM", 143), ("-INT", 130)] {
        let project = repository();
        let settings = project.home().join("settings.json");
        let hook = json!({"type": "command", "command": "touch begun; exec sleep 100"});
        let hooks = json!({"hooks": {"SessionStart": [{"hooks": [hook]}]}});
        fs::write(&settings, hooks.to_string()).unwrap();
        let server = Server::start([Reply::say("x")]).unwrap();
        let args = ["-p", "go", "--settings", settings.to_str().unwrap()];
        let mut child = anthropic(&project, &server, &args).stdout(Stdio::null()).spawn().unwrap();
        while !project.path("begun").exists() {
            assert!(child.try_wait().unwrap().is_none(), "it ended before");
            thread::yield_now();
        }
        run(project.command("kill").args([signal, &child.id().to_string()]));
        assert_eq!(child.wait().unwrap().code(), Some(code));
    }
}
