//! ona's mode in `.roomodes`, which may be JSON or YAML.

use ona_files::jsonc::{Step, prune, push, value};
use serde_json::{Map, Value, json};

use super::Refused;
use super::agents::{INSTRUCTIONS, MODE, MODE_GROUPS, MODE_MEMBERS};
use super::section::{Comment, Section};

const MODES: &str = "customModes";

/// The mode as JSON.
fn mode() -> Value {
    let members = MODE_MEMBERS.iter().map(|(key, text)| ((*key).to_owned(), json!(text)));
    let mut mode: Map<String, Value> = members.collect();
    mode.insert("groups".to_owned(), json!(MODE_GROUPS));
    mode.insert("customInstructions".to_owned(), json!(INSTRUCTIONS));
    Value::Object(mode)
}

/// The mode as an entry of a YAML list.
fn mode_yaml() -> String {
    let mut text = String::new();
    for (at, (key, value)) in MODE_MEMBERS.iter().enumerate() {
        let mark = if at == 0 { "- " } else { "  " };
        text.push_str(&format!("{mark}{key}: {}\n", json!(value)));
    }
    text.push_str(&format!("  groups: {}\n  customInstructions: |\n", json!(MODE_GROUPS)));
    for line in INSTRUCTIONS.lines() {
        text.push_str(format!("    {line}").trim_end());
        text.push('\n');
    }
    text
}

fn is_json(text: &str) -> bool {
    text.trim_start().starts_with('{')
}

fn has_mode(modes: &Value) -> Option<usize> {
    modes[MODES].as_array()?.iter().position(|mode| mode["slug"] == MODE)
}

/// The file with ona's mode. One that is there stays as it is: it may have been adapted.
pub fn put(text: Option<&str>) -> Result<String, Refused> {
    let text = text.unwrap_or("{}\n");
    if is_json(text) {
        return Ok(match has_mode(&value(text)?) {
            Some(_) => text.to_owned(),
            None => push(text, &[Step::Key(MODES)], &mode())?,
        });
    }
    let before = read_yaml(text)?;
    if has_mode(&before).is_some() {
        return Ok(text.to_owned());
    }
    let new = put_yaml(text, &before)?;
    let mut expected = before;
    if !expected.is_object() {
        expected = json!({});
    }
    match &mut expected[MODES] {
        Value::Array(modes) => modes.push(mode()),
        other => *other = json!([mode()]),
    }
    match read_yaml(&new) {
        Ok(after) if after == expected => Ok(new),
        _ => Err(by_hand()),
    }
}

/// The file without ona's mode; nothing if nothing is left of it.
pub fn take(text: &str) -> Result<Option<String>, Refused> {
    if is_json(text) {
        let Some(at) = has_mode(&value(text)?) else { return Ok(Some(text.to_owned())) };
        let left = prune(text, &[Step::Key(MODES), Step::Index(at)])?;
        return Ok(Some(left).filter(|left| left.trim() != "{}"));
    }
    let mut expected = read_yaml(text)?;
    let Some(at) = has_mode(&expected) else { return Ok(Some(text.to_owned())) };
    let left = part("").take(text).map_err(Refused::from)?.unwrap_or_default();
    if let Some(modes) = expected[MODES].as_array_mut() {
        modes.remove(at);
    }
    let after = read_yaml(&left)?;
    let gone = expected[MODES] == json!([]) && after[MODES].is_null();
    if gone && let Some(members) = expected.as_object_mut() {
        members.shift_remove(MODES);
    }
    let mut found = after;
    if gone && let Some(members) = found.as_object_mut() {
        members.shift_remove(MODES);
    }
    let empty = |value: &Value| value.is_null() || *value == json!({});
    if found == expected || (empty(&found) && empty(&expected)) {
        return Ok(Some(left));
    }
    Err(Refused {
        place: None,
        why: format!("the mode {MODE} was changed since ona wrote it: remove it by hand"),
    })
}

