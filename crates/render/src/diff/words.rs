//! What changed within a line.

use std::ops::Range;

use ona_front::{DiffLine, Sign};
use similar::{Algorithm, DiffOp};
use unicode_segmentation::UnicodeSegmentation as _;

use crate::text;

/// Longer lines are not compared.
const MAX_BYTES: usize = 1_000;
/// Lines that have less than this share of their words in common are not the same line changed.
const MIN_PERCENT_SAME: usize = 50;

/// For every line, the one that it replaces or that replaces it: the first removed line of a change belongs to the
/// first added one.
pub(super) fn partners(lines: &[DiffLine]) -> Vec<Option<usize>> {
    let mut partners = vec![None; lines.len()];
    let run = |from: usize, sign| lines[from..].iter().take_while(|line| line.sign == sign).count();
    let mut at = 0;
    while at < lines.len() {
        let removed = run(at, Sign::Removed);
        let added = run(at + removed, Sign::Added);
        for pair in 0..removed.min(added) {
            partners[at + pair] = Some(at + removed + pair);
            partners[at + removed + pair] = Some(at + pair);
        }
        at += (removed + added).max(1);
    }
    partners
}

/// The places of a line that its partner does not have. None if the two are too different.
pub(super) fn changed(line: &str, partner: &str) -> Vec<Range<usize>> {
    let partner = text::plain(partner);
    if line.len() > MAX_BYTES || partner.len() > MAX_BYTES {
        return Vec::new();
    }
    let words: Vec<&str> = line.split_word_bounds().collect();
    let others: Vec<&str> = partner.split_word_bounds().collect();
    let changes = similar::capture_diff_slices(Algorithm::Myers, &others, &words);
    let mut same = 0;
    let mut ranges: Vec<Range<usize>> = Vec::new();
    for change in changes {
        let range = bytes_of(&words, change.new_range());
        match change {
            DiffOp::Equal { .. } => same += ink(&line[range]),
            _ if range.is_empty() => {}
            _ => match ranges.last_mut() {
                // Words with only blanks between them are one change.
                Some(last) if line[last.end..range.start].trim().is_empty() => last.end = range.end,
                _ => ranges.push(range),
            },
        }
    }
    match 200 * same >= MIN_PERCENT_SAME * (ink(line) + ink(&partner)) {
        true => ranges,
        false => Vec::new(),
    }
}

/// The bytes of a text that are no blanks.
fn ink(text: &str) -> usize {
    text.split_whitespace().map(str::len).sum()
}

/// The bytes of some of the words of a text.
fn bytes_of(words: &[&str], range: Range<usize>) -> Range<usize> {
    let length = |words: &[&str]| words.iter().map(|word| word.len()).sum::<usize>();
    let start = length(&words[..range.start]);
    start..start + length(&words[range])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn changed_words<'a>(line: &'a str, partner: &str) -> Vec<&'a str> {
        changed(line, partner).into_iter().map(|range| &line[range]).collect()
    }

    #[test]
    fn the_words_that_differ() {
        let (old, new) = ("let x = compute(1, 2);", "let total = compute(1, 3);");
        assert_eq!(changed_words(new, old), ["total", "3"]);
        assert_eq!(changed_words(old, new), ["x", "2"]);
        assert_eq!(changed_words("a b c", "a b"), [" c"]);
        assert_eq!(
            changed_words("one two three four five six", "one x y four five six"),
            ["two three"]
        );
        assert_eq!(changed_words("    indented", "  indented"), ["    "]);
    }

    #[test]
    fn lines_that_have_nothing_in_common_are_not_compared() {
        assert_eq!(changed_words("fn main() {}", "import os"), [""; 0]);
        assert_eq!(changed_words(&format!("{} x", "y ".repeat(600)), &"y ".repeat(600)), [""; 0]);
    }

    #[test]
    fn lines_are_paired_in_their_order() {
        let lines: Vec<DiffLine> = "-- + =-++ +"
            .chars()
            .filter_map(|c| match c {
                '-' => Some(Sign::Removed),
                '+' => Some(Sign::Added),
                '=' => Some(Sign::Same),
                _ => None,
            })
            .map(|sign| DiffLine { sign, text: String::new() })
            .collect();
        let expected = [Some(2), None, Some(0), None, Some(5), Some(4), None, None];
        assert_eq!(partners(&lines), expected);
    }
}
