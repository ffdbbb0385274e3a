//! A change of a file for the human: what a call would do to it, and what it did.

use ona_front::{DiffLine, FileDiff, FileFate, Hunk, Sign};
use ona_policy::secrets::Redactor;
use ona_trace::ranges::{self, is_binary, line_hunks, split_lines};

/// Common lines around a change.
const CONTEXT: usize = 3;
/// Lines of hunks that are shown at most.
const MAX_SHOWN: usize = 400;
/// Files larger than this are not compared.
const MAX_BYTES: usize = 4 << 20;

/// The change from one content to another, as far as it is shown afterwards; `None` if there is none, or if it is not one
/// of text.
pub fn file_diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<FileDiff> {
    diff_up_to(MAX_SHOWN, path, old, new)
}

/// The whole change, for whoever is to agree to it.
pub(crate) fn uncut_diff(path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<FileDiff> {
    diff_up_to(usize::MAX, path, old, new)
}

fn diff_up_to(most: usize, path: &str, old: Option<&[u8]>, new: Option<&[u8]>) -> Option<FileDiff> {
    let fate = match (old, new) {
        (None, None) => return None,
        (None, Some(_)) => FileFate::Created,
        (Some(_), None) => FileFate::Deleted,
        (Some(_), Some(_)) => FileFate::Changed,
    };
    let (old, new) = (old.unwrap_or_default(), new.unwrap_or_default());
    let comparable = |content: &[u8]| content.len() <= MAX_BYTES && !is_binary(content);
    if (old == new && fate == FileFate::Changed) || !comparable(old) || !comparable(new) {
        return None;
    }
    let (old, new) = (split_lines(old), split_lines(new));
    let hunks = line_hunks(&old, &new);
    let mut diff = FileDiff {
        path: path.to_owned(),
        fate,
        added: hunks.iter().map(|hunk| hunk.new.len()).sum(),
        removed: hunks.iter().map(|hunk| hunk.old.len()).sum(),
        hunks: Vec::new(),
        left_out: 0,
    };
    let mut room = most;
    let ends = LineEnds::of(&old, &new);
    // Hunks whose common lines would overlap are one.
    for group in hunks.chunk_by(|one, next| next.old.start - one.old.end <= 2 * CONTEXT) {
        let mut hunk = together(group, &old, &new, ends);
        let shown = hunk.lines.len().min(room);
        diff.left_out += hunk.lines.len() - shown;
        room -= shown;
        hunk.lines.truncate(shown);
        if shown > 0 {
            diff.hunks.push(hunk);
        }
    }
    Some(diff)
}

/// The change of a file with its permissions, and also one that cannot be shown in lines: then it is told in one. `None` if
/// there is none.
pub fn whole_diff(
    path: &str,
    old: Option<&[u8]>,
    new: Option<&[u8]>,
    modes: Option<(u32, u32)>,
) -> Option<FileDiff> {
    let mut told = Vec::new();
    if let Some((before, now)) = modes.filter(|(before, now)| before != now) {
        told.push(format!("mode {:o}, {:o} before", now & 0o7777, before & 0o7777));
    }
    let shown = file_diff(path, old, new);
    if shown.is_none() && old != new {
        let bytes = |content: Option<&[u8]>| {
            content.map_or_else(|| "none".to_owned(), |content| format!("{} bytes", content.len()))
        };
        told.push(format!(
            "not shown, as it is no text or too long: {}, {} before",
            bytes(new),
            bytes(old)
        ));
    }
    if told.is_empty() {
        return shown;
    }
    let fate = match (old, new) {
        (None, _) => FileFate::Created,
        (_, None) => FileFate::Deleted,
        _ => FileFate::Changed,
    };
    let (path, hunks) = (path.to_owned(), Vec::new());
    let mut diff =
        shown.unwrap_or(FileDiff { path, fate, added: 0, removed: 0, hunks, left_out: 0 });
    let line = |text: String| DiffLine { sign: Sign::Same, text };
    let lines = told.into_iter().map(line).collect();
    diff.hunks.insert(0, Hunk { old_start: 1, new_start: 1, lines });
    Some(diff)
}

/// Neighbouring hunks with the common lines around and between them.
fn together(group: &[ranges::Hunk], old: &[&[u8]], new: &[&[u8]], ends: LineEnds) -> Hunk {
    let first = group.first().map_or(0..0, |hunk| hunk.old.clone());
    let first_new = group.first().map_or(0, |hunk| hunk.new.start);
    let before = first.start.min(CONTEXT);
    let end = group.last().map_or(0, |hunk| hunk.old.end);
    let after = (old.len() - end).min(CONTEXT);
    let mut lines = Vec::new();
    let mut at = first.start - before;
    for hunk in group {
        lines.extend(signed(Sign::Same, &old[at..hunk.old.start], ends));
        lines.extend(signed(Sign::Removed, &old[hunk.old.clone()], ends));
        lines.extend(signed(Sign::Added, &new[hunk.new.clone()], ends));
        at = hunk.old.end;
    }
    lines.extend(signed(Sign::Same, &old[at..at + after], ends));
    Hunk { old_start: first.start - before + 1, new_start: first_new - before + 1, lines }
}

fn signed<'l>(
    sign: Sign,
    lines: &'l [&'l [u8]],
    ends: LineEnds,
) -> impl Iterator<Item = DiffLine> + 'l {
    lines.iter().map(move |line| {
        let text = String::from_utf8_lossy(line);
        let text = text.trim_end_matches('\n');
        let text = match (text.strip_suffix('\r'), ends) {
            (Some(text), LineEnds::Alike) => text.to_owned(),
            (Some(text), LineEnds::Differ) => format!("{text}␍"),
            (None, _) => text.to_owned(),
        };
        DiffLine { sign, text }
    })
}

