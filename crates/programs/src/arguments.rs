//! What programs do with their arguments: one table, and one reader for options in every spelling.
//!
//! An option may stand alone, among other letters, cut short, with its value behind `=`, joined to it or in the next
//! word. All that is read here, once for all programs; the table says what the values are.

mod awk;
mod databases;
mod sed;
mod table;

use std::borrow::Cow;

use ona_shell::Word;

use crate::commands;

pub(crate) use table::PROGRAMS;

/// What is known of a program.
#[derive(Debug)]
pub struct Program {
    /// Its names.
    pub(crate) names: &'static [&'static str],
    /// What its operands are.
    pub operands: Operands,
    /// Its options, as `-letters|long|long:kind` with blanks between; the kinds are those of [`Kind::named`].
    options: &'static str,
    /// Its long options have one dash, and its letters are not joined.
    one_dash: bool,
}

/// What the operands of a program are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Names or data: they give no file away.
    Nothing,
    /// Files that it reads.
    Read,
    /// The first is a text, unless an option has given it; the others are files that it reads.
    ReadAfterText,
    /// Files that it changes.
    Write,
    /// It reads all but the last, and writes that one, or into it.
    LastWritten,
    /// The same, and the others go away or can be reached by the last.
    Moved,
    /// It reads the first and writes the second.
    SecondWritten,
    /// Not known.
    Unknown,
}

/// What an option is, or its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It has no value, and nothing depends on it.
    Flag,
    /// A value that is no file.
    Text,
    /// A value that is no file and may be left out; it never stands in the next word.
    Optional,
    /// The text that is otherwise the first operand.
    Pattern,
    /// There is no such text: every operand is a file.
    NoText,
    /// A file with such texts.
    Patterns,
    /// A file that it reads.
    Read,
    /// A text that names a file it reads, behind a `@` or other signs.
    ReadWithin,
    /// A name, and then a file that it reads.
    NamedRead,
    /// A name, and then a text.
    NamedText,
    /// A file with the names of files that it reads.
    List,
    /// The files it is given are such lists.
    Lists,
    /// A file that it writes.
    Write,
    /// The same, and may be left out.
    OptionalWrite,
    /// What the names of files that it writes begin with.
    Prefix,
    /// What they end in, or how they are made.
    Suffix,
    /// A directory that it writes into.
    Into,
    /// A directory that it works in.
    Chdir,
    /// An archive or a patch.
    Archive,
    /// A file or a text that can make it run programs.
    Script,
    /// The same, without a value.
    Runs,
    /// A command line that it runs.
    Run,
    /// A command line that it runs, behind `exec=`.
    Action,
    /// A setting of `ssh`, some of which are command lines.
    SshSetting,
    /// A statement for a database.
    Statement,
}

impl Kind {
    fn named(name: &str) -> Option<Self> {
        Some(match name {
            "flag" => Self::Flag,
            "text" => Self::Text,
            "optional" => Self::Optional,
            "pattern" => Self::Pattern,
            "no-text" => Self::NoText,
            "patterns" => Self::Patterns,
            "read" => Self::Read,
            "read-within" => Self::ReadWithin,
            "named-read" => Self::NamedRead,
            "named-text" => Self::NamedText,
            "list" => Self::List,
            "lists" => Self::Lists,
            "write" => Self::Write,
            "optional-write" => Self::OptionalWrite,
            "prefix" => Self::Prefix,
            "suffix" => Self::Suffix,
            "into" => Self::Into,
            "chdir" => Self::Chdir,
            "archive" => Self::Archive,
            "script" => Self::Script,
            "runs" => Self::Runs,
            "run" => Self::Run,
            "action" => Self::Action,
            "ssh" => Self::SshSetting,
            "statement" => Self::Statement,
            _ => return None,
        })
    }

    /// How many words behind the option belong to it, where its own word holds none.
    fn words(self) -> usize {
        match self {
            Self::Flag
            | Self::Optional
            | Self::NoText
            | Self::Lists
            | Self::OptionalWrite
            | Self::Runs => 0,
            Self::NamedRead | Self::NamedText => 2,
            _ => 1,
        }
    }
}

/// The arguments of a program, told apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The options that are known, with their values; an empty word where there is none.
    pub options: Vec<(Kind, Word)>,
    /// The words that are no options.
    pub operands: Vec<Word>,
    /// What may be the value of an option that is not known.
    pub guesses: Vec<Word>,
    /// The letters of all its options.
    pub(crate) letters: String,
    /// Their long names, as they are given.
    longs: Vec<String>,
    /// An option is not known, and the word behind it may be its value.
    unknown: bool,
}

impl Arguments {
    pub(crate) fn values(&self, kind: Kind) -> impl Iterator<Item = &Word> {
        self.options.iter().filter(move |(own, _)| *own == kind).map(|(_, value)| value)
    }

