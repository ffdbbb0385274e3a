//! Agents and skills as a user finds them: whose they are, what is wrong with them, what waits for trust.

use std::fs;

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::print::anthropic;
use crate::project;
use crate::trust::repository;

fn ona(project: &Project, args: &[&str]) -> Ran {
    run(&mut project.ona(args))
}

fn agents(project: &Project, more: &[&str]) -> (Value, String) {
    let ran = ona(project, &[more, &["agents", "--json"]].concat());
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    (serde_json::from_str(&ran.stdout).unwrap(), ran.stderr)
}

fn names(all: &Value) -> Vec<&str> {
    all.as_array().unwrap().iter().map(|one| one["name"].as_str().unwrap()).collect()
}

#[test]
fn agents_are_found_checked_and_told_of() {
    let project = project();
    project.file(
        ".claude/agents/good.md",
        "---\nname: good\ndescription: Use when: asked\ntools: Read\n---\nx",
    );
    project.file(".claude/agents/bad.md", "---\nname: bad\ndescription: x\ntools: {}\n---\nx");
    project
        .file(".claude/agents/odd.md", "---\nname: odd\ndescription: x\ntools: Read, Reed\n---\nx");
    fs::create_dir_all(project.home().join(".claude/agents")).unwrap();
    let user = "---\nname: good\ndescription: the user's\n---\nx";
    fs::write(project.home().join(".claude/agents/good.md"), user).unwrap();
    let given = r#"{"given": {"description": "d", "prompt": "p"}}"#;
    let (found, said) = agents(&project, &["--agents", given]);
    let all = &found["agents"];
    assert_eq!(names(all), ["given", "good", "odd", "general-purpose", "Explore", "Plan"]);
    assert_eq!(all[1]["description"], "Use when: asked");
    assert_eq!(all[2]["tools"], json!(["Read"]));
    assert_eq!(found["hidden"][0]["hidden_by"], "project");
    for part in [
        "bad.md:4: `tools` must be a list or a comma-separated string; this agent cannot be used until it is fixed",
        "odd.md:4: `tools`: unknown tools are ignored: `Reed`; the tools are Read, ",
    ] {
        assert!(said.contains(part), "{part}: {said}");
        assert!(found["warnings"].to_string().contains(part), "{part}: {found}");
    }
    assert_eq!(said.lines().count(), 2, "{said}");
    let ran = ona(&project, &["--agents", "[]", "agents"]);
    assert_eq!(ran.code, Some(2));
    assert!(ran.stderr.contains("--agents: it must be an object"), "{}", ran.stderr);
    let wrong = r#"{"a": {"prompt": "y", "Color": "red"}, "b": {"description": "x", "prompt": "y", "Color": "red"}}"#;
    let (_, said) = agents(&project, &["--agents", wrong]);
    for part in
        ["--agents: a: `description` is missing", "--agents: b: `Color` is not a key of an agent"]
    {
        assert!(said.contains(part), "{part}: {said}");
    }
    // With --bare only what is given, and what ships.
    let (found, _) = agents(&project, &["--agents", given, "--setting-sources", "user"]);
    assert!(names(&found["agents"]).contains(&"good"));
}

