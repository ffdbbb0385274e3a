//! Commands in NORMAL and VISUAL mode, carried out.

use unicode_segmentation::UnicodeSegmentation;

use super::super::content::Content;
use super::super::words::{Class, class};
use super::super::{Edit, Editor, Outcome};
use super::motion::{first_non_blank, landing};
use super::object::{Extent, extent};
use super::operate::characters;
use super::parse::{Command, InsertAt, Motion, Operator, Target, Verb};
use super::{Mode, Register, Repeatable, Vim, VimOutcome};

/// How much text a count may make.
const MAX_REPEATED: usize = 1 << 20;

/// This many copies, or as many as are sensible.
fn copies(content: &Content, count: usize) -> Content {
    let most = MAX_REPEATED / content.len().max(1);
    content.repeated(count.min(most.max(1)))
}

impl Vim {
    pub(super) fn execute(
        &mut self,
        editor: &mut Editor,
        command: Command,
        width: u16,
    ) -> VimOutcome {
        let count = command.count.unwrap_or(1);
        match command.verb {
            Verb::Move(motion @ (Motion::Up | Motion::Down)) => {
                return self.vertical(editor, motion == Motion::Down, count, width);
            }
            Verb::Move(motion) => self.go(editor, motion, command.count),
            Verb::Undo | Verb::Redo => {
                let edit = if command.verb == Verb::Undo { Edit::Undo } else { Edit::Redo };
                for _ in 0..count {
                    if editor.apply(edit, width) == Outcome::Nothing {
                        break;
                    }
                }
            }
            Verb::Repeat => self.repeat(editor, command.count),
            Verb::Select { lines } => self.select(editor, lines),
            Verb::SelectObject(object) => {
                if let Some(found) = extent(&editor.content, editor.cursor, object, count) {
                    self.anchor = found.range.start;
                    self.mode = if found.lines { Mode::VisualLines } else { self.mode };
                    editor.move_to(editor.content.previous(found.range.end).max(self.anchor));
                }
            }
            Verb::OtherEnd => {
                let other = std::mem::replace(&mut self.anchor, editor.cursor);
                editor.move_to(other);
            }
            _ => self.change(editor, command),
        }
        VimOutcome::Handled
    }

    /// By rows of the screen, as the arrow keys do without vim.
    fn vertical(&self, editor: &mut Editor, down: bool, count: usize, width: u16) -> VimOutcome {
        let edit = if down { Edit::Down } else { Edit::Up };
        for step in 0..count {
            match editor.apply(edit, width) {
                Outcome::Moved => {}
                _ if step > 0 || self.mode != Mode::Normal => break,
                _ if down => return VimOutcome::HistoryNext,
                _ => return VimOutcome::HistoryPrevious,
            }
        }
        VimOutcome::Handled
    }

    fn go(&mut self, editor: &mut Editor, motion: Motion, count: Option<usize>) {
        let Some(landing) = landing(&editor.content, editor.cursor, motion, count, self.found)
        else {
            return;
        };
        self.note_search(motion);
        editor.move_to(landing.at);
        if motion == Motion::LineEnd {
            // Up and down then keep to the ends of lines.
            editor.goal = Some(usize::MAX);
        }
    }

    pub(super) fn note_search(&mut self, motion: Motion) {
        if let Motion::Find(find) = motion {
            self.found = Some(find);
        }
    }

    /// Makes the last change again; a count replaces its own.
    fn repeat(&mut self, editor: &mut Editor, count: Option<usize>) {
        let Some(Repeatable { command, typed }) = self.change.clone() else { return };
        self.change(editor, Command { count: count.or(command.count), ..command });
        if self.mode == Mode::Insert {
            editor.change(editor.cursor..editor.cursor, &typed);
            self.leave_insert(editor);
        }
    }

    fn select(&mut self, editor: &mut Editor, lines: bool) {
        let mode = if lines { Mode::VisualLines } else { Mode::Visual };
        if self.mode == Mode::Normal {
            self.anchor = editor.cursor;
        }
        if self.mode == mode {
            self.leave_visual(editor);
        } else {
            self.mode = mode;
        }
    }

