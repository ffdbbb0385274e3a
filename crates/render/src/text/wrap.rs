//! Styled lines broken into rows.

use ratatui::style::Style;
use ratatui::text::{Line, Span};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{ELLIPSIS, grapheme_width, plain};

/// These do not begin a row.
const CLOSING: &str = "、。，．・：；？！ー）」』】〉》〕］｝’”…";
/// These do not end one.
const OPENING: &str = "（「『【〈《〔［｛‘“";

/// The rows of a line, broken between words.
///
/// A word that is longer than a row is broken anywhere, and wide characters, as of Chinese, between any two. Rows
/// behind the first are indented by `hanging` columns. The line keeps its indentation; other blanks at a break are
/// dropped. Both indentations take at most half of the width. No row is wider than the width: a character that is
/// becomes `…`.
pub fn wrap(line: Line<'static>, width: usize, hanging: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    if is_short(&line, width) {
        return vec![line];
    }
    let texts = texts_of(&line.spans);
    let cells: Vec<Cell<'_>> = cells(&texts, width).collect();
    let leading = cells.iter().take_while(|cell| cell.blank).count();
    let widest = cells.iter().map(|cell| cell.width).max().unwrap_or(0);
    let most = (width / 2).min(width - widest);
    let indent = cells[..leading].iter().map(|cell| cell.width).sum::<usize>().min(most);
    let hanging = hanging.min(most);
    let mut rows = Rows::new(&line);
    let (mut from, mut blanks) = (leading, indent);
    loop {
        let to = row_end(&cells, from, width - blanks);
        let shown =
            cells[from..to].iter().rposition(|cell| !cell.blank).map_or(from, |at| from + at + 1);
        rows.push(blanks, &cells[from..shown]);
        from = to + cells[to..].iter().take_while(|cell| cell.blank).count();
        blanks = hanging;
        if from >= cells.len() {
            return rows.rows;
        }
    }
}

/// The rows of a line, broken exactly at the width: for code, of which no blank may be lost.
///
/// Not more than `most` rows are made.
pub fn cut(line: Line<'static>, width: usize, most: usize) -> Vec<Line<'static>> {
    let width = width.max(1);
    if is_short(&line, width) {
        return vec![line];
    }
    let texts = texts_of(&line.spans);
    let mut rows = Rows::new(&line);
    let (mut row, mut used) = (Vec::new(), 0);
    for cell in cells(&texts, width) {
        if used + cell.width > width {
            rows.push(0, &std::mem::take(&mut row));
            used = 0;
            if rows.rows.len() >= most {
                return rows.rows;
            }
        }
        used += cell.width;
        row.push(cell);
    }
    rows.push(0, &row);
    rows.rows
}

/// Whether a line is its own only row. Only ASCII is sure to be, without a closer look.
fn is_short(line: &Line<'_>, width: usize) -> bool {
    let bytes = line.spans.iter().map(|span| span.content.len()).sum::<usize>();
    bytes <= width
        && line
            .spans
            .iter()
            .all(|span| span.content.bytes().all(|byte| matches!(byte, b' '..=b'~')))
}

/// A grapheme and how it looks.
struct Cell<'a> {
    text: &'a str,
    style: Style,
    width: usize,
    blank: bool,
}

/// The graphemes of texts, for rows of a width.
fn cells(texts: &[(Style, String)], width: usize) -> impl Iterator<Item = Cell<'_>> {
    let cell = move |grapheme, style| {
        let columns = grapheme_width(grapheme);
        let (text, columns) = if columns > width { (ELLIPSIS, 1) } else { (grapheme, columns) };
        Cell { text, style, width: columns, blank: grapheme.chars().all(may_break_at) }
    };
    texts.iter().flat_map(move |(style, text)| {
        text.graphemes(true).map(move |grapheme| cell(grapheme, *style))
    })
}

/// Whether a row may end with a character. Some blanks hold words together.
fn may_break_at(c: char) -> bool {
    c.is_whitespace() && !matches!(c, '\u{a0}' | '\u{2007}' | '\u{202f}')
}

