//! What is given for a field of a form: a text, one of some values, or several of them.

use crossterm::event::{KeyCode, KeyEvent};
use ona_front::{Field, Given, Kind};
use ona_render::highlight::Look;
use ona_render::text::{plain, truncate, width, wrap};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};
use serde_json::Value;

use super::letter;
use crate::field::TextField;

/// What is given for a field.
#[derive(Clone, Debug)]
pub(super) enum Input {
    Text(TextField),
    /// One value, or none yet.
    One {
        values: Vec<(String, String)>,
        at: Option<usize>,
    },
    /// Any of the values. Keys act on the one at `at`.
    Several {
        values: Vec<(String, String)>,
        ticked: Vec<bool>,
        at: usize,
    },
}

impl Input {
    /// The input of a field, with the value it has at first.
    pub(super) fn of(field: &Field, given: &Value) -> Self {
        let first = if given.is_null() { field.usual() } else { given };
        let text = |value: &Value| match value {
            Value::Null => String::new(),
            Value::String(text) => text.clone(),
            other => other.to_string(),
        };
        match field.kind() {
            Kind::Text => Self::Text(TextField::new(&match first {
                Value::Array(words) => words.iter().map(text).collect::<Vec<_>>().join(", "),
                other => text(other),
            })),
            Kind::One(values) => {
                let first = text(first);
                Self::One { at: values.iter().position(|(value, _)| *value == first), values }
            }
            Kind::Several(values) => {
                let first: Vec<String> = first.as_array().into_iter().flatten().map(text).collect();
                let ticked = values.iter().map(|(value, _)| first.contains(value)).collect();
                Self::Several { ticked, values, at: 0 }
            }
        }
    }

    pub(super) fn text() -> Self {
        Self::Text(TextField::default())
    }

    pub(super) fn given(&self) -> Given {
        match self {
            Self::Text(field) => Given::Typed(field.text()),
            Self::One { values, at } => {
                let chosen = at.and_then(|at| values.get(at)).map(|(value, _)| value.clone());
                Given::Chosen(chosen.into_iter().collect())
            }
            Self::Several { values, ticked, .. } => {
                let chosen = values.iter().zip(ticked).filter(|(_, ticked)| **ticked);
                Given::Chosen(chosen.map(|((value, _), _)| value.clone()).collect())
            }
        }
    }

    /// How it is filled in, besides typing.
    pub(super) fn hint(&self) -> String {
        match self {
            Self::Text(_) => String::new(),
            Self::One { values, .. } => {
                let names = (1..).zip(values).map(|(number, (_, name))| format!("{number} {name}"));
                format!("←→ or a digit: {}", names.collect::<Vec<_>>().join(" · "))
            }
            Self::Several { .. } => "←→ moves, space or a digit toggles".to_owned(),
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Self::Text(field) = self {
            field.paste(text);
        }
    }

    pub(super) fn press(&mut self, key: &KeyEvent) {
        let digit = letter(key).and_then(|letter| letter.to_digit(10));
        let digit = digit.and_then(|digit| (digit as usize).checked_sub(1));
        match self {
            Self::Text(field) => {
                field.press(key);
            }
            Self::One { values, at } => match (key.code, letter(key)) {
                (KeyCode::Left, _) => {
                    *at = Some(stepped(at.unwrap_or(0), values.len() - 1, values.len()));
                }
                (KeyCode::Right, _) | (_, Some(' ')) => {
                    *at = Some(at.map_or(0, |at| stepped(at, 1, values.len())));
                }
                (KeyCode::Backspace | KeyCode::Delete, _) => *at = None,
                _ if digit.is_some_and(|digit| digit < values.len()) => *at = digit,
                (_, Some(letter)) => {
                    // The next one that begins so.
                    let begins = |(_, name): &(String, String)| {
                        name.chars()
                            .next()
                            .is_some_and(|first| first.to_lowercase().eq(letter.to_lowercase()))
                    };
                    let from = at.map_or(0, |at| at + 1);
                    let around = (from..values.len()).chain(0..from.min(values.len()));
                    *at = around.into_iter().find(|at| begins(&values[*at])).or(*at);
                }
                _ => {}
            },
            Self::Several { values, ticked, at } => match (key.code, letter(key)) {
                (KeyCode::Left, _) => *at = stepped(*at, values.len() - 1, values.len()),
                (KeyCode::Right, _) => *at = stepped(*at, 1, values.len()),
                (_, Some(' ')) => ticked[*at] = !ticked[*at],
                _ => {
                    if let Some(digit) = digit.filter(|digit| *digit < values.len()) {
                        (*at, ticked[digit]) = (digit, !ticked[digit]);
                    }
                }
            },
        }
    }

    /// The rows behind a label, and the row and column of the cursor.
    pub(super) fn rows(
        &self,
        label: &str,
        is_current: bool,
        columns: usize,
        look: &Look<'_>,
    ) -> (Vec<Line<'static>>, (usize, usize)) {
        let theme = look.theme;
        let label_span = Span::styled(plain(label).into_owned(), theme.style(Role::Accent));
        match self {
            Self::Text(field) => {
                let (row, column) = field.row(label, columns, look);
                (vec![row], (0, column))
            }
            Self::One { values, at } => {
                let name = at.and_then(|at| values.get(at)).map_or("not chosen", |(_, name)| name);
                let room = columns.saturating_sub(width(&label_span.content) + 4);
                let name = truncate(&plain(name).replace('\n', " "), room.max(1));
                let column = width(&label_span.content) + 2;
                let style = theme.style(match (is_current, at) {
                    (true, _) => Role::Selected,
                    (false, Some(_)) => Role::Text,
                    (false, None) => Role::Dim,
                });
                let row = vec![label_span, Span::styled(format!("‹ {name} ›"), style)];
                (vec![Line::from(row)], (0, column))
            }
            Self::Several { values, ticked, at } => {
                let mut spans = vec![label_span];
                for (number, ((_, name), ticked)) in values.iter().zip(ticked).enumerate() {
                    let mark = if *ticked { "x" } else { " " };
                    let style = match is_current && number == *at {
                        true => theme.style(Role::Selected),
                        false => theme.style(Role::Text),
                    };
                    // A name stays in one piece.
                    let name = plain(name).replace(['\n', ' '], "\u{a0}");
                    spans.push(Span::styled(format!("[{mark}]\u{a0}{name}"), style));
                    spans.push(Span::raw("  "));
                }
                (wrap(Line::from(spans), columns, 4), (0, 0))
            }
        }
    }

    /// Whether the cursor is shown in it.
    pub(super) fn has_cursor(&self) -> bool {
        matches!(self, Self::Text(_))
    }
}

/// A place among so many, so much further, around the end.
fn stepped(at: usize, by: usize, count: usize) -> usize {
    (at + by) % count.max(1)
}
