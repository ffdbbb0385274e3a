//! Which files a shell command touches, as far as what is known of the command tells.
//!
//! This serves rules that forbid: rather a file too many than one too few. What a program does with files
//! it is not known to take stays unknown.

use std::fs;
use std::path::{Path, PathBuf};

use crate::commands::{is_finder, name, suffixes, unwrapped};
use crate::shell::Word;
use crate::wildcard;

/// What a command does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Shows it or copies from it.
    Reads,
    /// Creates, changes or removes it.
    Writes,
}

/// What a command touches.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Touched {
    /// Files as the command line names them; a pattern where it is one.
    pub(crate) files: Vec<(Access, Operand)>,
    /// Why there may be others.
    pub(crate) unsure: Option<String>,
}

/// A file as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// This one.
    Fixed(String),
    /// Those that fit.
    Glob(String),
}

/// Commands that show the files they are given.
const READERS: &[&str] = &[
    "ack",
    "ag",
    "awk",
    "base32",
    "base64",
    "bat",
    "bzcat",
    "cat",
    "cmp",
    "comm",
    "cp",
    "csplit",
    "cut",
    "diff",
    "egrep",
    "fgrep",
    "file",
    "fmt",
    "fold",
    "gawk",
    "grep",
    "head",
    "hexdump",
    "install",
    "jq",
    "join",
    "less",
    "ln",
    "md5sum",
    "more",
    "mv",
    "nl",
    "od",
    "paste",
    "pr",
    "rg",
    "rsync",
    "scp",
    "sed",
    "sha1sum",
    "sha256sum",
    "shuf",
    "sort",
    "source",
    "split",
    "stat",
    "strings",
    "sum",
    "tac",
    "tail",
    "tar",
    "tr",
    "tsort",
    "uniq",
    "wc",
    "xxd",
    "xz",
    "xzcat",
    "yq",
    "zcat",
    "zip",
    ".",
];

/// Commands that change the files they are given.
const WRITERS: &[&str] = &[
    "bunzip2", "bzip2", "chgrp", "chmod", "chown", "cp", "ed", "ex", "gunzip", "gzip", "install",
    "ln", "mkdir", "mkfifo", "mknod", "mv", "patch", "rename", "rm", "rmdir", "rsync", "scp",
    "setfacl", "shred", "tee", "touch", "truncate", "unlink", "unxz", "unzip", "vi", "vim", "xz",
    "zip", "zstd",
];

/// Commands that read whole directories if they are told to, or always.
const RECURSIVE: &[(&str, &str)] = &[
    ("ack", ""),
    ("ag", ""),
    ("cp", "aRr"),
    ("diff", "r"),
    ("egrep", "rR"),
    ("fgrep", "rR"),
    ("grep", "rR"),
    ("rg", ""),
    ("rsync", ""),
    ("scp", "r"),
    ("tar", ""),
    ("zip", "r"),
];

/// Options whose value is a file that is written: command, letter, long name.
const OUTPUTS: &[(&[&str], char, &str)] = &[
    (
        &["sort", "curl", "cc", "gcc", "g++", "clang", "rustc", "ld", "iconv", "pandoc"],
        'o',
        "--output",
    ),
    (&["wget"], 'O', "--output-document"),
];

/// Commands that put files into a directory.
const PLACERS: &[&str] = &["cp", "mv", "ln", "install"];

/// What of git changes files that are named behind it.
const GIT_WRITERS: &[&str] = &["rm", "mv", "restore", "checkout", "clean", "apply"];

/// And what of it shows them.
const GIT_READERS: &[&str] =
    &["diff", "show", "blame", "annotate", "grep", "cat-file", "archive", "log", "shortlog"];

/// Everything a command touches, whatever it is wrapped in.
pub(crate) fn touched(words: &[Word]) -> Touched {
    let mut all = vec![words];
    let mut inner = words;
    while let Some(deeper) = unwrapped(inner) {
        all.push(deeper);
        inner = deeper;
    }
    all.extend(suffixes(words));
    let mut touched = Touched::default();
    for words in all {
        match name(words) {
            Some(name @ ("xargs" | "parallel")) => {
                touched.unsure.get_or_insert(format!("`{name}` takes names from its input"));
            }
            Some(name) => of_command(name, &words[1..], &mut touched),
            None => {}
        }
    }
    touched
}

