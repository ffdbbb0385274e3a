//! Text in which no character acts on a terminal.
//!
//! What a model, a tool or a file said must not move the cursor, change colours, reverse the text or hide something.

use std::borrow::Cow;

use unicode_segmentation::UnicodeSegmentation as _;

use super::grapheme_width;

/// The columns between two tab stops.
pub const TAB_STOP: usize = 4;

/// What stands in the place of a hidden character.
const REPLACEMENT: char = '\u{fffd}';
const NON_JOINER: char = '\u{200c}';
const JOINER: char = '\u{200d}';
/// The flag that tags make one of a country, and the only words that they may spell.
const BLACK_FLAG: char = '\u{1f3f4}';
const TAGGED_FLAGS: [&str; 3] = ["gbeng", "gbsct", "gbwls"];

/// Text that only shows something: hidden characters are replaced by U+FFFD, tabs are expanded, and lines end with
/// `\n`.
pub fn plain(text: &str) -> Cow<'_, str> {
    plain_from(text, 0)
}

/// As [`plain`], for text that begins in a column of its line.
pub(crate) fn plain_from(text: &str, column: usize) -> Cow<'_, str> {
    match visible(text) {
        Cow::Borrowed(text) => expanded(text, column),
        Cow::Owned(text) => match expanded(&text, column) {
            Cow::Borrowed(_) => text.into(),
            Cow::Owned(text) => text.into(),
        },
    }
}

/// Text without hidden characters, as [`plain`], but with its tabs.
pub fn visible(text: &str) -> Cow<'_, str> {
    if !text.chars().any(is_suspicious) {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len());
    for grapheme in text.graphemes(true) {
        match grapheme {
            "\r\n" => shown.push('\n'),
            grapheme => push_visible(grapheme, &mut shown),
        }
    }
    shown.into()
}

/// The text with its tabs replaced by spaces up to the next tab stop.
pub fn expand_tabs(text: &str) -> Cow<'_, str> {
    expanded(text, 0)
}

fn expanded(text: &str, mut column: usize) -> Cow<'_, str> {
    if !text.contains('\t') {
        return text.into();
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for grapheme in text.graphemes(true) {
        match grapheme {
            "\t" => {
                let blanks = TAB_STOP - column % TAB_STOP;
                shown.extend(std::iter::repeat_n(' ', blanks));
                column += blanks;
            }
            "\n" => {
                shown.push('\n');
                column = 0;
            }
            grapheme => {
                shown.push_str(grapheme);
                column += grapheme_width(grapheme);
            }
        }
    }
    shown.into()
}

/// Whether a character has to be looked at in its grapheme.
fn is_suspicious(c: char) -> bool {
    is_hidden(c) || is_selector(c) || is_joiner(c)
}

/// A grapheme without what hides in it.
fn push_visible(grapheme: &str, shown: &mut String) {
    if is_tagged_flag(grapheme) {
        shown.push_str(grapheme);
        return;
    }
    let mut before = None;
    let mut rest = grapheme.chars();
    while let Some(c) = rest.next() {
        let shows = match c {
            // It chooses the look of the character before it. More than one in a row could only carry a secret.
            c if is_selector(c) => before.is_some_and(|c| !is_selector(c) && !is_hidden(c)),
            // Between letters that are written together it says how; two in a row say nothing.
            c if is_joiner(c) && before.is_some_and(is_joined) => true,
            // It makes one emoji of two.
            JOINER => before.is_some() && rest.clone().next().is_some_and(is_pictographic),
            NON_JOINER => false,
            c => !is_hidden(c),
        };
        shown.push(if shows { c } else { REPLACEMENT });
        before = Some(c);
    }
}

/// Whether a grapheme is the flag of England, Scotland or Wales, which characters spell that are not seen.
fn is_tagged_flag(grapheme: &str) -> bool {
    let Some(tags) = grapheme.strip_prefix(BLACK_FLAG) else { return false };
    let Some(tags) = tags.strip_suffix('\u{e007f}') else { return false };
    TAGGED_FLAGS.iter().any(|word| {
        word.chars().map(|c| char::from_u32(0xe_0000 + c as u32)).eq(tags.chars().map(Some))
    })
}

fn is_joiner(c: char) -> bool {
    matches!(c, NON_JOINER | JOINER)
}

