//! Which call a fragment belongs to.
//!
//! OpenAI numbers the calls of an answer and gives the id and the name with the first fragment of each.
//! Servers that imitate it leave out the number or the id, number every call 0, repeat the name with every
//! fragment, or send whole calls at once. The rules here read all of them.

use serde_json::Value;

/// One fragment, in plain words.
#[derive(Debug, Default)]
pub(super) struct Fragment {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: String,
}

impl Fragment {
    /// Reads an element of `tool_calls`, or the old `function_call`.
    pub(super) fn read(value: &Value) -> Self {
        let function = match &value["function"] {
            Value::Null => value,
            function => function,
        };
        let filled =
            |value: &Value| value.as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        let arguments = match &function["arguments"] {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            // An object, where its text should be.
            other => other.to_string(),
        };
        Self {
            index: value["index"].as_u64(),
            id: filled(&value["id"]),
            name: filled(&function["name"]),
            arguments,
        }
    }
}

/// A call as far as it is known.
#[derive(Debug, Default)]
pub(super) struct Call {
    index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) name: Option<String>,
    pub(super) arguments: String,
    /// The block it became; a call becomes one when its name is known.
    pub(super) block: Option<u64>,
}

impl Call {
    /// Whether it has all its arguments, so that another name means another call.
    fn is_whole(&self) -> bool {
        self.name.is_some()
            && serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }
}

/// The calls of one answer.
#[derive(Debug, Default)]
pub(super) struct Calls(pub(super) Vec<Call>);

impl Calls {
    /// Adds the fragment to the call it belongs to, perhaps a new one, and says which that is.
    pub(super) fn add(&mut self, fragment: &Fragment) -> usize {
        let at = self.place(fragment).unwrap_or_else(|| {
            self.0.push(Call { index: fragment.index, ..Call::default() });
            self.0.len() - 1
        });
        let call = &mut self.0[at];
        call.id = call.id.take().or_else(|| fragment.id.clone());
        call.name = call.name.take().or_else(|| fragment.name.clone());
        call.arguments.push_str(&fragment.arguments);
        at
    }

    fn place(&self, fragment: &Fragment) -> Option<usize> {
        let numbered = |call: &Call| fragment.index.is_none() || call.index == fragment.index;
        if let Some(id) = &fragment.id {
            let known =
                self.0.iter().rposition(|call| numbered(call) && call.id.as_ref() == Some(id));
            // The id may come late, but a name that comes with it is that of another call.
            let nameless =
                |call: &Call| call.id.is_none() && !(fragment.name.is_some() && call.is_whole());
            let late = || self.0.iter().rposition(|call| numbered(call) && nameless(call));
            return known.or_else(late).filter(|at| !self.repeats(*at, fragment));
        }
        let last = self.0.iter().rposition(numbered)?;
        (!self.repeats(last, fragment)).then_some(last)
    }

