//! A change of a file, as a front end shows it.

use serde::{Deserialize, Serialize};

/// A change of a file: the lines around what changes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileDiff {
    /// The file, as the user would name it.
    pub path: String,
    /// What becomes of it.
    pub fate: FileFate,
    /// How many lines are added.
    pub added: usize,
    /// How many lines are removed.
    pub removed: usize,
    /// The changed places, in order.
    pub hunks: Vec<Hunk>,
    /// How many further lines of hunks are left out, because there are too many.
    #[serde(default)]
    pub left_out: usize,
}

impl FileDiff {
    /// The change without the lines that stay.
    pub fn without_context(&self) -> Self {
        let mut hunks: Vec<Hunk> = Vec::new();
        for hunk in &self.hunks {
            let (mut old, mut new) = (hunk.old_start, hunk.new_start);
            let mut goes_on = false;
            for line in &hunk.lines {
                if line.sign == Sign::Same {
                    goes_on = false;
                } else if goes_on && let Some(last) = hunks.last_mut() {
                    last.lines.push(line.clone());
                } else {
                    let lines = vec![line.clone()];
                    hunks.push(Hunk { old_start: old, new_start: new, lines });
                    goes_on = true;
                }
                old += usize::from(line.sign != Sign::Added);
                new += usize::from(line.sign != Sign::Removed);
            }
        }
        Self { hunks, ..self.clone() }
    }
}

/// What becomes of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FileFate {
    /// It is new.
    Created,
    /// It changes.
    Changed,
    /// It is removed.
    Deleted,
}

/// A changed place, with the lines around it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Hunk {
    /// The number of its first line in the old file, from 1.
    pub old_start: usize,
    /// The number of its first line in the new file, from 1.
    pub new_start: usize,
    /// Its lines.
    pub lines: Vec<DiffLine>,
}

/// A line of a hunk, without its line break.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DiffLine {
    /// What becomes of it.
    pub sign: Sign,
    /// The line.
    pub text: String,
}

/// What becomes of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sign {
    /// It stays.
    Same,
    /// It is new.
    Added,
    /// It is removed.
    Removed,
}
