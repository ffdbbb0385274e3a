//! A second, stricter reading of a command line.
//!
//! The grammar is not bash's own, and where the two disagree, a command could be hidden from the rules.
//! This reader knows only the plain part of the language, character for character as bash's manual has it,
//! and gives up on everything else. Only what both read alike counts as read.

mod arithmetic;

use super::builtins::{self, Meaning};
use super::{Command, Script};

/// The parsed parts, as written.
#[derive(Debug, Default)]
pub(super) struct Reading<'s> {
    /// The words of every simple command.
    commands: Vec<Vec<&'s str>>,
    assignments: Vec<(&'s str, &'s str)>,
    redirects: Vec<&'s str>,
    /// A here-document or here-string depends on variables.
    pub(super) here_expands: bool,
    /// Something is evaluated as arithmetic that names variables.
    arithmetic: bool,
    /// Variables are set.
    sets: bool,
    /// And to values that are not plain text.
    assigns: bool,
    /// A variable's value may be evaluated as code.
    risky: bool,
    /// The same, if the value has more than one word.
    splits: bool,
    /// Some value is more than one word, or could be an operator.
    sets_words: bool,
    /// A variable's value would be taken for a list, where the variable that is set is one.
    lists: bool,
    /// Some variables are lists.
    arrays: bool,
    /// A here-document or here-string feeds a command.
    pub(super) here: bool,
    /// What they feed it.
    pub(super) here_texts: Vec<&'s str>,
    /// Variables are set in other ways than by assignments and loops.
    pub(super) sets_otherwise: bool,
    /// And by loops.
    pub(super) loops: bool,
}

/// Why the text is not plain.
pub(super) type Plain<T> = Result<T, &'static str>;

/// How deep substitutions within substitutions are followed.
const MAX_DEPTH: usize = 40;

/// Reads a command line; an error says why it is not plain.
pub(super) fn read(source: &str) -> Plain<Reading<'_>> {
    if source.chars().any(|c| c.is_control() && c != '\n' && c != '\t') {
        return Err("it contains control characters");
    }
    let mut reader =
        Reader { source, at: 0, heredocs: Vec::new(), depth: 0, reading: Reading::default() };
    reader.list(End::OfText)?;
    let reading = reader.reading;
    if reading.arithmetic && reading.assigns {
        return Err(
            "it calculates with variables that it sets, and a value could contain a command",
        );
    }
    let more = reading.assigns || reading.sets_words;
    if reading.risky && reading.sets || reading.splits && more {
        return Err("it evaluates a variable that it sets");
    }
    if reading.lists && reading.arrays {
        return Err("it sets a list to what a variable holds");
    }
    Ok(reading)
}

impl Reading<'_> {
    /// Whether the grammar has found the same. What is in brackets it cuts differently, so there only the
    /// characters count.
    pub(super) fn agrees(&self, script: &Script) -> bool {
        let ours = self.commands.iter().map(|words| shape(words.iter().copied()));
        let with_words = script.commands.iter().filter(|command| !command.words.is_empty());
        let theirs = with_words
            .map(|command: &Command| shape(command.words.iter().map(|word| word.source.as_str())));
        let assignments = script.commands.iter().flat_map(|command| &command.assignments);
        let assignments = assignments.map(|one| (one.name.as_str(), one.value.as_str()));
        let redirects = script.redirects.iter().map(|redirect| redirect.target.source.as_str());
        sorted(ours) == sorted(theirs)
            && sorted(self.assignments.iter().copied()) == sorted(assignments)
            && sorted(self.redirects.iter().copied()) == sorted(redirects)
    }
}

fn shape<'s>(words: impl Iterator<Item = &'s str>) -> Vec<String> {
    // The grammar loses a lone `-` before a here-document; it names standard input and nothing else.
    let words: Vec<String> = words.filter(|word| *word != "-").map(str::to_owned).collect();
    match words.first().map(String::as_str) {
        Some("[" | "[[") => {
            vec![words.concat().split_whitespace().collect()]
        }
        _ => words,
    }
}

fn sorted<T: Ord>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut all: Vec<T> = all.collect();
    all.sort_unstable();
    all
}

/// Where a list of commands ends.
#[derive(Clone, Copy, PartialEq, Eq)]
enum End {
    OfText,
    Parenthesis,
    /// Of one branch of a `case`; what ends it is left to be read.
    Branch,
}

struct Heredoc {
    delimiter: String,
    quoted: bool,
    strips_tabs: bool,
}

struct Reader<'s> {
    source: &'s str,
    at: usize,
    /// Here-documents whose text begins after the next newline.
    heredocs: Vec<Heredoc>,
    depth: usize,
    reading: Reading<'s>,
}

