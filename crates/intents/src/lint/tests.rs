use std::fs;

use super::*;

fn codes(text: &str) -> Vec<(&'static str, usize)> {
    let files = ["src/a.rs".to_owned(), "docs/b.md".to_owned()];
    let found = lint(text, &Ignore::default(), Some(&files));
    found.iter().map(|finding| (finding.code, finding.place.unwrap().line)).collect()
}

/// An entry with everything it should have, but for its scope.
fn entry(id: &str, scope: &str) -> String {
    format!(
        "- id: {id}\n  name: n\n  status: PLANNED\n  created_at: 2026-05-02T09:00:00Z\n  updated_at: 2026-05-02T09:00:00.123+02:00\n  owned_scope: {scope}\n"
    )
}

#[test]
fn a_good_file_has_nothing_to_be_said_of() {
    assert_eq!(
        codes(&format!("{}{}", entry("A-1", "['src/**']"), entry("A-2", "[docs/*.md]"))),
        []
    );
    assert_eq!(codes(""), []);
}

#[test]
fn patterns_are_looked_at_where_they_stand() {
    let text = entry(
        "A-1",
        "\n  - src/**.ts\n  - +(a)\n  - ./src\n  - /src\n  - ../x\n  - '[[:alpha:]]'\n  - ''\n  - '#x'\n  - src/\n  - lib/**\n  - lib/**",
    );
    assert_eq!(
        codes(&text),
        [
            ("partial_globstar", 7),
            ("extglob_unsupported", 8),
            ("dot_segment", 9),
            ("absolute_pattern", 10),
            ("pattern_leads_out", 11),
            ("posix_class_unsupported", 12),
            ("empty_pattern", 13),
            ("comment_pattern", 14),
            ("directory_pattern", 15),
            ("matches_nothing", 16),
            ("duplicate_pattern", 17),
            ("matches_nothing", 17),
        ]
    );
    assert_eq!(codes(&entry("A-1", "['!src/**']")), [("empty_scope", 6)]);
    assert_eq!(codes(&entry("A-1", "['**']")), [("scope_holds_intents", 6)]);
    assert_eq!(codes(&entry("A-1", "['**', '!.orchestration/**']")), [("matches_nothing", 6)]);
    let done = entry("A-1", "[gone/**]").replace("PLANNED", "DONE");
    assert_eq!(codes(&done), [], "what is done may be about files that are gone");
    assert_eq!(lint(&entry("A-1", "[gone/**]"), &Ignore::default(), None), []);
}

#[test]
fn entries_are_looked_at() {
    let text = "- name: x\n- id: int-1\n  status: DOING\n- id: A-1\n  created_at: 2026-05-02\n- id: A-1\n- x\n";
    let found = codes(text);
    for expected in [
        ("missing_id", 1),
        ("id_pattern", 2),
        ("unknown_status", 3),
        ("missing_field", 2),
        ("bad_time", 4),
        ("duplicate_id", 6),
        ("not_an_intent", 7),
    ] {
        assert!(found.contains(&expected), "{expected:?} in {found:?}");
    }
    let error = lint("a: [\n", &Ignore::default(), None);
    assert_eq!((error[0].code, error[0].severity), ("invalid_yaml", Severity::Error));
    let mut ignore = Ignore::default();
    ignore.read(IGNORE_FILES[0], "A-1\n");
    assert_eq!(lint(&entry("A-1", "[src/*]"), &ignore, None)[0].code, "intent_blocked");
}

#[test]
fn open_intents_that_own_the_same_files_are_named() {
    let text = format!("{}{}", entry("A-1", "['src/**']"), entry("A-2", "['*/a.rs']"));
    let found = lint(&text, &Ignore::default(), None);
    assert_eq!(found.len(), 1);
    assert_eq!((found[0].code, found[0].severity), ("overlapping_scopes", Severity::Warning));
    assert_eq!(found[0].place, Some(Place { line: 7, column: 3 }));
    assert_eq!(found[0].message, "A-1 and A-2 both own src/a.rs");
    assert_eq!(found[0].intent.as_deref(), Some("A-2"));
    assert_eq!(codes(&text.replacen("PLANNED", "COMPLETED", 1)), []);
}

#[test]
fn times() {
    for (text, expected) in [
        ("2026-05-02T09:00:00Z", true),
        ("2026-05-02t09:00:00z", true),
        ("2026-05-02T09:00:00.5-07:00", true),
        ("2026-05-02T09:00:00", false),
        ("2026-05-02T09:00:00.Z", false),
        ("2026-05-02", false),
        ("yesterday", false),
    ] {
        assert_eq!(is_time(text), expected, "{text}");
    }
}

#[test]
fn all_files_of_a_workspace_are_checked() {
    let dir = tempfile::tempdir().unwrap();
    assert_eq!(lint_workspace(dir.path(), None), Err(LoadError::Missing));
    fs::create_dir(dir.path().join(".orchestration")).unwrap();
    for (file, text) in [
        (INTENTS_FILE, entry("A-1", "['src/**']")),
        (POLICY_FILE, "failure_mode: [\n".to_owned()),
        (IGNORE_FILES[1], "!src\n+(x)\n".to_owned()),
    ] {
        fs::write(dir.path().join(file), text).unwrap();
    }
    let found = lint_workspace(dir.path(), None).unwrap();
    let rows: Vec<_> =
        found.iter().map(|one| (one.file, one.place.map(|at| at.line), one.code)).collect();
    assert_eq!(
        rows,
        [
            (POLICY_FILE, None, "policy_broken"),
            (IGNORE_FILES[1], Some(2), "extglob_unsupported"),
            (IGNORE_FILES[1], None, "ignore_warning"),
        ]
    );
}
