//! The catalogue of messages: every message template in one snapshot, so that a changed message is reviewed like
//! changed code.
//!
//! `INSTA_UPDATE=always cargo test -p ona-xtask --test it catalogue` writes it.

use std::collections::BTreeSet;
use std::ops::Range;

use anyhow::{Result, ensure};

use crate::files::repository;
use crate::messages::{is_product, string, without_tests};
use crate::read;

/// The marker before a message, and its kind. The first one that contains a literal counts. The messages of a function
/// are in its body.
const MARKERS: [(&str, &str); 13] = [
    ("#[error(", "error"),
    ("CliError::usage(", "error"),
    ("CliError::failed(", "error"),
    ("Self::usage(", "error"),
    ("Self::failed(", "error"),
    (".refuse(", "error"),
    (".hint(", "hint"),
    ("Diagnostic::new(", "warning"),
    ("warn(", "warning"),
    (".warning(", "warning"),
    ("complain(", "notice"),
    ("fn message(&self)", "error"),
    ("fn hint(&self)", "hint"),
];

/// Rust code in two layers.
pub struct Scanned<'s> {
    /// The code, with blanks in place of comments and literals.
    pub code: String,
    /// The string literals: position and text.
    literals: Vec<(usize, &'s str)>,
}

/// Separates code from comments and literals.
pub fn scan(source: &str) -> Scanned<'_> {
    let mut scanned = Scanned { code: String::new(), literals: Vec::new() };
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, from) = rest.split_at(at);
        scanned.code.push_str(before);
        rest = if from.starts_with("//") {
            from.find('\n').map_or("", |end| &from[end..])
        } else if let Some(inside) = from.strip_prefix('"') {
            let (text, behind) = string(before, inside);
            scanned.literals.push((source.len() - inside.len(), text));
            behind
        } else {
            &from[character(from)..]
        };
        // Blanks, so that positions in the code are positions in the source.
        scanned.code.push_str(&" ".repeat(from.len() - rest.len()));
    }
    scanned.code.push_str(rest);
    scanned
}

/// The length of the character literal at the start of `text`, or 1 if there is none.
fn character(text: &str) -> usize {
    let mut inside = text.char_indices().skip(1);
    let (_, first) = inside.next().unwrap_or_default();
    if !text.starts_with('\'') {
        return 1;
    }
    if first == '\\' {
        return text[3..].find('\'').map_or(1, |end| end + 4);
    }
    match inside.next() {
        Some((end, '\'')) => end + 1,
        _ => 1,
    }
}

/// The arguments after a marker that ends at `from`, or the body of the function that it names.
fn region(code: &str, marker: &str, from: usize) -> Range<usize> {
    let (from, open, close) = match marker.starts_with("fn ") {
        true => (code[from..].find('{').map_or(code.len(), |at| from + at + 1), '{', '}'),
        false => (from, '(', ')'),
    };
    let mut depth = 1;
    let end = code[from..].find(|c| {
        depth += i32::from(c == open) - i32::from(c == close);
        depth == 0
    });
    from..end.map_or(code.len(), |end| from + end)
}

/// Whether a template has words of its own. A prefix such as `warning: ` is not enough, but an error may be one
/// word.
fn says_something(kind: &str, template: &str) -> bool {
    let mut depth = 0;
    let own: String = template
        .replace("\\n", " ")
        .chars()
        .map(|c| {
            depth += i32::from(c == '{') - i32::from(c == '}');
            if depth == 0 { c } else { ' ' }
        })
        .collect();
    let words = own.split_whitespace().filter(|word| word.contains(char::is_alphabetic));
    words.count() > usize::from(kind != "error")
}

/// A literal as one line, without its line continuations.
fn one_line(literal: &str) -> String {
    let mut lines = literal.split("\\\n");
    let first = lines.next().unwrap_or_default().to_owned();
    let joined = lines.fold(first, |text, line| text + line.trim_start());
    joined.replace('\n', "\\n")
}

/// The messages of a source, in order: kind and template.
fn messages(source: &str) -> Vec<(&'static str, String)> {
    let Scanned { code, literals } = scan(source);
    let mut found: Vec<(usize, &'static str)> = Vec::new();
    let mut seen = BTreeSet::new();
    for (marker, kind) in MARKERS {
        let starts_a_word = marker.starts_with(char::is_alphabetic);
        let is_part = |at: usize| {
            let before = code[..at].chars().next_back();
            starts_a_word && before.is_some_and(|c| c.is_alphanumeric() || c == '_')
        };
        let places = code.match_indices(marker).map(|(at, _)| at).filter(|at| !is_part(*at));
        for from in places.map(|at| at + marker.len()) {
            let region = region(&code, marker, from);
            let held = literals.iter().enumerate();
            let held = held.filter(|(_, (at, _))| region.contains(at));
            let held = held.filter(|(_, (at, _))| !code[..at - 1].trim_end().ends_with("join("));
            found.extend(held.filter(|(index, _)| seen.insert(*index)).map(|(at, _)| (at, kind)));
        }
    }
    found.sort_unstable();
    let texts = found.into_iter().map(|(at, kind)| (kind, one_line(literals[at].1)));
    texts.filter(|(kind, text)| says_something(kind, text)).collect()
}

#[test]
fn every_message_is_reviewed() -> Result<()> {
    let mut files: Vec<String> =
        repository()?.into_iter().filter(|path| is_product(path)).collect();
    files.sort();
    let mut catalogue = String::new();
    let mut count = 0;
    for path in files {
        let source = read(&path)?;
        let found = messages(without_tests(&source));
        if found.is_empty() {
            continue;
        }
        catalogue.push_str(&format!("\n## {path}\n\n"));
        for (kind, text) in &found {
            catalogue.push_str(&format!("{kind:<7}  {text}\n"));
        }
        count += found.len();
    }
    ensure!(count > 500, "only {count} messages are found");
    insta::assert_snapshot!("messages", catalogue);
    Ok(())
}

#[test]
fn messages_are_found_behind_their_markers() {
    let source = r##"
// CliError::usage("no")
#[error("cannot read {path}: {0}")]
let a = '(' as u8; let b = '\''; fn f<'a>() {}
let plain = "not a message";
return Err(CliError::usage(format!("unknown `{}`", names.join(" and "))).hint(match x {
    true => "one (a)",
    false => r#"a "raw" \
two"#,
}));
complain(&error.warning("nothing is kept"));
self.warn("first \
    second");
forewarn("no");
.hint(format!("{a}: {b}"))
complain(&format!("warning: {why}\n"));
#[error("cancelled")]
fn hint(&self) -> &str { match self { A => "try {it} again", _ => "" } }
let other = "not a message";
"##;
    let expected = [
        ("error", "cannot read {path}: {0}"),
        ("error", "unknown `{}`"),
        ("hint", "one (a)"),
        ("hint", r#"a "raw" two"#),
        ("warning", "nothing is kept"),
        ("warning", "first second"),
        ("error", "cancelled"),
        ("hint", "try {it} again"),
    ];
    assert_eq!(messages(source), expected.map(|(kind, text)| (kind, text.to_owned())));
}

#[test]
fn places_in_the_code_are_places_in_the_source() {
    let source = "a(\"é)\", 'é', b) // \"é\nc";
    let Scanned { code, literals } = scan(source);
    assert_eq!(code.len(), source.len());
    assert_eq!(literals, [(3, "é)")]);
    assert_eq!(region(&code, "a(", 2).end, source.find(" //").unwrap_or_default() - 1);
}
