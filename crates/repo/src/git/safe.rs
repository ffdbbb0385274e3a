//! The one place that starts git: nothing that a repository configures is run, and no directory that only looks like a
//! repository is taken for one.
//!
//! Settings and variables switch off what has a fixed name: hooks, the file system monitor, the pager, the editor,
//! signatures, transports. Filters have names of the repository's choice, so they are looked up first, in its submodules
//! too. External diffs, text conversions and merge drivers are switched off by options of the commands that could use them.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::pin::pin;
use std::time::Duration;
use std::{fs, io};

use ona_files::{MAX_WHOLE, ReadError};
use ona_sandbox::{ChildOutcome, ChildSpec, Ending, ending};

use super::stuck::stuck;
use super::{GitError, MAX_OUTPUT, PATIENCE, names, whole};
use crate::checkout::Checkout;
use crate::discovery::{Found, find};

/// Variables that would lead git to another repository, or to other names; a git hook that runs ona has some set.
const UNSET: [&str; 15] = [
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_PREFIX",
    "GIT_COMMON_DIR",
    "GIT_OBJECT_DIRECTORY",
    "GIT_ALTERNATE_OBJECT_DIRECTORIES",
    "GIT_NAMESPACE",
    "GIT_SHALLOW_FILE",
    "GIT_GRAFT_FILE",
    "GIT_ATTR_SOURCE",
    "GIT_EXTERNAL_DIFF",
    "GIT_GLOB_PATHSPECS",
    "GIT_NOGLOB_PATHSPECS",
    "GIT_ICASE_PATHSPECS",
];

/// What every git gets that only reads: no program of the repository's own, no repository that was not asked for.
const SAFE_SETTINGS: [&str; 5] = [
    "safe.bareRepository=explicit",
    "core.fsmonitor=false",
    "core.hooksPath=/dev/null",
    "core.pager=cat",
    "log.showSignature=false",
];

/// The same, as variables: they also reach what git starts.
const SAFE_VARIABLES: [(&str, &str); 6] = [
    ("GIT_OPTIONAL_LOCKS", "0"),
    ("GIT_PAGER", "cat"),
    ("GIT_EDITOR", ":"),
    ("GIT_TERMINAL_PROMPT", "0"),
    ("GIT_NO_LAZY_FETCH", "1"),
    // It overrules what a configuration says about protocols.
    ("GIT_ALLOW_PROTOCOL", "none"),
];

/// What ona's own calls get besides, so that their output has one form.
const OWN_SETTINGS: [&str; 6] = [
    "core.quotePath=false",
    "blame.ignoreRevsFile=",
    "diff.autoRefreshIndex=false",
    "submodule.recurse=false",
    "gc.auto=0",
    "maintenance.auto=false",
];

const OWN_VARIABLES: [(&str, &str); 3] =
    [("GIT_LITERAL_PATHSPECS", "1"), ("LC_ALL", "C"), ("TZ", "UTC0")];

/// Commands that never compare the content of files in the work tree, so that no filter can run. For any other command the
/// filters are looked up.
const WITHOUT_FILES: [&str; 14] = [
    "branch",
    "cat-file",
    "config",
    "diff-tree",
    "fetch",
    "for-each-ref",
    "hash-object",
    "init",
    "log",
    "ls-files",
    "reflog",
    "rev-list",
    "rev-parse",
    "var",
];

/// The limit for git's own memory, in KiB: a branch or a configuration without end is read into it. The packs that git
/// maps do not count.
const MAX_MEMORY: u64 = 2 << 20;

/// The limit for the repositories within a repository that are looked at.
const MAX_SUBMODULES: usize = 1_000;

/// A function for bash that stands before git and gives it the settings for reading.
pub fn shell_function() -> String {
    let variables = SAFE_VARIABLES.map(|(name, value)| format!("{name}={value} ")).concat();
    let settings = SAFE_SETTINGS.map(|setting| format!("-c {setting} ")).concat();
    format!("git() {{ {variables}command git {settings}\"$@\"; }}\n")
}

/// Further conditions of one call.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Conditions<'a> {
    /// Configuration.
    pub(super) settings: &'a [&'a str],
    /// The protocols git may speak, with colons between them; none if there are none.
    pub(super) protocols: Option<&'a str>,
}

