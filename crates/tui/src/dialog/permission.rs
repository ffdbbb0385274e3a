//! Whether a call may run: what it would do, where, which stage asks and why.

use std::cell::{Cell, RefCell};

use crossterm::event::{KeyCode, KeyEvent};
use ona_front::{AskRequest, HumanAnswer, StageAnswer};
use ona_render::diff;
use ona_render::highlight::Look;
use ona_render::markdown;
use ona_render::text::{expand_tabs, fold_blank_lines, plain, truncate, wrap};
use ona_render::theme::Role;
use ona_types::{PermissionMode, PermissionUpdate, UpdateDestination};
use ratatui::text::{Line, Span};

use super::choices::option;
use super::scrolled::Scrolled;
use super::{DialogOutcome, DialogRows, NO_WITH_WORDS, is_ctrl, letter};
use crate::field::TextField;
use crate::tool_view;

/// A change of more lines is large.
const LARGE: usize = 300;
/// Rows of the reason.
const WHY_ROWS: usize = 3;
/// How much room there is, from enough to the least.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Room {
    /// For everything.
    Enough,
    /// For one row of the reason, and no hint.
    Less,
    /// The rules of "always" are shown when it is chosen, in place of what is asked about.
    Little,
    /// The reason and the checks stand with what is asked about.
    Least,
}

const ROOMS: [Room; 4] = [Room::Enough, Room::Less, Room::Little, Room::Least];

impl Room {
    /// Rows that what is asked about needs at least: the first, a note, the last.
    fn body(self) -> usize {
        if self < Self::Little { 3 } else { 2 }
    }
}

/// What stands between the title and the answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Shown {
    /// What is asked about.
    Asked,
    /// What the stages said.
    Stages,
    /// The rules of "always", before it is an answer where they have no other room.
    Rules,
}

/// What can be chosen.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Offer {
    Yes,
    /// Of a plan: edits are accepted from then on.
    YesAndEdits,
    Always,
    No,
}

/// Whether a call may run. No is selected at first.
#[derive(Clone, Debug)]
pub struct PermissionDialog {
    request: AskRequest,
    options: Vec<Offer>,
    selected: usize,
    /// What the agent is told with a no.
    words: Option<TextField>,
    shown: Shown,
    /// The room at last.
    room: Cell<Room>,
    scrolled: Scrolled,
    /// The rows between the title and the answers, and what they were drawn for.
    drawn: RefCell<Option<(Drawn, Vec<Line<'static>>)>>,
}

/// What rows are drawn for: columns, rows, how much room that is, and what is shown.
type Drawn = (usize, usize, Room, Shown);

impl PermissionDialog {
    pub(super) fn new(request: AskRequest) -> Self {
        let is_plan = request.input["plan"].is_string() && !request.checks.is_empty();
        let mut options = vec![Offer::Yes];
        if is_plan {
            options.push(Offer::YesAndEdits);
        }
        if !request.suggestions.is_empty() {
            options.push(Offer::Always);
        }
        options.push(Offer::No);
        let selected = options.len() - 1;
        let (words, scrolled) = (None, Scrolled::default());
        let drawn = RefCell::default();
        let (shown, room) = (Shown::Asked, Cell::new(Room::Enough));
        Self { request, options, selected, words, shown, room, scrolled, drawn }
    }

    pub(super) fn is_typing(&self) -> bool {
        self.words.is_some()
    }

    fn is_command(&self) -> bool {
        self.request.diff.is_none() && self.request.input["command"].is_string()
    }

    fn is_plan(&self) -> bool {
        self.options.contains(&Offer::YesAndEdits)
    }

