//! The record, the trace and what scripts rely on, tried by a hostile server, a hostile file and several processes at once.

use std::collections::HashSet;
use std::fs;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use ona_provider::Usage;
use ona_provider::scripted::{Reply, Script, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::intents::{answer, done, governed, ona};
use crate::print::{anthropic, lines};
use crate::read::pdf_of;
use crate::trust::git;
use crate::{project, until};

const LEDGER: &str = ".orchestration/agent_trace.jsonl";

fn output(child: Child) -> Ran {
    let output = child.wait_with_output().unwrap();
    Ran {
        code: output.status.code(),
        stdout: String::from_utf8(output.stdout).unwrap(),
        stderr: String::from_utf8(output.stderr).unwrap(),
    }
}

// --- the trace ---

/// A repository in which ona has written to `src` so often.
fn traced(times: usize) -> Project {
    let project = governed();
    project.ok("SelectActiveIntent", json!({"intent_id": "INT-001"}));
    for n in 0..times {
        writes(&project, &format!("src/{n}.txt"));
    }
    project
}

fn writes(project: &Project, path: &str) {
    project.ok("Write", json!({"file_path": path, "content": "x\n"}));
}

/// Whether `trace verify` says so: exit code 1, or a warning.
fn noticed(project: &Project) -> bool {
    let ran = ona(project, &["trace", "verify"]);
    match ran.code {
        Some(0) => ran.stderr.contains("missing here"),
        code => code == Some(1),
    }
}

fn silent(project: &Project) {
    let ran = ona(project, &["trace", "verify"]);
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
}

#[test]
fn no_line_stands_twice() {
    let project = traced(3);
    silent(&project);
    let whole = project.content(LEDGER);
    let lines: Vec<&str> = whole.lines().collect();
    for copied in 0..lines.len() {
        for place in copied + 1..=lines.len() {
            let mut twice = lines.clone();
            twice.insert(place, lines[copied]);
            project.file(LEDGER, twice.join("\n") + "\n");
            let ran = ona(&project, &["trace", "verify"]);
            assert_eq!(ran.code, Some(1), "{copied} at {place}: {}", ran.stdout);
        }
    }
    // Other spacing is the same line, and other writers' lines count too.
    let spaced = lines[1].replacen("\":", "\" : ", 3);
    project.file(LEDGER, format!("{whole}{spaced}\n"));
    assert_eq!(ona(&project, &["trace", "verify"]).code, Some(1));
    let foreign = r#"{"version":"0.1.0","id":"1b4e28ba-2fa1-4d3b-a3f5-ef19b5a7633b","timestamp":"2026-01-01T00:00:00Z","files":[]}"#;
    project.file(LEDGER, format!("{whole}{foreign}\n"));
    let once = ona(&project, &["trace", "verify"]);
    project.file(LEDGER, format!("{whole}{foreign}\n{foreign}\n"));
    let twice = ona(&project, &["trace", "verify"]);
    assert_eq!((once.code, twice.code), (Some(0), Some(1)), "{}{}", once.stdout, twice.stdout);
    project.file(LEDGER, whole);
    silent(&project);
}

#[test]
fn what_the_record_knows_cannot_be_removed_unnoticed() {
    let project = traced(4);
    let whole = project.content(LEDGER);
    let lines: Vec<&str> = whole.lines().collect();
    let restore = |kept: &[&str]| project.file(LEDGER, kept.join("\n") + "\n");
    for gone in 0..lines.len() {
        let mut kept = lines.clone();
        kept.remove(gone);
        restore(&kept);
        assert!(noticed(&project), "line {gone}");
    }
    project.file(LEDGER, &whole[..whole.len() - 40]);
    assert!(noticed(&project), "a truncated file");
    project.file(LEDGER, "");
    assert!(noticed(&project), "an empty file");
    fs::remove_file(project.path(LEDGER)).unwrap();
    assert!(noticed(&project), "no file");
    // Work goes on, and the new chain is whole. It is still known what is gone.
    restore(&lines[..2]);
    writes(&project, "src/later.txt");
    assert!(noticed(&project), "the end was cut off, and later entries hide it");
    let found = answer(&project, &["trace", "verify", "--json"]);
    assert_eq!((&found["clean"], found["missing"].as_array().unwrap().len()), (&json!(true), 2));
    fs::remove_file(project.path(LEDGER)).unwrap();
    writes(&project, "src/replaced.txt");
    assert!(noticed(&project), "a replaced file");
    // With all that was ever written, there is nothing to say.
    let later = project.content(LEDGER);
    project.file(LEDGER, whole + &later);
    let ran = ona(&project, &["trace", "verify"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stdout);
    assert!(ran.stderr.contains("which is missing here"), "later.txt: {}", ran.stderr);
}

#[test]
fn a_project_that_was_moved_is_known() {
    let project = traced(3);
    let whole = project.content(LEDGER);
    let first: String = whole.lines().take(1).map(|line| format!("{line}\n")).collect();
    project.file(LEDGER, &first);
    let moved = project.dir().parent().unwrap().join("moved");
    fs::rename(project.dir(), &moved).unwrap();
    let verify = || run(project.ona(["trace", "verify"]).current_dir(&moved));
    let ran = verify();
    assert!(ran.stderr.contains("are missing here"), "{}{}", ran.stdout, ran.stderr);
    fs::write(moved.join(LEDGER), whole).unwrap();
    let ran = verify();
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
}

#[test]
fn a_key_that_stands_twice_is_noticed() {
    let project = traced(2);
    let whole = project.content(LEDGER);
    project.file(LEDGER, whole.replacen('{', r#"{"intent_id":"INT-999","#, 1));
    let ran = ona(&project, &["trace", "verify"]);
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("a key stands twice"), "{}", ran.stdout);
}

#[test]
fn adopted_changes_are_known_too() {
    let project = governed();
    project.file("src/by_hand.txt", "x\n");
    done(&project, &["trace", "reconcile", "--adopt", "INT-001"]);
    silent(&project);
    fs::remove_file(project.path(LEDGER)).unwrap();
    assert!(noticed(&project));
}

#[test]
fn branches_and_clones_have_their_own_trace() {
    let project = traced(1);
    let commit = |message: &str| {
        git(&project, &["add", "-A"]);
        git(&project, &["commit", "-q", "-m", message]);
    };
    commit("base");
    git(&project, &["checkout", "-q", "-b", "side"]);
    writes(&project, "src/side.txt");
    commit("side");
    git(&project, &["checkout", "-q", "-"]);
    let ran = ona(&project, &["trace", "verify"]);
    assert_eq!(ran.code, Some(0), "another branch's trace: {}", ran.stdout);
    writes(&project, "src/main.txt");
    commit("main");
    git(&project, &["merge", "-q", "-m", "merged", "side"]);
    silent(&project);
    assert_eq!(project.content(LEDGER).lines().count(), 3, "merge=union kept both");
    git(&project, &["clone", "-q", ".", "../clone"]);
    let ran = run(project.ona(["trace", "verify"]).current_dir(project.path("../clone")));
    assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""), "{}", ran.stdout);
}

// --- one id, one call ---

/// A model that gives every call the same id, and whose commands wait for one another.
fn reusing(own: &str, others: &[&str]) -> Server {
    let meet: Vec<String> = others.iter().map(|other| format!("[ -e {other} ]")).collect();
    let command = format!("touch {own}; until {}; do :; done; echo {own}", meet.join(" && "));
    Server::start([
        Reply::new().call("call_0", "Bash", json!({"command": command})).call(
            "call_0",
            "Bash",
            json!({"command": format!("echo again {own}")}),
        ),
        Reply::new().call("call_0", "Bash", json!({"command": format!("echo later {own}")})),
        Reply::say("done"),
    ])
    .unwrap()
}

#[test]
fn processes_at_once_and_a_server_that_reuses_ids() {
    let project = project();
    let names = ["one", "two", "three"];
    let servers: Vec<Server> = names
        .iter()
        .map(|own| {
            let others: Vec<&str> = names.iter().filter(|name| *name != own).copied().collect();
            reusing(own, &others)
        })
        .collect();
    let children: Vec<Child> = servers
        .iter()
        .map(|server| {
            let args = ["-p", "go", "--permission-mode", "bypassPermissions", "--output-format"];
            let mut command = anthropic(&project, server, &args);
            command.arg("json").stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
        })
        .collect();
    let mut ids = HashSet::new();
    for (child, name) in children.into_iter().zip(names) {
        let ran = output(child);
        assert_eq!(ran.code, Some(0), "{}{}", ran.stdout, ran.stderr);
        let session = lines(&ran)[0]["session_id"].as_str().unwrap().to_owned();
        let calls = project.sql(&format!(
            "SELECT tool_use_id FROM transcript_entries
             WHERE session_id = '{session}' AND entry_type = 'tool_use' ORDER BY sequence"
        ));
        assert_eq!(calls.len(), 3);
        for (id, said) in calls.iter().zip(["", "again ", "later "]) {
            assert!(ids.insert(id.clone()), "{id} names two calls");
            let why = answer(&project, &["why", id, "--json"]);
            assert_eq!(why["session_id"], json!(session), "{why}");
            assert_eq!(why["result"]["content"], json!(format!("{said}{name}\n")), "{why}");
            let stages: Vec<&Value> =
                why["answers"].as_array().unwrap().iter().map(|one| &one["stage"]).collect();
            assert_eq!(stages.len(), HashSet::<&&Value>::from_iter(&stages).len(), "{why}");
        }
    }
    assert!(ids.contains("call_0"), "the first to ask has the server's id: {ids:?}");
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["0"]);
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
}

