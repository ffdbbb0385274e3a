//! A list to choose from: arrows and Enter, digits for up to nine entries, further keys, typing to filter a long one, and
//! `/` to search in any.

use ona_front::{Choice, Menu, MenuItem, MenuKey};
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
    /// Everything that is typed belongs to the filter: it began with a slash.
    is_searching: bool,
    /// Whether another list led to it.
    is_nested: bool,
}

/// What a key has done to a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MenuOutcome {
    /// It is still open.
    Open,
    /// Nothing was chosen: back to the list that led to it.
    Back,
    /// Nothing was chosen, and no other list opens again.
    Closed,
    /// This was chosen.
    Chosen(Choice),
}

impl MenuView {
    /// A list that was just opened.
    pub fn new(menu: Menu) -> Self {
        let selected = menu.selected.min(menu.items.len().saturating_sub(1));
        Self { menu, selected, filter: String::new(), is_searching: false, is_nested: false }
    }

    /// The same list, from which Esc leads back to another one.
    pub fn nested(self, is_nested: bool) -> Self {
        Self { is_nested, ..self }
    }

    /// What it is about.
    pub fn title(&self) -> &str {
        &self.menu.title
    }

    fn filters(&self) -> bool {
        self.menu.items.len() > NUMBERED
    }

    fn matching(&self) -> Vec<&MenuItem> {
        self.menu.items.iter().filter(|item| item.fits(&self.filter)).collect()
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

    /// Esc: the search ends, or else the list closes.
    pub fn escape(&mut self) -> MenuOutcome {
        if !std::mem::take(&mut self.is_searching) {
            return MenuOutcome::Back;
        }
        self.filter.clear();
        self.selected = 0;
        MenuOutcome::Open
    }

    /// An arrow to the left or the right, where the list has a key for it.
    pub fn sideways(&self, key: char) -> MenuOutcome {
        self.key(key)
    }

    /// A letter or a digit.
    pub fn typed(&mut self, letter: char) -> MenuOutcome {
        if letter == '/' && self.filter.is_empty() && !self.is_searching {
            self.is_searching = true;
            self.selected = 0;
            return MenuOutcome::Open;
        }
        if !self.filters() && !self.is_searching {
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
        let is_key = self.menu.keys.iter().any(|key| key.key == letter);
        if self.filter.is_empty() && !self.is_searching && is_key {
            return self.key(letter);
        }
        self.filter.push(letter);
        self.selected = 0;
        MenuOutcome::Open
    }

    /// Backspace.
    pub fn erase(&mut self) {
        if self.filter.pop().is_none() {
            self.is_searching = false;
        }
        self.selected = 0;
    }

    fn key(&self, letter: char) -> MenuOutcome {
        let is_it = |key: &&MenuKey| key.key == letter || key.key == letter.to_ascii_lowercase();
        let Some(key) = self.menu.keys.iter().find(is_it) else {
            return MenuOutcome::Open;
        };
        match self.matching().get(self.selected) {
            Some(item) => chosen(&key.choice.filled(item)),
            None => chosen(&key.choice.filled(&MenuItem::default())),
        }
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
        if self.is_searching {
            rows.push(Line::from(format!("Search: {}", plain(&self.filter))));
        } else if self.filters() && !self.filter.is_empty() {
            rows.push(Line::from(format!("Filter: {}", plain(&self.filter))));
        }
        let room = most.saturating_sub(rows.len() + 1).max(1);
        rows.extend(self.item_rows(&matching, columns, room, look));
        rows.push(Line::from(Span::styled(truncate(&hint, columns), theme.style(Role::Dim))));
        rows
    }

    fn hint(&self) -> String {
        if self.is_searching {
            return "↑↓ Enter · type to search · Esc ends the search".to_owned();
        }
        let mut hint = "↑↓ Enter".to_owned();
        hint.push_str(if self.filters() { " · type to filter" } else { " · 1-9" });
        if self.menu.items.iter().any(|item| !item.search.is_empty()) {
            hint.push_str(" · / search");
        }
        for key in &self.menu.keys {
            hint.push_str(&format!(" · {} {}", key.key, plain(&key.label)));
        }
        hint.push_str(if self.is_nested { " · Esc back" } else { " · Esc closes" });
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
        let has_digits = !self.filters() && !self.is_searching;
        // The pointer, the digit, the label and the mark of the one in force.
        let before = if has_digits { 5 } else { 2 };
        let length = |item: &&MenuItem| {
            before + width(&plain(&item.label)) + if item.current { 2 } else { 0 }
        };
        let labels = matching.iter().map(length).max().unwrap_or_default();
        let labels = labels.min(columns * 2 / 3);
        let row = |(number, item): (usize, &&MenuItem)| {
            let is_selected = number == self.selected;
            let pointer = if is_selected { "❯ " } else { "  " };
            let digit = if has_digits { format!("{}. ", number + 1) } else { String::new() };
            let mark = if item.current { " ✔" } else { "" };
            let label = plain(&item.label).lines().next().unwrap_or_default().to_owned();
            let label =
                format!("{pointer}{digit}{}{mark}", truncate(&label, columns.saturating_sub(6)));
            let pad = (labels + 2).saturating_sub(width(&label)).max(2);
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
    fn a_slash_searches_in_a_short_list_too() {
        let mut items = menu(3);
        items.items[1].search = "planted an oak 0123".to_owned();
        let mut short = MenuView::new(items);
        for letter in "/oak 0".chars() {
            assert_eq!(short.typed(letter), MenuOutcome::Open, "{letter}");
        }
        assert_eq!(line(short.accept()), "/do 2");
        assert_eq!(short.escape(), MenuOutcome::Open);
        assert_eq!(line(short.accept()), "/do 1");
        assert_eq!(line(short.typed('2')), "/do 2", "digits choose again");
        // The letter of a key is text while something is searched.
        short.typed('/');
        assert_eq!(short.typed('x'), MenuOutcome::Open);
        short.erase();
        short.erase();
        assert_eq!(line(short.typed('X')), "/stop 1", "a key may be typed as a capital");
        assert_eq!(short.escape(), MenuOutcome::Back);
    }

    #[test]
    fn an_arrow_to_the_side_is_a_key_where_there_is_one() {
        let mut sideways = menu(2);
        assert_eq!(MenuView::new(sideways.clone()).sideways('>'), MenuOutcome::Open);
        sideways.keys[0].key = '>';
        assert_eq!(line(MenuView::new(sideways).sideways('>')), "/stop 1");
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
