use proptest::prelude::*;

use super::*;
use crate::file::{Found, Intents, NewIntent, Status, add};

const FILE: &str = include_str!("../../../tests/fixtures/intents.yaml");

fn new(id: &str) -> NewIntent {
    NewIntent {
        id: id.into(),
        name: "A: new one".into(),
        status: "PLANNED".into(),
        owned_scope: vec!["src/**".into(), "!src/x".into()],
        related_requirements: vec!["REQ-1".into()],
        at: "2026-05-02T09:00:00Z".into(),
        ..NewIntent::default()
    }
}

/// The lines that are in one text and not in the other, with `-` and `+` before them.
fn differences(old: &str, new: &str) -> Vec<String> {
    let diff = similar::TextDiff::from_lines(old, new);
    let changed = diff.iter_all_changes().filter_map(|change| match change.tag() {
        similar::ChangeTag::Equal => None,
        similar::ChangeTag::Delete => Some(format!("-{}", change.value())),
        similar::ChangeTag::Insert => Some(format!("+{}", change.value())),
    });
    changed.collect()
}

fn set(text: &str, id: &str, field: TextField, value: &str) -> String {
    change(text, id, &[Change::Text(field, value.into())]).unwrap()
}

fn scope(text: &str, id: &str, patterns: &[&str]) -> Result<String, EditError> {
    let patterns = patterns.iter().map(|&pattern| pattern.to_owned()).collect();
    change(text, id, &[Change::List(ListField::OwnedScope, patterns)])
}

#[test]
fn one_line_changes_and_keeps_its_comment_and_its_quotes() {
    let text = set(FILE, "INT-015", TextField::Status, "IN_PROGRESS");
    assert_eq!(
        differences(FILE, &text),
        ["-    status: \"blocked\"\n", "+    status: \"IN_PROGRESS\"\n"]
    );
    let text = set(FILE, "INT-015", TextField::Name, "Docs: it's new");
    assert_eq!(
        differences(FILE, &text),
        ["-    title: 'Docs: the login page'\n", "+    title: 'Docs: it''s new'\n"]
    );
    let text = set(FILE, "INT-015", TextField::UpdatedAt, "2026-06-01T00:00:00Z");
    assert_eq!(differences(FILE, &text), ["+    updated_at: 2026-06-01T00:00:00Z\n"]);
    assert!(text.contains("at: 2026-04-01}\n    updated_at: 2026-06-01T00:00:00Z\n# The end."));
}

#[test]
fn lists_keep_the_entries_that_stay() {
    let text = scope(FILE, "INT-015", &["docs/**", "site/*.md"]).unwrap();
    assert_eq!(
        differences(FILE, &text),
        ["-      - '!docs/generated/**'\n", "+      - \"site/*.md\"\n"]
    );
    let text = scope(FILE, "INT-014", &["tests/auth/*.rs", "x"]).unwrap();
    assert_eq!(differences(FILE, &text)[1], "+    owned_scope: [\"tests/auth/*.rs\", \"x\"]\n");
    let text = scope(FILE, "INT-015", &[]).unwrap();
    assert_eq!(
        differences(FILE, &text),
        [
            "-    owned_scope:\n",
            "-      - docs/**    # all of it\n",
            "-      - '!docs/generated/**'\n",
            "+    owned_scope: []\n"
        ]
    );
    let text = scope(&text, "INT-015", &["a b", "c"]).unwrap();
    assert!(text.contains("    owned_scope: [\"a b\", \"c\"]\n"), "{text}");
    let text = change(FILE, "INT-015", &[Change::List(ListField::Constraints, vec!["x".into()])]);
    assert_eq!(differences(FILE, &text.unwrap()), ["+    constraints: [\"x\"]\n"]);
}

