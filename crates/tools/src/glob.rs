//! Glob: which files have names of a given shape, the newest first.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::{GlobBuilder, GlobMatcher};
use ona_policy::Effects;
use ona_policy::path::resolve;
use ona_types::ToolOutput;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Place, ToolContext, ToolSettings};
use crate::input::InputError;
use crate::tool::{BuiltIn, Refusal};
use crate::walk::{self, Halt, VCS_DIRS};

/// More paths than this help nobody.
const MOST_PATHS: usize = 100;

pub(crate) struct Glob;

#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct GlobInput {
    /// The glob pattern, relative to `path` or absolute: `*.rs` matches in the directory itself,
    /// `**/*.rs` at any depth, `src/**/*.{ts,tsx}` below `src`.
    pattern: String,
    /// The directory to search; the current directory if left out.
    path: Option<String>,
}

impl BuiltIn for Glob {
    const NAME: &'static str = "Glob";
    const DESCRIPTION: &'static str = "Finds files by name. Takes a glob pattern such as `**/*.rs` \
        or `src/**/*.{ts,tsx}` and returns absolute paths, the most recently modified first, at most \
        100. Hidden and ignored files are included. Use Grep to search by content.";
    type Input = GlobInput;

    fn effects(input: &GlobInput, place: &Place) -> Result<Effects, InputError> {
        // Not `path`: an absolute pattern, or one with `..`, reads elsewhere.
        Ok(Effects::read(Plan::new(input, &place.cwd)?.base))
    }

    async fn run(input: GlobInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let plan = Plan::new(&input, &cx.place.cwd)
            .map_err(|error| Refusal::rejected(error.to_string()))?;
        let settings = cx.settings.clone();
        let found = walk::search(cx, move |halt| plan.files(&settings, halt)).await?;
        Ok(ToolOutput::success(listing(&found)))
    }
}

/// A file and when it changed; sorts the newest first, then by path.
type Found = (Reverse<SystemTime>, PathBuf);

/// A pattern, split into where to look and what to look for.
struct Plan {
    /// What `path` names.
    root: PathBuf,
    /// Where the walk starts: `root` and the pattern's leading names without wildcards.
    base: PathBuf,
    /// Matches paths relative to `base`.
    matcher: GlobMatcher,
    /// How deep below `base` a match can lie, if that is bounded.
    depth: Option<usize>,
    /// The version control directories the pattern asks for.
    vcs_dirs: Vec<&'static str>,
}

impl Plan {
    fn new(input: &GlobInput, cwd: &Path) -> Result<Self, InputError> {
        let bad = |reason: String| InputError::new(Glob::NAME, format!("`pattern`: {reason}"));
        let bad_path = |key| move |error| InputError::path(Glob::NAME, key, &error);
        if input.pattern.contains('\0') {
            return Err(bad("the pattern contains a NUL byte".to_owned()));
        }
        let root = walk::root(cwd, input.path.as_deref()).map_err(bad_path("path"))?;
        let (prefix, rest) = split(&input.pattern);
        if rest.is_empty() || rest.split('/').any(|part| part == "..") {
            return Err(bad("must end in a file name, with `..` only before wildcards".to_owned()));
        }
        let base = resolve(&root, prefix).map_err(bad_path("pattern"))?;
        let matcher = GlobBuilder::new(&rest)
            .literal_separator(true)
            .build()
            .map_err(|error| bad(error.to_string()))?
            .compile_matcher();
        let depth = (!rest.contains("**")).then(|| 1 + rest.matches('/').count());
        let names = |dir: &&str| rest.split(['/', '{', ',', '}']).any(|part| part == *dir);
        let vcs_dirs = VCS_DIRS.into_iter().filter(names).collect();
        Ok(Self { root, base, matcher, depth, vcs_dirs })
    }

    fn files(self, settings: &ToolSettings, halt: &Halt) -> Result<Vec<Found>, Refusal> {
        if !walk::inspect(&self.root)?.is_dir() {
            return Err(Refusal::rejected(format!(
                "`path`: {} is not a directory; give the directory it is in, or read it with Read",
                self.root.display()
            )));
        }
        // Nothing is below a base that does not exist, which is no mistake in a pattern.
        if !self.base.is_dir() {
            return Ok(Vec::new());
        }
        let mut walk =
            walk::walker(&self.base, settings.glob_hidden, settings.glob_ignored, self.vcs_dirs)?;
        let mut found = walk::collect(walk.max_depth(self.depth), halt, |entry| {
            let name = entry.path().strip_prefix(&self.base).ok()?;
            if entry.file_type()?.is_dir() || !self.matcher.is_match(name) {
                return None;
            }
            // Follows links, so that a link to a file counts as one.
            let meta = fs::metadata(entry.path()).ok().filter(|meta| meta.is_file())?;
            Some((Reverse(meta.modified().unwrap_or(SystemTime::UNIX_EPOCH)), entry.into_path()))
        })?;
        found.sort_unstable();
        Ok(found)
    }
}

/// The leading directories without wildcards, and the pattern that remains: `src`, `**/*.rs`.
fn split(pattern: &str) -> (PathBuf, String) {
    let mut prefix = PathBuf::from(if pattern.starts_with('/') { "/" } else { "." });
    let mut rest = Vec::new();
    let mut parts = pattern.split('/').filter(|part| !matches!(*part, "" | ".")).peekable();
    while let Some(part) = parts.next() {
        let wild = part.contains(['*', '?', '[', ']', '{', '}', '\\']);
        if rest.is_empty() && !wild && parts.peek().is_some() {
            prefix.push(part);
        } else {
            rest.push(part);
        }
    }
    (prefix, rest.join("/"))
}

fn listing(found: &[Found]) -> String {
    if found.is_empty() {
        return "No files found".to_owned();
    }
    let mut lines: Vec<_> =
        found.iter().take(MOST_PATHS).map(|(_, path)| walk::shown(path)).collect();
    if let Some(more @ 1..) = found.len().checked_sub(MOST_PATHS) {
        lines.push(format!("({more} more files match; narrow the pattern or the path)").into());
    }
    lines.join("\n")
}
