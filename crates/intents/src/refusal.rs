//! Refusals of a call: structured, so that a model can recover by itself (S4).

use serde_json::{Map, Value, json};

use crate::file::LoadError;

/// The blocker of the trace: a fixed rule, not an entry of a list.
pub const TRACE_IS_ONAS: &str = "ona itself: the trace is only ever appended to";

/// Why a call is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Refusal {
    /// The id is blank, unknown, or a duplicate.
    InvalidIntent {
        /// The id.
        id: String,
        /// Details, if there are any.
        why: Option<String>,
        /// Those that could be selected.
        available: Vec<String>,
    },
    /// The file of intents does not exist.
    MissingIntents,
    /// The file of intents cannot be used.
    IntentParseFailed {
        /// Why, with line and column.
        why: String,
    },
    /// A change without a selected intent.
    IntentRequired {
        /// Those that could be selected.
        available: Vec<String>,
    },
    /// `.intentignore` lists the intent.
    IntentBlocked {
        /// The intent.
        id: String,
        /// The file and the line.
        entry: String,
    },
    /// `.intentignore` lists the path.
    PathBlocked {
        /// The path.
        file: String,
        /// The file, the line and the pattern.
        entry: String,
    },
    /// Its status forbids changes.
    IntentInactive {
        /// The intent.
        id: String,
        /// The status.
        status: String,
    },
    /// A write does not say for which intent it is.
    MissingIntentMetadata {
        /// The selected intent.
        selected: String,
    },
    /// A write does not name its class, or names one that is not allowed.
    MissingMutationClass {
        /// What it says.
        given: Option<String>,
        /// What it may say.
        classes: Vec<String>,
    },
    /// A write names another intent than the selected one.
    IntentMismatch {
        /// The one it names.
        given: String,
        /// The selected one.
        selected: String,
    },
    /// The touched files, or the scope, are unknown.
    ScopeValidationFailed {
        /// The intent.
        id: String,
        /// Why.
        why: String,
    },
    /// A file outside the scope.
    ScopeViolation {
        /// The file.
        file: String,
        /// The intent.
        id: String,
        /// The patterns of its scope.
        scope: Vec<String>,
        /// Why, where it is not simply outside.
        why: Option<String>,
    },
    /// A file that has changed since it was seen.
    StaleFile {
        /// The file.
        file: String,
    },
    /// The change is not what was claimed.
    MutationClassMismatch {
        /// The claim.
        claimed: String,
        /// What was found.
        found: String,
    },
    /// A refusal by another gate.
    Gate {
        /// Which kind.
        kind: GateKind,
        /// What the gate says.
        message: String,
        /// The gate.
        gate: String,
        /// The rule that decided.
        rule: String,
    },
}

/// The refusals of the gates beside the intents'.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "the words of the reference")]
pub enum GateKind {
    PhaseDenied,
    GroundingViolation,
    BoundaryViolation,
    PermissionDenied,
    BeadNotInProgress,
}

impl GateKind {
    fn as_str(self) -> &'static str {
        match self {
            Self::PhaseDenied => "phase_denied",
            Self::GroundingViolation => "grounding_violation",
            Self::BoundaryViolation => "boundary_violation",
            Self::PermissionDenied => "permission_denied",
            Self::BeadNotInProgress => "bead_not_in_progress",
        }
    }
}

