//! A secret in a call of another agent is masked as in a call of ona's own.

use std::fs;
use std::path::Path;

use ona_gate::testing::World;
use ona_intents::file::INTENTS_FILE;
use ona_testkit::sql;
use ona_trace::ledger::LEDGER_PATH;
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use crate::{Host, HostOptions, Reply, answer};

/// A text with a secret in it.
struct Sample {
    name: &'static str,
    text: String,
    /// Must not be kept anywhere.
    secret: String,
    mask: &'static str,
}

/// The value of a variable that the settings give to children.
const VARIABLE: &str = r#"t0p/secret "value" of ours"#;

/// Secrets of every kind. They are put together at run time: a scanner of this repository should find none.
fn samples() -> Vec<Sample> {
    let sample = |name, text: String, secret: &str, mask| Sample {
        name,
        text,
        secret: secret.to_owned(),
        mask,
    };
    let api_key = format!("sk-ant-{}", "a1B2".repeat(8));
    let lines = ["QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVo"; 4].join("\n");
    let private_key = |end: &str| format!("-----{end} PRIVATE KEY-----");
    vec![
        sample("API key", format!("key={api_key}"), &api_key, "[REDACTED:anthropic_key]"),
        sample("variable", format!("it is {VARIABLE}."), VARIABLE, "[REDACTED:live]"),
        sample(
            "password in a URL",
            format!("https://bot:{}@git.example/x.git", "hunter-22"),
            "hunter-22",
            "[REDACTED:url_password]",
        ),
        sample(
            "private key",
            format!("{}\n{lines}\n{}", private_key("BEGIN"), private_key("END")),
            &format!("{}\n{lines}\n{}", private_key("BEGIN"), private_key("END")),
            "[REDACTED:private_key]",
        ),
    ]
}

/// A project whose agent works for an intent, with hooks on every call.
fn world() -> World {
    let hook = json!([{"hooks": [{"type": "command", "command": ":"}]}]);
    let world = World::new(&json!({
        "permissions": {"allow": ["Bash", "Write"]},
        "env": {"DEPLOY_TOKEN": VARIABLE},
        "hooks": {"PreToolUse": hook, "PostToolUse": hook, "PostToolUseFailure": hook},
    }));
    let project = world.project();
    for dir in [".orchestration", "src", "lib"] {
        fs::create_dir(project.join(dir)).unwrap();
    }
    let intents = "- {id: INT-1, status: IN_PROGRESS, owned_scope: ['src/**']}\n";
    fs::write(project.join(INTENTS_FILE), intents).unwrap();
    let root = project.to_string_lossy();
    world.core().store.select_intent(&root, None, Some("INT-1"), "operator").unwrap();
    world
}

/// What is kept of a call, as far as it does not depend on who ran it.
#[derive(Debug, PartialEq)]
struct Left {
    tool: String,
    input: Value,
    result: (String, bool),
    redacted: Value,
    /// The answers of the stages that judge every call.
    answers: Vec<(String, String, String)>,
    /// The inputs and errors that hooks were told.
    told: Vec<(Value, Value)>,
    /// The tool, the error and the warnings of trace entries.
    traced: Vec<(Value, Value, Value)>,
}

fn left(world: &World, id: &str) -> Left {
    let story = world.core().store.story(id).unwrap().unwrap();
    // Every world has a directory of its own.
    let project = world.project().to_string_lossy();
    let bare = |text: &str| text.replace(&*project, "PROJECT");
    let shared = ["phase", "intent", "rules"];
    let answers = story.answers.into_iter().filter(|row| shared.contains(&row.stage.as_str()));
    let told = format!("SELECT input_json FROM hook_invocations WHERE tool_use_id = '{id}'");
    let told = sql(world.core().store.path(), &told).into_iter().map(|json| {
        let told: Value = serde_json::from_str(&json).unwrap();
        (told["tool_input"].clone(), told["error"].clone())
    });
    let trace = fs::read_to_string(world.project().join(LEDGER_PATH)).unwrap_or_default();
    let traced = trace.lines().map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        (entry["tool_name"].clone(), entry["error"].clone(), entry["warnings"].clone())
    });
    Left {
        tool: story.tool,
        input: story.input,
        result: story.result.unwrap(),
        redacted: story.finished.unwrap_or_default()["redacted"].clone(),
        answers: answers
            .map(|row| (row.stage, bare(&row.reason), bare(&row.detail.to_string())))
            .collect(),
        told: told.collect(),
        traced: traced.collect(),
    }
}

/// Everything that is kept: the record, and the files of the workspace that ona writes.
fn everything(world: &World) -> String {
    let tables =
        ["transcript_entries", "gate_answers", "hook_invocations", "events", "foreign_calls"];
    let mut all = Vec::new();
    for table in tables {
        all.extend(sql(world.core().store.path(), &format!("SELECT * FROM {table}")));
    }
    for file in fs::read_dir(world.project().join(".orchestration")).unwrap() {
        all.push(fs::read_to_string(file.unwrap().path()).unwrap_or_default());
    }
    all.join("\n")
}

/// The secret is not kept, neither plain nor escaped for JSON.
fn assert_nowhere(world: &World, sample: &Sample) {
    let kept = everything(world);
    let escaped = Value::from(sample.secret.as_str()).to_string();
    let nested = Value::from(escaped.as_str()).to_string();
    for secret in [&sample.secret, escaped.trim_matches('"'), nested.trim_matches(['"', '\\'])] {
        assert!(!kept.contains(secret), "{}: {secret} is kept in\n{kept}", sample.name);
    }
    assert!(kept.contains(sample.mask), "{}: {kept}", sample.name);
}

