//! The one door: what happens to a call between being asked for and being run (DESIGN §3).

use std::collections::BTreeSet;
use std::io::Write as _;

use ona_front::{AskRequest, Event, HumanAnswer};
use ona_hooks::{About, Fired, Judge};
use ona_intents::TraceEntry;
use ona_policy::{Answer, By, Call, Effects, Rule, STAGES, Stage, ToolPermit, Verdict};
use ona_store::{Decision, GateRow, StoreError};
use ona_tools::{Asks, Tool};
use ona_types::hook::{HookBase, HookDetail, HookInvocation, RequestDecision};
use ona_types::{Behavior, Phase, ToolUseId};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;
use tracing::debug;

use crate::explain;
use crate::governance::Kept;
use crate::intents::{Governed, Ruled};
use crate::judge::ModelJudge;
use crate::phase;
use crate::session::Session;
use ona_front::Human;

/// As much of what a hook says to the model is told at once.
const LONGEST_CONTEXT: usize = 10_000;

/// As many rules are offered at once.
const MOST_SUGGESTIONS: usize = 5;

/// A call on its way through the stages, with everything said about it so far.
pub(crate) struct PendingCall<'a> {
    pub(crate) id: &'a ToolUseId,
    pub(crate) tool: &'a dyn Tool,
    /// What will run: hooks may have replaced it.
    pub(crate) input: Value,
    pub(crate) effects: Effects,
    pub(crate) answers: Vec<Answer>,
    pub(crate) hooks: Vec<HookInvocation>,
    pub(crate) decisions: Vec<Decision>,
    /// Text of hooks for the model.
    pub(crate) contexts: Vec<String>,
    /// Somebody wants the agent to stop, for this reason.
    pub(crate) stop: Option<String>,
    /// What the intent stage found.
    pub(crate) governed: Option<Governed>,
    /// What the trace is to tell of it.
    pub(crate) trace: Option<TraceEntry>,
    /// What else goes on record with it.
    pub(crate) events: Vec<(String, Value)>,
    /// What hooks decided, for the rules to take into account.
    by_hooks: Option<Behavior>,
    /// Whether a PreToolUse hook has replaced the input.
    from_hook: bool,
    /// Whether a PermissionRequest hook, or the human, has.
    replaced: bool,
}

impl<'a> PendingCall<'a> {
    pub(crate) fn new(id: &'a ToolUseId, tool: &'a dyn Tool, input: Value) -> Self {
        Self {
            id,
            tool,
            input,
            effects: Effects::default(),
            answers: Vec::new(),
            hooks: Vec::new(),
            decisions: Vec::new(),
            contexts: Vec::new(),
            stop: None,
            governed: None,
            trace: None,
            events: Vec::new(),
            by_hooks: None,
            from_hook: false,
            replaced: false,
        }
    }

    /// Whether a hook has said yes.
    pub(crate) fn allowed_by_hooks(&self) -> bool {
        self.by_hooks == Some(Behavior::Allow)
    }

    pub(crate) fn as_call(&self) -> Call<'_> {
        Call { tool: self.tool.name(), input: &self.input, effects: &self.effects }
    }

    /// The tool's name, the input and the id, as hooks are told of them.
    pub(crate) fn named(&self) -> (String, Value, ToolUseId) {
        (self.tool.name().to_owned(), self.input.clone(), self.id.clone())
    }

    /// What a hook said is kept, whatever it said it about.
    fn take(&mut self, fired: &mut Fired) {
        self.hooks.append(&mut fired.rows);
        self.contexts.append(&mut fired.contexts);
        if self.stop.is_none() {
            self.stop = fired.stop.take();
        }
    }
}

