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
pub fn summary(tool: &str, content: &str) -> Option<String> {
    let lines = content.lines().count();
    let counted = |number: usize, thing: &str| {
        format!("{number} {thing}{}", if number == 1 { "" } else { "s" })
    };
    match tool {
        "Read" => Some(format!("Read {}", counted(lines, "line"))),
        "Glob" | "Grep" => Some(format!("Found {}", counted(lines, "line"))),
        "TodoWrite" => Some("The list is updated".to_owned()),
        _ => None,
    }
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
}
