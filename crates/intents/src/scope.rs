//! Which files an intent may change: `owned_scope`, in the syntax of minimatch with `dot: true` (S2 §2.2).
//!
//! `*` and `?` stay within a name, `**` as a whole name stands for any number of them, `{a,b}` and `{1..3}` are
//! expanded, a leading `!` excludes files, a leading `#` makes a comment. Other features of minimatch are
//! refused when a pattern is read: a pattern that silently means something else would let a write through.

mod braces;
mod overlap;
mod place;
mod segment;

use std::fmt;

use segment::{Segment, Token};

pub use overlap::overlap;
pub use place::{Outside, locate, relative};

/// Longer patterns are refused.
const MAX_PATTERN: usize = 4_096;

/// Why a pattern cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GlobProblem {
    /// It is empty.
    Empty,
    /// It is longer than 4,096 bytes.
    TooLong,
    /// Its braces expand to more than 1,000 patterns.
    TooMany,
    /// `+(a|b)` and similar.
    Extglob,
    /// `**` that is not a whole name, as in `src/**.ts`.
    PartialGlobstar,
    /// `[[:alpha:]]`.
    PosixClass,
    /// A `[` without its `]`, beside `*`, `?` or a class.
    UnclosedClass,
    /// It begins with a slash; patterns are relative to the workspace.
    Absolute,
    /// A name in it is `.`, which no path has.
    Dot,
    /// It points outside the workspace.
    LeadsOut,
}

impl GlobProblem {
    /// The name programs know it by.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Empty => "empty_pattern",
            Self::TooLong => "pattern_too_long",
            Self::TooMany => "too_many_alternatives",
            Self::Extglob => "extglob_unsupported",
            Self::PartialGlobstar => "partial_globstar",
            Self::PosixClass => "posix_class_unsupported",
            Self::UnclosedClass => "unclosed_class",
            Self::Absolute => "absolute_pattern",
            Self::Dot => "dot_segment",
            Self::LeadsOut => "pattern_leads_out",
        }
    }
}

impl fmt::Display for GlobProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Empty => "it names nothing",
            Self::TooLong => "it is longer than 4096 bytes",
            Self::TooMany => "its braces expand to more than 1000 patterns",
            Self::Extglob => "groups like `+(a|b)` are not supported: use braces, `{a,b}`",
            Self::PartialGlobstar => {
                "`**` must be a whole name: write `**/*.ts` instead of `**.ts`"
            }
            Self::PosixClass => {
                "classes like `[[:alpha:]]` are not supported: use ranges, `[a-zA-Z]`"
            }
            Self::UnclosedClass => "a `[` has no `]`: write `\\[` for the character",
            Self::Absolute => "it begins with `/`, but patterns are relative to the workspace",
            Self::Dot => "`.` is not a file name: remove `./`",
            Self::LeadsOut => "`..` leads out of the workspace",
        })
    }
}

/// A pattern that cannot be used, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the pattern `{pattern}` cannot be used: {problem}")]
pub struct GlobError {
    /// The pattern as it is written.
    pub pattern: String,
    /// What is wrong with it.
    pub problem: GlobProblem,
}

/// One pattern, ready to be matched.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Glob {
    text: String,
    excludes: bool,
    directory: bool,
    alternatives: Vec<Vec<Segment>>,
}

impl Glob {
    /// Reads a pattern; a comment is none.
    pub fn read(text: &str) -> Result<Option<Self>, GlobError> {
        let bad = |problem| GlobError { pattern: text.to_owned(), problem };
        if text.len() > MAX_PATTERN {
            // The pattern itself is too long for the message.
            let pattern = text.chars().take(60).chain("…".chars()).collect();
            return Err(GlobError { pattern, problem: GlobProblem::TooLong });
        }
        if text.starts_with('#') {
            return Ok(None);
        }
        let rest = text.trim_start_matches('!');
        let marks = text.len() - rest.len();
        if marks > 0 && rest.starts_with('(') {
            return Err(bad(GlobProblem::Extglob));
        }
        if rest.is_empty() {
            return Err(bad(GlobProblem::Empty));
        }
        let parts = braces::expand(rest).map_err(bad)?;
        let directory = parts.iter().any(|part| part.ends_with('/'));
        let alternatives =
            parts.iter().map(|part| segments(part)).collect::<Result<Vec<_>, _>>().map_err(bad)?;
        Ok(Some(Self { text: text.to_owned(), excludes: marks % 2 == 1, directory, alternatives }))
    }

