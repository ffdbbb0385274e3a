//! A tree of blocks as rows.

use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};

use super::parse::{Block, Fragment, Item, List, Node};
use super::table;
use crate::highlight::{Look, Pieces};
use crate::text;
use crate::theme::{Depth, Role};

/// Code is indented, and has no frame: it can be copied as it is.
const CODE_INDENT: &str = "  ";
const QUOTE_BAR: &str = "▎ ";
/// What is left beside an indentation or a bar. On a narrower screen they are left out.
const MIN_INNER: usize = 6;

/// How blocks are drawn in some place of the tree.
#[derive(Clone, Copy)]
pub(super) struct Place<'a> {
    pub look: &'a Look<'a>,
    pub width: usize,
    /// The style of ordinary text.
    pub base: Style,
}

impl<'a> Place<'a> {
    /// The top of a document.
    pub(super) fn top(look: &'a Look<'a>, width: usize) -> Self {
        Self { look, width: width.max(1), base: look.theme.style(Role::Text) }
    }

    fn style(&self, role: Role) -> Style {
        self.look.theme.style(role)
    }

    /// A place that is narrower, and how many columns it leaves out.
    fn inner(&self, columns: usize) -> (Self, usize) {
        match self.width >= columns + MIN_INNER {
            true => (Self { width: self.width - columns, ..*self }, columns),
            false => (*self, 0),
        }
    }

    /// The spans of text.
    pub(super) fn spans(&self, text: &[Fragment]) -> Vec<Span<'static>> {
        text.iter().map(|fragment| self.span(fragment)).collect()
    }

    fn span(&self, fragment: &Fragment) -> Span<'static> {
        let marks = fragment.marks;
        let mut style = self.base;
        for (marked, role) in
            [(marks.link, Role::Link), (marks.address, Role::Dim), (marks.code, Role::Code)]
        {
            if marked {
                style = style.patch(self.style(role));
            }
        }
        for (marked, modifier) in [
            (marks.strong, Modifier::BOLD),
            (marks.emphasis, Modifier::ITALIC),
            (marks.strike, Modifier::CROSSED_OUT),
        ] {
            if marked {
                style = style.add_modifier(modifier);
            }
        }
        // Without colours nothing else would tell code from words.
        let text = match marks.code && self.look.theme.depth() == Depth::None {
            true => format!("`{}`", fragment.text),
            false => fragment.text.clone(),
        };
        Span::styled(text::plain(&text).into_owned(), style)
    }

    /// The rows of text, wrapped.
    pub(super) fn text(&self, text: &[Fragment]) -> Vec<Line<'static>> {
        self.hanging_text(text, 0)
    }

    /// The rows of text, those behind the first of each line indented.
    pub(super) fn hanging_text(&self, text: &[Fragment], hanging: usize) -> Vec<Line<'static>> {
        let lines = lines_of(self.spans(text));
        lines.into_iter().flat_map(|line| text::wrap(line, self.width, hanging)).collect()
    }
}

