//! `/rewind`: back to an earlier prompt, with the conversation, the files or both.

use ona_testkit::run;

use super::*;
use crate::project;

/// A session in which the second prompt has changed one file and made another.
fn changed() -> (Project, Server, Pty) {
    let project = project();
    let file = project.file("a.txt", "old\n");
    let server = model([
        Reply::say("Hello."),
        Reply::new().call("toolu_r", "Read", json!({"file_path": file})),
        Reply::new()
            .call(
                "toolu_e",
                "Edit",
                json!({"file_path": file, "old_string": "old", "new_string": "new"}),
            )
            .call("toolu_w", "Write", json!({"file_path": "b.txt", "content": "made\n"})),
        Reply::say("Changed."),
        Reply::say("Once more."),
    ]);
    let args = ["--permission-mode", "acceptEdits"];
    let pty = start_in(&project, &args, with(&server).size(40, 200));
    answers(&pty, "say hello", "Hello.");
    ready(&pty);
    answers(&pty, "change the files", "Changed.");
    ready(&pty);
    assert_eq!(
        (project.content("a.txt").as_str(), project.path("b.txt").exists()),
        ("new\n", true)
    );
    (project, server, pty)
}

/// Chooses the second prompt; the three ways are offered.
#[track_caller]
fn ways(pty: &Pty, name: &str) {
    pty.line(name);
    let shown = pty.wait_for("Rewind to before a prompt");
    assert!(
        shown.contains("❯ 1. change the files") && shown.contains("2 files to put back"),
        "{shown}"
    );
    assert!(shown.contains("2. say hello"), "{shown}");
    pty.send("1");
    let shown = pty.wait_for("1. Code and conversation");
    assert!(shown.contains("2. Conversation only") && shown.contains("3. Code only"), "{shown}");
}

fn files(project: &Project) -> (String, bool) {
    (project.content("a.txt"), project.path("b.txt").exists())
}

#[test]
fn with_both_files_and_the_prompt_come_back_and_the_original_stays() {
    let (project, server, pty) = changed();
    let original = project.sql("SELECT session_id FROM sessions").remove(0);
    ways(&pty, "/rewind");
    pty.send("1");
    pty.wait_whole("put back 2 files");
    pty.wait_whole(&format!("The original is session {original}"));
    pty.wait_for("> change the files\n──");
    assert_eq!(files(&project), ("old\n".to_owned(), false));
    pty.key(Key::Enter);
    pty.wait_whole("Once more.");
    let told = last_told(&server);
    assert!(told.contains("say hello") && told.matches("change the files").count() == 1, "{told}");
    let kept = format!(
        "SELECT count(*) FROM transcript_entries WHERE session_id = '{original}' AND entry_type = 'user'"
    );
    assert_eq!(project.sql(&kept), ["2"]);
    assert_eq!(
        project.sql("SELECT count(*) FROM events WHERE event_type = 'files.rewound'"),
        ["1"]
    );
}

#[test]
fn conversation_only_leaves_the_files() {
    let (project, _server, pty) = changed();
    ways(&pty, "/checkpoint");
    pty.send("2");
    pty.wait_whole("files stay as they are");
    pty.wait_for("> change the files\n──");
    assert_eq!(files(&project), ("new\n".to_owned(), true));
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["2"]);
}

#[test]
fn code_only_leaves_the_conversation() {
    let (project, _server, pty) = changed();
    ways(&pty, "/undo");
    pty.send("3");
    pty.wait_whole("put back 2 files");
    ready(&pty);
    assert_eq!(files(&project), ("old\n".to_owned(), false));
    assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["1"]);
    // They are what they were: there is nothing left to put back.
    pty.line("/rewind");
    let shown = pty.wait_for("Rewind to before a prompt");
    assert_eq!(shown.matches("no files to put back").count(), 2, "{shown}");
}

#[test]
fn a_copy_has_cost_what_the_original_has_and_is_not_shown_again() {
    let (_project, _server, pty) = changed();
    let cost = |screen: &str| {
        let row = screen.lines().last().unwrap_or_default();
        let at = row.find('$')?;
        row[at + 1..].split_whitespace().next()?.parse::<f64>().ok()
    };
    let before = cost(&pty.screen()).unwrap();
    assert!(before > 0.0);
    ways(&pty, "/rewind");
    pty.send("2");
    pty.wait_whole("files stay as they are");
    pty.wait_for("> change the files\n──");
    pty.wait_until(|screen| cost(screen) == Some(before));
    assert_eq!(pty.whole().matches("● Hello.").count(), 1, "{}", pty.whole());
}

#[test]
fn the_first_prompt_can_be_gone_back_to() {
    let (project, server, pty) = changed();
    pty.line("/rewind");
    pty.wait_for("2. say hello");
    pty.send("2");
    pty.wait_for("1. Code and conversation");
    pty.send("1");
    pty.wait_for("> say hello\n──");
    assert_eq!(files(&project), ("old\n".to_owned(), false));
    pty.key(Key::Enter);
    pty.wait_whole("Once more.");
    assert!(!last_told(&server).contains("change the files"), "{}", last_told(&server));
}

#[test]
fn without_a_prompt_there_is_nothing_to_go_back_to() {
    let project = project();
    let pty = start_alone(&project);
    answers(&pty, "/rewind", "nothing to rewind: no prompt was sent yet");
    ready(&pty);
    answers(&pty, "/rewind 99", "unknown prompt 99");
}

#[test]
fn what_someone_else_changed_since_is_told_and_kept() {
    let (project, _server, pty) = changed();
    project.file("a.txt", "new\nand mine\n");
    ways(&pty, "/rewind");
    pty.wait_for("changed since by someone else");
    pty.send("3");
    pty.wait_whole("was changed by someone else before");
    assert_eq!(files(&project).0, "old\n");
    let place = project.home().parent().unwrap().to_owned();
    let found = run(project.command("grep").args(["-rlx", "and mine"]).arg(place)).stdout;
    assert!(found.lines().any(|file| file.contains("/before/")), "{found}");
}
