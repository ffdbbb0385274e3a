//! What is known of particular commands: which run others, which touch the files they name.

use crate::shell::{self, Command, Script, Word};

/// Commands that only change how another runs. They are looked through for every rule.
const WRAPPERS: &[&str] =
    &["timeout", "time", "nice", "nohup", "stdbuf", "builtin", "command", "noglob", "xargs"];

/// Commands that run another in ways of their own. Deny and ask rules look through them; a prefix rule
/// never allows them as a matter of course.
const EXEC_WRAPPERS: &[&str] = &[
    "sudo",
    "doas",
    "env",
    "watch",
    "ionice",
    "setsid",
    "flock",
    "chroot",
    "exec",
    "xargs",
    "parallel",
    "busybox",
    "unshare",
    "nsenter",
    "strace",
    "find",
    "fd",
    "fdfind",
    "chrt",
    "taskset",
    "runuser",
    "su",
    "ssh-agent",
];

/// Of those, the ones that only an exact rule allows.
const NEVER_BY_PREFIX: &[&str] = &["watch", "setsid", "ionice", "flock"];

/// Options that make a searching command write or run something.
const FIND_ACTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

/// Shells whose `-c` argument is a command line.
const SHELLS: &[&str] = &["bash", "sh", "zsh", "dash", "ksh"];

/// How deep command lines within command lines are followed.
const DEEPEST: usize = 5;

/// The name without its directory: `/bin/rm` is `rm`.
pub(crate) fn base_name(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, base)| base)
}

fn name(words: &[Word]) -> Option<&str> {
    words.first()?.literal.as_deref().map(base_name)
}

/// What a wrapper runs, if the command is one that every rule looks through.
pub(crate) fn unwrapped(words: &[Word]) -> Option<&[Word]> {
    let wrapper = words.first()?.literal.as_deref()?;
    if !WRAPPERS.contains(&wrapper) {
        return None;
    }
    let literal = |index: usize| words.get(index).and_then(|word| word.literal.as_deref());
    let mut next = 1;
    while let Some(option) = literal(next).filter(|word| word.starts_with('-')) {
        next += match (wrapper, option) {
            // `command -v` looks a command up, it runs none; xargs with options runs who knows what.
            ("command" | "xargs", _) => return None,
            ("nice", "-n") | ("timeout", "-s" | "-k") | ("stdbuf", "-i" | "-o" | "-e") => 2,
            _ => 1,
        };
    }
    if wrapper == "timeout" {
        next += 1;
    }
    words.get(next..).filter(|rest| !rest.is_empty())
}

/// Everything a command could be running in the end, for rules that forbid: the words from each
/// position on, if it runs others in ways of its own.
pub(crate) fn suffixes(words: &[Word]) -> Vec<&[Word]> {
    let runs_others = name(words).is_some_and(|name| {
        EXEC_WRAPPERS.contains(&name) && (!is_finder(name) || acts(words))
            || WRAPPERS.contains(&name)
    });
    if runs_others { (1..words.len()).map(|start| &words[start..]).collect() } else { Vec::new() }
}

fn is_finder(name: &str) -> bool {
    matches!(name, "find" | "fd" | "fdfind")
}

fn acts(words: &[Word]) -> bool {
    words.iter().any(|word| {
        FIND_ACTIONS.contains(&word.source.as_str())
            || matches!(word.source.as_str(), "-x" | "-X" | "--exec" | "--exec-batch")
    })
}

/// Whether a prefix rule must not allow the command, because what it does lies in its arguments.
pub(crate) fn needs_exact_rule(words: &[Word]) -> bool {
    name(words)
        .is_some_and(|name| NEVER_BY_PREFIX.contains(&name) || (is_finder(name) && acts(words)))
}

