//! The guard of stored credentials: which calls reach a directory that nobody but ona may touch.
//!
//! A path rule covers what names the directory. This is about the rest: what spells its path to another program, goes
//! through a directory above it, matches it with a pattern too wide to list, or hands a directory above it to a program that
//! may do anything with it.

use std::path::{Path, PathBuf};

use ona_effects::shell::Word;
use ona_effects::{Effects, Listing, Surroundings, Tree, wildcard};
use ona_programs::commands;

use crate::keyring;

/// Files of the system's keyring, below the home: of the Secret Service, and of macOS.
const KEYRINGS: [&str; 2] = [".local/share/keyrings", "Library/Keychains"];
/// Another way to say where the first of them are.
const IN_DATA_HOME: &str = "XDG_DATA_HOME/keyrings";

/// What files in the stores are called: in ona's own, and in keyrings as far as is known.
const OWN_FILES: &[&str] = &[
    "vault",
    "vault.key",
    "vault.lock",
    "in-keyring",
    "renewal-0123456789abcdef.lock",
    "renewal-0123456789abcdef.failed",
];
const KEYRING_FILES: &[&str] = &[
    "login.keyring",
    "default.keyring",
    "default",
    "user.keystore",
    "login.keychain-db",
    "keychain-2.db",
];

/// How the path of ona's own store ends, wherever it is.
const OWN: &str = "ona/vault";

/// How many directories above ona's own store a program that is not known may not be given: `…/state/ona` and `…/state`.
const LEVELS_ABOVE: usize = 2;

/// A directory with stored credentials.
#[derive(Clone, Debug)]
pub(crate) struct Store {
    /// The directory.
    pub(crate) dir: PathBuf,
    /// What it holds, in words.
    pub(crate) what: &'static str,
    /// It is there.
    exists: bool,
    /// How its path may end, however it begins: with a variable, or in a text for another program.
    ends: Vec<String>,
    /// Directories above it that no program that is not known is given, or runs in.
    above: Vec<PathBuf>,
    /// Names that its files have.
    files: &'static [&'static str],
    /// It is ona's own, and the system's keyring may stand in for it.
    is_own: bool,
}

impl Store {
    /// Every store in a place.
    pub(crate) fn all(around: &Surroundings) -> Vec<Self> {
        let own = around.stores.iter().map(|dir| {
            let above = dir.ancestors().skip(1).take(LEVELS_ABOVE);
            // The home is given to too many programs.
            let above = above.filter(|dir| !around.home.starts_with(dir)).map(Path::to_owned);
            Self {
                what: "ona's stored credentials",
                exists: around.world.exists(dir),
                ends: vec![last_parts(dir, 2)],
                above: above.collect(),
                files: OWN_FILES,
                is_own: true,
                dir: dir.clone(),
            }
        });
        let keyrings = KEYRINGS.iter().map(|below| {
            let dir = around.home.join(below);
            Self {
                what: "the files of the system's keyring",
                exists: around.world.exists(&dir),
                ends: vec![(*below).to_owned(), IN_DATA_HOME.to_owned()],
                above: Vec::new(),
                files: KEYRING_FILES,
                is_own: false,
                dir,
            }
        });
        own.chain(keyrings).collect()
    }

    /// Whether it is in a directory, as far as it is there to be found.
    pub(crate) fn is_in(&self, root: &Path) -> bool {
        self.exists && self.dir.starts_with(root)
    }

    /// Whether a call reaches it in another way than by a path of its own.
    pub(crate) fn is_reached(&self, effects: &Effects) -> bool {
        effects.lost
            || effects.trees.iter().any(|tree| self.is_met(tree))
            || effects.wide.iter().any(|wide| self.exists && wide.may_name(&self.dir))
            || effects.texts.iter().any(|text| self.is_spelt(text))
            || self.is_handed_over(effects)
            || self.is_own && keyring::may_reach_credentials(effects)
            || effects.listed.iter().any(|listing| self.is_listed(listing))
            || (effects.unread || feeds(effects)) && self.is_nearly_spelt(effects)
            || effects.unread && self.has_every_part(effects)
            || self.is_spelt_in_pieces(effects)
    }

    /// Whether a text has the path, or its end.
    fn is_spelt(&self, text: &str) -> bool {
        let texts = spellings(text);
        self.ends.iter().any(|end| texts.iter().any(|text| has_path(text, end)))
    }

    /// Whether a text has the path of the directory that holds it: what is not understood may go on from there.
    fn is_nearly_spelt(&self, effects: &Effects) -> bool {
        let Some(end) = self.above.first().map(|dir| last_parts(dir, 2)) else { return false };
        let spelt = |text: &String| spellings(text).iter().any(|text| has_path(text, &end));
        effects.texts.iter().any(spelt)
    }

