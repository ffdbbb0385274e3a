//! The keys of an agent, valid and invalid.

use std::path::Path;

use super::*;
use crate::keys;

/// An agent with these keys besides name and description, and its warnings.
fn agent(more: &str) -> (Result<AgentDefinition, KeyError>, Vec<String>) {
    of(more, &Origin::Project)
}

fn of(more: &str, origin: &Origin) -> (Result<AgentDefinition, KeyError>, Vec<String>) {
    let text = format!("---\nname: helper\ndescription: helps\n{more}\n---\n\nYou help.\n");
    let document = keys::read(&text).unwrap();
    let keys = document.keys.unwrap();
    let mut notes = Notes::about(Path::new("/p/helper.md"));
    let name = name(&keys).unwrap();
    let agent = read(name, &keys, document.body, origin, &mut notes);
    (agent, notes.found.iter().map(ToString::to_string).collect())
}

fn good(more: &str) -> AgentDefinition {
    let (agent, said) = agent(more);
    assert_eq!(said, [""; 0], "{more}");
    agent.unwrap()
}

#[test]
fn every_key_counts() {
    let agent = good(
        "tools: [Read, Grep, 'Agent(a, b)', mcp__db]\ndisallowedTools: Bash, KillShell\nmodel: sonnet\n\
         permissionMode: plan\nmaxTurns: 7\nskills: one, two\nmcpServers:\n  - known\n  - own: {command: x}\n\
         hooks:\n  Stop: []\nmemory: project\nbackground: true\neffort: high\nisolation: worktree\n\
         color: blue\ninitialPrompt: Begin.",
    );
    assert_eq!((agent.name.as_str(), agent.description.as_str()), ("helper", "helps"));
    assert_eq!(agent.tools.unwrap(), ["Read", "Grep", "Agent", "mcp__db"]);
    assert_eq!(agent.may_start.unwrap(), ["a", "b"]);
    assert_eq!(agent.disallowed_tools, ["Bash", "TaskStop"]);
    assert_eq!(agent.model.as_deref(), Some("sonnet"));
    assert_eq!(agent.permission_mode, Some(PermissionMode::Plan));
    assert_eq!(agent.max_turns.unwrap().get(), 7);
    assert_eq!(agent.skills, ["one", "two"]);
    let own =
        ServerUse::Inline { name: "own".into(), definition: serde_json::json!({"command": "x"}) };
    assert_eq!(agent.mcp_servers, [ServerUse::Named("known".into()), own]);
    assert_eq!(agent.hooks, Some(serde_json::json!({"Stop": []})));
    assert_eq!(agent.memory, Some(MemoryPlace::Project));
    assert!(agent.background && agent.isolated);
    assert_eq!(agent.effort, Some(Effort::High));
    assert_eq!(agent.color, Some("blue"));
    assert_eq!(agent.initial_prompt.as_deref(), Some("Begin."));
    assert_eq!(agent.prompt, "You help.");
    assert_eq!(agent.path.as_deref(), Some(Path::new("/p/helper.md")));
}

#[test]
fn missing_keys_have_defaults() {
    let agent = good("model: inherit");
    assert_eq!((agent.tools, agent.model, agent.permission_mode), (None, None, None));
    assert!(!agent.background && !agent.isolated && agent.disallowed_tools.is_empty());
    assert_eq!(good("tools: '*'").tools, None);
    assert_eq!(good("tools: []").tools, Some(Vec::new()), "none is not all");
}

#[test]
fn a_broken_key_never_makes_an_agent_freer() {
    for (key, why) in [
        ("tools: {a: b}", "`tools` must be a list"),
        ("tools: [1]", "`tools` must contain only strings"),
        ("disallowedTools: {a: b}", "`disallowedTools` must be a list"),
        ("permissionMode: planning", "unknown permission mode `planning`"),
        ("permissionMode: [plan]", "`permissionMode` must be a string"),
        ("maxTurns: few", "`maxTurns` must be a whole number"),
        ("isolation: container", "`isolation` must be one of worktree"),
        ("hooks: none", "`hooks` must be written as in settings"),
        ("allowed-tools: Read", "did you mean `tools`?"),
        ("Tools: Read", "did you mean `tools`?"),
        ("disallowed_tools: Bash", "did you mean `disallowedTools`?"),
        ("permission-mode: plan", "did you mean `permissionMode`?"),
    ] {
        let (agent, _) = agent(key);
        let bad = agent.unwrap_err();
        assert!(bad.why.contains(why), "{key}: {bad:?}");
        assert_eq!(bad.line, Some(4), "{key}");
    }
}