impl<'s> Reader<'s> {
    fn peek(&self) -> Option<u8> {
        self.source.as_bytes().get(self.at).copied()
    }

    fn next_is(&self, text: &str) -> bool {
        self.source[self.at..].starts_with(text)
    }

    fn skip(&mut self, text: &str) -> bool {
        let is = self.next_is(text);
        if is {
            self.at += text.len();
        }
        is
    }

    /// Moves over one character.
    fn step(&mut self) -> Plain<()> {
        let character = self.source[self.at..].chars().next().ok_or("it ends too early")?;
        self.at += character.len_utf8();
        Ok(())
    }

    /// Moves over blanks, line breaks that a backslash hides, and comments.
    fn blanks(&mut self) {
        loop {
            match self.peek() {
                Some(b' ' | b'\t') => self.at += 1,
                Some(b'\\') if self.next_is("\\\n") => self.at += 2,
                Some(b'#') if self.at_boundary() => {
                    let rest = &self.source[self.at..];
                    self.at += rest.find('\n').unwrap_or(rest.len());
                }
                _ => return,
            }
        }
    }

    /// Whether a new word can begin here: only there `#` starts a comment.
    fn at_boundary(&self) -> bool {
        let before = self.source.as_bytes()[..self.at].last();
        before.is_none_or(|byte| b" \t\n;|&()".contains(byte))
    }

    /// Moves over a newline, and over the here-documents that begin there.
    fn newline(&mut self) -> Plain<()> {
        self.at += 1;
        for heredoc in std::mem::take(&mut self.heredocs) {
            self.heredoc(&heredoc)?;
        }
        Ok(())
    }

    fn heredoc(&mut self, heredoc: &Heredoc) -> Plain<()> {
        let start = self.at;
        let mut line = start;
        let end = loop {
            let rest = self.source.get(line..).filter(|rest| !rest.is_empty());
            let rest = rest.ok_or("a here-document does not end")?;
            let text = rest.split('\n').next().unwrap_or_default();
            let bare = if heredoc.strips_tabs { text.trim_start_matches('\t') } else { text };
            if bare == heredoc.delimiter {
                break line;
            }
            line += text.len() + 1;
        };
        while !heredoc.quoted && self.at < end {
            match self.peek() {
                Some(b'`') => return Err("a here-document contains a backtick"),
                Some(b'\\') => {
                    self.at += 1;
                    self.step()?;
                }
                Some(b'$') => {
                    self.reading.here_expands = true;
                    self.dollar(true)?;
                }
                _ => self.step()?,
            }
        }
        if !heredoc.quoted && self.at > end {
            return Err("a here-document ends inside a substitution");
        }
        self.reading.here_texts.push(&self.source[start..end]);
        let rest = &self.source[end..];
        self.at = end + rest.find('\n').unwrap_or(rest.len());
        Ok(())
    }

    fn list(&mut self, end: End) -> Plain<()> {
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        loop {
            self.blanks();
            match self.peek() {
                None if end == End::OfText && self.heredocs.is_empty() => break,
                None => return Err("something in it does not end"),
                Some(b'\n') => self.newline()?,
                Some(b')') if end == End::Parenthesis => {
                    self.at += 1;
                    break;
                }
                Some(b')') => return Err("a closing parenthesis without an opening one"),
                Some(b';') if end == End::Branch && (self.next_is(";;") || self.next_is(";&")) => {
                    break;
                }
                Some(b';') if self.next_is(";;") => return Err("`;;` outside a case branch"),
                Some(b'e') if end == End::Branch && self.at_word("esac") => break,
                Some(b';' | b'|') => self.at += 1,
                Some(b'&') if !self.next_is("&>") => self.at += 1,
                Some(_) => self.command()?,
            }
        }
        self.depth -= 1;
        Ok(())
    }

