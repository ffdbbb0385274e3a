//! The command lines that commands are given to run: `bash -c '…'`, `eval …`, `su -c '…'`.

use ona_shell::Word;

use crate::arguments;
use crate::commands::{SHELLS, base_name, is_finder, name, suffixes};
use crate::git_options::GitCall;
use crate::wrappers::{EXEC_WRAPPERS, WRAPPERS};

/// Other commands whose `-c` argument is one.
const WITH_COMMAND_OPTION: &[&str] = &["su", "runuser", "script", "sg", "flock"];

/// The command lines a command is given to run; `None` stands for one that the text does not fix.
pub fn inner_lines(words: &[Word]) -> Vec<Option<String>> {
    let all: Vec<&[Word]> = std::iter::once(words).chain(suffixes(words)).collect();
    let mut lines: Vec<Option<String>> = given_line(&all).into_iter().collect();
    lines.extend(all.iter().flat_map(|words| arguments::runs(words)));
    // With `-O` patterns stand for other names, but the line is still one.
    let is_changed = |words: &&&[Word]| {
        name(words).is_some_and(|name| SHELLS.contains(&name))
            && words[1..].iter().any(|word| word.source.starts_with("-O"))
    };
    let words = all.iter().find(is_changed).map_or(&[][..], |words| &words[1..]);
    let texts = words.iter().filter_map(|word| word.literal.clone());
    lines.extend(texts.filter(|text| text.contains(' ')).map(Some));
    lines
}

/// The command line a command is given to run: nothing if it is none of those, `Some(None)` if the text
/// does not fix it.
fn given_line(all: &[&[Word]]) -> Option<Option<String>> {
    all.iter().find_map(|words| {
        let name = name(words)?;
        let rest = &words[1..];
        let literal = |word: Option<&Word>| word.and_then(|word| word.literal.clone());
        match name {
            "eval" => Some(joined(without_dashes(rest))),
            // Its words are one command line for a shell.
            "watch" => Some(joined(rest).map(|text| text.trim_start_matches('-').to_owned())),
            // They take what they run from their input.
            "parallel" => Some(None),
            "xargs"
                if rest.iter().any(|word| {
                    word.literal.as_deref().is_none_or(|text| {
                        let text = base_name(text);
                        SHELLS.contains(&text)
                            || EXEC_WRAPPERS.contains(&text)
                            || WRAPPERS.contains(&text)
                    })
                }) =>
            {
                Some(None)
            }
            // `trap '' INT` and `trap - INT` run nothing.
            "trap" => match literal(without_dashes(rest).first()) {
                Some(text) if rest.len() < 2 || text.is_empty() || text.starts_with('-') => None,
                action => Some(action),
            },
            "source" | "." => {
                let fixed =
                    |file: &&Word| file.literal.as_deref().is_some_and(|file| !is_input(file));
                rest.first().filter(|file| !fixed(file)).map(|_| None)
            }
            "env" => {
                let splits = |word: &Word| {
                    let text = word.literal.as_deref().unwrap_or_default();
                    text.starts_with("--s") || (text.starts_with('-') && text.contains('S'))
                };
                rest.iter().any(splits).then_some(None)
            }
            _ if runs_argument(name, rest) => Some(None),
            _ if WITH_COMMAND_OPTION.contains(&name) => {
                rest.iter().enumerate().find_map(|(at, word)| {
                    let text = word.literal.as_deref()?;
                    match behind_command_option(text)? {
                        "" => Some(literal(rest.get(at + 1))),
                        line => Some(Some(line.to_owned())),
                    }
                })
            }
            _ if SHELLS.contains(&name) => shell_script(rest),
            _ => None,
        }
    })
}

/// What stands in the same word behind an option for a command line: `-c`, `-qc`, `-cLINE`, `--comm=LINE`.
fn behind_command_option(text: &str) -> Option<&str> {
    match text.strip_prefix("--") {
        Some(long) => {
            let (name, line) = long.split_once('=').unwrap_or((long, ""));
            let is_it = name.len() > 1
                && ["command", "session-command"].iter().any(|whole| whole.starts_with(name));
            is_it.then_some(line)
        }
        None => text.strip_prefix('-')?.split_once('c').map(|(_, line)| line),
    }
}

/// Whether one of the words is a command line, in a way of the program's own.
fn runs_argument(name: &str, words: &[Word]) -> bool {
    let mut texts = words.iter().filter_map(|word| word.literal.as_deref());
    match name {
        "git" => GitCall::of(words).names_program(),
        "make" | "gmake" => {
            texts.any(|text| text.starts_with("SHELL=") || text.starts_with("MAKEFLAGS="))
        }
        _ if is_finder(name) => {
            let runs = words.iter().position(|word| {
                word.source.starts_with("-exec") || word.source.starts_with("-ok")
            });
            runs.and_then(|at| words.get(at + 1)).is_some_and(|word| word.source == "{}")
        }
        _ => false,
    }
}

/// What a shell is given to run: the text behind `-c`; whatever comes on standard input if it is given
/// neither that nor a file.
fn shell_script(words: &[Word]) -> Option<Option<String>> {
    let mut takes_text = false;
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match word.literal.as_deref() {
            None => return Some(None),
            Some("--") => return script_operand(words.next(), takes_text),
            Some("--rcfile" | "--init-file") => drop(words.next()),
            Some(text) if text.starts_with("--") => {}
            Some(text) if text.starts_with(['-', '+']) && text.len() > 1 => {
                takes_text |= text.contains('c');
                // With `s` it reads its input, whatever follows; `O` changes what patterns stand for.
                if text.contains('O') || text.contains('s') && !text.contains('c') {
                    return Some(None);
                }
                // Among others too, `o` takes the next word.
                if text.contains('o') {
                    words.next();
                }
            }
            Some(_) => return script_operand(Some(word), takes_text),
        }
    }
    Some(None)
}

fn script_operand(word: Option<&Word>, takes_text: bool) -> Option<Option<String>> {
    match word {
        Some(word) if takes_text => Some(word.literal.clone()),
        // A file: the rule about the shell decides.
        Some(word) if word.literal.as_deref().is_some_and(|file| !is_input(file)) => None,
        _ => Some(None),
    }
}

/// Whether a file name means standard input or another descriptor.
fn is_input(file: &str) -> bool {
    matches!(file, "-" | "+") || file.starts_with("/dev/") || file.starts_with("/proc/")
}

fn without_dashes(words: &[Word]) -> &[Word] {
    match words.split_first() {
        Some((first, rest)) if first.literal.as_deref() == Some("--") => rest,
        _ => words,
    }
}

fn joined(words: &[Word]) -> Option<String> {
    let words: Option<Vec<&str>> = words.iter().map(|word| word.literal.as_deref()).collect();
    words.map(|words| words.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_the_text_does_not_fix_are_told_apart() {
        for (source, lines) in [
            ("bash -c 'rm x'", &[Some("rm x")][..]),
            ("su -c 'rm x' user", &[Some("rm x")]),
            ("eval -- rm x", &[Some("rm x")]),
            ("sudo bash -lc 'rm x'", &[Some("rm x")]),
            ("bash -c \"$x\"", &[None]),
            ("bash -s", &[None]),
            ("bash script.sh", &[]),
            ("trap - EXIT", &[]),
            ("rm x", &[]),
        ] {
            let found = inner_lines(&ona_shell::parse(source).commands[0].words);
            let found: Vec<Option<&str>> = found.iter().map(Option::as_deref).collect();
            assert_eq!(found, lines, "{source}");
        }
    }
}