    fn answer(&mut self, option: Offer) -> DialogOutcome {
        if option == Offer::Always && self.room.get() >= Room::Little && self.shown != Shown::Rules
        {
            self.shown = Shown::Rules;
            self.scrolled = Scrolled::default();
            self.selected = self.options.iter().position(|one| *one == option).unwrap_or_default();
            return DialogOutcome::Open;
        }
        DialogOutcome::Answered(match option {
            Offer::Yes => HumanAnswer::yes(),
            Offer::Always => self.request.always(),
            Offer::No => HumanAnswer::no(""),
            Offer::YesAndEdits => HumanAnswer::Allow {
                always: vec![PermissionUpdate::SetMode {
                    mode: PermissionMode::AcceptEdits,
                    destination: UpdateDestination::Session,
                }],
                input: None,
            },
        })
    }

    /// Whether a letter or a digit is an answer.
    pub(super) fn takes(&self, letter: char) -> bool {
        let has = |wanted: Offer| self.options.contains(&wanted);
        match letter.to_ascii_lowercase() {
            'y' | 'n' => true,
            'a' => has(Offer::Always),
            'e' => has(Offer::YesAndEdits),
            digit => digit
                .to_digit(10)
                .is_some_and(|at| (1..=self.options.len()).contains(&(at as usize))),
        }
    }

    pub(super) fn press(&mut self, key: &KeyEvent) -> DialogOutcome {
        if is_ctrl(key, 'c') {
            return DialogOutcome::Answered(HumanAnswer::Deny {
                feedback: "interrupted".to_owned(),
                stop: true,
            });
        }
        if let Some(words) = &mut self.words {
            match key.code {
                KeyCode::Enter => {
                    return DialogOutcome::Answered(HumanAnswer::no(words.text().trim()));
                }
                KeyCode::Esc | KeyCode::Tab => self.words = None,
                _ => {
                    words.press(key);
                }
            }
            return DialogOutcome::Open;
        }
        if self.scrolled.press(key) {
            return DialogOutcome::Open;
        }
        if is_ctrl(key, 'e') {
            self.shown = match self.shown {
                Shown::Stages => Shown::Asked,
                _ if self.request.answers.is_empty() => Shown::Asked,
                _ => Shown::Stages,
            };
            self.scrolled = Scrolled::default();
            return DialogOutcome::Open;
        }
        let has = |wanted: Offer| self.options.contains(&wanted);
        let (always, edits) = (has(Offer::Always), has(Offer::YesAndEdits));
        match (key.code, letter(key)) {
            (_, Some('y' | 'Y')) => return self.answer(Offer::Yes),
            (_, Some('a' | 'A')) if always => return self.answer(Offer::Always),
            (_, Some('e' | 'E')) if edits => return self.answer(Offer::YesAndEdits),
            (_, Some('n' | 'N')) | (KeyCode::Esc, _) => return self.answer(Offer::No),
            (KeyCode::Enter, _) => return self.answer(self.options[self.selected]),
            (KeyCode::Tab, _) => self.words = Some(TextField::default()),
            (KeyCode::Up, _) => self.step(self.options.len() - 1),
            (KeyCode::Down, _) => self.step(1),
            (_, Some(digit)) => {
                let number = digit.to_digit(10).unwrap_or_default() as usize;
                if let Some(option) = number.checked_sub(1).and_then(|at| self.options.get(at)) {
                    return self.answer(*option);
                }
            }
            _ => {}
        }
        DialogOutcome::Open
    }

    fn step(&mut self, by: usize) {
        self.selected = (self.selected + by) % self.options.len();
    }

    pub(super) fn paste(&mut self, text: &str) {
        self.words.get_or_insert_default().paste(text);
    }

    pub(super) fn rows(&self, columns: usize, most: usize, look: &Look<'_>) -> DialogRows {
        let fits =
            |room: &&Room| 1 + room.body() + self.foot(columns, **room, look).0.len() <= most;
        let room = *ROOMS.iter().find(fits).unwrap_or(&Room::Least);
        self.room.set(room);
        let (foot, cursor) = self.foot(columns, room, look);
        let mut rows = vec![self.title(columns, look)];
        let left = most.saturating_sub(foot.len() + 1).max(1);
        let key = (columns, left, room, self.shown);
        let mut drawn = self.drawn.borrow_mut();
        // A large change is not drawn anew with every frame.
        if drawn.as_ref().is_none_or(|(known, _)| *known != key || !self.is_large()) {
            *drawn = Some((key, self.middle(columns, left, room, look)));
        }
        if let Some((_, middle)) = drawn.as_ref() {
            rows.extend(self.scrolled.rows(middle, left, look));
        }
        let cursor = cursor.map(|(row, column)| (rows.len() + row, column));
        rows.extend(foot);
        DialogRows { rows, cursor }
    }

