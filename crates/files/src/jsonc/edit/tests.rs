//! Edits as a user would see them, and that they change nothing else.

use ona_testkit::jsonc::{json_object, strategy, written};
use proptest::prelude::*;
use serde_json::{Map, json};

use super::*;
use Step::{Index, Key};

fn keys<'a>(key: &[&'a str]) -> Vec<Step<'a>> {
    key.iter().copied().map(Step::Key).collect()
}

fn set(text: &str, key: &[&str], new: &Value) -> Result<String, EditError> {
    put(text, &keys(key), new)
}

fn take(text: &str, key: &[&str]) -> Result<String, EditError> {
    remove(text, &keys(key))
}

fn nested(keys: &[&str], value: &Value) -> Value {
    keys.iter().rev().fold(value.clone(), |inner, key| {
        Value::Object(Map::from_iter([((*key).to_owned(), inner)]))
    })
}

#[test]
fn what_was_put_in_comes_out_again_to_the_byte() {
    let entry = json!({"matcher": "*", "hooks": [{"command": "x"}]});
    let path = [Key("hooks"), Key("Stop")];
    for text in [
        "{}",
        "{}\n",
        "{\"a\": 1}",
        "{\n\t\"a\": 1\n}\n",
        "{\n    \"a\": 1, // one\n}\n",
        "{\r\n  \"hooks\": {\r\n    \"Stop\": [1]\r\n  }\r\n}\r\n",
        "{\n  \"hooks\": { /* mine */\n  },\n  \"b\": {}\n}",
        "{\n  \"hooks\": {\n    \"Stop\": [\n      {\"x\": 1}\n    ],\n    \"Other\": []\n  }\n}\n",
    ] {
        let with = push(text, &path, &entry).unwrap();
        let list = value(&with).unwrap()["hooks"]["Stop"].as_array().unwrap().clone();
        assert_eq!(list.last(), Some(&entry), "{with}");
        let at = [&path[..], &[Index(list.len() - 1)]].concat();
        assert_eq!(prune(&with, &at).unwrap(), text, "{with}");
    }
}

