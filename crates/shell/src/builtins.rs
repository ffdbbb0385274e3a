//! What bash's own commands do with the words they are given: some evaluate them, and a value could contain a command.

use super::plain::{Plain, is_tame};

/// What a command does to the rest of the line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Meaning {
    /// It sets variables.
    pub(super) sets: bool,
    /// And to values that are not plain text.
    pub(super) sets_wild: bool,
    /// It may evaluate a variable's value as code.
    pub(super) risky: bool,
    /// The same, if the value were more than one word, or an operator.
    pub(super) splits: bool,
    /// It would take a variable's value for a list, if it sets one that is a list.
    pub(super) lists: bool,
}

/// Commands that change what other words mean, or run what they are given in ways of their own.
const TURNERS: &[&str] =
    &["alias", "bind", "compgen", "complete", "enable", "fc", "hash", "let", "shopt"];

/// Variables whose value bash evaluates, or obeys, by itself.
const EVALUATED: &[&str] = &[
    "PS0",
    "PS1",
    "PS2",
    "PS4",
    "PROMPT_COMMAND",
    "BASH_ENV",
    "ENV",
    "GLOBIGNORE",
    "BASHOPTS",
    "SHELLOPTS",
    // Numbers: what they are set to is calculated.
    "RANDOM",
    "SRANDOM",
    "OPTIND",
    "HISTCMD",
    "SECONDS",
    "LINENO",
    "EPOCHSECONDS",
    "EPOCHREALTIME",
    "BASHPID",
];

const DECLARING: &[&str] = &["declare", "typeset", "local", "export", "readonly"];

/// Operators of `test` with one operand.
const UNARY: &[&str] = &[
    "-b", "-c", "-d", "-e", "-f", "-g", "-h", "-k", "-L", "-n", "-N", "-O", "-p", "-r", "-s", "-S",
    "-t", "-u", "-w", "-x", "-z",
];

/// And with two.
const BINARY: &[&str] =
    &["=", "==", "!=", "<", ">", "-eq", "-ne", "-lt", "-le", "-gt", "-ge", "-nt", "-ot", "-ef"];

/// Whether setting this variable makes bash do something.
pub(super) fn is_evaluated(name: &str) -> bool {
    EVALUATED.contains(&name)
}

/// What a command means; an error says why that is unknown.
pub(super) fn meaning(words: &[&str]) -> Plain<Meaning> {
    // Quoting does not change what a builtin does, nor does `command` before it.
    let bare: Vec<String> = words.iter().map(|word| word.replace(['\'', '"', '\\'], "")).collect();
    let mut start = 0;
    while matches!(bare.get(start).map(String::as_str), Some("command" | "builtin" | "time")) {
        start += 1;
        while matches!(bare.get(start).map(String::as_str), Some("-p" | "--")) {
            start += 1;
        }
    }
    if bare.iter().any(|word| sets_evaluated(word)) {
        return Err("it sets a variable that bash evaluates");
    }
    let (words, bare) = (&words[start.min(words.len())..], &bare[start.min(bare.len())..]);
    let bare: Vec<&str> = bare.iter().map(String::as_str).collect();
    let Some((name, rest)) = bare.split_first() else { return Ok(Meaning::default()) };
    match *name {
        name if TURNERS.contains(&name) => Err("it changes what words mean"),
        name if DECLARING.contains(&name) => declares(rest),
        "mapfile" | "readarray" if rest.iter().any(|word| word.starts_with("-C")) => {
            Err("it runs something for every line")
        }
        "read" | "mapfile" | "readarray" | "getopts" | "unset" => names(rest),
        "wait" if rest.iter().any(|word| word.starts_with("-p")) => names(rest),
        "printf" => prints(rest),
        "test" => tests(&words[1..], rest),
        "[" => tests(&words[1..words.len().max(2) - 1], &rest[..rest.len().max(1) - 1]),
        _ => Ok(Meaning::default()),
    }
}

