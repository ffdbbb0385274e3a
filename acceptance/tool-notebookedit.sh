#!/usr/bin/env bash
# S0 §7 NotebookEdit: one cell changes, the rest of the notebook stays.
. "$(dirname "$0")/lib/common.sh"
cat > n.ipynb <<'NB'
{
 "cells": [
  {"cell_type": "markdown", "id": "a1", "metadata": {}, "source": ["Title"]},
  {"cell_type": "code", "execution_count": 1, "id": "b2", "metadata": {"keep": 1.50}, "outputs": [], "source": ["x"]}
 ],
 "metadata": {},
 "nbformat": 4,
 "nbformat_minor": 5
}
NB
other=$(grep '"id": "b2"' n.ipynb)
has "$(call Read '{"file_path":"n.ipynb"}')" Title
has "$(call NotebookEdit '{"notebook_path":"n.ipynb","cell_id":"a1","new_source":"New title"}')" '"is_error":false'
same "$(grep '"id": "b2"' n.ipynb)" "$other"
has "$(call NotebookEdit '{"notebook_path":"n.ipynb","cell_id":"b2","edit_mode":"delete","new_source":""}')" 'Deleted cell b2'
has "$(call NotebookEdit '{"notebook_path":"n.ipynb","edit_mode":"insert","cell_type":"code","new_source":"y = 1"}')" Inserted
has "$(call Read '{"file_path":"n.ipynb"}')" 'y = 1'
