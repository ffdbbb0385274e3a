//! Firing hooks for a session.

use std::io::Write as _;

use ona_front::Event;
use ona_hooks::{About, Fired, Judge};
use ona_types::ToolUseId;
use ona_types::hook::{HookBase, HookDetail};
use tokio_util::sync::CancellationToken;

use super::Gate;

/// How much of a hook's text the model sees, in characters; the rest is in a file.
const MAX_CONTEXT_CHARS: usize = 10_000;

impl Gate {
    /// Fires an event, about a call or not. Messages of hooks to the user are passed on.
    pub async fn fire(
        &self,
        detail: HookDetail,
        about: Option<About<'_>>,
        cancel: &CancellationToken,
    ) -> Fired {
        let judge = self.engine.judge(self);
        let judge = judge.as_ref().map(|judge| &**judge as &dyn Judge);
        let name = self.redactor().mask_live(&detail.name()).into_owned();
        let mut base = self.hook_base();
        // These events name their agent themselves.
        let says = |detail: &HookDetail| {
            use HookDetail::{SessionStart, SubagentStart, SubagentStop};
            matches!(detail, SessionStart { .. } | SubagentStart { .. } | SubagentStop { .. })
        };
        if says(&detail) {
            (base.agent_id, base.agent_type) = (None, None);
        }
        let mut fired = self.governance.hooks.fire(&base, detail, about, judge, cancel).await;
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
            self.front.warn(text);
        }
    }

    /// A hook's text for the model, shortened; the full text goes to a file that the model may read.
    pub fn shortened(&self, text: String) -> String {
        if text.char_indices().nth(MAX_CONTEXT_CHARS).is_none() {
            return text;
        }
        let shown = self.redactor().first_chars(&text, MAX_CONTEXT_CHARS);
        let name = format!("hook-{}.txt", ToolUseId::generate());
        let whole = self.save_full_text(&name, &text);
        format!("{shown}\n[cut after {MAX_CONTEXT_CHARS} characters; {whole}]")
    }

    /// Saves a text that is too long for the model to a file, and says where.
    pub fn save_full_text(&self, name: &str, text: &str) -> String {
        let kept = self.record.core.host.new_output(self.record.session(), name);
        let kept = kept.and_then(|(path, mut file)| {
            file.write_all(self.redactor().mask(text).as_bytes())?;
            Ok(path)
        });
        match kept {
            Ok(path) => format!("the full text is in {}", path.display()),
            Err(error) => format!("the full text could not be saved: {error}"),
        }
    }

    /// The fields every hook's input has.
    fn hook_base(&self) -> HookBase {
        let identity = self.identity();
        HookBase {
            session_id: self.seat().session.clone(),
            conversation_id: self.seat().conversation.clone(),
            runtime_db_path: self.store().path().display().to_string(),
            cwd: self.place().cwd.display().to_string(),
            permission_mode: Some(self.mode()),
            agent_id: identity.agent_id,
            agent_type: identity.agent_type,
        }
    }
}
