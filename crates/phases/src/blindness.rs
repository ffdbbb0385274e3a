//! The proof that the author of the tests has not seen the work (S0 §8.5.1): whatever has been written since the plan was
//! approved is looked for in what the author is given.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ona_repo::git::{self, GitError};
use ona_repo::{Checkout, Digest};

use crate::brief::fixed_text;
use crate::contracts::{self, Contract};
use crate::fingerprint::Fingerprint;
use crate::plans::{Approved, work_tree};

/// The limit for commits since the approval.
const MAX_COMMITS: usize = 1_000;
/// The limit for what is read of one file.
const MAX_FILE: u64 = 4 << 20;

/// What has been written since the plan was approved, by where it stands.
#[derive(Clone, Debug, Default)]
pub struct Written {
    sources: Vec<(Source, Fingerprint)>,
    /// The work of earlier rounds, of which nothing may be shown by a contract.
    copied: Vec<(Source, Fingerprint)>,
    /// The contracts that are newer than the first approval, by name.
    pages: Vec<(String, String)>,
}

/// Where it stands.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// In a file of the work tree.
    File(PathBuf),
    /// In a file of a commit.
    Commit(String, PathBuf),
    /// In the message of a commit.
    Message(String),
}

impl std::fmt::Display for Source {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let short = |id: &str| id.chars().take(12).collect::<String>();
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::Commit(id, path) => write!(f, "{} in commit {}", path.display(), short(id)),
            Self::Message(id) => write!(f, "the message of commit {}", short(id)),
        }
    }
}

/// Something the author must not see was in what they would have been given.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "the tests' author would see the work: {source_name} is in their input (\"{}\")",
    ona_types::shown(excerpt)
)]
pub struct Leak {
    /// Where it stands too.
    pub source_name: String,
    /// It.
    pub excerpt: String,
}

/// Why it cannot be shown that the author is blind.
#[derive(Debug, thiserror::Error)]
pub enum BlindnessError {
    /// The history cannot be read.
    #[error("cannot read what was committed since the plan was approved: {0}")]
    Git(#[from] GitError),
    /// There are too many.
    #[error("{0} commits since the plan was approved (limit: {MAX_COMMITS}): make a new plan")]
    TooMany(usize),
}

/// A plan, and what it was approved with.
#[derive(Clone, Copy, Debug)]
pub struct Basis<'a> {
    /// The text of the plan.
    pub plan: &'a str,
    /// What there was.
    pub approved: &'a Approved,
}

impl Written {
    /// Reads what has been written since a plan was approved: files that are new or changed, and commits with their
    /// messages. What was there before, and what the plan and its contracts say, is nothing that the work has added.
    ///
    /// A plan that is not the first of its conversation may quote the work of earlier rounds, and so may its contracts: what
    /// was written between the first approval and this one counts too. Pages and schemas are public; they may not show code.
    pub async fn since(
        now: Basis<'_>,
        first: Option<Basis<'_>>,
        project: &Path,
    ) -> Result<Self, BlindnessError> {
        let root = work_tree(project);
        let tree = {
            let root = root.clone();
            tokio::task::spawn_blocking(move || Digest::of(&root)).await.unwrap_or_default()
        };
        let Work { texts, before } = Work::since(now, &root, &tree).await?;
        let mut sources = prints(&texts, &before);
        let mut copied = Vec::new();
        if let Some(first) = first {
            let contracts = &now.approved.contracts;
            let is_public = |source: &Source| match source {
                Source::File(path) | Source::Commit(_, path) => contracts::is_public(path),
                Source::Message(_) => false,
            };
            let mut earlier = Work::since(first, &root, &tree).await?;
            earlier.texts.retain(|source, _| !texts.contains_key(source));
            // Pages and schemas say what is public; whether they show more is looked at below.
            let (public, work): (BTreeMap<_, _>, BTreeMap<_, _>) =
                earlier.texts.into_iter().partition(|(source, _)| is_public(source));
            copied = prints(&work, &earlier.before);
            public.values().for_each(|text| earlier.before.add(text));
            contracts.iter().flat_map(|one| &one.text).for_each(|text| earlier.before.add(text));
            sources.extend(prints(&work, &earlier.before));
            let is_old = |one: &Contract| {
                let path = project.join(&one.name);
                let below = path.strip_prefix(&root).unwrap_or(&path);
                one.text.as_ref().is_ok_and(|text| first.approved.tree.had(below, text.as_bytes()))
            };
            let pages = contracts.iter().filter(|one| !is_old(one));
            let pages = pages.filter_map(|one| Some((one.name.clone(), one.text.clone().ok()?)));
            return Ok(Self { sources, copied, pages: pages.collect() });
        }
        Ok(Self { sources, copied, pages: Vec::new() })
    }

