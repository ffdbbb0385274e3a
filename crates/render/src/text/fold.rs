//! Text and rows made shorter, so that nothing is pushed out of sight.

use super::clean::is_ignorable;

/// A longer run of blanks is folded.
const MAX_BLANKS: usize = 24;

/// The text with its runs of blank lines, and its long runs of blanks, replaced by their number.
///
/// What stands behind a flood of blanks stays in sight, and the note tells of the flood.
pub fn fold_blank_lines(text: &str) -> String {
    let mut lines: Vec<String> = Vec::new();
    let mut blank = 0;
    for line in text.lines() {
        if line.chars().all(is_blank) {
            blank += 1;
            continue;
        }
        tell_blank_lines(blank, &mut lines);
        blank = 0;
        lines.push(fold_blanks(line));
    }
    tell_blank_lines(blank, &mut lines);
    lines.join("\n")
}

fn tell_blank_lines(blank: usize, lines: &mut Vec<String>) {
    match blank {
        0 => {}
        1 => lines.push(String::new()),
        many => lines.push(format!("[{many} blank lines]")),
    }
}

fn fold_blanks(line: &str) -> String {
    let mut shown = String::new();
    let mut rest = line;
    while let Some(first) = rest.chars().next() {
        let end = rest.find(|c| is_blank(c) != is_blank(first)).unwrap_or(rest.len());
        let (run, behind) = rest.split_at(end);
        let count = run.chars().count();
        match is_blank(first) && count > MAX_BLANKS {
            true => shown.push_str(&format!(" [{count} blanks] ")),
            false => shown.push_str(run),
        }
        rest = behind;
    }
    shown
}

/// Whether a character shows nothing.
fn is_blank(c: char) -> bool {
    // The last two: a braille pattern without dots, and what stands in the place of a hidden character.
    c.is_whitespace() || is_ignorable(c) || matches!(c, '\u{2800}' | '\u{fffd}')
}

/// Rows of which some in the middle may be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Clipped<T> {
    /// The rows of the beginning.
    pub first: Vec<T>,
    /// How many rows are left out behind them.
    pub left_out: usize,
    /// The rows of the end.
    pub last: Vec<T>,
}

impl<T> Clipped<T> {
    /// All rows, with a note where some are left out.
    pub fn with_note(self, note: impl FnOnce(usize) -> T) -> Vec<T> {
        let mut rows = self.first;
        if self.left_out > 0 {
            rows.push(note(self.left_out));
        }
        rows.extend(self.last);
        rows
    }
}

/// At most so many rows, the note about those left out among them: two thirds from the beginning, the rest from the
/// end, which says as much.
pub fn clip_rows<T>(mut rows: Vec<T>, most: usize) -> Clipped<T> {
    if rows.len() <= most {
        return Clipped { first: rows, left_out: 0, last: Vec::new() };
    }
    let shown = most.saturating_sub(1);
    let end = (shown / 3).max(usize::from(shown > 1));
    let last = rows.split_off(rows.len() - end);
    let left_out = rows.len() - (shown - end);
    rows.truncate(shown - end);
    Clipped { first: rows, left_out, last }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn what_stands_behind_a_flood_of_blanks_is_seen() {
        for flood in [
            "\n".repeat(5000),
            " ".repeat(50_000),
            "\n \u{3164}\n".repeat(999),
            "\u{2800}".repeat(9999),
            "\n\u{34f}\u{fe0f}".repeat(300),
        ] {
            let shown = fold_blank_lines(&format!("ls{flood}; rm -rf ~"));
            assert!(shown.len() < 60 && shown.contains("; rm -rf ~"), "{shown}");
            assert!(shown.contains("blank"), "{shown}");
        }
    }

    #[test]
    fn ordinary_text_is_shown_as_it_is() {
        let text = "if true; then\n    echo a\n\n    echo b\nfi";
        assert_eq!(fold_blank_lines(text), text);
        assert_eq!(fold_blank_lines("a\n\n\n\nb\n\n"), "a\n[3 blank lines]\nb\n");
    }

    #[test]
    fn both_ends_are_kept() {
        let clipped = clip_rows((0..100).collect(), 10);
        assert_eq!(clipped.first, [0, 1, 2, 3, 4, 5]);
        assert_eq!(clipped.last, [97, 98, 99]);
        assert_eq!(clipped.left_out, 91);
        assert_eq!(clip_rows(vec![1, 2], 2).with_note(|_| 0), [1, 2]);
    }

    proptest! {
        #[test]
        fn no_row_gets_lost(count in 0_usize..50, most in 0_usize..60) {
            let rows: Vec<usize> = (0..count).collect();
            let clipped = clip_rows(rows, most);
            prop_assert_eq!(clipped.first.len() + clipped.left_out + clipped.last.len(), count);
            prop_assert!(clipped.with_note(|_| 0).len() <= most.max(1));
        }
    }
}
