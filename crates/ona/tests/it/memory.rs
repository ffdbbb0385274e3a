//! `ona memory`: kept, found, changed, forgotten and imported, by the operator and by agents.

use std::fs;
use std::process::Stdio;

use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;

const ONA: &str = env!("CARGO_BIN_EXE_ona");

fn memory(project: &Project, args: &[&str]) -> Ran {
    run(&mut project.ona([&["memory"], args].concat()))
}

fn done(project: &Project, args: &[&str]) -> String {
    let ran = memory(project, args);
    assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
    ran.stdout
}

fn parsed(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|_| panic!("no JSON: {text}"))
}

/// Adds a memory and gives its id.
fn added(project: &Project, title: &str, more: &[&str]) -> String {
    let args = [&["add", "--json", "--type", "lesson", "--title", title], more].concat();
    parsed(&done(project, &args))["id"].as_str().unwrap().to_owned()
}

fn titles(found: &str) -> Vec<String> {
    let found = parsed(found);
    let rows = found.as_array().unwrap();
    rows.iter().map(|row| row["title"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_memory_is_kept_found_changed_and_forgotten() {
    let project = project();
    let id = added(
        &project,
        "Tests need a database",
        &["--content", "Start it with `make db`.", "--keywords", "postgres, ci,,ci"],
    );
    assert!(id.starts_with("mem_") && id.len() == 36, "{id}");
    added(&project, "The build is slow", &["--question", "why does cargo take so long?"]);
    assert_eq!(
        titles(&done(&project, &["search", "testing", "databases", "--json"])),
        ["Tests need a database"]
    );
    assert_eq!(titles(&done(&project, &["search", "postgres", "--json"])).len(), 1);
    assert_eq!(
        titles(&done(&project, &["search", "how", "long?", "--json"])),
        ["The build is slow"]
    );
    let shown = done(&project, &["show", &id[..30]]);
    for part in
        [id.as_str(), "lesson", "postgres, ci\n", "by human", "found", "Start it with `make db`."]
    {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // Being found is remembered.
    let row = parsed(&done(&project, &["show", &id, "--json"]));
    assert_eq!((&row["access_count"], &row["correction_count"]), (&json!(3), &json!(1)));
    assert!(row["attention_score"].as_f64().unwrap() > 0.5);

    let changed = parsed(&done(
        &project,
        &["edit", &id[4..34], "--title", "Use sqlite", "--keywords", "", "--json"],
    ));
    assert_eq!((&changed["title"], &changed["keywords"]), (&json!("Use sqlite"), &Value::Null));
    assert_eq!(changed["content"], "Start it with `make db`.");
    assert_eq!(titles(&done(&project, &["search", "sqlite", "--json"])), ["Use sqlite"]);
    assert!(titles(&done(&project, &["search", "postgres", "--json"])).is_empty());

    assert!(done(&project, &["forget", &id]).contains(&format!("deleted {id}: Use sqlite")));
    assert_eq!(titles(&done(&project, &["list", "--json"])), ["The build is slow"]);
    let told = project
        .sql("SELECT event_type, detail ->> 'by' FROM events WHERE event_type LIKE 'memory.%'");
    assert_eq!(
        told,
        [
            "memory.added|human",
            "memory.added|human",
            "memory.corrected|human",
            "memory.forgotten|human"
        ]
    );
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
}

#[test]
fn what_is_printed_for_people() {
    let project = project();
    let long = format!("first line\n{}", "x".repeat(500));
    let id = added(&project, "A title\u{202e}", &["--content", &long]);
    let listed = done(&project, &["list"]);
    assert_eq!(listed, format!("{id}  lesson      A title\u{fffd}\n      first line…\n"));
    let found = done(&project, &["search", "title"]);
    assert!(found.ends_with(&listed), "{found}");
    added(&project, "Another", &[]);
    let ran = memory(&project, &["list", "--limit", "1"]);
    assert_eq!(
        (ran.stdout.lines().count(), ran.stderr.as_str()),
        (1, "1 more; --limit 2 lists all\n")
    );
    let ran = memory(&project, &["list", "--type", "nope"]);
    assert_eq!(ran.stderr, "none of the 2 memories here has the type nope\n");
    let ran = memory(&project, &["search", "xylophone"]);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), ""));
    assert!(ran.stderr.contains("--all"), "{}", ran.stderr);
    for command in ["add", "search", "list", "show", "edit", "forget", "import"] {
        let help = done(&project, &[command, "--help"]);
        assert!(help.contains("Examples:\n  ona memory "), "{command}: {help}");
    }
}

#[test]
fn memories_belong_to_a_project() {
    let project = project();
    fs::create_dir_all(project.path("one/.git")).unwrap();
    fs::create_dir_all(project.path("one/deep")).unwrap();
    fs::create_dir_all(project.path("two")).unwrap();
    let at = |dir: &str, args: &[&str]| {
        let dir = project.path(dir).display().to_string();
        let ran = run(project.ona(["--cwd", &dir, "memory"]).args(args));
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        ran.stdout
    };
    at("one/deep", &["add", "--type", "fact", "--title", "Of one"]);
    at("two", &["add", "--type", "fact", "--title", "Of two"]);
    at("two", &["add", "--type", "fact", "--title", "Of all", "--all"]);
    let two = project.path("two").display().to_string();
    at("one", &["add", "--type", "fact", "--title", "Of two as well", "--project", &two]);
    let sorted = |text: String| {
        let mut titles = titles(&text);
        titles.sort();
        titles
    };
    assert_eq!(sorted(at("one", &["list", "--json"])), ["Of all", "Of one"]);
    assert_eq!(
        sorted(at("two", &["search", "of", "--json"])),
        ["Of all", "Of two", "Of two as well"]
    );
    assert_eq!(sorted(at("one", &["search", "of", "--all", "--json"])).len(), 4);
    assert_eq!(sorted(at("one/deep", &["list", "--project", &two, "--json"])).len(), 3);
    assert!(at("one", &["list", "--all"]).contains(&two));
}

#[test]
fn bad_input_is_told_and_nothing_is_kept() {
    let project = project();
    let add = |more: &[&str]| memory(&project, &[&["add", "--type", "lesson"], more].concat());
    let large = "x".repeat(64 * 1024 + 1);
    project.file("large", &large);
    for (ran, said) in [
        (add(&["--title", " "]), "the title must be one line"),
        (add(&["--title", "a\nb"]), "the title must be one line"),
        (add(&["--title", &"t".repeat(201)]), "201 characters"),
        (add(&["--title", "t", "--content", &large]), "limit: 64 KiB"),
        (add(&["--title", "t", "--keywords", &"k,".repeat(10).replace('k', &"k".repeat(300))]), ""),
        (add(&["--title", "t", "--question", &"q".repeat(3000)]), "limit: 2000 bytes"),
        (add(&["--title", "t", "--project", "nowhere"]), "directory not found"),
        (add(&["--title", "t", "--project", ".", "--all"]), "cannot be used with"),
        (memory(&project, &["add", "--type", "two words", "--title", "t"]), "invalid type"),
        (memory(&project, &["add", "--title", "t"]), "--type"),
        (memory(&project, &["search", " "]), "empty search"),
        (memory(&project, &["list", "--limit", "0"]), "--limit"),
        (memory(&project, &["show", ""]), "empty id"),
        (memory(&project, &["show", "mem_x"]), "unknown memory `mem_x`"),
        (memory(&project, &["forget", "%"]), "unknown memory `%`"),
        (memory(&project, &["import", "nowhere.md"]), "No such file"),
        (memory(&project, &["import"]), "no memories in"),
    ] {
        if said.is_empty() {
            assert_eq!(ran.code, Some(0), "the same word again is one word: {}", ran.stderr);
            continue;
        }
        assert_eq!(ran.code, Some(2), "{said}: {}", ran.stderr);
        assert!(ran.stderr.contains(said), "{said}: {}", ran.stderr);
        let hints = ran.stderr.contains("hint: ") || ran.stderr.contains("--help");
        assert!(hints, "{}", ran.stderr);
    }
    assert_eq!(project.sql("SELECT count(*) FROM memories"), ["1"]);
    let mut command =
        project.ona(["memory", "add", "--type", "x", "--title", "t", "--content", "-"]);
    let ran = run(command.stdin(fs::File::open(project.path("large")).unwrap()));
    assert!(ran.code == Some(2) && ran.stderr.contains("limit: 64 KiB"), "{ran:?}");
    project.file("odd", b"ab\xff");
    let ran = run(command.stdin(fs::File::open(project.path("odd")).unwrap()));
    assert!(ran.code == Some(2) && ran.stderr.contains("byte 3 is not UTF-8"), "{ran:?}");

    added(&project, "One", &[]);
    added(&project, "Two", &[]);
    let ran = memory(&project, &["show", "mem_"]);
    assert!(ran.code == Some(2) && ran.stderr.contains("is ambiguous: mem_"), "{ran:?}");
    let id = project.sql("SELECT id FROM memories LIMIT 1").remove(0);
    let ran = memory(&project, &["edit", &id]);
    assert!(ran.code == Some(2) && ran.stderr.contains("no terminal for an editor"), "{ran:?}");
}

#[test]
fn secrets_are_masked_before_they_are_kept() {
    let project = project();
    let token = format!("ghp_{}", "aB3dE6".repeat(6));
    project.file("note.md", format!("# Key {token}\nlive-secret-of-this-test"));
    let with_key = |args: &[&str]| {
        let mut command = project.ona([&["memory"], args].concat());
        let ran = run(command.env("ANTHROPIC_API_KEY", "live-secret-of-this-test"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        assert!(ran.stderr.contains("masked what looks like a secret"), "{}", ran.stderr);
    };
    let content = format!("use {token} and live-secret-of-this-test");
    with_key(&["add", "--type", "x", "--title", "T", "--content", &content, "--keywords", &token]);
    with_key(&["import", "note.md"]);
    let kept = project.sql("SELECT title, content, keywords FROM memories").join("\n");
    assert!(kept.contains("[REDACTED:github_token]") && kept.contains("[REDACTED:live]"), "{kept}");
    for file in ["agent.db", "agent.db-wal"] {
        let bytes = fs::read(project.database().with_file_name(file)).unwrap_or_default();
        let text = String::from_utf8_lossy(&bytes);
        assert!(!text.contains(&token) && !text.contains("live-secret-of"), "{file}");
    }
}

#[test]
fn files_are_imported_once_and_corrected_when_they_change() {
    let project = project();
    let dir = project.home().join(".claude/projects");
    let name: String = project
        .dir()
        .display()
        .to_string()
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '-' })
        .collect();
    let dir = dir.join(name).join("memory");
    fs::create_dir_all(dir.join("topics")).unwrap();
    fs::write(
        dir.join("MEMORY.md"),
        "# Memory\n- [Login](login.md) — tokens\n\n## Build\nneeds cmake\n",
    )
    .unwrap();
    fs::write(dir.join("login.md"), "---\nname: Login\ntype: feedback\ntags: [auth]\ndescription: how to log in\n---\nTokens expire.\n").unwrap();
    fs::write(dir.join("topics/ci.md"), "CI runs on push.\n").unwrap();
    fs::write(dir.join("notes.txt"), "no Markdown").unwrap();
    fs::write(dir.join("bad.md"), b"\xff\xfe").unwrap();
    fs::write(dir.join("empty.md"), "\n").unwrap();
    fs::write(dir.join("wrong.md"), "---\ntitle: [\n---\nx").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", dir.join("link.md")).unwrap();
    let import = || {
        let ran = memory(&project, &["import", "--json"]);
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let told = parsed(&ran.stdout);
        assert_eq!(told["skipped"].as_array().unwrap().len(), 4, "{told}");
        ["added", "corrected", "unchanged"].map(|word| told[word].as_u64().unwrap())
    };
    assert_eq!(import(), [3, 0, 0]);
    assert_eq!(import(), [0, 0, 3]);
    assert_eq!(
        project.sql("SELECT count(*) FROM events WHERE event_type = 'memory.imported'"),
        ["1"]
    );
    let rows = project.sql(
        "SELECT type, title, content, keywords, anticipated_queries FROM memories ORDER BY title",
    );
    assert_eq!(
        rows,
        [
            "note|Build|needs cmake||",
            "feedback|Login|Tokens expire.|auth|how to log in",
            "note|ci|CI runs on push.||"
        ]
    );
    // What was put right in the record stays, until the file says something new.
    let id = project.sql("SELECT id FROM memories WHERE title = 'Login'").remove(0);
    done(&project, &["edit", &id, "--title", "Logging in"]);
    assert_eq!(import(), [0, 0, 3]);
    fs::write(dir.join("login.md"), "# Login\nTokens expire after an hour.\n").unwrap();
    assert_eq!(import(), [0, 1, 2]);
    let row = parsed(&done(&project, &["show", &id, "--json"]));
    assert_eq!((&row["title"], &row["correction_count"]), (&json!("Login"), &json!(3)));
    assert!(row["source"].as_str().unwrap().ends_with("/memory/login.md"));
    // The record is the authority: the files may go.
    fs::remove_dir_all(&dir).unwrap();
    assert_eq!(titles(&done(&project, &["search", "expire", "hour", "--json"])), ["Login"]);

    let said = memory(&project, &["import", "/etc/hostname", "."]);
    assert_eq!(said.code, Some(0), "a file that is named is taken: {}", said.stderr);
    let only_bad = project.file("x/bad.md", b"\xff");
    assert_eq!(memory(&project, &["import", &only_bad]).code, Some(1));
}

#[test]
fn an_agent_adds_to_its_own_project_and_changes_only_what_agents_wrote() {
    let project = project();
    let human = added(&project, "By the operator", &[]);
    let other = project.home().display().to_string();
    let elsewhere = added(&project, "Of another project", &["--project", &other]);
    let bash =
        |command: &str| project.eval("Bash", json!({"command": format!("{ONA} memory {command}")}));
    let kept = bash("add --type lesson --title 'By the agent' --content 'learned'");
    assert!(!kept.is_error, "{}", kept.content);
    let agents = project.sql("SELECT id FROM memories WHERE title = 'By the agent'").remove(0);
    let origin =
        project.sql("SELECT written_by, written_in FROM memory_origins WHERE written_by = 'agent'");
    let session = project.sql("SELECT session_id FROM sessions").remove(0);
    assert_eq!(origin, [format!("agent|{session}")]);
    let event = project.sql(
        "SELECT session_id, detail ->> 'by', detail ->> 'started_by' FROM events WHERE event_type = 'memory.added'
         ORDER BY id DESC LIMIT 1",
    );
    assert_eq!(event, [format!("{session}|agent|the call {}", kept.tool_use_id)]);

    assert!(!bash(&format!("edit {agents} --title Corrected")).is_error);
    for (command, said) in [
        (
            format!("edit {human} --title Other"),
            "only the operator decides about a memory that a human wrote",
        ),
        (format!("forget {human}"), "only the operator decides about a memory that a human wrote"),
        (format!("show {elsewhere}"), "unknown memory"),
        (format!("forget {elsewhere}"), "unknown memory"),
        ("search project --all".to_owned(), "only the operator decides"),
        (format!("list --project {other}"), "only the operator decides"),
        ("add --type x --title y --all".to_owned(), "only the operator decides"),
        ("import .".to_owned(), "only the operator decides"),
    ] {
        let refused = bash(&command);
        assert!(
            refused.is_error && refused.content.contains(said),
            "{command}: {}",
            refused.content
        );
    }
    // Whoever changes the directory still has its own project.
    let listed =
        project.ok("Bash", json!({"command": format!("(cd {other} && {ONA} memory list --json)")}));
    assert_eq!(titles(&listed), ["Corrected", "By the operator"]);
    assert!(!bash(&format!("forget {agents}")).is_error);
    assert_eq!(project.sql("SELECT count(*) FROM memories"), ["2"]);
    assert!(done(&project, &["list"]).contains("By the operator"));
}

#[test]
fn without_options_an_editor_changes_it() {
    let project = project();
    let id = added(&project, "A: \"title\" #1", &["--content", "one\ntwo", "--keywords", "a,b"]);
    let edit_as = |id: &str, editor: &str| {
        let mut command = project.command("script");
        command
            .args(["-qec", &format!("exec {ONA} memory edit {id}"), "/dev/null"])
            .env("VISUAL", editor)
            .stdin(Stdio::null());
        run(&mut command)
    };
    let edit = |editor: &str| edit_as(&id, editor);
    let row = || parsed(&done(&project, &["show", &id, "--json"]));
    let ran = edit("true");
    assert!(ran.code == Some(0) && ran.stdout.contains("nothing changed"), "{ran:?}");
    let ran = edit("sed -i -e s/two/three/ -e s/#1/#2/ -e s/lesson/fact/");
    assert!(ran.code == Some(0) && ran.stdout.contains("changed mem_"), "{ran:?}");
    let changed = row();
    assert_eq!((&changed["title"], &changed["type"]), (&json!("A: \"title\" #2"), &json!("fact")));
    assert_eq!((&changed["content"], &changed["keywords"]), (&json!("one\nthree"), &json!("a, b")));
    let ran = edit("false");
    assert!(ran.code == Some(1) && ran.stdout.contains("the editor `false` failed"), "{ran:?}");
    // What cannot be taken stays where it was written.
    let ran = edit("sed -i s/^title:.*/title:/");
    let path = ran.stdout.split("your text is in ").nth(1).map(|rest| rest.trim().to_owned());
    let path = path.unwrap_or_else(|| panic!("{ran:?}"));
    assert!(fs::read_to_string(&path).unwrap().contains("three"));
    fs::remove_file(path).unwrap();
    // Somebody else was faster: what an editor starts is no operator, but may change what an agent wrote.
    let add = format!("{ONA} memory add --type x --title Slow --content one --json");
    let agents = parsed(&project.ok("Bash", json!({"command": add})));
    let agents = agents["id"].as_str().unwrap();
    let ran =
        edit_as(agents, &format!("{ONA} memory edit {agents} --title Faster; sed -i s/one/two/"));
    assert!(ran.stdout.contains("changed by somebody else in the meantime"), "{ran:?}");
    let kept = ran.stdout.split("your text is in ").nth(1).unwrap().trim();
    assert!(fs::read_to_string(kept).unwrap().contains("two"));
    fs::remove_file(kept).unwrap();
    let now = parsed(&done(&project, &["show", agents, "--json"]));
    assert_eq!((&now["title"], &now["content"]), (&json!("Faster"), &json!("one")));
}

#[test]
fn many_processes_at_once_lose_nothing() {
    let project = project();
    run(&mut project.ona(["--init-db"]));
    let children: Vec<_> = (0..8)
        .map(|n| {
            let title = format!("Number {n}");
            let mut command = project.ona(["memory", "add", "--type", "x", "--title", &title]);
            command.stdout(Stdio::null()).spawn().unwrap()
        })
        .collect();
    for mut child in children {
        assert!(child.wait().unwrap().success());
    }
    assert_eq!(titles(&done(&project, &["search", "number", "--json"])).len(), 8);
    assert_eq!(project.sql("SELECT count(*) FROM memories_fts"), ["8"]);
    // Another program that keeps to S0: its rows, then the rebuild.
    project.sql(
        "DELETE FROM memories WHERE title = 'Number 3';
         INSERT INTO memories(id, type, title, created_at, updated_at) VALUES ('own', 'x', 'By hand', 0, 0);
         DELETE FROM memories_fts;
         INSERT INTO memories_fts(title, content, keywords, anticipated_queries)
         SELECT title, content, keywords, anticipated_queries FROM memories;",
    );
    assert_eq!(titles(&done(&project, &["search", "hand", "--all", "--json"])), ["By hand"]);
    assert_eq!(titles(&done(&project, &["search", "number", "--json"])).len(), 7);
    assert!(done(&project, &["forget", "own"]).contains("By hand"));
}