#[test]
fn a_host_that_reuses_ids_in_many_processes_at_once() {
    let project = project();
    let payload = |session: usize, event: &str| {
        let said = json!({"session_id": format!("00000000-0000-4000-8000-00000000000{session}"),
            "hook_event_name": event, "cwd": project.dir(), "tool_name": "Read", "tool_use_id": "toolu_same",
            "tool_input": {"file_path": project.path("a.txt")}, "tool_response": {"n": session}});
        fs::File::open(project.file(&format!("in-{session}-{event}"), said.to_string())).unwrap()
    };
    for event in ["PreToolUse", "PostToolUse"] {
        let hooks: Vec<Child> = (0..6)
            .map(|session| {
                let mut hook = project.ona(["hook", "claude_code"]);
                hook.stdin(payload(session, event)).stdout(Stdio::piped()).stderr(Stdio::piped());
                hook.spawn().unwrap()
            })
            .collect();
        for hook in hooks {
            let ran = output(hook);
            assert_eq!((ran.code, ran.stderr.as_str()), (Some(0), ""));
        }
    }
    let calls = project.sql(
        "SELECT t.tool_use_id, t.session_id FROM transcript_entries t
         JOIN call_ids i ON i.tool_use_id = t.tool_use_id AND i.session_id = t.session_id
         WHERE entry_type = 'tool_result'",
    );
    assert_eq!(HashSet::<&String>::from_iter(&calls).len(), 6, "{calls:?}");
    assert_eq!(project.sql("SELECT count(*) FROM running_calls"), ["0"]);
}

