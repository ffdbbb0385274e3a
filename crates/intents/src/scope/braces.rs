//! Brace expansion, `{a,b}` and `{1..3}`, by bash's rules as minimatch implements them.

use super::GlobProblem;

/// The limit for the patterns of one expansion.
const MAX_EXPANSIONS: usize = 1_000;
/// Braces within braces, at most.
const MAX_DEPTH: usize = 32;

/// A character, and whether a backslash stood before it: `\{` opens nothing.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Char {
    is: char,
    quoted: bool,
}

/// Every expansion of `pattern`. Empty ones are left out.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, GlobProblem> {
    // Without a pair nothing is expanded, and backslashes are left to the matcher.
    if pattern.rfind('}') < pattern.find('{').or(Some(usize::MAX)) {
        return Ok(vec![pattern.to_owned()]);
    }
    let mut characters = read(pattern);
    // bash leaves `{}` at the very beginning alone.
    if let [Char { is: '{', quoted: false }, Char { is: '}', quoted: false }, ..] = characters[..] {
        characters[0].quoted = true;
        characters[1].quoted = true;
    }
    let mut all: Vec<String> = expand_part(characters, 0)?.iter().map(|part| text(part)).collect();
    all.retain(|pattern| !pattern.is_empty());
    Ok(all)
}

fn read(pattern: &str) -> Vec<Char> {
    let mut out = Vec::with_capacity(pattern.len());
    let mut characters = pattern.chars().peekable();
    while let Some(is) = characters.next() {
        // Only characters that braces use lose their backslash here; the others keep it for the matcher.
        match characters.peek().copied() {
            Some(next) if is == '\\' && matches!(next, '\\' | '{' | '}' | ',' | '.') => {
                characters.next();
                out.push(Char { is: next, quoted: true });
            }
            _ => out.push(Char { is, quoted: false }),
        }
    }
    out
}

fn text(part: &[Char]) -> String {
    part.iter().map(|character| character.is).collect()
}

fn is(character: Char, what: char) -> bool {
    character.is == what && !character.quoted
}

fn plain(text: &str) -> Vec<Char> {
    text.chars().map(|is| Char { is, quoted: false }).collect()
}

/// The first pair of braces that is not within another: where it opens and where it closes.
fn pair(part: &[Char]) -> Option<(usize, usize)> {
    let mut open = Vec::new();
    let mut inner: Option<(usize, usize)> = None;
    for (at, &character) in part.iter().enumerate() {
        if is(character, '{') {
            open.push(at);
        } else if is(character, '}')
            && let Some(begin) = open.pop()
        {
            if open.is_empty() {
                return Some((begin, at));
            }
            // If the outer one is never closed, this one counts.
            if inner.is_none_or(|(left, _)| begin < left) {
                inner = Some((begin, at));
            }
        }
    }
    inner
}

fn expand_part(mut part: Vec<Char>, depth: usize) -> Result<Vec<Vec<Char>>, GlobProblem> {
    if depth > MAX_DEPTH {
        return Err(GlobProblem::TooMany);
    }
    let mut done: Vec<Vec<Char>> = vec![Vec::new()];
    while let Some((open, close)) = pair(&part) {
        let body = &part[open + 1..close];
        let sequence = sequence(&text(body))?;
        let options = body.iter().any(|&character| is(character, ','));
        let dollar = open > 0 && part[open - 1].is == '$';
        let values = if dollar {
            // `${name}` is a variable in bash, and left alone.
            vec![part[open..=close].to_vec()]
        } else if let Some(values) = sequence {
            values.iter().map(|value| plain(value)).collect()
        } else if options {
            alternatives(body, depth)?
        } else if later_comma(&part[close + 1..]) {
            // In `{a},b}` bash lets the last brace close, and not the first.
            part[close].quoted = true;
            continue;
        } else {
            break;
        };
        done = join(&done, &part[..open], &values)?;
        part.drain(..=close);
    }
    join(&done, &part, &[Vec::new()])
}

/// What the options of one pair become.
fn alternatives(body: &[Char], depth: usize) -> Result<Vec<Vec<Char>>, GlobProblem> {
    let parts = split(body);
    let mut values = Vec::new();
    for part in &parts {
        for value in expand_part(part.clone(), depth + 1)? {
            // A pair around only another pair keeps its own braces.
            values.push(if parts.len() == 1 { embraced(value) } else { value });
        }
        if values.len() > MAX_EXPANSIONS {
            return Err(GlobProblem::TooMany);
        }
    }
    Ok(values)
}

fn embraced(value: Vec<Char>) -> Vec<Char> {
    let brace = |is| Char { is, quoted: true };
    let mut out = vec![brace('{')];
    out.extend(value);
    out.push(brace('}'));
    out
}

/// At the commas that are not within a pair.
fn split(body: &[Char]) -> Vec<Vec<Char>> {
    let mut parts = vec![Vec::new()];
    let mut rest = body;
    loop {
        let pair = pair(rest);
        let before = pair.map_or(rest, |(open, _)| &rest[..open]);
        for &character in before {
            if is(character, ',') {
                parts.push(Vec::new());
            } else if let Some(last) = parts.last_mut() {
                last.push(character);
            }
        }
        let Some((open, close)) = pair else { return parts };
        if let Some(last) = parts.last_mut() {
            last.extend_from_slice(&rest[open..=close]);
        }
        rest = &rest[close + 1..];
    }
}

