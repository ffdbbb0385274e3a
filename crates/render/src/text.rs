//! Text for a terminal: cleaned, measured, cut, wrapped and folded.
//!
//! Widths are those that `ratatui` draws: every grapheme takes as many columns as its cell does.

mod clean;
mod fold;
mod wrap;

use ratatui::buffer::CellWidth as _;
use unicode_segmentation::UnicodeSegmentation as _;

pub(crate) use clean::plain_from;
pub use clean::{TAB_STOP, expand_tabs, plain, visible};
pub use fold::{Clipped, clip_rows, fold_blank_lines};
pub use wrap::{cut, wrap};

/// Stands where something was cut off.
pub const ELLIPSIS: &str = "…";

/// The columns that a text takes on one row.
pub fn width(text: &str) -> usize {
    match text.is_ascii() {
        true => text.len(),
        false => text.graphemes(true).map(grapheme_width).sum(),
    }
}

/// The columns of one grapheme.
pub(crate) fn grapheme_width(grapheme: &str) -> usize {
    match grapheme.len() {
        0 => 0,
        1 => 1,
        _ => usize::from(grapheme.cell_width()),
    }
}

/// The text in at most so many columns; `…` at the end says that something is missing.
pub fn truncate(text: &str, columns: usize) -> String {
    if fits(text, columns) {
        return text.to_owned();
    }
    match columns {
        0 => String::new(),
        _ => format!("{}{ELLIPSIS}", beginning(text, columns - 1)),
    }
}

/// The text in at most so many columns; `…` at the beginning says that something is missing.
pub fn truncate_start(text: &str, columns: usize) -> String {
    if fits(text, columns) {
        return text.to_owned();
    }
    match columns {
        0 => String::new(),
        _ => format!("{ELLIPSIS}{}", end(text, columns - 1)),
    }
}

/// The text in at most so many columns; `…` in the middle says that something is missing.
///
/// For paths: the file's name at the end tells most, so the end gets the larger half.
pub fn truncate_middle(text: &str, columns: usize) -> String {
    if fits(text, columns) {
        return text.to_owned();
    }
    match columns {
        0 => String::new(),
        _ => {
            let first = (columns - 1) / 3;
            let beginning = beginning(text, first);
            format!("{beginning}{ELLIPSIS}{}", end(text, columns - 1 - first))
        }
    }
}

/// How much of a text that is still arriving is certain: its last grapheme may go on in the next piece.
pub fn certain(text: &str) -> usize {
    match text.grapheme_indices(true).next_back() {
        Some((at, last)) if last != "\n" => at,
        _ => text.len(),
    }
}

/// Whether a text fits, without measuring more of it than needed.
fn fits(text: &str, columns: usize) -> bool {
    beginning(text, columns).len() == text.len()
}

/// As much of the beginning as fits.
fn beginning(text: &str, columns: usize) -> &str {
    let mut used = 0;
    for (at, grapheme) in text.grapheme_indices(true) {
        used += grapheme_width(grapheme);
        if used > columns {
            return &text[..at];
        }
    }
    text
}

/// As much of the end as fits.
fn end(text: &str, columns: usize) -> &str {
    let mut used = 0;
    let mut from = text.len();
    for (at, grapheme) in text.grapheme_indices(true).rev() {
        used += grapheme_width(grapheme);
        if used > columns {
            break;
        }
        from = at;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_width_is_that_of_the_cells() {
        assert_eq!(width("abc"), 3);
        assert_eq!(width("日本"), 4);
        assert_eq!(width("e\u{301}"), 1);
        assert_eq!(width("👨\u{200d}👩\u{200d}👧"), 2);
    }

    #[test]
    fn a_cut_says_that_it_is_one() {
        assert_eq!(truncate("abcdef", 6), "abcdef");
        assert_eq!(truncate("abcdef", 4), "abc…");
        assert_eq!(truncate("日本語", 4), "日…");
        assert_eq!(truncate("ab", 0), "");
        assert_eq!(truncate_start("abcdef", 4), "…def");
        assert_eq!(truncate_middle("src/very/long/path/main.rs", 14), "src/…h/main.rs");
    }

    #[test]
    fn the_last_grapheme_of_a_piece_may_go_on() {
        assert_eq!(certain("done\n"), 5);
        assert_eq!(certain("abc"), 2);
        assert_eq!(certain("a👨\u{200d}"), 1);
        assert_eq!(certain(""), 0);
    }

    proptest! {
        #[test]
        fn a_cut_text_fits(text in ".{0,60}", columns in 0_usize..40) {
            let text = plain(&text).replace('\n', " ");
            for cut in [
                truncate(&text, columns),
                truncate_start(&text, columns),
                truncate_middle(&text, columns),
            ] {
                prop_assert!(width(&cut) <= columns, "{cut:?} of {text:?}");
            }
        }
    }
}