#[test]
fn a_fork_does_not_take_over_the_story_of_a_call() {
    let project = project();
    let server = Server::start([
        Reply::new()
            .call(
                "toolu_first",
                "Bash",
                json!({"command": "touch begun; until [ -e go ]; do :; done"}),
            )
            .call("toolu_second", "Bash", json!({"command": "echo it ran"})),
        Reply::say("done"),
    ])
    .unwrap();
    let args = ["-p", "go", "--name", "origin", "--permission-mode", "bypassPermissions"];
    let mut origin = anthropic(&project, &server, &args);
    let origin = origin.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    until("the first call", || project.path("begun").exists());
    // The fork has calls that its origin has not finished, or not even begun.
    let server = Server::start([Reply::say("instead")]).unwrap();
    let args = ["-p", "and?", "--resume", "origin", "--fork-session", "--name", "copy"];
    let forked = run(&mut anthropic(&project, &server, &args));
    assert_eq!(forked.code, Some(0), "{}", forked.stderr);
    project.file("go", "");
    let ran = output(origin);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let session = project.sql("SELECT session_id FROM session_info WHERE name = 'origin'");
    for (id, said) in [("toolu_first", ""), ("toolu_second", "it ran")] {
        let why = answer(&project, &["why", id, "--json"]);
        assert_eq!(why["session_id"], json!(session[0]), "{why}");
        assert!(why["result"]["content"].as_str().unwrap().contains(said), "{why}");
        assert_eq!(why["result"]["is_error"], json!(false), "{why}");
        assert!(!why["answers"].as_array().unwrap().is_empty(), "{why}");
    }
    // The latest call is the latest that ran, not the latest that was copied.
    project.ok("Glob", json!({"pattern": "*"}));
    let args = ["-p", "again", "--resume", "origin", "--fork-session"];
    let server = Server::start([Reply::say("a copy")]).unwrap();
    assert_eq!(run(&mut anthropic(&project, &server, &args)).code, Some(0));
    assert_eq!(answer(&project, &["why", "--json"])["tool"], "Glob");
    // Nor does it when its origin is deleted.
    done(&project, &["sessions", "delete", "origin", "--yes"]);
    assert_eq!(
        answer(&project, &["why", "toolu_second", "--json"])["session_id"],
        json!(session[0])
    );
}

