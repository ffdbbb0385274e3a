//! Errors are types: no function of the product returns a `String` as its error.

use anyhow::Result;

use crate::catalogue::scan;
use crate::files::repository;
use crate::messages::{is_product, without_tests};
use crate::{none_of, read};

/// The lines of a source, by number, that use `String` as an error.
fn string_errors(source: &str) -> Vec<usize> {
    let code = scan(source).code;
    let results = code.match_indices("Result<").filter(|(at, _)| {
        let inside = &code[at + "Result<".len()..];
        error_of(inside) == Some("String")
    });
    let associated = ["type Error = String;", "type Err = String;"];
    let associated = associated.iter().flat_map(|text| code.match_indices(text));
    let mut lines: Vec<usize> =
        results.chain(associated).map(|(at, _)| code[..at].matches('\n').count() + 1).collect();
    lines.sort_unstable();
    lines
}

/// The second argument of a `Result<`, up to its closing bracket.
fn error_of(inside: &str) -> Option<&str> {
    let (mut depth, mut from, mut before) = (1, None, ' ');
    for (at, c) in inside.char_indices() {
        match c {
            '<' | '(' | '[' => depth += 1,
            // The arrow of a function type closes nothing.
            '>' if before == '-' => {}
            '>' | ')' | ']' => depth -= 1,
            ',' if depth == 1 && from.is_none() => from = Some(at + 1),
            _ => {}
        }
        if depth == 0 {
            return from.map(|from| inside[from..at].trim().trim_end_matches(',').trim_end());
        }
        before = c;
    }
    None
}

#[test]
fn no_error_is_a_string() -> Result<()> {
    let mut found = Vec::new();
    for path in repository()?.iter().filter(|path| is_product(path)) {
        let lines = string_errors(without_tests(&read(path)?));
        found.extend(lines.iter().map(|line| format!("{path}:{line}")));
    }
    none_of("use a small error type instead of `Result<_, String>`", &found)
}

#[test]
fn string_errors_are_found_and_others_are_not() {
    for source in [
        "fn a() -> Result<u8, String> {}",
        "fn a() -> Result<[u8; 2], String> {}",
        "fn a() -> Result<\n    Vec<(u8, u8)>,\n    String,\n> {}",
        "fn a() -> Option<Result<Box<dyn Fn(u8) -> u8>, String>> {}",
        "impl FromStr for A {\n    type Err = String;\n}",
    ] {
        assert_eq!(string_errors(source).len(), 1, "{source}");
    }
    for source in [
        "fn a() -> Result<String, AError> {}",
        "fn a() -> Result<Vec<(u8, String)>, AError> {}",
        "fn a() -> io::Result<String> {}",
        "// Result<u8, String>\nlet a = \"Result<u8, String>\";",
        "type A = Result<(), Vec<String>>;",
    ] {
        assert_eq!(string_errors(source), [0_usize; 0], "{source}");
    }
}
