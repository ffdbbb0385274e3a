//! Which action a key means, depending on where it is pressed.

mod action;
mod context;
mod defaults;
mod file;
mod json;
mod key;
#[cfg(test)]
mod tests;

pub use action::Action;
pub use context::Context;
pub use file::{KeymapCause, KeymapProblem};
pub use key::{Chord, Key, KeyError, KeyName};

use crossterm::event::KeyEvent;

use defaults::DEFAULTS;

/// Which keys do what.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Keymap {
    /// In the order of the help view. A chord is bound once in a context.
    bindings: Vec<Binding>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Binding {
    context: Context,
    chord: Chord,
    action: Action,
}

/// The keys of a chord that were pressed so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pressed(Vec<Key>);

impl Pressed {
    /// Whether a chord has begun.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Forgets the keys, as when the chord takes too long.
    pub fn clear(&mut self) {
        self.0.clear();
    }
}

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Press {
    /// It means this.
    Action(Action),
    /// It is the start of a chord.
    Pending,
    /// It means nothing here. It may be text: see [`Key::typed`].
    None,
}

impl Default for Keymap {
    fn default() -> Self {
        let binding = |(context, keys, action): &(Context, &str, Action)| {
            let chord = keys.parse().ok()?;
            Some(Binding { context: *context, chord, action: *action })
        };
        // A test reads every default key, so none is left out.
        Self { bindings: DEFAULTS.iter().filter_map(binding).collect() }
    }
}

impl Keymap {
    /// What a key means in these contexts, the innermost first. An unfinished chord that the key does not go on with is
    /// dropped; the key then counts by itself, so that nothing that is typed gets lost.
    pub fn press(&self, pressed: &mut Pressed, contexts: &[Context], event: KeyEvent) -> Press {
        // The release of a chord's first key is no part of it.
        let Some(key) = Key::of(&event) else { return Press::None };
        let begun = !pressed.is_empty();
        pressed.0.push(key);
        let press = match self.meaning(&pressed.0, contexts) {
            Press::None if begun => {
                pressed.0 = vec![key];
                self.meaning(&pressed.0, contexts)
            }
            press => press,
        };
        if press != Press::Pending {
            pressed.clear();
        }
        press
    }

    fn meaning(&self, keys: &[Key], contexts: &[Context]) -> Press {
        for context in contexts {
            let bindings = self.bindings.iter().filter(|binding| binding.context == *context);
            let mut exact = None;
            for binding in bindings.filter(|binding| binding.chord.keys().starts_with(keys)) {
                // A chord goes before a single key that begins it: else it could not be pressed.
                if binding.chord.keys().len() > keys.len() {
                    return Press::Pending;
                }
                exact = Some(binding.action);
            }
            if let Some(action) = exact {
                return Press::Action(action);
            }
        }
        Press::None
    }

    /// What can be done in a context: the keys, the most usual first, and the action.
    pub fn describe(&self, context: Context) -> Vec<(String, Action)> {
        let mut rows: Vec<(String, Action)> = Vec::new();
        for binding in self.bindings.iter().filter(|binding| binding.context == context) {
            match rows.iter_mut().find(|(_, action)| *action == binding.action) {
                Some((keys, _)) => {
                    keys.push_str(", ");
                    keys.push_str(&binding.chord.to_string());
                }
                None => rows.push((binding.chord.to_string(), binding.action)),
            }
        }
        rows
    }

    /// The key to name in a hint, such as "ctrl+o to show all".
    pub fn key_for(&self, context: Context, action: Action) -> Option<String> {
        let wanted = |binding: &&Binding| binding.context == context && binding.action == action;
        self.bindings.iter().find(wanted).map(|binding| binding.chord.to_string())
    }
}
