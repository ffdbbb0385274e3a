//! The keys that are no text, as xterm encodes them.

/// A key that is no text. Text itself is sent as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Key {
    /// Enter.
    Enter,
    /// Escape. What follows at once is read as Alt: wait for the effect before sending more.
    Esc,
    /// Tab.
    Tab,
    /// Shift and Tab.
    BackTab,
    /// The arrow up.
    Up,
    /// The arrow down.
    Down,
    /// The arrow to the left.
    Left,
    /// The arrow to the right.
    Right,
    /// Home.
    Home,
    /// End.
    End,
    /// Page up.
    PageUp,
    /// Page down.
    PageDown,
    /// Backspace.
    Backspace,
    /// Delete.
    Delete,
    /// Control and a letter, or one of `@ [ \ ] ^ _ ?` and the space.
    Ctrl(char),
    /// Alt and a character; `Alt('\r')` is Alt and Enter.
    Alt(char),
}

impl Key {
    /// What the terminal sends. Programs may ask for another form of the keys that move the cursor.
    pub(super) fn encoded(self, application_cursor: bool) -> String {
        let moves =
            |last: char| format!("\x1b{}{last}", if application_cursor { 'O' } else { '[' });
        match self {
            Self::Enter => "\r".to_owned(),
            Self::Esc => "\x1b".to_owned(),
            Self::Tab => "\t".to_owned(),
            Self::BackTab => "\x1b[Z".to_owned(),
            Self::Up => moves('A'),
            Self::Down => moves('B'),
            Self::Right => moves('C'),
            Self::Left => moves('D'),
            Self::Home => moves('H'),
            Self::End => moves('F'),
            Self::PageUp => "\x1b[5~".to_owned(),
            Self::PageDown => "\x1b[6~".to_owned(),
            Self::Backspace => "\x7f".to_owned(),
            Self::Delete => "\x1b[3~".to_owned(),
            Self::Ctrl(' ') => "\0".to_owned(),
            Self::Ctrl('?') => "\x7f".to_owned(),
            Self::Ctrl(c @ ('a'..='z' | '@'..='_')) => {
                char::from(u8::try_from(c).unwrap() & 0x1f).to_string()
            }
            Self::Ctrl(c) => panic!("Control and {c:?} has no code of its own in xterm"),
            Self::Alt(c) => format!("\x1b{c}"),
        }
    }
}