// --- compaction ---

/// A model that counts a token for every four bytes it is told.
fn counting(mut reply: impl FnMut(usize, &Value) -> Reply + Send + 'static) -> Server {
    let mut number = 0;
    Server::start(Script::choose(move |request| {
        let tokens = request.body.to_string().len() as u64 / 4;
        let is_summary = request.last_said().contains("Answer with the summary alone");
        let reply = match is_summary {
            true => Reply::say("THE SUMMARY"),
            false => {
                number += 1;
                reply(number, &request.body)
            }
        };
        reply.usage(Usage { input_tokens: tokens, output_tokens: 20, ..Usage::default() })
    }))
    .unwrap()
}

fn compactions(project: &Project) -> usize {
    project.sql("SELECT 1 FROM transcript_entries WHERE entry_type = 'collapse_commit'").len()
}

#[test]
fn what_is_put_back_takes_at_most_a_quarter_of_the_window() {
    let project = project();
    // Instructions, skills, what hooks say, a todo list and two prompts, each of them large.
    project.file("CLAUDE.md", format!("FIRST RULE\n{}", "rule ".repeat(20_000)));
    let skill = format!("---\nname: big\ndescription: A skill\n---\nSKILL {}", "s ".repeat(30_000));
    project.file(".claude/skills/big/SKILL.md", skill);
    let hook = "head -c 60000 /dev/zero | tr '\\0' h";
    let settings = json!({"hooks": {"SessionStart": [{"matcher": "compact", "hooks": [
        {"type": "command", "command": hook}]}]}});
    let settings = project.file("settings.json", settings.to_string());
    let log = format!("THE TASK\n{}\nTHE END", "a line of a log\n".repeat(8_600));
    assert!(log.len() > 135_000);
    let input = project.file("log.txt", log);
    let server = counting(|number, _| match number {
        1 => Reply::new().call("s", "Skill", json!({"skill": "big"})),
        2..8 => Reply::new().call(&format!("g{number}"), "Glob", json!({"pattern": "*.txt"})),
        _ => Reply::say("done"),
    });
    let args = ["-p", "--trust", "--settings", &settings, "--permission-mode", "bypassPermissions"];
    let mut command = anthropic(&project, &server, &args);
    command.env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "40000").stdin(fs::File::open(&input).unwrap());
    let ran = run(&mut command);
    assert_eq!((ran.code, ran.stdout.as_str()), (Some(0), "done\n"), "{}", ran.stderr);
    let count = compactions(&project);
    assert!((1..=2).contains(&count), "{count} compactions in one turn of eight questions");
    let after = server.requests().pop().unwrap().body;
    let told = after["messages"].to_string();
    for kept in ["THE SUMMARY", "THE TASK", "THE END", "FIRST RULE", "left out here"] {
        assert!(told.contains(kept), "{kept}");
    }
    let put_back: String = project
        .sql(
            "SELECT coalesce(json_extract(payload_json, '$.restored'), json_extract(payload_json, '$.text'))
             FROM transcript_entries
             WHERE sequence >= (SELECT max(sequence) FROM transcript_entries WHERE entry_type = 'collapse_commit')
               AND entry_type IN ('system', 'collapse_commit') ORDER BY sequence",
        )
        .concat();
    assert!(put_back.len() / 4 <= 10_000, "{} bytes", put_back.len());
    assert!(put_back.len() / 4 > 5_000, "the room is used: {} bytes", put_back.len());
    // Later turns do not compact again, each for itself.
    for _ in 0..4 {
        let mut command = anthropic(&project, &server, &["-p", "more", "--continue"]);
        let ran = run(command.env("CLAUDE_CODE_AUTO_COMPACT_WINDOW", "40000"));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    }
    assert_eq!(compactions(&project), count);
}

