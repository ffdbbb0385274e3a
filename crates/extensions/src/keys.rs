//! Front matter as keys, each with its line.

use std::collections::BTreeMap;
use std::num::NonZeroU32;

use ona_config::instructions::front;
use ona_policy::split_rules;
use serde_json::{Map, Value};
use serde_saphyr::Spanned;

/// Keys whose value is prose. People write colons and brackets in it without quotes, which is not valid YAML.
const PROSE: [&str; 4] = ["description", "argument-hint", "initialPrompt", "paths"];

/// The maximum size of front matter.
const MAX_FRONT_MATTER: usize = 256 << 10;
/// The maximum number of values, with aliases expanded.
const MAX_NODES: usize = 10_000;

/// A problem with a key, or with the front matter as a whole.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KeyError {
    pub(crate) line: Option<u64>,
    pub(crate) why: String,
}

#[derive(Clone, Debug)]
struct Entry {
    value: Value,
    line: Option<u64>,
}

/// The keys of a definition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Keys(BTreeMap<String, Entry>);

/// The parts of a file.
#[derive(Debug)]
pub(crate) struct Document<'a> {
    /// The keys; `None` without front matter.
    pub(crate) keys: Option<Keys>,
    /// The text after the front matter.
    pub(crate) body: &'a str,
}

/// Splits a file into front matter and text.
pub(crate) fn read(text: &str) -> Result<Document<'_>, KeyError> {
    let Some((yaml, body)) = front::fenced(text) else {
        if text.lines().next().is_some_and(|line| line.trim_end() == "---") {
            let why = "the front matter is not closed with `---`".to_owned();
            return Err(KeyError { line: Some(1), why });
        }
        return Ok(Document { keys: None, body: text });
    };
    if yaml.len() > MAX_FRONT_MATTER {
        let why = format!("its front matter is longer than {} KiB", MAX_FRONT_MATTER >> 10);
        return Err(KeyError { line: Some(1), why });
    }
    let keys = parse(yaml).or_else(|bad| match with_quotes(yaml) {
        quoted if quoted == yaml => Err(bad),
        quoted => parse(&quoted).map_err(|_| bad),
    })?;
    Ok(Document { keys: Some(keys), body })
}

fn parse(yaml: &str) -> Result<Keys, KeyError> {
    // Blank front matter is not a map, but it is valid.
    let blank = |line: &str| line.trim().is_empty() || line.trim_start().starts_with('#');
    if yaml.lines().all(blank) {
        return Ok(Keys::default());
    }
    let budget = serde_saphyr::budget! { max_nodes: MAX_NODES };
    let options = serde_saphyr::options! {
        strict_booleans: true, with_snippet: false, budget: budget,
    };
    // One line for the fence, so that line numbers are those of the file.
    let text = format!("\n{yaml}");
    let found: Result<BTreeMap<String, Spanned<Value>>, _> =
        serde_saphyr::from_str_with_options(&text, options);
    match found {
        Ok(keys) => {
            let entry = |(key, spanned): (String, Spanned<Value>)| {
                let line = Some(spanned.referenced.line()).filter(|line| *line > 0);
                (key, Entry { value: spanned.value, line })
            };
            Ok(Keys(keys.into_iter().map(entry).collect()))
        }
        Err(error) => {
            let line = error.location().map(|place| place.line()).filter(|line| *line > 0);
            let said = error.to_string();
            let why = format!(
                "its front matter is not valid YAML: {}",
                said.lines().next().unwrap_or("")
            );
            Err(KeyError { line, why })
        }
    }
}

/// The same with prose in quotes.
fn with_quotes(yaml: &str) -> String {
    let quoted = |line: &str| -> Option<String> {
        let (key, value) = line.split_once(':')?;
        let value = value.strip_prefix(' ')?.trim();
        if !PROSE.contains(&key) || value.is_empty() || value.starts_with(['"', '\'', '|', '>']) {
            return None;
        }
        Some(format!("{key}: {}", Value::from(value)))
    };
    let lines = yaml.lines().map(|line| quoted(line).unwrap_or_else(|| line.to_owned()));
    let lines: Vec<String> = lines.collect();
    lines.join("\n") + if yaml.ends_with('\n') { "\n" } else { "" }
}

impl Keys {
    /// Keys that were given as JSON.
    pub(crate) fn given(json: &Map<String, Value>) -> Self {
        let entry = |(key, value): (&String, &Value)| {
            (key.clone(), Entry { value: value.clone(), line: None })
        };
        Self(json.iter().map(entry).collect())
    }

    /// The names of all keys.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether a key is present, even without a value.
    pub(crate) fn has(&self, key: &str) -> bool {
        self.0.contains_key(key)
    }

    /// The line of a key.
    pub(crate) fn line(&self, key: &str) -> Option<u64> {
        self.0.get(key).and_then(|entry| entry.line)
    }

    /// The value of a key; a null counts as missing.
    pub(crate) fn value(&self, key: &str) -> Option<&Value> {
        self.0.get(key).map(|entry| &entry.value).filter(|value| !value.is_null())
    }

    /// A problem with a key.
    pub(crate) fn bad(&self, key: &str, why: &str) -> KeyError {
        KeyError { line: self.line(key), why: format!("`{key}` {why}") }
    }