    fn is_large(&self) -> bool {
        let diff = self.request.diff.as_ref();
        diff.is_some_and(|diff| diff.added + diff.removed > LARGE)
    }

    /// What is scrolled: what is asked about, what the stages said or the rules, and what has no room below.
    fn middle(
        &self,
        columns: usize,
        left: usize,
        room: Room,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        match self.shown {
            Shown::Stages => return self.stage_rows(columns, look),
            Shown::Rules => {
                let (label, _) = self.label(Offer::Always, Room::Enough);
                return text_rows(&label, columns, look, Role::Text);
            }
            Shown::Asked => {}
        }
        let mut body = self.body(columns, look);
        if body.len() > left
            && let Some(diff) = &self.request.diff
        {
            body = diff::render(&diff.without_context(), columns, look, usize::MAX);
        }
        // What the model says about a command never takes the place of the command.
        let about = self.request.input["description"].as_str().filter(|_| self.is_command());
        let about = about.map_or_else(Vec::new, |about| text_rows(about, columns, look, Role::Dim));
        if body.len() + about.len() <= left {
            body.extend(about);
        }
        if room == Room::Least {
            body.extend(self.checks(columns, look));
            body.extend(self.why(columns, WHY_ROWS, look));
        }
        body
    }

    /// What each stage has said, in the words of `ona why`.
    fn stage_rows(&self, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let row = |answer: &StageAnswer| {
            let StageAnswer { stage, verdict, reason } = answer;
            let text = format!("{:<8} {verdict:<5} {}", stage.as_str(), one_line(reason));
            text_rows(&text, columns, look, Role::Text)
        };
        self.request.answers.iter().flat_map(row).collect()
    }

    fn checks(&self, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        // Whole: a hash is compared.
        let row = |check: &String| {
            let role = if check.contains("not found") { Role::Warning } else { Role::Success };
            text_rows(&one_line(check), columns, look, role)
        };
        let links = self.request.links.iter();
        // Whole: the end is where it leads.
        let links = links.flat_map(|link| text_rows(&one_line(link), columns, look, Role::Warning));
        self.request.checks.iter().flat_map(row).chain(links).collect()
    }

    fn why(&self, columns: usize, most: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let stage = self.request.stage.map_or("ona", |stage| stage.as_str());
        let why = format!("{stage}: {}", one_line(&self.request.reason));
        let style = look.theme.style(Role::Dim);
        match most {
            1 => vec![Line::from(Span::styled(truncate(&why, columns), style))],
            most => wrap(Line::from(Span::styled(why, style)), columns, 2)
                .into_iter()
                .take(most)
                .collect(),
        }
    }

    /// The rows below what is asked about, and the cursor among them.
    fn foot(
        &self,
        columns: usize,
        room: Room,
        look: &Look<'_>,
    ) -> (Vec<Line<'static>>, Option<(usize, usize)>) {
        let mut foot: Vec<Line<'static>> = Vec::new();
        if room < Room::Least {
            foot.extend(self.checks(columns, look));
            foot.extend(self.why(columns, if room == Room::Enough { WHY_ROWS } else { 1 }, look));
        }
        for (number, offer) in self.options.iter().enumerate() {
            let (label, keys) = self.label(*offer, room);
            let selected = number == self.selected && self.words.is_none();
            foot.extend(option(number + 1, &label, keys, selected, columns, look));
        }
        let mut cursor = None;
        if let Some(words) = &self.words {
            let (row, column) = words.row(NO_WITH_WORDS, columns, look);
            cursor = Some((foot.len(), column));
            foot.push(row);
        } else if room == Room::Enough {
            let explain = match self.shown {
                Shown::Stages => " · Ctrl+E: back",
                _ if self.request.answers.is_empty() => "",
                _ => " · Ctrl+E: what each stage said",
            };
            let hint = format!("Tab: no, and say what to do instead{explain}");
            foot.push(Line::from(Span::styled(
                truncate(&hint, columns),
                look.theme.style(Role::Dim),
            )));
        }
        (foot, cursor)
    }

