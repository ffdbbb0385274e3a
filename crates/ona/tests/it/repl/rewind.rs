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

/// The cost in the status line.
fn cost(screen: &str) -> Option<f64> {
    let row = screen.lines().last().unwrap_or_default();
    let at = row.find('$')?;
    row[at + 1..].split_whitespace().next()?.parse().ok()
}

#[test]
fn a_copy_has_cost_what_the_original_has_and_is_not_shown_again() {
    let (_project, _server, pty) = changed();
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
    let before = cost(&pty.screen()).unwrap();
    pty.line("/rewind");
    pty.wait_for("2. say hello");
    pty.send("2");
    pty.wait_for("1. Code and conversation");
    // Esc leads back to the list of the prompts.
    pty.key(Key::Esc);
    pty.wait_for("2. say hello");
    pty.send("2");
    pty.wait_for("1. Code and conversation");
    pty.send("1");
    pty.wait_for("> say hello\n──");
    pty.wait_until(|screen| cost(screen) == Some(before));
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

/// Runs a command line as the model's call, and goes back to before it; the whole screen then.
#[track_caller]
fn undone(project: &Project, command: &str) -> String {
    let server = model([bash("toolu_b", command), Reply::say("Done with it.")]);
    let args = ["--permission-mode", "bypassPermissions"];
    let pty = start_in(project, &args, with(&server).size(40, 200));
    answers(&pty, "do it", "Done with it.");
    ready(&pty);
    pty.line("/rewind");
    pty.wait_for("❯ 1. do it");
    pty.send("1");
    pty.wait_for("3. Code only");
    pty.send("3");
    pty.wait_until(|_| {
        ["\n  put back ", "\n  no files to put back"].iter().any(|said| pty.whole().contains(said))
    });
    ready(&pty);
    pty.whole()
}

/// All that is below the project, but what ona keeps there: path, kind and mode, content.
fn tree(project: &Project) -> String {
    let list = "find . -mindepth 1 -not -path './.ona*' -not -path './.claude*' \
                -printf '%p %y %m %l\\n' | sort; cat $(find . -type f -name '*.txt' | sort)";
    run(project.command("sh").args(["-c", list])).stdout
}

fn with_docs() -> Project {
    let project = project();
    project.file("docs/p.txt", "p\n");
    project.file("docs/sub/q.txt", "q\n");
    project.file("a.txt", "a\n");
    run(project.command("sh").args(["-c", "mkdir d1 d2 && ln -s d2 link && chmod 755 docs/p.txt"]));
    project
}

#[test]
fn what_commands_do_to_trees_links_and_modes_is_undone() {
    for command in [
        "mv docs documentation",
        "mv docs d1/",
        "mkdir -p x/y && mv docs x/y/z",
        "for f in docs/*; do mv $f d1/; done",
        "rm -r docs",
        "rm -rf docs a.txt",
        "rm -rf ./*",
        "find docs -delete",
        "rm link && ln -s d1 link",
        "ln -sfn d1 link",
        "rm docs/p.txt",
        "chmod +x a.txt",
        "chmod -R 700 docs",
        "mkdir -p new/dir && touch new/dir/file && cp -r docs new/copy",
        "rm a.txt && mkdir a.txt && touch a.txt/b",
        "mv docs old && echo new > docs",
        "rmdir d1",
    ] {
        let project = with_docs();
        let before = tree(&project);
        let screen = undone(&project, command);
        assert_eq!(tree(&project), before, "{command}\n{screen}");
    }
}

#[test]
fn what_is_too_large_to_be_kept_is_named_and_not_removed_where_it_was_moved_to() {
    let project = with_docs();
    run(project.command("truncate").args(["-s", "30M", "docs/big.bin"]));
    let screen = undone(&project, "mv docs documentation");
    assert!(screen.contains("docs/big.bin: it is too large to be kept"), "{screen}");
    assert!(screen.contains("stays, as it may be what was not put back"), "{screen}");
    assert!(project.path("documentation/big.bin").exists(), "{screen}");
    assert_eq!(project.content("docs/sub/q.txt"), "q\n");
}

#[test]
fn more_files_than_are_looked_at_are_not_removed_where_they_were_moved_to() {
    let project = with_docs();
    let make = "mkdir many && cd many && seq 6000 | xargs touch";
    run(project.command("sh").args(["-c", make]));
    let screen = undone(&project, "mv many others");
    assert!(screen.contains("many: there are more than 5000 files"), "{screen}");
    let left = run(project.command("sh").args(["-c", "ls others | wc -l"])).stdout;
    assert_eq!(left.trim(), "6000", "{screen}");
}

#[test]
fn what_a_command_does_not_tell_is_said_to_be_unknown() {
    let project = with_docs();
    let screen = undone(&project, "sh ./none.sh; true");
    assert!(screen.contains("not known: what `sh ./none.sh` writes is not known"), "{screen}");
}

#[test]
fn a_command_that_stands_for_a_prompt_is_listed_and_returned_as_it_was_typed() {
    let project = project();
    project.file(".claude/commands/greet.md", "Say good day to $ARGUMENTS, at length.\n");
    let server = model([Reply::say("Reviewed."), Reply::say("Good day.")]);
    let pty = start_in(&project, &[], with(&server).size(40, 200));
    answers(&pty, "/review the parser", "Reviewed.");
    ready(&pty);
    answers(&pty, "/greet Ada", "Good day.");
    assert!(last_told(&server).contains("Say good day to Ada"), "{}", last_told(&server));
    ready(&pty);
    pty.line("/rewind");
    let shown = pty.wait_for("❯ 1. /greet Ada");
    assert!(shown.contains("2. /review the parser"), "{shown}");
    pty.send("2");
    pty.wait_for("2. Conversation only");
    pty.send("2");
    pty.wait_for("> /review the parser\n──");
    pty.key(Key::Ctrl('u'));
    pty.line("/resume");
    pty.wait_for("❯ 1. /review the parser");
}
