//! Comments cite clauses ("S0 §5.12", "DESIGN §5 no. 12"). Every cite must be in
//! docs/SPEC.md or docs/DESIGN.md, and docs/SPEC.md may name only acceptance rows
//! and tests that exist.

use std::collections::BTreeSet;

use anyhow::{Context, Result, ensure};

use crate::files::repository;
use crate::markdown::tables;
use crate::{none_of, read, root};

const SPEC: &str = "docs/SPEC.md";
const DESIGN: &str = "docs/DESIGN.md";
const MATRIX: &str = "docs/ACCEPTANCE_MATRIX.md";

/// The cited documents; the last one is our own.
const DOCUMENTS: [&str; 6] = ["S0", "S1", "S2", "S3", "S4", "DESIGN"];

/// Parses a clause number such as `5.12` or `F.3` at the start of `text`.
fn clause(text: &str) -> Option<(&str, &str)> {
    let text = text.strip_prefix('§')?;
    let inside = |c: char| c.is_ascii_alphanumeric() || c == '.';
    let end = text.find(|c| !inside(c)).unwrap_or(text.len());
    let number = text[..end].trim_end_matches('.');
    (!number.is_empty()).then(|| (number, &text[number.len()..]))
}

/// Parses the number of `no. 12` at the start of `text`.
fn question(text: &str) -> Option<&str> {
    let text = text.strip_prefix(',').unwrap_or(text).trim_start().strip_prefix("no. ")?;
    let end = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    (end > 0).then(|| &text[..end])
}

/// Every cite in `text`, as "S0 §5.12" or "DESIGN §5 no. 12". "S0 §5.2 to §5.6" and "S0 §5.4, §5.5" are two each.
fn cites(text: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for document in DOCUMENTS {
        let start = format!("{document} §");
        for (at, _) in text.match_indices(&start) {
            let mut rest = &text[at + document.len() + 1..];
            while let Some((number, behind)) = clause(rest) {
                let question = question(behind).map(|number| format!(" no. {number}"));
                found.insert(format!("{document} §{number}{}", question.unwrap_or_default()));
                let joint = [", ", " and ", " to "].iter().find_map(|j| behind.strip_prefix(j));
                rest = joint.unwrap_or_default();
            }
        }
    }
    found
}

/// The part of a page below each heading of the second level, with the heading.
fn sections(page: &str) -> impl Iterator<Item = (&str, &str)> {
    page.split("\n## ").skip(1).map(|part| part.split_once('\n').unwrap_or((part, "")))
}

/// The clauses in docs/SPEC.md: the first cells of the tables below each document's heading.
fn clauses(spec: &str) -> BTreeSet<String> {
    let rows = sections(spec).flat_map(|(document, part)| {
        let rows = tables(part).into_iter().flat_map(|table| table.rows);
        rows.map(move |row| format!("{document} §{}", row[0]))
    });
    rows.collect()
}

/// The clauses in docs/DESIGN.md: its headings, and the numbers of its settled questions.
fn decisions(design: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (heading, part) in sections(design) {
        let number = heading.split(' ').next().unwrap_or_default();
        found.insert(format!("DESIGN {number}"));
        let numbered = tables(part).into_iter().filter(|table| table.header[0] == "No.");
        let rows = numbered.flat_map(|table| table.rows);
        found.extend(rows.map(|row| format!("DESIGN {number} no. {}", row[0])));
    }
    found
}

/// The rows and tests that docs/SPEC.md names and that are not in `rows` or on disk.
fn missing(spec: &str, rows: &BTreeSet<String>, is_file: impl Fn(&str) -> bool) -> Vec<String> {
    let cells = tables(spec).into_iter().filter(|table| table.header.len() == 3);
    let cells = cells.flat_map(|table| table.rows).filter_map(|row| row.into_iter().nth(2));
    let words: Vec<String> = cells
        .flat_map(|cell| {
            let words = cell.split(|c: char| c.is_whitespace() || ",;()".contains(c));
            words.map(str::to_owned).collect::<Vec<_>>()
        })
        .collect();
    let is_row = |word: &str| {
        let id = word.split_once('-').map(|(source, _)| source);
        id.is_some_and(|source| source == "D" || DOCUMENTS[..5].contains(&source))
    };
    let lost = words.iter().filter(|word| match word.trim_matches('`') {
        test if test.starts_with("it/") => !is_file(&format!("crates/ona/tests/{test}")),
        file if file.starts_with("crates/") => !is_file(file),
        word => is_row(word) && !rows.contains(word),
    });
    lost.cloned().collect()
}

