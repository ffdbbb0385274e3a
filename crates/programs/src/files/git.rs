//! What git touches.
//!
//! Names are taken from where git works: below the directory of `-C`, and from the top of the checkout in `HEAD:file`,
//! `:/file` and `:(top)file`.

use ona_shell::Word;

use super::tables::{GIT_CHANGERS, GIT_INNER, GIT_READERS, GIT_WRITERS};
use super::trees::{Skips, Tree};
use super::{Access, Operand, Touched, operands, pieces, values};
use crate::git_options::GitCall;

/// What git does with files in ways that other programs have not.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InGit {
    /// With files that it tracks.
    pub tracked: Vec<Tracked>,
    /// With files that it is told of from the top of its checkout.
    pub from_top: Vec<FromTop>,
    /// Patches that it applies.
    pub patches: Vec<Patch>,
    /// Why it may write any file at all, protected ones too.
    pub writes_unknown: Option<String>,
}

/// What git does with files it tracks, without naming them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tracked {
    /// What is done with them.
    pub access: Access,
    /// Where git works, if not where the command runs.
    pub dir: Option<String>,
    /// Only with those here, if it says so.
    pub below: Vec<String>,
    /// Words that are such places if they are there: for git a word that is a file is no revision.
    pub if_there: Vec<String>,
}

/// A file named from the top of the checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FromTop {
    /// What is done with it.
    pub access: Access,
    /// Where git works, if not where the command runs.
    pub dir: Option<String>,
    /// Its path from the top.
    pub path: String,
}

/// A patch that is applied: it names the files that are changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Patch {
    /// Where git works, if not where the command runs.
    pub dir: Option<String>,
    /// Where the patch is; standard input if nowhere.
    pub file: Option<String>,
    /// How many directories are taken off its names.
    pub strip: usize,
    /// The directory that is put before them.
    pub below: Option<String>,
}

/// Subcommands that show what is in tracked files.
const SHOWS: &[&str] = &[
    "archive",
    "bundle",
    "cat-file",
    "checkout-index",
    "diff",
    "diff-files",
    "diff-index",
    "diff-pairs",
    "diff-tree",
    "difftool",
    "fast-export",
    "format-patch",
    "grep",
    "merge-tree",
    "pack-objects",
    "range-diff",
    "rerere",
    "send-email",
    "show",
    "stash",
    "unpack-file",
    "upload-archive",
    "whatchanged",
];

/// Options that make a history show the content of files.
const PATCHES: &[&str] = &[
    "--patch",
    "--patch-with-stat",
    "--patch-with-raw",
    "--unified",
    "--cc",
    "--dd",
    "--binary",
    "--remerge-diff",
    "--diff-merges",
    "--check",
    "--word-diff",
    "--word-diff-regex",
    "--color-words",
    "--function-context",
    "--ext-diff",
    "--textconv",
];

pub(super) fn git(words: &[Word], touched: &mut Touched) {
    let call = GitCall::of(words);
    let mut own = Touched::default();
    for setting in &call.settings {
        give(&[setting], &mut own);
    }
    if !call.settings_are_harmless() {
        own.unsure.get_or_insert("what `git` is configured to do may touch other files".to_owned());
    }
    if call.is_elsewhere {
        own.unsure.get_or_insert(
            "where the repository of `git` is, or what it does, is not fixed".to_owned(),
        );
    }
    match call.subcommand {
        Some(name) => collect(&call, name, &mut own),
        // What is not fixed could be a subcommand, and the rest its files.
        None => {
            let literals: Vec<&str> =
                words.iter().filter_map(|word| word.literal.as_deref()).collect();
            give(&literals, &mut own);
        }
    }
    touched.add(own.below(call.dir.as_deref()));
}

