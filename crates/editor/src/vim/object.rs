//! What text objects cover (`:help text-objects`).

use std::ops::Range;

use super::super::content::Content;
use super::super::words::{Class, class};
use super::parse::{Object, ObjectKind};

/// What an operator acts on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Extent {
    /// Of lines: without the last newline.
    pub(super) range: Range<usize>,
    pub(super) lines: bool,
}

/// What an object covers from a position, or nothing if there is none.
pub(super) fn extent(content: &Content, at: usize, object: Object, count: usize) -> Option<Extent> {
    match object.kind {
        ObjectKind::Word { big } => {
            let range = words(content, at, big, object.around, count);
            Some(Extent { range, lines: false })
        }
        ObjectKind::Quotes(quote) => {
            let range = quotes(content, at, quote, object.around)?;
            Some(Extent { range, lines: false })
        }
        ObjectKind::Brackets(open, close) => {
            let (start, end) = brackets(content, at, (open, close), count)?;
            Some(if object.around {
                Extent { range: start..content.next(end), lines: false }
            } else {
                inner_block(content, start, end)
            })
        }
    }
}

/// The end of the run of one class that starts at a position, within the line.
fn run_end(content: &Content, from: usize, big: bool) -> usize {
    let end = content.line_end(from);
    let first = run_class(content, from, big);
    let mut at = content.next(from).min(end);
    while at < end && first != Class::Chip && run_class(content, at, big) == first {
        at = content.next(at);
    }
    at
}

/// The start of the run of one class that a position is in, within the line.
fn run_start(content: &Content, from: usize, big: bool) -> usize {
    let start = content.line_start(from);
    let first = run_class(content, from, big);
    let mut at = from;
    while at > start
        && first != Class::Chip
        && run_class(content, content.previous(at), big) == first
    {
        at = content.previous(at);
    }
    at
}

fn run_class(content: &Content, at: usize, big: bool) -> Class {
    match class(content, at) {
        Class::Other if big => Class::Word,
        class => class,
    }
}

fn is_blank(content: &Content, at: usize) -> bool {
    at < content.line_end(at) && class(content, at) == Class::Blank
}

/// Words, or the white space between them. Around a word is the white space after it, or before if there is none.
fn words(content: &Content, at: usize, big: bool, around: bool, count: usize) -> Range<usize> {
    let mut start = run_start(content, at, big);
    let line_end = content.line_end(at);
    let on_blank = is_blank(content, at);
    let mut end = start;
    for _ in 0..count {
        if end >= line_end {
            break;
        }
        end = run_end(content, end, big);
        // White space and the word after it, or a word and the white space after it.
        if around && end < line_end && (on_blank || is_blank(content, end)) {
            end = run_end(content, end, big);
        }
    }
    let blank_after = end > start && is_blank(content, content.previous(end));
    if around && !on_blank && !blank_after {
        let line_start = content.line_start(at);
        if start > line_start && is_blank(content, content.previous(start)) {
            start = run_start(content, content.previous(start), big);
        }
    }
    start..end
}

/// A quoted string in the line: from the quote before to the next one. On a quote, pairs are counted from the start of
/// the line.
fn quotes(content: &Content, at: usize, quote: char, around: bool) -> Option<Range<usize>> {
    let (line_start, line_end) = (content.line_start(at), content.line_end(at));
    let mut places = Vec::new();
    let mut here = line_start;
    while here < line_end {
        let grapheme = content.grapheme(here);
        if grapheme == "\\" {
            here = content.next(here);
        } else if grapheme.starts_with(quote) {
            places.push(here);
        }
        here = content.next(here);
    }
    let first = match places.iter().position(|place| *place >= at) {
        Some(on) if places[on] == at => on - on % 2,
        Some(after) => after.saturating_sub(1),
        None => return None,
    };
    let (open, close) = (*places.get(first)?, *places.get(first + 1)?);
    if !around {
        return Some(content.next(open)..close);
    }
    let mut range = open..content.next(close);
    while range.end < line_end && is_blank(content, range.end) {
        range.end = content.next(range.end);
    }
    if range.end == content.next(close) {
        while range.start > line_start && is_blank(content, content.previous(range.start)) {
            range.start = content.previous(range.start);
        }
    }
    Some(range)
}

/// The brackets around a position; with a count, the ones around those. On a bracket, it is one of the pair.
fn brackets(
    content: &Content,
    at: usize,
    pair: (char, char),
    count: usize,
) -> Option<(usize, usize)> {
    let mut open = at;
    for level in 0..count {
        let from = if level == 0 && !content.grapheme(at).starts_with(pair.0) {
            at
        } else if level == 0 {
            content.next(at)
        } else {
            open
        };
        open = opening(content, from, pair)?;
    }
    Some((open, closing(content, open, pair)?))
}

