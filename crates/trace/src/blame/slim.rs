//! As much of a record as blame needs, read without copying what it does not keep.

use std::borrow::Cow;
use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::ops::Range;

use serde::de::{Deserializer, Visitor};
use serde::{Deserialize, de};

use super::history::{Change, Patch};
use crate::entry::{Dialect, LineRange, TraceEntry, parse_line};

/// A hash of the ledger, cut to 128 bits: enough to compare by, and nothing to allocate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Digest(u128);

impl Digest {
    pub(crate) fn of(text: &str) -> Self {
        let digits = text.strip_prefix("sha256:").unwrap_or(text);
        let parsed = digits.get(..32).and_then(|digits| u128::from_str_radix(digits, 16).ok());
        Self(parsed.unwrap_or_else(|| {
            // Of another kind: equal texts are still equal.
            let mut hasher = DefaultHasher::new();
            text.hash(&mut hasher);
            u128::from(hasher.finish())
        }))
    }
}

/// The limit for line numbers: a damaged record may claim any number.
const MAX_LINES: usize = 1 << 31;

/// Reads a text as something else, without keeping it.
struct FromText<T>(fn(&str) -> T);

impl<T> Visitor<'_> for FromText<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a text")
    }

    fn visit_str<E: de::Error>(self, text: &str) -> Result<T, E> {
        Ok((self.0)(text))
    }
}

impl<'de> Deserialize<'de> for Digest {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText(Self::of))
    }
}

/// [`crate::ranges::line_hash`] of lines; empty if they cannot be read.
#[derive(Default)]
struct LineHashes(Vec<u32>);

impl LineHashes {
    fn of(digits: &str) -> Self {
        let parse = |chunk: &[u8]| {
            let text = std::str::from_utf8(chunk).ok().filter(|text| text.len() == 8)?;
            u32::from_str_radix(text, 16).ok()
        };
        Self(digits.as_bytes().chunks(8).map(parse).collect::<Option<_>>().unwrap_or_default())
    }
}

impl<'de> Deserialize<'de> for LineHashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_str(FromText(Self::of))
    }
}

#[derive(Deserialize)]
#[serde(bound(deserialize = "'de: 'a"))]
pub(super) struct Slim<'a> {
    #[serde(default, borrow)]
    schema: Cow<'a, str>,
    #[serde(default)]
    success: bool,
    #[serde(default, borrow)]
    file: Option<SlimFile<'a>>,
    #[serde(default, borrow)]
    modified_ranges: Vec<SlimRange<'a>>,
}

#[derive(Deserialize)]
struct SlimFile<'a> {
    #[serde(default, borrow)]
    relative_path: Cow<'a, str>,
    pre_hash: Option<Digest>,
    post_hash: Option<Digest>,
    previous_path: Option<String>,
}

#[derive(Deserialize)]
struct SlimRange<'a> {
    #[serde(default, borrow)]
    file: Cow<'a, str>,
    old_range: Option<LineRange>,
    new_range: Option<LineRange>,
    content_hash: Option<Digest>,
    before_hash: Option<Digest>,
    after_hash: Option<Digest>,
    line_hashes: Option<LineHashes>,
}

impl<'a> Slim<'a> {
    /// Reads a line; nothing if it is bad or tells of no change.
    pub(super) fn read(line: &'a [u8]) -> Option<Self> {
        let slim = match serde_json::from_slice::<Self>(line) {
            Ok(slim) if slim.schema.starts_with("ona.") => slim,
            _ => match parse_line(line).ok()? {
                (Dialect::Ona, _) => return None,
                (_, entry) => Self::foreign(entry),
            },
        };
        slim.success.then_some(slim)
    }

    fn foreign(entry: TraceEntry) -> Self {
        let digest = |hash: Option<String>| hash.as_deref().map(Digest::of);
        Self {
            schema: Cow::Borrowed(""),
            success: entry.success,
            file: entry.file.map(|file| SlimFile {
                relative_path: file.relative_path.into(),
                pre_hash: digest(file.pre_hash),
                post_hash: digest(file.post_hash),
                previous_path: file.previous_path,
            }),
            modified_ranges: entry
                .modified_ranges
                .into_iter()
                .map(|range| SlimRange {
                    file: range.file.into(),
                    old_range: range.old_range,
                    new_range: range.new_range,
                    content_hash: digest(range.content_hash),
                    before_hash: digest(range.before_hash),
                    after_hash: digest(range.after_hash),
                    line_hashes: range.line_hashes.as_deref().map(LineHashes::of),
                })
                .collect(),
        }
    }

    /// Every file it speaks of, each once.
    pub(super) fn files(&self) -> Vec<&str> {
        let mut files: Vec<&str> = self.file.iter().map(|file| &*file.relative_path).collect();
        for range in &self.modified_ranges {
            if !files.contains(&&*range.file) {
                files.push(&range.file);
            }
        }
        files
    }

    /// The name that a file of it had before.
    pub(super) fn previous_path(&self, path: &str) -> Option<&str> {
        let file = self.file.as_ref().filter(|file| file.relative_path == path)?;
        file.previous_path.as_deref()
    }

    /// What it did to a file.
    pub(super) fn change(&self, path: &str, at: (u64, usize)) -> Change {
        let ranges = || self.modified_ranges.iter().filter(|range| range.file == path);
        let file = self.file.as_ref().filter(|file| file.relative_path == path);
        let first = ranges().next();
        let hash = |of_range: Option<Digest>, of_file: Option<Digest>| of_range.or(of_file);
        let mut change = Change {
            at,
            before: hash(first.and_then(|r| r.before_hash), file.and_then(|f| f.pre_hash)),
            after: hash(first.and_then(|r| r.after_hash), file.and_then(|f| f.post_hash)),
            hunks: None,
            positional: false,
        };
        let hunks = first.and_then(|_| ranges().map(patch).collect::<Option<Vec<Patch>>>());
        if let Some(mut hunks) = hunks {
            hunks.sort_by_key(|hunk| hunk.new.start);
            change.positional = ranges().all(|range| range.old_range.is_some()) && joins(&hunks);
            change.hunks = Some(hunks);
        } else if change.before == change.after && change.after.is_some() {
            // Moved, and not changed.
            change.hunks = Some(Vec::new());
            change.positional = true;
        }
        change
    }
}

fn patch(range: &SlimRange<'_>) -> Option<Patch> {
    let zero_based = |range: LineRange| -> Option<Range<usize>> {
        let start = usize::try_from(range.start_line).ok()?.saturating_sub(1);
        let length = usize::try_from(range.len()).ok()?;
        let end = start.checked_add(length).filter(|end| *end <= MAX_LINES)?;
        Some(start..end)
    };
    let new = zero_based(range.new_range?)?;
    let hashes = range.line_hashes.as_ref().filter(|hashes| hashes.0.len() == new.len());
    Some(Patch {
        old: range.old_range.map_or(Some(0..0), zero_based)?,
        new,
        lines: hashes.map(|hashes| hashes.0.clone()),
        content_hash: range.content_hash,
    })
}

/// Whether the hunks follow one another and each new side lies where the old one and the hunks above put it.
fn joins(hunks: &[Patch]) -> bool {
    let (mut old_end, mut new_end) = (0, 0);
    hunks.iter().all(|hunk| {
        let fits = hunk.old.start >= old_end
            && hunk.new.start >= new_end
            && hunk.old.start - old_end == hunk.new.start - new_end;
        (old_end, new_end) = (hunk.old.end, hunk.new.end);
        fits
    })
}
