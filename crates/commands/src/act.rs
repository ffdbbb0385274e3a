//! What a command comes to: an answer, a change, or something that the console has to do with the agent.

use ona_engine::{LiveChange, Which};
use ona_front::{Event, Menu, Reply};
use ona_types::hook::SessionEndReason;
use serde_json::Value;

use crate::testing::Testing;

/// What a command comes to.
#[derive(Debug)]
pub(crate) enum Act {
    /// An answer.
    Reply(Reply),
    /// A change of the agent, and the answer.
    Change(Box<LiveChange>, Reply),
    /// Something for the front-end to do, and the answer.
    Tell(Box<Event>, Reply),
    /// A prompt for the model.
    Prompt(String),
    /// Compacts the context.
    Compact(Option<String>),
    /// A call of the operator, then a prompt if there is one.
    Call {
        /// The tool.
        tool: &'static str,
        /// Its input.
        input: Value,
        /// The prompt.
        then: Option<String>,
        /// What it came to, for the user: its own words are for the model.
        said: String,
    },
    /// Another session.
    Open {
        /// Which.
        which: Which,
        /// Why the present one ends.
        reason: SessionEndReason,
        /// The name of the new one.
        name: Option<String>,
        /// The answer, in the new session.
        said: String,
        /// A text for the prompt of the new session.
        input: Option<String>,
    },
    /// Settings were changed on disk: they are read again.
    Reload(Reply),
    /// Skills, commands, agents and plugins are read again, after this.
    ReloadExtensions(Option<String>),
    /// Another directory to work in.
    AddDir(std::path::PathBuf),
    /// The model is connected again: somebody signed in or out.
    Reconnect(Reply),
    /// Repeats a prompt.
    Loop {
        /// Seconds between the end of a turn and the next.
        every: u64,
        /// The prompt.
        prompt: String,
    },
    /// Has tests written, or runs them.
    Tests(Testing),
    /// Ends the session.
    Exit,
}

impl Act {
    /// A text in Markdown.
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Reply(Reply::Text { text: text.into() })
    }

    /// A text as it is.
    pub(crate) fn plain(text: impl Into<String>) -> Self {
        Self::Reply(Reply::Plain { text: text.into() })
    }

    /// An error.
    pub(crate) fn error(text: impl Into<String>) -> Self {
        Self::Reply(Reply::Error { text: text.into() })
    }

    /// A list to choose from.
    pub(crate) fn menu(menu: Menu) -> Self {
        Self::Reply(Reply::Menu { menu })
    }
}
