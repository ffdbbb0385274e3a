//! Commands that only read are free. This says when one does: by a closed table of options that make it do
//! more, on the words as the program gets them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::effects::{Effects, TOPLEVEL, checkout};
use crate::files::{self, is_abbreviation, is_glob};
use crate::permissions::Surroundings;
use crate::shell::{Command, Word};

/// A command that only reads, unless it is given one of these.
#[derive(Debug)]
pub(crate) struct ReadOnly {
    /// The command, with its subcommand where it has some.
    pub(crate) command: &'static str,
    /// What its words are.
    operands: Operands,
    /// Words that begin so.
    words: &'static [&'static str],
    /// Long options, which may be cut short.
    long: &'static [&'static str],
    /// Letters of short options, alone or among others.
    letters: &'static str,
}

/// What the words of a command are that are no options.
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

const GIT_OUTPUT: &[&str] = &["--output", "--ext-diff", "--textconv", "--no-index"];
const DIGITS: &[&str] = &["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];
const CHECK: &[&str] = &["--check"];

/// The commands, in the order of the alphabet, then git's.
#[rustfmt::skip]
pub(crate) const READ_ONLY: &[ReadOnly] = &[
    any(":"),
    any("["),
    any("[["),
    data("arch"),
    data("basename"),
    only("break", &[]),
    free("cat"),
    free("cd"),
    free("cksum"),
    free("cmp"),
    free("column"),
    but("comm", &[], &["--output"], ""),
    data("command -v"),
    only("continue", &[]),
    free("cut"),
    but("date", DIGITS, &["--set", "--file"], "sf").with(Operands::Data),
    free("df"),
    but("diff", &[], &["--output", "--recursive"], "r"),
    data("dirname"),
    but("du", &[], &["--files0-from", "--exclude-from", "--dereference", "--dereference-args"], "XLDH"),
    data("echo"),
    data("exit"),
    data("expr"),
    free("expand"),
    any("false"),
    but("fd", &[], &["--exec", "--exec-batch", "--follow", "--ignore-file", "--list-details"], "xXLl"),
    but("fdfind", &[], &["--exec", "--exec-batch", "--follow", "--ignore-file", "--list-details"], "xXLl"),
    but("file", &[], &["--magic-file", "--files-from", "--compile", "--uncompress", "--uncompress-noreport"], "mfCzZ"),
    but("find", &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0-from", "-L", "-H", "-follow"], &[], ""),
    free("fmt"),
    free("fold"),
    free("getconf"),
    but("grep", &[], &["--file", "--exclude-from", "--dereference-recursive"], "fR").with(Operands::Pattern),
    free("head"),
    data("id"),
    free("join"),
    free("ls"),
    but("lsof", &[], &[], "D"),
    but("md5sum", &[], CHECK, "c"),
    free("nl"),
    data("nproc"),
    free("numfmt"),
    free("od"),
    free("paste"),
    but("pgrep", &[], &["--pidfile"], "F"),
    free("pr"),
    but("printf", &["-v"], &[], "").with(Operands::Data),
    free("pwd"),
    free("readlink"),
    free("realpath"),
    free("rev"),
    but("rg", &[], &["--pre", "--hostname-bin", "--file", "--follow", "--ignore-file", "--search-zip"], "fLz").with(Operands::Pattern),
    but("sed", &[], &["--in-place", "--file", "--expression"], "ief").with(Operands::Script),
    data("seq"),
    but("sha1sum", &[], CHECK, "c"),
    but("sha256sum", &[], CHECK, "c"),
    but("sort", &[], &["--output", "--temporary-directory", "--compress-program", "--files0-from", "--random-source"], "oT"),
    but("ss", &[], &["--kill", "--diag", "--filter"], "KDF"),
    free("stat"),
    free("tac"),
    free("tail"),
    any("test"),
    data("tput"),
    data("tr"),
    any("true"),
    free("tsort"),
    data("type"),
    data("uname"),
    free("uniq").with(Operands::OneFile),
    but("wc", &[], &["--files0-from"], ""),
    free("which"),
    data("whoami"),
    but("git blame", &[], &["--output", "--contents", "--ignore-revs-file"], "S"),
    only("git branch", &["-a", "-r", "-v", "-vv", "--all", "--remotes", "--verbose", "--list", "--show-current"]),
    but("git cat-file", &[], &["--textconv", "--filters"], ""),
    only("git count-objects", &["-v", "-H"]),
    free("git describe"),
    but("git diff", &[], GIT_OUTPUT, "O"),
    free("git for-each-ref").with(Operands::Data),
    but("git grep", &[], &["--open-files-in-pager", "--no-index", "--textconv", "--file", "--ext-grep"], "Of").with(Operands::Data),
    but("git log", &[], GIT_OUTPUT, "O"),
    but("git ls-files", &[], &["--exclude-from", "--exclude-per-directory"], "X"),
    free("git ls-tree"),
    data("git merge-base"),
    only("git reflog", &[]),
    only("git remote", &["-v", "--verbose"]),
    free("git rev-list"),
    free("git rev-parse"),
    but("git shortlog", &[], &["--output"], ""),
    but("git show", &[], GIT_OUTPUT, "O"),
    data("git show-ref"),
    but("git stash list", &[], GIT_OUTPUT, "O"),
    but("git stash show", &[], GIT_OUTPUT, "O"),
    free("git status"),
    only("git tag", &[]),
    data("git tag --list"),
    data("git tag -l"),
    only("git worktree list", &["--porcelain", "-v", "--verbose"]),
];

/// git's options before its subcommand that change nothing it does.
const GIT_SWITCHES: &[&str] = &["--no-pager", "-P", "--no-optional-locks"];

impl ReadOnly {
    /// Whether this command, as it stands, only reads, and only inside the working directories.
    pub(crate) fn holds(
        &self,
        command: &Command,
        effects: &Effects,
        around: &Surroundings,
    ) -> bool {
        if effects.here_expands {
            return false;
        }
        let Some(words) = self.arguments(&command.words, effects, around) else { return false };
        // Without a directory, or with `-`, it leads elsewhere.
        if self.command == "cd" && (words.is_empty() || words.iter().any(|word| word.source == "-"))
        {
            return false;
        }
        // Behind it a word with a dash is no option, and nobody counts right.
        let dashes = words.iter().any(|word| word.literal.as_deref() == Some("--"));
        let first = words.iter().position(is_operand);
        let text = match self.operands {
            Operands::Any => return true,
            Operands::Only(known) => {
                let is_known = |text: &str| known.contains(&text);
                return words.iter().all(|word| word.literal.as_deref().is_some_and(is_known));
            }
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
        words.iter().enumerate().all(|(at, word)| {
            let is_data = self.operands == Operands::Data || Some(at) == text;
            self.is_harmless(word, is_data, effects, around)
        })
    }

    /// The words behind the command, if it is this one: its own name and no wrapper's, for `xargs cat` reads
    /// whatever it is told to.
    fn arguments<'w>(
        &self,
        words: &'w [Word],
        effects: &Effects,
        around: &Surroundings,
    ) -> Option<&'w [Word]> {
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
            let own = |dir: &PathBuf| match below {
                None => own_repository(dir, around),
                Some(below) => {
                    crate::path::resolve(dir, below).is_ok_and(|dir| own_repository(&dir, around))
                }
            };
            if !effects.dirs.iter().all(own) {
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
        is_data: bool,
        effects: &Effects,
        around: &Surroundings,
    ) -> bool {
        let Some(text) = word.literal.as_deref() else {
            if is_data {
                return self.operands == Operands::Data && own_text(&word.source, effects, 0);
            }
            if self.command == "cd" && word.source == TOPLEVEL {
                let top = |dir: &PathBuf| checkout(dir).is_some_and(|top| inside(dir, top, around));
                return effects.dirs.iter().all(top);
            }
            return is_glob(&word.source)
                && !matches!(self.command, "find" | "cd")
                && !self.command.starts_with("git")
                && effects.dirs.iter().all(|dir| {
                    // A file named like an option would be taken for one.
                    let is_option = |path: &Path| {
                        path.file_name().is_some_and(|name| name.as_encoded_bytes()[0] == b'-')
                    };
                    files::expand(dir, &word.source).is_some_and(|found| {
                        found.iter().all(|path| inside(dir, path, around) && !is_option(path))
                    })
                });
        };
        if self.words.iter().any(|barred| text.starts_with(barred)) {
            return false;
        }
        if !text.starts_with('-') || text == "-" {
            return is_data
                || text == "-"
                || effects.dirs.iter().all(|dir| inside(dir, text, around));
        }
        let Some(long) = text.strip_prefix("--") else {
            let barred = text[1..].contains(|letter| self.letters.contains(letter));
            // A value may follow in the same word.
            let value = text.char_indices().nth(2).map(|(at, _)| &text[at..]);
            let elsewhere = value.is_some_and(|value| {
                value.starts_with(['/', '~', '.'])
                    && !effects.dirs.iter().all(|dir| inside(dir, value, around))
            });
            return !barred && !elsewhere;
        };
        let (given, value) = match long.split_once('=') {
            Some((name, value)) => (&text[..name.len() + 2], Some(value)),
            None => (text, None),
        };
        !self.long.iter().any(|option| is_abbreviation(given, option))
            && value.is_none_or(|value| {
                value.is_empty() || effects.dirs.iter().all(|dir| inside(dir, value, around))
            })
    }
}

fn is_operand(word: &Word) -> bool {
    !word.literal.as_deref().is_some_and(|text| text.starts_with('-'))
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

/// Whether a script for `sed` prints lines by their numbers and does nothing else.
fn prints(word: &Word) -> bool {
    word.literal.as_deref().is_some_and(|script| {
        script.ends_with(['p', 'q', 'd', '='])
            && script.bytes().all(|byte| byte.is_ascii_digit() || b",$;pqd= +~!".contains(&byte))
    })
}

/// Whether a text in double quotes, or a bare `$?`, holds nothing of the environment: only what commands print
/// that are looked at themselves, and variables that the command line sets to such texts.
fn own_text(source: &str, effects: &Effects, depth: usize) -> bool {
    if matches!(source, "$?" | "$#") {
        return true;
    }
    let quoted = source.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let Some(mut rest) = quoted.filter(|_| depth < 4) else { return false };
    while let Some(at) = rest.find(['$', '`', '\\', '"']) {
        let found = rest.as_bytes()[at];
        rest = &rest[at + 1..];
        match found {
            b'\\' => rest = rest.get(1..).unwrap_or_default(),
            b'$' => match own_expansion(rest, effects, depth) {
                Some(behind) => rest = behind,
                None => return false,
            },
            _ => return false,
        }
    }
    true
}

/// What follows an expansion that holds nothing of the environment.
fn own_expansion<'s>(rest: &'s str, effects: &Effects, depth: usize) -> Option<&'s str> {
    if let Some(behind) = rest.strip_prefix(['?', '#', ' ']) {
        return Some(behind);
    }
    // Without quotes or further parentheses inside, its end is the first one.
    if let Some(inner) = rest.strip_prefix('(') {
        let (inner, behind) = inner.split_once(')')?;
        return (!inner.contains(['(', '"', '\'', '`', '\\'])).then_some(behind);
    }
    let (braced, name) = match rest.strip_prefix('{') {
        Some(inner) => (true, inner),
        None => (false, rest),
    };
    let end = name.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(name.len());
    let (name, behind) = name.split_at(end);
    let behind = if braced { behind.strip_prefix('}')? } else { behind };
    is_own(name, effects, depth).then_some(behind)
}

/// Whether a variable has only been given texts by the command line itself.
fn is_own(name: &str, effects: &Effects, depth: usize) -> bool {
    let alone = effects.commands.iter().filter(|command| command.words.is_empty());
    let mut values = alone
        .flat_map(|command| &command.assignments)
        .filter(|assignment| assignment.name == name)
        .map(|assignment| assignment.value.as_str())
        .peekable();
    values.peek().is_some()
        && values.all(|value| {
            let plain = !value.contains(['$', '`', '~', '*', '?', '[', '{', '(']);
            let of_command = value.starts_with("$(") && !value.starts_with("$((");
            plain
                || own_text(value, effects, depth + 1)
                || (of_command && own_text(&format!("\"{value}\""), effects, depth + 1))
        })
}

/// Whether what an operand names, if it names a file, is in a working directory.
fn inside(dir: &Path, operand: impl AsRef<Path>, around: &Surroundings) -> bool {
    crate::path::resolve(dir, operand).is_ok_and(|path| around.contains(&path))
}

/// Whether git, started in a directory, would use the project's own repository.
fn own_repository(dir: &Path, around: &Surroundings) -> bool {
    let bare = |dir: &Path| ["HEAD", "objects", "refs"].iter().all(|name| dir.join(name).exists());
    let mut dir = dir.to_owned();
    loop {
        if bare(&dir) {
            return false;
        }
        if dir == around.project_dir {
            return dir.ancestors().find(|dir| dir.join(".git").exists()).is_none_or(is_plain);
        }
        if dir.join(".git").exists() || !dir.pop() {
            return false;
        }
    }
}

/// Whether a checkout's configuration makes git run nothing by itself.
fn is_plain(checkout: &Path) -> bool {
    let git = checkout.join(".git");
    let git = match fs::read_to_string(&git) {
        // A linked worktree: its repository is two levels above what the file names.
        Ok(text) => {
            let linked = text.trim().strip_prefix("gitdir: ").map(|dir| checkout.join(dir));
            match linked.as_deref().and_then(Path::parent).and_then(Path::parent) {
                Some(main) => main.to_owned(),
                None => return false,
            }
        }
        Err(_) => git,
    };
    let runs = [
        "fsmonitor",
        "external",
        "textconv",
        "hookspath",
        "filter",
        "include",
        "sshcommand",
        "command",
    ];
    ["config", "config.worktree"].iter().all(|name| {
        let text = fs::read_to_string(git.join(name)).unwrap_or_default().to_ascii_lowercase();
        !runs.iter().any(|key| text.contains(key))
    })
}
