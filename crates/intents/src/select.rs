//! The handshake (S2, S4): an intent is selected, and its context is returned.

use crate::context::{self, RelatedFile, intent_context};
use crate::file::{Change, Intent, Status, TextField, change, update};
use crate::gate::{not_blocked, valid};
use crate::map::IntentMap;
use crate::refusal::Refusal;
use crate::workspace::Workspace;
use ona_trace::Ledger;
use ona_trace::time::now;

/// How many trace entries are included (S2 §2.4).
const MAX_ENTRIES: usize = 20;

/// An intent that was selected.
#[derive(Clone, Debug)]
pub struct Selected {
    /// The intent, as it is now.
    pub intent: Intent,
    /// The `<intent_context>` block.
    pub context: String,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl Workspace {
    /// Selects an intent, which must be open for work. A planned one becomes in progress.
    pub fn select(&self, id: &str) -> Result<Selected, Refusal> {
        let intents = self.intents().map_err(|error| Refusal::of_load(&error))?;
        let mut intent = valid(id.trim(), &intents)?.clone();
        not_blocked(&self.ignore(), &intent)?;
        let mut warnings = Vec::new();
        if intent.status() == Status::Planned {
            let begun = Status::InProgress.as_str().to_owned();
            let changes =
                [Change::Text(TextField::Status, begun), Change::Text(TextField::UpdatedAt, now())];
            match update(self.root(), |text| change(text, &intent.id, &changes)) {
                Ok(_) => intent.given_status = Some(Status::InProgress),
                Err(error) => warnings.push(format!("its status stays PLANNED: {error}")),
            }
        }
        let (context, more) = self.context(&intent);
        warnings.extend(more);
        Ok(Selected { intent, context, warnings })
    }

    /// What a model is told about an intent, and what could not be read for it.
    pub fn context(&self, intent: &Intent) -> (String, Vec<String>) {
        let (mut trace, mut warnings) = (Vec::new(), Vec::new());
        match Ledger::of(self.root()).map(|ledger| ledger.recent(Some(&intent.id), MAX_ENTRIES)) {
            Ok(Ok(recent)) => {
                let told = |entry: &ona_trace::TraceEntry| context::TraceEntry {
                    timestamp: entry.timestamp.clone(),
                    mutation_class: entry
                        .mutation_class
                        .map_or_else(String::new, |class| class.as_str().to_owned()),
                    files: entry.files().into_iter().map(str::to_owned).collect(),
                };
                trace = recent.entries.iter().map(told).collect();
            }
            Ok(Err(error)) => warnings.push(format!("the trace cannot be read: {error}")),
            Err(error) => warnings.push(error.to_string()),
        }
        let mut files: Vec<RelatedFile> = match IntentMap::read(self.root()) {
            Ok(map) => {
                let related = |(path, row): (&str, &crate::map::MapRow)| RelatedFile {
                    path: path.to_owned(),
                    last_hash: row.hash.clone(),
                    last_modified: Some(row.changed.clone()),
                };
                map.iter().flat_map(|map| map.files(&intent.id)).map(related).collect()
            }
            Err(error) => {
                warnings.push(error.to_string());
                Vec::new()
            }
        };
        // The files that were changed last tell the most.
        files.sort_by(|one, other| other.last_modified.cmp(&one.last_modified));
        (intent_context(intent, &files, &trace), warnings)
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::file::INTENTS_FILE;
    use crate::ignore::IGNORE_FILES;
    use ona_trace::TraceEntry;
    use ona_trace::ranges::modified_ranges;

    #[test]
    fn selecting_begins_an_intent_and_tells_of_it() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join(".orchestration")).unwrap();
        let file = dir.path().join(INTENTS_FILE);
        fs::write(
            &file,
            "active_intents:\n  - id: INT-1 # ours\n    status: PLANNED\n    owned_scope: ['src/**']\n  - {id: INT-2, status: DONE}\n  - {id: INT-3, status: ACTIVE}\n",
        )
        .unwrap();
        let workspace = Workspace::at(dir.path()).unwrap();
        let ledger = Ledger::of(dir.path()).unwrap();
        let entry = TraceEntry {
            intent_id: Some("INT-1".to_owned()),
            modified_ranges: modified_ranges("src/a", None, Some(b"x")),
            ..TraceEntry::new()
        };
        let entry = ledger.append(entry).unwrap().entry;
        crate::map::record(dir.path(), &ledger, &entry, |_| None).unwrap();
        let selected = workspace.select(" INT-1 ").unwrap();
        assert_eq!(selected.warnings, [""; 0]);
        assert_eq!(selected.intent.status(), Status::InProgress);
        for word in ["<path>src/**</path>", "<recent_trace>", "<related_files>", "src/a"] {
            assert!(selected.context.contains(word), "{word}: {}", selected.context);
        }
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.contains("id: INT-1 # ours\n    status: IN_PROGRESS\n"), "{text}");
        let inactive = workspace.select("INT-2").unwrap_err();
        assert_eq!(inactive.kind(), "intent_inactive");
        fs::write(dir.path().join(IGNORE_FILES[0]), "INT-3\n").unwrap();
        assert_eq!(workspace.select("INT-3").unwrap_err().kind(), "intent_blocked");
        assert_eq!(workspace.select("").unwrap_err().kind(), "invalid_intent");
    }
}