    pub(crate) fn has(&self, kind: Kind) -> bool {
        self.values(kind).next().is_some()
    }

    /// Whether a long option is among them, cut short or not.
    pub(crate) fn has_long(&self, name: &str) -> bool {
        self.longs.iter().any(|given| given.len() > 1 && name.starts_with(given.as_str()))
    }

    /// The operands that are files, where the first may be a text: it counts as a file too if that is not certain.
    pub fn files(&self, operands: Operands) -> &[Word] {
        let given =
            [Kind::Pattern, Kind::Patterns, Kind::NoText].iter().any(|kind| self.has(*kind));
        let skip = operands == Operands::ReadAfterText && !given && !self.unknown;
        self.operands.get(usize::from(skip)..).unwrap_or_default()
    }

    /// The texts that say what to do: values of options, or the first operand.
    fn texts(&self) -> Vec<&Word> {
        let given: Vec<&Word> = self.values(Kind::Pattern).collect();
        match given.is_empty() && !self.has(Kind::Patterns) && !self.has(Kind::Script) {
            false => given,
            // With an option that is not known, or one that takes an empty word, it may be the second.
            true => {
                let more = self.unknown
                    || self
                        .operands
                        .first()
                        .is_some_and(|word| word.literal.as_deref() == Some(""));
                self.operands.iter().take(if more { 2 } else { 1 }).collect()
            }
        }
    }
}

/// What is known of a program of this name.
pub fn known(name: &str) -> Option<&'static Program> {
    PROGRAMS.iter().find(|program| program.names.contains(&name))
}

