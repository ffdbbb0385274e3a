//! Calls that may do what a rule forbids, although no rule matches them for certain. A human has to decide.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::Path;
use std::sync::Arc;

use ona_types::world::{TrackedIn, Wanted};
use ona_types::{Behavior, PermissionMode, World};

use super::{Call, Confines, Permissions};
use crate::rule::{Rule, Scope};
use ona_effects::path::Target;
use ona_effects::wildcard;
use ona_effects::{Access, Given, TrackedFiles, Tree};
use ona_programs::commands;

/// The limit for the files that are checked for a command that walks a directory.
const MAX_FILES: usize = 50_000;

impl Permissions {
    /// Why the call may do what a rule forbids, although no rule matches it for certain.
    pub(super) fn unclear(&self, call: &Call<'_>) -> Option<String> {
        let written: Vec<&Rule> = self
            .of(Behavior::Deny)
            .chain(self.of(Behavior::Ask))
            .filter(|rule| rule.source.scope != Scope::Builtin)
            .collect();
        let forbids = |of_kind: &dyn Fn(&Rule) -> bool| written.iter().any(|rule| of_kind(rule));
        // In bypass mode only written rules count, but those do. So it is where the sandbox protects what is protected.
        let bypassed = self.mode == PermissionMode::BypassPermissions
            || call.confines == Confines::ProtectedToo;
        let opaque = call.effects.opaque.as_ref();
        let limits = |rule: &Rule| !rule.is_bare() || rule.is_about_writing();
        if let Some(why) = opaque.filter(|_| !bypassed || forbids(&limits)) {
            return Some(why.clone());
        }
        for command in &call.effects.commands {
            let all =
                std::iter::once(command.words.as_slice()).chain(commands::suffixes(&command.words));
            let unsure = all.into_iter().any(commands::git_is_unsure);
            if unsure && forbids(&|rule| rule.command().is_some_and(|shape| shape.is_about("git")))
            {
                return Some(
                    "what git is told to do is only known at run time, and there are rules about it"
                        .into(),
                );
            }
            // What `xargs` adds to its words is not in the text.
            if matches!(commands::name(&command.words), Some("xargs" | "parallel")) {
                let named = command.words.iter().filter_map(|word| word.literal.as_deref());
                let programs: Vec<&str> = named.map(commands::base_name).collect();
                let about = |rule: &Rule| {
                    let shape = rule.command();
                    shape.is_some_and(|shape| programs.iter().any(|name| shape.is_about(name)))
                };
                if forbids(&about) {
                    return Some("what `xargs` adds is only known at run time, and there are rules about what it runs".into());
                }
            }
            if let (Some(name), Some(word)) = (command.name(), command.words.get(1))
                && word.literal.is_none()
                && forbids(&|rule| rule.command().is_some_and(|shape| shape.is_about(name)))
            {
                return Some(format!(
                    "what `{name}` is told to do is only known at run time, and there are rules about it"
                ));
            }
        }
        let effects = call.effects;
        let writes_unknown = effects.feeds_writer.as_ref().or(effects.scatters.as_ref());
        if let Some(why) = writes_unknown.filter(|_| !bypassed) {
            return Some(format!("{why}, and some paths are protected"));
        }
        if call.confines != Confines::ProtectedToo
            && let Some(why) = self.unclear_protected(call)
        {
            return Some(why);
        }
        let about_files: Vec<&Rule> =
            written.into_iter().filter(|rule| rule.path().is_some()).collect();
        unclear_files(self.around.world, call, &about_files)
    }
}

impl Permissions {
    /// Why the call may write a protected file, although it is not seen to.
    fn unclear_protected(&self, call: &Call<'_>) -> Option<String> {
        let rules: Vec<&Rule> = self
            .of(Behavior::Ask)
            .filter(|rule| rule.source.scope == Scope::Builtin && rule.path().is_some())
            .collect();
        for given in call.effects.given.iter().filter(|given| given.may_write) {
            let Given { program, target, .. } = given;
            if rules.iter().any(|rule| rule.is_about(target)) && !self.is_named(call, given) {
                let file = target.named.display();
                return Some(format!(
                    "what `{program}` does with {file} is not known, and that path is protected"
                ));
            }
        }
        let mut trees = call.effects.trees.iter().filter(|tree| tree.is_fed_to_writer());
        trees.find_map(|tree| within(self.around.world, tree, &rules))
    }

    /// Whether the rule that allows a program names the file that it is given.
    fn is_named(&self, call: &Call<'_>, given: &Given) -> bool {
        let Some(file) = given.target.named.file_name().and_then(OsStr::to_str) else {
            return false;
        };
        let of_program = |command: &&ona_effects::shell::Command| {
            commands::name(&command.words) == Some(given.program.as_str())
        };
        let mut commands = call.effects.commands.iter().filter(of_program).peekable();
        let names = |command| {
            let rule = self.covering_command(command, call.effects);
            rule.is_some_and(|rule| rule.text.contains(file))
        };
        commands.peek().is_some() && commands.all(names)
    }
}

