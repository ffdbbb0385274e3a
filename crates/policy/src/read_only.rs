//! Commands that only read are free. This says when one does: by a closed table of options that make it do
//! more, on the words as the program gets them.

use std::fs;
use std::path::{Path, PathBuf};

use crate::effects::Effects;
use crate::files::{self, is_abbreviation, is_glob};
use crate::permissions::Surroundings;
use crate::shell::{Command, Word};

/// A command that only reads, unless it is given one of these.
#[derive(Debug)]
pub(crate) struct ReadOnly {
    /// The command, with its subcommand where it has some.
    pub(crate) command: &'static str,
    /// Words that begin so.
    words: &'static [&'static str],
    /// Long options, which may be cut short.
    long: &'static [&'static str],
    /// Letters of short options, alone or among others.
    letters: &'static str,
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
    ReadOnly { command, words, long, letters }
}

const GIT_OUTPUT: &[&str] = &["--output", "--ext-diff", "--textconv", "--no-index"];

/// The commands, in the order of the alphabet, then git's.
#[rustfmt::skip]
pub(crate) const READ_ONLY: &[ReadOnly] = &[
    free("cat"),
    free("cd"),
    free("cmp"),
    but("comm", &[], &["--output"], ""),
    but("diff", &[], &["--output", "--recursive"], "r"),
    but("du", &[], &["--files0-from", "--exclude-from", "--dereference", "--dereference-args"], "XLDH"),
    free("echo"),
    free("expr"),
    but("fd", &[], &["--exec", "--exec-batch", "--follow", "--ignore-file", "--list-details"], "xXLl"),
    but("fdfind", &[], &["--exec", "--exec-batch", "--follow", "--ignore-file", "--list-details"], "xXLl"),
    but("find", &["-exec", "-ok", "-delete", "-fprint", "-fls", "-files0-from", "-L", "-H", "-follow"], &[], ""),
    free("fmt"),
    free("getconf"),
    but("grep", &[], &["--file", "--exclude-from", "--dereference-recursive"], "fR"),
    free("head"),
    free("ls"),
    but("lsof", &[], &[], "D"),
    free("numfmt"),
    but("pgrep", &[], &["--pidfile"], "F"),
    free("pr"),
    but("printf", &["-v"], &[], ""),
    free("pwd"),
    but("rg", &[], &["--pre", "--hostname-bin", "--file", "--follow", "--ignore-file", "--search-zip"], "fLz"),
    free("seq"),
    but("ss", &[], &["--kill", "--diag", "--filter"], "KDF"),
    free("stat"),
    free("tail"),
    but("test", &["-v"], &[], ""),
    free("tput"),
    free("tsort"),
    but("wc", &[], &["--files0-from"], ""),
    free("which"),
    but("git blame", &[], &["--output", "--contents", "--ignore-revs-file"], "S"),
    but("git cat-file", &[], &["--textconv", "--filters"], ""),
    free("git describe"),
    but("git diff", &[], GIT_OUTPUT, "O"),
    but("git log", &[], GIT_OUTPUT, "O"),
    but("git ls-files", &[], &["--exclude-from", "--exclude-per-directory"], "X"),
    free("git ls-tree"),
    free("git rev-parse"),
    but("git shortlog", &[], &["--output"], ""),
    but("git show", &[], GIT_OUTPUT, "O"),
    free("git status"),
];

/// Commands whose words are data, not files.
const DATA: &[&str] = &["echo", "printf", "expr", "seq", "test", "tput"];

impl ReadOnly {
    /// Whether this command, as it stands, only reads, and only inside the working directories.
    pub(crate) fn holds(
        &self,
        command: &Command,
        effects: &Effects,
        around: &Surroundings,
    ) -> bool {
        let mut words = command.words.as_slice();
        // Its own name and no wrapper's: `xargs cat` reads whatever it is told to.
        for part in self.command.split(' ') {
            match words.split_first() {
                Some((first, rest)) if first.literal.as_deref() == Some(part) => words = rest,
                _ => return false,
            }
        }
        if effects.here_expands {
            return false;
        }
        let name = command.name().unwrap_or_default();
        match name {
            // A repository made by hand can make git run what it likes.
            "git" if effects.dirs.len() != 1 || !own_repository(around) => return false,
            // Without a directory, or with `-`, it leads elsewhere.
            "cd" if words.is_empty() || words.iter().any(|word| word.source == "-") => {
                return false;
            }
            _ => {}
        }
        let is_data = DATA.contains(&name);
        words.iter().all(|word| self.is_harmless(word, is_data, effects, around))
    }

    fn is_harmless(
        &self,
        word: &Word,
        is_data: bool,
        effects: &Effects,
        around: &Surroundings,
    ) -> bool {
        let Some(text) = word.literal.as_deref() else {
            return !is_data
                && is_glob(&word.source)
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
            && value.is_none_or(|value| effects.dirs.iter().all(|dir| inside(dir, value, around)))
    }
}

/// Whether what an operand names, if it names a file, is in a working directory.
fn inside(dir: &Path, operand: impl AsRef<Path>, around: &Surroundings) -> bool {
    crate::path::resolve(dir, operand).is_ok_and(|path| around.contains(&path))
}

/// Whether git, started where the session is, would use the project's own repository.
fn own_repository(around: &Surroundings) -> bool {
    let bare = |dir: &Path| ["HEAD", "objects", "refs"].iter().all(|name| dir.join(name).exists());
    let mut dir: PathBuf = around.cwd.clone();
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