/// Runs git in a directory.
pub(super) async fn git(
    root: &Path,
    args: &[&str],
    stdin: &[u8],
) -> Result<ChildOutcome, GitError> {
    git_with(root, Conditions::default(), args, stdin).await
}

/// A file that git would wait for or never read to its end, in a repository that somebody else has made.
fn odd_file(root: &Path) -> Option<(PathBuf, ReadError)> {
    const FILES: [&str; 13] = [
        "config",
        "config.worktree",
        "HEAD",
        "index",
        "packed-refs",
        "commondir",
        "info/exclude",
        "info/attributes",
        "info/grafts",
        "info/sparse-checkout",
        "objects/info/alternates",
        "shallow",
        "logs/HEAD",
    ];
    let checkout = Checkout::of(root)?;
    let dirs = checkout.git().into_iter().flat_map(|git| [&git.own, &git.common]);
    let own = dirs.flat_map(|dir| FILES.map(|name| dir.join(name)));
    let top = [".git", ".gitignore", ".gitattributes", ".gitmodules", ".mailmap"];
    let all = own.chain(top.map(|name| checkout.top().join(name))).chain(checkout.branch_files());
    all.into_iter().find_map(|path| {
        let why = match fs::metadata(&path).ok()? {
            meta if meta.is_dir() => return None,
            meta if !meta.is_file() => ReadError::NotRegular,
            meta if meta.len() > MAX_WHOLE => ReadError::TooLarge { limit: MAX_WHOLE },
            _ => return None,
        };
        Some((path, why))
    })
}

/// Refuses a directory in which git would wait, or use another repository.
pub(super) fn check(root: &Path) -> Result<(), GitError> {
    if let Some((path, why)) = odd_file(root) {
        return Err(GitError::Unreadable { path, source: io::Error::other(why) });
    }
    // An old git does not know the setting for this.
    if let Found::Bare(dir) = find(root) {
        return Err(match Checkout::top_of(&dir) {
            Some(_) => GitError::LooksLikeRepository(dir),
            None => GitError::NoCheckout(root.to_owned()),
        });
    }
    Ok(())
}

/// The same, with further conditions.
pub(super) async fn git_with(
    root: &Path,
    conditions: Conditions<'_>,
    args: &[&str],
    stdin: &[u8],
) -> Result<ChildOutcome, GitError> {
    check(root)?;
    let filters = match WITHOUT_FILES.contains(&args[0]) {
        true => Vec::new(),
        false => without_filters(root).await?,
    };
    let settings: Vec<&str> =
        conditions.settings.iter().copied().chain(filters.iter().map(String::as_str)).collect();
    start(root, Conditions { settings: &settings, ..conditions }, args, stdin).await
}

/// Settings that switch off the filter programs which the repository and its submodules configure: the user has not agreed
/// to them. Filters in the user's own configuration run.
async fn without_filters(root: &Path) -> Result<Vec<String>, GitError> {
    let mut settings = Vec::new();
    for dir in odd_checkouts(root).await? {
        let keys = ["config", "--show-scope", "-z", "--name-only", "--get-regexp", "^filter\\."];
        let outcome = start(&dir, Conditions::default(), &keys, &[]).await?;
        let found = match outcome.ending {
            // There are none.
            Ending::Exited(1) => continue,
            _ => whole(&dir, "config", outcome)?,
        };
        // A scope and a key, in turn.
        let mut words = found.split(|byte| *byte == 0).map(String::from_utf8_lossy);
        while let (Some(scope), Some(key)) = (words.next(), words.next()) {
            let Some((filter, _)) = key.rsplit_once('.') else { continue };
            if !matches!(&*scope, "local" | "worktree") {
                continue;
            }
            if filter.contains(['=', '\n']) {
                let said =
                    format!("the repository has a filter that cannot be switched off: {filter:?}");
                return Err(GitError::Failed { command: "config".to_owned(), said });
            }
            settings.extend(
                ["smudge=", "clean=", "process=", "required=false"]
                    .map(|key| format!("{filter}.{key}")),
            );
        }
    }
    Ok(settings)
}

