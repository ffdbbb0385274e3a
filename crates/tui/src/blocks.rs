//! What stands above the prompt: prompts, answers, calls and notes, as rows of a given width.

use ona_front::{FileDiff, Refused};
use ona_render::diff;
use ona_render::highlight::Look;
use ona_render::markdown::{self, Painter};
use ona_render::stream::Piece;
use ona_render::text::{clip_rows, expand_tabs, plain, truncate, width, wrap};
use ona_render::theme::Role;
use ona_types::INTERNAL_PREFIX;
use ratatui::text::{Line, Span};
use serde_json::Value;

use crate::tool_view::{self, Title};

/// Rows of a result that are shown; the transcript shows all.
const RESULT_ROWS: usize = 5;
/// Rows of a diff that are shown.
const DIFF_ROWS: usize = 40;
/// Rows of a result in the transcript.
const WHOLE_ROWS: usize = 2_000;

/// The kind of a note.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoteKind {
    /// A fact.
    Info,
    /// Something to take care of.
    Warning,
    /// Something went wrong.
    Error,
}

/// A call that has ended.
#[derive(Clone, Debug, PartialEq)]
pub struct EndedCall {
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    /// The result, and whether it failed; `None` if there is none.
    pub result: Option<(String, bool)>,
    /// Who refused it.
    pub refused: Option<Refused>,
    /// What became of the file.
    pub diff: Option<FileDiff>,
    /// The exit code of a command that failed.
    pub exit_code: Option<i64>,
    /// How deep it is among agents.
    pub depth: usize,
}

/// A piece of what was said and done.
#[derive(Clone, Debug, PartialEq)]
pub enum Block {
    /// A prompt of the user.
    User(String),
    /// An answer of the model, in pieces as it came.
    Answer(Vec<Piece>),
    /// What the model thought.
    Thinking(String),
    /// A call.
    Call(Box<EndedCall>),
    /// A text in Markdown: the answer to a command.
    Markdown(String),
    /// A text as it is.
    Plain(String),
    /// Something that ona says in a line or a few.
    Note(NoteKind, String),
}

/// Where the rest of a refusal is told.
const REST: &str = " (/why)";

/// Rows of a prompt.
const USER_ROWS: usize = 30;

/// How much of a block is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Detail {
    /// The beginning.
    Short,
    /// The beginning, in the transcript.
    Listed,
    /// All of it.
    Whole,
}

impl Detail {
    /// The key that shows more.
    fn key(self) -> &'static str {
        if self == Self::Listed { "ctrl+e" } else { "ctrl+o" }
    }
}

impl Block {
    /// The rows, with a blank one before them.
    pub fn rows(&self, columns: usize, look: &Look<'_>, detail: Detail) -> Vec<Line<'static>> {
        let mut rows = match self {
            Self::User(text) => user(text, columns, look, detail),
            Self::Answer(pieces) => answer(pieces, columns, look),
            Self::Thinking(text) => thinking(text, columns, look, detail),
            Self::Call(call) => call_rows(call, columns, look, detail),
            Self::Markdown(text) => {
                let rows = markdown::render(text, columns.saturating_sub(2).max(1), look);
                indented(rows, "  ", "  ")
            }
            Self::Plain(text) => plain_rows(text, columns, look, Role::Text),
            Self::Note(kind, text) => note(*kind, text, columns, look),
        };
        if !rows.is_empty() {
            rows.insert(0, Line::default());
        }
        rows
    }
}

/// Rows with this before the first and that before the others.
pub(crate) fn indented(
    rows: Vec<Line<'static>>,
    first: &'static str,
    others: &'static str,
) -> Vec<Line<'static>> {
    let mut rows = rows;
    for (number, row) in rows.iter_mut().enumerate() {
        let before = if number == 0 { first } else { others };
        if !row.spans.is_empty() || !before.trim().is_empty() {
            row.spans.insert(0, Span::raw(before));
        }
    }
    rows
}