    /// How many files, commits and messages the input is compared with.
    pub fn len(&self) -> usize {
        self.sources.len()
    }

    /// Whether nothing has been written.
    pub fn is_empty(&self) -> bool {
        self.sources.is_empty()
    }

    /// Looks for it in what an author would be given.
    pub fn check(&self, input: &str) -> Result<(), Leak> {
        for (name, text) in &self.pages {
            for (source, print) in &self.copied {
                if let Some(excerpt) = print.first_code_in(text) {
                    let source_name = format!("{source}, shown by {name},");
                    return Err(Leak { source_name, excerpt });
                }
            }
        }
        self.check_reply(input, "")
    }

    /// The same for a reply to an author, who may be told again what they have written.
    pub fn check_reply(&self, reply: &str, their_own: &str) -> Result<(), Leak> {
        let own = Fingerprint::of(their_own);
        let found = self.sources.iter().find_map(|(source, print)| {
            let excerpt = match own.is_empty() {
                true => print.first_in(reply)?,
                false => print.clone().without(&own).first_in(reply)?,
            };
            Some(Leak { source_name: source.to_string(), excerpt })
        });
        found.map_or(Ok(()), Err)
    }
}

/// What was written since an approval, and what was there before.
struct Work {
    texts: BTreeMap<Source, String>,
    before: Fingerprint,
}

impl Work {
    async fn since(basis: Basis<'_>, root: &Path, now: &Digest) -> Result<Self, BlindnessError> {
        let Basis { plan, approved } = basis;
        let mut texts: BTreeMap<Source, String> = BTreeMap::new();
        // What every author is told is no part of any work.
        let mut before = Fingerprint::of(&fixed_text());
        before.add(plan);
        approved.contracts.iter().flat_map(|one| &one.text).for_each(|text| before.add(text));
        for path in now.changed_since(&approved.tree) {
            let content = ona_files::read_at_most(&root.join(path), MAX_FILE);
            if let Some(text) = content.ok().flatten().and_then(as_text) {
                texts.insert(Source::File(path.to_owned()), text);
            }
        }
        if Checkout::of(root).is_some() && git::head(root).await?.is_some() {
            let base = approved.commit.as_deref();
            let is_known = known(root, base).await;
            // If the commit of that time is gone, all there is counts.
            let commits = git::messages_since(root, base.filter(|_| is_known)).await?;
            if commits.len() > MAX_COMMITS {
                return Err(BlindnessError::TooMany(commits.len()));
            }
            for (id, message) in commits {
                let parent = git::describe(root, &id).await?.parent;
                for (path, contents) in git::changed_between(root, parent.as_deref(), &id).await? {
                    keep_old(approved, &path, contents.old, &mut before);
                    if let Some(text) = contents.new.and_then(as_text) {
                        texts.insert(Source::Commit(id.clone(), path), text);
                    }
                }
                texts.insert(Source::Message(id), message);
            }
            if is_known {
                let files = git::changed_since(root, base).await?;
                let contents = git::contents(root, &files).await?;
                for (file, contents) in files.iter().zip(contents) {
                    keep_old(approved, &file.path, contents.old, &mut before);
                }
            }
        }
        Ok(Self { texts, before })
    }
}

/// The fingerprints of what was written. A text without eight words has none.
fn prints(texts: &BTreeMap<Source, String>, before: &Fingerprint) -> Vec<(Source, Fingerprint)> {
    let all =
        texts.iter().map(|(source, text)| (source.clone(), Fingerprint::of(text).without(before)));
    all.filter(|(_, print)| !print.is_empty()).collect()
}

/// A version of a file counts as old if it is the one that was there when the plan was approved.
fn keep_old(approved: &Approved, path: &Path, old: Option<Vec<u8>>, before: &mut Fingerprint) {
    if let Some(old) = old
        && approved.tree.had(path, &old)
        && let Some(text) = as_text(old)
    {
        before.add(&text);
    }
}

async fn known(root: &Path, base: Option<&str>) -> bool {
    match base {
        Some(commit) => git::commit(root, commit).await.is_ok(),
        None => false,
    }
}

/// The text of a file, also if it is in another encoding or has other bytes in it: words are words. `None` if it has none.
fn as_text(bytes: Vec<u8>) -> Option<String> {
    // UTF-16 has a zero in every other place.
    let zeros = bytes.iter().filter(|byte| **byte == 0).count();
    let text = match zeros * 3 > bytes.len() && !bytes.is_empty() {
        true => bytes.into_iter().filter(|byte| *byte != 0).map(char::from).collect(),
        false => String::from_utf8_lossy(&bytes).replace('\0', " "),
    };
    text.contains(char::is_alphanumeric).then_some(text)
}
