//! For property tests: any JSON object, in any layout, with comments anywhere.

use proptest::prelude::*;
use serde_json::{Map, Value};

/// An object of a few keys, some of them real ones.
pub fn json_object() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        r#"[a-c"\\/*,\]}ä\n ]{0,6}"#.prop_map(Value::from),
    ];
    let key =
        || prop_oneof![Just("permissions".to_owned()), Just("allow".to_owned()), "[a-c\"/]{0,3}"];
    let value = leaf.prop_recursive(3, 16, 4, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::vec((key(), inner), 0..4).prop_map(object),
        ]
    });
    prop::collection::vec((key(), value), 0..4).prop_map(object)
}

fn object(members: Vec<(String, Value)>) -> Value {
    Value::Object(members.into_iter().collect::<Map<_, _>>())
}

/// The text between the tokens, in turns, and whether lists end with a comma.
pub fn strategy() -> impl Strategy<Value = Vec<&'static str>> {
    let between = prop::sample::select(vec![
        "",
        "",
        " ",
        "\n",
        "\n  ",
        "\r\n\t",
        "/* , ] */",
        " // }, \"a\"\n",
        "//\u{a0}\r\n ",
        "/**/ ",
        "//*/\n",
    ]);
    prop::collection::vec(between, 1..30)
}

/// The value as text, with the noise inserted.
pub fn written(value: &Value, noise: &[&'static str]) -> String {
    let mut writer = Writer { text: String::new(), noise: noise.iter().cycle() };
    writer.noise();
    writer.value(value);
    writer.noise();
    writer.text
}

struct Writer<'a> {
    text: String,
    noise: std::iter::Cycle<std::slice::Iter<'a, &'static str>>,
}

impl Writer<'_> {
    fn noise(&mut self) {
        self.text.push_str(self.noise.next().unwrap());
    }

    fn token(&mut self, token: &str) {
        self.text.push_str(token);
        self.noise();
    }

    fn value(&mut self, value: &Value) {
        match value {
            Value::Array(list) => {
                self.token("[");
                for (at, entry) in list.iter().enumerate() {
                    self.value(entry);
                    self.separator(at + 1 == list.len());
                }
                self.text.push(']');
            }
            Value::Object(object) => {
                self.token("{");
                for (at, (key, entry)) in object.iter().enumerate() {
                    self.token(&Value::from(key.as_str()).to_string());
                    self.token(":");
                    self.value(entry);
                    self.separator(at + 1 == object.len());
                }
                self.text.push('}');
            }
            scalar => self.text.push_str(&scalar.to_string()),
        }
    }

    fn separator(&mut self, last: bool) {
        self.noise();
        // A trailing comma if the noise so far has even length: as arbitrary as the rest.
        if !last || self.text.len().is_multiple_of(2) {
            self.token(",");
        }
    }
}
