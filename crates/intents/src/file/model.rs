//! Intents as they are read.

use std::collections::HashMap;
use std::fmt;
use std::sync::OnceLock;

use crate::scope::{GlobError, Scope};
use crate::yaml::Place;

/// The status of an intent (S2 §2.4).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Status {
    /// Not begun. Writing is allowed; selecting it begins it.
    Planned,
    /// Worked on.
    InProgress,
    /// Done.
    Completed,
    /// Waiting for something.
    Blocked,
    /// Given up.
    Abandoned,
    /// An unknown word, as written. Nothing may be changed for it.
    Unknown(String),
}

/// S2's words, and those other files use for them.
const WORDS: &[(&str, Status)] = &[
    ("PLANNED", Status::Planned),
    ("PENDING", Status::Planned),
    ("IN_PROGRESS", Status::InProgress),
    ("ACTIVE", Status::InProgress),
    ("COMPLETED", Status::Completed),
    ("DONE", Status::Completed),
    ("BLOCKED", Status::Blocked),
    ("ABANDONED", Status::Abandoned),
];

impl Status {
    /// The words ona writes.
    pub const NAMES: [&'static str; 5] =
        ["PLANNED", "IN_PROGRESS", "COMPLETED", "BLOCKED", "ABANDONED"];

    /// Reads a word, whatever its case; `in-progress` and `in progress` are `IN_PROGRESS`.
    pub fn read(word: &str) -> Self {
        let plain = word.trim().to_uppercase().replace(['-', ' '], "_");
        let known = WORDS.iter().find(|(name, _)| *name == plain);
        known.map_or_else(|| Self::Unknown(word.to_owned()), |(_, status)| status.clone())
    }

    /// The word.
    pub fn as_str(&self) -> &str {
        match self {
            Self::Planned => "PLANNED",
            Self::InProgress => "IN_PROGRESS",
            Self::Completed => "COMPLETED",
            Self::Blocked => "BLOCKED",
            Self::Abandoned => "ABANDONED",
            Self::Unknown(word) => word,
        }
    }

    /// Whether work for the intent may change files.
    pub fn is_open(&self) -> bool {
        matches!(self, Self::Planned | Self::InProgress)
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// An entry of a list, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Item {
    /// The text.
    pub text: String,
    /// Where.
    pub place: Place,
}

/// One intent.
#[derive(Clone, Debug, Default)]
pub struct Intent {
    /// `INT-001`.
    pub id: String,
    /// What it is called; the id where it has no name.
    pub name: Option<String>,
    /// The status, where it is given.
    pub given_status: Option<Status>,
    /// The patterns of what it may touch.
    pub owned_scope: Vec<Item>,
    /// What the work must respect.
    pub constraints: Vec<String>,
    /// When it is done.
    pub acceptance_criteria: Vec<String>,
    /// The requirements it serves.
    pub related_requirements: Vec<String>,
    /// The OpenSpec change it belongs to.
    pub openspec_ref: Option<String>,
    /// The bead it belongs to.
    pub bead_id: Option<String>,
    /// A longer description.
    pub description: Option<String>,
    /// RFC 3339.
    pub created_at: Option<String>,
    /// RFC 3339.
    pub updated_at: Option<String>,
    /// Where it begins.
    pub place: Place,
    /// Where its status is.
    pub status_place: Option<Place>,
    pub(super) scope: OnceLock<Result<Scope, GlobError>>,
}

impl Intent {
    /// The status; without one it is planned.
    pub fn status(&self) -> Status {
        self.given_status.clone().unwrap_or(Status::Planned)
    }

    /// What it is called.
    pub fn title(&self) -> &str {
        self.name.as_deref().unwrap_or(&self.id)
    }

    /// Its scope, or the pattern that makes it unusable. Built on first use: of a thousand intents one is selected.
    pub fn scope(&self) -> Result<&Scope, &GlobError> {
        let read = || {
            let texts: Vec<&str> = self.owned_scope.iter().map(|item| item.text.as_str()).collect();
            Scope::read(&texts)
        };
        self.scope.get_or_init(read).as_ref()
    }
}

/// The kind of a problem; the linter grades it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProblemKind {
    /// An entry without an id: it is ignored.
    NoId,
    /// An entry that is not a map: it is ignored.
    NotAnIntent,
    /// An id that another entry has too.
    DuplicateId,
    /// An unknown status.
    UnknownStatus,
    /// A wrong type: a string or a list of strings is expected.
    WrongShape,
}

/// A problem in a file of intents that can still be read, and its place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileProblem {
    /// What kind.
    pub kind: ProblemKind,
    /// Where.
    pub place: Place,
    /// In words.
    pub message: String,
}

