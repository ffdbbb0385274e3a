//! The keybindings file: `{"bindings":[{"context":"Chat","bindings":{"ctrl+e":"chat:externalEditor"}}]}`.

use serde_json::{Map, Value, json};

use super::action::Action;
use super::context::Context;
use super::defaults::DEFAULTS;
use super::json::Json;
use super::key::{Chord, Key, KeyError, did_you_mean};
use super::{Binding, Keymap};

/// Keys that no file can change, and why. They are what a user gets out with.
const RESERVED: &[(Key, &str)] = &[
    (Key::ctrl('c'), "it always interrupts"),
    (Key::ctrl('d'), "it always exits"),
    (Key::ctrl('m'), "terminals cannot tell it from Enter"),
];

/// Something in a keybindings file that does not act.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {cause}")]
pub struct KeymapProblem {
    /// Where it is in the file, such as `bindings[0].bindings["ctrl+x"]`.
    pub place: String,
    /// What is wrong.
    pub cause: KeymapCause,
}

/// What is wrong with a part of a keybindings file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeymapCause {
    /// The file as a whole cannot be read; the place says where.
    #[error("{0}: the default keys are used")]
    Syntax(String),
    /// A value of another type.
    #[error("{0} is expected: this part is ignored")]
    Expected(&'static str),
    /// A context that does not exist.
    #[error("unknown context `{}`{}", ona_types::shown(.name), did_you_mean(*.meant))]
    UnknownContext {
        /// What is written.
        name: String,
        /// A similar name.
        meant: Option<&'static str>,
    },
    /// An action that does not exist.
    #[error("unknown action `{}`{}", ona_types::shown(.name), did_you_mean(*.meant))]
    UnknownAction {
        /// What is written.
        name: String,
        /// A similar name.
        meant: Option<&'static str>,
    },
    /// A key that cannot be read.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A key that always means the same.
    #[error("`{key}` cannot be changed: {why}")]
    Reserved {
        /// The key.
        key: Key,
        /// Why not.
        why: &'static str,
    },
    /// A key that is bound twice in a context.
    #[error("`{0}` is in the file more than once for this context: the last one counts")]
    Twice(Chord),
}

impl Keymap {
    /// The default keys as changed by the text of a keybindings file, and what of it does not act.
    pub fn with_file(text: &str) -> (Self, Vec<KeymapProblem>) {
        let mut reader = Reader { keymap: Self::default(), seen: Vec::new(), problems: Vec::new() };
        match serde_json::from_str::<Json>(text) {
            Ok(json) => reader.file(&json),
            Err(error) => {
                let place = format!("line {}, column {}", error.line(), error.column());
                // The place is not told twice.
                let message = error.to_string();
                let cause = message.split(" at line ").next().unwrap_or_default().to_owned();
                reader.problem(place, KeymapCause::Syntax(cause));
            }
        }
        (reader.keymap, reader.problems)
    }

    /// A keybindings file with all default keys, to start from.
    pub fn sample() -> String {
        let mut blocks: Vec<(Context, Map<String, Value>)> = Vec::new();
        for (context, keys, action) in DEFAULTS {
            let Ok(written) = Chord::written(keys) else { continue };
            if reserved(&written).is_some() {
                continue;
            }
            let binding = ((*keys).to_owned(), action.as_str().into());
            match blocks.iter_mut().find(|(known, _)| known == context) {
                Some((_, block)) => block.extend([binding]),
                None => blocks.push((*context, Map::from_iter([binding]))),
            }
        }
        let blocks: Vec<Value> = blocks
            .into_iter()
            .map(|(context, block)| json!({"context": context.as_str(), "bindings": block}))
            .collect();
        format!("{:#}\n", json!({ "bindings": blocks }))
    }
}

fn reserved(keys: &[Key]) -> Option<&'static (Key, &'static str)> {
    RESERVED.iter().find(|(key, _)| keys.contains(key))
}

struct Reader {
    keymap: Keymap,
    /// What the file has said something about.
    seen: Vec<(Context, Chord)>,
    problems: Vec<KeymapProblem>,
}

impl Reader {
    fn problem(&mut self, place: String, cause: KeymapCause) {
        self.problems.push(KeymapProblem { place, cause });
    }

    fn file(&mut self, json: &Json) {
        let Json::Object(fields) = json else {
            return self.problem("the file".to_owned(), KeymapCause::Expected("an object"));
        };
        // Further keys, such as `$schema`, are for others.
        for (_, value) in fields.iter().filter(|(name, _)| name == "bindings") {
            let Json::List(blocks) = value else {
                self.problem("bindings".to_owned(), KeymapCause::Expected("a list"));
                continue;
            };
            for (index, block) in blocks.iter().enumerate() {
                self.block(&format!("bindings[{index}]"), block);
            }
        }
        if json.get("bindings").is_none() {
            self.problem("bindings".to_owned(), KeymapCause::Expected("a list"));
        }
    }

    fn block(&mut self, place: &str, block: &Json) {
        let at = format!("{place}.context");
        let Some(Json::Text(name)) = block.get("context") else {
            return self.problem(at, KeymapCause::Expected("a context's name"));
        };
        let Some(context) = Context::from_name(name) else {
            let meant = ona_types::nearest(name, Context::ALL.iter().map(|known| known.as_str()));
            return self.problem(at, KeymapCause::UnknownContext { name: name.clone(), meant });
        };
        let at = format!("{place}.bindings");
        let Some(Json::Object(bindings)) = block.get("bindings") else {
            return self.problem(at, KeymapCause::Expected("an object of keys and actions"));
        };
        for (keys, action) in bindings {
            if let Err(cause) = self.binding(context, keys, action) {
                // As in JSON, so that the key can be searched for and nothing strange is printed.
                self.problem(format!("{at}[{}]", Value::from(ona_types::shown(keys))), cause);
            }
        }
    }

    fn binding(&mut self, context: Context, keys: &str, action: &Json) -> Result<(), KeymapCause> {
        let written = Chord::written(keys)?;
        if let Some((key, why)) = reserved(&written) {
            return Err(KeymapCause::Reserved { key: *key, why });
        }
        let action = match action {
            Json::Null => None,
            Json::Text(name) => Some(Action::from_name(name).ok_or_else(|| {
                let names = Action::ALL.iter().map(|known| known.as_str());
                KeymapCause::UnknownAction {
                    name: name.clone(),
                    meant: ona_types::nearest(name, names),
                }
            })?),
            _ => return Err(KeymapCause::Expected("an action's name or null")),
        };
        let chord = Chord::of(written);
        let bindings = &mut self.keymap.bindings;
        let same = |known: &Binding| known.context == context && known.chord == chord;
        match (bindings.iter().position(same), action) {
            (Some(known), Some(action)) => bindings[known].action = action,
            (Some(known), None) => {
                bindings.remove(known);
            }
            (None, Some(action)) => {
                bindings.push(Binding { context, chord: chord.clone(), action });
            }
            (None, None) => {}
        }
        let seen = (context, chord);
        if self.seen.contains(&seen) {
            return Err(KeymapCause::Twice(seen.1));
        }
        self.seen.push(seen);
        Ok(())
    }
}