fn of_command(name: &str, words: &[Word], touched: &mut Touched) {
    if name == "git" {
        return git(words, touched);
    }
    if name == "dd" {
        for (prefix, access) in [("of=", Access::Writes), ("if=", Access::Reads)] {
            let values =
                words.iter().filter_map(|word| word.literal.as_deref()?.strip_prefix(prefix));
            touched.files.extend(values.map(|value| (access, Operand::Fixed(value.to_owned()))));
        }
        return;
    }
    if is_finder(name) {
        if crate::commands::acts(words) {
            let starts =
                words.iter().take_while(|word| !word.source.starts_with(['-', '(', '!', '\\']));
            let before = touched.files.len();
            operands(starts, Access::Writes, touched);
            if touched.files.len() == before {
                touched.files.push((Access::Writes, Operand::Fixed(".".to_owned())));
            }
        }
        return;
    }
    if READERS.contains(&name) {
        operands(words.iter(), Access::Reads, touched);
        values(words, touched);
        if reads_directories(name, words) {
            touched.unsure.get_or_insert(format!("`{name}` reads whole directories"));
        }
    }
    let in_place = matches!(name, "sed" | "perl" | "ruby" | "gawk" | "awk")
        && words.iter().filter_map(option).any(|option| match option.strip_prefix("--") {
            Some(long) => long.starts_with("in-p"),
            None => option.contains('i'),
        });
    if WRITERS.contains(&name) || in_place {
        operands(words.iter(), Access::Writes, touched);
    }
    if PLACERS.contains(&name) {
        placed(words, touched);
    }
    if name == "sed" {
        // `s/a/b/w file` and `w file` in a script.
        let scripts = words.iter().filter_map(|word| word.literal.as_deref());
        for line in scripts.flat_map(str::lines) {
            if let Some((_, file)) = line.rsplit_once("w ") {
                let file = Operand::Fixed(file.trim().to_owned());
                touched.files.push((Access::Writes, file));
            }
        }
    }
    for (_, letter, long) in OUTPUTS.iter().filter(|(names, ..)| names.contains(&name)) {
        for value in values_of(words, *letter, long) {
            touched.files.push((Access::Writes, Operand::Fixed(value)));
        }
    }
}

fn git(words: &[Word], touched: &mut Touched) {
    let literals: Vec<&str> = words.iter().filter_map(|word| word.literal.as_deref()).collect();
    // What others are told, such as a message, is no file.
    if !literals.iter().any(|word| GIT_WRITERS.contains(word) || GIT_READERS.contains(word)) {
        return;
    }
    let writes = literals.iter().any(|word| GIT_WRITERS.contains(word));
    operands(words.iter(), if writes { Access::Writes } else { Access::Reads }, touched);
    values(words, touched);
    for path in literals.iter().filter_map(|word| Some(word.split_once(':')?.1)) {
        // `HEAD:file` shows a file as it was.
        touched.files.push((Access::Reads, Operand::Fixed(path.to_owned())));
    }
    if literals.contains(&"grep") || literals.contains(&"archive") {
        touched.unsure.get_or_insert("it reads whole directories".to_owned());
    }
    for value in values_of(words, '\0', "--output") {
        touched.files.push((Access::Writes, Operand::Fixed(value)));
    }
}

fn option(word: &Word) -> Option<&str> {
    word.literal.as_deref().filter(|text| text.len() > 1 && text.starts_with('-'))
}

fn operands<'w>(words: impl Iterator<Item = &'w Word>, access: Access, touched: &mut Touched) {
    for word in words {
        match &word.literal {
            Some(text) if text.is_empty() || text.starts_with('-') => {}
            Some(text) => touched.files.push((access, Operand::Fixed(text.clone()))),
            None if is_glob(&word.source) => {
                touched.files.push((access, Operand::Glob(word.source.clone())));
            }
            None => {
                touched
                    .unsure
                    .get_or_insert(format!("which files {} stands for is not fixed", word.source));
            }
        }
    }
}

