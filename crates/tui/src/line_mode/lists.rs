//! Lists in line mode: numbers, letters with numbers, and the texts that a list asks for.

use std::io;

use ona_front::{Choice, Menu, MenuItem, MenuKey, Op};
use ona_render::text::plain;

use super::{Expects, Lines, plainly};

/// A text that a command line ends with.
pub(super) struct Field {
    label: String,
    /// The command line, without the text.
    line: String,
    /// What Enter alone means.
    initial: String,
}

/// What a line means at a list.
enum Chosen {
    Close,
    Does(Choice),
    /// A letter that needs the number of an entry.
    Which(char),
    Nothing,
}

impl Lines<'_> {
    pub(super) fn open_list(&mut self, menu: Menu) -> io::Result<()> {
        self.print(&plain_list(&menu))?;
        if let Expects::Answer(..) = self.expects {
            return self.print("[the question comes first: type the command again after it]");
        }
        self.ask_for_choice(menu)
    }

    fn ask_for_choice(&mut self, menu: Menu) -> io::Result<()> {
        self.expects = Expects::Choice(menu);
        self.ask_for("a number and Enter, or Enter alone to close: ")
    }

    /// A line at a list.
    pub(super) fn choose(&mut self, menu: Menu, line: &str) -> io::Result<()> {
        if self.is_command(line) {
            return self.prompt(line);
        }
        match chosen(&menu, line) {
            Chosen::Close | Chosen::Does(Choice::Close) => self.closed(),
            Chosen::Does(Choice::Command { line }) => self.send_chosen(line),
            Chosen::Does(Choice::Type { label, line, initial }) => {
                self.ask_for_text(Field { label, line, initial })
            }
            Chosen::Which(key) => {
                self.print(&format!("which entry? Type its number after the {key}, as in {key}1"))?;
                self.ask_for_choice(menu)
            }
            Chosen::Nothing => match found(&menu, line) {
                Some(found) => self.open_list(found),
                None => {
                    self.print(&possible(&menu, line))?;
                    self.ask_for_choice(menu)
                }
            },
        }
    }

    fn ask_for_text(&mut self, field: Field) -> io::Result<()> {
        let initial = match field.initial.as_str() {
            "" => String::new(),
            initial => format!(" [{initial}]"),
        };
        let words = format!("{}{initial}: ", field.label);
        self.expects = Expects::Text(field);
        self.ask_for(&words)
    }

    /// The text that a list asked for. A command is not one, but a path is.
    pub(super) fn filled(&mut self, field: &Field, text: &str) -> io::Result<()> {
        if self.is_command(text) {
            return self.prompt(text);
        }
        let text = if text.is_empty() { &field.initial } else { text };
        match text {
            "" => self.closed(),
            text => self.send_chosen(format!("{}{text}", field.line)),
        }
    }

    fn send_chosen(&mut self, line: String) -> io::Result<()> {
        self.send(Op::Command { line });
        Ok(())
    }

    /// The list is closed, and nothing was chosen.
    fn closed(&mut self) -> io::Result<()> {
        if self.ready && self.asks.is_empty() { self.ask_for("> ") } else { Ok(()) }
    }
}

/// A list in plain lines: numbered, whatever its length.
fn plain_list(menu: &Menu) -> String {
    let mut text = format!("{}\n", plain(&menu.title));
    if !menu.text.is_empty() {
        text.push_str(&format!("{}\n", plainly::lines(&menu.text)));
    }
    for (number, item) in menu.items.iter().enumerate() {
        let mark = if item.current { " *" } else { "" };
        let detail = match item.detail.as_str() {
            "" => String::new(),
            detail => format!("  {}", plain(detail)),
        };
        text.push_str(&format!("{:>3}. {}{mark}{detail}\n", number + 1, plain(&item.label)));
    }
    for key in &menu.keys {
        let number = if needs_item(key) { "N" } else { " " };
        text.push_str(&format!("  {}{number}  {}\n", key.key, plain(&key.label)));
    }
    text
}

