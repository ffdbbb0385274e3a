//! A list to choose from: arrows and Enter, digits for up to nine entries, further keys, and typing to filter a long one.

use ona_front::{Choice, Menu, MenuItem};
use ona_render::highlight::Look;
use ona_render::markdown;
use ona_render::text::{clip_rows, plain, truncate, width};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

/// Lists longer than this are filtered by typing; shorter ones are numbered.
pub const NUMBERED: usize = 9;

/// An open list.
#[derive(Clone, Debug)]
pub struct MenuView {
    menu: Menu,
    /// The item that is selected, among those that match.
    selected: usize,
    /// What was typed to filter.
    filter: String,
}

/// What a key has done to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MenuOutcome {
    /// It is still open.
    Open,
    /// It is closed, and nothing was chosen.
    Closed,
    /// This was chosen.
    Chosen(Choice),
}

impl MenuView {
    /// A list that was just opened.
    pub fn new(menu: Menu) -> Self {
        let selected = menu.selected.min(menu.items.len().saturating_sub(1));
        Self { menu, selected, filter: String::new() }
    }

    fn filters(&self) -> bool {
        self.menu.items.len() > NUMBERED
    }

    fn matching(&self) -> Vec<&MenuItem> {
        let wanted = self.filter.to_lowercase();
        let fits = |item: &&MenuItem| {
            wanted.is_empty()
                || item.label.to_lowercase().contains(&wanted)
                || item.detail.to_lowercase().contains(&wanted)
        };
        self.menu.items.iter().filter(fits).collect()
    }

    /// Goes up or down, around the ends.
    pub fn step(&mut self, by: isize) {
        let count = self.matching().len();
        if count == 0 {
            return;
        }
        let at = isize::try_from(self.selected).unwrap_or_default() + by;
        let count = isize::try_from(count).unwrap_or(1);
        self.selected = usize::try_from(at.rem_euclid(count)).unwrap_or_default();
    }

    /// Enter.
    pub fn accept(&self) -> MenuOutcome {
        match self.matching().get(self.selected) {
            Some(item) => chosen(&item.choice),
            None => MenuOutcome::Open,
        }
    }

    /// A letter or a digit.
    pub fn typed(&mut self, letter: char) -> MenuOutcome {
        if !self.filters() {
            if let Some(number) = letter.to_digit(10).filter(|number| *number > 0) {
                let item = self.menu.items.get(number as usize - 1);
                return item.map_or(MenuOutcome::Open, |item| chosen(&item.choice));
            }
            match letter {
                'j' => self.step(1),
                'k' => self.step(-1),
                _ => return self.key(letter),
            }
            return MenuOutcome::Open;
        }
        // In a long list letters filter; its further keys act while nothing is typed.
        if self.filter.is_empty() && self.menu.keys.iter().any(|key| key.key == letter) {
            return self.key(letter);
        }
        if letter == '/' && self.filter.is_empty() {
            return MenuOutcome::Open;
        }
        self.filter.push(letter);
        self.selected = 0;
        MenuOutcome::Open
    }

    /// Backspace.
    pub fn erase(&mut self) {
        self.filter.pop();
        self.selected = 0;
    }

    fn key(&self, letter: char) -> MenuOutcome {
        let Some(key) = self.menu.keys.iter().find(|key| key.key == letter) else {
            return MenuOutcome::Open;
        };
        let value =
            self.matching().get(self.selected).map(|item| item.value.clone()).unwrap_or_default();
        chosen(&key.choice.filled(&value))
    }

    /// The rows, at most so many.
    pub fn rows(&self, columns: usize, most: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let theme = look.theme;
        let mut rows = vec![Line::from(Span::styled(
            truncate(&plain(&self.menu.title), columns),
            theme.style(Role::Heading),
        ))];
        let hint = self.hint();
        let matching = self.matching();
        let room = most.saturating_sub(3).max(3);
        if !self.menu.text.is_empty() {
            let text = markdown::render(&self.menu.text, columns, look);
            let spare = room.saturating_sub(matching.len().min(room / 2).max(3));
            rows.extend(clip_rows(text, spare.max(1)).with_note(|left| {
                Line::from(Span::styled(
                    format!("… {left} rows are not shown"),
                    theme.style(Role::Dim),
                ))
            }));
        }
        if self.filters() && !self.filter.is_empty() {
            rows.push(Line::from(format!("Filter: {}", plain(&self.filter))));
        }
        let room = most.saturating_sub(rows.len() + 1).max(1);
        rows.extend(self.item_rows(&matching, columns, room, look));
        rows.push(Line::from(Span::styled(truncate(&hint, columns), theme.style(Role::Dim))));
        rows
    }

