//! What matters about agents, skills and commands for trust: their origin, and what they would run or permit.

use std::fmt;
use std::path::PathBuf;

use serde_json::{Map, Value};

/// Where an extension comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// The organisation's.
    Managed,
    /// Given on the command line.
    Given,
    /// The project's.
    Project,
    /// The user's.
    User,
    /// A further working directory's.
    Additional,
    /// A plugin's, by its id.
    Plugin(String),
    /// ona's own.
    BuiltIn,
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Managed => "managed",
            Self::Given => "the command line",
            Self::Project => "project",
            Self::User => "user",
            Self::Additional => "added directory",
            Self::Plugin(id) => return write!(f, "plugin {id}"),
            Self::BuiltIn => "built in",
        })
    }
}

/// What an extension's file would do besides giving the model text.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ExtensionEffects {
    /// The file.
    pub file: PathBuf,
    /// What would run.
    pub runs: Map<String, Value>,
    /// What would be allowed without asking.
    pub permits: Map<String, Value>,
}

impl ExtensionEffects {
    /// Whether it is only text.
    pub fn is_nothing(&self) -> bool {
        self.runs.is_empty() && self.permits.is_empty()
    }
}
