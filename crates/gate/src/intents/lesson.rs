//! Lessons (S4): a failed check is noted where the next session reads it, and the note is traced too.

use ona_intents::lessons::{FILES, Learned, Lesson, LessonError, learn};
use ona_policy::secrets::Redactor;
use ona_trace::TraceEntry;
use ona_trace::class::Versions;
use ona_trace::entry::ScopeValidation;
use ona_trace::time::now;

use super::Governed;
use super::record::{self, Who};

/// A finished command.
pub struct Check<'a> {
    /// Its line.
    pub command: &'a str,
    /// How it ended.
    pub exit_code: i64,
    /// What it printed.
    pub output: &'a str,
}

/// Notes the command if it is a failed check, and returns the trace entry about the note.
pub fn note(
    governed: &Governed,
    who: Who,
    check: &Check<'_>,
    redactor: &Redactor,
) -> Result<Option<TraceEntry>, LessonError> {
    let root = governed.workspace.root();
    let timestamp = now();
    let lesson = Lesson {
        timestamp: &timestamp,
        intent_id: governed.intent.as_ref().map(|intent| intent.id.as_str()),
        command: check.command,
        exit_code: i32::try_from(check.exit_code).unwrap_or(i32::MAX),
        output: check.output,
    };
    let before = FILES.map(|name| (name, ona_files::content(root.join(name)).ok()));
    let learned = learn(root, &lesson, redactor)?;
    let Learned::Written(path) = learned else { return Ok(None) };
    let name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let old = before.into_iter().find(|(known, _)| *known == name).and_then(|(_, old)| old);
    let new = ona_files::content(&path).ok();
    let mut entry = record::entry(governed, who);
    entry.tool_name = "lesson".to_owned();
    entry.actor = Some("ona".to_owned());
    entry.scope_validation = Some(ScopeValidation::Exempt);
    entry.warnings.clear();
    let versions = Versions { path: &name, old: old.as_deref(), new: new.as_deref() };
    ona_trace::mutation::describe(&mut entry, &[versions], None);
    Ok(Some(entry))
}
