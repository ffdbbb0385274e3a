//! Questions of the model: one after the other, each with its options and an answer of one's own.

use crossterm::event::{KeyCode, KeyEvent};
use ona_front::{AskRequest, HumanAnswer, Question, answered, questions};
use ona_render::highlight::Look;
use ona_render::text::{expand_tabs, fold_blank_lines, plain, truncate, width, wrap};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::scrolled::Scrolled;
use super::{DECLINED, DialogOutcome, DialogRows, NO_WITH_WORDS, is_ctrl, letter};
use crate::field::TextField;

/// What stands last among the options.
const OTHER: &str = "Other";

/// What words are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum For {
    /// An answer of one's own.
    Other,
    /// A no, with words for the agent.
    No,
}

/// Questions of the model.
#[derive(Clone, Debug)]
pub struct QuestionDialog {
    input: Value,
    questions: Vec<Question>,
    answers: Vec<(String, String)>,
    selected: usize,
    /// The options that are chosen, of several.
    chosen: Vec<bool>,
    /// What is typed, and what it is for.
    typed: Option<(For, TextField)>,
    /// Enter was pressed, and nothing is chosen.
    nothing_chosen: bool,
    scrolled: Scrolled,
}

impl QuestionDialog {
    pub(super) fn new(request: &AskRequest) -> Self {
        let questions = questions(&request.input);
        let mut dialog = Self {
            input: request.input.clone(),
            questions,
            answers: Vec::new(),
            selected: 0,
            chosen: Vec::new(),
            typed: None,
            nothing_chosen: false,
            scrolled: Scrolled::default(),
        };
        dialog.begin();
        dialog
    }

    fn begin(&mut self) {
        self.selected = 0;
        self.typed = None;
        self.nothing_chosen = false;
        self.scrolled = Scrolled::default();
        self.chosen = vec![false; self.question().map_or(0, |question| question.options.len())];
    }

    fn question(&self) -> Option<&Question> {
        self.questions.get(self.answers.len())
    }

    pub(super) fn is_typing(&self) -> bool {
        self.typed.is_some()
    }

    /// Whether a digit is an answer, where one option is chosen.
    pub(super) fn takes(&self, letter: char) -> bool {
        self.question().is_some_and(|question| {
            let options = question.options.len();
            let number = letter.to_digit(10).map(|number| number as usize);
            !question.several && number.is_some_and(|number| (1..=options).contains(&number))
        })
    }

    /// Whether a letter or a digit goes through the options, toggles one, or opens a field.
    pub(super) fn steps(&self, letter: char) -> bool {
        matches!(letter, 'j' | 'k' | ' ') || letter.is_ascii_digit()
    }

    fn give(&mut self, answer: String) -> DialogOutcome {
        let Some(question) = self.question() else { return DialogOutcome::Open };
        self.answers.push((question.text.clone(), answer));
        if self.question().is_some() {
            self.begin();
            return DialogOutcome::Open;
        }
        let input = answered(&self.input, &self.answers);
        DialogOutcome::Answered(HumanAnswer::Allow { always: Vec::new(), input: Some(input) })
    }

    pub(super) fn press(&mut self, key: &KeyEvent) -> DialogOutcome {
        if is_ctrl(key, 'c') {
            return DialogOutcome::Answered(HumanAnswer::Deny {
                feedback: "interrupted".to_owned(),
                stop: true,
            });
        }
        let Some(question) = self.question().cloned() else {
            return DialogOutcome::Answered(HumanAnswer::no(""));
        };
        if let Some((what_for, words)) = &mut self.typed {
            match key.code {
                KeyCode::Enter if !words.text().trim().is_empty() => {
                    let text = words.text().trim().to_owned();
                    if *what_for == For::No {
                        return DialogOutcome::Answered(HumanAnswer::no(text));
                    }
                    let mut labels = self.chosen_labels(&question);
                    labels.push(text);
                    return self.give(labels.join(", "));
                }
                KeyCode::Esc => self.typed = None,
                KeyCode::Tab if *what_for == For::No && words.text().is_empty() => {
                    self.typed = None;
                }
                _ => {
                    words.press(key);
                }
            }
            return DialogOutcome::Open;
        }
        self.nothing_chosen = false;
        let count = question.options.len() + 1;
        match (key.code, letter(key)) {
            (KeyCode::Esc, _) => DialogOutcome::Answered(HumanAnswer::no(DECLINED)),
            (KeyCode::Tab, _) => {
                self.typed = Some((For::No, TextField::default()));
                DialogOutcome::Open
            }
            (KeyCode::Left, _) if !self.answers.is_empty() => {
                self.answers.pop();
                self.begin();
                DialogOutcome::Open
            }
            (KeyCode::Up, _) | (_, Some('k')) => {
                self.selected = (self.selected + count - 1) % count;
                DialogOutcome::Open
            }
            (KeyCode::Down, _) | (_, Some('j')) => {
                self.selected = (self.selected + 1) % count;
                DialogOutcome::Open
            }
            (_, Some(' ')) if question.several => self.take(self.selected, &question),
            (KeyCode::Enter, _) if question.several => {
                let labels = self.chosen_labels(&question);
                match (labels.is_empty(), question.options.get(self.selected)) {
                    (false, _) => self.give(labels.join(", ")),
                    (true, None) => self.take(self.selected, &question),
                    // Whoever confirms nothing has overlooked that options are ticked first.
                    (true, Some(_)) => {
                        self.nothing_chosen = true;
                        DialogOutcome::Open
                    }
                }
            }
            (KeyCode::Enter, _) => self.take(self.selected, &question),
            (_, Some(digit)) => match digit.to_digit(10).and_then(|number| number.checked_sub(1)) {
                Some(at) if (at as usize) < count => self.take(at as usize, &question),
                _ => DialogOutcome::Open,
            },
            _ => DialogOutcome::Open,
        }
    }