fn collect(call: &GitCall<'_>, name: &str, touched: &mut Touched) {
    let literals = call.literals();
    let begins =
        |of: &[&str]| literals.iter().any(|word| of.iter().any(|one| word.starts_with(one)));
    patches(call, name, touched);
    let from_list = call.has(&["--pathspec-from-file"]) && name != "diff";
    if begins(&["--batch"]) || call.has(&["--stdin"]) || from_list {
        touched.unsure.get_or_insert("`git` takes names from its input".to_owned());
    }
    if from_list && GIT_WRITERS.contains(&name) {
        let why = "which files `git` writes is in a list";
        touched.in_git.writes_unknown = Some(why.to_owned());
    }
    if name == "config" {
        configuration(call, touched);
    }
    messages(call, name, touched);
    outputs(call, name, touched);
    let everything = call.has(&["--no-index", "--untracked", "--no-exclude-standard"]);
    if everything && matches!(name, "diff" | "grep" | "difftool") {
        touched.trees.push(Tree::here(Access::Reads, "git"));
        let mut named = Touched::default();
        operands(call.arguments.iter(), Access::Reads, &mut named);
        let dirs = named.files.into_iter().map(|(_, operand)| Some(operand));
        touched.trees.extend(dirs.map(|root| Tree { root, ..Tree::here(Access::Reads, "git") }));
    }
    let spared = spares_files(call, name, &literals);
    if name == "clean" && !spared || name == "stash" && begins(&["-a", "--all"]) {
        touched.trees.push(Tree::here(Access::Writes, "git"));
    }
    let takes_all = matches!(name, "add" | "stage") && begins(&["-A", "--all", "-u", "."])
        || matches!(name, "commit" | "stash")
            && begins(&["-a", "-u", "--all", "--include-untracked"]);
    if takes_all {
        let forced = begins(&["-f", "--force"]);
        let skips = Skips { ignored: !forced, ..Skips::default() };
        touched.trees.push(Tree { skips, ..Tree::here(Access::Reads, "git") });
    }
    let verbose = matches!(name, "status" | "commit")
        && (call.has_letter("v", "mFCct") || call.has(&["--verbose"]));
    let history =
        matches!(name, "log" | "reflog" | "rev-list" | "shortlog" | "notes" | "request-pull")
            && (shows_content(call) || call.arguments.iter().any(may_be_option));
    // They show what there is to choose from.
    let chooses =
        matches!(name, "add" | "checkout" | "commit" | "reset" | "restore" | "stage" | "stash")
            && (call.has_letter("pi", "mFCctSsUbB") || call.has(&["--patch", "--interactive"]));
    let lists = name == "stash" && literals.first() == Some(&"list") && !shows_content(call);
    let shows =
        SHOWS.contains(&name) && !names_all(name, &literals) && !only_counts(call, name) && !lists;
    if verbose || history || chooses || shows {
        let (below, if_there) = match call.matches_strangely() {
            true => (Vec::new(), Vec::new()),
            false => (named(&literals), maybe_named(call, name)),
        };
        touched.in_git.tracked.push(Tracked { access: Access::Reads, dir: None, below, if_there });
    }
    if spared {
        return give(&literals, touched);
    }
    if GIT_CHANGERS.contains(&name) && name != "clean" {
        let mut below = named(&literals);
        if matches!(name, "mv" | "restore" | "rm") {
            let given: Vec<&&str> = literals.iter().filter(|word| !word.starts_with('-')).collect();
            let all_plain = given.iter().all(|word| is_plain_path(word));
            below = given.iter().filter(|_| all_plain).map(|word| (**word).to_owned()).collect();
        }
        if call.matches_strangely() {
            below.clear();
        }
        writes_by_pattern(call, name, &literals, touched);
        let if_there = Vec::new();
        touched.in_git.tracked.push(Tracked { access: Access::Writes, dir: None, below, if_there });
    }
    let in_place = name == "interpret-trailers" && call.has(&["--in-place"]);
    if name == "format-patch" && !call.has(&["--stdout"]) {
        touched.files.push((Access::Writes, Operand::Fixed("0001.patch".to_owned())));
    }
    let access = match name {
        _ if in_place => Access::Writes,
        _ if GIT_WRITERS.contains(&name) => Access::Writes,
        _ if GIT_READERS.contains(&name) => Access::Reads,
        // What others are told, such as a message, is seldom a file, but it could be one.
        _ if GIT_INNER.contains(&name) => return give(&literals, touched),
        _ => {
            let before = touched.given.len();
            give(&literals, touched);
            let unknown = touched.given[before..].iter_mut();
            unknown.for_each(|(program, _)| *program = format!("git {name}"));
            return;
        }
    };
    operands(call.arguments.iter(), access, touched);
    // It changes files that are tracked; which branch it is does not matter.
    if matches!(name, "checkout" | "restore") {
        touched.unfixed.clear();
    }
    // Behind `--` a word is a name, whatever it begins with.
    let behind = literals.iter().skip_while(|word| **word != "--").skip(1);
    let dashed = behind.filter(|word| word.starts_with('-'));
    touched.files.extend(dashed.map(|word| (access, Operand::Fixed((*word).to_owned()))));
    values(call.arguments, touched);
    literals.iter().for_each(|word| in_revision(word, access, touched));
}

