//! Commands about sessions: `/clear`, `/resume`, `/branch`, `/rename`, `/export`, `/copy`, `/add-dir`.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use ona_testkit::pty::Exit;

use super::*;
use crate::project;

/// What was copied with OSC 52.
fn copied(pty: &Pty) -> Option<String> {
    let raw = String::from_utf8_lossy(&pty.raw()).into_owned();
    let rest = raw.rsplit_once("\x1b]52;c;")?.1;
    let end = rest.find(['\x1b', '\x07'])?;
    Some(String::from_utf8(STANDARD.decode(&rest[..end]).unwrap()).unwrap())
}

#[test]
fn clear_starts_a_new_conversation_and_its_hooks_are_on_record() {
    for name in ["/clear", "/reset", "/new"] {
        let project = project();
        user_settings(
            &project,
            &json!({"hooks": {
                "SessionStart": hook("", "cat > /dev/null"), "SessionEnd": hook("", "cat > /dev/null"),
            }}),
        );
        let server = model([Reply::say("Noted."), Reply::say("No idea.")]);
        let pty = start(&project, &server, &[]);
        answers(&pty, "the word is xylophone", "Noted.");
        ready(&pty);
        answers(&pty, name, "a new conversation");
        ready(&pty);
        answers(&pty, "what is the word?", "No idea.");
        assert!(!last_told(&server).contains("xylophone"), "{}", last_told(&server));
        assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["2"]);
        let hooks = project.sql(
            "SELECT hook_event, coalesce(json_extract(input_json, '$.source'), json_extract(input_json, '$.reason'))
             FROM hook_invocations ORDER BY id",
        );
        assert_eq!(
            hooks,
            ["SessionStart|startup", "SessionEnd|clear", "SessionStart|clear"],
            "{name}"
        );
    }
}

