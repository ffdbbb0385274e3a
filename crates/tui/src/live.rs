//! What runs right now: the answer that streams in, calls, the spinner, the todo list, prompts that wait.

use std::collections::VecDeque;
use std::time::Instant;

use ona_render::highlight::Look;
use ona_render::markdown::{self, Painter};
use ona_render::stream::{MarkdownStream, Piece};
use ona_render::text::{expand_tabs, plain, truncate, wrap};
use ona_render::theme::Role;
use ona_types::{Todo, TodoStatus, ToolUseId};
use ratatui::text::{Line, Span};
use serde_json::Value;

use crate::blocks::{Block, branch, indented, marked, title_rows};
use crate::tool_view::{self, Title};

/// Rows of a running command's output.
const OUTPUT_ROWS: usize = 4;
/// Bytes of it that are kept.
const OUTPUT_BYTES: usize = 8_000;
/// Rows of the todo list.
const TODO_ROWS: usize = 8;
/// Prompts that wait and are shown.
const QUEUE_ROWS: usize = 3;
/// The signs of the spinner.
const SPINNER: [&str; 6] = ["✶", "✸", "✹", "✺", "✹", "✷"];
/// Characters of a token, about.
const CHARS_PER_TOKEN: usize = 4;

/// A call that runs.
#[derive(Clone, Debug)]
pub struct Running {
    /// The call.
    pub id: ToolUseId,
    /// The tool.
    pub tool: String,
    /// Its input.
    pub input: Value,
    title: Title,
    since: Instant,
    /// The end of what it has printed, or what its agent does.
    output: String,
    /// Progress as a server reports it.
    progress: Option<String>,
    /// How many calls its agent has made.
    calls: usize,
}

/// An answer that streams in.
#[derive(Clone, Debug)]
struct OpenAnswer {
    stream: MarkdownStream,
    painter: Painter,
    pieces: Vec<Piece>,
    started: bool,
}

/// What runs right now.
#[derive(Clone, Debug, Default)]
pub struct Live {
    answer: Option<OpenAnswer>,
    thinking: String,
    /// The calls.
    pub running: Vec<Running>,
    /// The todo list.
    pub todos: Vec<Todo>,
    /// Since when something runs, and what, if it is not a turn.
    pub busy: Option<(Instant, String)>,
    /// What the provider is waited for.
    pub waiting: Option<String>,
    /// Characters that came in this turn.
    streamed: usize,
    /// Tokens that the provider has counted in this turn.
    counted: u64,
}

impl Live {
    /// Something begins.
    pub fn begin(&mut self, what: &str, now: Instant) {
        if self.busy.is_none() {
            self.busy = Some((now, what.to_owned()));
            (self.streamed, self.counted) = (0, 0);
        }
    }

    /// Nothing runs any more.
    pub fn end(&mut self) {
        self.busy = None;
        self.waiting = None;
        self.running.clear();
    }

    /// A piece of the answer; the rows that are finished by it.
    pub fn text(&mut self, text: &str, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        self.waiting = None;
        self.streamed += text.len();
        let answer = self.answer.get_or_insert_with(|| OpenAnswer {
            stream: MarkdownStream::new(),
            painter: Painter::new(columns.saturating_sub(2).max(1)),
            pieces: Vec::new(),
            started: false,
        });
        answer.stream.push(text);
        answer.flush(look)
    }

    /// The answer is complete: its last rows, and all of its pieces.
    pub fn end_answer(&mut self, look: &Look<'_>) -> (Vec<Line<'static>>, Vec<Piece>) {
        let Some(mut answer) = self.answer.take() else { return Default::default() };
        answer.stream.finish();
        let rows = answer.flush(look);
        (rows, answer.pieces)
    }

    /// The terminal has another width: what streams in goes on at this one.
    pub fn resize(&mut self, columns: usize, look: &Look<'_>) {
        if let Some(answer) = &mut self.answer {
            answer.painter = Painter::new(columns.saturating_sub(2).max(1));
            for piece in &answer.pieces {
                answer.painter.paint(piece, look);
            }
        }
    }

    /// The part of the answer that is finished and stands above the live rows.
    pub fn finished_part(&self) -> Option<Block> {
        self.answer.as_ref().map(|answer| Block::Answer(answer.pieces.clone()))
    }

    /// Whether a part of an answer has come.
    pub fn is_answering(&self) -> bool {
        self.answer.is_some()
    }

    /// A piece of what the model thinks.
    pub fn think(&mut self, text: &str) {
        self.waiting = None;
        self.streamed += text.len();
        self.thinking.push_str(text);
    }

    /// What the model has thought.
    pub fn take_thinking(&mut self) -> String {
        std::mem::take(&mut self.thinking)
    }

    /// The provider has counted the tokens of an answer.
    pub fn count(&mut self, tokens: u64) {
        self.counted += tokens;
        self.streamed = 0;
    }

    /// A call begins.
    pub fn start(&mut self, id: ToolUseId, tool: String, input: Value, now: Instant) {
        let title = tool_view::title(&tool, &input);
        self.running.push(Running {
            id,
            title,
            tool,
            input,
            since: now,
            output: String::new(),
            progress: None,
            calls: 0,
        });
    }