// --- documents and edits ---

/// A PDF whose pages share a lot of text, and have one line of their own.
fn pdf(pages: usize) -> Vec<u8> {
    let kids: Vec<String> = (0..pages).map(|page| format!("{} 0 R", 5 + 2 * page)).collect();
    let stream = |text: &str| format!("<< /Length {} >>\nstream\n{text}\nendstream", text.len());
    let lines = "0 -1 Td (a line that is on all the pages) Tj ".repeat(400);
    let mut objects = vec![
        "<< /Type /Catalog /Pages 2 0 R >>".to_owned(),
        format!("<< /Type /Pages /Kids [{}] /Count {pages} >>", kids.join(" ")),
        "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>".to_owned(),
        stream(&format!("BT /F1 1 Tf 72 600 Td {lines} ET")),
    ];
    for page in 0..pages {
        objects.push(format!(
            "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents [{} 0 R 4 0 R] \
             /Resources << /Font << /F1 3 0 R >> >> >>",
            6 + 2 * page
        ));
        let text = format!("BT /F1 12 Tf 72 700 Td (This is page {}) Tj ET", page + 1);
        objects.push(stream(&text));
    }
    pdf_of(&objects)
}

#[test]
fn some_pages_of_a_long_pdf_do_not_cost_the_others() {
    let project = project();
    let file = project.file("long.pdf", pdf(2_415));
    let start = Instant::now();
    let shown = project.ok("Read", json!({"file_path": file, "pages": "1-5"}));
    let took = start.elapsed();
    assert!(shown.contains("(PDF, 2415 pages)") && shown.contains("This is page 5"), "{shown}");
    assert!(!shown.contains("This is page 6"), "{shown}");
    // All pages take minutes.
    assert!(took < Duration::from_secs(20), "{took:?}");
    let last = project.ok("Read", json!({"file_path": file, "pages": "2414-2420"}));
    assert!(last.contains("--- page 2415 ---\n") && last.contains("This is page 2415"), "{last}");
    let beyond = project.refused("Read", json!({"file_path": file, "pages": "2416"}));
    assert!(beyond.contains("page 2416 is beyond the end: the PDF has 2415"), "{beyond}");
    let whole = project.refused("Read", json!({"file_path": file}));
    assert!(whole.contains("2415 pages, too many to read at once"), "{whole}");
}

