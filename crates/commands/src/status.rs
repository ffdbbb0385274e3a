//! The state of the session for a status line, and the user's preferences.

use std::time::Duration;

use ona_engine::{ModelHandle, Session};
use ona_extensions::DEFAULT_STYLE;
use ona_front::{Preferences, Status, TaskInfo};
use ona_sandbox::{ChildSpec, Ending, Marker, SpawnError};
use ona_store::StoreError;
use ona_types::{TaskKind, ToolUseId, Usage};
use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

/// How long a status line command may take.
const COMMAND_TIMEOUT: Duration = Duration::from_secs(5);
/// How much of its output is read.
const COMMAND_OUTPUT: usize = 64 * 1024;

/// The state of a session.
pub(crate) fn status(session: &Session, model: &ModelHandle) -> Result<Status, StoreError> {
    let gate = &session.gate;
    let (store, seat) = (gate.store(), gate.seat());
    let row = store.session(&seat.session)?;
    let intent = match &gate.workspace {
        None => Some(String::new()),
        Some(workspace) => gate.selected_intent(workspace)?,
    };
    Ok(Status {
        session_id: seat.session.to_string(),
        name: row.and_then(|row| row.name),
        cwd: gate.place().cwd.display().to_string(),
        phase: gate.record.standing()?.phase.to_string(),
        intent,
        bead: None,
        mode: gate.mode(),
        sandbox: gate.governance.sandbox_level().0.to_string(),
        provider: model.model.provider.to_string(),
        model: model.model.wire.clone(),
        effort: model.effort.effort().map(|effort| effort.as_str().to_owned()),
        thinking: model.thinking.is_some(),
        context_tokens: store.context_tokens(&seat.session)?,
        context_window: model.model.context_window.map(u64::from),
        cost_usd: store.spent(&seat.session)?.iter().fold(0.0, |sum, one| sum + one.cost_usd),
        background: store.running_tasks(&seat.conversation)?.len(),
    })
}

/// What runs in the background.
pub(crate) fn tasks(session: &Session) -> Result<Vec<TaskInfo>, StoreError> {
    let running = session.gate.store().running_tasks(&session.seat().conversation)?;
    let info = running.into_iter().map(|task| TaskInfo {
        id: task.id.to_string(),
        kind: match task.kind {
            TaskKind::Shell => "shell".to_owned(),
            TaskKind::Agent => "agent".to_owned(),
        },
        what: task.command,
    });
    Ok(info.collect())
}

/// The user's preferences, from the settings.
pub(crate) fn preferences(session: &Session, keybindings: Option<String>) -> Preferences {
    let settings = session.gate.settings();
    Preferences {
        theme: settings.theme,
        editor_mode: settings.editor_mode.map(|mode| mode.as_str().to_owned()),
        verbose: settings.verbose.unwrap_or(false),
        syntax_highlighting_disabled: settings.syntax_highlighting_disabled.unwrap_or(false),
        preferred_notif_channel: settings.preferred_notif_channel,
        colour: None,
        prefers_reduced_motion: settings.prefers_reduced_motion.unwrap_or(false),
        screen_reader: false,
        keybindings,
    }
}

/// What a status line command is told that the record does not know.
pub(crate) struct LineFacts {
    /// ona's version.
    pub(crate) version: &'static str,
    /// How long the session has been open.
    pub(crate) open_for: Duration,
    /// The mode of the prompt's editor, with vim keys.
    pub(crate) vim: Option<String>,
}