impl Session {
    /// Asks every stage in order, until one says no or all have been heard.
    #[allow(clippy::disallowed_methods, reason = "this is where permits are made")]
    pub(crate) async fn judge(
        &mut self,
        call: &mut PendingCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<ToolPermit, Denial> {
        for stage in STAGES {
            let mut answer = match stage {
                Stage::Input => self.ask_schema(call),
                Stage::Hooks => self.ask_hooks(call, cancel).await,
                Stage::Phase => self.ask_phase(call)?,
                Stage::Intent => self.ask_intent(call).map_err(Denial::Store)?,
                Stage::Rules => self.ask_rules(call),
                Stage::Human => self.ask_human(call, cancel).await?,
            };
            // A guard that was cut short has not agreed.
            if answer.verdict != Verdict::Deny && cancel.is_cancelled() {
                answer.verdict = Verdict::Deny;
                answer.reason = "interrupted by the user".to_owned();
            }
            debug!(
                target: "ona::gate", call = %call.id, tool = call.tool.name(), stage = stage.as_str(),
                verdict = answer.verdict.as_str(), reason = %self.governance.redactor.mask(&answer.reason),
                "judged",
            );
            let denied = answer.verdict == Verdict::Deny;
            let reason = answer.reason.clone();
            call.answers.push(answer);
            if denied {
                return Err(Denial::By(stage, reason));
            }
        }
        ToolPermit::grant(&call.answers)
            .ok_or_else(|| Denial::By(Stage::Human, "nobody allowed the call".to_owned()))
    }

    fn ask_schema(&self, call: &mut PendingCall<'_>) -> Answer {
        match self.prepare(call.tool, &call.input) {
            Ok(effects) => {
                call.effects = effects;
                Answer::new(Stage::Input, Verdict::Pass, "the input fits the tool's schema")
            }
            Err(error) => Answer::new(Stage::Input, Verdict::Deny, error.to_string()),
        }
    }

    async fn ask_hooks(&self, call: &mut PendingCall<'_>, cancel: &CancellationToken) -> Answer {
        let (tool_name, tool_input, tool_use_id) = call.named();
        let detail = HookDetail::PreToolUse { tool_name, tool_input, tool_use_id };
        let mut fired = self.fire(call, detail, cancel).await;
        let detail = json!({
            "ran": fired.ran, "blocks": fired.blocks, "decided_by": fired.decided_by,
            "updated_input": fired.updated_input, "warnings": fired.warnings,
            "sources": self.hook_sources(&fired),
        });
        let answer =
            |verdict, reason: String| Answer::new(Stage::Hooks, verdict, reason).with(detail);
        if fired.denies() {
            return answer(
                Verdict::Deny,
                format!("denied by a PreToolUse hook: {}", fired.denial()),
            );
        }
        if let Some(hook) = &fired.interrupted {
            return answer(Verdict::Deny, format!("interrupted by the user while {hook} ran"));
        }
        if let Some(reason) = &call.stop {
            return answer(Verdict::Deny, format!("a PreToolUse hook stops the agent: {reason}"));
        }
        if let Some(input) = fired.updated_input.take() {
            // Every later stage judges what would really run, so it must be valid again.
            call.input = Value::Object(input);
            call.from_hook = true;
            match self.prepare(call.tool, &call.input) {
                Ok(effects) => call.effects = effects,
                Err(error) => {
                    let reason =
                        format!("a hook replaced the input by one that is invalid: {error}");
                    return answer(Verdict::Deny, reason);
                }
            }
        }
        call.by_hooks = fired.permission;
        match fired.permission {
            Some(Behavior::Allow) => answer(Verdict::Allow, "a hook allows it".into()),
            Some(Behavior::Ask) => {
                let why = fired.decided_by.as_ref().map(|(_, why)| why.clone()).unwrap_or_default();
                answer(Verdict::Ask, format!("a hook wants it asked: {why}"))
            }
            _ => answer(Verdict::Pass, fired.summary()),
        }
    }

    /// Where the hooks that spoke come from, for the story.
    fn hook_sources(&self, fired: &Fired) -> Value {
        let spoke = fired.blocks.iter().map(|(ordinal, _)| *ordinal);
        let spoke = spoke.chain(fired.decided_by.as_ref().map(|(ordinal, _)| *ordinal));
        let spoke: BTreeSet<i64> = spoke.chain(fired.updated_by).collect();
        spoke
            .into_iter()
            .filter_map(|ordinal| {
                let entry =
                    self.governance.hooks.entries().iter().find(|e| e.ordinal == ordinal)?;
                Some(json!({
                    "ordinal": ordinal, "command": entry.handler.label(),
                    "source": entry.source.to_string(),
                }))
            })
            .collect()
    }

    fn ask_phase(&self, call: &PendingCall<'_>) -> Result<Answer, Denial> {
        let standing =
            self.engine.store.standing(&self.seat.conversation).map_err(Denial::Store)?;
        // Nobody is asked about a plan that leads nowhere.
        if call.tool.asks() == Asks::AHuman && standing.phase != Phase::Planning {
            let why = format!(
                "the conversation is not in planning but in {}: there is nothing to leave",
                standing.phase
            );
            return Ok(Answer::new(Stage::Phase, Verdict::Deny, why));
        }
        Ok(match phase::forbids(standing, call.tool.name()) {
            Some(reason) => Answer::new(Stage::Phase, Verdict::Deny, reason),
            None => {
                Answer::new(Stage::Phase, Verdict::Pass, format!("the phase is {}", standing.phase))
            }
        })
    }

    fn ask_rules(&self, call: &PendingCall<'_>) -> Answer {
        let ruling = self.governance.permissions.judge(&call.as_call());
        let (reason, detail) = explain::ruling(&ruling);
        if let Some(answer) = self.ask_server_rules(call) {
            return answer;
        }
        let hook_answers = call.by_hooks == Some(Behavior::Allow)
            && call.from_hook
            && ona_tools::is_answered(&call.input);
        match call.tool.asks() {
            _ if ruling.behavior == Behavior::Deny => {}
            Asks::AHuman => {
                let why = "only a human can approve it";
                return Answer::new(Stage::Rules, Verdict::Ask, why).with(detail);
            }
            Asks::AnAnswer if !hook_answers => {
                let why = "the user has to answer";
                return Answer::new(Stage::Rules, Verdict::Ask, why).with(detail);
            }
            Asks::AnAnswer | Asks::ByRules => {}
        }
        let verdict = match (ruling.behavior, &ruling.by) {
            (Behavior::Deny, _) => Verdict::Deny,
            (Behavior::Allow, _) => Verdict::Allow,
            // A hook's yes spares the question, but never a rule that wants it asked.
            (Behavior::Ask, By::Mode(_)) if call.by_hooks == Some(Behavior::Allow) => {
                Verdict::Allow
            }
            // Instructions alone do nothing: what comes of them passes the gate, call by call.
            (Behavior::Ask, By::Mode(_)) if self.only_instructs(call) => {
                let why = "the skill brings no permissions and no hooks of its own";
                return Answer::new(Stage::Rules, Verdict::Allow, why).with(detail);
            }
            (Behavior::Ask, _) => Verdict::Ask,
        };
        Answer::new(Stage::Rules, verdict, reason).with(detail)
    }

    async fn ask_human(
        &mut self,
        call: &mut PendingCall<'_>,
        cancel: &CancellationToken,
    ) -> Result<Answer, Denial> {
        let Some(open) = call.answers.iter().rev().find(|answer| answer.verdict == Verdict::Ask)
        else {
            return Ok(Answer::new(Stage::Human, Verdict::Pass, "there was nothing to ask"));
        };
        let reason = open.reason.clone();
        let (verdict, by, words) = match self.front.human() {
            Human::Operator => (
                Verdict::Allow,
                json!({"by": "operator", "via": "eval"}),
                "the operator asked for it",
            ),
            Human::Nobody => (Verdict::Deny, json!({"by": "headless"}), "there is nobody to ask"),
            Human::Present => {
                let mut suggestions = self.governance.suggestions(&call.as_call());
                // More than anybody reads before saying "always"; or what no rule can say.
                if suggestions.len() > MOST_SUGGESTIONS || call.tool.asks() != Asks::ByRules {
                    suggestions.clear();
                }
                let request = AskRequest {
                    tool: call.tool.name().to_owned(),
                    input: call.input.clone(),
                    reason: reason.clone(),
                    suggestions,
                };
                let answer = match self.ask_request_hooks(call, &request, cancel).await {
                    // What only a human can approve no hook approves.
                    Some((_, HumanAnswer::Allow { .. })) if call.tool.asks() == Asks::AHuman => {
                        ("human", self.front.ask(request, cancel).await)
                    }
                    Some(answer) => answer,
                    None => {
                        self.notify_of(call, &request, cancel).await;
                        ("human", self.front.ask(request, cancel).await)
                    }
                };
                return Ok(self.human_answer(call, &reason, answer));
            }
        };
        call.decisions.push(Decision {
            decision: verdict.as_str().to_owned(),
            reason: json!({"asked": reason, "decided": by}),
        });
        Ok(Answer::new(Stage::Human, verdict, format!("{words} ({reason})")).with(by))
    }

    /// Notification hooks can call somebody to the terminal.
    async fn notify_of(
        &self,
        call: &mut PendingCall<'_>,
        request: &AskRequest,
        cancel: &CancellationToken,
    ) {
        let detail = HookDetail::Notification {
            message: format!("ona needs your permission to use {}", request.tool),
            title: Some("Permission needed".to_owned()),
            notification_type: "permission_prompt".to_owned(),
        };
        self.fire(call, detail, cancel).await;
    }

    /// PermissionRequest hooks may answer before the human is bothered.
    async fn ask_request_hooks(
        &self,
        call: &mut PendingCall<'_>,
        request: &AskRequest,
        cancel: &CancellationToken,
    ) -> Option<(&'static str, HumanAnswer)> {
        let detail = HookDetail::PermissionRequest {
            tool_name: request.tool.clone(),
            tool_input: request.input.clone(),
            permission_suggestions: Some(explain::updates(&request.suggestions)),
        };
        let mut fired = self.fire(call, detail, cancel).await;
        let answer = match fired.request.take()? {
            RequestDecision::Deny { message, interrupt } => HumanAnswer::Deny {
                feedback: message.unwrap_or_default(),
                stop: interrupt == Some(true),
            },
            RequestDecision::Allow { updated_input, updated_permissions } => {
                match updated_input.map(|input| self.replace_input(call, Value::Object(input))) {
                    Some(Err(why)) => HumanAnswer::no(why),
                    None | Some(Ok(())) => HumanAnswer::Allow {
                        always: updated_permissions.unwrap_or_default(),
                        input: None,
                    },
                }
            }
        };
        Some(("PermissionRequest hook", answer))
    }

    /// What a hook puts in the place of the input is judged like anything else.
    fn replace_input(&self, call: &mut PendingCall<'_>, input: Value) -> Result<(), String> {
        let effects = self
            .prepare(call.tool, &input)
            .map_err(|error| format!("the hook's input is invalid: {error}"))?;
        (call.input, call.effects, call.replaced) = (input, effects, true);
        match self.judge_intent(call).map_err(|error| error.to_string())? {
            Some((_, Ruled::Refused(refusal))) => return Err(refusal.to_string()),
            Some((governed, Ruled::Allowed(_) | Ruled::Degraded(_))) => {
                call.governed = Some(governed);
            }
            None => {}
        }
        let ruling = self.governance.permissions.judge(&call.as_call());
        match (ruling.behavior, &ruling.by) {
            (Behavior::Deny, _) => Err("a rule denies the input the hook put there".to_owned()),
            // A hook's yes spares the question of the mode, never one that a rule asks.
            (Behavior::Ask, By::Rules(_) | By::Opaque(_)) => {
                Err("a rule wants the input that the hook put there to be asked about".to_owned())
            }
            (Behavior::Allow | Behavior::Ask, _) => Ok(()),
        }
    }

    fn human_answer(
        &mut self,
        call: &mut PendingCall<'_>,
        reason: &str,
        (who, answer): (&'static str, HumanAnswer),
    ) -> Answer {
        // What the human put in the place of the input, such as answers, is judged like anything else.
        let answer = match answer {
            HumanAnswer::Allow { always, input: Some(input) } => {
                match self.replace_input(call, input) {
                    Ok(()) => HumanAnswer::Allow { always, input: None },
                    Err(why) => HumanAnswer::no(why),
                }
            }
            other => other,
        };
        let (verdict, words, detail) = match answer {
            HumanAnswer::Allow { always, .. } => {
                let mut kept = Vec::new();
                for update in &always {
                    let store = &self.engine.store;
                    let place = &mut self.place;
                    // The yes stands, whether or not it can be kept for the next time.
                    match self.governance.update(update, store, &self.seat, place) {
                        Ok(Kept { place, remark }) => {
                            kept.push(place);
                            if let Some(text) = remark {
                                self.front.tell(Event::Warning { text });
                            }
                        }
                        Err(error) => {
                            let text = format!("\"always\" could not be kept: {error}");
                            kept.push(text.clone());
                            self.front.tell(Event::Warning { text });
                        }
                    }
                }
                let mut detail = json!({"by": who, "kept": kept});
                if call.replaced {
                    detail["updated_input"] = call.input.clone();
                }
                (Verdict::Allow, format!("the {who} allows it"), detail)
            }
            HumanAnswer::Deny { feedback, stop } => {
                if stop {
                    call.stop = Some(feedback.clone());
                }
                let words = if feedback.is_empty() {
                    format!("the {who} said no")
                } else {
                    format!("the {who} said no: {feedback}")
                };
                (Verdict::Deny, words, json!({"by": who, "feedback": feedback}))
            }
        };
        call.decisions.push(Decision {
            decision: verdict.as_str().to_owned(),
            reason: json!({"asked": reason, "decided": detail}),
        });
        Answer::new(Stage::Human, verdict, words).with(detail)
    }

    /// Fires an event about a call. What hooks say to the user is passed on, what they say to the model kept.
    pub(crate) async fn fire(
        &self,
        call: &mut PendingCall<'_>,
        detail: HookDetail,
        cancel: &CancellationToken,
    ) -> Fired {
        let about = Some(About { id: call.id, effects: &call.effects });
        let mut fired = self.fire_event(detail, about, cancel).await;
        for text in &mut fired.contexts {
            self.shorten(text);
        }
        call.take(&mut fired);
        fired
    }

    /// Fires an event, about a call or not.
    pub(crate) async fn fire_event(
        &self,
        detail: HookDetail,
        about: Option<About<'_>>,
        cancel: &CancellationToken,
    ) -> Fired {
        let judge = self.mind.as_ref().map(|mind| ModelJudge { session: self, mind });
        let judge = judge.as_ref().map(|judge| judge as &dyn Judge);
        let hooks = &self.governance.hooks;
        let name = self.governance.redactor.mask_live(&detail.name()).into_owned();
        let mut base = self.hook_base();
        // These say themselves which agent they are about.
        let says = |detail: &HookDetail| {
            use HookDetail::{SessionStart, SubagentStart, SubagentStop};
            matches!(detail, SessionStart { .. } | SubagentStart { .. } | SubagentStop { .. })
        };
        if says(&detail) {
            (base.agent_id, base.agent_type) = (None, None);
        }
        let mut fired = hooks.fire(&base, detail, about, judge, cancel).await;
        self.pass_on(&name, &mut fired);
        fired
    }

    /// Tells the user what hooks did and said.
    fn pass_on(&self, name: &str, fired: &mut Fired) {
        for row in fired.rows.iter().filter(|row| row.skipped_reason.is_none()) {
            self.front.tell(Event::HookRan {
                hook_event: row.event.as_str().to_owned(),
                hook_name: name.to_owned(),
                command: row.command.clone(),
                exit_code: row.exit_code,
                stdout: row.stdout_text.clone().unwrap_or_default(),
                stderr: row.stderr_text.clone().unwrap_or_default(),
            });
        }
        for text in fired.messages.drain(..) {
            self.front.tell(Event::HookMessage { text });
        }
        for text in &fired.warnings {
            self.front.tell(Event::Warning { text: text.clone() });
        }
    }

    /// Keeps what a hook says to the model within bounds; the whole goes to a file the model may read.
    pub(crate) fn shorten(&self, text: &mut String) {
        let Some((cut, _)) = text.char_indices().nth(LONGEST_CONTEXT) else { return };
        let name = format!("hook-{}.txt", ToolUseId::generate());
        let kept = self.engine.host.new_output(&self.seat.session, &name);
        let kept = kept.and_then(|(path, mut file)| {
            file.write_all(text.as_bytes())?;
            Ok(path)
        });
        let whole = match kept {
            Ok(path) => format!("the whole is in {}", path.display()),
            Err(error) => format!("the whole could not be kept: {error}"),
        };
        text.truncate(cut);
        text.push_str(&format!("\n[cut after {LONGEST_CONTEXT} characters; {whole}]"));
    }

    /// The fields every hook's input has.
    pub(crate) fn hook_base(&self) -> HookBase {
        HookBase {
            session_id: self.seat.session.clone(),
            conversation_id: self.seat.conversation.clone(),
            runtime_db_path: self.engine.store.path().display().to_string(),
            cwd: self.place.cwd.display().to_string(),
            permission_mode: Some(self.governance.permissions.mode()),
            agent_id: self.agent.as_ref().map(|agent| agent.id.to_string()),
            agent_type: self.kind_here().map(str::to_owned),
        }
    }
}

/// The stages' answers as the record keeps them.
pub(crate) fn gate_rows(answers: &[Answer]) -> Vec<GateRow> {
    let row = |answer: &Answer| GateRow {
        stage: answer.stage.as_str().to_owned(),
        verdict: answer.verdict.as_str().to_owned(),
        reason: answer.reason.clone(),
        detail: answer.detail.clone(),
    };
    answers.iter().map(row).collect()
}

/// Why there is no permit.
pub(crate) enum Denial {
    /// A stage said no.
    By(Stage, String),
    /// The record could not be asked.
    Store(StoreError),
}

/// A rule in words, with its source.
pub(crate) fn rule_words(rule: &Rule) -> String {
    format!("{} ({})", rule.text, rule.source)
}
