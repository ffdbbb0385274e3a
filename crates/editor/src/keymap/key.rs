//! Keys, as they are written and as terminals report them.

use std::fmt;
use std::str::FromStr;

use crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// A key without its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum KeyName {
    /// A character. Letters are lowercase.
    Char(char),
    /// Enter.
    Enter,
    /// Escape.
    Escape,
    /// Tab.
    Tab,
    /// Arrow up.
    Up,
    /// Arrow down.
    Down,
    /// Arrow left.
    Left,
    /// Arrow right.
    Right,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Home.
    Home,
    /// End.
    End,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Insert.
    Insert,
    /// A function key, from 1 on.
    Function(u8),
}

/// A key with its modifiers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Key {
    /// The key.
    pub name: KeyName,
    /// Control.
    pub ctrl: bool,
    /// Alt, Option or Meta.
    pub alt: bool,
    /// Shift. For a character other than a letter, it is part of the character.
    pub shift: bool,
    /// Command, Windows or Super.
    pub cmd: bool,
}

/// Keys that are pressed one after the other. There is always one.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Chord(Vec<Key>);

/// A key that cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum KeyError {
    /// Nothing is written.
    #[error("no key is given")]
    Empty,
    /// A modifier or key that is none.
    #[error("unknown key `{}`{}", ona_types::shown(.name), did_you_mean(.meant.as_deref()))]
    Unknown {
        /// What is written.
        name: String,
        /// A similar name.
        meant: Option<String>,
    },
}

pub(super) fn did_you_mean(meant: Option<&str>) -> String {
    meant.map(|meant| format!(": did you mean `{meant}`?")).unwrap_or_default()
}

/// The names of keys. The first name of a key is the one that is shown.
const NAMES: &[(&str, KeyName)] = &[
    ("enter", KeyName::Enter),
    ("return", KeyName::Enter),
    ("escape", KeyName::Escape),
    ("esc", KeyName::Escape),
    ("tab", KeyName::Tab),
    ("space", KeyName::Char(' ')),
    ("up", KeyName::Up),
    ("down", KeyName::Down),
    ("left", KeyName::Left),
    ("right", KeyName::Right),
    ("pageup", KeyName::PageUp),
    ("pagedown", KeyName::PageDown),
    ("home", KeyName::Home),
    ("end", KeyName::End),
    ("backspace", KeyName::Backspace),
    ("delete", KeyName::Delete),
    ("insert", KeyName::Insert),
    ("f1", KeyName::Function(1)),
    ("f2", KeyName::Function(2)),
    ("f3", KeyName::Function(3)),
    ("f4", KeyName::Function(4)),
    ("f5", KeyName::Function(5)),
    ("f6", KeyName::Function(6)),
    ("f7", KeyName::Function(7)),
    ("f8", KeyName::Function(8)),
    ("f9", KeyName::Function(9)),
    ("f10", KeyName::Function(10)),
    ("f11", KeyName::Function(11)),
    ("f12", KeyName::Function(12)),
];

/// The names of modifiers. The first name of a modifier is the one that is shown, in this order.
const MODIFIERS: &[(&str, Modifier)] = &[
    ("ctrl", Modifier::Ctrl),
    ("control", Modifier::Ctrl),
    ("alt", Modifier::Alt),
    ("opt", Modifier::Alt),
    ("option", Modifier::Alt),
    ("meta", Modifier::Alt),
    ("shift", Modifier::Shift),
    ("cmd", Modifier::Cmd),
    ("command", Modifier::Cmd),
    ("super", Modifier::Cmd),
    ("win", Modifier::Cmd),
];

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Modifier {
    Ctrl,
    Alt,
    Shift,
    Cmd,
}

/// Keys with Control that most terminals cannot tell from another: both send the same byte.
const SAME_BYTE: &[(char, KeyName, bool)] = &[
    ('i', KeyName::Tab, false),
    ('m', KeyName::Enter, false),
    ('[', KeyName::Escape, false),
    ('2', KeyName::Char(' '), true),
    ('@', KeyName::Char(' '), true),
    ('4', KeyName::Char('\\'), true),
    ('5', KeyName::Char(']'), true),
    ('6', KeyName::Char('^'), true),
    ('7', KeyName::Char('_'), true),
    ('/', KeyName::Char('_'), true),
    ('-', KeyName::Char('_'), true),
];

/// Characters that Shift makes on the usual keyboard: it says nothing more.
const SHIFTED: &str = "~!@#$%^&*()_+{}|:\"<>?";

impl Key {
    /// A key without modifiers.
    pub const fn plain(name: KeyName) -> Self {
        Self { name, ctrl: false, alt: false, shift: false, cmd: false }
    }