/// Values that stand in the same word as their option.
fn values(words: &[Word], touched: &mut Touched) {
    for text in words.iter().filter_map(option) {
        let value = match text.strip_prefix("--") {
            Some(long) => long.split_once('=').map(|(_, value)| value),
            None => text.get(2..),
        };
        if let Some(value) = value.filter(|value| !value.is_empty()) {
            touched.files.push((Access::Reads, Operand::Fixed(value.to_owned())));
        }
    }
}

/// The values of one option, in its word or in the next.
fn values_of(words: &[Word], letter: char, long: &str) -> Vec<String> {
    let mut found = Vec::new();
    for (at, word) in words.iter().enumerate() {
        let Some(text) = option(word) else { continue };
        let next = || words.get(at + 1).and_then(|word| word.literal.clone());
        match text.strip_prefix("--") {
            Some(_) => match text.split_once('=') {
                Some((name, value)) if is_abbreviation(name, long) => found.push(value.to_owned()),
                None if is_abbreviation(text, long) => found.extend(next()),
                _ => {}
            },
            None => {
                if let Some((_, value)) = text[1..].split_once(letter) {
                    found.extend(if value.is_empty() { next() } else { Some(value.to_owned()) });
                }
            }
        }
    }
    found
}

/// Long options may be cut short.
pub(crate) fn is_abbreviation(given: &str, option: &str) -> bool {
    given.len() > 2 && option.starts_with(given)
}

/// `cp a b dir` writes `dir/a` and `dir/b`.
fn placed(words: &[Word], touched: &mut Touched) {
    let files: Vec<&str> = words
        .iter()
        .filter_map(|word| word.literal.as_deref())
        .filter(|text| !text.starts_with('-') && !text.is_empty())
        .collect();
    let mut dirs = values_of(words, 't', "--target-directory");
    dirs.extend(files.last().map(|last| (*last).to_owned()));
    for dir in dirs {
        for file in &files {
            let base = Path::new(file).file_name().map(|base| base.to_string_lossy().into_owned());
            let inside = base.map_or_else(|| dir.clone(), |base| format!("{dir}/{base}"));
            touched.files.push((Access::Writes, Operand::Fixed(inside)));
        }
        touched.files.push((Access::Writes, Operand::Fixed(dir)));
    }
}

fn reads_directories(name: &str, words: &[Word]) -> bool {
    let Some((_, letters)) = RECURSIVE.iter().find(|(known, _)| *known == name) else {
        return false;
    };
    letters.is_empty()
        || words.iter().filter_map(option).any(|option| match option.strip_prefix("--") {
            Some(long) => {
                long.starts_with("rec") || long.starts_with("dereference-r") || long == "archive"
            }
            None => option.contains(|letter| letters.contains(letter)),
        })
}

/// Whether a word without a fixed text is one because of `*` and `?` alone. What a set in brackets takes in is a
/// science of its own.
pub(crate) fn is_glob(source: &str) -> bool {
    !source.contains(['[', ']', '$', '`', '~', '(', ')', '{', '}', '<', '>', '\'', '"', '\\'])
}

/// As many files are looked at for a pattern.
const MOST: usize = 1000;

/// The files a pattern stands for in a directory, as bash would expand it; nothing if they are too many to say.
/// Files whose names begin with a dot are included: bash leaves them out, and rather one too many.
pub(crate) fn expand(dir: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    let (mut found, pattern) = match pattern.strip_prefix('/') {
        Some(rest) => (vec![PathBuf::from("/")], rest),
        None => (vec![dir.to_owned()], pattern),
    };
    let mut looked = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for dir in found {
            if !part.contains(['*', '?']) {
                next.push(dir.join(part));
                continue;
            }
            for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
                looked += 1;
                if looked > MOST {
                    return None;
                }
                if entry.file_name().to_str().is_none_or(|name| fits(part, name)) {
                    next.push(entry.path());
                }
            }
        }
        found = next;
    }
    Some(found)
}

