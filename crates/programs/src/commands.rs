//! Knowledge about particular commands: which run others, which touch the files they name.

use ona_shell::{Assignment, Command, Word, is_private_variable};

use crate::arguments;
use crate::git_options::GitCall;
use crate::wrappers::{EXEC_WRAPPERS, feeds_orders, is_wrapper};

pub use crate::wrappers::{WRAPPERS, all_shown, is_feeder, may_be_fed, to_be_named, unwrapped};

/// Commands that only an exact rule allows: they run others, or take commands of their own that do.
#[rustfmt::skip]
const NEVER_BY_PREFIX: &[&str] = &[
    "watch", "setsid", "ionice", "flock", "script", "su", "runuser", "sg", "at", "batch", "crontab", "rename",
    "ed", "emacs", "ex", "joe", "kak", "mg", "micro", "nano", "nvim", "vi", "view", "vim", "gdb", "lldb",
];

/// Other names of programs that are known.
#[rustfmt::skip]
const SAME: &[(&str, &[&str])] = &[
    ("awk", &["bwk", "goawk", "igawk", "oawk", "original-awk"]),
    ("emacs", &["emacsclient", "xemacs"]),
    ("nano", &["pico", "rnano"]),
    ("sed", &["minised", "ssed"]),
    ("vim", &["eview", "evim", "gview", "gvim", "gvimdiff", "nvi", "nview", "nvimdiff", "rgview", "rgvim", "rview", "rvim", "vimdiff"]),
    ("psql", &["pgcli"]),
    ("mysql", &["mariadb", "mycli"]),
    ("sqlite3", &["litecli", "sqlcipher", "sqlite"]),
];

/// Programs that have a `g` before their name where there are others of the same name.
#[rustfmt::skip]
const GNU: &[&str] = &[
    "cat", "chmod", "chown", "cp", "csplit", "date", "dd", "du", "env", "find", "grep", "head", "install", "ln", "mv",
    "nice", "nohup", "rm", "sed", "shuf", "sort", "split", "stdbuf", "tail", "tee", "timeout", "touch", "truncate",
    "uniq", "wc", "xargs",
];

/// Package managers, whose settings name programs.
const PACKAGE_MANAGERS: &[&str] = &["npm", "pnpm", "yarn", "pip", "pip3"];

/// Options that make a searching command write or run something.
const FIND_ACTIONS: &[&str] =
    &["-exec", "-execdir", "-ok", "-okdir", "-delete", "-fprint", "-fprint0", "-fprintf", "-fls"];

/// Shells whose `-c` argument is a command line.
pub const SHELLS: &[&str] =
    &["bash", "sh", "zsh", "dash", "ksh", "fish", "ash", "mksh", "rbash", "yash", "csh", "tcsh"];

/// The name without its directory: `/bin/rm` is `rm`.
pub fn base_name(name: &str) -> &str {
    name.rsplit_once('/').map_or(name, |(_, base)| base)
}

/// The program that the words start, without its directory, and by the name that is known here: `gsed` and `vim.tiny` are
/// `sed` and `vim`.
pub fn name(words: &[Word]) -> Option<&str> {
    words.first()?.literal.as_deref().map(base_name).map(usual_name)
}

fn usual_name(name: &str) -> &str {
    if let Some((usual, _)) = SAME.iter().find(|(_, names)| names.contains(&name)) {
        return usual;
    }
    // `vim.gtk3`, `emacs-nox`.
    let stem = name.split(['.', '-']).next().unwrap_or(name);
    match name.strip_prefix('g').filter(|rest| GNU.contains(rest)) {
        Some(rest) => rest,
        None if name.starts_with("vim.") || name.starts_with("emacs-") => stem,
        None => name,
    }
}

/// Whether a command runs others in ways of its own.
pub fn runs_others(words: &[Word]) -> bool {
    name(words).is_some_and(|name| {
        EXEC_WRAPPERS.contains(&name) && (!is_finder(name) || acts(words))
            || WRAPPERS.contains(&name)
            || SHELLS.contains(&name)
            || matches!(name, "source" | ".")
    })
}

/// Everything a command could be running in the end, for rules that forbid: the words from each
/// position on, if it runs others in ways of its own.
pub fn suffixes(words: &[Word]) -> Vec<&[Word]> {
    match runs_others(words) {
        true => (1..words.len()).map(|start| &words[start..]).collect(),
        false => Vec::new(),
    }
}

/// Whether what a command does with its words and the directory it runs in is not known, wrapped or not. What git does
/// is.
pub fn may_do_anything(words: &[Word]) -> bool {
    let mut words = words;
    while let Some(inner) = unwrapped(words) {
        words = inner;
    }
    // `command -v` only looks one up.
    let looks = |word: &Word| matches!(word.literal.as_deref(), Some("-v" | "-V"));
    match name(words) {
        None => !words.is_empty(),
        Some("command") if words.get(1).is_some_and(looks) => false,
        Some(name) => {
            let reads_names = is_finder(name) && !acts(words);
            name != "git" && !reads_names && !crate::files::is_known(name)
        }
    }
}

