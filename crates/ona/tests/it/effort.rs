//! How hard the model thinks: who may say it, and how each provider is told.

use ona_provider::scripted::{Recorded, Reply, Script, Server};
use ona_testkit::{Project, run};
use serde_json::{Value, json};

use crate::print::asking;
use crate::project;

/// What the provider was told of effort in each request, with stderr.
fn efforts(project: &Project, server: &Server, provider: &str, args: &[&str]) -> Vec<Value> {
    let mut command = asking(project, server, provider);
    // A model that ona knows nothing of: it takes what it is asked for.
    command.env("ANTHROPIC_DEFAULT_SONNET_MODEL", "claude-of-tomorrow");
    let ran = run(command.args(args));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let told = |request: &Recorded| match &request.body["output_config"] {
        Value::Null => request.body["reasoning_effort"].clone(),
        config => config["effort"].clone(),
    };
    server.requests().iter().map(told).collect()
}

fn asked(project: &Project, provider: &str, args: &[&str]) -> Value {
    let server = Server::start([Reply::say("Done.")]).unwrap();
    efforts(project, &server, provider, &[&["-p", "go"], args].concat()).remove(0)
}

const ANTHROPIC: &str = "claude_code_subscription";

#[test]
fn each_provider_is_told_in_its_own_words_and_only_if_somebody_said_so() {
    let project = project();
    for (provider, more, most) in [
        (ANTHROPIC, &[][..], "max"),
        ("openai_compatible", &["--model", "o3"][..], "high"),
        ("lm_studio_local", &[][..], "high"),
    ] {
        let with = |effort: &[&str]| asked(&project, provider, &[more, effort].concat());
        assert_eq!(with(&[]), Value::Null, "{provider}");
        assert_eq!(with(&["--effort", "low"]), "low", "{provider}");
        assert_eq!(with(&["--effort", "max"]), most, "{provider}");
    }
    // A model that would refuse it is not told, and who asked for it is.
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let mut command = asking(&project, &server, "openai_compatible");
    let ran = run(command.args(["-p", "go", "--model", "gpt_4o", "--effort", "high"]));
    assert!(server.requests()[0].body.get("reasoning_effort").is_none());
    let said = "warning: --effort high: gpt-4o does not support reasoning effort";
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
    let ran = run(project.ona(["-p", "go", "--effort", "huge"]).env("ANTHROPIC_API_KEY", "x"));
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("unknown effort `huge` (expected low, medium, high or max)"),
        "{}",
        ran.stderr
    );
}

#[test]
fn the_command_line_counts_above_files_and_files_above_settings() {
    let project = project();
    std::fs::create_dir_all(project.home().join(".claude")).unwrap();
    let set = |level: &str| {
        let settings = json!({"effortLevel": level}).to_string();
        std::fs::write(project.home().join(".claude/settings.json"), settings).unwrap();
    };
    set("max");
    assert_eq!(asked(&project, ANTHROPIC, &[]), "max", "settings, as --effort max");
    set("low");
    project.file(
        ".claude/agents/deep.md",
        "---\nname: deep\ndescription: thinks\neffort: max\n---\nThink.",
    );
    let skill = |name: &str, keys: &str| {
        let text = format!("---\ndescription: x\n{keys}---\nDo it.");
        project.file(&format!(".claude/skills/{name}/SKILL.md"), text);
    };
    skill("hard", "effort: high\n");
    skill("apart", "effort: medium\ncontext: fork\nagent: deep\n");
    assert_eq!(asked(&project, ANTHROPIC, &[]), "low", "settings");
    // The main agent, one that it starts, and the main agent again.
    let script = || {
        Script::choose(|request| {
            let said = request.body["messages"].to_string();
            match said.contains("MAIN") && !said.contains("tool_result") {
                true => Reply::new().call(
                    "toolu_1",
                    "Agent",
                    json!({"description": "x", "prompt": "HELP", "subagent_type": "deep"}),
                ),
                false => Reply::say("Done."),
            }
        })
    };
    let args = ["-p", "MAIN"];
    let server = Server::start(script()).unwrap();
    assert_eq!(efforts(&project, &server, ANTHROPIC, &args), ["low", "max", "low"]);
    let server = Server::start(script()).unwrap();
    let fixed = ["-p", "MAIN", "--effort", "medium"];
    assert_eq!(efforts(&project, &server, ANTHROPIC, &fixed), ["medium"; 3]);
    // A skill, while it is active: taken up by the user, by the model, and in an agent of its own.
    let server = Server::start([Reply::say("Done.")]).unwrap();
    assert_eq!(efforts(&project, &server, ANTHROPIC, &["-p", "/hard"]), ["high"]);
    let server = Server::start([
        Reply::new().call("toolu_s", "Skill", json!({"skill": "hard"})),
        Reply::say("Done."),
    ])
    .unwrap();
    assert_eq!(efforts(&project, &server, ANTHROPIC, &["-p", "go"]), ["low", "high"]);
    let server = Server::start([Reply::say("There."), Reply::say("Done.")]).unwrap();
    assert_eq!(efforts(&project, &server, ANTHROPIC, &["-p", "/apart"]), ["medium", "low"]);
}

#[test]
fn who_is_told_of_effort_is_the_model_that_is_asked() {
    let project = project();
    project.file(
        ".claude/agents/small.md",
        "---\nname: small\ndescription: x\nmodel: gpt_4o\n---\nBe small.",
    );
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let mut command = asking(&project, &server, "openai_compatible");
    let args = ["-p", "go", "--agent", "small", "--effort", "high"];
    let ran = run(command.env("ANTHROPIC_MODEL", "o3").args(args));
    assert_eq!(server.requests()[0].body["model"], "gpt-4o", "{}", ran.stderr);
    let said = "warning: --effort high: gpt-4o does not support reasoning effort";
    assert_eq!(ran.stderr.matches("--effort").count(), 1, "{}", ran.stderr);
    assert!(ran.stderr.contains(said), "{}", ran.stderr);
}
