//! `ona help`: the operator's pages inside the binary, and the help of the commands.
//!
//! An installed ona has no `docs/` directory, so messages point here.

mod render;

use std::io;
use std::process::ExitCode;

use clap::CommandFactory as _;
use ona_cli::CliError;
use ona_cli::output::{print, print_line};
use ona_types::shown;
use serde_json::{Value, json};

use crate::args::Cli;

/// A page that is part of the binary.
struct Topic {
    /// What it is called on the command line. No command has the same name.
    name: &'static str,
    /// What it is about, in a few words.
    about: &'static str,
    /// Its file under `docs/`: other pages link to it by this name.
    file: &'static str,
    /// The page, in Markdown.
    page: &'static str,
}

macro_rules! topics {
    ($($name:literal, $file:literal, $about:literal;)*) => {
        &[$(Topic {
            name: $name,
            about: $about,
            file: $file,
            page: include_str!(concat!("../../../docs/", $file)),
        }),*]
    };
}

/// Every page, in the order in which they are listed.
const TOPICS: &[Topic] = topics! {
    "cold-start", "OPERATOR_COLD_START.md", "from a clean clone to the first turn; the providers";
    "interactive", "INTERACTIVE.md", "the session in the terminal: keys, dialogs, commands";
    "headless", "HEADLESS.md", "ona -p in scripts: input, output, exit codes, sessions";
    "credentials", "CREDENTIALS.md", "where credentials come from, where they are kept, what is masked";
    "environment", "ENVIRONMENT.md", "every environment variable";
    "hooks", "HOOKS.md", "how hooks run and when they fire";
    "phases", "PHASES.md", "phases, plans, tests by a model that has not seen the code, the report";
    "intents", "INTENTS.md", "intents, their scope, the trace, blame";
    "hosts", "HOSTS.md", "other agents under ona's gate";
    "extensions", "EXTENSIONS.md", "agents, skills, commands, plugins";
    "servers", "MCP.md", "MCP servers, and ona as one";
    "web", "WEB.md", "WebFetch and WebSearch";
    "memories", "MEMORY.md", "memories for later sessions";
    "sandboxing", "SANDBOX.md", "the sandbox of commands: levels, settings, what each level stops";
    "security", "SECURITY.md", "what ona protects against, what not, and what was tried";
};

impl Topic {
    /// The first heading of the page.
    fn title(&self) -> String {
        let heading = self.page.lines().find_map(|line| line.strip_prefix("# "));
        render::inline(heading.unwrap_or(self.name), &linked)
    }

    fn listed(&self) -> Value {
        json!({"topic": self.name, "title": self.title(), "about": self.about})
    }
}

/// Where a link leads, if it leads to another page: the command that shows it.
fn linked(target: &str) -> Option<String> {
    let file = target.split('#').next().unwrap_or(target);
    let topic = TOPICS.iter().find(|topic| topic.file == file)?;
    Some(format!("`ona help {}`", topic.name))
}

/// Shows a page, or the help of a command, or what there is.
pub fn run(words: &[String], json: bool) -> Result<ExitCode, CliError> {
    let unprintable = |error: io::Error| CliError::failed(error.to_string());
    let topic = match words {
        [word] => TOPICS.iter().find(|topic| topic.name == word),
        _ => None,
    };
    match (topic, words) {
        (Some(topic), _) if json => {
            let mut said = topic.listed();
            said["page"] = topic.page.into();
            print_line(&said.to_string())
        }
        (Some(topic), _) => print(&render::page(topic.page, &linked)),
        (None, []) if json => {
            let topics: Vec<Value> = TOPICS.iter().map(Topic::listed).collect();
            print_line(&json!({ "topics": topics }).to_string())
        }
        (None, []) => command_help(words).and_then(|()| print(&topic_list())),
        (None, words) => {
            check_command(words)?;
            if json {
                return Err(CliError::usage("the help of a command is not available as JSON")
                    .hint("`ona help --json` lists the topics"));
            }
            command_help(words)
        }
    }
    .map_err(unprintable)?;
    Ok(ExitCode::SUCCESS)
}

/// Prints what `ona WORDS --help` prints.
fn command_help(words: &[String]) -> io::Result<()> {
    let asked = words.iter().map(String::as_str);
    let line = ["ona"].into_iter().chain(asked).chain(["--help"]);
    match Cli::command().try_get_matches_from(line) {
        Err(help) => match help.print() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            other => other,
        },
        Ok(_) => Ok(()),
    }
}

fn topic_list() -> String {
    let longest = TOPICS.iter().map(|topic| topic.name.len()).max().unwrap_or_default();
    let rows = TOPICS.iter().map(|topic| format!("  {:longest$}  {}\n", topic.name, topic.about));
    format!("\nTopics (`ona help TOPIC` shows the page):\n{}", rows.collect::<String>())
}

/// Whether the words name a command.
fn check_command(words: &[String]) -> Result<(), CliError> {
    let root = Cli::command();
    let mut command = &root;
    for (at, word) in words.iter().enumerate() {
        if let Some(found) = command.find_subcommand(word) {
            command = found;
            continue;
        }
        let commands = command.get_subcommands().filter(|command| !command.is_hide_set());
        let mut names: Vec<&str> = commands.map(clap::Command::get_name).collect();
        if at == 0 {
            names.extend(TOPICS.iter().map(|topic| topic.name));
        }
        let what = if at == 0 { "topic or command" } else { "command" };
        let unknown =
            CliError::usage(format!("unknown {what} `{}`", shown(&words[..=at].join(" "))));
        let meant = closest(word, &names);
        let meant = (!meant.is_empty()).then(|| format!("did you mean {}?", meant.join(" or ")));
        return Err(meant
            .into_iter()
            .fold(unknown, CliError::hint)
            .hint("`ona help` lists commands and topics"));
    }
    Ok(())
}

/// The names that may be meant: misspelt, shortened or lengthened.
fn closest(word: &str, names: &[&str]) -> Vec<String> {
    let word = word.to_ascii_lowercase();
    let near = ona_types::nearest(&word, names.iter().copied());
    let part = |name: &str| word.len() > 2 && (name.contains(&word) || word.contains(name));
    let meant = names.iter().filter(|name| near == Some(**name) || part(name));
    meant.map(|name| format!("`{name}`")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_topic_hides_a_command() {
        for topic in TOPICS {
            assert!(Cli::command().find_subcommand(topic.name).is_none(), "{}", topic.name);
        }
    }

    #[test]
    fn what_may_be_meant_is_found_by_part_and_by_spelling() {
        let names = ["hook", "hooks", "environment", "mcp"];
        assert_eq!(closest("hoks", &names), ["`hooks`"]);
        assert_eq!(closest("Environ", &names), ["`environment`"]);
        assert_eq!(closest("mcp-servers", &names), ["`mcp`"]);
        assert!(closest("zzz", &names).is_empty());
    }
}
