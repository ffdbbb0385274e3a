//! What git touches: files named from the top of its checkout, those it tracks, and those that a patch changes. A patch
//! names them itself, so it is read before it is applied.

use std::path::{Path, PathBuf};

use ona_programs::files::{InGit, Patch};
use ona_types::World;

use super::{Access, Effects, Scene, TrackedFiles};
use crate::path::Target;
use crate::shell::Script;

/// The limit for a patch, in bytes.
const MAX_PATCH: u64 = 8 << 20;
/// The limit for the files of a patch.
const MAX_MEMBERS: usize = 2_000;

/// A command line with its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Line<'a> {
    /// As written.
    pub(super) source: &'a str,
    /// Taken apart.
    pub(super) script: &'a Script,
}

impl Effects {
    /// Notes what git does apart from the files that are named to it as to other programs.
    pub(super) fn touch_git(&mut self, scene: &Scene<'_>, git: InGit) {
        let world = scene.world;
        self.feeds_writer = self.feeds_writer.take().or(git.writes_unknown);
        for patch in &git.patches {
            self.patch(scene, patch);
        }
        for place in scene.dirs {
            let within = |dir: &Option<String>| {
                let dir = Path::new(dir.as_deref().unwrap_or("."));
                world.resolve(place, dir).unwrap_or_else(|_| place.join(dir))
            };
            for named in &git.from_top {
                let dir = within(&named.dir);
                let top = world.checkout(&dir).unwrap_or(dir);
                let target = Target::of(world, &top, &named.path).ok();
                match named.access {
                    Access::Reads => self.reads.extend(target),
                    Access::Writes => self.writes.extend(target),
                }
            }
            for tracked in &git.tracked {
                let is_there = |path: &&String| world.exists(&place.join(path));
                let more = tracked.if_there.iter().filter(is_there);
                let below = tracked.below.iter().chain(more);
                let below = below.filter_map(|path| Target::of(world, place, path).ok()).collect();
                let dir = within(&tracked.dir);
                self.tracked.push(TrackedFiles { access: tracked.access, dir, below });
            }
        }
    }

    /// Notes the files that a patch changes, or that they are not known.
    fn patch(&mut self, scene: &Scene<'_>, patch: &Patch) {
        let world = scene.world;
        let mut writes = Vec::new();
        // Where the command is, the patch is too.
        let is_there =
            |dir: &PathBuf| patch.file.as_ref().is_none_or(|file| world.exists(&dir.join(file)));
        let dirs: Vec<PathBuf> = scene.dirs.iter().filter(|dir| is_there(dir)).cloned().collect();
        if dirs.is_empty() {
            return self.patch_is_unknown();
        }
        for dir in dirs {
            let Some(text) = self.patch_text(scene, patch, &dir) else {
                return self.patch_is_unknown();
            };
            let Some(names) = changed_files(&text, patch.strip) else {
                return self.patch_is_unknown();
            };
            let dir = patch.dir.as_ref().map_or_else(|| dir.clone(), |below| dir.join(below));
            // Names are from the top, but those of other programs' patches from where git works.
            let roots = world.checkout(&dir).filter(|top| *top != dir).into_iter().chain([dir]);
            for root in roots.collect::<Vec<PathBuf>>() {
                let root = patch.below.as_ref().map_or_else(|| root.clone(), |dir| root.join(dir));
                writes.extend(names.iter().filter_map(|name| Target::of(world, &root, name).ok()));
            }
        }
        // In a loop it would be another patch the next time.
        let own = |target: &Target| {
            let file = patch.file.as_ref();
            file.is_some_and(|file| {
                scene.dirs.iter().any(|dir| {
                    Target::of(world, dir, file).is_ok_and(|own| own.real == target.real)
                })
            })
        };
        if writes.iter().any(own) {
            self.patch_is_unknown();
        }
        self.writes.extend(writes);
    }

    fn patch_is_unknown(&mut self) {
        let why = "which files a patch changes is not known before it runs".to_owned();
        self.scatters.get_or_insert(why.clone());
        self.feeds_writer.get_or_insert(why);
    }

