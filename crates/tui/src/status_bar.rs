//! The rows below the prompt: the mode, the state of governance, the user's own status line.

use ona_front::Status;
use ona_render::highlight::Look;
use ona_render::text::{plain, truncate, truncate_middle, width};
use ona_render::theme::Role;
use ona_types::PermissionMode;
use ratatui::text::{Line, Span};

use crate::live::short_number;

/// How to change the mode.
const CYCLE: &str = " (shift+tab to cycle)";
/// Rows of the user's own status line.
const CUSTOM_ROWS: usize = 3;

/// A part of the status.
struct Part {
    text: String,
    role: Role,
    /// From how many columns on hints give way to it.
    tells_from: usize,
}

/// From here on phase, intent, model, context, cost and sandbox are shown whatever else is.
const WIDE: usize = 160;
/// The longest name of a model.
const MODEL: usize = 40;

/// The words of a mode.
pub fn mode_words(mode: PermissionMode) -> Option<&'static str> {
    match mode {
        PermissionMode::Default => None,
        PermissionMode::AcceptEdits => Some("⏵⏵ accept edits on"),
        PermissionMode::Plan => Some("⏸ plan mode on"),
        PermissionMode::BypassPermissions => Some("⏵⏵ bypass permissions on"),
        PermissionMode::DontAsk => Some("⏵⏵ don't ask on"),
    }
}

/// The share of the context that is used, in percent.
pub fn context_percent(status: &Status) -> Option<u64> {
    let window = status.context_window.filter(|window| *window > 0)?;
    Some((status.context_tokens * 100 / window).min(100))
}

fn parts(status: &Status) -> Vec<Part> {
    // There is no session yet.
    if status.session_id.is_empty() {
        return Vec::new();
    }
    let part = |text: String, role: Role| Part { text, role, tells_from: 0 };
    let wide = |text: String| Part { text, role: Role::Dim, tells_from: WIDE };
    let detail = |text: String| Part { text, role: Role::Dim, tells_from: usize::MAX };
    let context = match context_percent(status) {
        Some(percent) => format!("context {percent}%"),
        None => format!("context {} tokens", short_number(status.context_tokens)),
    };
    let role = match context_percent(status) {
        Some(90..) => Role::Error,
        Some(70..) => Role::Warning,
        _ => Role::Dim,
    };
    let phase = format!("phase {}", plain(&status.phase));
    let mut parts = vec![part(phase, Role::Dim), part(context, role)];
    match status.background {
        0 => {}
        1 => parts.push(part("1 task (/tasks)".to_owned(), Role::Dim)),
        tasks => parts.push(part(format!("{tasks} tasks (/tasks)"), Role::Dim)),
    }
    let intent = match status.intent.as_deref() {
        None => "not selected",
        Some("") => "none",
        Some(id) => id,
    };
    parts.push(part(format!("intent {}", plain(intent).replace('\n', " ")), Role::Dim));
    if let Some(bead) = &status.bead {
        parts.push(part(format!("bead {}", plain(bead)), Role::Dim));
    }
    parts.push(wide(truncate_middle(&plain(&status.model), MODEL)));
    parts.push(wide(format!("${:.4}", status.cost_usd)));
    parts.push(wide(format!("sandbox {}", plain(&status.sandbox))));
    if let Some(effort) = &status.effort {
        parts.push(detail(format!("effort {}", plain(effort))));
    }
    if status.thinking {
        parts.push(detail("thinking".to_owned()));
    }
    parts
}

/// What stands at the left of the status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Left {
    /// Something that is seen whatever else is.
    Note(String),
    /// Something that gives way.
    Hint(String),
}

/// The rows of the status.
pub fn rows(
    status: &Status,
    custom: Option<&str>,
    left: &Left,
    columns: usize,
    look: &Look<'_>,
) -> Vec<Line<'static>> {
    let theme = look.theme;
    let mut rows: Vec<Line<'static>> = custom
        .iter()
        .flat_map(|text| text.lines().take(CUSTOM_ROWS))
        .map(|line| crate::ansi::line(line, columns, theme.depth()))
        .collect();
    let mode = |cycle: &str| {
        let words = mode_words(status.mode)?;
        let text = format!("{words}{cycle}");
        Some(Part { text, role: Role::Mode(status.mode), tells_from: 0 })
    };
    let dim = |text: &str| {
        let text = plain(text).replace('\n', " ");
        (!text.is_empty()).then_some(Part { text, role: Role::Dim, tells_from: 0 })
    };
    // What explains something gives way before what tells something.
    let mut variants: Vec<Vec<Option<Part>>> = match left {
        Left::Note(note) => vec![vec![dim(note), mode("")]],
        Left::Hint(hint) => vec![
            vec![mode(CYCLE), dim(hint)],
            vec![mode(""), dim(hint)],
            vec![mode(CYCLE)],
            vec![mode("")],
        ],
    };
    let all = parts(status);
    // The model, the cost and the sandbox are told where they fit without hints; where they do not, hints are of more use.
    let fits = |first: &Vec<Option<Part>>, columns_told: usize| {
        let telling = all.iter().filter(|part| part.tells_from <= columns_told);
        let parts = first.iter().flatten().chain(telling);
        parts.map(|part| width(&part.text) + 3).sum::<usize>() <= columns + 1
    };
    let which = [WIDE, columns]
        .into_iter()
        .find_map(|told| variants.iter().position(|first| fits(first, told)));
    let first = variants.swap_remove(which.unwrap_or(variants.len() - 1));
    let chosen = first.into_iter().flatten().chain(all);
    let mut spans = Vec::new();
    let mut used = 0;
    for part in chosen {
        let between = if used == 0 { "  " } else { " · " };
        let room = columns.saturating_sub(used + width(between));
        // The first is cut, the others are left out.
        let text = truncate_middle(&part.text, columns.saturating_sub(4).max(8));
        let text = if used == 0 { truncate(&text, room) } else { text };
        if text.is_empty() || width(&text) > room {
            continue;
        }
        used += width(between) + width(&text);
        spans.push(Span::styled(between.to_owned(), theme.style(Role::Dim)));
        spans.push(Span::styled(text, theme.style(part.role)));
    }
    rows.push(Line::from(spans));
    rows
}
