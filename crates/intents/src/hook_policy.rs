//! `.orchestration/hook_policy.yaml`: which commands and tools are harmless, and how strict the gate is.
//!
//! Two public formats are read besides ona's own; only ona's is written. Invalid content never loosens anything:
//! a policy that is not YAML, or contains an invalid regular expression, allows nothing without asking.

mod classify;
mod read;
mod write;

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use regex::bytes::Regex;

pub use crate::file::POLICY_FILE;
use crate::file::{LoadError, read_text};

pub use classify::{Class, Classified};
pub use write::NEW_POLICY;

/// What happens to writes when the gate itself cannot judge (S2 §3.3, DESIGN §3).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FailureMode {
    /// They are allowed, with a warning.
    #[default]
    Open,
    /// They are refused.
    Closed,
}

/// What happens to files a command changed outside the scope.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OutOfScopeWrite {
    /// They are reported.
    #[default]
    Report,
    /// They are put back.
    Revert,
}

/// What happens when a change is not of the class that was claimed for it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MutationClassCheck {
    /// It is recorded.
    #[default]
    Record,
    /// It is refused.
    Refuse,
}

/// Whether a write has to say for which intent it is, and of which class (DESIGN §5 no. 16).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum WriteMetadata {
    /// What is missing is inferred.
    #[default]
    Optional,
    /// S4: both, always.
    Required,
}

/// The classes of a change (S2 §2.5).
pub const MUTATION_CLASSES: [&str; 7] = [
    "AST_REFACTOR",
    "INTENT_EVOLUTION",
    "BUG_FIX",
    "DOCUMENTATION",
    "CONFIGURATION",
    "FILE_CREATION",
    "FILE_DELETION",
];

/// A regular expression that has to fit all of a text.
#[derive(Clone, Debug)]
pub(crate) struct Whole {
    text: String,
    regex: Regex,
}

/// The policy of a workspace.
#[derive(Clone, Debug, Default)]
pub struct HookPolicy {
    /// Regular expressions for commands that only read; without them ona's own list counts.
    readonly: Option<Vec<Whole>>,
    /// The first words of commands that only read (the second public shape).
    prefixes: Option<Vec<String>>,
    /// Regular expressions that make a command destructive wherever they hit.
    destructive: Vec<Whole>,
    /// What an MCP tool is that is not listed.
    pub mcp_default: Class,
    /// `mcp__server__tool`, with `*` in the tool's part.
    pub mcp_readonly: Vec<String>,
    /// Further tools that only read.
    pub tools_readonly: Vec<String>,
    /// Further tools that write.
    pub tools_write: Vec<String>,
    /// What happens when the gate cannot judge.
    pub failure_mode: FailureMode,
    /// What happens to files changed outside the scope.
    pub on_out_of_scope_write: OutOfScopeWrite,
    /// What happens to a change of another class than claimed.
    pub mutation_class_check: MutationClassCheck,
    /// Whether writes have to say what they are for.
    pub write_metadata: WriteMetadata,
    /// The classes a change may have, where they are narrowed.
    pub mutation_classes: Option<Vec<String>>,
    /// Warnings about the file.
    pub warnings: Vec<String>,
    /// Why the file counts as one that allows nothing.
    pub broken: Option<String>,
    /// ona's own list, for the workspace it was first asked about.
    own_list: OnceLock<(PathBuf, ona_policy::Permissions)>,
}

impl HookPolicy {
    /// Reads the policy of a workspace. Without a file the defaults count.
    pub fn load(root: &Path) -> Self {
        match read_text(root, POLICY_FILE) {
            Ok(text) => Self::read(&text),
            Err(LoadError::Missing) => Self::default(),
            Err(error) => Self::broken(error.to_string()),
        }
    }

    /// A policy that allows nothing without asking, and never skips judging: the author wanted to
    /// restrict something.
    fn broken(why: String) -> Self {
        Self {
            readonly: Some(Vec::new()),
            failure_mode: FailureMode::Closed,
            broken: Some(why),
            ..Self::default()
        }
    }

    /// The classes a change may have.
    pub fn classes(&self) -> Vec<&str> {
        match &self.mutation_classes {
            Some(classes) => classes.iter().map(String::as_str).collect(),
            None => MUTATION_CLASSES.to_vec(),
        }
    }
}