    /// The text of a patch, if nothing else in the command line could change it.
    fn patch_text(&mut self, scene: &Scene<'_>, patch: &Patch, dir: &Path) -> Option<String> {
        let Scene { world, line, .. } = *scene;
        let Line { source, script } = line;
        let alone = script.commands.len() == 1;
        match &patch.file {
            Some(file) => {
                let file = Target::of(world, dir, file).ok()?;
                // One patch may change the next.
                let changed = self.writes.iter().any(|target| target.real == file.real);
                if changed || self.may_change(scene, &file) {
                    return None;
                }
                text(world, &file)
            }
            None if !alone || script.opaque.is_some() => None,
            // A document in the command line: its lines are lines of the command line.
            None if script.here => {
                let plain =
                    !script.here_expands && !["<<-", "<<<"].iter().any(|it| source.contains(it));
                (plain && self.fed.is_empty()).then(|| source.to_owned())
            }
            None => match self.fed.as_slice() {
                [one] if self.redirected.is_empty() => text(world, one),
                _ => None,
            },
        }
    }
}

fn text(world: &dyn World, patch: &Target) -> Option<String> {
    String::from_utf8(world.content(&patch.real, MAX_PATCH)?).ok()
}

/// The names of the files that a patch changes, without as many directories as are taken off; nothing if it is not certain
/// that these are all.
fn changed_files(text: &str, strip: usize) -> Option<Vec<String>> {
    // A mail may hide its text, and say so in a line that begins with a blank.
    let encoded = |line: &str| {
        let line = line.to_ascii_lowercase();
        ["base64", "quoted-printable", "flowed", "delsp", "x-uuencode"]
            .iter()
            .any(|way| line.contains(way))
    };
    let mut found: Vec<String> = Vec::new();
    // Names in the first line of a part are joined by a blank, and others may follow.
    let mut nameless = false;
    let mut hunk = Hunk::default();
    for line in text.lines() {
        if hunk.takes(line) {
            continue;
        }
        if encoded(line) {
            return None;
        }
        let name = if let Some(both) = line.strip_prefix("diff --git ") {
            if nameless {
                return None;
            }
            let name = in_both(both, strip);
            nameless = name.is_none();
            name
        } else if let Some(rest) = line.strip_prefix("--- ").or(line.strip_prefix("+++ ")) {
            nameless = false;
            let (name, _) = rest.split_once('\t').unwrap_or((rest, ""));
            match name.trim_end() {
                "/dev/null" => None,
                name => {
                    let name = unquoted(name)?;
                    // Where a time follows, the name may end before any of its blanks.
                    let shorter = name.match_indices(' ').map(|(at, _)| name[..at].trim_end());
                    found.extend(shorter.map(|name| stripped(name, strip).to_owned()));
                    Some(stripped(&name, strip).to_owned())
                }
            }
        } else if let Some(name) = MOVES.iter().find_map(|begin| line.strip_prefix(begin)) {
            nameless = false;
            Some(stripped(&unquoted(name)?, strip.saturating_sub(1)).to_owned())
        } else {
            hunk = Hunk::begins(line).unwrap_or_default();
            None
        };
        found.extend(name);
        if found.len() > MAX_MEMBERS {
            return None;
        }
    }
    (!nameless && !found.is_empty()).then_some(found)
}

const MOVES: [&str; 6] =
    ["rename from ", "rename to ", "rename old ", "rename new ", "copy from ", "copy to "];

/// The lines of a change that are still to come.
#[derive(Clone, Copy, Debug, Default)]
struct Hunk {
    old: usize,
    new: usize,
}

impl Hunk {
    /// `@@ -1,2 +3,4 @@`
    fn begins(line: &str) -> Option<Self> {
        let (ranges, _) = line.strip_prefix("@@ -")?.split_once(" @@")?;
        let (old, new) = ranges.split_once(" +")?;
        let count = |range: &str| match range.split_once(',') {
            Some((_, count)) => count.parse().ok(),
            None => Some(1),
        };
        Some(Self { old: count(old)?, new: count(new)? })
    }

    /// Whether a line belongs to it.
    fn takes(&mut self, line: &str) -> bool {
        if self.old == 0 && self.new == 0 {
            return false;
        }
        let (old, new) = match line.as_bytes().first() {
            None | Some(b' ') => (1, 1),
            Some(b'-') => (1, 0),
            Some(b'+') => (0, 1),
            Some(b'\\') => (0, 0),
            _ => {
                *self = Self::default();
                return false;
            }
        };
        self.old = self.old.saturating_sub(old);
        self.new = self.new.saturating_sub(new);
        true
    }
}

