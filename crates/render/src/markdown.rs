//! Markdown as rows of a terminal.
//!
//! CommonMark with the tables, the strikethrough and the task lists of GitHub. A document is drawn piece by piece, as
//! [`crate::stream`] cuts it, so that text which is still arriving looks as the whole will.

mod layout;
mod painter;
mod parse;
mod table;

#[cfg(test)]
mod tests;

use ratatui::text::Line;

pub use painter::Painter;
pub(crate) use parse::{is_spaced, parser};

pub use crate::highlight::Look;
use crate::stream::{MarkdownStream, Piece};

/// The rows of a document: one blank row between blocks, none at the ends, none wider than the width.
pub fn render(source: &str, width: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    let mut stream = MarkdownStream::new();
    stream.push(source);
    stream.finish();
    let mut painter = Painter::new(width);
    let mut rows = Vec::new();
    let mut pieces = stream.take_finished().into_iter();
    while let Some(piece) = pieces.next() {
        match piece {
            // The whole block is at hand, and may have been highlighted before.
            Piece::CodeStart { language } => {
                let lines: Vec<String> = pieces
                    .by_ref()
                    .map_while(|piece| match piece {
                        Piece::CodeLine(line) => Some(line),
                        _ => None,
                    })
                    .collect();
                rows.extend(painter.paint_code(&language, &lines, look));
            }
            piece => rows.extend(painter.paint(&piece, look)),
        }
    }
    rows
}

/// The language that the info string of a code block names.
pub(crate) fn language_of_info(info: &str) -> &str {
    let ends = |c: char| c.is_whitespace() || matches!(c, ',' | '{' | '}');
    info.trim_start_matches(['{', '.', ' ']).split(ends).next().unwrap_or("")
}

/// The rows of a document that the parser reads as one.
#[cfg(test)]
pub(crate) fn render_at_once(source: &str, width: usize, look: &Look<'_>) -> Vec<Line<'static>> {
    layout::document(&parse::parse(source), layout::Place::top(look, width))
}
