//! The fields of `cargo metadata` that the tasks need.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde::Deserialize;

use crate::process;

#[derive(Deserialize)]
pub struct Metadata {
    pub packages: Vec<Package>,
    pub target_directory: PathBuf,
}

#[derive(Deserialize)]
pub struct Package {
    pub name: String,
    pub version: String,
    pub license: Option<String>,
    /// `registry+URL`, `git+URL#commit`; `None` for a package of this workspace.
    pub source: Option<String>,
    /// The registries it may be published to: an empty list is `publish = false`.
    pub publish: Option<Vec<String>>,
}

impl Package {
    /// Whether it is our own crate and never published.
    pub fn is_private(&self) -> bool {
        self.source.is_none() && self.publish.as_ref().is_some_and(Vec::is_empty)
    }
}

/// The content of Cargo.lock for the workspace under `root`, for all systems.
pub fn load(root: &Path) -> Result<Metadata> {
    let mut command = process::cargo();
    command.args(["metadata", "--locked", "--format-version", "1"]).current_dir(root);
    serde_json::from_str(&process::capture(&mut command)?)
        .context("cannot parse the output of `cargo metadata`")
}

/// The packages of [`load`] that some build, test or build script uses.
///
/// Cargo.lock also lists optional crates that only a weak feature (`zlib-rs?/std`) mentions and
/// no build uses. `cargo tree` knows the difference.
pub fn used_packages(root: &Path) -> Result<Vec<Package>> {
    let mut command = process::cargo();
    command
        .args(["tree", "--locked", "--workspace", "--target", "all"])
        .args(["--edges", "normal,build,dev", "--prefix", "none", "--format", "{p}"])
        .current_dir(root);
    let tree = process::capture(&mut command)?;
    let used: HashSet<(&str, &str)> = tree.lines().filter_map(name_and_version).collect();
    let mut packages = load(root)?.packages;
    packages.retain(|package| used.contains(&(package.name.as_str(), package.version.as_str())));
    Ok(packages)
}

/// Name and version in a line of `cargo tree`, such as `serde v1.0.229 (proc-macro) (*)`.
fn name_and_version(line: &str) -> Option<(&str, &str)> {
    let mut words = line.split_whitespace();
    Some((words.next()?, words.next()?.strip_prefix('v')?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_the_tree_name_packages() {
        assert_eq!(name_and_version("serde v1.0.229"), Some(("serde", "1.0.229")));
        let line = "toml_parser v1.1.5+spec-1.1.0 (proc-macro) (*)";
        assert_eq!(name_and_version(line), Some(("toml_parser", "1.1.5+spec-1.1.0")));
        assert_eq!(name_and_version(""), None);
    }

    #[test]
    fn the_workspace_uses_what_it_depends_on() -> Result<()> {
        let packages = used_packages(crate::root())?;
        assert!(packages.iter().any(|package| package.name == "serde"));
        let own = packages.iter().find(|package| package.name == "ona-xtask");
        assert!(own.is_some_and(Package::is_private));
        Ok(())
    }
}
