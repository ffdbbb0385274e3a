//! Suggests allow rules for a call that is asked about: as few as possible, each
//! tested before it is offered.

use std::path::Path;

use ona_types::{Behavior, RuleValue, World};

use crate::permissions::{By, Call, Permissions};
use crate::rule::{Anchors, Rule, Scope, Source};
use crate::subject::RuleSubject;
use ona_effects::path::Target;
use ona_effects::read_only::{READ_ONLY, ReadOnly};
use ona_effects::shell::{Command, Word};
use ona_programs::commands;

/// Programs whose subcommand says what they do.
#[rustfmt::skip]
const WITH_SUBCOMMANDS: &[&str] = &[
    "apt", "aws", "brew", "bun", "cargo", "deno", "docker", "dotnet", "gh", "git", "go", "gradle", "helm",
    "kubectl", "make", "mvn", "npm", "npx", "pip", "pnpm", "podman", "poetry", "rustup", "systemctl",
    "terraform", "uv", "yarn",
];

/// Programs whose arguments say what is deleted, overwritten, ended, opened or sent: one command that was looked at says
/// nothing about the next. Only the command itself is offered.
#[rustfmt::skip]
const ARGUMENTS_DECIDE: &[&str] = &[
    // Files.
    "chattr", "chgrp", "chmod", "chown", "cp", "dd", "install", "ln", "mv", "rename", "rm", "rmdir", "rsync", "setfacl",
    "shred", "srm", "tee", "truncate", "unlink", "wipe",
    // What they do is in their first argument.
    "awk", "gawk", "mawk", "perl", "sed",
    // Disks and the system.
    "fdisk", "halt", "iptables", "losetup", "mkfs", "mkswap", "mount", "nft", "parted", "poweroff", "reboot", "shutdown",
    "sysctl", "umount", "useradd", "userdel", "usermod", "crontab", "at",
    // Processes.
    "kill", "killall", "pkill",
    // The network.
    "curl", "ftp", "http", "https", "nc", "ncat", "netcat", "scp", "sftp", "socat", "ssh", "telnet", "wget", "xh",
    // Databases.
    "dropdb", "mongosh", "mysql", "psql", "redis-cli", "sqlite3",
];

/// Subcommands of which the same holds.
#[rustfmt::skip]
const SUBCOMMANDS_DECIDE: &[&str] = &[
    "apply", "checkout", "clean", "cp", "delete", "deploy", "destroy", "disable", "down", "drain", "drop", "exec", "kill",
    "login", "logout", "mask", "merge", "mv", "poweroff", "prune", "publish", "purge", "push", "reboot", "rebase", "remove", "reset",
    "restore", "rm", "rmi", "rollback", "run-script", "s3", "ssh", "stop", "switch", "uninstall", "unpublish", "yank",
];

impl Permissions {
    /// The rules that would allow the call; none if no rules would, or none are needed.
    pub fn suggestions(&self, call: &Call<'_>) -> Vec<RuleValue> {
        // A rule that somebody wrote, or a command that cannot be read, is not overruled by another rule.
        if !matches!(self.judge(call).by, By::Mode(_)) {
            return Vec::new();
        }
        let world = self.around().world;
        let lacking = self.lacking(call);
        // What is free because it only reads may still lack the right to write where its output goes.
        let written = call.effects.redirected.iter();
        let with_output = lacking.iter().cloned();
        let with_output =
            with_output.chain(written.map(|target| rule("Edit", path_rule(world, &target.real))));
        let attempts = [unique(lacking.clone()), unique(with_output.collect())];
        attempts.into_iter().find(|wanted| self.turned_by(wanted, call)).unwrap_or_default()
    }

    fn turned_by(&self, wanted: &[RuleValue], call: &Call<'_>) -> bool {
        let anchors = Anchors::of(self.around());
        let rules: Option<Vec<Rule>> = wanted
            .iter()
            .map(|rule| {
                let source = Source::of(Scope::Session);
                Rule::parse(&rule.to_string(), Behavior::Allow, source, &anchors).ok()
            })
            .map(|parsed| parsed.map(|(rule, _)| rule))
            .collect();
        rules.is_some_and(|rules| {
            !rules.is_empty() && self.with(rules).judge(call).behavior == Behavior::Allow
        })
    }