/// Why the call may touch a file that one of these rules is about.
fn unclear_files(world: &dyn World, call: &Call<'_>, rules: &[&Rule]) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    let effects = call.effects;
    if let Some(why) = effects.unsure.as_ref().or(effects.links.as_ref()) {
        return Some(format!("{why}, and there are rules about files"));
    }
    let edits = |rule: &&&Rule| rule.path().is_some_and(|(tool, _)| tool == "Edit");
    if let Some(why) = effects.scatters.as_ref().filter(|_| rules.iter().any(|rule| edits(&rule))) {
        return Some(format!("{why}, and there are rules about files"));
    }
    for Given { program, target, .. } in &effects.given {
        if let Some(rule) = rules.iter().find(|rule| is_about(rule, target)) {
            let (file, rule) = (target.named.display(), &rule.text);
            return Some(format!(
                "what `{program}` does with {file} is not known, and there is {rule}"
            ));
        }
    }
    let of_kind = |access: Access| -> Vec<&Rule> {
        // What may not be read may not be written either.
        let fits = |rule: &&&Rule| match access {
            Access::Reads => !edits(rule),
            Access::Writes => edits(rule) || rule.behavior == Behavior::Deny,
        };
        rules.iter().filter(fits).copied().collect()
    };
    for tree in &effects.trees {
        if let Some(why) = within(world, tree, &of_kind(tree.access)) {
            return Some(why);
        }
    }
    // A change of tracked files shows nothing of them.
    let of_tracked = |access: Access| -> Vec<&Rule> {
        let fits = |rule: &&&Rule| edits(rule) == (access == Access::Writes);
        rules.iter().filter(fits).copied().collect()
    };
    effects.tracked.iter().find_map(|files| among(world, files, &of_tracked(files.access)))
}

/// Whether a rule is about a file that git tracks.
fn among(world: &dyn World, files: &TrackedFiles, rules: &[&Rule]) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    let tracked = match world.tracked(&files.dir) {
        TrackedIn::Nothing => return None,
        TrackedIn::Unreadable => {
            return Some(
                "which files git tracks cannot be read, and there are rules about files".to_owned(),
            );
        }
        TrackedIn::Files(tracked) => tracked,
    };
    let below = |path: &Path| {
        files.below.is_empty() || files.below.iter().any(|target| path.starts_with(&target.real))
    };
    tracked.into_iter().filter(|path| below(path)).find_map(|path| {
        let target = Target::real(path);
        let rule = rules.iter().find(|rule| is_about(rule, &target))?;
        let (path, rule) = (target.real.display(), &rule.text);
        Some(format!("`git` may be about {path}, and there is {rule}"))
    })
}

fn is_about(rule: &Rule, target: &Target) -> bool {
    rule.is_about(target)
}

/// Whether a rule is about something in a directory, or about the directory.
fn within(world: &dyn World, tree: &Tree, rules: &[&Rule]) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    let named = tree.root.named.display();
    let found = |path: &Path, rule: &Rule| {
        let (by, path, rule) = (&tree.by, path.display(), &rule.text);
        format!("{by} goes through {named}, where {path} is, and there is {rule}")
    };
    if let Some(rule) = rules.iter().find(|rule| is_about(rule, &tree.root)) {
        return Some(found(&tree.root.real, rule));
    }
    if !world.is_dir(&tree.root.real) {
        return None;
    }
    let skips = tree.skips.clone();
    let names = Arc::new(move |name: &OsStr, is_dir: bool| {
        let name = name.to_string_lossy();
        let fits =
            |patterns: &[String]| patterns.iter().any(|pattern| wildcard::matches(pattern, &name));
        let left_out = fits(&skips.except) || is_dir && fits(&skips.except_dirs);
        !left_out && (is_dir || skips.only.is_empty() || fits(&skips.only))
    });
    let wanted = Wanted { hidden: !tree.skips.hidden, ignored: !tree.skips.ignored, names };
    let (mut seen, mut why) = (0, None);
    world.walk(&tree.root.real, &wanted, &mut |path, is_dir| {
        if seen > MAX_FILES {
            why = Some(format!(
                "{} goes through {named}, which holds too many files to look at, and there are rules about files",
                tree.by
            ));
            return ControlFlow::Break(());
        }
        seen += 1;
        // A directory whose files are chosen by name is not itself one of them, unless it has such a name.
        let chosen = |path: &Path| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            tree.skips.only.iter().any(|pattern| wildcard::matches(pattern, &name))
        };
        if !tree.skips.only.is_empty() && is_dir && !chosen(&path) {
            return ControlFlow::Continue(());
        }
        let target = Target::real(path);
        match rules.iter().find(|rule| is_about(rule, &target)) {
            Some(rule) => {
                why = Some(found(&target.real, rule));
                ControlFlow::Break(())
            }
            None => ControlFlow::Continue(()),
        }
    });
    why
}
