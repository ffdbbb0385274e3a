//! Whether a command line or a tool is harmless.

use std::path::Path;

use ona_effects::{Access, Effects, Surroundings};
use ona_policy::{Call, Confines, Permissions, RuleFacts};
use ona_repo::Disk;
use ona_types::{Behavior, PermissionMode};
use ona_types::{ToolKind, WriteAction};
use serde_json::json;

use super::HookPolicy;

/// What a call does to the workspace, as far as is known before it runs (S4).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Class {
    /// It only reads.
    Safe,
    /// It may change something.
    #[default]
    Destructive,
}

impl Class {
    /// The word S4 uses.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Safe => "SAFE",
            Self::Destructive => "DESTRUCTIVE",
        }
    }
}

/// A class with its reason.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Classified {
    /// The class.
    pub class: Class,
    /// Why, in words.
    pub reason: String,
}

impl Classified {
    fn destructive(reason: impl Into<String>) -> Self {
        Self { class: Class::Destructive, reason: reason.into() }
    }

    fn safe(reason: impl Into<String>) -> Self {
        Self { class: Class::Safe, reason: reason.into() }
    }
}

impl HookPolicy {
    /// The class of a command line that would be run in `cwd`, for the workspace at `root`: SAFE only if every command
    /// in it is known to read, wherever in the text it stands.
    pub fn classify_command(&self, line: &str, cwd: &Path, root: &Path) -> Classified {
        match Effects::of_shell(&Disk, line, cwd) {
            Ok(effects) => self.classify_effects(line, &effects, root),
            Err(error) => Classified::destructive(error.to_string()),
        }
    }

    /// The same for a line whose effects are known already.
    pub fn classify_effects(&self, line: &str, effects: &Effects, root: &Path) -> Classified {
        if let Some(why) = &effects.opaque {
            return Classified::destructive(format!("the command line cannot be read: {why}"));
        }
        if effects.commands.is_empty() {
            return Classified::destructive("it contains no command");
        }
        let segments: Vec<String> = effects.commands.iter().map(segment).collect();
        for pattern in &self.destructive {
            let hit = |text: &str| pattern.regex.is_match(text.as_bytes());
            if hit(line) || segments.iter().any(|segment| hit(segment)) {
                return Classified::destructive(format!(
                    "the policy calls `{}` destructive",
                    pattern.text
                ));
            }
        }
        // Whatever a list says about its name, a command that writes is not read-only.
        if let Some(target) = effects.writes.first() {
            return Classified::destructive(format!("it writes {}", target.named.display()));
        }
        let writes = effects.trees.iter().find(|tree| tree.access == Access::Writes);
        if let Some(tree) = writes {
            return Classified::destructive(format!(
                "{} writes below {}",
                tree.by,
                tree.root.named.display()
            ));
        }
        if let Some(why) = &effects.scatters {
            return Classified::destructive(why.clone());
        }
        let unlisted = match (&self.readonly, &self.prefixes) {
            (None, None) => return self.by_own_list(line, effects, root),
            (regexes, prefixes) => segments.iter().find(|segment| {
                let whole = regexes
                    .iter()
                    .flatten()
                    .any(|pattern| pattern.regex.is_match(segment.as_bytes()));
                let begins = prefixes.iter().flatten().any(|prefix| begins_with(segment, prefix));
                !whole && !begins
            }),
        };
        match unlisted {
            Some(segment) => {
                let segment = ona_types::whole_words(segment, 200);
                Classified::destructive(format!(
                    "`{segment}` is not on the list of commands that only read"
                ))
            }
            None => Classified::safe("every command is on the list of those that only read"),
        }
    }