/// Whether a command makes a link, as such or by copying.
pub fn makes_links(words: &[Word]) -> bool {
    let all = std::iter::once(words).chain(suffixes(words));
    all.into_iter().any(|words| {
        let options = words.iter().filter_map(|word| word.literal.as_deref());
        let links = |text: &str| match text.strip_prefix("--") {
            Some(long) => ["symbolic-link", "link"]
                .iter()
                .any(|name| long.len() > 1 && name.starts_with(long)),
            None => text.starts_with('-') && text.contains(['s', 'l']),
        };
        match name(words) {
            Some("ln" | "link" | "mount") => true,
            Some("cp") => options.skip(1).any(links),
            _ => false,
        }
    })
}

/// Whether what a command does depends on where the names it is given lead.
pub fn follows_links(name: &str) -> bool {
    const NAMES_ONLY: &[&str] = &[
        ":", "basename", "dirname", "echo", "exit", "export", "false", "ln", "ls", "printf", "pwd",
        "readlink", "return", "set", "sleep", "true", "umask", "unset", "wait",
    ];
    !NAMES_ONLY.contains(&name)
}

/// Whether a program looks for files by name.
pub fn is_finder(name: &str) -> bool {
    matches!(name, "find" | "fd" | "fdfind")
}

/// Whether a command names all files below a directory on its output.
pub fn lists_files(words: &[Word]) -> bool {
    let has = |letter: char| {
        words.iter().skip(1).any(|word| {
            let letters = word.source.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
            letters.is_some_and(|letters| letters.contains(letter))
        })
    };
    let long = |option: &str| words.iter().any(|word| word.source.starts_with(option));
    match name(words) {
        Some("du") => has('a') || long("--all"),
        Some("ls") => has('R') || long("--recursive"),
        Some("tree") => true,
        Some(name) => is_finder(name),
        None => false,
    }
}

/// Whether a command prints what the shell puts in the place of a pattern.
pub fn prints_names(name: &str) -> bool {
    matches!(name, "compgen" | "echo" | "ls" | "printf" | "readlink" | "realpath" | "stat")
}

/// Whether a searching command is told to do something with what it finds.
pub fn acts(words: &[Word]) -> bool {
    words.iter().filter_map(|word| word.literal.as_deref()).any(|text| {
        let letters = text.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
        FIND_ACTIONS.contains(&text)
            || text.starts_with("--exec")
            || letters.is_some_and(|letters| letters.len() < 4 && letters.contains(['x', 'X']))
    })
}

/// Whether a prefix rule must not allow the command, because what it does lies in its arguments, or in those of what it
/// runs.
pub fn needs_exact_rule(words: &[Word]) -> bool {
    feeds_orders(words) || all_shown(words).any(hides_its_deeds)
}

fn hides_its_deeds(words: &[Word]) -> bool {
    let has = |wanted: &[&str]| {
        words.iter().filter_map(|word| word.literal.as_deref()).any(|text| wanted.contains(&text))
    };
    name(words).is_some_and(|name| {
        NEVER_BY_PREFIX.contains(&name)
            || (is_finder(name) && acts(words))
            || name == "git" && GitCall::of(&words[1..]).needs_exact_rule()
            || PACKAGE_MANAGERS.contains(&name) && has(&["config", "c"]) && has(&["set", "edit"])
    }) || !arguments::runs(words).is_empty()
}

/// git's options that take a value in the next word.
const GIT_VALUES: &[&str] = &["-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix"];
/// And those that can make it run anything: only rules that forbid look past them.
const GIT_RISKS: &[&str] = &["-c", "--config-env", "--exec-path", "--attr-source", "--list-cmds"];
/// git's options without a value.
const GIT_SWITCHES: &[&str] = &["-P", "--no-pager", "--no-optional-locks"];

/// A git command without the options before its subcommand, which change where it works but not what it does:
/// the words as the program gets them. For rules that forbid, every way it could be meant.
pub fn without_git_options(words: &[Word], all: bool) -> Vec<String> {
    if name(words) != Some("git") {
        return Vec::new();
    }
    let literal = |word: &Word| word.literal.clone().unwrap_or_else(|| word.source.clone());
    let words: Vec<String> = words.iter().map(literal).collect();
    let mut starts = vec![1];
    let mut found = Vec::new();
    while let Some(start) = starts.pop() {
        match words.get(start).map(String::as_str).filter(|word| word.starts_with('-')) {
            None if start > 1 || all => {
                found.push(format!("git {}", words[start.min(words.len())..].join(" ")))
            }
            None => {}
            Some(option) if GIT_VALUES.contains(&option) => starts.push(start + 2),
            Some(option) if GIT_SWITCHES.contains(&option) => starts.push(start + 1),
            Some(_) if !all => {}
            Some(option) if GIT_RISKS.contains(&option) => starts.push(start + 2),
            Some(option) if option.contains('=') => starts.push(start + 1),
            // Unknown option: it may take a value.
            Some(_) => starts.extend([start + 1, start + 2]),
        }
        if starts.len() > 64 {
            break;
        }
    }
    found
}