/// The spans between line breaks.
fn lines_of(spans: Vec<Span<'static>>) -> Vec<Line<'static>> {
    let mut lines = vec![Line::default()];
    for span in spans {
        for (at, part) in span.content.split('\n').enumerate() {
            if at > 0 {
                lines.push(Line::default());
            }
            // What is wrapped away at a break of the author would be an indentation.
            let fresh = lines.last().is_some_and(|line| line.spans.is_empty());
            let part = if fresh { part.trim_start_matches(' ') } else { part };
            if let Some(line) = lines.last_mut()
                && !part.is_empty()
            {
                line.push_span(Span::styled(part.to_owned(), span.style));
            }
        }
    }
    lines
}

/// The rows of a document, or of a part of one.
pub(super) fn document(nodes: &[Node], place: Place<'_>) -> Vec<Line<'static>> {
    rows(nodes, place, Spacing::Always)
}

/// Where blank rows stand between blocks.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Spacing {
    Always,
    /// Where the author has a blank line: in the items of a list.
    AsWritten,
}

fn rows(nodes: &[Node], place: Place<'_>, spacing: Spacing) -> Vec<Line<'static>> {
    let mut rows: Vec<Line<'static>> = Vec::new();
    for node in nodes {
        let block = block(&node.block, place);
        if !rows.is_empty() && !block.is_empty() && (node.spaced || spacing == Spacing::Always) {
            rows.push(Line::default());
        }
        rows.extend(block);
    }
    rows
}

fn block(block: &Block, place: Place<'_>) -> Vec<Line<'static>> {
    match block {
        Block::Paragraph(text) => place.text(text),
        Block::Heading { level, text } => {
            let base = place.base.patch(place.style(Role::Heading));
            let base = match level {
                1 => base.add_modifier(Modifier::UNDERLINED),
                2 => base,
                _ => base.add_modifier(Modifier::ITALIC),
            };
            Place { base, ..place }.text(text)
        }
        Block::Code { language, code } => {
            let lines = place.look.highlighter.highlight(language, code);
            lines.iter().flat_map(|line| code_line(line, place.look, place.width)).collect()
        }
        Block::Quote(nodes) => quote(nodes, place),
        Block::List(list) => list_rows(list, place),
        Block::Table(table) => table::rows(table, place),
        Block::Rule => {
            vec![Line::styled("─".repeat(place.width), place.style(Role::Border))]
        }
        Block::Verbatim(source) => verbatim(source, place),
    }
}

/// The rows of a line of code.
pub(super) fn code_line(pieces: &Pieces, look: &Look<'_>, width: usize) -> Vec<Line<'static>> {
    let place = Place::top(look, width);
    let (inner, indent) = place.inner(CODE_INDENT.len());
    let spans: Vec<Span<'static>> =
        pieces.iter().map(|(role, text)| Span::styled(text.clone(), place.style(*role))).collect();
    let rows = text::cut(Line::from(spans), inner.width, usize::MAX);
    let indent = Span::raw(" ".repeat(indent));
    rows.into_iter().map(|row| prefixed(vec![indent.clone()], row)).collect()
}

/// A row behind a prefix. An empty row gets no blanks at its end.
fn prefixed(prefix: Vec<Span<'static>>, row: Line<'static>) -> Line<'static> {
    let mut spans = prefix;
    if row.spans.iter().all(|span| span.content.is_empty()) {
        if let Some(last) = spans.last_mut() {
            *last = Span::styled(last.content.trim_end().to_owned(), last.style);
        }
        spans.retain(|span| !span.content.is_empty());
    }
    spans.extend(row.spans);
    Line { spans, ..row }
}

fn quote(nodes: &[Node], place: Place<'_>) -> Vec<Line<'static>> {
    let (inner, columns) = place.inner(text::width(QUOTE_BAR));
    let base = place.base.patch(place.style(Role::Quote));
    let rows = rows(nodes, Place { base, ..inner }, Spacing::Always);
    let bar = match columns {
        0 => Vec::new(),
        _ => vec![Span::styled(QUOTE_BAR, place.style(Role::Border))],
    };
    rows.into_iter().map(|row| prefixed(bar.clone(), row)).collect()
}

fn list_rows(list: &List, place: Place<'_>) -> Vec<Line<'static>> {
    let mut rows = Vec::new();
    for (at, item) in (0..).zip(&list.items) {
        if item.spaced && at > 0 {
            rows.push(Line::default());
        }
        let marker = match list.start {
            Some(start) => format!("{}. ", start.saturating_add(at)),
            None => "- ".to_owned(),
        };
        rows.extend(item_rows(item, marker, place));
    }
    rows
}

fn item_rows(item: &Item, marker: String, place: Place<'_>) -> Vec<Line<'static>> {
    let mut markers = vec![Span::styled(marker, place.style(Role::Dim))];
    markers.extend(item.task.map(|done| match done {
        true => Span::styled("[x] ", place.style(Role::Success)),
        false => Span::styled("[ ] ", place.style(Role::Dim)),
    }));
    let columns = markers.iter().map(|marker| text::width(&marker.content)).sum();
    let (inner, columns) = place.inner(columns);
    let mut content = rows(&item.nodes, inner, Spacing::AsWritten);
    if columns == 0 {
        return content;
    }
    if content.is_empty() {
        content.push(Line::default());
    }
    let indent = vec![Span::raw(" ".repeat(columns))];
    let mut prefixes = vec![markers].into_iter();
    let mut next_prefix = || prefixes.next().unwrap_or_else(|| indent.clone());
    content.into_iter().map(|row| prefixed(next_prefix(), row)).collect()
}

/// Source that is shown as it is. Its lines keep their indentation.
fn verbatim(source: &str, place: Place<'_>) -> Vec<Line<'static>> {
    let source = text::plain(source);
    let lines = source.trim_matches('\n').lines();
    let lines = lines.map(|line| Line::styled(line.trim_end().to_owned(), place.base));
    lines.flat_map(|line| text::wrap(styled_spans(line), place.width, 0)).collect()
}

/// A line whose style is that of its spans, so that it can stand behind a prefix.
fn styled_spans(line: Line<'static>) -> Line<'static> {
    let style = line.style;
    Line::from(line.spans.into_iter().map(|span| span.style(style)).collect::<Vec<_>>())
}
