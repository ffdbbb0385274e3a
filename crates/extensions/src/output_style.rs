//! Output styles: texts that say how the model answers, as part of its system prompt.
//!
//! Three are built in; others are Markdown files in `output-styles` of `.claude`, of the user's directory and of plugins.

use std::path::PathBuf;

use ona_config::trust::Origin;

use crate::keys::{KeyError, Keys};
use crate::notes::Notes;

/// The style that adds nothing.
pub const DEFAULT_STYLE: &str = "default";

/// The keys of a style's file.
const KNOWN: [&str; 3] = ["name", "description", "keep-coding-instructions"];

/// How the model answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutputStyle {
    /// Its name, as it is shown. Names are compared without regard to case.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What the system prompt says. Nothing in the default style.
    pub body: String,
    /// Whether the instructions for coding stay in the system prompt.
    pub keeps_coding: bool,
    /// Where it comes from.
    pub origin: Origin,
    /// Its file.
    pub path: Option<PathBuf>,
}

impl OutputStyle {
    /// Whether it goes by this name.
    pub fn is_named(&self, name: &str) -> bool {
        self.name.to_lowercase() == name.to_lowercase()
    }
}

/// The built-in styles.
pub(crate) fn builtin() -> Vec<OutputStyle> {
    let style = |name: &str, description: &str, body: &str| OutputStyle {
        name: name.to_owned(),
        description: description.to_owned(),
        body: body.to_owned(),
        keeps_coding: true,
        origin: Origin::BuiltIn,
        path: None,
    };
    vec![
        style(DEFAULT_STYLE, "Does the work and answers briefly", ""),
        style(
            "Explanatory",
            "Explains choices and how the code base does things",
            "The user wants to understand the work as well as have it done. Before and after you change code, add a short \
             section headed `Insight` with two or three points about this code base or this choice: why it is done so, \
             which alternative was left, what a reader should know to change it later. Keep to what is particular here; \
             leave out what every textbook says. Insights go into your answer, never into the code.",
        ),
        style(
            "Learning",
            "Leaves small pieces of the code to the user, and helps with them",
            "The user wants to learn by doing. Do the routine work yourself, and leave to the user some pieces that \
             decide something: at most ten lines each, such as a rule, an algorithm or the handling of an error. For \
             such a piece write everything around it, put a comment `TODO(human)` where it belongs, and ask: say what the \
             piece has to do, which file and function it is in, and what speaks for which solution. Then wait for the \
             user. There is never more than one open piece. When the user has written it, comment on it in one or two \
             sentences and go on.",
        ),
    ]
}

/// Reads a style from a file.
pub(crate) fn read(
    (stem, plugin): (&str, Option<&str>),
    keys: &Keys,
    body: &str,
    origin: &Origin,
    notes: &mut Notes<'_>,
) -> Result<OutputStyle, KeyError> {
    for key in keys.names().filter(|key| !KNOWN.contains(key)) {
        if let Some(meant) = ona_types::nearest(key, KNOWN) {
            let why = format!("`{key}` is not a key of an output style");
            notes.warn(keys.line(key), why, &format!("did you mean `{meant}`?"));
        }
    }
    let own = keys.text("name")?.filter(|name| !name.trim().is_empty());
    let own = own.unwrap_or_else(|| stem.to_owned());
    if own.chars().any(char::is_control) || own.chars().count() > 64 {
        return Err(keys.bad("name", "must be up to 64 printable characters"));
    }
    if body.trim().is_empty() {
        let why = "an output style needs a text after its front matter".to_owned();
        return Err(KeyError { line: None, why });
    }
    Ok(OutputStyle {
        name: plugin.map_or_else(|| own.clone(), |id| format!("{id}:{own}")),
        description: keys.text("description")?.unwrap_or_default(),
        body: body.trim().to_owned(),
        keeps_coding: keys.flag("keep-coding-instructions")?.unwrap_or(false),
        origin: origin.clone(),
        path: notes.path(),
    })
}
