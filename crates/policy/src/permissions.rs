//! Judges a call by all rules (S0 §5.12): deny, then ask, then allow, then the mode.

mod unclear;

use std::path::{Path, PathBuf};

use ona_types::{Behavior, PermissionMode};
use serde_json::Value;

use crate::builtin;
use crate::rule::{self, Guard, PathPattern, Rule, Scope};
use crate::subject::{RuleFacts, RuleSubject};
use ona_effects::path::Target;
use ona_effects::shell::{self, Assignment, Command};
use ona_effects::{Effects, Surroundings, why_git_is_not_free};

/// What the system sees to, whatever a command does.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Confines {
    /// Nothing, or it does not count.
    #[default]
    Nothing,
    /// Where it can write.
    Writing,
    /// The same, and that protected names in there stay as they are.
    ProtectedToo,
}

/// A call to be judged.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// The tool's facts for rules.
    pub facts: RuleFacts,
    /// Its input, after hooks.
    pub input: &'a Value,
    /// What it would touch.
    pub effects: &'a Effects,
    /// What the sandbox sees to, where that is to replace questions.
    pub confines: Confines,
}

/// What made a ruling.
#[derive(Clone, Debug)]
pub enum By<'r> {
    /// These rules: one for a deny or ask, for an allow all that it takes to cover the call.
    Rules(Vec<&'r Rule>),
    /// No rule: the mode.
    Mode(PermissionMode),
    /// No rule: the sandbox that it runs in.
    Sandbox,
    /// The call cannot be judged with certainty, for this reason.
    Opaque(String),
}

/// The decision of the rules about a call.
#[derive(Clone, Debug)]
pub struct Ruling<'r> {
    /// The answer.
    pub behavior: Behavior,
    /// Why.
    pub by: By<'r>,
    /// Why the call is not free, where it would be in another place, or why a rule that begins like it does not cover it.
    pub because: Option<String>,
}

impl<'r> Ruling<'r> {
    fn new(behavior: Behavior, by: By<'r>) -> Self {
        Self { behavior, by, because: None }
    }
}

/// The paths that written rules are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RulePaths {
    /// What may be written.
    pub writable: Vec<PathBuf>,
    /// What may not be written.
    pub unwritable: Vec<PathBuf>,
    /// What may not be read.
    pub unreadable: Vec<PathBuf>,
    /// Whether patterns say what else may not be read: [`Permissions::hides`] tells.
    pub more_unreadable: bool,
    /// Whether patterns say what else may not be written: [`Permissions::keeps`] tells.
    pub more_unwritable: bool,
}

/// The rules in force and the mode.
#[derive(Clone, Debug)]
pub struct Permissions {
    rules: Vec<Rule>,
    mode: PermissionMode,
    around: Surroundings,
}

impl Permissions {
    /// The given rules with the built-in ones.
    pub fn new(given: Vec<Rule>, mode: PermissionMode, around: Surroundings) -> Self {
        let mut rules = given;
        // In bypass mode only written rules count.
        if mode != PermissionMode::BypassPermissions {
            rules.extend(builtin::rules(&around));
        }
        rules.extend(builtin::always(&around));
        Self { rules, mode, around }
    }

    /// The same with further rules.
    pub(crate) fn with(&self, further: Vec<Rule>) -> Self {
        let mut all = self.clone();
        all.rules.extend(further);
        all
    }

    /// The same mode and place with these rules, the built-in ones among them.
    pub(crate) fn of_rules(&self, rules: Vec<Rule>) -> Self {
        Self { rules, mode: self.mode, around: self.around.clone() }
    }

    /// Every rule that makes the call one that is denied, or asked for.
    pub fn against(&self, behavior: Behavior, call: &Call<'_>) -> Vec<&Rule> {
        self.of(behavior).filter(|rule| rule.hits(call)).collect()
    }

    /// Every rule, the built-in ones last.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The mode.
    pub fn mode(&self) -> PermissionMode {
        self.mode
    }