/// Whether a character is of a script whose letters are written together or combined: from Arabic to Thaana, of India and
/// its neighbours, Khmer, Mongolian, and the presentation forms of Arabic.
fn is_joined(c: char) -> bool {
    matches!(c,
        '\u{600}'..='\u{7ff}' | '\u{840}'..='\u{8ff}' | '\u{900}'..='\u{dff}' | '\u{1000}'..='\u{109f}'
        | '\u{1780}'..='\u{17ff}' | '\u{1820}'..='\u{18af}' | '\u{a8e0}'..='\u{a8ff}'
        | '\u{fb50}'..='\u{fdff}' | '\u{fe70}'..='\u{fefc}' | '\u{11000}'..='\u{11fff}')
        && !is_ignorable(c)
}

/// Whether a character acts on a terminal, or is not seen on one. A joiner, a selector and a tag show something only in
/// their place.
fn is_hidden(c: char) -> bool {
    (c.is_control() && c != '\n' && c != '\t')
        || (is_ignorable(c) && !is_selector(c) && !is_joiner(c))
        || matches!(c, '\u{2028}' | '\u{2029}' | '\u{fff9}'..='\u{fffb}')
}

/// The variation selectors that emoji have.
fn is_selector(c: char) -> bool {
    matches!(c, '\u{fe00}'..='\u{fe0f}')
}

/// Whether a character may stand behind a joiner: the blocks that hold the emoji.
fn is_pictographic(c: char) -> bool {
    matches!(c, '\u{2190}'..='\u{2bff}' | '\u{1f000}'..='\u{1faff}')
}

/// Whether a terminal shows nothing for a character: those that Unicode calls default ignorable.
pub(super) fn is_ignorable(c: char) -> bool {
    matches!(c,
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}'..='\u{1160}' | '\u{17b4}'..='\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fff8}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn nothing_moves_the_cursor_or_turns_the_text() {
        assert_eq!(plain("a\u{1b}[31mb\rc\u{9b}d\n"), "a\u{fffd}[31mb\u{fffd}c\u{fffd}d\n");
        assert_eq!(plain("x\u{202e}y\u{200b}z é 日本"), "x\u{fffd}y\u{fffd}z é 日本");
        assert_eq!(plain("a\r\nb\r\n"), "a\nb\n");
        assert_eq!(plain("\u{e0041}\u{ad}\u{2028}"), "\u{fffd}".repeat(3));
    }

    const ENGLAND: &str = "🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}";

    #[test]
    fn letters_that_are_written_together_keep_their_joiners() {
        // Persian "I want", Devanagari "ksha" in two ways.
        for word in ["می\u{200c}خواهم", "क्\u{200d}ष", "क्\u{200c}ष"] {
            assert_eq!(plain(word), word);
        }
        assert_eq!(plain("a\u{200c}b"), "a\u{fffd}b");
        assert_eq!(plain("ی\u{200c}\u{200c}خ"), "ی\u{200c}\u{fffd}خ");
    }

    #[test]
    fn tags_spell_nothing_but_flags() {
        let hidden = ENGLAND.replace('\u{e006e}', "\u{e0061}");
        assert_eq!(plain(&hidden).matches('\u{fffd}').count(), 6);
    }

    #[test]
    fn ordinary_text_is_not_copied() {
        assert!(matches!(plain("fn main() {} // größe 日本 🦀\n"), Cow::Borrowed(_)));
    }

    #[test]
    fn an_emoji_of_several_characters_stays_whole() {
        for emoji in [
            "❤\u{fe0f}",
            "👨\u{200d}👩\u{200d}👧",
            "🏳\u{fe0f}\u{200d}🌈",
            "1\u{fe0f}\u{20e3}",
            ENGLAND,
        ] {
            assert_eq!(plain(emoji), emoji);
        }
    }

    #[test]
    fn joiners_and_selectors_hide_nothing() {
        assert_eq!(plain("a\u{200d}b"), "a\u{fffd}b");
        assert_eq!(plain("\u{fe0f}x"), "\u{fffd}x");
        assert_eq!(plain("a\u{fe01}\u{fe02}\u{fe03}"), "a\u{fe01}\u{fffd}\u{fffd}");
    }

    #[test]
    fn tabs_reach_the_next_stop() {
        assert_eq!(plain("\ta\tbc\td\n\te"), "    a   bc  d\n    e");
        assert_eq!(expand_tabs("日\tx"), "日  x");
        assert_eq!(plain_from("\tx", 3), " x");
    }

    proptest! {
        #[test]
        fn what_is_plain_shows_and_stays(text in any::<String>()) {
            let shown = plain(&text);
            let hides = |grapheme: &str| grapheme.chars().any(is_hidden) && !is_tagged_flag(grapheme);
            prop_assert!(!shown.graphemes(true).any(|one| hides(one) || one == "\t"), "{shown:?}");
            prop_assert_eq!(plain(&shown), &*shown);
        }
    }
}
