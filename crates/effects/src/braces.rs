//! Words with braces: bash makes several of one before it does anything else.

use crate::shell::{self, Word};

/// The limit for the words that are made of one.
const MAX_WORDS: usize = 64;

/// The words that bash makes of one: `a{b,c}` is `ab` and `ac`, `{1..3}` is `1`, `2` and `3`. The word itself if it has no
/// braces, or if it makes too many to look at.
pub(crate) fn expanded(word: &Word) -> Vec<Word> {
    let may_be = word.literal.is_none() && word.source.contains('{');
    let texts = may_be.then(|| texts(&word.source)).flatten();
    match texts {
        // An empty one is dropped.
        Some(texts) if texts != [word.source.as_str()] => {
            texts.iter().filter(|text| !text.is_empty()).map(|text| reread(text)).collect()
        }
        _ => vec![word.clone()],
    }
}

/// The texts, quotes and all; nothing if there are too many, or if it is not certain where braces end.
pub(crate) fn texts(source: &str) -> Option<Vec<String>> {
    if source.contains("$(") || source.contains(['`', '<', '>']) {
        return None;
    }
    let mut from = 0;
    while let Some(open) = next(source, from, "{") {
        let Some(close) = end(source, open) else { break };
        let Some(inner) = alternatives(&source[open + 1..close]) else {
            from = open + 1;
            continue;
        };
        let behind = texts(&source[close + 1..])?;
        let mut all = Vec::new();
        for one in inner {
            let beginnings = texts(&one)?;
            let made = beginnings.iter().flat_map(|one| {
                behind.iter().map(move |behind| format!("{}{one}{behind}", &source[..open]))
            });
            all.extend(made);
            if all.len() > MAX_WORDS {
                return None;
            }
        }
        return Some(all);
    }
    Some(vec![source.to_owned()])
}

/// What stands in braces, part by part; nothing if bash leaves them alone, or there is too much.
fn alternatives(inner: &str) -> Option<Vec<String>> {
    let mut parts = Vec::new();
    let (mut start, mut at) = (0, 0);
    while let Some(found) = next(inner, at, "{,") {
        if inner[found..].starts_with('{') {
            at = end(inner, found).map_or(found + 1, |close| close + 1);
            continue;
        }
        parts.push(inner[start..found].to_owned());
        (start, at) = (found + 1, found + 1);
    }
    if !parts.is_empty() {
        parts.push(inner[start..].to_owned());
        return Some(parts);
    }
    range(inner)
}

/// `1..5`, `a..e`, `01..10..3`.
fn range(inner: &str) -> Option<Vec<String>> {
    let parts: Vec<&str> = inner.split("..").collect();
    let (from, to, step) = match parts[..] {
        [from, to] => (from, to, 1),
        [from, to, step] => (from, to, step.parse::<i64>().ok()?.abs().max(1)),
        _ => return None,
    };
    let letter = |text: &str| {
        let mut letters = text.chars();
        letters.next().filter(|c| c.is_ascii_alphabetic() && letters.next().is_none())
    };
    let number = |text: &str| text.parse::<i64>().ok();
    let padded = |text: &str| {
        let digits = text.trim_start_matches('-');
        digits.len() > 1 && digits.starts_with('0')
    };
    let (first, last, letters) = match (letter(from), letter(to)) {
        (Some(first), Some(last)) => {
            (i64::from(u32::from(first)), i64::from(u32::from(last)), true)
        }
        _ => (number(from)?, number(to)?, false),
    };
    let width = if padded(from) || padded(to) { from.len().max(to.len()) } else { 0 };
    let count = first.abs_diff(last) / step.unsigned_abs();
    if count >= MAX_WORDS as u64 {
        return None;
    }
    let signed = if first <= last { step } else { -step };
    let value = |at: u64| first + signed * i64::try_from(at).unwrap_or_default();
    let shown = |value: i64| match u32::try_from(value).ok().filter(|_| letters) {
        Some(letter) => char::from_u32(letter).map(String::from).unwrap_or_default(),
        None => format!("{value:0width$}"),
    };
    Some((0..=count).map(|at| shown(value(at))).collect())
}