fn user(text: &str, columns: usize, look: &Look<'_>, detail: Detail) -> Vec<Line<'static>> {
    let style = look.theme.style(Role::User);
    let mut rows = Vec::new();
    for line in plain(text).trim_end().lines() {
        let line = Line::from(Span::styled(expand_tabs(line).into_owned(), style));
        rows.extend(wrap(line, columns.saturating_sub(2).max(1), 0));
    }
    if rows.is_empty() {
        rows.push(Line::default());
    }
    if detail != Detail::Whole {
        rows = clip_rows(rows, USER_ROWS).with_note(|left| {
            let text = format!("… {left} rows ({} shows all)", detail.key());
            Line::from(Span::styled(text, look.theme.style(Role::Dim)))
        });
    }
    let accent = look.theme.style(Role::Accent);
    for (number, row) in rows.iter_mut().enumerate() {
        let before = if number == 0 { Span::styled("> ", accent) } else { Span::raw("  ") };
        row.spans.insert(0, before);
    }
    rows
}

/// The rows of a whole answer.
fn answer(pieces: &[Piece], columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let mut painter = Painter::new(columns.saturating_sub(2).max(1));
    let rows: Vec<Line<'static>> =
        pieces.iter().flat_map(|piece| painter.paint(piece, look)).collect();
    marked(rows, look)
}

/// The rows of an answer's beginning, with its mark.
pub(crate) fn marked(rows: Vec<Line<'static>>, look: &Look<'_>) -> Vec<Line<'static>> {
    let mut rows = indented(rows, "", "  ");
    if let Some(first) = rows.first_mut() {
        first.spans.insert(0, Span::styled("● ", look.theme.style(Role::Text)));
    }
    rows
}

fn thinking(text: &str, columns: usize, look: &Look<'_>, detail: Detail) -> Vec<Line<'static>> {
    let style = look.theme.style(Role::Thinking);
    if detail != Detail::Whole {
        let words = text.split_whitespace().count();
        let words = if words == 1 { "1 word".to_owned() } else { format!("{words} words") };
        let text = format!("✻ Thought ({words}, {} shows all)", detail.key());
        return vec![Line::from(Span::styled(truncate(&text, columns), style))];
    }
    let mut rows = vec![Line::from(Span::styled("✻ Thinking", style))];
    for line in plain(text).trim().lines() {
        let line = Line::from(Span::styled(expand_tabs(line).into_owned(), style));
        rows.extend(indented(wrap(line, columns.saturating_sub(2).max(1), 0), "  ", "  "));
    }
    rows
}

fn note(kind: NoteKind, text: &str, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let (role, mark) = match kind {
        NoteKind::Info => (Role::Dim, "  "),
        NoteKind::Warning => (Role::Warning, "⚠ "),
        NoteKind::Error => (Role::Error, "✗ "),
    };
    let style = look.theme.style(role);
    let mut rows = Vec::new();
    for line in plain(text).trim_end().lines() {
        let line = Line::from(Span::styled(expand_tabs(line).into_owned(), style));
        rows.extend(wrap(line, columns.saturating_sub(2).max(1), 2));
    }
    for (number, row) in rows.iter_mut().enumerate() {
        row.spans.insert(0, Span::styled(if number == 0 { mark } else { "  " }, style));
    }
    rows
}

fn plain_rows(text: &str, columns: usize, look: &Look<'_>, role: Role) -> Vec<Line<'static>> {
    let style = look.theme.style(role);
    let mut rows = Vec::new();
    for line in plain(text).trim_end().lines() {
        let line = Line::from(Span::styled(expand_tabs(line).into_owned(), style));
        rows.extend(indented(wrap(line, columns.saturating_sub(2).max(1), 0), "  ", "  "));
    }
    rows
}

fn call_rows(
    call: &EndedCall,
    columns: usize,
    look: &Look<'_>,
    detail: Detail,
) -> Vec<Line<'static>> {
    let failed = call.result.as_ref().is_some_and(|(_, failed)| *failed);
    let role = match (&call.refused, failed) {
        (Some(_), _) => Role::Warning,
        (None, true) => Role::Error,
        (None, false) => Role::Success,
    };
    let pad = "  ".repeat(call.depth);
    let inner = columns.saturating_sub(pad.len());
    let mut rows = title_rows(&tool_view::title(&call.tool, &call.input), inner, look, role);
    rows.extend(result_rows(call, inner, look, detail));
    if call.depth > 0 {
        for row in &mut rows {
            row.spans.insert(0, Span::raw(pad.clone()));
        }
    }
    rows
}

/// `● Bash(cargo test)`, in as many rows as it needs, up to three.
pub(crate) fn title_rows(
    title: &Title,
    columns: usize,
    look: &Look<'_>,
    role: Role,
) -> Vec<Line<'static>> {
    let mark = Span::styled("● ", look.theme.style(role));
    let bold = look.theme.style(Role::Text).bold();
    let mut spans = vec![Span::styled(title.name.clone(), bold)];
    if !title.about.is_empty() {
        let about: String = plain(&title.about).lines().collect::<Vec<_>>().join(" ⏎ ");
        spans.push(Span::raw(format!("({})", expand_tabs(&about))));
    }
    let rows = wrap(Line::from(spans), columns.saturating_sub(2).max(1), 2);
    let cut = rows.len() > 3;
    let mut rows: Vec<Line<'static>> = rows.into_iter().take(3).collect();
    if cut && let Some(last) = rows.last_mut() {
        let text: String = last.spans.iter().map(|span| span.content.as_ref()).collect();
        *last = Line::from(truncate(&format!("{text}…"), columns.saturating_sub(2)));
    }
    for (number, row) in rows.iter_mut().enumerate() {
        let before = if number == 0 { mark.clone() } else { Span::raw("  ") };
        row.spans.insert(0, before);
    }
    rows
}

