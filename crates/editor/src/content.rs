//! What a prompt holds: text, and chips that stand for something longer.
//!
//! The text is one string, in which a chip is a single control character. No other control character but newline and
//! tab gets in, so the mark cannot be typed, and it never joins a neighbour in a grapheme.

use std::borrow::Cow;
use std::ops::Range;

use unicode_segmentation::{GraphemeCursor, UnicodeSegmentation};

use super::chip::Chip;

/// Stands for a chip in the text (U+001A, "substitute").
const MARK: char = '\u{1a}';

/// Text with chips: a whole prompt, or a part that was cut out of it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Content {
    raw: String,
    /// One for each [`MARK`], in the order of the text.
    chips: Vec<Chip>,
}

impl From<&str> for Content {
    /// Plain text. Line ends become `\n`; control characters that a terminal would obey are left out.
    fn from(text: &str) -> Self {
        Self { raw: cleaned(text).into_owned(), chips: Vec::new() }
    }
}

impl From<Chip> for Content {
    fn from(chip: Chip) -> Self {
        Self { raw: MARK.to_string(), chips: vec![chip] }
    }
}

/// The text without control characters other than newline and tab.
pub(super) fn cleaned(text: &str) -> Cow<'_, str> {
    let unwanted = |letter: char| letter.is_control() && letter != '\n' && letter != '\t';
    if !text.contains(unwanted) {
        return Cow::Borrowed(text);
    }
    let mut clean = String::with_capacity(text.len());
    let mut letters = text.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\r' if letters.peek() == Some(&'\n') => {}
            '\r' => clean.push('\n'),
            _ if unwanted(letter) => {}
            _ => clean.push(letter),
        }
    }
    Cow::Owned(clean)
}

impl Content {
    /// What is submitted: pasted texts in full, an image as its label.
    pub fn text(&self) -> String {
        let longer = |chip: &Chip| chip.text().map_or(0, str::len);
        let mut text = String::with_capacity(
            self.raw.len() + self.chips.iter().map(longer).fold(0, usize::saturating_add),
        );
        self.write(&mut text, |chip, text| match chip.text() {
            Some(pasted) => text.push_str(pasted),
            None => text.push_str(&chip.label()),
        });
        text
    }

    /// What is shown: every chip as its label.
    pub fn shown(&self) -> String {
        let mut text = String::with_capacity(self.raw.len());
        self.write(&mut text, |chip, text| text.push_str(&chip.label()));
        text
    }

    /// The images in it, each once, in the order of the text.
    pub fn images(&self) -> Vec<u32> {
        let mut images = Vec::new();
        for image in self.chips.iter().filter_map(Chip::image) {
            if !images.contains(&image) {
                images.push(image);
            }
        }
        images
    }

    /// Several of them, each on lines of its own.
    pub fn lines(all: &[Self]) -> Self {
        let mut joined = Self::default();
        for (number, one) in all.iter().enumerate() {
            if number > 0 {
                joined.append(&"\n".into());
            }
            joined.append(one);
        }
        joined
    }

    /// Whether there is nothing in it, not even a space.
    pub fn is_empty(&self) -> bool {
        self.raw.is_empty()
    }

    fn write(&self, text: &mut String, chip: impl Fn(&Chip, &mut String)) {
        let mut parts = self.raw.split(MARK);
        text.push_str(parts.next().unwrap_or_default());
        for (part, inner) in parts.zip(&self.chips) {
            chip(inner, text);
            text.push_str(part);
        }
    }

    /// The text with a mark for each chip. Positions are byte offsets in it, always between graphemes.
    pub(super) fn raw(&self) -> &str {
        &self.raw
    }

    /// The position after the last grapheme.
    pub(super) fn len(&self) -> usize {
        self.raw.len()
    }

    /// Its chips, in the order of the text.
    pub(super) fn chips(&self) -> &[Chip] {
        &self.chips
    }

    /// Whether this grapheme is a chip.
    pub(super) fn is_chip(grapheme: &str) -> bool {
        grapheme.starts_with(MARK)
    }

    /// How many chips there are in a part.
    pub(super) fn chips_in(&self, range: Range<usize>) -> usize {
        self.raw[range].matches(MARK).count()
    }

    fn chip_range(&self, range: &Range<usize>) -> Range<usize> {
        let first = self.chips_in(0..range.start);
        first..first + self.chips_in(range.clone())
    }

