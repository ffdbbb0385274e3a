//! Commands that ask the system's keyring, where credentials of ona may be kept.

use ona_effects::Effects;
use ona_effects::shell::Word;
use ona_programs::commands;

/// What ona's own secrets are called there.
const SERVICE: &str = "ona";

/// Keyrings on a bus, as names and as paths.
const ON_THE_BUS: &[&str] = &[
    "org.freedesktop.secrets",
    "org/freedesktop/secrets",
    "org.gnome.keyring",
    "org/gnome/keyring",
    "org.kde.kwallet",
    "modules/kwalletd",
];

/// Programs that speak to whatever is on a bus.
const BUS_TOOLS: &[&str] =
    &["busctl", "dbus-monitor", "dbus-send", "gdbus", "qdbus", "qdbus6", "qdbus-qt5"];

/// Programs whose names are words of everyday language.
const PLAIN_WORDS: &[&str] = &["keyring", "security"];

/// Parts of a rule that says which messages to show.
const MATCHES: &[&str] = &["interface=", "sender=", "destination=", "path=", "path_namespace="];

/// Whether a command line may reach the credentials that ona keeps in the keyring. Secrets of other programs are their
/// owner's business: a command that names another service is free to be judged by the rules.
pub(crate) fn may_reach_credentials(effects: &Effects) -> bool {
    let named = |text: &String| {
        let bare = text.replace(['"', '\'', '\\'], "");
        ON_THE_BUS.iter().any(|name| bare.contains(name))
    };
    let says = |text: &String| orders(text);
    let tool = |text: &String| text.contains("secret-tool");
    let service =
        |text: &String| words_of(text).windows(2).any(|pair| pair == ["service", SERVICE]);
    effects.texts.iter().any(|text| named(text) || says(text))
        || effects.unread && effects.texts.iter().any(tool) && effects.texts.iter().any(service)
        || effects.runs.iter().flat_map(|run| &run.readings).any(|words| asks(words))
}

/// Whether a text for another program has a command that asks for them.
fn orders(text: &str) -> bool {
    let words = words_of(text);
    let word = |text: &&str| Word { source: (*text).to_owned(), literal: Some((*text).to_owned()) };
    words.windows(2).enumerate().any(|(at, pair)| {
        let is_order = match commands::base_name(pair[0]) {
            "secret-tool" => matches!(pair[1], "clear" | "lookup" | "search"),
            "security" => pair[1].ends_with("-password") || pair[1].ends_with("-keychain"),
            _ => false,
        };
        is_order && asks_itself(&words[at..].iter().map(word).collect::<Vec<_>>(), false)
    })
}

/// The words of a text in another language, without its signs.
fn words_of(text: &str) -> Vec<&str> {
    let is_sign = |c: char| c.is_whitespace() || "\"'`,;|&()[]{}".contains(c);
    text.split(is_sign).filter(|word| !word.is_empty()).collect()
}

/// Whether a command asks for them, or what it runs: whatever is not known to leave its words alone may run them.
fn asks(words: &[Word]) -> bool {
    let starts = if commands::may_do_anything(words) { words.len() } else { words.len().min(1) };
    let is_fed = |start: usize| (0..start).any(|at| commands::is_feeder(&words[at..]));
    // A word that means something else in most places counts only where it is sure to be run.
    let is_run = |start: usize| {
        let text = words[start].literal.as_deref().unwrap_or_default();
        start == 0 || !PLAIN_WORDS.contains(&text) || !commands::suffixes(words).is_empty()
    };
    (0..starts)
        .filter(|start| is_run(*start))
        .any(|start| asks_itself(&words[start..], is_fed(start)))
}

fn asks_itself(words: &[Word], is_fed: bool) -> bool {
    let text = |word: &'_ Word| {
        word.literal.clone().unwrap_or_else(|| word.source.replace(['"', '\'', '\\'], ""))
    };
    let Some((program, arguments)) = words.split_first() else { return false };
    let is_unknown = program.literal.is_none();
    let (program, arguments) = (text(program), arguments.iter().map(text).collect::<Vec<_>>());
    let has = |wanted: &str| arguments.iter().any(|word| word == wanted);
    let after = |option: &str| {
        let pairs = arguments.windows(2).filter(|pair| pair[0] == option);
        pairs.map(|pair| pair[1].as_str()).next_back()
    };
    let names_connection = || arguments.iter().any(|word| is_unique(word));
    let service = match commands::base_name(&program) {
        // Without arguments they do nothing.
        "secret-tool" | "security" | "keyring" if arguments.is_empty() => return is_fed,
        "secret-tool" => after("service"),
        // Of Python: `keyring get SERVICE NAME`.
        "keyring" => match ["get", "set", "del"].iter().find_map(|order| after(order)) {
            None => return false,
            service => service,
        },
        // Of macOS.
        "security" if arguments.iter().any(|word| word.contains("keychain")) => None,
        "security" if arguments.iter().any(|word| word.ends_with("-password")) => after("-s"),
        "kwallet-query" | "kwalletcli" => None,
        "dbus-monitor" if has("--system") => return false,
        "dbus-monitor" => return shows_all(&arguments) || names_connection(),
        "busctl" if has("monitor") || has("capture") => {
            return has("--user") && (arguments.len() < 3 || names_connection());
        }
        tool if BUS_TOOLS.contains(&tool) => return names_connection() || is_fed,
        _ if is_unknown => return after("service") == Some(SERVICE),
        _ => return false,
    };
    let other = |service: &str| service != SERVICE && !service.contains(['$', '`', '*', '?']);
    is_fed || !service.is_some_and(other)
}