fn sets_evaluated(word: &str) -> bool {
    let name = word.split(['=', '+']).next().unwrap_or_default();
    word.starts_with("BASH_FUNC_") || (word.contains('=') && is_evaluated(name))
}

fn is_fixed(word: &str) -> bool {
    !word.contains(['$', '`'])
}

fn is_plain_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

fn declares(words: &[&str]) -> Plain<Meaning> {
    let is_option = |word: &&&str| word.starts_with(['-', '+']) && is_fixed(word);
    let options: String = words.iter().filter(is_option).copied().collect();
    if options.contains(['i', 'n']) {
        return Err("it declares a number, or a name for another");
    }
    let mut meaning = Meaning { sets: true, ..Meaning::default() };
    for word in words.iter().filter(|word| !is_option(word)) {
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name.strip_suffix('+').unwrap_or(name), Some(value)),
            None => (*word, None),
        };
        if !is_plain_name(name) || is_evaluated(name) {
            return Err(
                "it sets a variable whose name is only known at run time, or that bash evaluates",
            );
        }
        let Some(value) = value else { continue };
        if options.contains(['a', 'A']) || value.contains('(') {
            return Err("it sets a list");
        }
        meaning.sets_wild |= !is_tame(value);
        meaning.lists |= !is_fixed(value);
    }
    Ok(meaning)
}

/// Bash evaluates the subscript of a name it is given, commands in it included.
fn names(words: &[&str]) -> Plain<Meaning> {
    let is_known = |word: &&str| is_fixed(word) && !word.contains('[') && !is_evaluated(word);
    match words.iter().all(is_known) {
        true => Ok(Meaning { sets: true, sets_wild: true, ..Meaning::default() }),
        false => Err("it uses a variable whose name is only known at run time"),
    }
}

fn prints(words: &[&str]) -> Plain<Meaning> {
    if words.iter().any(|word| counts(word)) {
        return Err("it sets a variable");
    }
    if let Some(rest) = words.first().and_then(|first| first.strip_prefix("-v")) {
        let name = if rest.is_empty() { words.get(1).copied().unwrap_or_default() } else { rest };
        return names(&[name]);
    }
    let format = words.iter().find(|word| **word != "--");
    let risky = format.is_some_and(|format| !is_fixed(format));
    Ok(Meaning { risky, ..Meaning::default() })
}

/// Whether a format for `printf` has `%n`, which sets a variable.
fn counts(format: &str) -> bool {
    format.split('%').skip(1).any(|directive| {
        directive.trim_start_matches(|c: char| !c.is_ascii_alphabetic()).starts_with('n')
    })
}

/// `-v` takes a name, and a variable could hold that operator.
fn tests(words: &[&str], bare: &[&str]) -> Plain<Meaning> {
    let subscript = |word: &&str| word.contains('[');
    let unsafe_words = bare.iter().any(|word| !is_fixed(word) || subscript(word));
    if bare.iter().any(|word| matches!(*word, "-v" | "-R")) && unsafe_words {
        return Err("it uses a variable whose name is only known at run time");
    }
    let near =
        |at: usize, operators: &[&str]| bare.get(at).is_some_and(|word| operators.contains(word));
    let settled = |at: usize| {
        let before = at.checked_sub(1);
        bare.len() == 1
            || near(at + 1, BINARY)
            || before.is_some_and(|before| near(before, UNARY) || near(before, BINARY))
    };
    let quoted = |at: usize| words[at].starts_with('"') && words[at].ends_with('"');
    let open: Vec<usize> = (0..bare.len()).filter(|at| !is_fixed(bare[*at])).collect();
    let risky = open.iter().any(|at| !settled(*at));
    let splits = open.iter().any(|at| !quoted(*at));
    if (risky || splits) && bare.iter().any(subscript) {
        return Err("it may name a variable with a subscript");
    }
    Ok(Meaning { risky, splits, ..Meaning::default() })
}
