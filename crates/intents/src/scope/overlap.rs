//! Whether two scopes overlap.

use std::collections::{HashMap, VecDeque};

use super::segment::{Segment, Token};
use super::{Glob, Held, Scope};

/// The limit of steps for comparing two patterns; beyond it they count as disjoint. Real patterns stay far below.
const MAX_STEPS: usize = 250_000;

/// A path in both scopes, if there is one.
pub fn overlap(one: &Scope, other: &Scope) -> Option<String> {
    let held =
        |globs: &[Glob]| globs.iter().filter(|glob| !glob.excludes()).cloned().collect::<Vec<_>>();
    let (ours, theirs) = (held(&one.globs), held(&other.globs));
    for mine in ours.iter().flat_map(|glob| &glob.alternatives) {
        for its in theirs.iter().flat_map(|glob| &glob.alternatives) {
            let both = |path: &String| {
                matches!((one.holds(path), other.holds(path)), (Held::By(_), Held::By(_)))
            };
            // Either scope may exclude the example, so it is checked against both.
            if let Some(path) = common_path(mine, its).filter(both) {
                return Some(path);
            }
        }
    }
    None
}

/// A path that both lists of names match.
fn common_path(one: &[Segment], other: &[Segment]) -> Option<String> {
    // Most scopes differ in a plain name near the top, and there are many pairs to compare.
    let plain = |segment: &Segment| match segment {
        Segment::Name(tokens) => tokens.iter().all(|token| matches!(token, Token::Is(_))),
        Segment::Deep => false,
    };
    let named = one.iter().zip(other).take_while(|(mine, its)| plain(mine) && plain(its));
    if named.into_iter().any(|(mine, its)| mine != its) {
        return None;
    }
    let names = search(
        one,
        other,
        |segment| *segment == Segment::Deep,
        |mine, its| match (mine, its) {
            (Segment::Name(mine), Segment::Name(its)) => {
                let name: String = common_name(mine, its)?.into_iter().collect();
                // `*` and `*` both match the empty name, which no file has.
                Some(if name.is_empty() { "x".to_owned() } else { name })
            }
            (Segment::Name(only), Segment::Deep) | (Segment::Deep, Segment::Name(only)) => {
                let name: String = common_name(only, &[Token::Star])?.into_iter().collect();
                Some(if name.is_empty() { "x".to_owned() } else { name })
            }
            (Segment::Deep, Segment::Deep) => Some("x".to_owned()),
        },
    )?;
    Some(names.join("/"))
}

/// A name that both lists of tokens match.
fn common_name(one: &[Token], other: &[Token]) -> Option<Vec<char>> {
    search(one, other, |token| *token == Token::Star, common_character)
}

fn common_character(one: &Token, other: &Token) -> Option<char> {
    let from = |token: &Token| match token {
        Token::Is(own) => vec![*own],
        Token::Any | Token::Star => vec!['x'],
        // The ends of the ranges, and what lies just beyond them, are where classes differ.
        Token::Class { ranges, .. } => ranges
            .iter()
            .flat_map(|(from, to)| [Some(*from), Some(*to), next(*to), previous(*from)])
            .flatten()
            .chain(['x'])
            .collect(),
    };
    let fits =
        |character: &char| *character != '/' && one.takes(*character) && other.takes(*character);
    from(one).into_iter().chain(from(other)).find(fits)
}

fn next(character: char) -> Option<char> {
    char::from_u32(u32::from(character) + 1)
}

fn previous(character: char) -> Option<char> {
    u32::from(character).checked_sub(1).and_then(char::from_u32)
}

/// The shortest list that both patterns match, where some of their parts (`many`) match any number of items.
fn search<P, T: Clone>(
    one: &[P],
    other: &[P],
    many: impl Fn(&P) -> bool,
    common: impl Fn(&P, &P) -> Option<T>,
) -> Option<Vec<T>> {
    if one.len().saturating_mul(other.len()) > MAX_STEPS {
        return None;
    }
    type Place = (usize, usize);
    let mut came: HashMap<Place, (Place, Option<T>)> = HashMap::new();
    let mut waiting = VecDeque::from([(0, 0)]);
    while let Some(place) = waiting.pop_front() {
        let (i, j) = place;
        if place == (one.len(), other.len()) {
            let mut found = Vec::new();
            let mut at = place;
            while let Some((before, thing)) = came.get(&at).filter(|_| at != (0, 0)) {
                found.extend(thing.clone());
                at = *before;
            }
            found.reverse();
            return Some(found);
        }
        let (mine, its) = (one.get(i), other.get(j));
        let mut steps: Vec<(Place, Option<T>)> = Vec::new();
        if mine.is_some_and(&many) {
            steps.push(((i + 1, j), None));
        }
        if its.is_some_and(&many) {
            steps.push(((i, j + 1), None));
        }
        if let (Some(mine), Some(its)) = (mine, its)
            && let Some(thing) = common(mine, its)
        {
            let (stay, go) = (many(mine), many(its));
            let to = (if stay { i } else { i + 1 }, if go { j } else { j + 1 });
            // Keeping both positions would loop forever.
            if to != place {
                steps.push((to, Some(thing)));
            }
        }
        for (to, thing) in steps {
            if to != (0, 0) && !came.contains_key(&to) {
                came.insert(to, (place, thing));
                waiting.push_back(to);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(one: &[&str], other: &[&str]) -> Option<String> {
        overlap(&Scope::read(one).unwrap(), &Scope::read(other).unwrap())
    }

    #[test]
    fn scopes_overlap_where_a_path_is_in_both() {
        for (one, other, expected) in [
            (&["src/**"][..], &["src/a/*.rs"][..], true),
            (&["src/**"], &["lib/**"], false),
            (&["src/*.rs"], &["src/*.ts"], false),
            (&["src/a*"], &["src/*b"], true),
            (&["**/x.rs"], &["src/**"], true),
            (&["src/[a-c].rs"], &["src/[!a-b].rs"], true),
            (&["src/[a-c].rs"], &["src/[!a-c].rs"], false),
            (&["src/?"], &["src/ab"], false),
            (&["{a,b}/**"], &["b/c"], true),
            (&["src/**", "!src/a/**"], &["src/a/*.rs"], false),
            (&["**"], &["**"], true),
        ] {
            let found = of(one, other);
            assert_eq!(found.is_some(), expected, "{one:?} {other:?} {found:?}");
        }
        assert_eq!(of(&["src/**/*.rs"], &["*/b/c*"]).as_deref(), Some("src/b/c.rs"));
    }

    proptest! {
        #[test]
        fn an_example_is_in_both_and_a_common_path_is_found(
            one in "[ab*?]{1,3}(/([ab?]{1,2}|\\*\\*)){0,3}", other in "[ab*?]{1,3}(/([ab*]{1}|\\*\\*)){0,3}",
            path in "[ab]{1,3}(/[ab]{1,2}){0,3}",
        ) {
            let (Ok(mine), Ok(its)) = (Scope::read(&[one]), Scope::read(&[other])) else { return Ok(()) };
            let found = overlap(&mine, &its);
            if let Some(example) = &found {
                prop_assert!(matches!(mine.holds(example), Held::By(_)));
                prop_assert!(matches!(its.holds(example), Held::By(_)));
            }
            if matches!((mine.holds(&path), its.holds(&path)), (Held::By(_), Held::By(_))) {
                prop_assert!(found.is_some(), "{}", path);
            }
        }
    }
}
