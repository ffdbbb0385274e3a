//! `ona sessions prune` and `cleanupPeriodDays`: old sessions go, with one event, and nothing that is in use.

use ona_provider::scripted::{Reply, Server};
use ona_testkit::{Project, Ran, run};
use serde_json::{Value, json};

use crate::project;

fn turn(project: &Project, args: &[&str]) -> Ran {
    let server = Server::start([Reply::say("hi")]).unwrap();
    let mut command = project.ona(args);
    command.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", server.base_url());
    let ran = run(&mut command);
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    ran
}

/// As if nothing had happened in a session for so long.
fn age(project: &Project, name: &str, days: u32) {
    let id = project.sql(&format!("SELECT session_id FROM session_info WHERE name = '{name}'"));
    let id = &id[0];
    project.sql(&format!(
        "UPDATE session_info SET last_active_ms = last_active_ms - {days} * 86400000 WHERE session_id = '{id}';
         UPDATE transcript_entries SET created_at = datetime(created_at, '-{days} days') WHERE session_id = '{id}';
         UPDATE conversations SET last_active = datetime(last_active, '-{days} days')
         WHERE id = (SELECT conversation_id FROM sessions WHERE session_id = '{id}')"
    ));
}

fn prune(project: &Project, args: &[&str]) -> Ran {
    run(&mut project.ona([&["sessions", "prune"], args].concat()))
}

fn names(project: &Project) -> Vec<String> {
    project.sql("SELECT name FROM session_info ORDER BY name")
}

fn events(project: &Project) -> Vec<Value> {
    let rows = project.sql("SELECT detail FROM events WHERE event_type = 'sessions.pruned'");
    rows.iter().map(|row| serde_json::from_str(row).unwrap()).collect()
}

fn sound(project: &Project) {
    let ran = run(&mut project.ona(["doctor"]));
    assert!(ran.code == Some(0) && !ran.stdout.contains("warn"), "{}", ran.stdout);
}

#[test]
fn old_sessions_go_and_one_event_says_so() {
    let project = project();
    for (name, days) in [("old", 100), ("older", 200), ("young", 10)] {
        turn(&project, &["-p", "hello", "--name", name]);
        age(&project, name, days);
    }
    let would = prune(&project, &["--older-than", "90d", "--dry-run"]);
    assert_eq!(would.code, Some(0), "{}", would.stderr);
    assert!(
        would.stdout.contains("older") && would.stdout.contains("would remove 2 sessions with "),
        "{}",
        would.stdout
    );
    let would = prune(&project, &["--older-than", "90d", "--dry-run", "--json"]);
    let would: Value = serde_json::from_str(&would.stdout).unwrap();
    assert_eq!(
        (would["dry_run"].as_bool(), would["sessions"].as_array().unwrap().len()),
        (Some(true), 2)
    );
    assert_eq!(names(&project).len(), 3);
    assert!(events(&project).is_empty());

    let went = prune(&project, &["--older-than", "90d", "--json"]);
    assert_eq!(went.code, Some(0), "{}", went.stderr);
    let went: Value = serde_json::from_str(&went.stdout).unwrap();
    assert_eq!(went["sessions"].as_array().unwrap().len(), 2);
    assert_eq!(names(&project), ["young"]);
    let told = events(&project);
    assert_eq!(told.len(), 1);
    assert_eq!((&told[0]["sessions"], &told[0]["asked_by"]), (&json!(2), &json!("operator")));
    assert_eq!(told[0]["entries"], would["entries"]);
    sound(&project);
    let none = prune(&project, &["--older-than", "90d"]);
    assert_eq!(none.stdout, "removed 0 sessions with 0 entries\n");
    assert_eq!(events(&project).len(), 1);
    assert!(run(&mut project.ona(["log"])).stdout.contains("sessions.pruned"));
    turn(&project, &["-p", "go on", "--continue"]);
}

#[test]
fn what_is_in_use_stays() {
    let project = project();
    turn(&project, &["-p", "hello", "--name", "driven"]);
    age(&project, "driven", 100);
    let started = project.sql("SELECT session_id FROM session_info");
    // This process lives.
    let owner = json!(ona_sandbox::Owner::current());
    project.sql(&format!(
        "INSERT INTO session_leases(session_id, owner) VALUES ('{}', '{owner}')",
        started[0]
    ));
    let ran = prune(&project, &["--older-than", "1d"]);
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout.contains("removed 0 sessions") && ran.stdout.contains(&started[0]),
        "{}",
        ran.stdout
    );
    assert_eq!(names(&project), ["driven"]);
    project.sql("DELETE FROM session_leases");
    prune(&project, &["--older-than", "1d"]);
    assert!(names(&project).is_empty());
}

#[test]
fn ages_that_make_no_sense_are_refused() {
    let project = project();
    for bad in ["90", "0d", "-1d", "d", "yesterday", "99999999d"] {
        let ran = prune(&project, &[&format!("--older-than={bad}")]);
        assert_eq!(ran.code, Some(2), "{bad}: {}", ran.stdout);
        assert!(ran.stderr.contains(bad), "{bad}: {}", ran.stderr);
    }
    assert_eq!(prune(&project, &[]).code, Some(2), "there is no default");
}

#[test]
fn an_agent_removes_nothing() {
    let project = project();
    turn(&project, &["-p", "hello", "--name", "old"]);
    age(&project, "old", 100);
    for (args, code) in [
        (&["sessions", "prune", "--older-than", "1d"][..], Some(2)),
        (&["doctor", "--compact"], Some(2)),
        (&["sessions", "prune", "--older-than", "1d", "--dry-run"], Some(0)),
    ] {
        let ran = run(project.ona(args).env("ONA_TOOL_USE_ID", "toolu_x"));
        assert_eq!(ran.code, code, "{args:?}: {}", ran.stderr);
    }
    let server = Server::start([Reply::say("hi")]).unwrap();
    let mut command = project.ona(["-p", "x", "--settings", r#"{"cleanupPeriodDays":1}"#]);
    command.env("ANTHROPIC_API_KEY", "key").env("ANTHROPIC_BASE_URL", server.base_url());
    run(command.env("CLAUDECODE", "1"));
    assert!(names(&project).contains(&"old".to_owned()), "nor because a setting says so");
}

#[test]
fn the_setting_cleans_up_once_a_day_and_no_directory_can_set_it() {
    let project = project();
    turn(&project, &["-p", "hello", "--name", "old"]);
    age(&project, "old", 100);
    project.file(".claude/settings.json", r#"{"cleanupPeriodDays": 1}"#);
    project.file(".claude/settings.local.json", r#"{"cleanupPeriodDays": 1}"#);
    let ran = turn(&project, &["-p", "hello", "--name", "b"]);
    assert!(
        ran.stderr.contains("cleanupPeriodDays") && ran.stderr.contains("only user and managed"),
        "{}",
        ran.stderr
    );
    assert_eq!(names(&project), ["b", "old"], "off by default, and not the project's to decide");
    std::fs::create_dir_all(project.home().join(".claude")).unwrap();
    std::fs::write(project.home().join(".claude/settings.json"), r#"{"cleanupPeriodDays": 30}"#)
        .unwrap();
    turn(&project, &["-p", "hello", "--name", "c"]);
    assert_eq!(names(&project), ["b", "c"]);
    let told = events(&project);
    assert_eq!((told.len(), &told[0]["asked_by"]), (1, &json!("cleanupPeriodDays: 30")));
    age(&project, "b", 100);
    turn(&project, &["-p", "hello", "--name", "d"]);
    assert_eq!(names(&project), ["b", "c", "d"], "once a day is enough");
    sound(&project);
}
