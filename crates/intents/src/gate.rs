//! Decides whether a call may change files: S2 §2.2's chain of checks, with S4's additions.
//!
//! A pure function: the caller has read the files, and knows which intent is selected and which of the targets
//! changed since they were seen. The caller records the result.

mod written;

use std::path::{Path, PathBuf};

use ona_effects::path::Target;

use crate::file::{Found, Intent, Intents, LoadError};
use crate::hook_policy::{Class, Classified, FailureMode, HookPolicy, WriteMetadata};
use crate::ignore::{Entry, Ignore};
use crate::refusal::{Refusal, TRACE_IS_ONAS};
use crate::scope::{Held, Outside, relative};
use ona_trace::entry::ScopeValidation;
use ona_trace::ledger::LEDGER_PATH;

pub use written::{Elsewhere, written};

/// What kind of call it is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CallClass {
    /// It only reads.
    Read,
    /// The handshake (`select_active_intent`).
    Exempt,
    /// A tool that writes files.
    Write,
    /// A command line, or an MCP or other tool, by what the policy says of it.
    Classified(Classified),
}

/// What a call would write.
#[derive(Clone, Copy, Debug)]
pub enum Targets<'a> {
    /// These files, which may be none.
    Known(&'a [Target]),
    /// These, and unknown others, for this reason.
    Partly(&'a [Target], &'a str),
}

/// A call, and all that is known around it.
#[derive(Clone, Debug)]
pub struct Request<'a> {
    /// The workspace, resolved.
    pub root: &'a Path,
    /// Its intents.
    pub intents: Result<&'a Intents, &'a LoadError>,
    /// What may not be touched.
    pub ignore: &'a Ignore,
    /// How strict the gate is.
    pub policy: &'a HookPolicy,
    /// The intent the session works for.
    pub selected: Option<&'a str>,
    /// What kind of call it is.
    pub class: CallClass,
    /// What it would write.
    pub targets: Targets<'a>,
    /// What it may do outside the workspace.
    pub elsewhere: &'a Elsewhere,
    /// The intent the call itself names.
    pub intent_id: Option<&'a str>,
    /// The class of change the call itself names.
    pub mutation_class: Option<&'a str>,
    /// Of the targets, by their real path, those that have changed since they were seen.
    pub stale: &'a [PathBuf],
}

/// A file that may be written. It is hashed before the call runs, so that the write can be told from one by others
/// (S2 §2.2 step 4).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InScope {
    /// Where, below the workspace.
    pub path: String,
    /// Where it really is.
    pub real: PathBuf,
    /// The pattern that includes it.
    pub pattern: String,
}

/// What was found about a call that may go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Allowed {
    /// The intent it is for; none for calls that need none.
    pub intent: Option<String>,
    /// The files to take the hash of.
    pub files: Vec<InScope>,
    /// Why other files may be written: the changes have to be checked after the run.
    pub unknown: Option<String>,
    /// Why files outside the workspace may be written, where nothing is compared: for the trace.
    pub unseen: Vec<String>,
    /// A human has to approve it (S4), for this reason.
    pub approval: Option<String>,
}

impl Allowed {
    /// How the scope was judged.
    pub fn scope(&self) -> ScopeValidation {
        if self.files.is_empty() { ScopeValidation::Exempt } else { ScopeValidation::Pass }
    }
}

/// The gate's answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Allowed.
    Allow(Allowed),
    /// Refused.
    Refuse(Refusal),
    /// The gate could not judge, and the policy allows such calls (S2 §3.3): with a warning, and recorded as
    /// ungoverned. The refusal says why.
    Degraded(Refusal),
}