    /// A key with Control.
    pub const fn ctrl(letter: char) -> Self {
        Self { ctrl: true, ..Self::plain(KeyName::Char(letter)) }
    }

    /// The key of an event, the same for every terminal. A release, and a key that has no name, is none.
    pub fn of(event: &KeyEvent) -> Option<Self> {
        if event.kind == KeyEventKind::Release {
            return None;
        }
        let held = |modifier| event.modifiers.intersects(modifier);
        let name = match event.code {
            KeyCode::Char(letter) => KeyName::Char(letter),
            KeyCode::Enter => KeyName::Enter,
            KeyCode::Esc => KeyName::Escape,
            KeyCode::Tab | KeyCode::BackTab => KeyName::Tab,
            KeyCode::Up => KeyName::Up,
            KeyCode::Down => KeyName::Down,
            KeyCode::Left => KeyName::Left,
            KeyCode::Right => KeyName::Right,
            KeyCode::PageUp => KeyName::PageUp,
            KeyCode::PageDown => KeyName::PageDown,
            KeyCode::Home => KeyName::Home,
            KeyCode::End => KeyName::End,
            KeyCode::Backspace => KeyName::Backspace,
            KeyCode::Delete => KeyName::Delete,
            KeyCode::Insert => KeyName::Insert,
            KeyCode::F(number @ 1..=12) => KeyName::Function(number),
            _ => return None,
        };
        let key = Self {
            name,
            ctrl: held(KeyModifiers::CONTROL),
            alt: held(KeyModifiers::ALT | KeyModifiers::META),
            shift: held(KeyModifiers::SHIFT) || event.code == KeyCode::BackTab,
            cmd: held(KeyModifiers::SUPER | KeyModifiers::HYPER),
        };
        Some(key.normalised())
    }

    /// The same key for everything that a terminal may report for it.
    fn normalised(self) -> Self {
        let KeyName::Char(letter) = self.name else { return self };
        match letter {
            '\n' => return Self { name: KeyName::Char('j'), ctrl: true, ..self },
            '\r' => return Self { name: KeyName::Enter, ..self },
            '\t' => return Self { name: KeyName::Tab, ..self },
            '\u{1b}' => return Self { name: KeyName::Escape, ..self },
            '\u{8}' => return Self { name: KeyName::Char('h'), ctrl: true, ..self },
            '\u{7f}' => return Self { name: KeyName::Backspace, ..self },
            '\u{1f}' => return Self { name: KeyName::Char('_'), ctrl: true, ..self },
            _ => {}
        }
        let mut key = self;
        let small = only(letter.to_lowercase()).unwrap_or(letter);
        // Some capitals cannot be told from the small letter again, such as the Kelvin sign.
        let small = if only(small.to_uppercase()) == Some(letter) { small } else { letter };
        if small != letter {
            key.shift = true;
        } else if !letter.is_alphabetic() && letter != ' ' {
            let alone = !self.ctrl && !self.alt && !self.cmd;
            key.shift &= !alone && !SHIFTED.contains(letter);
        }
        key.name = KeyName::Char(small);
        // With Alt, it may be a character that AltGr makes.
        let byte = self.ctrl && !self.alt;
        let same = SAME_BYTE.iter().find(|(with_ctrl, ..)| byte && *with_ctrl == small);
        // Control and Minus is no byte: only Shift makes it the underscore.
        if let Some((_, name, ctrl)) = same.filter(|_| small != '-' || key.shift) {
            key = Self { name: *name, ctrl: *ctrl, shift: false, ..key };
        }
        key
    }

    /// The character that it types: one without Control, Alt or Command.
    pub fn typed(self) -> Option<char> {
        let KeyName::Char(letter) = self.name else { return None };
        // Windows reports AltGr as Control and Alt.
        let alt_gr = self.ctrl && self.alt && !letter.is_ascii_alphanumeric() && letter != ' ';
        if self.cmd || (self.ctrl || self.alt) && !alt_gr {
            return None;
        }
        Some(if self.shift { only(letter.to_uppercase()).unwrap_or(letter) } else { letter })
    }