fn chosen(menu: &Menu, line: &str) -> Chosen {
    if line.is_empty() {
        return Chosen::Close;
    }
    let numbered = |number: &str| -> Option<&MenuItem> {
        menu.items.get(number.trim().parse::<usize>().ok()?.checked_sub(1)?)
    };
    if let Some(item) = numbered(line) {
        return Chosen::Does(item.choice.clone());
    }
    let Some(letter) = line.chars().next() else { return Chosen::Nothing };
    let is_it = |key: &&MenuKey| key.key == letter || key.key == letter.to_ascii_lowercase();
    let Some(key) = menu.keys.iter().find(is_it) else { return Chosen::Nothing };
    let rest = line[letter.len_utf8()..].trim();
    match (numbered(rest), rest.is_empty(), needs_item(key)) {
        (Some(item), ..) => Chosen::Does(key.choice.filled(item)),
        (None, true, false) => Chosen::Does(key.choice.clone()),
        (None, true, true) => Chosen::Which(letter),
        (None, false, _) => Chosen::Nothing,
    }
}

/// The entries of a list that words find, as a list of their own. A number or a letter with one is not a word.
fn found(menu: &Menu, words: &str) -> Option<Menu> {
    if words.chars().any(|c| c.is_ascii_digit()) && words.chars().count() < 3 {
        return None;
    }
    let items: Vec<MenuItem> = menu.items.iter().filter(|item| item.fits(words)).cloned().collect();
    (!items.is_empty()).then(|| Menu { items, ..menu.clone() })
}

/// Whether what a key does is about one entry.
fn needs_item(key: &MenuKey) -> bool {
    match &key.choice {
        Choice::Close => false,
        Choice::Command { line } | Choice::Type { line, .. } => line.contains("{}"),
    }
}

/// What can be typed at a list.
fn possible(menu: &Menu, line: &str) -> String {
    let mut words = match menu.items.len() {
        0 => Vec::new(),
        count => vec![format!("a number from 1 to {count}")],
    };
    for key in &menu.keys {
        words.push(match needs_item(key) {
            true => format!("{0}1 to {0}{1} ({2})", key.key, menu.items.len(), key.label),
            false => format!("{} ({})", key.key, key.label),
        });
    }
    words.push("words of an entry, a /command, or Enter to close the list".to_owned());
    format!("nothing fits `{line}`: {}", words.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn menu() -> Menu {
        let item = |name: &str| MenuItem {
            label: name.to_owned(),
            choice: Choice::Command { line: format!("/do {name}") },
            value: name.to_owned(),
            ..MenuItem::default()
        };
        let key = |key: char, line: &str| MenuKey {
            key,
            label: "it".to_owned(),
            choice: Choice::Command { line: line.to_owned() },
        };
        Menu {
            items: vec![item("one"), item("two")],
            keys: vec![key('x', "/stop {}"), key('a', "/all")],
            ..Menu::default()
        }
    }

    fn line(typed: &str) -> String {
        match chosen(&menu(), typed) {
            Chosen::Close => "close".to_owned(),
            Chosen::Does(Choice::Command { line }) => line,
            Chosen::Does(_) => "does".to_owned(),
            Chosen::Which(key) => format!("which {key}"),
            Chosen::Nothing => possible(&menu(), typed),
        }
    }

    #[test]
    fn a_number_a_letter_or_nothing_chooses() {
        assert_eq!(line(""), "close");
        assert_eq!(line("2"), "/do two");
        assert_eq!(line("x1"), "/stop one");
        assert_eq!(line("x 2"), "/stop two");
        assert_eq!(line("a"), "/all");
        assert_eq!(line("x"), "which x");
    }

    #[test]
    fn words_find_entries() {
        let labels = |words: &str| -> Vec<String> {
            let found = found(&menu(), words).map(|menu| menu.items).unwrap_or_default();
            found.into_iter().map(|item| item.label).collect()
        };
        assert_eq!(labels("TW"), ["two"]);
        assert_eq!(labels("o"), ["one", "two"]);
        assert_eq!(labels("three"), [""; 0]);
        assert_eq!(labels("9"), [""; 0], "a wrong number is not a word");
    }

    #[test]
    fn what_fits_nothing_is_told_what_would() {
        for typed in ["3", "0", "hello", "x9", "é"] {
            assert_eq!(
                line(typed),
                format!(
                    "nothing fits `{typed}`: a number from 1 to 2, x1 to x2 (it), a (it), words of an entry, a /command, or Enter to close the list"
                )
            );
        }
    }
}
