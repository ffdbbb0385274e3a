//! The live rows: what runs, the prompt or what lies over it, and the status below.

use ona_editor::keymap::{Action, Context};
use ona_editor::vim::Mode;
use ona_front::Op;
use ona_render::text::{plain, truncate, width};
use ona_render::theme::Role;
use ratatui::style::Color;
use ratatui::text::{Line, Span};

use super::{App, Overlay};
use crate::live::queue_rows;
use crate::screen::Frame;
use crate::status_bar::{self, Left};

/// A terminal with fewer rows is low.
const LOW: usize = 14;
/// In one with as many there is room for the status below a dialog.
const HIGH: usize = 20;
/// Rows of the prompt that are shown.
const PROMPT_ROWS: usize = 12;

impl App {
    /// The live rows.
    pub fn frame(&mut self) -> Frame {
        if !self.asks.is_empty() {
            self.guard.is_drawn(self.now);
        }
        let most = self.height.saturating_sub(1).max(3);
        let bottom = self.bottom(most);
        let room = most.saturating_sub(bottom.rows.len());
        let mut rows = self.top(room);
        let skip = rows.len().saturating_sub(room);
        rows.drain(..skip);
        let cursor = bottom.cursor.map(|(row, column)| (row + rows.len(), column));
        rows.extend(bottom.rows);
        rows.truncate(most);
        Frame { rows, cursor: cursor.filter(|(row, _)| *row < most) }
    }

    /// The alternate screen.
    pub fn full_frame(&mut self) -> Option<Frame> {
        let mut overlay = self.overlay.take();
        let look = self.look();
        let (columns, height) = (self.columns, self.height);
        let mut wanted = None;
        let frame = match &mut overlay {
            Some(Overlay::Transcript(pager)) => {
                let (frame, at_top) = pager.frame(columns, height, &look);
                if at_top && pager.more && !pager.asked {
                    pager.asked = true;
                    wanted = Some(pager.first());
                }
                Some(frame)
            }
            Some(Overlay::Diffs(view)) => Some(view.frame(columns, height, &look)),
            _ => None,
        };
        self.overlay = overlay;
        if let Some(before) = wanted {
            self.send(Op::Transcript { before });
        }
        frame
    }

    /// The one key that interrupts now. In vim's INSERT mode, Esc only leaves that mode.
    fn interrupt_key(&self) -> String {
        let inserts = self.vim.as_ref().is_some_and(|vim| vim.mode() == Mode::Insert);
        let cancel = self.keymap.key_for(Context::Chat, Action::ChatCancel);
        let cancel = cancel.filter(|key| !(inserts && key == "escape"));
        let key = cancel.or_else(|| self.keymap.key_for(Context::Global, Action::AppInterrupt));
        key.map_or_else(String::new, |key| key.replace("escape", "esc"))
    }

