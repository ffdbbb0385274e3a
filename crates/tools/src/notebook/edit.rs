//! Edits of one cell: what replacing, inserting and deleting mean for a notebook.

use ona_types::ContentHash;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::Value;

use super::splice::{Cell, Layout, cells_span, parts, quoted};
use super::{NotebookError, cells, labels, language, open};

/// Cells named by an error.
const LISTED_CAP: usize = 20;

/// What an edit does with a cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Mode {
    #[default]
    Replace,
    Insert,
    Delete,
}

/// The types a cell can be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub(crate) enum CellType {
    Code,
    Markdown,
}

impl CellType {
    fn name(self) -> &'static str {
        match self {
            Self::Code => "code",
            Self::Markdown => "markdown",
        }
    }
}

/// An edit of one cell.
#[derive(Clone, Debug)]
pub(crate) struct Change {
    /// The cell; an inserted one goes after it, or to the start without it.
    pub(crate) cell_id: Option<String>,
    pub(crate) mode: Mode,
    pub(crate) cell_type: Option<CellType>,
    pub(crate) new_source: String,
}

/// A notebook after an edit, and the cell it was about.
#[derive(Debug)]
pub(crate) struct Edited {
    pub(crate) text: String,
    pub(crate) cell_id: String,
    /// `code`, `markdown` or `raw`.
    pub(crate) cell_type: String,
    pub(crate) language: String,
}

/// Makes a change. The notebook's text outside of the cell stays as it is, byte for byte.
pub(crate) fn edit(text: &str, change: &Change) -> Result<Edited, NotebookError> {
    let root = open(text)?;
    let cells = cells(&root);
    let labels = labels(cells);
    let target = change.cell_id.as_deref().map(|id| find(cells, &labels, id)).transpose()?;
    let layout = Layout::of(text);
    let array = cells_span(text)?;
    let spans = parts(text, array.start);
    let source = layout.source(&change.new_source);

    let (span, with, cell_id, cell_type) = match (change.mode, target) {
        (Mode::Insert, _) => {
            let kind = change.cell_type.ok_or(NotebookError::NoCellType)?.name();
            let index = target.map_or(0, |after| after + 1);
            let mut cell = Cell::default();
            cell.put("metadata", "{}");
            cell.fill(kind, &source);
            let mut label = format!("cell-{index}");
            // Cells have ids from nbformat 4.5 on; before, an id makes the notebook invalid.
            if root["nbformat_minor"].as_u64() >= Some(5) {
                label = fresh_id(cells, index, &change.new_source);
                cell.put("id", &quoted(&label));
            }
            let cell = layout.object(&cell);
            let gap = layout.gap(2);
            let (span, with) = match (spans.first(), index.checked_sub(1)) {
                (_, Some(before)) => {
                    (spans[before].end..spans[before].end, format!(",{gap}{cell}"))
                }
                (Some(first), None) => (first.start..first.start, format!("{cell},{gap}")),
                (None, None) => (array, format!("[{gap}{cell}{}]", layout.gap(1))),
            };
            (span, with, label, kind)
        }
        (Mode::Replace, Some(index)) => {
            let old = cells[index]["cell_type"].as_str().unwrap_or_default();
            let kind = change.cell_type.map_or(old, |kind| kind.name());
            let mut cell = Cell::read(text, spans[index].start)?;
            if kind != old {
                cell.leave_behind(kind);
            }
            cell.fill(kind, &source);
            (spans[index].clone(), layout.object(&cell), labels[index].clone(), kind)
        }
        (Mode::Delete, Some(index)) => {
            let (span, with) = match (spans.get(index + 1), index.checked_sub(1)) {
                (Some(next), _) => (spans[index].start..next.start, ""),
                (None, Some(before)) => (spans[before].end..spans[index].end, ""),
                (None, None) => (array, "[]"),
            };
            let kind = cells[index]["cell_type"].as_str().unwrap_or_default();
            (span, with.to_owned(), labels[index].clone(), kind)
        }
        (Mode::Replace, None) => return Err(NotebookError::NoCellId("replace")),
        (Mode::Delete, None) => return Err(NotebookError::NoCellId("delete")),
    };

    let mut edited = text.to_owned();
    edited.replace_range(span, &with);
    let (cell_type, language) = (cell_type.to_owned(), language(&root).to_owned());
    Ok(Edited { text: edited, cell_id, cell_type, language })
}