/// Whether a word names one path to git, and no pattern.
fn is_plain_path(word: &str) -> bool {
    !word.starts_with(':') && !word.contains(['*', '?', '[', '\\'])
}

/// Which files a pattern of git's own matches is not in the text: a protected one may be among them. `.` is left to those who
/// allow git to change tracked files at all.
fn writes_by_pattern(call: &GitCall<'_>, name: &str, literals: &[&str], touched: &mut Touched) {
    let behind = literals.iter().position(|word| *word == "--").map(|at| &literals[at + 1..]);
    let words = match (name, behind) {
        ("checkout", Some(behind)) => behind,
        ("restore" | "rm", _) => literals,
        _ => return,
    };
    let mut paths = words.iter().filter(|word| !word.starts_with('-'));
    if paths.any(|word| !is_plain_path(word) && *word != ":/") || call.matches_strangely() {
        let why = "which files `git` writes depends on a pattern";
        touched.in_git.writes_unknown = Some(why.to_owned());
    }
}

/// Whether options make git show what is in files. Letters may stand together: `-wp`.
fn shows_content(call: &GitCall<'_>) -> bool {
    call.has_letter("puUcLSGmW", "") || call.has(PATCHES)
}

/// Whether a word may turn out to be an option.
fn may_be_option(word: &Word) -> bool {
    let text = word.source.trim_start_matches(['"', '\'']);
    word.literal.is_none() && text.starts_with(['$', '`', '*', '?', '[', '{', '\\'])
}

/// Options with which git names files and counts lines, and shows none.
const COUNTS: &[&str] = &[
    "-s",
    "--no-patch",
    "--compact-summary",
    "--dirstat",
    "--name-only",
    "--name-status",
    "--numstat",
    "--raw",
    "--shortstat",
    "--stat",
    "--summary",
];
/// And those that change nothing about it; none of them takes the next word.
#[rustfmt::skip]
const BESIDES: &[&str] = &[
    "--", "--abbrev-commit", "--all", "--cached", "--color", "--decorate", "--exit-code", "--follow", "--format",
    "--graph", "--no-color", "--no-decorate", "--no-ext-diff", "--no-merges", "--no-renames", "--oneline", "--pretty",
    "--reverse", "--staged", "-M", "-b", "-r", "-w", "-z",
];
/// Options that show what is in files, and take no other word either.
const PATCH: &[&str] = &["-p", "-u", "--patch", "--word-diff"];

/// Whether an option is one of these; those with a value have it in the same word.
fn is_one_of(option: &str, known: &[&str]) -> bool {
    known.contains(&option.split('=').next().unwrap_or(option))
}

fn is_number(option: &str) -> bool {
    option
        .strip_prefix('-')
        .is_some_and(|rest| !rest.is_empty() && rest.bytes().all(|byte| byte.is_ascii_digit()))
}