impl Refusal {
    /// The word for its kind.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::InvalidIntent { .. } => "invalid_intent",
            Self::MissingIntents => "missing_intents",
            Self::IntentParseFailed { .. } => "intent_parse_failed",
            Self::IntentRequired { .. } => "intent_required",
            Self::IntentBlocked { .. } => "intent_blocked",
            Self::PathBlocked { .. } => "path_blocked",
            Self::IntentInactive { .. } => "intent_inactive",
            Self::MissingIntentMetadata { .. } => "missing_intent_metadata",
            Self::MissingMutationClass { .. } => "missing_mutation_class",
            Self::IntentMismatch { .. } => "intent_mismatch",
            Self::ScopeValidationFailed { .. } => "scope_validation_failed",
            Self::ScopeViolation { .. } => "scope_violation",
            Self::StaleFile { .. } => "stale_file",
            Self::MutationClassMismatch { .. } => "mutation_class_mismatch",
            Self::Gate { kind, .. } => kind.as_str(),
        }
    }

    /// What is wrong, in a sentence.
    pub fn message(&self) -> String {
        match self {
            Self::InvalidIntent { id, .. } if id.trim().is_empty() => {
                "No intent id is given.".into()
            }
            Self::InvalidIntent { id, why: None, .. } => format!("Unknown intent {id}."),
            Self::InvalidIntent { id, why: Some(why), .. } => {
                format!("The intent {id} cannot be used: {why}.")
            }
            Self::MissingIntents => ".orchestration/active_intents.yaml does not exist.".into(),
            Self::IntentParseFailed { why } => {
                format!(".orchestration/active_intents.yaml cannot be used: {why}")
            }
            // S2's own words.
            Self::IntentRequired { .. } => {
                "No active intent. Call select_active_intent first.".into()
            }
            Self::IntentBlocked { id, entry } => format!("The intent {id} is blocked by {entry}."),
            Self::PathBlocked { file, entry } => {
                format!("{file} is blocked for every intent by {entry}.")
            }
            Self::IntentInactive { id, status } => {
                format!("The intent {id} is {status}; nothing may be changed for it.")
            }
            Self::MissingIntentMetadata { .. } => "The write has no intent_id.".into(),
            Self::MissingMutationClass { given: None, .. } => {
                "The write has no mutation_class.".into()
            }
            Self::MissingMutationClass { given: Some(given), .. } => {
                format!("The mutation_class {given} may not be used here.")
            }
            Self::IntentMismatch { given, selected } => {
                format!("The write names the intent {given}, but {selected} is selected.")
            }
            Self::ScopeValidationFailed { id, why } => {
                format!("It cannot be determined whether this is in the scope of {id}: {why}.")
            }
            Self::ScopeViolation { file, id, why: None, .. } => {
                format!("Scope violation: {file} is not in {id}'s owned_scope")
            }
            Self::ScopeViolation { file, id, why: Some(why), .. } => {
                format!("Scope violation: {file} is not in {id}'s owned_scope: {why}")
            }
            Self::StaleFile { file } => {
                format!("Stale File: {file} has changed since it was read.")
            }
            Self::MutationClassMismatch { claimed, found } => {
                format!("The change was said to be {claimed}, but is {found}.")
            }
            Self::Gate { message, .. } => message.clone(),
        }
    }

    /// The refusal for a file of intents that cannot be used.
    pub fn of_load(error: &LoadError) -> Self {
        match error {
            LoadError::Missing => Self::MissingIntents,
            other => Self::IntentParseFailed { why: other.to_string() },
        }
    }

    /// What to do about it.
    pub fn hint(&self) -> String {
        match self {
            // It exists, and only a change of the file can make it usable.
            Self::InvalidIntent { why: Some(_), .. } => {
                "Ask the user to correct the file (`ona intent lint` shows where), or select another intent.".into()
            }
            Self::InvalidIntent { available, .. } if available.is_empty() => {
                "No intent can be selected now. Ask the user to add or reopen one.".into()
            }
            Self::InvalidIntent { .. } => "Select one of available_intents, or ask the user.".into(),
            Self::MissingIntents => "Ask the user to run `ona intent init`.".into(),
            Self::IntentParseFailed { .. } => "Ask the user to correct the file; `ona intent lint` shows where.".into(),
            Self::IntentRequired { available } if available.is_empty() => {
                "No intent can be selected now. Ask the user to add one (`ona intent add`).".into()
            }
            Self::IntentRequired { .. } => {
                "Call select_active_intent with one of available_intents, then try again.".into()
            }
            Self::IntentBlocked { .. } => "Select another intent, or ask the user to unblock this one.".into(),
            Self::PathBlocked { entry, .. } if entry == TRACE_IS_ONAS => {
                "Leave the file alone: ona writes it.".into()
            }
            Self::PathBlocked { .. } => "Leave the file alone, or ask the user to take it off the list.".into(),
            Self::IntentInactive { .. } => "Select another intent, or ask the user to reopen this one.".into(),
            Self::MissingIntentMetadata { selected } => format!("Repeat the call with intent_id {selected}."),
            Self::MissingMutationClass { classes, .. } => {
                format!("Repeat the call with mutation_class one of {}.", classes.join(", "))
            }
            Self::IntentMismatch { given, selected } => {
                format!("Repeat the call with intent_id {selected}, or select {given} first.")
            }
            Self::ScopeValidationFailed { .. } => {
                "Name the files in the call, or ask the user to correct the scope (`ona intent lint`).".into()
            }
            Self::ScopeViolation { id, .. } => {
                format!("Stay within the scope, select the intent that owns the file, or ask the user to widen {id} (`ona intent request-scope`).")
            }
            Self::StaleFile { .. } => "Read the file again, then repeat the change on what is there now.".into(),
            Self::MutationClassMismatch { found, .. } => {
                format!("Repeat the call with mutation_class {found}, or make the change that was claimed.")
            }
            Self::Gate { .. } => "Do something else, or ask the user.".into(),
        }
    }

    /// The error as the caller gets it.
    pub fn to_json(&self) -> Value {
        let mut error = Map::new();
        let mut put = |key: &str, value: Value| drop(error.insert(key.to_owned(), value));
        put("status", json!("error"));
        put("type", json!(self.kind()));
        put("message", json!(self.message()));
        put("hint", json!(self.hint()));
        match self {
            Self::InvalidIntent { id, available, .. } => {
                put("intent_id", json!(id));
                put("available_intents", json!(available));
            }
            Self::IntentRequired { available } => put("available_intents", json!(available)),
            Self::IntentBlocked { id, .. } | Self::ScopeValidationFailed { id, .. } => {
                put("intent_id", json!(id));
            }
            Self::PathBlocked { file, .. } | Self::StaleFile { file } => put("file", json!(file)),
            Self::IntentInactive { id, status } => {
                put("intent_id", json!(id));
                put("intent_status", json!(status));
            }
            Self::MissingIntentMetadata { selected } => put("selected_intent", json!(selected)),
            Self::MissingMutationClass { given, classes } => {
                put("mutation_class", json!(given));
                put("mutation_classes", json!(classes));
            }
            Self::IntentMismatch { given, selected } => {
                put("intent_id", json!(given));
                put("selected_intent", json!(selected));
            }
            Self::ScopeViolation { file, id, scope, .. } => {
                put("file", json!(file));
                put("intent_id", json!(id));
                put("owned_scope", json!(scope));
            }
            Self::MutationClassMismatch { claimed, found } => {
                put("claimed", json!(claimed));
                put("found", json!(found));
            }
            Self::Gate { gate, rule, .. } => {
                put("gate", json!(gate));
                put("rule", json!(rule));
            }
            Self::MissingIntents | Self::IntentParseFailed { .. } => {}
        }
        Value::Object(error)
    }
}

