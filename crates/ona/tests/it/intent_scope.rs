//! `ona intent` about scopes: whose file it is, for what a session works, and who may widen what.

use std::fs;
use std::os::unix::fs::symlink;

use ona_testkit::run;
use serde_json::json;

use crate::intents::{FILE, answer, done, fails, governed, ona, plain};

#[test]
fn scope_check_says_which_pattern_or_whose_file_it_is() {
    let project = governed();
    let out = project.home();
    fs::create_dir_all(project.path("src")).unwrap();
    symlink("../docs", project.path("src/link")).unwrap();
    symlink(&out, project.path("src/out")).unwrap();
    assert_eq!(
        fails(&project, 2, &["intent", "scope-check", "src/a.rs"]),
        "error: no intent is selected\nhint: give one with --intent, or select one with `ona intent select`\n"
    );
    done(&project, &["intent", "select", "INT-001"]);
    let checked = ona(&project, &["intent", "scope-check", "src/a.rs", "src/new/b"]);
    assert_eq!(checked.code, Some(0), "{}", checked.stderr);
    project.file(".orchestration/.intentignore", "src/secret/**\n");
    let paths = [
        "src/a.rs",
        "docs/x.md",
        "src/gen/y",
        "src/../docs/z",
        "src/link/l",
        "src/out/o",
        "../up",
        "src/secret/k",
        "lib/n",
    ];
    let checked = ona(&project, &[&["intent", "scope-check"], &paths[..]].concat());
    assert_eq!(checked.code, Some(1));
    let said = plain(&project, &checked.stdout)
        .replace(project.home().parent().unwrap().to_str().unwrap(), "ROOT");
    insta::assert_snapshot!(said, @r"
    in scope      src/a.rs: matches `src/**` of INT-001
    out of scope  docs/x.md: no pattern of INT-001 matches; in the scope of INT-002 by `docs/**`
    out of scope  src/gen/y: excluded by `!src/gen/**` of INT-001
    out of scope  docs/z: no pattern of INT-001 matches; in the scope of INT-002 by `docs/**`
    out of scope  docs/l: no pattern of INT-001 matches; in the scope of INT-002 by `docs/**`
    out of scope  src/out/o: ROOT/home/o is outside the workspace
    out of scope  ../up: ROOT/up is outside the workspace
    out of scope  src/secret/k: blocked for every intent by .orchestration/.intentignore line 1 (`src/secret/**`)
    out of scope  lib/n: no pattern of INT-001 matches
    ");
    let value =
        answer(&project, &["intent", "scope-check", "docs/x.md", "--intent", "INT-002", "--json"]);
    assert_eq!(
        (&value["in_scope"], &value["paths"][0]["pattern"]),
        (&json!(true), &json!("docs/**"))
    );
    // Paths are the caller's own.
    let below =
        run(project.ona(["intent", "scope-check", "a.rs"]).current_dir(project.path("src")));
    assert_eq!(
        (below.code, below.stdout.as_str()),
        (Some(0), "in scope      src/a.rs: matches `src/**` of INT-001\n")
    );
    done(&project, &["intent", "status", "INT-001", "COMPLETED"]);
    let over = ona(&project, &["intent", "scope-check", "src/a.rs"]);
    assert!(
        over.stderr.contains("note: INT-001 is COMPLETED: no file may be changed for it"),
        "{}",
        over.stderr
    );
    assert_eq!(
        fails(&project, 2, &["intent", "scope-check", "a", "--intent", "INT-7"]).lines().next(),
        Some("error: unknown intent INT-7")
    );
}

#[test]
fn selecting_begins_an_intent_for_a_session_or_for_all() {
    let project = governed();
    assert_eq!(
        done(&project, &["intent", "select", "INT-001"]),
        "INT-001 (Limit the login, IN_PROGRESS) is now the default intent\n"
    );
    assert!(done(&project, &["intent", "list"]).contains("* INT-001  IN_PROGRESS"));
    let context =
        done(&project, &["intent", "select", "INT-002", "--session", "theirs", "--context"]);
    assert!(
        context.starts_with("<intent_context>\n  <intent id=\"INT-002\" status=\"IN_PROGRESS\">"),
        "{context}"
    );
    assert!(context.ends_with("</intent_context>\n"), "{context}");
    let shown = answer(&project, &["intent", "show", "INT-002", "--json"]);
    assert_eq!(shown["selections"][0]["session_id"], "theirs");
    let in_session = ["intent", "scope-check", "docs/a", "--session", "theirs"];
    assert_eq!(ona(&project, &in_session).code, Some(0));
    assert_eq!(
        ona(&project, &["intent", "scope-check", "docs/a"]).code,
        Some(1),
        "the default is another"
    );
    assert_eq!(
        done(&project, &["intent", "clear", "--session", "theirs"]),
        "session theirs: no intent is selected\n"
    );
    assert_eq!(ona(&project, &in_session).code, Some(2));
    assert_eq!(
        done(&project, &["intent", "clear"]),
        "no default intent; each session selects its own\n"
    );
    assert_eq!(ona(&project, &["intent", "scope-check", "docs/a"]).code, Some(2));
    done(&project, &["intent", "status", "INT-001", "BLOCKED"]);
    let said = fails(&project, 2, &["intent", "select", "INT-001"]);
    assert!(
        said.contains("BLOCKED")
            && said.contains("hint: `ona intent status INT-001 IN_PROGRESS` reopens it"),
        "{said}"
    );
    project.file(".orchestration/.intentignore", "INT-002\n");
    assert!(
        fails(&project, 2, &["intent", "select", "INT-002"])
            .contains(".orchestration/.intentignore line 1")
    );
}

/// DESIGN §5, no. 12: an agent may look, ask, and say what its own session is for.
#[test]
fn an_agent_asks_and_the_operator_decides() {
    let project = governed();
    project.file("a.txt", "x\n");
    let call = project.eval("Read", json!({"file_path": project.path("a.txt")})).tool_use_id;
    let session = project.sql("SELECT session_id FROM sessions").remove(0);
    let agent = |args: &[&str]| run(project.ona(args).env("ONA_TOOL_USE_ID", &call));
    let before = project.content(FILE);
    for args in [
        &["intent", "init"][..],
        &["intent", "add", "--name", "x", "--scope", "**"],
        &["intent", "edit", "INT-001", "--add-scope", "**"],
        &["intent", "status", "INT-001", "COMPLETED"],
        &["intent", "select", "INT-001"],
        &["intent", "select", "INT-001", "--session", "another"],
        &["intent", "clear"],
        &["intent", "clear", "--session", "another"],
        &["intent", "request-scope", "**", "--intent", "INT-001", "--grant"],
        &["trace", "reconcile", "--adopt", "INT-001"],
    ] {
        let ran = agent(args);
        assert_eq!(ran.code, Some(2), "{args:?}: {}", ran.stdout);
        assert!(
            ran.stderr.contains(", and this ona was started by the call"),
            "{args:?}: {}",
            ran.stderr
        );
    }
    assert_eq!(project.content(FILE), before);
    // An environment that names another call than the record knows is no session's.
    let ran = run(project
        .ona(["intent", "select", "INT-001", "--session", &session])
        .env("ONA_TOOL_USE_ID", "toolu_made_up"));
    assert_eq!(ran.code, Some(2), "{}", ran.stdout);
    let own = agent(&["intent", "select", "INT-001"]).stderr;
    assert!(own.contains(&format!("hint: for your own session: --session {session}")), "{own}");

    assert_eq!(agent(&["intent", "select", "INT-001", "--session", &session]).code, Some(0));
    let by = project.sql("SELECT session_id, intent_id, selected_by FROM selected_intents");
    assert_eq!(by, [format!("{session}|INT-001|agent")]);
    assert_eq!(
        agent(&["intent", "scope-check", "src/a"]).code,
        Some(0),
        "its own session's selection"
    );
    let asked = agent(&["intent", "request-scope", "lib/it's/**"]);
    assert_eq!(
        asked.stdout,
        "requested: `lib/it's/**` for INT-001 (Limit the login)\n\
         the operator grants it with: ona intent request-scope 'lib/it'\\''s/**' --intent INT-001 --grant\n"
    );
    assert_eq!(agent(&["intent", "request-scope", "lib/it's/**"]).code, Some(0));
    let events = project.sql("SELECT session_id, json_extract(detail, '$.by') FROM events WHERE event_type = 'intent.scope_requested'");
    assert_eq!(events, [format!("{session}|agent"), format!("{session}|agent")]);
    let listed = answer(&project, &["intent", "request-scope", "--list", "--json"]);
    assert_eq!(listed.as_array().unwrap().len(), 1, "each wish once");
    assert_eq!((&listed[0]["state"], &listed[0]["by"]), (&json!("open"), &json!("agent")));
    assert!(
        done(&project, &["intent", "request-scope", "--list"])
            .contains("grant with: ona intent request-scope")
    );

    // What the agent's request says, the operator can paste.
    let granting = asked.stdout.rsplit_once("with: ona ").unwrap().1.trim().to_owned();
    let script = format!("{} {granting}", env!("CARGO_BIN_EXE_ona"));
    let granted = run(project.command("sh").args(["-c", &script]));
    assert_eq!(
        granted.stdout, "`lib/it's/**` is now in the scope of INT-001\n",
        "{}",
        granted.stderr
    );
    assert_eq!(
        answer(&project, &["intent", "request-scope", "--list", "--json"])[0]["state"],
        "granted"
    );
    assert_eq!(
        ona(&project, &["intent", "scope-check", "lib/it's/x", "--intent", "INT-001"]).code,
        Some(0)
    );
    assert_eq!(
        agent(&["intent", "request-scope", "lib/it's/**"]).stdout,
        "`lib/it's/**` is already in the scope of INT-001\n"
    );
    for (glob, said) in
        [("+(a)", "groups like"), ("/etc/**", "begins with `/`"), ("#x", "is a comment")]
    {
        assert!(agent(&["intent", "request-scope", glob]).stderr.contains(said), "{glob}");
    }
}

/// The same from inside a real call: nothing in its environment has to be believed.
#[test]
fn what_a_call_starts_is_known_for_what_it_is() {
    let project = governed();
    done(&project, &["intent", "select", "INT-001"]);
    let inner = |args: &str| {
        let command = format!("env -u ONA_TOOL_USE_ID {} intent {args}", env!("CARGO_BIN_EXE_ona"));
        project.eval("Bash", json!({"command": command}))
    };
    let before = project.content(FILE);
    for args in ["add --name x", "select INT-002", "request-scope 'lib/**' --grant"] {
        let said = inner(args);
        assert!(
            said.is_error && said.content.contains("only the operator decides"),
            "{args}: {}",
            said.content
        );
    }
    let asked = inner("request-scope 'lib/**' --intent INT-001");
    assert!(asked.content.starts_with("requested: `lib/**` for INT-001"), "{}", asked.content);
    let listed = answer(&project, &["intent", "request-scope", "--list", "--json"]);
    assert_eq!(listed[0]["by"], "agent");
    assert_eq!(project.content(FILE), before);
}