#[test]
fn intents_are_added_in_the_style_of_the_others() {
    let text = add(FILE, &new("INT-016")).unwrap();
    let expected = "  - id: INT-016\n    name: \"A: new one\"\n    status: PLANNED\n    owned_scope: [\"src/**\", \"!src/x\"]\n    related_requirements: [\"REQ-1\"]\n    created_at: 2026-05-02T09:00:00Z\n    updated_at: 2026-05-02T09:00:00Z\n";
    assert_eq!(text, FILE.replace("# The end.\n", &format!("{expected}# The end.\n")));
    for (old, start) in [
        ("", "active_intents:\n  - id: INT-016\n    name"),
        ("# c\n", "# c\nactive_intents:\n  - id: INT-016\n"),
        ("---\n", "---\nactive_intents:\n  - id: INT-016\n"),
        ("active_intents: []  # none\n", "active_intents:  # none\n  - id: INT-016\n"),
        ("active_intents:\nx: 1\n", "active_intents:\n  - id: INT-016\n"),
        ("[]", "- id: INT-016\n  name"),
        ("- id: A", "- id: A\n- id: INT-016\n  name"),
        ("active_intents:\r\n- id: A\r\n", "active_intents:\r\n- id: A\r\n- id: INT-016\r\n  name"),
        (
            "{\"active_intents\": [{\"id\": \"A\"}]}",
            "{\"active_intents\": [{\"id\": \"A\"}, {id: INT-016, name",
        ),
        (
            "active_intents:\n-\n  id: A\nz: 1\n",
            "active_intents:\n-\n  id: A\n- id: INT-016\n  name",
        ),
    ] {
        let text = add(old, &new("INT-016")).unwrap_or_else(|error| panic!("{old:?}: {error}"));
        assert!(text.starts_with(start), "{old:?}: {text:?}");
        let Found::One(intent) = Intents::read(&text).unwrap().find("INT-016").clone_out() else {
            panic!()
        };
        assert_eq!(intent.title(), "A: new one");
    }
    assert_eq!(add(FILE, &new("INT-014")), Err(EditError::Exists("INT-014".into())));
    assert_eq!(add(FILE, &new("INT 1")), Err(EditError::BadId("INT 1".into())));
    assert!(matches!(add("a: 1\n", &new("A-1")), Err(EditError::Yaml(_))));
}

/// Owns what was found, so that the file need not be kept.
trait CloneOut {
    fn clone_out(self) -> Found<'static>;
}

impl CloneOut for Found<'_> {
    fn clone_out(self) -> Found<'static> {
        match self {
            Found::One(intent) => Found::One(Box::leak(Box::new(intent.clone()))),
            _ => Found::None,
        }
    }
}

#[test]
fn what_is_shared_or_strange_is_left_alone() {
    for (text, expected) in [
        ("- &a\n  id: A\n  status: x\n- <<: *a\n  id: B\n", EditError::Shared("A".into())),
        ("x: &a {id: A}\nactive_intents: [*a]\n", EditError::Shared("A".into())),
        ("- id: A\n  status: &s x\n- id: B\n  status: *s\n", EditError::Shared("status".into())),
        ("- id: A\n  status: [x]\n", EditError::Shape("status".into())),
        ("- id: A\n- id: A\n", EditError::Ambiguous("A".into())),
    ] {
        let done = change(text, "A", &[Change::Text(TextField::Status, "DONE".into())]);
        assert_eq!(done, Err(expected), "{text}");
    }
    // Its own key is written where it had only a merged one.
    let merged = "b: &b {status: x}\nactive_intents:\n  - <<: *b\n    id: A\n";
    assert_eq!(set(merged, "A", TextField::Status, "DONE"), format!("{merged}    status: DONE\n"));
    let alias = "- id: B\n  status: &s x\n- id: A\n  status: *s\n";
    assert_eq!(set(alias, "A", TextField::Status, "DONE"), alias.replace("*s", "DONE"));
    assert_eq!(
        scope("- id: A\n  owned_scope: &s [a]\n- id: B\n  owned_scope: *s\n", "B", &["x"]),
        Err(EditError::Shared("owned_scope".into()))
    );
    let control = [Change::Text(TextField::Name, "a\u{1b}[0m".into())];
    assert_eq!(change(FILE, "INT-014", &control), Err(EditError::Control("name".into())));
}

#[test]
fn texts_over_several_lines_and_missing_ones() {
    let text = "- id: A\n  name: |\n    one\n    two\n\n  # c\n  status:   # soon\n";
    assert_eq!(
        set(text, "A", TextField::Name, "x"),
        "- id: A\n  name: x\n\n  # c\n  status:   # soon\n"
    );
    assert_eq!(
        set(text, "A", TextField::Status, "DONE"),
        "- id: A\n  name: |\n    one\n    two\n\n  # c\n  status: DONE   # soon\n"
    );
    assert_eq!(
        set("{active_intents: [{id: A}]}", "A", TextField::Status, "DONE"),
        "{active_intents: [{id: A, status: DONE}]}"
    );
}

