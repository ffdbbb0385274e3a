//! Every variable changes what it says it changes.

use std::fs;
use std::time::{Duration, Instant};

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, report, run};
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;

fn with(
    project: &Project,
    variable: &str,
    value: &str,
    tool: &str,
    input: &Value,
) -> ona_testkit::Report {
    report(project.eval_command(tool, input).env(variable, value))
}

#[test]
fn the_record_is_where_the_variables_say() {
    let project = project();
    let init = |set: &[(&str, &str)]| {
        let mut command = project.ona(["--init-db"]);
        command.env_remove("AGENT_SDLC_DB");
        for (name, value) in set {
            command.env(name, value);
        }
        run(&mut command)
    };
    let home = project.home();
    assert_eq!(init(&[]).stdout, format!("{}/.local/state/ona/agent.db\n", home.display()));
    let state = home.join("state");
    let state = state.to_str().unwrap();
    assert_eq!(init(&[("XDG_STATE_HOME", state)]).stdout, format!("{state}/ona/agent.db\n"));
    for wrong in ["agent.db", "./x/agent.db", ""] {
        let ran = init(&[("AGENT_SDLC_DB", wrong)]);
        assert_eq!(ran.code, Some(2), "{wrong:?}");
        assert!(ran.stderr.contains("AGENT_SDLC_DB must be an absolute path"), "{}", ran.stderr);
    }
    // Children get the path whether or not it was set.
    let mut command = project.eval_command("Bash", &json!({"command": "echo $AGENT_SDLC_DB"}));
    let told = report(command.env_remove("AGENT_SDLC_DB")).content;
    assert_eq!(told, format!("{}/.local/state/ona/agent.db\n", home.display()));
}

#[test]
fn read_limit() {
    let project = project();
    let file = project.file("a.txt", "word ".repeat(100));
    project.ok("Read", json!({"file_path": file}));
    let refused = with(
        &project,
        "CLAUDE_CODE_FILE_READ_MAX_OUTPUT_TOKENS",
        "50",
        "Read",
        &json!({"file_path": file}),
    );
    assert!(refused.is_error && refused.content.contains("more than 50"), "{}", refused.content);
}

#[test]
fn bash_timeouts() {
    let project = project();
    let slow = json!({"command": "sleep 60"});
    let default = with(&project, "BASH_DEFAULT_TIMEOUT_MS", "200", "Bash", &slow);
    assert!(default.content.contains("longer than 200 ms"), "{}", default.content);
    let asked = json!({"command": "sleep 60", "timeout": 50_000});
    let clamped = with(&project, "BASH_MAX_TIMEOUT_MS", "200", "Bash", &asked);
    assert!(clamped.content.contains("longer than 200 ms"), "{}", clamped.content);
}

#[test]
fn bash_directory_and_environment_file() {
    let project = project();
    fs::create_dir(project.path("sub")).unwrap();
    let keep = "CLAUDE_BASH_MAINTAIN_PROJECT_WORKING_DIR";
    with(&project, keep, "1", "Bash", &json!({"command": "cd sub"}));
    let kept = with(&project, keep, "1", "Bash", &json!({"command": "pwd"}));
    assert_eq!(kept.content, format!("{}\n", project.dir().display()));

    let file = project.file("env.sh", "export FROM_FILE=yes\n");
    let echo = json!({"command": "echo $FROM_FILE $BASH_ENV"});
    assert_eq!(with(&project, "CLAUDE_ENV_FILE", &file, "Bash", &echo).content, "yes\n");
}

#[test]
fn background_tasks_can_be_switched_off() {
    let project = project();
    let input = json!({"command": "true", "run_in_background": true});
    let refused = with(&project, "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS", "1", "Bash", &input);
    assert!(
        refused.is_error && refused.content.contains("_BACKGROUND_TASKS switches them off"),
        "{}",
        refused.content
    );
}

#[test]
fn a_background_task_writes_no_more_than_it_may() {
    let project = project();
    let input = json!({"command": "yes", "run_in_background": true});
    let started = with(&project, "ONA_TASK_OUTPUT_BYTES", "10000", "Bash", &input);
    assert!(!started.is_error, "{}", started.content);
    let since = Instant::now();
    let ended = loop {
        let rows = project.sql("SELECT end_reason, output_path FROM background_tasks");
        match rows[0].split_once('|') {
            Some(("", _)) => assert!(since.elapsed() < Duration::from_secs(60), "it goes on"),
            other => break other.map(|(why, file)| (why.to_owned(), file.to_owned())).unwrap(),
        }
        std::thread::yield_now();
    };
    assert_eq!(ended.0, "output_limit");
    let output = fs::read_to_string(ended.1).unwrap();
    assert!(output.trim_end().ends_with("[SDLC_TRUNCATED]") && output.len() < 10_100);
}

#[test]
fn glob_switches() {
    let project = project();
    project.file(".gitignore", "ignored.txt\n");
    project.file("ignored.txt", "");
    project.file(".hidden.txt", "");
    project.file("plain.txt", "");
    let all = project.ok("Glob", json!({"pattern": "*.txt"}));
    assert!(all.contains("ignored.txt") && all.contains(".hidden.txt"), "{all}");
    let shown =
        with(&project, "CLAUDE_CODE_GLOB_HIDDEN", "false", "Glob", &json!({"pattern": "*.txt"}));
    assert!(!shown.content.contains(".hidden.txt") && shown.content.contains("ignored.txt"));
    let shown =
        with(&project, "CLAUDE_CODE_GLOB_NO_IGNORE", "false", "Glob", &json!({"pattern": "*.txt"}));
    assert!(!shown.content.contains("ignored.txt") && shown.content.contains("plain.txt"));
}

