//! Code that a test gives to an interpreter: which modules it loads, and what it looks at.

use super::facts::Facts;
use super::tables::is_of_the_language;

/// The interpreter of a file, by its ending.
pub(super) fn interpreter_of(path: &str) -> Option<&'static str> {
    match path.rsplit_once('.')?.1 {
        "py" => Some("python"),
        "js" | "mjs" | "cjs" | "ts" | "mts" => Some("node"),
        "rb" => Some("ruby"),
        "pl" => Some("perl"),
        "php" => Some("php"),
        _ => None,
    }
}

/// Modules that a piece of code loads and that do not come with its language: with the line, counted from 0.
pub(super) fn foreign_modules(program: &str, code: &str) -> Vec<(usize, String)> {
    let program = program.rsplit('/').next().unwrap_or(program);
    let name = program.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let mut found = Vec::new();
    for (number, line) in code.lines().enumerate() {
        // A string in a line may have a semicolon; what follows it is then no import.
        for statement in line.split(';') {
            let modules = match name {
                "python" => python(statement.trim()),
                "node" | "nodejs" | "deno" | "bun" => {
                    quoted_behind(statement, &["require(", "import(", " from ", "import "])
                }
                "ruby" => quoted_behind(
                    statement,
                    &["require ", "require(", "require_relative ", "load "],
                ),
                "perl" => perl(statement.trim()),
                "php" => quoted_behind(
                    statement,
                    &[
                        "require ",
                        "require(",
                        "include ",
                        "include(",
                        "require_once ",
                        "include_once ",
                    ],
                ),
                _ => Vec::new(),
            };
            let foreign = modules.into_iter().filter(|module| !is_of_the_language(name, module));
            found.extend(foreign.map(|module| (number, module)));
        }
    }
    found
}

fn python(statement: &str) -> Vec<String> {
    let first = |text: &str| text.split_whitespace().next().unwrap_or_default().to_owned();
    if let Some(rest) = statement.strip_prefix("import ") {
        return rest.split(',').map(first).collect();
    }
    if let Some(rest) = statement.strip_prefix("from ") {
        return vec![first(rest)];
    }
    ["__import__", "importlib"]
        .iter()
        .filter(|name| statement.contains(**name))
        .map(|name| (*name).to_owned())
        .collect()
}

fn perl(statement: &str) -> Vec<String> {
    let rest = ["use ", "require "].iter().find_map(|word| statement.strip_prefix(word));
    let name = rest.and_then(|rest| rest.split(|c: char| c.is_whitespace() || c == '(').next());
    name.filter(|name| name.starts_with(char::is_alphabetic))
        .map(str::to_owned)
        .into_iter()
        .collect()
}

/// The quoted names behind these words.
fn quoted_behind(statement: &str, words: &[&str]) -> Vec<String> {
    let mut found = Vec::new();
    for word in words {
        for (at, _) in statement.match_indices(word) {
            let rest = statement[at + word.len()..].trim_start();
            let Some(quote) = rest.chars().next().filter(|c| matches!(c, '\'' | '"' | '`')) else {
                continue;
            };
            if let Some((name, _)) = rest[1..].split_once(quote) {
                found.push(name.to_owned());
            }
        }
    }
    found
}

/// What a piece of code looks at.
pub(super) fn looks_at(code: &str) -> Facts {
    let has = |words: &[&str]| words.iter().any(|word| code.contains(word));
    let mut facts = Facts::NONE;
    if has(&[
        "open(",
        "Path(",
        "readFile",
        "existsSync",
        "statSync",
        "os.path",
        "File.",
        "glob",
        "-e ",
        "-f ",
    ]) {
        facts |= Facts::FILE;
    }
    if has(&["sqlite", "DatabaseSync"]) {
        facts |= Facts::ROWS | recorded(code);
    }
    if has(&["subprocess", "child_process", "Open3", "os.popen"]) {
        facts |= Facts::OUTPUT;
    }
    facts
}

/// Whether a piece of code starts the product.
pub(super) fn runs_product(code: &str) -> bool {
    let starts = [
        "subprocess",
        "execFile",
        "spawn",
        "execSync",
        "os.system",
        "popen",
        "Open3",
        "system(",
        "exec(",
    ];
    code.contains("PROJECT") && starts.iter().any(|word| code.contains(word))
}

/// Where a piece of code opens a file of the product.
pub(super) fn opens_product(code: &str) -> Option<String> {
    let opens = ["open(", "readFile(", "readFileSync(", "read_text(", "read_bytes(", "File.read("];
    opens.iter().flat_map(|word| code.match_indices(word)).find_map(|(at, word)| {
        let rest = &code[at + word.len()..];
        let mut depth = 1;
        let end = rest.find(|c| {
            depth += i32::from(c == '(') - i32::from(c == ')');
            depth == 0
        });
        let argument = &rest[..end.unwrap_or(rest.len())];
        let is_call = argument.contains("PROJECT") && !code[..at].ends_with(['P', 'p']);
        is_call.then(|| format!("{word}{argument})"))
    })
}

/// What a query about ona's record asks for.
pub(super) fn recorded(query: &str) -> Facts {
    let mut facts = Facts::NONE;
    if query.contains("hook_invocations") {
        facts |= Facts::HOOK;
    }
    if ["transcript_entries", "tool_result", "is_error"].iter().any(|word| query.contains(word)) {
        facts |= Facts::TOOL;
    }
    facts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn modules_of_the_language_may_be_loaded() {
        for (program, code, foreign) in [
            ("python3", "import json, sys\nfrom pathlib import Path", &[][..]),
            ("python3.12", "import os.path; import todo", &["todo"]),
            ("python3", "from app.core import add", &["app.core"]),
            ("python3", "from . import add", &["."]),
            ("python3", "from unittest import mock", &["unittest"]),
            ("python3", "m = __import__('todo')", &["__import__"]),
            ("node", "const fs = require('fs'), a = require('../lib/a.js')", &["../lib/a.js"]),
            (
                "node",
                "import { add } from './add.mjs'; import fs from 'node:fs/promises'",
                &["./add.mjs"],
            ),
            ("node", "await import(`/x/y.js`)", &["/x/y.js"]),
            ("ruby", "require 'json'\nrequire_relative 'todo'", &["todo"]),
            ("perl", "use strict; use JSON::PP; use Todo::Core;", &["Todo::Core"]),
            ("php", "require 'todo.php';", &["todo.php"]),
            ("awk", "import x", &[]),
        ] {
            let found: Vec<String> =
                foreign_modules(program, code).into_iter().map(|(_, module)| module).collect();
            assert_eq!(found, foreign, "{code}");
        }
    }
}