    fn hint(&self) -> String {
        let mut hint = "↑↓ Enter".to_owned();
        hint.push_str(if self.filters() { " · type to filter" } else { " · 1-9" });
        for key in &self.menu.keys {
            hint.push_str(&format!(" · {} {}", key.key, plain(&key.label)));
        }
        hint.push_str(" · Esc closes");
        hint
    }

    fn item_rows(
        &self,
        matching: &[&MenuItem],
        columns: usize,
        room: usize,
        look: &Look<'_>,
    ) -> Vec<Line<'static>> {
        if matching.is_empty() {
            return vec![Line::from(Span::styled(
                "  nothing matches",
                look.theme.style(Role::Dim),
            ))];
        }
        let first = self.selected.saturating_sub(room / 2).min(matching.len().saturating_sub(room));
        let labels =
            matching.iter().map(|item| width(&plain(&item.label))).max().unwrap_or_default();
        let labels = labels.min(columns * 2 / 3);
        let row = |(number, item): (usize, &&MenuItem)| {
            let is_selected = number == self.selected;
            let pointer = if is_selected { "❯ " } else { "  " };
            let digit = if self.filters() { String::new() } else { format!("{}. ", number + 1) };
            let mark = if item.current { " ✔" } else { "" };
            let label = plain(&item.label).lines().next().unwrap_or_default().to_owned();
            let label =
                format!("{pointer}{digit}{}{mark}", truncate(&label, columns.saturating_sub(6)));
            let pad = (labels + 6).saturating_sub(width(&label)).max(2);
            let detail = plain(&item.detail).lines().next().unwrap_or_default().to_owned();
            let room = columns.saturating_sub(width(&label) + pad);
            let style = look.theme.style(if is_selected { Role::Selected } else { Role::Text });
            let mut spans = vec![Span::styled(truncate(&label, columns), style)];
            if room > 4 && !detail.is_empty() {
                spans.push(Span::raw(" ".repeat(pad)));
                spans.push(Span::styled(truncate(&detail, room), look.theme.style(Role::Dim)));
            }
            Line::from(spans)
        };
        matching.iter().enumerate().skip(first).take(room).map(row).collect()
    }
}

fn chosen(choice: &Choice) -> MenuOutcome {
    match choice {
        Choice::Close => MenuOutcome::Closed,
        choice => MenuOutcome::Chosen(choice.clone()),
    }
}

#[cfg(test)]
mod tests {
    use ona_front::MenuKey;

    use super::*;

    fn menu(count: usize) -> Menu {
        let item = |number: usize| MenuItem {
            label: format!("item {number}"),
            choice: Choice::Command { line: format!("/do {number}") },
            value: number.to_string(),
            ..MenuItem::default()
        };
        Menu {
            title: "Title".to_owned(),
            items: (1..=count).map(item).collect(),
            keys: vec![MenuKey {
                key: 'x',
                label: "stop".to_owned(),
                choice: Choice::Command { line: "/stop {}".to_owned() },
            }],
            ..Menu::default()
        }
    }

    fn line(outcome: MenuOutcome) -> String {
        match outcome {
            MenuOutcome::Chosen(Choice::Command { line }) => line,
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn a_digit_takes_an_entry_at_once() {
        let mut short = MenuView::new(menu(9));
        assert_eq!(line(short.typed('3')), "/do 3");
        short.step(-1);
        assert_eq!(line(short.accept()), "/do 9");
        assert_eq!(line(short.typed('x')), "/stop 9");
    }

    #[test]
    fn typing_filters_a_long_list() {
        let mut long = MenuView::new(menu(20));
        assert_eq!(long.typed('1'), MenuOutcome::Open);
        long.typed('5');
        assert_eq!(line(long.accept()), "/do 15");
        long.typed('!');
        assert_eq!(long.accept(), MenuOutcome::Open);
        long.erase();
        assert_eq!(line(long.accept()), "/do 15");
    }
}
