//! Edits as a user would see them, and that they change nothing else.

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};

use ona_testkit::jsonc::{json_object, strategy, written};
use ona_types::{Behavior, PermissionMode, RuleValue, UpdateDestination};
use proptest::prelude::*;
use serde_json::json;

use super::*;

const DESTINATION: UpdateDestination = UpdateDestination::LocalSettings;

fn rule(text: &str) -> RuleValue {
    match text.split_once('(') {
        None => RuleValue { tool_name: text.to_owned(), rule_content: None },
        Some((tool, content)) => RuleValue {
            tool_name: tool.to_owned(),
            rule_content: Some(content.trim_end_matches(')').to_owned()),
        },
    }
}

fn rules(texts: &[&str]) -> Vec<RuleValue> {
    texts.iter().map(|text| rule(text)).collect()
}

fn allow(texts: &[&str]) -> PermissionUpdate {
    let (behavior, destination) = (Behavior::Allow, DESTINATION);
    PermissionUpdate::AddRules { rules: rules(texts), behavior, destination }
}

fn disallow(texts: &[&str]) -> PermissionUpdate {
    let (behavior, destination) = (Behavior::Allow, DESTINATION);
    PermissionUpdate::RemoveRules { rules: rules(texts), behavior, destination }
}

fn read(text: &str) -> Value {
    Value::Object(parse(text).unwrap().0)
}

#[test]
fn a_new_file() {
    let text = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Bash(ls *)\",\n      \"Read\"\n    ]\n  }\n}\n";
    for empty in ["", "{}\n"] {
        assert_eq!(apply(empty, &allow(&["Bash(ls *)", "Read", "Read"])).unwrap(), text);
    }
    assert_eq!(
        set("// mine", &["model"], &json!("x")).unwrap(),
        "// mine\n{\n  \"model\": \"x\"\n}\n"
    );
}

#[test]
fn every_update() {
    let text = "{\n  \"permissions\": {\n    \"allow\": [\n      \"Read\", // fine\n      \"Bash(ls)\"\n    ]\n  }\n}\n";
    let behavior = Behavior::Allow;
    let destination = DESTINATION;
    let directories = vec!["/a".to_owned(), "/b".to_owned()];
    let table = [
        (allow(&["Bash(ls)"]), json!({"allow": ["Read", "Bash(ls)"]})),
        (allow(&["Edit", "Read"]), json!({"allow": ["Read", "Bash(ls)", "Edit"]})),
        (disallow(&["Read", "Nope"]), json!({"allow": ["Bash(ls)"]})),
        (disallow(&["Read", "Bash(ls)"]), json!({"allow": []})),
        (
            PermissionUpdate::ReplaceRules { rules: rules(&["Edit"]), behavior, destination },
            json!({"allow": ["Edit"]}),
        ),
        (
            PermissionUpdate::SetMode { mode: PermissionMode::AcceptEdits, destination },
            json!({"allow": ["Read", "Bash(ls)"], "defaultMode": "acceptEdits"}),
        ),
        (
            PermissionUpdate::AddDirectories { directories: directories.clone(), destination },
            json!({"allow": ["Read", "Bash(ls)"], "additionalDirectories": ["/a", "/b"]}),
        ),
        (
            PermissionUpdate::RemoveDirectories { directories, destination },
            json!({"allow": ["Read", "Bash(ls)"]}),
        ),
    ];
    for (update, permissions) in table {
        let new = apply(text, &update).unwrap();
        assert_eq!(read(&new)["permissions"], permissions);
        let replaces = matches!(update, PermissionUpdate::ReplaceRules { .. });
        assert_eq!(new.contains("// fine"), !replaces, "{new}");
    }
}

#[test]
fn what_cannot_be_edited_is_said() {
    let table = [
        (
            apply("{\"permissions\": {}, \"permissions\": {}}", &disallow(&["Bash"])),
            "permissions occurs more than once: keep only one first",
        ),
        (
            apply("{\"permissions\": 1}", &allow(&["Read"])),
            "line 1 column 17: permissions is not an object",
        ),
        (
            apply("{\"permissions\": {\"allow\": 1}}", &allow(&["Read"])),
            "line 1 column 27: permissions.allow is not an array",
        ),
    ];
    for (result, reason) in table {
        assert_eq!(result.unwrap_err().to_string(), reason);
    }
}