/// The opening bracket before a position whose pair is not closed before it.
fn opening(content: &Content, from: usize, (open, close): (char, char)) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, letter) in content.raw()[..from].char_indices().rev() {
        if letter == close {
            depth += 1;
        } else if letter == open {
            match depth.checked_sub(1) {
                Some(less) => depth = less,
                None => return Some(place),
            }
        }
    }
    None
}

/// The bracket that closes the one at a position.
fn closing(content: &Content, from: usize, (open, close): (char, char)) -> Option<usize> {
    let mut depth = 0_usize;
    for (place, letter) in content.raw()[from..].char_indices() {
        if letter == open {
            depth += 1;
        } else if letter == close {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return Some(from + place);
            }
        }
    }
    None
}

/// What is between two brackets. If they end and start lines, it is the lines between.
fn inner_block(content: &Content, open: usize, close: usize) -> Extent {
    let start = content.next(open);
    let last_line = content.line_start(close);
    let blank_before =
        content.raw()[last_line..close].chars().all(|letter| letter == ' ' || letter == '\t');
    if content.grapheme(start) == "\n" && blank_before && last_line > start + 1 {
        return Extent { range: start + 1..last_line - 1, lines: true };
    }
    Extent { range: start..close, lines: false }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What an object covers; the position is where `|` stands.
    fn covered(text: &str, kind: ObjectKind, around: bool, count: usize) -> Option<String> {
        let at = text.find('|').unwrap();
        let content = Content::from(text.replace('|', "").as_str());
        let extent = extent(&content, at, Object { kind, around }, count)?;
        Some(content.raw()[extent.range].to_owned())
    }

    #[test]
    fn words_with_and_without_white_space() {
        let word = ObjectKind::Word { big: false };
        let big = ObjectKind::Word { big: true };
        for (text, kind, around, count, expected) in [
            ("foo b|ar baz", word, false, 1, "bar"),
            ("foo b|ar baz", word, true, 1, "bar "),
            ("foo b|ar", word, true, 1, " bar"),
            ("b|ar.foo", word, true, 1, "bar"),
            ("foo.b|ar baz", word, false, 1, "bar"),
            ("foo.b|ar baz", big, false, 1, "foo.bar"),
            ("foo| bar baz", word, false, 1, " "),
            ("foo|  bar baz", word, true, 1, "  bar"),
            ("f|oo bar baz", word, false, 3, "foo bar"),
            ("f|oo bar baz", word, true, 2, "foo bar "),
            ("a\n|\nb", word, false, 1, ""),
        ] {
            assert_eq!(covered(text, kind, around, count).as_deref(), Some(expected), "{text}");
        }
    }

    #[test]
    fn strings_in_the_line() {
        let quotes = ObjectKind::Quotes('"');
        for (text, around, expected) in [
            (r#"a "b|c" d"#, false, Some("bc")),
            (r#"a "b|c" d"#, true, Some(r#""bc" "#)),
            (r#"a "b|c""#, true, Some(r#" "bc""#)),
            (r#"|a "bc" d"#, false, Some("bc")),
            (r#"a |"bc" "d""#, false, Some("bc")),
            (r#"a "bc|" "d""#, false, Some("bc")),
            (r#""a" |x "b""#, false, Some(" x ")),
            (r#""a\"|b""#, false, Some(r#"a\"b"#)),
            (r#"a |b"#, false, None),
            (r#"a "|b"#, false, None),
        ] {
            assert_eq!(covered(text, quotes, around, 1).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn blocks_with_blocks_in_them() {
        let round = ObjectKind::Brackets('(', ')');
        for (text, around, count, expected) in [
            ("f(a, g(|b), c)", false, 1, Some("b")),
            ("f(a, g(|b), c)", false, 2, Some("a, g(b), c")),
            ("f(a|, g(b), c)", true, 1, Some("(a, g(b), c)")),
            ("f|(a)", false, 1, Some("a")),
            ("f(a|)", false, 1, Some("a")),
            ("f(|)", false, 1, Some("")),
            ("f(a|", false, 1, None),
            ("|f(a)", false, 1, None),
            ("f(|b)", false, 2, None),
        ] {
            assert_eq!(covered(text, round, around, count).as_deref(), expected, "{text}");
        }
        let curly = ObjectKind::Brackets('{', '}');
        assert_eq!(covered("{\n  a|\n  b\n}", curly, false, 1).as_deref(), Some("  a\n  b"));
    }
}
