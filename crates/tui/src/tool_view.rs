//! How calls of tools are named, and what their results come to in a line.

use serde_json::Value;

/// What a call is shown as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Title {
    /// The tool.
    pub name: String,
    /// What it is about: a command, a file, a pattern.
    pub about: String,
}

/// The key of an input that says what a call is about, by tool.
const ABOUT: &[(&str, &str)] = &[
    ("Agent", "description"),
    ("Bash", "command"),
    ("Brief", "message"),
    ("Edit", "file_path"),
    ("Glob", "pattern"),
    ("Grep", "pattern"),
    ("ListMcpResources", "server"),
    ("NotebookEdit", "notebook_path"),
    ("Read", "file_path"),
    ("ReadMcpResource", "uri"),
    ("Skill", "skill"),
    ("Task", "description"),
    ("TaskOutput", "task_id"),
    ("TaskStop", "task_id"),
    ("ToolSearch", "query"),
    ("WebFetch", "url"),
    ("WebSearch", "query"),
    ("Write", "file_path"),
    ("select_active_intent", "intent_id"),
];

/// What a call is shown as.
pub fn title(tool: &str, input: &Value) -> Title {
    if let Some((server, name)) = tool.strip_prefix("mcp__").and_then(|rest| rest.split_once("__"))
    {
        let about = if input.as_object().is_some_and(|input| input.is_empty()) {
            String::new()
        } else {
            input.to_string()
        };
        return Title { name: format!("{server} - {name} (MCP)"), about };
    }
    let key = ABOUT.iter().find(|(name, _)| *name == tool).map(|(_, key)| *key);
    let about = match (tool, key) {
        ("TodoWrite" | "EnterPlanMode" | "ExitPlanMode" | "AskUserQuestion", _) => String::new(),
        ("Grep", _) => {
            let path = input["path"].as_str().map(|path| format!(", path: {path}"));
            format!("{}{}", input["pattern"].as_str().unwrap_or_default(), path.unwrap_or_default())
        }
        (_, Some(key)) => input[key].as_str().unwrap_or_default().to_owned(),
        (_, None) => input.to_string(),
    };
    let name = match tool {
        "TodoWrite" => "Todos",
        "EnterPlanMode" => "Plan mode",
        "ExitPlanMode" => "Plan",
        "AskUserQuestion" => "Question",
        name => name,
    };
    Title { name: name.to_owned(), about }
}

/// What a result comes to, where its text says less to the user than to the model.
pub fn summary(tool: &str, input: &Value, content: &str) -> Option<String> {
    let first = content.lines().next().unwrap_or_default().to_owned();
    let counted = |word: &str, number: usize, thing: &str| {
        format!("{word} {number} {thing}{}", if number == 1 { "" } else { "s" })
    };
    let found = |thing: &str| {
        // What the tool says itself, or its lines without the remark at their end.
        if first.starts_with("Found ") || first.starts_with("No ") {
            return first.clone();
        }
        let is_remark = |line: &&str| line.starts_with('(') && line.ends_with(')');
        counted("Found", content.lines().filter(|line| !is_remark(line)).count(), thing)
    };
    match tool {
        "Read" => match content.lines().filter(|line| is_numbered(line)).count() {
            0 => Some(first),
            lines => Some(counted("Read", lines, "line")),
        },
        "Glob" => Some(found("file")),
        "Grep" if input["output_mode"] == "content" => Some(found("line")),
        "Grep" => Some(found("file")),
        "TodoWrite" => Some("The list is updated".to_owned()),
        "EnterPlanMode" => Some("Planning".to_owned()),
        "SelectActiveIntent" | "select_active_intent" => Some("Selected".to_owned()),
        _ => None,
    }
}

/// Whether a line has its number before it.
fn is_numbered(line: &str) -> bool {
    let rest = line.trim_start_matches(|c: char| c.is_ascii_digit());
    rest.len() < line.len() && rest.starts_with('\t')
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_call_is_named_by_what_it_is_about() {
        let shown = |tool: &str, input: Value| {
            let Title { name, about } = title(tool, &input);
            format!("{name}({about})")
        };
        assert_eq!(shown("Bash", json!({"command": "ls"})), "Bash(ls)");
        assert_eq!(shown("Edit", json!({"file_path": "/a"})), "Edit(/a)");
        assert_eq!(shown("mcp__docs__search", json!({})), "docs - search (MCP)()");
        assert_eq!(shown("Grep", json!({"pattern": "x", "path": "src"})), "Grep(x, path: src)");
    }

    #[test]
    fn results_are_counted() {
        let of = |tool: &str, content: &str| summary(tool, &json!({}), content).unwrap();
        assert_eq!(of("Read", "/a (3 lines)\n1\tx\n2\ty\n3\tz\n"), "Read 3 lines");
        assert_eq!(
            of("Read", "/a exists but is empty (0 lines)"),
            "/a exists but is empty (0 lines)"
        );
        assert_eq!(of("Glob", "/a\n/b\n(results are truncated)"), "Found 2 files");
        assert_eq!(of("Grep", "Found 1 file\n/a"), "Found 1 file");
        assert_eq!(of("Grep", "No files found"), "No files found");
        let lines = summary("Grep", &json!({"output_mode": "content"}), "/a:1:x\n/a:2:x");
        assert_eq!(lines.as_deref(), Some("Found 2 lines"));
    }
}
