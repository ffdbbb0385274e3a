//! `/agents`, `/skills`, `/mcp`, `/plugin`, `/reload-plugins` and `/hooks`.

use super::*;
use crate::every_tool::small_server;
use crate::project;

const GARDENER: &str = "---\nname: gardener\ndescription: Plants trees\n---\nPlant.\n";

#[test]
fn an_agent_is_made_in_the_editor() {
    let project = project();
    let options = PtyOptions::default().env("ANTHROPIC_API_KEY", KEY).env("EDITOR", "true");
    let pty = start_in(&project, &[], options);
    answers(&pty, "/agents new painter", "created ");
    assert!(project.path(".claude/agents/painter.md").exists());
    pty.wait_whole("reloaded: ");
    ready(&pty);
    answers(&pty, "/agents edit painter", "opened ");
}

#[test]
fn agents_are_listed_and_deleted() {
    let project = project();
    project.file(".claude/agents/gardener.md", GARDENER);
    let pty = start_alone(&project);
    pty.line("/agents");
    let shown = pty.wait_for("New agent");
    assert!(shown.contains("gardener") && shown.contains("Plants trees"), "{shown}");
    close(&pty);
    answers(&pty, "/agents list", "gardener");
    ready(&pty);
    answers(&pty, "/agents new Bad Name", "invalid name");
    ready(&pty);
    answers(&pty, "/agents edit nobody", "unknown agent `nobody`");
    ready(&pty);
    answers(&pty, "/agents delete", "which agent? /agents delete NAME");
    ready(&pty);
    // The key of the list asks too, and No is selected.
    pty.line("/agents");
    pty.wait_for("❯ 1. gardener");
    pty.send("d");
    pty.wait_for("Delete the agent gardener?");
    pty.wait_for("❯ 2. No");
    pty.key(Key::Enter);
    ready(&pty);
    assert!(project.path(".claude/agents/gardener.md").exists());
    // As in dialogs, a letter answers.
    pty.line("/agents delete gardener");
    pty.wait_for("Delete the agent gardener?");
    pty.send("n");
    ready(&pty);
    assert!(project.path(".claude/agents/gardener.md").exists());
    pty.line("/agents delete gardener");
    pty.wait_for("y yes · n no");
    pty.send("y");
    pty.wait_whole("deleted ");
    assert!(!project.path(".claude/agents/gardener.md").exists());
    ready(&pty);
    answers(&pty, "/agents delete gardener", "unknown agent `gardener`");
}

#[test]
fn an_agent_is_written_by_the_model() {
    let (project, server) = (project(), model([Reply::say("Written.")]));
    let pty = start(&project, &server, &[]);
    pty.line("/agents");
    pty.wait_for("5. New agent, written by the model");
    pty.send("5");
    pty.wait_for("What it is for:");
    pty.line("paints fences");
    pty.wait_whole("Written.");
    let told = last_told(&server);
    assert!(told.contains("paints fences") && told.contains(".claude/agents/NAME.md"), "{told}");
}

#[test]
fn skills_and_commands_are_listed() {
    let project = project();
    project.file(".claude/skills/sums/SKILL.md", "---\ndescription: Adds up\n---\nAdd.\n");
    project.file(".claude/commands/greet.md", "---\ndescription: Greets\n---\nGreet.\n");
    let pty = start_alone(&project);
    pty.line("/skills");
    pty.wait_until(|_| {
        let whole = pty.whole();
        let after = whole.rsplit("> /skills\n").next().unwrap_or_default().to_owned();
        ["sums", "Adds up", "greet", "Greets"].iter().all(|part| after.contains(part))
    });
}

#[test]
fn reload_plugins_reads_commands_again() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/greet", "Unknown command: /greet");
    project.file(".claude/commands/greet.md", "---\ndescription: Greets\n---\nGreet.\n");
    ready(&pty);
    answers(&pty, "/reload-plugins", "reloaded: ");
    ready(&pty);
    pty.send("/gre");
    pty.wait_for("❯ /greet");
}

#[test]
fn plugins_are_listed() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/plugin", "no plugins installed");
    ready(&pty);
    answers(&pty, "/plugin nonsense", "nonsense");
}

#[test]
fn servers_are_shown_and_connected_again() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &["--mcp-config", &small_server()]);
    answers(&pty, "/status", "(connected, 2 tools)");
    ready(&pty);
    pty.line("/mcp");
    let shown = pty.wait_for("Enter connects a server again");
    assert!(shown.contains("connected, 2 tools"), "{shown}");
    close(&pty);
    pty.line("/mcp remove small");
    pty.wait_for("Remove the server small from its file?");
    pty.wait_for("❯ 2. No");
    close(&pty);
    pty.line("/mcp");
    pty.wait_for("Enter connects a server again");
    pty.key(Key::Enter);
    pty.wait_whole(": connected, 2 tools");
    ready(&pty);
    answers(&pty, "/mcp reconnect nobody", "nobody");
    ready(&pty);
    answers(&pty, "/mcp nonsense", "unknown argument");
}

#[test]
fn without_servers_mcp_says_so() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/mcp", "no servers; `ona mcp add --help`");
}

#[test]
fn a_server_that_fails_is_told_with_its_reason() {
    let (project, server) = (project(), model([]));
    let config = json!({"mcpServers": {"broken": {"command": "/no/such/program"}}}).to_string();
    let pty = start(&project, &server, &["--mcp-config", &config]);
    pty.line("/mcp");
    let shown = pty.wait_for("Enter connects a server again");
    assert!(shown.contains("broken") && shown.contains("failed: "), "{shown}");
}

#[test]
fn hooks_are_listed_with_their_source() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/hooks", "no hooks are configured");
    drop(pty);
    user_settings(&project, &json!({"hooks": {"PreToolUse": hook("Bash|Edit", "true # guard")}}));
    let pty = start_alone(&project);
    let shown = answers(&pty, "/hooks", "true # guard");
    for part in ["PreToolUse", "Bash|Edit", ".config/ona/settings.json"] {
        assert!(shown.replace("\n", "").contains(part), "{part}: {shown}");
    }
}

#[test]
fn what_cannot_be_used_is_named_where_one_looks_for_it() {
    let project = project();
    project.file(".claude/commands/bad.md", "---\nname: x\nname: y\n---\nDo it.\n");
    project.file(".claude/commands/context.md", "Look around.\n");
    let pty = start_in(
        &project,
        &[],
        PtyOptions::default().size(60, 200).env("ANTHROPIC_API_KEY", KEY).env("EDITOR", "true"),
    );
    answers(&pty, "/bad", "/bad cannot be used: ");
    ready(&pty);
    let shown = answers(&pty, "/doctor", "warn  extensions");
    assert!(shown.contains("bad.md"), "{shown}");
    ready(&pty);
    answers(&pty, "/skills", "note: /context is ona's own command");
    ready(&pty);
    answers(&pty, "/plugin foo", "unknown argument `foo`: list, add");
    ready(&pty);
    answers(&pty, "/memory edit nosuch.md", "it does not exist yet");
}

#[test]
fn the_first_server_is_added_from_the_session() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/mcp reconnect nobody", "no MCP servers, so nothing to reconnect");
    ready(&pty);
    answers(&pty, "/mcp add small -- echo hello", "the next session has it");
    ready(&pty);
    answers(&pty, "/mcp list", "small");
}