fn only_counts(call: &GitCall<'_>, name: &str) -> bool {
    let literals = call.literals();
    let harmless = |text: &&str| {
        !text.starts_with('-')
            || is_one_of(text, COUNTS)
            || is_one_of(text, BESIDES)
            || is_number(text)
    };
    // What `show` is given may be a file's content, by its number.
    let is_commit = |text: &&str| {
        text.starts_with('-')
            || !text.contains(':') && !text.bytes().all(|byte| byte.is_ascii_hexdigit())
    };
    let compares = matches!(name, "diff" | "diff-files" | "diff-index" | "diff-tree");
    (compares || name == "show" && literals.iter().all(is_commit))
        && literals.iter().any(|text| is_one_of(text, COUNTS))
        && !call.arguments.iter().any(may_be_option)
        && literals.iter().all(harmless)
}

/// Words that git takes for paths if there are such files, although no `--` stands before them.
fn maybe_named(call: &GitCall<'_>, name: &str) -> Vec<String> {
    let takes = ["diff", "diff-files", "diff-index", "diff-tree", "log", "show", "whatchanged"];
    let literals = call.literals();
    let plain = |text: &&str| {
        text.starts_with('-')
            && (is_one_of(text, COUNTS)
                || is_one_of(text, BESIDES)
                || is_one_of(text, PATCH)
                || is_number(text))
    };
    // An option that is not known might take a word, or show more than the paths.
    let all_known = literals.iter().all(|text| !text.starts_with('-') || plain(text));
    if !takes.contains(&name)
        || literals.len() < call.arguments.len()
        || literals.contains(&"--")
        || !all_known
    {
        return Vec::new();
    }
    let paths: Vec<&&str> = literals.iter().filter(|text| !text.starts_with('-')).collect();
    // A pattern may match more than the files that are there by that name.
    match paths.iter().all(|path| is_plain_path(path) && !path.contains(':')) {
        true => paths.iter().map(|path| (**path).to_owned()).collect(),
        false => Vec::new(),
    }
}

/// The files that hold a message, or its beginning.
fn messages(call: &GitCall<'_>, name: &str, touched: &mut Touched) {
    let (valued, template) = match name {
        "commit" => ("mCctuS", true),
        "commit-tree" | "fmt-merge-msg" | "merge" | "notes" | "tag" => ("mCcpsXSu", false),
        _ => return,
    };
    let mut files = call.values("F", "--file", valued);
    if template {
        files.extend(call.values("t", "--template", "mCcFuS"));
    }
    for file in files {
        match file {
            Some(file) => touched.files.push((Access::Reads, Operand::Fixed(file))),
            None => {
                let why = "which file `git` takes a message from is only known at run time";
                touched.unsure.get_or_insert(why.to_owned());
            }
        }
    }
}

/// What a word names behind a colon: `HEAD:file`, `:0:file`, `:(top)file`, `:/file`, `1,5:file`.
fn in_revision(word: &str, access: Access, touched: &mut Touched) {
    let mut from_top = |access: Access, path: &str| {
        if !path.is_empty() {
            touched.in_git.from_top.push(FromTop { access, dir: None, path: path.to_owned() });
        }
    };
    if let Some((magic, path)) = word.strip_prefix(":(").and_then(|rest| rest.split_once(')')) {
        if magic.split(',').any(|one| one == "exclude") {
            return;
        }
        match magic.split(',').any(|one| one == "top") {
            true => from_top(access, path),
            false => touched.files.push((access, Operand::Fixed(path.to_owned()))),
        }
        return;
    }
    if let Some(path) = word.strip_prefix(":/") {
        return from_top(access, path);
    }
    if word.starts_with(":!") || word.starts_with(":^") {
        return;
    }
    for (at, _) in word.match_indices(':').take(MAX_COLONS) {
        let path = &word[at + 1..];
        if path.is_empty() {
            continue;
        }
        // From the commit it is shown; a path that begins with a dot is taken from where git works.
        if !path.starts_with("./") && !path.starts_with("../") {
            touched.in_git.from_top.push(FromTop {
                access: Access::Reads,
                dir: None,
                path: path.to_owned(),
            });
        }
        touched.files.push((Access::Reads, Operand::Fixed(path.to_owned())));
    }
}

/// The limit for the colons of a word.
const MAX_COLONS: usize = 8;

