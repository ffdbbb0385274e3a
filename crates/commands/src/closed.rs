//! Commands of the reference that ona does not have (DESIGN §5 no. 25): each is closed as omitted or replaced.
//!
//! `docs/DECISIONS.md` has the same rows; a test compares them.

/// A command that is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// Its name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// `omitted` or `replaced`, and why or by what.
    pub row: &'static str,
}

const fn closed(name: &'static str, row: &'static str) -> Closed {
    Closed { name, aliases: &[], row }
}

/// The closed commands.
pub const CLOSED: &[Closed] = &[
    closed("fast", "omitted: a mode of the vendor's own service"),
    closed("powerup", "replaced: /help lists the commands, `ona help` the pages"),
    closed("setup-bedrock", "omitted: the providers are those of S0 §2.1"),
    closed("ide", "omitted: ona has no editor extension"),
    closed("chrome", "omitted: ona has no browser extension"),
    closed("voice", "omitted: dictation needs the vendor's account"),
    closed("pr-comments", "omitted: removed from the reference; ask the agent, which has `gh`"),
    closed("claude-api", "omitted: reference of the vendor's own interface"),
    closed("upgrade", "omitted: ona sells no plans"),
    closed("extra-usage", "omitted: ona sells no usage"),
    closed("passes", "omitted: ona has no referrals"),
    closed("privacy-settings", "omitted: ona has no accounts; the record stays on this machine"),
    closed("stickers", "omitted: ona has no stickers"),
    Closed {
        name: "mobile",
        aliases: &["ios", "android"],
        row: "omitted: ona has no app for telephones",
    },
    Closed { name: "desktop", aliases: &["app"], row: "omitted: ona has no desktop app" },
    Closed {
        name: "feedback",
        aliases: &["bug"],
        row: "replaced: report it where you have ona from; `ona doctor` and /export say what to include",
    },
    closed("install-github-app", "omitted: ona has no hosted app"),
    closed("install-slack-app", "omitted: ona has no hosted app"),
    Closed { name: "remote-control", aliases: &["rc"], row: "omitted: ona has no web console" },
    closed("remote-env", "omitted: ona has no cloud environments"),
    closed("schedule", "omitted: ona has no cloud tasks; `ona -p` runs from cron"),
    closed("ultraplan", "replaced: /plan plans on this machine"),
    Closed {
        name: "teleport",
        aliases: &["tp"],
        row: "omitted: ona has no web sessions; /resume lists those here",
    },
    closed("heapdump", "omitted: ona is no JavaScript program; /doctor checks it"),
    closed("tag", "omitted: removed from the reference; /rename names a session"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_are_those_of_the_decisions() {
        let page = include_str!("../../../docs/DECISIONS.md");
        for Closed { name, aliases, row } in CLOSED {
            let names: Vec<String> =
                std::iter::once(name).chain(*aliases).map(|name| format!("`/{name}`")).collect();
            let line = format!("| {} | {row} |", names.join(", "));
            assert!(page.contains(&line), "docs/DECISIONS.md has no row {line}");
        }
    }
}
