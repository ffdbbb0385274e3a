//! Before a call: judged by the stages, answered, and what the second hook will need is kept.

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use ona_intents::Workspace;
use ona_intents::gate::CallClass;
use ona_intents::hook_policy::Classified;
use ona_intents::trace::{MutationClass, ScopeValidation};
use ona_policy::{Answer, Call, Effects, Stage, Verdict};
use ona_store::{CallOutcome, CallStart, ForeignCall, HeardHook, StoreError};
use ona_types::{Behavior, PermissionMode, ToolOutput, ToolUseId};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::payload::{HostCall, command_of};
use super::{BEFORE, Hearing, HostError, HostOptions, OWN_SERVER, Reply, SELECT, denied, targets};
use crate::explain;
use crate::gate::gate_rows;
use crate::intents::observe::Before;
use crate::intents::{DEGRADED, Governed, Ruled, Subject, hold, record, stale, vouch};
use crate::phase;
use crate::session::{JoinRequest, Session};

/// What the first hook of a call leaves to the second.
#[derive(Serialize, Deserialize)]
pub(super) struct Pending {
    pub(super) tool_use_id: ToolUseId,
    pub(super) intent: Option<String>,
    pub(super) scope: ScopeValidation,
    pub(super) claimed: Option<MutationClass>,
    /// Why it is taken for a command, or another tool, that could change anything.
    pub(super) classified: Option<String>,
    /// Why it was refused.
    pub(super) refused: Option<String>,
    /// Where what the call could change was taken down: it may be as large as the work tree.
    pub(super) before: Option<PathBuf>,
}

/// What the stages come to.
enum Said {
    Nothing,
    Ask(String),
    No(String),
}

/// What the stages said, and found.
#[derive(Default)]
struct Stages {
    answers: Vec<Answer>,
    governed: Option<Governed>,
}

