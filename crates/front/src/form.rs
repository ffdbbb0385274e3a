//! Forms of MCP servers and questions of the model, as every front end reads them.

use serde_json::{Map, Value};

/// A field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct Field {
    /// Its name in the answer.
    pub name: String,
    /// What it is called.
    pub title: String,
    /// What it is for.
    pub about: String,
    /// What is to be typed, in words.
    pub wanted: String,
    /// Whether it must be there.
    pub needed: bool,
    schema: Value,
}

/// How a field is filled in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// With a text.
    Text,
    /// With one of these values, each with what it is called.
    One(Vec<(String, String)>),
    /// With any of them.
    Several(Vec<(String, String)>),
}

/// What was given for a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Given {
    /// A text.
    Typed(String),
    /// Some of its values.
    Chosen(Vec<String>),
}

/// The fields of a form, in their order.
pub fn fields(schema: &Value) -> Vec<Field> {
    let needed = |name: &String| {
        schema["required"].as_array().is_some_and(|all| all.contains(&Value::from(name.as_str())))
    };
    let properties = schema["properties"].as_object().into_iter().flatten();
    let field = |(name, field): (&String, &Value)| Field {
        name: name.clone(),
        title: field["title"].as_str().unwrap_or(name).to_owned(),
        about: field["description"].as_str().unwrap_or_default().to_owned(),
        wanted: wanted(field),
        needed: needed(name),
        schema: field.clone(),
    };
    properties.map(field).collect()
}

impl Field {
    /// What it is if nothing is given.
    pub fn usual(&self) -> &Value {
        &self.schema["default"]
    }

    /// How it is filled in.
    pub fn kind(&self) -> Kind {
        let owned = |choices: Vec<(&str, &str)>| -> Vec<(String, String)> {
            choices.into_iter().map(|(value, name)| (value.to_owned(), name.to_owned())).collect()
        };
        let several = self.schema["type"] == "array";
        match choices(if several { &self.schema["items"] } else { &self.schema }) {
            some if !some.is_empty() && several => Kind::Several(owned(some)),
            some if !some.is_empty() => Kind::One(owned(some)),
            _ if self.schema["type"] == "boolean" => {
                Kind::One(owned(vec![("true", "yes"), ("false", "no")]))
            }
            _ => Kind::Text,
        }
    }

    /// What it is if nothing is typed, as text.
    pub fn default_text(&self) -> String {
        match &self.schema["default"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }
    }

    /// The value of a text; the default if it is empty, `None` if it is not one.
    pub fn value(&self, said: &str) -> Option<Value> {
        match said.trim() {
            "" => Some(self.schema["default"].clone()).filter(|usual| !usual.is_null()),
            said => field_value(said, &self.schema).filter(|value| self.fits(value)),
        }
    }

    /// Whether a value meets the schema: its format, length or range. A schema that cannot be used demands nothing.
    fn fits(&self, value: &Value) -> bool {
        let options = jsonschema::options().offline().should_validate_formats(true);
        options.build(&self.schema).map_or(true, |schema| schema.is_valid(value))
    }

    /// The value of what was chosen; `None` if that is nothing.
    fn chosen(&self, values: &[String]) -> Option<Value> {
        match self.schema["type"].as_str() {
            Some("array") if values.is_empty() && !self.needed => None,
            Some("array") => Some(values.into()).filter(|value| self.fits(value)),
            Some("boolean") => values.first().map(|value| (value == "true").into()),
            _ => values.first().map(|value| value.as_str().into()),
        }
    }

    /// Whether a text can be left as it is: it is a value, or nothing where nothing is needed.
    pub fn takes(&self, said: &str) -> bool {
        self.value(said).is_some() || (said.trim().is_empty() && !self.needed)
    }
}

