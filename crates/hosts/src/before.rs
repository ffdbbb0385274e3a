//! Before a call: the stages judge it, the host gets an answer, and what the second hook needs is stored.

use std::io;
use std::path::PathBuf;

use ona_intents::gate::CallClass;
use ona_intents::hook_policy::Classified;
use ona_store::{CallOutcome, CallStart, ForeignCall, HeardHook, StoreError};
use ona_trace::entry::{MutationClass, ScopeValidation};
use ona_types::gate::Answer;
use ona_types::hook::HookInvocation;
use ona_types::{ToolKind, ToolOutput, ToolUseId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::payload::HostCall;
use super::tools::HostTool;
use crate::{BEFORE, HostError, HostHook, HostOptions, Reply, asking, denied as refusal};
use ona_gate::foreign::{ForeignCall as Foreign, ForeignJudgement};
use ona_gate::intents::observe::Before;
use ona_gate::intents::vouch;
use ona_gate::judgement::open_question;
use ona_gate::outcome::{MaskedCall, gate_rows, mask_rows};

/// What the first hook of a call stores for the second.
#[derive(Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) tool_use_id: ToolUseId,
    pub(super) intent: Option<String>,
    pub(super) scope: ScopeValidation,
    pub(super) claimed: Option<MutationClass>,
    /// Why the call counts as one that could change any file.
    pub(super) classified: Option<String>,
    /// Why it was refused.
    pub(super) refused: Option<String>,
    /// The file with the state before the call: it may be as large as the work tree.
    pub(super) before: Option<PathBuf>,
}

impl HostHook<'_> {
    /// A call that is about to run.
    pub(super) async fn before(
        &mut self,
        call: &HostCall,
        options: &HostOptions,
    ) -> Result<Reply, HostError> {
        let tool = HostTool::named(&call.tool);
        let mut id = self.id_for(call)?;
        let foreign = Foreign {
            id: &id,
            tool: &tool,
            input: call.input.clone(),
            rules: options.rules,
            host_asks: self.host.asks(),
        };
        let judged = self.gate.judge_foreign(foreign).await?;
        let redactor = self.gate.redactor();
        let denied = judged.denied.as_ref().map(|(_, reason)| redactor.mask(reason).into_owned());
        let denied = denied.as_deref();
        for (kind, what) in &judged.noted.events {
            self.events.push((kind.clone(), json!({"tool_use_id": id, "what": what})));
        }
        if denied.is_none() && tool.kind() == ToolKind::SelectIntent {
            self.select(call)?;
        }
        let mut pending = self.pending(&id, &judged).await;
        let reply = match (denied, asked(&judged.answers)) {
            (Some(reason), _) => refusal(reason),
            (None, Some(reason)) if self.host.asks() => asking(reason),
            // If the host does not ask for us, its own approval counts.
            (None, _) => Reply::default(),
        };
        let redactor = self.gate.redactor();
        let output = denied.map(|reason| {
            ToolOutput::rejected(reason).with_detail("denied_by", self.host.as_str())
        });
        let outcome = output.as_ref().map(CallOutcome::of);
        let masked = MaskedCall::new(&call.tool, &call.input, redactor);
        let mut gate = gate_rows(&judged.answers);
        mask_rows(&mut gate, redactor);
        loop {
            let start = CallStart {
                id: &id,
                tool: &masked.tool,
                input: &masked.input,
                owner: &self.owner(),
            };
            let foreign = ForeignCall {
                call: start,
                host_id: &call.id,
                gate: &gate,
                found: &serde_json::to_value(&pending).unwrap_or_default(),
                refused: outcome.as_ref(),
            };
            let hook = HookInvocation { tool_use_id: Some(id.clone()), ..self.row(&reply) };
            let events = self.events();
            let heard = HeardHook { hook: &hook, events: &events };
            match self.gate.store().foreign_before(self.gate.seat(), &foreign, &heard) {
                // Another process has taken the id meanwhile.
                Err(StoreError::CallExists(_)) => id = self.id_for(call)?,
                other => break other?,
            }
            for (_, event) in &mut self.events {
                if event["tool_use_id"] == json!(pending.tool_use_id) {
                    event["tool_use_id"] = json!(id);
                }
            }
            pending.tool_use_id = id.clone();
        }
        Ok(reply)
    }

    /// The id of a call in the record. If an earlier call has it, a number is appended.
    pub(super) fn id_for(&self, call: &HostCall) -> Result<ToolUseId, StoreError> {
        let (mut id, mut number) = (call.id.clone(), 1);
        while self.gate.store().knows_call(&id)? {
            number += 1;
            id = ToolUseId::from_existing(format!("{}-{number}", call.id));
        }
        Ok(id)
    }

    /// Who runs a call, for the record.
    pub(super) fn owner(&self) -> Value {
        json!({"host": self.host.as_str(), "session": self.payload.session})
    }

    /// The handshake: ona's MCP server does not know the host's session, so the intent is selected here.
    fn select(&self, call: &HostCall) -> Result<(), StoreError> {
        let id = call.input.get("intent_id").and_then(Value::as_str);
        let (Some(workspace), Some(id)) = (&self.gate.workspace, id) else { return Ok(()) };
        let root = workspace.root().to_string_lossy();
        let session = Some(self.gate.record.session());
        self.gate.store().select_intent(&root, session, Some(id), "agent")?;
        vouch(self.gate.store(), workspace)
    }

    /// What the second hook needs.
    async fn pending(&mut self, id: &ToolUseId, judged: &ForeignJudgement) -> Pending {
        let mut pending = Pending {
            tool_use_id: id.clone(),
            intent: None,
            scope: ScopeValidation::Exempt,
            claimed: None,
            classified: None,
            refused: judged.denied.as_ref().map(|(_, reason)| self.gate.masked(reason)),
            before: None,
        };
        if let Some(governed) = judged.governed.as_ref().filter(|governed| governed.mutates()) {
            pending.intent = governed.intent.as_ref().map(|intent| intent.id.clone());
            pending.scope = governed.scope;
            pending.claimed = governed.claimed;
            pending.classified = match &governed.class {
                CallClass::Classified(Classified { reason, .. }) => Some(self.gate.masked(reason)),
                _ => None,
            };
            let before = Before::take(governed, &judged.effects.writes).await;
            match self.keep_aside(&before) {
                Ok(path) => pending.before = Some(path),
                Err(error) => {
                    let why = format!("the state before the call cannot be stored: {error}");
                    self.events.push(("trace.gap".to_owned(), json!({"why": why})));
                }
            }
        }
        pending
    }

    /// Stores the state before a call in a private file.
    fn keep_aside(&self, before: &Before) -> io::Result<PathBuf> {
        let name = format!("{BEFORE}{}.json", ToolUseId::generate());
        let (path, file) =
            self.gate.record.core.host.new_output(self.gate.record.session(), &name)?;
        serde_json::to_writer(io::BufWriter::new(file), before)?;
        Ok(path)
    }
}

/// Why the user should be asked, if so.
fn asked(answers: &[Answer]) -> Option<&str> {
    open_question(answers).map(|answer| answer.reason.as_str())
}
