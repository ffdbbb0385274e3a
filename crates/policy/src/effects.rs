//! Effects: what a call would touch, in terms every gate understands.

use std::path::Path;

use crate::commands::{self, Access};
use crate::path::{PathError, Target};
use crate::shell::{self, Direction};

/// Command lines longer than this are not taken apart; they count as opaque.
const LONGEST_COMMAND: usize = 10_000;

/// The effects a tool declares for one input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Files and directories whose content or listing it reads.
    pub reads: Vec<Target>,
    /// Files it creates, replaces or removes.
    pub writes: Vec<Target>,
    /// Shell commands it starts, in the order they stand.
    pub commands: Vec<shell::Command>,
    /// Of the writes, those by redirection: the shell makes them, whatever the command is.
    pub redirected: Vec<Target>,
    /// Hosts it speaks to.
    pub hosts: Vec<String>,
    /// Set when the lists above may be incomplete, with the reason. Such a call counts as
    /// destructive.
    pub opaque: Option<String>,
}

impl Effects {
    /// Reads one path.
    pub fn read(target: Target) -> Self {
        Self { reads: vec![target], ..Self::default() }
    }

    /// Reads and replaces one path.
    pub fn replace(target: Target) -> Self {
        Self { reads: vec![target.clone()], writes: vec![target], ..Self::default() }
    }

    /// What a shell command line started in `cwd` would touch, as far as its text tells: redirections,
    /// and the operands of commands that are known to take files. Command lines within it, as in
    /// `bash -c '…'`, are taken apart too.
    pub fn of_shell(source: &str, cwd: &Path) -> Result<Self, PathError> {
        if source.len() > LONGEST_COMMAND {
            return Ok(Self {
                opaque: Some(format!("the command is longer than {LONGEST_COMMAND} bytes")),
                ..Self::default()
            });
        }
        let script = commands::expand(shell::parse(source));
        let moves = script.commands.iter().any(|command| {
            matches!(command.name(), Some("cd" | "pushd" | "popd")) || command.name().is_none()
        });
        let mut effects = Self { opaque: script.opaque, ..Self::default() };
        for redirect in &script.redirects {
            let Some(target) = &redirect.target.literal else {
                let text = &redirect.target.source;
                effects.opaque.get_or_insert(format!("the redirection target {text} is not fixed"));
                continue;
            };
            if target == "/dev/null" {
                continue;
            }
            if moves && !target.starts_with('/') {
                effects.opaque.get_or_insert(format!(
                    "the redirection target {target} is relative and the command changes directory"
                ));
            }
            let resolved = Target::of(cwd, target)?;
            match redirect.direction {
                Direction::Read => effects.reads.push(resolved),
                Direction::Write => effects.redirected.push(resolved),
                Direction::ReadWrite => {
                    effects.reads.push(resolved.clone());
                    effects.redirected.push(resolved);
                }
            }
        }
        effects.writes.clone_from(&effects.redirected);
        for command in &script.commands {
            let targets = |access| {
                let operands = commands::file_operands(&command.words, access).into_iter();
                operands.filter_map(|operand| Target::of(cwd, operand).ok())
            };
            effects.reads.extend(targets(Access::Reads));
            effects.writes.extend(targets(Access::Writes));
        }
        effects.commands = script.commands;
        Ok(effects)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(source: &str) -> Effects {
        Effects::of_shell(source, Path::new("/")).unwrap()
    }

    #[test]
    fn redirections_are_reads_and_writes() {
        let effects = of("sort < /in >> /out 2>/err; echo x >/dev/null");
        let at = |path: &str| Target::real(path.into());
        assert_eq!(effects.reads, [at("/in")]);
        assert_eq!(effects.writes, [at("/out"), at("/err")]);
        assert_eq!(effects.commands.len(), 2);
        assert_eq!(effects.opaque, None);
    }

    #[test]
    fn what_the_text_does_not_tell_is_opaque() {
        assert!(of("echo > $OUT").opaque.is_some());
        assert!(of("echo > ~/x").opaque.is_some());
        assert!(of("cd sub && echo > x").opaque.is_some());
        assert!(of("$CMD && echo > x").opaque.is_some());
        assert!(of("echo 'unterminated").opaque.is_some());
        assert!(of(&"a".repeat(10_001)).opaque.is_some());
        assert!(of("cd /sub && echo > /x").opaque.is_none());
    }
}
