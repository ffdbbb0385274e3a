//! What changed between two versions of a file, hunk by hunk.
//!
//! A line is what ends with a newline, or with the file. `a` and `a` followed by a newline are different lines, so
//! the hunks say all of a change; a carriage return belongs to its line (S2 §2.6: nothing is normalised).

use std::time::{Duration, Instant};

use ona_types::ContentHash;
use similar::DiffOp;

use crate::alignment::{aligned, numbered};
use crate::entry::{LineRange, ModifiedRange};

/// The time limit for the smallest difference between two versions. After that the rest is one coarser hunk.
const DEADLINE: Duration = Duration::from_millis(300);

/// A file with more lines than this in its versions is compared only at its ends.
const MAX_LINES: usize = 400_000;

/// A range longer than this carries no hashes of its lines: they would be most of the ledger.
const MAX_LINE_HASHES: usize = 20_000;

/// Binary, as git sees it: a NUL byte near the front.
const BINARY_LOOK: usize = 8_000;

/// One place where two versions differ. Lines are counted from 0 here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hunk {
    /// The lines of the old version.
    pub old: std::ops::Range<usize>,
    /// The lines of the new version.
    pub new: std::ops::Range<usize>,
}

/// Whether content is not text.
pub fn is_binary(content: &[u8]) -> bool {
    content.iter().take(BINARY_LOOK).any(|byte| *byte == 0)
}

/// The lines of a file, each with its end.
pub fn split_lines(content: &[u8]) -> Vec<&[u8]> {
    content.split_inclusive(|byte| *byte == b'\n').collect()
}

/// The hash of a file or a segment as the ledger writes it.
pub fn prefixed_hash(content: &[u8]) -> String {
    format!("sha256:{}", ContentHash::of(content))
}

/// Where `new` differs from `old`, from top to bottom, with at least one common line between two hunks.
pub fn hunks(old: &[u8], new: &[u8]) -> Vec<Hunk> {
    line_hunks(&split_lines(old), &split_lines(new))
}

/// The same for lines.
pub fn line_hunks(old: &[&[u8]], new: &[&[u8]]) -> Vec<Hunk> {
    let front = old.iter().zip(new).take_while(|(old, new)| old == new).count();
    let back = old[front..]
        .iter()
        .rev()
        .zip(new[front..].iter().rev())
        .take_while(|(old, new)| old == new)
        .count();
    let (old_middle, new_middle) = (front..old.len() - back, front..new.len() - back);
    if old_middle.is_empty() && new_middle.is_empty() {
        return Vec::new();
    }
    let too_many = old_middle.len() + new_middle.len() > MAX_LINES;
    if old_middle.is_empty() || new_middle.is_empty() || too_many {
        return vec![Hunk { old: old_middle, new: new_middle }];
    }
    let (old, new) = numbered(&old[old_middle], &new[new_middle]);
    let mut hunks: Vec<Hunk> = Vec::new();
    for op in aligned(&old, &new, Instant::now() + DEADLINE) {
        if matches!(op, DiffOp::Equal { .. }) {
            continue;
        }
        let shifted = |range: std::ops::Range<usize>| range.start + front..range.end + front;
        let (old, new) = (shifted(op.old_range()), shifted(op.new_range()));
        match hunks.last_mut() {
            // A deletion and an insertion at one place are one replacement.
            Some(last) if last.old.end == old.start && last.new.end == new.start => {
                (last.old.end, last.new.end) = (old.end, new.end);
            }
            _ => hunks.push(Hunk { old, new }),
        }
    }
    hunks
}

