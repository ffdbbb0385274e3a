//! An installed ona has no repository around it, so its messages point at
//! `ona help <topic>` and never at a page in docs/ or beside it.

use anyhow::{Result, ensure};

use crate::files::repository;
use crate::{none_of, read};

/// Crates that are not part of the product.
const NOT_INSTALLED: [&str; 2] = ["crates/xtask/", "crates/testkit/"];

/// Whether a file is code of the product.
pub fn is_product(path: &str) -> bool {
    let is_source = path.starts_with("crates/") && path.contains("/src/") && path.ends_with(".rs");
    let is_test = path.contains("/tests/") || path.ends_with("/tests.rs");
    is_source && !is_test && !NOT_INSTALLED.iter().any(|name| path.starts_with(name))
}

/// The code of a file without its unit tests, which are at the end.
pub fn without_tests(source: &str) -> &str {
    source.split("\n#[cfg(test)]\nmod ").next().unwrap_or_default()
}

/// The string literals of Rust code, without names of included files.
fn literals(source: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = source;
    while let Some(at) = rest.find(['"', '/', '\'']) {
        let (before, from) = rest.split_at(at);
        rest = if from.starts_with("//") {
            from.split_once('\n').map_or("", |(_, rest)| rest)
        } else if let Some(behind) = from.strip_prefix("'\"'").or(from.strip_prefix("'\\\"'")) {
            behind
        } else if let Some(inside) = from.strip_prefix('"') {
            let (text, behind) = string(before, inside);
            if !before.trim_end().ends_with("include_str!(") {
                found.push(text);
            }
            behind
        } else {
            &from[1..]
        };
    }
    found
}

/// The text of a literal whose opening quote is between `before` and `inside`, and the rest.
pub fn string<'s>(before: &str, inside: &'s str) -> (&'s str, &'s str) {
    let hashes = before.len() - before.trim_end_matches('#').len();
    let raw = before.trim_end_matches('#').ends_with('r');
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return inside.split_once(&end).unwrap_or((inside, ""));
    }
    let mut escaped = false;
    let end = inside.find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    let end = end.unwrap_or(inside.len());
    (&inside[..end], inside.get(end + 1..).unwrap_or_default())
}

#[test]
fn no_message_points_at_a_file_of_the_repository() -> Result<()> {
    let files = repository()?;
    let is_page = |path: &&String| {
        path.ends_with(".md") && (path.starts_with("docs/") || !path.contains('/'))
    };
    // Every project has a README.md.
    let pages: Vec<&String> =
        files.iter().filter(is_page).filter(|path| *path != "README.md").collect();
    ensure!(pages.len() > 10, "the pages are not found: {pages:?}");
    let mut found = Vec::new();
    for path in files.iter().filter(|path| is_product(path)) {
        let source = read(path)?;
        for literal in literals(without_tests(&source)) {
            let page = pages.iter().find(|page| literal.contains(page.as_str()));
            found.extend(page.map(|page| format!("{path}: {page}")));
        }
    }
    none_of("say `ona help <topic>` instead of", &found)
}

#[cfg(test)]
mod samples {
    use super::*;

    #[test]
    fn literals_are_told_from_comments_quotes_and_included_files() {
        let source = r##"
// "no"
let a = "one \" and // two"; /// it's "no"
let b = ['"', '\'', '\"', 'x'];
let c = r#"raw "three""#;
const P: &str = include_str!("../docs/X.md");
fn f<'a>(x: &'a str) { hint("four") }
"##;
        assert_eq!(literals(source), [r#"one \" and // two"#, r#"raw "three""#, "four"]);
        assert_eq!(literals("\"open"), ["open"]);
    }

    #[test]
    fn unit_tests_are_left_out() {
        assert_eq!(without_tests("a\n#[cfg(test)]\nmod tests {\nb\n}\n"), "a");
        assert_eq!(without_tests("a\n#[cfg(test)]\nuse x;\n"), "a\n#[cfg(test)]\nuse x;\n");
    }
}
