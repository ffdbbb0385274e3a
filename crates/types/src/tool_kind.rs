//! What a tool does, as far as phases, intents and the trace need to know. Each tool declares it.

/// What a tool does to the work tree.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ToolKind {
    /// It reads.
    Read,
    /// It writes files that its input names.
    Write(WriteAction),
    /// It runs a command line; its effects depend on the command.
    Command,
    /// It is an MCP server's tool: its effects are unknown.
    Server,
    /// It selects the intent that the work is for.
    SelectIntent,
    /// Anything else: its declared effects decide.
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
    /// Unknown.
    Unknown,
}

impl ToolKind {
    /// Whether its input names the files that it writes.
    pub fn writes_files(self) -> bool {
        matches!(self, Self::Write(_))
    }
}