#[test]
fn writing_creates_follows_and_keeps_the_mode() {
    let dir = tempfile::tempdir().unwrap();
    let real = dir.path().join("new/dir/settings.json");
    let path = dir.path().join("link.json");
    symlink("new/dir/settings.json", &path).unwrap();
    write(&path, |text| apply(text, &disallow(&["Read"]))).unwrap();
    assert!(!real.exists(), "nothing to change, nothing written");
    write(&path, |text| set(text, &["model"], &json!("a"))).unwrap();
    assert_eq!(fs::read_to_string(&real).unwrap(), "{\n  \"model\": \"a\"\n}\n");
    fs::set_permissions(&real, fs::Permissions::from_mode(0o640)).unwrap();
    write(&path, |text| set(text, &["model"], &json!("b"))).unwrap();
    assert_eq!(fs::metadata(&real).unwrap().permissions().mode() & 0o777, 0o640);
    assert!(path.is_symlink());
    assert_eq!(fs::read_dir(real.parent().unwrap()).unwrap().count(), 1, "nothing is left behind");
}

#[test]
fn writing_names_the_file_and_the_reason() {
    let dir = tempfile::tempdir().unwrap();
    let here = |name: &str| dir.path().join(name);
    let edit = |text: &str| set(text, &["a"], &json!(1));
    fs::create_dir(here("dir.json")).unwrap();
    fs::write(here("bad.json"), "{").unwrap();
    let table = [
        ("dir.json", "it is a directory"),
        ("bad.json", "invalid JSON: EOF while parsing an object at line 1 column 1"),
        ("bad.json/x.json", "it cannot be written: File exists (os error 17)"),
    ];
    for (name, reason) in table {
        let error = write(&here(name), edit).unwrap_err();
        assert_eq!(error.to_string(), format!("{}: {reason}", here(name).display()));
    }
    assert_eq!(fs::read_to_string(here("bad.json")).unwrap(), "{");
    let large = write(&here("large.json"), |_| Ok(" ".repeat(2 << 20))).unwrap_err();
    assert!(large.to_string().ends_with("large.json: it is larger than 1 MiB"));
}

#[test]
fn edits_made_at_the_same_time_are_all_there() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    std::thread::scope(|scope| {
        for thread in 0..4 {
            let path = &path;
            scope.spawn(move || {
                for turn in 0..5 {
                    let rule = format!("Bash(t{thread} {turn})");
                    write(path, |text| apply(text, &allow(&[&rule]))).unwrap();
                }
            });
        }
    });
    let settings = read(&fs::read_to_string(&path).unwrap());
    assert_eq!(settings["permissions"]["allow"].as_array().unwrap().len(), 20);
}

#[test]
fn who_knows_no_lock_is_not_overwritten() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("settings.json");
    let mut first = true;
    write(&path, |text| {
        if std::mem::take(&mut first) {
            fs::write(&path, r#"{"theirs": 1}"#).unwrap();
        }
        set(text, &["ours"], &json!(1))
    })
    .unwrap();
    assert_eq!(read(&fs::read_to_string(&path).unwrap()), json!({"theirs": 1, "ours": 1}));
    let mut count = 0;
    let busy = write(&path, |text| {
        count += 1;
        fs::write(&path, format!("{{\"count\": {count}}}")).unwrap();
        set(text, &["ours"], &json!(2))
    });
    assert!(
        busy.unwrap_err()
            .to_string()
            .ends_with("another program keeps changing it: try again later")
    );
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn adding_and_removing_rules_restores_the_text(
        listed in prop::collection::vec("[a-c]{1,3}", 1..4),
        others in json_object(),
        noise in strategy(),
    ) {
        let mut object = others;
        object["permissions"] = json!({"deny": [], "allow": listed, "z": 1});
        let text = written(&object, &noise);
        let new = ["New(x y)", "New"];
        let added = apply(&text, &allow(&new)).unwrap();
        prop_assert_eq!(read(&added)["permissions"]["allow"].as_array().unwrap().len(), listed.len() + 2);
        prop_assert_eq!(apply(&added, &disallow(&new)).unwrap(), text);
    }

    #[test]
    fn an_empty_list_is_empty_again(others in json_object()) {
        let mut object = others;
        object["permissions"] = json!({"allow": []});
        for text in [object.to_string(), format!("{object:#}")] {
            let added = apply(&text, &allow(&["Read", "Edit"])).unwrap();
            prop_assert_eq!(apply(&added, &disallow(&["Read", "Edit"])).unwrap(), text);
        }
    }
}
