//! Commits, and the past of a file.

use std::path::{Path, PathBuf};

use ona_sandbox::Ending;

use super::{Contents, Entry, GitError, blobs, empty_tree, first_line, git, raw, said, whole};

/// Where the directory is below the checkout's top, with a slash behind it; nothing at the top.
pub async fn prefix(root: &Path) -> Result<String, GitError> {
    Ok(first_line(&said(root, &["rev-parse", "--show-prefix"]).await?))
}

/// The names a file had before, the latest first, as far as renames were committed.
pub async fn earlier_names(root: &Path, path: &str) -> Result<Vec<String>, GitError> {
    let prefix = prefix(root).await?;
    let asked = [
        "log",
        "--follow",
        "--name-status",
        "-z",
        "--format=",
        "--diff-filter=R",
        "--no-ext-diff",
        "--no-textconv",
        "-n",
        "1000",
        "--",
        path,
    ];
    let outcome = git(root, &asked, &[]).await?;
    // Before the first commit there is no log.
    if outcome.ending != Ending::Exited(0) {
        return Ok(Vec::new());
    }
    let said = outcome.stdout.bytes;
    let mut words = said.split(|byte| *byte == 0).map(|word| word.trim_ascii_start());
    let mut earlier = Vec::new();
    while let Some(word) = words.next() {
        if !word.starts_with(b"R") {
            continue;
        }
        let (Some(before), Some(_)) = (words.next(), words.next()) else { break };
        let name = std::str::from_utf8(before).ok().and_then(|name| name.strip_prefix(&prefix));
        earlier.extend(name.map(str::to_owned));
    }
    Ok(earlier)
}

/// The commit each line of a file in the work tree came with, none for lines that are not committed. Nothing at all
/// if git does not track the file.
pub async fn line_commits(root: &Path, path: &str) -> Result<Vec<Option<String>>, GitError> {
    let asked = ["blame", "--porcelain", "--no-textconv", "--", path];
    let outcome = git(root, &asked, &[]).await?;
    if outcome.ending != Ending::Exited(0) {
        return Ok(Vec::new());
    }
    let said = whole(root, "blame", outcome)?;
    let (mut commits, mut commit) = (Vec::new(), String::new());
    let mut begins = true;
    for line in said.split(|byte| *byte == b'\n') {
        if begins {
            let id = line.split(|byte| *byte == b' ').next().unwrap_or_default();
            commit = String::from_utf8_lossy(id).into_owned();
            begins = false;
        } else if line.first() == Some(&b'\t') {
            let committed = commit.bytes().any(|digit| digit != b'0');
            commits.push(committed.then(|| commit.clone()));
            begins = true;
        }
    }
    Ok(commits)
}

/// The user that git is configured for here, as `Name <address>`; `None` if it is not set.
pub async fn identity(root: &Path) -> Result<Option<String>, GitError> {
    let outcome = git(root, &["var", "GIT_COMMITTER_IDENT"], &[]).await?;
    let line = first_line(&outcome.stdout.bytes);
    // A time follows.
    Ok(line.rfind('>').map(|end| line[..=end].to_owned()))
}

/// A commit, as far as an export tells of it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Commit {
    /// Its id.
    pub id: String,
    /// Its first parent.
    pub parent: Option<String>,
    /// `Name <address>`.
    pub author: String,
    /// When it was committed, UTC, `2026-05-02T09:14:03`.
    pub at: String,
}

/// What a commit says of itself.
pub async fn describe(root: &Path, id: &str) -> Result<Commit, GitError> {
    let format = "--format=%H%x00%P%x00%an <%ae>%x00%cd";
    let date = "--date=format-local:%Y-%m-%dT%H:%M:%S";
    let said = said(root, &["log", "-1", "--no-show-signature", format, date, id, "--"]).await?;
    let text = String::from_utf8_lossy(&said);
    let words: Vec<&str> = text.trim_end().split('\0').collect();
    let [id, parents, author, at] = words[..] else {
        let said = "its output cannot be parsed".to_owned();
        return Err(GitError::Failed { command: "log".to_owned(), said });
    };
    Ok(Commit {
        id: id.to_owned(),
        parent: parents.split(' ').next().filter(|id| !id.is_empty()).map(str::to_owned),
        author: author.to_owned(),
        at: at.to_owned(),
    })
}

/// The commits since one, that one included.
pub async fn commits_since(root: &Path, commit: &str) -> Result<Vec<String>, GitError> {
    let range = format!("{commit}..HEAD");
    let said = said(root, &["rev-list", &range, "--"]).await?;
    let later = String::from_utf8_lossy(&said).lines().map(str::to_owned).collect::<Vec<_>>();
    Ok([vec![commit.to_owned()], later].concat())
}

/// The commits since another, each with its message, the latest first; all of them without another.
pub async fn messages_since(
    root: &Path,
    commit: Option<&str>,
) -> Result<Vec<(String, String)>, GitError> {
    let range = commit.map_or_else(|| "HEAD".to_owned(), |commit| format!("{commit}..HEAD"));
    let asked = ["log", "-z", "--no-show-signature", "--format=%H%n%B", &range, "--"];
    let said = said(root, &asked).await?;
    let text = String::from_utf8_lossy(&said);
    let commits = text.split('\0').filter_map(|one| one.split_once('\n'));
    Ok(commits.map(|(id, message)| (id.to_owned(), message.to_owned())).collect())
}

/// The files that are different in two commits, each as it is in both: path, before, after. Without the first, as
/// if nothing had been there.
pub async fn changed_between(
    root: &Path,
    old: Option<&str>,
    new: &str,
) -> Result<Vec<(PathBuf, Contents)>, GitError> {
    let old = match old {
        Some(old) => old.to_owned(),
        None => empty_tree(root).await?,
    };
    let asked = [
        "diff-tree",
        "-r",
        "-z",
        "--raw",
        "--no-abbrev",
        "--no-renames",
        "--no-ext-diff",
        "--no-textconv",
        "--relative",
        &old,
        new,
    ];
    let entries: Vec<Entry> =
        raw(&said(root, &asked).await?).into_iter().filter(|entry| !entry.is_submodule).collect();
    let ids: Vec<&str> =
        entries.iter().flat_map(|entry| [&*entry.object, &*entry.new_object]).collect();
    let mut blobs = blobs(root, &ids).await?.into_iter();
    let mut files = Vec::new();
    for entry in entries {
        let contents = Contents { old: blobs.next().flatten(), new: blobs.next().flatten() };
        files.push((PathBuf::from(entry.name), contents));
    }
    Ok(files)
}