impl Program {
    const fn new(
        names: &'static [&'static str],
        operands: Operands,
        options: &'static str,
    ) -> Self {
        Self { names, operands, options, one_dash: false }
    }

    const fn with_one_dash(mut self) -> Self {
        self.one_dash = true;
        self
    }

    fn entries(&self) -> impl Iterator<Item = (&'static str, Kind)> {
        self.options.split_whitespace().filter_map(|entry| {
            let (names, kind) = entry.rsplit_once(':')?;
            Some((names, Kind::named(kind)?))
        })
    }

    /// Whether an option makes it run a program, or write a file although its operands are only read.
    pub fn has_risky_options(&self) -> bool {
        use Operands::{Nothing, Read, ReadAfterText};
        let only_reads = matches!(self.operands, Nothing | Read | ReadAfterText);
        self.is_pager()
            || self.entries().any(|(_, kind)| match kind {
                Kind::Script | Kind::Runs | Kind::Run | Kind::Action => true,
                Kind::SshSetting | Kind::Statement => true,
                Kind::Write | Kind::OptionalWrite | Kind::Into => only_reads,
                _ => false,
            })
    }

    fn letter(&self, letter: char) -> Option<Kind> {
        let has = |names: &str| {
            names
                .split('|')
                .any(|name| name.strip_prefix('-').is_some_and(|set| set.contains(letter)))
        };
        self.entries().find(|(names, _)| has(names)).map(|(_, kind)| kind)
    }

    /// The options that a long name, which may be cut short, can mean.
    fn long(&self, given: &str) -> Vec<Kind> {
        let long = |names: &'static str| names.split('|').filter(|name| !name.starts_with('-'));
        let mut cut = Vec::new();
        for (names, kind) in self.entries() {
            for name in long(names) {
                if name == given {
                    return vec![kind];
                }
                if !self.one_dash && name.starts_with(given) && !cut.contains(&kind) {
                    cut.push(kind);
                }
            }
        }
        cut
    }

    /// Tells the arguments apart.
    pub fn read(&self, words: &[Word]) -> Arguments {
        let words = &self.with_dash(words)[..];
        let mut found = Arguments::default();
        let mut at = 0;
        while let Some(word) = words.get(at) {
            at += 1;
            let text = shown(word);
            let Some(rest) = text.strip_prefix('-').filter(|rest| !rest.is_empty()) else {
                found.operands.push(word.clone());
                continue;
            };
            if rest == "-" {
                found.operands.extend_from_slice(&words[at..]);
                break;
            }
            let fixed = word.literal.is_some();
            let behind = words.get(at..).unwrap_or_default();
            at += match rest.strip_prefix('-') {
                Some(long) => self.read_long(long, fixed, behind, &mut found),
                None if self.one_dash => self.read_long(rest, fixed, behind, &mut found),
                None => self.read_letters(rest, fixed, behind, &mut found),
            };
        }
        found
    }

    /// The words of `tar` with a dash before its letters, and their values behind each: `tar xf a` is `tar -x -f a`.
    fn with_dash<'w>(&self, words: &'w [Word]) -> Cow<'w, [Word]> {
        let first = words.first().filter(|_| self.names.contains(&"tar"));
        let letters =
            first.and_then(|word| word.literal.as_deref()).filter(|text| !text.starts_with('-'));
        let Some(letters) = letters else { return words.into() };
        let (mut all, mut rest) = (Vec::new(), words[1..].iter());
        for letter in letters.chars() {
            all.push(part(&format!("-{letter}"), true));
            if self.letter(letter).is_some_and(|kind| kind.words() > 0) {
                all.extend(rest.next().cloned());
            }
        }
        all.extend(rest.cloned());
        all.into()
    }

    /// Reads `--name` or `--name=value`; the number of further words that belong to it.
    fn read_long(&self, text: &str, fixed: bool, behind: &[Word], found: &mut Arguments) -> usize {
        let (name, value) = match text.split_once('=') {
            Some((name, value)) => (name, Some(part(value, fixed))),
            None => (text, None),
        };
        found.longs.push(name.to_owned());
        let kinds = self.long(name);
        if kinds.is_empty() {
            found.unknown = true;
            found.guesses.extend(value);
            return 0;
        }
        let mut taken = 0;
        for kind in kinds {
            taken = taken.max(take(kind, value.clone(), behind, found));
        }
        taken
    }

    /// Reads `-abc` or `-avalue`; the number of further words that belong to it.
    fn read_letters(
        &self,
        text: &str,
        fixed: bool,
        behind: &[Word],
        found: &mut Arguments,
    ) -> usize {
        for (at, letter) in text.char_indices() {
            found.letters.push(letter);
            let rest = &text[at + letter.len_utf8()..];
            let kind = self.letter(letter);
            // `zip -TT command`: twice the letter is another option.
            let doubled = self.names.contains(&"zip") && letter == 'T' && rest.starts_with('T');
            let value = (!rest.is_empty()).then(|| part(rest, fixed));
            match kind {
                _ if doubled => return take(Kind::Run, None, behind, found),
                None => {
                    found.unknown = true;
                    found.guesses.extend(value.filter(|_| at == 0));
                }
                Some(Kind::Flag | Kind::NoText | Kind::Lists | Kind::Runs) => {
                    take(kind.unwrap_or(Kind::Flag), None, behind, found);
                }
                Some(kind) => return take(kind, value, behind, found),
            }
        }
        0
    }

    /// The command lines that these arguments make the program run: `None` stands for one that the text does not fix.
    pub(crate) fn runs(&self, words: &[Word]) -> Vec<Option<String>> {
        let arguments = self.read(words);
        let mut lines = Vec::new();
        for (kind, value) in &arguments.options {
            match kind {
                Kind::Run => lines.push(value.literal.clone()),
                Kind::Runs | Kind::Script => lines.push(None),
                Kind::Action => match &value.literal {
                    Some(text) => {
                        lines.extend(text.strip_prefix("exec=").map(|line| Some(line.to_owned())))
                    }
                    None => lines.push(None),
                },
                Kind::SshSetting => match &value.literal {
                    Some(text) => lines.extend(ssh_command(text).map(|line| Some(line.to_owned()))),
                    None => lines.push(None),
                },
                _ => {}
            }
        }
        if self.is_script_taker() && self.script(&arguments).is_none_or(|effects| effects.runs) {
            lines.push(None);
        }
        // Pagers take commands of their own behind a `+`.
        if self.is_pager() && words.iter().any(|word| shown(word).starts_with('+')) {
            lines.push(None);
        }
        let has = |begins: &str| words.iter().any(|word| shown(word).starts_with(begins));
        if self.is_compiler() && COMPILER_PROGRAMS.iter().any(|begins| has(begins)) {
            lines.push(None);
        }
        if self.is_database_shell() && self.gives_orders(&arguments) {
            lines.push(None);
        }
        lines
    }

    fn is_compiler(&self) -> bool {
        self.names.contains(&"cc")
    }

    fn is_pager(&self) -> bool {
        self.names.contains(&"less") || self.names.contains(&"more")
    }

    /// Whether the word behind an option belongs to it.
    pub(crate) fn takes_next(&self, option: &str) -> bool {
        let wants = |kind: Kind| kind.words() > 0;
        match option.strip_prefix("--") {
            Some(long) => !long.contains('=') && self.long(long).into_iter().any(wants),
            None => {
                let letters = option.trim_start_matches('-');
                let valued = letters.find(|letter| self.letter(letter).is_some_and(wants));
                valued.is_some_and(|at| letters[at..].chars().count() == 1)
            }
        }
    }

    pub(crate) fn is_script_taker(&self) -> bool {
        self.is_sed() || self.is_awk()
    }

    fn is_sed(&self) -> bool {
        self.names.contains(&"sed")
    }

    fn is_awk(&self) -> bool {
        self.names.contains(&"awk")
    }

    /// What the script for `sed` or `awk` does; nothing if that is not certain.
    pub(crate) fn script(&self, arguments: &Arguments) -> Option<ScriptEffects> {
        let texts: Option<Vec<&str>> =
            arguments.texts().iter().map(|word| word.literal.as_deref()).collect();
        match texts? {
            texts if self.is_sed() => sed::effects(&texts.join("\n")),
            // Whichever of the words is the script.
            texts => texts.iter().map(|text| awk::effects(text)).try_fold(
                ScriptEffects::default(),
                |mut all, one| {
                    let one = one?;
                    all.runs |= one.runs;
                    all.writes_more |= one.writes_more;
                    all.reads_more |= one.reads_more;
                    all.reads.extend(one.reads);
                    all.writes.extend(one.writes);
                    Some(all)
                },
            ),
        }
    }
}