    /// Where calls are judged.
    pub fn around(&self) -> &Surroundings {
        &self.around
    }

    /// The session has moved to another directory.
    pub fn moved(&mut self, cwd: &Path) {
        cwd.clone_into(&mut self.around.cwd);
    }

    /// Whether a rule denies the whole tool, so that it is not offered to the model.
    pub fn denies_tool(&self, tool: &str, facts: RuleFacts) -> bool {
        self.of(Behavior::Deny).any(|rule| rule.is_bare() && rule.names(tool, facts.subject))
    }

    /// The paths that written rules are about, for a sandbox.
    pub fn paths(&self) -> RulePaths {
        let mut paths = RulePaths::default();
        for rule in self.rules.iter().filter(|rule| rule.source.scope != Scope::Builtin) {
            let Some((tool, shape)) = rule.path() else { continue };
            match (rule.behavior, tool, shape.only()) {
                (Behavior::Allow, "Edit", Some(path)) => paths.writable.push(path),
                (Behavior::Deny, "Edit", Some(path)) => paths.unwritable.push(path),
                (Behavior::Deny, "Read", Some(path)) => paths.unreadable.push(path),
                (Behavior::Deny, "Read", None) => paths.more_unreadable = true,
                (Behavior::Deny, "Edit", None) => paths.more_unwritable = true,
                _ => {}
            }
        }
        paths
    }

    /// Whether a written deny rule keeps this path from being changed.
    pub fn keeps(&self, path: &Path) -> bool {
        self.of(Behavior::Deny).any(|rule| {
            rule.source.scope != Scope::Builtin
                && rule.path().is_some_and(|(tool, shape)| tool == "Edit" && shape.fits(path))
        })
    }

    /// Whether a deny rule keeps this path from being read, shown or listed.
    pub fn hides(&self, path: &Path) -> bool {
        self.hiding().any(|(_, shape)| shape.fits(path))
    }

    /// Whether no path in these directories is hidden, so that a search need not ask for each.
    pub fn hides_nothing_in(&self, roots: &[Target]) -> bool {
        let is_elsewhere = |rule: &Rule| {
            let store = rule.guard.store();
            store.is_some_and(|store| !roots.iter().any(|root| store.is_in(&root.real)))
        };
        self.hiding().all(|(rule, _)| is_elsewhere(rule))
    }

    fn hiding(&self) -> impl Iterator<Item = (&Rule, &PathPattern)> {
        self.of(Behavior::Deny).filter_map(|rule| match rule.path() {
            Some(("Read", shape)) => Some((rule, shape)),
            _ => None,
        })
    }

    fn of(&self, behavior: Behavior) -> impl Iterator<Item = &Rule> {
        self.rules.iter().filter(move |rule| rule.behavior == behavior)
    }