    /// What runs.
    fn top(&self, room: usize) -> Vec<Line<'static>> {
        let look = self.look();
        let still = self.preferences.prefers_reduced_motion;
        let mut foot = Vec::new();
        // Keys are the dialog's while one is open.
        let interrupt = match self.asks.is_empty() {
            true => format!("{} to interrupt", self.interrupt_key()),
            false => "waiting for you".to_owned(),
        };
        let spinner = self.live.spinner(self.columns, &look, (self.now, still), &interrupt);
        if let Some(spinner) = spinner {
            foot.push(Line::default());
            if self.preferences.verbose {
                foot.extend(self.live.thinking_rows(self.columns, 4, &look));
            }
            foot.push(spinner);
        }
        let queue = self.queue.iter().map(|queued| queued.content.shown()).collect();
        let mut queue = queue_rows(&queue, self.columns, &look);
        let mut todos = match self.show_todos {
            true => self.live.todo_rows(self.columns, &look),
            false => Vec::new(),
        };
        // In a low terminal the spinner stays in sight.
        let spinner = usize::from(!foot.is_empty());
        queue.truncate(room.saturating_sub(spinner));
        todos.truncate(room.saturating_sub(spinner + queue.len()));
        foot.drain(..(foot.len() + todos.len() + queue.len()).saturating_sub(room).min(foot.len()));
        foot.extend(todos);
        foot.extend(queue);
        let mut rows = self.live.rows(self.columns, &look, self.now, still);
        let fits = room.saturating_sub(foot.len());
        let skip = rows.len().saturating_sub(fits);
        rows.drain(..skip);
        rows.extend(foot);
        rows
    }

    /// The prompt or what lies over it, and the status.
    fn bottom(&self, most: usize) -> Frame {
        let look = self.look();
        let columns = self.columns;
        let mut rows = vec![Line::default()];
        if let Some((_, dialog)) = self.asks.front() {
            rows.push(self.border());
            // Above it is what runs; but in a low terminal every row is for the dialog.
            let mut others = 1 + usize::from(self.asks.len() > 1);
            let mut status = Vec::new();
            if most < LOW {
                rows.clear();
                others -= 1;
            } else if most >= HIGH {
                // What governs the session is seen here too: Shift+Tab changes the mode.
                let note = self.note.as_ref().map_or_else(String::new, |(note, _)| note.clone());
                status = self.status_rows(&match note.is_empty() {
                    true => Left::Hint(note),
                    false => Left::Note(note),
                });
                others += status.len();
            }
            let shown = dialog.rows(columns, most.saturating_sub(rows.len() + others), &look);
            let cursor = shown.cursor.map(|(row, column)| (rows.len() + row, column));
            rows.extend(shown.rows);
            if self.asks.len() > 1 {
                let text = match self.asks.len() - 1 {
                    1 => "1 more question waits".to_owned(),
                    more => format!("{more} more questions wait"),
                };
                rows.push(Line::from(Span::styled(text, look.theme.style(Role::Dim))));
            }
            rows.extend(status);
            return Frame { rows, cursor };
        }
        match &self.overlay {
            Some(Overlay::Menu(menu)) => {
                rows.push(self.border());
                rows.extend(menu.rows(columns, most.saturating_sub(3).max(5), &look));
                return Frame { rows, cursor: None };
            }
            Some(Overlay::Type { label, field, .. }) => {
                rows.push(self.border());
                let (row, column) = field.row(&format!("{label}: "), columns, &look);
                let cursor = Some((rows.len(), column));
                rows.push(row);
                rows.push(Line::from(Span::styled(
                    "Enter · Esc cancels",
                    look.theme.style(Role::Dim),
                )));
                return Frame { rows, cursor };
            }
            Some(Overlay::Keys) => {
                rows.extend(self.key_rows(most));
                return Frame { rows, cursor: None };
            }
            _ => {}
        }
        self.prompt(rows, most)
    }

    fn border(&self) -> Line<'static> {
        let look = self.look();
        let mut style = look.theme.style(Role::Border);
        let text = self.editor.shown();
        if text.starts_with('!') {
            style = look.theme.style(Role::Warning);
        } else if let Some(colour) = self.preferences.colour.as_deref().and_then(named_colour)
            && look.theme.depth() != ona_render::theme::Depth::None
        {
            style = style.fg(colour);
        }
        let name =
            self.status.name.as_ref().map(|name| format!(" {} ", plain(name).replace('\n', " ")));
        let name = truncate(&name.unwrap_or_default(), self.columns / 2);
        let line = "─"
            .repeat(self.columns.saturating_sub(width(&name) + usize::from(!name.is_empty()) * 2));
        let tail = if name.is_empty() { "" } else { "──" };
        Line::from(Span::styled(format!("{line}{name}{tail}"), style))
    }

    fn prompt(&self, mut rows: Vec<Line<'static>>, most: usize) -> Frame {
        let look = self.look();
        rows.push(self.border());
        let inner = u16::try_from(self.columns.saturating_sub(2).max(1)).unwrap_or(u16::MAX);
        let shown = self.editor.rows(inner);
        let popup = self.popup.as_ref().map(|popup| popup.rows(self.columns, &look));
        let below = popup.as_ref().map_or(0, Vec::len);
        let room = PROMPT_ROWS.min(most.saturating_sub(6 + below)).max(1);
        let first =
            shown.cursor_row.saturating_sub(room - 1).min(shown.rows.len().saturating_sub(room));
        let chip = look.theme.style(Role::Accent);
        let selected = look.theme.style(Role::Selected);
        let cursor = (rows.len() + shown.cursor_row - first, shown.cursor_column + 2);
        for (number, row) in shown.rows.iter().enumerate().skip(first).take(room) {
            let sign = if number == 0 { "> " } else { "  " };
            let mut spans = vec![Span::styled(sign, look.theme.style(Role::Accent))];
            spans.extend(styled(row, chip, selected));
            rows.push(Line::from(spans));
        }
        rows.push(Line::from(Span::styled(
            "─".repeat(self.columns),
            look.theme.style(Role::Border),
        )));
        if let Some(search) = &self.search {
            let none = if search.query().is_empty() { "" } else { "no match" };
            let found = search.entry(&self.history).unwrap_or(none);
            let text =
                format!("  search: {}  {}", search.query(), plain(found).replace('\n', " ⏎ "));
            rows.push(Line::from(Span::styled(
                truncate(&text, self.columns),
                look.theme.style(Role::Accent),
            )));
        }
        rows.extend(popup.into_iter().flatten());
        rows.extend(self.status_rows(&self.left()));
        Frame { rows, cursor: Some(cursor) }
    }

    fn status_rows(&self, left: &Left) -> Vec<Line<'static>> {
        status_bar::rows(&self.status, self.custom.as_deref(), left, self.columns, &self.look())
    }

    /// What stands at the left of the status row.
    fn left(&self) -> Left {
        if let Some((note, _)) = &self.note {
            return Left::Note(note.clone());
        }
        let text = self.editor.shown();
        let vim = self.vim.as_ref().map(|vim| match vim.mode() {
            Mode::Insert => "-- INSERT --".to_owned(),
            mode => format!("-- {} -- {}", mode.label(), vim.pending()).trim_end().to_owned(),
        });
        if let Some(vim) = vim {
            return Left::Note(vim);
        }
        match text.chars().next() {
            Some('!') => Left::Note("! runs a command line of your own".to_owned()),
            Some('#') => Left::Note("# saves a memory".to_owned()),
            None if !self.opened => Left::Note("opening the session…".to_owned()),
            None => Left::Hint("? for shortcuts".to_owned()),
            Some(_) => Left::Hint(String::new()),
        }
    }

    /// The keys, for `?`.
    fn key_rows(&self, most: usize) -> Vec<Line<'static>> {
        let look = self.look();
        let mut pairs: Vec<(String, &str)> = vec![
            ("/".to_owned(), "commands"),
            ("!".to_owned(), "a command line of your own"),
            ("@".to_owned(), "attach a file"),
            ("#".to_owned(), "save a memory"),
            ("\\ Enter".to_owned(), "new line"),
        ];
        for context in [Context::Chat, Context::Task, Context::Global] {
            for (keys, action) in self.keymap.describe(context) {
                if action.edit().is_none() {
                    pairs.push((keys, action.description()));
                }
            }
        }
        let widest = pairs.iter().map(|(keys, about)| width(keys) + width(about) + 5).max();
        let cell = widest.unwrap_or_default().clamp(1, self.columns);
        let per_row = (self.columns / cell).max(1);
        let mut rows = Vec::new();
        for chunk in pairs.chunks(per_row) {
            let mut spans = Vec::new();
            for (keys, about) in chunk {
                let keys = truncate(&format!("  {keys} "), cell);
                let about = truncate(about, cell.saturating_sub(width(&keys) + 1));
                let pad = cell.saturating_sub(width(&keys) + width(&about));
                spans.push(Span::styled(keys, look.theme.style(Role::Accent)));
                spans.push(Span::styled(about, look.theme.style(Role::Dim)));
                spans.push(Span::raw(" ".repeat(pad)));
            }
            rows.push(Line::from(spans));
        }
        rows.truncate(most.saturating_sub(2).max(1));
        rows.push(Line::from(Span::styled("  any key closes this", look.theme.style(Role::Dim))));
        rows
    }
}

