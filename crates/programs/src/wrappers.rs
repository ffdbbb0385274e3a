//! Commands that run another one: how much of a command line it takes to see which, and what reaches that one besides its
//! words.

use ona_shell::Word;

use crate::arguments::{self, Program};
use crate::commands::{is_finder, name};

/// Commands that only change how another runs. They are looked through for every rule.
pub const WRAPPERS: &[&str] =
    &["timeout", "time", "nice", "nohup", "stdbuf", "builtin", "command", "noglob", "xargs"];

/// Commands that run another in ways of their own. Deny and ask rules look through them; a prefix rule
/// never allows them as a matter of course.
#[rustfmt::skip]
pub(crate) const EXEC_WRAPPERS: &[&str] = &[
    "sudo", "doas", "env", "watch", "ionice", "setsid", "flock", "chroot", "exec", "xargs", "parallel", "busybox",
    "unshare", "nsenter", "strace", "find", "fd", "fdfind", "chrt", "taskset", "runuser", "su", "ssh-agent", "bwrap",
    "cgexec", "chpst", "dbus-run-session", "dumb-init", "entr", "fakeroot", "firejail", "linux32", "linux64", "ltrace",
    "choom", "i386", "x86_64", "uname26", "capsh", "cpulimit", "logsave", "numactl", "perf", "pkexec", "prlimit", "proot",
    "rlwrap", "script", "setarch", "setpriv", "sg", "systemd-run", "tini", "toybox", "unbuffer", "valgrind", "xvfb-run",
];

/// Wrappers with one word of their own before what they run.
const WITH_OPERAND: &[&str] =
    &["timeout", "flock", "chroot", "taskset", "chrt", "logsave", "sg", "setarch"];

/// Whether a command is there to run another.
pub(crate) fn is_wrapper(name: &str) -> bool {
    WRAPPERS.contains(&name) || EXEC_WRAPPERS.contains(&name) && !is_finder(name)
}

/// What a wrapper runs, if the command is one that every rule looks through.
pub fn unwrapped(words: &[Word]) -> Option<&[Word]> {
    let wrapper = words.first()?.literal.as_deref()?;
    if !WRAPPERS.contains(&wrapper) {
        return None;
    }
    let literal = |index: usize| words.get(index).and_then(|word| word.literal.as_deref());
    let mut next = 1;
    while let Some(option) = literal(next).filter(|word| word.starts_with('-')) {
        next += 1 + own_value(wrapper, option)?;
    }
    if wrapper == "timeout" {
        next += 1;
    }
    words.get(next..).filter(|rest| !rest.is_empty())
}

/// How many words behind an option of such a wrapper belong to it; nothing if it is not known. `command -v` only looks a
/// command up, and what `xargs` with options runs is not certain.
fn own_value(wrapper: &str, option: &str) -> Option<usize> {
    let begins = |options: &[&str]| options.iter().any(|known| option.starts_with(known));
    let number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || byte == b'-');
    match (wrapper, option) {
        ("nice", "-n" | "--adjustment") => Some(1),
        ("nice", _) if begins(&["-n", "--adjustment="]) || number(&option[1..]) => Some(0),
        ("timeout", "-s" | "-k" | "--signal" | "--kill-after") => Some(1),
        ("timeout", "-v" | "--verbose" | "--foreground" | "--preserve-status") => Some(0),
        ("timeout", _) if begins(&["-s", "-k", "--signal=", "--kill-after="]) => Some(0),
        ("stdbuf", "-i" | "-o" | "-e" | "--input" | "--output" | "--error") => Some(1),
        ("stdbuf", _) if begins(&["-i", "-o", "-e", "--input=", "--output=", "--error="]) => {
            Some(0)
        }
        ("time", "-p") => Some(0),
        _ => None,
    }
}

/// How many words of a command, from the first, it takes to see what a wrapper runs; none if it is no wrapper, or runs
/// nothing. Where an option may have a value in the next word, rather one word too many.
pub(crate) fn shown(words: &[Word]) -> usize {
    let mut start = 0;
    while let Some(inner) = runs_at(&words[start..]) {
        start += inner;
    }
    // A wrapper that runs nothing can be seen at once.
    if start == 0 { 0 } else { start + 1 }
}

/// Where what a wrapper runs begins.
fn runs_at(words: &[Word]) -> Option<usize> {
    let name = name(words).filter(|name| is_wrapper(name))?;
    if let Some(inner) = unwrapped(words) {
        return Some(words.len() - inner.len());
    }
    // `command -v` only looks one up.
    let looks = |word: &Word| word.source.starts_with('-') && word.source.contains(['v', 'V']);
    if name == "command" && words.get(1).is_some_and(looks) {
        return None;
    }
    let known = arguments::known(name);
    let mut own = usize::from(WITH_OPERAND.contains(&name));
    let (mut at, mut doubtful) = (1, None);
    while let Some(word) = words.get(at) {
        let text = word.literal.as_deref().unwrap_or(&word.source);
        if text == "--" {
            at += 1 + own;
            return (at < words.len()).then_some(at);
        }
        let behind = || words.get(at + 1).is_some_and(|word| !word.source.starts_with('-'));
        if text.len() > 1 && text.starts_with('-') {
            let takes_next = known.map_or(!text.contains('='), |program| program.takes_next(text));
            if takes_next && behind() {
                at += 1;
                doubtful = Some(at);
            }
        } else if text.contains('=') && !text.starts_with(['/', '.']) {
            // A variable for it.
        } else if own > 0 {
            own -= 1;
            doubtful = Some(at);
        } else {
            return Some(at);
        }
        at += 1;
    }
    doubtful
}