#[test]
fn what_is_in_the_way_is_named_with_its_place() {
    let said = |text: &str, path: &[Step<'_>]| push(text, path, &json!(1)).unwrap_err().to_string();
    let path = [Key("hooks"), Key("Stop")];
    assert_eq!(said("{\n  \"hooks\": []\n}", &path), "line 2 column 12: hooks is not an object");
    assert_eq!(
        said("{\"hooks\": {\"Stop\": {}}}", &path),
        "line 1 column 20: hooks.Stop is not an array"
    );
    assert_eq!(
        said("{\"hooks\": [5]}", &[Key("hooks"), Index(0), Key("a")]),
        "line 1 column 12: hooks[0] is not an object"
    );
}

#[test]
fn values_are_put_where_others_stand_and_where_none_does() {
    let at = [Key("a"), Key("b")];
    assert_eq!(put("{\"a\": {\"b\": 1}}", &at, &json!(2)).unwrap(), "{\"a\": {\"b\": 2}}");
    assert_eq!(put("{\"a\": null}", &at, &json!(2)).unwrap(), "{\"a\": {\"b\":2}}");
    assert_eq!(value(&put("", &at, &json!(2)).unwrap()).unwrap(), json!({"a": {"b": 2}}));
    assert_eq!(prune("{\"a\": 1}", &at[..1]).unwrap(), "{}");
    assert_eq!(prune("{\"c\": 1}", &at).unwrap(), "{\"c\": 1}");
}

#[test]
fn what_cannot_be_edited_is_said() {
    let table = [
        (
            set("{", &["a"], &json!(1)),
            "invalid JSON: EOF while parsing an object at line 1 column 1",
        ),
        (set("[]", &["a"], &json!(1)), "its top level is not an object"),
        (set("{}", &[], &json!(1)), "no key is given"),
        (take("{}", &[]), "no key is given"),
        (
            set("{\"a\": {\"b\": 1}}", &["a", "b", "c"], &json!(1)),
            "line 1 column 13: a.b is not an object",
        ),
        (take("{\"a\": []}", &["a", "b"]), "line 1 column 7: a is not an object"),
        (include("{\"a\": 1}", &keys(&["a"]), &json!(1)), "line 1 column 7: a is not an array"),
        (exclude("{\"a\": 1}", &keys(&["a"]), &json!(1)), "line 1 column 7: a is not an array"),
    ];
    for (result, reason) in table {
        assert_eq!(result.unwrap_err().to_string(), reason);
    }
}

#[test]
fn entries_are_included_once_and_excluded_as_often_as_they_are_there() {
    let at = keys(&["a"]);
    assert_eq!(include("{\"a\": [1]}", &at, &json!(1)).unwrap(), "{\"a\": [1]}");
    assert_eq!(include("{\"a\": [1]}", &at, &json!(2)).unwrap(), "{\"a\": [1, 2]}");
    assert_eq!(value(&include("", &at, &json!(2)).unwrap()).unwrap(), json!({"a": [2]}));
    assert_eq!(exclude("{\"a\": [1, 2, 1]}", &at, &json!(1)).unwrap(), "{\"a\": [2]}");
    for without in ["{}", "{\"a\": null}"] {
        assert_eq!(exclude(without, &at, &json!(1)).unwrap(), without);
    }
    assert_eq!(remove("{\"a\": [1, 1]}", &[Key("a"), Index(0)]).unwrap(), "{\"a\": [1]}");
    assert_eq!(remove("{\"a\": [1]}", &[Key("a"), Index(1)]).unwrap(), "{\"a\": [1]}");
}

#[test]
fn setting_keeps_everything_else() {
    let table: [(&str, &[&str], Value, &str); 16] = [
        ("{\"a\": 1 /* one */}", &["a"], json!(2), "{\"a\": 2 /* one */}"),
        ("{\"a\": 1}", &["a"], json!(1), "{\"a\": 1}"),
        ("{\"a\":1}", &["b"], json!([1, {}]), "{\"a\":1, \"b\": [1,{}]}"),
        ("{\"a\":1,}", &["b"], json!(2), "{\"a\":1, \"b\": 2,}"),
        ("{\"a\": {}}", &["a", "b"], json!(2), "{\"a\": {\"b\": 2}}"),
        ("{\n\t\"a\": 1 // one\n}", &["b"], json!(2), "{\n\t\"a\": 1, // one\n\t\"b\": 2\n}"),
        ("{\n\t\"a\": 1, // one\n}", &["b"], json!(2), "{\n\t\"a\": 1, // one\n\t\"b\": 2,\n}"),
        (
            "{\n    // \"z\": 0,\n    \"a\": {}\n}",
            &["a", "b", "c"],
            json!(2),
            "{\n    // \"z\": 0,\n    \"a\": {\n        \"b\": {\n            \"c\": 2\n        }\n    }\n}",
        ),
        ("{\r\n \"a\": []\r\n}\r\n", &["a"], json!([1]), "{\r\n \"a\": [\r\n  1\r\n ]\r\n}\r\n"),
        (
            "{\r\n \"a\": 1\r\n}\r\n",
            &["b"],
            json!({"c": 1}),
            "{\r\n \"a\": 1,\r\n \"b\": {\r\n  \"c\": 1\r\n }\r\n}\r\n",
        ),
        ("{\n  // nothing yet\n}\n", &["a"], json!(1), "{\n  // nothing yet\n  \"a\": 1\n}\n"),
        ("{\"a\": 1, \"a\": 2}", &["a"], json!(3), "{\"a\": 1, \"a\": 3}"),
        ("{\"\\u0061\": 1}", &["a"], json!(3), "{\"\\u0061\": 3}"),
        ("{\"a\": null}", &["a", "b"], json!(3), "{\"a\": {\"b\":3}}"),
        (
            "\u{feff}{\n  \"a\": 1.50\n}",
            &["b"],
            json!("\n"),
            "\u{feff}{\n  \"a\": 1.50,\n  \"b\": \"\\n\"\n}",
        ),
        ("{\n  \"a\": 1 /* x\n */ }", &["b"], json!(1), "{\n  \"a\": 1, /* x\n */\n  \"b\": 1 }"),
    ];
    for (text, key, value, expected) in table {
        assert_eq!(set(text, key, &value).unwrap(), expected);
    }
}

#[test]
fn removing_takes_its_comma_and_its_line() {
    let table: [(&str, &[&str], &str); 14] = [
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", &["a"], "{\"b\": 2, \"c\": 3}"),
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", &["b"], "{\"a\": 1, \"c\": 3}"),
        ("{\"a\": 1, \"b\": 2, \"c\": 3}", &["c"], "{\"a\": 1, \"b\": 2}"),
        ("{ \"a\": 1 }", &["a"], "{}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", &["a"], "{\n  \"b\": 2\n}"),
        ("{\n  \"a\": 1,\n  \"b\": 2\n}", &["b"], "{\n  \"a\": 1\n}"),
        ("{\n  \"a\": 1,\n  \"b\": 2,\n}", &["b"], "{\n  \"a\": 1,\n}"),
        ("{\n  \"a\": 1, // one\n  \"b\": 2\n}", &["a"], "{\n   // one\n  \"b\": 2\n}"),
        ("{\n  \"a\": 1, // one\n  \"b\": 2 }", &["b"], "{\n  \"a\": 1 // one\n   }"),
        (
            "{\n  \"a\": 1, // one\n  \"b\": 2 // two\n}",
            &["b"],
            "{\n  \"a\": 1 // one\n   // two\n}",
        ),
        ("{\n  // one\n  \"a\": 1\n}", &["a"], "{\n  // one\n}"),
        ("{\"a\": 1, \"b\": 0, \"a\": 2}", &["a"], "{\"b\": 0}"),
        ("{\"a\": {\"b\": 1}}", &["a", "b"], "{\"a\": {}}"),
        ("{\"a\": 1}", &["b", "c"], "{\"a\": 1}"),
    ];
    for (text, key, expected) in table {
        assert_eq!(take(text, key).unwrap(), expected);
    }
}

/// Whether all of `part` stands in `whole`, in this order.
fn is_within(part: &str, whole: &str) -> bool {
    let mut whole = whole.chars();
    part.chars().all(|wanted| whole.any(|found| found == wanted))
}

/// What `set` should do to the value.
fn set_in(object: &mut Value, key: &[&str], value: &Value) -> bool {
    let [name, rest @ ..] = key else { return false };
    let slot = &mut object[*name];
    if rest.is_empty() || slot.is_null() {
        *slot = nested(rest, value);
        return true;
    }
    slot.is_object() && set_in(slot, rest, value)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn set_gives_the_value_and_changes_nothing_else(
        object in json_object(),
        noise in strategy(),
        key in prop::collection::vec(prop::sample::select(vec!["permissions", "allow", "a", "new"]), 1..4),
        value in json_object(),
    ) {
        let text = written(&object, &noise);
        let mut expected = object.clone();
        let possible = set_in(&mut expected, &key, &value);
        let result = set(&text, &key, &value);
        prop_assert_eq!(result.is_ok(), possible);
        if let Ok(new) = result {
            prop_assert_eq!(super::value(&new).unwrap(), expected);
            prop_assert_eq!(&set(&new, &key, &value).unwrap(), &new, "twice is once");
            if object.get(key[0]).is_none() {
                let (text, new) = (text.trim_end(), new.as_str());
                prop_assert!(is_within(&text.replace(['\r', '\n', ' ', '\t'], ""), new), "{text:?} {new:?}");
            }
        }
    }

    #[test]
    fn remove_takes_that_key_and_nothing_else(object in json_object(), noise in strategy(), at in 0usize..4) {
        let text = written(&object, &noise);
        let Some(name) = object.as_object().unwrap().keys().nth(at).cloned() else { return Ok(()) };
        let new = take(&text, &[&name]).unwrap();
        let mut expected = object;
        expected.as_object_mut().unwrap().shift_remove(&name);
        prop_assert_eq!(value(&new).unwrap(), expected);
        prop_assert!(is_within(&new, &text));
    }
}
