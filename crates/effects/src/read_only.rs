//! Commands that only read need no permission. This decides which do: by a closed table of the options that make a
//! command do more, on the words as the program gets them.

mod assigned;
mod table;

use std::ffi::OsStr;
use std::path::{Path, PathBuf};

use ona_programs::commands::{self, is_feeder, unwrapped};
use ona_programs::files::{is_abbreviation, is_glob};
use ona_programs::git_options::GitCall;

use crate::effects::{Effects, Run, TOPLEVEL, checkout};
use crate::pattern;
use crate::shell::{Assignment, Command, Word};
use crate::surroundings::Surroundings;

use assigned::Assigned;
pub use table::READ_ONLY;

/// A command that only reads, unless it is given one of these.
#[derive(Debug)]
pub struct ReadOnly {
    /// The command, with its subcommand where it has some.
    pub command: &'static str,
    /// What its words are.
    operands: Operands,
    /// Words that begin so.
    words: &'static [&'static str],
    /// Long options, which may be cut short.
    long: &'static [&'static str],
    /// Letters of short options, alone or among others.
    letters: &'static str,
}

/// What the operands of a command are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operands {
    /// Files, which have to be inside.
    Files,
    /// One file at most: a second would be written.
    OneFile,
    /// The first is what is searched for, the others are files.
    Pattern,
    /// A script that prints lines, then files.
    Script,
    /// Data, not files, and it is printed.
    Data,
    /// Whatever they are, nothing is shown of them.
    Any,
    /// These words and no others.
    Only(&'static [&'static str]),
}

/// What a word of a command is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    /// Data, not a file.
    Data,
    /// A file, whatever it begins with: it stands behind `--`.
    Operand,
    /// An option or a file.
    Either,
}

const fn free(command: &'static str) -> ReadOnly {
    but(command, &[], &[], "")
}

const fn but(
    command: &'static str,
    words: &'static [&'static str],
    long: &'static [&'static str],
    letters: &'static str,
) -> ReadOnly {
    ReadOnly { command, operands: Operands::Files, words, long, letters }
}

const fn data(command: &'static str) -> ReadOnly {
    free(command).with(Operands::Data)
}

const fn any(command: &'static str) -> ReadOnly {
    free(command).with(Operands::Any)
}

