//! Makes a prompt of a skill: its text with arguments and variables filled in, and its commands and files as separate
//! pieces, for the caller to run and read.
//!
//! Commands and files are found in the text as its author wrote it. Arguments are filled in afterwards, so an argument
//! never becomes a command. In a command an argument is quoted ([`quoting`]); if that cannot be done safely, the command
//! is not run.

mod arguments;
mod quoting;
mod template;

use std::path::Path;

use ona_config::trust::Origin;
use ona_hooks::Shell;

use crate::skill::{SkillDefinition, SkillKind};
pub use arguments::words;
use quoting::Quoting;
use template::{Token, Variable, Which};

/// The replacement of a command if settings switch commands off.
pub const SWITCHED_OFF: &str =
    "[command not run: disableSkillShellExecution switches commands in skills off]";

/// The maximum size of a prompt.
const MAX_PROMPT: usize = 4 << 20;

/// What a skill is rendered with.
#[derive(Clone, Copy, Debug)]
pub struct RenderContext<'a> {
    /// The session.
    pub session_id: &'a str,
    /// Whether settings switch commands in skills off (`disableSkillShellExecution`). Commands in the organisation's
    /// skills still run.
    pub commands_off: bool,
}

/// A part of the prompt.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Piece {
    /// Text as it is.
    Text(String),
    /// The output of this command, which passes the gate like any other.
    Command {
        /// The command line.
        command: String,
        /// In which shell.
        shell: Shell,
    },
    /// The contents of this file, relative to the project's directory. If it cannot be read, it is text with an `@`.
    File(String),
}

/// A rendered skill.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rendered {
    /// Its parts, in order.
    pub pieces: Vec<Piece>,
}

/// Why a skill cannot be rendered.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RenderError {
    /// The prompt would be too long.
    #[error("with these arguments /{0} is longer than 4 MiB: give it fewer or shorter ones")]
    TooLong(String),
}

/// Whether a text contains commands, which run before the model sees it.
pub(crate) fn has_commands(body: &str) -> bool {
    template::read(body, false).iter().any(|token| matches!(token, Token::Command(_)))
}

/// Renders a skill with its arguments.
pub fn render(
    skill: &SkillDefinition,
    arguments: &str,
    context: &RenderContext<'_>,
) -> Result<Rendered, RenderError> {
    let arguments = arguments.trim();
    let tokens = template::read(&skill.body, skill.kind == SkillKind::Command);
    let off = context.commands_off && skill.origin != Origin::Managed;
    let mut writer = Writer {
        skill,
        context,
        arguments,
        words: words(arguments),
        pieces: Vec::new(),
        length: 0,
        used: false,
    };
    for token in &tokens {
        match token {
            Token::Command(_) if off => writer.text(SWITCHED_OFF),
            Token::Command(parts) => writer.command(parts),
            Token::File(parts) => {
                let path = writer.plain(parts);
                writer.push(Piece::File(path));
            }
            token => {
                let text = writer.value(token);
                writer.text(&text);
            }
        }
        if writer.length > MAX_PROMPT {
            return Err(RenderError::TooLong(skill.name.clone()));
        }
    }
    if !writer.used && !arguments.is_empty() {
        let ends = matches!(writer.pieces.last(), Some(Piece::Text(text)) if text.ends_with('\n'));
        writer.text(if ends { "\n" } else { "\n\n" });
        writer.text(&format!("ARGUMENTS: {arguments}"));
    }
    Ok(Rendered { pieces: writer.pieces })
}

struct Writer<'a> {
    skill: &'a SkillDefinition,
    context: &'a RenderContext<'a>,
    arguments: &'a str,
    words: Vec<String>,
    pieces: Vec<Piece>,
    length: usize,
    /// Whether the text says where arguments go.
    used: bool,
}

impl Writer<'_> {
    fn push(&mut self, piece: Piece) {
        self.length += match &piece {
            Piece::Text(text) | Piece::File(text) | Piece::Command { command: text, .. } => {
                text.len()
            }
        };
        self.pieces.push(piece);
    }

    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        self.length += text.len();
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
    }

    /// What a token stands for.
    fn value(&mut self, token: &Token) -> String {
        match token {
            Token::Text(text) => text.clone(),
            Token::Argument(which) => {
                self.used = true;
                match which {
                    Which::All => self.arguments.to_owned(),
                    Which::Nth(index) => self.words.get(*index).cloned().unwrap_or_default(),
                }
            }
            Token::Variable(variable) => self.variable(*variable),
            Token::Command(_) | Token::File(_) => String::new(),
        }
    }

    fn variable(&self, variable: Variable) -> String {
        let path = |path: &Path| path.to_string_lossy().into_owned();
        let plugin = self.skill.plugin.as_ref();
        match variable {
            Variable::SessionId => self.context.session_id.to_owned(),
            Variable::SkillDir => path(self.skill.dir()),
            Variable::PluginRoot => plugin.map(|plugin| path(&plugin.root)).unwrap_or_default(),
            Variable::PluginData => plugin.map(|plugin| path(&plugin.data)).unwrap_or_default(),
        }
    }

    fn plain(&mut self, parts: &[Token]) -> String {
        parts.iter().map(|part| self.value(part)).collect()
    }

    /// A command with everything filled in, or a text that says why it is not run.
    fn command(&mut self, parts: &[Token]) {
        let mut quoting = Quoting::new(self.skill.shell);
        let mut command = String::new();
        for part in parts {
            let put = match part {
                Token::Text(text) => {
                    quoting.passes(text);
                    Some(text.clone())
                }
                Token::Argument(Which::All) => {
                    self.used = true;
                    quoting.all(self.arguments, &self.words)
                }
                Token::Argument(Which::Nth(index)) => {
                    self.used = true;
                    // A missing argument is nothing; an empty one is a word.
                    self.words.get(*index).map_or(Some(String::new()), |word| quoting.one(word))
                }
                part => {
                    let value = self.value(part);
                    quoting.one(&value)
                }
            };
            let Some(put) = put else {
                self.used = true;
                let written = template::written(parts);
                return self.text(&format!(
                    "[command not run: `{written}`: an argument cannot be put there safely]"
                ));
            };
            command.push_str(&put);
            if self.length + command.len() > MAX_PROMPT {
                self.length += command.len();
                return;
            }
        }
        self.push(Piece::Command { command, shell: self.skill.shell });
    }
}

#[cfg(test)]
mod tests;
