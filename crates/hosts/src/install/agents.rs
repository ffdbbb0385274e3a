//! The agents that ona governs from outside: which of their files ona writes, and what it writes there.

/// An agent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Agent {
    /// Claude Code.
    ClaudeCode,
    /// OpenAI Codex.
    Codex,
    /// Roo Code, and its successor Zoo Code.
    RooCode,
}

/// No agent that ona knows has this name.
#[derive(Debug, thiserror::Error)]
#[error("unknown agent `{0}`")]
pub struct UnknownAgent(String);

impl std::str::FromStr for Agent {
    type Err = UnknownAgent;

    fn from_str(name: &str) -> Result<Self, UnknownAgent> {
        let known = Self::ALL.into_iter().find(|agent| agent.name() == name);
        known.ok_or_else(|| UnknownAgent(name.to_owned()))
    }
}

/// An event that ona wants to hear of.
#[derive(Clone, Copy, Debug)]
pub struct Event {
    pub name: &'static str,
    /// Whether it is about a tool, so that its hooks have a matcher.
    pub of_tools: bool,
}

const fn of_tools(name: &'static str) -> Event {
    Event { name, of_tools: true }
}

const fn other(name: &'static str) -> Event {
    Event { name, of_tools: false }
}

const CLAUDE_CODE: &[Event] = &[
    other("SessionStart"),
    other("UserPromptSubmit"),
    of_tools("PreToolUse"),
    of_tools("PostToolUse"),
    of_tools("PostToolUseFailure"),
    other("Stop"),
    other("SessionEnd"),
];

/// Codex tells of a failed call by PostToolUse as well.
const CODEX: &[Event] = &[
    other("SessionStart"),
    other("UserPromptSubmit"),
    of_tools("PreToolUse"),
    of_tools("PostToolUse"),
    other("Stop"),
    other("SessionEnd"),
];

/// A file with hooks, and the events they are on.
#[derive(Clone, Copy, Debug)]
pub struct Hooks {
    pub file: &'static str,
    pub events: &'static [Event],
}

/// Where an agent looks for MCP servers.
#[derive(Clone, Copy, Debug)]
pub enum Servers {
    Json(&'static str),
    Toml(&'static str),
}

impl Agent {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::ClaudeCode, Self::Codex, Self::RooCode];

    /// Its name for people.
    pub fn title(self) -> &'static str {
        match self {
            Self::ClaudeCode => "Claude Code",
            Self::Codex => "OpenAI Codex",
            Self::RooCode => "Roo Code, and its successor Zoo Code",
        }
    }

    /// Its name in commands.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClaudeCode => "claude_code",
            Self::Codex => "codex",
            Self::RooCode => "roo_code",
        }
    }

    /// Nothing for an agent that has no hooks.
    pub fn hooks(self) -> Option<Hooks> {
        match self {
            Self::ClaudeCode => Some(Hooks { file: ".claude/settings.json", events: CLAUDE_CODE }),
            Self::Codex => Some(Hooks { file: ".codex/hooks.json", events: CODEX }),
            Self::RooCode => None,
        }
    }

    /// The file with MCP servers.
    pub fn servers(self) -> Servers {
        match self {
            Self::ClaudeCode => Servers::Json(".mcp.json"),
            Self::Codex => Servers::Toml(".codex/config.toml"),
            Self::RooCode => Servers::Json(".roo/mcp.json"),
        }
    }

    /// The file with instructions that gets a part of ona's.
    pub fn instructions(self) -> Option<&'static str> {
        match self {
            Self::ClaudeCode => Some("CLAUDE.md"),
            Self::Codex => Some("AGENTS.md"),
            Self::RooCode => None,
        }
    }

    /// The file with modes that gets one of ona's.
    pub fn modes(self) -> Option<&'static str> {
        match self {
            Self::RooCode => Some(".roomodes"),
            _ => None,
        }
    }

    /// What the operator still has to know.
    pub fn note(self) -> &'static str {
        match self {
            Self::ClaudeCode => {
                "Claude Code reads hooks when it starts, and asks once whether to use the server in .mcp.json"
            }
            Self::Codex => {
                "Codex runs these hooks only in a trusted project, and only after you have reviewed them with /hooks; \
                 until then nothing is gated. Its own file reads and web searches are never gated"
            }
            Self::RooCode => {
                "Roo Code has no hooks: ona cannot deny a write before it happens. The mode asks the model to select an \
                 intent and to check the scope; `ona trace reconcile` shows afterwards what it changed without one"
            }
        }
    }
}

/// The agent's instructions about intents: what the gate expects, and what its refusals mean.
pub const INSTRUCTIONS: &str = "\
## Intents

Every change in this repository belongs to an intent in `.orchestration/active_intents.yaml`, and stays in its scope.

1. Before the first change, call `select_active_intent` of the MCP server `ona` with the intent's id. `list_intents`
   shows which there are.
2. The answer is the intent's context: change only files in its `owned_scope`, keep to its constraints, work towards its
   acceptance criteria. `check_scope` tells beforehand whether a path is in scope.
3. If no intent fits, ask the user. Do not widen a scope or add an intent yourself.

A refusal is JSON with a `type` and a `hint`. Do what the hint says; do not try the same change another way.

| `type` | Means |
|---|---|
| `intent_required` | no intent is selected: select one |
| `invalid_intent`, `intent_inactive`, `intent_blocked` | that one cannot be worked on: select another, or ask the user |
| `scope_violation`, `path_blocked` | the file is not this intent's: leave it, or ask the user |
| `scope_validation_failed` | it cannot be told which files would change: name them, or use an editing tool |
| `stale_file` | the file has changed since you read it: read it again |
| `missing_intents`, `intent_parse_failed` | the file of intents is missing or broken: tell the user |
";

/// The mode's slug.
pub const MODE: &str = "ona-governed";

/// What the mode is, as its members in order.
pub const MODE_MEMBERS: [(&str, &str); 3] = [
    ("slug", MODE),
    ("name", "Governed (ona)"),
    (
        "roleDefinition",
        "You are a software engineer whose every change belongs to an intent of this repository and stays in its scope.",
    ),
];

/// What the mode may use.
pub const MODE_GROUPS: [&str; 4] = ["read", "edit", "command", "mcp"];
