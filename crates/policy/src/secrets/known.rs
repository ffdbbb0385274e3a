//! Secret values that the process knows, and where a text holds them: as they are or encoded.

use std::ops::Range;

use aho_corasick::{AhoCorasick, MatchKind};

use super::forms;
use super::view::View;

/// Secret values, in all forms in which they are looked for.
#[derive(Debug, Default)]
pub(super) struct Known {
    /// As they are, and in JSON.
    plain: Patterns,
    /// In base64.
    base64: Patterns,
    /// Whether a value holds a blank, which a form may send as `+`.
    has_blank: bool,
}

impl Known {
    pub(super) fn new(values: &[&str]) -> Self {
        Self {
            plain: Patterns::new(values.iter().flat_map(|value| forms::in_json(value))),
            base64: Patterns::new(values.iter().flat_map(|value| forms::in_base64(value))),
            has_blank: values.iter().any(|value| value.contains(' ')),
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.plain.all.is_empty()
    }

    /// The ways to look at a text, and what is looked for in each: percent-encoding is undone, and base64 may be broken into
    /// lines anywhere, which may be shown with something before each.
    fn views<'t>(&self, text: &'t [u8]) -> Vec<(View<'t>, &Patterns)> {
        let mut views = Vec::new();
        let decoded = [
            Some(View::of(text)),
            text.contains(&b'%').then(|| View::decoded(text, false)),
            (self.has_blank && text.contains(&b'+')).then(|| View::decoded(text, true)),
        ];
        for view in decoded.into_iter().flatten() {
            views.push((view.unbroken(), &self.base64));
            views.push((view.last_words(), &self.base64));
            views.push((view, &self.plain));
        }
        views
    }

    /// Where a text holds a value, in order and without overlaps.
    pub(super) fn ranges(&self, text: &[u8]) -> Vec<Range<usize>> {
        let mut found = Vec::new();
        for (view, patterns) in self.views(text) {
            found.extend(patterns.find(view.bytes()).map(|range| view.range(range)));
        }
        found.sort_by_key(|range: &Range<usize>| range.start);
        let mut apart: Vec<Range<usize>> = Vec::with_capacity(found.len());
        for range in found {
            match apart.last_mut() {
                Some(last) if range.start < last.end => last.end = last.end.max(range.end),
                _ => apart.push(range),
            }
        }
        apart
    }

    /// How many bytes at the end of a text could be the beginning of a value.
    pub(super) fn open_end(&self, text: &[u8]) -> usize {
        // A byte that is only half decoded yet belongs to what stands before it.
        let half = match text {
            [.., b'%'] => 1,
            [.., b'%', digit] if digit.is_ascii_hexdigit() => 2,
            _ => 0,
        };
        let whole = &text[..text.len() - half];
        // Of the last line, only what is shown before it may be there yet.
        let lines = &whole[..whole.iter().rposition(|byte| *byte == b'\n').unwrap_or(0)];
        let begins = self.views(whole).into_iter().chain(self.views(lines));
        let begins = begins.filter_map(|(view, patterns)| {
            let open = patterns.open_end(view.bytes());
            (open > 0).then(|| whole.len() - view.place(view.bytes().len() - open))
        });
        begins.max().unwrap_or(0) + half
    }
}

/// Patterns that are looked for together.
#[derive(Debug, Default)]
struct Patterns {
    automaton: Option<AhoCorasick>,
    all: Vec<String>,
}

impl Patterns {
    fn new(patterns: impl Iterator<Item = String>) -> Self {
        let mut all: Vec<String> = patterns.collect();
        all.sort_unstable();
        all.dedup();
        let build = || AhoCorasick::builder().match_kind(MatchKind::LeftmostLongest).build(&all);
        let automaton = if all.is_empty() { None } else { build().ok() };
        Self { automaton, all }
    }

    fn find(&self, bytes: &[u8]) -> impl Iterator<Item = Range<usize>> {
        self.automaton.iter().flat_map(move |all| all.find_iter(bytes)).map(|found| found.range())
    }

    fn open_end(&self, bytes: &[u8]) -> usize {
        self.all.iter().map(|pattern| overlap(bytes, pattern.as_bytes())).max().unwrap_or(0)
    }
}

/// The length of the longest beginning of a pattern, but not all of it, that a text ends with (Knuth, Morris, Pratt: a
/// pattern may repeat itself).
fn overlap(text: &[u8], pattern: &[u8]) -> usize {
    let text = &text[text.len().saturating_sub(pattern.len() - 1)..];
    // How much of the pattern is still matched if the byte behind `n` matched ones differs.
    let mut shorter = vec![0; pattern.len()];
    let mut matched = 0;
    for at in 1..pattern.len() {
        while matched > 0 && pattern[at] != pattern[matched] {
            matched = shorter[matched - 1];
        }
        matched += usize::from(pattern[at] == pattern[matched]);
        shorter[at] = matched;
    }
    text.iter().fold(0, |mut matched, byte| {
        while matched > 0 && *byte != pattern[matched] {
            matched = shorter[matched - 1];
        }
        matched + usize::from(*byte == pattern[matched])
    })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_overlap_is_the_longest(text in "[ab]{0,12}", pattern in "[ab]{1,8}") {
            let expected = (0..pattern.len()).rev().find(|length| text.ends_with(&pattern[..*length]));
            prop_assert_eq!(Some(overlap(text.as_bytes(), pattern.as_bytes())), expected);
        }
    }
}