    fn lacking(&self, call: &Call<'_>) -> Vec<RuleValue> {
        let (world, effects) = (self.around().world, call.effects);
        match call.facts.subject {
            RuleSubject::Command => {
                let open = effects.commands.iter().filter(|one| !self.covers_command(one, effects));
                let commands = open.map(|command| rule("Bash", command_rule(command)));
                let written = effects.redirected.iter().filter(|target| !self.reaches(target));
                commands
                    .chain(written.map(|target| rule("Edit", path_rule(world, &target.real))))
                    .collect()
            }
            RuleSubject::Reads => paths(world, "Read", &effects.reads),
            RuleSubject::Writes => paths(world, "Edit", &effects.writes),
            RuleSubject::Domain => effects
                .hosts
                .iter()
                .map(|host| rule("WebFetch", format!("domain:{host}")))
                .collect(),
            RuleSubject::Name | RuleSubject::Field { .. } => {
                vec![RuleValue { tool_name: call.tool.to_owned(), rule_content: None }]
            }
        }
    }
}

/// Rules that name what the call would do, the narrowest first.
pub(crate) fn naming(world: &dyn World, call: &Call<'_>) -> Vec<String> {
    let effects = call.effects;
    let commands = effects.commands.iter().map(|command| rule("Bash", command_rule(command)));
    let narrow = match call.facts.subject {
        RuleSubject::Command => commands.collect(),
        RuleSubject::Reads => paths(world, "Read", &effects.reads),
        RuleSubject::Writes => paths(world, "Edit", &effects.writes),
        RuleSubject::Name | RuleSubject::Domain | RuleSubject::Field { .. } => Vec::new(),
    };
    narrow.iter().map(ToString::to_string).chain([call.tool.to_owned()]).collect()
}

fn unique(rules: Vec<RuleValue>) -> Vec<RuleValue> {
    let mut wanted: Vec<RuleValue> = Vec::new();
    for rule in rules {
        if !wanted.contains(&rule) {
            wanted.push(rule);
        }
    }
    wanted
}

fn rule(tool: &str, content: String) -> RuleValue {
    RuleValue { tool_name: tool.to_owned(), rule_content: Some(content) }
}

fn paths(world: &dyn World, tool: &str, targets: &[Target]) -> Vec<RuleValue> {
    targets.iter().map(|target| rule(tool, path_rule(world, &target.real))).collect()
}

/// The file itself, or everything in the directory; special characters in the name are escaped.
fn path_rule(world: &dyn World, path: &Path) -> String {
    let name = globset::escape(&path.to_string_lossy());
    if world.is_dir(path) {
        format!("/{}/**", name.trim_end_matches('/'))
    } else {
        format!("/{name}")
    }
}

/// The command, with its subcommand where it has one, and anything after: `npm test *`. The whole of it, where
/// what it does lies in the rest.
fn command_rule(command: &Command) -> String {
    let mut words = command.words.iter().map(|word| word.source.as_str());
    let exact = command.words.is_empty()
        || command.hides_options
        || command.hides_target
        || is_git_elsewhere(&command.words)
        || commands::needs_exact_rule(&command.words)
        || commands::runs_anything(&command.words)
        || arguments_decide(&command.words)
        || !commands::has_safe_assignments(command);
    match words.next() {
        Some(name) if !exact => match words.next() {
            Some(word) if WITH_SUBCOMMANDS.contains(&name) && !word.starts_with('-') => {
                format!("{name} {word} *")
            }
            _ => format!("{name} *"),
        },
        _ => crate::rule::with_assignments(command),
    }
}

/// Whether a rule for any arguments would allow much more than what was looked at.
fn arguments_decide(words: &[Word]) -> bool {
    let mut words = words.iter().map(|word| word.literal.as_deref().unwrap_or(&word.source));
    let Some(name) = words.next() else { return true };
    let program = name.rsplit('/').next().unwrap_or(name);
    if WITH_SUBCOMMANDS.contains(&program) {
        // Behind an option it cannot be told which word is the subcommand.
        let mut words = words.peekable();
        let begins = words.peek().is_none_or(|word| word.starts_with('-'));
        return begins || words.any(|word| SUBCOMMANDS_DECIDE.contains(&word));
    }
    ARGUMENTS_DECIDE.contains(&program) || program.starts_with("mkfs.")
}