impl Hearing<'_> {
    /// A call that is about to run.
    pub(super) async fn before(
        &mut self,
        call: &HostCall,
        options: &HostOptions,
    ) -> Result<Reply, HostError> {
        let effects = targets::effects(call, &self.cwd);
        let mut stages = Stages::default();
        let said = self.ask(call, &effects, options, &mut stages)?;
        let Stages { answers, governed } = stages;
        let id = self.id_for(call)?;
        let refused = match &said {
            Said::No(reason) => Some(reason.as_str()),
            _ => None,
        };
        let pending = self.pending(&id, governed.as_ref(), &effects, refused).await;
        if let (Some(reason), Some(governed)) = (refused, &governed) {
            self.trace_refusal(call, &id, governed, &effects, reason).await;
        }
        let reply = match &said {
            Said::No(reason) => denied(reason),
            Said::Ask(reason) if self.host.asks() => Reply {
                stdout: Some(json!({"hookSpecificOutput": {
                    "hookEventName": "PreToolUse", "permissionDecision": "ask",
                    "permissionDecisionReason": reason,
                }})),
                ..Reply::default()
            },
            // Where the host does not ask for us, its own approval is the human's.
            Said::Ask(_) | Said::Nothing => Reply::default(),
        };
        let output = refused.map(|reason| {
            ToolOutput::rejected(self.redactor.mask(reason))
                .with_detail("denied_by", self.host.as_str())
        });
        let outcome = output.as_ref().map(CallOutcome::of);
        let mut input = call.input.clone();
        self.redactor.mask_value(&mut input);
        let mut gate = gate_rows(&answers);
        for row in &mut gate {
            self.redactor.mask_string(&mut row.reason);
            self.redactor.mask_value(&mut row.detail);
        }
        let foreign = ForeignCall {
            call: CallStart { id: &id, tool: &call.tool, input: &input, owner: &self.owner() },
            host_id: &call.id,
            gate: &gate,
            found: &serde_json::to_value(&pending).unwrap_or_default(),
            refused: outcome.as_ref(),
        };
        let hook = self.row(&reply);
        let heard = HeardHook { hook: &hook, events: &self.events };
        self.engine.store.foreign_before(&self.seat, &foreign, &heard)?;
        Ok(reply)
    }

    /// Asks the stages in their order, until one says no.
    fn ask(
        &mut self,
        call: &HostCall,
        effects: &Effects,
        options: &HostOptions,
        stages: &mut Stages,
    ) -> Result<Said, StoreError> {
        let standing = self.engine.store.standing(&self.seat.conversation)?;
        if let Some(reason) = phase::forbids(standing, &call.tool) {
            stages.answers.push(Answer::new(Stage::Phase, Verdict::Deny, reason.clone()));
            return Ok(Said::No(reason));
        }
        let phase = format!("the phase is {}", standing.phase);
        stages.answers.push(Answer::new(Stage::Phase, Verdict::Pass, phase));
        let (answer, by_intent) = match self.workspace.clone() {
            Some(workspace) if call.tool.starts_with(OWN_SERVER) => {
                self.own_tool(&workspace, call)?
            }
            Some(workspace) => {
                let (governed, answer, said) = self.hold(&workspace, call, effects)?;
                stages.governed = Some(governed);
                (answer, said)
            }
            None => {
                let why = "the project has no intents";
                (Answer::new(Stage::Intent, Verdict::Pass, why), Said::Nothing)
            }
        };
        stages.answers.push(answer);
        if !options.rules || matches!(by_intent, Said::No(_)) {
            return Ok(by_intent);
        }
        let (answer, by_rules) = self.by_rules(call, effects);
        stages.answers.push(answer);
        Ok(match by_rules {
            Said::Nothing => by_intent,
            by_rules => by_rules,
        })
    }

    /// The id that the record has for a call. One that is taken, by a call of long ago, gets a number behind it.
    pub(super) fn id_for(&self, call: &HostCall) -> Result<ToolUseId, StoreError> {
        let (mut id, mut number) = (call.id.clone(), 1);
        while self.engine.store.knows_call(&id)? {
            number += 1;
            id = ToolUseId::from_existing(format!("{}-{number}", call.id));
        }
        Ok(id)
    }

    /// Who runs a call, as the record keeps it.
    pub(super) fn owner(&self) -> Value {
        json!({"host": self.host.as_str(), "session": self.payload.session})
    }

    /// A call of ona's own server: the handshake selects for the host's session, which the server does not know.
    fn own_tool(
        &self,
        workspace: &Workspace,
        call: &HostCall,
    ) -> Result<(Answer, Said), StoreError> {
        let answer = |verdict, reason: String| Answer::new(Stage::Intent, verdict, reason);
        if call.tool != SELECT {
            return Ok((
                answer(Verdict::Pass, "it only tells of intents".to_owned()),
                Said::Nothing,
            ));
        }
        let id = call.input.get("intent_id").and_then(Value::as_str).unwrap_or_default();
        Ok(match workspace.select(id) {
            Ok(selected) => {
                let (root, id) = (workspace.root().to_string_lossy(), &selected.intent.id);
                let session = Some(&self.seat.session);
                self.engine.store.select_intent(&root, session, Some(id), "agent")?;
                vouch(&self.engine.store, workspace)?;
                (answer(Verdict::Pass, format!("{id} is selected")), Said::Nothing)
            }
            Err(refusal) => (
                answer(Verdict::Deny, refusal.to_string()).with(refusal.to_json()),
                Said::No(refusal.to_json().to_string()),
            ),
        })
    }

    fn hold(
        &mut self,
        workspace: &Arc<Workspace>,
        call: &HostCall,
        effects: &Effects,
    ) -> Result<(Governed, Answer, Said), StoreError> {
        let selected = self.selected(workspace)?;
        let stale = stale(&self.engine.store, &self.seat.session, &self.redactor, &effects.writes)?;
        let command = command_of(&call.input);
        let subject = Subject {
            tool: &call.tool,
            command: command.as_deref().filter(|_| call.tool == "Bash"),
            input: &call.input,
            effects,
            selected: selected.as_deref(),
            stale: &stale,
        };
        let (governed, ruled) = hold(workspace, &subject);
        let answer = ruled.answer(&governed, || self.approved_before(call, effects));
        let said = match (&ruled, answer.verdict) {
            (Ruled::Refused(refusal), _) => Said::No(refusal.to_json().to_string()),
            (_, Verdict::Ask) => Said::Ask(answer.reason.clone()),
            _ => Said::Nothing,
        };
        if let Ruled::Degraded(refusal) = &ruled {
            self.events.push((DEGRADED, refusal.to_json()));
        }
        Ok((governed, answer, said))
    }

    /// The rules of the settings that ona and Claude Code share, in the mode the host says it is in.
    fn with_rules<T>(
        &self,
        call: &HostCall,
        effects: &Effects,
        tell: impl FnOnce(&Session, &Call<'_>) -> T,
    ) -> Option<T> {
        let request = JoinRequest { cwd: self.cwd.clone(), conversation: None };
        let session = Session::look(self.engine, &request).ok()?;
        let named = self.payload.permission_mode.as_deref();
        let known = PermissionMode::ALL.iter().find(|(_, name)| Some(*name) == named);
        let mode = known.map(|(mode, _)| *mode);
        let session = session.in_mode(mode);
        let call = Call { tool: &call.tool, input: &call.input, effects };
        Some(tell(&session, &call))
    }

    fn approved_before(&self, call: &HostCall, effects: &Effects) -> Option<String> {
        self.with_rules(call, effects, |session, call| session.approved_before(call)).flatten()
    }

    fn by_rules(&self, call: &HostCall, effects: &Effects) -> (Answer, Said) {
        let found = self.with_rules(call, effects, |session, call| {
            let ruling = session.governance.permissions.judge(call);
            let (reason, detail) = explain::ruling(&ruling);
            (ruling.behavior, reason, detail)
        });
        let Some((behavior, reason, detail)) = found else {
            let reason = "the settings cannot be read".to_owned();
            return (Answer::new(Stage::Rules, Verdict::Deny, reason.clone()), Said::No(reason));
        };
        let answer =
            |verdict, reason: &str| Answer::new(Stage::Rules, verdict, reason).with(detail.clone());
        match behavior {
            Behavior::Deny => (answer(Verdict::Deny, &reason), Said::No(reason)),
            Behavior::Ask => (answer(Verdict::Ask, &reason), Said::Ask(reason)),
            // Allowing is left to the host, which has rules of its own.
            Behavior::Allow => (answer(Verdict::Allow, &reason), Said::Nothing),
        }
    }

    /// Has the trace tell of a call that was refused, if it would have changed something.
    async fn trace_refusal(
        &mut self,
        call: &HostCall,
        id: &ToolUseId,
        governed: &Governed,
        effects: &Effects,
        reason: &str,
    ) {
        if !governed.mutates() {
            return;
        }
        let mut entry = record::entry(governed, self.who(call, id));
        record::describe(&mut entry, &[], governed.claimed);
        record::untouched(&mut entry, governed, effects);
        record::failed(&mut entry, &self.redactor.mask(reason));
        self.append(&governed.workspace, entry).await;
    }

    /// What the second hook has to know.
    async fn pending(
        &mut self,
        id: &ToolUseId,
        governed: Option<&Governed>,
        effects: &Effects,
        refused: Option<&str>,
    ) -> Pending {
        let mut pending = Pending {
            tool_use_id: id.clone(),
            intent: None,
            scope: ScopeValidation::Exempt,
            claimed: None,
            classified: None,
            refused: refused.map(str::to_owned),
            before: None,
        };
        if let Some(governed) = governed.filter(|governed| governed.mutates()) {
            pending.intent = governed.intent.as_ref().map(|intent| intent.id.clone());
            pending.scope = governed.scope;
            pending.claimed = governed.claimed;
            pending.classified = match &governed.class {
                CallClass::Classified(Classified { reason, .. }) => Some(reason.clone()),
                _ => None,
            };
            let before = Before::take(governed, &effects.writes).await;
            match self.keep_aside(&before) {
                Ok(path) => pending.before = Some(path),
                Err(error) => {
                    let why = format!("what it could change cannot be taken down: {error}");
                    self.events.push(("trace.gap", json!({"why": why})));
                }
            }
        }
        pending
    }

    /// Keeps what a call could change in a file that nobody else reads.
    fn keep_aside(&self, before: &Before) -> io::Result<PathBuf> {
        let name = format!("{BEFORE}{}.json", ToolUseId::generate());
        let (path, file) = self.engine.host.new_output(&self.seat.session, &name)?;
        serde_json::to_writer(io::BufWriter::new(file), before)?;
        Ok(path)
    }
}
