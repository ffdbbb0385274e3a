//! The files that the patterns of the shell stand for.

use std::path::{Path, PathBuf};

use ona_types::World;

use crate::path;

/// The limit for the files that are checked for a pattern.
const MAX_MATCHES: usize = 1000;

/// The files a pattern matches in a directory, as bash would expand it; `None` if there are too many.
/// Files whose names begin with a dot are left out unless the pattern begins with one; a line that has bash do
/// otherwise is opaque.
pub(crate) fn expand(world: &dyn World, dir: &Path, pattern: &str) -> Option<Vec<PathBuf>> {
    let (start, pattern) = match pattern.strip_prefix('/') {
        Some(rest) => (Path::new("/"), rest),
        None => (dir, pattern),
    };
    let mut found = vec![start.to_owned()];
    let mut looked = 0;
    for part in pattern.split('/').filter(|part| !part.is_empty()) {
        let mut next = Vec::new();
        for dir in found {
            if !part.contains(['*', '?', '[']) {
                next.push(dir.join(part));
                continue;
            }
            let names = world.names(&dir, MAX_MATCHES - looked)?;
            looked += names.len();
            for name in names {
                let fits = |name: &str| is_shown(part, name) && fits(part, name);
                if name.to_str().is_none_or(fits) {
                    next.push(dir.join(&name));
                }
            }
        }
        found = next;
    }
    // What matches nothing stands for itself, and brackets do not match their own text.
    if found.is_empty() || pattern.contains('[') {
        found.push(start.join(pattern));
    }
    Some(found)
}

/// A pattern whose files cannot be listed: they are too many, or it does not follow the usual rules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wide {
    /// From the root.
    pattern: PathBuf,
    /// Names that begin with a dot fit too, `**` stands for any directories, and capitals do not count.
    loose: bool,
    /// All that is below what it matches counts too.
    whole: bool,
}

impl Wide {
    pub(crate) fn new(dir: &Path, pattern: &str, loose: bool) -> Self {
        Self { pattern: path::in_words(&dir.join(pattern)), loose, whole: false }
    }

    /// The same, with all that is below what it matches.
    pub(crate) fn with_all_below(self, whole: bool) -> Self {
        Self { whole, ..self }
    }

    /// Whether it may match this path, or something below it.
    pub fn may_name(&self, path: &Path) -> bool {
        let parts = |path: &Path| -> Vec<String> {
            path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
        };
        self.fits(&parts(&self.pattern), &parts(path))
    }

    fn fits(&self, pattern: &[String], path: &[String]) -> bool {
        match (pattern, path) {
            (_, []) => true,
            ([], _) => self.whole,
            ([any, rest @ ..], [_, below @ ..]) if any == "**" && self.loose => {
                self.fits(rest, path) || self.fits(pattern, below)
            }
            ([part, rest @ ..], [name, below @ ..]) => {
                let fits = match self.loose {
                    true => fits(&part.to_lowercase(), &name.to_lowercase()),
                    false => is_shown(part, name) && fits(part, name),
                };
                fits && self.fits(rest, below)
            }
        }
    }
}

/// Whether a name that begins with a dot is one that the pattern is about.
fn is_shown(part: &str, name: &str) -> bool {
    part.starts_with('.') || !name.starts_with('.')
}

/// One character of a pattern, or any number of them.
enum Piece {
    Any,
    One(Set),
}

/// The characters that fit in one place.
enum Set {
    All,
    This(char),
    /// One of these ranges.
    In(Vec<(char, char)>),
    /// None of these characters.
    Not(Vec<char>),
}

impl Set {
    fn has(&self, character: char) -> bool {
        // In some languages `[a-z]` has capital letters too: rather a file too many.
        let within = |(from, to): &(char, char)| {
            let either = [character.to_ascii_lowercase(), character.to_ascii_uppercase()];
            either.iter().chain([&character]).any(|c| (*from..=*to).contains(c))
        };
        match self {
            Self::All => true,
            Self::This(own) => *own == character,
            Self::In(ranges) => ranges.iter().any(within),
            Self::Not(all) => !all.contains(&character),
        }
    }
}

fn pieces(part: &str) -> Vec<Piece> {
    let mut found = Vec::new();
    let mut rest = part;
    while let Some(next) = rest.chars().next() {
        rest = &rest[next.len_utf8()..];
        found.push(match next {
            '*' => Piece::Any,
            '?' => Piece::One(Set::All),
            '[' => match bracket(rest) {
                Some((piece, behind)) => {
                    rest = behind;
                    piece
                }
                // It does not end: it stands for itself.
                None => Piece::One(Set::This('[')),
            },
            other => Piece::One(Set::This(other)),
        });
    }
    found
}