/// Whether one last comma follows, and a closing brace after it.
fn later_comma(rest: &[Char]) -> bool {
    let comma = rest.iter().enumerate().position(|(at, &character)| {
        is(character, ',') && !rest.get(at + 1).is_some_and(|&next| is(next, ','))
    });
    comma.is_some_and(|at| rest[at + 1..].iter().any(|&character| is(character, '}')))
}

fn join(
    done: &[Vec<Char>],
    before: &[Char],
    values: &[Vec<Char>],
) -> Result<Vec<Vec<Char>>, GlobProblem> {
    if done.len().saturating_mul(values.len()) > MAX_EXPANSIONS {
        return Err(GlobProblem::TooMany);
    }
    let all = done.iter().flat_map(|start| {
        values.iter().map(move |value| [start.as_slice(), before, value.as_slice()].concat())
    });
    Ok(all.collect())
}

/// `1..5` or `a..e`, with or without a step; none if it is not a sequence.
fn sequence(body: &str) -> Result<Option<Vec<String>>, GlobProblem> {
    let parts: Vec<&str> = body.split("..").collect();
    let (from, to, step) = match parts[..] {
        [from, to] => (from, to, None),
        [from, to, step] => (from, to, Some(step)),
        _ => return Ok(None),
    };
    let step = match step.map(number) {
        None => 1,
        Some(Some(step)) => step.saturating_abs().max(1),
        Some(None) => return Ok(None),
    };
    if let (Some(first), Some(last)) = (number(from), number(to)) {
        let padded =
            [Some(from), Some(to), parts.get(2).copied()].into_iter().flatten().any(is_padded);
        let width = if padded { from.len().max(to.len()) } else { 0 };
        let digits = |value: i64| match value {
            0.. => format!("{value:0width$}"),
            _ => format!("-{:0width$}", value.unsigned_abs(), width = width.saturating_sub(1)),
        };
        return Ok(Some(steps(first, last, step)?.into_iter().map(digits).collect()));
    }
    match (letter(from), letter(to)) {
        (Some(first), Some(last)) => {
            let all = steps(i64::from(first), i64::from(last), step)?;
            let letters = all.into_iter().filter_map(|code| u8::try_from(code).ok());
            // A backslash is between `Z` and `a`, and bash leaves it out.
            let name = |code: u8| (code != b'\\').then(|| char::from(code).to_string());
            Ok(Some(letters.map(|code| name(code).unwrap_or_default()).collect()))
        }
        _ => Ok(None),
    }
}

fn steps(first: i64, last: i64, step: i64) -> Result<Vec<i64>, GlobProblem> {
    let mut values = Vec::new();
    let mut at = first;
    while if first <= last { at <= last } else { at >= last } {
        values.push(at);
        if values.len() > MAX_EXPANSIONS {
            return Err(GlobProblem::TooMany);
        }
        let next = if first <= last { at.checked_add(step) } else { at.checked_sub(step) };
        let Some(next) = next else { break };
        at = next;
    }
    Ok(values)
}

fn number(text: &str) -> Option<i64> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let fits = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    fits.then(|| text.parse().ok()).flatten()
}

fn letter(text: &str) -> Option<u8> {
    match text.as_bytes() {
        [letter] if letter.is_ascii_alphabetic() => Some(*letter),
        _ => None,
    }
}

fn is_padded(number: &str) -> bool {
    let digits = number.strip_prefix('-').unwrap_or(number);
    digits.len() > 1 && digits.starts_with('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_open_up_as_in_bash() {
        for (pattern, expected) in [
            ("a", &["a"][..]),
            ("{a,b}", &["a", "b"]),
            ("x{a,{b,c}d}y", &["xay", "xbdy", "xcdy"]),
            ("{a}", &["{a}"]),
            ("{{a,b}}", &["{a}", "{b}"]),
            ("a{,b}", &["a", "ab"]),
            ("{a,b", &["{a,b"]),
            ("{a,{b,c}", &["{a,b", "{a,c"]),
            ("{},{a,b}", &["{},a", "{},b"]),
            ("${a,b}c", &["${a,b}c"]),
            ("{1..3}", &["1", "2", "3"]),
            ("{03..1}", &["03", "02", "01"]),
            ("{-01..1}", &["-01", "000", "001"]),
            ("{a..e..2}", &["a", "c", "e"]),
            ("\\{a,b}", &["{a,b}"]),
            ("{a\\,b,c}", &["a,b", "c"]),
            ("a{b},c}d", &["ab}d", "acd"]),
            ("\\\\*{a", &["\\\\*{a"]),
            ("}a{", &["}a{"]),
        ] {
            assert_eq!(expand(pattern).unwrap(), expected, "{pattern}");
        }
    }

    #[test]
    fn too_many_are_refused() {
        for pattern in [
            "{a,b}".repeat(20),
            "{1..100000}".into(),
            format!("{}a,b{}", "{".repeat(99), "}".repeat(99)),
        ] {
            assert_eq!(expand(&pattern), Err(GlobProblem::TooMany), "{pattern}");
        }
    }
}