    /// What is selected.
    pub(super) fn selected(&self, editor: &Editor) -> Option<Extent> {
        let content = &editor.content;
        let (start, end) = (self.anchor.min(editor.cursor), self.anchor.max(editor.cursor));
        match self.mode {
            Mode::Insert | Mode::Normal => None,
            Mode::Visual => Some(Extent { range: start..content.next(end), lines: false }),
            Mode::VisualLines => Some(Extent {
                range: content.line_start(start)..content.line_end(end),
                lines: true,
            }),
        }
    }

    pub(super) fn leave_visual(&mut self, editor: &mut Editor) {
        self.mode = Mode::Normal;
        editor.selection = None;
    }

    /// Makes a change, as one step to undo, and keeps it for `.`.
    fn change(&mut self, editor: &mut Editor, command: Command) {
        editor.undo.open();
        let made = match self.selected(editor) {
            Some(selected) => {
                self.leave_visual(editor);
                self.change_selected(editor, command, selected)
            }
            None => self.change_here(editor, command).then_some(command),
        };
        if self.mode == Mode::Insert {
            // It ends with Escape, and is kept then.
            editor.restart_insertion();
            self.inserting = made;
            return;
        }
        editor.undo.close();
        let yanks = |command: &Command| matches!(command.verb, Verb::Operate(Operator::Yank, _));
        if let Some(command) = made.filter(|command| !yanks(command)) {
            self.change = Some(Repeatable { command, typed: Content::default() });
        }
    }

    /// To NORMAL mode. What was typed is repeated as the count of the command says.
    pub(super) fn leave_insert(&mut self, editor: &mut Editor) {
        self.mode = Mode::Normal;
        if let Some(command) = self.inserting.take() {
            let typed = editor.content.slice(editor.insertion.clone());
            let more = command.count.unwrap_or(1).saturating_sub(1);
            if let Verb::Insert(place) = command.verb
                && more > 0
                && !typed.is_empty()
            {
                let mut piece = Content::default();
                if matches!(place, InsertAt::LineBelow | InsertAt::LineAbove) {
                    piece.append(&"\n".into());
                }
                piece.append(&typed);
                let end = editor.insertion.end;
                editor.change(end..end, &copies(&piece, more));
            }
            self.change = Some(Repeatable { command, typed });
        }
        editor.undo.close();
        let at = editor.cursor;
        let left =
            if at > editor.content.line_start(at) { editor.content.previous(at) } else { at };
        editor.move_to(left);
    }

    /// A change at the cursor. Says whether it was made.
    fn change_here(&mut self, editor: &mut Editor, command: Command) -> bool {
        let count = command.count.unwrap_or(1);
        let at = editor.cursor;
        match command.verb {
            Verb::Operate(operator, target) => {
                let Some(extent) =
                    self.target(&editor.content, at, operator, (target, command.count))
                else {
                    return false;
                };
                self.operate(editor, operator, &extent)
            }
            Verb::Insert(place) => {
                self.insert_at(editor, place);
                true
            }
            Verb::Paste { before } => self.paste(editor, before, count),
            Verb::Join => join(editor, count),
            Verb::SwapCase => {
                let end = characters(&editor.content, at, count, editor.content.line_end(at));
                let swapped = editor.content.slice(at..end).mapped(swap_case);
                editor.change(at..end, &swapped);
                end > at
            }
            Verb::Replace(letter) => {
                let line_end = editor.content.line_end(at);
                let end = characters(&editor.content, at, count, line_end);
                // Not fewer characters than the count says.
                if editor.content.raw()[at..end].graphemes(true).count() < count {
                    return false;
                }
                let many = if letter == '\n' { 1 } else { count };
                editor.change(at..end, &letter.to_string().repeat(many).as_str().into());
                if letter != '\n' {
                    editor.move_to(editor.content.previous(editor.cursor));
                }
                true
            }
            _ => false,
        }
    }

