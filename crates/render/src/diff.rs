//! The change of a file as rows of a terminal.

mod line;
mod unified;
mod words;

#[cfg(test)]
mod tests;

use ona_front::{DiffLine, FileDiff, FileFate, Hunk, Sign};
use ratatui::style::Modifier;
use ratatui::text::{Line, Span};

pub use unified::unified;

use crate::highlight::{HighlightState, Look};
use crate::text;
use crate::theme::Role;
use line::Drawing;

/// A path is shortened down to so many columns. In a narrower header it stands alone.
const MIN_PATH: usize = 8;

/// The rows of a change: a header, and the lines of its hunks with their numbers. At most `most_rows`; if that is too
/// few, the last one says how many lines are missing.
pub fn render(
    diff: &FileDiff,
    width: usize,
    look: &Look<'_>,
    most_rows: usize,
) -> Vec<Line<'static>> {
    let width = width.max(1);
    let mut body = Body::new(most_rows);
    body.rows.push((header(diff, width, look), 0));
    let language = look.highlighter.language_of_path(&diff.path).unwrap_or_default();
    let drawing = Drawing::new(diff, width, look);
    for (at, hunk) in diff.hunks.iter().enumerate() {
        if at > 0 {
            body.push(vec![drawing.between_hunks()]);
        }
        let begin = || look.highlighter.begin(&language);
        draw_hunk(hunk, &drawing, [begin(), begin()], &mut body);
    }
    let lines: usize = diff.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    body.finish(lines + diff.left_out, |missing| {
        let note = format!("… {missing} more {}", if missing == 1 { "line" } else { "lines" });
        Line::styled(text::truncate(&note, width), look.theme.style(Role::Dim))
    })
}

/// The file, what becomes of it, and how many lines change.
fn header(diff: &FileDiff, width: usize, look: &Look<'_>) -> Line<'static> {
    let style = |role| look.theme.style(role);
    let mut facts = Vec::new();
    for (count, sign, role) in [(diff.added, '+', Role::Success), (diff.removed, '-', Role::Error)]
    {
        if count > 0 || diff.fate == FileFate::Changed {
            let gap = if facts.is_empty() { "  " } else { " " };
            facts.push(Span::raw(gap));
            facts.push(Span::styled(format!("{sign}{count}"), style(role)));
        }
    }
    match diff.fate {
        FileFate::Changed => {}
        FileFate::Created => facts.push(Span::styled("  new file", style(Role::Dim))),
        FileFate::Deleted => facts.push(Span::styled("  deleted", style(Role::Dim))),
    }
    let used: usize = facts.iter().map(|fact| text::width(&fact.content)).sum();
    let room = width.saturating_sub(used);
    if room < MIN_PATH {
        facts.clear();
    }
    let path = text::plain(&diff.path).replace('\n', "\u{fffd}");
    let path = text::truncate_middle(&path, if facts.is_empty() { width } else { room });
    let mut spans = vec![Span::styled(path, style(Role::Text).add_modifier(Modifier::BOLD))];
    spans.extend(facts);
    Line::from(spans)
}

/// Draws the lines of a hunk, with what the grammar knows of the old and of the new file.
fn draw_hunk(
    hunk: &Hunk,
    drawing: &Drawing<'_>,
    [mut old, mut new]: [HighlightState; 2],
    body: &mut Body,
) {
    let (mut old_number, mut new_number) = (hunk.old_start, hunk.new_start);
    let partners = words::partners(&hunk.lines);
    for (line, partner) in hunk.lines.iter().zip(partners) {
        if body.is_full() {
            return;
        }
        let shown = drawing.shown(line);
        let (pieces, number) = match line.sign {
            Sign::Same => {
                old.line(&shown);
                (new.line(&shown), new_number)
            }
            Sign::Added => (new.line(&shown), new_number),
            Sign::Removed => (old.line(&shown), old_number),
        };
        old_number = old_number.saturating_add(usize::from(line.sign != Sign::Added));
        new_number = new_number.saturating_add(usize::from(line.sign != Sign::Removed));
        let partner = partner.and_then(|partner| hunk.lines.get(partner));
        let changed = match partner {
            Some(partner) => words::changed(&text_of(&pieces), &drawing.shown(partner)),
            None => Vec::new(),
        };
        body.push(drawing.rows(
            line.sign,
            number,
            &line::emphasized(pieces, &changed),
            body.room(),
        ));
        body.end_line();
    }
}

fn text_of(pieces: &[(Role, String)]) -> String {
    pieces.iter().map(|(_, text)| text.as_str()).collect()
}

/// Whether the lines that change do not all end the same way. Only then the carriage returns are shown.
fn has_mixed_ends(diff: &FileDiff) -> bool {
    let changed = || diff.hunks.iter().flat_map(|hunk| &hunk.lines).filter(is_changed);
    changed().any(ends_with_return) && !changed().all(ends_with_return)
}

fn is_changed(line: &&DiffLine) -> bool {
    line.sign != Sign::Same
}

fn ends_with_return(line: &DiffLine) -> bool {
    line.text.ends_with('\r')
}

/// The rows, each with the number of lines that are complete with it.
struct Body {
    rows: Vec<(Line<'static>, usize)>,
    lines: usize,
    most: usize,
}

impl Body {
    fn new(most: usize) -> Self {
        Self { rows: Vec::new(), lines: 0, most }
    }

    fn push(&mut self, rows: Vec<Line<'static>>) {
        self.rows.extend(rows.into_iter().map(|row| (row, self.lines)));
    }

    /// The rows of a line are there.
    fn end_line(&mut self) {
        self.lines += 1;
        if let Some((_, lines)) = self.rows.last_mut() {
            *lines = self.lines;
        }
    }

    /// The rows that are of use: one more than fit tells that they do not.
    fn room(&self) -> usize {
        self.most.saturating_add(1).saturating_sub(self.rows.len())
    }

    fn is_full(&self) -> bool {
        self.rows.len() > self.most
    }

    /// The rows that fit, and a note about the lines that are missing.
    fn finish(mut self, lines: usize, note: impl Fn(usize) -> Line<'static>) -> Vec<Line<'static>> {
        let complete = self.lines == lines && self.rows.len() <= self.most;
        let missing = match complete {
            true => None,
            false => {
                self.rows.truncate(self.most.saturating_sub(1).max(1));
                let shown = self.rows.last().map_or(0, |(_, lines)| *lines);
                Some(note(lines - shown))
            }
        };
        let rows = self.rows.into_iter().map(|(row, _)| row).chain(missing);
        rows.take(self.most).collect()
    }
}
