//! Glob: finds files by name pattern, the newest first.

use std::cmp::Reverse;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use ignore::overrides::Override;
use ona_effects::Effects;
use ona_effects::path::Target;
use ona_mcp::Hints;
use ona_policy::RuleSubject;
use ona_repo::Disk;
use ona_types::{ToolKind, ToolOutput};
use schemars::JsonSchema;
use serde::Deserialize;

use crate::context::{Hides, Place, ToolContext, ToolSettings};
use crate::facts::Facts;
use crate::input::InputError;
use crate::tool::{BuiltIn, Refusal};
use crate::walk::{self, Halt, VCS_DIRS};

/// The limit for listed paths.
const MAX_PATHS: usize = 100;

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
    const FACTS: Facts =
        Facts { kind: ToolKind::Read, rules: RuleSubject::Reads, ..Facts::plain(Hints::READS) };
    type Input = GlobInput;

    fn effects(input: &GlobInput, place: &Place) -> Result<Effects, InputError> {
        // Not `path`: an absolute pattern, or one with `..`, reads elsewhere.
        Ok(Effects::read(Plan::new(input, &place.cwd)?.target))
    }

    async fn run(input: GlobInput, cx: &ToolContext<'_>) -> Result<ToolOutput, Refusal> {
        let (cwd, settings) = (cx.place.cwd.clone(), cx.settings.clone());
        let halt = Halt::new(cx.cancel, settings.search_timeout);
        let hides = cx.hides.clone();
        walk::search(halt, move |halt| answer(&input, &cwd, &settings, hides, halt)).await
    }
}

fn answer(
    input: &GlobInput,
    cwd: &Path,
    settings: &ToolSettings,
    hides: Hides,
    halt: &Halt,
) -> Result<String, Refusal> {
    let plan = Plan::new(input, cwd).map_err(|error| Refusal::rejected(error.to_string()))?;
    Ok(listing(&plan.files(settings, hides, halt)?))
}

/// A file and when it changed; sorts the newest first, then by path.
type Found = (Reverse<SystemTime>, PathBuf);

