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
    insta::assert_snapshot!(shown, @r"
    ok    database     <db>
    ok    integrity    every page is sound
    ok    schema       schema_version 1, migration 6
    ok    writing      the write lock can be taken
    ok    pragmas      foreign_keys=1 journal_mode=wal busy_timeout=30000 synchronous=2
    ok    foreign keys every reference has its row
    ok    rows         no orphans, no holes
    ");
    let json: Value =
        serde_json::from_str(&run(&mut project.ona(["doctor", "--json"])).stdout).unwrap();
    assert_eq!(json["level"], "ok");
    assert_eq!(json["findings"].as_array().unwrap().len(), 7);
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
        ("DELETE FROM schema_meta", "schema_meta has lost the row `migration`"),
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