/// Whether a monitor shows messages of every kind.
fn shows_all(arguments: &[String]) -> bool {
    let mut rules = arguments.iter().filter(|word| !word.starts_with('-')).peekable();
    rules.peek().is_none() || !rules.all(|rule| MATCHES.iter().any(|part| rule.contains(part)))
}

/// Whether a word has a connection's own name, such as `:1.42`: that of the keyring too may be written so.
fn is_unique(word: &str) -> bool {
    word.match_indices(':').any(|(at, _)| {
        let number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let rest = &word[at + 1..];
        number(rest) && rest.trim_start_matches(|c: char| c.is_ascii_digit()).starts_with('.')
    })
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use ona_testkit::Disk;

    use super::*;

    fn reaches(line: &str) -> bool {
        may_reach_credentials(&Effects::of_shell(&Disk, line, Path::new("/")).unwrap())
    }

    #[test]
    fn only_what_names_another_service_leaves_credentials_alone() {
        for line in [
            "secret-tool lookup service ona",
            "secret-tool clear service ona",
            "secret-tool lookup username login",
            "/usr/bin/secret-tool search --all service 'ona'",
            "secret-tool search --all service $X",
            "secret-tool search --all xdg:schema org.freedesktop.Secret.Generic",
            "gdbus call --session --dest org.freedesktop.secrets --object-path /x",
            "busctl --user tree org.freedesktop.secrets",
            "dbus-send --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets x",
            "security find-generic-password -s ona -w",
            "security dump-keychain -d",
            "keyring -b x.Keyring get ona login",
            "sudo keyring get ona login",
            "env security dump-keychain",
            "kwallet-query -l kdewallet",
        ] {
            assert!(reaches(line), "{line}");
        }
        for line in [
            "secret-tool lookup service github user me",
            "security find-generic-password -s github -w",
            "security cms -D -i x",
            "keyring get github me",
            "keyring --list-backends",
            "make security keychain",
            "echo secret-tool",
            "which secret-tool",
            "command -v secret-tool",
            "gdbus call --session --dest org.freedesktop.Notifications",
            "busctl --user list",
            "busctl monitor",
            "dbus-monitor --system",
            "dbus-monitor \"interface='org.freedesktop.Notifications'\"",
            "grep -rn org.freedesktop.secrets .",
            "echo org.freedesktop.secrets",
        ] {
            assert!(!reaches(line), "{line}");
        }
    }

    #[test]
    fn whatever_runs_the_program_it_is_seen() {
        for wrapper in [
            "env",
            "env A=b",
            "nohup",
            "timeout 5",
            "setsid",
            "command",
            "exec",
            "stdbuf -o0",
            "strace -o /dev/null",
            "nice",
            "sudo",
            "xargs",
            "time",
            "busybox timeout 5",
            "find . -maxdepth 0 -exec",
            "/lib64/ld-linux-x86-64.so.2",
            "some-launcher --flag",
        ] {
            let line = format!("{wrapper} /usr/bin/secret-tool search --all service ona ';'");
            assert!(reaches(&line), "{line}");
            let line = format!("{wrapper} secret-tool lookup service github ';'");
            assert_eq!(reaches(&line), wrapper == "xargs", "{line}");
        }
        for line in [
            "D=org.freedesktop.secrets; busctl --user tree $D",
            "D=org.freedesktop; busctl --user tree $D.secrets",
            "busctl --user tree $'org.freedesktop.\\x73ecrets'",
            "S=secret-tool; $S search --all service ona",
            "$S search --all service ona",
            "echo service ona | xargs secret-tool search --all",
            "echo org.freedesktop.secrets | xargs busctl --user tree",
            "gdbus introspect --session -r --dest org.gnome.keyring --object-path /",
            "gdbus introspect --session -r --dest :1.0 --object-path /",
            "dbus-send --session --dest=:1.12 --print-reply / x.y",
            "timeout 5 dbus-monitor --session",
            "dbus-monitor",
            "dbus-monitor \"sender=':1.7'\"",
            "busctl --user monitor",
            "sh -c 'secret-tool search --all service ona'",
            "secret-tool search --all <<< x",
        ] {
            assert!(reaches(line), "{line}");
        }
    }
}