/// The texts of spans. Neighbours of one style are one text: a grapheme may begin in one span and end in the next.
fn texts_of(spans: &[Span<'static>]) -> Vec<(Style, String)> {
    let mut texts: Vec<(Style, String)> = Vec::new();
    for span in spans {
        match texts.last_mut() {
            Some((style, text)) if *style == span.style => text.push_str(&span.content),
            _ => texts.push((span.style, span.content.to_string())),
        }
    }
    for (_, text) in &mut texts {
        *text = plain(text).replace('\n', " ");
    }
    texts
}

/// Where a row that begins at `from` ends, at a break between words if there is one.
fn row_end(cells: &[Cell<'_>], from: usize, room: usize) -> usize {
    let full = fitting(cells, from, room);
    if full == cells.len() || cells[full].blank {
        return full;
    }
    (from + 1..=full).rev().find(|&at| may_break(&cells[at - 1], &cells[at])).unwrap_or(full)
}

/// Behind the last cell that fits, at least one further on.
fn fitting(cells: &[Cell<'_>], from: usize, room: usize) -> usize {
    let mut used = 0;
    for (at, cell) in cells.iter().enumerate().skip(from) {
        used += cell.width;
        if used > room && at > from {
            return at;
        }
    }
    cells.len()
}

fn may_break(before: &Cell<'_>, after: &Cell<'_>) -> bool {
    let closing = !after.text.is_empty() && CLOSING.contains(after.text);
    let opening = !before.text.is_empty() && OPENING.contains(before.text);
    before.blank || ((before.width > 1 || after.width > 1) && !closing && !opening)
}

/// Rows that look as the line did.
struct Rows {
    rows: Vec<Line<'static>>,
    style: Style,
    alignment: Option<ratatui::layout::HorizontalAlignment>,
}

impl Rows {
    fn new(line: &Line<'static>) -> Self {
        Self { rows: Vec::new(), style: line.style, alignment: line.alignment }
    }

    fn push(&mut self, blanks: usize, cells: &[Cell<'_>]) {
        let mut spans = Vec::new();
        if blanks > 0 && !cells.is_empty() {
            spans.push(Span::raw(" ".repeat(blanks)));
        }
        for run in cells.chunk_by(|one, other| one.style == other.style) {
            let text: String = run.iter().map(|cell| cell.text).collect();
            spans.push(Span::styled(text, run[0].style));
        }
        let mut row = Line::from(spans).style(self.style);
        row.alignment = self.alignment;
        self.rows.push(row);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use ratatui::style::{Color, Stylize as _};

    use super::super::width;
    use super::*;

    fn texts(rows: &[Line<'static>]) -> Vec<String> {
        rows.iter().map(ToString::to_string).collect()
    }

    fn wrapped(text: &str, columns: usize, hanging: usize) -> Vec<String> {
        texts(&wrap(Line::from(text.to_owned()), columns, hanging))
    }

    #[test]
    fn words_stay_whole() {
        assert_eq!(wrapped("the quick brown fox", 10, 0), ["the quick", "brown fox"]);
        assert_eq!(wrapped("the quick brown fox", 10, 2), ["the quick", "  brown", "  fox"]);
        assert_eq!(wrapped("    indented text here", 12, 0), ["    indented", "text here"]);
        assert_eq!(wrapped("", 10, 0), [""]);
    }

    #[test]
    fn a_long_word_is_broken() {
        assert_eq!(
            wrapped("see https://example.com/a", 10, 0),
            ["see", "https://ex", "ample.com/", "a"]
        );
        assert_eq!(wrapped("abcdef", 1, 5), ["a", "b", "c", "d", "e", "f"]);
    }

    #[test]
    fn wide_characters_break_anywhere_but_before_a_closing_mark() {
        assert_eq!(wrapped("日本語日本語", 4, 0), ["日本", "語日", "本語"]);
        assert_eq!(wrapped("日本。語", 4, 0), ["日", "本。", "語"]);
        assert_eq!(wrapped("日", 1, 0), ["…"]);
    }

    #[test]
    fn styles_stay_with_their_letters() {
        let line = Line::from(vec!["plain ".into(), "red words".fg(Color::Red), " end".into()]);
        let rows = wrap(line, 10, 0);
        assert_eq!(texts(&rows), ["plain red", "words end"]);
        assert_eq!(rows[0].spans[1], "red".fg(Color::Red));
        assert_eq!(rows[1].spans[0], "words".fg(Color::Red));
    }

    #[test]
    fn a_cut_loses_no_blank() {
        let rows = cut(Line::from("ab    cd  e".to_owned()), 4, 9);
        assert_eq!(texts(&rows), ["ab  ", "  cd", "  e"]);
        assert_eq!(cut(Line::from("x".repeat(100)), 4, 3).len(), 3);
    }

    /// Texts with what makes wrapping hard.
    pub(super) fn any_text() -> impl Strategy<Value = String> {
        prop_oneof![
            any::<String>(),
            proptest::collection::vec(
                prop_oneof![
                    Just("word ".to_owned()),
                    Just("日本語".to_owned()),
                    Just("。".to_owned()),
                    Just("\u{301}".to_owned()),
                    Just("❤\u{fe0f}".to_owned()),
                    Just("    ".to_owned()),
                    Just("क्षत्रिय".to_owned()),
                    Just("\u{200d}👩".to_owned()),
                    Just("\u{1b}[2J\t".to_owned()),
                    "[a-z]{1,30}",
                ],
                0..20
            )
            .prop_map(|parts| parts.concat()),
        ]
    }

    proptest! {
        #[test]
        fn no_row_is_too_wide(texts in proptest::collection::vec(any_text(), 0..4), columns in 1_usize..400, narrow in 1_usize..12, hanging in 0_usize..20) {
            for columns in [columns, narrow] {
                let spans: Vec<Span<'static>> = texts
                    .iter()
                    .enumerate()
                    .map(|(at, text)| Span::styled(text.clone(), [Style::new(), Style::new().bold()][at % 2]))
                    .collect();
                for rows in [wrap(spans.clone().into(), columns, hanging), cut(spans.clone().into(), columns, usize::MAX)] {
                    prop_assert!(!rows.is_empty());
                    for row in rows {
                        let used: usize = row.spans.iter().map(|span| width(&span.content)).sum();
                        prop_assert!(used <= columns, "{row:?} in {columns}");
                        prop_assert!(!row.to_string().chars().any(char::is_control), "{row:?}");
                    }
                }
            }
        }

        #[test]
        fn no_letter_gets_lost(text in "[a-z ]{0,80}", columns in 1_usize..30) {
            let letters = |text: &str| text.replace(' ', "");
            prop_assert_eq!(letters(&wrapped(&text, columns, 0).concat()), letters(&text));
            let rows = cut(Line::from(text.clone()), columns, usize::MAX);
            prop_assert_eq!(texts(&rows).concat(), text);
        }
    }
}