/// The change of one file as the ledger writes it, one range for every hunk. A missing version is a file that
/// does not exist. Nothing if nothing changed.
pub fn modified_ranges(file: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Vec<ModifiedRange> {
    if old == new {
        return Vec::new();
    }
    let whole = |content: Option<&[u8]>| content.map(prefixed_hash);
    let template = ModifiedRange {
        file: file.to_owned(),
        before_hash: whole(old),
        after_hash: whole(new),
        ..ModifiedRange::default()
    };
    let (old_bytes, new_bytes) = (old.unwrap_or_default(), new.unwrap_or_default());
    if is_binary(old_bytes) || is_binary(new_bytes) {
        return vec![ModifiedRange { content_hash: template.after_hash.clone(), ..template }];
    }
    let new_lines = split_lines(new_bytes);
    let mut hunks = line_hunks(&split_lines(old_bytes), &new_lines);
    if hunks.is_empty() {
        // An empty file came to be, or went.
        hunks.push(Hunk { old: 0..0, new: 0..0 });
    }
    hunks
        .into_iter()
        .map(|hunk| {
            let segment = &new_lines[hunk.new.clone()];
            ModifiedRange {
                old_range: Some(one_based(&hunk.old)),
                new_range: Some(one_based(&hunk.new)),
                content_hash: Some(segment_hash(segment)),
                line_hashes: line_hashes(segment),
                ..template.clone()
            }
        })
        .collect()
}

fn one_based(lines: &std::ops::Range<usize>) -> LineRange {
    LineRange { start_line: lines.start as u64 + 1, end_line: lines.end as u64 }
}

/// The hash of lines joined with `\n`, without the end of the last one.
pub fn segment_hash(lines: &[&[u8]]) -> String {
    let mut joined = lines.concat();
    if joined.last() == Some(&b'\n') {
        joined.pop();
    }
    prefixed_hash(&joined)
}

/// Eight digits for each line. None where there are no lines or too many.
fn line_hashes(lines: &[&[u8]]) -> Option<String> {
    if lines.is_empty() || lines.len() > MAX_LINE_HASHES {
        return None;
    }
    let mut digits = String::with_capacity(lines.len() * 8);
    for line in lines {
        digits.push_str(ContentHash::of(bare(line)).as_str().get(..8).unwrap_or_default());
    }
    Some(digits)
}

/// What blame recognises a line by: the first 32 bits of the SHA-256 of the line without its end, whichever end
/// it has, so that a conversion of line ends does not hide who wrote it.
pub fn line_hash(line: &[u8]) -> u32 {
    let hash = ContentHash::of(bare(line));
    hash.as_str().get(..8).and_then(|digits| u32::from_str_radix(digits, 16).ok()).unwrap_or(0)
}

fn bare(line: &[u8]) -> &[u8] {
    let line = line.strip_suffix(b"\n").unwrap_or(line);
    line.strip_suffix(b"\r").unwrap_or(line)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn range(start_line: u64, end_line: u64) -> Option<LineRange> {
        Some(LineRange { start_line, end_line })
    }

    #[test]
    fn replaced_inserted_and_deleted_lines() {
        let old = b"a\nb\nc\nd\n";
        let ranges = modified_ranges("f", Some(old), Some(b"a\nB\nB2\nc\nd\n"));
        assert_eq!(ranges.len(), 1);
        assert_eq!((ranges[0].old_range, ranges[0].new_range), (range(2, 2), range(2, 3)));
        assert_eq!(ranges[0].content_hash, Some(prefixed_hash(b"B\nB2")));
        assert_eq!(ranges[0].before_hash, Some(prefixed_hash(old)));
        assert_eq!(ranges[0].line_hashes.as_ref().unwrap().len(), 16);

        let ranges = modified_ranges("f", Some(old), Some(b"a\nb\nx\nc\nd\n"));
        assert_eq!((ranges[0].old_range, ranges[0].new_range), (range(3, 2), range(3, 3)));

        let ranges = modified_ranges("f", Some(old), Some(b"a\nd\n"));
        assert_eq!((ranges[0].old_range, ranges[0].new_range), (range(2, 3), range(2, 1)));
        assert_eq!(ranges[0].content_hash, Some(prefixed_hash(b"")));
        assert_eq!(ranges[0].line_hashes, None);

        let two = modified_ranges("f", Some(old), Some(b"A\nb\nc\nD\n"));
        assert_eq!(two.len(), 2);
        assert!(modified_ranges("f", Some(old), Some(old)).is_empty());
    }

    #[test]
    fn files_that_come_and_go() {
        let made = modified_ranges("f", None, Some(b"a\nb"));
        assert_eq!((made[0].old_range, made[0].new_range), (range(1, 0), range(1, 2)));
        assert_eq!(made[0].before_hash, None);
        let gone = modified_ranges("f", Some(b"a\n"), None);
        assert_eq!((gone[0].old_range, gone[0].new_range), (range(1, 1), range(1, 0)));
        assert_eq!(gone[0].after_hash, None);
        let empty = modified_ranges("f", None, Some(b""));
        assert_eq!(empty.len(), 1);
        assert_eq!(empty[0].after_hash, Some(prefixed_hash(b"")));
    }

    #[test]
    fn ends_of_lines_are_changes_too() {
        let ranges = modified_ranges("f", Some(b"a\nb"), Some(b"a\nb\n"));
        assert_eq!((ranges[0].old_range, ranges[0].new_range), (range(2, 2), range(2, 2)));
        let ranges = modified_ranges("f", Some(b"a\r\nb\r\n"), Some(b"a\nb\r\n"));
        assert_eq!(ranges[0].new_range, range(1, 1));
        assert_eq!(line_hash(b"a\r\n"), line_hash(b"a"));
    }

    #[test]
    fn binary_files_are_one_range() {
        let ranges = modified_ranges("f", Some(b"a\0b"), Some(b"a\0c\nd\n"));
        assert_eq!(ranges.len(), 1);
        assert_eq!((ranges[0].old_range, ranges[0].new_range), (None, None));
        assert_eq!(ranges[0].content_hash, ranges[0].after_hash);
    }

    #[test]
    fn nothing_in_common_ends_in_time() {
        let text = |salt: usize| -> Vec<u8> {
            (0..60_000).flat_map(|n| format!("{}\n", n * 31 % 997 * salt).into_bytes()).collect()
        };
        let started = Instant::now();
        let ranges = modified_ranges("f", Some(&text(3)), Some(&text(5)));
        assert!(!ranges.is_empty());
        assert!(started.elapsed() < Duration::from_secs(8), "{:?}", started.elapsed());
    }

    fn text() -> impl Strategy<Value = Vec<u8>> {
        prop::collection::vec(prop::sample::select(b"abc\n\n\r".to_vec()), 0..60)
    }

    proptest! {
        #[test]
        fn hunks_rebuild_the_new_version(old in text(), new in text()) {
            let (old_lines, new_lines) = (split_lines(&old), split_lines(&new));
            let mut built: Vec<u8> = Vec::new();
            let mut at = 0;
            let hunks = hunks(&old, &new);
            for hunk in &hunks {
                prop_assert!(!hunk.old.is_empty() || !hunk.new.is_empty());
                built.extend(old_lines[at..hunk.old.start].concat());
                prop_assert_eq!(split_lines(&built).len(), hunk.new.start);
                built.extend(new_lines[hunk.new.clone()].concat());
                at = hunk.old.end;
            }
            built.extend(old_lines[at..].concat());
            prop_assert_eq!(&built, &new);
            for pair in hunks.windows(2) {
                prop_assert!(pair[0].old.end < pair[1].old.start, "a common line between two hunks");
            }
        }
    }
}
