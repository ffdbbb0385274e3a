//! Jupyter notebooks (`.ipynb`, nbformat 4): shown as text, and edited one cell at a time.

mod edit;
mod render;
mod splice;

use std::collections::HashSet;

use serde_json::Value;

pub(crate) use edit::{CellType, Change, Mode, edit};
pub(crate) use render::render;

/// Why a notebook cannot be shown or edited.
#[derive(Debug, thiserror::Error)]
pub(crate) enum NotebookError {
    #[error("the notebook is not valid JSON ({0}); repair the file first")]
    Json(#[from] serde_json::Error),
    #[error("this is not a Jupyter notebook: its JSON has no {0}; check the path")]
    NotANotebook(&'static str),
    #[error(
        "the notebook has nbformat {0}, and only 4 is supported; \
         convert it first with `jupyter nbconvert --to notebook --nbformat 4`"
    )]
    Version(u64),
    #[error("cell {0} (from 0) is not an object with a `cell_type`; repair the file first")]
    BrokenCell(usize),
    #[error("`cell_id` is missing: name the cell to {0}")]
    NoCellId(&'static str),
    #[error("a new cell needs a `cell_type`: code or markdown")]
    NoCellType,
    #[error("the notebook has no cell `{wanted}`; it has {known}")]
    NoSuchCell { wanted: String, known: String },
}

/// Reads a notebook and checks all that the rest relies on.
fn open(text: &str) -> Result<Value, NotebookError> {
    let root: Value = serde_json::from_str(text)?;
    match root["nbformat"].as_u64() {
        Some(4) => {}
        Some(other) => return Err(NotebookError::Version(other)),
        None => return Err(NotebookError::NotANotebook("`nbformat` number")),
    }
    if !root["cells"].is_array() {
        return Err(NotebookError::NotANotebook("`cells` array"));
    }
    match cells(&root).iter().position(|cell| !cell["cell_type"].is_string()) {
        Some(index) => Err(NotebookError::BrokenCell(index)),
        None => Ok(root),
    }
}

fn cells(root: &Value) -> &[Value] {
    root["cells"].as_array().map_or(&[], Vec::as_slice)
}

fn language(root: &Value) -> &str {
    let metadata = &root["metadata"];
    let name = metadata["language_info"]["name"].as_str();
    name.or_else(|| metadata["kernelspec"]["language"].as_str()).unwrap_or("python")
}

/// The name of each cell: its id or, without one, its position.
fn labels(cells: &[Value]) -> Vec<String> {
    let mut seen = HashSet::from([""]);
    let ids = cells.iter().map(|cell| cell["id"].as_str().filter(|id| seen.insert(id)));
    let label = |(index, id): (usize, Option<&str>)| {
        id.map_or_else(|| format!("cell-{index}"), str::to_owned)
    };
    ids.enumerate().map(label).collect()
}

/// Text that is a string, or a list of strings to be joined.
fn joined(value: &Value, separator: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(lines) => {
            lines.iter().filter_map(Value::as_str).collect::<Vec<_>>().join(separator)
        }
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    pub(super) fn change(
        cell_id: Option<&str>,
        mode: Mode,
        cell_type: Option<CellType>,
        source: &str,
    ) -> Change {
        let (cell_id, new_source) = (cell_id.map(str::to_owned), source.to_owned());
        Change { cell_id, mode, cell_type, new_source }
    }

    #[test]
    fn what_is_no_notebook_is_refused() {
        for (text, expected) in [
            (
                "{\n \"cells\": [}",
                "the notebook is not valid JSON (expected value at line 2 column 12)",
            ),
            ("", "the notebook is not valid JSON (EOF while parsing a value at line 1 column 0)"),
            ("[]", "this is not a Jupyter notebook: its JSON has no `nbformat` number"),
            ("{\"nbformat\": 3, \"worksheets\": []}", "the notebook has nbformat 3, and only 4"),
            ("{\"nbformat\": 4}", "this is not a Jupyter notebook: its JSON has no `cells` array"),
            ("{\"nbformat\": 4, \"cells\": [7]}", "cell 0 (from 0) is not an object"),
        ] {
            let shown =
                render(text, &ona_policy::secrets::Redactor::default()).unwrap_err().to_string();
            assert!(shown.starts_with(expected), "{shown}");
            let edited = edit(text, &change(Some("x"), Mode::Delete, None, "")).unwrap_err();
            assert_eq!(edited.to_string(), shown);
        }
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic_and_an_edit_leaves_a_notebook(
            changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4),
            id in prop::sample::select(vec![None, Some("cell-1"), Some("0c5a8d3e"), Some("no")]),
            mode in prop::sample::select(vec![Mode::Replace, Mode::Insert, Mode::Delete]),
            kind in prop::sample::select(vec![None, Some(CellType::Code), Some(CellType::Markdown)]),
            source in "(\\PC|[\n\r\t\"\\\\]){0,12}",
        ) {
            let mut bytes = JUPYTER.as_bytes().to_vec();
            for (at, byte) in changes {
                *at.get_mut(&mut bytes) = byte;
            }
            let text = String::from_utf8_lossy(&bytes);
            let shown = render(&text, &ona_policy::secrets::Redactor::default());
            if let Ok(edited) = edit(&text, &change(id, mode, kind, &source)) {
                let (before, after) = (shown.unwrap().cells, open(&edited.text).unwrap());
                let expected = match mode {
                    Mode::Replace => before,
                    Mode::Insert => before + 1,
                    Mode::Delete => before - 1,
                };
                prop_assert_eq!(cells(&after).len(), expected);
                if mode != Mode::Delete {
                    let at = labels(cells(&after)).iter().position(|label| *label == edited.cell_id);
                    let cell = &cells(&after)[at.unwrap()];
                    prop_assert_eq!(joined(&cell["source"], ""), source);
                }
            }
        }
    }

    /// A notebook with the very bytes that Jupyter writes.
    pub(super) const JUPYTER: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "6ea1b0f1",
   "metadata": {},
   "source": [
    "# Größe 📏\n",
    "\n",
    "some *text*"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "0c5a8d3e",
   "metadata": {
    "tags": [
     "a/b"
    ],
    "x": {
     "big": 1e+22,
     "eps": 1e-05,
     "int": 12345678901234567890123,
     "one": 1.0,
     "sum": 0.30000000000000004
    }
   },
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "hi\n"
     ]
    },
    {
     "data": {
      "image/png": "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==\n",
      "text/plain": [
       "<Figure>"
      ]
     },
     "metadata": {
      "needs_background": "light"
     },
     "output_type": "display_data"
    },
    {
     "ename": "ZeroDivisionError",
     "evalue": "division by zero",
     "output_type": "error",
     "traceback": [
      "\u001b[0;31mZeroDivisionError\u001b[0m: division by zero"
     ]
    }
   ],
   "source": [
    "print(\"hi\")\n",
    "1 / 0"
   ]
  },
  {
   "cell_type": "raw",
   "id": "77ab12cd",
   "metadata": {},
   "source": [
    "raw"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": null,
   "id": "e3b0c442",
   "metadata": {},
   "outputs": [],
   "source": []
  }
 ],
 "metadata": {
  "kernelspec": {
   "display_name": "Python 3",
   "language": "python",
   "name": "python3"
  },
  "language_info": {
   "name": "python",
   "version": "3.12.1"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;
}