impl fmt::Display for FileProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place, self.message)
    }
}

/// An intent that was looked for.
#[derive(Clone, Copy, Debug)]
pub enum Found<'i> {
    /// This one.
    One(&'i Intent),
    /// Two or more have the id: it is unclear which one is meant, so none is.
    Several(&'i Intent, &'i Intent),
    /// There is none.
    None,
}

/// All intents of a file.
#[derive(Clone, Debug, Default)]
pub struct Intents {
    /// In the order of the file.
    pub all: Vec<Intent>,
    /// Warnings about it.
    pub warnings: Vec<FileProblem>,
}

impl Intents {
    /// The intent with this id.
    pub fn find(&self, id: &str) -> Found<'_> {
        let mut with = self.all.iter().filter(|intent| intent.id == id);
        match (with.next(), with.next()) {
            (None, _) => Found::None,
            (Some(one), None) => Found::One(one),
            (Some(one), Some(other)) => Found::Several(one, other),
        }
    }

    /// An id that is not used: one more than the highest number. A number that is free again may still be in the trace.
    pub fn next_id(&self) -> String {
        let number = |id: &str| id.strip_prefix("INT-")?.parse::<u64>().ok();
        let highest = self.all.iter().filter_map(|intent| number(&intent.id)).max();
        format!("INT-{:03}", highest.unwrap_or_default().saturating_add(1))
    }

    /// The ids of the intents that are open for work. A duplicate id cannot be selected.
    pub fn available(&self) -> Vec<String> {
        let mut times: HashMap<&str, usize> = HashMap::new();
        self.all.iter().for_each(|intent| *times.entry(&intent.id).or_default() += 1);
        let open = self.all.iter().filter(|intent| intent.status().is_open());
        let once = open.filter(|intent| times.get(intent.id.as_str()) == Some(&1));
        once.map(|intent| intent.id.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_new_id_follows_the_highest() {
        let intent = |id: &str| Intent { id: id.to_owned(), ..Intent::default() };
        let intents = |ids: &[&str]| Intents {
            all: ids.iter().map(|id| intent(id)).collect(),
            warnings: Vec::new(),
        };
        assert_eq!(intents(&[]).next_id(), "INT-001");
        assert_eq!(intents(&["INT-007", "INT-2", "REQ-90", "INT-x"]).next_id(), "INT-008");
        assert_eq!(intents(&["INT-1000"]).next_id(), "INT-1001");
    }

    #[test]
    fn words_for_a_status() {
        for (word, status) in [
            ("in_progress", Status::InProgress),
            ("In-Progress", Status::InProgress),
            ("active", Status::InProgress),
            ("PENDING", Status::Planned),
            ("done", Status::Completed),
            (" BLOCKED ", Status::Blocked),
            ("CANCELLED", Status::Unknown("CANCELLED".into())),
        ] {
            assert_eq!(Status::read(word), status, "{word}");
        }
        assert!(Status::NAMES.iter().all(|name| Status::read(name).as_str() == *name));
        assert!(!Status::Unknown("x".into()).is_open());
    }
}