#[test]
fn replacements_are_counted_once() {
    for (text, from, times) in [("aaa", "aa", 1), ("aaaa", "aa", 2), ("a b a", "a", 2)] {
        let project = project();
        let file = project.file("a.txt", text);
        project.ok("Read", json!({"file_path": file}));
        let edit =
            json!({"file_path": file, "old_string": from, "new_string": "-", "replace_all": true});
        let said = project.ok("Edit", edit);
        assert_eq!(project.content("a.txt").matches('-').count(), times, "{text}");
        let plural = if times == 1 { "" } else { "s" };
        assert!(said.contains(&format!(": {times} replacement{plural} from")), "{said}");
        let counted = project.sql("SELECT json_extract(detail, '$.replacements') FROM events WHERE event_type = 'tool.finished' ORDER BY id DESC LIMIT 1");
        assert_eq!(counted, [times.to_string()], "{text}");
    }
}

// --- what scripts expect ---

fn is_uuid(text: &str) -> bool {
    let groups: Vec<usize> = text.split('-').map(str::len).collect();
    let hex = |c: char| c == '-' || c.is_ascii_digit() || ('a'..='f').contains(&c);
    groups == [8, 4, 4, 4, 12] && text.chars().all(hex)
}

#[test]
fn ids_in_json_are_uuids() {
    let project = project();
    let server = Server::start([
        Reply::new().call(
            "a",
            "Agent",
            json!({"description": "d", "prompt": "sub", "subagent_type": "general-purpose"}),
        ),
        Reply::say("from the agent"),
        Reply::say("done"),
        Reply::say("more"),
        Reply::say("forked"),
    ])
    .unwrap();
    let mut seen = HashSet::new();
    let mut check = |args: &[&str]| -> String {
        let ran = run(&mut anthropic(&project, &server, args));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let mut session = String::new();
        for line in lines(&ran) {
            session = line["session_id"].as_str().unwrap_or_else(|| panic!("{line}")).to_owned();
            assert!(is_uuid(&session), "{line}");
            let uuid = line["uuid"].as_str().unwrap_or_else(|| panic!("{line}"));
            assert!(is_uuid(uuid) && seen.insert(uuid.to_owned()), "{line}");
        }
        session
    };
    let stream = ["--output-format", "stream-json", "--verbose"];
    let first = check(&[&["-p", "go", "--allowedTools", "Agent"], &stream[..]].concat());
    let again = check(&["-p", "more", "--resume", &first, "--output-format", "json"]);
    assert_eq!(first, again);
    let own = "0a0b0c0d-1111-4222-8333-444455556666";
    let fork = ["-p", "x", "--resume", &first, "--fork-session", "--session-id", own];
    assert_eq!(check(&[&fork[..], &stream].concat()), own);
    for table in ["sessions", "conversations"] {
        let column = if table == "sessions" { "session_id" } else { "id" };
        let ids = project.sql(&format!("SELECT {column} FROM {table}"));
        assert!(!ids.is_empty() && ids.iter().all(|id| is_uuid(id)), "{ids:?}");
    }
    // Nothing else names a new session.
    for id in [
        "own",
        "sess_019a8d5f",
        "../x",
        "",
        "019a8d5f00007000800000000000000a",
        "{0a0b0c0d-1111-4222-8333-444455556667}",
    ] {
        let ran = run(&mut anthropic(&project, &server, &["-p", "x", "--session-id", id]));
        assert_eq!(ran.code, Some(2), "{id}: {}", ran.stderr);
        assert!(ran.stderr.contains("--session-id"), "{id}: {}", ran.stderr);
    }
}