/// The answer of a form, from what was given for each field; the first field that cannot be taken otherwise.
pub fn form_answer(fields: &[Field], given: &[Given]) -> Result<Value, usize> {
    let mut answer = Map::new();
    for (number, (field, given)) in fields.iter().zip(given).enumerate() {
        let (value, taken) = match given {
            Given::Typed(said) => (field.value(said), field.takes(said)),
            Given::Chosen(values) => {
                let value = field.chosen(values);
                let taken = value.is_some() || (values.is_empty() && !field.needed);
                (value, taken)
            }
        };
        if !taken {
            return Err(number);
        }
        if let Some(value) = value {
            answer.insert(field.name.clone(), value);
        }
    }
    Ok(Value::Object(answer))
}

fn choices(field: &Value) -> Vec<(&str, &str)> {
    let list = |key: &str| field[key].as_array().into_iter().flatten();
    let names: Vec<&str> = list("enumNames").filter_map(Value::as_str).collect();
    let plain = list("enum").filter_map(Value::as_str).enumerate();
    let plain = plain.map(|(at, value)| (value, names.get(at).copied().unwrap_or(value)));
    let titled = list("oneOf").chain(list("anyOf")).filter_map(|one| {
        let value = one["const"].as_str()?;
        Some((value, one["title"].as_str().unwrap_or(value)))
    });
    plain.chain(titled).collect()
}

/// What is to be typed for a field, in words.
fn wanted(field: &Value) -> String {
    let several = field["type"] == "array";
    let choices = choices(if several { &field["items"] } else { field });
    let names: Vec<&str> = choices.iter().map(|(_, name)| *name).collect();
    let range = |least: &str, most: &str| -> Option<String> {
        match (field[least].as_f64(), field[most].as_f64()) {
            (Some(least), Some(most)) => Some(format!("{least} to {most}")),
            (Some(least), None) => Some(format!("at least {least}")),
            (None, Some(most)) => Some(format!("at most {most}")),
            (None, None) => None,
        }
    };
    let (what, limits) = match field["type"].as_str() {
        _ if several && !names.is_empty() => {
            (format!("any of {}, comma-separated", names.join(", ")), range("minItems", "maxItems"))
        }
        _ if !names.is_empty() => (format!("one of {}", names.join(", ")), None),
        Some("boolean") => ("yes or no".to_owned(), None),
        Some("integer") => ("a whole number".to_owned(), range("minimum", "maximum")),
        Some("number") => ("a number".to_owned(), range("minimum", "maximum")),
        Some("array") => ("comma-separated words".to_owned(), range("minItems", "maxItems")),
        _ => {
            let limits = range("minLength", "maxLength").map(|range| format!("{range} characters"));
            (format_words(field["format"].as_str()).to_owned(), limits)
        }
    };
    match limits {
        Some(limits) => format!("{what}, {limits}"),
        None => what,
    }
}

/// A format of text, in words.
fn format_words(format: Option<&str>) -> &'static str {
    match format {
        Some("date") => "a date such as 2026-11-18",
        Some("date-time") => "a time such as 2026-11-18T14:30:00Z",
        Some("email") => "an email address",
        Some("uri") => "a URL such as https://example.com",
        _ => "text",
    }
}

/// Parses a line as a value of the field's type; `None` if it is not one.
fn field_value(said: &str, field: &Value) -> Option<Value> {
    if said.is_empty() {
        return None;
    }
    match field["type"].as_str() {
        Some("array") => {
            let words = said.split(',').map(str::trim);
            words.map(|word| field_value(word, &field["items"])).collect()
        }
        Some("boolean") => match said {
            "y" | "yes" | "true" => Some(true.into()),
            "n" | "no" | "false" => Some(false.into()),
            _ => None,
        },
        Some("integer") => said.parse::<i64>().ok().map(Value::from),
        Some("number") => said.parse::<f64>().ok().map(Value::from),
        _ => match choices(field) {
            none if none.is_empty() => Some(Value::from(said)),
            some => {
                let meant = some.iter().find(|(value, name)| *value == said || *name == said);
                meant.map(|(value, _)| Value::from(*value))
            }
        },
    }
}

/// A question of the model (AskUserQuestion).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Question {
    /// The question.
    pub text: String,
    /// A word or two about it.
    pub header: String,
    /// The answers that are offered, each with more about it.
    pub options: Vec<(String, String)>,
    /// Whether several may be chosen.
    pub several: bool,
}

