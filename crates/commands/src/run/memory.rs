//! `/memory`: the files of instructions and the memories of this project, to see and to change.

use std::path::{Path, PathBuf};

use ona_config::instructions::Instruction;
use ona_front::{Choice, Event, Menu, MenuItem, MenuKey, Reply};
use ona_store::Within;
use ona_types::hook::MemoryType;

use super::confirm::{YES, confirm, confirmed};
use super::{first_word, paths};
use crate::act::Act;
use crate::desk::{CommandError, Desk};
use crate::outside::Outside;

/// Memories in the list.
const LISTED: usize = 50;

/// `/memory`.
pub(super) async fn memory<O: Outside>(
    desk: &Desk<O>,
    arguments: &str,
) -> Result<Act, CommandError> {
    match first_word(arguments) {
        ("", _) => list(desk),
        ("edit", "") => Ok(Act::error("which file? /memory edit FILE")),
        ("edit", file) => Ok(edit(&paths::typed(desk, file))),
        ("forget", "") => Ok(Act::error("which memory? /memory forget ID; /memory lists them")),
        ("forget", rest) => forget(desk, rest).await,
        ("show" | "list" | "search" | "add", _) => {
            Ok(desk.print_typed(&["memory"], arguments).await)
        }
        (other, _) => Ok(Act::error(format!(
            "unknown argument `{other}`: edit FILE, show ID, forget ID, search WORDS, add TITLE, list"
        ))),
    }
}

fn edit(path: &Path) -> Act {
    if let Err(error) = paths::file(path) {
        return Act::error(error.to_string());
    }
    let when = match path.exists() {
        true => "changes are read by the next session, or by /compact",
        false => "it does not exist yet, and is created when you save it",
    };
    let text = format!("{}: {when}", path.display());
    let event = Event::Edit { file: path.display().to_string(), then: String::new() };
    Act::Tell(Box::new(event), Reply::Plain { text })
}

/// Deletes a memory, after a question.
async fn forget<O: Outside>(desk: &Desk<O>, rest: &str) -> Result<Act, CommandError> {
    let (is_confirmed, id) = confirmed(rest);
    if !is_confirmed && let [row] = desk.store().memories_called(id, 2)?.as_slice() {
        let question = format!("Forget the memory {}?", row.memory.id);
        let about = format!("`{}`", row.memory.title.replace('`', "'"));
        return Ok(confirm(question, about, format!("/memory forget {YES} {}", row.memory.id)));
    }
    Ok(desk.print(&["memory", "forget", id]).await)
}

/// A file of the list.
#[derive(Debug, PartialEq, Eq)]
struct Listed {
    path: PathBuf,
    about: String,
}

/// The files: where instructions usually are, whether they are there or not, then what else is read.
fn files(usual: &[(&str, PathBuf)], read: &[Instruction], for_paths: &[PathBuf]) -> Vec<Listed> {
    let mut all: Vec<Listed> = usual
        .iter()
        .map(|(about, path)| {
            let missing = if path.exists() { "" } else { "; not there yet" };
            Listed { path: path.clone(), about: format!("{about}{missing}") }
        })
        .collect();
    let found = read.iter().map(|one| (one.path.clone(), about(one)));
    let found = found.chain(for_paths.iter().map(|path| {
        (path.clone(), "a rule for certain paths: read when one of them is".to_owned())
    }));
    for (path, about) in found {
        if all.iter().all(|known| known.path != path) {
            all.push(Listed { path, about });
        }
    }
    all
}

/// What a file of instructions is.
fn about(one: &Instruction) -> String {
    if let Some(parent) = &one.parent {
        return format!("imported by {}", parent.display());
    }
    let is_rule = one.path.components().any(|part| part.as_os_str() == "rules");
    let about = match (is_rule, one.memory_type) {
        (true, MemoryType::User) => "your own rule, for all projects",
        (true, MemoryType::Managed) => "a rule of your organisation",
        (true, _) => "a rule of this project",
        (false, MemoryType::User) => "your own instructions",
        (false, MemoryType::Managed) => "instructions of your organisation",
        (false, MemoryType::Local) => "your own, for this project",
        (false, MemoryType::Project) => "instructions of this project",
    };
    about.to_owned()
}

