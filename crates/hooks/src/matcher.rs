//! Matchers, to the letter of S0 §5.1.

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use ona_policy::{TOOL_NAMES, tool_named};
use regress::Regex;

use crate::config::shortened;

/// A longer pattern is not compiled: the engine recurses over a pattern, alternative by alternative.
const MAX_PATTERN_LEN: usize = 2_000;
/// Only this many characters of a query are matched against a pattern.
const MAX_QUERY: usize = 512;
/// Enough stack for the engine to recurse over the longest pattern, many times over.
const STACK: usize = 16 << 20;
/// How long it may take to read a pattern, which is done once.
const TIME_TO_READ: Duration = Duration::from_secs(2);
/// The time limit for one match: ECMAScript patterns may backtrack forever.
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
    /// Unknown, for this reason. It matches everything: the hook may be the
    /// one that denies.
    Unjudged(&'static str),
}

impl Matcher {
    /// Reads a matcher.
    pub fn parse(text: &str) -> Self {
        let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
        // Servers are meant however they are spelt: S0 §7 has their names in small letters.
        let flags = if text.contains("mcp__") { "i" } else { "" };
        if matches!(text, "" | "*") {
            Self::Any
        } else if text.chars().all(is_word) {
            Self::Word(text.to_owned())
        } else if text.contains('|') && text.chars().all(|c| is_word(c) || c == '|') {
            Self::OneOf(text.split('|').map(str::to_owned).collect())
        } else if text.chars().count() > MAX_PATTERN_LEN {
            Self::Unjudged("it is longer than 2000 characters")
        } else {
            let text = text.to_owned();
            match apart(TIME_TO_READ, move || Regex::with_flags(&text, flags)) {
                Some(Ok(pattern)) => Self::Pattern(pattern),
                Some(Err(_)) => Self::Nothing,
                None => Self::Unjudged("it took too long to compile"),
            }
        }
    }

    /// Whether it matches. A pattern that runs out of time counts as a match: the hook it
    /// guards may be the one that denies.
    pub fn matches(&self, query: &str) -> bool {
        match self {
            Self::Any | Self::Unjudged(_) => true,
            Self::OneOf(words) => words.iter().any(|word| {
                word == query
                    || tool_named(word) == Some(query)
                    || (word.starts_with("mcp__") && word.eq_ignore_ascii_case(query))
            }),
            Self::Word(word) if word.contains("mcp__") => {
                query.to_ascii_lowercase().contains(&word.to_ascii_lowercase())
            }
            // A guard may still have the name that a tool had before.
            Self::Word(word) => query.contains(word) || tool_named(word) == Some(query),
            Self::Nothing => false,
            Self::Pattern(pattern) => bounded(pattern, query),
        }
    }
}

impl Matcher {
    /// Of a matcher for tools' names, why it or a part of it matches none of ona's own; `text` is how it is
    /// written. Matchers that may be meant for an MCP server's tool are not reported.
    pub(crate) fn missed_tool(&self, text: &str) -> Option<String> {
        let hint = |meant: &str| format!("did you mean `{meant}`?");
        let (what, hint) = match self {
            Self::Any | Self::Nothing | Self::Unjudged(_) => return None,
            _ if text.contains("mcp") && !matches!(self, Self::OneOf(_)) => return None,
            Self::Word(word) => {
                if TOOL_NAMES.iter().any(|name| name.contains(word.as_str())) {
                    return None;
                }
                (text, hint(&meant_by(word)?))
            }
            Self::OneOf(words) => {
                let dead = |word: &&String| !word.starts_with("mcp__") && !is_tool(word);
                let likely = words.iter().filter(dead).find(|word| likely(word).is_some());
                match likely {
                    Some(word) => (word.as_str(), hint(&corrected(words))),
                    None if words.iter().all(|word| dead(&word)) => {
                        (text, format!("the tools are {}", TOOL_NAMES.join(", ")))
                    }
                    None => return None,
                }
            }
            Self::Pattern(pattern) => {
                if any_tool(pattern) {
                    return None;
                }
                (text, hint(&meant_by(text)?))
            }
        };
        Some(format!("the matcher `{}` matches no tool: {hint}", shortened(what)))
    }
}

fn is_tool(word: &str) -> bool {
    tool_named(word).is_some()
}

