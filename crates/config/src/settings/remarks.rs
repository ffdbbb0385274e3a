//! What somebody who has just changed a file should hear, though nothing in it is wrong.

use std::path::Path;

use ona_files::resolve;
use ona_policy::Scope;
use ona_repo::Checkout;
use serde_json::Value;

use super::Layer;

/// Directories that settings name and that there are not: each with its key.
pub(super) fn missing_directories(layer: &Layer) -> Vec<(String, String)> {
    let named = layer.json.get("permissions").and_then(|all| all.get("additionalDirectories"));
    let named = named.and_then(Value::as_array).into_iter().flatten().enumerate();
    let missing = named.filter_map(|(at, dir)| {
        let dir = resolve(&layer.base, dir.as_str()?).ok()?;
        let reason = format!("there is no directory {}", dir.display());
        (!dir.is_dir()).then(|| (format!("permissions.additionalDirectories[{at}]"), reason))
    });
    missing.collect()
}

/// What is said of a new file that is meant to stay the operator's own and that git would commit.
pub(super) fn exposed(scope: Scope, file: &Path) -> Option<String> {
    if scope != Scope::Local {
        return None;
    }
    let top = Checkout::top_of(file.parent()?)?;
    (!ona_repo::is_ignored(top, file)).then(|| {
        format!(
            "{} is new and git does not ignore it: add it to .gitignore if it is to stay yours alone",
            file.display()
        )
    })
}