/// Whether every word of a command that shows objects names a file in a revision, and no other is shown.
fn names_all(name: &str, literals: &[&str]) -> bool {
    let mut words = literals.iter().filter(|word| !word.starts_with('-')).peekable();
    let is_named = |word: &&str| {
        let (revision, path) = word.split_once(':').unwrap_or_default();
        !revision.is_empty() && !path.is_empty()
    };
    // `cat-file blob HEAD:file`.
    let kinds = ["blob", "tree", "commit", "tag"];
    let words_are_names = words.peek().is_some()
        && words.all(|word| is_named(word) || name == "cat-file" && kinds.contains(word));
    matches!(name, "show" | "cat-file")
        && words_are_names
        && !literals.iter().any(|word| word.starts_with("--batch"))
}

/// Subcommands whose arguments are rarely files: any argument could still be a file.
fn give(literals: &[&str], touched: &mut Touched) {
    let given = literals.iter().flat_map(|word| pieces(word));
    touched.given.extend(given.map(|piece| ("git".to_owned(), piece.to_owned())));
}

/// What `apply` and `am` change is in their patches.
fn patches(call: &GitCall<'_>, name: &str, touched: &mut Touched) {
    match name {
        "apply" if !only_looks(call) => {}
        "am" if !goes_on(call) => {}
        _ => return,
    }
    if !call.arguments.iter().all(is_fixed) {
        let why = "which patch `git` applies is only known at run time";
        touched.in_git.writes_unknown = Some(why.to_owned());
        return;
    }
    let strip = call.values("p", "", "C").pop().flatten().and_then(|value| value.parse().ok());
    let below = call.values("", "--directory", "pC").pop().flatten();
    let patch = |file: Option<String>| Patch {
        dir: None,
        file,
        strip: strip.unwrap_or(1),
        below: below.clone(),
    };
    let before = touched.in_git.patches.len();
    for word in call.arguments {
        match word.literal.as_deref() {
            Some("-") => touched.in_git.patches.push(patch(None)),
            Some(text) if text.starts_with('-') => {}
            // The file cannot be read if its name depends on a variable.
            literal => touched.in_git.patches.push(patch(literal.map(str::to_owned))),
        }
    }
    if touched.in_git.patches.len() == before {
        touched.in_git.patches.push(patch(None));
    }
}

/// Whether a patch is only looked at: by one of these, and nothing that takes it back or could have it for its value.
fn only_looks(call: &GitCall<'_>) -> bool {
    let looks = ["--stat", "--numstat", "--summary", "--check"];
    let plain =
        ["-v", "--verbose", "-q", "--quiet", "-R", "--reverse", "-z", "--index", "--cached"];
    let strips = |word: &str| {
        word.strip_prefix("-p").is_some_and(|count| {
            !count.is_empty() && count.bytes().all(|byte| byte.is_ascii_digit())
        })
    };
    let literals = call.literals();
    let known = |word: &&str| looks.contains(word) || plain.contains(word) || strips(word);
    literals.len() == call.arguments.len()
        && literals.iter().filter(|word| word.starts_with('-')).all(known)
        && literals.iter().any(|word| looks.contains(word))
}

/// Whether `am` goes on with what it was given before.
fn goes_on(call: &GitCall<'_>) -> bool {
    let known = [
        "--continue",
        "--resolved",
        "--skip",
        "--abort",
        "--quit",
        "--retry",
        "--show-current-patch",
        "-r",
    ];
    let is_known = |word: &&str| known.contains(&word.split('=').next().unwrap_or(word));
    let literals = call.literals();
    literals.len() == call.arguments.len() && !literals.is_empty() && literals.iter().all(is_known)
}

