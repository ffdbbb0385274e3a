//! What agents, skills and commands would run or permit.

use std::path::{Path, PathBuf};

use ona_types::PermissionMode;
use serde_json::json;

use ona_config::settings::Roots;
use ona_config::trust::ExtensionEffects;

use crate::files::{Bound, Files, SKILL_FILE};
use crate::keys::{self, Keys};
use crate::render::has_commands;

/// Keys that make something run.
const RUNS: [&str; 2] = ["hooks", "mcpServers"];

/// What a file would do.
pub(crate) fn effects_of(file: &Path, keys: &Keys, body: &str) -> ExtensionEffects {
    let mut effects = ExtensionEffects { file: file.to_owned(), ..ExtensionEffects::default() };
    for key in RUNS {
        effects.runs.extend(keys.value(key).map(|value| (key.to_owned(), value.clone())));
    }
    let rules = keys.value("allowed-tools").map(|rules| match has_commands(body) {
        // The rules also allow the commands in the text, so the text is part of them.
        true => json!([rules, body]),
        false => rules.clone(),
    });
    effects.permits.extend(rules.map(|rules| ("allowed-tools".to_owned(), rules)));
    // A stricter mode needs no trust.
    let mode = keys.value("permissionMode").filter(|mode| {
        let mode = mode.as_str().and_then(|mode| mode.trim().parse().ok());
        matches!(mode, Some(PermissionMode::AcceptEdits | PermissionMode::BypassPermissions))
    });
    effects.permits.extend(mode.map(|mode| ("permissionMode".to_owned(), mode.clone())));
    effects
}

/// What the project's own files would do; skills and commands only if those are read. A file that cannot be read does
/// nothing: it is not used.
pub(crate) fn of_project(roots: &Roots, skills: bool) -> Vec<ExtensionEffects> {
    let bound = Bound::Within(roots.checkout());
    let mut files = Files::default();
    let mut paths = Vec::new();
    for dir in project_dirs(roots) {
        paths.extend(files.markdown(&dir.join("agents"), &bound));
        if skills {
            paths.extend(files.in_each(&dir.join("skills"), SKILL_FILE, &bound));
            paths.extend(files.markdown(&dir.join("commands"), &bound));
        }
    }
    of_files(&paths, &mut files, &bound)
}

/// What the skills of a further working directory would do.
pub(crate) fn of_added(dir: &Path) -> Vec<ExtensionEffects> {
    let (mut files, bound) = (Files::default(), Bound::Within(dir.to_owned()));
    let paths = files.in_each(&dir.join(".claude/skills"), SKILL_FILE, &bound);
    of_files(&paths, &mut files, &bound)
}

/// What these files would do, without files that are only text.
pub(crate) fn of_files(
    paths: &[PathBuf],
    files: &mut Files,
    bound: &Bound,
) -> Vec<ExtensionEffects> {
    let mut found = Vec::new();
    for path in paths {
        let Some(text) = files.read(path, bound) else { continue };
        if let Ok(document) = keys::read(&text)
            && let Some(keys) = document.keys
        {
            found.push(effects_of(path, &keys, document.body));
        }
    }
    found.retain(|effects| !effects.is_nothing());
    found
}

/// The project's directories `.claude`, from the root of the checkout down, without the user's own one.
pub(crate) fn project_dirs(roots: &Roots) -> Vec<PathBuf> {
    let dirs = roots.project_dirs().into_iter().map(|dir| dir.join(".claude"));
    dirs.filter(|dir| *dir != roots.claude_dir).collect()
}