    /// The pattern as it is written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Whether it excludes files (`!`).
    pub fn excludes(&self) -> bool {
        self.excludes
    }

    /// Whether it is `dir/`, which is taken for `dir/**`; minimatch would match no file with it.
    pub fn is_directory(&self) -> bool {
        self.directory
    }

    /// Whether the pattern (without its `!`) matches the path. The path is relative to the workspace
    /// and has neither `.` nor `..` in it.
    pub fn matches(&self, path: &str) -> bool {
        let names: Vec<&str> = path.split('/').collect();
        self.alternatives.iter().any(|segments| walk(segments, &names))
    }
}

fn segments(pattern: &str) -> Result<Vec<Segment>, GlobProblem> {
    if pattern.starts_with('/') {
        return Err(GlobProblem::Absolute);
    }
    let mut names: Vec<&str> = Vec::new();
    for name in pattern.split('/').filter(|name| !name.is_empty()) {
        match (name, names.last().copied()) {
            (".", _) => return Err(GlobProblem::Dot),
            // The parent of `**` is not one directory.
            ("..", None | Some("**")) => return Err(GlobProblem::LeadsOut),
            ("..", Some(_)) => drop(names.pop()),
            ("**", Some("**")) => {}
            _ => names.push(name),
        }
    }
    if names.is_empty() {
        return Err(GlobProblem::Empty);
    }
    let mut segments = names.into_iter().map(Segment::read).collect::<Result<Vec<_>, _>>()?;
    if pattern.ends_with('/') && segments.last() != Some(&Segment::Deep) {
        segments.push(Segment::Deep);
    }
    // At the end it matches at least one name: `src/**` does not match `src`.
    if segments.last() == Some(&Segment::Deep) {
        segments.push(Segment::Name(vec![Token::Star]));
    }
    Ok(segments)
}