const fn only(command: &'static str, words: &'static [&'static str]) -> ReadOnly {
    free(command).with(Operands::Only(words))
}

impl ReadOnly {
    const fn with(mut self, operands: Operands) -> Self {
        self.operands = operands;
        self
    }
}

/// git's options before its subcommand that change nothing it does.
const GIT_SWITCHES: &[&str] = &["--no-pager", "-P", "--no-optional-locks"];

impl ReadOnly {
    /// Whether this command, as it stands, only reads, and only inside the working directories.
    pub fn holds(&self, command: &Command, effects: &Effects, around: &Surroundings) -> bool {
        // What a variable holds could be shown by what obeys the assignment.
        let fixed = |assignment: &Assignment| !assignment.value.contains(['$', '`']);
        if effects.here_expands || !command.assignments.iter().all(fixed) {
            return false;
        }
        // Names may lead through a link that is not there yet.
        if effects.links.is_some() {
            return false;
        }
        let at = effects.commands.iter().position(|one| std::ptr::eq(one, command));
        let assigned = Assigned { commands: &effects.commands[..at.unwrap_or_default()] };
        let Some(run) = at.and_then(|at| effects.runs.get(at)) else { return false };
        let spot = Spot { dirs: &run.dirs, around };
        run.readings.iter().all(|words| self.reads(command, words, &assigned, spot))
    }

    /// The same, for one way in which its words may be meant.
    fn reads(
        &self,
        command: &Command,
        words: &[Word],
        assigned: &Assigned<'_>,
        spot: Spot<'_>,
    ) -> bool {
        let mut words = words;
        while let Some(inner) = unwrapped(words).filter(|_| !is_feeder(words)) {
            words = inner;
        }
        // Options make it do more.
        if ona_programs::does_more(words) {
            return false;
        }
        // git takes names from where it is told to work.
        let moved = self.command.starts_with("git ").then(|| GitCall::of(&words[1..]).dir);
        let Some(words) = self.arguments(words, spot) else { return false };
        let moved = moved.flatten().map(|below| spot.below(&below));
        let spot = Spot { dirs: moved.as_deref().unwrap_or(spot.dirs), ..spot };
        // Without a directory, or with `-`, it leads elsewhere.
        if self.command == "cd" && (words.is_empty() || words.iter().any(|word| word.source == "-"))
        {
            return false;
        }
        // A directory's file of the same name may be a link.
        let is_dir = |word: &Word| {
            let text = word.literal.as_deref().unwrap_or(".");
            spot.dirs.iter().any(|dir| spot.around.world.is_dir(&dir.join(text)))
        };
        if self.command == "diff" && words.iter().any(is_dir) {
            return false;
        }
        // After it a word with a dash is not an option, which is easy to get wrong.
        let dashes = words.iter().any(|word| word.literal.as_deref() == Some("--"));
        let first = words.iter().position(is_operand);
        let text = match self.operands {
            Operands::Any => return compares_in_silence(command, assigned),
            Operands::Only(known) => {
                let is_known = |text: &str| known.contains(&text);
                return words.iter().all(|word| word.literal.as_deref().is_some_and(is_known));
            }
            Operands::OneFile if words.iter().any(|word| word.literal.is_none()) => return false,
            Operands::OneFile
                if dashes || words.iter().filter(|word| is_operand(word)).count() > 1 =>
            {
                return false;
            }
            Operands::Script if dashes || !first.is_some_and(|at| prints(&words[at])) => {
                return false;
            }
            Operands::Script => first,
            Operands::Pattern if !dashes && !names_pattern(words) => first,
            _ => None,
        };
        let end = words.iter().position(|word| word.literal.as_deref() == Some("--"));
        words.iter().enumerate().all(|(at, word)| {
            let role = match end {
                _ if self.operands == Operands::Data || Some(at) == text => Role::Data,
                Some(end) if at > end => Role::Operand,
                _ => Role::Either,
            };
            self.is_harmless(word, role, assigned, spot)
        })
    }

    /// The words behind the command, if it is this one: its own name and no wrapper's, for `xargs cat` reads
    /// whatever it is told to.
    fn arguments<'w>(&self, words: &'w [Word], spot: Spot<'_>) -> Option<&'w [Word]> {
        let mut parts = self.command.split(' ');
        let mut words = after(words, parts.next()?)?;
        if self.command.starts_with("git ") {
            let mut below: Option<&str> = None;
            loop {
                let option = words.first()?.literal.as_deref()?;
                match option {
                    "-C" if below.is_none() => {
                        below = Some(words.get(1)?.literal.as_deref()?);
                        words = &words[2..];
                    }
                    _ if GIT_SWITCHES.contains(&option) => words = &words[1..],
                    _ => break,
                }
            }
            // A repository made by hand can make git run what it likes.
            let around = spot.around;
            let plain = |dir: &PathBuf| {
                let dir = around.world.resolve(dir, Path::new(below.unwrap_or(".")));
                dir.is_ok_and(|dir| around.world.git_is_plain(&dir, &around.project_dir))
            };
            if !spot.dirs.iter().all(plain) {
                return None;
            }
        }
        for part in parts {
            words = after(words, part)?;
        }
        Some(words)
    }

    fn is_harmless(
        &self,
        word: &Word,
        role: Role,
        assigned: &Assigned<'_>,
        spot: Spot<'_>,
    ) -> bool {
        let is_data = role == Role::Data;
        let Some(text) = word.literal.as_deref() else {
            if is_data {
                return self.operands == Operands::Data && assigned.is_text(&word.source);
            }
            if self.command == "cd" && word.source == TOPLEVEL {
                let top = |dir: &PathBuf| {
                    let top = checkout(spot.around.world, dir);
                    top.is_some_and(|top| inside(dir, top, spot.around))
                };
                return spot.dirs.iter().all(top);
            }
            return is_glob(&word.source)
                && !word.source.starts_with('-')
                && !matches!(self.command, "find" | "cd")
                && !self.command.starts_with("git")
                && spot.dirs.iter().all(|dir| {
                    // A file named like an option would be taken for one.
                    let is_option = |path: &Path| {
                        let below = path.strip_prefix(dir).unwrap_or(path);
                        let dashed = |name: &OsStr| name.as_encoded_bytes().starts_with(b"-");
                        below.components().any(|part| dashed(part.as_os_str()))
                    };
                    let found = pattern::expand(spot.around.world, dir, &word.source);
                    found.is_some_and(|found| {
                        found.iter().all(|path| inside(dir, path, spot.around) && !is_option(path))
                    })
                });
        };
        // What makes a command of git one that only reads can be taken back.
        if self.command.starts_with("git ") && takes_back(self.command, text) {
            return false;
        }
        // git's own help is shown by whatever the configuration names.
        let help = self.command.starts_with("git ") && matches!(text, "--help" | "-h");
        // So are signatures, by another program.
        let help = help
            || self.command.starts_with("git ")
                && (asks_for_signature(text) || text.contains("signature"));
        if help || self.words.iter().any(|barred| text.starts_with(barred)) {
            return false;
        }
        if !text.starts_with('-') || text == "-" || role == Role::Operand {
            return is_data || text == "-" && role == Role::Either || spot.holds(text);
        }
        let Some(long) = text.strip_prefix("--") else {
            let barred = text[1..].contains(|letter| self.letters.contains(letter));
            // A value may follow in the same word.
            let value = text.char_indices().nth(2).map(|(at, _)| &text[at..]);
            let elsewhere = value.is_some_and(|value| {
                // Alone it is what words are cut at: `cut -d/`.
                value != "/" && value.starts_with(['/', '~', '.']) && !spot.holds(value)
            });
            return !barred && !elsewhere;
        };
        let (given, value) = match long.split_once('=') {
            Some((name, value)) => (&text[..name.len() + 2], Some(value)),
            None => (text, None),
        };
        !self.long.iter().any(|option| is_abbreviation(given, option))
            && value.is_none_or(|value| value.is_empty() || spot.holds(value))
    }
}

/// Where a command may run.
#[derive(Clone, Copy)]
struct Spot<'a> {
    dirs: &'a [PathBuf],
    around: &'a Surroundings,
}