    /// A question waits: a call of which nothing was heard has not begun, and its time does not run.
    pub fn hold(&mut self, now: Instant) {
        for call in &mut self.running {
            if call.output.is_empty() && call.progress.is_none() && call.calls == 0 {
                call.since = now;
            }
        }
    }

    /// A call has ended.
    pub fn stop(&mut self, id: &ToolUseId) -> Option<Running> {
        let at = self.running.iter().position(|call| call.id == *id)?;
        Some(self.running.remove(at))
    }

    fn find(&mut self, id: &ToolUseId) -> Option<&mut Running> {
        self.running.iter_mut().find(|call| call.id == *id)
    }

    /// A call has printed something.
    pub fn output(&mut self, id: &ToolUseId, text: &str) {
        let Some(call) = self.find(id) else { return };
        call.output.push_str(text);
        if call.output.len() > OUTPUT_BYTES {
            let from = call.output.ceil_char_boundary(call.output.len() - OUTPUT_BYTES / 2);
            call.output.drain(..from);
        }
    }

    /// A server reports progress.
    pub fn progress(&mut self, id: &ToolUseId, text: String) {
        if let Some(call) = self.find(id) {
            call.progress = Some(text);
        }
    }

    /// The agent of a call makes a call.
    pub fn agent_calls(&mut self, id: &ToolUseId, tool: &str, input: &Value) {
        let Title { name, about } = tool_view::title(tool, input);
        if let Some(call) = self.find(id) {
            call.calls += 1;
        }
        self.output(id, &format!("{name}({about})\n"));
    }

    /// The rows of what runs; the last of them are the most important.
    pub fn rows(
        &self,
        columns: usize,
        look: &Look<'_>,
        now: Instant,
        still: bool,
    ) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        if let Some(answer) = &self.answer {
            rows.extend(answer.open_rows(columns, look));
        }
        for call in &self.running {
            rows.push(Line::default());
            rows.extend(call.rows(columns, look, now, still));
        }
        rows
    }

    /// The rows of the end of what the model thinks.
    pub fn thinking_rows(
        &self,
        columns: usize,
        most: usize,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        if self.thinking.trim().is_empty() || self.answer.is_some() {
            return Vec::new();
        }
        let style = look.theme.style(Role::Thinking);
        let from = self.thinking.ceil_char_boundary(self.thinking.len().saturating_sub(2_000));
        let mut rows: Vec<Line<'static>> = Vec::new();
        for line in plain(self.thinking[from..].trim()).lines() {
            let line = Line::from(Span::styled(expand_tabs(line).into_owned(), style));
            rows.extend(wrap(line, columns.saturating_sub(2).max(1), 0));
        }
        let skip = rows.len().saturating_sub(most);
        indented(rows.into_iter().skip(skip).collect(), "  ", "  ")
    }

    /// The row with the spinner, and what can be done.
    pub fn spinner(
        &self,
        columns: usize,
        look: &Look<'_>,
        (now, still): (Instant, bool),
        hint: &str,
    ) -> Option<Line<'static>> {
        let (since, what) = self.busy.as_ref()?;
        let elapsed = now.saturating_duration_since(*since);
        let sign = match still {
            true => "●",
            false => SPINNER[(elapsed.as_millis() / 150) as usize % SPINNER.len()],
        };
        let word = match (&self.waiting, what.as_str()) {
            (Some(waiting), _) => waiting.clone(),
            (None, _) if !self.thinking.is_empty() && self.answer.is_none() => {
                "Thinking…".to_owned()
            }
            (None, "") => "Working…".to_owned(),
            (None, what) => format!("{what}…"),
        };
        let tokens = self.counted + (self.streamed / CHARS_PER_TOKEN) as u64;
        let rest = format!(" ({}s · {} tokens · {hint})", elapsed.as_secs(), short_number(tokens));
        // Time and tokens stay in sight, however long the words are.
        let time = ona_render::text::width(&rest).min(columns / 2);
        let text = truncate(
            &format!("{sign} {}", plain(&word).replace('\n', " ")),
            columns.saturating_sub(time.max(8)),
        );
        let room = columns.saturating_sub(ona_render::text::width(&text));
        Some(Line::from(vec![
            Span::styled(text, look.theme.style(Role::Accent)),
            Span::styled(truncate(&rest, room), look.theme.style(Role::Dim)),
        ]))
    }

    /// The rows of the todo list.
    pub fn todo_rows(&self, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let open = self.todos.iter().any(|todo| todo.status != TodoStatus::Completed);
        if !open {
            return Vec::new();
        }
        // The list begins at what is in progress, so that this is always seen.
        let now = self
            .todos
            .iter()
            .position(|todo| todo.status != TodoStatus::Completed)
            .unwrap_or_default();
        let first = now.saturating_sub(2).min(self.todos.len().saturating_sub(TODO_ROWS));
        let row = |todo: &Todo| {
            let (mark, role) = match todo.status {
                TodoStatus::Completed => ("☒", Role::Dim),
                TodoStatus::InProgress => ("◐", Role::Accent),
                TodoStatus::Pending => ("☐", Role::Text),
            };
            let text = if todo.status == TodoStatus::InProgress {
                &todo.active_form
            } else {
                &todo.content
            };
            let text = truncate(&format!("  {mark} {}", plain(text).replace('\n', " ")), columns);
            Line::from(Span::styled(text, look.theme.style(role)))
        };
        let mut rows: Vec<Line<'static>> =
            self.todos.iter().skip(first).take(TODO_ROWS).map(row).collect();
        let left = self.todos.len().saturating_sub(first + TODO_ROWS) + first;
        if left > 0 {
            let text = format!("    … and {left} more (ctrl+t hides the list)");
            rows.push(Line::from(Span::styled(
                truncate(&text, columns),
                look.theme.style(Role::Dim),
            )));
        }
        rows
    }
}