#[test]
fn sessions_of_older_records_keep_their_ids() {
    let project = project();
    let server = Server::start([
        Reply::new().call("toolu_old", "Glob", json!({"pattern": "*"})),
        Reply::say("old"),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "go", "--output-format", "json"]));
    let new = lines(&ran)[0]["session_id"].as_str().unwrap().to_owned();
    // As an earlier ona would have named it.
    let old = "sess_019a8d5f00007000800000000000000a";
    let columns = project.sql(
        "SELECT m.name FROM sqlite_schema m JOIN pragma_table_info(m.name) p
         WHERE m.type = 'table' AND p.name = 'session_id'",
    );
    let renames: String = columns
        .iter()
        .map(|table| format!("UPDATE {table} SET session_id = '{old}' WHERE session_id = '{new}';"))
        .collect();
    project.sql(&format!(
        "PRAGMA foreign_keys = OFF; {renames}
         UPDATE settings_snapshot SET scope = replace(scope, '{new}', '{old}');
         UPDATE state SET key = replace(key, '{new}', '{old}');"
    ));
    let listed = done(&project, &["sessions", "list"]);
    assert!(listed.contains(&old[..12]), "{listed}");
    assert_eq!(answer(&project, &["why", "toolu_old", "--json"])["session_id"], old);
    for (args, said) in [
        (&["-p", "more", "--resume", old][..], old),
        (&["-p", "more", "--resume", &old[..20]], old),
        (&["-p", "more", "--continue"], old),
        (&["-p", "more", "--resume", old, "--fork-session"], ""),
    ] {
        let server = Server::start([Reply::say("on")]).unwrap();
        let ran = run(anthropic(&project, &server, args).args(["--output-format", "json"]));
        assert_eq!(ran.code, Some(0), "{args:?}: {}", ran.stderr);
        let session = lines(&ran)[0]["session_id"].as_str().unwrap().to_owned();
        assert!(session == said || said.is_empty() && is_uuid(&session), "{args:?}: {session}");
    }
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
}

#[test]
fn init_only_stands_alone() {
    let project = project();
    let note = |event: &str| json!([{"hooks": [{"type": "command", "command": format!("cat > {event}")}]}]);
    let hooks = json!({"hooks": {"Setup": note("setup"), "SessionStart": note("start")}});
    project.file(".claude/settings.json", hooks.to_string());
    let ran = ona(&project, &["--init-only"]);
    assert_eq!(ran.code, Some(2), "hooks of a project that nobody trusts: {}", ran.stderr);
    let ran = ona(&project, &["--init-only", "--trust"]);
    assert_eq!((ran.code, ran.stdout.as_str(), ran.stderr.as_str()), (Some(0), "", ""));
    assert!(project.content("setup").contains("\"trigger\":\"init\""));
    assert!(project.content("start").contains("\"source\":\"startup\""));
    let ran = ona(&project, &["--init-only", "--trust", "--output-format", "stream-json"]);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    assert!(ran.stdout.contains("\"subtype\":\"init\""), "{}", ran.stdout);
    for more in [&["--maintenance"][..], &["--eval", "{}"], &["doctor"]] {
        let ran = ona(&project, &[&["--init-only"], more].concat());
        assert_eq!(ran.code, Some(2), "{more:?}: {}", ran.stderr);
    }
}

/// Whether a process is gone, or only waits for its parent to notice.
fn has_ended(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    stat.rsplit(") ").next().is_none_or(|rest| rest.is_empty() || rest.starts_with('Z'))
}

/// A command that runs on, and says under which numbers.
const STAYS: &str = "trap '' TERM INT HUP; setsid sh -c 'echo $$ > child; exec sleep 600' & echo $$ > pid; wait; sleep 600";

fn pids(project: &Project) -> Vec<String> {
    let written = |name: &str| fs::read_to_string(project.path(name)).unwrap_or_default();
    ["pid", "child"].map(|name| written(name).trim().to_owned()).to_vec()
}

fn runs(project: &Project) -> bool {
    pids(project).iter().all(|pid| !pid.is_empty() && !has_ended(pid))
}

/// Processes are found by the id, on the whole machine.
fn background(id: &str) -> Reply {
    Reply::new().call(id, "Bash", json!({"command": STAYS, "run_in_background": true}))
}

/// Waits until the command runs, so that no end comes too early.
fn look() -> Reply {
    let command = "until [ -s pid ] && [ -s child ]; do :; done";
    Reply::new().call("toolu_look", "Bash", json!({"command": command}))
}