    fn title(&self, columns: usize, look: &Look<'_>) -> Line<'static> {
        let title = tool_view::title(&self.request.tool, &self.request.input);
        let who = self.request.agent.as_ref().map(|agent| format!(" (agent {})", one_line(agent)));
        let text = match self.is_plan() {
            true => "Approve this plan?".to_owned(),
            false => format!("Allow {}?{}", one_line(&title.name), who.unwrap_or_default()),
        };
        let mut spans = vec![Span::styled(text, look.theme.style(Role::Heading))];
        if !self.request.place.is_empty() && !self.is_plan() {
            let place = format!("  in {}", one_line(&self.request.place));
            spans.push(Span::styled(place, look.theme.style(Role::Dim)));
        }
        let text: String = spans.iter().map(|span| span.content.as_ref()).collect();
        match ona_render::text::width(&text) > columns {
            true => {
                Line::from(Span::styled(truncate(&text, columns), look.theme.style(Role::Heading)))
            }
            false => Line::from(spans),
        }
    }

    /// The diff, the command, the plan, or the input as it is.
    fn body(&self, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        if let Some(diff) = &self.request.diff {
            return diff::render(diff, columns, look, usize::MAX);
        }
        let input = &self.request.input;
        if let Some(plan) = input["plan"].as_str() {
            let mut rows = markdown::render(&fold_blank_lines(plan), columns, look);
            for one in &self.request.criteria {
                rows.extend(text_rows(&one_line(one), columns, look, Role::Dim));
            }
            return rows;
        }
        if let Some(command) = input["command"].as_str() {
            return text_rows(command, columns, look, Role::Code);
        }
        let text = match input.as_object() {
            Some(fields) => fields
                .iter()
                .map(|(key, value)| match value.as_str() {
                    Some(text) => format!("{key}: {text}\n"),
                    None => format!("{key}: {value}\n"),
                })
                .collect(),
            None => input.to_string(),
        };
        text_rows(&text, columns, look, Role::Text)
    }

    fn label(&self, option: Offer, room: Room) -> (String, &'static str) {
        match option {
            Offer::Always if room >= Room::Little => match self.shown {
                Shown::Rules => ("Yes, always (as above)".to_owned(), "a"),
                _ => ("Yes, always (shows the rule)".to_owned(), "a"),
            },
            Offer::Yes => ("Yes".to_owned(), "y"),
            Offer::YesAndEdits => ("Yes, and accept edits from then on".to_owned(), "e"),
            Offer::No => ("No".to_owned(), "n, Esc"),
            Offer::Always => {
                let rules: Vec<String> =
                    self.request.suggestions.iter().map(ToString::to_string).collect();
                // As it is written: spaces are not folded.
                let label =
                    format!("Yes, always: {} → {}", rules.join(", "), self.request.always_in);
                (plain(&label).into_owned(), "a")
            }
        }
    }
}

fn one_line(text: &str) -> String {
    plain(&text.split_whitespace().collect::<Vec<_>>().join(" ")).into_owned()
}

fn text_rows(text: &str, columns: usize, look: &Look<'_>, role: Role) -> Vec<Line<'static>> {
    let style = look.theme.style(role);
    let folded = fold_blank_lines(&plain(text));
    let lines =
        folded.lines().map(|line| Line::from(Span::styled(expand_tabs(line).into_owned(), style)));
    lines
        .flat_map(|line| wrap(line, columns.saturating_sub(2).max(1), 0))
        .map(|mut row| {
            row.spans.insert(0, Span::raw("  "));
            row
        })
        .collect()
}
