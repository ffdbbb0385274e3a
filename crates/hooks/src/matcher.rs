//! Matchers, to the letter of S0 §5.1.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use regress::Regex;

/// A pattern longer than this is not read: the engine recurses over a pattern, alternative by alternative.
const LONGEST_PATTERN: usize = 2_000;
/// A query longer than this is held against a pattern only with its beginning.
const LONGEST_QUERY: usize = 512;
/// Enough stack for the engine to recurse over the longest pattern, many times over.
const STACK: usize = 16 << 20;
/// How long it may take to read a pattern, which is done once.
const TIME_TO_READ: Duration = Duration::from_secs(2);
/// ECMAScript patterns may backtrace for ever; this is how long one may take.
const TIME_TO_MATCH: Duration = Duration::from_millis(250);

/// What a hook's `matcher` matches.
#[derive(Clone, Debug)]
pub enum Matcher {
    /// `""` or `*`.
    Any,
    /// Words with `|` between them: exactly one of those.
    OneOf(Vec<String>),
    /// An ECMAScript pattern that is one plain word, found anywhere in the query.
    Word(String),
    /// Any other ECMAScript pattern, found anywhere in the query.
    Pattern(Regex),
    /// No valid pattern: matches nothing.
    Nothing,
    /// It cannot be told what it matches, for this reason. It matches everything: the hook may be the
    /// one that says no.
    Unjudged(&'static str),
}

impl Matcher {
    /// Reads a matcher.
    pub fn parse(text: &str) -> Self {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        if matches!(text, "" | "*") {
            Self::Any
        } else if text.chars().all(is_word) {
            Self::Word(text.to_owned())
        } else if text.contains('|') && text.chars().all(|c| is_word(c) || c == '|') {
            Self::OneOf(text.split('|').map(str::to_owned).collect())
        } else if text.chars().count() > LONGEST_PATTERN {
            Self::Unjudged("it is longer than 2000 characters")
        } else {
            let text = text.to_owned();
            match apart(TIME_TO_READ, move || Regex::new(&text)) {
                Some(Ok(pattern)) => Self::Pattern(pattern),
                Some(Err(_)) => Self::Nothing,
                None => Self::Unjudged("it could not be read in time"),
            }
        }
    }

    /// Whether it matches. A pattern that does not come to an end counts as a match: the hook it
    /// guards may be the one that says no.
    pub fn matches(&self, query: &str) -> bool {
        match self {
            Self::Any | Self::Unjudged(_) => true,
            Self::OneOf(words) => words.iter().any(|word| word == query),
            Self::Word(word) => query.contains(word),
            Self::Nothing => false,
            Self::Pattern(pattern) => bounded(pattern, query),
        }
    }
}

fn bounded(pattern: &Regex, query: &str) -> bool {
    let end = query.char_indices().nth(LONGEST_QUERY).map_or(query.len(), |(end, _)| end);
    let (pattern, query) = (pattern.clone(), query[..end].to_owned());
    apart(TIME_TO_MATCH, move || pattern.find(&query).is_some()).unwrap_or(true)
}

/// Does work that may recurse deeply or never end: on a thread of its own, because nothing can stop it
/// once it runs away, and with a stack that it cannot overflow. Nothing if there was no answer in time.
fn apart<T: Send + 'static>(
    patience: Duration,
    work: impl FnOnce() -> T + Send + 'static,
) -> Option<T> {
    let (sender, answer) = mpsc::channel();
    thread::Builder::new().stack_size(STACK).spawn(move || sender.send(work())).ok()?;
    answer.recv_timeout(patience).ok()
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

    #[test]
    fn no_pattern_ends_the_process() {
        let nested = |depth: usize| format!("{}x{}", "(".repeat(depth), ")".repeat(depth));
        // The longest ones that are read, in shapes that the engine recurses over.
        for pattern in [
            format!("{}Bash.", "a|".repeat(997)),
            format!("{}x{}", "(?:a|".repeat(333), ")".repeat(333)),
            nested(999),
            "(".repeat(2000),
            "(?=".repeat(600),
            format!("{}x{}", "(?=".repeat(400), ")".repeat(400)),
            format!("x{}", "{5}".repeat(600)),
            "[".repeat(2000),
        ] {
            let _ = Matcher::parse(&pattern).matches("Bash!");
        }
        assert!(Matcher::parse(&format!("{}Bash.", "a|".repeat(997))).matches("Bash!"));
        // What is longer is not read at all, and counts as a match.
        for pattern in [format!("{}Bash.", "a|".repeat(10_000)), nested(5_000), "(".repeat(100_000)]
        {
            let matcher = Matcher::parse(&pattern);
            assert!(matches!(matcher, Matcher::Unjudged(_)), "{pattern:.20}");
            assert!(matcher.matches("Read"));
        }
        // Words are no pattern, however many.
        let words = Matcher::parse(&format!("{}Bash", "a|".repeat(10_000)));
        assert!(words.matches("Bash") && !words.matches("Read"));
    }
}