/// A call of ona's own.
async fn own(world: &World, tool: &str, input: &Value) -> Left {
    let mut gate = world.gate();
    let report = gate.call(tool, input, &CancellationToken::new()).await.unwrap();
    left(world, report.tool_use_id.as_str())
}

/// A hook of another agent. Its JSON is written with escapes that ona would not use.
async fn hook(world: &World, event: &str, fields: &Value) -> Reply {
    let mut said = json!({"session_id": "theirs", "cwd": world.project(), "hook_event_name": event,
        "tool_use_id": "toolu_theirs"});
    said.as_object_mut().unwrap().extend(fields.as_object().unwrap().clone());
    let said = said.to_string().replace('/', "\\/");
    let options = HostOptions { rules: true, ..HostOptions::default() };
    answer(world.core(), Host::ClaudeCode, &said, Path::new("/"), options).await.unwrap()
}

#[tokio::test]
async fn what_a_call_says_and_prints_is_masked_alike() {
    for (sample, code) in samples().iter().flat_map(|sample| [(sample, 0), (sample, 3)]) {
        let Sample { name, text, secret, mask } = sample;
        let command = format!("echo x > src/out\nprintf '%s\\n' '{text}'\nexit {code}");
        let input = json!({"command": command});
        let (ours, theirs) = (world(), world());
        let own = own(&ours, "Bash", &input).await;
        assert!(own.result.0.contains(mask), "{name}: {own:?}");
        assert_eq!(own.result.1, code != 0, "{name}: {own:?}");
        assert_nowhere(&ours, sample);

        let call = json!({"tool_name": "Bash", "tool_input": input});
        let reply = hook(&theirs, "PreToolUse", &call).await;
        assert_eq!(reply.code, 0, "{name}: {reply:?}");
        assert_nowhere(&theirs, sample);
        fs::write(theirs.project().join("src/out"), "x\n").unwrap();
        let printed = Value::from(own.result.0.replace(mask, secret));
        let (event, key) = match code {
            0 => ("PostToolUse", "tool_response"),
            _ => ("PostToolUseFailure", "error"),
        };
        let call = json!({"tool_name": "Bash", "tool_input": input, key: printed});
        hook(&theirs, event, &call).await;
        assert_eq!(left(&theirs, "toolu_theirs"), own, "{name}");
        assert_nowhere(&theirs, sample);
    }
}

#[tokio::test]
async fn a_refusal_that_names_a_secret_is_masked_alike() {
    for sample in samples().iter().filter(|sample| !sample.text.contains(['/', '\n'])) {
        let file = format!("lib/{}", sample.text);
        let input = json!({"file_path": file, "content": sample.text});
        let (ours, theirs) = (world(), world());
        let own = own(&ours, "Write", &input).await;
        assert!(own.result.1 && own.result.0.contains(sample.mask), "{own:?}");
        assert_nowhere(&ours, sample);
        let call = json!({"tool_name": "Write", "tool_input": input});
        let reply = hook(&theirs, "PreToolUse", &call).await;
        assert_eq!((reply.code, &reply.stderr), (2, &own.result.0), "the agent is told the same");
        let theirs_left = left(&theirs, "toolu_theirs");
        assert_eq!(theirs_left.answers, own.answers);
        assert_eq!(theirs_left.traced, own.traced);
        assert_eq!((theirs_left.input, theirs_left.result), (own.input, own.result));
        assert_nowhere(&theirs, sample);
    }
}

#[tokio::test]
async fn a_secret_at_the_end_of_what_is_kept_leaves_no_part_of_itself() {
    for sample in samples() {
        let world = world();
        for cut in [1, sample.text.len() / 2, sample.text.len() - 1] {
            let response = format!("{}{}", " ".repeat(10_000 - cut), sample.text);
            let call = json!({"tool_name": "Bash", "tool_input": {"command": "ls"},
                "tool_use_id": format!("toolu_{cut}"), "tool_response": response});
            hook(&world, "PostToolUse", &call).await;
            let kept = world.core().store.story(&format!("toolu_{cut}")).unwrap().unwrap();
            let (kept, _) = kept.result.unwrap();
            let masked = sample.text.replace(&sample.secret, sample.mask);
            let masked = format!("{}{masked}", " ".repeat(10_000 - cut));
            assert_eq!(kept, masked.chars().take(10_000).collect::<String>(), "{}", sample.name);
        }
    }
}

#[tokio::test]
async fn a_secret_in_the_name_of_a_tool_or_of_a_changed_file_is_masked() {
    let sample = &samples()[0];
    let world = world();
    let call =
        json!({"tool_name": sample.text, "tool_input": {}, "tool_response": {"a": sample.text}});
    hook(&world, "PreToolUse", &call).await;
    hook(&world, "PostToolUse", &call).await;
    assert_nowhere(&world, sample);

    let call = json!({"tool_name": "Bash", "tool_use_id": "toolu_2",
        "tool_input": {"command": "sh make.sh > src/log"}});
    hook(&world, "PreToolUse", &call).await;
    fs::write(world.project().join("lib").join(&sample.text), "x").unwrap();
    hook(&world, "PostToolUse", &call).await;
    let left = left(&world, "toolu_2");
    assert!(left.result.0.contains(sample.mask), "{left:?}");
    let traced = left.traced.last().unwrap();
    assert!(traced.2.to_string().contains(sample.mask), "{left:?}");
}
