//! Answers questions of servers: hooks answer first, then the human.

use std::time::Duration;

use ona_front::{AskRequest, Human, HumanAnswer, Wants};
use ona_mcp::{BoxFuture, ElicitAnswer, ElicitForm, Elicitation, HelperError, ServerCallbacks};
use ona_sandbox::{ChildSpec, Ending};
use ona_store::Step;
use ona_tools::misfit;
use ona_types::hook::{ElicitationAction, ElicitationMode, HookDetail, HookInvocation};
use serde_json::{Map, Value, json};
use tokio_util::sync::CancellationToken;

use crate::Gate;
use ona_config::servers::in_header;

/// Limits for a command that prints headers: time and output.
const HELPER_TIMEOUT: Duration = Duration::from_secs(10);
const MAX_HEADERS: usize = 64 << 10;

/// The name of the asking tool that the human sees.
const ELICITATION: &str = "McpElicitation";

/// Answers the questions of a gate's servers.
pub(super) struct GateCallbacks {
    pub(super) gate: Gate,
}

impl ServerCallbacks for GateCallbacks {
    fn elicit<'a>(&'a self, server: &'a str, asked: Elicitation) -> BoxFuture<'a, ElicitAnswer> {
        Box::pin(async move { self.gate.elicited(server, &asked).await })
    }

    fn headers<'a>(
        &'a self,
        _server: &'a str,
        command: &'a str,
    ) -> BoxFuture<'a, Result<String, HelperError>> {
        Box::pin(async move {
            let spec = ChildSpec {
                program: std::path::Path::new("/bin/sh"),
                args: vec!["-c".into(), command.into()],
                cwd: &self.gate.place().project_dir,
                env: self.gate.governance.host.child_env.clone(),
                inherits: ona_sandbox::Inherits::AllButCredentials,
                confined: None,
                marker: None,
                stdin: Vec::new(),
                timeout: HELPER_TIMEOUT,
                cap: MAX_HEADERS,
            };
            let outcome = ona_sandbox::run(spec, &CancellationToken::new()).await;
            let outcome = outcome.map_err(|error| HelperError::NotRun(error.into()))?;
            match outcome.ending {
                Ending::Exited(0) => {
                    let printed = String::from_utf8_lossy(&outcome.stdout.bytes).into_owned();
                    // They are masked from now on, in every session of the process.
                    self.gate.record.core.config.learned_secrets.learn(in_headers(&printed));
                    Ok(printed)
                }
                Ending::Exited(code) => Err(HelperError::Failed(code)),
                Ending::Signalled(signal) => Err(HelperError::Signalled(signal)),
                Ending::TimedOut => Err(HelperError::TimedOut(HELPER_TIMEOUT)),
                Ending::Interrupted => Err(HelperError::Interrupted),
            }
        })
    }
}

/// The secrets in the headers that a command printed.
fn in_headers(printed: &str) -> Vec<String> {
    let headers: Map<String, Value> = serde_json::from_str(printed).unwrap_or_default();
    let texts = headers.iter().filter_map(|(name, value)| Some((name, value.as_str()?)));
    texts.flat_map(|(name, value)| in_header(name, value)).collect()
}

