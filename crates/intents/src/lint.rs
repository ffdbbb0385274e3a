//! `ona intent lint`: errors and warnings about the files that govern changes.

use std::collections::HashSet;
use std::path::Path;

use crate::file::{INTENTS_FILE, Intent, Intents, Item, LoadError, Place, ProblemKind, text};
use crate::hook_policy::{HookPolicy, POLICY_FILE};
use crate::ignore::{IGNORE_FILES, Ignore, IgnoreError, is_intent_id};
use crate::scope::{Glob, Held, Scope, overlap};

/// More intents than this are not compared with each other.
const MAX_COMPARED: usize = 1_000;

/// How bad it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Severity {
    /// The file, or an intent of it, cannot be used.
    Error,
    /// It can be used, but probably not as intended.
    Warning,
}

impl Severity {
    /// The word.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One thing that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finding {
    /// How bad it is.
    pub severity: Severity,
    /// The name programs know it by.
    pub code: &'static str,
    /// The file, from the workspace.
    pub file: &'static str,
    /// Where in it, if that is known.
    pub place: Option<Place>,
    /// The intent it is about.
    pub intent: Option<String>,
    /// In words.
    pub message: String,
}

impl Finding {
    fn of_file(
        file: &'static str,
        severity: Severity,
        code: &'static str,
        message: String,
    ) -> Self {
        Self { severity, code, file, place: None, intent: None, message }
    }
}

/// Checks all files of a workspace that govern changes: the intents, the hook policy and `.intentignore`. `files`
/// as for [`lint`]. Fails only where there are no intents.
pub fn lint_workspace(root: &Path, files: Option<&[String]>) -> Result<Vec<Finding>, LoadError> {
    let ignore = Ignore::load(root);
    let mut findings = match text(root) {
        Ok(text) => lint(&text, &ignore, files),
        Err(LoadError::Missing) => return Err(LoadError::Missing),
        Err(error) => {
            let message = error.to_string();
            vec![Finding::of_file(INTENTS_FILE, Severity::Error, "unreadable", message)]
        }
    };
    findings.extend(lint_policy(&HookPolicy::load(root)));
    findings.extend(lint_ignore(&ignore));
    Ok(findings)
}

fn lint_policy(policy: &HookPolicy) -> Vec<Finding> {
    let broken = policy.broken.iter().map(|why| {
        let message = format!("invalid, so every change is denied: {why}");
        Finding::of_file(POLICY_FILE, Severity::Error, "policy_broken", message)
    });
    let warnings = policy.warnings.iter().map(|message| {
        Finding::of_file(POLICY_FILE, Severity::Warning, "policy_warning", message.clone())
    });
    broken.chain(warnings).collect()
}

fn lint_ignore(ignore: &Ignore) -> Vec<Finding> {
    let errors = ignore.errors.iter().map(|error| match error {
        IgnoreError::Load { file, error } => {
            Finding::of_file(file, Severity::Error, "unreadable", error.to_string())
        }
        IgnoreError::Glob { file, line, error } => {
            let code = error.problem.as_str();
            let finding = Finding::of_file(file, Severity::Error, code, error.to_string());
            Finding { place: Some(Place { line: *line, column: 1 }), ..finding }
        }
    });
    let warnings = ignore.warnings.iter().map(|message| {
        let file = IGNORE_FILES.into_iter().find(|file| message.starts_with(file));
        let file = file.unwrap_or(IGNORE_FILES[0]);
        Finding::of_file(file, Severity::Warning, "ignore_warning", message.clone())
    });
    errors.chain(warnings).collect()
}