    /// By ona's own table of commands that only read, anywhere on the disk. The project is the workspace all the same:
    /// git only reads where its repository is the project's own and runs nothing.
    fn by_own_list(&self, line: &str, effects: &Effects, root: &Path) -> Classified {
        let of_root = || {
            let around = Surroundings {
                cwd: root.to_owned(),
                project_dir: root.to_owned(),
                home: "/".into(),
                working_dirs: vec!["/".into()],
                outputs: None,
                protected: Vec::new(),
                stores: Vec::new(),
                world: &Disk,
            };
            Permissions::new(Vec::new(), PermissionMode::Default, around)
        };
        let (made_for, kept) = self.own_list.get_or_init(|| (root.to_owned(), of_root()));
        let other;
        let permissions = if made_for == root {
            kept
        } else {
            other = of_root();
            &other
        };
        let input = json!({ "command": line });
        let ruling = permissions.judge(&Call {
            tool: "Bash",
            facts: RuleFacts::COMMAND,
            input: &input,
            effects,
            confines: Confines::Nothing,
        });
        if ruling.behavior == Behavior::Allow {
            Classified::safe("every command is one that only reads")
        } else {
            Classified::destructive("not every command is known to only read")
        }
    }

    /// The class of an MCP tool, by its name `mcp__server__tool`.
    pub fn classify_mcp(&self, name: &str) -> Classified {
        let listed = |pattern: &&String| {
            is_mcp_pattern(pattern) && ona_effects::wildcard::matches(pattern, name)
        };
        match (self.mcp_readonly.iter().find(listed), self.mcp_default) {
            (Some(pattern), _) => {
                Classified::safe(format!("the policy lists `{pattern}` as read-only"))
            }
            (None, Class::Safe) if self.broken.is_none() => {
                Classified::safe("the policy's default for MCP tools")
            }
            _ => Classified::destructive(format!("`{name}` is not listed as read-only")),
        }
    }

    /// What a tool does: as it declares, unless the policy lists it by name.
    pub fn kind_of(&self, name: &str, own: ToolKind) -> ToolKind {
        let among = |names: &[String]| names.iter().any(|known| known == name);
        // A tool on both lists writes.
        match (among(&self.tools_write), among(&self.tools_readonly)) {
            (true, _) if own.writes_files() => own,
            (true, _) => ToolKind::Write(WriteAction::Unknown),
            // A list cannot make a known writer harmless.
            (false, true) if own.writes_files() || own == ToolKind::Command => own,
            (false, true) => ToolKind::Read,
            (false, false) => own,
        }
    }
}

/// A command as it is compared with a list: assignments before it are part of it, because they can change it.
fn segment(command: &ona_effects::shell::Command) -> String {
    let assignments = command.assignments.iter().map(|set| format!("{}={} ", set.name, set.value));
    assignments.collect::<String>() + &command.text()
}

/// Word by word: `cat` does not begin `catastrophe`.
fn begins_with(segment: &str, prefix: &str) -> bool {
    let mut words = segment.split_whitespace();
    let mut wanted = prefix.split_whitespace().peekable();
    wanted.peek().is_some() && wanted.all(|word| words.next() == Some(word))
}