/// The cell with this id or, if no cell has it, at the place that `cell-N` names.
fn find(cells: &[Value], labels: &[String], wanted: &str) -> Result<usize, NotebookError> {
    let by_id = cells.iter().position(|cell| cell["id"] == wanted);
    let found = by_id.or_else(|| (0..cells.len()).find(|index| wanted == format!("cell-{index}")));
    found.ok_or_else(|| {
        let known = match labels.len() {
            0 => "no cells at all".to_owned(),
            count if count > LISTED_CAP => {
                format!("{}, … ({count} cells)", labels[..LISTED_CAP].join(", "))
            }
            _ => labels.join(", "),
        };
        NotebookError::NoSuchCell { wanted: wanted.to_owned(), known }
    })
}

/// An id that no cell has, and the same for the same edit.
fn fresh_id(cells: &[Value], index: usize, source: &str) -> String {
    let id = |bump: usize| {
        let hash = ContentHash::of(format!("{index} {bump} {source}").as_bytes());
        hash.as_str().chars().take(8).collect::<String>()
    };
    let is_free = |id: &String| cells.iter().all(|cell| cell["id"] != id.as_str());
    (0..).map(id).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::super::tests::{JUPYTER, change};
    use super::*;

    const CODE: Option<CellType> = Some(CellType::Code);
    const MARKDOWN: Option<CellType> = Some(CellType::Markdown);

    /// The bytes of one of the fixture's cells, with a part of them exchanged.
    fn cell(index: usize, from: &str, to: &str) -> (&'static str, String) {
        let span = parts(JUPYTER, cells_span(JUPYTER).unwrap().start)[index].clone();
        let old = &JUPYTER[span];
        assert!(old.contains(from), "{from} in {old}");
        (old, old.replace(from, to))
    }

    fn done(text: &str, id: &str, mode: Mode, kind: Option<CellType>, source: &str) -> Edited {
        edit(text, &change(Some(id), mode, kind, source)).unwrap()
    }

    #[test]
    fn a_replaced_cell_changes_alone() {
        let (old, new) =
            cell(0, "\"# Größe 📏\\n\",\n    \"\\n\",\n    \"some *text*\"", "\"é\\n\"");
        let edited = done(JUPYTER, "6ea1b0f1", Mode::Replace, None, "é\n");
        assert_eq!(edited.text, JUPYTER.replace(old, &new));
        assert_eq!(
            (&*edited.cell_id, &*edited.cell_type, &*edited.language),
            ("6ea1b0f1", "markdown", "python")
        );

        let (old, new) = cell(2, "\"raw\"\n   ]", "\"a\\n\",\n    \"\\\"b\\\"\"\n   ]");
        let edited = done(JUPYTER, "cell-2", Mode::Replace, None, "a\n\"b\"");
        assert_eq!(edited.text, JUPYTER.replace(old, &new));
        assert_eq!((&*edited.cell_id, &*edited.cell_type), ("77ab12cd", "raw"));
    }

    #[test]
    fn a_replaced_code_cell_loses_its_outputs_and_nothing_else() {
        let edited = done(JUPYTER, "0c5a8d3e", Mode::Replace, None, "");
        let (old, _) = cell(1, "", "");
        let (start, rest) = old.split_once("\"outputs\": [").unwrap();
        assert!(rest.contains("source"));
        let start = start.replace("_count\": 3", "_count\": null");
        let new = format!("{start}\"outputs\": [],\n   \"source\": []\n  }}");
        assert!(new.contains("1e-05") && new.contains("12345678901234567890123"));
        assert_eq!(edited.text, JUPYTER.replace(old, &new));
    }

    #[test]
    fn a_cell_changes_its_type_there_and_back() {
        let (old, markdown) = cell(3, "\"code\",\n   \"execution_count\": null", "\"markdown\"");
        let markdown = markdown.replace("   \"outputs\": [],\n", "");
        let there = done(JUPYTER, "e3b0c442", Mode::Replace, MARKDOWN, "");
        assert_eq!(there.text, JUPYTER.replace(old, &markdown));
        assert_eq!(there.cell_type, "markdown");
        let back = done(&there.text, "e3b0c442", Mode::Replace, CODE, "");
        assert_eq!(back.text, JUPYTER);

        let cell =
            json!({"cell_type": "markdown", "attachments": {"p": {}}, "my": 1, "source": ""});
        let text = json!({"nbformat": 4, "cells": [cell]}).to_string();
        let code = done(&text, "cell-0", Mode::Replace, CODE, "").text;
        assert!(!code.contains("attachments") && code.contains("\"my\": 1"), "{code}");
        assert!(done(&text, "cell-0", Mode::Replace, MARKDOWN, "").text.contains("attachments"));
    }

    #[test]
    fn an_inserted_cell_looks_like_jupyters_and_can_be_deleted_again() {
        let added = done(JUPYTER, "6ea1b0f1", Mode::Insert, CODE, "x = 1\ny");
        let id = &added.cell_id;
        assert!(id.len() == 8 && id.bytes().all(|byte| byte.is_ascii_hexdigit()), "{id}");
        let new = format!(
            "{{\n   \"cell_type\": \"code\",\n   \"execution_count\": null,\n   \"id\": \"{id}\",\n   \
             \"metadata\": {{}},\n   \"outputs\": [],\n   \"source\": [\n    \"x = 1\\n\",\n    \
             \"y\"\n   ]\n  }},\n  "
        );
        let (second, _) = cell(1, "", "");
        assert_eq!(added.text, JUPYTER.replace(second, &(new + second)));
        assert_eq!(done(&added.text, id, Mode::Delete, None, "").text, JUPYTER);

        let again = done(&added.text, "6ea1b0f1", Mode::Insert, CODE, "x = 1\ny");
        assert_ne!(&again.cell_id, id);
        for after in [None, Some("e3b0c442")] {
            let added = edit(JUPYTER, &change(after, Mode::Insert, MARKDOWN, "hi")).unwrap();
            let index = if after.is_some() { 4 } else { 0 };
            assert_eq!(open(&added.text).unwrap()["cells"][index]["source"], json!(["hi"]));
            assert_eq!(done(&added.text, &added.cell_id, Mode::Delete, None, "").text, JUPYTER);
        }
    }

    #[test]
    fn a_notebook_keeps_its_own_layout() {
        let empty = "{\r\n\t\"cells\": [],\r\n\t\"nbformat\": 4\r\n}";
        let one = edit(empty, &change(None, Mode::Insert, MARKDOWN, "a")).unwrap();
        assert_eq!(
            one.text,
            "{\r\n\t\"cells\": [\r\n\t\t{\r\n\t\t\t\"cell_type\": \"markdown\",\r\n\t\t\t\
             \"metadata\": {},\r\n\t\t\t\"source\": [\r\n\t\t\t\t\"a\"\r\n\t\t\t]\r\n\t\t}\r\n\t],\
             \r\n\t\"nbformat\": 4\r\n}"
        );
        assert_eq!(one.cell_id, "cell-0");
        assert_eq!(done(&one.text, "cell-0", Mode::Delete, None, "").text, empty);

        let flat = r#"{"nbformat":4,"cells":[{"cell_type":"raw","source":"a"}]}"#;
        let edited = done(flat, "cell-0", Mode::Replace, None, "b").text;
        assert_eq!(edited, r#"{"nbformat":4,"cells":[{"cell_type": "raw","source": ["b"]}]}"#);
    }

    #[test]
    fn cell_n_is_a_place_unless_it_is_an_id() {
        let cell = |id, source| json!({"cell_type": "raw", "id": id, "source": source});
        let cells = [cell("cell-1", "a"), cell("b", "b")];
        let text = json!({"nbformat": 4, "cells": cells}).to_string();
        let sources = |id| {
            let root = open(&done(&text, id, Mode::Replace, None, "new").text).unwrap();
            [0, 1].map(|index| root["cells"][index]["source"] == json!(["new"]))
        };
        assert_eq!(sources("cell-1"), [true, false]);
        assert_eq!(sources("cell-0"), [true, false]);
        assert_eq!(sources("b"), [false, true]);
    }

    #[test]
    fn what_cannot_be_done_is_explained() {
        for (change, expected) in [
            (
                change(None, Mode::Replace, None, ""),
                "`cell_id` is missing: name the cell to replace",
            ),
            (change(None, Mode::Delete, None, ""), "`cell_id` is missing: name the cell to delete"),
            (change(None, Mode::Insert, None, ""), "a new cell needs a `cell_type`"),
            (
                change(Some("cell-4"), Mode::Delete, None, ""),
                "the notebook has no cell `cell-4`; it has 6ea1b0f1, 0c5a8d3e, 77ab12cd, e3b0c442",
            ),
        ] {
            let message = edit(JUPYTER, &change).unwrap_err().to_string();
            assert!(message.starts_with(expected), "{message}");
        }
        let many = json!({"nbformat": 4, "cells": vec![json!({"cell_type": "raw"}); 30]});
        let message = edit(&many.to_string(), &change(Some("x"), Mode::Delete, None, ""));
        assert!(message.unwrap_err().to_string().ends_with("cell-19, … (30 cells)"));
    }
}
