//! One part of a glob, between two slashes.

use super::GlobProblem;

/// A part of a pattern within one name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Token {
    /// This character.
    Is(char),
    /// `?`: any one.
    Any,
    /// `*`: any number of any.
    Star,
    /// `[…]`: one of these, or none of these.
    Class { negated: bool, ranges: Vec<(char, char)> },
}

/// A part of a pattern between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Segment {
    /// `**`: any number of names.
    Deep,
    /// One name.
    Name(Vec<Token>),
}

impl Token {
    pub(super) fn takes(&self, character: char) -> bool {
        match self {
            Self::Is(own) => *own == character,
            Self::Any | Self::Star => true,
            // `[z-a]` is empty and matches nothing, negated or not.
            Self::Class { ranges, .. } if ranges.is_empty() => false,
            Self::Class { negated, ranges } => {
                ranges.iter().any(|(from, to)| (*from..=*to).contains(&character)) != *negated
            }
        }
    }
}

impl Segment {
    pub(super) fn read(text: &str) -> Result<Self, GlobProblem> {
        if text == "**" {
            return Ok(Self::Deep);
        }
        let characters: Vec<char> = text.chars().collect();
        let mut tokens = Vec::new();
        let mut at = 0;
        let mut open = false;
        while let Some(&character) = characters.get(at) {
            let next = characters.get(at + 1).copied();
            let groups = next == Some('(') && characters[at + 2..].contains(&')');
            match character {
                '?' | '*' | '+' | '@' | '!' if groups => return Err(GlobProblem::Extglob),
                '*' if next == Some('*') => return Err(GlobProblem::PartialGlobstar),
                // A group that is not closed is not a group: its first character is literal.
                '*' | '?' if next == Some('(') => tokens.push(Token::Is(character)),
                '*' => tokens.push(Token::Star),
                '?' => tokens.push(Token::Any),
                // At the very end it is literal.
                '\\' => {
                    tokens.push(Token::Is(next.unwrap_or('\\')));
                    at += 1;
                }
                '[' => match class(&characters[at..])? {
                    Some((token, length)) => {
                        tokens.push(token);
                        at += length;
                        continue;
                    }
                    None => {
                        open = true;
                        tokens.push(Token::Is('['));
                    }
                },
                other => tokens.push(Token::Is(other)),
            }
            at += 1;
        }
        // Beside anything else minimatch drops the rest of the name with it.
        if open && tokens.iter().any(|token| !matches!(token, Token::Is(_))) {
            return Err(GlobProblem::UnclosedClass);
        }
        Ok(Self::Name(tokens))
    }
}

/// The class that begins here and its length; none if it never ends.
fn class(text: &[char]) -> Result<Option<(Token, usize)>, GlobProblem> {
    let negated = matches!(text.get(1), Some('!' | '^'));
    let mut at = if negated { 2 } else { 1 };
    let start = at;
    let mut ranges: Vec<(char, char)> = Vec::new();
    let mut named = false;
    // Where a range began, as in the `a-` of `a-z`.
    let mut from: Option<char> = None;
    while let Some(&character) = text.get(at) {
        if character == ']' && at > start {
            if named {
                return Err(GlobProblem::PosixClass);
            }
            return Ok(Some((Token::Class { negated, ranges }, at + 1)));
        }
        // It is refused only if the class is closed.
        named |= character == '[' && text.get(at + 1) == Some(&':');
        let (own, length) = match text.get(at + 1) {
            Some(&escaped) if character == '\\' => (escaped, 2),
            None if character == '\\' => return Ok(None),
            _ => (character, 1),
        };
        at += length;
        if let Some(first) = from.take() {
            // A reversed range is empty.
            if first <= own {
                ranges.push((first, own));
            }
        } else if text.get(at) == Some(&'-') && text.get(at + 1).is_some_and(|next| *next != ']') {
            from = Some(own);
            at += 1;
        } else {
            ranges.push((own, own));
        }
    }
    Ok(None)
}

/// Whether the tokens match the name. Only the last star backtracks, one character at a time, so
/// the time is bounded.
pub(super) fn matches(tokens: &[Token], name: &str) -> bool {
    let name: Vec<char> = name.chars().collect();
    let (mut token, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match tokens.get(token) {
            Some(Token::Star) => {
                star = Some((token, at));
                token += 1;
                continue;
            }
            Some(other) if other.takes(name[at]) => {
                token += 1;
                at += 1;
                continue;
            }
            _ => {}
        }
        let Some((back, taken)) = star else { return false };
        star = Some((back, taken + 1));
        token = back + 1;
        at = taken + 1;
    }
    tokens[token..].iter().all(|token| *token == Token::Star)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> Vec<Token> {
        match Segment::read(text).unwrap() {
            Segment::Name(tokens) => tokens,
            Segment::Deep => panic!("{text}"),
        }
    }

    #[test]
    fn names() {
        for (pattern, name, expected) in [
            ("*.rs", "a.rs", true),
            ("*.rs", ".rs", true),
            ("a*b*c", "aXbYbZc", true),
            ("a*b*c", "aXbYbZ", false),
            ("[a-c]?", "b1", true),
            ("[!a-c]?", "b1", false),
            ("[]a]", "]", true),
            ("[a-]", "-", true),
            ("[z-a]", "m", false),
            ("[!z-a]", "m", false),
            ("[\\]]", "]", true),
            ("[a", "[a", true),
            ("\\*", "*", true),
            ("\\*", "a", false),
            ("a\\", "a\\", true),
            ("+(a", "+(a", true),
            ("*(", "*(", true),
            ("*(", "a(", false),
            ("(auth)", "(auth)", true),
        ] {
            assert_eq!(matches(&read(pattern), name), expected, "{pattern} {name}");
        }
        assert_eq!(Segment::read("+(a|b)"), Err(GlobProblem::Extglob));
        assert_eq!(Segment::read("*[a"), Err(GlobProblem::UnclosedClass));
        assert_eq!(Segment::read("**.rs"), Err(GlobProblem::PartialGlobstar));
        assert_eq!(Segment::read("[[:alpha:]]"), Err(GlobProblem::PosixClass));
    }

    #[test]
    fn a_pattern_that_nearly_fits_everywhere_takes_no_time() {
        let tokens = read(&"*a".repeat(100));
        assert!(!matches(&tokens, &format!("{}b", "a".repeat(5_000))));
    }

    proptest! {
        #[test]
        fn a_name_with_pieces_starred_out_matches(
            pieces in prop::collection::vec("[ab.]{0,3}", 1..5), fill in "[ab.]{0,3}",
        ) {
            let pattern = pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect::<Vec<_>>().join("*");
            let name = pieces.iter().filter(|piece| !piece.is_empty()).cloned().collect::<Vec<_>>().join(&fill);
            prop_assert!(matches(&read(&pattern), &name));
        }
    }
}
