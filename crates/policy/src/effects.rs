//! Effects: what a call would touch, in terms every gate understands.

use std::path::{Path, PathBuf};

use crate::path::{self, PathError};
use crate::shell::{self, Direction};

/// Command lines longer than this are not taken apart; they count as opaque.
const LONGEST_COMMAND: usize = 10_000;

/// The effects a tool declares for one input. Paths are resolved.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Effects {
    /// Files and directories whose content or listing it reads.
    pub reads: Vec<PathBuf>,
    /// Files it creates, replaces or removes.
    pub writes: Vec<PathBuf>,
    /// Shell commands it starts, in the order they stand.
    pub commands: Vec<shell::Command>,
    /// Hosts it speaks to.
    pub hosts: Vec<String>,
    /// Set when the lists above may be incomplete, with the reason. Such a call counts as
    /// destructive.
    pub opaque: Option<String>,
}

impl Effects {
    /// Reads one path.
    pub fn read(path: PathBuf) -> Self {
        Self { reads: vec![path], ..Self::default() }
    }

    /// Reads and replaces one path.
    pub fn replace(path: PathBuf) -> Self {
        Self { reads: vec![path.clone()], writes: vec![path], ..Self::default() }
    }

    /// What a shell command line started in `cwd` would touch, as far as its text tells.
    ///
    /// Only redirections count as reads and writes here. What a command such as `rm` does with its
    /// arguments is the business of whoever judges `commands`.
    pub fn of_shell(source: &str, cwd: &Path) -> Result<Self, PathError> {
        if source.len() > LONGEST_COMMAND {
            return Ok(Self {
                opaque: Some(format!("the command is longer than {LONGEST_COMMAND} bytes")),
                ..Self::default()
            });
        }
        let script = shell::parse(source);
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
            let resolved = path::resolve(cwd, target)?;
            match redirect.direction {
                Direction::Read => effects.reads.push(resolved),
                Direction::Write => effects.writes.push(resolved),
                Direction::ReadWrite => {
                    effects.reads.push(resolved.clone());
                    effects.writes.push(resolved);
                }
            }
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
        assert_eq!(effects.reads, [PathBuf::from("/in")]);
        assert_eq!(effects.writes, [PathBuf::from("/out"), PathBuf::from("/err")]);
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
