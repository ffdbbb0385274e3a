//! After a call: its changes are found and traced, and the record is completed.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use ona_intents::file::Found;
use ona_intents::gate::CallClass;
use ona_intents::hook_policy::{Class, Classified};
use ona_policy::secrets::Redactor;
use ona_store::{CallOutcome, CallStart, HeardHook, StoreError};
use ona_tools::Tool as _;
use ona_trace::TraceEntry;
use ona_trace::entry::ScopeValidation;
use ona_types::hook::HookInvocation;
use ona_types::{FileView, Seen, ToolKind, ToolOutput, ToolUseId};
use serde_json::{Value, json};

use super::before::Pending;
use super::payload::HostCall;
use super::tools::HostTool;
use super::{HostError, HostHook, Reply, context};
use ona_gate::intents::lesson::{self, Check};
use ona_gate::intents::observe::Before;
use ona_gate::intents::record::Who;
use ona_gate::intents::{Handling, Outside, Subject, check_call, record, vouched_for};
use ona_gate::outcome::{MaskedCall, mask_content, mask_output};

/// The limit for what is kept of a call's response, in characters.
const MAX_RESPONSE_CHARS: usize = 10_000;

impl HostHook<'_> {
    /// A call that has run.
    pub(super) async fn after(&mut self, call: &HostCall) -> Result<Reply, HostError> {
        let tool = HostTool::named(&call.tool);
        let store = self.gate.store();
        let found = store.foreign_found(self.gate.record.session(), &call.id)?;
        let pending = found.and_then(|found| serde_json::from_value::<Pending>(found).ok());
        let mut output = response(call, self.gate.redactor());
        output.views = self.views(&tool, call);
        let id = match &pending {
            Some(pending) => pending.tool_use_id.clone(),
            // The host did not ask before it ran.
            None => {
                let owner = self.owner();
                let MaskedCall { tool, input } =
                    MaskedCall::new(&call.tool, &call.input, self.gate.redactor());
                let id = loop {
                    let id = self.id_for(call)?;
                    let start = CallStart { id: &id, tool: &tool, input: &input, owner: &owner };
                    match store.start_call(self.gate.seat(), &start) {
                        // Another process has taken the id meanwhile.
                        Err(StoreError::CallExists(_)) => {}
                        started => break started.map(|()| id)?,
                    }
                };
                let detail = json!({"tool_use_id": id, "host": self.host.as_str()});
                self.events.push(("ran_without_judgement".to_owned(), detail));
                id
            }
        };
        let was_refused = pending.as_ref().is_some_and(|pending| pending.refused.is_some());
        if was_refused {
            let detail = json!({"tool_use_id": id, "host": self.host.as_str()});
            self.events.push(("ran_although_refused".to_owned(), detail));
        }
        let said = self.attribute((&tool, call), &id, pending, &mut output).await;
        // Names of files may have been added.
        mask_output(&mut output, self.gate.redactor());
        let reply = said.map_or_else(Reply::default, |said| context(self.payload.event, &said));
        let outcome = CallOutcome::of(&output);
        // A refused call has its outcome already.
        let outcome = Some((&id, &outcome)).filter(|_| !was_refused);
        let hook = HookInvocation { tool_use_id: Some(id.clone()), ..self.row(&reply) };
        let events = self.events();
        let heard = HeardHook { hook: &hook, events: &events };
        self.gate.store().foreign_after(self.gate.seat(), &call.id, outcome, &heard)?;
        Ok(reply)
    }

    /// Finds and traces the changes of the call. Returns a message for the agent, if there is one.
    async fn attribute(
        &mut self,
        (tool, call): (&HostTool, &HostCall),
        id: &ToolUseId,
        pending: Option<Pending>,
        output: &mut ToolOutput,
    ) -> Option<String> {
        let workspace = Arc::clone(self.gate.workspace.as_ref()?);
        let effects = tool.effects(&call.input, self.gate.place());
        let subject = Subject {
            tool,
            input: &call.input,
            effects: &effects,
            selected: pending.as_ref().and_then(|pending| pending.intent.as_deref()),
            stale: &[],
        };
        let (mut governed, _) = check_call(&workspace, &subject);
        if !governed.mutates() {
            return None;
        }
        let (store, seat) = (self.gate.store(), self.gate.seat());
        let vouched = |entry: &TraceEntry| vouched_for(store, seat, entry);
        let (mut warnings, mut refused) = (Vec::new(), None);
        let changes = match pending {
            Some(pending) => {
                let intents = workspace.intents().ok();
                let intent = intents
                    .as_ref()
                    .map(|intents| intents.find(pending.intent.as_deref().unwrap_or_default()));
                governed.intent = match intent {
                    Some(Found::One(intent)) => Some(intent.clone()),
                    _ => None,
                };
                governed.scope = pending.scope;
                governed.claimed = pending.claimed;
                if let Some(reason) = pending.classified {
                    governed.class =
                        CallClass::Classified(Classified { class: Class::Destructive, reason });
                }
                refused = pending.refused;
                let outputs = self.gate.record.core.host.outputs_of(self.gate.record.session());
                let before = pending.before.as_deref().and_then(|path| taken_down(path, &outputs));
                let before =
                    before.unwrap_or_else(|| Before::unseen(workspace.root(), &effects.writes));
                before.changes(workspace.root(), &vouched).await
            }
            None => {
                // Nobody has judged it, so it was done for no intent.
                governed.intent = None;
                governed.scope = ScopeValidation::Fail;
                warnings.push("not_asked_before".to_owned());
                let unseen = Before::unseen(workspace.root(), &effects.writes);
                unseen.changes(workspace.root(), &vouched).await
            }
        };
        let mut files = changes.files;
        warnings.extend(changes.warnings);
        if changes.trace_cut {
            self.events
                .push(("trace.damaged".to_owned(), json!({"why": "it is shorter than it was"})));
        }
        let mut entry = record::entry(&governed, Who::of(&self.gate, id, tool));
        let is_classified = matches!(governed.class, CallClass::Classified(_));
        let mut said = None;
        if is_classified || refused.is_some() {
            let how = Handling::new(&self.gate.record, id, refused.is_some());
            let (outside, left) = Outside::of(&governed, files, &how);
            files = left;
            entry.scope_validation = Some(record::scope_after(outside.is_empty(), &files));
            warnings.extend(outside.warnings());
            said = outside.words();
        }
        if refused.is_some() {
            if files.is_empty() && said.is_none() {
                return None;
            }
            warnings.push("ran_although_refused".to_owned());
            entry.scope_validation = Some(ScopeValidation::Fail);
        }
        record::describe(&mut entry, &files, governed.claimed);
        entry.warnings.extend(warnings);
        if output.is_error() {
            record::failed(&mut entry, &output.content);
        }
        if let Some(said) = &said {
            output.content.push_str(&format!("\n[scope] {said}"));
        }
        self.append(&workspace, entry).await;
        if let (Some(command), Some(exit_code)) = (tool.command(&call.input), exit_code(call)) {
            let check = Check { command: &command, exit_code, output: &output.content };
            match lesson::note(
                &governed,
                Who::of(&self.gate, id, tool),
                &check,
                self.gate.redactor(),
            ) {
                Ok(None) => {}
                Ok(Some(entry)) => self.append(&workspace, entry).await,
                // A note that cannot be saved stops nothing.
                Err(why) => {
                    said = Some(
                        [said.unwrap_or_default(), why.to_string()].join(" ").trim().to_owned(),
                    )
                }
            }
        }
        said
    }

    /// The files that the agent has read or written.
    fn views(&self, tool: &HostTool, call: &HostCall) -> Vec<FileView> {
        let effects = tool.effects(&call.input, self.gate.place());
        let targets = match tool.kind() {
            ToolKind::Command => Vec::new(),
            _ => effects.reads.into_iter().chain(effects.writes).collect(),
        };
        let view = |real: PathBuf| {
            let bytes = ona_files::content(&real).ok()?;
            let hash = ona_types::ContentHash::of(&bytes);
            Some(FileView { path: real, hash, seen: Seen::Whole })
        };
        targets.into_iter().filter_map(|target| view(target.real)).collect()
    }
}

