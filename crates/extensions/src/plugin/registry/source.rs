//! The source of a plugin, and fetching it.

use std::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use ona_repo::git::{self, GitError};

/// The maximum number of files in a plugin.
const MAX_FILES: usize = 20_000;
/// The maximum size of all its files.
const MAX_BYTES: u64 = 256 << 20;

/// Where a plugin comes from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PluginSource {
    /// A directory of this machine.
    Directory(PathBuf),
    /// A repository.
    Git {
        /// Its address.
        url: String,
        /// The branch, tag or commit; the default branch if none is given.
        revision: Option<String>,
    },
}

/// Why a text is not a valid source.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SourceError {
    #[error("`{0}` is neither a directory nor the URL of a git repository (https, ssh or file)")]
    Neither(String),
    #[error("`{0}` is not supported: use https, ssh or file")]
    Scheme(String),
    #[error("the URL contains a password, which would be stored: use git's credential helper")]
    Password,
    #[error("`{0}` is not a branch, tag or commit")]
    Revision(String),
}

/// Why a plugin cannot be fetched.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum FetchError {
    #[error(transparent)]
    Git(#[from] GitError),
    #[error("{} is a link: a plugin cannot contain links", .0.display())]
    Link(PathBuf),
    #[error("{} is neither a file nor a directory", .0.display())]
    Odd(PathBuf),
    #[error("it has more than {MAX_FILES} files, or more than {} MiB", MAX_BYTES >> 20)]
    TooMuch,
    #[error("{}: {cause}", path.display())]
    Io { path: PathBuf, cause: io::Error },
}

const SCHEMES: [&str; 3] = ["https", "ssh", "file"];

impl fmt::Display for PluginSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(dir) => write!(f, "{}", dir.display()),
            Self::Git { url, revision: None } => f.write_str(url),
            Self::Git { url, revision: Some(revision) } => write!(f, "{url}#{revision}"),
        }
    }
}

impl PluginSource {
    /// Reads a source; `here` is the current directory.
    pub fn parse(text: &str, here: &Path) -> Result<Self, SourceError> {
        let dir = here.join(text);
        if !text.is_empty() && !text.contains("://") && dir.is_dir() {
            return Ok(Self::Directory(dir.canonicalize().unwrap_or(dir)));
        }
        let (url, revision) = match text.split_once('#') {
            Some((url, revision)) => (url, Some(revision.to_owned())),
            None => (text, None),
        };
        if let Some(revision) = &revision {
            let odd = |c: char| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c);
            if revision.is_empty() || revision.starts_with('-') || revision.contains(odd) {
                return Err(SourceError::Revision(revision.clone()));
            }
        }
        if url.starts_with('-') || url.contains(char::is_control) {
            return Err(SourceError::Neither(text.to_owned()));
        }
        // `ext::command` makes git run a command.
        if let Some((helper, _)) = url.split_once("::") {
            return Err(SourceError::Scheme(helper.to_owned()));
        }
        match url.split_once("://") {
            Some((scheme, rest)) => {
                if !SCHEMES.contains(&scheme) {
                    return Err(SourceError::Scheme(scheme.to_owned()));
                }
                let host = rest.split('/').next().unwrap_or_default();
                let user = host.rsplit_once('@').map(|(user, _)| user).unwrap_or_default();
                // The user name may be a token.
                if user.contains(':') || (scheme == "https" && !user.is_empty()) {
                    return Err(SourceError::Password);
                }
            }
            // git@host:path
            None => {
                let host = url.split_once(':').map(|(host, _)| host);
                if host.is_none_or(|host| host.is_empty() || host.contains('/')) {
                    return Err(SourceError::Neither(text.to_owned()));
                }
            }
        }
        Ok(Self::Git { url: url.to_owned(), revision })
    }

    /// Whether a directory's files could be fetched.
    pub fn check(&self) -> Result<(), FetchError> {
        match self {
            Self::Directory(dir) => copy(dir, None, &mut Left::default()),
            Self::Git { .. } => Ok(()),
        }
    }

    /// Copies the files into a new directory; returns their commit.
    pub async fn fetch(&self, into: &Path) -> Result<Option<String>, FetchError> {
        let failed = |cause| FetchError::Io { path: into.to_owned(), cause };
        match self {
            Self::Directory(dir) => {
                copy(dir, Some(into), &mut Left::default())?;
                Ok(None)
            }
            Self::Git { url, revision } => {
                fs::create_dir_all(into).map_err(failed)?;
                let commit = git::fetch(url, revision.as_deref(), into).await?;
                // A plugin does not need the git data.
                fs::remove_dir_all(into.join(".git")).map_err(failed)?;
                copy(into, None, &mut Left::default())?;
                Ok(Some(commit))
            }
        }
    }
}

