//! Where motions lead (`:help motion.txt`).

use super::super::content::Content;
use super::super::words::{Class, class};
use super::parse::{Find, Motion};

/// Where a motion ends, and how much of it an operator takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Landing {
    pub(super) at: usize,
    pub(super) reach: Reach,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Reach {
    /// Up to the end.
    Exclusive,
    /// And the character at the end.
    Inclusive,
    /// Whole lines.
    Lines,
}

/// A run of characters that `w`, `e` and `b` stop at. White space has none.
fn word(content: &Content, at: usize, big: bool) -> Option<Class> {
    match class(content, at) {
        Class::Blank => None,
        Class::Other if big => Some(Class::Word),
        class => Some(class),
    }
}

/// Whether the characters at two neighbouring positions are of one word.
fn same_word(content: &Content, one: usize, other: usize, big: bool) -> bool {
    let (one, other) = (word(content, one, big), word(content, other, big));
    one == other && one.is_some_and(|class| class != Class::Chip)
}

fn is_empty_line(content: &Content, at: usize) -> bool {
    content.line_start(at) == content.line_end(at)
}

/// The start of the next word. An empty line is a word too.
fn word_start(content: &Content, from: usize, big: bool) -> usize {
    let mut at = from;
    while at < content.len() && same_word(content, at, content.next(at), big) {
        at = content.next(at);
    }
    at = content.next(at);
    while at < content.len() && word(content, at, big).is_none() && !is_empty_line(content, at) {
        at = content.next(at);
    }
    at
}

/// The last character of the word that a position is in.
pub(super) fn word_end_here(content: &Content, from: usize, big: bool) -> usize {
    let mut at = from;
    while content.next(at) < content.len() && same_word(content, at, content.next(at), big) {
        at = content.next(at);
    }
    at
}

/// The last character of this word, or of the next if that is here.
fn word_end(content: &Content, from: usize, big: bool) -> usize {
    let mut at = content.next(from);
    while at < content.len() && word(content, at, big).is_none() {
        at = content.next(at);
    }
    if at >= content.len() {
        return content.previous(content.len()).max(from);
    }
    word_end_here(content, at, big)
}

/// The start of this word, or of the one before if that is here.
fn word_back(content: &Content, from: usize, big: bool) -> usize {
    let mut at = content.previous(from);
    while at > 0 && word(content, at, big).is_none() && !is_empty_line(content, at) {
        at = content.previous(at);
    }
    while at > 0 && same_word(content, content.previous(at), at, big) {
        at = content.previous(at);
    }
    at
}

/// The first character of a line that is not white space, or its last position.
pub(super) fn first_non_blank(content: &Content, at: usize) -> usize {
    let (mut at, end) = (content.line_start(at), content.line_end(at));
    while at < end && class(content, at) == Class::Blank {
        at = content.next(at);
    }
    at
}

/// A position in the line some lines below or above, as far as there are lines.
pub(super) fn lines_away(content: &Content, from: usize, count: usize, down: bool) -> usize {
    let mut at = from;
    for _ in 0..count {
        let next = if down {
            Some(content.line_end(at) + 1).filter(|next| *next <= content.len())
        } else {
            content.line_start(at).checked_sub(1)
        };
        match next {
            Some(next) => at = next,
            None => break,
        }
    }
    at
}

/// The start of a line, counted from 1; the last line if there are fewer.
fn line(content: &Content, number: usize) -> usize {
    let away = lines_away(content, 0, number.saturating_sub(1), true);
    content.line_start(away)
}

/// Where a character is in the line. `again` is a repeated search, which does not stop where it stands.
fn find(content: &Content, from: usize, find: Find, count: usize, again: bool) -> Option<usize> {
    let (start, end) = (content.line_start(from), content.line_end(from));
    let step = |at: usize| {
        if find.forward {
            Some(content.next(at)).filter(|next| *next < end && *next > at)
        } else {
            Some(content.previous(at)).filter(|_| at > start)
        }
    };
    let mut at = from;
    if again && find.till {
        at = step(at)?;
    }
    for _ in 0..count {
        at = step(at)?;
        while !content.grapheme(at).starts_with(find.letter) {
            at = step(at)?;
        }
    }
    match (find.till, find.forward) {
        (false, _) => Some(at),
        (true, true) => Some(content.previous(at)),
        (true, false) => Some(content.next(at)),
    }
}

fn times(count: usize, from: usize, step: impl Fn(usize) -> usize) -> usize {
    let mut at = from;
    for _ in 0..count {
        let next = step(at);
        if next == at {
            break;
        }
        at = next;
    }
    at
}

