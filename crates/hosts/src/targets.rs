//! What a call of a host's agent would touch, from the tool's name and the input.

use std::path::Path;

use ona_effects::path::Target;
use ona_effects::{Effects, Start};
use ona_repo::Disk;
use ona_tools::Place;
use ona_types::{ToolKind, WriteAction};
use serde_json::Value;

use super::payload::{command_of, patch_of};

/// The lines of a patch that name a file.
const PATCH_LINES: [&str; 4] =
    ["*** Add File: ", "*** Update File: ", "*** Delete File: ", "*** Move to: "];

/// The fields in which tools name a file, and those for its content.
const PATHS: [&str; 5] = ["file_path", "path", "filename", "file", "target_file"];
const CONTENT: [&str; 8] =
    ["content", "contents", "new_string", "new_str", "file_text", "text", "patch", "code_edit"];

/// What the call would touch, or why that is not known.
pub(super) fn effects(kind: ToolKind, input: &Value, place: &Place) -> Effects {
    let cwd = place.cwd.as_path();
    let text = |key: &str| input.get(key).and_then(Value::as_str);
    let dir = text("workdir").map_or_else(|| cwd.to_owned(), |dir| cwd.join(dir));
    let one = |path: Option<&str>| match path {
        Some(path) => writes(cwd, &[path]),
        None => Effects::default(),
    };
    match kind {
        ToolKind::Command => {
            let start = Start { cwd: &dir, home: place.home.as_deref() };
            match command_of(input).map(|line| Effects::of_shell(&Disk, &line, start)) {
                Some(Ok(effects)) => effects,
                Some(Err(error)) => opaque(error.to_string()),
                None => opaque("the call names no command".to_owned()),
            }
        }
        ToolKind::Write(WriteAction::Patch) => match patch_of(input).map(patched) {
            Some(files) if !files.is_empty() => writes(cwd, &files),
            _ => opaque("the patch names no file".to_owned()),
        },
        ToolKind::Write(_) => one(text("file_path").or(text("notebook_path")).or(text("path"))),
        ToolKind::Read => match text("file_path").map(|path| Target::of(&Disk, cwd, path)) {
            Some(Ok(target)) => Effects { reads: vec![target], ..Effects::default() },
            _ => Effects::default(),
        },
        // An unknown tool that names a file and has content writes it.
        ToolKind::Other if CONTENT.iter().any(|key| input.get(*key).is_some()) => {
            one(PATHS.iter().find_map(|key| text(key)))
        }
        ToolKind::Server | ToolKind::SelectIntent | ToolKind::Other => Effects::default(),
    }
}

fn opaque(why: String) -> Effects {
    Effects { opaque: Some(why), ..Effects::default() }
}

fn writes(cwd: &Path, paths: &[&str]) -> Effects {
    let mut effects = Effects::default();
    for path in paths {
        match Target::of(&Disk, cwd, path) {
            Ok(target) => effects.writes.push(target),
            Err(error) => effects.opaque = Some(error.to_string()),
        }
    }
    effects
}

/// The files of a patch, including targets of moves.
fn patched(patch: &str) -> Vec<&str> {
    let named = |line: &str| -> Option<usize> {
        PATCH_LINES.iter().find(|head| line.starts_with(**head)).map(|head| head.len())
    };
    // Codex accepts indented lines too.
    let lines = patch.lines().map(str::trim_start);
    let lines = lines.filter_map(|line| Some(line[named(line)?..].trim()));
    lines.filter(|path| !path.is_empty()).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use crate::tools::kind_of;

    use super::*;

    #[test]
    fn files_are_found_where_each_tool_names_them() {
        for (tool, input, files) in [
            ("Edit", json!({"file_path": "a"}), &["/w/a"][..]),
            ("Write", json!({"file_path": "/x/b"}), &["/x/b"]),
            ("write_to_file", json!({"path": "a"}), &["/w/a"]),
            ("NotebookEdit", json!({"notebook_path": "n.ipynb"}), &["/w/n.ipynb"]),
            (
                "apply_patch",
                json!({"command": "*** Begin Patch\n*** Update File: a\n*** Move to: b/c\n@@\n+*** Add File: no\n*** Delete File: d\n*** End Patch"}),
                &["/w/a", "/w/b/c", "/w/d"],
            ),
            ("Bash", json!({"command": "echo > out"}), &["/w/out"]),
            ("apply_patch", json!({"input": "*** Begin Patch\n  *** Add File: e\n+x"}), &["/w/e"]),
            ("Bash", json!({"cmd": "echo > out", "workdir": "src"}), &["/w/src/out"]),
            ("create_file", json!({"path": "n", "file_text": "x"}), &["/w/n"]),
            ("look_at_file", json!({"path": "n"}), &[]),
            ("mcp__x__write", json!({"file_path": "a"}), &[]),
            ("Edit", json!({}), &[]),
        ] {
            let effects = effects(kind_of(tool), &input, &Place::at("/w"));
            let found: Vec<_> =
                effects.writes.iter().map(|target| target.named.display().to_string()).collect();
            assert_eq!(found, files, "{tool} {input}");
            assert_eq!(effects.opaque, None);
        }
        let (kind, input) = (kind_of("apply_patch"), json!({"command": "no patch"}));
        assert!(effects(kind, &input, &Place::at("/w")).opaque.is_some());
    }
}
