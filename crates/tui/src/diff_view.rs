//! Changes of files on the alternate screen: sources from left to right, files from top to bottom.

use ona_front::{DiffSource, FileFate};
use ona_render::diff;
use ona_render::highlight::Look;
use ona_render::text::{plain, truncate, truncate_middle};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

use crate::screen::Frame;

/// The viewer.
#[derive(Clone, Debug)]
pub struct DiffView {
    sources: Vec<DiffSource>,
    source: usize,
    file: usize,
    /// The file is shown, from this row on.
    open: Option<usize>,
}

impl DiffView {
    /// A viewer of these changes.
    pub fn new(sources: Vec<DiffSource>) -> Self {
        Self { sources, source: 0, file: 0, open: None }
    }

    /// The source to the left or right.
    pub fn next_source(&mut self, back: bool) {
        let count = self.sources.len().max(1);
        self.source = (self.source + if back { count - 1 } else { 1 }) % count;
        (self.file, self.open) = (0, None);
    }

    /// The file above or below; in an open file, the row.
    pub fn next_file(&mut self, back: bool) {
        match &mut self.open {
            Some(row) => *row = if back { row.saturating_sub(1) } else { *row + 1 },
            None => {
                let count =
                    self.sources.get(self.source).map_or(1, |source| source.files.len().max(1));
                self.file = (self.file + if back { count - 1 } else { 1 }) % count;
            }
        }
    }

    /// Scrolls an open file by a page.
    pub fn page(&mut self, back: bool, rows: usize) {
        if let Some(row) = &mut self.open {
            *row = if back { row.saturating_sub(rows) } else { *row + rows };
        }
    }

    /// Opens the file.
    pub fn open(&mut self) {
        self.open.get_or_insert(0);
    }

    /// Closes the file; `false` if none was open.
    pub fn back(&mut self) -> bool {
        self.open.take().is_some()
    }

    /// The screen.
    pub fn frame(&mut self, columns: usize, height: usize, look: &Look<'_>) -> Frame {
        let theme = look.theme;
        let mut tabs = Vec::new();
        for (number, source) in self.sources.iter().enumerate() {
            let style = theme.style(if number == self.source { Role::Selected } else { Role::Dim });
            tabs.push(Span::styled(truncate(&plain(&source.name), 40), style));
            tabs.push(Span::raw("  "));
        }
        let mut rows = ona_render::text::cut(Line::from(tabs), columns, 1);
        rows.push(Line::default());
        let room = height.saturating_sub(rows.len() + 1).max(1);
        let Some(source) = self.sources.get(self.source) else {
            let text = truncate("  there are no changes · Esc leaves", columns);
            rows.push(Line::from(Span::styled(text, theme.style(Role::Dim))));
            return Frame { rows, cursor: None };
        };
        let body = match (&mut self.open, source.files.get(self.file)) {
            (Some(first), Some(file)) => {
                let all = diff::render(file, columns, look, usize::MAX);
                *first = (*first).min(all.len().saturating_sub(room));
                all.into_iter().skip(*first).take(room).collect()
            }
            _ => self.listed(source, columns, room, look),
        };
        rows.extend(body);
        rows.resize(height.saturating_sub(1), Line::default());
        let hint = match self.open {
            Some(_) => "  ↑↓ PgUp PgDn scroll · Backspace back · Esc leaves",
            None => "  ←→ source · ↑↓ file · Enter opens · Esc leaves",
        };
        rows.push(Line::from(Span::styled(truncate(hint, columns), theme.style(Role::Dim))));
        Frame { rows, cursor: None }
    }

    fn listed(
        &self,
        source: &DiffSource,
        columns: usize,
        room: usize,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        let theme = look.theme;
        let mut rows = Vec::new();
        if !source.note.is_empty() {
            let note = truncate(&plain(&source.note).replace('\n', " "), columns);
            rows.push(Line::from(Span::styled(note, theme.style(Role::Warning))));
        }
        let first = self.file.saturating_sub(room / 2).min(source.files.len().saturating_sub(room));
        for (number, file) in
            source.files.iter().enumerate().skip(first).take(room.saturating_sub(rows.len()))
        {
            let selected = number == self.file;
            let fate = match file.fate {
                FileFate::Created => " new",
                FileFate::Deleted => " deleted",
                FileFate::Changed => "",
            };
            let pointer = if selected { "❯ " } else { "  " };
            let style = theme.style(if selected { Role::Selected } else { Role::Text });
            let path = truncate_middle(&plain(&file.path), columns.saturating_sub(24).max(8));
            rows.push(Line::from(vec![
                Span::styled(format!("{pointer}{path}"), style),
                Span::styled(format!("  +{}", file.added), theme.style(Role::Added)),
                Span::styled(format!(" -{}", file.removed), theme.style(Role::Removed)),
                Span::styled(fate, theme.style(Role::Dim)),
            ]));
        }
        rows
    }
}