/// The name in `a/name b/name`, if both are the same.
fn in_both(both: &str, strip: usize) -> Option<String> {
    if both.starts_with('"') || both.ends_with('"') {
        let (one, other) = both.split_once("\" \"")?;
        let one = unquoted(&format!("{one}\""))?;
        let other = unquoted(&format!("\"{other}"))?;
        let name = stripped(&one, strip);
        return (name == stripped(&other, strip)).then(|| name.to_owned());
    }
    both.match_indices(' ').find_map(|(at, _)| {
        let (one, other) = (stripped(&both[..at], strip), stripped(&both[at + 1..], strip));
        (one == other).then(|| one.to_owned())
    })
}

/// A path without its first directories; whole if it has not as many.
fn stripped(path: &str, count: usize) -> &str {
    let mut rest = path;
    for _ in 0..count {
        match rest.split_once('/') {
            Some((_, behind)) => rest = behind.trim_start_matches('/'),
            None => return path,
        }
    }
    rest
}

/// A name as git writes it: in quotes, with backslashes, if it is odd.
fn unquoted(name: &str) -> Option<String> {
    let Some(inner) = name.strip_prefix('"') else { return Some(name.to_owned()) };
    let mut rest = inner.strip_suffix('"')?.bytes();
    let mut bytes = Vec::new();
    while let Some(byte) = rest.next() {
        if byte != b'\\' {
            bytes.push(byte);
            continue;
        }
        bytes.push(match rest.next()? {
            b'n' => b'\n',
            b't' => b'\t',
            same @ (b'"' | b'\\') => same,
            high @ b'0'..=b'3' => {
                let mut digit = || rest.next().filter(u8::is_ascii_digit).map(|one| one - b'0');
                let (middle, low) = (digit()?, digit()?);
                (high - b'0') * 64 + middle.min(7) * 8 + low.min(7)
            }
            _ => return None,
        });
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Option<Vec<String>> {
        changed_files(text, 1)
    }

    #[test]
    fn every_file_of_a_patch_is_named() {
        for (text, expected) in [
            ("--- a/x\n+++ b/x\n@@ -1 +1 @@\n-1\n+2\n", &["x", "x"][..]),
            (
                "--- /dev/null\n+++ b/.claude/settings.json\t2026\n@@ -0,0 +1 @@\n+{}\n",
                &[".claude/settings.json"],
            ),
            (
                "diff --git a/.mcp.json b/.mcp.json\nnew file mode 100644\nindex 0..e\n",
                &[".mcp.json"],
            ),
            ("diff --git a/a b b/a b\nold mode 100644\nnew mode 100755\n", &["a b"]),
            (
                "diff --git a/x b/.envrc\nsimilarity index 100%\nrename from x\nrename to .envrc\n",
                &["x", ".envrc"],
            ),
            ("diff --git \"a/\\056git\" \"b/\\056git\"\nnew file mode 100644\n", &[".git"]),
            (
                "--- x\n+++ .mcp.json 2020-01-01 00:00:00\n",
                &["x", ".mcp.json", ".mcp.json 2020-01-01", ".mcp.json 2020-01-01 00:00:00"],
            ),
            // A removed line that looks like a header is not a file name.
            ("--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n y\n--- a/.bashrc\n--- a/z\n", &["x", "x", "z"]),
        ] {
            assert_eq!(names(text).unwrap(), expected, "{text}");
        }
        for unknown in [
            "",
            "nothing",
            "diff --git a/x b/y\nnew file mode 100644\n",
            "Content-Transfer-Encoding: base64\n\nLS0tIGEveAo=\n--- a/x\n+++ b/x\n",
            "Content-Transfer-Encoding:\n quoted-printable\n\n--- a/x\n+++ b/=2emcp.json\n",
            "Content-Type: text/plain; format=Flowed;\n\tdelsp=yes\n\n--- a/x\n+++ b/.mcp \n.json\n",
            "--- \"a/x\n+++ b/x\n",
        ] {
            assert_eq!(names(unknown), None, "{unknown}");
        }
        assert_eq!(changed_files("--- x\n+++ x\n", 0).unwrap(), ["x", "x"]);
        assert_eq!(changed_files("--- a/b/x\n+++ a/b/x\n", 2).unwrap(), ["x", "x"]);
    }
}