/// The configuration files that are read or changed.
fn configuration(call: &GitCall<'_>, touched: &mut Touched) {
    let operands: Vec<&str> =
        call.literals().into_iter().filter(|word| !word.starts_with('-')).collect();
    let changes = call.has(&[
        "--add",
        "--replace-all",
        "--unset",
        "--unset-all",
        "--rename-section",
        "--remove-section",
        "--edit",
    ]) || call.has_letter("e", "f")
        || matches!(
            operands.first(),
            Some(&("set" | "unset" | "edit" | "rename-section" | "remove-section"))
        );
    let looks = call.has(&["--get", "--get-all", "--get-regexp", "--get-urlmatch", "--list"])
        || call.has(&["--get-color", "--get-colorbool"])
        || call.has_letter("l", "f")
        || matches!(operands.first(), Some(&("get" | "list")));
    let files: Vec<String> = call.values("f", "--file", "").into_iter().flatten().collect();
    // With its value, `--file x` leaves one word: a key, which is shown.
    let one = operands.len() <= 1 + files.len() && call.arguments.iter().all(is_fixed);
    let access = match !changes && (looks || one) {
        true => Access::Reads,
        false => Access::Writes,
    };
    let usual = [".git/config", ".gitconfig"].map(str::to_owned);
    let named = files.is_empty() && access == Access::Writes;
    let all = files.into_iter().chain(usual.into_iter().filter(|_| named));
    touched.files.extend(all.map(|file| (access, Operand::Fixed(file))));
}

fn is_fixed(word: &Word) -> bool {
    word.literal.is_some()
}

/// The files and directories that git makes where it is told to.
fn outputs(call: &GitCall<'_>, name: &str, touched: &mut Touched) {
    let written = |file: Option<String>, touched: &mut Touched| match file {
        Some(file) => touched.files.push((Access::Writes, Operand::Fixed(file))),
        None => {
            let why = "where `git` writes is only known at run time";
            touched.in_git.writes_unknown = Some(why.to_owned());
        }
    };
    let letter = match name {
        "index-pack" | "archive" | "bundle" | "format-patch" | "bugreport" | "diagnose"
        | "mailsplit" => "o",
        _ => "",
    };
    for long in [
        "--output",
        "--output-directory",
        "--export-marks",
        "--export-pack-edges",
        "--build-fake-ancestor",
        "--index-output",
    ] {
        let letter = if long == "--output" { letter } else { "" };
        // `--output` is also the beginning of the longer one.
        for file in call.values(letter, long, "") {
            written(file, touched);
        }
    }
    if name == "checkout-index" {
        call.values("", "--prefix", "").into_iter().for_each(|file| written(file, touched));
    }
    // The repository is moved to where nothing protects it.
    if matches!(name, "init" | "clone") && call.has(&["--separate-git-dir"]) {
        written(Some(".git".to_owned()), touched);
    }
    // A new repository gets its hooks from a template.
    if matches!(name, "init" | "clone") && call.has(&["--template"]) {
        written(Some(".git/hooks".to_owned()), touched);
    }
    let literals = call.literals();
    let does = |of: &[&str]| literals.iter().any(|word| of.contains(word));
    if name == "submodule" && does(&["add", "set-url", "set-branch"]) {
        written(Some(".gitmodules".to_owned()), touched);
    }
    match name {
        "credential-store" => {
            call.values("", "--file", "").into_iter().for_each(|file| written(file, touched));
        }
        // It keeps a list of repositories in the user's configuration.
        "maintenance" if does(&["register", "unregister", "start", "stop"]) => {
            for file in ["~/.gitconfig", ".gitconfig"] {
                written(Some(file.to_owned()), touched);
            }
        }
        "interpret-trailers" if call.has(&["--in-place"]) => {
            operands(call.arguments.iter(), Access::Writes, touched);
        }
        "format-patch" if !call.has(&["--stdout"]) => written(Some("0001".to_owned()), touched),
        _ => {}
    }
    let places =
        ["bundle", "clone", "read-tree", "checkout-index", "worktree", "init", "submodule"];
    let makes = match name {
        "bundle" => literals.contains(&"create"),
        "worktree" => literals.first().is_some_and(|word| matches!(*word, "add" | "move")),
        "submodule" => literals.contains(&"add"),
        _ => places.contains(&name),
    };
    if makes {
        let places = literals.iter().flat_map(|word| pieces(word));
        touched.files.extend(places.map(|file| (Access::Writes, Operand::Fixed(file.to_owned()))));
    }
}