    /// A change of what was selected. Gives the command that does the same from the cursor.
    fn change_selected(
        &mut self,
        editor: &mut Editor,
        command: Command,
        selected: Extent,
    ) -> Option<Command> {
        let part = &editor.content.raw()[selected.range.clone()];
        let lines = part.matches('\n').count() + 1;
        let length = part.graphemes(true).count();
        let start = selected.range.start;
        let (count, verb) = match command.verb {
            Verb::OperateSelection(operator) => {
                if !self.operate(editor, operator, &selected) {
                    return None;
                }
                let by_lines =
                    selected.lines || matches!(operator, Operator::Indent | Operator::Outdent);
                let target = if by_lines { Target::Lines } else { Target::Characters };
                (if by_lines { lines } else { length }, Verb::Operate(operator, target))
            }
            Verb::Join => {
                editor.move_to(start);
                join(editor, lines);
                (lines, Verb::Join)
            }
            Verb::SwapCase => {
                let swapped = editor.content.slice(selected.range.clone()).mapped(swap_case);
                editor.change(selected.range, &swapped);
                editor.move_to(start);
                (length, Verb::SwapCase)
            }
            Verb::Replace(letter) => {
                let letter = letter.to_string();
                let graphemes = part.graphemes(true);
                let replaced: String =
                    graphemes.map(|old| if old == "\n" { old } else { letter.as_str() }).collect();
                editor.change(selected.range, &replaced.as_str().into());
                editor.move_to(start);
                (length, command.verb)
            }
            _ => return None,
        };
        Some(Command { count: Some(count), verb })
    }

    fn insert_at(&mut self, editor: &mut Editor, place: InsertAt) {
        let (at, content) = (editor.cursor, &editor.content);
        let (start, end) = (content.line_start(at), content.line_end(at));
        match place {
            InsertAt::Cursor => {}
            InsertAt::AfterCursor => editor.move_to(content.next(at).min(end)),
            InsertAt::LineStart => editor.move_to(first_non_blank(content, at)),
            InsertAt::LineEnd => editor.move_to(end),
            InsertAt::LineBelow => editor.change(end..end, &"\n".into()),
            InsertAt::LineAbove => {
                editor.change(start..start, &"\n".into());
                editor.move_to(start);
            }
        }
        self.mode = Mode::Insert;
    }

    fn paste(&self, editor: &mut Editor, before: bool, count: usize) -> bool {
        let (at, content) = (editor.cursor, &editor.content);
        let Register { content: kept, lines } = &self.register;
        if kept.is_empty() && !lines {
            return false;
        }
        let (start, end) = (content.line_start(at), content.line_end(at));
        let mut pasted = Content::default();
        match (*lines, before) {
            (true, true) => {
                pasted.append(kept);
                pasted.append(&"\n".into());
                editor.change(start..start, &copies(&pasted, count));
                editor.move_to(first_non_blank(&editor.content, start));
            }
            (true, false) => {
                pasted.append(&"\n".into());
                pasted.append(kept);
                editor.change(end..end, &copies(&pasted, count));
                editor.move_to(first_non_blank(&editor.content, end + 1));
            }
            (false, before) => {
                let place = if before { at } else { content.next(at).min(end) };
                editor.change(place..place, &copies(kept, count));
                // On the last character; of several lines, on the first.
                let last = editor.content.previous(editor.cursor);
                editor.move_to(if kept.raw().contains('\n') { place } else { last });
            }
        }
        true
    }
}

/// Joins lines, with one space between them.
fn join(editor: &mut Editor, count: usize) -> bool {
    let mut joined = false;
    for _ in 1..count.max(2) {
        let content = &editor.content;
        let (start, end) = (content.line_start(editor.cursor), content.line_end(editor.cursor));
        if end == content.len() {
            break;
        }
        let next = first_non_blank(content, end + 1);
        let no_space = end == start
            || class(content, content.previous(end)) == Class::Blank
            || next == content.line_end(next)
            || content.grapheme(next) == ")";
        editor.change(end..next, &if no_space { "" } else { " " }.into());
        editor.move_to(end);
        joined = true;
    }
    joined
}

fn swap_case(text: &str) -> String {
    let mut swapped = String::with_capacity(text.len());
    for letter in text.chars() {
        if letter.is_uppercase() {
            swapped.extend(letter.to_lowercase());
        } else {
            swapped.extend(letter.to_uppercase());
        }
    }
    swapped
}