/// What a script does apart from reading its input and printing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct ScriptEffects {
    /// It runs programs.
    pub(crate) runs: bool,
    /// Files that it reads.
    pub(crate) reads: Vec<String>,
    /// It reads files whose names the text does not fix.
    pub(crate) reads_more: bool,
    /// Files that it writes.
    pub(crate) writes: Vec<String>,
    /// It writes files whose names the text does not fix.
    pub(crate) writes_more: bool,
}

/// Takes the value of an option from its word or from those behind it; how many it has taken.
fn take(kind: Kind, joined: Option<Word>, behind: &[Word], found: &mut Arguments) -> usize {
    let wanted = kind.words();
    let empty = || Word { source: String::new(), literal: Some(String::new()) };
    match joined {
        Some(value) if wanted < 2 => {
            found.options.push((kind, value));
            0
        }
        // The name is in its word.
        Some(_) => {
            found.options.push((kind, behind.first().cloned().unwrap_or_else(empty)));
            1
        }
        None => {
            let value = wanted.checked_sub(1).and_then(|last| behind.get(last)).cloned();
            found.options.push((kind, value.unwrap_or_else(empty)));
            wanted
        }
    }
}

/// A word as the program gets it, as far as the text tells.
fn shown(word: &Word) -> String {
    match &word.literal {
        Some(text) => text.clone(),
        None => word.source.replace(['"', '\''], ""),
    }
}

fn part(text: &str, fixed: bool) -> Word {
    Word { source: text.to_owned(), literal: fixed.then(|| text.to_owned()) }
}

/// How options of compilers begin that name programs, or files which name some.
const COMPILER_PROGRAMS: &[&str] = &[
    "-wrapper",
    "-B",
    "-specs",
    "--specs",
    "-fplugin",
    "-plugin",
    "-Xclang",
    "-fuse-ld=/",
    "--ld-path",
    "linker=",
    "-Clinker",
    "@",
];

/// Settings of `ssh` whose value is a command line for this machine.
const SSH_COMMANDS: &[&str] = &["proxycommand", "localcommand", "knownhostscommand"];
/// And those that name files which can make it run something.
const SSH_LOADS: &[&str] = &["include", "pkcs11provider", "securitykeyprovider", "xauthlocation"];

/// The command line in a setting of `ssh`.
fn ssh_command(setting: &str) -> Option<&str> {
    let setting = setting.trim_start();
    let end = setting.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(setting.len());
    let (name, value) = setting.split_at(end);
    let name = name.to_ascii_lowercase();
    let value = value.trim_start_matches(|c: char| c == '=' || c.is_whitespace());
    let runs = SSH_COMMANDS.contains(&name.as_str()) || SSH_LOADS.contains(&name.as_str());
    (runs && !value.eq_ignore_ascii_case("none")).then_some(value)
}

/// The command lines that a command's arguments make it run; `None` stands for one that the text does not fix.
pub fn runs(words: &[Word]) -> Vec<Option<String>> {
    let Some((_, rest)) = words.split_first() else { return Vec::new() };
    let program = commands::name(words).and_then(known);
    program.map_or_else(Vec::new, |program| program.runs(rest))
}

/// Whether options make a command that reads do more than to show the files it names.
pub fn does_more(words: &[Word]) -> bool {
    let Some((first, rest)) = words.split_first() else { return false };
    let Some(program) = first.literal.as_deref().and_then(known) else { return false };
    let more = |kind: Kind| match kind {
        Kind::Flag | Kind::Text | Kind::Optional | Kind::NoText => false,
        // What is searched for, or a script that is looked at by itself.
        Kind::Pattern | Kind::NamedText => false,
        // Only its time is shown.
        Kind::Read => !program.names.contains(&"date"),
        _ => true,
    };
    program.read(rest).options.iter().any(|(kind, _)| more(*kind)) || !program.runs(rest).is_empty()
}