/// git's options before its subcommand, which change where it works but not what it does.
pub(crate) fn without_git_options(words: &[Word], all: bool) -> Option<Vec<&Word>> {
    if name(words) != Some("git") {
        return None;
    }
    let mut next = 1;
    while let Some(option) = words.get(next).filter(|word| word.source.starts_with('-')) {
        next += match option.source.as_str() {
            "-C" | "--git-dir" | "--work-tree" | "--namespace" => 2,
            "-P" | "--no-pager" | "--no-optional-locks" => 1,
            // `-c alias.x='!rm'` can make git run anything: only rules that forbid look past it.
            "-c" | "--config-env" | "--exec-path" if all => 2,
            _ if all => 1,
            _ => return None,
        };
    }
    (next > 1)
        .then(|| words.first().into_iter().chain(words.get(next..).into_iter().flatten()).collect())
}

/// Variables that change how a program talks, not what it does.
const SAFE_VARIABLES: &[&str] = &[
    "NODE_ENV",
    "LANG",
    "LANGUAGE",
    "TZ",
    "NO_COLOR",
    "FORCE_COLOR",
    "CLICOLOR",
    "TERM",
    "COLORTERM",
    "COLUMNS",
    "LINES",
    "CI",
    "RUST_BACKTRACE",
    "RUST_LOG",
    "RUST_TEST_THREADS",
    "PYTHONUNBUFFERED",
    "PYTHONDONTWRITEBYTECODE",
    "GOOS",
    "GOARCH",
    "CGO_ENABLED",
    "DEBUG",
    "VERBOSE",
];

/// Whether every assignment before the command is harmless.
pub(crate) fn has_safe_assignments(command: &Command) -> bool {
    command.assignments.iter().all(|assignment| {
        SAFE_VARIABLES.contains(&assignment.name.as_str()) || assignment.name.starts_with("LC_")
    })
}

/// Adds what stands in command lines within the command line: `bash -c '…'` and `eval …`.
pub(crate) fn expand(script: Script) -> Script {
    let mut expanded = Script { commands: Vec::new(), ..script };
    let mut pending: Vec<(Command, usize)> =
        script.commands.into_iter().rev().map(|command| (command, 0)).collect();
    while let Some((command, depth)) = pending.pop() {
        match inner(&command) {
            None => {}
            Some(Some(source)) if depth < DEEPEST => {
                let nested = shell::parse(&source);
                if nested.opaque.is_some() {
                    expanded.opaque = expanded.opaque.or(nested.opaque);
                }
                expanded.redirects.extend(nested.redirects);
                pending.extend(nested.commands.into_iter().rev().map(|c| (c, depth + 1)));
            }
            Some(_) => {
                let name = command.name().unwrap_or_default();
                expanded
                    .opaque
                    .get_or_insert(format!("what `{name}` runs is not fixed in the text"));
            }
        }
        expanded.commands.push(command);
    }
    expanded
}

/// The command line a command is given to run: nothing if it is none of those, `Some(None)` if the text
/// does not fix it.
fn inner(command: &Command) -> Option<Option<String>> {
    let all: Vec<&[Word]> =
        std::iter::once(command.words.as_slice()).chain(suffixes(&command.words)).collect();
    all.into_iter().find_map(|words| {
        let name = name(words)?;
        if name == "eval" {
            let words: Option<Vec<&str>> =
                words[1..].iter().map(|word| word.literal.as_deref()).collect();
            return Some(words.map(|words| words.join(" ")));
        }
        if !SHELLS.contains(&name) {
            return None;
        }
        let flag = words.iter().position(|word| {
            word.source.starts_with('-')
                && !word.source.starts_with("--")
                && word.source.ends_with('c')
        })?;
        Some(words.get(flag + 1)?.literal.clone())
    })
}

/// What a command does with the files it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    /// Shows or copies from them.
    Reads,
    /// Creates, changes or removes them.
    Writes,
}