fn result_rows(
    call: &EndedCall,
    columns: usize,
    look: &Look<'_>,
    detail: Detail,
) -> Vec<Line<'static>> {
    let inner = columns.saturating_sub(5).max(1);
    let most = if detail != Detail::Whole { DIFF_ROWS } else { WHOLE_ROWS };
    let diff = call.diff.as_ref().map(|diff| diff::render(diff, inner, look, most));
    if let Some(refused) = &call.refused {
        let text = refused.words();
        let style = look.theme.style(Role::Warning);
        let text = plain(&text).into_owned();
        // One row; `/why` tells the rest.
        let text = match detail {
            Detail::Whole => text,
            _ if width(&text) <= inner => text,
            _ => format!("{}{REST}", truncate(&text, inner.saturating_sub(width(REST)).max(1))),
        };
        let mut rows = wrap(Line::from(Span::styled(text, style)), inner, 0);
        rows.extend(diff.or_else(|| plan(call, inner, look, detail)).into_iter().flatten());
        return branch(rows, look);
    }
    if let Some(rows) = diff.or_else(|| plan(call, inner, look, detail)) {
        return branch(rows, look);
    }
    let Some((content, failed)) = &call.result else { return Vec::new() };
    // The mark is for the model.
    let content = content.strip_prefix(INTERNAL_PREFIX).unwrap_or(content).trim_start();
    let role = if *failed { Role::Error } else { Role::Dim };
    let style = look.theme.style(role);
    if detail != Detail::Whole
        && !failed
        && let Some(summary) = tool_view::summary(&call.tool, &call.input, content)
    {
        return branch(vec![Line::from(Span::styled(truncate(&summary, inner), style))], look);
    }
    let text = match content.trim() {
        "" => "(no output)".to_owned(),
        text => plain(text).into_owned(),
    };
    let mut rows: Vec<Line<'static>> = Vec::new();
    for line in text.lines() {
        let line = Line::from(Span::styled(expand_tabs(line).into_owned(), style));
        rows.extend(wrap(line, inner, 0));
    }
    let most = if detail != Detail::Whole { RESULT_ROWS } else { WHOLE_ROWS };
    let rows = match detail {
        // A remark takes a row itself.
        Detail::Short | Detail::Listed if rows.len() > most + 1 => {
            let left = rows.len() - most;
            rows.truncate(most);
            rows.push(Line::from(Span::styled(
                format!("… +{left} rows ({} shows all)", detail.key()),
                look.theme.style(Role::Dim),
            )));
            rows
        }
        Detail::Short | Detail::Listed => rows,
        Detail::Whole => clip_rows(rows, most).with_note(|left| {
            Line::from(Span::styled(
                format!("… {left} rows are not shown"),
                look.theme.style(Role::Dim),
            ))
        }),
    };
    branch(with_code(rows, call, content, look), look)
}

/// The text of a plan that was submitted.
fn plan(
    call: &EndedCall,
    columns: usize,
    look: &Look<'_>,
    detail: Detail,
) -> Option<Vec<Line<'static>>> {
    if call.tool != "ExitPlanMode" {
        return None;
    }
    let rows = markdown::render(call.input["plan"].as_str()?, columns, look);
    let most = if detail == Detail::Whole { WHOLE_ROWS } else { DIFF_ROWS };
    Some(clip_rows(rows, most).with_note(|left| {
        let text = format!("… {left} rows ({} shows all)", detail.key());
        Line::from(Span::styled(text, look.theme.style(Role::Dim)))
    }))
}

/// The rows, and the exit code of a command that failed where its output does not tell it.
fn with_code(
    mut rows: Vec<Line<'static>>,
    call: &EndedCall,
    content: &str,
    look: &Look<'_>,
) -> Vec<Line<'static>> {
    if let Some(code) = call.exit_code {
        let text = format!("[exit code {code}]");
        if content.trim() != text {
            rows.push(Line::from(Span::styled(text, look.theme.style(Role::Error))));
        }
    }
    rows
}

/// Rows below a call: `  ⎿  ` before the first.
pub(crate) fn branch(rows: Vec<Line<'static>>, look: &Look<'_>) -> Vec<Line<'static>> {
    let mut rows = rows;
    for (number, row) in rows.iter_mut().enumerate() {
        let before = match number {
            0 => Span::styled("  ⎿  ", look.theme.style(Role::Dim)),
            _ => Span::raw("     "),
        };
        row.spans.insert(0, before);
    }
    rows
}
