//! A line of text that is typed in a dialog.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ona_editor::{Edit, Editor};
use ona_render::highlight::Look;
use ona_render::text::{plain, truncate_start, width};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

/// A text field of one line.
#[derive(Clone, Debug, Default)]
pub struct TextField(Editor);

/// Wide enough that nothing wraps.
const UNWRAPPED: u16 = u16::MAX;

impl TextField {
    /// A field with this text.
    pub fn new(text: &str) -> Self {
        let mut editor = Editor::new();
        editor.insert(text);
        Self(editor)
    }

    /// The text.
    pub fn text(&self) -> String {
        self.0.text()
    }

    /// A key; `false` if it is none of a text field.
    pub fn press(&mut self, key: &KeyEvent) -> bool {
        let ctrl = key.modifiers.contains(KeyModifiers::CONTROL);
        let alt = key.modifiers.contains(KeyModifiers::ALT);
        let edit = match key.code {
            KeyCode::Backspace if alt || ctrl => Edit::DeleteWordBackward,
            KeyCode::Backspace => Edit::DeleteCharBackward,
            KeyCode::Delete => Edit::DeleteCharForward,
            KeyCode::Left if ctrl || alt => Edit::WordLeft,
            KeyCode::Right if ctrl || alt => Edit::WordRight,
            KeyCode::Left => Edit::CharLeft,
            KeyCode::Right => Edit::CharRight,
            KeyCode::Home => Edit::LineStart,
            KeyCode::End => Edit::LineEnd,
            KeyCode::Char('a') if ctrl => Edit::LineStart,
            KeyCode::Char('e') if ctrl => Edit::LineEnd,
            KeyCode::Char('u') if ctrl => Edit::KillToLineStart,
            KeyCode::Char('k') if ctrl => Edit::KillToLineEnd,
            KeyCode::Char('w') if ctrl => Edit::DeleteWordBackward,
            KeyCode::Char('y') if ctrl => Edit::Yank,
            KeyCode::Char(letter) if !ctrl && !alt => {
                self.0.insert(letter.encode_utf8(&mut [0; 4]));
                return true;
            }
            _ => return false,
        };
        self.0.apply(edit, UNWRAPPED);
        true
    }

    /// Pasted text: its lines become one.
    pub fn paste(&mut self, text: &str) {
        let line = text.lines().collect::<Vec<_>>().join(" ");
        self.0.insert(&line);
    }

    /// The row after a label, and the column of the cursor.
    pub fn row(&self, label: &str, columns: usize, look: &Look<'_>) -> (Line<'static>, usize) {
        let label = plain(label).into_owned();
        let room = columns.saturating_sub(width(&label) + 1).max(1);
        let before = truncate_start(&plain(&self.0.before_cursor()), room);
        let all = plain(&self.0.shown()).into_owned();
        let after: String = all.chars().skip(self.0.before_cursor().chars().count()).collect();
        let column = width(&label) + width(&before);
        let line = Line::from(vec![
            Span::styled(label, look.theme.style(Role::Accent)),
            Span::raw(before),
            Span::raw(ona_render::text::truncate(&after, columns.saturating_sub(column + 1))),
        ]);
        (line, column)
    }
}
