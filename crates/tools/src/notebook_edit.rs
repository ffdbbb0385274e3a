//! NotebookEdit: one cell of a Jupyter notebook.

use ona_effects::Effects;
use ona_files::{ReplaceError, ReplaceOptions, replace};
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_types::{ContentHash, FileView, ToolKind, ToolOutput, WriteAction};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext};
use crate::edit::after_edit;
use crate::facts::Facts;
use crate::input::InputError;
use crate::notebook::{self, CellType, Change, Mode};
use crate::tool::{BuiltIn, Refusal};
use crate::write::{existing, known, no_mask, refused, target};

pub(crate) struct NotebookEdit;

/// A larger notebook is not edited.
const MAX_NOTEBOOK: u64 = 256 << 20;

#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NotebookEditInput {
    /// The notebook, as an absolute path.
    notebook_path: String,
    /// The cell to change, by its id or as cell-N. A new cell goes after it, or first if it is absent.
    cell_id: Option<String>,
    /// The cell's new source.
    new_source: String,
    /// The cell's type; needed to insert.
    cell_type: Option<CellType>,
    /// What to do; replace if absent.
    edit_mode: Option<Mode>,
}

impl BuiltIn for NotebookEdit {
    const NAME: &'static str = "NotebookEdit";
    const DESCRIPTION: &'static str = "Replaces, inserts or deletes one cell of a Jupyter notebook \
        (.ipynb). The notebook must have been read in this session and be unchanged since.";
    const FACTS: Facts = Facts {
        kind: ToolKind::Write(WriteAction::Edit),
        rules: RuleSubject::Writes,
        denied_in_planning: true,
        ..Facts::plain(Hints::CHANGES)
    };
    type Input = NotebookEditInput;

    fn effects(input: &NotebookEditInput, place: &Place) -> Result<Effects, InputError> {
        Ok(Effects::replace(target::<Self>(place, "notebook_path", &input.notebook_path)?))
    }

    async fn run(input: NotebookEditInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let path = cx.judged_path()?;
        let shown = path.display().to_string();
        let Some(file) = existing(&path)? else {
            return Err(Refusal::rejected(format!("{shown} does not exist")));
        };
        let known = known(cx, &path)?;
        let bytes = ona_files::read_open(&file, MAX_NOTEBOOK)
            .map_err(|error| Refusal::rejected(format!("{shown} was not changed: {error}")))?;
        let old = String::from_utf8(bytes)
            .map_err(|_| Refusal::rejected(format!("{shown} was not changed: it is not UTF-8")))?;
        if ContentHash::of(old.as_bytes()) != known.hash {
            return Err(refused(&path, ReplaceError::Changed));
        }
        no_mask(&path, &input.new_source, || old.clone())?;
        let mode = input.edit_mode.unwrap_or(Mode::Replace);
        let change = Change {
            cell_id: input.cell_id,
            mode,
            cell_type: input.cell_type,
            new_source: input.new_source,
        };
        let edited = notebook::edit(&old, &change)
            .map_err(|why| Refusal::rejected(format!("{shown} was not changed: {why}")))?;
        let hash = ContentHash::of(edited.text.as_bytes());
        let expected = ReplaceOptions::expecting(&known.hash).resolved();
        replace(&path, edited.text.as_bytes(), &expected).map_err(|e| refused(&path, e))?;
        let done = match mode {
            Mode::Replace => "Replaced",
            Mode::Insert => "Inserted",
            Mode::Delete => "Deleted",
        };
        let (cell, kind, language) = (&edited.cell_id, &edited.cell_type, &edited.language);
        Ok(ToolOutput::success(format!("{done} cell {cell} ({kind}, {language}) of {shown}"))
            .with_view(FileView { path, hash, seen: after_edit(&known.seen) }))
    }
}