    /// A key as it is written, before terminals' reports are taken into account.
    fn written(text: &str) -> Result<Self, KeyError> {
        let mut key = Self::plain(KeyName::Escape);
        let mut rest = text;
        // A plus at the end is the key itself.
        while let Some((name, after)) =
            rest.split_once('+').filter(|(name, after)| !name.is_empty() && !after.is_empty())
        {
            let lower = name.to_ascii_lowercase();
            let known = MODIFIERS.iter().find(|(known, _)| *known == lower);
            match known.ok_or_else(|| unknown(name, MODIFIERS.iter().map(|(name, _)| *name)))?.1 {
                Modifier::Ctrl => key.ctrl = true,
                Modifier::Alt => key.alt = true,
                Modifier::Shift => key.shift = true,
                Modifier::Cmd => key.cmd = true,
            }
            rest = after;
        }
        if rest.is_empty() {
            return Err(KeyError::Empty);
        }
        let lower = rest.to_lowercase();
        let named = NAMES.iter().find(|(known, _)| *known == lower).map(|(_, name)| *name);
        key.name = match (named, only(rest.chars())) {
            (Some(name), _) => name,
            // With modifiers, a capital is a matter of taste: `Ctrl+K` is `ctrl+k`.
            (None, Some(letter)) if rest.len() < text.len() => {
                KeyName::Char(only(letter.to_lowercase()).unwrap_or(letter))
            }
            (None, Some(letter)) if !letter.is_control() => KeyName::Char(letter),
            _ => return Err(unknown(rest, NAMES.iter().map(|(name, _)| *name))),
        };
        Ok(key)
    }
}

/// The only item, if there are no more.
fn only(mut letters: impl Iterator<Item = char>) -> Option<char> {
    letters.next().filter(|_| letters.next().is_none())
}

fn unknown<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> KeyError {
    let meant = ona_types::nearest(name, known).map(str::to_owned);
    KeyError::Unknown { name: name.to_owned(), meant }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (name, held) in
            [("ctrl", self.ctrl), ("alt", self.alt), ("shift", self.shift), ("cmd", self.cmd)]
        {
            if held {
                write!(f, "{name}+")?;
            }
        }
        match (NAMES.iter().find(|(_, name)| *name == self.name), self.name) {
            (Some((name, _)), _) => f.write_str(name),
            (None, KeyName::Char(letter)) => write!(f, "{letter}"),
            (None, KeyName::Function(number)) => write!(f, "f{number}"),
            // Every other key has a name.
            (None, name) => write!(f, "{name:?}"),
        }
    }
}

impl Chord {
    /// Its keys, in order.
    pub fn keys(&self) -> &[Key] {
        &self.0
    }

    /// As it is written, which tells keys apart that terminals do not.
    pub(super) fn written(text: &str) -> Result<Vec<Key>, KeyError> {
        let keys: Vec<Key> = text.split_whitespace().map(Key::written).collect::<Result<_, _>>()?;
        if keys.is_empty() { Err(KeyError::Empty) } else { Ok(keys) }
    }

    /// Of keys as they are written.
    pub(super) fn of(written: Vec<Key>) -> Self {
        Self(written.into_iter().map(Key::normalised).collect())
    }
}

impl FromStr for Chord {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        Self::written(text).map(Self::of)
    }
}