#[test]
fn background_commands_end_with_the_process_however_it_ends() {
    let blocks = || Reply::say("at last").slow(Duration::from_secs(600));
    let refuses = || Reply::error(400, "invalid_request_error", "no");
    for (ending, third, args) in [
        ("result", Reply::say("done"), &[][..]),
        ("error", refuses(), &[]),
        ("max turns", Reply::say("never"), &["--max-turns", "2"]),
        ("-INT", blocks(), &[]),
        ("-TERM", blocks(), &[]),
        ("-HUP", blocks(), &[]),
        ("-KILL", blocks(), &[]),
    ] {
        let project = project();
        let id = format!("toolu_ends{}", ending.replace([' ', '-'], "_"));
        let server = Server::start([background(&id), look(), third]).unwrap();
        let args = [&["-p", "go", "--permission-mode", "bypassPermissions"], args].concat();
        let mut command = anthropic(&project, &server, &args);
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        if ending.starts_with('-') {
            until("the last question", || server.requests().len() == 3);
            assert!(runs(&project), "{ending}");
            run(project.command("kill").args([ending, &child.id().to_string()]));
        }
        let ran = output(child);
        let ended = Instant::now();
        assert_eq!(ran.code == Some(0), ending == "result", "{ending}: {}", ran.stderr);
        let pids = pids(&project);
        assert!(pids.iter().all(|pid| !pid.is_empty()), "{ending}: it ran");
        until("its end", || pids.iter().all(|pid| has_ended(pid)));
        assert!(ended.elapsed() < Duration::from_secs(5), "{ending}: {:?}", ended.elapsed());
        until("its end on the record", || {
            project.sql("SELECT end_reason FROM background_tasks") == ["session_ended"]
        });
    }
}

#[test]
fn background_commands_stay_where_they_are_asked_to() {
    let project = project();
    let server = Server::start([background("toolu_kept"), look(), Reply::say("done")]).unwrap();
    let args = ["-p", "go", "--permission-mode", "bypassPermissions", "--keep-background"];
    let ran = run(&mut anthropic(&project, &server, &args));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    // Whoever looks later finds it at work.
    assert!(runs(&project));
    let server = Server::start([
        Reply::new().call("toolu_o", "TaskOutput", json!({"task_id": "task_kept", "block": false})),
        Reply::new().call("toolu_s", "TaskStop", json!({"task_id": "task_kept"})),
        Reply::say("stopped"),
    ])
    .unwrap();
    let ran = run(&mut anthropic(&project, &server, &["-p", "stop it", "--continue"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let said = server.requests()[1].last_said();
    assert!(said.contains("running"), "{said}");
    until("its end", || pids(&project).iter().all(|pid| has_ended(pid)));
}

#[test]
fn lessons_go_where_the_next_session_reads_them() {
    for (files, expected) in [
        (&["CLAUDE.md", "AGENTS.md", "AGENT.md"][..], "CLAUDE.md"),
        (&["AGENTS.md", "AGENT.md"], "AGENTS.md"),
        (&["AGENT.md"], "AGENT.md"),
        (&[], "AGENT.md"),
    ] {
        let project = governed();
        for file in ["CLAUDE.md", "AGENTS.md", "AGENT.md"] {
            let _ = fs::remove_file(project.path(file));
        }
        for file in files {
            project.file(file, "# Ours\n");
        }
        project.ok("SelectActiveIntent", json!({"intent_id": "INT-001"}));
        project.file("src/test.sh", "echo 'error: it does not greet'; exit 3\n");
        project.eval("Bash", json!({"command": "sh ./src/test.sh"}));
        let text = project.content(expected);
        assert!(
            text.contains("## Lessons Learned") && text.contains("it does not greet"),
            "{text}"
        );
        for other in ["CLAUDE.md", "AGENTS.md", "AGENT.md"].iter().filter(|file| **file != expected)
        {
            let other = fs::read_to_string(project.path(other)).unwrap_or_default();
            assert!(!other.contains("Lessons"), "{files:?}: {other}");
        }
        let server = Server::start([Reply::say("ok")]).unwrap();
        let ran = run(&mut anthropic(&project, &server, &["-p", "hello", "--trust"]));
        assert_eq!(ran.code, Some(0), "{}", ran.stderr);
        let told = server.requests()[0].body.to_string();
        assert!(told.contains("it does not greet"), "{files:?}");
    }
}