/// What a bracket stands for, and what stands behind it.
fn bracket(text: &str) -> Option<(Piece, &str)> {
    let inner = text.strip_prefix(['!', '^']).unwrap_or(text);
    let negated = inner.len() < text.len();
    // `[:alpha:]` depends on the language, and ends within: anything may stand up to the last bracket.
    if inner.contains("[:") || inner.contains("[.") || inner.contains("[=") {
        let end = inner.rfind(']')?;
        return Some((Piece::Any, &inner[end + 1..]));
    }
    // A bracket right at the beginning is one of the characters.
    let first = inner.chars().next()?.len_utf8();
    let end = first + inner.get(first..)?.find(']')?;
    let characters: Vec<char> = inner[..end].chars().collect();
    let (mut ranges, mut at) = (Vec::new(), 0);
    while let Some(from) = characters.get(at) {
        match (characters.get(at + 1), characters.get(at + 2)) {
            (Some('-'), Some(to)) => {
                ranges.push((*from, *to));
                at += 3;
            }
            _ => {
                ranges.push((*from, *from));
                at += 1;
            }
        }
    }
    let plain = ranges.iter().all(|(from, to)| from == to);
    let set = match negated {
        false => Set::In(ranges),
        true if plain => Set::Not(characters),
        true => Set::All,
    };
    Some((Piece::One(set), &inner[end + 1..]))
}

/// Whether a name fits, in time that is bounded: only the last `*` is ever tried again.
fn fits(part: &str, name: &str) -> bool {
    let pieces = pieces(part);
    let name: Vec<char> = name.chars().collect();
    let (mut piece, mut at) = (0, 0);
    let mut star: Option<(usize, usize)> = None;
    while at < name.len() {
        match pieces.get(piece) {
            Some(Piece::Any) => {
                star = Some((piece, at));
                piece += 1;
            }
            Some(Piece::One(set)) if set.has(name[at]) => {
                piece += 1;
                at += 1;
            }
            _ => match &mut star {
                Some((any, from)) => {
                    *from += 1;
                    (piece, at) = (*any + 1, *from);
                }
                None => return false,
            },
        }
    }
    pieces[piece..].iter().all(|piece| matches!(piece, Piece::Any))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use ona_testkit::Disk;

    use super::*;

    #[test]
    fn patterns_are_expanded() {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir(dir.path().join("sub")).unwrap();
        for name in [".env", "a.rs", "b.rs", "sub/c.rs"] {
            fs::write(dir.path().join(name), "").unwrap();
        }
        let names = |pattern: &str| -> Vec<String> {
            let mut found: Vec<String> = expand(&Disk, dir.path(), pattern)
                .unwrap()
                .iter()
                .map(|path| path.strip_prefix(dir.path()).unwrap().display().to_string())
                .collect();
            found.sort();
            found
        };
        assert_eq!(names(".en?"), [".env"]);
        assert_eq!(names(".en[v]"), [".en[v]", ".env"]);
        assert_eq!(names(".[e]*"), [".[e]*", ".env"]);
        assert_eq!(names("[!a].rs"), ["[!a].rs", "b.rs"]);
        assert_eq!(names(".[[:alpha:]]n[v]"), [".[[:alpha:]]n[v]", ".env"]);
        assert_eq!(names("x*"), ["x*"], "what matches nothing stands for itself");
        for (pattern, name, expected) in [
            ("[]a]", "]", true),
            ("[!]a]", "b", true),
            ("[a-c]x", "Bx", true),
            ("[^ab]", "a", false),
            ("a?c*e", "abcdde", true),
            ("*a*b", "xaxab", true),
            ("a[", "a[", true),
            ("?", "", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern}: {name}");
        }
        assert_eq!(names("*/c.rs"), ["a.rs/c.rs", "b.rs/c.rs", "sub/c.rs"]);
        assert_eq!(names("s*/*.rs"), ["sub/c.rs"]);
    }

    #[test]
    fn a_pattern_that_cannot_be_listed_may_name_a_path_or_what_is_below_it() {
        for (pattern, loose, expected) in [
            ("~/*/*/*.key", false, false),
            ("~/*/*/*.key", true, true),
            ("~/.s*/v*/*", false, true),
            ("~/.S*/V?ULT/*", false, false),
            ("~/.S*/V?ULT/*", true, true),
            ("~/**/vault/key", true, true),
            ("~/**/key", true, true),
            ("~/x/../.s*/*/key", false, true),
            ("~/*", true, false),
            ("~/**/other/x/y", true, true),
            ("~/other/**", true, false),
        ] {
            let wide = Wide::new(Path::new("/"), &pattern.replace('~', "/home/u"), loose);
            assert_eq!(wide.may_name(Path::new("/home/u/.s/vault")), expected, "{pattern} {loose}");
        }
    }
}