    /// A copy of a part.
    pub(super) fn slice(&self, range: Range<usize>) -> Self {
        let chips = self.chips[self.chip_range(&range)].to_vec();
        Self { raw: self.raw[range].to_owned(), chips }
    }

    /// Replaces a part, and gives it back.
    pub(super) fn replace(&mut self, range: Range<usize>, with: &Content) -> Self {
        let removed = self.slice(range.clone());
        let chips = self.chip_range(&range);
        self.chips.splice(chips, with.chips.iter().cloned());
        self.raw.replace_range(range, &with.raw);
        removed
    }

    /// Adds to the end.
    pub(super) fn append(&mut self, more: &Content) {
        self.raw.push_str(&more.raw);
        self.chips.extend_from_slice(&more.chips);
    }

    /// The same with another text, in which every chip's mark must be where it belongs.
    pub(super) fn mapped(&self, text: impl FnOnce(&str) -> String) -> Self {
        Self { raw: text(&self.raw), chips: self.chips.clone() }
    }

    /// This many copies, one after the other.
    pub(super) fn repeated(&self, count: usize) -> Self {
        let chips = std::iter::repeat_n(&self.chips, count).flatten().cloned().collect();
        Self { raw: self.raw.repeat(count), chips }
    }

    /// The grapheme at a position; empty at the end.
    pub(super) fn grapheme(&self, at: usize) -> &str {
        self.raw[at..].graphemes(true).next().unwrap_or_default()
    }

    /// The position after the grapheme here.
    pub(super) fn next(&self, at: usize) -> usize {
        at + self.grapheme(at).len()
    }

    /// The position of the grapheme before.
    pub(super) fn previous(&self, at: usize) -> usize {
        at - self.raw[..at].graphemes(true).next_back().map_or(0, str::len)
    }

    /// The start of the line that a position is in.
    pub(super) fn line_start(&self, at: usize) -> usize {
        self.raw[..at].rfind('\n').map_or(0, |newline| newline + 1)
    }

    /// The end of the line that a position is in, before its newline.
    pub(super) fn line_end(&self, at: usize) -> usize {
        self.raw[at..].find('\n').map_or(self.raw.len(), |newline| at + newline)
    }

    /// The first grapheme boundary that is not before a position. A change can join graphemes: the cursor must not
    /// stay within one.
    pub(super) fn snapped(&self, at: usize) -> usize {
        let at = self.raw.floor_char_boundary(at);
        let mut cursor = GraphemeCursor::new(at, self.raw.len(), true);
        match cursor.is_boundary(&self.raw, 0) {
            Ok(true) => at,
            _ => cursor.next_boundary(&self.raw, 0).ok().flatten().unwrap_or(self.raw.len()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_chips() -> Content {
        let mut content = Content::from("a ");
        content.append(&Chip::pasted(1, "one\ntwo").into());
        content.append(&" b ".into());
        content.append(&Chip::Image(3).into());
        content
    }

    #[test]
    fn chips_are_expanded_or_shown() {
        let content = with_chips();
        assert_eq!(content.text(), "a one\ntwo b [Image #3]");
        assert_eq!(content.shown(), "a [Pasted text #1 +1 line] b [Image #3]");
        assert_eq!(content.images(), [3]);
    }

    #[test]
    fn replacing_back_restores_text_and_chips() {
        let first = with_chips();
        let mut content = first.clone();
        let removed = content.replace(1..5, &"x".into());
        assert_eq!(content.text(), "ax [Image #3]");
        content.replace(1..2, &removed);
        assert_eq!(content, first);
    }

    #[test]
    fn what_a_terminal_would_obey_does_not_get_in() {
        assert_eq!(Content::from("a\r\nb\rc\u{1b}[0m\u{1a}\td\u{7f}").text(), "a\nb\nc[0m\td");
        assert!(matches!(cleaned("plain\ttext\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn positions_are_between_graphemes() {
        let content = Content::from("e\u{301}\n👩\u{200d}👩x");
        let family = content.raw().find('x').unwrap();
        assert_eq!(content.next(0), 3);
        assert_eq!(content.previous(4), 3);
        assert_eq!(content.next(4), family);
        assert_eq!(content.previous(family), 4);
        assert_eq!(content.snapped(1), 3);
        assert_eq!(content.snapped(8), family);
        assert_eq!((content.line_start(family), content.line_end(0)), (4, 3));
        assert_eq!((content.previous(0), content.next(content.len())), (0, content.len()));
    }
}
