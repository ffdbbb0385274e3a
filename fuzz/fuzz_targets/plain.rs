//! A second reader of command lines, for those that are simple commands with `;`, `&`, `|`, `&&`, `||` and
//! newlines between them, quoting, comments, `$name`, `${name}` and redirections to files. It is written
//! from the manual ("Shell Operation", "Quoting", "Redirections") and shares nothing with the first.
//! Whatever else a line has makes it say nothing.

use std::iter::Peekable;
use std::str::Chars;

use ona_policy::shell::Direction;

/// A simple command. Words are nothing where a glob, a tilde, a variable or `$'…'` may change them.
#[derive(Debug, Default)]
pub struct Command {
    /// Without assignments in front.
    pub words: Vec<Option<String>>,
    /// Which way, and the file.
    pub redirects: Vec<(Direction, Option<String>)>,
}

/// Words that begin something else than a simple command.
const RESERVED: &[&str] = &[
    "if", "then", "elif", "else", "fi", "for", "while", "until", "do", "done", "case", "esac",
    "select", "function", "time", "coproc", "in", "[[", "]]", "!",
];

enum Token {
    Word(Word),
    /// `;` `&` `|` `|&` `&&` `||`; whether a newline may follow before the next command.
    Separator { joins: bool },
    Newline,
    Redirect(Direction),
}

#[derive(Default)]
struct Word {
    /// After quote removal.
    text: String,
    /// Before it.
    quoted: bool,
    /// Something may change it.
    expands: bool,
    /// The length of `NAME=` or `NAME+=` in front, if it is an assignment.
    assigns: bool,
}

/// The commands of a line, if it is a complete line of simple commands.
pub fn read(text: &str) -> Option<Vec<Command>> {
    let mut reader = Reader { rest: text.chars().peekable(), comment: false };
    let mut commands = Vec::new();
    let mut command = Command::default();
    // Whether the command has anything yet, and whether one must come.
    let (mut begun, mut wanted) = (false, false);
    let mut redirect = None;
    while let Some(token) = reader.token()? {
        if redirect.is_some() && !matches!(token, Token::Word(_)) {
            return None;
        }
        match token {
            Token::Word(word) => {
                begun = true;
                wanted = false;
                if let Some(direction) = redirect.take() {
                    command.redirects.push((direction, word.known()));
                } else if !(command.words.is_empty() && word.assigns) {
                    if command.words.is_empty() && !word.quoted
                        && RESERVED.contains(&word.text.as_str())
                    {
                        return None;
                    }
                    command.words.push(word.known());
                }
            }
            Token::Redirect(direction) => {
                begun = true;
                redirect = Some(direction);
            }
            Token::Separator { .. } if !begun => return None,
            Token::Separator { joins } => {
                commands.push(std::mem::take(&mut command));
                begun = false;
                wanted = joins;
            }
            Token::Newline if begun => {
                commands.push(std::mem::take(&mut command));
                begun = false;
            }
            Token::Newline => {}
        }
    }
    if redirect.is_some() || wanted {
        return None;
    }
    commands.push(command);
    Some(commands)
}

/// Whether a line that can be read ends in a comment, or has one.
pub fn has_comment(text: &str) -> bool {
    let mut reader = Reader { rest: text.chars().peekable(), comment: false };
    while let Some(Some(_)) = reader.token() {}
    reader.comment
}

impl Word {
    fn known(self) -> Option<String> {
        (!self.expands).then_some(self.text)
    }
}

struct Reader<'t> {
    rest: Peekable<Chars<'t>>,
    comment: bool,
}

