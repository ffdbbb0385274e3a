//! A notebook's text taken apart and put together again.
//!
//! An edit is a splice into the file's own text and no re-serialisation of it, so whatever it does
//! not mean to change keeps its bytes: number formats, unknown keys, even an odd indentation.

use std::ops::Range;

use serde::de::IgnoredAny;
use serde_json::{Deserializer, Value};

use super::NotebookError;

/// A text as JSON.
pub(super) fn quoted(text: &str) -> String {
    Value::from(text).to_string()
}

/// A cell's keys, each with its value as JSON text.
#[derive(Default)]
pub(super) struct Cell(Vec<(String, String)>);

impl Cell {
    pub(super) fn read(text: &str, start: usize) -> Result<Self, NotebookError> {
        let pairs = parts(text, start);
        let pairs = pairs.chunks_exact(2).map(|pair| {
            Ok((serde_json::from_str(&text[pair[0].clone()])?, text[pair[1].clone()].to_owned()))
        });
        pairs.collect::<Result<_, _>>().map(Self)
    }

    /// Sets a key in its place. A new one goes where Jupyter, which sorts them, would put it.
    pub(super) fn put(&mut self, key: &str, value: &str) {
        // Of two keys with the same name, the last one counts.
        if let Some((_, old)) = self.0.iter_mut().rev().find(|(known, _)| known == key) {
            value.clone_into(old);
            return;
        }
        let at = self.0.iter().position(|(known, _)| known.as_str() > key);
        self.0.insert(at.unwrap_or(self.0.len()), (key.to_owned(), value.to_owned()));
    }

    /// Gives the cell a type and a source. Outputs belong to the source that made them.
    pub(super) fn fill(&mut self, kind: &str, source: &str) {
        self.put("cell_type", &quoted(kind));
        self.put("source", source);
        if kind == "code" {
            self.put("execution_count", "null");
            self.put("outputs", "[]");
        }
    }

    /// Drops what a cell that becomes a `kind` must not have.
    pub(super) fn leave_behind(&mut self, kind: &str) {
        let foreign: &[_] =
            if kind == "code" { &["attachments"] } else { &["execution_count", "outputs"] };
        self.0.retain(|(key, _)| !foreign.contains(&key.as_str()));
    }
}

/// How a notebook is laid out; Jupyter indents with one space.
pub(super) struct Layout<'a> {
    newline: &'static str,
    indent: &'a str,
}

impl<'a> Layout<'a> {
    /// Goes by what stands between the notebook's opening brace and its first key.
    pub(super) fn of(text: &'a str) -> Self {
        let gap = text.split(['{', '"']).nth(1).unwrap_or_default();
        match gap.rsplit_once('\n') {
            Some((before, indent)) if before.ends_with('\r') => Self { newline: "\r\n", indent },
            Some((_, indent)) => Self { newline: "\n", indent },
            None => Self { newline: "", indent: "" },
        }
    }

    pub(super) fn gap(&self, depth: usize) -> String {
        format!("{}{}", self.newline, self.indent.repeat(depth))
    }

    /// A cell as it stands in the list of cells.
    pub(super) fn object(&self, cell: &Cell) -> String {
        let gap = self.gap(3);
        let member = |(key, value): &(String, String)| format!("{gap}{}: {value}", quoted(key));
        let members: Vec<_> = cell.0.iter().map(member).collect();
        format!("{{{}{}}}", members.join(","), self.gap(2))
    }

    /// A cell's source: a list of lines, each with its line end.
    pub(super) fn source(&self, source: &str) -> String {
        let gap = self.gap(4);
        let line = |line| format!("{gap}{}", quoted(line));
        let lines: Vec<_> = source.split_inclusive('\n').map(line).collect();
        if lines.is_empty() {
            return "[]".to_owned();
        }
        format!("[{}{}]", lines.join(","), self.gap(3))
    }
}

/// Where the list of cells stands.
pub(super) fn cells_span(text: &str) -> Result<Range<usize>, NotebookError> {
    let mut span = None;
    for pair in parts(text, text.len() - text.trim_start().len()).chunks_exact(2) {
        // Of two lists too, the last one counts; `open` has checked that one.
        if serde_json::from_str::<String>(&text[pair[0].clone()])? == "cells" {
            span = Some(pair[1].clone());
        }
    }
    span.ok_or(NotebookError::NotANotebook("`cells` array"))
}

/// Where the parts of the array or object at `start` stand; an object's are its keys and values by
/// turns. The text is known to be valid JSON, so separators need no check.
pub(super) fn parts(text: &str, start: usize) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    let mut at = start + 1;
    loop {
        at = text.len() - text[at..].trim_start_matches([' ', '\t', '\r', '\n', ',', ':']).len();
        let mut values = Deserializer::from_str(&text[at..]).into_iter::<IgnoredAny>();
        // What does not begin a value is the closing bracket.
        let Some(Ok(IgnoredAny)) = values.next() else {
            return parts;
        };
        let end = at + values.byte_offset();
        parts.push(at..end);
        at = end;
    }
}
