//! Vim's modes for the editor: INSERT, NORMAL and VISUAL.
//!
//! Keys in NORMAL and VISUAL mode are collected until they are a command (`parse.rs`), which is then carried out
//! (`execute.rs`). In INSERT mode only Escape is vim's: everything else is the business of the keymap and the editor.

mod execute;
mod motion;
mod object;
mod operate;
mod parse;
#[cfg(test)]
mod tests;

use crossterm::event::KeyEvent;

use crate::keymap::{Key, KeyName};

use super::Editor;
use super::content::Content;
use parse::{CTRL_R, Command, Find, Parsed};

/// What keys do.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Mode {
    /// They are text.
    #[default]
    Insert,
    /// They are commands.
    Normal,
    /// They are commands about the selected characters.
    Visual,
    /// They are commands about the selected lines.
    VisualLines,
}

impl Mode {
    /// The name for the status line.
    pub fn label(self) -> &'static str {
        match self {
            Self::Insert => "INSERT",
            Self::Normal => "NORMAL",
            Self::Visual => "VISUAL",
            Self::VisualLines => "VISUAL LINE",
        }
    }
}

/// What became of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum VimOutcome {
    /// It was vim's, even if it did nothing.
    Handled,
    /// Up from the first row: time to go back in the history.
    HistoryPrevious,
    /// Down from the last row: time to go forward in the history.
    HistoryNext,
    /// It means nothing to vim. It is for the keymap; as text it may be inserted in INSERT mode only.
    Unhandled,
}

/// The state of vim's modes. It starts in INSERT mode.
#[derive(Debug, Clone, Default)]
pub struct Vim {
    mode: Mode,
    /// The keys of a command that is not complete.
    keys: Vec<char>,
    register: Register,
    /// The last search for a character in the line.
    found: Option<Find>,
    /// The last change.
    change: Option<Repeatable>,
    /// The command that began INSERT mode.
    inserting: Option<Command>,
    /// The other end of the selection.
    anchor: usize,
}

/// What was deleted or yanked last.
#[derive(Debug, Clone, Default)]
struct Register {
    content: Content,
    /// Whole lines, without the last newline.
    lines: bool,
}

/// A change that `.` makes again.
#[derive(Debug, Clone)]
struct Repeatable {
    command: Command,
    /// What was typed after it.
    typed: Content,
}

/// Keys without a letter that act like one.
const LETTERS: &[(KeyName, char)] = &[
    (KeyName::Left, 'h'),
    (KeyName::Right, 'l'),
    (KeyName::Up, 'k'),
    (KeyName::Down, 'j'),
    (KeyName::Home, '|'),
    (KeyName::End, '$'),
    (KeyName::Backspace, 'h'),
    (KeyName::Delete, 'x'),
];

impl Vim {
    /// In INSERT mode.
    pub fn new() -> Self {
        Self::default()
    }

    /// What keys do now.
    pub fn mode(&self) -> Mode {
        self.mode
    }

    /// The keys of a command that is not complete, such as `2d`.
    pub fn pending(&self) -> String {
        self.keys.iter().collect()
    }

    /// Back to INSERT mode, as for a new prompt. The register and the last change stay.
    pub fn reset(&mut self) {
        self.mode = Mode::Insert;
        self.keys.clear();
        self.inserting = None;
    }

    /// Takes a key. The width is the one that the text is shown with.
    pub fn press(&mut self, editor: &mut Editor, event: &KeyEvent, width: u16) -> VimOutcome {
        let Some(key) = Key::of(event) else { return VimOutcome::Unhandled };
        let escape = key == Key::plain(KeyName::Escape);
        if self.mode == Mode::Insert {
            if escape {
                self.leave_insert(editor);
                return VimOutcome::Handled;
            }
            return VimOutcome::Unhandled;
        }
        self.settle(editor);
        if escape {
            return self.escape(editor);
        }
        let Some(letter) = self.letter(key) else {
            self.keys.clear();
            return VimOutcome::Unhandled;
        };
        self.keys.push(letter);
        let parsed = match self.mode {
            Mode::Visual | Mode::VisualLines => parse::visual(&self.keys),
            Mode::Insert | Mode::Normal => parse::normal(&self.keys),
        };
        match parsed {
            Parsed::Incomplete => VimOutcome::Handled,
            Parsed::Unknown => {
                let begun = self.keys.len() > 1;
                self.keys.clear();
                if begun { VimOutcome::Handled } else { VimOutcome::Unhandled }
            }
            Parsed::Command(command) => {
                self.keys.clear();
                let outcome = self.execute(editor, command, width);
                self.settle(editor);
                outcome
            }
        }
    }

    /// Outside INSERT mode the cursor is on a character, not after the line. To call when the text was replaced.
    pub fn settle(&mut self, editor: &mut Editor) {
        if self.mode == Mode::Insert {
            return;
        }
        let (at, content) = (editor.cursor, &editor.content);
        if at > content.line_start(at) && at == content.line_end(at) {
            // Not a move: the column of moving up and down stays.
            editor.cursor = content.previous(at);
        }
        self.anchor = content.snapped(self.anchor);
        editor.selection = self.selected(editor).map(|extent| extent.range);
    }

    /// The character that a key stands for in a command.
    fn letter(&self, key: Key) -> Option<char> {
        if let Some(letter) = key.typed() {
            return Some(letter);
        }
        if key == Key::ctrl('r') {
            return Some(CTRL_R);
        }
        let awaits_any = matches!(self.keys.last(), Some('f' | 'F' | 't' | 'T' | 'r'));
        match key {
            _ if key == Key::plain(KeyName::Enter) && awaits_any => Some('\n'),
            _ if key == Key::plain(KeyName::Tab) && awaits_any => Some('\t'),
            _ if awaits_any => None,
            _ => {
                let plain = |(name, _): &&(KeyName, char)| key == Key::plain(*name);
                LETTERS.iter().find(plain).map(|(_, letter)| *letter)
            }
        }
    }

    fn escape(&mut self, editor: &mut Editor) -> VimOutcome {
        if self.mode == Mode::Normal && self.keys.is_empty() {
            return VimOutcome::Unhandled;
        }
        self.keys.clear();
        self.leave_visual(editor);
        VimOutcome::Handled
    }
}
