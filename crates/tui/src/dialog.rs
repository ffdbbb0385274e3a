//! Questions to the user, each over the prompt: permissions, plans, questions of the model, forms, trust, sign-in.

mod choices;
mod form;
mod input;
mod permission;
mod question;
mod scrolled;

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ona_front::{AskRequest, HumanAnswer, Wants};
use ona_render::highlight::Look;
use ratatui::text::Line;

use choices::Confirm;
use form::FormDialog;
use permission::PermissionDialog;
use question::QuestionDialog;

/// What stands before words for the agent.
const NO_WITH_WORDS: &str = "No, and tell the agent: ";
/// What the agent is told of a question that is declined without words.
pub(crate) const DECLINED: &str = "the user declined to answer";

/// An open question.
#[derive(Clone, Debug)]
pub enum Dialog {
    /// Whether a call may run, or a plan is approved.
    Permission(Box<PermissionDialog>),
    /// Questions of the model.
    Question(Box<QuestionDialog>),
    /// A form of a server, or the code of a sign-in.
    Form(Box<FormDialog>),
    /// Yes or no.
    Confirm(Confirm),
}

/// What a key has done to a dialog.
#[derive(Clone, Debug, PartialEq)]
pub enum DialogOutcome {
    /// It is still open.
    Open,
    /// This is the answer.
    Answered(HumanAnswer),
}

/// The rows of a dialog, and the cursor among them if a text is typed.
#[derive(Clone, Debug, Default)]
pub struct DialogRows {
    /// The rows.
    pub rows: Vec<Line<'static>>,
    /// The row and column of the cursor.
    pub cursor: Option<(usize, usize)>,
}

impl Dialog {
    /// The dialog of a question.
    pub fn new(request: AskRequest) -> Self {
        match request.wants {
            Wants::Permission => Self::Permission(Box::new(PermissionDialog::new(request))),
            Wants::Answers => Self::Question(Box::new(QuestionDialog::new(&request))),
            Wants::Form if request.input["url"].is_string() => {
                let url = request.input["url"].as_str().unwrap_or_default().to_owned();
                Self::Confirm(Confirm::page(&request, &url))
            }
            Wants::Form => Self::Form(Box::new(FormDialog::of_server(&request))),
            Wants::Code => Self::Form(Box::new(FormDialog::code(&request))),
            Wants::Trust => Self::Confirm(Confirm::trust(&request)),
            Wants::Unread => Self::Confirm(Confirm::unread(&request)),
        }
    }

    /// Whether letters are text in it now.
    pub fn is_typing(&self) -> bool {
        match self {
            Self::Permission(dialog) => dialog.is_typing(),
            Self::Question(dialog) => dialog.is_typing(),
            Self::Form(_) => true,
            Self::Confirm(_) => false,
        }
    }

    /// Whether a letter or a digit is an answer now.
    pub fn answers(&self, key: &KeyEvent) -> bool {
        let Some(letter) = letter(key).filter(|_| !self.is_typing()) else { return false };
        match self {
            Self::Permission(dialog) => dialog.takes(letter),
            Self::Question(dialog) => dialog.takes(letter),
            Self::Form(_) => false,
            Self::Confirm(_) => matches!(letter, 'y' | 'Y' | 'n' | 'N' | '1' | '2'),
        }
    }

    /// Whether a letter or a digit goes through the options, or toggles one.
    pub fn steps(&self, key: &KeyEvent) -> bool {
        let Self::Question(dialog) = self else { return false };
        letter(key).is_some_and(|letter| dialog.steps(letter))
    }

    /// A key.
    pub fn press(&mut self, key: &KeyEvent) -> DialogOutcome {
        match self {
            Self::Permission(dialog) => dialog.press(key),
            Self::Question(dialog) => dialog.press(key),
            Self::Form(dialog) => dialog.press(key),
            Self::Confirm(dialog) => dialog.press(key),
        }
    }

    /// Pasted text.
    pub fn paste(&mut self, text: &str) {
        match self {
            Self::Permission(dialog) => dialog.paste(text),
            Self::Question(dialog) => dialog.paste(text),
            Self::Form(dialog) => dialog.paste(text),
            Self::Confirm(_) => {}
        }
    }

    /// The rows, at most so many.
    pub fn rows(&self, columns: usize, most: usize, look: &Look<'_>) -> DialogRows {
        match self {
            Self::Permission(dialog) => dialog.rows(columns, most, look),
            Self::Question(dialog) => dialog.rows(columns, most, look),
            Self::Form(dialog) => dialog.rows(columns, most, look),
            Self::Confirm(dialog) => dialog.rows(columns, most, look),
        }
    }
}

/// A key without modifiers other than shift, as a letter.
pub(crate) fn letter(key: &KeyEvent) -> Option<char> {
    let plain = key.modifiers.difference(KeyModifiers::SHIFT).is_empty();
    match key.code {
        KeyCode::Char(letter) if plain => Some(letter),
        _ => None,
    }
}

/// Whether a key is Ctrl and this letter.
pub(crate) fn is_ctrl(key: &KeyEvent, letter: char) -> bool {
    key.code == KeyCode::Char(letter) && key.modifiers.contains(KeyModifiers::CONTROL)
}
