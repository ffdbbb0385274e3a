//! The slash commands of S0 §2.9 and of ona's own, as one table beside `closed.rs`.

use crate::closed::{CLOSED, Closed};

/// When a command runs that is typed while the agent is at work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// At once.
    AtOnce,
    /// After the turn.
    AfterTurn,
}

/// What runs a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs, reason = "each is the command of its name")]
pub enum Run {
    Clear,
    Resume,
    Branch,
    Rename,
    Rewind,
    Export,
    Copy,
    Exit,
    Btw,
    Tasks,
    Help,
    AddDir,
    Compact,
    Context,
    Memory,
    Init,
    Cost,
    Stats,
    Usage,
    Diff,
    Insights,
    Model,
    Effort,
    Plan,
    Config,
    Status,
    Permissions,
    Hooks,
    Keybindings,
    Theme,
    Color,
    StatusLine,
    TerminalSetup,
    Sandbox,
    OutputStyle,
    Vim,
    Doctor,
    ReleaseNotes,
    ReloadPlugins,
    Login,
    Logout,
    Agents,
    Skills,
    Mcp,
    Plugin,
    Review,
    SecurityReview,
    Simplify,
    Batch,
    Debug,
    Loop,
    Todos,
    Phase,
    Test,
    Report,
    Intent,
    Why,
    Explain,
    Blame,
    Trust,
    /// A capability of ona that is not there yet: the name of what there is nothing of.
    NothingYet(&'static str),
}

/// A command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Command {
    /// Its name.
    pub name: &'static str,
    /// Other names.
    pub aliases: &'static [&'static str],
    /// Its arguments.
    pub arguments: &'static str,
    /// What it does.
    pub about: &'static str,
    /// When it runs.
    pub when: When,
    /// What runs it.
    pub run: Run,
}

impl Command {
    /// Whether it has no arguments. The lists of some commands lead to command lines that nobody types.
    pub fn takes_nothing(&self) -> bool {
        self.arguments.is_empty() && !matches!(self.run, Run::Rewind | Run::Keybindings)
    }
}

const fn at_once(
    name: &'static str,
    aliases: &'static [&'static str],
    arguments: &'static str,
    about: &'static str,
    run: Run,
) -> Command {
    Command { name, aliases, arguments, about, when: When::AtOnce, run }
}

const fn after(
    name: &'static str,
    aliases: &'static [&'static str],
    arguments: &'static str,
    about: &'static str,
    run: Run,
) -> Command {
    Command { name, aliases, arguments, about, when: When::AfterTurn, run }
}