/// Whether it is git with an option before its subcommand, or a subcommand that is free in an ordinary repository: what
/// is wrong is the place, and a rule for every place would cover it.
fn is_git_elsewhere(words: &[Word]) -> bool {
    let mut words = words.iter().map(|word| word.source.as_str());
    let (Some("git"), Some(next)) = (words.next(), words.next()) else { return false };
    let is_free = |entry: &ReadOnly| entry.command.strip_prefix("git ") == Some(next);
    next.starts_with('-') || READ_ONLY.iter().any(is_free)
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;
    use ona_types::PermissionMode;
    use serde_json::json;

    use super::*;
    use crate::permissions::test_surroundings;
    use crate::subject::RuleFacts;
    use ona_effects::Effects;

    fn suggested(command: &str) -> Vec<String> {
        let permissions =
            Permissions::new(Vec::new(), PermissionMode::Default, test_surroundings());
        let effects = Effects::of_shell(&Disk, command, Path::new("/w/app")).unwrap();
        let call = Call {
            tool: "Bash",
            facts: RuleFacts::of_tool("Bash"),
            input: &json!({}),
            effects: &effects,
            confines: crate::Confines::Nothing,
        };
        permissions.suggestions(&call).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn as_few_rules_as_will_do_and_none_that_would_not() {
        for (command, expected) in [
            ("mkdir a", &["Bash(mkdir *)"][..]),
            ("npm test --silent", &["Bash(npm test *)"]),
            ("ls && npm test", &["Bash(npm test *)"]),
            ("X=1; touch a", &["Bash(X=1)", "Bash(touch *)"]),
            ("FOO=1 npm test", &["Bash(FOO=1 npm test)"]),
            ("find . -delete", &["Bash(find . -delete)"]),
            ("watch ls", &["Bash(watch ls)"]),
            ("npm test > /tmp/out", &["Bash(npm test *)", "Edit(//tmp/out)"]),
            (
                "a;b;c;d;e;f",
                &["Bash(a *)", "Bash(b *)", "Bash(c *)", "Bash(d *)", "Bash(e *)", "Bash(f *)"],
            ),
            ("echo a > b.txt", &["Edit(//w/app/b.txt)"]),
            ("sudo ls", &["Bash(sudo ls)"]),
            ("git commit -m x", &["Bash(git commit *)"]),
            ("git -C /elsewhere add x", &["Bash(git -C /elsewhere add x)"]),
            ("cd /elsewhere && git status", &["Bash(cd *)", "Bash(git status)"]),
            ("python3 -c 1", &["Bash(python3 -c 1)"]),
            ("bash run.sh", &["Bash(bash run.sh)"]),
            ("rm -r build", &["Bash(rm -r build)"]),
            ("/bin/rm a", &["Bash(/bin/rm a)"]),
            ("mv a b && npm test", &["Bash(mv a b)", "Bash(npm test *)"]),
            ("curl https://a.example", &["Bash(curl https://a.example)"]),
            ("git push origin main", &["Bash(git push origin main)"]),
            ("git push", &["Bash(git push)"]),
            ("docker rm -f x", &["Bash(docker rm -f x)"]),
            ("kubectl -n a delete pod x", &["Bash(kubectl -n a delete pod x)"]),
            ("npm publish", &["Bash(npm publish)"]),
            ("ls", &[]),
            ("$X y", &[]),
        ] {
            assert_eq!(suggested(command), expected, "{command}");
        }
    }

    #[test]
    fn names_of_files_are_no_patterns() {
        let permissions =
            Permissions::new(Vec::new(), PermissionMode::Default, test_surroundings());
        let of = |tool: &str, path: &str| -> Vec<String> {
            let target = Target::of(&Disk, Path::new("/w/app"), path).unwrap();
            let effects =
                if tool == "Read" { Effects::read(target) } else { Effects::replace(target) };
            let call = Call {
                tool,
                facts: RuleFacts::of_tool(tool),
                input: &json!({}),
                effects: &effects,
                confines: crate::Confines::Nothing,
            };
            permissions.suggestions(&call).iter().map(ToString::to_string).collect()
        };
        assert_eq!(of("Write", "e*.txt"), ["Edit(//w/app/e[*].txt)"]);
        assert_eq!(of("Read", "/topfile"), ["Read(//topfile)"]);
        assert_eq!(of("Read", "/etc/passwd"), ["Read(//etc/passwd)"]);
        assert!(of("Read", "inside.txt").is_empty(), "it is free already");
    }
}
