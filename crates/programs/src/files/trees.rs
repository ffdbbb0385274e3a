//! Directories that commands go through, with all that is in them.

use ona_shell::Word;

use super::tables::SEARCHERS;
use super::{Access, Operand, Touched, files_named, only_reads, operands, option};
use crate::arguments::Arguments;
use crate::commands::{acts, base_name};

/// A directory with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What is done with it.
    pub access: Access,
    /// Where it begins; where the command runs if it does not say.
    pub root: Option<Operand>,
    /// What of it is left out.
    pub skips: Skips,
    /// Who goes through it.
    pub by: String,
}

/// What of a directory is left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Skips {
    /// Names that begin with a dot.
    pub hidden: bool,
    /// What git is told to ignore.
    pub ignored: bool,
    /// Names that fit one of these patterns.
    pub except: Vec<String>,
    /// Directories whose names do.
    pub except_dirs: Vec<String>,
    /// Files whose names fit none of these, if there are any.
    pub only: Vec<String>,
}

impl Tree {
    /// The whole of where the command runs.
    pub(super) fn here(access: Access, by: &str) -> Self {
        Self { access, root: None, skips: Skips::default(), by: format!("`{by}`") }
    }
}

/// Whether `grep` is told by another option to go through directories: `-d recurse`, `--directories=recurse`.
pub(super) fn greps_directories(name: &str, words: &[Word]) -> bool {
    if !SEARCHERS.contains(&name) || !name.ends_with("grep") {
        return false;
    }
    // Anything else may be `recurse`, cut short or not.
    let recurses = |value: Option<&str>| !matches!(value, Some("read" | "skip"));
    words.iter().enumerate().any(|(at, word)| {
        let next = || words.get(at + 1).and_then(|word| word.literal.as_deref());
        let text = word.literal.as_deref().unwrap_or(&word.source);
        let fixed = |value: &'_ str| word.literal.is_some().then(|| value.to_owned());
        if let Some(long) = text.strip_prefix("--") {
            let (given, value) = match long.split_once('=') {
                Some((given, value)) => (given, fixed(value)),
                None => (long, next().map(str::to_owned)),
            };
            return given.len() > 1
                && "directories".starts_with(given)
                && recurses(value.as_deref());
        }
        let Some(letters) = text.strip_prefix('-') else { return false };
        // Behind a letter with a value there are no more.
        let end = letters.find(|letter| "ABCDdefm".contains(letter));
        let Some(value) = end.and_then(|end| letters[end..].strip_prefix('d')) else {
            return false;
        };
        let value = if value.is_empty() { next().map(str::to_owned) } else { fixed(value) };
        recurses(value.as_deref())
    })
}

/// The directories a command goes through.
pub(super) fn through(
    name: &str,
    words: &[Word],
    arguments: &Arguments,
    files: &[Word],
    access: Access,
    touched: &mut Touched,
) {
    let any = |long: &[&str], letters: &[char]| {
        words.iter().filter_map(option).any(|option| match option.strip_prefix("--") {
            Some(given) => long.iter().any(|name| given.starts_with(name)),
            None => option.contains(letters),
        })
    };
    let letters: &[char] = match name {
        "grep" | "egrep" | "fgrep" => &['R'],
        "cp" | "rg" | "rsync" => &['L'],
        _ => &[],
    };
    if any(&["deref", "follow"], letters) {
        touched.unsure.get_or_insert(format!("`{name}` follows links"));
    }
    // `rg` leaves hidden and ignored files out unless it is told otherwise, or which files it is to look at.
    let chooses = any(&["glob", "iglob", "type"], &['g', 't']);
    let careful = name == "rg" && !any(&["unr"], &['u']) && !chooses;
    let skips = Skips {
        hidden: careful && !any(&["hid"], &['.']),
        ignored: careful && !any(&["no-ig"], &[]),
        ..left_out(words)
    };
    let mut named = Touched::default();
    files_named(files, access, &mut named);
    let tree = |root| Tree { root, skips: skips.clone(), ..Tree::here(access, name) };
    // Without a directory the search is here; the first word may still be what is searched for.
    let needed = if files.len() < arguments.operands.len() { 1 } else { 2 };
    // `zip -R` takes patterns for what is here.
    let packs_here = name == "zip" && any(&["recurse-pat"], &['R']);
    if SEARCHERS.contains(&name) && named.files.len() < needed || packs_here {
        touched.trees.push(tree(None));
    }
    touched.trees.extend(named.files.into_iter().map(|(_, operand)| tree(Some(operand))));
}

/// The values of options, where they stand in the same word.
pub(super) fn values(words: &[Word], options: &[&str]) -> Vec<String> {
    let texts = words.iter().filter_map(|word| word.literal.as_deref());
    let value =
        |text: &str| options.iter().find_map(|option| text.strip_prefix(option).map(str::to_owned));
    texts.filter_map(value).collect()
}