/// Every command, in the order of the menu.
pub const COMMANDS: &[Command] = &[
    at_once("help", &[], "[command]", "List the commands and keys", Run::Help),
    at_once("model", &[], "[model]", "Switch the model, and the provider with it", Run::Model),
    at_once("effort", &[], "[low|medium|high|max|auto]", "Set the reasoning effort", Run::Effort),
    at_once(
        "status",
        &[],
        "",
        "Show version, model, credential, session and settings",
        Run::Status,
    ),
    at_once(
        "config",
        &["settings"],
        "[key=value|unset key]",
        "Show and change settings",
        Run::Config,
    ),
    at_once(
        "permissions",
        &["allowed-tools"],
        "[add|remove|denied]",
        "Show and change permission rules, with their sources",
        Run::Permissions,
    ),
    after(
        "clear",
        &["reset", "new"],
        "[name]",
        "Start a new conversation; the old one stays resumable",
        Run::Clear,
    ),
    after(
        "compact",
        &[],
        "[instructions]",
        "Summarise the conversation to free context",
        Run::Compact,
    ),
    after("resume", &["continue"], "[id or name]", "Continue an earlier session", Run::Resume),
    after(
        "rewind",
        &["checkpoint", "undo"],
        "",
        "Go back to an earlier prompt: conversation, code or both",
        Run::Rewind,
    ),
    after(
        "plan",
        &[],
        "[task|list|show|edit|approve|reject|diff|supersede]",
        "Plan first: nothing is changed until you approve the plan; or show and approve plans",
        Run::Plan,
    ),
    at_once("why", &[], "[call id]", "Show what each stage decided about a call", Run::Why),
    at_once(
        "explain",
        &[],
        "<command line>",
        "Show what the gate would decide about a Bash command",
        Run::Explain,
    ),
    at_once("phase", &[], "[phase]", "Show or change the phase of the conversation", Run::Phase),
    after(
        "intent",
        &[],
        "[id|list|show …]",
        "Show and select the intent of this work",
        Run::Intent,
    ),
    at_once(
        "blame",
        &[],
        "<file[:line]>",
        "Show which call wrote a line, its intent and who approved it",
        Run::Blame,
    ),
    at_once("bead", &[], "", "Show the bead that is worked on", Run::NothingYet("beads")),
    after(
        "test",
        &[],
        "[generate|run|list|show|lint|add|remove]",
        "Have behavioural tests of the plan written and run",
        Run::Test,
    ),
    at_once(
        "report",
        &[],
        "[approve|html FILE]",
        "Show what was tested and what came of it, or approve it",
        Run::Report,
    ),
    at_once(
        "hil",
        &[],
        "",
        "Show the queue of questions to humans",
        Run::NothingYet("human queue"),
    ),
    at_once(
        "audit",
        &[],
        "",
        "Show the audit of the record",
        Run::NothingYet("audit; /why and `ona trace verify` show what there is"),
    ),
    at_once("context", &[], "", "Show what fills the context", Run::Context),
    at_once("cost", &[], "", "Show tokens and cost of the session", Run::Cost),
    at_once("usage", &[], "", "Show tokens and cost of the session, and limits", Run::Usage),
    at_once("stats", &[], "[7d|30d|all]", "Show the use of models by day", Run::Stats),
    at_once("insights", &[], "", "Report on the sessions of this directory", Run::Insights),
    at_once("diff", &[], "", "Show uncommitted changes, and those of each prompt", Run::Diff),
    at_once(
        "tasks",
        &["bashes"],
        "[stop <id>|show <id>]",
        "List and stop background commands and agents",
        Run::Tasks,
    ),
    at_once("todos", &[], "", "Show the todo list", Run::Todos),
    at_once(
        "btw",
        &[],
        "<question>",
        "Ask something aside; it does not become part of the conversation",
        Run::Btw,
    ),
    after("init", &[], "", "Write or improve CLAUDE.md for this project", Run::Init),
    after(
        "memory",
        &[],
        "[edit <file>|forget <id>]",
        "Show instruction files and memories, and edit them",
        Run::Memory,
    ),
    after("add-dir", &[], "<path>", "Add a working directory for this session", Run::AddDir),
    at_once("export", &[], "[file]", "Write the conversation to a file, or copy it", Run::Export),
    at_once(
        "copy",
        &[],
        "[N]",
        "Copy the last answer, or the Nth last, to the clipboard",
        Run::Copy,
    ),
    at_once("rename", &[], "[name]", "Name the session", Run::Rename),
    after("branch", &["fork"], "[name]", "Continue in a copy of the conversation", Run::Branch),
    at_once("agents", &[], "[new|generate|edit|delete …]", "Manage subagents", Run::Agents),
    at_once("skills", &[], "", "List skills and custom commands", Run::Skills),
    at_once(
        "mcp",
        &[],
        "[reconnect|login|logout <server>]",
        "Show and manage MCP servers",
        Run::Mcp,
    ),
    at_once("hooks", &[], "", "Show the configured hooks and their sources", Run::Hooks),
    at_once("plugin", &[], "[subcommand]", "Manage plugins", Run::Plugin),
    after("reload-plugins", &[], "", "Read plugins, skills and commands again", Run::ReloadPlugins),
    after("review", &[], "[what]", "Review the changes of the branch", Run::Review),
    after(
        "security-review",
        &[],
        "",
        "Review the changes of the branch for vulnerabilities",
        Run::SecurityReview,
    ),
    after(
        "simplify",
        &[],
        "[focus]",
        "Review changed files with three agents, and simplify them",
        Run::Simplify,
    ),
    after(
        "batch",
        &[],
        "<instruction>",
        "Split work into units for agents in worktrees",
        Run::Batch,
    ),
    after(
        "debug",
        &[],
        "[description]",
        "Look into a problem of this session with its record",
        Run::Debug,
    ),
    after(
        "loop",
        &[],
        "[interval] <prompt>",
        "Repeat a prompt while the session is open",
        Run::Loop,
    ),
    at_once("theme", &[], "[name]", "Choose the colours", Run::Theme),
    at_once("color", &[], "[colour]", "Set the colour of the prompt in this session", Run::Color),
    at_once(
        "statusline",
        &[],
        "[command|off]",
        "Set the command that prints the status line",
        Run::StatusLine,
    ),
    at_once("keybindings", &[], "", "Open the file with your key bindings", Run::Keybindings),
    at_once(
        "terminal-setup",
        &[],
        "",
        "Show how to enter a line break in your terminal",
        Run::TerminalSetup,
    ),
    at_once("vim", &[], "", "Switch vim keys on or off", Run::Vim),
    at_once("output-style", &[], "[style]", "Set the style of replies", Run::OutputStyle),
    at_once("sandbox", &[], "[on|off]", "Show the sandbox of commands, or switch it", Run::Sandbox),
    at_once("login", &[], "", "Sign in", Run::Login),
    at_once("logout", &[], "", "Sign out", Run::Logout),
    at_once("trust", &[], "", "Show what is trusted in this folder", Run::Trust),
    at_once("doctor", &[], "", "Check the record, settings, rules and key bindings", Run::Doctor),
    at_once("release-notes", &[], "", "Show what has changed in ona", Run::ReleaseNotes),
    at_once("exit", &["quit"], "", "Leave", Run::Exit),
];