/// Checks the text of a file of intents. `files` are those of the workspace, relative to it; without them, no pattern
/// is reported to match nothing. Findings are in the order of the file.
pub fn lint(text: &str, ignore: &Ignore, files: Option<&[String]>) -> Vec<Finding> {
    let intents = match Intents::read(text) {
        Ok(intents) => intents,
        Err(error) => {
            let (place, message) = (error.place, error.message);
            return vec![Finding {
                severity: Severity::Error,
                code: "invalid_yaml",
                file: INTENTS_FILE,
                place: Some(place),
                intent: None,
                message,
            }];
        }
    };
    let mut linter = Linter { findings: Vec::new(), ignore, files };
    linter.warnings(&intents);
    for intent in &intents.all {
        linter.fields(intent);
        linter.scope(intent);
    }
    linter.overlaps(&intents);
    linter.findings.sort_by_key(|finding| (finding.place, finding.severity));
    linter.findings
}

struct Linter<'a> {
    findings: Vec<Finding>,
    ignore: &'a Ignore,
    files: Option<&'a [String]>,
}

impl Linter<'_> {
    fn add(
        &mut self,
        severity: Severity,
        code: &'static str,
        place: Place,
        intent: Option<&Intent>,
        message: impl Into<String>,
    ) {
        let intent = intent.map(|intent| intent.id.clone());
        let (file, place) = (INTENTS_FILE, Some(place));
        let message = message.into();
        self.findings.push(Finding { severity, code, file, place, intent, message });
    }

    fn warnings(&mut self, intents: &Intents) {
        for warning in &intents.warnings {
            let (severity, code) = match warning.kind {
                ProblemKind::NoId => (Severity::Error, "missing_id"),
                ProblemKind::NotAnIntent => (Severity::Error, "not_an_intent"),
                ProblemKind::DuplicateId => (Severity::Error, "duplicate_id"),
                ProblemKind::UnknownStatus => (Severity::Error, "unknown_status"),
                ProblemKind::WrongShape => (Severity::Warning, "wrong_shape"),
            };
            self.add(severity, code, warning.place, None, warning.message.clone());
        }
    }

    fn fields(&mut self, intent: &Intent) {
        let place = intent.place;
        if !is_intent_id(&intent.id) {
            let message = format!(
                "the id `{}` does not look like INT-001: upper-case letters, a dash, digits",
                intent.id
            );
            self.add(Severity::Warning, "id_pattern", place, Some(intent), message);
        }
        let missing = [
            ("name", intent.name.is_none()),
            ("status", intent.given_status.is_none()),
            ("owned_scope", intent.owned_scope.is_empty()),
            ("created_at", intent.created_at.is_none()),
            ("updated_at", intent.updated_at.is_none()),
        ];
        for (key, _) in missing.into_iter().filter(|(_, missing)| *missing) {
            let more = match key {
                "owned_scope" => ": nothing may be changed for it",
                "status" => ": it counts as PLANNED",
                _ => "",
            };
            let message = format!("{} has no `{key}`{more}", intent.id);
            self.add(Severity::Warning, "missing_field", place, Some(intent), message);
        }
        for (key, time) in [("created_at", &intent.created_at), ("updated_at", &intent.updated_at)]
        {
            if let Some(time) = time.as_ref().filter(|time| !is_time(time)) {
                let message =
                    format!("`{key}` is `{time}`, expected a time like 2026-05-02T09:00:00Z");
                self.add(Severity::Warning, "bad_time", place, Some(intent), message);
            }
        }
        if let Some(entry) = self.ignore.blocks_intent(&intent.id) {
            let message = format!("{} is blocked by {} line {}", intent.id, entry.file, entry.line);
            self.add(Severity::Warning, "intent_blocked", place, Some(intent), message);
        }
    }

    fn scope(&mut self, intent: &Intent) {
        let mut seen = HashSet::new();
        let mut positive = false;
        for item in &intent.owned_scope {
            if !seen.insert(item.text.as_str()) {
                let message = format!("the pattern `{}` occurs twice", item.text);
                self.add(Severity::Warning, "duplicate_pattern", item.place, Some(intent), message);
            }
            match Glob::read(&item.text) {
                Err(error) => {
                    // It is unknown whether it was meant to include files.
                    positive = true;
                    self.add(
                        Severity::Error,
                        error.problem.as_str(),
                        item.place,
                        Some(intent),
                        error.to_string(),
                    );
                }
                Ok(None) => {
                    let message = format!(
                        "`{}` is a comment and matches nothing; `\\#` would be a name",
                        item.text
                    );
                    self.add(
                        Severity::Warning,
                        "comment_pattern",
                        item.place,
                        Some(intent),
                        message,
                    );
                }
                Ok(Some(glob)) => {
                    positive |= !glob.excludes();
                    self.pattern(intent, item, &glob);
                }
            }
        }
        if let (false, Some(first)) = (positive, intent.owned_scope.first()) {
            let message = "every pattern excludes files and none includes any: nothing is in scope";
            self.add(Severity::Warning, "empty_scope", first.place, Some(intent), message);
        }
        self.own_files(intent);
    }

    fn pattern(&mut self, intent: &Intent, item: &Item, glob: &Glob) {
        if glob.is_directory() {
            let message = format!("`{0}` is read as `{0}**`; write that", item.text);
            self.add(Severity::Warning, "directory_pattern", item.place, Some(intent), message);
        }
        // A finished or abandoned intent may name files that no longer exist.
        let open = intent.status().is_open();
        let matches_nothing = |files: &[String]| !files.iter().any(|file| glob.matches(file));
        if open && self.files.is_some_and(matches_nothing) {
            let message = format!("`{}` matches no existing file", item.text);
            self.add(Severity::Warning, "matches_nothing", item.place, Some(intent), message);
        }
    }

    /// An intent that may change the file of intents can change every scope, including its own.
    fn own_files(&mut self, intent: &Intent) {
        let Ok(scope) = intent.scope() else { return };
        let Held::By(pattern) = scope.holds(INTENTS_FILE) else { return };
        let item = intent.owned_scope.iter().find(|item| item.text == pattern);
        let place = item.map_or(intent.place, |item| item.place);
        let message = format!(
            "`{pattern}` includes {INTENTS_FILE}: work for {} can widen its own scope",
            intent.id
        );
        self.add(Severity::Warning, "scope_holds_intents", place, Some(intent), message);
    }

    fn overlaps(&mut self, intents: &Intents) {
        let open: Vec<(&Intent, &Scope)> = intents
            .all
            .iter()
            .filter(|intent| intent.status().is_open())
            .filter_map(|intent| Some((intent, intent.scope().ok()?)))
            .collect();
        if let Some((one, _)) = open.get(MAX_COMPARED) {
            let message = format!(
                "there are more than {MAX_COMPARED} open intents: the scopes from here on are not compared"
            );
            self.add(Severity::Warning, "too_many_to_compare", one.place, None, message);
        }
        let open = &open[..open.len().min(MAX_COMPARED)];
        for (at, (one, scope)) in open.iter().enumerate() {
            for (other, others) in &open[at + 1..] {
                let same = one.id == other.id;
                if let Some(path) = overlap(scope, others).filter(|_| !same) {
                    let message = format!("{} and {} both own {path}", one.id, other.id);
                    self.add(
                        Severity::Warning,
                        "overlapping_scopes",
                        other.place,
                        Some(other),
                        message,
                    );
                }
            }
        }
    }
}

/// RFC 3339, roughly: a date, a time and a zone. A date alone is not a time.
fn is_time(text: &str) -> bool {
    let shape: String = text
        .chars()
        .map(
            |character| {
                if character.is_ascii_digit() { '0' } else { character.to_ascii_uppercase() }
            },
        )
        .collect();
    let Some(rest) = shape.strip_prefix("0000-00-00T00:00:00") else { return false };
    let zone = rest.strip_prefix('.').map_or(rest, |rest| rest.trim_start_matches('0'));
    let fraction = rest.len() - zone.len();
    fraction != 1 && matches!(zone, "Z" | "+00:00" | "-00:00")
}

#[cfg(test)]
mod tests;
