//! Questions that are answered with yes or no.

use crossterm::event::{KeyCode, KeyEvent};
use ona_front::{AskRequest, HumanAnswer, listed};
use ona_render::highlight::Look;
use ona_render::text::{expand_tabs, fold_blank_lines, plain, wrap};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

use super::scrolled::Scrolled;
use super::{DialogOutcome, DialogRows, is_ctrl, letter};

/// A question that is answered with yes or no. No is selected at first.
#[derive(Clone, Debug)]
pub struct Confirm {
    title: String,
    /// Paragraphs; what is indented stays so.
    text: Vec<String>,
    yes: String,
    no: String,
    yes_selected: bool,
    scrolled: Scrolled,
}

impl Confirm {
    /// Whether a folder is trusted.
    pub(super) fn trust(request: &AskRequest) -> Self {
        let list = |key: &str| -> Vec<String> {
            let items = request.input[key].as_array().into_iter().flatten();
            items
                .filter_map(|item| item.as_str())
                .flat_map(listed)
                .map(|row| format!("  {row}"))
                .collect()
        };
        let mut text = vec![
            request.input["root"].as_str().unwrap_or_default().to_owned(),
            "contains what would run with your rights:".to_owned(),
        ];
        text.extend(list("runs"));
        let also = list("also");
        if !also.is_empty() {
            text.push("These would also take effect:".to_owned());
            text.extend(also);
        }
        text.push("You are asked again when they change.".to_owned());
        Self {
            title: "Do you trust this folder?".to_owned(),
            text,
            yes: "Yes, I trust it".to_owned(),
            no: "No, leave".to_owned(),
            yes_selected: false,
            scrolled: Scrolled::default(),
        }
    }

    /// Whether to go on without guards that cannot be read.
    pub(super) fn unread(request: &AskRequest) -> Self {
        let items = request.input["unread"].as_array().into_iter().flatten();
        let mut text = vec!["This cannot be read, although it may forbid something:".to_owned()];
        text.extend(
            items.filter_map(|item| item.as_str()).flat_map(listed).map(|row| format!("  {row}")),
        );
        Self {
            title: "Go on without a guard?".to_owned(),
            text,
            yes: "Yes, go on without it".to_owned(),
            no: "No, leave".to_owned(),
            yes_selected: false,
            scrolled: Scrolled::default(),
        }
    }

    /// Whether a page was visited.
    pub(super) fn page(request: &AskRequest, url: &str) -> Self {
        Self {
            title: "An MCP server asks you to visit a page".to_owned(),
            text: vec![request.reason.clone(), format!("  {url}")],
            yes: "Yes, done".to_owned(),
            no: "No".to_owned(),
            yes_selected: false,
            scrolled: Scrolled::default(),
        }
    }

    pub(super) fn press(&mut self, key: &KeyEvent) -> DialogOutcome {
        let yes = DialogOutcome::Answered(HumanAnswer::yes());
        let no = DialogOutcome::Answered(HumanAnswer::no(""));
        match (key.code, letter(key)) {
            (_, Some('y' | 'Y' | '1')) => yes,
            (_, Some('n' | 'N' | '2')) | (KeyCode::Esc, _) => no,
            _ if is_ctrl(key, 'c') || is_ctrl(key, 'd') => no,
            (KeyCode::Enter, _) => {
                if self.yes_selected {
                    yes
                } else {
                    no
                }
            }
            (KeyCode::Up | KeyCode::Down | KeyCode::Tab, _) => {
                self.yes_selected = !self.yes_selected;
                DialogOutcome::Open
            }
            _ => {
                self.scrolled.press(key);
                DialogOutcome::Open
            }
        }
    }

    pub(super) fn rows(&self, columns: usize, most: usize, look: &Look<'_>) -> DialogRows {
        let mut text = Vec::new();
        for paragraph in &self.text {
            for line in fold_blank_lines(&plain(paragraph)).lines() {
                text.extend(wrap(Line::from(expand_tabs(line).into_owned()), columns, 4));
            }
        }
        let mut rows =
            vec![Line::from(Span::styled(self.title.clone(), look.theme.style(Role::Heading)))];
        let mut foot = vec![Line::default()];
        foot.extend(option(1, &self.yes, "y", self.yes_selected, columns, look));
        foot.extend(option(2, &self.no, "n, Esc", !self.yes_selected, columns, look));
        rows.extend(self.scrolled.rows(&text, most.saturating_sub(foot.len() + 1), look));
        rows.extend(foot);
        DialogRows { rows, cursor: None }
    }
}

/// The rows of a choice.
pub(super) fn option(
    number: usize,
    label: &str,
    keys: &str,
    selected: bool,
    columns: usize,
    look: &Look<'_>,
) -> Vec<Line<'static>> {
    let pointer = if selected { "❯ " } else { "  " };
    let style = look.theme.style(if selected { Role::Selected } else { Role::Text });
    let label = Line::from(vec![
        Span::styled(format!("{pointer}{number}. {}", plain(label)), style),
        Span::styled(format!("  ({keys})"), look.theme.style(Role::Dim)),
    ]);
    wrap(label, columns, 5)
}