/// What is left of the limits.
struct Left {
    files: usize,
    bytes: u64,
}

impl Default for Left {
    fn default() -> Self {
        Self { files: MAX_FILES, bytes: MAX_BYTES }
    }
}

/// Copies a directory, or only checks that it can be copied.
fn copy(from: &Path, to: Option<&Path>, left: &mut Left) -> Result<(), FetchError> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |cause| FetchError::Io { path, cause }
    };
    if let Some(to) = to {
        fs::create_dir_all(to).map_err(failed(to))?;
    }
    for entry in fs::read_dir(from).map_err(failed(from))? {
        let entry = entry.map_err(failed(from))?;
        let path = entry.path();
        let to = to.map(|to| to.join(entry.file_name()));
        left.files = left.files.checked_sub(1).ok_or(FetchError::TooMuch)?;
        let meta = entry.metadata().map_err(failed(&path))?;
        if meta.is_symlink() {
            return Err(FetchError::Link(path));
        }
        if meta.is_dir() {
            if entry.file_name() != ".git" {
                copy(&path, to.as_deref(), left)?;
            }
        } else if meta.is_file() {
            left.bytes = left.bytes.checked_sub(meta.len()).ok_or(FetchError::TooMuch)?;
            if let Some(to) = to {
                fs::copy(&path, &to).map_err(failed(&path))?;
            }
        } else {
            return Err(FetchError::Odd(path));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_is_a_directory_or_a_repository() {
        let dir = tempfile::tempdir().unwrap();
        let here = dir.path().canonicalize().unwrap();
        fs::create_dir(here.join("own")).unwrap();
        let git = |url: &str, revision: Option<&str>| PluginSource::Git {
            url: url.to_owned(),
            revision: revision.map(str::to_owned),
        };
        for (text, source) in [
            ("own", PluginSource::Directory(here.join("own"))),
            ("./own", PluginSource::Directory(here.join("own"))),
            ("https://host/a.git", git("https://host/a.git", None)),
            ("https://host/a#v1.2", git("https://host/a", Some("v1.2"))),
            ("file:///srv/a#main", git("file:///srv/a", Some("main"))),
            ("ssh://git@host/a", git("ssh://git@host/a", None)),
            ("git@host:team/a.git", git("git@host:team/a.git", None)),
        ] {
            assert_eq!(PluginSource::parse(text, &here), Ok(source), "{text}");
        }
        for bad in [
            "nope",
            "ext::sh -c x",
            "http://host/a",
            "git://host/a",
            "https://me:secret@host/a",
            "https://token@host/a",
            "https://host/a#",
            "https://host/a#--upload-pack=x",
            "https://host/a#a b",
            "-x:y",
            "",
        ] {
            let parsed = PluginSource::parse(bad, &here);
            assert!(parsed.is_err(), "{bad}: {parsed:?}");
        }
    }

    #[test]
    fn links_and_pipes_are_not_copied() {
        let dir = tempfile::tempdir().unwrap();
        let (from, to) = (dir.path().join("from"), dir.path().join("to"));
        fs::create_dir_all(from.join("deep")).unwrap();
        fs::create_dir(from.join(".git")).unwrap();
        fs::write(from.join("deep/a"), "a").unwrap();
        copy(&from, Some(&to), &mut Left::default()).unwrap();
        assert_eq!(fs::read_to_string(to.join("deep/a")).unwrap(), "a");
        assert!(!to.join(".git").exists());
        let few = copy(&from, None, &mut Left { files: 1, bytes: 100 });
        assert!(matches!(few, Err(FetchError::TooMuch)));
        std::os::unix::fs::symlink("/etc/passwd", from.join("deep/link")).unwrap();
        let linked = copy(&from, None, &mut Left::default());
        assert!(matches!(linked, Err(FetchError::Link(_))), "{linked:?}");
    }
}