/// A pattern, split into where to look and what to look for.
struct Plan {
    /// What `path` names.
    root: PathBuf,
    /// Where the walk starts: `root` and the pattern's leading names without wildcards.
    target: Target,
    /// Matches paths relative to that.
    matcher: GlobSet,
    /// How deep below it a match can lie, if that is bounded.
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
        let names = |name: &str| rest.split(['/', '{', ',', '}']).any(|part| part == name);
        if rest.is_empty() || names("..") {
            return Err(bad("must end in a file name, with `..` only before wildcards".to_owned()));
        }
        let start = Path::new(input.path.as_deref().unwrap_or(".")).join(prefix);
        let target = Target::of(&Disk, cwd, start).map_err(bad_path("pattern"))?;
        let glob = GlobBuilder::new(&rest)
            .literal_separator(true)
            .build()
            .map_err(|error| bad(error.to_string()))?;
        // A set of one: unlike a single matcher it knows short cuts for shapes such as `**/*.rs`.
        let matcher =
            GlobSetBuilder::new().add(glob).build().map_err(|error| bad(error.to_string()))?;
        let depth = (!rest.contains("**")).then(|| 1 + rest.matches('/').count());
        let vcs_dirs = VCS_DIRS.into_iter().filter(|dir| names(dir)).collect();
        Ok(Self { root, target, matcher, depth, vcs_dirs })
    }

    fn files(
        self,
        settings: &ToolSettings,
        hides: Hides,
        halt: &Halt,
    ) -> Result<Vec<Found>, Refusal> {
        if !walk::inspect(&self.root)?.is_dir() {
            return Err(Refusal::rejected(format!(
                "`path`: {} is not a directory; give the directory it is in, or read it with Read",
                self.root.display()
            )));
        }
        // A base that does not exist has no matches; that is not an error.
        let base = &self.target.real;
        if !base.is_dir() {
            return Ok(Vec::new());
        }
        let (hidden, ignored) = (settings.glob_hidden, settings.glob_ignored);
        let mut walk =
            walk::walker(base, hidden, ignored, Override::empty(), self.vcs_dirs, hides)?;
        let mut found = walk::collect(walk.max_depth(self.depth), halt, |entry| {
            let name = entry.path().strip_prefix(base).ok()?;
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
        found.iter().take(MAX_PATHS).map(|(_, path)| walk::shown(path)).collect();
    if let Some(more @ 1..) = found.len().checked_sub(MAX_PATHS) {
        lines.push(format!("({more} more files match; narrow the pattern or the path)").into());
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use std::fs::{File, FileTimes};
    use std::os::unix::fs::symlink;
    use std::time::Duration;

    use serde_json::json;

    use super::*;
    use crate::walk::testing::{nothing_hidden, patient, tree};

    fn run(
        root: &Path,
        pattern: &str,
        path: Option<&str>,
        set: &ToolSettings,
    ) -> Result<String, Refusal> {
        let input = GlobInput { pattern: pattern.to_owned(), path: path.map(str::to_owned) };
        let text = answer(&input, root, set, nothing_hidden(), &patient())?;
        Ok(text.replace(&format!("{}/", root.display()), ""))
    }

    /// What a pattern finds, in alphabetical order.
    fn glob(root: &Path, pattern: &str) -> String {
        let text = run(root, pattern, None, &ToolSettings::default()).unwrap();
        let mut lines: Vec<_> = text.lines().collect();
        lines.sort_unstable();
        lines.join(" ")
    }

    fn set_age(file: &Path, seconds: u64) {
        let time = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000 - seconds);
        let file = File::options().write(true).open(file).unwrap();
        file.set_times(FileTimes::new().set_modified(time)).unwrap();
    }

    #[test]
    fn patterns() {
        let (_dir, root) =
            tree(&[("a.rs", ""), ("b.py", ""), ("src/c.rs", ""), ("src/x/d.rs", "")]);
        let absolute = format!("{}/src/*.rs", root.display());
        for (pattern, expected) in [
            ("*.rs", "a.rs"),
            ("./*.rs", "a.rs"),
            ("a.rs", "a.rs"),
            ("**/*.rs", "a.rs src/c.rs src/x/d.rs"),
            ("src/**/*.rs", "src/c.rs src/x/d.rs"),
            ("src/**", "src/c.rs src/x/d.rs"),
            ("*/*.rs", "src/c.rs"),
            ("**/x/*", "src/x/d.rs"),
            ("*.{rs,py}", "a.rs b.py"),
            ("{src/x,.}/*.rs", "src/x/d.rs"),
            ("[ab].??", "a.rs b.py"),
            ("src/x/../../*.py", "b.py"),
            (&absolute, "src/c.rs"),
            ("src", "No files found"),
            ("gone/*.rs", "No files found"),
            ("a.rs/*", "No files found"),
        ] {
            assert_eq!(glob(&root, pattern), expected, "{pattern}");
        }
        let from_src = run(&root, "../*.rs", Some("src"), &ToolSettings::default()).unwrap();
        assert_eq!(from_src, "a.rs");
    }

    #[test]
    fn the_newest_come_first_and_not_too_many() {
        let names: Vec<_> = (0..103).map(|n| format!("{n:03}")).collect();
        let (_dir, root) = tree(&names.iter().map(|name| (name.as_str(), "")).collect::<Vec<_>>());
        for (name, age) in names.iter().zip(0..) {
            // The first two are equally new.
            set_age(&root.join(name), if age < 2 { 0 } else { 200 - age });
        }
        let text = run(&root, "*", None, &ToolSettings::default()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines[..4], ["000", "001", "102", "101"]);
        assert_eq!(lines[100..], ["(3 more files match; narrow the pattern or the path)"]);
        assert_eq!(run(&root, "0*", None, &ToolSettings::default()).unwrap().lines().count(), 100);
    }

    #[test]
    fn hidden_ignored_and_version_control() {
        let (_dir, root) = tree(&[
            (".gitignore", "*.log"),
            ("a.log", ""),
            (".h/b", ""),
            (".git/c", ""),
            ("d/.git/c", ""),
            ("d/.jj", ""),
        ]);
        assert_eq!(glob(&root, "**/*"), ".gitignore .h/b a.log d/.jj");
        assert_eq!(glob(&root, ".git/*"), ".git/c");
        assert_eq!(glob(&root, "**/.git/*"), ".git/c d/.git/c");
        assert_eq!(glob(&root, "*/{.git,x}/*"), "d/.git/c");
        let only = |hidden, ignored| {
            let settings = ToolSettings {
                glob_hidden: hidden,
                glob_ignored: ignored,
                ..ToolSettings::default()
            };
            run(&root, "{**/*.log,**/b}", None, &settings).unwrap()
        };
        assert_eq!((only(false, true), only(true, false)), ("a.log".to_owned(), ".h/b".to_owned()));
    }

    #[test]
    fn links_to_files_count() {
        let (_dir, root) = tree(&[("dir/a", "")]);
        symlink("dir/a", root.join("file")).unwrap();
        symlink("dir", root.join("also")).unwrap();
        symlink("gone", root.join("broken")).unwrap();
        assert_eq!(glob(&root, "**/*"), "dir/a file");
        assert_eq!(glob(&root, "also/*"), "dir/a");
    }

    #[test]
    fn what_is_refused() {
        let (_dir, root) = tree(&[("a", "")]);
        for (pattern, path, expected) in [
            ("[a", None, "`pattern`: error parsing glob '[a': unclosed character class"),
            ("a\0", None, "`pattern`: the pattern contains a NUL byte"),
            ("*/../a", None, "`..` only before wildcards"),
            ("", None, "must end in a file name"),
            ("*", Some("gone"), "/gone does not exist; check the spelling"),
            ("*", Some("a"), "/a is not a directory; give"),
        ] {
            match run(&root, pattern, path, &ToolSettings::default()) {
                Err(Refusal::Rejected(message)) => assert!(message.contains(expected), "{message}"),
                other => panic!("{other:?}"),
            }
        }
    }

    #[test]
    fn effects_are_where_it_looks() {
        let reads = |pattern: &str, path: &str| {
            let input = json!({"pattern": pattern, "path": path});
            crate::find("Glob").unwrap().prepare(&input, &Place::at("/no")).unwrap().reads
        };
        assert_eq!(reads("**/*.rs", "such"), [Target::real("/no/such".into())]);
        assert_eq!(reads("../x/*", "such"), [Target::real("/no/x".into())]);
        assert_eq!(reads("/y/*", "such"), [Target::real("/y".into())]);
    }
}
