//! The texts of a command line that may name something to a program: words as they may be meant, values, what
//! here-documents feed. A rule that forbids whatever spells a name looks at these.
//!
//! Texts that are only printed or searched for are left out where nothing in the line could act on them.

use ona_programs::commands;
use ona_programs::files::{self, Access};
use ona_programs::git_options::GitCall;
use ona_programs::{Kind, Operands};

use super::Run;
use super::values::{Place, Values, variables};
use crate::shell::{Command, Direction, Script, Step, Word};

/// Programs that print what they are told.
const PRINTERS: &[&str] = &["echo", "printf"];
/// Programs that search for what they are told.
const SEARCHERS: &[&str] = &["grep", "egrep", "fgrep", "zgrep", "rg", "ag", "ack"];
/// Programs that pass on what they get or say nothing of it. By their short options none takes names from its input.
const FILTERS: &[&str] = &[
    ":", "cat", "cd", "cut", "false", "head", "ls", "nl", "pwd", "sort", "tail", "tr", "true",
    "uniq", "wc",
];
/// Subcommands of git with a message, and with a text to search for: their letters and their long options.
const MESSAGES: (&[&str], &str, &[&str]) =
    (&["commit", "tag", "merge", "stash", "notes"], "m", &["--message"]);
const SEARCHES: (&[&str], &str, &[&str]) =
    (&["log", "shortlog", "grep", "show"], "eSG", &["--grep", "--author", "--committer"]);

/// The texts of a line; `runs` has the words of its commands.
pub(super) fn texts(source: &str, values: &Values<'_>, runs: &[Run]) -> Vec<String> {
    let script = values.script;
    let mut found = Vec::new();
    // What is not understood may be anything.
    if script.opaque.is_some() {
        found.push(source.to_owned());
    }
    let is_idle = is_idle(script);
    for words in runs.iter().flat_map(|run| &run.readings) {
        let words = if is_idle { without_shown(words) } else { words.clone() };
        words.iter().for_each(|word| add(word, &mut found));
    }
    let place = Place { command: None, loops: &[] };
    let read = |text: &str| {
        let word = Word { source: text.to_owned(), literal: None };
        values.readings(&[word], place).into_iter().flatten()
    };
    let assigned = script.commands.iter().flat_map(|command| &command.assignments);
    for text in assigned.map(|one| &one.value).chain(&script.here_texts) {
        found.push(text.clone());
        read(text).for_each(|word| add(&word, &mut found));
    }
    let looped = script.commands.iter().flat_map(|command| &command.loops);
    for word in looped.flat_map(|one| &one.words) {
        add(word, &mut found);
    }
    for redirect in &script.redirects {
        let place = Place { command: None, loops: &redirect.loops };
        let meant = values.readings(std::slice::from_ref(&redirect.target), place);
        meant.iter().flatten().for_each(|word| add(word, &mut found));
    }
    found
}

fn add(word: &Word, found: &mut Vec<String>) {
    found.push(word.source.clone());
    found.extend(word.literal.clone().filter(|text| *text != word.source));
}

/// Whether what a command of the line prints is not acted on by another: nothing leads from one to the other, or all of
/// them only print, search and pass on.
pub(super) fn is_idle(script: &Script) -> bool {
    let leads = |step: &Step| matches!(step, Step::Enter | Step::Later);
    let stays = |at: &crate::shell::Redirect| {
        at.direction == Direction::Read || at.target.literal.as_deref().is_some_and(files::is_sink)
    };
    // Bash keeps the last word, and the line itself, in variables.
    let recalls = |word: &Word| {
        word.literal.is_none()
            && variables(&word.source).any(|name| name == "_" || name.starts_with("BASH"))
    };
    let words = || script.commands.iter().flat_map(|command| &command.words);
    let targets = script.redirects.iter().map(|redirect| &redirect.target);
    let values = script.commands.iter().flat_map(|command| &command.assignments);
    script.opaque.is_none()
        && script.steps.iter().all(|step| *step != Step::Later)
        && script.redirects.iter().all(stays)
        && !words().chain(targets).any(recalls)
        && !values.into_iter().any(|one| one.value.contains("$_") || one.value.contains("BASH"))
        && (!script.steps.iter().any(leads) || script.commands.iter().all(passes_on))
}

/// Whether the names that a search finds are only shown: nothing in the line acts on them.
pub(super) fn only_shows(script: &Script) -> bool {
    let stays = |at: &crate::shell::Redirect| {
        at.direction == Direction::Read || at.target.literal.as_deref().is_some_and(files::is_sink)
    };
    // A word that is only known at run time may be such a name.
    let is_fixed = |command: &Command| command.words.iter().all(|word| word.literal.is_some());
    let shows = |command: &Command| match commands::name(&command.words) {
        None => command.words.is_empty(),
        Some(_) if commands::lists_files(&command.words) => true,
        Some("read") => true,
        Some(name) if PRINTERS.contains(&name) => passes_on(command),
        Some(_) => is_fixed(command) && passes_on(command),
    };
    script.opaque.is_none()
        && script.steps.iter().all(|step| *step != Step::Later)
        && script.redirects.iter().all(stays)
        && script.commands.iter().all(shows)
}

fn passes_on(command: &Command) -> bool {
    let words = &command.words;
    let has = |prefix: &str| words.iter().skip(1).any(|word| word.source.starts_with(prefix));
    match commands::name(words) {
        None => words.is_empty(),
        Some("git") => {
            GitCall::of(&words[1..]).is(&["commit", "grep", "log"])
                && !has("--pathspec")
                && !has("--stdin")
        }
        Some("printf") => !has("-v"),
        Some(name) if FILTERS.contains(&name) => {
            let writes = |(access, _): &(Access, _)| *access == Access::Writes;
            !has("--") && !files::touched(words).files.iter().any(writes)
        }
        Some(name) => PRINTERS.contains(&name) || SEARCHERS.contains(&name),
    }
}