#[test]
fn clear_takes_a_name_and_forgets_the_history_of_prompts() {
    let (project, server) = (project(), model([Reply::say("Noted.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "an old prompt", "Noted.");
    ready(&pty);
    answers(&pty, "/clear second try", "a new conversation");
    ready(&pty);
    pty.wait_for(" second try ──");
    pty.key(Key::Up);
    assert!(!pty.settled().contains("> an old prompt\n──"), "{}", pty.screen());
}

/// A session with two prompts; its id.
fn earlier(project: &Project, server: &Server) -> String {
    let pty = start(project, server, &[]);
    answers(&pty, "plant a tree", "A tree.");
    ready(&pty);
    pty.line("/exit");
    assert_eq!(pty.wait_exit(), Exit::Code(0));
    let whole = pty.whole();
    let id = whole.rsplit("ona --resume ").next().unwrap().split_whitespace().next().unwrap();
    assert_eq!(project.sql("SELECT session_id FROM sessions"), [id]);
    id.to_owned()
}

#[test]
fn resume_lists_earlier_sessions_and_opens_the_chosen_one() {
    let project = project();
    let server = model([Reply::say("A tree."), Reply::say("Here."), Reply::say("It was a tree.")]);
    user_settings(
        &project,
        &json!({"hooks": {
            "SessionStart": hook("", "cat > /dev/null"), "SessionEnd": hook("", "cat > /dev/null"),
        }}),
    );
    let id = earlier(&project, &server);
    let pty = start(&project, &server, &[]);
    answers(&pty, "are you there?", "Here.");
    ready(&pty);
    pty.line("/resume");
    let shown = pty.wait_for("Resume a session");
    assert!(shown.contains("❯ 1. plant a tree") && shown.contains("1 prompt"), "{shown}");
    assert!(!shown.contains("2. "), "the present one is not listed: {shown}");
    pty.key(Key::Enter);
    let shown = pty.wait_whole(&format!("continued session {id}"));
    assert!(shown.contains("> plant a tree") && shown.contains("● A tree."), "{shown}");
    ready(&pty);
    answers(&pty, "what was it?", "It was a tree.");
    let told = last_told(&server);
    assert!(told.contains("plant a tree") && !told.contains("are you there"), "{told}");
    let hooks = project.sql(
        "SELECT hook_event, coalesce(json_extract(input_json, '$.source'), json_extract(input_json, '$.reason'))
         FROM hook_invocations ORDER BY id",
    );
    assert_eq!(hooks[3..], ["SessionEnd|resume", "SessionStart|resume"], "{hooks:?}");
}

#[test]
fn resume_takes_an_id_or_a_name_and_a_wrong_one_is_told() {
    let project = project();
    let server = model([Reply::say("A tree.")]);
    let id = earlier(&project, &server);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/continue no-such-session", "no-such-session");
    ready(&pty);
    answers(&pty, &format!("/resume {id}"), &format!("continued session {id}"));
    ready(&pty);
    answers(&pty, "/rename the tree", "the session is called \"the tree\" now");
    ready(&pty);
    answers(&pty, "/clear", "a new conversation");
    ready(&pty);
    answers(&pty, "/resume the tree", &format!("continued session {id}"));
    pty.wait_for(" the tree ──");
    pty.wait_until(|_| pty.title().contains("the tree"));
}

#[test]
fn the_picker_previews_and_renames() {
    let project = project();
    let server = model([Reply::say("A tree.")]);
    let id = earlier(&project, &server);
    let pty = start(&project, &server, &[]);
    pty.line("/resume");
    pty.wait_for("p preview");
    pty.send("p");
    let shown = pty.wait_for("Preview");
    assert!(shown.contains("> plant a tree") && shown.contains("A tree."), "{shown}");
    pty.send("2");
    pty.wait_for("Resume a session");
    pty.send("r");
    pty.wait_for("New name:");
    pty.line("my oak");
    pty.wait_for("❯ 1. my oak");
    let named = format!("SELECT session_id FROM sessions WHERE session_id = '{id}'");
    assert_eq!(project.sql(&named), [id.as_str()]);
    close(&pty);
    answers(&pty, "/resume my", "plant a tree");
}

#[test]
fn a_session_is_found_by_what_the_list_shows_and_an_unknown_one_leads_to_the_list() {
    let project = project();
    let server = model([Reply::say("A tree.")]);
    earlier(&project, &server);
    let pty = start(&project, &server, &[]);
    answers(
        &pty,
        "/resume nothing like it",
        "unknown session `nothing like it`; /resume lists the sessions",
    );
    ready(&pty);
    answers(&pty, "/resume \"Plant a\"", "A tree.");
}

#[test]
fn the_picker_searches_by_name_prompt_and_id_and_filters_by_branch() {
    let project = project();
    crate::trust::git(&project, &["init", "-q", "-b", "main"]);
    let server = model([Reply::say("A tree."), Reply::say("An oak."), Reply::say("A bush.")]);
    let first = earlier(&project, &server);
    crate::trust::git(&project, &["checkout", "-q", "-b", "garden"]);
    let pty = start(&project, &server, &["--name", "the oak"]);
    answers(&pty, "make it an oak", "An oak.");
    ready(&pty);
    answers(&pty, "/clear", "a new conversation");
    ready(&pty);
    let search = |words: &str, found: &str| {
        pty.line("/resume");
        let shown = pty.wait_for("/ search");
        assert!(shown.contains("1. the oak") && shown.contains("2. plant a tree"), "{shown}");
        assert!(shown.contains(", main") && shown.contains(", garden"), "{shown}");
        pty.send(&format!("/{words}"));
        pty.wait_until(|screen| {
            screen.contains(&format!("Search: {words}"))
                && screen.contains(&format!("❯ {found}"))
                && screen.matches(" ago").count() + screen.matches("just now").count() == 1
        });
        // Esc ends the search, and then closes the list.
        pty.key(Key::Esc);
        pty.wait_for("2. plant a tree");
        close(&pty);
    };
    search("OAK", "the oak");
    search("make it", "the oak");
    // Ids begin with the time: the end tells them apart.
    search(&first[first.len() - 12..], "plant a tree");
    pty.line("/resume");
    pty.wait_for("b only garden");
    pty.send("B");
    pty.wait_for("b all branches");
    pty.wait_gone("plant a tree  ");
    assert!(pty.screen().contains("❯ 1. the oak"), "{}", pty.screen());
    pty.send("a");
    pty.wait_for("a this directory");
    pty.send("p");
    pty.wait_for("Preview");
    // Back in the same list.
    pty.send("2");
    pty.wait_for("a this directory · b all branches");
    pty.key(Key::Enter);
    pty.wait_whole("continued session ");
}

#[test]
fn the_picker_comes_with_r_and_continue_takes_the_last() {
    let project = project();
    let server = model([Reply::say("A tree."), Reply::say("Still a tree.")]);
    earlier(&project, &server);
    let pty = project.pty(["--resume"], with(&server));
    pty.wait_for("❯ 1. plant a tree");
    drop(pty);
    let pty = project.pty(["--continue"], with(&server));
    pty.wait_for("● A tree.");
    ready(&pty);
    answers(&pty, "and now?", "Still a tree.");
    assert!(last_told(&server).contains("plant a tree"));
}

#[test]
fn branch_goes_on_in_a_copy_and_the_original_stays() {
    for name in ["/branch", "/fork"] {
        let project = project();
        let server = model([Reply::say("A tree."), Reply::say("An oak.")]);
        let pty = start(&project, &server, &[]);
        answers(&pty, name, "there is no conversation to branch yet");
        ready(&pty);
        answers(&pty, "plant a tree", "A tree.");
        ready(&pty);
        let original = project.sql("SELECT session_id FROM sessions").remove(0);
        answers(&pty, &format!("{name} oak"), &format!("the original is session {original}"));
        ready(&pty);
        answers(&pty, "make it an oak", "An oak.");
        assert!(last_told(&server).contains("plant a tree"));
        pty.wait_for(" oak ──");
        let prompts =
            "SELECT count(*) FROM transcript_entries WHERE entry_type = 'user' AND session_id";
        assert_eq!(project.sql(&format!("{prompts} = '{original}'")), ["1"]);
        assert_eq!(project.sql("SELECT count(*) FROM sessions"), ["2"]);
    }
}

#[test]
fn rename_takes_a_name_or_makes_one() {
    let (project, server) = (project(), model([Reply::say("A tree.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "/rename", "which name?");
    ready(&pty);
    answers(&pty, "plant a tree in the garden behind the house", "A tree.");
    ready(&pty);
    answers(&pty, "/rename", "the session is called \"plant a tree in the garden\" now");
    ready(&pty);
    answers(&pty, "/rename the garden", "the session is called \"the garden\" now");
    pty.wait_for(" the garden ──");
    pty.wait_until(|_| pty.title().contains("the garden"));
}

#[test]
fn export_writes_the_conversation_and_overwrites_nothing() {
    let project = project();
    let server = model([bash("toolu_e", "echo leaves"), Reply::say("A tree.")]);
    let pty = start(&project, &server, &["--allowedTools", "Bash"]);
    answers(&pty, "/export", "nothing to export");
    ready(&pty);
    answers(&pty, "plant a tree", "A tree.");
    ready(&pty);
    answers(&pty, "/export tree.txt", "wrote ");
    let text = project.content("tree.txt");
    for part in ["> plant a tree", "Bash", "leaves", "A tree."] {
        assert!(text.contains(part), "{part}: {text}");
    }
    ready(&pty);
    // A file that exists is not overwritten without a question.
    pty.line("/export tree.txt");
    pty.wait_for("tree.txt exists already. Overwrite it?");
    pty.wait_for("❯ 2. No");
    pty.key(Key::Enter);
    ready(&pty);
    assert_eq!(project.content("tree.txt"), text);
    fs::write(project.path("tree.txt"), "old\n").unwrap();
    confirms(&pty, "/export tree.txt", "exists already. Overwrite it?");
    until("the new text", || project.content("tree.txt") == text);
    ready(&pty);
    // Without a name it asks where to.
    pty.line("/export");
    pty.wait_for("1. Copy it to the clipboard");
    pty.send("1");
    pty.wait_whole("copied the conversation to the clipboard");
    assert_eq!(copied(&pty).unwrap(), text);
    ready(&pty);
    pty.line("/export");
    pty.wait_for("2. Write it to a file");
    pty.send("2");
    pty.wait_for("File: ona-");
    pty.key(Key::Ctrl('u'));
    pty.wait_gone("File: ona-");
    pty.line("other.txt");
    pty.wait_whole("other.txt");
    until("the file", || project.path("other.txt").exists());
}

#[test]
fn paths_begin_at_home_and_what_is_wrong_with_them_is_told() {
    let (project, server) = (project(), model([Reply::say("A tree.")]));
    let pty = start(&project, &server, &[]);
    answers(&pty, "plant a tree", "A tree.");
    ready(&pty);
    answers(&pty, "/export ~/tree.txt", "wrote ");
    assert!(fs::read_to_string(project.home().join("tree.txt")).unwrap().contains("A tree."));
    ready(&pty);
    answers(&pty, "/export \"my tree.txt\"", "my tree.txt");
    until("the file", || project.path("my tree.txt").exists());
    ready(&pty);
    answers(&pty, "/export no/such/tree.txt", "create it first: !mkdir -p ");
    ready(&pty);
    answers(&pty, "/export ~", "is a directory; name a file in it");
    ready(&pty);
    answers(&pty, "/copy 1 w ~/copy.md", "copy.md");
    until("the copy", || project.home().join("copy.md").exists());
    ready(&pty);
    answers(&pty, "/export /proc/tree.txt", "/proc/tree.txt");
    ready(&pty);
    assert!(!pty.whole().contains("wrote /proc"), "{}", pty.whole());
}

#[test]
fn copy_takes_the_last_answer_an_earlier_one_or_a_block_of_it() {
    let project = project();
    let server = model([
        Reply::say("The first answer."),
        Reply::say("The second, with code:\n\n```sh\necho hi\n```\n"),
    ]);
    let pty = start(&project, &server, &[]);
    answers(&pty, "/copy", "there is no answer to copy yet");
    ready(&pty);
    answers(&pty, "one", "The first answer.");
    ready(&pty);
    answers(&pty, "/copy", "copied the answer to the clipboard (17 characters)");
    assert_eq!(copied(&pty).unwrap(), "The first answer.");
    ready(&pty);
    answers(&pty, "two", "echo hi");
    ready(&pty);
    pty.line("/copy");
    pty.wait_for("1. The whole answer");
    pty.wait_for("2. Code: echo hi");
    pty.send("2");
    pty.wait_whole("copied the code block");
    assert_eq!(copied(&pty).unwrap(), "echo hi");
    ready(&pty);
    // w writes what is selected to a file.
    pty.line("/copy");
    pty.wait_for("w write to a file");
    pty.key(Key::Down);
    pty.wait_for("❯ 2. Code: echo hi");
    pty.send("w");
    pty.wait_for("File: block-1.sh");
    pty.key(Key::Ctrl('u'));
    pty.wait_gone("File: block-1.sh");
    pty.line("hi.sh");
    pty.wait_whole("hi.sh");
    until("the file", || project.path("hi.sh").exists());
    assert_eq!(project.content("hi.sh"), "echo hi");
    ready(&pty);
    answers(&pty, "/copy block 7", "no code block 7: the answer has 1 code block");
    ready(&pty);
    answers(&pty, "/copy nonsense", "is not a number");
    ready(&pty);
    answers(&pty, "/copy 2", "copied the answer");
    pty.wait_until(|_| copied(&pty).as_deref() == Some("The first answer."));
    ready(&pty);
    answers(&pty, "/copy 9", "there are fewer than 9 answers");
}

#[test]
fn another_directory_can_be_worked_in() {
    let project = project();
    let outside = project.home().join("notes");
    fs::create_dir(&outside).unwrap();
    let file = outside.join("note.txt");
    let server = model([
        Reply::new().call("toolu_w", "Write", json!({"file_path": file, "content": "x\n"})),
        Reply::say("Written."),
    ]);
    let pty = start(&project, &server, &["--permission-mode", "acceptEdits"]);
    answers(&pty, "/add-dir", "which directory");
    ready(&pty);
    answers(&pty, "/add-dir nowhere", "nowhere does not exist");
    ready(&pty);
    let text = project.file("a.txt", "");
    answers(&pty, &format!("/add-dir {text}"), "a.txt is not a directory");
    ready(&pty);
    answers(&pty, "/add-dir ~/notes", "is a working directory of this session now");
    ready(&pty);
    answers(&pty, "/add-dir ~/notes", "is a working directory already");
    ready(&pty);
    answers(&pty, "go", "Written.");
    assert_eq!(fs::read_to_string(file).unwrap(), "x\n");
    ready(&pty);
    pty.line("/permissions");
    pty.wait_for("notes");
}

#[test]
fn a_new_conversation_keeps_the_mode() {
    let (project, server) = (project(), model([]));
    let pty = start(&project, &server, &[]);
    pty.key(Key::BackTab);
    pty.wait_for("accept edits on");
    answers(&pty, "/clear", "nothing was said in the old one");
    pty.wait_for("accept edits on");
    answers(&pty, "/status", "mode      acceptEdits");
}

/// Another directory, whose settings deny a file.
fn other_directory(project: &Project) -> std::path::PathBuf {
    let other = project.path("other");
    project.file("other/secret.txt", "xylophone\n");
    let denies = json!({"permissions": {"deny": ["Read(secret.txt)"]}});
    project.file("other/.claude/settings.local.json", denies.to_string());
    other
}

#[test]
fn a_session_goes_on_only_in_its_own_directory() {
    let project = project();
    let server = model([Reply::say("A tree.")]);
    let id = earlier(&project, &server);
    let other = other_directory(&project);
    let there = other.display().to_string();
    let pty = start_in(&project, &["--cwd", &there], with(&server).size(40, 220));
    let how = format!("cd {} && ona --resume {id}", project.dir().display());
    answers(&pty, &format!("/resume {id}"), &how);
    ready(&pty);
    pty.line("/resume --all");
    pty.wait_for("❯ 1. plant a tree");
    pty.key(Key::Enter);
    pty.wait_until(|_| pty.whole().matches(&how).count() == 2);
    ready(&pty);
    // Rules, the working directory and the files that are written are those of one directory.
    answers(&pty, "!cat secret.txt", "rules: denied by");
    ready(&pty);
    assert!(!pty.whole().contains("xylophone"), "{}", pty.whole());
    answers(&pty, "/status", &format!("directory {there}"));
    ready(&pty);
    answers(&pty, "/config verbose=true", &format!("{there}/.claude/settings.local.json"));
    ready(&pty);
    answers(&pty, "/permissions add ask Bash(ls *)", &format!("added to {there}/.claude"));
    ready(&pty);
    assert!(project.content("other/.claude/settings.local.json").contains("Bash(ls *)"));
    assert_eq!(local_settings(&project), Value::Null);
}

#[test]
fn no_command_line_continues_a_session_of_another_directory() {
    let project = project();
    let server = model([Reply::say("A tree.")]);
    let id = earlier(&project, &server);
    let there = other_directory(&project).display().to_string();
    let how = format!("cd {} && ona --resume {id}", project.dir().display());
    for more in [&["-p", "x"][..], &["-p", "x", "--fork-session"]] {
        let args = [more, &["--cwd", &there, "--resume", &id]].concat();
        let ran = ona_testkit::run(&mut project.ona(args));
        assert_eq!(ran.code, Some(2), "{}", ran.stderr);
        assert!(ran.stderr.contains(&how), "{}", ran.stderr);
    }
    let pty = project.pty(["--cwd", &there, "--resume", &id], with(&server).size(40, 220));
    assert_eq!(pty.wait_exit(), Exit::Code(2));
    assert!(pty.whole().contains(&how), "{}", pty.whole());
    // Where its directory is gone, it goes on with the rules of this one.
    let gone = project.path("gone");
    fs::create_dir(&gone).unwrap();
    project.sql(&format!("UPDATE conversations SET project_dir = '{}'", gone.display()));
    fs::remove_dir(&gone).unwrap();
    let pty = start_in(&project, &["--cwd", &there, "--resume", &id], with(&server));
    answers(&pty, "!cat secret.txt", "rules: denied by");
    answers(&pty, "!pwd", "other");
}

/// A session whose next files find no room.
fn without_room(project: &Project, server: &Server) -> Pty {
    let script = "trap '' XFSZ; exec \"$0\"";
    let pty = project.pty_command("bash", ["-c", script, env!("CARGO_BIN_EXE_ona")], with(server));
    ready(&pty);
    answers(&pty, "hello", "Hello.");
    ready(&pty);
    limit(project, &pty, "4096:");
    pty.line("/clear");
    pty.wait_for("no session is open: any input tries again");
    pty
}

fn limit(project: &Project, pty: &Pty, size: &str) {
    let args = [format!("--pid={}", pty.pid()), format!("--fsize={size}")];
    assert!(project.command("prlimit").args(args).status().unwrap().success());
}

#[test]
fn a_full_disk_leaves_no_session_and_ona_says_so_and_waits() {
    let (project, server) = (project(), model([Reply::say("Hello.")]));
    let pty = without_room(&project, &server);
    // It is neither busy nor deaf.
    ready(&pty);
    pty.line("still there?");
    pty.wait_until(|screen| screen.matches("no session is open").count() == 2);
    limit(&project, &pty, "unlimited:");
    pty.key(Key::Ctrl('u'));
    pty.line("and now?");
    // The session before is open again, and what was typed is in the prompt.
    pty.wait_until(|screen| screen.contains("● Hello.") && screen.contains("> and now?\n──"));
    pty.key(Key::Ctrl('u'));
    answers(&pty, "/status", "record ");
}

#[test]
fn without_a_session_one_can_still_leave() {
    let (project, server) = (project(), model([Reply::say("Hello.")]));
    let pty = without_room(&project, &server);
    ready(&pty);
    pty.line("/exit");
    assert_eq!(pty.wait_exit(), Exit::Code(0));
}
