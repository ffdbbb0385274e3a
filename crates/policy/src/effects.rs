//! Effects: what a call would touch, in terms every gate understands.

mod git;

use std::path::{Path, PathBuf};

use ona_types::World;

use crate::commands;
use crate::files::{self, Operand, Touched};
pub use crate::files::{Access, Skips};
use crate::path::{self, PathError, Target};
use crate::shell::{self, Direction, Script};
use git::Line;

/// The limit for a command line, in bytes; a longer one counts as opaque.
const MAX_COMMAND: usize = 10_000;
/// The limit for the directories a command line may be in; beyond it, it is not followed.
const MAX_DIRS: usize = 16;

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
    /// And of the reads.
    pub fed: Vec<Target>,
    /// Directories it goes through with all that is in them.
    pub trees: Vec<Tree>,
    /// What git does with files that it tracks: in which checkouts, and below what.
    pub tracked: Vec<TrackedFiles>,
    /// Arguments of unknown programs that could be files: the program, and the file.
    pub given: Vec<(String, Target)>,
    /// Hosts it speaks to.
    pub hosts: Vec<String>,
    /// Directories its commands may run in: where it starts, and wherever it changes to.
    pub dirs: Vec<PathBuf>,
    /// What a command reads from the text depends on variables.
    pub here_expands: bool,
    /// Set when a command may touch files that are not listed, with the reason. It matters where a rule
    /// forbids some files.
    pub unsure: Option<String>,
    /// The same, where it can only be writing.
    pub scatters: Option<String>,
    /// The same, where it writes files whose names come from elsewhere: they may be protected ones.
    pub feeds_writer: Option<String>,
    /// Set when the lists above may be incomplete, with the reason. Such a call counts as
    /// destructive.
    pub opaque: Option<String>,
}

/// Variables that are certainly set before a command, once and to what.
fn settled(script: &Script, before: usize) -> Vec<(&str, &str)> {
    let all: Vec<&shell::Assignment> =
        script.commands.iter().flat_map(|command| &command.assignments).collect();
    let once =
        |one: &&&shell::Assignment| all.iter().filter(|other| other.name == one.name).count() == 1;
    let plain = |one: &&&shell::Assignment| {
        one.value.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./-".contains(&b))
    };
    let earlier = script.commands[..before].iter().flat_map(|command| &command.assignments);
    let found: Vec<&shell::Assignment> = earlier.filter(|one| one.sure).collect();
    let found = found.iter().filter(once).filter(plain);
    found.map(|one| (one.name.as_str(), one.value.as_str())).collect()
}

/// A command with such variables in place.
fn with_values(command: &shell::Command, set: &[(&str, &str)]) -> shell::Command {
    let mut command = command.clone();
    for word in command.words.iter_mut().filter(|word| word.literal.is_none()) {
        let mut text = word.source.replace('"', "");
        for (name, value) in set {
            text = text.replace(&format!("${{{name}}}"), value);
            let whole = |at: usize| {
                let behind = text[at + name.len() + 1..].chars().next();
                behind.is_none_or(|c| !c.is_ascii_alphanumeric() && c != '_')
            };
            let found = text.find(&format!("${name}")).filter(|at| whole(*at));
            if let Some(at) = found {
                text.replace_range(at..at + name.len() + 1, value);
            }
        }
        let fixed = text.bytes().all(|b| b.is_ascii_alphanumeric() || b"_./-".contains(&b));
        if fixed && text != word.source {
            word.literal = Some(text);
        }
    }
    command
}

/// How scripts say where the top of their checkout is.
pub(crate) const TOPLEVEL: &str = "\"$(git rev-parse --show-toplevel)\"";

/// The top of the checkout that a directory belongs to, as text.
pub(crate) fn checkout(world: &dyn World, dir: &Path) -> Option<String> {
    world.checkout(dir)?.into_os_string().into_string().ok()
}

/// A directory with all that is in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tree {
    /// What is done with it.
    pub access: Access,
    /// Where it begins.
    pub root: Target,
    /// What of it is left out.
    pub skips: Skips,
    /// Who goes through it.
    pub by: String,
}