#[test]
fn every_cite_can_be_looked_up() -> Result<()> {
    let mut known = clauses(&read(SPEC)?);
    ensure!(known.len() > 100, "{SPEC} has hardly any rows");
    known.append(&mut decisions(&read(DESIGN)?));
    let mut lost = Vec::new();
    for path in repository()? {
        let bytes = std::fs::read(root().join(&path)).with_context(|| path.clone())?;
        // This file contains invalid examples.
        if path.ends_with("tests/it/cites.rs") {
            continue;
        }
        let cited = cites(&String::from_utf8_lossy(&bytes));
        lost.extend(cited.difference(&known).map(|cite| format!("{path}: {cite}")));
    }
    none_of(&format!("in neither {SPEC} nor {DESIGN}"), &lost)
}

#[test]
fn what_is_said_to_be_shown_is_there() -> Result<()> {
    let matrix = tables(&read(MATRIX)?).into_iter().flat_map(|table| table.rows);
    let rows: BTreeSet<String> = matrix.map(|row| row[0].clone()).collect();
    let lost = missing(&read(SPEC)?, &rows, |path| root().join(path).is_file());
    none_of(&format!("{SPEC} names what does not exist"), &lost)
}

#[cfg(test)]
mod samples {
    use super::*;

    fn set(cites: &[&str]) -> BTreeSet<String> {
        cites.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn cites_are_found_with_what_is_joined_to_them() {
        for (text, found) in [
            ("the rules of S0 §5.12.", &["S0 §5.12"][..]),
            ("S0 §5.4 to §5.6: takes", &["S0 §5.4", "S0 §5.6"]),
            ("(S0 §5.4, §5.5, §5.8)", &["S0 §5.4", "S0 §5.5", "S0 §5.8"]),
            ("S0 §5.6, 5: afterwards", &["S0 §5.6"]),
            ("S0 §4.1 and DESIGN §2: a", &["S0 §4.1", "DESIGN §2"]),
            ("# S0 §F.3: the page", &["S0 §F.3"]),
            ("(DESIGN §5, no. 12).", &["DESIGN §5 no. 12"]),
            ("S4, DESIGN §5 no. 16", &["DESIGN §5 no. 16"]),
            ("S0 § and §3", &[]),
        ] {
            assert_eq!(cites(text), set(found), "{text}");
        }
    }

    #[test]
    fn pages_are_read_by_heading_and_first_cell() {
        let spec = "# A\n\n| § | x |\n|---|---|\n| 9 | no |\n\n## S0\n\n### B\n\n| § | must |\n|---|---|\n| 4.3 | x |\n\n\
                    ## S1\n\n| § | must |\n|---|---|\n| 1 | y |\n";
        assert_eq!(clauses(spec), set(&["S0 §4.3", "S1 §1"]));
        let design = "# D\n\n## §1 Who\n\n| Who | x |\n|---|---|\n| 7 | |\n\n## §5 Settled\n\n| No. | x |\n|---|---|\n| 12 | y |\n";
        assert_eq!(decisions(design), set(&["DESIGN §1", "DESIGN §5", "DESIGN §5 no. 12"]));
    }

    #[test]
    fn rows_and_tests_that_are_gone_are_named() {
        let spec = "| § | must | Shown by |\n|---|---|---|\n| 1 | x | S0-1, A2 S0-2; `it/a.rs` (files) |\n\
                    | 2 | x | `it/b.rs`, `crates/x/src/y.rs`, open |\n";
        let lost = missing(spec, &set(&["S0-1"]), |path| path == "crates/ona/tests/it/a.rs");
        assert_eq!(lost, ["S0-2", "`it/b.rs`", "`crates/x/src/y.rs`"]);
    }
}