/// What the first hook recorded in a file of this directory; the file is removed.
fn taken_down(path: &Path, outputs: &Path) -> Option<Before> {
    if path.parent() != Some(outputs) {
        return None;
    }
    let read = ona_files::content(path).ok();
    let before = read.and_then(|bytes| serde_json::from_slice(&bytes).ok());
    // A leftover is removed with the session.
    let _ = fs::remove_file(path);
    before
}

/// The exit code of a command, if the host reports it: in a field, or in the error message.
fn exit_code(call: &HostCall) -> Option<i64> {
    let field = |key: &str| call.response.as_ref()?.get(key)?.as_i64();
    if let Some(code) = field("exit_code").or_else(|| field("exitCode")) {
        return Some(code);
    }
    let first = call.error.as_deref()?.lines().next().unwrap_or_default().to_lowercase();
    let number = first.split_once("code").map(|(_, rest)| {
        let digits = rest.trim_start_matches([' ', ':', '=']);
        digits.chars().take_while(char::is_ascii_digit).collect::<String>()
    });
    Some(number.and_then(|digits| digits.parse().ok()).unwrap_or(1))
}

/// The result of a call, as the host reports it. It is masked before it is cut, so that no part of a secret is left at
/// its end.
fn response(call: &HostCall, redactor: &Redactor) -> ToolOutput {
    let mut given = match (&call.error, &call.response) {
        (Some(error), _) => Value::from(error.as_str()),
        (None, response) => response.clone().unwrap_or_default(),
    };
    let masked = redactor.mask_value(&mut given);
    let text = match given {
        Value::String(text) => text,
        Value::Null => String::new(),
        other => other.to_string(),
    };
    let failed = call.error.is_some()
        || call.response.as_ref().is_some_and(|response| {
            response.get("success").and_then(Value::as_bool) == Some(false)
                || response.get("is_error").and_then(Value::as_bool) == Some(true)
                || response.get("exit_code").and_then(Value::as_i64).is_some_and(|code| code != 0)
        });
    let mut output = if failed { ToolOutput::rejected(text) } else { ToolOutput::success(text) };
    if masked {
        output.detail.insert("redacted".to_owned(), Value::Bool(true));
    }
    mask_content(&mut output, redactor);
    output.content = output.content.chars().take(MAX_RESPONSE_CHARS).collect();
    output
}
