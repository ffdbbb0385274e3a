//! A change as a unified diff: plain text, for a screen without rows.

use std::borrow::Cow;

use ona_front::{FileDiff, FileFate, Hunk, Sign};

use super::has_mixed_ends;
use crate::text;

const NO_FILE: &str = "/dev/null";

/// The change as a unified diff. No character of it acts on a terminal; tabs stay.
pub fn unified(diff: &FileDiff) -> String {
    // `a/` stands before the path from the root too, as in git.
    let path = one_line(diff.path.trim_start_matches('/'));
    let old = if diff.fate == FileFate::Created { NO_FILE.to_owned() } else { format!("a/{path}") };
    let new = if diff.fate == FileFate::Deleted { NO_FILE.to_owned() } else { format!("b/{path}") };
    let mut shown = format!("--- {old}\n+++ {new}\n");
    let returns = has_mixed_ends(diff);
    for hunk in &diff.hunks {
        push_hunk(&mut shown, hunk, returns);
    }
    if diff.left_out > 0 {
        shown.push_str(&format!("[{} more lines are not shown]\n", diff.left_out));
    }
    shown
}

fn push_hunk(shown: &mut String, hunk: &Hunk, returns: bool) {
    let count = |other| hunk.lines.iter().filter(|line| line.sign != other).count();
    let old = place(hunk.old_start, count(Sign::Added));
    let new = place(hunk.new_start, count(Sign::Removed));
    shown.push_str(&format!("@@ -{old} +{new} @@\n"));
    for line in &hunk.lines {
        let sign = match line.sign {
            Sign::Same => ' ',
            Sign::Added => '+',
            Sign::Removed => '-',
        };
        let (text, end) = match line.text.strip_suffix('\r') {
            Some(text) if returns && line.sign != Sign::Same => (text, "␍"),
            Some(text) => (text, ""),
            None => (line.text.as_str(), ""),
        };
        shown.push_str(&format!("{sign}{}{end}\n", one_line(text)));
    }
}

/// Where lines are. Where there are none, their place is named by the line before.
fn place(start: usize, count: usize) -> String {
    let start = if count == 0 { start.saturating_sub(1) } else { start };
    format!("{start},{count}")
}

fn one_line(text: &str) -> Cow<'_, str> {
    let text = text::visible(text);
    match text.contains('\n') {
        true => text.replace('\n', "\u{fffd}").into(),
        false => text,
    }
}
