//! A form: its fields below each other. Enter sends it, Esc declines.

use crossterm::event::{KeyCode, KeyEvent};
use ona_front::{AskRequest, Field, Given, HumanAnswer, fields, form_answer};
use ona_render::highlight::Look;
use ona_render::text::{expand_tabs, fold_blank_lines, plain, truncate, wrap};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};
use serde_json::json;

use super::input::Input;
use super::scrolled::Scrolled;
use super::{DialogOutcome, DialogRows, is_ctrl};

/// A form.
#[derive(Clone, Debug)]
pub struct FormDialog {
    title: String,
    text: String,
    fields: Vec<Field>,
    inputs: Vec<Input>,
    at: usize,
    problem: Option<String>,
    /// The code of a sign-in is all there is of it.
    is_code: bool,
    /// The address of a sign-in: what is shown of the text where there is no room for it.
    url: Option<String>,
    scrolled: Scrolled,
}

impl FormDialog {
    /// The form of an MCP server.
    pub(super) fn of_server(request: &AskRequest) -> Self {
        let fields = fields(&request.input["schema"]);
        let given = &request.input["given"];
        let inputs = fields.iter().map(|field| Input::of(field, &given[&field.name])).collect();
        let problem = request.checks.first().map(|check| located(check, &fields));
        let (at, problem) = problem.map_or((0, None), |(at, problem)| (at, Some(problem)));
        Self {
            title: "An MCP server asks".to_owned(),
            text: request.reason.clone(),
            inputs,
            fields,
            at,
            problem,
            is_code: false,
            url: None,
            scrolled: Scrolled::default(),
        }
    }

    /// The code of a sign-in.
    pub(super) fn code(request: &AskRequest) -> Self {
        let url = request.input["url"].as_str().unwrap_or_default();
        Self {
            title: "Sign in".to_owned(),
            text: format!(
                "Your browser opens this address; open it yourself where it does not:\n{url}\n\
                 If the browser is on another machine, paste the address of the page it ends on, or the code."
            ),
            fields: fields(&json!({"properties": {"code": {"type": "string", "title": "Code"}}})),
            inputs: vec![Input::text()],
            at: 0,
            problem: request.checks.first().cloned(),
            is_code: true,
            url: Some(url.to_owned()),
            scrolled: Scrolled::default(),
        }
    }

    pub(super) fn press(&mut self, key: &KeyEvent) -> DialogOutcome {
        if is_ctrl(key, 'c') || key.code == KeyCode::Esc {
            return DialogOutcome::Answered(HumanAnswer::no(""));
        }
        if self.scrolled.press(key) {
            return DialogOutcome::Open;
        }
        let count = self.fields.len().max(1);
        match key.code {
            KeyCode::Enter => return self.send(),
            KeyCode::Tab | KeyCode::Down => self.at = (self.at + 1) % count,
            KeyCode::BackTab | KeyCode::Up => self.at = (self.at + count - 1) % count,
            _ => {
                if let Some(input) = self.inputs.get_mut(self.at) {
                    input.press(key);
                    self.problem = None;
                }
            }
        }
        DialogOutcome::Open
    }

    fn send(&mut self) -> DialogOutcome {
        let given: Vec<Given> = self.inputs.iter().map(Input::given).collect();
        let is_empty = |given: &Given| match given {
            Given::Typed(text) => text.trim().is_empty(),
            Given::Chosen(values) => values.is_empty(),
        };
        if self.is_code && given.iter().all(is_empty) {
            return DialogOutcome::Open;
        }
        match form_answer(&self.fields, &given) {
            Ok(input) => DialogOutcome::Answered(HumanAnswer::Allow {
                always: Vec::new(),
                input: Some(input),
            }),
            Err(at) => {
                self.at = at;
                let field = &self.fields[at];
                let wanted = match is_empty(&given[at]) {
                    true => "needed".to_owned(),
                    false => format!("expected {}", field.wanted),
                };
                self.problem = Some(format!("{}: {wanted}", field.title));
                DialogOutcome::Open
            }
        }
    }