/// Files that git tracks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrackedFiles {
    /// What is done with them.
    pub access: Access,
    /// Where git runs.
    pub dir: PathBuf,
    /// Only those below one of these, if there are any.
    pub below: Vec<Target>,
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
    pub fn of_shell(world: &dyn World, source: &str, cwd: &Path) -> Result<Self, PathError> {
        if source.len() > MAX_COMMAND {
            return Ok(Self {
                opaque: Some(format!("the command is longer than {MAX_COMMAND} bytes")),
                ..Self::default()
            });
        }
        let script = shell::parse(source);
        let outermost = script.commands.len();
        let script = commands::expand(script);
        // Loops and `read` set variables too, and a command line within the line has its own.
        let one_scope = !script.sets_otherwise && outermost == script.commands.len();
        let mut effects = Self {
            opaque: script.opaque.clone(),
            here_expands: script.here_expands,
            dirs: vec![cwd.to_owned()],
            ..Self::default()
        };
        effects.follow(world, &script);
        effects.redirect(world, &script)?;
        let line = Line { source, script: &script };
        for (at, command) in script.commands.iter().enumerate() {
            let set = if one_scope { settled(&script, at) } else { Vec::new() };
            effects.touch(world, &with_values(command, &set), line);
        }
        effects.feed(world, &script);
        effects.commands = script.commands;
        Ok(effects)
    }

    fn doubt(&mut self, why: String) {
        self.opaque.get_or_insert(why);
    }

    /// The top of the one checkout that all the directories belong to.
    fn checkout(&self, world: &dyn World) -> Option<String> {
        let first = checkout(world, self.dirs.first()?)?;
        self.dirs.iter().all(|dir| checkout(world, dir).as_ref() == Some(&first)).then_some(first)
    }

    /// Notes where the commands may run, and which of them the text does not fix.
    fn follow(&mut self, world: &dyn World, script: &Script) {
        for command in &script.commands {
            let Some(first) = command.words.first() else { continue };
            let Some(name) = command.name() else {
                self.doubt(format!("the value of `{}` is only known at run time", first.source));
                continue;
            };
            if commands::runs_unknown(&command.words) {
                self.doubt(format!("what `{name}` runs is only known at run time"));
            }
            if !matches!(name, "cd" | "pushd" | "popd") {
                continue;
            }
            let operand = command.words[1..].iter().find(|word| !word.source.starts_with('-'));
            let to = operand.and_then(|word| match word.literal.as_deref() {
                None if word.source == TOPLEVEL => self.checkout(world),
                literal => literal.map(str::to_owned),
            });
            let to = to.filter(|to| name == "cd" && to != "-");
            let Some(to) = to.filter(|_| self.dirs.len() < MAX_DIRS) else {
                self.doubt(format!("where `{}` leads is only known at run time", command.text()));
                continue;
            };
            // Bash takes `..` away in the text, before it follows links; `cd -P` after.
            let there = self.dirs.iter().flat_map(|dir| {
                [world.resolve(dir, Path::new(&to)).ok(), Some(path::in_words(&dir.join(&to)))]
            });
            let there: Vec<PathBuf> = there.flatten().collect();
            for dir in there {
                if !self.dirs.contains(&dir) {
                    self.dirs.push(dir);
                }
            }
        }
    }

    fn redirect(&mut self, world: &dyn World, script: &Script) -> Result<(), PathError> {
        for redirect in &script.redirects {
            let Some(target) = &redirect.target.literal else {
                self.doubt(format!(
                    "the redirection target {} is only known at run time",
                    redirect.target.source
                ));
                continue;
            };
            if target == "/dev/null" {
                continue;
            }
            if target.starts_with("/dev/tcp/") || target.starts_with("/dev/udp/") {
                self.doubt(format!("{target} opens a network connection"));
            }
            if self.dirs.len() > 1 && !target.starts_with('/') {
                self.doubt(format!(
                    "the redirection target {target} is relative and the command changes directory"
                ));
            }
            let resolved = Target::of(world, &self.dirs[0], target)?;
            match redirect.direction {
                Direction::Read => self.fed.push(resolved),
                Direction::Write => self.redirected.push(resolved),
                Direction::ReadWrite => {
                    self.fed.push(resolved.clone());
                    self.redirected.push(resolved);
                }
            }
        }
        self.writes.clone_from(&self.redirected);
        self.reads.clone_from(&self.fed);
        Ok(())
    }

    /// Notes the files that a command is known to take.
    fn touch(&mut self, world: &dyn World, command: &shell::Command, line: Line<'_>) {
        let touched = files::touched(&command.words);
        let Touched { files, trees, given, unsure, scatters, .. } = touched;
        self.touch_git(world, touched.in_git, line);
        self.unsure = self.unsure.take().or(unsure);
        self.scatters = self.scatters.take().or(scatters);
        for (access, operand) in files {
            let targets = self.targets(world, &operand);
            match access {
                Access::Reads => self.reads.extend(targets),
                Access::Writes => self.writes.extend(targets),
            }
        }
        for tree in trees {
            self.go_through(world, &tree);
        }
        for (program, piece) in given {
            let found = self.dirs.iter().filter_map(|dir| Target::of(world, dir, &piece).ok());
            let found: Vec<Target> = found.collect();
            self.given.extend(found.into_iter().map(|target| (program.clone(), target)));
        }
    }

    /// Notes which files `xargs` may be told of: those in the directories that are listed, if all the rest of
    /// the command line does is to list some.
    fn feed(&mut self, world: &dyn World, script: &Script) {
        let fed = script.commands.iter().find_map(|command| files::touched(&command.words).fed);
        let Some(access) = fed else { return };
        let listed: Option<Vec<Vec<Option<Operand>>>> =
            script.commands.iter().map(|command| files::listed(&command.words)).collect();
        let listed = listed.filter(|roots| {
            script.redirects.is_empty()
                && !script.here
                && roots.iter().any(|roots| !roots.is_empty())
        });
        let Some(listed) = listed else {
            let why = "`xargs` takes names from its input".to_owned();
            if access == Access::Writes {
                self.feeds_writer.get_or_insert(why.clone());
            }
            self.unsure.get_or_insert(why);
            return;
        };
        for root in listed.into_iter().flatten() {
            for access in [Access::Reads, access] {
                let by = "`xargs`".to_owned();
                let (root, skips) = (root.clone(), Skips::default());
                self.go_through(world, &files::Tree { access, root, skips, by });
            }
        }
    }

    fn go_through(&mut self, world: &dyn World, tree: &files::Tree) {
        let here = Operand::Fixed(".".to_owned());
        for root in self.targets(world, tree.root.as_ref().unwrap_or(&here)) {
            let files::Tree { access, skips, by, .. } = tree.clone();
            let tree = Tree { access, root, skips, by };
            if !self.trees.contains(&tree) {
                self.trees.push(tree);
            }
        }
    }

    /// What an operand names, wherever the command may be.
    fn targets(&mut self, world: &dyn World, operand: &Operand) -> Vec<Target> {
        let mut targets = Vec::new();
        for dir in &self.dirs {
            match operand {
                Operand::Fixed(file) => targets.extend(Target::of(world, dir, file)),
                Operand::Glob(pattern) => match files::expand(world, dir, pattern) {
                    Some(found) => {
                        targets.extend(
                            found.iter().filter_map(|file| Target::of(world, dir, file).ok()),
                        );
                    }
                    None => {
                        self.unsure.get_or_insert(format!("{pattern} matches too many files"));
                    }
                },
            }
        }
        targets
    }
}

#[cfg(test)]
mod tests {
    use ona_testkit::Disk;

    use super::*;

    fn of(source: &str) -> Effects {
        Effects::of_shell(&Disk, source, Path::new("/")).unwrap()
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
    fn files_are_looked_for_wherever_the_command_may_be() {
        let effects = of("cd /a && cd b && cat f");
        let reads: Vec<_> =
            effects.reads.iter().map(|target| target.named.display().to_string()).collect();
        assert_eq!(reads, ["/f", "/a/f", "/b/f", "/a/b/f"]);
        for source in [
            "c=rm; env $c -f x",
            "timeout 5 $c x",
            "xargs $c",
            "env {rm,x}",
            "cd \"-\"",
            "sudo \"$@\"",
        ] {
            assert!(of(source).opaque.is_some(), "{source}");
        }
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
        for source in ["$X x", "$(echo rm) x", "\"$x\"rm x", "rm${IFS}x", "cd -", "cd", "cd $X"] {
            assert!(of(source).opaque.is_some(), "{source}");
        }
    }
}