/// A command and all that it may run by being a wrapper.
pub fn all_shown(words: &[Word]) -> impl Iterator<Item = &[Word]> {
    let inner = (1..shown(words)).map(|start| &words[start..]);
    std::iter::once(words).chain(inner)
}

/// Whether a command may get further arguments that the text does not show: none of them could make it run a program or
/// write a file. Of a program that is not known, a rule about its beginning covers every argument anyway.
pub fn may_be_fed(words: &[Word]) -> bool {
    let takes_orders = |program: &Program| program.has_risky_options() || program.is_script_taker();
    name(words).is_some_and(|name| {
        name != "git" && !is_finder(name) && !arguments::known(name).is_some_and(takes_orders)
    })
}

/// Whether a command gets arguments from its input.
pub fn is_feeder(words: &[Word]) -> bool {
    matches!(name(words), Some("xargs" | "parallel"))
}

/// Whether what is run by a wrapper with arguments from its input could do more than its words say.
pub(crate) fn feeds_orders(words: &[Word]) -> bool {
    let mut fed = false;
    all_shown(words).any(|words| {
        let takes = fed && !may_be_fed(words);
        fed |= is_feeder(words);
        takes
    })
}

/// How much of a command line a rule about its beginning has to name.
pub fn to_be_named(words: &[Word]) -> &[Word] {
    &words[..shown(words).min(words.len())]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<Word> {
        ona_shell::parse(source).commands.remove(0).words
    }

    fn text(words: &[Word]) -> String {
        words.iter().map(|word| word.source.as_str()).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn wrappers_are_looked_through() {
        for (source, inner) in [
            ("timeout 30 npm test", Some("npm test")),
            ("timeout -s KILL 30 npm test", Some("npm test")),
            ("timeout --kill-after=5 30 npm test", Some("npm test")),
            ("nice -n 5 npm test", Some("npm test")),
            ("nice -5 npm test", Some("npm test")),
            ("nice npm test", Some("npm test")),
            ("time -p make", Some("make")),
            ("xargs grep p", Some("grep p")),
            ("xargs -n1 grep p", None),
            ("command ls", Some("ls")),
            ("command -v ls", None),
            ("npx npm test", None),
            ("nohup", None),
            // The option takes the next word.
            ("\\time -f git ./evil", None),
            ("\\time -o git ./evil", None),
        ] {
            assert_eq!(unwrapped(&words(source)).map(text).as_deref(), inner, "{source}");
        }
    }

    #[test]
    fn a_rule_has_to_name_what_a_wrapper_runs() {
        for (source, named) in [
            ("sudo apt install x", "sudo apt"),
            ("sudo -u bob apt install x", "sudo -u bob apt"),
            ("sudo -n ./evil.sh x", "sudo -n ./evil.sh"),
            ("sudo --user=bob ./evil.sh", "sudo --user=bob ./evil.sh"),
            ("env FOO=1 ./evil.sh", "env FOO=1 ./evil.sh"),
            ("env -u X ./evil.sh a", "env -u X ./evil.sh"),
            ("env", ""),
            ("env FOO=1", ""),
            ("sudo -l", ""),
            ("command -v rg", ""),
            ("timeout 5 ./evil.sh x", "timeout 5 ./evil.sh"),
            ("timeout --sig KILL 5 ./evil.sh", "timeout --sig KILL 5 ./evil.sh"),
            ("nice ./evil.sh", "nice ./evil.sh"),
            ("timeout 5 sudo env A=b ./evil.sh c", "timeout 5 sudo env A=b ./evil.sh"),
            ("strace ./evil.sh x", "strace ./evil.sh"),
            ("strace -f ./evil.sh", "strace -f ./evil.sh"),
            ("strace -o f ./evil.sh", "strace -o f ./evil.sh"),
            ("xargs -0 -n 1 sort", "xargs -0 -n 1 sort"),
            ("xargs --replace ./evil.sh", "xargs --replace ./evil.sh"),
            ("busybox sed p", "busybox sed"),
            ("sed p", ""),
            ("find . -name x", ""),
        ] {
            assert_eq!(text(to_be_named(&words(source))), named, "{source}");
        }
    }

    #[test]
    fn what_gets_arguments_from_elsewhere_must_have_no_options_that_run_or_write() {
        for source in [
            "xargs sed -n",
            "xargs -0 awk",
            "xargs rg x",
            "xargs sort",
            "xargs find",
            "xargs git log",
            "xargs more",
            "timeout 5 xargs sort",
            "sudo xargs -r sort",
        ] {
            assert!(feeds_orders(&words(source)), "{source}");
        }
        for source in ["xargs grep x", "xargs -0 cat", "xargs wc -l", "xargs rm", "sed -n", "sort"]
        {
            assert!(!feeds_orders(&words(source)), "{source}");
        }
    }
}