    /// A simple command, or the word that opens or closes a compound one.
    fn command(&mut self) -> Plain<()> {
        let mut words: Vec<&'s str> = Vec::new();
        let mut closed = false;
        loop {
            self.blanks();
            match self.peek() {
                None | Some(b'\n' | b';' | b')' | b'|') => break,
                Some(b'&') if !self.next_is("&>") => break,
                Some(b'(') if words.is_empty() && !closed && self.next_is("((") => {
                    self.arithmetic(false)?;
                    closed = true;
                    continue;
                }
                Some(b'(') if words.is_empty() && !closed => {
                    self.at += 1;
                    self.list(End::Parenthesis)?;
                    closed = true;
                    continue;
                }
                Some(b'(') if words.len() == 1 && is_name(words[0]) => {
                    self.at += 1;
                    self.blanks();
                    // What follows is the function's body.
                    return if self.skip(")") { Ok(()) } else { Err("a parenthesis in a word") };
                }
                Some(b'(') => return Err("a parenthesis in a word"),
                _ => {}
            }
            if self.is_redirect() {
                self.redirect()?;
                continue;
            }
            let word = self.word()?;
            if word.starts_with('{') && word.len() > 2 && matches!(self.peek(), Some(b'<' | b'>')) {
                return Err("a redirection that sets a variable");
            }
            if closed {
                return Err("a word after a compound command");
            }
            if !words.is_empty() {
                words.push(word);
                continue;
            }
            if let Some((name, mut value)) = assignment(word)? {
                if value.is_empty() && self.peek() == Some(b'(') {
                    value = self.array()?;
                }
                if builtins::is_evaluated(name) {
                    return Err("it sets a variable that bash evaluates");
                }
                self.reading.sets = true;
                self.reading.assigns |= !is_tame(value);
                self.reading.sets_words |= is_more(value);
                self.reading.assignments.push((name, value));
                continue;
            }
            match word {
                "if" | "then" | "elif" | "else" | "while" | "until" | "do" | "!" | "{" => {
                    return Ok(());
                }
                "fi" | "done" | "}" => closed = true,
                "for" => return self.for_header(),
                "[[" => return self.double_brackets(),
                "case" => {
                    self.case()?;
                    closed = true;
                }
                "esac" | "select" | "function" | "coproc" | "in" => {
                    return Err("a compound command that is not supported");
                }
                _ => words.push(word),
            }
        }
        if !words.is_empty() {
            self.check_meaning(&words)?;
            self.reading.commands.push(words);
        }
        Ok(())
    }

    fn check_meaning(&mut self, words: &[&str]) -> Plain<()> {
        let Meaning { sets, sets_wild, risky, splits, lists } = builtins::meaning(words)?;
        let reading = &mut self.reading;
        reading.sets |= sets;
        reading.sets_otherwise |= sets;
        reading.assigns |= sets_wild;
        reading.risky |= risky;
        reading.splits |= splits;
        reading.lists |= lists;
        Ok(())
    }

    fn for_header(&mut self) -> Plain<()> {
        self.blanks();
        if self.next_is("((") {
            return self.arithmetic(true);
        }
        self.reading.sets = true;
        self.reading.loops = true;
        let name = self.word()?;
        if !is_name(name) || !is_private_variable(name) {
            return Err("a loop over a variable that affects programs");
        }
        self.blanks();
        if matches!(self.peek(), Some(b';' | b'\n')) {
            self.reading.assigns = true;
            return Ok(());
        }
        if self.word()? != "in" {
            return Err("a loop that is not plain");
        }
        loop {
            self.blanks();
            match self.peek() {
                Some(b';' | b'\n') => return Ok(()),
                _ => {
                    let word = self.word()?;
                    self.reading.assigns |= !is_tame(word);
                    self.reading.sets_words |= is_more(word);
                }
            }
        }
    }

    /// `case WORD in PATTERN|PATTERN) … ;; esac`, behind its first word.
    fn case(&mut self) -> Plain<()> {
        self.blanks();
        self.word()?;
        self.gap()?;
        if self.word()? != "in" {
            return Err("a case that is not plain");
        }
        loop {
            self.gap()?;
            if self.at_word("esac") {
                self.at += "esac".len();
                return Ok(());
            }
            self.skip("(");
            loop {
                self.blanks();
                self.word()?;
                self.blanks();
                if self.skip(")") {
                    break;
                }
                if !self.skip("|") {
                    return Err("a case that is not plain");
                }
            }
            self.list(End::Branch)?;
            if !self.skip(";;&") && !self.skip(";;") && !self.skip(";&") && !self.at_word("esac") {
                return Err("a case that is not plain");
            }
        }
    }

    /// Moves over blanks and newlines.
    fn gap(&mut self) -> Plain<()> {
        loop {
            self.blanks();
            match self.peek() {
                Some(b'\n') => self.newline()?,
                _ => return Ok(()),
            }
        }
    }

    /// Whether this word, and nothing longer, stands here.
    fn at_word(&self, word: &str) -> bool {
        let behind = self.source[self.at..].strip_prefix(word);
        behind.is_some_and(|rest| {
            rest.bytes().next().is_none_or(|byte| b" \t\n;|&()<>".contains(&byte))
        })
    }