/// Commands whose operands are files.
const FILE_COMMANDS: &[(Access, &[&str])] = &[
    (
        Access::Reads,
        &[
            "cat", "head", "tail", "less", "more", "nl", "tac", "grep", "egrep", "fgrep", "rg",
            "sed", "awk", "wc", "sort", "uniq", "diff", "cmp", "comm", "strings", "od", "xxd",
            "hexdump", "base64", "cut", "paste", "file", "stat", "source", ".", "cp", "mv", "ln",
            "tar", "zip",
        ],
    ),
    (
        Access::Writes,
        &[
            "tee", "touch", "rm", "rmdir", "unlink", "shred", "mv", "cp", "ln", "chmod", "chown",
            "chgrp", "truncate", "install", "mkdir",
        ],
    ),
];

/// The operands of a command that are files, where the text fixes them.
pub(crate) fn file_operands(words: &[Word], access: Access) -> Vec<&str> {
    let words =
        std::iter::successors(Some(words), |words| unwrapped(words)).last().unwrap_or(words);
    let Some(name) = name(words) else { return Vec::new() };
    let listed = FILE_COMMANDS.iter().any(|(kind, names)| *kind == access && names.contains(&name));
    let in_place = name == "sed"
        && words.iter().any(|word| word.source.starts_with("-i") || word.source == "--in-place");
    if !(listed || access == Access::Writes && in_place) {
        return Vec::new();
    }
    words[1..]
        .iter()
        .filter_map(|word| word.literal.as_deref())
        .filter(|word| !word.starts_with('-') && !word.is_empty())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<Word> {
        shell::parse(source).commands.remove(0).words
    }

    fn text(words: &[Word]) -> String {
        words.iter().map(|word| word.source.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn wrappers_are_looked_through() {
        for (source, inner) in [
            ("timeout 30 npm test", Some("npm test")),
            ("timeout -s KILL 30 npm test", Some("npm test")),
            ("nice -n 5 npm test", Some("npm test")),
            ("nice npm test", Some("npm test")),
            ("time -p make", Some("make")),
            ("xargs grep p", Some("grep p")),
            ("xargs -n1 grep p", None),
            ("command ls", Some("ls")),
            ("command -v ls", None),
            ("npx npm test", None),
            ("nohup", None),
        ] {
            assert_eq!(unwrapped(&words(source)).map(text).as_deref(), inner, "{source}");
        }
    }

    #[test]
    fn command_lines_within_command_lines_are_found() {
        let commands = |source: &str| {
            let script = expand(shell::parse(source));
            let texts: Vec<String> = script.commands.iter().map(Command::text).collect();
            (texts, script.opaque.is_some())
        };
        assert_eq!(commands("bash -c 'ls; rm x'").0, ["bash -c 'ls; rm x'", "ls", "rm x"]);
        assert_eq!(commands("sudo bash -lc \"rm y\"").0[1], "rm y");
        assert_eq!(commands("eval rm z").0[1], "rm z");
        assert!(commands("bash -c \"$X\"").1, "not fixed in the text");
        assert!(!commands("bash script.sh").1);
        let deep =
            (0..8).fold("rm x".to_owned(), |inner, _| format!("eval {}", shell_quote(&inner)));
        assert!(commands(&deep).1, "nested deeper than is followed");
    }

    fn shell_quote(text: &str) -> String {
        format!("'{}'", text.replace('\'', r"'\''"))
    }

    #[test]
    fn files_that_commands_name() {
        let files = |source: &str, access| {
            file_operands(&words(source), access)
                .iter()
                .map(|f| (*f).to_owned())
                .collect::<Vec<_>>()
        };
        assert_eq!(files("cat -n a 'b c' $X", Access::Reads), ["a", "b c"]);
        assert_eq!(files("timeout 5 cat a", Access::Reads), ["a"]);
        assert_eq!(files("rm -rf a", Access::Writes), ["a"]);
        assert_eq!(files("sed -i s/a/b/ f", Access::Writes), ["s/a/b/", "f"]);
        assert!(files("sed s/a/b/ f", Access::Writes).is_empty());
        assert!(files("echo a", Access::Reads).is_empty());
    }
}
