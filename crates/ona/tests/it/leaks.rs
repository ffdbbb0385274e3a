//! The leak hunt: one secret through every source a credential can have and every path that could show it.
//!
//! Hooks, commands, the model and the provider's errors all say the secret, as it is and encoded. Afterwards no byte of it is
//! in the record, its log, the trace, the debug log, any other file, or anything that a process printed.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE};
use ona_provider::scripted::{Reply, Server};
use ona_testkit::authority::{Authority, browse};
use ona_testkit::{Project, run};
use serde_json::json;

use crate::foreign::{payload, told};
use crate::gate::pre;
use crate::intent_gate::governed;
use crate::login::first_line;

/// The secret, with characters that every encoding changes.
const SECRET: &str = "leak/hunt+Marker=0123456789?xyz";

/// The forms in which it could be told: as it is, percent-encoded, in base64 behind 0 to 2 other bytes.
fn forms() -> Vec<String> {
    let percent = |upper: bool| -> String {
        let one = |byte: u8| match byte {
            b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
            _ if upper => format!("%{byte:02X}"),
            _ => format!("%{byte:02x}"),
        };
        SECRET.bytes().map(one).collect()
    };
    let mut forms = vec![SECRET.to_owned(), percent(true), percent(false)];
    for engine in [&STANDARD, &URL_SAFE] {
        for before in 0..3 {
            let bytes = [&b"::"[..before], SECRET.as_bytes()].concat();
            forms.push(engine.encode(bytes));
        }
    }
    forms
}

/// What must not be found: the forms without the characters at their ends that also depend on what is around them.
fn traces() -> Vec<String> {
    let mut all = forms();
    for form in all.iter_mut().skip(3) {
        *form = form[4..form.trim_end_matches('=').len() - 4].to_owned();
    }
    all
}

