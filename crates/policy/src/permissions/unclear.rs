//! Calls that may be what a rule forbids, though none can be held against them. Somebody has to look.

use std::fs;
use std::path::Path;

use ona_types::{Behavior, PermissionMode};

use super::{Call, Permissions};
use crate::commands;
use crate::effects::{Access, Tree};
use crate::path::Target;
use crate::rule::{Rule, Scope};

/// As many files are looked at for a command that goes through a directory.
const MOST_FILES: usize = 50_000;

impl Permissions {
    /// Why the call may be something that a rule forbids, though none could be held against it.
    pub(super) fn unclear(&self, call: &Call<'_>) -> Option<String> {
        let written: Vec<&Rule> = self
            .of(Behavior::Deny)
            .chain(self.of(Behavior::Ask))
            .filter(|rule| rule.source.scope != Scope::Builtin)
            .collect();
        let forbids = |of_kind: &dyn Fn(&Rule) -> bool| written.iter().any(|rule| of_kind(rule));
        // Bypassing means that only what somebody wrote down counts; but that does.
        let bypassed = self.mode == PermissionMode::BypassPermissions;
        let opaque = call.effects.opaque.as_ref();
        if let Some(why) = opaque.filter(|_| !bypassed || forbids(&|rule| !rule.is_bare())) {
            return Some(why.clone());
        }
        for command in &call.effects.commands {
            let all =
                std::iter::once(command.words.as_slice()).chain(commands::suffixes(&command.words));
            let unsure = all.into_iter().any(commands::git_is_unsure);
            if unsure && forbids(&|rule| rule.command().is_some_and(|shape| shape.is_about("git")))
            {
                return Some(
                    "what git is told to do is not fixed in the text, and there are rules about it"
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
                    return Some("what `xargs` adds is not fixed in the text, and there are rules about what it runs".into());
                }
            }
            if let (Some(name), Some(word)) = (command.name(), command.words.get(1))
                && word.literal.is_none()
                && forbids(&|rule| rule.command().is_some_and(|shape| shape.is_about(name)))
            {
                return Some(format!(
                    "what `{name}` is told to do is not fixed in the text, and there are rules about it"
                ));
            }
        }
        let about_files: Vec<&Rule> =
            written.into_iter().filter(|rule| rule.path().is_some()).collect();
        unclear_files(call, &about_files)
    }
}

/// Why the call may touch a file that one of these rules is about.
fn unclear_files(call: &Call<'_>, rules: &[&Rule]) -> Option<String> {
    if rules.is_empty() {
        return None;
    }
    let effects = call.effects;
    if let Some(why) = &effects.unsure {
        return Some(format!("{why}, and there are rules about files"));
    }
    let edits = |rule: &&&Rule| rule.path().is_some_and(|(tool, _)| tool == "Edit");
    if let Some(why) = effects.scatters.as_ref().filter(|_| rules.iter().any(|rule| edits(&rule))) {
        return Some(format!("{why}, and there are rules about files"));
    }
    for (program, target) in &effects.given {
        if let Some(rule) = rules.iter().find(|rule| is_about(rule, target)) {
            let (file, rule) = (target.named.display(), &rule.text);
            return Some(format!(
                "what `{program}` does with {file} is not known, and there is {rule}"
            ));
        }
    }
    for tree in &effects.trees {
        let rules: Vec<&Rule> = rules
            .iter()
            .filter(|rule| edits(rule) == (tree.access == Access::Writes))
            .copied()
            .collect();
        if let Some(why) = within(tree, &rules) {
            return Some(why);
        }
    }
    None
}

fn is_about(rule: &Rule, target: &Target) -> bool {
    rule.path().is_some_and(|(_, shape)| shape.hits(target))
}

/// Whether a rule is about something in a directory.
fn within(tree: &Tree, rules: &[&Rule]) -> Option<String> {
    if rules.is_empty() || !tree.root.real.is_dir() {
        return None;
    }
    let (mut pending, mut seen) = (vec![tree.root.real.clone()], 0);
    while let Some(dir) = pending.pop() {
        for entry in fs::read_dir(&dir).into_iter().flatten().flatten() {
            seen += 1;
            if seen > MOST_FILES {
                let root = tree.root.named.display();
                return Some(format!(
                    "{} goes through {root}, which holds too many files to look at, and there are rules about files",
                    tree.by
                ));
            }
            if tree.skips_hidden && is_hidden(&entry.path()) {
                continue;
            }
            let path = entry.path();
            let is_dir = entry.file_type().is_ok_and(|kind| kind.is_dir());
            let target = Target::real(path.clone());
            if let Some(rule) = rules.iter().find(|rule| is_about(rule, &target)) {
                return Some(format!(
                    "{} goes through {}, where {} is, and there is {}",
                    tree.by,
                    tree.root.named.display(),
                    path.display(),
                    rule.text
                ));
            }
            if is_dir {
                pending.push(path);
            }
        }
    }
    None
}

fn is_hidden(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"."))
}