    /// Judges a call.
    pub fn judge(&self, call: &Call<'_>) -> Ruling<'_> {
        for behavior in [Behavior::Deny, Behavior::Ask] {
            // The question about every command is about one that is not confined.
            let is_answered = |rule: &Rule| {
                call.confines != Confines::Nothing && behavior == Behavior::Ask && rule.is_bare()
            };
            let hits = |rule: &&Rule| rule.hits(call) && !is_answered(rule);
            if let Some(rule) = self.of(behavior).find(hits) {
                let by_mode = self.by_mode(call);
                // If the mode denies, a protected path is denied too.
                if rule.source.scope == Scope::Builtin && by_mode == Behavior::Deny {
                    return Ruling::new(by_mode, By::Mode(self.mode));
                }
                return Ruling::new(behavior, By::Rules(vec![rule]));
            }
        }
        if let Some(why) = self.unclear(call) {
            let behavior = match self.mode {
                PermissionMode::DontAsk | PermissionMode::Plan => Behavior::Deny,
                _ => Behavior::Ask,
            };
            return Ruling::new(behavior, By::Opaque(why));
        }
        if let Some(rules) = self.covering(call) {
            return Ruling::new(Behavior::Allow, By::Rules(rules));
        }
        let behavior = self.by_mode(call);
        if call.confines != Confines::Nothing
            && behavior != Behavior::Allow
            && self.mode != PermissionMode::Plan
        {
            return Ruling::new(Behavior::Allow, By::Sandbox);
        }
        let because = match behavior {
            Behavior::Allow => None,
            Behavior::Ask | Behavior::Deny => why_git_is_not_free(call.effects, &self.around)
                .map(|why| format!("git is not free here: {why}"))
                .or_else(|| self.why_not_covered(call.effects)),
        };
        Ruling { because, ..Ruling::new(behavior, By::Mode(self.mode)) }
    }

    fn by_mode(&self, call: &Call<'_>) -> Behavior {
        let in_reach = |targets: &[Target]| targets.iter().all(|target| self.around.holds(target));
        match self.mode {
            PermissionMode::BypassPermissions => Behavior::Allow,
            PermissionMode::DontAsk => Behavior::Deny,
            PermissionMode::Plan if call.facts.denied_in_plan => Behavior::Deny,
            // As far as the working directories, and no further.
            PermissionMode::AcceptEdits
                if call.facts.free_in_accept_edits
                    && in_reach(&call.effects.reads)
                    && in_reach(&call.effects.writes) =>
            {
                Behavior::Allow
            }
            PermissionMode::Default | PermissionMode::AcceptEdits | PermissionMode::Plan => {
                Behavior::Ask
            }
        }
    }

    /// The allow rules that together cover the whole call, if they do.
    fn covering(&self, call: &Call<'_>) -> Option<Vec<&Rule>> {
        if let Some(rule) =
            self.of(Behavior::Allow).find(|rule| rule.is_bare() && covers_bare(rule, call))
        {
            return Some(vec![rule]);
        }
        match call.facts.subject {
            RuleSubject::Command => self.covering_shell(call.effects),
            RuleSubject::Reads => self.covering_paths(&call.effects.reads, &["Read", "Edit"]),
            RuleSubject::Writes => self.covering_paths(&call.effects.writes, &["Edit"]),
            RuleSubject::Name | RuleSubject::Domain | RuleSubject::Field { .. } => {
                let named = |rule: &&Rule| rule.matches_name(call);
                self.of(Behavior::Allow).find(named).map(|rule| vec![rule])
            }
        }
    }

    fn covering_paths(&self, targets: &[Target], tools: &[&str]) -> Option<Vec<&Rule>> {
        if targets.is_empty() {
            return None;
        }
        let mut used: Vec<&Rule> = Vec::new();
        for target in targets {
            let rule = self.of(Behavior::Allow).find(|rule| {
                rule.path()
                    .is_some_and(|(tool, shape)| tools.contains(&tool) && shape.covers(target))
            })?;
            add(&mut used, rule);
        }
        Some(used)
    }

    fn covering_shell(&self, effects: &Effects) -> Option<Vec<&Rule>> {
        if effects.commands.is_empty() {
            return None;
        }
        let mut used: Vec<&Rule> = Vec::new();
        let mut only_reads = false;
        for command in &effects.commands {
            // Setting a harmless variable is allowed; its uses are checked with the rest.
            if command.words.is_empty() && command.assignments.iter().all(is_private_variable) {
                continue;
            }
            let rule = self.covering_command(command, effects)?;
            only_reads |= matches!(rule.guard, Guard::ReadOnly(_));
            add(&mut used, rule);
        }
        // What reads for free reads inside; its own operands were looked at, redirections were not.
        if only_reads && !effects.fed.iter().all(|target| self.around.holds(target)) {
            return None;
        }
        for target in &effects.redirected {
            // An allowed command may write its output inside the project; a command
            // that is free because it only reads may not write by redirection.
            match self.writable(target) {
                Some(rule) => add(&mut used, rule),
                None if !only_reads && self.around.holds(target) => {}
                None => return None,
            }
        }
        (!used.is_empty()).then_some(used)
    }

    fn covering_command(&self, command: &Command, effects: &Effects) -> Option<&Rule> {
        self.of(Behavior::Allow).find(|rule| {
            rule.command().is_some_and(|shape| shape.covers(command))
                && self.guard_holds(rule, command, effects)
        })
    }

    /// Why a written rule about the beginning of a command does not cover it.
    fn why_not_covered(&self, effects: &Effects) -> Option<String> {
        effects.commands.iter().filter(|command| !command.words.is_empty()).find_map(|command| {
            let texts = rule::texts(command);
            let mut rules = self.of(Behavior::Allow).filter(|rule| {
                rule.source.scope != Scope::Builtin
                    && rule.command().is_some_and(|shape| shape.begins(&texts))
            });
            let rule = rules.next().filter(|_| !self.covers_command(command, effects))?;
            let why = rule.command()?.why_not(command);
            Some(format!("{} does not cover `{}`: {why}", rule.text, command.text()))
        })
    }

    fn writable(&self, target: &Target) -> Option<&Rule> {
        self.of(Behavior::Allow).find(|rule| {
            rule.path().is_some_and(|(tool, shape)| tool == "Edit" && shape.covers(target))
        })
    }

    /// Whether an allow rule covers this command by itself.
    pub(crate) fn covers_command(&self, command: &Command, effects: &Effects) -> bool {
        self.covering_command(command, effects).is_some()
    }

    /// Whether output may go there without a rule of its own.
    pub(crate) fn reaches(&self, target: &Target) -> bool {
        self.around.holds(target) || self.writable(target).is_some()
    }

    /// Whether a built-in rule's limits hold for the command.
    fn guard_holds(&self, rule: &Rule, command: &Command, effects: &Effects) -> bool {
        match &rule.guard {
            Guard::ReadOnly(entry) => entry.holds(command, effects, &self.around),
            Guard::None | Guard::Store(_) | Guard::OpenBelow { .. } => true,
        }
    }
}

/// The rule, one of several, because of which every command of a call is covered; `None` if one is not.
pub fn covered_by<'r>(rules: &'r [Rule], effects: &Effects) -> Option<&'r Rule> {
    if effects.opaque.is_some() || rules.is_empty() {
        return None;
    }
    let covering = |command: &Command| {
        rules.iter().find(|rule| rule.command().is_some_and(|shape| shape.covers(command)))
    };
    let mut first = None;
    for command in &effects.commands {
        match command.words.is_empty() {
            // What the line sets may decide which program a name means.
            true if !command.assignments.iter().all(is_private_variable) => return None,
            true => {}
            false => first = first.or(Some(covering(command)?)),
        }
    }
    first
}

fn is_private_variable(assignment: &Assignment) -> bool {
    shell::is_private_variable(&assignment.name)
}

fn add<'r>(used: &mut Vec<&'r Rule>, rule: &'r Rule) {
    if !used.iter().any(|known| std::ptr::eq(*known, rule)) {
        used.push(rule);
    }
}

/// Whether a bare allow rule covers the call. Permission to edit includes permission to read.
fn covers_bare(rule: &Rule, call: &Call<'_>) -> bool {
    let subject = call.facts.subject;
    rule.names(call.tool, subject)
        || (subject == RuleSubject::Reads && rule.names("Edit", RuleSubject::Writes))
}

#[cfg(test)]
mod tests;

/// Where the tests judge calls.
#[cfg(test)]
pub(crate) fn test_surroundings() -> Surroundings {
    Surroundings {
        cwd: "/w/app".into(),
        project_dir: "/w/app".into(),
        home: "/home/u".into(),
        working_dirs: vec!["/w/app".into()],
        outputs: None,
        protected: Vec::new(),
        stores: Vec::new(),
        world: &ona_testkit::Disk,
    }
}
