//! The rules ona ships: reading is free inside the working directories, and some paths are asked for
//! whatever the mode. They are rules like any other, of the source `builtin`, and can be looked at.

use ona_types::Behavior;

use crate::rule::{Anchors, Guard, Rule, Scope, Source};
use crate::store::Store;
use ona_effects::Surroundings;
use ona_effects::read_only::READ_ONLY;

/// Tools that change nothing outside the session.
const HARMLESS_TOOLS: &[&str] = &[
    "Agent",
    "AskUserQuestion",
    "Brief",
    "EnterPlanMode",
    "ListMcpResources",
    "ReadMcpResource",
    "SelectActiveIntent",
    "StructuredOutput",
    "TaskOutput",
    "TaskStop",
    "TodoWrite",
    "ToolSearch",
];

/// Directories with files that other programs act on.
const PROTECTED_DIRS: &[&str] =
    &[".git", ".vscode", ".idea", ".husky", ".claude", ".ona", ".orchestration", ".ssh", ".gnupg"];

/// Parts of `.claude` that agents are meant to write.
const OPEN_IN_CLAUDE: &[&str] =
    &["commands", "agents", "skills", "worktrees", "agent-memory", "agent-memory-local"];

/// Files that other programs act on.
const PROTECTED_FILES: &[&str] = &[
    ".gitconfig",
    ".gitmodules",
    ".bashrc",
    ".bash_profile",
    ".bash_login",
    ".bash_logout",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".profile",
    ".ripgreprc",
    ".envrc",
    ".mcp.json",
    ".claude.json",
];

/// The built-in rules for a place.
pub(crate) fn rules(around: &Surroundings) -> Vec<Rule> {
    let mut rules = Vec::new();
    let mut add = |text: String, behavior: Behavior, guard: Guard| {
        // These texts always parse; a test checks them all.
        if let Ok((rule, _)) =
            Rule::parse(&text, behavior, Source::of(Scope::Builtin), &Anchors::of(around))
        {
            rules.push(rule.guarded(guard));
        }
    };
    for dir in PROTECTED_DIRS {
        let guard = match *dir {
            ".claude" => Guard::OpenBelow { dir, names: OPEN_IN_CLAUDE },
            _ => Guard::None,
        };
        add(format!("Edit(//**/{dir}/**)"), Behavior::Ask, guard);
    }
    for file in PROTECTED_FILES {
        add(format!("Edit(//**/{file})"), Behavior::Ask, Guard::None);
    }
    add("Edit(~/.config/ona/**)".to_owned(), Behavior::Ask, Guard::None);
    for path in &around.protected {
        let path = escaped(path);
        add(format!("Edit(/{path})"), Behavior::Ask, Guard::None);
        add(format!("Edit(/{path}/**)"), Behavior::Ask, Guard::None);
    }
    for tool in HARMLESS_TOOLS {
        add((*tool).to_owned(), Behavior::Allow, Guard::None);
    }
    for dir in around.working_dirs.iter().chain(&around.outputs) {
        add(format!("Read(/{}/**)", escaped(dir)), Behavior::Allow, Guard::None);
    }
    for entry in READ_ONLY {
        add(format!("Bash({} *)", entry.command), Behavior::Allow, Guard::ReadOnly(entry));
    }
    rules
}

/// The rules that hold in every mode: nobody but ona touches stored credentials.
pub(crate) fn always(around: &Surroundings) -> Vec<Rule> {
    let rule = |store: Store| {
        let text = format!("Read(/{})", escaped(&store.dir));
        let source = Source::of(Scope::Builtin);
        let (rule, _) = Rule::parse(&text, Behavior::Deny, source, &Anchors::of(around)).ok()?;
        Some(rule.guarded(Guard::Store(store)))
    };
    Store::all(around).into_iter().filter_map(rule).collect()
}

/// Escapes a directory's name, so that it is not read as a pattern.
fn escaped(dir: &std::path::Path) -> String {
    globset::escape(&dir.to_string_lossy())
}

#[cfg(test)]
mod tests {
    use crate::permissions::test_surroundings;

    use super::*;

    #[test]
    fn every_text_is_a_rule() {
        let around = test_surroundings();
        let expected = PROTECTED_DIRS.len()
            + PROTECTED_FILES.len()
            + 1
            + HARMLESS_TOOLS.len()
            + around.working_dirs.len()
            + READ_ONLY.len();
        assert_eq!(rules(&around).len(), expected);
    }
}
