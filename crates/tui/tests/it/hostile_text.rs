//! Text that wants to act on the terminal, in every text of an event.

use ona_front::Event;
use serde_json::Value;

/// Texts that act on a terminal, by what they are.
pub const ACTING: [(&str, &str); 12] = [
    ("clears the screen", "\u{1b}[2J"),
    ("asks the terminal", "\u{1b}[6n\u{1b}[c\u{1b}]11;?\u{1b}\\"),
    ("resets the terminal", "\u{1b}c"),
    ("changes modes", "\u{1b}[?1000h\u{1b}[?47h\u{1b}(0"),
    ("sets the title", "\u{1b}]0;owned\u{7}\u{1b}]2;owned\u{7}"),
    ("sets the clipboard", "\u{1b}]52;c;b3duZWQ=\u{7}"),
    ("makes a link", "\u{1b}]8;;https://evil.example\u{1b}\\x\u{1b}]8;;\u{1b}\\"),
    (
        "is a device control string",
        "\u{1b}P+q544e\u{1b}\\\u{1b}_application\u{1b}\\\u{1b}^p\u{1b}\\",
    ),
    ("uses controls of one byte", "\u{9b}2J\u{9d}0;owned\u{9c}\u{90}q\u{9c}\u{85}\u{8d}"),
    ("returns and goes back", "\roverwritten\u{8}\u{8}\u{8}\u{b}\u{c}\u{7f}"),
    ("rings and shifts", "\u{7}\u{e}\u{f}\u{0}\u{5}\u{11}\u{13}\u{18}\u{1a}"),
    ("is cut off", "\u{1b}"),
];

/// Texts that hide or turn what stands around them.
pub const TURNING: [(&str, &str); 3] = [
    ("turns the text", "\u{202e}abc\u{202c}\u{2066}x\u{2069}\u{200f}\u{61c}"),
    ("hides in the text", "a\u{200b}b\u{2060}c\u{feff}d\u{ad}e"),
    ("breaks the line", "a\u{2028}b\u{2029}c"),
];

/// Keys whose values are needed as they are: the rest of the script refers to them.
const KEPT: [&str; 4] = ["id", "call", "query", "tool_use_id"];

/// The event with a text behind every text in it that may be any, the place of each before it.
pub fn spoiled(event: &Event, with: &str) -> Event {
    let mut json = serde_json::to_value(event).unwrap();
    let mut places = Vec::new();
    collect(&json, "", &mut places);
    for place in places {
        let mut changed = json.clone();
        let text = changed.pointer_mut(&place).unwrap();
        let name = place.replace(['/', '~'], ".");
        *text = Value::from(format!("{}{name}{with}|", text.as_str().unwrap()));
        // What is one of a few words is left alone: any other text is no event.
        if serde_json::from_value::<Event>(changed.clone()).is_ok() {
            json = changed;
        }
    }
    serde_json::from_value(json).unwrap()
}

/// The places of all texts.
fn collect(json: &Value, place: &str, places: &mut Vec<String>) {
    match json {
        Value::String(_) => places.push(place.to_owned()),
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                collect(item, &format!("{place}/{at}"), places);
            }
        }
        Value::Object(fields) => {
            for (key, value) in fields {
                if !KEPT.contains(&key.as_str()) {
                    let key = key.replace('~', "~0").replace('/', "~1");
                    collect(value, &format!("{place}/{key}"), places);
                }
            }
        }
        _ => {}
    }
}

#[test]
fn every_text_is_spoiled_and_every_word_with_a_meaning_stays() {
    let event = crate::scenes::refused("a", "Bash", ona_types::gate::StageName::Rules, "why");
    let Event::ToolEnded { id, tool, content, refused, .. } = spoiled(&event, "!") else {
        panic!("another event");
    };
    assert_eq!(id.as_str(), "a");
    assert_eq!(tool, "Bash.tool!|");
    assert_eq!(content, "denied: why.content!|");
    assert_eq!(refused.unwrap().reason, "why.refused.reason!|");
}
