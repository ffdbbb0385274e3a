//! What a front end shows besides the conversation: the state of the session, replies to commands, lists to choose
//! from. Every choice is again a command line, so every front end, however plain, can offer all of them.

use ona_types::PermissionMode;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{FileDiff, Refused};

/// The state of the session, for a status line.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Status {
    /// The session's id.
    pub session_id: String,
    /// Its name.
    pub name: Option<String>,
    /// The working directory, as the user would name it.
    pub cwd: String,
    /// The phase of the conversation.
    pub phase: String,
    /// The selected intent; `None` if the project has intents and none is selected, empty if it has none.
    pub intent: Option<String>,
    /// The bead that is worked on.
    pub bead: Option<String>,
    /// The permission mode.
    pub mode: PermissionMode,
    /// The level of the sandbox.
    pub sandbox: String,
    /// The provider.
    pub provider: String,
    /// The model's wire name.
    pub model: String,
    /// The reasoning effort, if one is set.
    pub effort: Option<String>,
    /// Whether the model thinks before it answers.
    pub thinking: bool,
    /// The size of the context at the last model call, in tokens.
    pub context_tokens: u64,
    /// The model's context window, if it is known.
    pub context_window: Option<u64>,
    /// The cost of the session so far, at list prices.
    pub cost_usd: f64,
    /// How many commands and agents run in the background.
    pub background: usize,
}

/// The user's preferences for a front end, from the settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Preferences {
    /// The theme.
    pub theme: Option<String>,
    /// `normal` or `vim`.
    pub editor_mode: Option<String>,
    /// Show tool output whole.
    pub verbose: bool,
    /// Show code without colours.
    pub syntax_highlighting_disabled: bool,
    /// How the user is notified: `auto`, `terminal_bell`, `iterm2`, `kitty`, `ghostty` or `notifications_disabled`.
    pub preferred_notif_channel: Option<String>,
    /// The colour of the prompt in this session.
    pub colour: Option<String>,
    /// Nothing moves by itself.
    pub prefers_reduced_motion: bool,
    /// Plain lines for a screen reader.
    pub screen_reader: bool,
    /// The user's key bindings, as the text of their file.
    pub keybindings: Option<String>,
}

/// A command that the menu offers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CommandInfo {
    /// Its name, without the slash.
    pub name: String,
    /// Other names.
    #[serde(default)]
    pub aliases: Vec<String>,
    /// Its arguments, such as `[model]`.
    #[serde(default)]
    pub arguments: String,
    /// What it does.
    pub description: String,
    /// Where it comes from: `ona`, `skill`, `command` or the name of an MCP server.
    pub source: String,
    /// Whether it runs at once, also while the agent is at work.
    #[serde(default)]
    pub immediate: bool,
    /// Whether it is one that ona does not have: it is not offered, and says why.
    #[serde(default)]
    pub closed: bool,
}

impl CommandInfo {
    /// Whether this is its name or another one of its names.
    pub fn is_called(&self, name: &str) -> bool {
        self.name == name || self.aliases.iter().any(|alias| alias == name)
    }
}

/// The answer to a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "reply", rename_all = "snake_case")]
pub enum Reply {
    /// A text in Markdown.
    Text {
        /// The text.
        text: String,
    },
    /// Text as it is: output of a command, a listing.
    Plain {
        /// The text.
        text: String,
    },
    /// An error, in one line, with what to do in further lines.
    Error {
        /// The text.
        text: String,
    },
    /// A list to choose from.
    Menu {
        /// The list.
        menu: Menu,
    },
    /// Changes of files, by where they come from.
    Diffs {
        /// The sources.
        sources: Vec<DiffSource>,
    },
}

/// A list to choose from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Menu {
    /// Its title.
    pub title: String,
    /// A text above it, in Markdown.
    #[serde(default)]
    pub text: String,
    /// What can be chosen.
    pub items: Vec<MenuItem>,
    /// The item that is selected first.
    #[serde(default)]
    pub selected: usize,
    /// Further keys, which act on the selected item.
    #[serde(default)]
    pub keys: Vec<MenuKey>,
}

/// An item of a list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct MenuItem {
    /// What it is called.
    pub label: String,
    /// More about it, in one line.
    #[serde(default)]
    pub detail: String,
    /// Whether it is the one in force.
    #[serde(default)]
    pub current: bool,
    /// What choosing it does.
    #[serde(default)]
    pub choice: Choice,
    /// What stands for `{}` in the commands of keys.
    #[serde(default)]
    pub value: String,
    /// What stands for `{file}` there: a name for a file of it.
    #[serde(default)]
    pub file: String,
    /// What a search finds besides the label and the detail.
    #[serde(default)]
    pub search: String,
}

impl MenuItem {
    /// Whether a search for these words finds it.
    #[must_use]
    pub fn fits(&self, words: &str) -> bool {
        let words = words.to_lowercase();
        [&self.label, &self.detail, &self.search]
            .iter()
            .any(|text| text.to_lowercase().contains(&words))
    }
}

/// What choosing an item does.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "choice", rename_all = "snake_case")]
pub enum Choice {
    /// Nothing: the list closes.
    #[default]
    Close,
    /// Runs a command line.
    Command {
        /// The line.
        line: String,
    },
    /// Asks for a text, and runs a command line that ends with it.
    Type {
        /// What is asked for.
        label: String,
        /// The line, without the text.
        line: String,
        /// What the text is at first.
        initial: String,
    },
}

impl Choice {
    /// The same for an item, whose value stands for `{}` and whose file for `{file}`.
    #[must_use]
    pub fn filled(&self, item: &MenuItem) -> Self {
        let filled = |line: &str| line.replace("{file}", &item.file).replace("{}", &item.value);
        match self {
            Self::Close => Self::Close,
            Self::Command { line } => Self::Command { line: filled(line) },
            Self::Type { label, line, initial } => {
                Self::Type { label: label.clone(), line: filled(line), initial: filled(initial) }
            }
        }
    }
}

/// A further key of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MenuKey {
    /// The key. `<` and `>` are also the arrows to the left and to the right.
    pub key: char,
    /// What it does, in a word or two.
    pub label: String,
    /// The command line; `{}` is the item's value.
    pub choice: Choice,
}

/// Changes of files from one source.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffSource {
    /// What it is: `uncommitted changes`, or a prompt.
    pub name: String,
    /// The changed files.
    pub files: Vec<FileDiff>,
    /// Why something is missing, if it is.
    #[serde(default)]
    pub note: String,
}

/// An entry of the transcript, as it is shown.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Shown {
    /// Its number in the transcript.
    pub sequence: i64,
    /// The entry.
    #[serde(flatten)]
    pub what: ShownEntry,
}

/// What an entry of the transcript says.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum ShownEntry {
    /// A prompt of the user.
    User {
        /// The text.
        text: String,
    },
    /// Words of the model.
    Assistant {
        /// The text.
        text: String,
    },
    /// What the model thought.
    Thinking {
        /// The text.
        text: String,
    },
    /// A call, and its result if it has one.
    Call {
        /// The tool.
        tool: String,
        /// Its input.
        input: Value,
        /// The result for the model, and whether it failed.
        result: Option<(String, bool)>,
        /// Who refused it.
        #[serde(default)]
        refused: Option<Refused>,
    },
    /// Something that ona says: a compaction, an interruption, an error.
    Note {
        /// The text.
        text: String,
    },
}

/// A command or an agent in the background.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskInfo {
    /// Its id.
    pub id: String,
    /// `shell` or `agent`.
    pub kind: String,
    /// What it does.
    pub what: String,
}