/// The rows of prompts that wait.
pub fn queue_rows(queue: &VecDeque<String>, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let style = look.theme.style(Role::Dim);
    let row = |text: &String| {
        let text = plain(text).replace('\n', " ⏎ ");
        Line::from(Span::styled(truncate(&format!("  ⏵ {text}"), columns), style))
    };
    let mut rows: Vec<Line<'static>> = queue.iter().take(QUEUE_ROWS).map(row).collect();
    if queue.len() > QUEUE_ROWS {
        let text = format!("    … and {} more wait", queue.len() - QUEUE_ROWS);
        rows.push(Line::from(Span::styled(text, style)));
    }
    rows
}

impl OpenAnswer {
    /// The rows of what is finished.
    fn flush(&mut self, look: &Look<'_>) -> Vec<Line<'static>> {
        let mut rows = Vec::new();
        for piece in self.stream.take_finished() {
            let painted = self.painter.paint(&piece, look);
            if !painted.is_empty() {
                let first = !std::mem::replace(&mut self.started, true);
                if first {
                    rows.push(Line::default());
                    rows.extend(marked(painted, look));
                } else {
                    rows.extend(indented(painted, "  ", "  "));
                }
            }
            self.pieces.push(piece);
        }
        rows
    }

    /// The rows of what is still open.
    fn open_rows(&self, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let rows = match self.stream.open_piece() {
            Some(piece) => self.painter.clone().paint(&piece, look),
            None => markdown::render(self.stream.open(), columns.saturating_sub(2).max(1), look),
        };
        if rows.is_empty() {
            return rows;
        }
        match self.started {
            true => indented(rows, "  ", "  "),
            false => {
                let mut all = vec![Line::default()];
                all.extend(marked(rows, look));
                all
            }
        }
    }
}

impl Running {
    fn rows(
        &self,
        columns: usize,
        look: &Look<'_>,
        now: Instant,
        still: bool,
    ) -> Vec<Line<'static>> {
        let elapsed = now.saturating_duration_since(self.since);
        // It blinks, so that it is seen to run.
        let role = if still || (elapsed.as_millis() / 500).is_multiple_of(2) {
            Role::Accent
        } else {
            Role::Dim
        };
        let mut rows = title_rows(&self.title, columns, look, role);
        let style = look.theme.style(Role::Dim);
        let inner = columns.saturating_sub(5).max(1);
        let text = plain(&self.output).into_owned();
        let lines: Vec<&str> = text.lines().filter(|line| !line.trim().is_empty()).collect();
        let mut shown: Vec<Line<'static>> = lines
            .iter()
            .skip(lines.len().saturating_sub(OUTPUT_ROWS))
            .map(|line| Line::from(Span::styled(truncate(&expand_tabs(line), inner), style)))
            .collect();
        if let Some(progress) = &self.progress {
            shown.push(Line::from(Span::styled(
                truncate(&plain(progress).replace('\n', " "), inner),
                style,
            )));
        }
        let mut foot = Vec::new();
        if self.calls > 0 {
            foot.push(format!("{} call{}", self.calls, if self.calls == 1 { "" } else { "s" }));
        }
        if elapsed.as_secs() >= 2 {
            foot.push(format!("{}s", elapsed.as_secs()));
        }
        if elapsed.as_secs() >= 2 && matches!(self.tool.as_str(), "Bash" | "Agent") {
            foot.push("ctrl+b: go on in the background".to_owned());
        }
        if !foot.is_empty() {
            shown.push(Line::from(Span::styled(truncate(&foot.join(" · "), inner), style)));
        }
        rows.extend(branch(shown, look));
        rows
    }
}

/// `950`, `1.2k`, `3.4M`.
pub fn short_number(number: u64) -> String {
    match number {
        0..1_000 => number.to_string(),
        1_000..1_000_000 => format!("{:.1}k", number as f64 / 1e3),
        _ => format!("{:.1}M", number as f64 / 1e6),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short() {
        assert_eq!(short_number(999), "999");
        assert_eq!(short_number(1_234), "1.2k");
        assert_eq!(short_number(2_500_000), "2.5M");
    }
}