impl Gate {
    /// A server asks something: hooks are asked first, then the human; then hooks are told the answer.
    async fn elicited(&self, server: &str, asked: &Elicitation) -> ElicitAnswer {
        let cancel = self.front.running();
        let (mode, url, id, schema) = match &asked.form {
            ElicitForm::Fields { schema } => {
                (ElicitationMode::Form, None, None, schema.as_object().cloned())
            }
            ElicitForm::Page { url, id } => {
                (ElicitationMode::Url, Some(url.clone()), Some(id.clone()), None)
            }
        };
        let detail = HookDetail::Elicitation {
            mcp_server_name: server.to_owned(),
            message: asked.message.clone(),
            mode: Some(mode),
            url: url.clone(),
            elicitation_id: id.clone(),
            requested_schema: schema.clone(),
        };
        let fired = self.fire(detail, None, &cancel).await;
        let mut rows = fired.rows.clone();
        let (mut answer, by) = match (&fired.elicitation, fired.denies()) {
            (_, true) => (ElicitAnswer::Decline, "hook"),
            (Some((action, content)), false) => (given(*action, content.clone()), "hook"),
            (None, false) => match self.front.human() {
                Human::Present => {
                    let (answer, more) = self.ask_for(server, asked, &cancel).await;
                    rows.extend(more);
                    (answer, "human")
                }
                // A tool call from the command line is not interrupted by questions.
                Human::Operator(_) | Human::Nobody => (ElicitAnswer::Decline, "headless"),
            },
        };
        let (action, content) = taken(&answer);
        let detail = HookDetail::ElicitationResult {
            mcp_server_name: server.to_owned(),
            elicitation_id: id,
            mode: Some(mode),
            action,
            content,
        };
        let fired = self.fire(detail, None, &cancel).await;
        rows.extend(fired.rows.iter().cloned());
        if fired.denies() {
            answer = ElicitAnswer::Decline;
        } else if let Some((action, content)) = &fired.elicitation {
            let (_, before) = taken(&answer);
            answer = given(*action, content.clone().or(before));
        }
        // The answer of a hook must match the schema too.
        if let (ElicitAnswer::Accept(content), Some(schema)) = (&answer, &schema)
            && let Some(why) = misfit(&json!(schema), &json!(content))
        {
            self.front.warn(format!(
                "the answer to the MCP server {server} does not match its schema and was not sent: {why}"
            ));
            answer = ElicitAnswer::Decline;
        }
        let (action, _) = taken(&answer);
        let what = json!({"server": server, "message": asked.message, "action": action, "by": by});
        let step =
            Step { hooks: &rows, event: Some(("mcp.elicitation", &what)), ..Step::default() };
        match self.store().keep_step(self.seat(), &step) {
            Ok(()) => answer,
            // Without a record there is no answer.
            Err(_) => ElicitAnswer::Cancel,
        }
    }

    async fn ask_for(
        &self,
        server: &str,
        asked: &Elicitation,
        cancel: &CancellationToken,
    ) -> (ElicitAnswer, Vec<HookInvocation>) {
        let detail = HookDetail::Notification {
            message: format!("the MCP server {server} asks: {}", asked.message),
            title: Some("An MCP server asks".to_owned()),
            notification_type: "elicitation_dialog".to_owned(),
        };
        let rows = self.fire(detail, None, cancel).await.rows;
        let input = match &asked.form {
            ElicitForm::Fields { schema } => json!({"message": asked.message, "schema": schema}),
            ElicitForm::Page { url, .. } => json!({"message": asked.message, "url": url}),
        };
        let reason = format!("the MCP server {server} asks: {}", asked.message);
        let mut request = AskRequest::new(Wants::Form, ELICITATION, input, reason);
        let answer = match self.ask_for_form(&mut request, &asked.form, cancel).await {
            HumanAnswer::Allow { input, .. } => {
                let content = input.and_then(|input| input.as_object().cloned());
                ElicitAnswer::Accept(content.unwrap_or_default())
            }
            HumanAnswer::Deny { stop: true, .. } | HumanAnswer::Unasked { .. } => {
                ElicitAnswer::Cancel
            }
            HumanAnswer::Deny { .. } => ElicitAnswer::Decline,
        };
        (answer, rows)
    }
}

impl Gate {
    /// Asks until the answer matches the form's schema, or is no.
    async fn ask_for_form(
        &self,
        request: &mut AskRequest,
        form: &ElicitForm,
        cancel: &CancellationToken,
    ) -> HumanAnswer {
        loop {
            let answer = self.front.ask(request.clone(), cancel).await;
            let ElicitForm::Fields { schema } = form else { return answer };
            let HumanAnswer::Allow { input: Some(given), .. } = &answer else { return answer };
            let Some(why) = misfit(schema, given) else { return answer };
            request.checks = vec![format!("invalid: {why}")];
            request.input["given"] = given.clone();
        }
    }
}

fn given(action: ElicitationAction, content: Option<Map<String, Value>>) -> ElicitAnswer {
    match action {
        ElicitationAction::Accept => ElicitAnswer::Accept(content.unwrap_or_default()),
        ElicitationAction::Decline => ElicitAnswer::Decline,
        ElicitationAction::Cancel => ElicitAnswer::Cancel,
    }
}

fn taken(answer: &ElicitAnswer) -> (ElicitationAction, Option<Map<String, Value>>) {
    match answer {
        ElicitAnswer::Accept(content) => (ElicitationAction::Accept, Some(content.clone())),
        ElicitAnswer::Decline => (ElicitationAction::Decline, None),
        ElicitAnswer::Cancel => (ElicitationAction::Cancel, None),
    }
}