fn by_hand() -> Refused {
    let why = format!(
        "ona cannot add to {MODES} here without changing the rest: add the mode by hand; `ona init --tool roo_code --dry-run` in an empty directory prints it"
    );
    Refused { place: None, why }
}

fn part(body: &str) -> Section<'_> {
    Section { comment: Comment::Hash, name: "roo_code", body }
}

fn read_yaml(text: &str) -> Result<Value, Refused> {
    if text.trim().is_empty() {
        return Ok(Value::Null);
    }
    serde_saphyr::from_str(text).map_err(|error| {
        let place = error.location().map(|at| (at.line() as usize, at.column() as usize));
        let why = error.to_string();
        // The place is named before it already.
        let why = why.lines().next().unwrap_or_default();
        let why = why.strip_prefix("error: ").unwrap_or(why);
        let why = match why.split_once(": ") {
            Some((at, why)) if at.starts_with("line ") => why,
            _ => why,
        };
        Refused { place, why: format!("invalid YAML: {why}") }
    })
}

/// The text with the mode behind the modes it has. Whether it means that is for the caller to see.
fn put_yaml(text: &str, before: &Value) -> Result<String, Refused> {
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let offset = |line: usize| lines[..line].iter().map(|line| line.len()).sum::<usize>();
    let entry = mode_yaml();
    if !before.is_null() && !before.is_object() {
        return Err(by_hand());
    }
    let Some(key) = lines.iter().position(|line| line.starts_with("customModes:")) else {
        let indented: String = entry.lines().map(|line| format!("  {line}\n")).collect();
        return Ok(part(&format!("{MODES}:\n{indented}")).insert(text, text.len(), ""));
    };
    let is_own_line = |line: &str| {
        let words = line.trim();
        words.is_empty() || words.starts_with('#') || line.starts_with([' ', '\t', '-'])
    };
    let block = lines[key + 1..].iter().take_while(|line| is_own_line(line)).count();
    let body = &lines[key + 1..key + 1 + block];
    let Some(first) = body.iter().find(|line| line.trim_start().starts_with('-')) else {
        return Err(by_hand());
    };
    let indent = &first[..first.len() - first.trim_start().len()];
    // Comments at the margin belong to what comes next.
    let belongs = |line: &&str| !line.trim().is_empty() && !line.starts_with('#');
    let last = body.iter().rposition(belongs).unwrap_or_default();
    Ok(part(&entry).insert(text, offset(key + 2 + last), indent))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mode_is_added_to_what_is_there_and_taken_back_to_the_byte() {
        let json = "{\n    \"customModes\": [\n        {\"slug\": \"a\"}\n    ]\n}\n";
        let yaml = "# ours\ncustomModes:\n  - slug: a\n    roleDefinition: |\n      one\n\n      two\n    groups: [read]\n\n# end\nother: 1\n";
        let flush = "customModes:\n- slug: a\n  name: b";
        let alone = "other: 1\n";
        for text in [json, yaml, flush, alone] {
            let with = put(Some(text)).unwrap();
            assert!(with.contains(MODE), "{with}");
            assert_eq!(put(Some(&with)).unwrap(), with);
            assert_eq!(take(&with).unwrap().as_deref(), Some(text), "{with}");
        }
        let new = put(None).unwrap();
        assert_eq!(take(&new).unwrap(), None, "{new}");
        assert_eq!(take(yaml).unwrap().as_deref(), Some(yaml));
    }

    #[test]
    fn what_cannot_be_added_to_safely_is_left_alone() {
        for text in ["customModes: [{slug: a}]\n", "- a\n", "\"customModes\":\n  - slug: a\n"] {
            assert!(put(Some(text)).unwrap_err().why.contains("by hand"), "{text}");
        }
        let refused = put(Some("a: 1\nb: [\n")).unwrap_err();
        assert!(refused.why.starts_with("invalid YAML") && refused.place.is_some(), "{refused:?}");
    }
}