/// Variables that change a program's output, not what it does.
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

/// Variables that name programs, with values that are harmless.
const SAFE_VALUES: &[(&[&str], &[&str])] = &[
    (&["GIT_PAGER", "MANPAGER", "PAGER"], &["", "cat"]),
    (&["EDITOR", "GIT_EDITOR", "GIT_SEQUENCE_EDITOR", "VISUAL"], &[":", "true"]),
    (&["GIT_OPTIONAL_LOCKS", "GIT_TERMINAL_PROMPT"], &["0", "1"]),
];

fn is_safe_variable(name: &str) -> bool {
    SAFE_VARIABLES.contains(&name) || name.starts_with("LC_")
}

fn is_safe(name: &str, value: &str) -> bool {
    let safe = |(names, values): &(&[&str], &[&str])| {
        names.contains(&name) && values.contains(&value.trim_matches(['"', '\'']))
    };
    is_safe_variable(name) || SAFE_VALUES.iter().any(safe)
}

/// Variables that name a file or a program to those who read them.
#[rustfmt::skip]
const NAMING_FILES: &[&str] = &[
    "BASH_ENV", "EDITOR", "ENV", "HOME", "LD_LIBRARY_PATH", "LD_PRELOAD", "LESSCLOSE", "LESSOPEN", "MANPAGER",
    "NODE_OPTIONS", "PAGER", "PERL5OPT", "PYTHONSTARTUP", "RIPGREP_CONFIG_PATH", "RUBYOPT", "SSH_ASKPASS", "TMPDIR",
    "VISUAL", "XDG_CONFIG_HOME",
];

/// Whether an assignment makes the program behind it use a file.
pub fn names_files(assignment: &Assignment) -> bool {
    let name = assignment.name.as_str();
    let who = name.starts_with("GIT_AUTHOR_") || name.starts_with("GIT_COMMITTER_");
    (name.starts_with("GIT_") && !who || NAMING_FILES.contains(&name))
        && !is_safe(name, &assignment.value)
}

/// Whether every assignment before the command is harmless.
pub fn has_safe_assignments(command: &Command) -> bool {
    command.assignments.iter().all(|assignment| is_safe(&assignment.name, &assignment.value))
}

/// A variable that the command sets for the programs that follow, if one of them may read it.
pub fn unsafe_export(command: &Command) -> Option<&str> {
    let sets = ["export", "declare", "typeset", "readonly", "local"];
    name(&command.words).filter(|name| sets.contains(name))?;
    let set = command.words[1..].iter().filter_map(|word| word.source.split_once('='));
    let mut set = set.map(|(name, value)| (name.trim_end_matches('+'), value));
    let found = set.find(|(name, value)| !is_safe(name, value) && !is_private_variable(name));
    found.map(|(name, _)| name)
}

/// Programs that run whatever text they are given.
pub const INTERPRETERS: &[&str] =
    &["python", "python3", "perl", "ruby", "node", "deno", "bun", "php", "lua", "awk"];

/// Whether a rule for the command and anything after it would be one for anything at all.
pub fn runs_anything(words: &[Word]) -> bool {
    name(words).is_some_and(|name| {
        is_wrapper(name) || SHELLS.contains(&name) || INTERPRETERS.contains(&name)
    })
}

/// Whether it runs another command and the text does not fix which.
pub fn runs_unknown(words: &[Word]) -> bool {
    let wraps = name(words).is_some_and(is_wrapper);
    // What is run stands among the first words.
    wraps && words.iter().skip(1).take(3).any(|word| word.literal.is_none())
}

/// Whether git is told what to do by something the text does not fix, or by configuration on the way.
pub fn git_is_unsure(words: &[Word]) -> bool {
    if name(words) != Some("git") {
        return false;
    }
    let mut words = words[1..].iter();
    while let Some(word) = words.next() {
        match word.literal.as_deref() {
            None => return true,
            Some(option) if GIT_RISKS.contains(&option) => return true,
            Some(option) if GIT_VALUES.contains(&option) => drop(words.next()),
            Some(option) if option.starts_with('-') => {}
            Some(_) => return false,
        }
    }
    false
}
