//! A change as `git diff` shows it.

use std::ops::Range;

use crate::ranges::{Hunk, line_hunks, split_lines};

/// Common lines around a change.
const CONTEXT: usize = 3;

/// The patch that makes `new` of `old`, under these names. Nothing if they are equal.
pub fn patch(old: &str, new: &str, names: (&str, &str)) -> String {
    let (old, new) = (split_lines(old.as_bytes()), split_lines(new.as_bytes()));
    let hunks = line_hunks(&old, &new);
    if hunks.is_empty() {
        return String::new();
    }
    let mut text = format!("--- {}\n+++ {}\n", names.0, names.1);
    // Hunks whose common lines would overlap are one.
    for group in hunks.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT) {
        text.push_str(&part(group, &old, &new));
    }
    text
}

fn part(group: &[Hunk], old: &[&[u8]], new: &[&[u8]]) -> String {
    let (Some(first), Some(last)) = (group.first(), group.last()) else { return String::new() };
    let before = first.old.start.min(CONTEXT);
    let after = (old.len() - last.old.end).min(CONTEXT);
    let header = |range: Range<usize>| match range.len() {
        // An empty range is named by the line before it.
        0 => format!("{},0", range.start),
        1 => format!("{}", range.start + 1),
        lines => format!("{},{lines}", range.start + 1),
    };
    let mut text = format!(
        "@@ -{} +{} @@\n",
        header(first.old.start - before..last.old.end + after),
        header(first.new.start - before..last.new.end + after),
    );
    let mut at = first.old.start - before;
    for hunk in group {
        text.push_str(&lines(' ', &old[at..hunk.old.start]));
        text.push_str(&lines('-', &old[hunk.old.clone()]));
        text.push_str(&lines('+', &new[hunk.new.clone()]));
        at = hunk.old.end;
    }
    text.push_str(&lines(' ', &old[at..at + after]));
    text
}

fn lines(sign: char, lines: &[&[u8]]) -> String {
    let mut text = String::new();
    for line in lines {
        let line = String::from_utf8_lossy(line);
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        text.push_str(&format!("{sign}{line}{end}"));
    }
    text
}

#[cfg(test)]
mod tests {
    #![expect(clippy::disallowed_methods, reason = "git itself says whether a patch is one")]

    use std::process::Command;

    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_patch_reads_like_that_of_git() {
        let old = "a\nb\nc\nd\ne\nf\ng\nh\ni\nj\nk\nl\n";
        let new = old.replace("b\n", "B\n").replace("l\n", "l");
        assert_eq!(
            patch(old, &new, ("a/x", "b/x")),
            "--- a/x\n+++ b/x\n@@ -1,5 +1,5 @@\n a\n-b\n+B\n c\n d\n e\n\
             @@ -9,4 +9,4 @@\n i\n j\n k\n-l\n+l\n\\ No newline at end of file\n"
        );
        let made = patch("", "one\n", ("/dev/null", "b/x"));
        assert_eq!(made, "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+one\n");
        assert_eq!(patch(old, old, ("a/x", "b/x")), "");
    }

    fn text() -> impl Strategy<Value = String> {
        let line = prop::sample::select(vec!["a\n", "b\n", "c\n", "\n"]);
        (prop::collection::vec(line, 0..40), prop::bool::ANY).prop_map(|(lines, ended)| {
            let text = lines.concat();
            if ended { text } else { format!("{text}end") }
        })
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(40))]

        #[test]
        fn git_makes_the_new_text_of_the_old_one(old in text(), new in text()) {
            prop_assume!(old != new && !old.is_empty() && !new.is_empty());
            let dir = tempfile::tempdir().unwrap();
            std::fs::write(dir.path().join("x"), &old).unwrap();
            std::fs::write(dir.path().join("p"), patch(&old, &new, ("a/x", "b/x"))).unwrap();
            let mut git = Command::new("git");
            git.args(["apply", "p"]).current_dir(dir.path()).env("GIT_CEILING_DIRECTORIES", "/");
            prop_assert!(git.status().unwrap().success());
            prop_assert_eq!(std::fs::read_to_string(dir.path().join("x")).unwrap(), new);
        }
    }
}