    /// Whether one text has the path of the directory that holds it, and one the name of the store: a variable, a link or
    /// a program may put them together.
    fn is_spelt_in_pieces(&self, effects: &Effects) -> bool {
        let name = last_parts(&self.dir, 1);
        let named = |text: &String| spellings(text).iter().any(|text| has_path(text, &name));
        self.is_nearly_spelt(effects) && effects.texts.iter().any(named)
    }

    /// Whether every part of its path is in some text: what is not understood may put them together.
    fn has_every_part(&self, effects: &Effects) -> bool {
        let has = |part: &str| effects.texts.iter().any(|text| has_path(text, part));
        self.ends.iter().any(|end| end.split('/').all(has))
    }

    /// Whether its files may be named to other commands.
    fn is_listed(&self, listing: &Listing) -> bool {
        let below = self.dir.strip_prefix(&listing.root.real);
        let reaches = |below: &Path| {
            listing.depth.is_none_or(|depth| depth >= below.iter().count())
                && self.has_name(below, &listing.only)
        };
        self.exists && below.is_ok_and(reaches)
    }

    /// Whether one of its files, or a directory on the way to it, has a name of these patterns, if there are any.
    fn has_name(&self, below: &Path, only: &[String]) -> bool {
        let on_the_way = below.iter().map(|name| name.to_string_lossy().into_owned());
        let mut names = on_the_way.chain(self.files.iter().map(|name| (*name).to_owned()));
        let fits = |name: &str| only.iter().any(|pattern| wildcard::matches(pattern, name));
        only.is_empty() || names.any(|name| fits(&name))
    }

    /// Whether a command goes through it.
    fn is_met(&self, tree: &Tree) -> bool {
        let below = self.dir.strip_prefix(&tree.root.real).unwrap_or(Path::new(""));
        let hidden =
            below.components().any(|part| part.as_os_str().as_encoded_bytes().starts_with(b"."));
        self.is_in(&tree.root.real)
            && !(tree.skips.hidden && hidden)
            && self.has_name(below, &tree.skips.only)
    }

    /// Whether a program that may do anything with it gets a directory above it, or works there.
    fn is_handed_over(&self, effects: &Effects) -> bool {
        let is_above = |dir: &Path| self.exists && self.above.iter().any(|above| above == dir);
        let given = || effects.given.iter().filter(|given| given.program != "git");
        let works = || {
            effects.commands.iter().zip(&effects.runs).any(|(command, run)| {
                run.dirs.iter().any(|dir| is_above(dir))
                    && commands::may_do_anything(&command.words)
            })
        };
        given().any(|given| is_above(&given.target.real) || is_above(&given.target.named))
            || works()
    }
}

/// Whether a command of the line takes names from its input.
fn feeds(effects: &Effects) -> bool {
    let fed = |words: &[Word]| {
        std::iter::once(words).chain(commands::suffixes(words)).any(commands::is_feeder)
    };
    effects.commands.iter().any(|command| fed(&command.words))
}

/// Whether a path looks like one in a store, as far as its end tells: for those who read files without a call.
pub fn holds_credentials(path: &Path) -> bool {
    let text = path.to_string_lossy();
    KEYRINGS.iter().chain([&OWN]).any(|end| has_path(&text, end))
}

fn last_parts(dir: &Path, count: usize) -> String {
    let parts: Vec<_> = dir.iter().map(|part| part.to_string_lossy()).collect();
    parts[parts.len().saturating_sub(count)..].join("/")
}

/// A text without quotes and braces, as it stands, decoded, and with the shortest paths.
fn spellings(text: &str) -> [String; 3] {
    let bare = text.replace("\\\n", "").replace(['"', '\'', '\\', '{', '}'], "");
    let decoded = ona_programs::files::decoded(&bare);
    let mut parts: Vec<&str> = Vec::new();
    for (at, part) in decoded.split('/').enumerate() {
        match part {
            "" | "." if at > 0 => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    let short = parts.join("/");
    [bare, decoded, short]
}

/// Whether a text has this path, and not as a part of longer names.
fn has_path(text: &str, path: &str) -> bool {
    let is_name = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    text.match_indices(path).any(|(at, found)| {
        let before = text[..at].chars().next_back();
        let behind = text[at + found.len()..].chars().next();
        !before.is_some_and(is_name) && !behind.is_some_and(is_name)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_found_however_it_is_spelt() {
        for (text, expected) in [
            ("$S/ona/vault/key", true),
            ("see ona/vault.", true),
            ("$S/ona//vault", true),
            ("$S/ona/./vault", true),
            ("$S/ona/x/../vault", true),
            ("$S/on'a/va'ult", true),
            ("$S/ona/v%61ult", true),
            ("on\\\na/vault", true),
            ("persona/vault", false),
            ("ona/vaults", false),
            ("ona/x/vault", false),
        ] {
            let found = spellings(text).iter().any(|text| has_path(text, "ona/vault"));
            assert_eq!(found, expected, "{text}");
        }
    }
}