#[test]
fn colour_needs_a_terminal() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    assert!(!run(&mut project.ona(["doctor"])).stdout.contains('\x1b'));
    let on_terminal = |no_colour: &str| {
        // script(1) gives the program a terminal.
        let mut command = project.command("script");
        command.args(["-qec", &format!("{} doctor", env!("CARGO_BIN_EXE_ona")), "/dev/null"]);
        run(command.env("NO_COLOR", no_colour)).stdout
    };
    assert!(on_terminal("").contains("\x1b[32mok"), "{}", on_terminal(""));
    assert!(!on_terminal("1").contains('\x1b'));
}

#[test]
fn values_that_cannot_be_meant_are_refused_before_anything_is_done() {
    let project = project();
    for (variable, value, part) in [
        ("BASH_DEFAULT_TIMEOUT_MS", "soon", "must be a whole number above 0, not `soon`"),
        ("BASH_MAX_TIMEOUT_MS", "0", "must be a whole number above 0, not `0`"),
        ("CLAUDE_CODE_GLOB_HIDDEN", "maybe", "must be 1 (true) or 0 (false), not `maybe`"),
        ("CLAUDE_CODE_GLOB_TIMEOUT_SECONDS", "-1", "must be a whole number above 0, not `-1`"),
    ] {
        let mut command = project.eval_command("Bash", &json!({"command": "touch done"}));
        let ran = run(command.env(variable, value));
        assert_eq!(ran.code, Some(2));
        assert!(ran.stderr.contains(&format!("error: {variable} {part}")), "{}", ran.stderr);
        assert!(ran.stderr.contains("Default: "), "{}", ran.stderr);
    }
    assert!(!project.path("done").exists());
}

#[test]
fn a_variable_that_is_no_text_is_no_crash() {
    use std::os::unix::ffi::OsStrExt as _;
    let project = project();
    let mut command = project.eval_command("Bash", &json!({"command": "true"}));
    report(command.env("ODD_TOKEN", std::ffi::OsStr::from_bytes(b"secret\xff")));
}

#[test]
fn how_often_and_how_much_can_be_nothing() {
    let project = project();
    let server = Server::start([
        Reply::error(529, "overloaded_error", "busy").header("retry-after-ms", "1"),
        Reply::say("now"),
    ])
    .unwrap();
    let mut command = anthropic(&project, &server, &["-p", "go"]);
    command.env("MAX_THINKING_TOKENS", "0");
    let ran = run(command.env("CLAUDE_CODE_MAX_RETRIES", "0"));
    assert_eq!((ran.code, server.requests().len()), (Some(1), 1), "{}", ran.stderr);
    let ran = run(command.env("CLAUDE_CODE_MAX_RETRIES", "1"));
    assert_eq!(ran.stdout, "now\n", "{}", ran.stderr);
    assert!(server.requests()[1].body.get("thinking").is_none());
    let ran = run(command.env("CLAUDE_CODE_MAX_RETRIES", "-1"));
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("must be a whole number from 0 up, not `-1`"), "{}", ran.stderr);
}

#[test]
fn a_model_is_asked_for_no_more_than_it_can() {
    let project = project();
    let asked = |model: &str, output: &str, thinking: &str| {
        let server = Server::start([Reply::say("ok")]).unwrap();
        let mut command = anthropic(&project, &server, &["-p", "go", "--model", model]);
        command.env("CLAUDE_CODE_MAX_OUTPUT_TOKENS", output).env("MAX_THINKING_TOKENS", thinking);
        command.env("ANTHROPIC_DEFAULT_OPUS_MODEL", "somebody-elses-model");
        let ran = run(&mut command);
        assert_eq!(ran.stdout, "ok\n", "{}", ran.stderr);
        let body = &server.requests()[0].body;
        let budget = body["thinking"]["budget_tokens"].as_u64();
        (body["max_tokens"].as_u64().unwrap(), budget, ran.stderr)
    };
    let told = |said: &str, what: &str| assert_eq!(said.matches(what).count(), 1, "{said}");
    assert_eq!(asked("sonnet", "20000", "2000"), (20_000, Some(2_000), String::new()));
    let (output, thinking, said) = asked("sonnet", "900000", "900000");
    assert_eq!((output, thinking), (64_000, Some(63_999)));
    told(
        &said,
        "CLAUDE_CODE_MAX_OUTPUT_TOKENS is 900000, but the limit of claude-sonnet-4-20250514 is 64000",
    );
    told(&said, "MAX_THINKING_TOKENS is 900000; ");
    let (_, thinking, said) = asked("sonnet", "20000", "5");
    assert_eq!(thinking, Some(1024));
    told(&said, "; using 1024");
    let (output, thinking, said) = asked("haiku", "8192", "2000");
    assert_eq!((output, thinking), (8192, None));
    told(&said, "claude-3-5-haiku-20241022 does not support a thinking budget");
    let (_, thinking, said) = asked("sonnet", "1000", "2000");
    assert_eq!(thinking, None);
    told(&said, "an answer of 1000 tokens leaves no room for thinking");
    // Of a model that nobody listed the operator knows more.
    assert_eq!(asked("opus", "900000", "2000"), (900_000, Some(2_000), String::new()));
}