impl Reader<'_> {
    fn next_is(&mut self, wanted: char) -> bool {
        self.rest.next_if_eq(&wanted).is_some()
    }

    /// The next token; nothing at the end. The outer nothing: this reader does not know.
    fn token(&mut self) -> Option<Option<Token>> {
        loop {
            match self.rest.peek() {
                None => return Some(None),
                Some(' ' | '\t') => {
                    self.rest.next();
                }
                Some('#') => {
                    self.comment = true;
                    while self.rest.next_if(|c| *c != '\n').is_some() {}
                }
                Some('\\') => {
                    // A line that goes on is a blank like no other: it may stand in a word.
                    let mut ahead = self.rest.clone();
                    ahead.next();
                    if ahead.next() != Some('\n') {
                        break;
                    }
                    self.rest = ahead;
                }
                Some(_) => break,
            }
        }
        let operator = match self.rest.peek()? {
            '\n' => {
                self.rest.next();
                Token::Newline
            }
            ';' => {
                self.rest.next();
                Token::Separator { joins: false }
            }
            '|' => {
                self.rest.next();
                let _ = self.next_is('|') || self.next_is('&');
                Token::Separator { joins: true }
            }
            '&' => {
                self.rest.next();
                if self.next_is('>') {
                    let _ = self.next_is('>');
                    Token::Redirect(Direction::Write)
                } else if self.rest.peek() == Some(&'\\') {
                    // `&`, a line that goes on, `>`: one operator after all.
                    return None;
                } else {
                    Token::Separator { joins: self.next_is('&') }
                }
            }
            '<' | '>' => self.redirect()?,
            _ => return self.word(),
        };
        // The manual's operators are longer where the next character fits; this reader knows none.
        if matches!(operator, Token::Redirect(_)) && matches!(self.rest.peek(), Some('<' | '>' | '&' | '(' | '|'))
        {
            return None;
        }
        Some(Some(operator))
    }

    fn redirect(&mut self) -> Option<Token> {
        let direction = match self.rest.next()? {
            '<' if self.next_is('>') => Direction::ReadWrite,
            '<' => Direction::Read,
            _ => {
                let _ = self.next_is('>') || self.next_is('|');
                Direction::Write
            }
        };
        Some(Token::Redirect(direction))
    }

    fn word(&mut self) -> Option<Option<Token>> {
        let mut word = Word::default();
        // Of what was read so far: a name, as it would stand before `=`.
        let mut name = true;
        while let Some(character) = self.rest.peek().copied() {
            match character {
                ' ' | '\t' | '\n' | ';' | '|' | '&' => break,
                '<' | '>' => {
                    // A number right before it is the descriptor, no word.
                    if !word.quoted && !word.expands && !word.text.is_empty()
                        && word.text.bytes().all(|b| b.is_ascii_digit())
                    {
                        let token = self.redirect()?;
                        if matches!(self.rest.peek(), Some('<' | '>' | '&' | '(' | '|')) {
                            return None;
                        }
                        return Some(Some(token));
                    }
                    break;
                }
                '(' | ')' | '{' | '}' | '`' => return None,
                _ => {}
            }
            self.rest.next();
            match character {
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    escaped => {
                        word.quoted = true;
                        name = false;
                        word.text.push(escaped);
                    }
                },
                '\'' => {
                    word.quoted = true;
                    name = false;
                    loop {
                        match self.rest.next()? {
                            '\'' => break,
                            inner => word.text.push(inner),
                        }
                    }
                }
                '"' => {
                    word.quoted = true;
                    name = false;
                    word.expands |= self.double_quoted(&mut word.text)?;
                }
                '$' if self.next_is('\'') => {
                    word.quoted = true;
                    word.expands = true;
                    name = false;
                    loop {
                        match self.rest.next()? {
                            '\'' => break,
                            '\\' => {
                                self.rest.next()?;
                            }
                            _ => {}
                        }
                    }
                }
                '$' => {
                    name = false;
                    word.expands = true;
                    self.variable()?;
                }
                // `a[` may be the subscript of an assignment, which takes in blanks.
                '[' if name && !word.text.is_empty() => return None,
                '*' | '?' | '[' | '~' => {
                    word.expands = true;
                    name = false;
                    word.text.push(character);
                }
                '=' => {
                    let bare = word.text.strip_suffix('+').unwrap_or(&word.text);
                    let begins = bare.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
                    word.assigns |= name && begins;
                    name = false;
                    word.text.push('=');
                }
                '+' if name && self.rest.peek() == Some(&'=') => word.text.push('+'),
                other => {
                    name &= other.is_ascii_alphanumeric() || other == '_';
                    word.text.push(other);
                }
            }
        }
        Some(Some(Token::Word(word)))
    }

    /// What follows a `$`, if it is the name of a variable, in braces or not.
    fn variable(&mut self) -> Option<()> {
        let letter = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
        let braced = self.next_is('{');
        match self.rest.next()? {
            '?' | '#' | '@' | '*' | '!' | '$' | '-' if !braced => return Some(()),
            digit if digit.is_ascii_digit() && !braced => return Some(()),
            first if first.is_ascii_alphabetic() || first == '_' => {}
            _ => return None,
        }
        while self.rest.next_if(letter).is_some() {}
        // In braces only the bare name; and a subscript may take in anything.
        (!braced || self.next_is('}')).then_some(())
    }

    /// Whether something in the string expands.
    fn double_quoted(&mut self, out: &mut String) -> Option<bool> {
        let mut expands = false;
        loop {
            match self.rest.next()? {
                '"' => return Some(expands),
                '`' => return None,
                '$' => {
                    expands = true;
                    self.variable()?;
                }
                '\\' => match self.rest.next()? {
                    '\n' => {}
                    escaped @ ('$' | '`' | '"' | '\\') => out.push(escaped),
                    other => out.extend(['\\', other]),
                },
                other => out.push(other),
            }
        }
    }
}
