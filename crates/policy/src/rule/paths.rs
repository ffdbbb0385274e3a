//! `Read(…)` and `Edit(…)`: the shape of a path, in gitignore's manner with four anchors.

use std::path::{Path, PathBuf};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ona_types::Behavior;

use super::{RuleError, refuse};
use crate::path::Target;

/// What the anchors of a rule's paths stand for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// `/p`: the directory the settings belong to.
    pub source: PathBuf,
    /// `p` and `./p`.
    pub cwd: PathBuf,
    /// `~/p`.
    pub home: PathBuf,
}

/// The shape of a path below a directory.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    base: PathBuf,
    globs: GlobSet,
}

impl PathPattern {
    pub(crate) fn parse(
        content: &str,
        behavior: Behavior,
        anchors: &Anchors,
    ) -> Result<Self, RuleError> {
        if content.starts_with('!') {
            return refuse("a rule cannot begin with `!`: use deny for what is left out");
        }
        if content.contains('\0') {
            return refuse("the path contains a NUL byte");
        }
        let (base, rest, anchored) = if let Some(rest) = content.strip_prefix("//") {
            (Path::new("/"), rest, true)
        } else if content == "~" {
            (anchors.home.as_path(), "", true)
        } else if let Some(rest) = content.strip_prefix("~/") {
            (anchors.home.as_path(), rest, true)
        } else if let Some(rest) = content.strip_prefix('/') {
            (anchors.source.as_path(), rest, true)
        } else if let Some(rest) = content.strip_prefix("./") {
            (anchors.cwd.as_path(), rest, true)
        } else {
            (anchors.cwd.as_path(), content, false)
        };
        let rest = rest.trim_end_matches('/');
        if rest.split('/').any(|part| part == "..") {
            return refuse("the path contains `..`: write where it leads");
        }
        let mut globs = GlobSetBuilder::new();
        for shape in shapes(rest, anchored, behavior) {
            let glob = GlobBuilder::new(&shape)
                .literal_separator(true)
                .build()
                .map_err(|error| RuleError(error.kind().to_string()))?;
            globs.add(glob);
        }
        let globs = globs.build().map_err(|error| RuleError(error.kind().to_string()))?;
        Ok(Self { base: base.to_owned(), globs })
    }

    fn fits(&self, path: &Path) -> bool {
        path.strip_prefix(&self.base).is_ok_and(|below| self.globs.is_match(below))
    }

    /// For an allow rule: the name and what it leads to must both fit.
    pub(crate) fn covers(&self, target: &Target) -> bool {
        self.fits(&target.named) && self.fits(&target.real)
    }

    /// For a deny or ask rule: either is enough.
    pub(crate) fn hits(&self, target: &Target) -> bool {
        self.fits(&target.named) || self.fits(&target.real)
    }
}

/// The globs that a pattern stands for, relative to its anchor.
fn shapes(rest: &str, anchored: bool, behavior: Behavior) -> Vec<String> {
    let dir = rest.strip_suffix("/**");
    let name = dir.unwrap_or(rest);
    // In gitignore's manner a name without a slash is looked for at any depth. `dir/**` is too, except
    // for what it would allow.
    let anywhere = !anchored
        && !name.contains('/')
        && (dir.is_none() || behavior != Behavior::Allow)
        && name != "**";
    let prefix = if anywhere { "**/" } else { "" };
    if rest.is_empty() || rest == "**" {
        return vec!["**".to_owned(), String::new()];
    }
    // What matches a directory matches all that is in it; `dir/**` matches `dir` itself too.
    vec![format!("{prefix}{name}"), format!("{prefix}{name}/**")]
}
