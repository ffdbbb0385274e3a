//! A command such as `cat file` shows a file as Read would: it may then be edited.

use std::path::{Path, PathBuf};

use ona_effects::shell;
use ona_files::Links;
use ona_sandbox::Captured;
use ona_types::{ContentHash, FileView, Seen};

/// A file that a command is about to show.
pub(crate) struct Look {
    path: PathBuf,
    before: ContentHash,
    seen: Seen,
}

impl Look {
    /// Only a single plain command with one file counts; the output of anything else is unknown.
    pub(crate) fn before(command: &str, cwd: &Path) -> Option<Self> {
        let script = shell::parse(command);
        let [command] = script.commands.as_slice() else { return None };
        if script.opaque.is_some()
            || !script.redirects.is_empty()
            || !command.assignments.is_empty()
        {
            return None;
        }
        let words: Option<Vec<&str>> =
            command.words.iter().map(|word| word.literal.as_deref()).collect();
        let (file, seen) = shown_by(&words?)?;
        let path = ona_files::resolve(cwd, file).ok()?;
        let before = content_hash(&path)?;
        Some(Self { path, before, seen })
    }

    /// The view, if the command printed something, all of it was kept, and the file stayed the same.
    pub(crate) fn after(self, stdout: &Captured) -> Option<FileView> {
        if stdout.bytes.is_empty() || stdout.truncated {
            return None;
        }
        let view = FileView { path: self.path, hash: self.before, seen: self.seen };
        (content_hash(&view.path)? == view.hash).then_some(view)
    }
}

/// The one file that a command shows, and how much of it.
fn shown_by<'w>(words: &[&'w str]) -> Option<(&'w str, Seen)> {
    let (name, rest) = words.split_first()?;
    let (valued, skip): (&[&str], usize) = match *name {
        // Any option changes what it prints.
        "cat" => {
            let [file] = rest else { return None };
            return (!file.starts_with('-')).then_some((*file, Seen::Whole));
        }
        "head" | "tail" => (&["-n", "-c"], 0),
        // The script comes first; `-i` would write.
        "sed" if rest.first() == Some(&"-n") && !rest.contains(&"-i") => (&[], 1),
        "grep" | "rg" => (&["-A", "-B", "-C", "-m"], 1),
        _ => return None,
    };
    let mut operands = Vec::new();
    let mut words = rest.iter();
    while let Some(word) = words.next() {
        if valued.contains(word) {
            words.next();
        } else if matches!(*word, "-e" | "-f" | "-r" | "-R") {
            return None;
        } else if !word.starts_with('-') {
            operands.push(*word);
        }
    }
    match operands.get(skip..)? {
        [file] => Some((file, Seen::part())),
        _ => None,
    }
}

fn content_hash(path: &Path) -> Option<ContentHash> {
    ona_files::hash(&ona_files::open(path, Links::Follow).ok()??).ok()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn only_plain_looks_count() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "x").unwrap();
        let seen = |command: &str| Look::before(command, dir.path()).map(|look| look.seen);
        assert_eq!(seen("cat f"), Some(Seen::Whole));
        for part in [
            "head -n5 f",
            "head -n 5 f",
            "tail f",
            "tail -c 9 f",
            "sed -n 1,3p f",
            "grep x f",
            "grep -n x f",
            "rg -n x f",
            "grep -A 3 x f",
        ] {
            assert_eq!(seen(part), Some(Seen::part()), "{part}");
        }
        for none in [
            "cat -A f",
            "cat f f",
            "cat f | head",
            "cat f; ls",
            "cat <f",
            "cat missing",
            "cat .",
            "cat $F",
            "A=1 cat f",
            "ls f",
            "sed s/a/b/ f",
            "sed -n -i p f",
            "grep f",
            "grep -e x f",
            "grep -r x .",
        ] {
            assert_eq!(seen(none), None, "{none}");
        }
    }

    #[test]
    fn what_was_cut_or_empty_was_not_seen() {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join("f"), "x").unwrap();
        let after = |bytes: &[u8], truncated| {
            let stdout = Captured { bytes: bytes.to_vec(), truncated };
            Look::before("cat f", dir.path()).unwrap().after(&stdout).is_some()
        };
        assert!(after(b"x", false));
        assert!(!after(b"x", true));
        assert!(!after(b"", false));
    }
}