/// A row of the prompt, with its chips and what is selected.
fn styled(
    row: &ona_editor::Row,
    chip: ratatui::style::Style,
    selected: ratatui::style::Style,
) -> Vec<Span<'static>> {
    let mut cuts: Vec<usize> = vec![0, row.text.len()];
    for range in row.chips.iter().chain(&row.selected) {
        cuts.extend([range.start, range.end]);
    }
    cuts.sort_unstable();
    cuts.dedup();
    let span = |pair: &[usize]| {
        let part = row.text.get(pair[0]..pair[1]).unwrap_or_default().to_owned();
        let within =
            |range: &std::ops::Range<usize>| range.start <= pair[0] && pair[1] <= range.end;
        if row.selected.as_ref().is_some_and(within) {
            Span::styled(part, selected)
        } else if row.chips.iter().any(within) {
            Span::styled(part, chip)
        } else {
            Span::raw(part)
        }
    };
    cuts.windows(2).map(span).collect()
}

/// The colours of `/color`.
fn named_colour(name: &str) -> Option<Color> {
    Some(match name {
        "red" => Color::Red,
        "blue" => Color::Blue,
        "green" => Color::Green,
        "yellow" => Color::Yellow,
        "purple" => Color::Magenta,
        "orange" => Color::LightRed,
        "pink" => Color::LightMagenta,
        "cyan" => Color::Cyan,
        _ => return None,
    })
}