/// Where a credential comes from.
#[derive(Clone, Copy, Debug, PartialEq)]
enum From {
    Variable(&'static str),
    Settings,
    Helper,
    Descriptor,
    Login,
}

struct Hunt {
    from: From,
    project: Project,
    authority: Authority,
    /// Beside what is searched.
    outside: tempfile::TempDir,
    server: Server,
    printed: Vec<String>,
}

impl Hunt {
    fn begin(from: From) -> Self {
        let project = governed("");
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), SECRET).unwrap();
        fs::write(outside.path().join("forms"), forms().join("\n")).unwrap();
        let show = format!(
            "cat {0}/forms; cat {0}/forms >&2; printenv; tr '\\0' '\\n' < /proc/self/environ",
            outside.path().display()
        );
        fs::write(outside.path().join("show"), show).unwrap();
        let hook = format!("sh {}/show; exit 0", outside.path().display());
        let failing = format!("sh {}/show; exit 1", outside.path().display());
        let hooks = ["SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse", "Stop"];
        // A helper's key is known from the moment it is printed, and that is when the model is asked.
        let hooks = hooks.into_iter().skip(if from == From::Helper { 2 } else { 0 });
        let hooks =
            hooks.map(|event| (event.to_owned(), json!([pre("", &hook), pre("", &failing)])));
        let settings = json!({
            "permissions": {"allow": ["Bash", "Read"]}, "hooks": serde_json::Map::from_iter(hooks),
        });
        project.file(".claude/settings.json", settings.to_string());
        project.file("src/a.rs", "");
        let said = forms().join(" ");
        // What /proc shows of itself and of what started it, ona included.
        let up = "p=$$; for i in 1 2 3; do cat /proc/$p/environ; \
                  p=$(sed 's/.*) . \\([0-9]*\\).*/\\1/' /proc/$p/stat); done";
        fs::write(outside.path().join("up"), up).unwrap();
        let show = format!("sh {0}/show; sh {0}/up | tee src/proc", outside.path().display());
        let server = Server::start([
            Reply::new()
                .text(&said)
                .call("c0", "SelectActiveIntent", json!({"intent_id": "INT-1"}))
                .call("c1", "Bash", json!({"command": show}))
                .call("c2", "Bash", json!({"command": format!("echo '{said}' > /dev/null; {show}"), "description": said}))
                .call("c3", "Read", json!({"file_path": outside.path().join("forms")})),
            Reply::say(&said),
            Reply::error(400, "invalid_request_error", &format!("your key is {said}")),
            Reply::error(401, "authentication_error", &format!("not this key: {said}")),
            Reply::error(401, "authentication_error", &format!("not this key: {said}")),
        ])
        .unwrap();
        let authority = Authority::start(3600);
        authority.office().access = Some(SECRET.to_owned());
        let hunt = Self { from, project, authority, outside, server, printed: Vec::new() };
        hunt.give();
        hunt
    }

    /// Puts the secret where it comes from, if that is a file.
    fn give(&self) {
        let secret = self.outside.path().join("secret");
        let settings = match self.from {
            From::Settings => json!({"env": {"ANTHROPIC_AUTH_TOKEN": SECRET}}),
            From::Helper => json!({"apiKeyHelper": format!("cat {}", secret.display())}),
            From::Login => {
                let (child, page) =
                    first_line(self.authority.known_to(self.project.ona(["auth", "login"])));
                browse(&page);
                assert!(child.wait_with_output().unwrap().status.success());
                return;
            }
            From::Variable(_) | From::Descriptor => return,
        };
        // Where only the product looks, not the hunt.
        fs::create_dir_all(self.config()).unwrap();
        fs::write(self.config().join("settings.json"), settings.to_string()).unwrap();
    }

    fn config(&self) -> PathBuf {
        self.outside.path().join("claude")
    }

    fn ona(&self, args: &[&str]) -> Command {
        let mut command = match self.from {
            From::Descriptor => {
                let mut command = self.project.command("bash");
                let secret = self.outside.path().join("secret");
                let script = format!("exec \"$0\" \"$@\" 9< {}", secret.display());
                command.args(["-c", &script, env!("CARGO_BIN_EXE_ona")]).args(args);
                command.env("CLAUDE_CODE_OAUTH_TOKEN_FILE_DESCRIPTOR", "9");
                command
            }
            _ => self.project.ona(args),
        };
        command = self.authority.known_to(command);
        command.env("CLAUDE_CONFIG_DIR", self.config());
        command
            .env("ANTHROPIC_BASE_URL", self.server.base_url())
            .env("OPENAI_BASE_URL", self.server.openai_base_url())
            .env("LM_STUDIO_BASE_URL", self.server.openai_base_url())
            .env("LM_STUDIO_MODEL", "m");
        match self.from {
            From::Variable(name @ "ANTHROPIC_CUSTOM_HEADERS") => command
                .env(name, format!("x-token: {SECRET}"))
                .env("ANTHROPIC_API_KEY", "another-key-1"),
            From::Variable(name @ "ONA_VAULT_PASSPHRASE") => {
                command.env(name, SECRET).env("ANTHROPIC_API_KEY", "another-key-1")
            }
            From::Variable(name) => command.env(name, SECRET),
            _ => &mut command,
        };
        command
    }

    /// The provider that uses the source.
    fn provider(&self) -> &'static str {
        match self.from {
            From::Variable("OPENAI_API_KEY") => "openai_compatible",
            From::Variable("LM_STUDIO_API_KEY") => "lm_studio_local",
            _ => "claude_code_subscription",
        }
    }

    fn run(&mut self, args: &[&str], code: i32) {
        let ran = run(&mut self.ona(args));
        assert_eq!(ran.code, Some(code), "{:?} {args:?}: {}{}", self.from, ran.stdout, ran.stderr);
        self.printed.push(format!("{args:?}\n{}\n{}", ran.stdout, ran.stderr));
    }

    /// A call of another agent that says the secret.
    fn foreign(&mut self) {
        for event in ["PreToolUse", "PostToolUse"] {
            let input = json!({"command": format!("echo {}", forms().join(" "))});
            let mut said = payload(&self.project, event, "Bash", "toolu_x", input);
            said["tool_response"] = json!({"stdout": forms().join(" ")});
            let ran = told(&mut self.ona(&["hook", "claude_code"]), &said.to_string());
            self.printed.push(format!("{}\n{}", ran.stdout, ran.stderr));
        }
    }

    fn end(self) {
        let found = |place: &str, bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes);
            for trace in traces() {
                let at = text.find(&trace);
                let around = at.map(|at| {
                    let (from, to) = (at.saturating_sub(200), (at + 100).min(text.len()));
                    String::from_utf8_lossy(&text.as_bytes()[from..to]).into_owned()
                });
                assert_eq!(around, None, "{:?} leaks {trace} into {place}", self.from);
            }
        };
        for printed in &self.printed {
            found("what is printed", printed.as_bytes());
        }
        let root = self.project.database().parent().unwrap().to_owned();
        let files = files(&root);
        let seen = fs::read_to_string(self.project.path("src/proc")).unwrap();
        assert!(seen.matches("\0HOME=").count() > 2, "{seen}");
        for name in ["agent.db", "debug.log", "agent_trace.jsonl"] {
            assert!(files.iter().any(|file| file.ends_with(name)), "{name}: {files:?}");
        }
        for file in files {
            found(&file.display().to_string(), &fs::read(&file).unwrap());
        }
    }
}