    /// Whether the fragment begins a call of its own although its number or id is taken.
    fn repeats(&self, at: usize, fragment: &Fragment) -> bool {
        fragment.name.is_some() && !fragment.arguments.is_empty() && self.0[at].is_whole()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    fn read(fragments: &[Value]) -> Vec<(String, String, String)> {
        let mut calls = Calls::default();
        for fragment in fragments {
            calls.add(&Fragment::read(fragment));
        }
        let told = calls.0.into_iter().map(|call| {
            (call.id.unwrap_or_default(), call.name.unwrap_or_default(), call.arguments)
        });
        told.collect()
    }

    fn call(id: &str, name: &str, arguments: &str) -> (String, String, String) {
        (id.to_owned(), name.to_owned(), arguments.to_owned())
    }

    #[test]
    fn fragments_find_their_call() {
        let f = |name: &str, arguments: &str| json!({"name": name, "arguments": arguments});
        let two = vec![call("a", "R", "{\"x\":1}"), call("b", "W", "{}")];
        for (what, fragments, expected) in [
            (
                "as OpenAI does it",
                vec![
                    json!({"index": 0, "id": "a", "type": "function", "function": f("R", "")}),
                    json!({"index": 0, "function": {"arguments": "{\"x\""}}),
                    json!({"index": 0, "function": {"arguments": ":1}"}}),
                    json!({"index": 1, "id": "b", "function": f("W", "")}),
                    json!({"index": 1, "function": {"arguments": "{}"}}),
                ],
                two.clone(),
            ),
            (
                "two at a time",
                vec![
                    json!({"index": 0, "id": "a", "function": f("R", "{\"x\"")}),
                    json!({"index": 1, "id": "b", "function": f("W", "{")}),
                    json!({"index": 0, "function": {"arguments": ":1}"}}),
                    json!({"index": 1, "function": {"arguments": "}"}}),
                ],
                two.clone(),
            ),
            (
                "whole, all numbered 0",
                vec![
                    json!({"index": 0, "id": "a", "function": f("R", "{\"x\":1}")}),
                    json!({"index": 0, "id": "b", "function": f("W", "{}")}),
                ],
                two.clone(),
            ),
            (
                "whole, without numbers",
                vec![
                    json!({"id": "a", "function": f("R", "{\"x\":1}")}),
                    json!({"id": "b", "function": f("W", "{}")}),
                ],
                two.clone(),
            ),
            (
                "in fragments, without numbers",
                vec![
                    json!({"id": "a", "function": f("R", "")}),
                    json!({"function": {"arguments": "{\"x\":1}"}}),
                    json!({"id": "b", "function": f("W", "")}),
                    json!({"function": {"arguments": "{}"}}),
                ],
                two.clone(),
            ),
            (
                "id and name repeated",
                vec![
                    json!({"index": 0, "id": "a", "function": f("R", "{\"x\"")}),
                    json!({"index": 0, "id": "a", "function": f("R", ":1}")}),
                    json!({"index": 1, "id": "b", "function": f("W", "{}")}),
                ],
                two,
            ),
            (
                "without ids, all numbered 0, the same tool twice",
                vec![
                    json!({"index": 0, "function": f("R", "{\"x\":1}")}),
                    json!({"index": 0, "function": f("R", "{\"x\":1}")}),
                ],
                vec![call("", "R", "{\"x\":1}"), call("", "R", "{\"x\":1}")],
            ),
            (
                "the same id for two whole calls",
                vec![
                    json!({"index": 0, "id": "a", "function": f("R", "{}")}),
                    json!({"index": 1, "id": "a", "function": f("W", "{}")}),
                ],
                vec![call("a", "R", "{}"), call("a", "W", "{}")],
            ),
            (
                "arguments as an object",
                vec![json!({"id": "a", "function": {"name": "R", "arguments": {"x": 1}}})],
                vec![call("a", "R", "{\"x\":1}")],
            ),
            (
                "a trailing empty fragment",
                vec![
                    json!({"index": 0, "id": "a", "function": f("R", "{}")}),
                    json!({"index": 0, "id": "a", "function": f("R", "")}),
                ],
                vec![call("a", "R", "{}")],
            ),
            (
                "the old way",
                vec![f("R", "{"), json!({"arguments": "}"})],
                vec![call("", "R", "{}")],
            ),
        ] {
            assert_eq!(read(&fragments), expected, "{what}");
        }
    }

    proptest! {
        /// Two calls, their arguments cut anywhere and mixed in any order.
        #[test]
        fn any_cutting_of_arguments_gives_the_same_calls(
            texts in proptest::array::uniform2("\\{\"[a-zä€]{1,8}\":\"[a-z\\{\\}é]{0,12}\"\\}"),
            size in 1_usize..7,
            turns in proptest::collection::vec(any::<bool>(), 0..40),
        ) {
            let mut fragments = Vec::new();
            let mut queues: Vec<std::collections::VecDeque<Value>> = Vec::new();
            for (index, text) in texts.iter().enumerate() {
                let id = format!("call_{index}");
                fragments.push(json!({"index": index, "id": id, "function": {"name": "T", "arguments": ""}}));
                let letters: Vec<char> = text.chars().collect();
                queues.push(letters.chunks(size).map(|piece| {
                    let piece: String = piece.iter().collect();
                    json!({"index": index, "function": {"arguments": piece}})
                }).collect());
            }
            for second in turns {
                fragments.extend(queues[usize::from(second)].pop_front());
            }
            fragments.extend(queues.into_iter().flatten());
            let expected: Vec<_> = texts.iter().enumerate()
                .map(|(index, text)| call(&format!("call_{index}"), "T", text)).collect();
            prop_assert_eq!(read(&fragments), expected);
        }
    }
}