/// What a status line command reads on its standard input.
pub(crate) fn status_input(
    session: &Session,
    status: &Status,
    facts: &LineFacts,
) -> Result<Value, StoreError> {
    let (gate, place) = (&session.gate, session.gate.place());
    let (store, id) = (gate.store(), &session.seat().session);
    let style =
        session.output_style().map_or_else(|_| DEFAULT_STYLE.to_owned(), |style| style.name);
    let spent = store.spent(id)?;
    let used = spent.iter().fold(Usage::default(), |sum, one| sum + one.used);
    let asking: i64 = spent.iter().map(|one| one.duration_ms).sum();
    let history = store.file_history(id, 0)?;
    let files = || history.iter().flat_map(|row| &row.files);
    let last = store.last_usage(id)?;
    // The share counts what the model reads, not what it writes.
    let read = last.map_or(0, |last| last.context_tokens().saturating_sub(last.output_tokens));
    let window = status.context_window.unwrap_or(200_000).max(1);
    let share = (read.saturating_mul(100) / window).min(100);
    let mut input = json!({
        "hook_event_name": "Status", "session_id": status.session_id,
        "transcript_path": "", "cwd": status.cwd, "version": facts.version,
        "model": {"id": status.model, "display_name": status.model},
        "workspace": {
            "current_dir": status.cwd, "project_dir": place.project_dir,
            "added_dirs": place.additional_dirs,
        },
        "output_style": {"name": style},
        "cost": {
            "total_cost_usd": status.cost_usd,
            "total_duration_ms": u64::try_from(facts.open_for.as_millis()).unwrap_or(u64::MAX),
            "total_api_duration_ms": asking,
            "total_lines_added": files().map(|file| file.added).sum::<usize>(),
            "total_lines_removed": files().map(|file| file.removed).sum::<usize>(),
        },
        "context_window": {
            "total_input_tokens": used.input_tokens, "total_output_tokens": used.output_tokens,
            "context_window_size": window, "used_percentage": share, "remaining_percentage": 100 - share,
            "current_usage": last,
        },
        "exceeds_200k_tokens": status.context_tokens > 200_000,
        "phase": status.phase, "intent": status.intent, "bead": status.bead,
        "permission_mode": status.mode, "sandbox": status.sandbox,
    });
    let agent = gate.identity().agent_type;
    let optional = [
        ("session_name", status.name.as_ref().map(|name| json!(name))),
        ("vim", facts.vim.as_ref().map(|mode| json!({"mode": mode}))),
        ("agent", agent.map(|name| json!({"name": name}))),
    ];
    for (key, value) in optional {
        if let Some(value) = value {
            input[key] = value;
        }
    }
    Ok(input)
}

/// Why there is no status line of the user's own.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LineError {
    #[error("the status line command failed with exit code {0}{1}")]
    Failed(i32, String),
    #[error("the status line command took longer than {} s", COMMAND_TIMEOUT.as_secs())]
    TimedOut,
    #[error("the status line command was ended by a signal")]
    Signalled,
    #[error("the status line command: {0}")]
    NotStarted(#[from] SpawnError),
    #[error(transparent)]
    Store(#[from] StoreError),
}

/// The user's status line command, if it may run.
pub(crate) fn line_command(session: &Session) -> Option<String> {
    let settings = session.gate.settings();
    if settings.disable_all_hooks == Some(true) || session.gate.record.core.config.hooks_disabled {
        return None;
    }
    let command = settings.status_line.as_ref()?.command.clone()?;
    Some(command).filter(|command| !command.trim().is_empty())
}

/// Runs the user's status line command; what it prints, or `None` if there is none.
pub(crate) async fn custom_line(
    session: &Session,
    status: &Status,
    facts: &LineFacts,
    cancel: &CancellationToken,
) -> Result<Option<String>, LineError> {
    let Some(command) = line_command(session) else { return Ok(None) };
    let input = status_input(session, status, facts)?;
    let id = ToolUseId::generate();
    let program = std::path::Path::new("/bin/sh");
    let spec = ChildSpec {
        program,
        args: vec!["-c".into(), command.into()],
        cwd: &session.gate.place().project_dir,
        env: session.gate.governance.host.child_env.clone(),
        inherits: ona_sandbox::Inherits::AllButCredentials,
        confined: None,
        marker: Some(Marker::of_call(&id)),
        stdin: input.to_string().into_bytes(),
        timeout: COMMAND_TIMEOUT,
        cap: COMMAND_OUTPUT,
    };
    let done = ona_sandbox::run(spec, cancel).await?;
    let masked = |bytes: &[u8]| {
        let text = String::from_utf8_lossy(bytes).trim_end().to_owned();
        session.gate.redactor().mask_live(&text).into_owned()
    };
    match done.ending {
        Ending::Exited(0) => {}
        Ending::Exited(code) => {
            let said = masked(&done.stderr.bytes);
            let why = said.lines().next_back().map(|line| format!(": {line}")).unwrap_or_default();
            return Err(LineError::Failed(code, why));
        }
        Ending::TimedOut => return Err(LineError::TimedOut),
        Ending::Interrupted => return Ok(None),
        Ending::Signalled(_) => return Err(LineError::Signalled),
    }
    let padding = session.gate.settings().status_line.as_ref().and_then(|line| line.padding);
    let padding = " ".repeat(padding.unwrap_or(0).min(20) as usize);
    let text = masked(&done.stdout.bytes);
    Ok(Some(text.lines().map(|line| format!("{padding}{line}")).collect::<Vec<_>>().join("\n")))
}