    fn chosen_labels(&self, question: &Question) -> Vec<String> {
        let chosen = question.options.iter().zip(&self.chosen).filter(|(_, chosen)| **chosen);
        chosen.map(|((label, _), _)| label.clone()).collect()
    }

    /// Takes an option, or toggles it where several may be chosen.
    fn take(&mut self, at: usize, question: &Question) -> DialogOutcome {
        self.selected = at;
        match question.options.get(at) {
            None => {
                self.typed = Some((For::Other, TextField::default()));
                DialogOutcome::Open
            }
            Some(_) if question.several => {
                self.chosen[at] = !self.chosen[at];
                DialogOutcome::Open
            }
            Some((label, _)) => self.give(label.clone()),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some((_, words)) = &mut self.typed {
            words.paste(text);
        }
    }

    pub(super) fn rows(&self, columns: usize, most: usize, look: &Look<'_>) -> DialogRows {
        let Some(question) = self.question() else { return DialogRows::default() };
        let theme = look.theme;
        let of = match self.questions.len() {
            1 => String::new(),
            all => format!(" ({} of {all})", self.answers.len() + 1),
        };
        let head = format!("{}{of}", plain(&question.header));
        let mut rows = Vec::new();
        if !head.trim().is_empty() {
            rows.push(Line::from(Span::styled(
                truncate(head.trim(), columns),
                theme.style(Role::Dim),
            )));
        }
        let mut text = Vec::new();
        for line in fold_blank_lines(&plain(&question.text)).lines() {
            let line = Span::styled(expand_tabs(line).into_owned(), theme.style(Role::Heading));
            text.extend(wrap(Line::from(line), columns, 0));
        }
        let other = (OTHER.to_owned(), "an answer of your own".to_owned());
        let options: Vec<(String, String)> =
            question.options.iter().chain(std::iter::once(&other)).cloned().collect();
        // The hint below, and at least one row of the question.
        let left = most.saturating_sub(rows.len() + 2).max(1);
        let mut listed = Vec::new();
        for (at, option) in options.iter().enumerate() {
            listed.extend(self.option_rows(at, option, question.several, columns, look));
        }
        if listed.len() > left {
            // Without the rest of the selected one, and then those around it.
            listed = (options.iter().enumerate())
                .filter_map(|(at, one)| {
                    self.option_rows(at, one, question.several, columns, look).into_iter().next()
                })
                .collect();
            let first =
                self.selected.saturating_sub(left / 2).min(listed.len().saturating_sub(left));
            listed = listed.into_iter().skip(first).take(left).collect();
        }
        let room = most.saturating_sub(rows.len() + listed.len() + 1).max(1);
        rows.extend(self.scrolled.rows(&text, room, look));
        rows.extend(listed);
        let mut cursor = None;
        match &self.typed {
            Some((what_for, words)) => {
                let label = match what_for {
                    For::Other => "Your answer: ",
                    For::No => NO_WITH_WORDS,
                };
                let (row, column) = words.row(label, columns, look);
                cursor = Some((rows.len(), column));
                rows.push(row);
            }
            None => {
                let (hint, role) = match (question.several, self.nothing_chosen) {
                    (true, true) => ("nothing is chosen: digits or space toggle", Role::Warning),
                    (true, false) => (
                        "digits or space toggle · Enter confirms · Esc declines · Tab says why",
                        Role::Dim,
                    ),
                    (false, _) => ("↑↓ Enter · 1-9 · Esc declines · Tab says why", Role::Dim),
                };
                let back = if self.answers.is_empty() { "" } else { " · ← back" };
                let hint = truncate(&format!("{hint}{back}"), columns);
                rows.push(Line::from(Span::styled(hint, theme.style(role))));
            }
        }
        DialogRows { rows, cursor }
    }

    /// The rows of an option: one, and what does not fit into it for the one that is selected.
    fn option_rows(
        &self,
        at: usize,
        (label, about): &(String, String),
        several: bool,
        columns: usize,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        let theme = look.theme;
        let is_selected = at == self.selected;
        let pointer = if is_selected { "❯ " } else { "  " };
        let mark = match (several, self.chosen.get(at)) {
            (true, Some(true)) => "[x] ",
            (true, Some(false)) => "[ ] ",
            _ => "",
        };
        let style = theme.style(if is_selected { Role::Selected } else { Role::Text });
        let whole = format!("{pointer}{}. {mark}{}", at + 1, plain(label).replace('\n', " "));
        let about = plain(about).replace('\n', " ");
        let first = truncate(&whole, columns);
        let room = columns.saturating_sub(width(&first) + 2);
        let fits = first == whole && width(&about) <= room;
        let mut spans = vec![Span::styled(first, style)];
        if room > 8 && !about.is_empty() && (fits || !is_selected) {
            let about = format!("  {}", truncate(&about, room));
            spans.push(Span::styled(about, theme.style(Role::Dim)));
        }
        let mut rows = vec![Line::from(spans)];
        if is_selected && !fits {
            let rest = match whole.len() > columns {
                true => format!("{}  {about}", plain(label).replace('\n', " ")),
                false => about,
            };
            let rest = Line::from(Span::styled(rest, theme.style(Role::Dim)));
            rows.extend(wrap(rest, columns.saturating_sub(5).max(1), 0).into_iter().map(
                |mut row| {
                    row.spans.insert(0, Span::raw("     "));
                    row
                },
            ));
        }
        rows
    }
}
