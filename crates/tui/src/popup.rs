//! What is offered while the user types: commands after a slash, files after an `@`.

use ona_front::CommandInfo;
use ona_render::highlight::Look;
use ona_render::text::{plain, truncate, truncate_middle, width};
use ona_render::theme::Role;
use ratatui::text::{Line, Span};

/// Rows that are shown.
const ROWS: usize = 8;

/// What is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Commands.
    Commands(Vec<CommandInfo>),
    /// Files, for this text after the `@`.
    Files {
        /// The text.
        query: String,
        /// The paths.
        files: Vec<String>,
    },
}

/// An open list of what is offered.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Popup {
    /// What.
    pub offer: Offer,
    /// Which of it is selected.
    pub selected: usize,
}

impl Popup {
    /// The number of entries.
    pub fn len(&self) -> usize {
        match &self.offer {
            Offer::Commands(commands) => commands.len(),
            Offer::Files { files, .. } => files.len(),
        }
    }

    /// Whether nothing is offered.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Goes up or down, around the ends.
    pub fn step(&mut self, back: bool) {
        let count = self.len();
        if count > 0 {
            self.selected = (self.selected + if back { count - 1 } else { 1 }) % count;
        }
    }

    /// The selected command.
    pub fn command(&self) -> Option<&CommandInfo> {
        match &self.offer {
            Offer::Commands(commands) => commands.get(self.selected),
            Offer::Files { .. } => None,
        }
    }

    /// The selected file.
    pub fn file(&self) -> Option<&str> {
        match &self.offer {
            Offer::Files { files, .. } => files.get(self.selected).map(String::as_str),
            Offer::Commands(_) => None,
        }
    }

