//! `Read(…)` and `Edit(…)`: the shape of a path, in gitignore's manner with four anchors.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use globset::{Glob, GlobBuilder, GlobSet, GlobSetBuilder};
use ona_types::Behavior;

use super::{RuleError, refuse};
use ona_effects::Surroundings;
use ona_effects::path::Target;

/// The directories behind the anchors of a rule's paths.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Anchors {
    /// `/p`: the directory the settings belong to.
    pub source: PathBuf,
    /// `p` and `./p`.
    pub cwd: PathBuf,
    /// `~/p`.
    pub home: PathBuf,
}

impl Anchors {
    /// The anchors of rules that belong to the project.
    pub fn of(around: &Surroundings) -> Self {
        Self {
            source: around.project_dir.clone(),
            cwd: around.project_dir.clone(),
            home: around.home.clone(),
        }
    }
}

/// A pattern for paths below a directory.
#[derive(Clone, Debug)]
pub(crate) struct PathPattern {
    base: PathBuf,
    shape: Shape,
}

/// Most patterns are plain names, and compared with a path name by name. Only a pattern with wildcards is
/// compiled, and only when it is first asked: a session has dozens of rules and asks few of them.
#[derive(Clone, Debug)]
enum Shape {
    /// These names, right below the base or anywhere, and whatever is below them.
    Names { names: Vec<String>, anywhere: bool },
    /// Globs, relative to the base.
    Globs { globs: Vec<Glob>, compiled: OnceLock<Option<GlobSet>> },
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
        Ok(Self { base: base.to_owned(), shape: shape(rest, anchored, behavior)? })
    }

    pub(crate) fn fits(&self, path: &Path) -> bool {
        let Ok(below) = path.strip_prefix(&self.base) else { return false };
        match &self.shape {
            Shape::Names { names, anywhere } => {
                let parts: Vec<&OsStr> = below.components().map(|part| part.as_os_str()).collect();
                let starts = if *anywhere { parts.len() } else { 1 };
                (0..starts.max(1)).any(|start| {
                    let here = parts.get(start..).unwrap_or_default();
                    here.len() >= names.len()
                        && names.iter().zip(here).all(|(name, part)| *part == name.as_str())
                })
            }
            Shape::Globs { globs, compiled } => compiled
                .get_or_init(|| {
                    let mut set = GlobSetBuilder::new();
                    for glob in globs {
                        set.add(glob.clone());
                    }
                    set.build().ok()
                })
                .as_ref()
                // A pattern that parses but does not compile is too large: it denies, and allows nothing.
                .is_none_or(|set| set.is_match(below)),
        }
    }

    /// The one path that it is about, with what is below it; `None` if there may be several.
    pub(crate) fn only(&self) -> Option<PathBuf> {
        match &self.shape {
            Shape::Names { names, anywhere: false } => {
                Some(names.iter().fold(self.base.clone(), |path, name| path.join(name)))
            }
            Shape::Names { .. } | Shape::Globs { .. } => None,
        }
    }

    /// For an allow rule: the name and what it leads to must both fit.
    pub(crate) fn covers(&self, target: &Target) -> bool {
        self.compiles() && self.fits(&target.named) && self.fits(&target.real)
    }

    /// For a deny or ask rule: either is enough.
    pub(crate) fn hits(&self, target: &Target) -> bool {
        self.fits(&target.named) || self.fits(&target.real)
    }

    fn compiles(&self) -> bool {
        match &self.shape {
            Shape::Names { .. } => true,
            Shape::Globs { compiled, .. } => {
                // Asking once compiles it.
                self.fits(&self.base);
                compiled.get().is_some_and(Option::is_some)
            }
        }
    }
}

/// Reads what stands behind the anchor, in gitignore's manner: a name without a slash is looked for at any
/// depth, and so is `dir/**`, except for what it would allow. What matches a directory matches all that is in
/// it, and `dir/**` matches `dir` itself too.
fn shape(rest: &str, anchored: bool, behavior: Behavior) -> Result<Shape, RuleError> {
    let whole = |names| Ok(Shape::Names { names, anywhere: false });
    if rest.is_empty() || rest == "**" {
        return whole(Vec::new());
    }
    let dir = rest.strip_suffix("/**");
    let name = dir.unwrap_or(rest);
    let (deep, name) = match name.strip_prefix("**/") {
        Some(name) => (true, name),
        None => (false, name),
    };
    let anywhere =
        deep || !anchored && !name.contains('/') && (dir.is_none() || behavior != Behavior::Allow);
    if !name.contains(['*', '?', '[', ']', '{', '}', '\\']) {
        let names = name.split('/').filter(|name| !name.is_empty()).map(str::to_owned).collect();
        return Ok(Shape::Names { names, anywhere });
    }
    let prefix = if anywhere { "**/" } else { "" };
    let globs = [format!("{prefix}{name}"), format!("{prefix}{name}/**")].map(|text| {
        GlobBuilder::new(&text)
            .literal_separator(true)
            .build()
            .map_err(|error| RuleError::Unreadable(error.kind().to_string()))
    });
    let globs = globs.into_iter().collect::<Result<_, _>>()?;
    Ok(Shape::Globs { globs, compiled: OnceLock::new() })
}
