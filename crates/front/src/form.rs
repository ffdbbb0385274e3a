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

    /// The schema of its value.
    pub fn schema(&self) -> &Value {
        &self.schema
    }

    /// The value of a text; the default if it is empty, `None` if it is not one.
    pub fn value(&self, said: &str) -> Option<Value> {
        match said.trim() {
            "" => Some(self.schema["default"].clone()).filter(|usual| !usual.is_null()),
            said => field_value(said, &self.schema),
        }
    }

    /// The value of what was chosen; `None` if that is nothing.
    fn chosen(&self, values: &[String]) -> Option<Value> {
        match self.schema["type"].as_str() {
            Some("array") if values.is_empty() && !self.needed => None,
            Some("array") => Some(values.into()),
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
                let taken = value.is_some() || !field.needed;
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
    match field["type"].as_str() {
        _ if several && !names.is_empty() => {
            format!("any of {}, comma-separated", names.join(", "))
        }
        _ if !names.is_empty() => format!("one of {}", names.join(", ")),
        Some("boolean") => "yes or no".to_owned(),
        Some("integer") => "a whole number".to_owned(),
        Some("number") => "a number".to_owned(),
        Some("array") => "comma-separated words".to_owned(),
        _ => "text".to_owned(),
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