#[test]
fn skills_and_commands_are_listed_with_whose_they_are() {
    let project = project();
    project.file(".claude/skills/ship/SKILL.md", "---\ndescription: ships\n---\nShip it.");
    project.file(".claude/commands/front/card.md", "Make a card.");
    project.file(".claude/commands/ship.md", "loses");
    let ran = ona(&project, &["skills"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
    let lines: Vec<Vec<&str>> = ran
        .stdout
        .lines()
        .map(|line| line.split("  ").map(str::trim).filter(|w| !w.is_empty()).collect())
        .collect();
    assert_eq!(lines[0], ["/ship", "project", "ships"]);
    assert_eq!(lines[1], ["/card", "project:front", "Make a card."]);
    assert!(ran.stdout.contains("hidden: ship of project ("), "{}", ran.stdout);
}

#[test]
fn what_would_run_stops_and_what_would_permit_waits() {
    let project = repository();
    let call = json!({"command": "true"});
    project.file(".claude/skills/s/SKILL.md", "---\nallowed-tools: Bash(git push *)\n---\nx");
    project.file(
        ".claude/agents/free.md",
        "---\nname: free\ndescription: x\npermissionMode: bypassPermissions\n---\nx",
    );
    project.file(
        ".claude/agents/tame.md",
        "---\nname: tame\ndescription: x\npermissionMode: plan\n---\nx",
    );
    let ran = run(&mut project.eval_command("Bash", &call));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    for part in
        ["held back until `ona trust`", "allowed-tools in .claude/", "permissionMode in .claude/"]
    {
        assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
    }
    assert!(!ran.stderr.contains("tame.md"), "what forbids needs no trust: {}", ran.stderr);
    let held = |project: &Project| {
        let (found, _) = agents(project, &[]);
        let free = found["agents"].as_array().unwrap().iter().find(|one| one["name"] == "free");
        free.unwrap()["held_back"].clone()
    };
    assert_eq!(held(&project), json!(["permissionMode"]));
    assert_eq!(ona(&project, &["trust"]).code, Some(0));
    assert_eq!(held(&project), json!([]));
    // The text may change, what it permits may not.
    project.file(
        ".claude/skills/s/SKILL.md",
        "---\nallowed-tools: Bash(git push *)\n---\nanother text",
    );
    assert_eq!(run(&mut project.eval_command("Bash", &call)).stderr, "");
    project.file(".claude/skills/s/SKILL.md", "---\nallowed-tools: Bash\n---\nx");
    assert!(run(&mut project.eval_command("Bash", &call)).stderr.contains("allowed-tools in"));
    // Commands in the text go ahead by it: they are agreed to with it, and no others.
    let with = |command: &str| format!("---\nallowed-tools: Bash(git *)\n---\nSee !`{command}`");
    let warns =
        || run(&mut project.eval_command("Bash", &call)).stderr.contains("allowed-tools in");
    project.file(".claude/skills/s/SKILL.md", with("git log"));
    assert_eq!(run(&mut project.ona(["trust"])).code, Some(0));
    assert!(!warns());
    project.file(".claude/skills/s/SKILL.md", with("git push"));
    assert!(warns());

    let hooks = "---\nname: hooked\ndescription: x\nhooks:\n  Stop:\n    - hooks: [{command: touch made}]\n---\nx";
    project.file(".claude/agents/hooked.md", hooks);
    let ran = run(&mut project.eval_command("Bash", &call));
    assert_eq!(ran.code, Some(2));
    assert!(
        ran.stderr.contains("hooks in .claude/") && ran.stderr.contains("hooked.md"),
        "{}",
        ran.stderr
    );
    assert_eq!(ona(&project, &["trust"]).code, Some(0));
    assert_eq!(run(&mut project.eval_command("Bash", &call)).code, Some(0));
}

#[test]
fn what_an_agent_names_and_there_is_not_is_told() {
    let project = project();
    let agent = |name: &str, keys: &str| {
        let text = format!("---\nname: {name}\ndescription: x\n{keys}---\nx");
        project.file(&format!(".claude/agents/{name}.md"), text);
    };
    agent("modern", "model: opuss\n");
    agent("served", "mcpServers: [nowhere]\n");
    agent("bare", "tools: Read\ndisallowedTools: Read\n");
    agent("fine", "model: gpt_4o\ntools: Read\n");
    let expected = [
        "modern.md: `model`: unknown model `opuss`, so the agent modern uses its caller's; use a known model",
        "served.md: `mcpServers`: unknown server `nowhere`; `ona mcp list`",
        "bare.md:4: the agent has no tools; list at least one",
    ];
    let server = Server::start([Reply::say("Done.")]).unwrap();
    let listed = ona(&project, &["agents", "--trust"]);
    let started = run(&mut anthropic(&project, &server, &["-p", "go", "--trust"]));
    for ran in [listed, started] {
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        for part in expected {
            assert!(ran.stderr.contains(part), "{part}: {}", ran.stderr);
        }
        assert_eq!(ran.stderr.lines().count(), expected.len(), "{}", ran.stderr);
    }
}

#[test]
fn what_needs_no_trust_is_listed_where_the_folder_is_not_trusted() {
    let project = repository();
    let hooks = "hooks:\n  Stop:\n    - hooks: [{type: command, command: touch made}]\n";
    let text = format!("---\nname: hooked\ndescription: x\n{hooks}---\nx");
    project.file(".claude/agents/hooked.md", text);
    project.file(".claude/skills/theirs/SKILL.md", "x");
    let mine = project.home().join(".claude/skills/mine");
    fs::create_dir_all(&mine).unwrap();
    fs::write(mine.join("SKILL.md"), "---\ndescription: mine\n---\nx").unwrap();
    let (found, said) = agents(&project, &[]);
    assert_eq!(names(&found["agents"]), ["general-purpose", "Explore", "Plan"]);
    assert!(said.contains("is not trusted. It contains hooks in .claude/"), "{said}");
    assert!(said.contains("The project's own files are skipped until `ona trust`"), "{said}");
    let ran = ona(&project, &["skills"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("/mine") && !ran.stdout.contains("/theirs"), "{}", ran.stdout);
    ona(&project, &["trust"]);
    assert!(names(&agents(&project, &[]).0["agents"]).contains(&"hooked"));
}