    /// `(one two)`, the value of an array.
    fn array(&mut self) -> Plain<&'s str> {
        let from = self.at;
        self.reading.arrays = true;
        self.at += 1;
        loop {
            self.gap()?;
            match self.peek() {
                Some(b')') => break,
                Some(b'[') => return Err("an array with subscripts"),
                _ => self.reading.assigns |= !is_tame(self.word()?),
            }
        }
        self.at += 1;
        match self.peek() {
            None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b')') => {
                Ok(&self.source[from..self.at])
            }
            _ => Err("a word directly after an array"),
        }
    }

    fn is_redirect(&self) -> bool {
        let rest = &self.source.as_bytes()[self.at..];
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        match rest.get(digits) {
            Some(b'<' | b'>') => rest.get(digits + 1) != Some(&b'('),
            Some(b'&') => digits == 0 && rest.get(1) == Some(&b'>'),
            _ => false,
        }
    }

    fn redirect(&mut self) -> Plain<()> {
        while self.peek().is_some_and(|byte| byte.is_ascii_digit()) {
            self.at += 1;
        }
        const OPERATORS: [&str; 12] =
            ["<<<", "<<-", "&>>", "<<", "<>", "<&", ">>", ">|", ">&", "&>", "<", ">"];
        let operator =
            OPERATORS.into_iter().find(|operator| self.skip(operator)).ok_or("no operator")?;
        self.blanks();
        let target = self.word()?;
        match operator {
            "<<" | "<<-" => {
                if target.contains(['$', '`']) {
                    return Err("a here-document whose end marker is not fixed");
                }
                let quoted = target.contains(['\'', '"', '\\']);
                let delimiter = target.replace(['\'', '"', '\\'], "");
                let strips_tabs = operator == "<<-";
                self.reading.here = true;
                self.heredocs.push(Heredoc { delimiter, quoted, strips_tabs });
            }
            "<<<" => {
                self.reading.here = true;
                self.reading.here_expands |= target.contains(['$', '`', '~']);
                self.reading.here_texts.push(target);
            }
            ">&" | "<&" if super::is_descriptor(target) => {}
            _ => self.reading.redirects.push(target),
        }
        Ok(())
    }

    fn word(&mut self) -> Plain<&'s str> {
        let from = self.at;
        loop {
            match self.peek() {
                None | Some(b' ' | b'\t' | b'\n' | b';' | b'|' | b'&' | b'(' | b')') => break,
                Some(b'<' | b'>') => {
                    if !self.next_is("<(") && !self.next_is(">(") {
                        break;
                    }
                    self.at += 2;
                    self.list(End::Parenthesis)?;
                }
                Some(b'\\') if self.next_is("\\\n") => {
                    // Bash takes both away and goes on with the word.
                    match self.source.as_bytes().get(self.at + 2) {
                        Some(b' ' | b'\t' | b'\n') | None => break,
                        _ => return Err("a line break inside a word"),
                    }
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.step()?;
                }
                Some(b'\'') => self.single_quoted()?,
                Some(b'"') => self.double_quoted()?,
                Some(b'`') => self.backticks()?,
                Some(b'$') => self.dollar(false)?,
                Some(_) => self.step()?,
            }
        }
        if self.at == from {
            return Err("a word is missing");
        }
        Ok(&self.source[from..self.at])
    }

    fn single_quoted(&mut self) -> Plain<()> {
        let inner = &self.source[self.at + 1..];
        let length = inner.find('\'').ok_or("a quote is not closed")?;
        self.at += length + 2;
        Ok(())
    }

    fn double_quoted(&mut self) -> Plain<()> {
        self.at += 1;
        loop {
            match self.peek() {
                None => return Err("a quote is not closed"),
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                Some(b'\\') => {
                    self.at += 1;
                    self.step()?;
                }
                Some(b'`') => self.backticks()?,
                Some(b'$') => self.dollar(true)?,
                Some(_) => self.step()?,
            }
        }
    }

    fn backticks(&mut self) -> Plain<()> {
        let inner = &self.source[self.at + 1..];
        let length = inner.find('`').ok_or("a backtick is not closed")?;
        let inner = &inner[..length];
        if inner.contains('\\') {
            return Err("a backslash between backticks");
        }
        if self.depth >= MAX_DEPTH {
            return Err("it is nested too deeply");
        }
        let reading = std::mem::take(&mut self.reading);
        let mut nested =
            Reader { source: inner, at: 0, heredocs: Vec::new(), depth: self.depth + 1, reading };
        nested.list(End::OfText)?;
        self.reading = nested.reading;
        self.at += length + 2;
        Ok(())
    }

    fn dollar(&mut self, quoted: bool) -> Plain<()> {
        self.at += 1;
        match self.peek() {
            Some(b'(') if self.next_is("((") => self.arithmetic(false),
            Some(b'(') => {
                self.at += 1;
                self.list(End::Parenthesis)
            }
            Some(b'{') => self.braces(),
            Some(b'[') => Err("an old form of arithmetic"),
            Some(b'\'') if !quoted => {
                self.at += 1;
                loop {
                    match self.peek() {
                        None => return Err("a quote is not closed"),
                        Some(b'\'') => {
                            self.at += 1;
                            return Ok(());
                        }
                        Some(b'\\') => {
                            self.at += 1;
                            self.step()?;
                        }
                        Some(_) => self.step()?,
                    }
                }
            }
            Some(b'"') if !quoted => self.double_quoted(),
            _ => Ok(()),
        }
    }

    /// `${ }` with a name and, at most, an operator and plain text.
    fn braces(&mut self) -> Plain<()> {
        let inner = &self.source[self.at + 1..];
        let length = inner.find('}').ok_or("a brace is not closed")?;
        let inner = &inner[..length];
        let name = inner.strip_prefix('#').filter(|rest| !rest.is_empty()).unwrap_or(inner);
        let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
        let special = name.chars().next().map_or(0, char::len_utf8);
        let (name, mut rest) = name.split_at(if end == 0 { special } else { end });
        if name == "!" {
            return Err("an indirect expansion");
        }
        for subscript in ["[@]", "[*]"] {
            rest = rest.strip_prefix(subscript).unwrap_or(rest);
        }
        if let Some((number, after)) = rest.strip_prefix('[').and_then(|rest| rest.split_once(']'))
        {
            if !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return Err("a subscript that is calculated");
            }
            rest = after;
        }
        if rest.starts_with(['@', '['])
            || rest.contains(['\'', '"', '`', '$', '(', '{', '\\', '\n'])
        {
            return Err("an expansion that does more than expand");
        }
        if rest.starts_with(":=") || rest.starts_with('=') {
            if !is_private_variable(name) {
                return Err("it sets a variable that affects programs");
            }
            self.reading.assigns = true;
            self.reading.sets = true;
            self.reading.sets_otherwise = true;
        }
        let operator = [":-", ":=", ":+", ":?"].iter().any(|operator| rest.starts_with(operator));
        if rest.starts_with(':') && !operator {
            let numbers = rest.bytes().all(|byte| byte.is_ascii_digit() || b": -".contains(&byte));
            self.reading.arithmetic |= !numbers;
        }
        self.at += length + 2;
        Ok(())
    }
}

