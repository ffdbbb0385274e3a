//! The rows of the screen that a prompt takes, and where the cursor is in them.

use std::ops::Range;

use unicode_segmentation::UnicodeSegmentation;
use unicode_width::UnicodeWidthStr;

use super::chip::Chip;
use super::content::Content;

/// A tab goes to the next multiple of this column.
const TAB_STOP: usize = 4;

/// A prompt as rows of the screen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rows {
    /// The rows from the top. There is always one.
    pub rows: Vec<Row>,
    /// The row that the cursor is in.
    pub cursor_row: usize,
    /// The cell of that row that the cursor is on, counted from 0. It is always within the width.
    pub cursor_column: usize,
}

/// One row.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Row {
    /// What it shows: no tabs, no control characters.
    pub text: String,
    /// Where chips are in the text, in bytes.
    pub chips: Vec<Range<usize>>,
    /// What of the text is selected, in bytes.
    pub selected: Option<Range<usize>>,
}

/// A part of the content that is one row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wrapped {
    /// Without the newline that ends it.
    range: Range<usize>,
    /// How many chips there are before it.
    chips: usize,
    /// Whether the line goes on in the next row: then the end of this one is no place for the cursor.
    goes_on: bool,
}

/// One grapheme or chip in a row.
struct Unit<'c> {
    at: usize,
    grapheme: &'c str,
    chip: Option<&'c Chip>,
}

impl Unit<'_> {
    fn is_blank(&self) -> bool {
        self.grapheme.chars().all(|letter| letter == ' ' || letter == '\t')
    }

    /// The text that is shown for it in this column.
    fn shown(&self, column: usize, usable: usize) -> String {
        match self.chip {
            Some(chip) => cut(chip.label(), usable),
            None if self.grapheme == "\t" => " ".repeat(TAB_STOP - column % TAB_STOP),
            None => self.grapheme.to_owned(),
        }
    }

    /// The cells that it takes in this column.
    fn cells(&self, column: usize, usable: usize) -> usize {
        match self.chip {
            Some(chip) => chip.label().width().min(usable),
            None if self.grapheme == "\t" => TAB_STOP - column % TAB_STOP,
            None => self.grapheme.width(),
        }
    }
}

/// A label that fits into a narrow row. Labels are ASCII.
fn cut(mut label: String, usable: usize) -> String {
    if label.len() > usable {
        label.truncate(usable.saturating_sub(1));
        label.push('…');
    }
    label
}

/// The units of a part that has this many chips before it.
fn units(content: &Content, range: Range<usize>, chips: usize) -> impl Iterator<Item = Unit<'_>> {
    let mut chips = content.chips()[chips..].iter();
    content.raw()[range.clone()].grapheme_indices(true).map(move |(offset, grapheme)| {
        let chip = if Content::is_chip(grapheme) { chips.next() } else { None };
        Unit { at: range.start + offset, grapheme, chip }
    })
}

/// The cells of a row that text may fill. The last one is left to the cursor after the text.
fn usable(width: u16) -> usize {
    usize::from(width).saturating_sub(1).max(1)
}

/// Cuts the content into rows: at newlines, else after white space, else where the row is full.
pub(super) fn wrap(content: &Content, width: u16) -> Vec<Wrapped> {
    let usable = usable(width);
    let mut rows = Vec::new();
    let mut chips = 0;
    let mut push = |range: Range<usize>, goes_on| {
        let within = content.chips_in(range.clone());
        rows.push(Wrapped { range, chips, goes_on });
        chips += within;
    };
    let (mut start, mut column) = (0, 0);
    // The last place of this row where it may be cut, and its column.
    let mut cut: Option<(usize, usize)> = None;
    for unit in units(content, 0..content.len(), 0) {
        if unit.grapheme == "\n" {
            push(start..unit.at, false);
            (start, column, cut) = (unit.at + 1, 0, None);
            continue;
        }
        let blank = unit.is_blank();
        // White space that does not fit hangs over the edge, as a row that starts with it would look indented.
        while !blank && unit.at > start && column + unit.cells(column, usable) > usable {
            let (end, removed) = cut.take().unwrap_or((unit.at, column));
            push(start..end, true);
            // No tab follows the cut, so the rest is as wide as before.
            (start, column) = (end, column - removed);
        }
        let cells = unit.cells(column, usable);
        column += cells;
        // Scripts without spaces are written in wide characters.
        if blank || cells == 2 || unit.chip.is_some() {
            cut = Some((unit.at + unit.grapheme.len(), column));
        }
    }
    push(start..content.len(), false);
    rows
}

/// The row that a position is in.
pub(super) fn row_of(rows: &[Wrapped], at: usize) -> usize {
    rows.partition_point(|row| row.range.start <= at).saturating_sub(1)
}

/// The column of a position in its row.
pub(super) fn column_of(content: &Content, row: &Wrapped, at: usize, width: u16) -> usize {
    let usable = usable(width);
    let before = units(content, row.range.start..at, row.chips);
    before.fold(0, |column, unit| column + unit.cells(column, usable))
}

