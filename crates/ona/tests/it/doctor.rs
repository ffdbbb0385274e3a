//! `ona doctor` and `ona --init-db`.

use std::fs;

use ona_testkit::run;
use serde_json::{Value, json};

use crate::project;

#[test]
fn a_sound_record_has_only_good_news() {
    let project = project();
    let made = run(&mut project.ona(["--init-db"]));
    assert_eq!((made.code, made.stdout), (Some(0), format!("{}\n", project.database().display())));
    project.ok("Bash", json!({"command": "true"}));
    let again = run(&mut project.ona(["--init-db"]));
    assert_eq!(again.code, Some(0), "making what is there changes nothing");

    let ran = run(&mut project.ona(["doctor"]));
    assert_eq!(ran.code, Some(0));
    let shown = ran.stdout.replace(&project.database().display().to_string(), "<db>");
    // Which levels of the sandbox work is the machine's affair.
    let shown: Vec<&str> = shown.lines().filter(|line| !line.contains(" works")).collect();
    let shown = shown.join("\n");
    insta::assert_snapshot!(shown, @r"
    ok    database     <db>
    ok    integrity    every page is sound
    ok    schema       schema_version 1, migration 10
    ok    writing      the write lock can be taken
    ok    pragmas      foreign_keys=1 journal_mode=wal busy_timeout=30000 synchronous=2
    ok    foreign keys every reference has its row
    ok    rows         no orphans, no gaps
    ok    sandbox      commands in this folder run at the level none
    ");
    let json: Value =
        serde_json::from_str(&run(&mut project.ona(["doctor", "--json"])).stdout).unwrap();
    assert_eq!(json["level"], "ok");
    assert_eq!(json["findings"].as_array().unwrap().len(), 9);
}

#[test]
fn a_missing_record_is_no_failure_and_is_not_made() {
    let project = project();
    let ran = run(&mut project.ona(["doctor"]));
    assert_eq!(ran.code, Some(0));
    assert!(
        ran.stdout.contains("does not exist yet") && ran.stdout.contains("--init-db"),
        "{}",
        ran.stdout
    );
    assert!(!project.database().exists());
}

#[test]
fn damage_is_found_and_named() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    project.sql("INSERT INTO state(conversation_id, key, value) VALUES ('ghost', 'k', 'v')");
    let ran = run(&mut project.ona(["doctor"]));
    assert_eq!(ran.code, Some(0), "orphans are worth knowing, not a failure");
    assert!(
        ran.stdout.contains("warn  rows         1 state of unknown conversations"),
        "{}",
        ran.stdout
    );

    // Bytes in the middle of the file overwritten.
    let mut bytes = fs::read(project.database()).unwrap();
    let middle = bytes.len() / 2;
    for byte in &mut bytes[middle..middle + 4096] {
        *byte = 0x5a;
    }
    fs::write(project.database(), bytes).unwrap();
    let ran = run(&mut project.ona(["doctor"]));
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stdout.contains("fail") && ran.stdout.contains("hint:"), "{}", ran.stdout);
}

#[test]
fn lost_tables_and_versions_are_found() {
    for (damage, part) in [
        ("DROP TABLE file_views", "missing: file_views"),
        ("DROP TABLE plans", "missing: plans"),
        ("DELETE FROM schema_meta", "schema_meta has no row `migration`"),
    ] {
        let project = project();
        project.ok("Bash", json!({"command": "true"}));
        project.sql(damage);
        let ran = run(&mut project.ona(["doctor"]));
        assert_eq!(ran.code, Some(1), "{damage}: {}", ran.stdout);
        assert!(ran.stdout.contains(part), "{damage}: {}", ran.stdout);
        assert!(!ran.stdout.contains("ona doctor"), "it does not send you in a circle");
        assert!(ran.stdout.lines().count() < 12, "and does not print the schema: {}", ran.stdout);
    }
}

/// Rows that take room, and are then removed.
fn with_room_in_it(project: &ona_testkit::Project) {
    project.ok("Bash", json!({"command": "true"}));
    project.sql(
        "CREATE TABLE litter(x); INSERT INTO litter VALUES (zeroblob(3000000)); DROP TABLE litter",
    );
}

#[test]
fn compacting_gives_room_back_and_says_how_much() {
    let project = project();
    assert_eq!(run(&mut project.ona(["doctor", "--compact"])).code, Some(2), "there is no record");
    assert!(!project.database().exists());
    with_room_in_it(&project);
    let ran = run(&mut project.ona(["doctor", "--compact", "--json"]));
    assert_eq!(ran.code, Some(0), "{}", ran.stderr);
    let sizes: Value = serde_json::from_str(&ran.stdout).unwrap();
    let [before, after] = ["before", "after"].map(|key| sizes[key].as_u64().unwrap());
    assert!(before > 3_000_000 && after < 1_000_000, "{before} → {after}");
    assert_eq!(fs::metadata(project.database()).unwrap().len(), after);
    let again = run(&mut project.ona(["doctor", "--compact"]));
    assert!(
        again.stdout.contains("MB before, ") && again.stdout.ends_with(" MB after\n"),
        "{}",
        again.stdout
    );
    let checked = run(&mut project.ona(["doctor"]));
    assert_eq!(
        (checked.code, checked.stdout.contains("warn")),
        (Some(0), false),
        "{}",
        checked.stdout
    );
    assert_eq!(checked.stderr, "", "no progress where nobody watches");
}

#[test]
fn a_record_that_is_in_use_is_not_compacted() {
    let project = project();
    with_room_in_it(&project);
    // This process lives.
    let owner = json!(ona_sandbox::Owner::current());
    project.sql(&format!(
        "INSERT INTO session_leases(session_id, owner) SELECT session_id, '{owner}' FROM sessions"
    ));
    let ran = run(&mut project.ona(["doctor", "--compact"]));
    assert_eq!(ran.code, Some(1));
    assert!(
        ran.stderr.contains("is in use by process") && ran.stderr.contains("hint: "),
        "{}",
        ran.stderr
    );
    assert!(fs::metadata(project.database()).unwrap().len() > 3_000_000, "left as it was");
}

#[test]
fn compacting_without_room_loses_nothing() {
    let project = project();
    project.ok("Bash", json!({"command": "true"}));
    project.sql("CREATE TABLE litter(x); INSERT INTO litter VALUES (zeroblob(3000000))");
    let program = project.ona(["x"]).get_program().to_owned();
    let script = "trap '' XFSZ; ulimit -f 1000; exec \"$0\" doctor --compact";
    let ran = run(project.command("bash").args(["-c", script]).arg(program));
    assert_eq!(ran.code, Some(1), "{}", ran.stdout);
    assert!(ran.stderr.contains("no data was lost"), "{}", ran.stderr);
    assert_eq!(project.sql("SELECT length(x) FROM litter"), ["3000000"]);
    assert_eq!(project.sql("SELECT * FROM pragma_integrity_check"), ["ok"]);
    assert_eq!(run(&mut project.ona(["doctor"])).code, Some(0));
}