impl Spot<'_> {
    /// Whether what a text names, if it names a file, is in a working directory, wherever the command runs.
    fn holds(&self, text: &str) -> bool {
        self.dirs.iter().all(|dir| inside(dir, text, self.around))
    }

    /// The directories that a name leads to.
    fn below(&self, name: &str) -> Vec<PathBuf> {
        let dirs = self.dirs.iter();
        dirs.filter_map(|dir| self.around.world.resolve(dir, Path::new(name)).ok()).collect()
    }
}

/// Whether a word takes back an option of the command's own: `git branch --list --no-list x`.
fn takes_back(command: &str, text: &str) -> bool {
    let Some(given) = text.strip_prefix("--no-") else { return false };
    command
        .split(' ')
        .filter_map(|word| word.strip_prefix("--"))
        .any(|own| own.starts_with(given) || given.starts_with(own))
        || given.is_empty()
        || command == "git tag -l" && "list".starts_with(given)
}

/// Whether a format has `%G…`, with or without a sign that says what to put before it.
fn asks_for_signature(text: &str) -> bool {
    let behind = text.match_indices('%').map(|(at, _)| &text[at + 1..]);
    behind.map(|rest| rest.trim_start_matches(['+', '-', ' '])).any(|rest| rest.starts_with('G'))
}

/// Whether git is called, and every call is one that only reads, in a repository that makes it run nothing.
pub fn git_only_reads(effects: &Effects, around: &Surroundings) -> bool {
    let mut calls = git_calls(effects).peekable();
    let known = |(command, run): (&Command, &Run)| {
        let reads = |entry: &&ReadOnly| entry.command.starts_with("git ");
        let mut entries = READ_ONLY.iter().filter(reads);
        let spot = Spot { dirs: &run.dirs, around };
        entries.any(|entry| entry.arguments(&command.words, spot).is_some())
    };
    calls.peek().is_some() && calls.all(known)
}

/// Why git, which would only read, is not free where it is told to.
pub fn why_git_is_not_free(effects: &Effects, around: &Surroundings) -> Option<String> {
    git_calls(effects).find_map(|(command, run)| {
        let call = GitCall::of(&command.words[1..]);
        let name = call.subcommand?;
        let reads = |entry: &ReadOnly| entry.command.split(' ').take(2).eq(["git", name]);
        READ_ONLY.iter().find(|entry| reads(entry))?;
        let below = Spot { dirs: &run.dirs, around }.below(call.dir.as_deref().unwrap_or("."));
        below.iter().find_map(|dir| around.world.git_oddity(dir, &around.project_dir))
    })
}

