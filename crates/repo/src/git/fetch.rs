//! Fetching a repository's files from elsewhere.

use std::path::Path;

use super::safe::Conditions;
use super::{GitError, commit, git_with, whole};

/// What a repository that is not ours must not make git do: speak another protocol, fetch others, run a filter. Objects
/// are checked on the way in.
const CAREFUL: Conditions<'static> =
    Conditions { settings: &CHECKED, protocols: Some("https:ssh:file") };

const CHECKED: [&str; 5] = [
    "transfer.fsckObjects=true",
    "filter.lfs.smudge=",
    "filter.lfs.process=",
    "filter.lfs.required=false",
    "advice.detachedHead=false",
];

/// Puts the files of a revision into an empty directory, with nothing of what was before it; says which commit it is.
pub async fn fetch(url: &str, revision: Option<&str>, into: &Path) -> Result<String, GitError> {
    let revision = revision.unwrap_or("HEAD");
    for args in [
        &["init", "-q", "--template="][..],
        &["fetch", "-q", "--depth=1", "--no-tags", "--no-recurse-submodules", "--", url, revision],
        &["checkout", "-q", "--detach", "FETCH_HEAD"],
    ] {
        let outcome = git_with(into, CAREFUL, args, &[]).await?;
        whole(into, args[0], outcome)?;
    }
    commit(into, "HEAD").await
}