    /// A string. Numbers and booleans count as written.
    pub(crate) fn text(&self, key: &str) -> Result<Option<String>, KeyError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.trim().to_owned()).filter(|t| !t.is_empty())),
            Some(value @ (Value::Number(_) | Value::Bool(_))) => Ok(Some(value.to_string())),
            Some(_) => Err(self.bad(key, "must be a string")),
        }
    }

    /// `true` or `false`.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>, KeyError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::Bool(flag)) => Ok(Some(*flag)),
            Some(_) => Err(self.bad(key, "must be true or false")),
        }
    }

    /// A number, 1 or more.
    pub(crate) fn count(&self, key: &str) -> Result<Option<NonZeroU32>, KeyError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let number = value.as_u64().and_then(|number| u32::try_from(number).ok());
        let number = number.and_then(NonZeroU32::new);
        number.map(Some).ok_or_else(|| self.bad(key, "must be a whole number, 1 or more"))
    }

    /// One word of a table.
    pub(crate) fn one_of<T: Copy>(
        &self,
        key: &str,
        table: &[(&str, T)],
    ) -> Result<Option<T>, KeyError> {
        let Some(value) = self.value(key) else { return Ok(None) };
        let word = value.as_str().map(str::trim);
        let found = table.iter().find(|(known, _)| Some(*known) == word).map(|(_, meant)| *meant);
        found.map(Some).ok_or_else(|| {
            let words: Vec<&str> = table.iter().map(|(word, _)| *word).collect();
            self.bad(key, &format!("must be one of {}, not {value}", words.join(", ")))
        })
    }

    /// A list of words, or a string with commas or spaces between them; text in parentheses stays together.
    pub(crate) fn words(&self, key: &str) -> Result<Option<Vec<String>>, KeyError> {
        match self.value(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(split_rules(text))),
            Some(Value::Array(list)) => {
                let word = |item: &Value| item.as_str().map(|text| text.trim().to_owned());
                let words: Option<Vec<String>> = list.iter().map(word).collect();
                let words = words.ok_or_else(|| self.bad(key, "must contain only strings"))?;
                Ok(Some(words.into_iter().filter(|word| !word.is_empty()).collect()))
            }
            Some(_) => Err(self.bad(key, "must be a list or a comma-separated string")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn keys(yaml: &str) -> Keys {
        let text = format!("---\n{yaml}\n---\nbody");
        read(&text).unwrap().keys.unwrap()
    }

    #[test]
    fn keys_know_their_lines() {
        let keys = keys("name: x\n\ntools: [Read, 'Agent(a, b)']\nhooks:\n  Stop: []");
        assert_eq!(keys.line("name"), Some(2));
        assert_eq!(keys.line("tools"), Some(4));
        assert_eq!(keys.words("tools").unwrap().unwrap(), ["Read", "Agent(a, b)"]);
        assert_eq!(keys.value("hooks").unwrap(), &serde_json::json!({"Stop": []}));
    }

    #[test]
    fn prose_may_be_written_without_quotes() {
        for prose in ["Use this when: x # y", "Examples: <example>a: \"b\"</example>", "[a] [b]"] {
            let keys = keys(&format!("name: x\ndescription: {prose}\ntools: Read"));
            assert_eq!(keys.text("description").unwrap().unwrap(), prose);
            assert_eq!(keys.words("tools").unwrap().unwrap(), ["Read"]);
        }
    }

    #[test]
    fn what_is_broken_is_named_with_its_line() {
        for (text, line, why) in [
            ("---\nname: x\n", 1, "is not closed"),
            ("---\nname: x\ntools: [Read\n---\n", 0, "not valid YAML"),
            ("---\nname: x\nname: y\n---\n", 3, "not valid YAML"),
            ("---\n- a\n---\n", 0, "not valid YAML"),
        ] {
            let bad = read(text).unwrap_err();
            assert!(bad.why.contains(why), "{text}: {bad:?}");
            assert!(line == 0 || bad.line == Some(line), "{text}: {bad:?}");
        }
        assert!(read("no keys").unwrap().keys.is_none());
        assert!(read("---\n# none\n---\nx").unwrap().keys.is_some());
    }

    #[test]
    fn a_bomb_of_aliases_and_a_deep_nest_end() {
        let mut yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x]\n".to_owned();
        for level in 1..12 {
            let below = format!("*a{}", level - 1);
            yaml += &format!("a{level}: &a{level} [{}]\n", [below.as_str(); 9].join(", "));
        }
        for yaml in
            [yaml, format!("a: {}{}", "[".repeat(50_000), "]".repeat(50_000)), "x".repeat(300_000)]
        {
            assert!(read(&format!("---\n{yaml}\n---\n")).is_err());
        }
    }

    #[test]
    fn words_for_true_are_no_booleans() {
        assert_eq!(keys("background: true").flag("background"), Ok(Some(true)));
        assert_eq!(keys("background:").flag("background"), Ok(None));
        for word in ["yes", "on", "1", "\"true\""] {
            assert!(keys(&format!("background: {word}")).flag("background").is_err(), "{word}");
        }
    }

    #[test]
    fn numbers_count_from_one() {
        assert_eq!(keys("maxTurns: 5").count("maxTurns").unwrap().unwrap().get(), 5);
        for bad in ["0", "-1", "1.5", "many", "99999999999"] {
            assert!(keys(&format!("maxTurns: {bad}")).count("maxTurns").is_err(), "{bad}");
        }
    }
}