impl fmt::Display for Chord {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, key) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str(" ")?;
            }
            write!(f, "{key}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn reported(code: KeyCode, modifiers: KeyModifiers) -> String {
        Key::of(&KeyEvent::new(code, modifiers)).map(|key| key.to_string()).unwrap_or_default()
    }

    #[test]
    fn what_terminals_report_differently_is_one_key() {
        use KeyCode::{BackTab, Backspace, Char, Enter, Tab};
        const NONE: KeyModifiers = KeyModifiers::NONE;
        const SHIFT: KeyModifiers = KeyModifiers::SHIFT;
        const CTRL: KeyModifiers = KeyModifiers::CONTROL;
        const ALT: KeyModifiers = KeyModifiers::ALT;
        for (code, modifiers, key) in [
            (BackTab, SHIFT, "shift+tab"),
            (BackTab, NONE, "shift+tab"),
            (Tab, SHIFT, "shift+tab"),
            (Char('j'), CTRL, "ctrl+j"),
            (Char('\n'), NONE, "ctrl+j"),
            (Char('\r'), NONE, "enter"),
            (Char('m'), CTRL, "enter"),
            (Char('i'), CTRL, "tab"),
            (Char('['), CTRL, "escape"),
            (Enter, ALT, "alt+enter"),
            (Enter, SHIFT, "shift+enter"),
            (Char('h'), CTRL, "ctrl+h"),
            (Char('\u{8}'), NONE, "ctrl+h"),
            (Backspace, CTRL, "ctrl+backspace"),
            (Char('\u{7f}'), ALT, "alt+backspace"),
            (Char('7'), CTRL, "ctrl+_"),
            (Char('/'), CTRL, "ctrl+_"),
            (Char('_'), CTRL, "ctrl+_"),
            (Char('_'), CTRL.union(SHIFT), "ctrl+_"),
            (Char('-'), CTRL.union(SHIFT), "ctrl+_"),
            (Char('\u{1f}'), NONE, "ctrl+_"),
            (Char('-'), CTRL, "ctrl+-"),
            (Char('4'), CTRL, "ctrl+\\"),
            (Char('@'), CTRL, "ctrl+space"),
            (Char('A'), NONE, "shift+a"),
            (Char('A'), SHIFT, "shift+a"),
            (Char('a'), SHIFT, "shift+a"),
            (Char('A'), CTRL, "ctrl+shift+a"),
            (Char('?'), SHIFT, "?"),
            (Char('?'), ALT.union(SHIFT), "alt+?"),
            (Char(' '), SHIFT, "shift+space"),
            (Char('p'), KeyModifiers::META, "alt+p"),
            (Char('k'), KeyModifiers::SUPER, "cmd+k"),
            (KeyCode::CapsLock, NONE, ""),
            (KeyCode::F(13), NONE, ""),
        ] {
            assert_eq!(reported(code, modifiers), key, "{code:?} {modifiers:?}");
        }
        let release = KeyEvent::new_with_kind(Char('a'), NONE, KeyEventKind::Release);
        assert_eq!(Key::of(&release), None);
    }

    #[test]
    fn keys_are_read_as_they_are_written() {
        for (text, shown) in [
            ("ctrl+x ctrl+k", "ctrl+x ctrl+k"),
            ("Ctrl+X   CTRL+K", "ctrl+x ctrl+k"),
            ("opt+p", "alt+p"),
            ("option+META+p", "alt+p"),
            ("super+Shift+Esc", "shift+cmd+escape"),
            ("Return", "enter"),
            ("K", "shift+k"),
            ("ctrl+K", "ctrl+k"),
            ("shift+tab", "shift+tab"),
            ("ctrl+shift+-", "ctrl+_"),
            ("ctrl+/", "ctrl+_"),
            ("ctrl++", "ctrl++"),
            ("+", "+"),
            ("space", "space"),
            ("F12", "f12"),
            ("ü", "ü"),
        ] {
            assert_eq!(text.parse::<Chord>().unwrap().to_string(), shown, "{text}");
        }
    }

    #[test]
    fn what_is_no_key_is_named() {
        for (text, message) in [
            ("", "no key is given"),
            ("  ", "no key is given"),
            ("ctl+x", "unknown key `ctl`: did you mean `ctrl`?"),
            ("ctrl+entr", "unknown key `entr`: did you mean `enter`?"),
            ("ctrl+", "unknown key `ctrl+`"),
            ("f13", "unknown key `f13`: did you mean `f1`?"),
            ("\u{1b}", "unknown key `\u{fffd}`"),
        ] {
            assert_eq!(text.parse::<Chord>().unwrap_err().to_string(), message, "{text:?}");
        }
    }

    #[test]
    fn characters_are_typed_without_modifiers() {
        let typed = |code, modifiers| Key::of(&KeyEvent::new(code, modifiers))?.typed();
        use KeyCode::Char;
        assert_eq!(typed(Char('a'), KeyModifiers::SHIFT), Some('A'));
        assert_eq!(typed(Char('ẞ'), KeyModifiers::SHIFT), Some('ẞ'));
        assert_eq!(typed(Char('?'), KeyModifiers::SHIFT), Some('?'));
        assert_eq!(typed(Char('@'), KeyModifiers::CONTROL | KeyModifiers::ALT), Some('@'));
        assert_eq!(typed(Char('['), KeyModifiers::CONTROL | KeyModifiers::ALT), Some('['));
        assert_eq!(typed(Char('a'), KeyModifiers::ALT), None);
        assert_eq!(typed(Char('j'), KeyModifiers::CONTROL), None);
        assert_eq!(typed(KeyCode::Enter, KeyModifiers::NONE), None);
    }

    proptest! {
        #[test]
        fn every_reported_character_is_typed_as_it_is(letter in "\\PC") {
            let letter = letter.chars().next().unwrap();
            let key = Key::of(&KeyEvent::new(KeyCode::Char(letter), KeyModifiers::NONE)).unwrap();
            prop_assert_eq!(key.typed(), Some(letter));
        }

        #[test]
        fn what_is_shown_is_read_back(
            letter in "[!-~ ]|[äß€]",
            bits in 0u8..64,
        ) {
            let letter = letter.chars().next().unwrap();
            let modifiers = KeyModifiers::from_bits_truncate(bits);
            let key = Key::of(&KeyEvent::new(KeyCode::Char(letter), modifiers)).unwrap();
            let read: Chord = key.to_string().parse().unwrap();
            prop_assert_eq!(read.keys(), [key]);
        }
    }
}