/// Where a motion leads, or nothing if it fails. `found` is the last search for a character.
pub(super) fn landing(
    content: &Content,
    from: usize,
    motion: Motion,
    count: Option<usize>,
    found: Option<Find>,
) -> Option<Landing> {
    let (start, end) = (content.line_start(from), content.line_end(from));
    let times_or_one = count.unwrap_or(1);
    let many = |step: &dyn Fn(usize) -> usize| times(times_or_one, from, step);
    let exclusive = |at| Some(Landing { at, reach: Reach::Exclusive });
    let inclusive = |at| Some(Landing { at, reach: Reach::Inclusive });
    let lines = |at| Some(Landing { at, reach: Reach::Lines });
    match motion {
        Motion::Left => exclusive(many(&|at| if at > start { content.previous(at) } else { at })),
        Motion::Right => exclusive(many(&|at| if at < end { content.next(at) } else { at })),
        Motion::Up | Motion::Down => {
            let at = lines_away(content, from, times_or_one, motion == Motion::Down);
            lines(at).filter(|_| content.line_start(at) != start)
        }
        Motion::WordStart { big } => exclusive(many(&|at| word_start(content, at, big))),
        Motion::WordEnd { big } => inclusive(many(&|at| word_end(content, at, big))),
        Motion::WordBack { big } => exclusive(many(&|at| word_back(content, at, big))),
        Motion::LineStart => exclusive(start),
        Motion::LineEnd => {
            exclusive(content.line_end(lines_away(content, from, times_or_one - 1, true)))
        }
        Motion::FirstNonBlank => exclusive(first_non_blank(content, from)),
        Motion::FirstLine => lines(first_non_blank(content, line(content, times_or_one))),
        Motion::LastLine => {
            let at = count.map_or(content.line_start(content.len()), |count| line(content, count));
            lines(first_non_blank(content, at))
        }
        Motion::Find(sought) => found_at(sought, find(content, from, sought, times_or_one, false)),
        Motion::FindAgain { back } => {
            let sought = found.map(|last| Find { forward: last.forward != back, ..last })?;
            found_at(sought, find(content, from, sought, times_or_one, true))
        }
    }
}

fn found_at(sought: Find, at: Option<usize>) -> Option<Landing> {
    // Backward, the character that the cursor is on is not taken.
    let reach = if sought.forward { Reach::Inclusive } else { Reach::Exclusive };
    at.map(|at| Landing { at, reach })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str, from: usize, motion: Motion) -> Option<usize> {
        landing(&text.into(), from, motion, None, None).map(|landing| landing.at)
    }

    #[test]
    fn words_are_letters_or_punctuation_and_big_words_anything() {
        let text = "foo.bar  baz\n\n  qux";
        let walk = |motion, from: usize| {
            let mut places = vec![from];
            while let Some(next) = at(text, *places.last().unwrap(), motion) {
                if places.contains(&next) {
                    break;
                }
                places.push(next);
            }
            places
        };
        assert_eq!(walk(Motion::WordStart { big: false }, 0), [0, 3, 4, 9, 13, 16, 19]);
        assert_eq!(walk(Motion::WordStart { big: true }, 0), [0, 9, 13, 16, 19]);
        assert_eq!(walk(Motion::WordEnd { big: false }, 0), [0, 2, 3, 6, 11, 18]);
        assert_eq!(walk(Motion::WordBack { big: false }, 18), [18, 16, 13, 9, 4, 3, 0]);
        assert_eq!(walk(Motion::WordBack { big: true }, 18), [18, 16, 13, 9, 0]);
    }

    #[test]
    fn characters_are_found_in_the_line_only() {
        let text = "a-b-c\n-";
        let find = |forward, till| Motion::Find(Find { letter: '-', forward, till });
        assert_eq!(at(text, 0, find(true, false)), Some(1));
        assert_eq!(at(text, 0, find(true, true)), Some(0));
        assert_eq!(at(text, 4, find(false, true)), Some(4));
        assert_eq!(at(text, 4, find(false, false)), Some(3));
        assert_eq!(at(text, 3, find(true, false)), None);
        let last = Some(Find { letter: '-', forward: true, till: true });
        let again = |from, back| {
            let motion = Motion::FindAgain { back };
            landing(&text.into(), from, motion, None, last).map(|landing| landing.at)
        };
        assert_eq!(again(0, false), Some(2), "not the one it stands before");
        assert_eq!(again(4, true), Some(2));
    }

    #[test]
    fn lines_are_counted_from_one() {
        let text = "a\n b\nc";
        let line = |count| {
            landing(&text.into(), 0, Motion::LastLine, count, None).map(|landing| landing.at)
        };
        assert_eq!((line(None), line(Some(2)), line(Some(99))), (Some(5), Some(3), Some(5)));
        assert_eq!(at(text, 5, Motion::FirstLine), Some(0));
        assert_eq!(at(text, 5, Motion::Down), None);
    }
}
