//! Commands that ask the system's keyring, where credentials of ona may be kept.

use ona_effects::shell::Command;

/// What ona's own secrets are called there.
const SERVICE: &str = "ona";
/// The Secret Service on a bus, as a name and as a path.
const SECRET_SERVICE: [&str; 2] = ["org.freedesktop.secrets", "/org/freedesktop/secrets"];

/// Whether a command may reach the credentials that ona keeps in the keyring. Secrets of other programs are their owner's
/// business: a command that names another service is free to be judged by the rules.
pub(crate) fn may_reach_credentials(command: &Command) -> bool {
    let words: Vec<&str> = command
        .words
        .iter()
        .map(|word| word.literal.as_deref().unwrap_or(word.source.as_str()))
        .collect();
    if words.iter().any(|word| SECRET_SERVICE.iter().any(|name| word.contains(name))) {
        return true;
    }
    let Some((program, arguments)) = words.split_first() else { return false };
    let after = |option: &str| {
        arguments.windows(2).filter(|pair| pair[0] == option).map(|pair| pair[1]).last()
    };
    let service = match program.rsplit('/').next().unwrap_or(program) {
        "secret-tool" => after("service"),
        // Of macOS.
        "security" if arguments.iter().any(|word| word.contains("keychain")) => None,
        "security" if arguments.iter().any(|word| word.ends_with("-password")) => after("-s"),
        _ => return false,
    };
    !service.is_some_and(|service| service != SERVICE && !service.contains(['$', '`', '*', '?']))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_names_another_service_leaves_credentials_alone() {
        for (line, reaches) in [
            ("secret-tool lookup service ona", true),
            ("secret-tool lookup username login", true),
            ("/usr/bin/secret-tool search --all service 'ona'", true),
            ("secret-tool search --all service $X", true),
            ("secret-tool search --all xdg:schema org.freedesktop.Secret.Generic", true),
            ("gdbus call --session --dest org.freedesktop.secrets --object-path /x", true),
            ("busctl --user tree org.freedesktop.secrets", true),
            (
                "dbus-send --print-reply --dest=org.freedesktop.secrets /org/freedesktop/secrets x",
                true,
            ),
            ("security find-generic-password -s ona -w", true),
            ("security dump-keychain -d", true),
            ("secret-tool lookup service github user me", false),
            ("security find-generic-password -s github -w", false),
            ("security cms -D -i x", false),
            ("echo secret-tool", false),
            ("gdbus call --session --dest org.freedesktop.Notifications", false),
        ] {
            let parsed = ona_effects::shell::parse(line);
            assert_eq!(parsed.commands.iter().any(may_reach_credentials), reaches, "{line}");
        }
    }
}