/// Whether all lines of both contents end in the same way. Otherwise the ends are shown: they may be all that differs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum LineEnds {
    Alike,
    Differ,
}

impl LineEnds {
    fn of(old: &[&[u8]], new: &[&[u8]]) -> Self {
        let returns = |line: &&&[u8]| line.ends_with(b"\r\n");
        let complete = |line: &&&[u8]| line.ends_with(b"\n");
        let all = old.iter().chain(new).filter(complete);
        let with = old.iter().chain(new).filter(returns).count();
        if with == 0 || with == all.count() { Self::Alike } else { Self::Differ }
    }
}

/// The same without secrets.
pub fn masked(mut diff: FileDiff, redactor: &Redactor) -> FileDiff {
    redactor.mask_string(&mut diff.path);
    for line in diff.hunks.iter_mut().flat_map(|hunk| &mut hunk.lines) {
        redactor.mask_string(&mut line.text);
    }
    diff
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(diff: &FileDiff) -> String {
        let line = |line: &DiffLine| {
            let sign = match line.sign {
                Sign::Same => ' ',
                Sign::Added => '+',
                Sign::Removed => '-',
            };
            format!("{sign}{}\n", line.text)
        };
        let hunk = |hunk: &Hunk| {
            let lines: String = hunk.lines.iter().map(line).collect();
            format!("@{},{}\n{lines}", hunk.old_start, hunk.new_start)
        };
        diff.hunks.iter().map(hunk).collect()
    }

    #[test]
    fn a_change_is_shown_with_the_lines_around_it() {
        let old: String = (1..=20).map(|n| format!("line {n}\n")).collect();
        let new = old.replace("line 5\n", "LINE 5\nmore\n").replace("line 18\n", "");
        let diff = file_diff("a", Some(old.as_bytes()), Some(new.as_bytes())).unwrap();
        assert_eq!((diff.added, diff.removed, diff.fate), (2, 2, FileFate::Changed));
        assert_eq!(
            shown(&diff),
            "@2,2\n line 2\n line 3\n line 4\n-line 5\n+LINE 5\n+more\n line 6\n line 7\n line 8\n\
             @15,16\n line 15\n line 16\n line 17\n-line 18\n line 19\n line 20\n"
        );
    }

    #[test]
    fn new_and_removed_files_are_all_lines() {
        let diff = file_diff("a", None, Some(b"x\ny")).unwrap();
        assert_eq!((diff.fate, shown(&diff).as_str()), (FileFate::Created, "@1,1\n+x\n+y\n"));
        let diff = file_diff("a", Some(b"x\n"), None).unwrap();
        assert_eq!((diff.fate, shown(&diff).as_str()), (FileFate::Deleted, "@1,1\n-x\n"));
        assert_eq!(file_diff("a", Some(b"x"), Some(b"x")), None);
        assert_eq!(file_diff("a", Some(b"\0"), Some(b"x")), None);
    }

    #[test]
    fn a_long_change_says_how_much_is_left_out() {
        let new = "x\n".repeat(MAX_SHOWN + 7);
        let diff = file_diff("a", None, Some(new.as_bytes())).unwrap();
        assert_eq!((diff.left_out, diff.added), (7, MAX_SHOWN + 7));
    }

    #[test]
    fn whoever_agrees_to_a_change_sees_all_of_it() {
        let new = "x\n".repeat(MAX_SHOWN + 7);
        let diff = uncut_diff("a", None, Some(new.as_bytes())).unwrap();
        assert_eq!((diff.left_out, diff.hunks[0].lines.len()), (0, MAX_SHOWN + 7));
    }

    #[test]
    fn line_ends_are_shown_where_they_differ() {
        let diff = file_diff("a", Some(b"same\r\nx\r\n"), Some(b"same\r\ny\r\n")).unwrap();
        assert_eq!(shown(&diff), "@1,1\n same\n-x\n+y\n");
        let diff = file_diff("a", Some(b"same\r\n"), Some(b"same\n")).unwrap();
        assert_eq!(shown(&diff), "@1,1\n-same␍\n+same\n");
    }
}