impl std::fmt::Display for Refusal {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        // Not every message ends with a full stop.
        let message = self.message();
        write!(f, "{}. {}", message.trim_end_matches('.'), self.hint())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refusals_say_what_is_wrong_and_what_to_do() {
        let refusal = Refusal::ScopeViolation {
            file: "src/core/hooks/HookEngine.ts".into(),
            id: "INT-002".into(),
            scope: vec!["src/api/weather/**".into()],
            why: None,
        };
        let error = refusal.to_json();
        assert_eq!(error["status"], "error");
        assert_eq!(error["type"], "scope_violation");
        assert_eq!(
            error["message"],
            "Scope violation: src/core/hooks/HookEngine.ts is not in INT-002's owned_scope"
        );
        assert_eq!(error["file"], "src/core/hooks/HookEngine.ts");
        assert_eq!(error["intent_id"], "INT-002");
        assert_eq!(error["owned_scope"], json!(["src/api/weather/**"]));
        assert!(error["hint"].as_str().unwrap().contains("request-scope"));
        let inactive = Refusal::IntentInactive { id: "A-1".into(), status: "COMPLETED".into() };
        assert_eq!(
            inactive.to_json()["status"],
            "error",
            "the intent's own status has another key"
        );
        let required = Refusal::IntentRequired { available: vec!["A-1".into()] };
        assert_eq!(required.message(), "No active intent. Call select_active_intent first.");
        let gate = Refusal::Gate {
            kind: GateKind::PhaseDenied,
            message: "m".into(),
            gate: "phase".into(),
            rule: "r".into(),
        };
        assert_eq!(gate.to_json()["gate"], "phase");
    }
}
