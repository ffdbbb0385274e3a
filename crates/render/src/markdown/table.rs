//! Tables: columns that fit the width, or a list of records if they cannot.

use pulldown_cmark::Alignment;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::layout::Place;
use super::parse::{Fragment, Marks, Table, Text};
use crate::text;
use crate::theme::Role;

/// A column is not made narrower than its longest word, up to this many columns.
const LONG_WORD: usize = 14;
/// No column is narrower.
const MIN_COLUMN: usize = 3;
/// The columns of a frame: `│ ` before each cell and a blank behind it.
const PER_COLUMN: usize = 3;

/// The characters of the three kinds of rules: left, between, right.
const TOP: [&str; 3] = ["┌", "┬", "┐"];
const MIDDLE: [&str; 3] = ["├", "┼", "┤"];
const BOTTOM: [&str; 3] = ["└", "┴", "┘"];

/// The rows of a table.
pub(super) fn rows(table: &Table, place: Place<'_>) -> Vec<Line<'static>> {
    match column_widths(table, place) {
        Some(widths) => Frame { table, place, widths }.rows(),
        None => records(table, place),
    }
}

/// How wide the columns are, if they fit.
fn column_widths(table: &Table, place: Place<'_>) -> Option<Vec<usize>> {
    let count = table.rows.first()?.len();
    let room = place.width.checked_sub(count * PER_COLUMN + 1)?;
    let cells = |column: usize| table.rows.iter().filter_map(move |row| row.get(column));
    let widths = |measure: &dyn Fn(&Text) -> usize| -> Vec<usize> {
        (0..count).map(|column| cells(column).map(measure).max().unwrap_or(0).max(1)).collect()
    };
    let natural = widths(&|cell| line_widths(cell, place).max().unwrap_or(0));
    if natural.iter().sum::<usize>() <= room {
        return Some(natural);
    }
    let word = widths(&|cell| longest_word(cell, place));
    let least: Vec<usize> = std::iter::zip(&natural, word)
        .map(|(natural, word)| word.clamp(MIN_COLUMN, LONG_WORD).min(*natural))
        .collect();
    let mut spare = room.checked_sub(least.iter().sum())?;
    let mut widths = least;
    // The narrowest grow first, so that only the wide columns are wrapped.
    while spare > 0 {
        let growing = (0..count).filter(|&at| widths[at] < natural[at]);
        let Some(narrowest) = growing.min_by_key(|&at| widths[at]) else { break };
        widths[narrowest] += 1;
        spare -= 1;
    }
    Some(widths)
}

/// The text of a cell as it is shown.
fn shown(cell: &[Fragment], place: Place<'_>) -> String {
    place.spans(cell).iter().map(|span| span.content.as_ref()).collect()
}

fn line_widths(cell: &[Fragment], place: Place<'_>) -> impl Iterator<Item = usize> {
    shown(cell, place).split('\n').map(text::width).collect::<Vec<_>>().into_iter()
}

fn longest_word(cell: &[Fragment], place: Place<'_>) -> usize {
    shown(cell, place).split_whitespace().map(text::width).max().unwrap_or(0)
}

struct Frame<'a> {
    table: &'a Table,
    place: Place<'a>,
    widths: Vec<usize>,
}

impl Frame<'_> {
    fn rows(&self) -> Vec<Line<'static>> {
        let cells: Vec<Vec<Vec<Line<'static>>>> =
            self.table.rows.iter().enumerate().map(|(at, row)| self.cells(row, at == 0)).collect();
        // Rows of one line each need no rule between them.
        let tall = cells.iter().skip(1).flatten().any(|cell| cell.len() > 1);
        let mut rows = vec![self.rule(TOP)];
        for (at, row) in cells.iter().enumerate() {
            if at == 1 || (tall && at > 1) {
                rows.push(self.rule(MIDDLE));
            }
            rows.extend(self.row(row));
        }
        rows.push(self.rule(BOTTOM));
        rows
    }

    fn border(&self) -> Style {
        self.place.look.theme.style(Role::Border)
    }

    fn rule(&self, [left, between, right]: [&str; 3]) -> Line<'static> {
        let lines: Vec<String> = self.widths.iter().map(|width| "─".repeat(width + 2)).collect();
        Line::from(Span::styled(format!("{left}{}{right}", lines.join(between)), self.border()))
    }

    /// The wrapped cells of a row.
    fn cells(&self, row: &[Text], header: bool) -> Vec<Vec<Line<'static>>> {
        let base = match header {
            true => self.place.base.add_modifier(Modifier::BOLD),
            false => self.place.base,
        };
        let cell = |(at, width): (usize, &usize)| {
            let cell = row.get(at).map_or(&[][..], Vec::as_slice);
            Place { width: *width, base, ..self.place }.text(cell)
        };
        self.widths.iter().enumerate().map(cell).collect()
    }

    fn row(&self, cells: &[Vec<Line<'static>>]) -> Vec<Line<'static>> {
        let height = cells.iter().map(Vec::len).max().unwrap_or(0);
        (0..height).map(|line| self.line(cells, line)).collect()
    }

    fn line(&self, cells: &[Vec<Line<'static>>], line: usize) -> Line<'static> {
        let mut spans = Vec::new();
        for (at, (cell, width)) in std::iter::zip(cells, &self.widths).enumerate() {
            let content = cell.get(line).cloned().unwrap_or_default();
            let used: usize = content.spans.iter().map(|span| text::width(&span.content)).sum();
            let spare = width.saturating_sub(used);
            let before = match self.table.alignments.get(at) {
                Some(Alignment::Right) => spare,
                Some(Alignment::Center) => spare / 2,
                _ => 0,
            };
            spans.push(Span::styled(if at == 0 { "│ " } else { " │ " }, self.border()));
            spans.push(Span::raw(" ".repeat(before)));
            spans.extend(content.spans);
            spans.push(Span::raw(" ".repeat(spare - before)));
        }
        spans.push(Span::styled(" │", self.border()));
        spans.retain(|span| !span.content.is_empty());
        Line::from(spans)
    }
}

/// Every row as lines `header: value`, for a table that does not fit.
fn records(table: &Table, place: Place<'_>) -> Vec<Line<'static>> {
    let Some((header, body)) = table.rows.split_first() else { return Vec::new() };
    if body.is_empty() {
        return header.iter().flat_map(|name| place.text(&strong(name))).collect();
    }
    let mut rows = Vec::new();
    for record in body {
        if !rows.is_empty() {
            rows.push(Line::default());
        }
        for (name, value) in std::iter::zip(header, record) {
            rows.extend(place.hanging_text(&labelled(name, value), 2));
        }
    }
    rows
}

fn strong(text: &[Fragment]) -> Text {
    let strong = |fragment: &Fragment| Fragment {
        marks: Marks { strong: true, ..fragment.marks },
        ..fragment.clone()
    };
    text.iter().map(strong).collect()
}

fn labelled(name: &[Fragment], value: &[Fragment]) -> Text {
    let mut text = strong(name);
    if !text.is_empty() {
        let marks = Marks { strong: true, ..Marks::default() };
        text.push(Fragment { text: ": ".to_owned(), marks });
    }
    text.extend_from_slice(value);
    text
}