/// What `find` and its like do with what they find.
pub(super) fn found(name: &str, words: &[Word], touched: &mut Touched) {
    let literals: Vec<&str> = words.iter().filter_map(|word| word.literal.as_deref()).collect();
    if let Some(at) = literals.iter().position(|text| *text == "-files0-from") {
        let file = literals.get(at + 1).copied().unwrap_or_default();
        touched.given.push((name.to_owned(), file.to_owned()));
    }
    if !acts(words) {
        return;
    }
    let runs = literals.iter().skip_while(|text| !is_run(text)).nth(1).map(|run| base_name(run));
    for at in literals
        .iter()
        .enumerate()
        .filter(|(_, text)| text.starts_with("-fprint") || **text == "-fls")
    {
        let file = words.iter().skip_while(|word| word.literal.as_deref() != Some(*at.1)).nth(1);
        let parts = file.map(|word| {
            word.literal.clone().map_or_else(|| super::fixed_parts(&word.source), |text| vec![text])
        });
        let parts = parts.into_iter().flatten();
        touched.files.extend(parts.map(|file| (Access::Writes, Operand::Fixed(file))));
    }
    let behind: Vec<Word> =
        words.iter().skip_while(|word| !is_run(&word.source)).skip(2).cloned().collect();
    let changes = runs.is_some_and(|run| super::writes(run, &behind));
    let deletes =
        changes || literals.iter().any(|text| *text == "-delete" || text.starts_with("-f"));
    let access = match runs {
        Some(name) if only_reads(name) && !deletes => Access::Reads,
        _ => Access::Writes,
    };
    let starts = words.iter().take_while(|word| !word.source.starts_with(['-', '(', '!', '\\']));
    let before = touched.files.len();
    operands(starts, access, touched);
    let roots: Vec<Option<Operand>> = match &touched.files[before..] {
        // The first words of `fd` are a pattern and then directories.
        [] => vec![None],
        files => {
            let files = files.iter().map(|(_, operand)| Some(operand.clone()));
            if name == "find" { files.collect() } else { files.chain([None]).collect() }
        }
    };
    // Its words are taken from where each file is.
    if literals.iter().any(|text| matches!(*text, "-execdir" | "-okdir")) {
        let why = format!("`{name}` runs a program in the directories that it finds");
        touched.unsure.get_or_insert(why);
    }
    let only = if name == "find" { one_name(words) } else { Vec::new() };
    for root in roots {
        let skips = Skips { only: only.clone(), ..Skips::default() };
        touched.trees.push(Tree { root, skips, ..Tree::here(access, name) });
    }
}

/// Whether a pattern has no more in it than `*`: only that is compared with names.
fn is_simple(pattern: &str) -> bool {
    !pattern.contains(['?', '[', '\\', '{'])
}

/// What `grep` leaves out of the directories that it goes through.
pub(super) fn left_out(words: &[Word]) -> Skips {
    let simple = |options: &[&str]| -> Vec<String> {
        values(words, options).into_iter().filter(|pattern| is_simple(pattern)).collect()
    };
    let all = values(words, &["--include="]);
    let (except, only) = (simple(&["--exclude="]), simple(&["--include="]));
    // The last one that fits counts.
    let both = !all.is_empty() && !values(words, &["--exclude="]).is_empty();
    Skips {
        except_dirs: simple(&["--exclude-dir="]),
        except: if both { Vec::new() } else { except },
        only: if both || only.len() < all.len() { Vec::new() } else { only },
        ..Skips::default()
    }
}

/// The one name that is looked for, if nothing else could be found as well.
pub fn one_name(words: &[Word]) -> Vec<String> {
    let otherwise = ["-o", "-or", "!", "-not", ",", "(", "-iname", "-prune"];
    let is = |word: &Word, text: &str| word.literal.as_deref() == Some(text);
    // What stands before the first test says where to look.
    let tests = words.iter().position(|word| word.source.starts_with('-'));
    let words = tests.map_or(&[][..], |at| &words[at..]);
    let name = words.iter().position(|word| is(word, "-name"));
    // Without quotes the shell may put other names in its place.
    let name = name.and_then(|at| words.get(at + 1)).and_then(|word| word.literal.as_deref());
    let others = words.iter().any(|word| {
        word.literal.as_deref().is_none_or(|text| otherwise.contains(&text)) && word.source != "{}"
    });
    match name {
        Some(name) if is_simple(name) && !others => vec![name.to_owned()],
        _ => Vec::new(),
    }
}

pub(super) fn is_run(text: &str) -> bool {
    text.starts_with("-exec")
        || text.starts_with("--exec")
        || matches!(text, "-ok" | "-okdir" | "-x" | "-X")
}