/// Whether a command that may change files is told to change none: it looks, or changes the repository alone.
fn spares_files(call: &GitCall<'_>, name: &str, literals: &[&str]) -> bool {
    let fixed = literals.len() == call.arguments.len();
    let begins = |starts: &[&str]| {
        literals.iter().any(|word| starts.iter().any(|start| word.starts_with(start)))
    };
    fixed
        && match name {
            // A new branch, from where it is.
            "checkout" | "switch" => {
                let new = ["-b", "-c", "-B", "-C", "--create"];
                literals.len() < 3 && literals.first().is_some_and(|word| new.contains(word))
            }
            "stash" => matches!(literals.first(), Some(&("list" | "show"))),
            // `--hard`, `--merge` and `--keep`, cut short or not.
            "reset" => !begins(&["--h", "--me", "--k"]),
            "restore" => {
                (call.has_letter("S", "s") || call.has(&["--staged"]))
                    && !call.has_letter("W", "s")
                    && !call.has(&["--worktree"])
            }
            "rm" => call.has(&["--cached"]),
            "clean" => call.has_letter("n", "e") || call.has(&["--dry-run"]),
            _ => false,
        }
}

/// The paths behind `--`, if all of them are plain.
fn named(literals: &[&str]) -> Vec<String> {
    // It shows all of a commit that touches one of them.
    if literals.iter().any(|word| word.starts_with("--full-d")) {
        return Vec::new();
    }
    let at = literals.iter().position(|word| *word == "--");
    let behind = at.map_or(&[][..], |at| &literals[at + 1..]);
    // What is left out names nothing.
    let leaves_out = |path: &&&str| path.starts_with(":!") || path.starts_with(":^");
    let paths: Vec<&str> = behind.iter().filter(|path| !leaves_out(path)).copied().collect();
    if paths.iter().all(|path| is_plain_path(path)) {
        paths.iter().map(|path| (*path).to_owned()).collect()
    } else {
        Vec::new()
    }
}

impl Touched {
    /// The same, for a command that works in another directory.
    fn below(mut self, dir: Option<&str>) -> Self {
        let Some(dir) = dir else { return self };
        let moved = |path: &str| match path.starts_with(['/', '~']) {
            true => path.to_owned(),
            false => format!("{dir}/{path}"),
        };
        let place = |operand: &Operand| match operand {
            Operand::Fixed(path) => Operand::Fixed(moved(path)),
            // The shell looks for files that fit where it is, git takes their names elsewhere.
            Operand::Glob(pattern) => Operand::Glob(moved(pattern)),
        };
        if self.files.iter().any(|(_, operand)| matches!(operand, Operand::Glob(_))) {
            self.unsure.get_or_insert("a pattern is expanded in another directory".to_owned());
        }
        for (_, operand) in &mut self.files {
            *operand = place(operand);
        }
        for tree in &mut self.trees {
            tree.root =
                Some(tree.root.as_ref().map_or_else(|| Operand::Fixed(dir.to_owned()), place));
        }
        let here = || Some(dir.to_owned());
        self.in_git.tracked.iter_mut().for_each(|tracked| {
            tracked.dir = here();
            let paths = tracked.below.iter_mut().chain(&mut tracked.if_there);
            paths.for_each(|path| *path = moved(path));
        });
        self.in_git.from_top.iter_mut().for_each(|one| one.dir = here());
        self.in_git.patches.iter_mut().for_each(|patch| {
            patch.dir = here();
            patch.file = patch.file.as_deref().map(moved);
        });
        self.given.iter_mut().for_each(|(_, piece)| *piece = moved(piece));
        self
    }

    fn add(&mut self, other: Self) {
        self.files.extend(other.files);
        self.trees.extend(other.trees);
        self.given.extend(other.given);
        self.unsure = self.unsure.take().or(other.unsure);
        self.unfixed.extend(other.unfixed);
        let (own, git) = (&mut self.in_git, other.in_git);
        own.tracked.extend(git.tracked);
        own.from_top.extend(git.from_top);
        own.patches.extend(git.patches);
        own.writes_unknown = own.writes_unknown.take().or(git.writes_unknown);
    }
}