/// An entry in one of several hands.
fn entry(id: usize, hand: usize, comment: bool) -> String {
    let note = if comment { "  # note" } else { "" };
    match hand {
        0 => format!(
            "  - id: I-{id}{note}\n    status: PLANNED{note}\n    owned_scope: [\"a\", b]{note}\n    own: {{x: 1}}\n"
        ),
        1 => format!(
            "  # above\n  - status: 'DONE'{note}\n    owned_scope:{note}\n      - a{note}\n\n      - \"b\"{note}\n    id: I-{id}\n"
        ),
        2 => format!("  - {{id: I-{id}, status: \"x\", owned_scope: [a, b]}}{note}\n"),
        3 => format!(
            "  - owned_scope:\n    - a{note}\n    - b\n    name: >-\n      folded\n      text\n    id: I-{id}{note}\n"
        ),
        _ => format!("\n  - id: I-{id}\n    title: ünï{note}\n    owned_scope:{note}\n"),
    }
}

proptest! {
    #[test]
    fn a_change_keeps_everything_else(
        hands in prop::collection::vec((0..5usize, any::<bool>()), 1..5), at in 0..5usize, crlf in any::<bool>(),
        status in prop::sample::select(vec!["DONE", "no", "a: b"]), open_end in any::<bool>(),
        patterns in prop::collection::vec(prop::sample::select(vec!["a", "b", "src/**", "{x,y}", "!z"]), 0..4),
    ) {
        let at = at % hands.len();
        let mut text = "# head\nactive_intents:\n".to_owned();
        for (id, (hand, comment)) in hands.iter().enumerate() {
            text += &entry(id, *hand, *comment);
        }
        if open_end { text.pop(); } else { text += "# foot\nother: [1, 2]\n"; }
        if crlf { text = text.replace('\n', "\r\n"); }
        let id = format!("I-{at}");
        let patterns: Vec<String> = patterns.into_iter().map(str::to_owned).collect();
        let changes = [
            Change::Text(TextField::Status, status.into()),
            Change::List(ListField::OwnedScope, patterns.clone()),
            Change::Text(TextField::UpdatedAt, "2026-06-01T00:00:00Z".into()),
        ];
        let done = match change(&text, &id, &changes) {
            Ok(done) => done,
            Err(error) => return Err(TestCaseError::fail(format!("{error}\n{text}"))),
        };
        let (old, new) = (Intents::read(&text).unwrap(), Intents::read(&done).unwrap());
        for (n, (old, new)) in old.all.iter().zip(&new.all).enumerate() {
            let texts: Vec<_> = new.owned_scope.iter().map(|item| item.text.clone()).collect();
            prop_assert_eq!(&old.name, &new.name);
            if n == at {
                prop_assert_eq!(new.status(), Status::read(status));
                prop_assert_eq!(texts, &patterns[..]);
                prop_assert_eq!(new.updated_at.as_deref(), Some("2026-06-01T00:00:00Z"));
            } else {
                prop_assert_eq!(old.status(), new.status());
                prop_assert_eq!(texts.len(), old.owned_scope.len());
            }
        }
        prop_assert_eq!(crlf, done.contains("\r\n"));
        let bare = done.replace("\r\n", "").contains('\n');
        prop_assert!(!(crlf && bare), "line endings are not mixed");
        // The other entries are there, byte for byte and in order.
        let mut rest = done.as_str();
        for (id, (hand, comment)) in hands.iter().enumerate().filter(|(id, _)| *id != at) {
            let mut own = entry(id, *hand, *comment);
            if crlf { own = own.replace('\n', "\r\n"); }
            let found = rest.split_once(own.trim_end());
            prop_assert!(found.is_some(), "{}\nin\n{}", own, done);
            rest = found.map_or("", |(_, behind)| behind);
        }
        let comments = |text: &str| text.matches('#').count();
        prop_assert!(comments(&done) + 3 >= comments(&text), "{}\n{}", text, done);
        let again = change(&done, &id, &changes).unwrap();
        prop_assert_eq!(again, done, "changing it to what it is changes nothing");
    }

    #[test]
    fn whatever_the_file_a_change_is_right_or_refused(text in "(- )?(id: A|status: ?[x\"']?|owned_scope:|  - a|[{}\\[\\],&*#|>-]|\n ?){1,12}") {
        let changes = [Change::Text(TextField::Status, "DONE".into()), Change::List(ListField::OwnedScope, vec!["q".into()])];
        if let Ok(done) = change(&text, "A", &changes) {
            let intents = Intents::read(&done).unwrap();
            let Found::One(intent) = intents.find("A") else { return Err(TestCaseError::fail(done)) };
            prop_assert_eq!(intent.status(), Status::Completed);
            prop_assert_eq!(intent.owned_scope.len(), 1);
        }
        if let Ok(done) = add(&text, &new("B-1")) {
            prop_assert!(matches!(Intents::read(&done).unwrap().find("B-1"), Found::One(_)));
        }
    }
}
