//! The shapes of `--output-format json` and `stream-json`, as published for Claude Code.

use ona_front::{Ending, Event, ModelUsed, TurnEnd};
use ona_provider::Model;
use ona_types::{Usage, fresh_uuid};
use serde_json::{Map, Value, json};

use super::printer::final_text;

/// What every line needs to know.
pub(super) struct Shown {
    pub(super) session_id: String,
    pub(super) model: Model,
    pub(super) credential: String,
    pub(super) cwd: String,
    pub(super) mode: String,
    pub(super) sandbox: String,
    pub(super) agent: Option<String>,
}

/// A prompt, as it was taken.
pub(super) fn replay(session_id: &str, content: &Value) -> Value {
    json!({
        "type": "user", "message": {"role": "user", "content": content}, "parent_tool_use_id": null,
        "session_id": session_id, "uuid": fresh_uuid(), "isReplay": true,
    })
}

/// The published word for what a server's answer means.
fn word(status: Option<u16>) -> &'static str {
    match status {
        Some(429) => "rate_limit",
        Some(500..) => "server_error",
        _ => "unknown",
    }
}

impl Shown {
    /// A line with what every line has.
    fn line(&self, mut value: Value) -> Value {
        value["session_id"] = self.session_id.as_str().into();
        value["uuid"] = fresh_uuid().into();
        value
    }

    pub(super) fn init(&self, tools: &[String], servers: &[Value], there: &Value) -> Value {
        let mut line = json!({
            "type": "system", "subtype": "init", "cwd": self.cwd, "tools": tools, "mcp_servers": servers,
            "model": self.model.wire, "permissionMode": self.mode, "slash_commands": there["slash_commands"],
            "apiKeySource": self.credential, "output_style": there["output_style"], "agents": there["agents"], "skills": there["skills"],
            "plugins": there["plugins"], "claude_code_version": env!("CARGO_PKG_VERSION"),
            "provider": self.model.provider.as_str(), "sandbox": self.sandbox,
        });
        if let Some(agent) = &self.agent {
            line["agent"] = agent.as_str().into();
        }
        self.line(line)
    }

    /// The lines that say what an event says.
    pub(super) fn lines(&self, event: &Event, hooks: bool) -> Vec<Value> {
        let value = match event {
            Event::Answered { message } => {
                json!({"type": "assistant", "message": message, "parent_tool_use_id": null})
            }
            Event::ToolEnded { id, content, is_error, .. } => json!({
                "type": "user", "parent_tool_use_id": null, "tool_use_result": content,
                "message": {"role": "user", "content": [{
                    "type": "tool_result", "tool_use_id": id, "content": content, "is_error": is_error,
                }]},
            }),
            Event::Stream { raw } => {
                json!({"type": "stream_event", "event": raw, "parent_tool_use_id": null})
            }
            Event::Retry { attempt, max_retries, delay_ms, status, error } => json!({
                "type": "system", "subtype": "api_retry", "attempt": attempt, "max_retries": max_retries,
                "retry_delay_ms": delay_ms, "error_status": status, "error": word(*status), "message": error,
            }),
            Event::Compacting { .. } => {
                json!({"type": "system", "subtype": "status", "status": "compacting"})
            }
            Event::CompactingEnded => {
                json!({"type": "system", "subtype": "status", "status": null})
            }
            Event::Compacted { trigger, pre_tokens } => json!({
                "type": "system", "subtype": "compact_boundary",
                "compact_metadata": {"trigger": trigger, "pre_tokens": pre_tokens},
            }),
            // Behind the result nothing comes.
            Event::HookRan { hook_event, hook_name, command, exit_code, stdout, stderr }
                if hooks && hook_event != "SessionEnd" =>
            {
                json!({
                    "type": "system", "subtype": "hook_response", "hook_id": fresh_uuid(),
                    "hook_name": hook_name, "hook_event": hook_event, "command": command,
                    "stdout": stdout, "stderr": stderr,
                    "output": stdout, "exit_code": exit_code,
                    "outcome": if *exit_code == Some(0) { "success" } else { "error" },
                })
            }
            Event::Said { message, attachments, status } => json!({
                "type": "system", "subtype": "brief", "message": message, "attachments": attachments,
                "status": status, "parent_tool_use_id": null,
            }),
            // Of an agent that a call started: what it says and does, not how it ends, which the call's result tells.
            Event::OfAgent { call, what } => {
                let mut lines = match **what {
                    Event::TurnEnded { .. } => Vec::new(),
                    _ => self.lines(what, hooks),
                };
                for line in &mut lines {
                    line["parent_tool_use_id"] = json!(call);
                }
                return lines;
            }
            Event::TurnEnded { end } => return vec![self.result(end)],
            _ => return Vec::new(),
        };
        vec![self.line(value)]
    }

    /// The last line of a turn.
    pub(super) fn result(&self, end: &TurnEnd) -> Value {
        let subtype = match end.ending {
            Ending::Done => "success",
            Ending::MaxTurns { .. } => "error_max_turns",
            Ending::MaxBudget { .. } => "error_max_budget_usd",
            Ending::NoAnswerThatFits { .. } => "error_max_structured_output_retries",
            _ => "error_during_execution",
        };
        let total = end.used.iter().fold(Usage::default(), |sum, one| sum + one.used);
        let mut result = json!({
            "type": "result", "subtype": subtype, "is_error": end.ending != Ending::Done,
            "duration_ms": end.duration_ms, "duration_api_ms": end.api_ms, "num_turns": end.asked,
            "stop_reason": end.stop_reason, "total_cost_usd": end.cost_usd, "usage": total,
            "modelUsage": self.model_usage(end), "permission_denials": end.denials,
        });
        match end.ending.problem() {
            None => {
                result["result"] = final_text(end).into();
                if let Some(answer) = &end.answer {
                    result["structured_output"] = answer.clone();
                }
            }
            Some(why) => result["errors"] = json!([why]),
        }
        self.line(result)
    }

    fn model_usage(&self, end: &TurnEnd) -> Value {
        let mut usage = Map::new();
        for ModelUsed { model, used, cost_usd, web_searches } in &end.used {
            // Of another model, which a hook asked, the prices alone are known here.
            let main = Some(&self.model).filter(|main| main.wire == *model);
            usage.insert(
                model.clone(),
                json!({
                    "inputTokens": used.input_tokens, "outputTokens": used.output_tokens,
                    "cacheReadInputTokens": used.cache_read_input_tokens,
                    "cacheCreationInputTokens": used.cache_creation_input_tokens,
                    "webSearchRequests": web_searches, "costUSD": cost_usd,
                    "contextWindow": main.and_then(|main| main.context_window),
                    "maxOutputTokens": main.and_then(|main| main.max_output),
                }),
            );
        }
        Value::Object(usage)
    }
}
