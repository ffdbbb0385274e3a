//! The text of a JSON file with the positions of its values, and the text with one value changed.

use std::ops::Range;

use serde::Serialize;
use serde::de::IgnoredAny;
use serde_json::ser::PrettyFormatter;
use serde_json::{Deserializer, Serializer, Value};

use super::{ParseError, without_commas, without_comments};

/// What JSON calls white space. Other blanks can only be part of a comment.
const BLANK: [char; 4] = [' ', '\t', '\n', '\r'];
const LINE_END: [char; 2] = ['\n', '\r'];

/// A text that is known to be a JSON object.
pub(super) struct Document {
    pub(super) text: String,
    /// Without comments.
    bare: String,
    /// Without trailing commas either: JSON. All three have everything at the same place.
    plain: String,
}

/// Where a value stands.
pub(super) struct Slot {
    /// Where its key begins, if it has one, else the value.
    start: usize,
    value: Range<usize>,
}

impl Document {
    /// Reads the text. One without a value is given an empty object.
    pub(super) fn read(text: &str) -> Result<Self, ParseError> {
        let mut text = text.to_owned();
        let mut bare = without_comments(&text);
        if bare.trim().is_empty() {
            if !bare.is_empty() && !bare.ends_with('\n') {
                text.push('\n');
            }
            text.push_str("{}\n");
            bare = without_comments(&text);
        }
        let plain = without_commas(&bare);
        if !serde_json::from_str::<Value>(&plain)?.is_object() {
            return Err(ParseError::NotAnObject);
        }
        Ok(Self { text, bare, plain })
    }

    pub(super) fn root(&self) -> Slot {
        let start = self.plain.len() - self.plain.trim_start().len();
        Slot { start, value: start..self.plain.trim_end().len() }
    }

    pub(super) fn value(&self, slot: &Slot) -> Value {
        serde_json::from_str(&self.plain[slot.value.clone()]).unwrap_or_default()
    }

    /// The position of the first list entry that equals this value.
    pub(super) fn entry(&self, list: &Slot, wanted: &Value) -> Option<usize> {
        self.slots(list).iter().position(|slot| self.value(slot) == *wanted)
    }

    /// The position of an object's member; if a name occurs twice, the last one counts.
    pub(super) fn member(&self, object: &Slot, name: &str) -> Option<Slot> {
        let at = self.position(object, name)?;
        self.slots(object).into_iter().nth(at)
    }

    pub(super) fn position(&self, object: &Slot, name: &str) -> Option<usize> {
        self.slots(object).iter().rposition(|slot| {
            let mut key = Deserializer::from_str(&self.plain[slot.start..]).into_iter::<String>();
            matches!(key.next(), Some(Ok(key)) if key == name)
        })
    }

    /// The entry of a list.
    pub(super) fn nth(&self, list: &Slot, index: usize) -> Option<Slot> {
        self.slots(list).into_iter().nth(index)
    }

    /// A value as it is written, comments included.
    pub(super) fn written_at(&self, slot: &Slot) -> &str {
        &self.text[slot.value.clone()]
    }

    /// Line and column of a value, counted from 1.
    pub(super) fn place(&self, slot: &Slot) -> (usize, usize) {
        let before = &self.text[..slot.value.start];
        let line = before.matches('\n').count() + 1;
        (line, before.chars().rev().take_while(|c| *c != '\n').count() + 1)
    }

    /// The values in an object or array.
    fn slots(&self, container: &Slot) -> Vec<Slot> {
        let mut slots = Vec::new();
        let mut at = container.value.start + 1;
        let has_keys = self.plain[container.value.start..].starts_with('{');
        while let Some(mut part) = self.part(at) {
            let start = part.start;
            if has_keys {
                part = self.part(part.end).unwrap_or(part);
            }
            at = part.end;
            slots.push(Slot { start, value: part });
        }
        slots
    }

    /// The next value; none before a closing bracket. Separators need no check, the text being JSON.
    fn part(&self, from: usize) -> Option<Range<usize>> {
        let rest = self.plain[from..].trim_start_matches(BLANK).trim_start_matches([',', ':']);
        let start = self.plain.len() - rest.trim_start_matches(BLANK).len();
        let mut values = Deserializer::from_str(&self.plain[start..]).into_iter::<IgnoredAny>();
        let Some(Ok(IgnoredAny)) = values.next() else { return None };
        Some(start..start + values.byte_offset())
    }

    /// The text with another value in the slot.
    pub(super) fn replace(&self, slot: &Slot, value: &Value) -> String {
        let indent = self.starts_line(slot.start).then(|| self.indent(slot.start));
        self.spliced([(slot.value.clone(), self.written(value, indent))])
    }

