//! Remarks about a changed file that is valid.

use std::path::Path;

use ona_files::resolve;
use ona_policy::Scope;
use ona_repo::Checkout;
use serde_json::Value;

use super::Layer;

/// Directories in the settings that do not exist: each with its key.
pub(super) fn missing_directories(layer: &Layer) -> Vec<(String, String)> {
    let named = layer.json.get("permissions").and_then(|all| all.get("additionalDirectories"));
    let named = named.and_then(Value::as_array).into_iter().flatten().enumerate();
    let missing = named.filter_map(|(at, dir)| {
        let dir = resolve(&layer.base, dir.as_str()?).ok()?;
        let reason = format!("directory {} does not exist", dir.display());
        (!dir.is_dir()).then(|| (format!("permissions.additionalDirectories[{at}]"), reason))
    });
    missing.collect()
}

/// The remark about a new local file that git does not ignore.
pub(super) fn exposed(scope: Scope, file: &Path) -> Option<String> {
    if scope != Scope::Local {
        return None;
    }
    let top = Checkout::top_of(file.parent()?)?;
    (!ona_repo::is_ignored(top, file)).then(|| {
        "git does not ignore this new file: add it to .gitignore to keep it private".to_owned()
    })
}