/// The questions in an input.
pub fn questions(input: &Value) -> Vec<Question> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_owned();
    let question = |question: &Value| {
        let options = question["options"].as_array().into_iter().flatten();
        Question {
            text: text(question, "question"),
            header: text(question, "header"),
            options: options.map(|one| (text(one, "label"), text(one, "description"))).collect(),
            several: question["multiSelect"] == true || question["multiSelect"] == "true",
        }
    };
    input["questions"].as_array().into_iter().flatten().map(question).collect()
}

/// The same input with the answers in it.
pub fn answered(input: &Value, answers: &[(String, String)]) -> Value {
    let given: Map<String, Value> =
        answers.iter().map(|(text, answer)| (text.clone(), answer.as_str().into())).collect();
    let mut input = input.clone();
    input["answers"] = Value::Object(given);
    input
}

/// What a line answers: the labels of the numbers in it, the label that it is, else the line itself. Nothing if it has to be asked again.
pub fn chosen(line: &str, question: &Question) -> Option<String> {
    let label = |word: &str| -> Option<&str> {
        let number: usize = word.trim().parse().ok()?;
        question.options.get(number.checked_sub(1)?).map(|(label, _)| label.as_str())
    };
    let numbers = line.split(',').all(|word| word.trim().parse::<usize>().is_ok());
    if line.is_empty() || (numbers && !question.several && line.contains(',')) {
        return None;
    }
    if numbers {
        let labels: Option<Vec<&str>> = line.split(',').map(label).collect();
        return labels.map(|labels| labels.join(", "));
    }
    let word = match line {
        "y" => "yes",
        "n" => "no",
        word => word,
    };
    let named = question.options.iter().find(|(label, _)| label.eq_ignore_ascii_case(word));
    Some(named.map_or(line, |(label, _)| label).to_owned())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_takes_values_of_its_kind() {
        let value = |said: &str, field: Value| field_value(said, &field);
        assert_eq!(value("7", json!({"type": "integer"})), Some(json!(7)));
        assert_eq!(value("7.5", json!({"type": "integer"})), None);
        assert_eq!(value("y", json!({"type": "boolean"})), Some(json!(true)));
        assert_eq!(value("Ada", json!({"type": "string"})), Some(json!("Ada")));
        assert_eq!(value("x", json!({"type": "string", "enum": ["a", "b"]})), None);
        assert_eq!(value("", json!({"type": "string"})), None);
        let titled =
            json!({"type": "string", "oneOf": [{"const": "r", "title": "Red"}, {"const": "b"}]});
        assert_eq!(value("Red", titled.clone()), Some(json!("r")));
        assert_eq!(value("r", titled.clone()), Some(json!("r")));
        assert_eq!(value("green", titled.clone()), None);
        assert_eq!(wanted(&titled), "one of Red, b");
        let several = json!({"type": "array", "items": {"type": "string", "enum": ["a", "b"]}});
        assert_eq!(value("a, b", several.clone()), Some(json!(["a", "b"])));
        assert_eq!(value("a, c", several.clone()), None);
        assert_eq!(wanted(&several), "any of a, b, comma-separated");
    }

    #[test]
    fn a_field_takes_what_its_schema_allows() {
        let one = |schema: Value| fields(&json!({"properties": {"x": schema}})).remove(0);
        for (schema, wanted, good, bad) in [
            (json!({"format": "date"}), "a date such as 2026-11-18", "2024-02-29", "2026-02-29"),
            (
                json!({"format": "date-time"}),
                "a time such as 2026-11-18T14:30:00Z",
                "2026-11-18T14:30:00+01:00",
                "2026-11-18",
            ),
            (json!({"format": "email"}), "an email address", "a@b.example", "a"),
            (json!({"format": "uri"}), "a URL such as https://example.com", "https://x.y/z", "x"),
            (json!({"minLength": 2, "maxLength": 3}), "text, 2 to 3 characters", "abc", "abcd"),
            (json!({"type": "integer", "minimum": 1}), "a whole number, at least 1", "1", "0"),
            (json!({"type": "number", "maximum": 1.5}), "a number, at most 1.5", "1.5", "1.6"),
        ] {
            let mut schema = schema;
            if schema["type"].is_null() {
                schema["type"] = "string".into();
            }
            let field = one(schema);
            assert_eq!(field.wanted, wanted);
            assert!(field.takes(good) && field.takes(""), "{wanted}: {good}");
            assert!(!field.takes(bad), "{wanted}: {bad}");
        }
        let items = json!({"type": "string", "enum": ["a", "b"]});
        let two = one(json!({"type": "array", "items": items, "minItems": 2}));
        let chosen = |all: &[&str]| {
            let given = Given::Chosen(all.iter().map(|one| (*one).to_owned()).collect());
            form_answer(std::slice::from_ref(&two), &[given])
        };
        assert_eq!(chosen(&["a"]), Err(0));
        assert_eq!(chosen(&[]), Ok(json!({})), "it is not needed");
        assert_eq!(chosen(&["a", "b"]), Ok(json!({"x": ["a", "b"]})));
    }

    #[test]
    fn a_form_says_which_field_is_wrong() {
        let schema = json!({
            "properties": {"name": {"type": "string"}, "age": {"type": "integer", "default": 7}, "x": {"type": "number"}},
            "required": ["name", "age"],
        });
        let fields = fields(&schema);
        let answer =
            |said: [&str; 3]| form_answer(&fields, &said.map(|said| Given::Typed(said.to_owned())));
        assert_eq!(answer(["Ada", "", ""]), Ok(json!({"name": "Ada", "age": 7})));
        assert_eq!(answer(["", "", ""]), Err(0));
        assert_eq!(answer(["Ada", "old", ""]), Err(1));
    }

    #[test]
    fn values_that_are_chosen_are_those_of_the_schema() {
        let schema = json!({
            "properties": {
                "news": {"type": "boolean"},
                "size": {"type": "string", "enum": ["s", "l"], "enumNames": ["Small, cheap", "Large"]},
                "tags": {"type": "array", "items": {"type": "string", "enum": ["a", "b, c"]}},
            },
            "required": ["size", "tags"],
        });
        let fields = fields(&schema);
        let Kind::One(sizes) = fields[1].kind() else { panic!() };
        assert_eq!(sizes[0], ("s".to_owned(), "Small, cheap".to_owned()));
        assert!(matches!(fields[2].kind(), Kind::Several(_)));
        let answer = |chosen: [&[&str]; 3]| {
            let given =
                chosen.map(|all| Given::Chosen(all.iter().map(|one| (*one).to_owned()).collect()));
            form_answer(&fields, &given)
        };
        assert_eq!(
            answer([&["false"], &["s"], &["b, c"]]),
            Ok(json!({"news": false, "size": "s", "tags": ["b, c"]}))
        );
        assert_eq!(answer([&[], &["l"], &[]]), Ok(json!({"size": "l", "tags": []})));
        assert_eq!(answer([&[], &[], &[]]), Err(1));
    }

    #[test]
    fn numbers_choose_and_everything_else_is_an_answer() {
        let option = |label: &str| (label.to_owned(), String::new());
        let question = |several: bool| Question {
            text: String::new(),
            header: String::new(),
            options: vec![option("Red"), option("Blue")],
            several,
        };
        let one = |line: &str| chosen(line, &question(false));
        assert_eq!(one("2").as_deref(), Some("Blue"));
        assert_eq!(one("none of them").as_deref(), Some("none of them"));
        for again in ["", "3", "0", "1,2"] {
            assert_eq!(one(again), None, "{again}");
        }
        assert_eq!(one("blue").as_deref(), Some("Blue"));
        assert_eq!(chosen("1, 2", &question(true)).as_deref(), Some("Red, Blue"));
        assert_eq!(chosen("1,3", &question(true)), None);
    }
}