    /// The text with one more value in the object or array.
    pub(super) fn append(&self, container: &Slot, name: Option<&str>, value: &Value) -> String {
        let new = |indent: Option<&str>| {
            let value = self.written(value, indent);
            name.map_or_else(|| value.clone(), |name| format!("{}: {value}", Value::from(name)))
        };
        let (open, close) = (container.value.start + 1, container.value.end - 1);
        // After the comments that follow the last value: they are about that one.
        let end = self.text[..close].trim_end_matches(BLANK).len();
        let newline = self.newline();
        let slots = self.slots(container);
        let (Some(first), Some(last)) = (slots.first(), slots.last()) else {
            if !self.starts_line(container.start) {
                return self.spliced([(open..open, new(None))]);
            }
            let outer = self.indent(container.start);
            let indent = format!("{outer}{}", self.indent_unit());
            let new = new(Some(&indent));
            return self.spliced([(end..close, format!("{newline}{indent}{new}{newline}{outer}"))]);
        };
        let comma = self.comma(last.value.end..close);
        let after = last.value.end;
        if self.plain[open..first.start].contains(LINE_END) {
            let indent = self.indent(last.start);
            let new = format!("{newline}{indent}{}", new(Some(indent)));
            match comma {
                Some(_) => self.spliced([(end..end, new + ",")]),
                None => self.spliced([(after..after, ",".to_owned()), (end..end, new)]),
            }
        } else {
            match comma {
                Some(at) => self.spliced([(at + 1..at + 1, format!(" {},", new(None)))]),
                None => self.spliced([(after..after, format!(", {}", new(None)))]),
            }
        }
    }

    /// The text without one value of the object or array.
    pub(super) fn without(&self, container: &Slot, index: usize) -> String {
        let slots = self.slots(container);
        let Some(Slot { start, value }) = slots.get(index) else { return self.text.clone() };
        let (open, close) = (container.value.start + 1, container.value.end - 1);
        let empty = |range: Range<usize>| self.text[range].trim_matches(BLANK).is_empty();
        let next = slots.get(index + 1).map_or(close, |slot| slot.start);
        let after = self.comma(value.end..next);
        let tail = after.map_or(value.end, |at| at + 1);
        if slots.len() == 1 && empty(open..*start) && empty(tail..close) {
            return self.spliced([(open..close, String::new())]);
        }
        let before = || self.comma(slots[index.checked_sub(1)?].value.end..*start);
        let comma = after.or_else(before).map_or(0..0, |at| at..at + 1);
        let gap = self.text[..*start].trim_end_matches(BLANK).len();
        // The line goes too, unless something else stands on it.
        let rest = self.text[tail..].trim_start_matches([' ', '\t']);
        let on_own_line =
            rest.starts_with(LINE_END) && empty(value.end..comma.start.max(value.end));
        let same_line = !self.text[gap..*start].contains(LINE_END);
        // A bracket must not end up behind `//`.
        let last = self.text.len() - rest.len() == close && self.bare.as_bytes()[gap - 1] != b'\t';
        let from = if same_line || on_own_line || last { gap } else { *start };
        let comma_end = if gap == *start && after.is_some() && !rest.starts_with(LINE_END) {
            self.text.len() - rest.len()
        } else {
            comma.end
        };
        let mut splices =
            [(from..value.end, String::new()), (comma.start..comma_end, String::new())];
        splices.sort_by_key(|(range, _)| range.start);
        self.spliced(splices)
    }

    /// The comma in a stretch between two values.
    fn comma(&self, between: Range<usize>) -> Option<usize> {
        self.bare[between.clone()].find(',').map(|at| between.start + at)
    }

    /// The text with these stretches, in order, replaced.
    fn spliced<const N: usize>(&self, splices: [(Range<usize>, String); N]) -> String {
        let mut text = String::with_capacity(self.text.len());
        let mut at = 0;
        for (range, new) in splices {
            text.push_str(&self.text[at..range.start]);
            text.push_str(&new);
            at = range.end;
        }
        text.push_str(&self.text[at..]);
        text
    }

    /// A value as text: on one line, or over several of this indentation.
    fn written(&self, value: &Value, indent: Option<&str>) -> String {
        let Some(indent) = indent else { return value.to_string() };
        let mut pretty = Vec::new();
        let unit = self.indent_unit();
        let layout = PrettyFormatter::with_indent(unit.as_bytes());
        let done = value.serialize(&mut Serializer::with_formatter(&mut pretty, layout));
        match (done, String::from_utf8(pretty)) {
            (Ok(()), Ok(text)) => text.replace('\n', &format!("{}{indent}", self.newline())),
            _ => value.to_string(),
        }
    }

    fn newline(&self) -> &'static str {
        if self.text.contains("\r\n") { "\r\n" } else { "\n" }
    }

    /// What one level is indented by: as the first key is.
    fn indent_unit(&self) -> &str {
        let slots = self.slots(&self.root());
        let first = slots.first().filter(|slot| self.starts_line(slot.start));
        first
            .map(|slot| self.indent(slot.start))
            .filter(|indent| !indent.is_empty())
            .unwrap_or("  ")
    }

    fn line_start(&self, at: usize) -> usize {
        self.text[..at].rfind(LINE_END).map_or(0, |end| end + 1)
    }

    /// Whether nothing but blanks and comments stands before it on its line.
    fn starts_line(&self, at: usize) -> bool {
        self.bare[self.line_start(at)..at].trim_matches(BLANK).is_empty()
    }

    /// The blanks that its line begins with.
    fn indent(&self, at: usize) -> &str {
        let line = &self.text[self.line_start(at)..at];
        &line[..line.len() - line.trim_start_matches([' ', '\t']).len()]
    }
}
