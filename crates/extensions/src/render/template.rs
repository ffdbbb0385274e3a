//! Parses a skill's text into text, arguments, variables, commands and files.

/// A part of the text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    Text(String),
    Argument(Which),
    Variable(Variable),
    /// A command, made of text, arguments and variables.
    Command(Vec<Token>),
    /// A path, made of the same.
    File(Vec<Token>),
}

/// Which argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Which {
    All,
    /// Counted from 0.
    Nth(usize),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Variable {
    SessionId,
    SkillDir,
    PluginRoot,
    PluginData,
}

const VARIABLES: [(&str, Variable); 4] = [
    ("${CLAUDE_SESSION_ID}", Variable::SessionId),
    ("${CLAUDE_SKILL_DIR}", Variable::SkillDir),
    ("${CLAUDE_PLUGIN_ROOT}", Variable::PluginRoot),
    ("${CLAUDE_PLUGIN_DATA}", Variable::PluginData),
];

const ALL: &str = "$ARGUMENTS";

/// Parses a text; `files` says whether `@file` is a file.
pub(super) fn read(body: &str, files: bool) -> Vec<Token> {
    let mut reader = Reader { tokens: Vec::new(), files };
    let mut lines = body.split_inclusive('\n').peekable();
    while let Some(line) = lines.next() {
        let Some((mark, info)) = fence(line) else {
            reader.line(line);
            continue;
        };
        let closes = |line: &str| {
            fence(line).is_some_and(|(other, info)| info.is_empty() && other.starts_with(mark))
        };
        let mut inner = Vec::new();
        let mut end = None;
        for line in lines.by_ref() {
            if closes(line) {
                end = Some(line);
                break;
            }
            inner.push(line);
        }
        match end {
            // The output replaces the block; the end of its last line stays.
            Some(end) if info == "!" => {
                let command = inner.concat();
                match command.trim().is_empty() {
                    true => {}
                    false => reader.tokens.push(Token::Command(placeholders(command.trim_end()))),
                }
                reader.text(&end[end.trim_end().len()..]);
            }
            // Examples are shown, not run; so is an unclosed block.
            end => {
                reader.plain(line);
                inner.into_iter().chain(end).for_each(|line| reader.plain(line));
            }
        }
    }
    reader.tokens
}

/// The fence of a code block at the start of a line, and the rest of the line.
fn fence(line: &str) -> Option<(&str, &str)> {
    let trimmed = line.trim();
    if line.len() - line.trim_start().len() > 3 {
        return None;
    }
    let mark = ['`', '~'].into_iter().find(|mark| trimmed.starts_with(*mark))?;
    let length = trimmed.len() - trimmed.trim_start_matches(mark).len();
    let (marks, info) = trimmed.split_at(length);
    (length >= 3 && !info.contains('`')).then_some((marks, info.trim()))
}

struct Reader {
    tokens: Vec<Token>,
    files: bool,
}

impl Reader {
    fn text(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.tokens.last_mut() {
            Some(Token::Text(last)) => last.push_str(text),
            _ => self.tokens.push(Token::Text(text.to_owned())),
        }
    }

    /// Text in which only arguments and variables are replaced.
    fn plain(&mut self, text: &str) {
        for token in placeholders(text) {
            match token {
                Token::Text(text) => self.text(&text),
                token => self.tokens.push(token),
            }
        }
    }

    fn line(&mut self, line: &str) {
        // The start of the text that is not parsed yet.
        let mut from = 0;
        let mut at = 0;
        while let Some(c) = line[at..].chars().next() {
            let opens = line[..at].chars().next_back().is_none_or(char::is_whitespace);
            let rest = &line[at..];
            let taken = match c {
                '`' => code_span(rest).map(|length| (length, None)),
                '!' if opens => command(rest),
                '@' if opens && self.files => file(rest),
                _ => None,
            };
            match taken {
                Some((length, Some(token))) => {
                    self.plain(&line[from..at]);
                    self.tokens.push(token);
                    at += length;
                    from = at;
                }
                Some((length, None)) => at += length,
                None => at += c.len_utf8(),
            }
        }
        self.plain(&line[from..]);
    }
}