/// Whether neither bash nor other programs use a variable: those have capital letters, or are
/// about proxies.
pub fn is_private_variable(name: &str) -> bool {
    name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_')
        && !name.ends_with("_proxy")
        && !name.starts_with("npm_config_")
        && !matches!(name, "histchars" | "auto_resume")
}

/// Whether a value could be more than one word to a command, or an operator.
fn is_more(value: &str) -> bool {
    let bare = value.trim_matches(['"', '\'']);
    bare.starts_with(['-', '!', '(', '='])
        || bare.contains([' ', '\t', '\n']) && !value.starts_with("$((")
}

/// Whether a value is plain text, or a number that is calculated: then nothing that is calculated from it can
/// hold a command.
pub(super) fn is_tame(value: &str) -> bool {
    let bare = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote))
        .unwrap_or(value);
    let number =
        value.starts_with("$((") && value.ends_with("))") && value.matches("((").count() == 1;
    let array = value.starts_with('(');
    number
        || array
        || bare.bytes().all(|b| b.is_ascii_alphanumeric() || b" _./:,+@%{}-".contains(&b))
}

fn is_name(word: &str) -> bool {
    let mut bytes = word.bytes();
    bytes.next().is_some_and(|first| first.is_ascii_alphabetic() || first == b'_')
        && bytes.all(|byte| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte))
}

/// `NAME=value`, as name and value.
fn assignment(word: &str) -> Plain<Option<(&str, &str)>> {
    let Some((name, value)) = word.split_once('=') else { return Ok(None) };
    let name = name.strip_suffix('+').unwrap_or(name);
    let plain = name.strip_prefix(|c: char| c.is_ascii_alphabetic() || c == '_');
    let plain =
        plain.map(|rest| rest.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_'));
    match plain {
        Some("") => Ok(Some((name, value))),
        Some(rest) if rest.starts_with('[') => Err("an assignment with a subscript"),
        _ => Ok(None),
    }
}
