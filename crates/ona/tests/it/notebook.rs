//! Notebooks, read and edited.

use serde_json::json;

use crate::project;

const NOTEBOOK: &str = r##"{
 "cells": [
  {
   "cell_type": "markdown",
   "id": "intro",
   "metadata": {},
   "source": [
    "# Title"
   ]
  },
  {
   "cell_type": "code",
   "execution_count": 3,
   "id": "calc",
   "metadata": {},
   "outputs": [
    {
     "name": "stdout",
     "output_type": "stream",
     "text": [
      "42\n"
     ]
    }
   ],
   "source": [
    "x = 6\n",
    "print(x * 7)"
   ]
  }
 ],
 "metadata": {
  "language_info": {
   "name": "python"
  }
 },
 "nbformat": 4,
 "nbformat_minor": 5
}
"##;

#[test]
fn cells_are_shown_with_their_outputs() {
    let project = project();
    let file = project.file("n.ipynb", NOTEBOOK);
    let shown = project.ok("Read", json!({"file_path": file}));
    for part in ["(2 cells)", "intro", "# Title", "calc", "print(x * 7)", "42"] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    // A broken one is shown as the text it is, so that it can be repaired.
    let broken = project.file("broken.ipynb", "{\n \"cells\": [,]\n}");
    let shown = project.ok("Read", json!({"file_path": broken}));
    assert!(
        shown.contains("not shown as a notebook") && shown.contains("line 2 column"),
        "{shown}"
    );
    assert!(shown.contains("2\t \"cells\": [,]"), "{shown}");
    project.ok("Edit", json!({"file_path": broken, "old_string": "[,]", "new_string": "[]"}));
}

#[test]
fn one_cell_changes_and_the_rest_stays() {
    let project = project();
    project.file("n.ipynb", NOTEBOOK);
    let replace = json!({"notebook_path": "n.ipynb", "cell_id": "intro", "new_source": "# New"});
    assert!(project.refused("NotebookEdit", replace.clone()).contains("has not been read"));
    project.ok("Read", json!({"file_path": "n.ipynb"}));
    let said = project.ok("NotebookEdit", replace);
    assert!(said.starts_with("Replaced cell intro (markdown"), "{said}");
    assert_eq!(project.content("n.ipynb"), NOTEBOOK.replace("# Title", "# New"));

    project.ok(
        "NotebookEdit",
        json!({"notebook_path": "n.ipynb", "cell_id": "intro", "edit_mode": "insert",
               "cell_type": "code", "new_source": "y = 1"}),
    );
    project.ok(
        "NotebookEdit",
        json!({"notebook_path": "n.ipynb", "cell_id": "calc", "edit_mode": "delete", "new_source": ""}),
    );
    let shown = project.ok("Read", json!({"file_path": "n.ipynb"}));
    assert!(shown.contains("y = 1") && !shown.contains("print"), "{shown}");

    let unknown = project.refused(
        "NotebookEdit",
        json!({"notebook_path": "n.ipynb", "cell_id": "nope", "new_source": ""}),
    );
    assert!(unknown.contains("intro"), "{unknown}");
    let wrong = project.refused(
        "NotebookEdit",
        json!({"notebook_path": "n.ipynb", "edit_mode": "append", "new_source": ""}),
    );
    assert!(wrong.contains("`edit_mode`") && wrong.contains("replace"), "{wrong}");
    project.file("n.ipynb", NOTEBOOK);
    let stale = project.refused(
        "NotebookEdit",
        json!({"notebook_path": "n.ipynb", "cell_id": "calc", "new_source": ""}),
    );
    assert!(stale.starts_with("Stale File"), "{stale}");
}