/// Judges a call.
pub fn judge(request: &Request<'_>) -> Decision {
    let approval = match &request.class {
        CallClass::Read | CallClass::Exempt => return Decision::Allow(Allowed::default()),
        CallClass::Classified(Classified { class: Class::Safe, .. }) => {
            return Decision::Allow(Allowed::default());
        }
        CallClass::Classified(Classified { reason, .. }) => Some(reason.clone()),
        CallClass::Write => None,
    };
    let intents = match usable(request) {
        Ok(intents) => intents,
        Err(refusal) if request.policy.failure_mode == FailureMode::Open => {
            return Decision::Degraded(refusal);
        }
        Err(refusal) => return Decision::Refuse(refusal),
    };
    match chain(request, intents) {
        Ok(allowed) => Decision::Allow(Allowed { approval, ..allowed }),
        Err(refusal) => Decision::Refuse(refusal),
    }
}

/// The intents, unless one of the files the gate judges by cannot be used.
fn usable<'a>(request: &Request<'a>) -> Result<&'a Intents, Refusal> {
    let intents = request.intents.map_err(Refusal::of_load)?;
    match request.ignore.errors.first() {
        Some(error) => Err(Refusal::ScopeValidationFailed {
            id: request.selected.unwrap_or("any intent").to_owned(),
            why: error.to_string(),
        }),
        None => Ok(intents),
    }
}

/// The checks, in order; the first refusal ends the chain.
fn chain(request: &Request<'_>, intents: &Intents) -> Result<Allowed, Refusal> {
    let id = selected(request, intents)?;
    let intent = valid(id, intents)?;
    not_blocked(request.ignore, intent)?;
    metadata(request, intent)?;
    let files = scope(request, intent)?;
    let unseen = elsewhere(request, intent)?;
    fresh(request, &files)?;
    let unknown = match request.targets {
        Targets::Known(_) => None,
        Targets::Partly(_, why) => Some(why.to_owned()),
    };
    Ok(Allowed { intent: Some(intent.id.clone()), files, unknown, unseen, approval: None })
}

/// S2 step 1: there is an active intent.
fn selected<'a>(request: &Request<'a>, intents: &Intents) -> Result<&'a str, Refusal> {
    let selected = request.selected.map(str::trim).filter(|id| !id.is_empty());
    selected.ok_or_else(|| Refusal::IntentRequired { available: intents.available() })
}

/// S2 step 2: the intent exists, and its status allows work.
pub fn valid<'i>(id: &str, intents: &'i Intents) -> Result<&'i Intent, Refusal> {
    let invalid =
        |why| Refusal::InvalidIntent { id: id.to_owned(), why, available: intents.available() };
    let intent = match intents.find(id) {
        Found::One(intent) => intent,
        Found::None => return Err(invalid(None)),
        Found::Several(one, other) => {
            let why = format!("it is defined twice, at {} and at {}", one.place, other.place);
            return Err(invalid(Some(why)));
        }
    };
    let status = intent.status();
    if status.is_open() {
        return Ok(intent);
    }
    Err(Refusal::IntentInactive { id: intent.id.clone(), status: status.as_str().to_owned() })
}

/// S4: `.intentignore` does not list it.
pub fn not_blocked(ignore: &Ignore, intent: &Intent) -> Result<(), Refusal> {
    match ignore.blocks_intent(&intent.id) {
        Some(entry) => {
            Err(Refusal::IntentBlocked { id: intent.id.clone(), entry: named(entry, false) })
        }
        None => Ok(()),
    }
}

fn named(entry: &Entry, with_text: bool) -> String {
    let text = if with_text { format!(" (`{}`)", entry.text) } else { String::new() };
    format!("{} line {}{text}", entry.file, entry.line)
}

/// S4: the metadata of the call is right, and present where the policy requires it (DESIGN §5 no. 16).
fn metadata(request: &Request<'_>, intent: &Intent) -> Result<(), Refusal> {
    let given =
        |text: Option<&str>| text.map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned);
    let required = request.policy.write_metadata == WriteMetadata::Required
        && request.class == CallClass::Write;
    match given(request.intent_id) {
        None if required => {
            return Err(Refusal::MissingIntentMetadata { selected: intent.id.clone() });
        }
        Some(named) if named != intent.id => {
            return Err(Refusal::IntentMismatch { given: named, selected: intent.id.clone() });
        }
        _ => {}
    }
    let classes = request.policy.classes();
    let class = given(request.mutation_class);
    let fits = match &class {
        Some(class) => classes.contains(&class.as_str()),
        None => !required,
    };
    if fits {
        return Ok(());
    }
    let classes = classes.into_iter().map(str::to_owned).collect();
    Err(Refusal::MissingMutationClass { given: class, classes })
}