    /// The rows.
    pub fn rows(&self, columns: usize, look: &Look<'_>) -> Vec<Line<'static>> {
        let theme = look.theme;
        if self.is_empty() {
            let text = match &self.offer {
                Offer::Commands(_) => "  no command matches",
                Offer::Files { .. } => "  no file matches",
            };
            return vec![Line::from(Span::styled(text, theme.style(Role::Dim)))];
        }
        let first = self.selected.saturating_sub(ROWS / 2).min(self.len().saturating_sub(ROWS));
        let entries: Vec<(String, String)> = match &self.offer {
            Offer::Commands(commands) => commands.iter().map(entry).collect(),
            Offer::Files { files, .. } => files
                .iter()
                .map(|path| {
                    (truncate_middle(&plain(path), columns.saturating_sub(4)), String::new())
                })
                .collect(),
        };
        let names =
            entries.iter().map(|(name, _)| width(name)).max().unwrap_or_default().min(columns / 2);
        let row = |(number, (name, about)): (usize, &(String, String))| {
            let selected = number == self.selected;
            let style = theme.style(if selected { Role::Selected } else { Role::Text });
            let name = truncate(name, columns.saturating_sub(4));
            let pad = names.saturating_sub(width(&name)) + 2;
            let room = columns.saturating_sub(width(&name) + pad + 3);
            let pointer = if selected { "❯ " } else { "  " };
            let mut spans = vec![Span::styled(format!("{pointer}{name}"), style)];
            if room > 6 && !about.is_empty() {
                spans.push(Span::raw(" ".repeat(pad)));
                spans.push(Span::styled(truncate(about, room), theme.style(Role::Dim)));
            }
            Line::from(spans)
        };
        entries.iter().enumerate().skip(first).take(ROWS).map(row).collect()
    }
}

fn entry(command: &CommandInfo) -> (String, String) {
    let aliases = match command.aliases.is_empty() {
        true => String::new(),
        false => format!(" ({})", plain(&command.aliases.join(", "))),
    };
    let source = if command.source == "ona" {
        String::new()
    } else {
        format!(" ({})", plain(&command.source))
    };
    let about = plain(&command.description).lines().next().unwrap_or_default().to_owned();
    (format!("/{}{aliases}", plain(&command.name)), format!("{about}{source}"))
}

/// Without what separates the words of a name.
fn joined(name: &str) -> String {
    name.chars().filter(|c| !matches!(c, ':' | '_' | '-')).collect::<String>().to_lowercase()
}

/// The commands that what was typed may mean: it begins the name, a word of it, or an alias.
pub fn matching(commands: &[CommandInfo], typed: &str) -> Vec<CommandInfo> {
    let wanted = joined(typed);
    // What is typed whole means that command, and a closed one is not offered.
    if commands.iter().any(|command| command.closed && command.is_called(typed)) {
        return Vec::new();
    }
    let rank = |command: &CommandInfo| -> Option<usize> {
        let name = command.name.to_lowercase();
        if command.closed {
            return None;
        }
        if name == typed.to_lowercase() || command.is_called(typed) {
            return Some(0);
        }
        // Whoever types a separator means a name that has it.
        if name.starts_with(&typed.to_lowercase()) {
            return Some(1);
        }
        if joined(&name).starts_with(&wanted) {
            return Some(2);
        }
        if command.aliases.iter().any(|alias| joined(alias).starts_with(&wanted)) {
            return Some(3);
        }
        let words = name.split([':', '_', '-']).any(|word| word.starts_with(&wanted));
        words.then_some(4)
    };
    let mut ranked: Vec<(usize, &CommandInfo)> =
        commands.iter().filter_map(|command| Some((rank(command)?, command))).collect();
    ranked.sort_by_key(|(rank, _)| *rank);
    ranked.into_iter().map(|(_, command)| command.clone()).collect()
}

/// What is being typed after an `@` right before the cursor, if something is.
pub fn mention(before: &str) -> Option<&str> {
    let at = before.rfind('@')?;
    let begins = before[..at].chars().next_back();
    let fits =
        begins.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | '{' | '"' | '\'' | '`'));
    let typed = &before[at + 1..];
    (fits && !typed.contains(char::is_whitespace)).then_some(typed)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn command(name: &str, aliases: &[&str]) -> CommandInfo {
        CommandInfo {
            name: name.to_owned(),
            aliases: aliases.iter().map(|alias| (*alias).to_owned()).collect(),
            arguments: String::new(),
            description: String::new(),
            source: "ona".to_owned(),
            immediate: false,
            closed: false,
        }
    }

    #[test]
    fn a_beginning_of_the_name_a_word_or_an_alias_matches() {
        let commands = [
            command("release-notes", &[]),
            command("config", &["settings"]),
            command("clear", &["new"]),
            command("notes", &[]),
        ];
        let found = |typed: &str| {
            matching(&commands, typed).iter().map(|one| one.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found("no"), ["notes", "release-notes"]);
        assert_eq!(found("releasen"), ["release-notes"]);
        assert_eq!(found("sett"), ["config"]);
        assert_eq!(found("xyz"), Vec::<String>::new());
        assert_eq!(found(""), ["release-notes", "config", "clear", "notes"]);
    }

    #[test]
    fn a_separator_that_is_typed_is_meant() {
        let all = [command("mcp", &[]), command("mcp__docs__greet", &[])];
        assert_eq!(matching(&all, "mcp__")[0].name, "mcp__docs__greet");
        assert_eq!(matching(&all, "mcpd")[0].name, "mcp__docs__greet");
        assert_eq!(matching(&all, "mc")[0].name, "mcp");
    }

    #[test]
    fn a_whole_name_or_alias_comes_before_what_begins_so() {
        let closed = CommandInfo { closed: true, ..command("desktop", &["app"]) };
        let commands =
            [command("my-app", &[]), command("new-app", &[]), command("clear", &["new"]), closed];
        let found = |typed: &str| {
            matching(&commands, typed).iter().map(|one| one.name.clone()).collect::<Vec<_>>()
        };
        assert_eq!(found("new"), ["clear", "new-app"]);
        assert_eq!(found("ap"), ["my-app", "new-app"]);
        assert_eq!(found("app"), Vec::<String>::new());
        assert_eq!(found("desk"), Vec::<String>::new());
    }

    #[test]
    fn a_mention_begins_a_word() {
        assert_eq!(mention("look at @src/ma"), Some("src/ma"));
        assert_eq!(mention("@"), Some(""));
        assert_eq!(mention("me@host"), None);
        assert_eq!(mention("@a b"), None);
    }
}