/// The tool whose name it is but for capital letters.
fn likely(word: &str) -> Option<&'static str> {
    TOOL_NAMES.into_iter().find(|name| name.eq_ignore_ascii_case(word))
}

fn corrected<W: AsRef<str>>(words: &[W]) -> String {
    let words: Vec<&str> =
        words.iter().map(AsRef::as_ref).map(|word| likely(word).unwrap_or(word)).collect();
    words.join("|")
}

/// A suggestion for a text that matches no tool.
fn meant_by(text: &str) -> Option<String> {
    if let Some((tool, rest)) = text.split_once('(')
        && is_tool(tool)
        && rest.ends_with(')')
    {
        return Some(format!("{tool}` with `\"if\": \"{text}\""));
    }
    let between = |c: char| matches!(c, ',' | ';' | '/' | '&' | '|') || c.is_whitespace();
    let words: Vec<&str> = text.split(between).filter(|word| !word.is_empty()).collect();
    if words.len() == 1 && likely(words[0]).is_some()
        || words.len() > 1 && words.iter().any(|word| likely(word).is_some())
    {
        return Some(corrected(&words));
    }
    let text = text.to_owned();
    let found = apart(TIME_TO_READ, move || {
        let pattern = Regex::with_flags(&text, "i").ok()?;
        let names = TOOL_NAMES.into_iter().filter(|name| pattern.find(name).is_some());
        Some(names.collect::<Vec<_>>())
    });
    found.flatten().filter(|names| !names.is_empty()).map(|names| names.join("|"))
}

/// Whether a pattern matches one of ona's own tools, as far as can be told.
fn any_tool(pattern: &Regex) -> bool {
    let pattern = pattern.clone();
    let any = move || TOOL_NAMES.iter().any(|name| pattern.find(name).is_some());
    apart(TIME_TO_MATCH, any).unwrap_or(true)
}

fn bounded(pattern: &Regex, query: &str) -> bool {
    let end = query.char_indices().nth(MAX_QUERY).map_or(query.len(), |(end, _)| end);
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
            ("mcp__GitHub__.*", "mcp__github__echo", true),
            ("mcp__GitHub", "mcp__github__echo", true),
            ("Read|mcp__GitHub__echo", "mcp__github__echo", true),
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
            ("Task", "Agent", true),
            ("Bash|Task", "Agent", true),
            ("(", "(", false),
            ("Bash", "", false),
        ] {
            assert_eq!(Matcher::parse(matcher).matches(query), expected, "{matcher} {query}");
        }
    }

    #[test]
    fn what_no_tool_is_called_is_named_with_what_may_be_meant() {
        for (matcher, expected) in [
            ("bash", Some("the matcher `bash` matches no tool: did you mean `Bash`?")),
            (
                "Bash,Edit",
                Some("the matcher `Bash,Edit` matches no tool: did you mean `Bash|Edit`?"),
            ),
            (
                "Bash, write",
                Some("the matcher `Bash, write` matches no tool: did you mean `Bash|Write`?"),
            ),
            (
                "Bash Edit",
                Some("the matcher `Bash Edit` matches no tool: did you mean `Bash|Edit`?"),
            ),
            ("bash|Edit", Some("the matcher `bash` matches no tool: did you mean `Bash|Edit`?")),
            ("^bash$", Some("the matcher `^bash$` matches no tool: did you mean `Bash`?")),
            ("todo", Some("the matcher `todo` matches no tool: did you mean `TodoWrite`?")),
            (
                "Bash(rm *)",
                Some(
                    "the matcher `Bash(rm *)` matches no tool: did you mean `Bash` with `\"if\": \"Bash(rm *)\"`?",
                ),
            ),
            ("", None),
            ("*", None),
            ("Bash", None),
            ("Edit|Write", None),
            // Others' tools, among those that there are, and those of servers.
            ("Edit|MultiEdit", None),
            ("mcp__bash__run|mcp__x", None),
            ("mcp__memory__.*", None),
            ("memory", None),
            (".*delete.*", None),
            ("Bash.*", None),
        ] {
            let found = Matcher::parse(matcher).missed_tool(matcher);
            assert_eq!(found.as_deref(), expected, "{matcher}");
        }
        let none = Matcher::parse("LS|MultiEdit").missed_tool("LS|MultiEdit").unwrap();
        assert!(none.contains("`LS|MultiEdit` matches no tool: the tools are Read, "), "{none}");
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
