//! What a tool does, in the few words that phases, intents and the trace go by. Each tool says it of itself.

/// What a tool does to the work tree, as far as its name tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// It reads.
    Read,
    /// It writes files that its input names.
    Write(WriteAction),
    /// It runs a command line, which tells more.
    Command,
    /// It is an MCP server's tool: nobody here knows.
    Server,
    /// It selects the intent that the work is for.
    SelectIntent,
    /// Its effects have to tell.
    Other,
}

/// How a tool writes a file, in the words of the trace (S2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteAction {
    /// The whole file.
    Write,
    /// A part of it.
    Edit,
    /// By a patch, of one file or several.
    Patch,
    /// Something that is not text.
    Generate,
    /// Nobody says how.
    Unknown,
}

impl ToolKind {
    /// Whether its input names the files that it writes.
    pub fn writes_files(self) -> bool {
        matches!(self, Self::Write(_))
    }
}