fn files(dir: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(dir).unwrap().flatten().map(|entry| entry.path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}

fn hunt(from: From) {
    let mut hunt = Hunt::begin(from);
    let debug = hunt.project.database().with_file_name("debug.log").display().to_string();
    let provider = hunt.provider();
    let mut asked = vec!["-p", "go", "--trust", "--provider", provider, "--verbose"];
    asked.extend(["--output-format", "stream-json", "--debug-file", &debug]);
    hunt.run(&asked, 0);
    let again = ["-p", "again", "--continue", "--trust", "--provider", provider, "--debug"];
    hunt.run(&again, 1);
    hunt.run(&again, 1);
    let session = hunt.project.sql("SELECT session_id FROM session_info ORDER BY rowid")[0].clone();
    hunt.run(&["sessions", "export", &session], 0);
    hunt.run(&["sessions", "export", &session, "--json"], 0);
    hunt.run(&["log", "--json"], 0);
    hunt.run(&["why", "--json"], 0);
    hunt.run(&["doctor", "--json"], 0);
    hunt.run(&["sessions", "search", "key"], 0);
    run(&mut hunt.ona(&["auth", "status", "--json"]));
    // A helper's key is known only to processes that ran it.
    if from != From::Helper {
        hunt.foreign();
    }
    hunt.end();
}

#[test]
fn nothing_leaks_of_a_variable() {
    for name in ["ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"] {
        hunt(From::Variable(name));
    }
}

#[test]
fn nothing_leaks_of_a_header_or_a_passphrase() {
    hunt(From::Variable("ANTHROPIC_CUSTOM_HEADERS"));
    hunt(From::Variable("ONA_VAULT_PASSPHRASE"));
}

#[test]
fn nothing_leaks_of_the_keys_of_other_providers() {
    hunt(From::Variable("OPENAI_API_KEY"));
    hunt(From::Variable("LM_STUDIO_API_KEY"));
}

#[test]
fn nothing_leaks_of_a_setting_or_a_helper() {
    hunt(From::Settings);
    hunt(From::Helper);
}

#[test]
fn nothing_leaks_of_a_descriptor_or_a_login() {
    hunt(From::Descriptor);
    hunt(From::Login);
}

#[test]
fn what_the_operator_types_by_mistake_is_not_repeated_or_committed() {
    let project = governed("");
    for args in [
        &["auth", SECRET][..],
        &["-p", "x", "--output-format", SECRET],
        &["sessions", "show", "a", SECRET],
        &["intent", "add", "--name", SECRET],
        &["intent", "edit", "INT-1", "--constraint", &forms()[3]],
    ] {
        let ran = run(project.ona(args).env("ANTHROPIC_API_KEY", SECRET));
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stderr);
        let said = format!("{}{}", ran.stdout, ran.stderr);
        assert!(traces().iter().all(|form| !said.contains(form)), "{args:?}: {said}");
    }
    let intents = project.content(".orchestration/active_intents.yaml");
    assert!(traces().iter().all(|form| !intents.contains(form)), "{intents}");
    // A word of its own, which would be too plain in another variable.
    let call = json!({"command": "echo correcthorse"});
    let mut call = project.eval_command("Bash", &call);
    let ran = run(call.env("ONA_VAULT_PASSPHRASE", "correcthorse"));
    assert!(ran.stdout.contains("[REDACTED:live]"), "{}", ran.stdout);
}

#[test]
fn a_wrapped_form_is_masked_with_line_numbers_before_it() {
    let project = governed("");
    let encoded = STANDARD.encode(format!("xy{SECRET}{SECRET}"));
    let lines: Vec<&str> =
        encoded.as_bytes().chunks(20).map(|line| std::str::from_utf8(line).unwrap()).collect();
    project.file("wrapped", lines.join("\n") + "\n");
    for (tool, input) in [
        ("Read", json!({"file_path": "wrapped"})),
        ("Grep", json!({"pattern": ".", "output_mode": "content", "-n": true})),
        ("Bash", json!({"command": "cat -n wrapped"})),
    ] {
        let mut call = project.eval_command(tool, &input);
        let said = run(call.env("ANTHROPIC_API_KEY", SECRET)).stdout;
        assert!(said.contains("[REDACTED:live]") && !said.contains(lines[1]), "{tool}: {said}");
    }
}