/// The length of a code span, with its backticks.
fn code_span(text: &str) -> Option<usize> {
    let run = |text: &str| text.len() - text.trim_start_matches('`').len();
    let marks = run(text);
    let mut at = marks;
    while let Some(next) = text[at..].find('`') {
        let length = run(&text[at + next..]);
        at += next + length;
        if length == marks {
            return Some(at);
        }
    }
    // An unclosed code span is text.
    Some(marks)
}

/// `` !`command` `` at the start of a text.
fn command(text: &str) -> Option<(usize, Option<Token>)> {
    let inner = text.strip_prefix("!`")?;
    let end = inner.find(['`', '\n']).filter(|end| inner[*end..].starts_with('`'))?;
    let command = &inner[..end];
    if command.trim().is_empty() {
        return None;
    }
    Some((end + 3, Some(Token::Command(placeholders(command.trim())))))
}

/// `@path` at the start of a text. A name without a slash or dot may be a person's.
fn file(text: &str) -> Option<(usize, Option<Token>)> {
    let word = text[1..].split(char::is_whitespace).next().unwrap_or_default();
    let path = word.trim_end_matches(['.', ',', ';', ':', '!', '?', ')', ']', '"', '\'', '*', '`']);
    let parts = placeholders(path);
    let is_path =
        path.contains(['/', '.']) || parts.iter().any(|part| *part != Token::Text(path.to_owned()));
    (!path.is_empty() && is_path).then(|| (1 + path.len(), Some(Token::File(parts))))
}

/// A text with arguments and variables.
fn placeholders(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let mut kept = String::new();
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        let (before, from) = rest.split_at(at);
        let Some((token, length)) = placeholder(from) else {
            kept.push_str(before);
            kept.push('$');
            rest = &from[1..];
            continue;
        };
        if let Some(before) = before.strip_suffix('\\') {
            // Escaped: it stays as it is.
            kept.push_str(before);
            kept.push_str(&from[..length]);
        } else {
            kept.push_str(before);
            if !kept.is_empty() {
                tokens.push(Token::Text(std::mem::take(&mut kept)));
            }
            tokens.push(token);
        }
        rest = &from[length..];
    }
    kept.push_str(rest);
    if !kept.is_empty() {
        tokens.push(Token::Text(kept));
    }
    tokens
}

/// The placeholder at the start of a text, and its length.
fn placeholder(text: &str) -> Option<(Token, usize)> {
    if let Some((name, variable)) = VARIABLES.iter().find(|(name, _)| text.starts_with(name)) {
        return Some((Token::Variable(*variable), name.len()));
    }
    let follows = |rest: &str| rest.chars().next().is_some_and(|c| c.is_alphanumeric() || c == '_');
    if let Some(rest) = text.strip_prefix(ALL) {
        if let Some((index, _)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
            && let Some(nth) = number(index)
        {
            return Some((Token::Argument(Which::Nth(nth)), ALL.len() + index.len() + 2));
        }
        return (!follows(rest)).then_some((Token::Argument(Which::All), ALL.len()));
    }
    let digits = text[1..].chars().take_while(char::is_ascii_digit).count();
    let (index, rest) = text[1..].split_at(digits);
    // `$5.00` is a price.
    let price = rest
        .strip_prefix(['.', ','])
        .is_some_and(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if follows(rest) || price {
        return None;
    }
    number(index).map(|nth| (Token::Argument(Which::Nth(nth)), 1 + digits))
}

/// An index of at most two digits.
fn number(text: &str) -> Option<usize> {
    let fits = matches!(text.len(), 1 | 2) && text.bytes().all(|byte| byte.is_ascii_digit());
    text.parse().ok().filter(|_| fits)
}

/// Tokens as they were written.
pub(super) fn written(parts: &[Token]) -> String {
    let part = |part: &Token| match part {
        Token::Text(text) => text.clone(),
        Token::Argument(Which::All) => ALL.to_owned(),
        Token::Argument(Which::Nth(nth)) => format!("${nth}"),
        Token::Variable(variable) => {
            let name = VARIABLES.iter().find(|(_, known)| known == variable);
            name.map(|(name, _)| (*name).to_owned()).unwrap_or_default()
        }
        Token::Command(parts) | Token::File(parts) => written(parts),
    };
    parts.iter().map(part).collect()
}