fn git_calls(effects: &Effects) -> impl Iterator<Item = (&Command, &Run)> {
    let all = effects.commands.iter().zip(&effects.runs);
    all.filter(|(command, _)| commands::name(&command.words) == Some("git"))
}

/// Parts of the shell that write none of the words they are given.
const BUILTINS: &[&str] = &[
    "alias",
    "bg",
    "caller",
    "compgen",
    "complete",
    "declare",
    "dirs",
    "disown",
    "fg",
    "getopts",
    "let",
    "local",
    "mapfile",
    "readarray",
    "readonly",
    "shopt",
    "times",
    "typeset",
    "ulimit",
    "unalias",
];

/// Programs whose options tell what they write; their operands are something else.
const TOLD_BY_OPTIONS: &[&str] =
    &["7z", "7za", "7zr", "ar", "bsdtar", "curl", "gtar", "tar", "unrar", "unzip", "wget"];

/// Whether a program may write a file that it is given, as far as is known. What runs any text could write any file, whether it
/// is given one or not; a rule for it says that much.
pub(crate) fn may_write_operands(program: &str) -> bool {
    let runs_text =
        commands::SHELLS.contains(&program) || commands::INTERPRETERS.contains(&program);
    let wraps = commands::WRAPPERS.contains(&program) && program != "xargs";
    let reads = READ_ONLY.iter().any(|entry| entry.command.split(' ').next() == Some(program));
    let known = ona_programs::known(program)
        .is_some_and(|program| program.operands != ona_programs::Operands::Unknown);
    let harmless = BUILTINS.contains(&program) || TOLD_BY_OPTIONS.contains(&program);
    !(runs_text || wraps || reads || known || harmless)
}

/// Whether a test says nothing of what it compares: where it wants numbers and gets none, it would.
fn compares_in_silence(command: &Command, assigned: &Assigned<'_>) -> bool {
    let text = command.text();
    let words: Vec<&str> = text.split_whitespace().collect();
    if !words.iter().any(|word| NUMERIC.contains(word)) {
        return true;
    }
    words.iter().skip(1).all(|word| {
        let fixed = !word.contains(['$', '`']) && !word.starts_with(|c: char| c.is_alphabetic());
        fixed || word.contains('$') && assigned.is_text(&format!("\"{}\"", word.trim_matches('"')))
    })
}

/// Operators that want numbers.
const NUMERIC: &[&str] = &["-eq", "-ne", "-lt", "-le", "-gt", "-ge"];

fn is_operand(word: &Word) -> bool {
    !word.literal.as_deref().is_some_and(|text| text.len() > 1 && text.starts_with('-'))
}

fn after<'w>(words: &'w [Word], part: &str) -> Option<&'w [Word]> {
    let (first, rest) = words.split_first()?;
    (first.literal.as_deref() == Some(part)).then_some(rest)
}

/// Whether an option says what is searched for, or that nothing is: then every other word is a file.
fn names_pattern(words: &[Word]) -> bool {
    words.iter().filter_map(|word| word.literal.as_deref()).any(|text| {
        match text.strip_prefix("--") {
            Some(long) => ["reg", "f", "type-list"].iter().any(|name| long.starts_with(name)),
            None => text.starts_with('-') && text.contains(['e', 'f']),
        }
    })
}

/// Whether a script for `sed` prints lines by their numbers, or puts one text in another's place, and does nothing
/// else.
fn prints(word: &Word) -> bool {
    word.literal.as_deref().is_some_and(|script| {
        if let Some(parts) = script.strip_prefix("s/").map(|rest| rest.split('/')) {
            let parts: Vec<&str> = parts.collect();
            let flags =
                |flags: &str| flags.chars().all(|c| c.is_ascii_digit() || "gpiI".contains(c));
            let plain = |part: &&str| !part.contains(['\\', '\n']);
            return parts.len() == 3 && parts[..2].iter().all(plain) && flags(parts[2]);
        }
        script.ends_with(['p', 'q', 'd', '='])
            && script.bytes().all(|byte| byte.is_ascii_digit() || b",$;pqd= +~!".contains(&byte))
    })
}

/// Whether what an operand names, if it names a file, is in a working directory.
fn inside(dir: &Path, operand: impl AsRef<Path>, around: &Surroundings) -> bool {
    around.world.resolve(dir, operand.as_ref()).is_ok_and(|path| around.contains(&path))
}