/// What a name means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    /// A command.
    Command(&'static Command),
    /// A closed one.
    Closed(&'static Closed),
}

/// The command of a name or an alias.
pub fn find(name: &str) -> Option<Meaning> {
    let is = |own: &str, aliases: &[&str]| own == name || aliases.contains(&name);
    let command = COMMANDS.iter().find(|command| is(command.name, command.aliases));
    let closed = || CLOSED.iter().find(|closed| is(closed.name, closed.aliases));
    command.map(Meaning::Command).or_else(|| closed().map(Meaning::Closed))
}

/// The name of what a name means.
pub(crate) fn name_of(meaning: Meaning) -> &'static str {
    match meaning {
        Meaning::Command(command) => command.name,
        Meaning::Closed(closed) => closed.name,
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_name_means_one_thing() {
        let mut names = HashSet::new();
        let all = COMMANDS.iter().map(|one| (one.name, one.aliases));
        for (name, aliases) in all.chain(CLOSED.iter().map(|one| (one.name, one.aliases))) {
            for name in std::iter::once(&name).chain(aliases) {
                assert!(names.insert(*name), "{name} is there twice");
            }
        }
    }

    #[test]
    fn an_alias_finds_its_command() {
        let Some(Meaning::Command(command)) = find("settings") else { panic!() };
        assert_eq!(command.name, "config");
        assert!(matches!(find("rc"), Some(Meaning::Closed(_))));
        assert_eq!(find("nonsense"), None);
    }

    #[test]
    fn closed_rows_say_which_way_they_are_closed() {
        for closed in CLOSED {
            let said = closed.row.starts_with("omitted: ") || closed.row.starts_with("replaced: ");
            assert!(said, "{}", closed.name);
        }
    }
}