#[test]
fn a_broken_key_that_restricts_nothing_is_named_and_does_not_count() {
    for key in [
        "model: [a]",
        "skills: {a: b}",
        "mcpServers: db",
        "memory: global",
        "background: yes",
        "effort: huge",
        "color: mauve",
        "initialPrompt: [a]",
    ] {
        let (found, said) = agent(key);
        assert_eq!(found.unwrap(), good("version: 1"), "{key}");
        assert_eq!(said.len(), 1, "{key}: {said:?}");
        assert!(said[0].starts_with("/p/helper.md:4: `"), "{said:?}");
        assert!(said[0].ends_with("the key is ignored until it is fixed"), "{said:?}");
    }
    let (_, said) = agent("initial-prompt: x");
    assert!(said[0].ends_with("write `initialPrompt`"), "{said:?}");
}

#[test]
fn unknown_tools_are_left_out() {
    let (found, said) = agent("tools: Read, Reed, Bash(git *), LS");
    assert_eq!(found.unwrap().tools.unwrap(), ["Read"]);
    assert_eq!(said.len(), 1);
    assert!(said[0].contains("`Reed`, `Bash(git *)`, `LS`; the tools are Read, "), "{said:?}");
    // An unknown tool does not mean all tools.
    assert_eq!(agent("tools: Reed").0.unwrap().tools, Some(Vec::new()));
    let (found, said) = agent("tools:");
    assert_eq!(found.unwrap().tools, Some(Vec::new()));
    assert!(said[0].contains("remove the key"), "{said:?}");
    // A tool that is disallowed by nearly its name stays disallowed.
    let (found, said) = agent("disallowedTools: bash, Edit(src/*), Nope");
    assert_eq!(found.unwrap().disallowed_tools, ["Bash", "Edit"]);
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn an_agent_does_not_start_itself() {
    let (found, said) = agent("tools: Agent(helper, other)");
    assert_eq!(found.unwrap().may_start.unwrap(), ["other"]);
    assert!(said[0].contains("names itself"), "{said:?}");
}

#[test]
fn names_and_descriptions_are_needed() {
    for (text, why) in [
        ("description: x", "`name` is missing"),
        ("name: Not This\ndescription: x", "`name` must be"),
        ("name: ../up\ndescription: x", "`name` must be"),
        ("name: [a]\ndescription: x", "`name` must be a string"),
    ] {
        let text = format!("---\n{text}\n---\n");
        let keys = keys::read(&text).unwrap().keys.unwrap();
        assert!(name(&keys).unwrap_err().why.contains(why), "{text}");
    }
    let keys = keys::read("---\nname: x\n---\n").unwrap().keys.unwrap();
    let mut notes = Notes::about(Path::new("/x"));
    let bad = read("x".into(), &keys, "", &Origin::User, &mut notes).unwrap_err();
    assert!(bad.why.contains("`description` is missing"), "{bad:?}");
}

#[test]
fn a_plugins_agent_brings_neither_hooks_nor_servers_nor_a_mode() {
    let more = "hooks: {Stop: []}\nmcpServers: [x]\npermissionMode: bypassPermissions\ntools: Read";
    let (found, said) = of(more, &Origin::Plugin("kit".into()));
    let found = found.unwrap();
    assert_eq!(found.name, "kit:helper");
    assert_eq!((found.hooks, found.permission_mode), (None, None));
    assert!(found.mcp_servers.is_empty());
    assert_eq!(said.len(), 3, "{said:?}");
}

#[test]
fn the_tools_an_agent_has() {
    let all: Vec<String> =
        ["Read", "Bash", "Edit", "Agent", "mcp__db__ask", "mcp__db__drop", "mcp__web__get"]
            .map(str::to_owned)
            .into();
    let table: &[(&str, &[&str])] = &[
        ("", &["Read", "Bash", "Edit", "Agent", "mcp__db__ask", "mcp__db__drop", "mcp__web__get"]),
        ("tools: Read, Agent, Task", &["Read", "Agent"]),
        ("disallowedTools: Bash, mcp__db", &["Read", "Edit", "Agent", "mcp__web__get"]),
        ("tools: Read, Bash\ndisallowedTools: Bash", &["Read"]),
        ("tools: mcp__db", &["mcp__db__ask", "mcp__db__drop"]),
        ("tools: mcp__db__*\ndisallowedTools: mcp__*__drop", &["mcp__db__ask"]),
        ("tools: mcp__*", &["mcp__db__ask", "mcp__db__drop", "mcp__web__get"]),
        ("tools: mcp__d", &[]),
        ("tools: mcp__db__ask", &["mcp__db__ask"]),
        ("tools: []", &[]),
    ];
    for (keys, expected) in table {
        assert_eq!(tools_for(&good(keys), &all), *expected, "{keys}");
    }
}
