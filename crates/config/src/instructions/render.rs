//! The text that the model gets.

use std::fmt::Write as _;
use std::path::Path;

use ona_types::hook::MemoryType;

use super::Instruction;

/// Tells the model what follows.
const OPENING: &str = "These are instructions for the work in this session, from files that were read for it. The \
    broadest come first; where two disagree, the later one is closer to the work at hand.\n";

/// One text of all instructions, for a user message; empty if there are none.
pub fn render(instructions: &[Instruction]) -> String {
    if instructions.is_empty() {
        return String::new();
    }
    let mut text = OPENING.to_owned();
    for instruction in instructions {
        let kind = match instruction.memory_type {
            MemoryType::Managed => "the organisation's instructions",
            MemoryType::User => "the user's own instructions for all projects",
            MemoryType::Project => "instructions of the project, shared by all who work on it",
            MemoryType::Local => "the user's own instructions for this project",
        };
        // Writing to a string cannot fail.
        let _ = write!(text, "\n# {} ({kind}", name(&instruction.path));
        if let Some(parent) = &instruction.parent {
            let _ = write!(text, "; imported by {}", name(parent));
        }
        if let Some(globs) = &instruction.globs {
            let _ = write!(text, "; for {}", visible(&globs.join(", ")));
        }
        let _ = writeln!(text, ")\n\n{}", instruction.content);
    }
    text
}

fn name(path: &Path) -> String {
    visible(&path.to_string_lossy())
}

/// A name may contain line breaks, which could fake a heading.
fn visible(text: &str) -> String {
    text.replace(char::is_control, "\u{fffd}")
}

#[cfg(test)]
mod tests {
    use ona_types::hook::LoadReason;

    use super::*;

    #[test]
    fn each_file_has_a_heading() {
        let plain = Instruction {
            path: "/p/CLAUDE.md".into(),
            memory_type: MemoryType::Project,
            load_reason: LoadReason::SessionStart,
            globs: None,
            trigger: None,
            parent: None,
            content: "Use tabs.".to_owned(),
        };
        let rule = Instruction {
            path: "/h/.claude/rules/a\n# b.md".into(),
            memory_type: MemoryType::User,
            globs: Some(vec!["*.rs".to_owned(), "a\n/**".to_owned()]),
            content: "No panics.".to_owned(),
            ..plain.clone()
        };
        let import = Instruction {
            path: "/p/more.md".into(),
            parent: Some("/p/CLAUDE.md".into()),
            content: "Test first.".to_owned(),
            ..plain.clone()
        };
        let body = "
# /p/CLAUDE.md (instructions of the project, shared by all who work on it)

Use tabs.

# /h/.claude/rules/a\u{fffd}# b.md (the user's own instructions for all projects; for *.rs, a\u{fffd}/**)

No panics.

# /p/more.md (instructions of the project, shared by all who work on it; imported by /p/CLAUDE.md)

Test first.
";
        assert_eq!(render(&[plain, rule, import]), format!("{OPENING}{body}"));
        assert_eq!(render(&[]), "");
    }
}