/// The checkout around a directory and those within it whose configuration has more than harmless keys.
async fn odd_checkouts(root: &Path) -> Result<Vec<PathBuf>, GitError> {
    let Some(top) = Checkout::top_of(root) else { return Ok(Vec::new()) };
    let (mut pending, mut odd, mut seen) = (vec![top.to_owned()], Vec::new(), 0);
    while let Some(top) = pending.pop() {
        let checkout = Checkout::at(&top);
        // The command itself will say what is wrong with it.
        if checkout.git().is_none() {
            continue;
        }
        let within = match checkout.tracked() {
            Some(files) => {
                files.into_iter().filter(|file| file.is_repository).map(|file| file.path).collect()
            }
            None => submodules(&top).await?,
        };
        pending.extend(within.into_iter().filter(|dir| Checkout::is_top(dir)));
        if !checkout.has_plain_config() {
            odd.push(top);
        }
        seen += 1;
        if seen > MAX_SUBMODULES {
            let said = format!("the repository has more than {MAX_SUBMODULES} submodules");
            return Err(GitError::Failed { command: "config".to_owned(), said });
        }
    }
    Ok(odd)
}

/// The submodules of an index that only git can read.
async fn submodules(top: &Path) -> Result<Vec<PathBuf>, GitError> {
    let outcome = start(top, Conditions::default(), &["ls-files", "-z", "--stage"], &[]).await?;
    let said = whole(top, "ls-files", outcome)?;
    let module = |entry: OsString| {
        let entry = entry.to_string_lossy().into_owned();
        let (head, name) = entry.split_once('\t')?;
        head.starts_with(super::SUBMODULE).then(|| top.join(name))
    };
    Ok(names(&said).filter_map(module).collect())
}

async fn start(
    root: &Path,
    conditions: Conditions<'_>,
    args: &[&str],
    stdin: &[u8],
) -> Result<ChildOutcome, GitError> {
    let asked = child(root, conditions, args, stdin, PATIENCE);
    let cancel = ending().child_token();
    let mut running = pin!(ona_sandbox::run(asked, &cancel));
    let outcome = tokio::select! {
        biased;
        outcome = &mut running => outcome?,
        why = stuck(root) => {
            cancel.cancel();
            running.await?;
            return Err(why);
        }
    };
    // The shell says so where there is no git.
    if outcome.ending == Ending::Exited(127) {
        let said = String::from_utf8_lossy(&outcome.stderr.bytes).trim().to_owned();
        return Err(GitError::Failed { command: args[0].to_owned(), said });
    }
    Ok(outcome)
}

/// A git with all of this module's conditions.
pub(super) fn child<'r>(
    root: &'r Path,
    conditions: Conditions<'_>,
    args: &[&str],
    stdin: &[u8],
    timeout: Duration,
) -> ChildSpec<'r> {
    let mut all: Vec<OsString> = ["-c".into(), limited(timeout).into(), "git".into()].into();
    for setting in SAFE_SETTINGS.iter().chain(&OWN_SETTINGS).chain(conditions.settings) {
        all.extend([OsString::from("-c"), setting.into()]);
    }
    all.extend(args.iter().map(OsString::from));
    let variables = SAFE_VARIABLES.into_iter().chain(OWN_VARIABLES);
    // The last one of a name counts.
    let protocols = conditions.protocols.map(|protocols| ("GIT_ALLOW_PROTOCOL", protocols));
    let env = variables.chain(protocols).map(|(name, value)| (name.into(), value.into()));
    ChildSpec {
        program: Path::new("sh"),
        args: all,
        cwd: root,
        env: env.collect(),
        inherits: ona_sandbox::Inherits::AllButCredentials,
        confined: None,
        marker: None,
        stdin: stdin.to_vec(),
        timeout,
        cap: MAX_OUTPUT,
    }
}

/// A script for `sh` that becomes git. Only the child itself can take variables away and limit its memory; and where there
/// is a `timeout`, git ends even if ona was killed and cannot end it.
fn limited(patience: Duration) -> String {
    let (unset, seconds) = (UNSET.join(" "), patience.as_secs() + 5);
    format!(
        "unset {unset}; ulimit -d {MAX_MEMORY} 2>/dev/null; \
         command -v timeout >/dev/null && exec timeout -s KILL {seconds} git \"$@\"; exec git \"$@\""
    )
}

/// Ends every git that ona has started, and every one that it would start: this process has to end.
pub fn give_up() {
    ending().cancel();
}
