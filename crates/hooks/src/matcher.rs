//! Matchers, to the letter of S0 §5.1.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use regress::Regex;

/// A query longer than this is held against a pattern only with its beginning.
const LONGEST_QUERY: usize = 512;
/// ECMAScript patterns may backtrace for ever; this is how long one may take.
const PATIENCE: Duration = Duration::from_millis(250);

/// What a hook's `matcher` matches.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// `""` or `*`.
    Any,
    /// Words with `|` between them: exactly one of those.
    OneOf(Vec<String>),
    /// An ECMAScript pattern, found anywhere in the query.
    Pattern(Regex),
    /// No valid pattern: matches nothing.
    Nothing,
}

impl Matcher {
    /// Reads a matcher.
    pub fn parse(text: &str) -> Self {
        let words = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '|');
        if matches!(text, "" | "*") {
            Self::Any
        } else if text.contains('|') && text.chars().all(words) {
            Self::OneOf(text.split('|').map(str::to_owned).collect())
        } else {
            Regex::new(text).map_or(Self::Nothing, Self::Pattern)
        }
    }

    /// Whether it matches. A pattern that does not come to an end counts as a match: the hook it
    /// guards may be the one that says no.
    pub fn matches(&self, query: &str) -> bool {
        match self {
            Self::Any => true,
            Self::OneOf(words) => words.iter().any(|word| word == query),
            Self::Nothing => false,
            Self::Pattern(pattern) => bounded(pattern, query),
        }
    }
}

fn bounded(pattern: &Regex, query: &str) -> bool {
    let end = query.char_indices().nth(LONGEST_QUERY).map_or(query.len(), |(end, _)| end);
    let (sender, answer) = mpsc::channel();
    let (pattern, query) = (pattern.clone(), query[..end].to_owned());
    // A thread of its own, because nothing can stop it once it runs away.
    thread::spawn(move || sender.send(pattern.find(&query).is_some()));
    answer.recv_timeout(PATIENCE).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn to_the_letter() {
        for (matcher, query, expected) in [
            ("", "Bash", true),
            ("*", "", true),
            ("Edit|Write", "Edit", true),
            ("Edit|Write", "NotebookEdit", false),
            // Without a `|` it is a pattern, and patterns are not anchored.
            ("Edit", "NotebookEdit", true),
            ("^Edit$", "NotebookEdit", false),
            ("Bash", "bash", false),
            ("mcp__memory__.*", "mcp__memory__store", true),
            ("(?<=mcp__)x", "mcp__x", true),
            ("Edit|Wr.te", "Write", true),
            ("(", "(", false),
            ("Bash", "", false),
        ] {
            assert_eq!(Matcher::parse(matcher).matches(query), expected, "{matcher} {query}");
        }
    }

    #[test]
    fn a_pattern_that_never_ends_is_bounded_and_counts() {
        assert!(Matcher::parse("^(a*)*b$").matches(&"a".repeat(40)));
    }
}