/// The words of a command, without those that it only prints or searches for.
fn without_shown(words: &[Word]) -> Vec<Word> {
    let Some((first, rest)) = words.split_first() else { return Vec::new() };
    match commands::name(words) {
        Some("printf") if rest.iter().any(|word| word.source.starts_with("-v")) => words.to_vec(),
        Some(name) if PRINTERS.contains(&name) => vec![first.clone()],
        Some("git") => without_said(words),
        Some(name) if SEARCHERS.contains(&name) => {
            let Some(program) = ona_programs::known(name) else { return words.to_vec() };
            let arguments = program.read(rest);
            let options = arguments.options.iter().filter(|(kind, _)| *kind != Kind::Pattern);
            let options = options.map(|(_, value)| value);
            let files = arguments.files(Operands::ReadAfterText);
            files.iter().chain(options).chain(&arguments.guesses).cloned().collect()
        }
        _ => words.to_vec(),
    }
}

/// The words of git without a message, or a text that it searches for.
fn without_said(words: &[Word]) -> Vec<Word> {
    let call = GitCall::of(&words[1..]);
    let Some((_, letters, longs)) = [MESSAGES, SEARCHES].into_iter().find(|(all, ..)| call.is(all))
    else {
        return words.to_vec();
    };
    let before = words.len() - call.arguments.len();
    let mut kept = words[..before].to_vec();
    let mut rest = call.arguments.iter();
    let mut searched = !call.is(&["grep"]);
    while let Some(word) = rest.next() {
        let text = word.literal.as_deref().unwrap_or(&word.source);
        let is_letter = |at: usize| text[at..].starts_with(|c: char| letters.contains(c));
        if longs.contains(&text) {
            rest.next();
        } else if longs.iter().any(|long| text.starts_with(&format!("{long}="))) {
            // The text stands in the same word.
        } else if text.starts_with("--") || !text.starts_with('-') {
            // The first operand of `git grep` is what it searches for, unless something before it may take a value.
            if searched || text.starts_with('-') {
                kept.push(word.clone());
            }
            searched |= !text.starts_with('-');
        } else {
            // `-m TEXT`, `-am TEXT`, `-mTEXT`.
            let at = text.char_indices().map(|(at, _)| at).find(|at| *at > 0 && is_letter(*at));
            let plain = |c: char| "aqsnvilwFEhc".contains(c);
            match at.filter(|at| text[1..*at].chars().all(plain)) {
                Some(at) if text.len() == at + 1 => drop(rest.next()),
                Some(_) => {}
                None => {
                    searched |= !text[1..].chars().all(plain);
                    kept.push(word.clone());
                }
            }
            searched |= at.is_some();
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ona_testkit::Disk;

    use crate::Effects;

    fn spells(source: &str) -> bool {
        let effects = Effects::of_shell(&Disk, source, Path::new("/")).unwrap();
        effects.texts.iter().any(|text| text.replace(['"', '\''], "").contains("a/NAME"))
    }

    #[test]
    fn whatever_names_something_to_a_program_is_a_text_of_the_line() {
        for source in [
            "cat a/NAME",
            "x=a/NAME",
            "x=a; cat $x/NAME",
            "x=a; read y <<< $x/NAME",
            "cat < $x/a/NAME",
            "for f in $x/a/NAME; do cat $f; done",
            "cat <<E\na/NAME\nE",
            "cat $(echo a/NAME)",
            "grep -f a/NAME x",
            "grep x a/NAME",
            "grep -e x a/NAME",
            "rg --pre a/NAME x",
            "git add a/NAME",
            "git grep x -- a/NAME",
            "git grep -f a/NAME",
            "git commit -F a/NAME",
            "git log -- a/NAME",
            // What is printed may be acted on.
            "echo a/NAME | sh",
            "echo a/NAME | xargs cat",
            "echo a/NAME | { read f; cat $f; }",
            "echo a/NAME | wc --files0-from=-",
            "echo a/NAME > x",
            "exec > x; echo a/NAME; exec > /dev/null; sh x",
            "echo a/NAME; cat $_",
            "printf -v x a/NAME; cat $x",
            "echo a/NAME | sort -o x",
            "echo a/NAME | uniq - x",
            "trap 'cat $_' EXIT; echo a/NAME",
            "echo() { cat $1; }; echo a/NAME",
            "grep -o a/NAME x | xargs cat",
            "bash -c 'echo a/NAME'",
            "echo 'a/NAME",
        ] {
            assert!(spells(source), "{source}");
        }
    }

    #[test]
    fn what_is_only_printed_or_searched_for_is_none() {
        for source in [
            "echo 'see a/NAME'",
            "echo a/NAME >&2; ls",
            "printf '%s' a/NAME > /dev/null",
            "echo see a/NAME | head -1",
            "grep -rn a/NAME .",
            "grep -rn -e a/NAME . | sort -u | head -5",
            "cat README.md | grep a/NAME",
            "rg a/NAME .",
            "git grep a/NAME",
            "git grep -n a/NAME src",
            "git grep -n -e a/NAME",
            "git commit --allow-empty -m 'mend a/NAME'",
            "git add x && git commit -qam 'mend a/NAME'",
            "cargo test && git commit --message='mend a/NAME'",
            "git log --grep a/NAME -5",
            "git log -Sa/NAME",
        ] {
            assert!(!spells(source), "{source}");
        }
    }
}