/// Where the next of these characters stands that is neither quoted nor part of `${…}`.
fn next(text: &str, from: usize, wanted: &str) -> Option<usize> {
    let mut quote = None;
    let mut at = from;
    while let Some(found) = text[at..].chars().next() {
        let here = at;
        at += found.len_utf8();
        match (quote, found) {
            (Some('\''), '\'') | (Some('"'), '"') => quote = None,
            (Some('\''), _) => {}
            (_, '\\') => at += text[at..].chars().next().map_or(0, char::len_utf8),
            (Some(_), _) => {}
            (None, '\'' | '"') => quote = Some(found),
            (None, '$') if text[at..].starts_with('{') => {
                at = end(text, at).map_or(text.len(), |close| close + 1);
            }
            (None, _) if wanted.contains(found) => return Some(here),
            _ => {}
        }
    }
    None
}

/// Where the brace that opens here is closed.
fn end(text: &str, open: usize) -> Option<usize> {
    let mut depth = 0;
    let mut at = open + 1;
    while let Some(found) = next(text, at, "{}") {
        match (text.as_bytes()[found], depth) {
            (b'{', _) => depth += 1,
            (_, 0) => return Some(found),
            _ => depth -= 1,
        }
        at = found + 1;
    }
    None
}

/// A text as one word of a command.
fn reread(text: &str) -> Word {
    let open = || Word { source: text.to_owned(), literal: None };
    let mut script = shell::parse(&format!(": {text}"));
    match script.commands.pop().map(|command| command.words) {
        Some(mut words) if script.commands.is_empty() && words.len() == 2 => {
            words.pop().filter(|word| word.source == text).unwrap_or_else(open)
        }
        _ => open(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_become_words() {
        for (source, expected) in [
            ("a{b,c}d", &["abd", "acd"][..]),
            ("{a,b}{1,2}", &["a1", "a2", "b1", "b2"]),
            ("x{a,{b,c}d}", &["xa", "xbd", "xcd"]),
            ("~/.ss{h,}/k", &["~/.ssh/k", "~/.ss/k"]),
            ("{\"a,b\",c}", &["\"a,b\"", "c"]),
            ("{a\\,b,c}", &["a\\,b", "c"]),
            ("{1..3}", &["1", "2", "3"]),
            ("{3..1}", &["3", "2", "1"]),
            ("{08..10}", &["08", "09", "10"]),
            ("{1..9..4}", &["1", "5", "9"]),
            ("{a..c}", &["a", "b", "c"]),
            ("${x,,}{a,b}", &["${x,,}a", "${x,,}b"]),
            // These stay as they are.
            ("{}", &["{}"]),
            ("HEAD^{tree}", &["HEAD^{tree}"]),
            ("${x}", &["${x}"]),
            ("'{a,b}'", &["'{a,b}'"]),
            ("{a,b", &["{a,b"]),
            ("{x}{a,b}", &["{x}a", "{x}b"]),
            ("{1..100}", &["{1..100}"]),
        ] {
            assert_eq!(texts(source).unwrap(), expected, "{source}");
        }
        for source in ["{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}{a,b}", "{$(ls),b}"] {
            assert_eq!(texts(source), None, "{source}");
        }
    }

    #[test]
    fn words_are_read_again() {
        let word = |source: &str| Word { source: source.to_owned(), literal: None };
        let literals = |source: &str| -> Vec<Option<String>> {
            expanded(&word(source)).into_iter().map(|word| word.literal).collect()
        };
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(literals(".{e'n'v,x}"), [some(".env"), some(".x")]);
        assert_eq!(literals("{$x,a}"), [None, some("a")]);
        assert_eq!(literals("{a;,b}"), [None, some("b")]);
        assert_eq!(literals("{a,}"), [some("a")]);
        assert_eq!(literals(".{e..e}nv"), [some(".env")]);
        assert_eq!(literals("{}"), [None]);
    }
}