fn list<O: Outside>(desk: &Desk<O>) -> Result<Act, CommandError> {
    let place = desk.session.gate.place();
    let home = desk.engine.core.config.claude_dir.clone();
    let usual = [
        ("instructions of this project", place.project_dir.join("CLAUDE.md")),
        ("your own, for this project", place.project_dir.join("CLAUDE.local.md")),
        ("your own, for all projects", home.join("CLAUDE.md")),
    ];
    let (read, for_paths) = desk.session.instruction_files();
    let mut items: Vec<MenuItem> = files(&usual, &read, &for_paths)
        .into_iter()
        .map(|Listed { path, about }| MenuItem {
            label: format!("Edit {}", path.display()),
            detail: about,
            choice: Choice::Command { line: format!("/memory edit {}", path.display()) },
            ..MenuItem::default()
        })
        .collect();
    let project = ona_engine::memory::project_of(&place.project_dir);
    let memories = desk.store().memories(Within::Project(&project), None, LISTED)?;
    items.extend(memories.iter().map(|row| MenuItem {
        label: row.memory.title.clone(),
        detail: format!("{} {}", row.memory.kind, row.memory.id),
        choice: Choice::Command { line: format!("/memory show {}", row.memory.id) },
        value: row.memory.id.clone(),
        ..MenuItem::default()
    }));
    let offered = desk.settings().auto_memory_enabled != Some(false);
    items.push(MenuItem {
        label: format!("Offer memories to the model: {}", if offered { "on" } else { "off" }),
        detail: "Enter switches it for this project".to_owned(),
        choice: Choice::Command { line: format!("/config autoMemoryEnabled={}", !offered) },
        ..MenuItem::default()
    });
    Ok(Act::menu(Menu {
        title: "Memory".to_owned(),
        text: "Enter opens a file in your editor, and shows a memory. `#` at the start of a prompt saves one."
            .to_owned(),
        items,
        keys: vec![MenuKey {
            key: 'f',
            label: "forget".to_owned(),
            choice: Choice::Command { line: "/memory forget {}".to_owned() },
        }],
        ..Menu::default()
    }))
}

#[cfg(test)]
mod tests {
    use ona_types::hook::LoadReason;

    use super::*;

    fn read(path: &str, memory_type: MemoryType, parent: Option<&str>) -> Instruction {
        Instruction {
            path: path.into(),
            memory_type,
            load_reason: LoadReason::SessionStart,
            globs: None,
            trigger: None,
            parent: parent.map(Into::into),
            content: String::new(),
        }
    }

    #[test]
    fn every_file_is_listed_once_with_what_it_is() {
        let usual = [("instructions of this project", PathBuf::from("/none/p/CLAUDE.md"))];
        let read = [
            read("/none/p/CLAUDE.md", MemoryType::Project, None),
            read("/none/p/more.md", MemoryType::Project, Some("/none/p/CLAUDE.md")),
            read("/none/p/.claude/rules/a.md", MemoryType::Project, None),
            read("/none/h/.claude/rules/b.md", MemoryType::User, None),
        ];
        let listed = files(&usual, &read, &[PathBuf::from("/none/p/.claude/rules/c.md")]);
        let about: Vec<&str> = listed.iter().map(|one| one.about.as_str()).collect();
        assert_eq!(
            about,
            [
                "instructions of this project; not there yet",
                "imported by /none/p/CLAUDE.md",
                "a rule of this project",
                "your own rule, for all projects",
                "a rule for certain paths: read when one of them is",
            ]
        );
    }
}