/// Our wildcards know only `*`: a `?` counts as that, and rather a file too many.
fn fits(part: &str, name: &str) -> bool {
    wildcard::matches(&part.replace('?', "*"), name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shell;

    fn files(source: &str, access: Access) -> Vec<String> {
        let words = shell::parse(source).commands.remove(0).words;
        let touched = touched(&words);
        let of_kind = touched.files.into_iter().filter(|(kind, _)| *kind == access);
        of_kind
            .map(|(_, operand)| match operand {
                Operand::Fixed(file) | Operand::Glob(file) => file,
            })
            .collect()
    }

    #[test]
    fn files_that_commands_read() {
        for (source, expected) in [
            ("cat -n a 'b c'", &["a", "b c"][..]),
            ("timeout 5 cat a", &["a"]),
            ("sudo cat a", &["a"]),
            ("env X=1 cat a", &["a"]),
            ("cat .en?", &[".en?"]),
            ("fmt .env", &[".env"]),
            ("diff --from-file=.env a", &["a", ".env"]),
            ("grep -f/etc/shadow a", &["a", "/etc/shadow"]),
            ("dd if=a of=b", &["a"]),
            ("git show HEAD:.env", &["show", "HEAD:.env", ".env"]),
            ("echo a", &[]),
        ] {
            let found = files(source, Access::Reads);
            for file in expected {
                assert!(found.iter().any(|one| one == file), "{source}: {file} in {found:?}");
            }
            assert!(!expected.is_empty() || found.is_empty(), "{source}: {found:?}");
        }
    }

    #[test]
    fn files_that_commands_write() {
        for (source, expected) in [
            ("rm -rf src/f", "src/f"),
            ("sed -i s/a/b/ src/f", "src/f"),
            ("sed -Ei s/a/b/ src/f", "src/f"),
            ("sed --in-place=.bak s/a/b/ src/f", "src/f"),
            ("sed -n 's/a/b/w src/f' x", "src/f"),
            ("dd if=x of=src/f", "src/f"),
            ("sort -o src/f x", "src/f"),
            ("sort -osrc/f x", "src/f"),
            ("sort --outp=src/f x", "src/f"),
            ("cp --target-directory=src f", "src/f"),
            ("cp -t src f", "src/f"),
            ("cp x/f src", "src/f"),
            ("touch src/*", "src/*"),
            ("sudo tee src/f", "src/f"),
            ("env tee src/f", "src/f"),
            ("find src -delete", "src"),
            ("find src '-exec' rm {} ';'", "src"),
            ("curl -sSLo src/f u", "src/f"),
            ("wget -O src/f u", "src/f"),
            ("git rm src/f", "src/f"),
            ("git log --output=src/f", "src/f"),
            ("perl -pi -e s/a/b/ src/f", "src/f"),
        ] {
            let found = files(source, Access::Writes);
            assert!(found.iter().any(|one| one == expected), "{source}: {found:?}");
        }
        assert!(files("sed s/a/b/ f", Access::Writes).is_empty());
        assert!(files("find . -name x", Access::Writes).is_empty());
    }

    #[test]
    fn what_is_not_fixed_is_said() {
        let unsure =
            |source: &str| touched(&shell::parse(source).commands.remove(0).words).unsure.is_some();
        for source in ["cat $f", "cat a{b,c}", "cat ~/x", "grep -r x .", "rg x", "cp -a x y"] {
            assert!(unsure(source), "{source}");
        }
        for source in ["cat a*", "echo $f", "grep x a"] {
            assert!(!unsure(source), "{source}");
        }
    }

    #[test]
    fn patterns_are_expanded() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        for name in [".env", "a.rs", "b.rs", "sub/c.rs"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let mut found: Vec<String> = expand(dir.path(), pattern)
                .unwrap()
                .iter()
                .map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(names(".en?"), [".env"]);
        assert!(!is_glob("[ab].rs") && !is_glob("/et[[:alpha:]]/passwd"));
        assert_eq!(names("*/c.rs"), [".env/c.rs", "a.rs/c.rs", "b.rs/c.rs", "sub/c.rs"]);
        assert_eq!(names("s*/*.rs"), ["sub/c.rs"]);
    }
}
