//! What is attached to a prompt: files after an `@`, pictures, and large pastes.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;

use super::*;
use crate::project;

/// A PNG of one pixel.
const PNG: &str = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg==";

#[test]
fn tab_takes_a_file_and_its_text_is_attached() {
    let (project, server) = (project(), model([Reply::say("Read.")]));
    project.file("src/parser.rs", "// the answer is 42\n");
    project.file("src/printer.rs", "// nothing here\n");
    project.file("target/parser.rs", "// made\n");
    project.file(".gitignore", "target\n");
    crate::trust::git(&project, &["init", "-q"]);
    let pty = start(&project, &server, &[]);
    pty.send("what is in @pars");
    let shown = pty.wait_for("❯ src/parser.rs");
    assert!(!shown.contains("target/parser.rs"), "ignored files are left out: {shown}");
    pty.key(Key::Tab);
    pty.wait_for("> what is in @src/parser.rs");
    pty.wait_gone("❯");
    pty.key(Key::Enter);
    pty.wait_for("Read.");
    assert!(last_told(&server).contains("the answer is 42"), "{}", last_told(&server));
}

#[test]
fn letters_of_a_path_in_their_order_find_it() {
    let project = project();
    project.file("crates/alpha/src/lib.rs", "");
    project.file("crates/beta/src/lib.rs", "");
    let pty = start_alone(&project);
    pty.send("@betlib");
    pty.wait_for("❯ crates/beta/src/lib.rs");
    pty.key(Key::Ctrl('u'));
    ready(&pty);
    pty.send("see @crates/al");
    pty.wait_for("❯ crates/alpha/");
    pty.key(Key::Esc);
    pty.wait_gone("❯");
    pty.wait_for("> see @crates/al");
}

#[test]
fn a_picture_is_attached_as_an_image() {
    let (project, server) = (project(), model([Reply::say("A pixel.")]));
    project.file("dot.png", STANDARD.decode(PNG).unwrap());
    let pty = start(&project, &server, &[]);
    pty.send("look at @dot");
    pty.wait_for("❯ dot.png");
    pty.key(Key::Tab);
    pty.wait_for("> look at @dot.png");
    pty.wait_gone("❯");
    pty.key(Key::Enter);
    pty.wait_for("A pixel.");
    let told = last_told(&server);
    assert!(told.contains(r#""type":"image""#) && told.contains("image/png"), "{told}");
}

#[test]
fn a_directory_is_attached_as_a_list() {
    let (project, server) = (project(), model([Reply::say("Two files.")]));
    project.file("docs/one.md", "");
    project.file("docs/two.md", "");
    let pty = start(&project, &server, &[]);
    answers(&pty, "what is in @docs/ please", "Two files.");
    let told = last_told(&server);
    assert!(told.contains("one.md") && told.contains("two.md"), "{told}");
}

#[test]
fn a_large_paste_is_a_chip_and_the_model_gets_all_of_it() {
    let (project, server) = (project(), model([Reply::say("A lot.")]));
    let pty = start(&project, &server, &[]);
    let text: String =
        (0..3_000).map(|n| format!("line {n:04} of a long, long paste of mine\n")).collect();
    assert!(text.len() > 100_000);
    typed(&pty, "here: ");
    pty.paste(&text);
    let shown = pty.wait_for("[Pasted text #1 +2999 lines]");
    assert!(!shown.contains("line 2999"), "{shown}");
    // One key deletes it, another brings it back.
    pty.key(Key::Backspace);
    pty.wait_gone("[Pasted text");
    pty.key(Key::Ctrl('_'));
    pty.wait_for("[Pasted text #1 +2999 lines]");
    pty.key(Key::Enter);
    let shown = pty.wait_for("A lot.");
    assert!(shown.contains("> here: [Pasted text #1 +2999 lines]"), "{shown}");
    let told = server.requests()[0].body["messages"].to_string();
    assert!(
        told.contains("here: line 0000") && told.contains("line 2999 of a long"),
        "{}",
        told.len()
    );
}

#[test]
fn a_short_paste_is_text_and_its_line_ends_do_not_send_it() {
    let (project, server) = (project(), model([Reply::say("Two lines.")]));
    let pty = start(&project, &server, &[]);
    pty.paste("one\ntwo");
    pty.wait_for("> one\n  two");
    assert!(server.requests().is_empty());
    pty.key(Key::Enter);
    pty.wait_for("Two lines.");
    assert!(last_told(&server).contains(r"one\ntwo"), "{}", last_told(&server));
}

#[test]
fn a_resource_of_a_server_and_an_agent_can_be_named() {
    let (project, server) = (project(), model([Reply::say("Read."), Reply::say("Asked.")]));
    project.file(
        ".claude/agents/gardener.md",
        "---\nname: gardener\ndescription: Plants\n---\nPlant.\n",
    );
    let pty = start(&project, &server, &["--mcp-config", &crate::every_tool::small_server()]);
    answers(&pty, "see @Small:small://motd please", "Read.");
    assert!(last_told(&server).contains("the message of the day"), "{}", last_told(&server));
    ready(&pty);
    answers(&pty, "ask @agent-gardener about it", "Asked.");
    assert!(last_told(&server).contains("wants the agent `gardener`"), "{}", last_told(&server));
}

#[test]
fn a_picture_that_is_dropped_on_the_terminal_is_attached() {
    let (project, server) = (project(), model([Reply::say("A pixel.")]));
    project.file("a dot.png", STANDARD.decode(PNG).unwrap());
    let pty = start(&project, &server, &[]);
    let path = project.path("a dot.png").display().to_string();
    pty.send("look at ");
    pty.paste(&path.replace(' ', "\\ "));
    pty.wait_for("dot.png\"");
    pty.key(Key::Enter);
    pty.wait_for("A pixel.");
    let told = last_told(&server);
    assert!(told.contains(r#""type":"image""#) && told.contains("image/png"), "{told}");
    // What does not exist stays what it is.
    ready(&pty);
    pty.paste("/nowhere/x.png");
    pty.wait_for("> /nowhere/x.png");
}