/// The position in a row that is nearest to a column, not after it.
pub(super) fn at_column(content: &Content, row: &Wrapped, goal: usize, width: u16) -> usize {
    let usable = usable(width);
    let mut column = 0;
    let mut last = row.range.start;
    for unit in units(content, row.range.clone(), row.chips) {
        last = unit.at;
        column += unit.cells(column, usable);
        if column > goal {
            return last;
        }
    }
    if row.goes_on { last } else { row.range.end }
}

impl Rows {
    pub(super) fn of(
        content: &Content,
        cursor: usize,
        selection: Option<&Range<usize>>,
        width: u16,
    ) -> Self {
        let wrapped = wrap(content, width);
        let cursor_row = row_of(&wrapped, cursor);
        let cursor_column = wrapped
            .get(cursor_row)
            .map_or(0, |row| column_of(content, row, cursor, width))
            .min(usize::from(width).saturating_sub(1));
        let rows = wrapped.iter().map(|row| Row::of(content, row, selection, width)).collect();
        Self { rows, cursor_row, cursor_column }
    }
}

impl Row {
    fn of(content: &Content, row: &Wrapped, selection: Option<&Range<usize>>, width: u16) -> Self {
        let usable = usable(width);
        let mut shown = Self::default();
        let mut column = 0;
        for unit in units(content, row.range.clone(), row.chips) {
            let from = shown.text.len();
            let cells = unit.cells(column, usable);
            // White space that hangs over the edge is not shown.
            if column + cells <= usable || !unit.is_blank() {
                shown.text.push_str(&unit.shown(column, usable));
            }
            column += cells;
            if unit.chip.is_some() {
                shown.chips.push(from..shown.text.len());
            }
            if selection.is_some_and(|selection| selection.contains(&unit.at)) {
                let selected = shown.selected.get_or_insert(from..from);
                selected.end = shown.text.len();
            }
        }
        shown
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(text: &str, width: u16) -> Vec<String> {
        let rows = Rows::of(&text.into(), 0, None, width).rows;
        rows.into_iter().map(|row| row.text).collect()
    }

    #[test]
    fn rows_are_cut_after_white_space_or_where_they_are_full() {
        assert_eq!(texts("", 10), [""]);
        assert_eq!(texts("one two three", 9), ["one two ", "three"]);
        assert_eq!(texts("one two   three", 8), ["one two", "three"]);
        assert_eq!(texts("abcdefgh", 4), ["abc", "def", "gh"]);
        assert_eq!(texts("a\n\nb\n", 10), ["a", "", "b", ""]);
    }

    #[test]
    fn wide_characters_and_tabs_take_their_cells() {
        assert_eq!(texts("你好世界", 6), ["你好", "世界"]);
        assert_eq!(texts("hi 你好世界", 8), ["hi 你好", "世界"]);
        assert_eq!(texts("a\tb\n\tc", 20), ["a   b", "    c"]);
        assert_eq!(texts("你", 1), ["你"], "nothing narrower exists");
        assert_eq!(texts("ab", 0), ["a", "b"]);
    }

    #[test]
    fn the_cursor_is_within_the_width() {
        let at = |text: &str, cursor, width| {
            let rows = Rows::of(&text.into(), cursor, None, width);
            (rows.cursor_row, rows.cursor_column)
        };
        assert_eq!(at("one two three", 8, 9), (1, 0), "the place of a cut is in the next row");
        assert_eq!(at("one two three", 13, 9), (1, 5));
        assert_eq!(at("abc", 3, 4), (0, 3));
        assert_eq!(at("你a", 3, 10), (0, 2));
        assert_eq!(at("\tx", 1, 10), (0, 4));
        assert_eq!(at("abc       ", 10, 4), (0, 3));
        assert_eq!(at("e\u{301}x", 3, 10), (0, 1));
    }

    #[test]
    fn a_chip_stays_in_one_row() {
        let mut content = Content::from("see ");
        content.append(&Chip::Image(1).into());
        content.append(&"!".into());
        let rows = Rows::of(&content, 0, Some(&(1..5)), 12).rows;
        assert_eq!(rows[0].text, "see ");
        assert_eq!(rows[0].selected, Some(1..4));
        assert_eq!(rows[1].text, "[Image #1]!");
        assert_eq!(rows[1].chips.first(), Some(&(0..10)));
        assert_eq!(rows[1].selected, Some(0..10));
        assert_eq!(Rows::of(&content, 0, None, 7).rows[1].text, "[Imag…");
    }

    #[test]
    fn a_column_is_found_again() {
        let content = Content::from("ab你cd\nx");
        let rows = wrap(&content, 20);
        assert_eq!(at_column(&content, &rows[0], 3, 20), 2, "in the middle of a wide character");
        assert_eq!(at_column(&content, &rows[0], 4, 20), 5);
        assert_eq!(at_column(&content, &rows[0], 99, 20), 7);
        assert_eq!(at_column(&content, &rows[1], 99, 20), content.len());
        let wrapped = wrap(&"abcdef".into(), 4);
        assert_eq!(at_column(&"abcdef".into(), &wrapped[0], 99, 4), 2);
    }
}