/// As within a name: only the last `**` backtracks.
fn walk(segments: &[Segment], names: &[&str]) -> bool {
    let (mut segment, mut at) = (0, 0);
    let mut deep: Option<(usize, usize)> = None;
    while at < names.len() {
        match segments.get(segment) {
            Some(Segment::Deep) => {
                deep = Some((segment, at));
                segment += 1;
                continue;
            }
            Some(Segment::Name(tokens))
                if segment::matches(tokens, names[at]) && !names[at].is_empty() =>
            {
                segment += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        let Some((back, taken)) = deep else { return false };
        deep = Some((back, taken + 1));
        segment = back + 1;
        at = taken + 1;
    }
    segments[segment..].iter().all(|segment| *segment == Segment::Deep)
}

/// The decision of a scope about a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Held<'s> {
    /// This pattern includes it.
    By(&'s str),
    /// A pattern includes it, but this one excludes it.
    Excluded(&'s str),
    /// No pattern includes it.
    No,
}

/// The patterns of one `owned_scope`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    globs: Vec<Glob>,
}

impl Scope {
    /// Reads the patterns. The first that cannot be used is the error.
    pub fn read<S: AsRef<str>>(patterns: &[S]) -> Result<Self, GlobError> {
        let globs = patterns.iter().filter_map(|text| Glob::read(text.as_ref()).transpose());
        Ok(Self { globs: globs.collect::<Result<_, _>>()? })
    }

    /// The patterns, without comments.
    pub fn globs(&self) -> &[Glob] {
        &self.globs
    }

    /// What it says of a path, which is relative to the workspace as [`relative`] gives it.
    pub fn holds(&self, path: &str) -> Held<'_> {
        let of = |excludes: bool| {
            self.globs.iter().find(move |glob| glob.excludes == excludes && glob.matches(path))
        };
        match (of(false), of(true)) {
            (None, _) => Held::No,
            (Some(_), Some(out)) => Held::Excluded(&out.text),
            (Some(by), None) => Held::By(&by.text),
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn holds(patterns: &[&str], path: &str) -> bool {
        matches!(Scope::read(patterns).unwrap().holds(path), Held::By(_))
    }

    #[test]
    fn patterns_hold_what_minimatch_says() {
        assert!(holds(&["src/**"], "src/a/b.rs"));
        assert!(holds(&["src/**"], "src/.hidden"));
        assert!(!holds(&["src/**"], "src"));
        assert!(holds(&["src/**/x.rs"], "src/x.rs"));
        assert!(!holds(&["src/*"], "src/a/b"));
        assert!(holds(&["a/../b"], "b"));
        assert!(holds(&["a//b"], "a/b"));
        assert!(holds(&["docs/"], "docs/a/b.md"));
        assert!(!holds(&["#src"], "#src"));
        assert!(!holds(&[], "x"));
    }

    #[test]
    fn exclusions_come_last_wherever_they_stand() {
        let scope = Scope::read(&["!src/gen/**", "src/**"]).unwrap();
        assert_eq!(scope.holds("src/gen/a.rs"), Held::Excluded("!src/gen/**"));
        assert_eq!(scope.holds("src/a.rs"), Held::By("src/**"));
        assert_eq!(scope.holds("lib/a.rs"), Held::No);
        assert!(!holds(&["!src/**"], "lib/x"), "taking out alone holds nothing");
        assert!(holds(&["!!src/**"], "src/x"));
    }

    #[test]
    fn what_cannot_be_matched_is_refused_by_name() {
        for (pattern, problem) in [
            ("", GlobProblem::Empty),
            ("!", GlobProblem::Empty),
            ("a/..", GlobProblem::Empty),
            ("+(a|b)", GlobProblem::Extglob),
            ("src/!(a).rs", GlobProblem::Extglob),
            ("!(a)", GlobProblem::Extglob),
            ("src/**.ts", GlobProblem::PartialGlobstar),
            ("a**b", GlobProblem::PartialGlobstar),
            ("[[:digit:]]", GlobProblem::PosixClass),
            ("/etc/**", GlobProblem::Absolute),
            ("./src/**", GlobProblem::Dot),
            ("../x", GlobProblem::LeadsOut),
            ("a/../../x", GlobProblem::LeadsOut),
            ("**/../x", GlobProblem::LeadsOut),
        ] {
            assert_eq!(Glob::read(pattern).unwrap_err().problem, problem, "{pattern}");
        }
        assert_eq!(Glob::read(&"a".repeat(5_000)).unwrap_err().problem, GlobProblem::TooLong);
    }

    #[test]
    fn deep_patterns_take_no_time() {
        let glob = Glob::read(&"**/a/".repeat(50)).unwrap().unwrap();
        assert!(!glob.matches(&vec!["a"; 40].join("/")));
        assert!(glob.matches(&vec!["a"; 400].join("/")));
    }

    proptest! {
        #[test]
        fn reading_never_panics_and_a_path_holds_itself(text in "[a-c*?!{}\\[\\],./\\\\()#$-]{0,14}") {
            let _ = Glob::read(&text);
        }

        #[test]
        fn a_plain_path_is_its_own_pattern(path in "[a-z]{1,3}(/[a-z.]{2,4}x){0,3}") {
            prop_assert!(holds(&[&path], &path));
            prop_assert!(holds(&["**"], &path));
            let above = format!("{path}/**");
            let below = format!("{path}/x");
            prop_assert!(!holds(&[&above], &path));
            prop_assert!(holds(&[&above], &below));
        }
    }
}