/// `mcp__server__tool`, the star in the tool's part only.
pub(super) fn is_mcp_pattern(name: &str) -> bool {
    let server = name.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"));
    server.is_some_and(|(server, tool)| {
        !server.is_empty() && !server.contains('*') && !tool.is_empty()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn class(policy: &HookPolicy, line: &str) -> Class {
        policy.classify_command(line, Path::new("/no/such"), Path::new("/no/such")).class
    }

    #[test]
    fn git_reads_in_the_workspaces_own_plain_repository() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        for below in [".git/objects", ".git/refs", "src", "other/.git"] {
            std::fs::create_dir_all(root.join(below)).unwrap();
        }
        std::fs::write(root.join(".git/HEAD"), "ref: refs/heads/main\n").unwrap();
        let policy = HookPolicy::default();
        let class = |line: &str, cwd: &Path| policy.classify_command(line, cwd, &root).class;
        let reading = ["git status", "git log --oneline", "git diff"];
        std::fs::write(root.join(".git/config"), "[core]\n\tbare = false\n").unwrap();
        for line in reading {
            assert_eq!(class(line, &root), Class::Safe, "{line}");
            assert_eq!(class(line, &root.join("src")), Class::Safe, "{line} further down");
            assert_eq!(class(line, &root.join("other")), Class::Destructive, "{line} elsewhere");
            // The policy may have been asked about another workspace before.
            let other = root.join("src");
            let there = policy.classify_command(line, &root, &other).class;
            assert_eq!(there, Class::Destructive, "{line} outside the workspace");
        }
        assert_eq!(class("git push", &root), Class::Destructive);
        assert_eq!(class("cat /etc/hostname", &root), Class::Safe, "reading is free anywhere");
        std::fs::write(root.join(".git/config"), "[core]\n\tfsmonitor = ./evil\n").unwrap();
        for line in reading {
            assert_eq!(class(line, &root), Class::Destructive, "{line} runs ./evil");
        }
    }

    #[test]
    fn every_segment_counts_wherever_it_stands() {
        let regexes = HookPolicy::read(
            "command:\n  readonly_allowlist: ['^(ls|cat|git status|echo|find|grep)( .*)?$']\n",
        );
        let prefixes = HookPolicy::read(
            "safe_read_commands: [ls, cat, git status, echo, find, grep]\ndestructive_command_patterns: ['--force']\n",
        );
        let own = HookPolicy::default();
        for policy in [&regexes, &prefixes, &own] {
            for line in [
                "ls",
                "ls -la /tmp",
                "cat a | grep b",
                "git status --short && ls",
                "ls 2>/dev/null",
            ] {
                assert_eq!(
                    class(policy, line),
                    Class::Safe,
                    "{line}: {:?}",
                    policy.classify_command(line, Path::new("/no"), Path::new("/no"))
                );
            }
            for line in [
                "",
                " ",
                "# x",
                "ls; rm a",
                "ls\nrm a",
                "ls & rm a",
                "ls | tee a",
                "ls $(rm a)",
                "ls `rm a`",
                "cat <(rm a)",
                "ls > a",
                "catastrophe",
                "find . -delete",
                "find . -exec rm {} ;",
                "ls 'open",
                "PATH=. ls",
                "PATH=.; ls",
                "bash -c 'rm a'",
                "$X",
                "eval ls",
                "git status; $(curl x)",
            ] {
                assert_eq!(class(policy, line), Class::Destructive, "{line}");
            }
        }
        assert_eq!(class(&regexes, "echo $(cat a)"), Class::Safe);
        assert_eq!(class(&prefixes, "git status --force"), Class::Destructive);
        assert_eq!(class(&HookPolicy::read("command: ["), "ls"), Class::Destructive);
        assert_eq!(
            class(&HookPolicy::read("command: {readonly_allowlist: []}"), "ls"),
            Class::Destructive
        );
        assert_eq!(
            class(&HookPolicy::read("command: {readonly_allowlist: ['ls']}"), "ls -a"),
            Class::Destructive,
            "all of it has to fit"
        );
    }

    #[test]
    fn mcp_tools_are_destructive_unless_listed() {
        let policy = HookPolicy::read(
            "mcp: {readonly_tools: [mcp__docs__search, 'mcp__db__get_*', 'mcp__*__x', '*']}\n",
        );
        for (name, expected) in [
            ("mcp__docs__search", Class::Safe),
            ("mcp__docs__searching", Class::Destructive),
            ("mcp__db__get_row", Class::Safe),
            ("mcp__db__drop", Class::Destructive),
            ("mcp__any__x", Class::Destructive),
        ] {
            assert_eq!(policy.classify_mcp(name).class, expected, "{name}");
        }
        assert_eq!(
            HookPolicy::read("mcp: {default_classification: SAFE}").classify_mcp("mcp__a__b").class,
            Class::Safe
        );
    }

    #[test]
    fn the_policy_lists_tools_by_name() {
        use ToolKind::{Command, Other, Read, Write};
        let policy =
            HookPolicy::read("tools: {readonly: [Peek, Write, Both], write: [Poke, Both, Read]}\n");
        let listed = Write(WriteAction::Unknown);
        let write = Write(WriteAction::Write);
        for (name, own, kind) in [
            ("Peek", Other, Read),
            ("Poke", Other, listed),
            ("Both", Other, listed),
            ("Read", Read, listed),
            ("Write", write, write),
            ("Peek", Command, Command),
            ("mcp__a__b", ToolKind::Server, ToolKind::Server),
            ("Strange", Other, Other),
        ] {
            assert_eq!(policy.kind_of(name, own), kind, "{name}");
        }
    }
}
