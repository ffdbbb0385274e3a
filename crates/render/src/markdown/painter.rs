//! The pieces of a document as rows, one after the other.

use ratatui::text::Line;

use super::layout::{self, Place};
use super::parse::{self, Block, Node};
use crate::highlight::{HighlightState, Look};
use crate::stream::Piece;

/// Draws the pieces of one document, in their order. The blank rows between them come out as in the whole.
#[derive(Clone, Debug)]
pub struct Painter {
    width: usize,
    /// Whether rows have been drawn.
    started: bool,
    code: Option<HighlightState>,
    /// Whether the code block that is open has rows.
    code_started: bool,
}

impl Painter {
    /// For the pieces of a document that begins here.
    pub fn new(width: usize) -> Self {
        Self { width: width.max(1), started: false, code: None, code_started: false }
    }

    /// The rows of the next piece.
    pub fn paint(&mut self, piece: &Piece, look: &Look<'_>) -> Vec<Line<'static>> {
        match piece {
            Piece::Block(source) => {
                let rows = self.draw(&parse::parse(source), look);
                self.apart(rows, true)
            }
            Piece::Items { source, start, spaced } => {
                let mut nodes = parse::parse(source);
                if let Some(Node { block: Block::List(list), .. }) = nodes.first_mut() {
                    list.start = *start;
                }
                let rows = self.draw(&nodes, look);
                self.apart(rows, *spaced)
            }
            Piece::CodeStart { language } => {
                self.code = Some(look.highlighter.begin(language));
                self.code_started = false;
                Vec::new()
            }
            Piece::CodeLine(line) => {
                let mut state = self.code.take().unwrap_or_else(|| look.highlighter.begin(""));
                let rows = layout::code_line(&state.line(line), look, self.width);
                self.code = Some(state);
                let first = !std::mem::replace(&mut self.code_started, true);
                self.apart(rows, first)
            }
            Piece::CodeEnd => {
                self.code = None;
                Vec::new()
            }
        }
    }

    /// The rows of a code block of which all lines are known.
    pub(super) fn paint_code(
        &mut self,
        language: &str,
        lines: &[String],
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        let mut code = lines.join("\n");
        code.push('\n');
        let block = Block::Code { language: language.to_owned(), code };
        match lines.is_empty() {
            true => Vec::new(),
            false => {
                let rows = self.draw(&[Node { block, spaced: true }], look);
                self.apart(rows, true)
            }
        }
    }

    fn draw(&self, nodes: &[Node], look: &Look<'_>) -> Vec<Line<'static>> {
        layout::document(nodes, Place::top(look, self.width))
    }

    /// Rows, with a blank one before them if they should stand apart from what was drawn before.
    fn apart(&mut self, mut rows: Vec<Line<'static>>, apart: bool) -> Vec<Line<'static>> {
        if !rows.is_empty() {
            if apart && self.started {
                rows.insert(0, Line::default());
            }
            self.started = true;
        }
        rows
    }
}
