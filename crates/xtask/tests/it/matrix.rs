//! docs/ACCEPTANCE_MATRIX.md must be complete: every script has a row, every
//! row has its script.

use std::collections::HashSet;
use std::fs;

use anyhow::{Context, Result, ensure};

use crate::markdown::{code, tables};
use crate::{capture, none_of, read, root};

/// Shared helpers and fixtures of the scripts; they have no rows.
const HELPERS: &str = "acceptance/lib/";

#[derive(Debug, PartialEq)]
struct Row {
    id: String,
    obligation: String,
    command: String,
    expected: String,
}

/// The rows of all tables with four columns.
fn rows(page: &str) -> Result<Vec<Row>> {
    let tables = tables(page).into_iter().filter(|table| table.header.len() == 4);
    let rows = tables.flat_map(|table| table.rows).map(|cells| {
        let [id, obligation, command, expected] =
            <[String; 4]>::try_from(cells).ok().context("a row must have four cells")?;
        let command =
            code(&command).with_context(|| format!("{id}: no command in backticks"))?.to_owned();
        Ok(Row { id, obligation, command, expected })
    });
    rows.collect()
}

/// The files under `acceptance/` that a command names.
fn scripts(command: &str) -> impl Iterator<Item = &str> {
    command
        .split(|c: char| c.is_whitespace() || "\"';|&()<>".contains(c))
        .map(|word| word.strip_prefix("./").unwrap_or(word))
        .filter(|word| word.starts_with("acceptance/"))
}

/// The mismatches between rows and `files`, both with paths from the root.
fn misfits(rows: &[Row], files: &[String]) -> Vec<String> {
    let mut misfits = Vec::new();
    let mut ids = HashSet::new();
    for row in rows {
        if !ids.insert(&row.id) {
            misfits.push(format!("{}: the id is used twice", row.id));
        }
        for script in scripts(&row.command).filter(|script| !files.iter().any(|f| f == script)) {
            misfits.push(format!("{}: {script} does not exist", row.id));
        }
    }
    let named: HashSet<&str> = rows.iter().flat_map(|row| scripts(&row.command)).collect();
    let unnamed = files.iter().filter(|file| !named.contains(file.as_str()));
    misfits.extend(
        unnamed.filter(|file| !file.starts_with(HELPERS)).map(|file| format!("{file} has no row")),
    );
    misfits
}

/// All files below `directory`, as paths from the root.
fn files_below(directory: &str) -> Result<Vec<String>> {
    let mut files = Vec::new();
    let entries =
        fs::read_dir(root().join(directory)).with_context(|| format!("cannot list {directory}"))?;
    for entry in entries {
        let entry = entry?;
        let path = format!("{directory}/{}", entry.file_name().to_string_lossy());
        if entry.file_type()?.is_dir() {
            files.extend(files_below(&path)?);
        } else {
            files.push(path);
        }
    }
    Ok(files)
}

#[test]
fn every_script_has_its_row_and_every_row_its_script() -> Result<()> {
    let rows = rows(&read("docs/ACCEPTANCE_MATRIX.md")?)?;
    ensure!(!rows.is_empty(), "docs/ACCEPTANCE_MATRIX.md has no rows");
    none_of("docs/ACCEPTANCE_MATRIX.md", &misfits(&rows, &files_below("acceptance")?))
}

#[test]
fn the_runner_reads_the_same_rows() -> Result<()> {
    let listed = capture("bash", &["scripts/sdlc-acceptance.sh", "--list"])?;
    let rows = rows(&read("docs/ACCEPTANCE_MATRIX.md")?)?;
    let lines = rows.iter().map(|Row { id, obligation, command, expected }| {
        format!("{id}\t{obligation}\t{command}\t{expected}\n")
    });
    ensure!(listed == lines.collect::<String>(), "--list differs from the matrix:\n{listed}");
    Ok(())
}

#[cfg(test)]
mod samples {
    use super::*;

    const PAGE: &str = "
| Term | Meaning |
|---|---|
| row | one obligation |

| Id | Obligation | Command | Expected |
|---|---|---|---|
| S0-8.8.1 | read a file | `bash acceptance/read.sh` | exit 0 |
| T-Bash | pipes | `./acceptance/bash.sh x \\| grep y` | exit 0; stdout `a \\| b` |
";

    #[test]
    fn rows_are_those_of_tables_with_four_columns() -> Result<()> {
        let rows = rows(PAGE)?;
        assert_eq!(rows.len(), 2);
        assert_eq!(rows[0].obligation, "read a file");
        assert_eq!(rows[1].command, "./acceptance/bash.sh x | grep y");
        assert_eq!(rows[1].expected, "exit 0; stdout `a | b`");
        assert!(super::rows(&PAGE.replace("`bash acceptance/read.sh`", "later")).is_err());
        assert!(super::rows(&PAGE.replace("x \\|", "x |")).is_err());
        Ok(())
    }

    #[test]
    fn scripts_are_found_in_a_command() {
        let command = "A=1 bash acceptance/a.sh && ./acceptance/b.sh | cat; \"acceptance/c.py\"";
        let found: Vec<_> = scripts(command).collect();
        assert_eq!(found, ["acceptance/a.sh", "acceptance/b.sh", "acceptance/c.py"]);
        assert_eq!(scripts("ona --version").next(), None);
    }

    #[test]
    fn what_does_not_fit_is_named() -> Result<()> {
        let page = PAGE.replace("T-Bash", "S0-8.8.1");
        let files = ["acceptance/read.sh", "acceptance/lib/common.sh", "acceptance/old.sh"];
        assert_eq!(
            misfits(&rows(&page)?, &files.map(str::to_owned)),
            [
                "S0-8.8.1: the id is used twice",
                "S0-8.8.1: acceptance/bash.sh does not exist",
                "acceptance/old.sh has no row",
            ]
        );
        Ok(())
    }
}
