//! A line of a change as rows.

use std::borrow::Cow;
use std::ops::Range;

use ona_front::{DiffLine, FileDiff, Sign};
use ratatui::style::Style;
use ratatui::text::{Line, Span};

use crate::highlight::{Look, Pieces};
use crate::text;
use crate::theme::Role;

/// What is left beside the gutter. On a narrower screen there are no numbers.
const MIN_TEXT: usize = 8;
/// Shown for a carriage return.
const RETURN: char = '␍';

/// A piece of a line, and whether it is what changed in it.
pub(super) type Piece = (Role, String, bool);

/// How the lines of a change are drawn.
pub(super) struct Drawing<'a> {
    look: &'a Look<'a>,
    width: usize,
    /// The columns of the numbers; 0: none are shown.
    digits: usize,
    /// Whether carriage returns are shown.
    returns: bool,
}

impl<'a> Drawing<'a> {
    pub(super) fn new(diff: &FileDiff, width: usize, look: &'a Look<'a>) -> Self {
        let last = |hunk: &ona_front::Hunk| {
            let count = |other| hunk.lines.iter().filter(|line| line.sign != other).count();
            let (old, new) = (count(Sign::Added), count(Sign::Removed));
            hunk.old_start.saturating_add(old).max(hunk.new_start.saturating_add(new)).max(2) - 1
        };
        let last = diff.hunks.iter().map(last).max().unwrap_or(1);
        let digits = last.to_string().len();
        let digits = if width >= digits + 3 + MIN_TEXT { digits } else { 0 };
        Self { look, width, digits, returns: super::has_mixed_ends(diff) }
    }

    fn style(&self, role: Role) -> Style {
        self.look.theme.style(role)
    }

    /// The row between two hunks.
    pub(super) fn between_hunks(&self) -> Line<'static> {
        Line::styled(format!("{:>1$}", "⋮", self.digits), self.style(Role::Hunk))
    }

    /// The text of a line, with a sign for its carriage return if that matters.
    pub(super) fn shown<'b>(&self, line: &'b DiffLine) -> Cow<'b, str> {
        match line.text.strip_suffix('\r') {
            Some(text) if self.returns && line.sign != Sign::Same => {
                format!("{text}{RETURN}").into()
            }
            Some(text) => text.into(),
            None => line.text.as_str().into(),
        }
    }

    /// The rows of a line, at most so many.
    pub(super) fn rows(
        &self,
        sign: Sign,
        number: usize,
        pieces: &[Piece],
        most: usize,
    ) -> Vec<Line<'static>> {
        let (mark, role) = match sign {
            Sign::Same => (' ', Role::Text),
            Sign::Added => ('+', Role::Added),
            Sign::Removed => ('-', Role::Removed),
        };
        let row = self.style(role);
        let gutter = match (self.digits, self.width) {
            (0, 0..=1) => Vec::new(),
            (0, 2..=3) => vec![Span::styled(mark.to_string(), row)],
            (0, _) => vec![Span::styled(format!("{mark} "), row)],
            (digits, _) => vec![
                Span::styled(
                    format!("{number:>digits$} "),
                    on_row(self.style(Role::LineNumber), row),
                ),
                Span::styled(format!("{mark} "), row),
            ],
        };
        let used: usize = gutter.iter().map(|span| span.content.chars().count()).sum();
        let spans: Vec<Span<'static>> = pieces
            .iter()
            .map(|(role, text, changed)| {
                Span::styled(text.clone(), self.piece_style(sign, *role, *changed))
            })
            .collect();
        let mut gutters = std::iter::once(gutter);
        let rows = text::cut(Line::from(spans), self.width - used, most);
        rows.into_iter()
            .map(|content| {
                let mut spans =
                    gutters.next().unwrap_or_else(|| vec![Span::styled(" ".repeat(used), row)]);
                spans.extend(content.spans);
                // The colour of a row reaches its end.
                Line::from(spans).style(Style { bg: row.bg, ..Style::new() })
            })
            .collect()
    }

    fn piece_style(&self, sign: Sign, role: Role, changed: bool) -> Style {
        let (line, word) = match sign {
            Sign::Same => return self.style(role),
            Sign::Added => (Role::Added, Role::AddedWord),
            Sign::Removed => (Role::Removed, Role::RemovedWord),
        };
        let style = self.style(if changed { word } else { line });
        match style.bg {
            // The background tells what changes, and the letters have the colours of the language.
            Some(_) => on_row(self.style(role), style),
            None => style,
        }
    }
}

fn on_row(style: Style, row: Style) -> Style {
    Style { bg: row.bg, ..style }
}

/// The pieces of a line, cut where what changed begins and ends.
pub(super) fn emphasized(pieces: Pieces, changed: &[Range<usize>]) -> Vec<Piece> {
    let mut cut = Vec::new();
    let mut from = 0;
    for (role, text) in pieces {
        let to = from + text.len();
        let mut places: Vec<usize> = changed
            .iter()
            .flat_map(|range| [range.start, range.end])
            .filter(|place| (from + 1..to).contains(place))
            .collect();
        places.push(to);
        let mut start = from;
        for place in places {
            let is_changed = changed.iter().any(|range| range.contains(&start));
            if let Some(part) = text.get(start - from..place - from)
                && !part.is_empty()
            {
                cut.push((role, part.to_owned(), is_changed));
            }
            start = place;
        }
        from = to;
    }
    cut
}
