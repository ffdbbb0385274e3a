//! Operators: what they act on, and what they do to it (`:help operator`).

use super::super::Editor;
use super::super::content::Content;
use super::super::words::{Class, class};
use super::motion::{Reach, first_non_blank, landing, lines_away, word_end_here};
use super::object::{Extent, extent};
use super::parse::{Motion, Operator, Target};
use super::{Mode, Register, Vim};

/// What `>` indents by.
const INDENT: &str = "  ";

impl Vim {
    /// What an operator acts on.
    pub(super) fn target(
        &mut self,
        content: &Content,
        at: usize,
        operator: Operator,
        (target, count): (Target, Option<usize>),
    ) -> Option<Extent> {
        let many = count.unwrap_or(1);
        let motion = match target {
            Target::Motion(motion) => motion,
            Target::Object(object) => return extent(content, at, object, many),
            Target::Lines => {
                let last = lines_away(content, at, many.saturating_sub(1), true);
                return Some(whole_lines(content, at, last));
            }
            Target::Characters => {
                let range = at..characters(content, at, many, content.len());
                return Some(Extent { range, lines: false });
            }
        };
        if let (Operator::Change, Motion::WordStart { big }) = (operator, motion)
            && class(content, at) != Class::Blank
        {
            // A word is changed without the white space after it.
            let mut last = word_end_here(content, at, big);
            if many > 1 {
                let ends = Motion::WordEnd { big };
                last = landing(content, last, ends, Some(many - 1), None)?.at;
            }
            return Some(Extent { range: at..content.next(last), lines: false });
        }
        let end = landing(content, at, motion, count, self.found)?;
        self.note_search(motion);
        let (first, last) = (at.min(end.at), at.max(end.at));
        Some(match end.reach {
            Reach::Lines => whole_lines(content, first, last),
            Reach::Inclusive => Extent { range: first..content.next(last), lines: false },
            Reach::Exclusive => exclusive(content, motion, first, last),
        })
    }

    /// Does something to a part of the text. Says whether there was something to do.
    pub(super) fn operate(
        &mut self,
        editor: &mut Editor,
        operator: Operator,
        extent: &Extent,
    ) -> bool {
        let Extent { range, lines } = extent;
        let empty = range.is_empty() && !lines;
        match operator {
            Operator::Change => {
                if !empty {
                    self.keep(editor, extent);
                }
                editor.change(range.clone(), &Content::default());
                self.mode = Mode::Insert;
            }
            _ if empty => return false,
            Operator::Delete => {
                self.keep(editor, extent);
                let content = &editor.content;
                // Of lines, one newline goes too: the one after, or at the end of the text the one before.
                let removed = match (*lines, range.end < content.len(), range.start > 0) {
                    (true, true, _) => range.start..range.end + 1,
                    (true, false, true) => range.start - 1..range.end,
                    _ => range.clone(),
                };
                editor.change(removed, &Content::default());
                if *lines {
                    let start = range.start.min(editor.content.len());
                    editor.move_to(first_non_blank(&editor.content, start));
                }
            }
            Operator::Yank => {
                self.keep(editor, extent);
                // Lines below the cursor leave it where it is.
                if !lines || range.start < editor.content.line_start(editor.cursor) {
                    editor.move_to(range.start);
                }
            }
            Operator::Indent | Operator::Outdent => {
                let all = whole_lines(&editor.content, range.start, range.end).range;
                let shift = if operator == Operator::Indent { indented } else { outdented };
                let shifted = editor
                    .content
                    .slice(all.clone())
                    .mapped(|text| text.split('\n').map(shift).collect::<Vec<_>>().join("\n"));
                let start = all.start;
                editor.change(all, &shifted);
                editor.move_to(first_non_blank(&editor.content, start));
            }
        }
        true
    }

    /// Keeps a part to be pasted.
    fn keep(&mut self, editor: &Editor, extent: &Extent) {
        let content = editor.content.slice(extent.range.clone());
        self.register = Register { content, lines: extent.lines };
    }
}

fn whole_lines(content: &Content, first: usize, last: usize) -> Extent {
    Extent { range: content.line_start(first)..content.line_end(last), lines: true }
}

/// The end of some characters, not after a limit.
pub(super) fn characters(content: &Content, from: usize, count: usize, limit: usize) -> usize {
    let mut at = from;
    for _ in 0..count {
        if at >= limit {
            break;
        }
        at = content.next(at);
    }
    at.min(limit)
}

/// What a motion covers that does not take the character at its end (`:help exclusive`).
fn exclusive(content: &Content, motion: Motion, first: usize, last: usize) -> Extent {
    let line = content.line_start(last);
    let crosses = line > first;
    let only_blanks = |from, to| (first_non_blank(content, from)) >= to;
    match motion {
        // A word at the end of a line does not take the newline.
        Motion::WordStart { .. } if crosses && only_blanks(last, last) => {
            Extent { range: first..line - 1, lines: false }
        }
        // An end at the start of a line goes back to the end of the line before; and with nothing before the start,
        // whole lines are taken.
        Motion::WordBack { .. } if crosses && last == line => {
            let range = first..line - 1;
            match only_blanks(first, first) {
                true => whole_lines(content, range.start, range.end),
                false => Extent { range, lines: false },
            }
        }
        _ => Extent { range: first..last, lines: false },
    }
}

fn indented(line: &str) -> String {
    if line.is_empty() { String::new() } else { format!("{INDENT}{line}") }
}

fn outdented(line: &str) -> String {
    if let Some(rest) = line.strip_prefix('\t') {
        return rest.to_owned();
    }
    let spaces = line.chars().take(INDENT.len()).take_while(|letter| *letter == ' ').count();
    line[spaces..].to_owned()
}