/// S2 step 3: every file is in the scope, and none is protected.
fn scope(request: &Request<'_>, intent: &Intent) -> Result<Vec<InScope>, Refusal> {
    let failed = |why: String| Refusal::ScopeValidationFailed { id: intent.id.clone(), why };
    let targets = match request.targets {
        // A writing tool must name its files; otherwise it cannot be judged.
        Targets::Known([]) if request.class == CallClass::Write => {
            return Err(failed("the call names no file".to_owned()));
        }
        Targets::Partly(_, why) if request.class == CallClass::Write => {
            return Err(failed(why.to_owned()));
        }
        Targets::Known(targets) | Targets::Partly(targets, _) => targets,
    };
    let scope = intent.scope().map_err(|error| failed(error.to_string()))?;
    let mut files: Vec<InScope> = Vec::new();
    for target in targets {
        let violation = |why: Option<String>| Refusal::ScopeViolation {
            file: shown(request.root, target),
            id: intent.id.clone(),
            scope: intent.owned_scope.iter().map(|item| item.text.clone()).collect(),
            why,
        };
        let path = relative(request.root, &target.real).map_err(|outside| match outside {
            Outside::NotText(_) => failed(outside.to_string()),
            other => violation(Some(other.to_string())),
        })?;
        // Links cannot bypass the list: both the link and its target are checked.
        let names = [Some(path.clone()), relative(request.root, &target.named).ok()];
        for name in names.into_iter().flatten() {
            if holds_trace(&name) {
                return Err(Refusal::PathBlocked { file: name, entry: TRACE_IS_ONAS.to_owned() });
            }
            if let Some(entry) = request.ignore.blocks_path(&name) {
                return Err(Refusal::PathBlocked { file: name, entry: named(entry, true) });
            }
        }
        let pattern = match scope.holds(&path) {
            Held::By(pattern) => pattern.to_owned(),
            Held::Excluded(pattern) => {
                return Err(violation(Some(format!("`{pattern}` excludes it"))));
            }
            Held::No => return Err(violation(None)),
        };
        let file = InScope { path, real: target.real.clone(), pattern };
        if !files.contains(&file) {
            files.push(file);
        }
    }
    Ok(files)
}

/// What may be written outside the workspace cannot be judged, nor seen afterwards: `failure_mode` says what then (S2
/// §3.3). What is not seen to write is only noted.
fn elsewhere(request: &Request<'_>, intent: &Intent) -> Result<Vec<String>, Refusal> {
    let Elsewhere { possible, unseen } = request.elsewhere;
    match possible {
        Some(why) if request.policy.failure_mode == FailureMode::Closed => {
            Err(Refusal::ScopeValidationFailed { id: intent.id.clone(), why: why.clone() })
        }
        possible => Ok(possible.iter().chain(unseen).cloned().collect()),
    }
}

/// Whether a path is the trace, or a directory that contains it. An agent must never change the record of its own
/// changes, whatever the scope says.
fn holds_trace(path: &str) -> bool {
    Path::new(LEDGER_PATH).starts_with(path)
}

/// A path as the caller knows it.
fn shown(root: &Path, target: &Target) -> String {
    relative(root, &target.named).unwrap_or_else(|_| target.named.display().to_string())
}

/// S4: no file has changed since it was seen (DESIGN §5 no. 18).
fn fresh(request: &Request<'_>, files: &[InScope]) -> Result<(), Refusal> {
    match files.iter().find(|file| request.stale.contains(&file.real)) {
        Some(file) => Err(Refusal::StaleFile { file: file.path.clone() }),
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests;
