//! What git touches.

use super::tables::{GIT_CHANGERS, GIT_READERS, GIT_WRITERS};
use super::trees::{Skips, Tree};
use super::{Access, Operand, Touched, operands, pieces, values, values_of};
use crate::shell::Word;

/// What git does with files it tracks, without naming them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Tracked {
    /// What is done with them.
    pub(crate) access: Access,
    /// Only with those here, if it says so.
    pub(crate) below: Vec<String>,
}

/// Subcommands that show what is in tracked files.
const SHOWS: &[&str] = &[
    "diff",
    "show",
    "format-patch",
    "fast-export",
    "archive",
    "grep",
    "stash",
    "bundle",
    "difftool",
];

pub(super) fn git(words: &[Word], touched: &mut Touched) {
    let literals: Vec<&str> = words.iter().filter_map(|word| word.literal.as_deref()).collect();
    let any = |of: &[&str]| literals.iter().any(|word| of.contains(word));
    let begins =
        |of: &[&str]| literals.iter().any(|word| of.iter().any(|one| word.starts_with(one)));
    if any(&["apply", "am"]) {
        touched
            .scatters
            .get_or_insert("which files a patch changes is not in the command".to_owned());
    }
    if begins(&["--batch"]) {
        touched.unsure.get_or_insert("`git` takes names from its input".to_owned());
    }
    if any(&["config"]) && !begins(&["--get", "--list", "-l", "get", "list"]) {
        // One of these names is the file, whatever the direction.
        for file in [".git/config", ".gitconfig"] {
            touched.files.push((Access::Writes, Operand::Fixed(file.to_owned())));
        }
    }
    if begins(&["--no-index", "--untracked", "--no-exclude-standard"]) {
        touched.trees.push(Tree::here(Access::Reads, "git"));
    }
    if any(&["archive", "bundle", "format-patch"]) {
        let named = values_of(words, 'o', "--output").into_iter().chain(values_of(
            words,
            '\0',
            "--output-directory",
        ));
        touched.files.extend(named.map(|file| (Access::Writes, Operand::Fixed(file))));
    }
    let places = ["create", "clone", "read-tree", "checkout-index", "worktree", "init"];
    if any(&places) {
        let places = literals.iter().flat_map(|word| pieces(word));
        touched.files.extend(places.map(|file| (Access::Writes, Operand::Fixed(file.to_owned()))));
    }
    if any(&["clean"]) || any(&["stash"]) && begins(&["-a", "--all"]) {
        touched.trees.push(Tree::here(Access::Writes, "git"));
    }
    let takes_all = any(&["add", "stage"]) && begins(&["-A", "--all", "-u", "."])
        || any(&["commit", "stash"]) && begins(&["-a", "-u", "--all", "--include-untracked"]);
    if takes_all {
        let forced = begins(&["-f", "--force"]);
        let skips = Skips { ignored: !forced, ..Skips::default() };
        touched.trees.push(Tree { skips, ..Tree::here(Access::Reads, "git") });
    }
    let verbose = begins(&["-v", "--verbose"]) && any(&["status", "commit"]);
    let patches = any(&["log", "reflog", "whatchanged"])
        && begins(&["-p", "-u", "--patch", "-c", "--cc", "-L", "-S", "-G", "-m"]);
    if verbose || patches || any(SHOWS) {
        touched.tracked.push(Tracked { access: Access::Reads, below: named(&literals) });
    }
    // A new branch changes no file.
    let begun = any(&["checkout", "switch"])
        && any(&["-b", "-c", "-B", "-C", "--create"])
        && literals.len() < 4;
    if any(GIT_CHANGERS) && !any(&["clean"]) && !begun {
        let mut below = named(&literals);
        if literals.first() == Some(&"restore") {
            below = literals[1..]
                .iter()
                .filter(|word| !word.starts_with('-'))
                .map(|word| (*word).to_owned())
                .collect();
        }
        touched.tracked.push(Tracked { access: Access::Writes, below });
    }
    if !any(GIT_WRITERS) && !any(GIT_READERS) {
        // What others are told, such as a message, is seldom a file, but it could be one.
        let given = literals.iter().flat_map(|word| pieces(word));
        touched.given.extend(given.map(|piece| ("git".to_owned(), piece.to_owned())));
        return;
    }
    let access = if any(GIT_WRITERS) { Access::Writes } else { Access::Reads };
    operands(words.iter(), access, touched);
    values(words, touched);
    for path in literals.iter().filter_map(|word| Some(word.split_once(':')?.1)) {
        // `HEAD:file` shows a file as it was.
        touched.files.push((Access::Reads, Operand::Fixed(path.to_owned())));
    }
    for value in values_of(words, '\0', "--output") {
        touched.files.push((Access::Writes, Operand::Fixed(value)));
    }
}

/// The paths behind `--`, if all of them are plain.
fn named(literals: &[&str]) -> Vec<String> {
    let at = literals.iter().position(|word| *word == "--");
    let paths = at.map_or(&[][..], |at| &literals[at + 1..]);
    let plain = |path: &&&str| !path.starts_with(':') && !path.contains(['*', '?', '[']);
    if paths.iter().all(|path| plain(&path)) {
        paths.iter().map(|path| (*path).to_owned()).collect()
    } else {
        Vec::new()
    }
}