    pub(super) fn paste(&mut self, text: &str) {
        if let Some(input) = self.inputs.get_mut(self.at) {
            input.paste(text);
        }
    }

    pub(super) fn rows(&self, columns: usize, most: usize, look: &Look<'_>) -> DialogRows {
        let theme = look.theme;
        let mut foot = Vec::new();
        if let Some(problem) = &self.problem {
            let problem = truncate(&plain(problem).replace('\n', " "), columns);
            foot.push(Line::from(Span::styled(problem, theme.style(Role::Error))));
        }
        let hint = match self.fields.len() {
            0 | 1 => "Enter sends · Esc declines".to_owned(),
            all => format!("Enter sends · Esc declines · Tab: next of {all} fields"),
        };
        foot.push(Line::from(Span::styled(truncate(&hint, columns), theme.style(Role::Dim))));
        let mut text = text_rows(&self.text, columns);
        let (mut fields, (row, column)) = self.field_rows(columns, look);
        let room = most.saturating_sub(foot.len() + 1);
        // The text gives way to the fields, but not all of it.
        let for_text = text.len().min(room.saturating_sub(fields.len()).max(room.min(3)));
        if let Some(url) = self.url.as_ref().filter(|_| text.len() > for_text) {
            text = text_rows(url, columns);
        }
        let mut rows =
            vec![Line::from(Span::styled(self.title.clone(), theme.style(Role::Heading)))];
        rows.extend(self.scrolled.rows(&text, for_text, look));
        let for_fields = room.saturating_sub(rows.len() - 1).max(2);
        // The field that is typed into stays in sight.
        let skip =
            (row + 2).saturating_sub(for_fields).min(fields.len().saturating_sub(for_fields));
        fields.drain(..skip);
        fields.truncate(for_fields);
        let has_cursor = self.inputs.get(self.at).is_some_and(Input::has_cursor);
        let cursor = has_cursor.then_some((rows.len() + row - skip, column));
        rows.extend(fields);
        rows.extend(foot);
        DialogRows { rows, cursor }
    }

    /// The rows of the fields, and the cursor among them.
    fn field_rows(&self, columns: usize, look: &Look<'_>) -> (Vec<Line<'static>>, (usize, usize)) {
        let mut rows = Vec::new();
        let mut cursor = (0, 0);
        for (at, (field, input)) in self.fields.iter().zip(&self.inputs).enumerate() {
            let star = if field.needed { "*" } else { "" };
            let pointer = if at == self.at { "❯ " } else { "  " };
            let title = plain(&field.title).replace('\n', " ");
            let label = format!("{pointer}{title}{star}: ");
            let (drawn, (row, column)) = input.rows(&label, at == self.at, columns, look);
            if at == self.at {
                cursor = (rows.len() + row, column);
            }
            rows.extend(drawn);
            if !self.is_code && at == self.at {
                let about = match input.hint() {
                    none if none.is_empty() => format!("    {}  {}", field.wanted, field.about),
                    hint => format!("    {hint}  {}", field.about),
                };
                let about = truncate(&plain(&about).replace('\n', " "), columns);
                rows.push(Line::from(Span::styled(about, look.theme.style(Role::Dim))));
            }
        }
        (rows, cursor)
    }
}

/// The field that a problem is about, and the problem with the field's title in place of its path.
fn located(problem: &str, fields: &[Field]) -> (usize, String) {
    let path = |field: &Field| format!("/{}: ", field.name);
    match fields.iter().position(|field| problem.contains(&path(field))) {
        Some(at) => {
            (at, problem.replacen(&path(&fields[at]), &format!("{}: ", fields[at].title), 1))
        }
        None => (0, problem.to_owned()),
    }
}

fn text_rows(text: &str, columns: usize) -> Vec<Line<'static>> {
    let text = fold_blank_lines(&plain(text));
    text.lines()
        .flat_map(|line| wrap(Line::from(expand_tabs(line).into_owned()), columns, 0))
        .collect()
}
